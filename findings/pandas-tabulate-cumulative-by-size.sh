#!/usr/bin/env bash
# pandas-tabulate 0.1.0: the share of people with a grade of up to 2 counts those with a 5, not those with a 2.
#
# Rows are said to be sorted by the variable's values; they are sorted by how often a value is there, and
# shares are added up in this order. Where sorting is turned off, they are in the order of the table's rows.
#
# Seen, of the grades 5, 5, 5, 1, 1 and 2: 83 % up to 1 and 100 % up to 2, where 33 % and 50 % have them.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas-tabulate==0.1.0 pandas==3.1.1 numpy==2.4.6 scipy==1.17.1 <<'P'
import pandas as pd
import pandas_tabulate

grades = pd.Series([5, 5, 5, 1, 1, 2])
for sort in (True, False):
    table = pandas_tabulate.oneway(grades, cumulative=True, sort_values=sort)
    shares = table.data["cumulative_pct"].to_dict()
    print(shares)
    assert shares == {5: 50.0, 1: 83.33, 2: 100.0}
P
