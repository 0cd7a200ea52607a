#!/usr/bin/env bash
# svy-io 0.7.1: the code 9 for a refusal in an SPSS file is missing, the code R is an answer.
#
# An SPSS file says which values are missing by the person's own choice. read_sav makes such
# numbers missing unless it is told otherwise; such texts it keeps, and what it says of the file
# does not name them as missing.
#
# Seen, of a number and a text that both miss one of two answers: 1 and missing; A and R.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with svy-io==0.7.1 polars==2.1.0 pyarrow==26.0.1 pandas==2.3.3 numpy==2.4.6 pyreadstat==1.3.7 <<'P'
import pandas as pd
import pyreadstat
import svy_io

answers = pd.DataFrame({"number": [1.0, 9.0], "text": ["A", "R"]})
pyreadstat.write_sav(answers, "answers.sav", missing_ranges={"number": [9], "text": ["R"]})
assert pyreadstat.read_sav("answers.sav")[0].isna().sum().tolist() == [1, 1]
read, told = svy_io.read_sav("answers.sav")
print(read.to_dict(as_series=False), told["user_missing"])
assert read["number"].to_list() == [1, None] and read["text"].to_list() == ["A", "R"]
assert [missing["col"] for missing in told["user_missing"]] == ["number"]
P
