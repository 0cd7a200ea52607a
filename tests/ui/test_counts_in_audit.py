"""Tables of counts in the Audit panel: what they tell together, and whose a found one is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.disclosure.record_losses import RecordLosses
from sfumato.analysis.questions import question_called
from sfumato.analysis.tables.count_tables import answer_of_counts, release_counts
from sfumato.engine.core.columns import Domain
from sfumato.engine.core.progress import Silent
from sfumato.ui.panels.audit.pages.answer import page_of
from sfumato.ui.panels.audit.pages.leak import LeakPage
from tests.ui.clinic import open_clinic, protected, save_clinic, wait_for_jobs
from tests.ui.hands import tab_of

LEFT = Qt.MouseButton.LeftButton
PooledPage = page_of(question_called("counts"))


@pytest.fixture
def project(qtbot, audit_panel, tmp_path):
    session = audit_panel.session
    document = protected()
    ward = replace(document.column("ward"), domain=Domain(("north", "south", "west")))
    open_clinic(session, document.with_column(ward))
    save_clinic(session, tmp_path)
    wait_for_jobs(qtbot, session)
    return session


def counted(qtbot, session, place: int, epsilon: float, folder: Path) -> tuple[str, Path]:
    """Give a recipient a table of counts by ward; return who it is, and its folder."""
    recipient = session.document.recipients[place]
    given = (session.project, session.source, ["ward"], recipient, epsilon, folder, "agreed")
    path, _, _ = release_counts(*given, False, Silent())
    session.ledger_changed.emit()
    wait_for_jobs(qtbot, session)
    return recipient.name, path


@pytest.mark.slow
def test_the_page_of_pooled_tables_is_offered_once_one_has_left(
    qtbot, audit_panel, project, tmp_path
):
    offered = [type(page) for page in audit_panel.questions.offered]
    assert PooledPage not in offered
    name, _ = counted(qtbot, project, 0, 1.0, tmp_path / "out")
    page = audit_panel.show_page(PooledPage)
    qtbot.mouseClick(tab_of(audit_panel.questions, page), LEFT)
    wait_for_jobs(qtbot, project)
    assert f"{name}, Institute and Public have ε = 1" in page.sentence.text()
    everybody = page.shown.tables[0].model()
    last = everybody.rowCount() - 1
    assert everybody.index(last, everybody.columnCount() - 1).data() == "1"


@pytest.mark.parametrize("left", [RecordLosses({("cost", "g"): {"A": None}}), RecordLosses({}, 2)])
def test_no_guess_is_bounded_where_more_is_held_than_is_counted(left):
    whole = answer_of_counts(protected(), RecordLosses(), ())
    assert "in at most 50.0 of 100 tries" in str(whole.sentences[0])
    told = answer_of_counts(protected(), left, ())
    assert "it bounds no guess" in str(told.sentences[0])
    assert told.facts["right_at_most"] is None
    assert len(told.notes) == len(whole.notes) + 1


def test_a_found_table_of_counts_names_its_recipient(
    qtbot, audit_panel, project, answers, tmp_path
):
    counted(qtbot, project, 0, 2.0, tmp_path / "out")
    name, path = counted(qtbot, project, 1, 1.0, tmp_path / "out")
    page = audit_panel.show_page(LeakPage)
    wait_for_jobs(qtbot, project)
    lines = (path / "counts.csv").read_text(encoding="utf-8").splitlines()
    answers.file = tmp_path / "found.csv"
    answers.file.write_text("\n".join([lines[0], *reversed(lines[1:])]), encoding="utf-8")
    qtbot.mouseClick(page.finding.choose, LEFT)
    wait_for_jobs(qtbot, project)
    assert name in page.finding.verdict.text()
    assert page.finding.shown.tables == []
