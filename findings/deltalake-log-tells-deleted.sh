#!/usr/bin/env bash
# deltalake 1.6.6: a deleted person's income and town are in a Delta table after it was vacuumed.
#
# delete() writes the rest into a new file, and vacuum() removes the old one. But each file's least and greatest
# values stand in the table's log, which is kept for 30 days by default whatever vacuum() is told: for as
# long, whoever gets the table's folder reads the largest income that it ever had.
#
# Seen: no data file has the income 99999 or the town Hamlet, the log has both, after a checkpoint as well.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with deltalake==1.6.6 pyarrow==26.0.1 <<'P'
from pathlib import Path
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

write_deltalake("table", pa.table({"income": [10, 20, 99999], "town": ["A", "B", "Hamlet"]}))
table = DeltaTable("table")
table.delete("income > 1000")
table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False)
table.create_checkpoint()
table.cleanup_metadata()
files = [path for path in Path("table").rglob("*") if path.is_file()]
telling = [path for path in files if any(word in path.read_bytes() for word in (b"99999", b"Hamlet"))]
left = pq.read_table(table.file_uris()).to_pylist()
print(left, telling)
assert [row["income"] for row in left] == [10, 20]
assert telling == [Path("table/_delta_log/00000000000000000000.json")]
P
