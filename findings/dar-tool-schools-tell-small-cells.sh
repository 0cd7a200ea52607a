#!/usr/bin/env bash
# dar-tool 1.0.7: once schools are named, a small cell is suppressed alone, and follows from the total.
#
# DAR-T redacts counts up to a threshold, and then a second cell, so that the first can't be found by
# subtraction. It does so for a table of one school. Where the same table has a column of schools that is
# given as the organization, the second cell is left as it is: its school's total tells the small count.
#
# Seen, of the counts 50, 60, 70 and 3 of four groups and the threshold 10: 50 and 3 are redacted without
# a school, 3 alone with one.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dar-tool==1.0.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import logging

import pandas as pd
from dar_tool import DataAnonymizer

logging.disable(logging.CRITICAL)
counts = pd.DataFrame({"group": ["w", "x", "y", "z"], "pupils": [50, 60, 70, 3], "school": "A"})


def redacted(**organization):
    columns = ["group", "pupils", *organization.values()]
    table = DataAnonymizer(
        counts[columns].copy(),
        sensitive_columns=["group"],
        frequency="pupils",
        minimum_threshold=10,
        **organization,
    ).apply_anonymization()
    return table.loc[table["RedactBinary"] == 1, "pupils"].tolist()


alone, of_school = redacted(), redacted(parent_organization="school")
print(alone, of_school)
assert alone == [50, 3] and of_school == [3]
assert redacted(child_organization="school") == [3]
P
