"""Tracing a leak, through the widgets a person uses."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest
from PySide6.QtCore import Qt

from sfumato.engine.core.columns import Pseudonym
from sfumato.engine.core.progress import Silent
from sfumato.project.release.release import make_release
from sfumato.ui.look.theme import current_theme
from sfumato.ui.panels.audit.pages.leak import LeakPage
from sfumato.ui.widgets.painted import IconLabel
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(audit_panel):
    return audit_panel.show_page(LeakPage)


@pytest.fixture
def released(qtbot, page, tmp_path):
    session = page.session
    open_clinic(session, protected())
    save_clinic(session, tmp_path)
    wait_for_jobs(qtbot, session)
    for recipient in session.document.recipients:
        make_release(
            session.project,
            in_batches(session.table),
            recipient.name,
            tmp_path / "out",
            "csv",
            Silent(),
        )
    session.ledger_changed.emit()
    wait_for_jobs(qtbot, session)
    return page


def bundle_of(page, tmp_path, place):
    record = page.session.project.releases[place]
    return record.recipient, pd.read_csv(record.target / "data.csv")


def colours_of_icon(page):
    """Return the colours that the finding's icon is painted in."""
    drawn = page.finding.findChild(IconLabel).grab().toImage()
    return {
        drawn.pixelColor(x, y).name().upper()
        for x in range(drawn.width())
        for y in range(drawn.height())
    }


def test_without_a_project_the_page_leads_to_releases(qtbot, page):
    asked = []
    page.session.panel_requested.connect(asked.append)
    qtbot.mouseClick(page.empty.findChild(type(page.finding.choose)), LEFT)
    assert asked == ["releases"]


def test_a_chosen_file_names_its_recipient(qtbot, released, answers, tmp_path):
    recipient, frame = bundle_of(released, tmp_path, 0)
    found = tmp_path / "found.csv"
    frame.sample(frac=1.0, random_state=3).to_csv(found, index=False)
    answers.file = found
    qtbot.mouseClick(released.finding.choose, LEFT)
    wait_for_jobs(qtbot, released.session)
    [table] = released.finding.shown.tables
    model = table.model()
    names = {model.index(row, 1).data() for row in range(model.rowCount())}
    assert recipient in names
    assert "rows" in released.finding.verdict.text()
    style, painted = current_theme().style, colours_of_icon(released)
    assert style.danger.upper() in painted, "somebody's copy is where it should not be"
    assert style.good.upper() not in painted


@pytest.mark.slow
def test_a_file_that_no_release_is_told_apart_by_is_a_caution(qtbot, released, answers, tmp_path):
    _, frame = bundle_of(released, tmp_path, 0)
    found = tmp_path / "found.csv"
    frame.head(1).to_csv(found, index=False)
    answers.file = found
    qtbot.mouseClick(released.finding.choose, LEFT)
    wait_for_jobs(qtbot, released.session)
    style, painted = current_theme().style, colours_of_icon(released)
    assert style.caution.upper() in painted
    assert style.danger.upper() not in painted


@pytest.mark.slow
def test_renamed_columns_are_matched_and_the_card_says_which(qtbot, released, answers, tmp_path):
    recipient, frame = bundle_of(released, tmp_path, 0)
    found = tmp_path / "found.csv"
    names = {name: f"c{place}" for place, name in enumerate(frame.columns)}
    frame.rename(columns=names).to_csv(found, index=False)
    answers.file = found
    qtbot.mouseClick(released.finding.choose, LEFT)
    wait_for_jobs(qtbot, released.session)
    assert recipient in released.finding.verdict.text()
    assert "Matched by their contents" in released.finding.about.text()


@pytest.mark.slow
def test_pseudonyms_alone_name_the_one_who_has_them(qtbot, page, answers, tmp_path):
    session = page.session
    document = protected()
    name = replace(document.column("name"), pseudonym=Pseudonym())
    open_clinic(session, document.with_column(name))
    save_clinic(session, tmp_path)
    made = make_release(
        session.project, in_batches(session.table), "Public", tmp_path / "out", "csv", Silent()
    )
    session.ledger_changed.emit()
    found = tmp_path / "found.csv"
    pd.read_csv(made.path / "data.csv")[["name"]].to_csv(found, index=False)
    answers.file = found
    qtbot.mouseClick(page.finding.choose, LEFT)
    wait_for_jobs(qtbot, session)
    assert "Pseudonyms of “name” that Public alone is given" in page.finding.verdict.text()
    assert page.finding.shown.tables == []


def test_a_file_that_tells_nothing_is_refused_in_words(qtbot, released, answers, tmp_path):
    found = tmp_path / "found.csv"
    found.write_text("town,rain\nX,1\n", encoding="utf-8")
    answers.file = found
    said = []
    released.told.connect(said.append)
    qtbot.mouseClick(released.finding.choose, LEFT)
    wait_for_jobs(qtbot, released.session)
    assert "none of the perturbed columns" in said[-1].text
    assert released.finding.shown.tables == []


@pytest.mark.slow
def test_a_distance_is_set_and_undone(qtbot, released):
    session = released.session
    field = released.spacing.field.spin
    field.setFocus()
    field.selectAll()
    qtbot.keyClicks(field, "2.5")
    qtbot.keyClick(field, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, session)
    qtbot.mouseClick(released.spacing.use, LEFT)
    assert session.document.level_spacing == pytest.approx(0.025)
    marks = [recipient.mark for recipient in session.document.recipients]
    assert len(set(marks)) == len(marks)
    assert not released.spacing.stop.isHidden()
    session.undo()
    assert session.document.level_spacing == 0.0


@pytest.mark.slow
def test_equal_levels_are_told_to_be_untraceable(qtbot, released):
    session = released.session
    first = session.document.recipients[0]
    same = tuple(replace(r, statements=first.statements) for r in session.document.recipients)
    session.edit("Same level", replace(session.document, recipients=same))
    released.spacing.field.spin.setValue(0.0)
    wait_for_jobs(qtbot, session)
    assert "get the same values" in released.spacing.outcome.text()


@pytest.mark.slow
def test_looking_at_the_page_changes_nothing(qtbot, released):
    before = released.session.document
    released.hide()
    released.show()
    wait_for_jobs(qtbot, released.session)
    assert released.session.document is before
