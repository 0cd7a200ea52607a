"""What every plot keeps to: an axis in sight, the interval in the headline, red for dangers."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from types import SimpleNamespace

import pytest
from matplotlib.artist import Artist
from matplotlib.colors import to_hex, to_rgba_array

from sfumato.plots.estimates import build_query_errors, build_query_estimates
from sfumato.plots.figure import register_fonts
from sfumato.plots.groups import build_group_reconstruction, build_group_sizes, build_remedy_bars
from sfumato.plots.pooled_numbers import build_pooled_rows
from sfumato.plots.style import light_style
from sfumato.resources import resource_path
from tests.plots import (
    test_figures,
    test_group_plots,
    test_limits_plots,
    test_number_plots,
    test_risk_plots,
)

RED = "#fe01fd"
STYLE = replace(light_style(register_fonts(resource_path("fonts"))), danger=RED)
POOLED = SimpleNamespace(
    recipient="Clinic A",
    attribute="disease",
    column="patient",
    restored=SimpleNamespace(one_row=0.4, rows=0.7, error=0.0),
    most_rows=4,
)
BUILDERS = {
    **test_figures.BUILDERS,
    **test_limits_plots.BUILDERS,
    **test_number_plots.BUILDERS,
    **{name: lambda style, b=b: b()(style) for name, b in test_risk_plots.BUILDERS.items()},
    "group sizes": partial(build_group_sizes, test_group_plots.sizes()),
    "remedies": partial(build_remedy_bars, test_group_plots.both_remedies()),
    "reconstruction": partial(build_group_reconstruction, test_group_plots.group(), 0),
    "queries": partial(build_query_estimates, test_group_plots.queries()),
    "query errors": partial(build_query_errors, "disease", test_group_plots.errors()),
    "pooled rows": partial(build_pooled_rows, [POOLED]),
}
DANGERS = {"group sizes", "pooled rows"}
"""What shows people in danger by what is released."""


@cache
def built(name):
    return BUILDERS[name](STYLE)


def colours(artist: Artist):
    """Return every colour that an artist is drawn in."""
    for asked in ("get_facecolor", "get_edgecolor", "get_color", "get_markerfacecolor"):
        told = getattr(artist, asked, lambda: "none")()
        yield from (to_hex(each) for each in to_rgba_array(told))


@pytest.mark.few(9)
@pytest.mark.parametrize("name", BUILDERS)
def test_rows_have_their_axis_above_them_where_the_headline_is(name):
    rows = [a for a in built(name).axes if a.yaxis_inverted() and a.xaxis.get_visible()]
    for axes in (a for a in rows if not a.images):
        if any(label.get_text() for label in axes.get_xticklabels()):
            assert axes.xaxis.get_tick_params()["labeltop"]


@pytest.mark.few(9)
@pytest.mark.parametrize("name", BUILDERS)
def test_only_dangers_of_what_is_released_are_red(name):
    red = any(RED in colours(artist) for artist in built(name).findobj())
    assert red is (name in DANGERS)


@pytest.mark.parametrize("name", ["utility", "estimates", "queries"])
def test_an_estimate_s_headline_is_its_95_percent_interval(name):
    assert "95\u202f%" in built(name).headline
