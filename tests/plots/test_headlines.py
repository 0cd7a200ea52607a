"""Each plot's headline is computed from what it shows."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sfumato.analysis.previews.previewed_values import UtilityData
from sfumato.plots import beliefs, coalitions, estimates
from sfumato.plots.beliefs import build_posterior_bars
from sfumato.plots.coalitions import build_collusion_bars
from sfumato.plots.estimates import build_utility_frequencies
from sfumato.plots.figure import register_fonts
from sfumato.plots.ladders import LadderData, LadderRung, build_trust_ladder, height_of, spread
from sfumato.plots.matrices import build_matrix_heatmap
from sfumato.plots.style import light_style
from sfumato.resources import resource_path
from tests.plots import data

STYLE = light_style(register_fonts(resource_path("fonts")))


def plain(text):
    return text.replace("\u202f", " ")


def test_the_ladder_names_the_clearest_and_the_least_clear_view():
    assert (
        build_trust_ladder(data.ladder(), STYLE).headline
        == "Clinic A sees disease most clearly, Public least"
    )


def test_the_ladder_says_what_a_coalition_learns():
    rungs = tuple(
        LadderRung(rung.name, rung.trust, rung.level, chosen=rung.name != "Clinic A")
        for rung in data.ladder().rungs
    )
    sentence = build_trust_ladder(data.ladder(rungs=rungs), STYLE).headline
    assert sentence == "Together, these 2 recipients learn what Institute learns alone"


@pytest.mark.parametrize(
    ("rungs", "sentence"),
    [
        ((), "Nobody is on the ladder for disease yet"),
        ((LadderRung("A", 0.5, ""),), "A is the only recipient on the ladder for disease"),
        (
            (LadderRung("A", 0.5, ""), LadderRung("B", 0.5, "")),
            "All 2 recipients see the same release of disease",
        ),
    ],
)
def test_the_ladder_s_headline_fits_few_recipients(rungs, sentence):
    assert build_trust_ladder(data.ladder(rungs=rungs), STYLE).headline == sentence


def test_the_ladder_lists_recipients_from_the_top():
    figure = build_trust_ladder(data.ladder(), STYLE)
    assert list(figure.data["recipient"]) == ["Clinic A", "Institute", "Public"]
    assert any("odds at most 22" in region.text for region in figure.hover)


def test_a_logarithmic_ladder_gives_equal_ratios_equal_room():
    heights = [height_of(trust, True) for trust in (1.0, 0.1, 0.01, 0.001, 1e-9)]
    assert heights == pytest.approx([1.0, 2 / 3, 1 / 3, 0.0, 0.0])
    assert height_of(0.3, False) == 0.3


def test_labels_are_spread_as_little_as_possible():
    assert spread([0.9, 0.5, 0.1], 0.1) == pytest.approx([0.9, 0.5, 0.1])
    assert spread([0.5, 0.5], 0.1) == pytest.approx([0.55, 0.45])
    crowded = spread([1.0, 1.0, 0.99, 0.2], 0.1)
    assert crowded[0] <= 1.0
    gaps = -np.diff(crowded)
    assert np.all(gaps >= 0.1 - 1e-9)


def test_the_matrix_says_how_often_a_value_shows_itself():
    sentence = plain(build_matrix_heatmap(data.matrix(), STYLE).headline)
    assert (
        sentence
        == "A true value shows itself with probability 70 %, any other value with 10 % each"
    )


def test_a_matrix_with_different_retentions_says_the_range():
    uneven = data.matrix()
    changed = type(uneven)(**{**vars(uneven), "keeps": (0.4, 0.7)})
    assert "40 % – 70 %" in plain(build_matrix_heatmap(changed, STYLE).headline)


def test_a_grouped_matrix_says_that_it_is_coarse():
    coarse = type(data.matrix())(**{**vars(data.matrix()), "size": 20000, "shown": 20000})
    assert "20,000 values in 4 groups" in plain(build_matrix_heatmap(coarse, STYLE).subtitle)


def test_the_matrix_s_data_has_a_line_for_each_cell():
    figure = build_matrix_heatmap(data.matrix(), STYLE)
    assert len(figure.data) == len(figure.hover) == 16
    sums = figure.data.groupby("original")["probability"].sum()
    assert np.allclose(sums, 1.0)


def test_small_matrices_show_every_number_and_larger_ones_the_diagonal():
    small = build_matrix_heatmap(data.matrix(4), STYLE)
    larger = build_matrix_heatmap(data.matrix(20), STYLE)
    assert len(small.axes[0].texts) == 16
    assert len(larger.axes[0].texts) == 20


def test_the_posterior_says_how_the_belief_rises():
    sentence = plain(build_posterior_bars(data.posterior(2), STYLE).headline)
    assert sentence == "Seeing “cancer $1 and $2” raises the belief in it from 20 % to 70 %"


def test_the_posterior_admits_when_a_value_tells_nothing():
    flat = beliefs.PosteriorData(data.NAMES, data.TRUE, data.TRUE, 0)
    absent = beliefs.PosteriorData(data.NAMES, np.array([0.0, 0.5, 0.3, 0.2]), data.TRUE, 0)
    assert "tells nothing" in build_posterior_bars(flat, STYLE).headline
    assert "does not occur" in build_posterior_bars(absent, STYLE).headline


@pytest.mark.slow
@pytest.mark.turns(1)
def test_many_values_are_summed_up_and_the_seen_one_stays():
    size = 60
    prior = np.full(size, 1 / size)
    after = np.linspace(1.0, 2.0, size)
    after /= after.sum()
    names = tuple(f"v{i}" for i in range(size))
    figure = build_posterior_bars(beliefs.PosteriorData(names, prior, after, 0), STYLE)
    FigureCanvasAgg(figure).draw()
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert len(labels) == beliefs.MOST_ROWS
    assert "v0" in labels
    assert labels[-1] == "47 other values"
    assert len(figure.data) == size


def test_utility_says_the_widest_interval_and_counts_the_intervals():
    shown = data.utility()
    widest = max(*(shown.high - shown.estimated), *(shown.estimated - shown.low))
    assert plain(build_utility_frequencies(shown, STYLE).headline) == (
        f"Clinic A can estimate every share to within ± {100 * widest:.1f} percentage points (95 %)"
    )
    assert (
        "2 of 4 intervals hold the true share"
        in build_utility_frequencies(data.utility(), STYLE).subtitle
    )


def test_utility_shows_the_most_frequent_values_of_many():
    size = 50
    true = np.linspace(1, 2, size)
    true /= true.sum()
    many = UtilityData(
        tuple(f"v{i}" for i in range(size)), true, true, true - 0.01, true + 0.01, 0.95, "A"
    )
    figure = build_utility_frequencies(many, STYLE)
    assert len(figure.axes[0].get_yticklabels()) == estimates.MOST_ROWS
    assert figure.axes[0].get_yticklabels()[0].get_text() == "v49"
    assert "most frequent" in figure.subtitle


def test_both_marks_are_named_where_no_name_of_a_row_and_no_interval_is():
    wide = np.array([0.9, 0.8, 0.2])
    names = ("a", "b", "c")
    for true in (wide, np.array([0.9, 0.9, 0.9])):
        shown = UtilityData(names, true, true, true - 0.05, true + 0.05, 0.95, "A")
        axes = build_utility_frequencies(shown, STYLE).axes[0]
        marks = [each for each in axes.texts if each.get_text() in {"true", "estimated"}]
        [at] = {each.xy for each in marks}
        assert at == pytest.approx((0.25, 2) if true is wide else (0.95, 0))
        left, right = axes.get_xlim()
        assert right - at[0] >= 0.449 * (right - left)


def test_collusion_compares_independent_noise_with_the_ladder():
    sentence = plain(build_collusion_bars(data.collusion(), STYLE).headline)
    assert sentence == (
        "Three recipients who pool independent releases restore 71 % of the values of disease;"
        " on the ladder, 63 %"
    )


def test_collusion_of_one_is_no_collusion():
    sentence = plain(build_collusion_bars(data.collusion(1), STYLE).headline)
    assert sentence == "Recipient 1 alone guesses 63 % of the values of disease right"


def test_collusion_counts_many_and_shows_an_estimate_s_uncertainty():
    figure = build_collusion_bars(data.collusion(14, 0.004), STYLE)
    assert figure.headline.startswith("14 recipients")
    assert len(figure.hover) == coalitions.MOST_MEMBERS + 2
    assert len(figure.data) == 14 + 3
    texts = [plain(text.get_text()) for text in figure.axes[0].texts]
    assert "71 % ± 0.4 %" in texts


def test_an_empty_ladder_can_be_drawn():
    figure = build_trust_ladder(LadderData("disease", ()), STYLE)
    FigureCanvasAgg(figure).draw()
    assert [region.text.splitlines()[0] for region in figure.hover] == ["Original", "Original"]
