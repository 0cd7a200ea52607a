#!/usr/bin/env bash
# umbra-k 0.1.0: with k = 2 the only person of 60 has the age 60.0, and so has a person without one.
#
# Missing ages are sorted last and grouped with the oldest; the range of a group is that of the
# ages it has. Where one person of the group has an age, the range is this age: the person is told
# exactly, and the others get an age that nobody stated.
#
# Seen, of 20, 21, 22, 40, 41, 60 and a missing age: 20.0-22.0 three times, 40.0-41.0 twice, 60.0
# twice.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with umbra-k==0.1.0 pandas==3.1.1 numpy==2.4.6 scikit-learn==1.9.1 <<'P'
import pandas as pd
from umbra_k import MondrianAnonymizer

people = pd.DataFrame({"age": [20, 21, 22, 40, 41, None, 60]})
released = MondrianAnonymizer(k=2, quasi_id=["age"]).fit_transform(people)["age"]
print(released.tolist())
assert [str(age) for age in released[:5]] == ["20.0-22.0"] * 3 + ["40.0-41.0"] * 2
assert [str(age) for age in released[5:]] == ["60.0"] * 2
P
