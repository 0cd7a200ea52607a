"""What the Audit panel tells of coalitions record by record, through its widgets."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt

from sfumato.engine.core.wording import small_number
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from tests.ui.clinic import open_clinic, protected, wait_for_jobs
from tests.ui.hands import type_into


@pytest.fixture
def page(qtbot, audit_panel):
    audit_panel.resize(1000, 900)
    found = audit_panel.show_page(CoalitionPage)
    open_clinic(audit_panel.session, protected())
    wait_for_jobs(qtbot, audit_panel.session)
    return found


def plain(text):
    return text.replace("\u202f", " ")


def column(page, number):
    [table] = page.by_value.tables
    model = table.model()
    return [model.index(row, number).data() for row in range(model.rowCount())]


def ask_about(qtbot, page, level):
    field = page.what_if.level.field
    type_into(field.spin, level)
    qtbot.keyClick(field.spin, Qt.Key.Key_Return)
    wait_for_jobs(qtbot, page.session)


def test_the_coalition_and_its_best_member_are_shown_to_agree(page):
    text = plain(page.rest.text())
    assert text.startswith("Clinic A, Institute and Public give a record's true value, as released")
    assert "the largest difference between the two is" in text
    assert "(rounding): they are the same" in text or "is 0" in text
    assert "With noise of its own in each release it would be" in text


@pytest.mark.slow
def test_records_are_told_by_their_probability(page):
    figure = page.distribution.figure
    assert "as Clinic A alone" in figure.headline
    for kind in ("on_ladder", "alone", "independent"):
        assert figure.data[kind].sum() == pytest.approx(1.0)
    assert figure.data["on_ladder"].to_numpy() == pytest.approx(figure.data["alone"].to_numpy())


@pytest.mark.slow
def test_the_risk_grows_with_every_recipient_in_their_order(page):
    figure = page.growth.figure
    assert list(figure.data["name"]) == ["Clinic A", "Institute", "Public"]
    assert figure.data["on_ladder"].nunique() == 1
    assert figure.data["independent"].is_monotonic_increasing


@pytest.mark.slow
def test_the_values_most_in_danger_stand_first_and_columns_sort(page):
    risks = [float(text) for text in column(page, 2)]
    assert len(risks) == 4
    assert risks == sorted(risks, reverse=True)
    [table] = page.by_value.tables
    table.sortByColumn(0, Qt.SortOrder.AscendingOrder)
    assert column(page, 0) == ["asthma", "cancer", "flu", "none"]
    table.sortByColumn(1, Qt.SortOrder.DescendingOrder)
    counts = [int(text) for text in column(page, 1)]
    assert counts == sorted(counts, reverse=True)
    assert sum(counts) == 400


@pytest.mark.slow
def test_a_less_trusted_recipient_would_teach_the_coalition_nothing(qtbot, page):
    ask_about(qtbot, page, "0.2")
    assert page.what_if.plot.figure.headline == (
        "A recipient at p = 0.2 would teach the coalition nothing: Clinic A tells all they know"
    )


@pytest.mark.slow
def test_a_more_trusted_recipient_would_raise_what_the_coalition_knows(qtbot, page):
    ask_about(qtbot, page, "0.9")
    figure = page.what_if.plot.figure
    assert figure.headline.startswith("A recipient at p = 0.9 would raise what the coalition knows")
    ladder = figure.data.set_index("noise").loc["ladder"]
    assert ladder["after"] > ladder["before"]


@pytest.mark.slow
def test_the_slider_asks_when_it_is_let_go(qtbot, page):
    before = page.what_if.plot.figure.headline
    page.what_if.level.slider.setFocus()
    qtbot.keyClick(page.what_if.level.slider, Qt.Key.Key_End)
    wait_for_jobs(qtbot, page.session)
    assert page.what_if.plot.figure.headline != before


@pytest.mark.slow
def test_what_if_there_is_nobody_yet(qtbot, page):
    page.model.tick_all(False)
    wait_for_jobs(qtbot, page.session)
    assert page.what_if.plot.figure.headline.startswith("The first recipient, at p = 0.5")
    assert not page.rest.isVisible()
    assert not page.groups.isVisible()


@pytest.mark.slow
def test_a_coalition_of_one_is_told_alone(qtbot, page):
    page.model.tick_all(False)
    index = page.model.index(2, 0)
    page.model.setData(index, Qt.CheckState.Checked, Qt.ItemDataRole.CheckStateRole)
    wait_for_jobs(qtbot, page.session)
    assert plain(page.rest.text()).startswith("Public alone gives a record's true value")
    assert page.distribution.figure.headline.startswith("Public alone gives")
    assert page.growth.figure.headline.startswith("One recipient gives")


def test_small_numbers_are_written_to_be_read():
    assert small_number(0.0) == "0"
    assert small_number(2.4e-16) == "2·10⁻¹⁶"
