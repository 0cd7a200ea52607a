#!/usr/bin/env bash
# aindo-anonymize 1.1.5: in a table whose rows are filtered or sorted, values move to other people.
#
# Perturbation numbers its results from 0, and the pipeline puts them in by row labels. Where a
# table keeps the labels of a larger one, a person gets the value of somebody a few rows further
# down, and the last ones get none; sorted rows get the values in the order of before. With alpha
# near 0, which leaves the values as they are, it can be seen. Where the table has one column alone,
# the values stay where they are.
#
# Seen, without the three youngest of ten:
#   before   23 24 25 26 27 28 29
#   after    26 27 28 29 nan nan nan
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with aindo-anonymize==1.1.5 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
from aindo.anonymize import AnonymizationPipeline, Config

config = Config.from_dict(
    {
        "steps": [
            {"method": {"type": "identity"}, "columns": ["person"]},
            {
                "method": {"type": "perturbation_numerical", "alpha": 1e-9, "seed": 1},
                "columns": ["age"],
            },
        ]
    }
)
people = pd.DataFrame({"person": list("abcdefghij"), "age": range(20, 30)})


def ages(table):
    """The ages before and after a perturbation that is next to none."""
    after = AnonymizationPipeline(config).run(table).age
    print(table.age.tolist(), after.tolist())
    return after


after = ages(people[people.age >= 23])
assert after.round().tolist()[:4] == [26, 27, 28, 29]
assert after.isna().tolist()[4:] == [True, True, True]
assert ages(people.sort_values("age", ascending=False)).tolist() == people.age.tolist()
P
