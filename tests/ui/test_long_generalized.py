"""A generalized table of a table too long for memory in the window: searched, shown, published."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Intervals, Suppression
from sfumato.project.release import batched_table
from sfumato.project.verification.found import verify_file
from sfumato.ui.panels.policy.generalized.finding import SEARCH
from tests.in_batches import in_batches
from tests.ui import test_long_table
from tests.ui.hands import click, settle, type_into
from tests.ui.test_long_table import ROWS, both, panel_of

path, opened = test_long_table.path, test_long_table.opened
marked, saved = test_long_table.marked, test_long_table.saved


@pytest.fixture
def generalized(saved, qtbot):
    """The page of the generalized table, about two public columns that have hierarchies."""
    session = saved.session
    panel = panel_of(saved, qtbot, "policy")
    document = session.document
    for name, recipe in (("age", Intervals(10.0)), ("ward", Suppression())):
        spec = replace(document.column(name), role=Role.QUASI_IDENTIFIER)
        document = document.with_column(spec).with_hierarchy(name, recipe)
    session.edit("Mark", replace(document, policy=(), recipients=()))
    settle(qtbot, session)
    click(panel.ways.segments.button_for("generalized"))
    return panel.ways.page


@pytest.mark.slow
@both
def test_a_generalized_table_is_searched_looked_at_and_published_in_parts(
    generalized, saved, qtbot, tmp_path, monkeypatch
):
    page, session = generalized, saved.session
    monkeypatch.setattr(batched_table, "SAMPLE", 500)
    click(page.start)
    settle(qtbot, session)
    assert page.finding.found is None  # all rows are read once that is asked for
    click(page.search)
    settle(qtbot, session)
    assert "combinations of levels" in page.sentence.text()
    page.tabs.setCurrentWidget(page.beside)
    settle(qtbot, session)
    assert page.beside.after.model().rowCount() == 500
    assert "500 records, drawn evenly, are shown" in page.beside.sentence.text()
    page.tabs.setCurrentWidget(page.publish)
    assert "it holds" in page.publish.check.word.text()
    type_into(page.publish.folder, str(tmp_path / "out"))
    click(page.publish.submit)
    settle(qtbot, session)
    [made] = (tmp_path / "out").iterdir()
    report = verify_file(session.project, in_batches(session.source), made, Silent())
    assert report.holds, report.failed
    assert len(pd.read_csv(made / "data.csv")) == ROWS


@pytest.mark.slow
def test_a_search_in_parts_tells_how_far_it_is_and_can_be_stopped(generalized, saved, qtbot):
    page, session = generalized, saved.session
    click(page.start)
    click(page.search)
    [job] = [each for each in session.runner.jobs if each.key == SEARCH]
    told = []
    job.progressed.connect(lambda job=job: told.append(str(job.text)))
    click(page.stop)
    settle(qtbot, session)
    assert page.finding.found is None
    click(page.search)
    [job] = [each for each in session.runner.jobs if each.key == SEARCH]
    job.progressed.connect(lambda job=job: told.append(str(job.text)))
    settle(qtbot, session)
    assert page.finding.searched is not None
    # Of texts that follow one another quickly the window shows the last.
    assert any(f"of {ROWS:,} rows" in text or text.startswith("Tested") for text in told)
