#!/usr/bin/env bash
# pandas 3.1.1 with pyarrow 26.0.1: a Parquet file names categories of rows that were left out.
#
# Filtering a DataFrame keeps the categories of an ordered or unordered categorical column. They
# are written into the file's dictionary, so whoever gets the file learns that they exist: a
# village of one inhabitant, or a diagnosis, that no row of the file has.
#
# Seen: values ['A', 'B'], dictionary ['A', 'B', 'Hamlet'], and the name in the file's bytes.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pandas==3.1.1 pyarrow==26.0.1 numpy==2.4.6 <<'P'
import pandas as pd
import pyarrow.parquet as pq

towns = pd.Categorical(["A", "B", "Hamlet"], ["A", "B", "Hamlet"], ordered=True)
table = pd.DataFrame({"town": towns})
table[table.town != "Hamlet"].to_parquet("x.parquet")
read = pq.read_table("x.parquet")["town"]
print("values:", read.to_pylist(), "dictionary:", read.chunk(0).dictionary.to_pylist())
print("the bytes of the file hold the name:", b"Hamlet" in open("x.parquet", "rb").read())
assert "Hamlet" not in read.to_pylist()
assert "Hamlet" in read.chunk(0).dictionary.to_pylist()
P
