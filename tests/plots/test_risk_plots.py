"""The plots about coalitions, record by record."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sfumato.analysis.coalitions.coalitions import CoalitionAnswer
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.coalition_risk import added_recipient, coalition_risk, risk_growth
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.plots.axes import probability, whole_ticks
from sfumato.plots.coalitions import (
    AddedData,
    GrowthData,
    build_added_recipient,
    build_realized_distribution,
    build_risk_distribution,
    build_risk_growth,
)
from sfumato.plots.figure import register_fonts
from sfumato.plots.style import dark_style, light_style
from sfumato.resources import resource_path

FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}
FREQUENCIES = np.array([0.5, 0.3, 0.15, 0.05])
LEVELS = (0.6, 0.3, 0.1)
MATRICES = [uniform_matrix(level, 4) for level in LEVELS]
NAMES = ("Clinic A", "Institute", "Public")


def risk(members=3):
    weighed = coalition_risk(MATRICES[:members], FREQUENCIES, Silent())
    held = tuple(SimpleNamespace(recipient=name) for name in NAMES[:members])
    return CoalitionAnswer("disease", held, FREQUENCIES, weighed, (), 0.5)


def files():
    weighed = coalition_risk(MATRICES, FREQUENCIES, Silent())
    return "disease", weighed.on_ladder, weighed.independent


def growth(count=3):
    points = risk_growth(MATRICES[:count], LEVELS[:count], FREQUENCIES, Silent())
    return GrowthData("disease", points, NAMES[:count])


def added(level, members=3):
    matrix = uniform_matrix(level, 4)
    change = added_recipient(
        MATRICES[:members], LEVELS[:members], matrix, level, FREQUENCIES, Silent()
    )
    return AddedData("disease", f"p = {level:g}", "Clinic A" if members else "", change)


BUILDERS = {
    "distribution": lambda: partial(build_risk_distribution, risk()),
    "distribution of one": lambda: partial(build_risk_distribution, risk(1)),
    "distribution in the files": lambda: partial(build_realized_distribution, *files()),
    "growth": lambda: partial(build_risk_growth, growth()),
    "growth of one": lambda: partial(build_risk_growth, growth(1)),
    "added above": lambda: partial(build_added_recipient, added(0.8)),
    "added below": lambda: partial(build_added_recipient, added(0.2)),
    "the first": lambda: partial(build_added_recipient, added(0.5, 0)),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("name", BUILDERS)
def test_a_plot_says_a_sentence_and_its_values_in_both_looks(name):
    build = BUILDERS[name]()
    for style in STYLES.values():
        figure = build(style)
        FigureCanvasAgg(figure).draw()
        assert len(figure.headline.split()) >= 4
        assert "{" not in figure.headline + figure.subtitle
        assert len(figure.data) >= 1
        assert figure.hover
        for region in figure.hover:
            left, bottom, right, top = region.box()
            assert left <= right
            assert bottom <= top
            assert "{" not in region.text
        shown = [line for block in figure.texts_above for line in block.lines if line.get_text()]
        lowest = min(line.get_window_extent().y0 for line in shown)
        assert lowest >= max(axes.get_window_extent().y1 for axes in figure.axes)


def test_a_certainty_is_never_claimed_by_rounding():
    assert probability(1.0).startswith("100")
    assert probability(0.9999).startswith("> 99.9")
    assert probability(0.9962).startswith("99.6")
    assert probability(0.43).startswith("43")


def test_ticks_are_whole_and_end_at_the_last():
    assert list(whole_ticks(7)) == [1, 2, 3, 4, 5, 6, 7]
    assert list(whole_ticks(50)) == [5, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    assert whole_ticks(53)[-1] == 53
