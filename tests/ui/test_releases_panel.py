"""The Releases panel, through the widgets a person uses."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from PySide6.QtCore import QMimeData, QPointF, Qt, QUrl
from PySide6.QtGui import QDesktopServices, QDragEnterEvent, QDropEvent
from PySide6.QtTest import QTest

from sfumato.analysis.editions.since_release import SinceRelease
from sfumato.analysis.releasing import make_all
from sfumato.engine.core.columns import Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table
from sfumato.project.document.model import TableSource
from sfumato.project.ledger import ReleaseState
from sfumato.project.project_file import ProjectFile
from sfumato.resources import resource_path
from sfumato.ui.look.wording import level_words
from sfumato.ui.panels.attributes.panel import AttributesPanel
from sfumato.ui.panels.base import PanelState
from sfumato.ui.panels.releases import PANEL
from sfumato.ui.panels.releases.ledger import BUNDLE, LEVELS, RECIPIENT, STATE
from sfumato.ui.panels.releases.order_card import RecipientCandidate, candidates_of
from sfumato.ui.panels.releases.panel import dropped_bundle
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.widgets.messages import MessageKind
from tests.in_batches import in_batches
from tests.ui.clinic import (
    clinic_document,
    clinic_table,
    open_clinic,
    protected,
    save_clinic,
    wait_for_jobs,
)
from tests.ui.hands import on_screen, type_into

LEFT = Qt.MouseButton.LeftButton


class Chooser:
    """Answers with what the test put into it."""

    def __init__(self):
        self.answer = None

    def open_file(self, title, filters, folder=None):
        return self.answer

    def folder(self, title, folder=None):
        return self.answer


@pytest.fixture
def panel(qtbot, session):
    session.chooser = Chooser()
    return on_screen(qtbot, PANEL(session), 900, 800)


@pytest.fixture
def ready(qtbot, panel, tmp_path):
    """A saved project that is ready for releases into a folder of the test."""
    open_clinic(panel.session, protected())
    save_clinic(panel.session, tmp_path)
    wait_for_jobs(qtbot, panel.session)
    return panel


def release(qtbot, panel):
    wait_for_jobs(qtbot, panel.session)
    if not panel.readiness.ask.isHidden():
        panel.readiness.reason.setText("a test")
    qtbot.mouseClick(panel.primary, LEFT)
    wait_for_jobs(qtbot, panel.session)


def untick(panel, row):
    model = panel.form.model
    model.setData(model.index(row, 0), Qt.CheckState.Unchecked, Qt.ItemDataRole.CheckStateRole)


def ledger(panel, column):
    model = panel.ledger.model
    return [model.index(row, column).data() for row in range(model.rowCount())]


def texts(panel):
    return [message.text for message in panel.messages.messages]


# ----- before a release


def test_what_is_missing_is_said_with_the_way_there(qtbot, panel):
    assert panel.state() is PanelState.EMPTY
    assert panel.empty.text.text() == "Open a table."
    with qtbot.waitSignal(panel.session.panel_requested) as asked:
        qtbot.mouseClick(panel.go_on, LEFT)
    assert asked.args == ["data"]
    open_clinic(panel.session, clinic_document())
    assert "mechanism for “disease”" in panel.empty.text.text()
    with qtbot.waitSignal(panel.session.panel_requested) as asked:
        qtbot.mouseClick(panel.go_on, LEFT)
    assert asked.args == ["policy"]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_domain_that_was_released_is_kept_and_what_does_not_fit_it_has_a_way_out(qtbot, ready):
    session = ready.session
    release(qtbot, ready)
    attributes = on_screen(qtbot, AttributesPanel(session), 900, 700)
    attributes.choose("disease")
    type_into(attributes.detail.domain.new_value, "measles")
    QTest.keyClick(attributes.detail.domain.new_value, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, session)
    assert "with other possible values than these" in attributes.detail.problem.text()
    assert not ready.primary.isEnabled()
    assert "since then its domain changed" in ready.form._hint.text()
    assert "such as the one for all others" in ready.form._hint.text()
    session.undo()
    wait_for_jobs(qtbot, session)
    assert attributes.detail.problem.text() == ""
    assert ready.primary.isEnabled()
    frame = clinic_table().frame.astype({"disease": str})
    frame.loc[3, "disease"] = "measles"
    open_clinic(session, session.document, Table(frame.astype({"disease": "category"})))
    wait_for_jobs(qtbot, session)
    told = attributes.detail.problem.text()
    assert "outside its domain in 1 row" in told
    assert "give these rows one of its values in the file" in told
    assert "Add the values" not in told


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_work_is_saved_in_a_project_first(qtbot, panel, tmp_path):
    open_clinic(panel.session, protected())
    panel.form.folder.setText(str(tmp_path / "out"))
    assert panel.state() is PanelState.IN_PROGRESS
    assert "save a project first" in panel.form._hint.text()

    def save(then):
        save_clinic(panel.session, tmp_path)
        then()

    panel.session.save_requested.connect(save)
    release(qtbot, panel)
    assert len(list((tmp_path / "out").iterdir())) == 3


@pytest.mark.slow
def test_releases_go_into_the_folder_in_sight_though_the_project_is_saved_elsewhere(
    qtbot, panel, tmp_path
):
    open_clinic(panel.session, protected())
    shown = tmp_path / "table" / "releases"
    source = TableSource(str(shown.parent / "clinic.csv"), "0" * 64, 400)
    panel.session.edit("Read it", replace(panel.session.document, source=source))
    wait_for_jobs(qtbot, panel.session)
    assert panel.form.folder.text() == str(shown)

    def save(then):
        save_clinic(panel.session, tmp_path)
        then()

    panel.session.save_requested.connect(save)
    qtbot.mouseClick(panel.primary, LEFT)
    wait_for_jobs(qtbot, panel.session)
    assert panel.form.folder.text() == str(shown)
    assert len(list(shown.iterdir())) == 3


def test_the_samples_releases_do_not_go_among_the_programs_files(panel):
    source = TableSource(str(resource_path("samples", "clinic.csv")), "0" * 64, 400)
    open_clinic(panel.session, protected(source=source))
    assert panel.form.folder.text().endswith("releases")
    assert "samples" not in panel.form.folder.text()


@pytest.mark.slow
def test_levels_are_told_in_words_once_and_take_as_many_lines_as_they_need(ready):
    form, document = ready.form, ready.session.document
    assert form.model.index(0, 1).data() == "disease: Retention probability p\u00a0=\u00a00.6"
    hunch = {"rho1": 0.1, "rho2": 0.65}
    specs = [replace(s, role=Role.SENSITIVE) if s.name == "ward" else s for s in document.columns]
    entry = replace(document.policy[0], attributes=("ward",))
    levels = {"disease": hunch, "ward": hunch}
    people = tuple(replace(one, statements=levels) for one in document.recipients)
    changed = replace(
        document, columns=tuple(specs), policy=(*document.policy, entry), recipients=people
    )
    told = candidates_of(changed, [SinceRelease(one.name, None) for one in people])
    assert told[0].levels == "disease, ward: a hunch of 10\u202f% rises to 65\u202f% at most"
    one = form.table.rowHeight(0)
    levels = ";  ".join(f"column {number}: p = 0.{number}" for number in range(1, 10))
    form.show_candidates([RecipientCandidate(name, levels, "never") for name in ("A", "B")])
    heights = [form.table.rowHeight(row) for row in range(2)]
    assert min(heights) > 1.5 * one
    assert form.table.viewport().height() >= sum(heights)
    form.show_candidates([RecipientCandidate("A", "short", "never")])
    assert form.table.rowHeight(0) == one


def test_a_level_whose_field_has_a_word_names_it_once():
    told = level_words(mechanism_called("gaussian"), {"normalized_error": 0.2})
    assert told == "Normalized error = 0.2"


def test_a_folder_beside_the_project_is_proposed_and_one_that_was_chosen_stays(ready, tmp_path):
    assert ready.form.folder.text() == str(tmp_path / "releases")
    ready.session.chooser.answer = tmp_path / "elsewhere"
    ready.form.choose.click()
    assert ready.form.folder.text() == str(tmp_path / "elsewhere")
    ready.session.project_changed.emit()
    assert ready.form.folder.text() == str(tmp_path / "elsewhere")


def test_the_button_says_how_many_and_waits_for_recipients_ticked_at_once_and_a_folder(
    qtbot, ready
):
    assert ready.primary.text() == "&Release to 3"
    for row in range(3):
        untick(ready, row)
    assert not ready.primary.isEnabled()
    assert "Tick at least one" in ready.form._hint.text()
    ready.form.model.choose(["Public"])
    assert ready.primary.isEnabled()
    ready.form.folder.clear()
    assert not ready.primary.isEnabled()
    assert "Choose a folder" in ready.form._hint.text()
    form = ready.form
    assert not form.tick_all.isVisible()  # three recipients
    form.show_candidates(
        [RecipientCandidate(f"Clinic {each}", "p = 0.5", "never") for each in range(7)]
    )
    assert form.tick_all.isVisible()
    qtbot.mouseClick(form.tick_all.none, LEFT)
    assert form.model.chosen == ()
    qtbot.mouseClick(form.tick_all.all, LEFT)
    assert len(form.model.chosen) == 7


# ----- releasing


@pytest.mark.slow
def test_every_ticked_recipient_gets_a_bundle(qtbot, ready, tmp_path):
    untick(ready, 1)
    release(qtbot, ready)
    assert sorted(filter(None, ledger(ready, RECIPIENT))) == ["Clinic A", "Public"]
    assert ledger(ready, STATE) == ["Released", "Released", "Created"]
    assert "disease: p = 0.6" in ledger(ready, LEVELS)
    names = sorted(path.name for path in (tmp_path / "releases").iterdir())
    assert sorted(filter(None, ledger(ready, BUNDLE))) == names
    assert texts(ready)[0].startswith("2 releases are in")
    assert ready.state() is PanelState.IN_PROGRESS


@pytest.mark.slow
@pytest.mark.turns(1)
def test_everybody_served_is_done_and_the_ledger_sorts_names_and_finds_the_releases(
    qtbot, ready, tmp_path, monkeypatch
):
    opened = []
    monkeypatch.setattr(QDesktopServices, "openUrl", lambda url: opened.append(url.toLocalFile()))
    release(qtbot, ready)
    assert ready.state() is PanelState.DONE
    model = ready.form.model
    last = [model.index(row, 2).data() for row in range(3)]
    assert all(text.endswith("same levels") for text in last)
    assert not ready.ledger.show_folder.isEnabled()
    ready.ledger.table.selectRow(0)
    qtbot.mouseClick(ready.ledger.show_folder, LEFT)
    assert opened == [str(tmp_path / "releases")]
    ready.ledger.table.sortByColumn(RECIPIENT, Qt.SortOrder.AscendingOrder)
    assert ledger(ready, RECIPIENT) == ["", "Clinic A", "Institute", "Public"]
    ready.ledger.table.sortByColumn(RECIPIENT, Qt.SortOrder.DescendingOrder)
    assert ledger(ready, RECIPIENT) == ["Public", "Institute", "Clinic A", ""]
    event = ready.session.steps.events()[1]
    for state in ReleaseState:
        ready.ledger.show_events([replace(event, record=replace(event.record, state=state))])
        index = ready.ledger.model.index(0, STATE)
        assert index.data(), state
        assert not index.data(Qt.ItemDataRole.DecorationRole).isNull(), state


@pytest.mark.slow
def test_a_level_that_changed_since_is_told(qtbot, ready):
    release(qtbot, ready)
    first = ready.session.document.recipients[0]
    changed = replace(first, statements={"disease": {"retention_probability": 0.5}})
    document = ready.session.document
    ready.session.edit("x", replace(document, recipients=(changed, *document.recipients[1:])))
    model = ready.form.model
    assert model.index(0, 2).data().endswith("changed since")
    tip = model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert "disease: p = 0.6 then, p = 0.5 now" in tip
    assert "disease: p = 0.6 then, p = 0.5 now" in ready.form.changes.text()
    assert model.index(1, 2).data().endswith("same levels")


@pytest.mark.slow
@pytest.mark.parametrize("format_name", ["parquet", "sav", "dta"])
def test_format_and_zip_are_chosen_and_remembered(qtbot, ready, tmp_path, format_name):
    qtbot.mouseClick(ready.form.format.button_for(format_name), LEFT)
    qtbot.mouseClick(ready.form.kind.button_for(True), LEFT)
    ready.form.model.choose(["Public"])
    release(qtbot, ready)
    (path,) = (tmp_path / "releases").iterdir()
    assert path.suffix == ".zip"
    assert ready.session.project.releases[0].format_name == format_name
    again = PANEL(ready.session)
    qtbot.addWidget(again)
    assert again.form.format.value == format_name
    assert again.form.kind.value is True


@pytest.mark.slow
def test_formulas_are_escaped_unless_the_person_says_otherwise(qtbot, ready, tmp_path):
    choice = ready.form.escape_formulas
    assert choice.isChecked()
    assert choice.isEnabled()
    for recipient, escaped in (("Public", True), ("Institute", False)):
        choice.setChecked(escaped)
        ready.form.model.choose([recipient])
        release(qtbot, ready)
        assert ready.session.project.releases[-1].details["escape_formulas"] is escaped
    qtbot.mouseClick(ready.form.format.button_for("sav"), LEFT)
    assert not choice.isEnabled()


@pytest.mark.slow
def test_a_release_that_is_there_already_is_refused_and_the_others_are_made(qtbot, ready):
    ready.form.model.choose(["Clinic A"])
    release(qtbot, ready)
    ready.form.model.choose(["Clinic A", "Public"])
    release(qtbot, ready)
    assert sorted(filter(None, ledger(ready, RECIPIENT))) == ["Clinic A", "Public"]
    (refusal,) = [m for m in ready.messages.messages if m.kind is MessageKind.DANGER]
    assert refusal.text.startswith("No release for Clinic A:")
    assert "never overwrites" in refusal.text
    assert "Choose another folder" in refusal.remedy


def test_cancelling_leaves_nothing_behind(qtbot, ready, tmp_path, monkeypatch):
    going, go_on = threading.Event(), threading.Event()

    def slow(project, table, order, context):
        going.set()
        while True:
            context.report(0.5, "Writing")
            go_on.wait(0.01)

    monkeypatch.setattr("sfumato.ui.panels.releases.panel.make_all", slow)
    qtbot.mouseClick(ready.primary, LEFT)
    qtbot.waitUntil(going.is_set)
    qtbot.waitUntil(lambda: ready.form.progress.bar.value() == 500)
    assert ready.form.progress.currentIndex() == 1
    assert not ready.primary.isEnabled()
    qtbot.mouseClick(ready.form.cancel, LEFT)
    wait_for_jobs(qtbot, ready.session)
    assert ready.form.progress.currentIndex() == 0
    assert ready.primary.isEnabled()
    assert texts(ready) == ["Stopped. Nothing was released."]
    assert not (tmp_path / "releases").exists()


@pytest.mark.slow
def test_cancelling_tells_who_has_a_release_already(qtbot, ready, monkeypatch):
    made, go_on = threading.Event(), threading.Event()

    def slow(project, table, order, context):
        make_all(
            project, in_batches(table), replace(order, recipients=order.recipients[:1]), context
        )
        made.set()
        while True:
            context.report(0.5, "Writing")
            go_on.wait(0.01)

    monkeypatch.setattr("sfumato.ui.panels.releases.panel.make_all", slow)
    qtbot.mouseClick(ready.primary, LEFT)
    qtbot.waitUntil(made.is_set)
    qtbot.mouseClick(ready.form.cancel, LEFT)
    wait_for_jobs(qtbot, ready.session)
    [first] = [each.recipient for each in ready.session.project.releases]
    assert texts(ready) == [f"Stopped. Made already: {first}."]


@pytest.mark.slow
def test_a_column_that_was_perturbed_before_needs_a_reason_to_be_on_screen(qtbot, ready):
    release(qtbot, ready)
    document = ready.session.document
    column = replace(document.column("disease"), role=Role.INSENSITIVE)
    shown = replace(
        document.with_column(column).with_column(
            replace(document.column("ward"), role=Role.SENSITIVE)
        ),
        policy=(replace(document.policy[0], attributes=("ward",)),),
        recipients=tuple(
            replace(r, statements={"ward": {"retention_probability": 0.5}})
            for r in document.recipients
        ),
    )
    ready.session.edit("x", shown)
    assert ready.form.conflict.isVisible()
    assert "“disease” was perturbed" in ready.form._conflict_text.text()
    assert not ready.primary.isEnabled()
    qtbot.keyClicks(ready.form.reason, "the ethics board agreed")
    assert ready.primary.isEnabled()
    ready.form.model.choose(["Public"])
    release(qtbot, ready)
    kinds = [entry.kind for entry in ready.session.project.ledger.entries]
    assert "override" in kinds


@pytest.mark.slow
def test_a_project_for_reading_only_makes_no_release(qtbot, ready, tmp_path):
    document, table = ready.session.document, ready.session.table
    ready.session.set_project(None)
    project = ProjectFile.open(tmp_path / "clinic.sfumato", "correct horse", read_only=True)
    ready.session.set_project(project)
    ready.session.attach_table(SurveyedTable.of(in_batches(table)))
    wait_for_jobs(qtbot, ready.session)
    assert ready.session.document == document
    assert not ready.primary.isEnabled()
    assert "reading only" in ready.form._hint.text()


# ----- the ledger


@pytest.mark.slow
def test_the_ledger_s_seal_is_examined_and_what_was_tampered_with_needs_attention(qtbot, ready):
    assert ready.ledger.intact.word.text() == "Intact, 1 entry"
    release(qtbot, ready)
    lines = ready.ledger.model.rowCount()
    assert ready.ledger.intact.word.text() == f"Intact, 7 entries in {lines} lines"
    assert 1 < lines < 7
    with ready.session.project.database.transaction() as connection:
        connection.execute("DROP TRIGGER ledger_is_never_changed")
        connection.execute("UPDATE ledger SET details = '{}' WHERE number = 1")
    ready.session.ledger_changed.emit()
    wait_for_jobs(qtbot, ready.session)
    assert ready.state() is PanelState.ATTENTION
    assert ready.ledger.intact.word.text() == "Not as it was written"
    assert "Entry 1 of the ledger" in texts(ready)[0]


@pytest.mark.slow
def test_a_bundle_that_was_moved_is_told(qtbot, ready, tmp_path):
    release(qtbot, ready)
    (tmp_path / "releases").rename(tmp_path / "moved")
    ready.ledger.table.selectRow(0)
    qtbot.mouseClick(ready.ledger.show_folder, LEFT)
    assert "not at" in texts(ready)[0]


# ----- verifying


def bundles(tmp_path):
    return sorted((tmp_path / "releases").iterdir())


@pytest.mark.few(1)
@pytest.mark.parametrize("chosen", ["datapackage.json", "data.csv"])
def test_a_bundle_is_verified_check_by_check_and_fails_once_it_is_altered(
    qtbot, ready, tmp_path, chosen
):
    release(qtbot, ready)
    ready.session.chooser.answer = bundles(tmp_path)[0] / chosen
    qtbot.mouseClick(ready.ledger.verify, LEFT)
    wait_for_jobs(qtbot, ready.session)
    report = ready.ledger.report
    assert report.isVisible()
    assert "is as it was released" in report.verdict.text()
    assert report.about.text() == "Made for Clinic A."
    assert len(report.texts()) > 1
    assert all(text.startswith("Holds") for text in report.texts())
    qtbot.mouseClick(report.back, LEFT)
    assert ready.ledger.table.isVisible()
    path = bundles(tmp_path)[0]
    data = path / "data.csv"
    data.write_text(data.read_text().replace("flu", "cancer", 3))
    ready.verify(path)
    wait_for_jobs(qtbot, ready.session)
    assert "does not hold up" in report.verdict.text()
    assert report.texts()[0].startswith("Fails")
    assert any("3 of 400" in text for text in report.texts())
    ready.session.set_project(None)
    assert not report.isVisible()  # it was about that project


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_bundle_of_an_earlier_edition_is_whole_and_not_verified(qtbot, ready, tmp_path):
    release(qtbot, ready)
    source = replace(ready.session.document.source, digest="1" * 64)
    project = ready.session.project
    project.save_document(replace(ready.session.document, source=source))
    ready.verify(bundles(tmp_path)[0])
    wait_for_jobs(qtbot, ready.session)
    report = ready.ledger.report
    assert report.verdict.text().endswith("is as it was released; the table has changed since")
    assert "Made for Clinic A. Its values can be verified only" in report.about.text()
    assert report.texts()[0].startswith("Changed: Source table. It has changed since")
    assert not any(text.startswith("Fails") for text in report.texts())
    data = bundles(tmp_path)[0] / "data.csv"
    data.write_text(data.read_text().replace("flu", "cancer", 3))
    ready.verify(bundles(tmp_path)[0])
    wait_for_jobs(qtbot, ready.session)
    assert "does not hold up" in report.verdict.text()
    assert not any(text.startswith("Changed") for text in report.texts())


def test_a_foreign_folder_is_no_error_but_a_verdict(qtbot, ready, tmp_path):
    (tmp_path / "foreign").mkdir()
    ready.verify(tmp_path / "foreign")
    wait_for_jobs(qtbot, ready.session)
    assert "does not hold up" in ready.ledger.report.verdict.text()
    assert "could not be recognised" in ready.ledger.report.about.text()


def mime(*paths):
    made = QMimeData()
    made.setUrls([QUrl.fromLocalFile(str(path)) for path in paths])
    return made


@pytest.mark.slow
def test_a_bundle_is_verified_by_dropping_it(qtbot, ready, tmp_path):
    release(qtbot, ready)
    data = mime(bundles(tmp_path)[0])
    buttons, none = LEFT, Qt.KeyboardModifier.NoModifier
    place = QPointF(100, 100)
    enter = QDragEnterEvent(place.toPoint(), Qt.DropAction.CopyAction, data, buttons, none)
    ready.dragEnterEvent(enter)
    assert enter.isAccepted()
    assert "verify" in ready._hint.text
    ready.dropEvent(QDropEvent(place, Qt.DropAction.CopyAction, data, buttons, none))
    wait_for_jobs(qtbot, ready.session)
    assert ready.ledger.report.isVisible()


@pytest.mark.slow
def test_anything_else_is_left_to_the_window(ready, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    assert dropped_bundle(mime(table)) is None
    assert dropped_bundle(mime(tmp_path)) is None
    assert dropped_bundle(mime(table, table)) is None
    data = mime(table)
    event = QDragEnterEvent(
        QPointF(1, 1).toPoint(),
        Qt.DropAction.CopyAction,
        data,
        LEFT,
        Qt.KeyboardModifier.NoModifier,
    )
    ready.dragEnterEvent(event)
    assert not event.isAccepted()


def test_verifying_without_a_project_says_what_it_takes(panel, tmp_path):
    assert not panel.ledger.verify.isEnabled()
    assert "open them first" in panel.ledger.verify.toolTip()
    panel.verify(tmp_path)
    assert "against a project" in texts(panel)[0]
