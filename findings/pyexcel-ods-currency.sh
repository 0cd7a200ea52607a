#!/usr/bin/env bash
# pyexcel-ods3 0.6.1: amounts of an OpenDocument sheet are texts, and without a currency an error.
#
# A cell of the type currency may name its currency or not (OpenDocument 1.2, 19.385). With a name
# it is read as a text, number and name in one; without, the whole file can't be read.
#
# Seen: '12.5 CHF', and a TypeError.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyexcel-ods3==0.6.1 ezodf==0.3.2 lxml==6.1.1 <<'P'
from ezodf import Sheet, newdoc
from pyexcel_ods3 import get_data


def read(*currency):
    document, sheet = newdoc("ods", "amounts.ods"), Sheet("S", size=(2, 1))
    document.sheets += sheet
    sheet["A1"].set_value("amount")
    sheet["A2"].set_value(12.5, "currency", *currency)
    document.save()
    return get_data("amounts.ods")["S"]


print(read("CHF"))
assert read("CHF") == [["amount"], ["12.5 CHF"]]
try:
    found = read()
except TypeError as error:
    print("TypeError:", error)
else:
    raise AssertionError(f"it is read now: {found}")
P
