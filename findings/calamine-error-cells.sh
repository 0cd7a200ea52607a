#!/usr/bin/env bash
# python-calamine 0.9.1: error cells and dates before 1900 of a workbook become other values.
#
# A cell that shows #N/A or #REF! is an empty text, like a cell of nothing, so a formula that
# failed can't be told from a value that is missing; openpyxl 3.1.5 gives the text "#N/A". A
# serial below 1 under a date's format becomes midnight, a time of day without a date; openpyxl
# gives 25 December 1899.
#
# Seen:
#   calamine ['', '', datetime.time(0, 0)]
#   openpyxl ['#N/A', None, datetime.datetime(1899, 12, 25, 0, 0)]
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with python-calamine==0.9.1 openpyxl==3.1.5 <<'P'
import datetime
import openpyxl
from python_calamine import CalamineWorkbook

book = openpyxl.Workbook()
sheet = book.active
sheet.append(["error", "nothing", "date"])
sheet.append(["#N/A", None, -5])
sheet["A2"].data_type = "e"
sheet["C2"].number_format = "yyyy-mm-dd"
book.save("x.xlsx")
fast = CalamineWorkbook.from_path("x.xlsx").get_sheet_by_index(0).to_python()[1]
slow = [cell.value for cell in openpyxl.load_workbook("x.xlsx").active[2]]
print("calamine", fast)
print("openpyxl", slow)
assert fast[0] == fast[1] == ""
assert slow[0] == "#N/A" and slow[1] is None
assert fast[2] == datetime.time(0, 0)
P
