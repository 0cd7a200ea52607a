#!/usr/bin/env bash
# dask 2026.8.0: the counts of groups by two columns of Arrow dictionaries can't be given a name.
#
# groupby(…).size().rename("n") raises a ValueError about duplicate levels before anything is
# computed, since the empty table that it is tried on has missing values for categories. With one
# column, with texts, or without rename it works; to_frame("n") gives the name too.
#
# Seen: 2 groups by one column; by two, ValueError with rename and 2 groups with to_frame.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with "dask[dataframe]==2026.8.0" pandas==3.1.1 pyarrow==26.0.1 <<'P'
import dask.dataframe as dd
import pandas as pd
import pyarrow as pa

kind = pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))

def groups(columns, named):
    """Return how many groups there are, or the error."""
    table = pd.DataFrame({f"k{at}": pd.Series(list("abab"), dtype=kind) for at in range(columns)})
    sizes = dd.from_pandas(table, npartitions=2).groupby(list(table)).size
    try:
        return len(named(sizes()).compute())
    except ValueError as error:
        return type(error).__name__

found = [groups(columns, lambda sizes: sizes.rename("n")) for columns in (1, 2)]
framed = groups(2, lambda sizes: sizes.to_frame("n"))
print(found, framed)
assert found == [2, "ValueError"] and framed == 2
P
