#!/usr/bin/env bash
# df-anonymizer 0.1.6: the key of patients' pseudonyms is lost once clinics have pseudonyms as well.
#
# The key of a column is written to a workbook in the current folder, always by the same name. That of the next
# column, and of the next table, replaces it with no warning; the heading of its values is the same too. What
# stood for the patients is told nowhere any more.
#
# Seen, of patients P1 and P2, then clinics North and South: one workbook, with North and South.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with --no-deps df-anonymizer==0.1.6 pandas==2.3.3 numpy==2.4.6 openpyxl==3.1.5 et-xmlfile==2.0.0 \
  python-dateutil==2.9.0.post0 six==1.17.0 pytz==2026.6 tzdata==2026.6 <<'P'
from pathlib import Path

import pandas as pd
from df_anonymizer import pseudonymization

people = pd.DataFrame({"patient": ["P1", "P2"], "clinic": ["North", "South"]})
keys = []
for column in ("patient", "clinic"):
    people = pseudonymization(people, column)
    (workbook,) = Path().glob("*.xlsx")
    keys.append(pd.read_excel(workbook))
print(*keys, people, sep="\n")
assert set(keys[0]["NRIC"]) == {"P1", "P2"} and set(keys[1]["NRIC"]) == {"North", "South"}
P
