#!/usr/bin/env bash
# anonymeter 1.1.0: texts with an apostrophe don't single anybody out.
#
# An apostrophe gets a backslash before it when a guess is looked up, and no record has one there:
# guesses by such texts (O'Brien, L'Aquila) find nobody. Released as it is, a table of names has a
# risk near 1, the same table with an apostrophe in each name nearly none. It warns that it made
# too few guesses.
#
# Seen: 50 guesses and a risk of 0.96 without apostrophes, 0 guesses and 0.04 with them.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonymeter==1.1.0 polars==2.1.0 pandas==3.0.6 numpy==1.26.4 <<'P'
import numpy as np
import pandas as pd
from anonymeter.evaluators import SinglingOutEvaluator


def risk(mark):
    """The guesses that single out, and their risk, in a table that is released as it is."""
    generator = np.random.default_rng(0)
    names = {c: [f"O{mark}{i}" for i in generator.integers(0, 30, 100)] for c in ("family", "town", "job")}
    table = pd.DataFrame(names)
    evaluator = SinglingOutEvaluator(table, table.copy(), n_attacks=50, max_attempts=2000, seed=1)
    evaluator.evaluate(mode="multivariate")
    return len(evaluator.queries()), round(evaluator.risk().value, 2)


seen = risk(""), risk("'")
print(seen)
assert seen[0][0] == 50 and seen[0][1] > 0.9
assert seen[1][0] == 0 and seen[1][1] < 0.1
P
