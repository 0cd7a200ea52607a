#!/usr/bin/env bash
# dbf 0.99.11: deleted records of a dBase file are still among its records, and are exported.
#
# A record is deleted by a mark until the file is packed. Going through a table hands out marked
# ones as well, its length counts them, and `export` writes them as CSV; dbfread leaves them out.
#
# Seen: dbf counts and exports three records, dbfread reads two.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with dbf==0.99.11 dbfread==2.0.7 <<'P'
from pathlib import Path

import dbf
import dbfread

table = dbf.Table("people.dbf", "name C(5); age N(3,0)")
table.open(dbf.READ_WRITE)
for person in [("Anna", 41), ("Ben", 38), ("Cleo", 25)]:
    table.append(person)
dbf.delete(table[0])
dbf.export(table, "people.csv")
table.close()
exported = Path("people.csv").read_text().split()
left = [record["NAME"] for record in dbfread.DBF("people.dbf")]
print(len(table), exported, left)
assert len(table) == 3
assert any("Anna" in line for line in exported)
assert left == ["Ben", "Cleo"]
P
