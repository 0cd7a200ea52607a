#!/usr/bin/env bash
# pandas 3.1.1: the zeros of a SAS transport file are read as 5.4e-79.
#
# Zero is eight zero bytes there, and pandas takes them for the smallest number with such an
# exponent (16 to the power of -65), so that a test for zero fails.
#
# Seen: 0.0 as 5.397605346934028e-79 by pandas, as 0.0 by pyreadstat 1.3.7.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas==3.1.1 pyreadstat==1.3.7 <<'P'
import pandas as pd
import pyreadstat

pyreadstat.write_xport(pd.DataFrame({"A": [0.0, 1.0]}), "x.xpt", file_format_version=5)
by_pandas = pd.read_sas("x.xpt", format="xport")["A"].to_list()
by_readstat = pyreadstat.read_xport("x.xpt")[0]["A"].to_list()
print(by_pandas, by_readstat)
assert by_readstat == [0.0, 1.0]
assert by_pandas == [16.0**-65, 1.0]
P
