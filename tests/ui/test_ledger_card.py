"""The ledger's card: everything in one order of time, narrowed and copied by a person."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QDesktopServices, QGuiApplication
from PySide6.QtTest import QTest

from sfumato.project.errors import LedgerTampered
from sfumato.project.ledger import EntryKind, EventSubject, events_in
from sfumato.project.project_file import ProjectFile
from sfumato.ui.look.theme import current_theme
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.panels.releases.ledger import (
    BUNDLE,
    LEVELS,
    RECIPIENT,
    STATE,
    contradictions,
    line_of,
)
from sfumato.ui.panels.releases.verification_view import WithdrawDialog
from tests.project import adopting as made
from tests.project.making import PASSPHRASE, new_project
from tests.ui.hands import click, dialog_of, messages, on_screen, type_into

WARD = made.ward()


def of_another_version(connection, project):
    """Entries of every kind, and one that only a later version knows."""
    ledger = project.ledger
    ledger.append(connection, EntryKind.PASSPHRASE_CHANGED, {})
    change = {"from": {"rows": 2_500}, "to": {"rows": 3_000, "path": "/data/ward.csv"}}
    ledger.append(connection, EntryKind.SOURCE_CHANGED, change)
    ledger.append(connection, EntryKind.ADOPTED, {"holder": "Nobody", "release": {"level": "?"}})


@pytest.fixture
def card(qtbot, session, tmp_path):
    """The card of a project that adopted a release, made one, and changed since."""
    (path,) = made.ladder_files(tmp_path, WARD, 0.8)
    told = made.claim(path, 0.8, holder="Old Clinic")
    project = new_project(tmp_path, made.adopted(made.settled(), WARD, told))
    made.released(project, WARD, tmp_path / "out", "Clinic A")
    with project.database.transaction() as connection:
        of_another_version(connection, project)
    session.set_project(project)
    panel = on_screen(qtbot, PANEL(session), 900, 900)
    qtbot.waitUntil(lambda: not session.runner.jobs)
    panel.pages.setCurrentWidget(panel.work)
    return panel.ledger


def column(card, number):
    return [card.model.index(row, number).data() for row in range(card.model.rowCount())]


def test_everything_stands_in_one_order_of_time_the_newest_first(card):
    assert column(card, STATE) == [
        "Adopted",
        "New edition",
        "Passphrase",
        "Released",
        "Adopted",
        "Created",
    ]
    assert column(card, RECIPIENT)[3:5] == ["Clinic A", "Old Clinic"]
    assert column(card, LEVELS)[4] == "illness: p = 0.8, on the ladder"
    assert column(card, BUNDLE)[4] == "at-0.8.csv"
    assert "3,000 records, before 2,500" in column(card, LEVELS)[1]


@pytest.mark.slow
def test_an_adoption_that_this_version_can_not_read_is_shown_by_its_holder(card):
    assert column(card, RECIPIENT)[0] == "Nobody"
    assert column(card, LEVELS)[0] == ""


@pytest.mark.slow
def test_lines_are_narrowed_to_what_they_are_about(qtbot, card):
    click(card.subject.button_for(EventSubject.ADOPTION))
    assert column(card, STATE) == ["Adopted", "Adopted"]
    click(card.subject.button_for(EventSubject.RELEASE))
    assert column(card, RECIPIENT) == ["Clinic A"]
    click(card.subject.button_for(None))
    assert card.model.rowCount() == 6


@pytest.mark.slow
def test_lines_are_narrowed_to_words_that_occur_in_them(qtbot, card):
    type_into(card.search, "old ADOPTED")
    assert column(card, RECIPIENT) == ["Old Clinic"]
    type_into(card.search, "nowhere")
    assert card.pages.currentWidget() is card.nothing
    assert not card.copy.isEnabled()
    click(card.nothing.findChild(type(card.copy)))
    assert card.model.rowCount() == 6
    assert card.search.text() == ""


@pytest.mark.slow
def test_all_that_is_shown_is_copied_with_whole_digests(qtbot, card):
    click(card.subject.button_for(EventSubject.RELEASE))
    click(card.copy)
    header, line = QGuiApplication.clipboard().text().splitlines()
    assert header.split("\t")[:3] == ["Entry", "Event", "When"]
    record = card.model.line(0).event.record
    assert line.split("\t") == [
        str(record.number),
        "Released",
        record.recorded_at,
        "Clinic A",
        "illness: p = 0.6",
        str(record.target),
        record.digest,
    ]


@pytest.mark.slow
def test_chosen_lines_are_copied_by_the_keys(qtbot, card):
    card.table.selectRow(3)
    QTest.keyClick(card.table, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    QTest.keyClick(card.table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    lines = QGuiApplication.clipboard().text().splitlines()
    assert [line.split("\t")[1] for line in lines] == ["Event", "Released", "Adopted"]


@pytest.mark.slow
def test_only_the_folder_of_one_release_is_on_screen(qtbot, card, monkeypatch):
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: True)
    asked = []
    card.folder_asked.connect(asked.append)
    card.table.selectRow(4)
    assert not card.show_folder.isEnabled(), "an adopted file is not in a bundle's folder"
    card.table.clearSelection()
    card.table.selectRow(3)
    click(card.show_folder)
    assert [Path(path).parent.name for path in asked] == ["out"]


def test_a_kind_that_only_a_later_version_knows_is_shown_as_it_is(tmp_path):
    with new_project(tmp_path, made.settled()) as project:
        (entry,) = project.ledger.entries
    later = type(entry)(**{**vars(entry), "kind": "something new"})
    (event,) = events_in([later])
    assert event.subject is EventSubject.PROJECT


ODD = (None, True, -1, 1e300, "", "x", [], ["x"], [[]], {}, {"x": 1}, {"rows": "many"}, [{}])


def with_odd_parts(plain):
    """Yield a value with each of its parts, down to the last, replaced by odd ones."""
    yield from ODD
    keys = plain if isinstance(plain, dict) else range(len(plain) if isinstance(plain, list) else 0)
    for key in keys:
        for odd in with_odd_parts(plain[key]):
            changed = plain.copy()
            changed[key] = odd
            yield changed


def test_what_was_accepted_without_a_valid_seal_is_a_danger(card):
    genuine = next(e for e in events_in([line.event.entry for line in card.model._all]))
    details = {"reason": "restored", "findings": [{"part": "policy", "what": "It was changed."}]}
    entry = replace(genuine.entry, number=99, kind=EntryKind.ACCEPTED_UNSEALED, details=details)
    card.show_events(events_in([entry]))
    state, reason = card.model.index(0, STATE), card.model.index(0, LEVELS)
    danger = QColor(current_theme().style.danger)
    assert (state.data(), reason.data()) == ("No valid seal", "Accepted as it stood: “restored”")
    assert not state.data(Qt.ItemDataRole.DecorationRole).isNull()
    for index in (state, reason):
        assert index.data(Qt.ItemDataRole.ForegroundRole) == danger
    assert "It was changed." in reason.data(Qt.ItemDataRole.ToolTipRole)


@pytest.mark.slow
def test_long_levels_and_reasons_take_several_lines(card):
    line = card.model._all[0]
    short = [card.table.rowHeight(row) for row in range(card.model.rowCount())]
    details = {"reason": "a long reason, " * 12, "findings": []}
    entry = replace(line.event.entry, number=99, kind=EntryKind.ACCEPTED_UNSEALED, details=details)
    card.show_events(events_in([entry]))
    assert card.table.rowHeight(0) > 1.5 * min(short)


@pytest.mark.slow
def test_forged_entries_of_any_form_are_shown_or_told(card):
    """A project whose ledger was forged can be read, so nothing in an entry may upset it."""
    genuine = [line.event.entry for line in card.model._all]
    forged = {"reason": "r", "findings": [{"part": "p", "what": "w"}], "overridden": {"a": "b"}}
    genuine += [
        replace(genuine[0], number=number, kind=kind, details=forged)
        for number, kind in enumerate((EntryKind.OVERRIDE, EntryKind.ACCEPTED_UNSEALED), 90)
    ]
    tried = shown = 0
    for entry in genuine:
        for details in with_odd_parts(dict(entry.details)):
            if not isinstance(details, dict):
                continue
            try:
                events = events_in([replace(entry, details=details)])
            except LedgerTampered:
                events = ()
            for event in events:
                line = line_of(event)
                texts = (*line.look, line.when, line.who, line.what, line.digest)
                assert all(isinstance(text, str) for text in (*texts, contradictions(event)))
                shown += 1
            tried += 1
    assert tried > 500
    assert shown > 0


def test_a_release_is_withdrawn_for_a_reason(qtbot, card):
    panel = card.window()
    card.table.selectRow(4)
    assert not card.withdraw.isEnabled(), "an adopted file is nobody's release of ours"
    card.table.clearSelection()
    card.table.selectRow(3)
    click(card.withdraw)
    dialog = dialog_of(panel, WithdrawDialog)
    assert not dialog.submit.isEnabled()
    type_into(dialog.reason, "the wrong extract")
    click(dialog.submit)
    qtbot.waitUntil(lambda: not panel.session.runner.jobs)
    assert column(card, STATE)[:1] == ["Withdrawal"]
    assert column(card, STATE)[4] == "Withdrawn"
    assert "“the wrong extract”" in column(card, LEVELS)[4]
    card.table.selectRow(4)
    assert not card.withdraw.isEnabled()
    assert "The release to Clinic A is withdrawn." in messages(panel.messages)[0]


@pytest.mark.slow
def test_a_release_is_not_withdrawn_where_the_project_is_open_for_reading(qtbot, card):
    panel = card.window()
    path = panel.session.project.path
    panel.session.set_project(None)
    panel.session.set_project(ProjectFile.open(path, PASSPHRASE, read_only=True))
    qtbot.waitUntil(lambda: not panel.session.runner.jobs)
    card.table.selectRow(3)
    assert card.show_folder.isEnabled()
    assert not card.withdraw.isEnabled()
