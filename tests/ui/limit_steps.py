"""What the tests of per-value limits do again and again."""

from __future__ import annotations

import numpy as np
import pandas as pd
from PySide6.QtCore import QCoreApplication, QItemSelection, QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLineEdit

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.mechanisms.per_value import PrivacyLimits
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.ui.panels.policy.mechanisms.per_value.grid import LOW
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.noise import NOISE

CONTROL = Qt.KeyboardModifier.ControlModifier
DISEASES = ("SARS", "HIV", "H1N1", "cancer")
"""Example 1 of the paper: γ = 1.5, 3, 9.5 and 18 at these limits, shares 1/4 each."""
PAPER = (
    "SARS\t0.1\t0.142857142857143\nHIV\t0.1\t0.25\n"
    "H1N1\t0.1\t0.513513513513513\ncancer\t0.1\t0.666666666666667"
)


def open_values(
    session,
    names=DISEASES,
    rows=400,
    settings: Settings | None = None,
    by: str = "finegrain",
    statement: Statement | None = None,
):
    """Open a table about evenly frequent values, protected by per-value limits or otherwise."""
    values = np.array(names)[np.arange(rows) % len(names)]
    frame = pd.DataFrame({"disease": pd.Categorical(values, categories=list(names))})
    column = ColumnSpec("disease", Role.SENSITIVE, Kind.CATEGORICAL, Domain(tuple(names)))
    attribute = encode_column(Table(frame), column).attribute
    mechanism = mechanism_called(by)
    alike = {"frequencies": "equal"} if by == "finegrain" else {}
    stated = settings or {**mechanism.default_settings((attribute,)), **alike}
    stated = mechanism.complete_settings((attribute,), stated, NOISE)
    document = Document(
        title="Values",
        columns=(column,),
        policy=(PolicyEntry(("disease",), by, stated),),
        recipients=(Recipient("Clinic A", {"disease": statement or {"trust_factor": 1.0}}),),
    )
    session.open_table("Open", SurveyedTable.of(in_batches(Table(frame))), document)


def limits(editor) -> PrivacyLimits:
    return PrivacyLimits.from_dict(editor.session.document.policy[0].settings)


def stated(editor):
    return {(limit.value, limit.rho1, limit.rho2) for limit in limits(editor).stated}


def cell(editor, row, column):
    return editor.model.index(row, column).data()


def select(editor, rows, columns=(LOW,)):
    chosen = QItemSelection()
    for row in rows:
        for column in columns:
            index = editor.model.index(row, column)
            chosen.select(index, index)
    editor.grid.setFocus()
    editor.grid.selectionModel().setCurrentIndex(
        editor.model.index(rows[0], columns[0]), QItemSelectionModel.SelectionFlag.NoUpdate
    )
    editor.grid.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.ClearAndSelect)


def type_cells(qtbot, editor, rows, column, text):
    """Select cells of a column and type into the current one."""
    select(editor, rows, (column,))
    editor.grid.edit(editor.model.index(rows[0], column))
    field = editor.grid.findChild(QLineEdit)
    field.selectAll()
    qtbot.keyClick(field, Qt.Key.Key_Delete)
    qtbot.keyClicks(field, text)
    qtbot.keyClick(field, Qt.Key.Key_Return)
    for _ in range(3):  # the grid closes its editor, then writes
        QCoreApplication.processEvents()


def paste(qtbot, editor, text, row=0, column=LOW):
    QGuiApplication.clipboard().setText(text)
    select(editor, [row], (column,))
    qtbot.keyClick(editor.grid, Qt.Key.Key_V, CONTROL)
