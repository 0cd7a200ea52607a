#!/usr/bin/env bash
# xlsx2csv 0.8.6: an amount in Swiss francs becomes the text "c12f" 0.00.
#
# The H of a number format `"CHF" 0.00` is taken for hours although it is quoted, so the amount is a
# time of day, and what is written is the format with hours in place of the H, without the amount.
#
# Seen: "c12f" 0.00 for 5.50, whatever the amount's whole part is.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with xlsx2csv==0.8.6 openpyxl==3.1.5 <<'P'
import csv

import openpyxl
from xlsx2csv import Xlsx2csv

book = openpyxl.Workbook()
for row, amount in enumerate((5.5, 1200.5), 1):
    book.active.cell(row, 1, amount).number_format = '"CHF" 0.00'
book.save("paid.xlsx")
Xlsx2csv("paid.xlsx").convert("paid.csv")
with open("paid.csv", newline="") as file:
    written = [row[0] for row in csv.reader(file)]
print(written)
assert written == ['"c12f" 0.00', '"c12f" 0.00']
P
