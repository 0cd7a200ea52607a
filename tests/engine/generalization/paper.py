"""The tables of Cheong, Wu and Wong 2012."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sfumato.engine.generalization.coded import CodedTable, QuasiIdentifier
from sfumato.engine.generalization.others import HolderClasses, OtherTable, holder_classes

SALARIES = ("High", "Middle", "Low")
OLD, YOUNG = 0, 1
HIGH_ZIP, LOW_ZIP = 0, 1

PEOPLE = (
    *(("Alice", 60, "F", 25434, "High"), ("Bob", 50, "M", 27343, "High")),
    *(("Carlo", 55, "M", 19343, "High"), ("Diana", 50, "F", 17234, "High")),
    *(("Eva", 48, "F", 28544, "Middle"), ("Fred", 43, "M", 24453, "Middle")),
    *(("George", 25, "M", 26211, "Middle"), ("Helen", 37, "F", 23094, "Middle")),
    *(("Ivan", 57, "M", 29454, "Low"), ("Janice", 57, "F", 12845, "Low")),
    *(("Kate", 18, "F", 15341, "Low"), ("Leslie", 22, "F", 22093, "Low")),
)
"""Table 3; tables 1(a) and 1(b) are its columns."""


def private_table():
    return pd.DataFrame(PEOPLE, columns=["Name", "Age", "Gender", "ZIP Code", "Salary Class"])


def generalized(column):
    """Return one quasi-identifier as table 2 has it: two classes at level 1, one at level 2."""
    frame = private_table()
    limit, labels = {"Age": (40, ("≥40", "<40")), "ZIP Code": (20_000, ("≥20k", "<20k"))}[column]
    codes, values = pd.factorize(frame[column], sort=True)
    two = np.where(values >= limit, 0, 1)
    levels = (np.arange(len(values)), two, np.zeros(len(values), int))
    return QuasiIdentifier(column, codes, levels, (tuple(map(str, values)), labels, ("*",)))


def coded(*columns):
    frame = private_table()
    codes = frame["Salary Class"].map({name: i for i, name in enumerate(SALARIES)}).to_numpy()
    return CodedTable(tuple(map(generalized, columns)), codes, SALARIES)


def published(column, holder):
    """Return a table of table 2, as its holder published it."""
    frame = private_table()
    q = generalized(column)
    shown = [q.labels[1][q.levels[1][code]] for code in q.codes]
    table = pd.DataFrame({column: shown, "Salary Class": frame["Salary Class"]})
    return OtherTable(holder, table, (column,), "Salary Class")


def table_2(order=("≥40", "<40", "≥20k", "<20k")):
    """Return the classes of tables 2(a) and 2(b), the larger values first."""
    ages = holder_classes(published("Age", "Revenue"), SALARIES)
    zips = holder_classes(published("ZIP Code", "Census"), SALARIES)
    return [in_order(ages, order[:2]), in_order(zips, order[2:])]


def in_order(holder, labels):
    rows = [holder.labels.index((label,)) for label in labels]
    names = tuple((label,) for label in labels)
    return HolderClasses(holder.holder, holder.quasi_identifiers, names, holder.counts[rows])


def table_5():
    """Return the classes of table 5, by their numbers of tuples."""
    ages = np.array([[3, 3, 4], [4, 4, 3]])
    zips = np.array([[4, 3, 2], [3, 4, 5]])
    return [
        HolderClasses("Revenue", ("Age",), (("≥40",), ("<40",)), ages),
        HolderClasses("Census", ("ZIP Code",), (("≥20k",), ("<20k",)), zips),
    ]
