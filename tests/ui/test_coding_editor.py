"""Weights, rounding, ends and pseudonyms through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.engine.core.columns import Coding, Pseudonym, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Recipient, Unit
from sfumato.ui.panels.attributes.detail import IdentifierShown
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.state.insights import SurveyedTable
from tests.in_batches import in_batches
from tests.proposed import proposed_columns
from tests.ui.hands import choose, click, on_screen, settle

ROWS = 400


@pytest.fixture
def panel(session, qtbot):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        {
            "age": rng.integers(0, 80, ROWS),
            "sampling_weight": rng.uniform(5, 60, ROWS).round(2),
            "balance": rng.normal(0, 50, ROWS).round(),
        }
    )
    frame.loc[0, "age"] = 107
    made = on_screen(qtbot, AttributesPanel(session), 900, 900)
    table = Table(frame)
    session.open_table(
        "Open", SurveyedTable.of(in_batches(table)), Document(columns=proposed_columns(table))
    )
    settle(qtbot, session)
    return made


def test_a_column_that_needs_no_ends_is_told_so_without_alarm(panel, qtbot):
    panel.session.table.frame.loc[0, "age"] = 40
    panel.session.table.frame["age"] = panel.session.table.frame["age"] % 4
    panel.choose("age")
    panel.session.document_changed.emit()
    click(panel.detail.coding.propose)
    settle(qtbot, panel.session)
    problem = panel.detail.coding.problem
    assert "It needs no ends" in problem.text()
    assert problem.property("look") == "muted"
    panel.detail.coding.show_problem("Wrong")
    assert problem.property("look") == "danger"


def give(field, text):
    field.setFocus()
    field.selectAll()
    QTest.keyClicks(field, text)
    QTest.keyClick(field, Qt.Key.Key_Return)


def spec(panel, name):
    return panel.session.document.column(name)


def test_a_sampling_weight_is_proposed_and_can_be_rounded(panel):
    assert spec(panel, "sampling_weight").role is Role.WEIGHT
    panel.choose("sampling_weight")
    assert not panel.detail.bins.isVisible()
    give(panel.detail.coding.step, "5")
    assert spec(panel, "sampling_weight").coding == Coding(step=5.0)
    panel.session.undo()
    assert spec(panel, "sampling_weight").coding is None
    assert panel.detail.coding.step.text() == ""


def test_a_column_that_can_t_be_a_weight_says_why(panel):
    panel.choose("balance")
    choose(panel.detail.role, Role.WEIGHT)
    assert "zero or negative" in panel.detail.problem.text()
    assert panel.detail.problem.isVisible()


def test_ends_are_proposed_and_the_numbers_beyond_them_counted(panel, qtbot):
    panel.choose("age")
    assert "Records with the largest number, which few share: 1." in panel.detail.coding.told.text()
    click(panel.detail.coding.propose)
    settle(qtbot, panel.session)
    found = spec(panel, "age").coding
    ages = panel.session.table.column("age")
    assert (ages >= found.top).sum() >= 5
    assert f"{(ages > found.top).sum()} numbers" in panel.detail.coding.told.text()


def test_ends_are_shared_by_several_units_where_rows_belong_to_units(panel, qtbot):
    """One person has the greatest age in many rows, which a count of rows takes for shared."""
    frame = panel.session.table.frame.assign(person=[0] * 20 + list(range(1, ROWS - 19)))
    frame.loc[:19, "age"] = 107
    table = Table(frame)
    document = Document(columns=proposed_columns(table))
    person = replace(document.column("person"), role=Role.IDENTIFYING)
    document = document.with_column(person).with_unit(Unit(("person",), 20))
    panel.session.open_table("Open", SurveyedTable.of(in_batches(table)), document)
    settle(qtbot, panel.session)
    panel.choose("age")
    assert "Units with the largest number, which few share: 1." in panel.detail.coding.told.text()
    click(panel.detail.coding.propose)
    settle(qtbot, panel.session)
    top = spec(panel, "age").coding.top
    assert frame["person"][frame["age"] >= top].nunique() >= 5


def test_a_slip_is_told_beside_the_fields_and_nothing_changes(panel):
    panel.choose("age")
    give(panel.detail.coding.bottom, "90")
    give(panel.detail.coding.top, "80")
    assert "not below" in panel.detail.coding.problem.text()
    assert spec(panel, "age").coding == Coding(bottom=90.0)
    give(panel.detail.coding.top, "x")
    assert "Give a number" in panel.detail.coding.problem.text()


def test_an_identifying_column_is_dropped_or_leaves_as_a_pseudonym(panel):
    panel.session.edit(
        "Recipients",
        replace(panel.session.document, recipients=(Recipient("A"), Recipient("B"))),
    )
    panel.choose("age")
    assert not panel.detail.pseudonyms.isVisible()
    choose(panel.detail.role, Role.IDENTIFYING)
    editor = panel.detail.pseudonyms
    assert editor.choice.value == IdentifierShown.NOTHING
    choose(editor.choice, IdentifierShown.OWN)
    assert spec(panel, "age").pseudonym == Pseudonym(())
    choose(editor.choice, IdentifierShown.SOME)
    assert "Those ticked" in editor.meaning.text()
    editor.sharing.boxes["B"].click()
    assert spec(panel, "age").pseudonym == Pseudonym(("A",))
    choose(editor.choice, IdentifierShown.SHARED)
    assert spec(panel, "age").pseudonym == Pseudonym(None)
    choose(editor.choice, IdentifierShown.NOTHING)
    assert spec(panel, "age").pseudonym is None


def test_sensitive_and_identifying_columns_are_not_coded(panel):
    panel.choose("age")
    assert panel.detail.coding.isVisible()
    choose(panel.detail.role, Role.IDENTIFYING)
    assert not panel.detail.coding.isVisible()
