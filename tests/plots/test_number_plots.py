"""The pictures of numbers: sentences computed from what is shown, light and dark, hover, data."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex

from sfumato.analysis.previews.number_estimates import EstimatesData, Figure, FigureEstimate
from sfumato.plots.axes import amount
from sfumato.plots.estimates import build_number_estimates
from sfumato.plots.figure import register_fonts
from sfumato.plots.numbers import (
    RecordBelief,
    RecordData,
    build_number_distribution,
    build_number_ellipse,
    build_number_intervals,
    build_number_scatter,
)
from sfumato.plots.pooled_numbers import (
    build_bayes_by_copies,
    build_error_by_copies,
    build_error_histogram,
)
from sfumato.plots.style import dark_style, light_style
from sfumato.resources import resource_path
from tests.plots import number_data as data

BUILDERS = {
    "distribution": partial(build_number_distribution, data.distribution()),
    "scatter": partial(build_number_scatter, data.scatter()),
    "estimates": partial(build_number_estimates, data.estimates()),
    "ellipse": partial(build_number_ellipse, data.record()),
    "alone": partial(build_number_ellipse, data.record(members=1)),
    "copies": partial(build_error_by_copies, *data.copies()),
    "quantiles": partial(build_number_estimates, data.quantiles()),
    "regression": partial(build_number_estimates, data.regression()),
    "bayes": partial(build_bayes_by_copies, data.bayes()),
    "bayes alone": partial(build_bayes_by_copies, data.bayes(members=1)),
    "errors": partial(build_error_histogram, data.errors()),
    "intervals": partial(build_number_intervals, data.record(attributes=1)),
}
FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}
STYLE = STYLES["light"]


def plain(text):
    return text.replace("\u202f", " ")


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("look", STYLES)
def test_every_picture_draws_says_and_exports(name, look):
    figure = BUILDERS[name](STYLES[look])
    FigureCanvasAgg(figure).draw()
    corner = np.asarray(figure.canvas.buffer_rgba())[-1, -1, :3]
    assert to_hex(corner / 255) == STYLES[look].background.lower()
    assert figure.headline[0].isupper()
    assert "{" not in figure.headline + figure.subtitle
    assert len(figure.to_csv().splitlines()) == len(figure.data) + 1
    for region in figure.hover:
        left, bottom, right, top = region.box()
        assert figure.region_at((left + right) / 2, (bottom + top) / 2).text


def test_the_distribution_says_how_much_wider_it_is():
    assert build_number_distribution(data.distribution(1.25), STYLE).headline == (
        "Clinic A sees age spread 1.25 times as wide: the standard deviation of 13 becomes 16.2"
    )
    assert "spread as it is" in build_number_distribution(data.distribution(1.0), STYLE).headline


def test_the_scatter_says_what_becomes_of_the_correlation():
    assert "as they do in truth" in build_number_scatter(data.scatter(0.31), STYLE).headline
    assert (
        "correlation of 0.30 shows as 0.15 to Clinic A"
        in build_number_scatter(data.scatter(0.15), STYLE).headline
    )


def test_the_estimates_say_the_worst_mean_and_count_the_intervals():
    assert plain(build_number_estimates(data.estimates(), STYLE).headline) == (
        "From 4,000 records, Clinic A can estimate the mean of income to within ± 588 (95 %)"
    )
    assert "3 of 4" in build_number_estimates(data.estimates(), STYLE).subtitle


def test_the_interval_of_a_spread_is_that_of_its_variance():
    spread = FigureEstimate(Figure.SPREAD, "age", 2.5, 10.0, 4.0, 13.0)
    low, high = spread.interval
    assert low == 0.0, "the noise hides how far the numbers spread"
    assert high == pytest.approx((100.0 + 1.96 * 80.0) ** 0.5, rel=1e-4)
    assert spread.holds
    figure = build_number_estimates(EstimatesData("Clinic A", 400, (spread,)), STYLE)
    assert [region.text for region in figure.hover] == ["spread of age: 10 (0 to 16), true 2.5"]
    mean = replace(spread, figure=Figure.MEAN)
    assert mean.interval == pytest.approx((2.16, 17.84), rel=1e-2)


def test_the_ellipse_compares_areas_not_axes():
    sentence = plain(build_number_ellipse(data.record(), STYLE).headline)
    assert sentence == (
        "Together, 3 recipients know row 17 no better than Recipient 0 alone; independent noise"
        " would let them narrow it down to 40 % of that"
    )
    alone = plain(build_number_ellipse(data.record(members=1), STYLE).headline)
    assert alone == "Recipient 0 narrows row 17 down to 30 % of what is known without a release"


def test_intervals_have_a_row_for_each_recipient():
    figure = build_number_intervals(data.record(attributes=1), STYLE)
    assert next(iter(figure.data["who"])) == "Without any release"
    assert len(figure.data) == 6
    assert any("Recipient 1: " in region.text for region in figure.hover)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (12345.678, "12,346"),
        (-0.01234, "−0.0123"),
        (1.0, "1"),
        (1e-7, "1.00e−07"),
        (float("inf"), "∞"),
    ],
)
def test_amounts_have_three_digits_that_count(value, text):
    assert plain(amount(value)) == text


def test_copies_say_what_independent_noise_would_leave():
    assert plain(build_error_by_copies(*data.copies(), STYLE).headline) == (
        "With independent noise, 3 recipients together leave 6.7 % of the variance of"
        " age + income open; on the ladder, 20 %"
    )
    alone = plain(build_error_by_copies(*data.copies(1), STYLE).headline)
    assert alone == "Recipient 1 alone leaves 20 % of the variance of age + income open"


def test_errors_say_how_close_half_of_the_guesses_come():
    assert build_error_histogram(data.errors(), STYLE).headline == (
        "Half of the guesses of age that 3 recipients make together are off by 10 or more; with"
        " independent noise, by 5"
    )
    assert "off by 10 or more" in build_error_histogram(data.errors(1), STYLE).headline


def test_somebody_who_knows_the_distribution_gains_nothing_either():
    assert plain(build_bayes_by_copies(data.bayes(), STYLE).headline) == (
        "Knowing the distribution of age, 3 recipients together leave 16.0 % of its variance open"
        " on the ladder, Recipient 0 alone 16.0 %; with independent noise, 5.3 %"
    )
    assert "Recipient 0's release" in build_bayes_by_copies(data.bayes(members=1), STYLE).headline


def test_quantiles_and_slopes_say_what_they_are():
    assert plain(build_number_estimates(data.quantiles(), STYLE).headline) == (
        "From 4,000 records, Clinic A can estimate what half of age lie below to within ± 0.78"
        " (95 %)"
    )
    # 1.5 off is beyond 1.96 times 0.4, as is 1.0.
    assert (
        "1 of 3 intervals hold the truth of this"
        in build_number_estimates(data.quantiles(), STYLE).subtitle
    )
    assert (
        "how income changes with age" in build_number_estimates(data.regression(), STYLE).headline
    )


def test_no_words_of_the_intervals_axis_stand_over_others():
    """Of amounts of several millions, as a turnover has."""
    million = 1e6

    def belief(who, centre, spread, trust=None):
        return RecordBelief(who, np.array([centre]), np.array([[spread**2]]), trust)

    first = belief("Clinic A", -0.25 * million, 3.7 * million, 0.8)
    record = RecordData(
        ("turnover",), 1, np.array([717_400.0]),
        belief("Without any release", 2.4 * million, 5.3 * million), (first,), first,
        belief("Together, independent noise", 2 * million, 3.3 * million),
    )  # fmt: skip
    figure = build_number_intervals(record, STYLE)
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    (axes,) = figure.axes
    low, high = axes.get_xlim()
    ticks = [t for t in axes.xaxis.get_major_ticks() if low <= t.get_loc() <= high]
    boxes = [t.label2.get_window_extent() for t in ticks]
    boxes += [text.get_window_extent() for text in axes.texts if "true" in text.get_text()]
    assert len(boxes) > 3
    assert not any(one.overlaps(other) for one, other in itertools.combinations(boxes, 2))
