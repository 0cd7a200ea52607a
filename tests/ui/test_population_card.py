"""What is known of the population, said as a person says it, and what the risk becomes."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.engine.generalization.risk import PopulationBasis
from sfumato.project.document.generalization import CriterionChoice
from sfumato.ui.panels.policy import PANEL
from tests.ui.generalized_steps import open_small, small_table
from tests.ui.hands import click, on_screen, settle, type_into

START = {"criteria": (CriterionChoice("k-anonymity", {"k": 10}),)}


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 900, 700)
    click(made.ways.segments.button_for("generalized"))
    open_small(session, **START)
    return made


@pytest.fixture
def page(qtbot, panel):
    seen(qtbot, panel.ways.page)
    return panel.ways.page


def seen(qtbot, page):
    qtbot.waitUntil(lambda: page.finding.view is not None)
    settle(qtbot, page.session)


def write_population(folder, copies=3, **columns):
    frame = pd.concat([small_table().frame[["age", "sex"]]] * copies)
    path = folder / "population.csv"
    frame.assign(**columns).to_csv(path, index=False)
    return path


def test_at_first_the_table_counts_as_the_whole_population(page):
    card = page.beside.population
    assert page.finding.view.risks[1].basis is PopulationBasis.TABLE
    assert "Nothing is known" in card.basis.text()
    assert card.share.value == 100
    assert card.forget.isHidden()
    assert card.problem.isHidden()
    assert card.unknown.isHidden()


@pytest.mark.slow
def test_a_list_of_the_population_is_chosen_and_forgotten(qtbot, page, tmp_path):
    card = page.beside.population
    before = page.finding.view.risks[1]
    page.session.chooser.file = write_population(tmp_path)
    click(card.choose)
    settle(qtbot, page.session)
    seen(qtbot, page)
    after = page.finding.view.risks[1]
    assert after.prosecutor == before.prosecutor
    assert after.journalist == pytest.approx(before.journalist / 3)
    assert "360 people" in card.basis.text().replace("\u202f", " ")
    assert page.session.document.generalization.population.path == str(page.session.chooser.file)
    click(card.forget)
    seen(qtbot, page)
    assert page.finding.view.risks[1].basis is PopulationBasis.TABLE
    page.session.undo()
    seen(qtbot, page)
    assert page.finding.view.risks[1].basis is PopulationBasis.COUNTED


@pytest.mark.slow
def test_a_share_of_the_population_is_said_in_the_place_of_a_list(qtbot, page):
    card = page.beside.population
    type_into(card.share.spin, "10")
    card.share.spin.interpretText()
    seen(qtbot, page)
    assert page.session.document.generalization.sampling_fraction == pytest.approx(0.1)
    view = page.finding.view
    assert view.risks[1].basis is PopulationBasis.SAMPLED
    assert view.risks[1].journalist < view.risks[1].prosecutor
    assert "is a sample of 10" in card.basis.text()
    rows = page.beside.statistics.model()
    assert any("population" in str(rows.index(row, 0).data()) for row in range(rows.rowCount()))


@pytest.mark.slow
def test_cells_that_are_not_known_are_named_by_row_and_column(qtbot, page, tmp_path):
    ages = [*small_table().frame["age"], "very old"]
    frame = pd.DataFrame({"age": ages, "sex": [*small_table().frame["sex"], "f"]})
    path = tmp_path / "population.csv"
    frame.to_csv(path, index=False)
    card = page.beside.population
    card.open_file(path)
    settle(qtbot, page.session)
    seen(qtbot, page)
    assert "Column “age”" in card.unknown.text()
    assert "row 121" in card.unknown.text()
    assert "very old" not in card.unknown.text()


@pytest.mark.slow
def test_a_list_that_does_not_fit_says_why_and_the_table_is_shown_all_the_same(
    qtbot, page, tmp_path
):
    card = page.beside.population
    path = tmp_path / "half.csv"
    small_table().frame[["age", "sex"]].head(60).to_csv(path, index=False)
    card.open_file(path)
    settle(qtbot, page.session)
    seen(qtbot, page)
    assert "fewer people than the table has records" in card.problem.text()
    assert page.finding.view.risks[1].basis is PopulationBasis.TABLE
    path.write_text("years\n1\n", encoding="utf-8")
    card.open_file(path)
    settle(qtbot, page.session)
    assert "no column “age”" in card.problem.text()
