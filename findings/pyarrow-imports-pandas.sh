#!/usr/bin/env bash
# pyarrow 26.0.1: the first array or number that is made of Python's values imports pandas.
#
# Arrow needs no pandas, and pyarrow does not require it. Where it is installed, though, pa.array,
# pa.scalar, Array.to_numpy, fill_null and every computation with a plain number import it at once,
# which takes longer than to import pyarrow and numpy together. Reading, casting and writing do not.
#
# Seen:
#   read, cast and written     without pandas
#   pa.array([1])              with pandas
#   pa.scalar(1)               with pandas
#   pc.add(column, 1)          with pandas
#   column.to_numpy()          with pandas
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyarrow==26.0.1 pandas==3.1.1 <<'P'
import pathlib
import subprocess
import sys

HEAD = """
import sys
import pyarrow as pa, pyarrow.compute as pc, pyarrow.csv as csv
column = csv.read_csv("ages.csv")["age"].chunk(0)
csv.write_csv(pa.table({"age": column.cast(pa.string())}), "texts.csv")
"""
TRIED = {
    "read, cast and written": "",
    "pa.array([1])": "pa.array([1])",
    "pa.scalar(1)": "pa.scalar(1)",
    "pc.add(column, 1)": "pc.add(column, 1)",
    "column.to_numpy()": "column.to_numpy()",
}
pathlib.Path("ages.csv").write_text("age\n1\n2\n")
seen = []
for name, line in TRIED.items():
    code = f"{HEAD}\n{line}\nprint('with' if 'pandas' in sys.modules else 'without', 'pandas')"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seen.append(said.stdout.strip())
    print(f"{name:26} {seen[-1]}")
assert seen == ["without pandas", *["with pandas"] * 4], "pandas is imported elsewhere now"
P
