#!/usr/bin/env bash
# pandera 0.35.0: 17.6 years and the text "False" are valid as 17 and true.
#
# With coerce=True values become those of the stated type before they are checked, and what could
# not be meant is no error: decimals are cut where whole numbers are stated, every text but the
# empty one is true, and the number 20200131 is a moment in 1970. The checks see only the result.
#
# Seen, valid with a check that nobody is under 0:
#   17.6 and -0.9 as int                    17, 0 (of pandas and of Polars)
#   "False" and "no" as bool                true, true
#   20200131 as datetime64[ns]              1 January 1970
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandera==0.35.0 pandas==2.3.3 polars==2.1.0 pyarrow==26.0.1 numpy==2.4.6 <<'P'
import pandas as pd
import pandera.pandas as of_pandas
import pandera.polars as of_polars
import polars as pl


def valid(kind, values, *checks):
    """The values of a column that were found to be valid."""
    schema = of_pandas.DataFrameSchema({"x": of_pandas.Column(kind, *checks, coerce=True)})
    return schema.validate(pd.DataFrame({"x": values}))["x"].tolist()


ages = valid(int, [17.6, -0.9], of_pandas.Check.ge(0))
schema = of_polars.DataFrameSchema({"x": of_polars.Column(pl.Int64, of_polars.Check.ge(0), coerce=True)})
same = schema.validate(pl.DataFrame({"x": [17.6, -0.9]}))["x"].to_list()
answers, born = valid(bool, ["False", "no"]), valid("datetime64[ns]", [20200131])
print(ages, same, answers, born)
assert ages == same == [17, 0] and answers == [True, True] and str(born[0].date()) == "1970-01-01"
P
