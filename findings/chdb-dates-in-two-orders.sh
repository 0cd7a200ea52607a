#!/usr/bin/env bash
# chdb 4.4.0: of dates in one CSV column some are read day first and others month first.
#
# A column whose texts look like dates becomes one of date-times. Each value is read by itself: day
# first, and where there is no such month, month first, without a word.
#
# Seen: 03/02/2020 is the third of February, and 12/31/2020 the last of December.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with chdb==4.4.0 <<'P'
from pathlib import Path

import chdb

Path("visits.csv").write_text("day\n03/02/2020\n12/31/2020\n")
read = str(chdb.query("SELECT day FROM file('visits.csv')", "CSV")).split("\n")
print(read)
assert [day.strip('"')[:10] for day in read if day] == ["2020-02-03", "2020-12-31"]
P
