"""What the Audit panel tells of the files that were released, through its widgets."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from PySide6.QtCore import Qt

from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.project.release.release import make_release
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from tests.in_batches import in_batches
from tests.row_order import in_table_order
from tests.ui.clinic import DISEASES, open_clinic, protected, save_clinic, wait_for_jobs

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def page(qtbot, audit_panel):
    audit_panel.resize(1000, 900)
    found = audit_panel.show_page(CoalitionPage)
    open_clinic(found.session, protected())
    wait_for_jobs(qtbot, found.session)
    return found


def release(qtbot, page, folder, *names):
    project = save_clinic(page.session, folder)
    made = [
        make_release(project, in_batches(page.session.table), name, folder / "out", "csv", Silent())
        for name in names
    ]
    page.session.ledger_changed.emit()
    wait_for_jobs(qtbot, page.session)
    return made


def plain(widget):
    return widget.text().replace("\u202f", " ")


def beliefs_of(page, outcome, level):
    """What Bayes' rule gives to each record's true value, from the file itself."""
    true = page.session.table.frame["disease"]
    shares = true.value_counts(normalize=True).reindex(DISEASES).to_numpy()
    seen = in_table_order(page.session.project, outcome.path, page.session.table)["disease"]
    beliefs = uniform_matrix(level, 4).posterior(shares)
    pairs = zip(seen, true, strict=True)
    return [beliefs[DISEASES.index(one), DISEASES.index(other)] for one, other in pairs]


@pytest.mark.slow
def test_nothing_is_said_of_files_while_nothing_is_released(qtbot, page, tmp_path):
    assert not page.files.isVisible()
    save_clinic(page.session, tmp_path)
    wait_for_jobs(qtbot, page.session)
    assert not page.files.isVisible()


@pytest.mark.slow
def test_the_figures_are_those_of_the_file_itself(qtbot, page, tmp_path):
    [outcome] = release(qtbot, page, tmp_path, "Clinic A")
    own = beliefs_of(page, outcome, 0.6)
    assert page.files.isVisible()
    text = plain(page.files.sentence)
    assert text.startswith("Clinic A alone gives a record's true value a probability of")
    average, share = re.search(
        r"of ([\d.]+) % on average\. .* For ([\d.]+) % of the records it is at least 50 %", text
    ).groups()
    # A share may lie halfway between two numbers that can be shown.
    assert float(average) == pytest.approx(100 * sum(own) / len(own), abs=0.0501)
    exactly = 100 * sum(belief >= 0.5 for belief in own) / len(own)
    assert float(share) == pytest.approx(exactly, abs=0.0501)
    figure = page.files.shown.plots[0].figure
    assert figure.data["realized"].sum() == pytest.approx(1.0)
    assert figure.data["expected"].sum() == pytest.approx(1.0)
    assert figure.headline.startswith("The files give a record's true “disease” ")
    assert not page.files.agreement.isVisible()


@pytest.mark.slow
def test_all_that_a_coalition_holds_is_weighed_again(qtbot, page, tmp_path):
    release(qtbot, page, tmp_path, "Public", "Clinic A", "Institute")
    text = plain(page.files.agreement)
    assert text.startswith("With all that they hold, 400 of 400 records were weighed again")
    assert "from what Clinic A believes alone" in text
    assert text.endswith(("(rounding): they are the same.", "is 0."))
    assert plain(page.files.sentence).startswith("Clinic A, Institute and Public give")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_values_in_most_danger_are_named(qtbot, page, tmp_path):
    release(qtbot, page, tmp_path, "Clinic A")
    [table] = page.files.shown.tables
    model = table.model()
    told = [model.index(row, 0).data() for row in range(model.rowCount())]
    assert sorted(told) == sorted(DISEASES)
    shares = [float(model.index(row, 1).data()) for row in range(model.rowCount())]
    assert shares == sorted(shares, reverse=True)


@pytest.mark.slow
def test_what_is_planned_has_no_files(qtbot, page, tmp_path):
    release(qtbot, page, tmp_path, "Clinic A")
    qtbot.mouseClick(page.basis.button_for("planned"), LEFT)
    wait_for_jobs(qtbot, page.session)
    assert not page.files.isVisible()
    qtbot.mouseClick(page.basis.button_for("released"), LEFT)
    wait_for_jobs(qtbot, page.session)
    assert page.files.isVisible()
    page.model.tick_all(False)
    wait_for_jobs(qtbot, page.session)
    assert not page.files.isVisible()


@pytest.mark.slow
def test_another_edition_of_the_table_is_told(qtbot, page, tmp_path):
    release(qtbot, page, tmp_path, "Clinic A")
    session = page.session
    source = session.document.source.__class__("/elsewhere.csv", "1" * 64, 400)
    session.edit("x", replace(session.document, source=source))
    wait_for_jobs(qtbot, session)
    assert plain(page.files.sentence).startswith("That can't be told: what Clinic A holds was made")
    assert not any(plot.isVisible() for plot in page.files.shown.plots)
