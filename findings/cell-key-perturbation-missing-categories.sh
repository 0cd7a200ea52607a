#!/usr/bin/env bash
# cell-key-perturbation 3.1.0: cells of people with a missing answer all have cell key 0.
#
# The noise of a cell hangs on its cell key, the sum of its people's record keys, so that nobody can
# tell it. Where a variable of the table is missing the sum is not made, and the key is 0 whoever
# is counted. With the table of noise, which is public, the noise of such cells can be read off.
# Its warning speaks of missing values, not of keys.
#
# Seen: the keys of six cells with a missing answer are 0, also with other people's record keys;
# those of the twelve others change.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with cell-key-perturbation==3.1.0 pandas==2.3.3 numpy==2.4.6 <<'P'
import numpy as np
import pandas as pd
from cell_key_perturbation.create_perturbed_table import create_perturbed_table
from cell_key_perturbation.utils.generate_test_ptable import generate_ptable_10_5_rule

generator = np.random.default_rng(1)
people = pd.DataFrame(
    {
        "region": generator.choice(list("ABCDEF"), 4000),
        "health": generator.choice(["good", "bad", None], 4000),
    }
)


def keys():
    """The cell keys of people with and without an answer, with new record keys."""
    people["key"] = generator.integers(0, 256, len(people))
    table = create_perturbed_table(people, generate_ptable_10_5_rule(), ["region"], ["health"], "key")
    missing = table.health.isna()
    return table.ckey[missing].tolist(), table.ckey[~missing].tolist()


(missing, answered), (missing_again, answered_again) = keys(), keys()
print("missing:", missing, missing_again, "answered:", answered, answered_again)
assert missing == missing_again == [0] * 6
assert sum(a != b for a, b in zip(answered, answered_again)) > 8
P
