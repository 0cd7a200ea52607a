"""The plots about per-value limits: who gains and who pays, beside one limit, over θ."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.per_value import (
    gammas_by_tolerance,
    uniform_retention,
    utility_curve,
)
from sfumato.engine.mechanisms.retention_solver import BreachMode, solve
from sfumato.plots.figure import register_fonts
from sfumato.plots.matrices import (
    CurveData,
    PairData,
    RetentionData,
    build_matrix_pair,
    build_retention_by_value,
    build_utility_curve,
)
from sfumato.plots.style import dark_style, light_style
from sfumato.resources import resource_path

FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}


def retention(size: int = 8, theta: float = 3.0) -> RetentionData:
    shares = 1.0 / np.arange(1, size + 1)
    shares /= shares.sum()
    gammas = gammas_by_tolerance(shares, theta)
    profile = solve(shares, gammas, BreachMode.STRICT)
    names = tuple(f"value {i} $" for i in range(size))
    return RetentionData(names, shares, profile.retention, uniform_retention(gammas))


def pair(size: int = 4) -> PairData:
    data = retention(size)
    return PairData(data.names, data.own, data.uniform, 0.4375, 1 / 3)


def curve() -> CurveData:
    counts = np.array([500, 300, 150, 50], dtype=np.int64)
    points = utility_curve(counts, (2.0, 3.0, 5.0), BreachMode.PUBLISHED, 2, Silent())
    return CurveData("disease", points, 2, 1000)


BUILDERS = {
    "retention": partial(build_retention_by_value, retention()),
    "retention of many": partial(build_retention_by_value, retention(3000)),
    "pair": partial(build_matrix_pair, pair()),
    "pair of many": partial(build_matrix_pair, pair(500)),
    "curve": partial(build_utility_curve, curve()),
}


def drawn(build, style=STYLES["light"]):
    figure = build(style)
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("look", STYLES)
def test_they_draw_in_both_looks_with_a_sentence_and_values_under_the_pointer(name, look):
    figure = drawn(BUILDERS[name], STYLES[look])
    assert len(figure.headline.split()) >= 4
    assert "{" not in figure.headline + figure.subtitle
    assert len(figure.to_csv().splitlines()) == len(figure.data) + 1 > 3
    for region in figure.hover:
        left, bottom, right, top = region.box()
        assert figure.region_at((left + right) / 2, (bottom + top) / 2).text


def test_the_headline_counts_who_gains_and_who_pays():
    data = RetentionData(("a", "b", "c"), np.full(3, 1 / 3), np.array([0.5, 0.3, 0.1]), 0.3)
    headline = build_retention_by_value(data, STYLES["light"]).headline
    assert headline.startswith("1 of 3 values is kept more often")
    assert headline.endswith("1 pays for it")
    equal = RetentionData(data.names, data.frequencies, np.full(3, 0.3), 0.3)
    assert "as often as" in build_retention_by_value(equal, STYLES["light"]).headline
    nobody = RetentionData(data.names, data.frequencies, np.array([0.5, 0.3, 0.3]), 0.3)
    assert "none less often" in build_retention_by_value(nobody, STYLES["light"]).headline


def test_thousands_of_values_are_drawn_in_groups_and_exported_one_by_one():
    figure = BUILDERS["retention of many"](STYLES["light"])
    assert len(figure.hover) == 24
    assert len(figure.data) == 3000
    assert "3,000 values in 24 groups" in figure.subtitle


@pytest.mark.parametrize("size", [4, 500])
def test_each_column_of_both_matrices_sums_to_one(size):
    figure = build_matrix_pair(pair(size), STYLES["light"])
    sums = figure.data.groupby("original", sort=False)[["own", "uniform"]].sum()
    assert np.allclose(sums, 1)
    assert "43.8\u202f%" in figure.headline


def test_the_curve_exports_both_utilities_of_both_mechanisms():
    figure = BUILDERS["curve"](STYLES["light"])
    assert {"theta", "fine_grain_record", "uniform_aggregate_bayes"} <= set(figure.data.columns)
    assert (figure.data["fine_grain_record"] >= figure.data["uniform_record"] - 1e-12).all()
    assert "disease: at θ =" in figure.headline
