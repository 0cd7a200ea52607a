#!/usr/bin/env bash
# polars 2.1.0 with fastexcel 0.21.0: texts below the first 1,000 rows of a sheet are missing, and
# people with nothing else are no rows.
#
# A column's type is guessed from the first 1,000 rows. Where a text follows in a column of numbers it
# is null, without a warning, and a row whose cells are all null is left out of the table.
#
# Seen: of 1,500 people two are gone, and one has no income.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with polars==2.1.0 fastexcel==0.21.0 openpyxl==3.1.5 <<'P'
import openpyxl
import polars

book = openpyxl.Workbook()
book.active.append(["age", "income"])
for person in range(1500):
    book.active.append([person % 90, 1000])
for row in (1401, 1402):
    book.active.cell(row, 1).value = "over 90"
    book.active.cell(row, 2).value = "refused"
book.active.cell(1403, 2).value = "refused"
book.save("people.xlsx")
read = polars.read_excel("people.xlsx")
print(read.height, read.null_count().row(0))
assert read.height == 1498
assert read.null_count().row(0) == (0, 1)
P
