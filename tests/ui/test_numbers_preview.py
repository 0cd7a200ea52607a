"""The preview of attributes that stay numbers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import Qt

from sfumato.analysis.previews.number_estimates import (
    Figure,
    columns_beside,
    quantiles_of,
    regressions_of,
)
from sfumato.analysis.previews.previewed_numbers import NumberPreview, linear_estimate
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.plots.axes import amount
from sfumato.plots.estimates import build_number_estimates
from sfumato.plots.numbers import build_number_ellipse
from sfumato.plots.style import light_style
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.ui.look.theme import themes
from sfumato.ui.panels.preview import PANEL
from sfumato.ui.panels.preview.number_pages import record_data
from tests.project.whole_table import released_columns
from tests.ui.clinic import save_clinic, wait_for_jobs
from tests.ui.hands import choose, on_screen
from tests.ui.payroll import KEY, open_payroll, payroll_document, payroll_table, protected


@pytest.fixture
def panel(qtbot, session):
    return on_screen(qtbot, PANEL(session), 900, 700)


@pytest.fixture
def filled(qtbot, panel):
    open_payroll(panel.session, protected())
    wait_for_jobs(qtbot, panel.session)
    return panel


def titles(panel):
    tabs = panel.tabs
    return [tabs.tabText(i) for i in range(tabs.count()) if tabs.isTabVisible(i)]


def column(panel, place):
    model = panel.numbers.model
    return [model.index(row, place).data() for row in range(model.rowCount())]


def headers(panel):
    model = panel.numbers.model
    return [
        model.headerData(place, Qt.Orientation.Horizontal) for place in range(model.columnCount())
    ]


def number(text):
    return float(text.replace("\u2212", "-").replace(",", ""))


def test_numbers_have_pages_of_their_own(filled):
    assert titles(filled) == [
        "Before and after",
        "Distribution",
        "Dependence",
        "What it tells",
        "Usefulness",
    ]
    assert filled.tabs.currentWidget() is filled.numbers


@pytest.mark.slow
def test_one_attribute_depends_on_nothing(qtbot, panel):
    open_payroll(panel.session, protected((("age",), ("income",))))
    wait_for_jobs(qtbot, panel.session)
    assert "Dependence" not in titles(panel)
    assert not panel.numbers.picker.isVisible()
    panel.tabs.setCurrentWidget(panel.record)
    assert "no better than Clinic A alone" in panel.record.plot.figure.headline


def test_sample_rows_are_those_that_a_release_shows(qtbot, filled, tmp_path):
    project = save_clinic(filled.session, tmp_path)
    wait_for_jobs(qtbot, filled.session)
    document, table = filled.session.document, filled.session.table
    frame = released_columns(
        document, table, document.recipient("Institute"), project.keys, Silent()
    )
    rows = [int(number(text)) - 1 for text in column(filled, 0)]
    shown = [number(text) for text in column(filled, 3)]
    assert headers(filled) == ["Row", "True “age”", "Clinic A", "Institute", "Public"]
    assert shown == pytest.approx(frame["age"].to_numpy()[rows], abs=0.06)
    assert column(filled, 1)[0] == "20"
    assert "exactly these numbers" in filled.numbers.note.text()


@pytest.mark.slow
def test_another_attribute_of_the_entry_can_be_seen(filled):
    choose(filled.numbers.picker.fields[0], 1)
    assert headers(filled)[1] == "True “income”"
    assert "“income” off by" in filled.numbers.headline.text()
    choose(filled.distribution.picker.fields[0], 1)
    assert "sees “income” spread" in filled.distribution.plot.figure.headline


def test_released_numbers_say_how_far_they_are_off(filled):
    model = filled.numbers.model
    tip = model.index(0, 2).data(Qt.ItemDataRole.ToolTipRole)
    assert tip.startswith("Off by")
    assert not model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)


@pytest.mark.slow
def test_missing_numbers_are_shown_as_missing(qtbot, panel):
    frame = payroll_table().frame.copy()
    frame.loc[0, "age"] = np.nan
    open_payroll(panel.session, protected(), Table(frame))
    wait_for_jobs(qtbot, panel.session)
    assert column(panel, 1)[0] == column(panel, 2)[0] == "missing"
    panel.tabs.setCurrentWidget(panel.record)
    assert "row 1 " not in panel.record.plot.figure.headline


def test_the_scatter_shows_that_dependence_stays(filled):
    filled.tabs.setCurrentWidget(filled.scatter)
    assert "as they do in truth" in filled.scatter.plot.figure.headline


@pytest.mark.slow
def test_separate_noise_hides_dependence_until_it_is_corrected(qtbot, panel):
    open_payroll(panel.session, protected(noise="separate"))
    wait_for_jobs(qtbot, panel.session)
    choose(panel.recipient, "Public")
    wait_for_jobs(qtbot, panel.session)
    assert "until it is corrected" in panel.scatter.plot.figure.headline


def test_pooling_narrows_nothing_on_the_ladder(filled):
    preview = filled._preview
    assert isinstance(preview, NumberPreview)
    data = record_data(preview, 3, [0, 1], preview.sample.seen)
    best = data.members[0]
    assert data.together.covariance == pytest.approx(best.covariance, rel=1e-6)
    assert data.together.centre == pytest.approx(best.centre, rel=1e-6)
    assert data.independent.area < 0.95 * best.area
    figure = build_number_ellipse(data, light_style())
    assert "no better than Clinic A alone" in figure.headline


@pytest.mark.slow
def test_another_sample_row_can_be_looked_at(filled):
    filled.tabs.setCurrentWidget(filled.record)
    first = filled.record.plot.figure.headline
    filled.record.row.spin.setValue(5)
    assert filled.record.plot.figure.headline != first


def test_estimates_are_corrected_and_hold_the_truth(filled):
    estimates = filled._preview.estimates
    assert estimates.records == 600
    kinds = [row.figure.value for row in estimates.estimates]
    assert kinds == ["mean"] * 2 + ["standard deviation"] * 2 + ["correlation"]
    for row in estimates.estimates:
        assert abs(row.estimated - row.true) < 5 * row.error


def test_the_headline_holds_the_truth_where_numbers_are_cut_off_at_bounds(qtbot, panel):
    document, bounds = payroll_document(), {"lowest": 0, "highest": 30_000, "step": 100}
    entry = PolicyEntry(("income",), "laplace", {**bounds, "bounds": "stated"})
    people = (Recipient("Clinic A", {"income": {"epsilon": 20.0}}),)
    columns = tuple(
        replace(one, role=Role.INSENSITIVE) if one.name == "age" else one
        for one in document.columns
    )
    document = replace(document, columns=columns, policy=(entry,), recipients=people)
    open_payroll(panel.session, document)
    wait_for_jobs(qtbot, panel.session)
    mean = panel._preview.estimates.estimates[0]
    assert not mean.holds, "the interval of a recipient can't know what was cut off"
    assert abs(mean.estimated - mean.true) < mean.within
    income = payroll_table().frame["income"]
    assert mean.shift == pytest.approx((income.clip(0, 30_000) - income).mean(), abs=60)
    plot = build_number_estimates(panel._preview.estimates, themes().current.style)
    assert amount(mean.within, 2) in plot.headline
    assert "Numbers beyond the bounds are cut off there" in plot.subtitle


@pytest.mark.slow
def test_going_to_categories_and_back_keeps_the_kind_of_page(qtbot, panel):
    document = protected()
    sex = ColumnSpec("sex", Role.SENSITIVE, Kind.CATEGORICAL, Domain(("f", "m")))
    document = document.with_column(sex)
    recipients = tuple(
        replace(r, statements={**r.statements, "sex": {"retention_probability": 0.4}})
        for r in document.recipients
    )
    policy = (*document.policy, PolicyEntry(("sex",), "uniform"))
    open_payroll(panel.session, replace(document, policy=policy, recipients=recipients))
    wait_for_jobs(qtbot, panel.session)
    panel.tabs.setCurrentWidget(panel.estimates)
    choose(panel.attribute, "sex")
    wait_for_jobs(qtbot, panel.session)
    assert panel.tabs.currentWidget() is panel.utility
    assert "Dependence" not in titles(panel)
    choose(panel.attribute, KEY)
    wait_for_jobs(qtbot, panel.session)
    assert panel.tabs.currentWidget() is panel.estimates
    bar = panel.tabs.tabBar()
    assert bar.tabRect(panel.tabs.indexOf(panel.numbers)).left() >= 0, "tabs are out of sight"


def test_the_best_linear_estimate_is_the_paper_s():
    covariance = np.array([[1.0]])
    half, fifth = np.array([[1.0]]), np.array([[4.0]])
    mean = np.zeros(1)

    def errors(noises, shared):
        def between(a, b):
            return noises[min(a, b)] if shared or a == b else np.zeros((1, 1))

        copies = [np.ones(1) for _ in noises]
        return linear_estimate(mean, covariance, copies, between)[1].item()

    assert errors([half], shared=True) == pytest.approx(0.5)
    assert errors([fifth], shared=True) == pytest.approx(0.8)
    assert errors([half, fifth], shared=False) == pytest.approx(4 / 9)
    assert errors([half, fifth], shared=True) == pytest.approx(0.5)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_quantiles_and_slopes_are_recovered_beside_the_true_ones(filled):
    preview = filled._preview
    assert len(preview.quantiles) == 2
    for data in preview.quantiles:
        assert [row.at for row in data.estimates][2] == "50\u202f%"
        values = [row.estimated for row in data.estimates]
        assert values == sorted(values)
        middle = data.estimates[2]
        assert abs(middle.estimated - middle.true) < 0.25 * middle.scale
    regression = preview.regressions[1]
    assert [row.figure.value for row in regression.estimates] == ["intercept", "slope"]
    slope = regression.estimates[1]
    assert (slope.about, slope.at) == ("income", "age")
    assert abs(slope.estimated - slope.true) < 4 * slope.error
    filled.tabs.setCurrentWidget(filled.estimates)
    page = filled.estimates
    assert "half of “age” lie below" in page.quantiles.figure.headline
    choose(page.picker.fields[0], 1)
    assert "how “income” changes with “age”" in page.regression.figure.headline
    assert "slopes that are too weak" in page.regression_note.text()


def test_one_attribute_has_quantiles_but_depends_on_nothing(qtbot, panel):
    open_payroll(panel.session, protected((("age",), ("income",))))
    wait_for_jobs(qtbot, panel.session)
    panel.tabs.setCurrentWidget(panel.estimates)
    assert panel.estimates.quantiles.isVisible()
    assert not panel.estimates.regression.isVisible()
    assert not panel.estimates.regression_note.isVisible()


@pytest.mark.slow
def test_what_coarse_rounding_adds_to_spreads_is_taken_off_as_well(qtbot, panel):
    table = payroll_table(20_000)
    open_payroll(panel.session, protected(rounding={"age": 30.0}), table)
    wait_for_jobs(qtbot, panel.session)
    estimates = panel._preview.estimates.estimates
    (spread,) = [e for e in estimates if (e.figure, e.about) == (Figure.SPREAD, "age")]
    assert abs(spread.estimated - spread.true) < 4.5 * spread.error


@pytest.mark.slow
def test_columns_that_are_released_as_they_are_can_explain_numbers_too(qtbot, filled):
    filled.tabs.setCurrentWidget(filled.estimates)
    page = filled.estimates
    assert list(page.beside.boxes) == ["hours"]
    page.beside.boxes["hours"].click()
    wait_for_jobs(qtbot, filled.session)
    recovery = filled._preview.recovery
    data = recovery.regression(0, ("hours",), Silent())
    assert [row.at for row in data.estimates[1:]] == ["income", "hours"]
    for row in data.estimates:
        assert abs(row.estimated - row.true) < 4.5 * row.error
    frame = payroll_table().frame
    exact = np.column_stack([np.ones(600), frame[["income", "hours"]]])
    wanted = np.linalg.lstsq(exact, frame["age"].to_numpy(float))[0]
    assert [row.true for row in data.estimates] == pytest.approx(wanted, rel=1e-6)
    assert page.regression.isVisible()
    assert "enter as they are" in page.regression_note.text()
    page.beside.boxes["hours"].click()
    assert "enter as they are" not in page.regression_note.text()


@pytest.mark.slow
def test_a_single_attribute_depends_on_what_is_released_beside_it(qtbot, panel):
    open_payroll(panel.session, protected((("age",), ("income",))))
    wait_for_jobs(qtbot, panel.session)
    panel.tabs.setCurrentWidget(panel.estimates)
    panel.estimates.beside.boxes["hours"].click()
    wait_for_jobs(qtbot, panel.session)
    assert panel.estimates.regression.isVisible()
    assert "hours" in panel.estimates.regression.figure.headline


@pytest.mark.slow
def test_a_column_that_explains_nothing_says_why(qtbot, panel):
    table = Table(payroll_table().frame.assign(hours=40.0))
    open_payroll(panel.session, protected(), table)
    wait_for_jobs(qtbot, panel.session)
    panel.tabs.setCurrentWidget(panel.estimates)
    panel.estimates.beside.boxes["hours"].click()
    wait_for_jobs(qtbot, panel.session)
    assert not panel.estimates.regression.isVisible()
    assert "same everywhere" in panel.estimates.regression_note.text()


def test_keys_and_columns_that_are_dropped_explain_nothing():
    document = payroll_document()
    assert [spec.name for spec in columns_beside(document, ("age",))] == ["hours"]
    assert columns_beside(replace(document, record_key="hours"), ("age",)) == ()
    dropped = replace(document.column("hours"), role=Role.IDENTIFYING)
    assert columns_beside(document.with_column(dropped), ("age",)) == ()


@pytest.mark.slow
def test_what_noise_hides_is_told_instead(filled):
    numbers = np.array([[1.0, 2.0], [2.0, 1.0], [3.0, 5.0], [4.0, 4.0]])
    noise = 50.0 * np.eye(2)
    names = ("age", "income")
    nothing = (None, None)
    assert quantiles_of("Public", names, numbers, numbers, noise) == nothing
    assert regressions_of("Public", names, numbers, numbers, noise) == nothing
    filled.tabs.setCurrentWidget(filled.estimates)
    page = filled.estimates
    page.show_preview(replace(filled._preview, quantiles=nothing, regressions=nothing))
    assert not page.quantiles.isVisible()
    assert not page.regression.isVisible()
    assert page.quantiles_note.text().startswith("Quantiles of “age” can't be estimated")
    assert page.regression_note.text().startswith("How “age” depends on the others can't")
