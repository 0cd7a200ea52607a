"""The audit of numbers: errors by how many pool, and record by record."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.coalitions.holdings import ReleaseBasis, holdings_of
from sfumato.analysis.coalitions.pooled_numbers import (
    SAMPLES,
    guesses_off,
    linear_errors,
    numbers_coalition,
    weigh_numbers,
)
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.edits import with_spacing
from sfumato.project.release.release import make_release
from sfumato.ui.panels.audit.holders import level_text
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.numbers import NumbersPage, bayes_data
from sfumato.ui.panels.base import PanelState
from tests.in_batches import in_batches
from tests.ui.clinic import open_clinic, save_clinic, wait_for_jobs
from tests.ui.clinic import protected as protected_categories
from tests.ui.hands import choose, on_screen
from tests.ui.payroll import open_payroll, payroll_table, protected


@pytest.fixture
def page(qtbot, session):
    return on_screen(qtbot, NumbersPage(session), 900, 900)


@pytest.fixture
def filled(qtbot, page):
    open_payroll(page.session, protected())
    wait_for_jobs(qtbot, page.session)
    return page


def coalition(document=None, rows=600):
    document = document or protected()
    table = payroll_table(rows)
    entry = document.policy[0]
    attributes = {
        name: encode_column(table, document.column(name)).attribute for name in entry.attributes
    }
    held = holdings_of(document, entry, attributes, (), ReleaseBasis.PLANNED)
    return numbers_coalition(entry, held, attributes)


def tick(page, row, ticked):
    state = Qt.CheckState.Checked if ticked else Qt.CheckState.Unchecked
    page.model.setData(page.model.index(row, 0), state, Qt.ItemDataRole.CheckStateRole)


def test_without_numbers_it_points_to_the_policy(page):
    assert page.state() is PanelState.EMPTY
    open_clinic(page.session, protected_categories())
    assert page.pages.currentWidget() is page.empty


def test_it_says_that_pooling_gains_nothing_and_shows_it(filled):
    assert filled.state() is PanelState.DONE
    assert "no more about “age” + “income” than Clinic A alone" in filled.sentence.text()
    assert "on the ladder, 20\u202f%" in filled.copies.figure.headline


@pytest.mark.slow
def test_the_error_stays_on_the_ladder_and_falls_without(filled):
    asked = coalition()
    errors = linear_errors(asked)
    assert asked.names == ("Clinic A", "Institute", "Public")
    assert errors[Dependence.LADDER] == pytest.approx([0.2, 0.2, 0.2])
    assert np.all(np.diff(errors[Dependence.INDEPENDENT]) < 0)
    assert errors[Dependence.LINEAR][1:] == pytest.approx([0.0, 0.0], abs=1e-6)


@pytest.mark.slow
def test_guesses_of_records_are_further_off_on_the_ladder():
    experiment = weigh_numbers(coalition(rows=5_000), Silent()).experiment
    off = {samples: guesses_off(experiment, samples) for samples in (0, *SAMPLES)}
    for found in off.values():
        # 0.16 and 0.2 of the variance are expected, each with a standard error of a fiftieth.
        apart, ladder = found[Dependence.INDEPENDENT], found[Dependence.LADDER]
        assert np.all(np.mean(apart**2, axis=1) < np.mean(ladder**2, axis=1))
    exact, learned = (off[samples][Dependence.LADDER][0] for samples in (0, SAMPLES[0]))
    share = float(np.mean(exact**2)) / experiment.true[0].std() ** 2
    assert share == pytest.approx(0.2, abs=0.03)
    assert np.mean(learned**2) > 0.95 * np.mean(exact**2)


@pytest.mark.slow
def test_members_can_be_unticked(qtbot, filled):
    tick(filled, 0, False)
    wait_for_jobs(qtbot, filled.session)
    assert "than Institute alone" in filled.sentence.text()
    assert "on the ladder, 50\u202f%" in filled.copies.figure.headline
    tick(filled, 1, False)
    tick(filled, 2, False)
    assert filled.sentence.text().startswith("Tick recipients")
    assert filled.state() is PanelState.IN_PROGRESS


@pytest.mark.slow
def test_attribute_and_knowledge_can_be_chosen(filled):
    choose(filled.attribute, 1)
    choose(filled.knowledge, SAMPLES[2])
    assert "income" in filled.errors.figure.headline
    assert "1,200 released records" in filled.errors.figure.subtitle


def test_numbers_whose_spread_can_t_be_measured_are_named(qtbot, page):
    table = payroll_table()
    frame = table.frame.assign(age=30)
    open_payroll(page.session, protected(), Table(frame))
    told = []
    page.told.connect(told.append)
    wait_for_jobs(qtbot, page.session)
    assert any("age" in message.text for message in told) or page.state() is not PanelState.DONE


@pytest.mark.slow
def test_the_coalition_page_shows_errors_where_nothing_can_be_counted(qtbot, session):
    page = on_screen(qtbot, CoalitionPage(session), 900, 900)
    document = protected()
    open_payroll(session, document)
    wait_for_jobs(qtbot, session)
    assert page.state() is PanelState.DONE
    assert "leave" in page.bars.figure.headline
    first = replace(document.recipients[0], statements={})
    session.edit("x", replace(document, recipients=(first, *document.recipients[1:])))
    wait_for_jobs(qtbot, session)
    assert "50\u202f%" in page.bars.figure.headline


def test_the_coalition_page_does_not_call_rounded_numbers_a_ladder(qtbot, session):
    page = on_screen(qtbot, CoalitionPage(session))
    open_payroll(session, protected(rounding={"age": 5.0}))
    wait_for_jobs(qtbot, session)
    assert "together can learn a little more about “age” + “income”" in page.sentence.text()


def release_to(qtbot, page, folder, *names):
    project = save_clinic(page.session, folder)
    for name in names:
        make_release(project, in_batches(page.session.table), name, folder / "out", "csv", Silent())
    page.session.ledger_changed.emit()
    wait_for_jobs(qtbot, page.session)
    return project


@pytest.mark.slow
def test_what_was_released_is_weighed_until_the_plan_is_asked_for(qtbot, filled, tmp_path):
    assert not filled.basis.isVisible()
    release_to(qtbot, filled, tmp_path, "Institute", "Public")
    assert filled.basis.isVisible()
    assert [held.recipient for held in filled.model.coalition] == ["Institute", "Public"]
    assert "than Institute alone" in filled.sentence.text()
    filled.basis.button_for("planned").click()
    wait_for_jobs(qtbot, filled.session)
    assert "than Clinic A alone" in filled.sentence.text()


@pytest.mark.slow
def test_levels_that_were_lowered_by_a_hair_are_weighed_as_they_are(qtbot, page, tmp_path):
    open_payroll(page.session, with_spacing(protected(), 0.05))
    wait_for_jobs(qtbot, page.session)
    expected = [0.25, 1.0 / 0.95, 4.0 / 0.9]
    assert [held.level for held in page.model.coalition] == pytest.approx(expected, rel=1e-4)
    release_to(qtbot, page, tmp_path, "Clinic A", "Institute", "Public")
    assert [held.level for held in page.model.coalition] == pytest.approx(expected, rel=1e-4)
    assert [level_text(held) for held in page.model.coalition][1] == "σ² = 1.05"


@pytest.mark.slow
def test_somebody_who_knows_the_distribution_gains_nothing_on_the_ladder(filled):
    pooled = filled._weighed.pooled
    for data in (bayes_data(pooled, place) for place in range(2)):
        assert data.apart < 1e-9
        assert data.ladder == pytest.approx(np.full(3, data.ladder[0]), rel=1e-9)
        assert np.all(np.diff(data.independent) < 0)
        assert data.ladder[0] <= 1.02 * data.linear[0]
    assert "Knowing the distribution of “age”" in filled.bayes.figure.headline
    assert "together and Clinic A's own, as a share of the spread, is" in filled.rest.text()
    choose(filled.attribute, 1)
    assert "Knowing the distribution of “income”" in filled.bayes.figure.headline


@pytest.mark.slow
def test_rounded_numbers_are_no_ladder_and_the_page_says_what_that_costs(qtbot, page):
    open_payroll(page.session, protected(rounding={"age": 60.0}))
    wait_for_jobs(qtbot, page.session)
    assert "together can learn a little more about “age” + “income”" in page.sentence.text()
    assert "rounded or bounded after the noise" in page.rest.text()
    assert "By Bayes' rule, for somebody who knows how “age” is distributed" in page.rest.text()
    tick(page, 1, False)
    tick(page, 2, False)
    wait_for_jobs(qtbot, page.session)
    assert page.sentence.text().startswith("Clinic A alone holds")
    open_payroll(page.session, protected())
    wait_for_jobs(qtbot, page.session)
    assert "rounded" not in page.rest.text()
