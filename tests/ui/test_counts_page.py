"""Tables of counts in the window: dragged together, seen beside the truth, and released."""

from __future__ import annotations

import csv
from dataclasses import replace

import pandas as pd
import pytest
from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QDropEvent
from PySide6.QtTest import QTest

from sfumato.engine.core.columns import Domain
from sfumato.project.approval import add_approver
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.panels.releases.approval import ApproveDialog
from sfumato.ui.panels.releases.ledger import STATE
from sfumato.ui.panels.releases.verification_view import WithdrawDialog
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import click, dialog_of, enter, messages, on_screen, type_into

COPY = Qt.DropAction.CopyAction
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def panel(qtbot, session, tmp_path):
    """The panel of a saved project, where tables of counts are put together."""
    document = protected()
    ward = replace(document.column("ward"), domain=Domain(("north", "south", "west")))
    open_clinic(session, document.with_column(ward))
    save_clinic(session, tmp_path)
    panel = on_screen(qtbot, PANEL(session), 900, 900)
    wait_for_jobs(qtbot, session)
    click(panel.what.button_for(True))
    return panel


def drag(name, source, target):
    """Drop a name of one list on the free room of another."""
    item = next(source.item(at) for at, each in enumerate(source.names) if each == name)
    data, none = source.mimeData([item]), Qt.KeyboardModifier.NoModifier
    place = QPointF(target.viewport().rect().bottomLeft())
    target.dropEvent(QDropEvent(place, COPY, data, LEFT, none))


def counted(qtbot, panel):
    qtbot.waitUntil(lambda: panel.counts.preview is not None)
    wait_for_jobs(qtbot, panel.session)


def shown(table):
    model = table.model()
    rows = range(model.rowCount())
    return [[model.index(r, c).data() for c in range(model.columnCount())] for r in rows]


def heads(table, which):
    model = table.model()
    count = model.columnCount() if which == Qt.Orientation.Horizontal else model.rowCount()
    return [model.headerData(at, which) for at in range(count)]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_columns_are_dragged_into_a_table_shown_beside_the_truth_and_released(
    qtbot, panel, tmp_path
):
    page = panel.counts
    assert page.lists.free.names == ("disease", "ward")  # those with stated values
    assert not panel.primary.isEnabled()
    drag("disease", page.lists.free, page.lists.rows)
    drag("ward", page.lists.free, page.lists.columns)
    enter(page.epsilon.spin.lineEdit(), "0.5")
    counted(qtbot, panel)
    assert heads(page.true, Qt.Orientation.Vertical) == ["asthma", "cancer", "flu", "none"]
    assert heads(page.true, Qt.Orientation.Horizontal) == ["north", "south", "west"]
    frame = panel.session.table.frame
    truth = pd.crosstab(frame["disease"], frame["ward"]).reindex(columns=["north", "south"])
    assert [row[:2] for row in shown(page.true)] == truth.astype(str).to_numpy().tolist()
    assert [row[2] for row in shown(page.true)] == ["0"] * 4
    assert shown(page.losses)[0] == ["Clinic A", "0", "0", "0.5"]
    assert shown(page.losses)[-1] == ["all together", "0", "0", "0.5"]
    assert page.verdict.text() == "OK: Nothing that was checked speaks against this release."
    assert "Clinic A has ε = 0.5 of one record in all" in page.findings.text()

    assert page.folder.text() == str(tmp_path / "releases")
    click(panel.primary)
    wait_for_jobs(qtbot, panel.session)
    assert messages(panel.messages)[0].startswith("The table of counts is in")
    (bundle,) = (tmp_path / "releases").iterdir()
    with (bundle / "counts.csv").open(encoding="utf-8", newline="") as file:
        left = {(row["disease"], row["ward"]): row for row in csv.DictReader(file)}
    names, wards = (
        heads(page.noisy, way) for way in (Qt.Orientation.Vertical, Qt.Orientation.Horizontal)
    )
    for name, cells in zip(names, shown(page.noisy), strict=True):
        for ward, cell in zip(wards, cells, strict=True):
            row = left[name, ward]
            assert cell == f"{row['count']}  ({row['low']} to {row['high']})".replace("-", "−")
    counted(qtbot, panel)
    assert shown(page.losses)[0] == ["Clinic A", "0", "0.5", "0.5"]  # the same again costs nothing


@pytest.mark.slow
def test_keys_and_buttons_do_what_dragging_does(qtbot, panel):
    page, lists = panel.counts, panel.counts.lists
    lists.free.setFocus()
    lists.free.choose("ward")
    QTest.keyClick(lists.free, Qt.Key.Key_R)
    assert (lists.down, lists.across) == (("ward",), ())
    lists.free.choose("disease")
    click(lists.to_rows)
    assert lists.down == ("ward", "disease")
    drag("ward", lists.rows, lists.rows)  # to the end
    assert lists.down == ("disease", "ward")
    counted(qtbot, panel)
    assert len(shown(page.noisy)) == 12
    lists.rows.choose("disease")
    QTest.keyClick(lists.rows, Qt.Key.Key_Delete)
    click(lists.to_columns)
    assert (lists.down, lists.across) == (("ward",), ("disease",))
    lists.columns.choose("disease")
    click(lists.take_out)
    lists.rows.choose("ward")
    click(lists.take_out)
    assert page.about.text() == "Put a column into the table to see it."
    assert not panel.primary.isEnabled()


@pytest.mark.slow
def test_a_table_of_counts_is_withdrawn_in_the_ledger(qtbot, panel, tmp_path):
    page = panel.counts
    drag("ward", page.lists.free, page.lists.rows)
    counted(qtbot, panel)
    click(panel.primary)
    wait_for_jobs(qtbot, panel.session)
    click(panel.what.button_for(False))
    card = panel.ledger
    assert card.model.index(0, STATE).data() == "Counts"
    card.table.selectRow(0)
    click(card.withdraw)
    dialog = dialog_of(panel.window(), WithdrawDialog)
    type_into(dialog.reason, "An old extract")
    click(dialog.submit)
    wait_for_jobs(qtbot, panel.session)
    assert "by “ward”: “An old extract”" in card.model.line(0).what
    card.table.selectRow(1)
    assert not card.withdraw.isEnabled()


@pytest.mark.slow
def test_above_the_limit_in_all_a_reason_is_asked_for(qtbot, panel):
    page = panel.counts
    page.most.set_value(0.5)
    click(page.limited)
    drag("ward", page.lists.free, page.lists.rows)
    counted(qtbot, panel)
    assert panel.session.document.most_epsilon == 0.5
    assert page.verdict.text() == "Danger: The ε in all is above what the project allows."
    assert not panel.primary.isEnabled()
    type_into(page.reason, "The ministry asks for it")
    click(panel.primary)
    wait_for_jobs(qtbot, panel.session)
    assert messages(panel.messages)[0].startswith("The table of counts is in")
    counted(qtbot, panel)
    assert page.reason.isHidden()  # the same again adds nothing
    click(page.limited)
    assert panel.session.document.most_epsilon is None


@pytest.mark.slow
def test_a_second_person_approves_just_this_table(qtbot, panel):
    session, page = panel.session, panel.counts
    session.edit("Ask", replace(session.document, needs_approval=True))
    assert session.save()
    add_approver(session.project, "Grace Hopper", "nanoseconds of wire")
    drag("ward", page.lists.free, page.lists.rows)
    counted(qtbot, panel)
    assert not panel.primary.isEnabled()
    assert "No second person has approved a table of counts by “ward”" in page.findings.text()
    click(page.approve)
    dialog = dialog_of(panel.window(), ApproveDialog)
    type_into(dialog.first, "nanoseconds of wire")
    click(dialog.submit)
    wait_for_jobs(qtbot, session)
    counted(qtbot, panel)
    assert page.approve.isHidden()
    assert panel.primary.isEnabled()
