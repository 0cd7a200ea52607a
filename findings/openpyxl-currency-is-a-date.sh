#!/usr/bin/env bash
# openpyxl 3.1.5: an amount in Swiss francs is read as a date.
#
# A format such as CHF 0.00 has letters that also stand in formats of dates (the H of hours), and
# is taken for one: 12.5 becomes 12 January 1900, noon. In quotes ("CHF" 0.00) it is a number.
#
# Seen: CHF 0.00 datetime.datetime(1900, 1, 12, 12, 0); "CHF" 0.00 and EUR 0.00 12.5.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with openpyxl==3.1.5 <<'P'
import datetime
import openpyxl

book = openpyxl.Workbook()
for row, shown in enumerate(("CHF 0.00", '"CHF" 0.00', "EUR 0.00", "0.00"), start=1):
    cell = book.active.cell(row, 1, 12.5)
    cell.number_format = shown
book.save("x.xlsx")
found = {cell.number_format: cell.value for (cell,) in openpyxl.load_workbook("x.xlsx").active.iter_rows()}
for shown, value in found.items():
    print(f"{shown:12}", repr(value))
assert isinstance(found["CHF 0.00"], datetime.datetime)
assert found['"CHF" 0.00'] == found["0.00"] == 12.5
P
