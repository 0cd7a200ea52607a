"""Remarks on how a table is read: a list with switches, and marks in the table's head."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.formats.options import ColumnType
from tests.formats.doubtful import doubt_postcodes
from tests.ui.data_steps import load, look_at, remarks, shown
from tests.ui.hands import click, settle


@pytest.fixture
def doubtful(monkeypatch, tmp_path):
    """A file whose reader remarks on postcodes that it reads as numbers."""
    doubt_postcodes(monkeypatch)
    path = tmp_path / "people.csv"
    path.write_text("plz,age\n10000,31\n20117,44\n55550,52\n")
    return path


def _button(notes, words):
    [found] = [b for b in notes.findChildren(QPushButton) if b.text() == words and b.isVisible()]
    return found


def test_cautions_come_first_with_their_rows_and_switches(data_panel, qtbot, doubtful):
    look_at(data_panel, qtbot, doubtful)
    notes = data_panel.importing.notes
    assert notes.isVisible()
    assert remarks(notes) == [
        "Caution: “plz” may be a code: 2 values end in a zero. In rows 1 and 3.",
        "The file has 3 rows.",
    ]
    assert notes.count.text() == "2 remarks on how the table is read, 1 to be looked at"


def test_remarks_on_first_rows_are_said_to_be_on_these(data_panel, qtbot, doubtful):
    doubtful.write_text("plz,age\n" + "10000,31\n" * 300)
    look_at(data_panel, qtbot, doubtful)
    told = data_panel.importing.notes.count.text()
    assert told == "2 remarks on the first 200 rows, 1 to be looked at"
    click(data_panel.load_button)
    settle(qtbot, data_panel.session)
    assert data_panel.loaded.remarks.text().startswith("2 remarks on how the table is read")


def test_a_doubtful_column_is_marked_in_the_head(data_panel, qtbot, doubtful):
    look_at(data_panel, qtbot, doubtful)
    model, roles = data_panel.importing.table.model(), Qt.ItemDataRole
    across = Qt.Orientation.Horizontal
    assert model.headerData(0, across, roles.DecorationRole) is not None
    assert model.headerData(0, across) == "plz"
    tip = "“plz” may be a code: 2 values end in a zero."
    assert model.headerData(0, across, roles.ToolTipRole) == tip
    assert model.headerData(0, across, roles.AccessibleTextRole) == f"plz, remarked: {tip}"
    assert model.headerData(1, across, roles.DecorationRole) is None


@pytest.mark.slow
def test_a_choice_stays_in_sight_and_is_taken_back(data_panel, qtbot, doubtful):
    look_at(data_panel, qtbot, doubtful)
    page = data_panel.importing
    before = page.options
    switch = _button(page.notes, "Read “plz” as text")
    assert "“plz” may be a code" in switch.accessibleDescription()
    switch.setFocus()
    click(switch)
    settle(qtbot, data_panel.session)
    assert page.options == before.with_type("plz", ColumnType.TEXT)
    assert remarks(page.notes) == ["The file has 3 rows.", "Chosen: Read “plz” as text"]
    back = _button(page.notes, "Take it back")
    assert back.hasFocus()
    click(back)
    settle(qtbot, data_panel.session)
    assert page.options == before
    assert remarks(page.notes)[0].startswith("Caution: “plz” may be a code")


def test_rows_stay_where_they_are_when_remarks_change(data_panel, qtbot, doubtful):
    look_at(data_panel, qtbot, doubtful)
    page = data_panel.importing
    before = page.table.mapToGlobal(page.table.rect().topLeft())
    click(_button(page.notes, "Read “plz” as text"))
    settle(qtbot, data_panel.session)
    assert page.table.mapToGlobal(page.table.rect().topLeft()) == before


def test_a_loaded_table_is_read_again_with_a_switch_and_decisions_are_kept(
    data_panel, qtbot, doubtful
):
    load(data_panel, qtbot, doubtful)
    session, notes = data_panel.session, data_panel.loaded.notes
    assert session.table.frame["plz"].dtype == "int64"
    assert remarks(notes)[0].startswith("Caution: “plz” may be a code")
    session.edit("Mark", session.document.with_column(ColumnSpec("age", Role.SENSITIVE)))
    click(_button(notes, "Read “plz” as text"))
    settle(qtbot, session)
    assert shown(data_panel.loaded.table, 1) == [["10000", "31"]]
    assert session.document.source.options["column_types"] == {"plz": "text"}
    assert session.document.column("age").role is Role.SENSITIVE
    assert remarks(notes)[1:] == ["Chosen: Read “plz” as text"]
    session.undo()
    assert session.table.frame["plz"].dtype == "int64"
    assert remarks(notes)[0].startswith("Caution: “plz” may be a code")


@pytest.mark.slow
def test_what_was_chosen_is_known_again_after_reopening(data_panel, qtbot, doubtful):
    load(data_panel, qtbot, doubtful)
    session = data_panel.session
    click(_button(data_panel.loaded.notes, "Read “plz” as text"))
    settle(qtbot, session)
    data_panel.loaded.notes.forget()
    data_panel.loaded.refresh()
    assert remarks(data_panel.loaded.notes)[1:] == ["Chosen: “plz” is read as text."]
    click(data_panel.loaded.reread)
    settle(qtbot, session)
    assert remarks(data_panel.importing.notes)[1:] == ["Chosen: “plz” is read as text."]


def test_remarks_are_put_away_and_brought_back(data_panel, qtbot, doubtful):
    load(data_panel, qtbot, doubtful)
    page = data_panel.loaded
    assert page.remarks.text() == "2 remarks on how the table is read, 1 to be looked at"
    assert page.remarks.isChecked()
    click(page.remarks)
    assert not page.notes.isVisible()
    click(page.remarks)
    assert page.notes.isVisible()


@pytest.mark.slow
def test_codes_among_numbers_are_seen_on_the_switch_alone_and_missing_by_it(
    data_panel, qtbot, tmp_path
):
    path = tmp_path / "people.csv"
    rows = [99999 if row % 10 == 1 else 900 + row for row in range(60)]
    path.write_text("income\n" + "".join(f"{income}\n" for income in rows))
    look_at(data_panel, qtbot, path)
    notes = data_panel.importing.notes
    [told] = remarks(notes)
    assert "6 numbers of “income” look like codes for missing values" in told
    assert "99999" not in told
    button = _button(notes, "Treat as missing in “income”")
    assert "“99999”" in button.toolTip()
    click(button)
    settle(qtbot, data_panel.session)
    qtbot.waitUntil(lambda: shown(data_panel.importing.table)[1] == ["–"])
    click(data_panel.load_button)
    settle(qtbot, data_panel.session)
    assert data_panel.session.table.frame["income"].isna().sum() == 6
