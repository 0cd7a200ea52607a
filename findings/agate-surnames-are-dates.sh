#!/usr/bin/env bash
# agate 1.14.2: surnames that are months become dates of the year 1, and csvsort writes them so.
#
# A column's type is guessed from its values. If each of them is the name of a month, as a few
# people's surnames may be, it is read as dates. csvkit's programs (2.2.0) write what was guessed.
#
# Seen: May and March are 0001-05-01 and 0001-03-01.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with agate==1.14.2 csvkit==2.2.0 <<'P'
import io
import subprocess
import sys
from datetime import date
from pathlib import Path

import agate

TEXT = "surname,age\nMay,41\nMarch,38\n"
table = agate.Table.from_csv(io.StringIO(TEXT))
print([str(one) for one in table.columns["surname"].values()])
assert list(table.columns["surname"].values()) == [date(1, 5, 1), date(1, 3, 1)]

Path("people.csv").write_text(TEXT)
program = Path(sys.executable).parent / "csvsort"
ran = subprocess.run([program, "-c", "age", "people.csv"], capture_output=True, check=True)
print(ran.stdout.decode())
assert ran.stdout.decode().splitlines() == ["surname,age", "0001-03-01,38", "0001-05-01,41"]
P
