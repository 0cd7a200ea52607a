#!/usr/bin/env bash
# xlsx2csv 0.8.6: shares are written rounded to whole per cent, beside amounts written in full.
#
# A share is written as the workbook shows it, by its number format; an amount whose format shows no
# decimals is written with all that it has.
#
# Seen: 0.1251 and 0.1349 are both 13%, and 1.25 shown as 1 is 1.25.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with xlsx2csv==0.8.6 openpyxl==3.1.5 <<'P'
from pathlib import Path

import openpyxl
from xlsx2csv import Xlsx2csv

book = openpyxl.Workbook()
for row, (value, shown) in enumerate([(0.1251, "0%"), (0.1349, "0%"), (1.25, "0")], 1):
    book.active.cell(row, 1, value).number_format = shown
book.save("shares.xlsx")
Xlsx2csv("shares.xlsx").convert("shares.csv")
written = Path("shares.csv").read_text().split()
print(written)
assert written == ["13%", "13%", "1.25"]
P
