#!/usr/bin/env bash
# sdmetrics 0.32.0: the 1st of January and the 20th of June 2020 count as the same date.
#
# NewRowSynthesis counts synthetic rows that are in the real data. Numbers match within 1 %, and
# dates are numbers from 1970 on: 1 % of 2020 is half a year, of January 1970 less than a day. Years
# of birth are one with a margin of 19 years.
#
# Seen: 20 June is no new row for 1 January 2020, 3 January is one for 2 January 1970; a year of
# birth of 1965 is none for 1950.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with sdmetrics==0.32.0 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
from sdmetrics.single_table import NewRowSynthesis

DATE = {"sdtype": "datetime", "datetime_format": "%Y-%m-%d"}


def new(real, synthetic, kind):
    """Whether a synthetic row of one value counts as new."""
    tables = (pd.DataFrame({"born": [value], "sex": ["f"]}) for value in (real, synthetic))
    columns = {"born": kind, "sex": {"sdtype": "categorical"}}
    return NewRowSynthesis.compute(*tables, metadata={"columns": columns}) == 1


seen = (
    new("2020-01-01", "2020-06-20", DATE),
    new("1970-01-02", "1970-01-03", DATE),
    new(1950, 1965, {"sdtype": "numerical"}),
)
print(seen)
assert seen == (False, True, False)
P
