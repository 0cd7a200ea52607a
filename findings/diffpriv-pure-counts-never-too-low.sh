#!/usr/bin/env bash
# diffpriv-pure 0.1.0: of 10,000 noisy counts of ten people, none is below ten.
#
# private_count adds geometric noise, which is described as pure ε-DP for counts. It is drawn from
# one side only: counts are too large on average, are never too small, and the smallest of a few is
# often the true one. Noise of both signs is what the promise needs.
#
# Seen, of 10 people at ε = 0.5: 10 to 28, 11.5 on average.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with diffpriv-pure==0.1.0 <<'P'
import random

from diffpriv_pure import private_count

random.seed(0)
counts = [private_count(10, 0.5) for _ in range(10_000)]
print(min(counts), max(counts), sum(counts) / len(counts))
assert min(counts) == 10 and 11.3 < sum(counts) / len(counts) < 11.8
P
