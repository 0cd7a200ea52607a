"""What holds for every plot: light and dark, headline, hover, data, no global state."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from io import BytesIO

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from sfumato.plots import figure as figures
from sfumato.plots.axes import percent, shorten
from sfumato.plots.beliefs import build_posterior_bars
from sfumato.plots.coalitions import build_collusion_bars
from sfumato.plots.estimates import build_utility_frequencies
from sfumato.plots.figure import FALLBACK, register_fonts
from sfumato.plots.ladders import build_trust_ladder
from sfumato.plots.matrices import build_matrix_heatmap
from sfumato.plots.style import contrast, dark_style, light_style, luminance
from sfumato.resources import resource_path
from tests.plots import data

BUILDERS = {
    "ladder": partial(build_trust_ladder, data.ladder()),
    "matrix": partial(build_matrix_heatmap, data.matrix()),
    "large matrix": partial(build_matrix_heatmap, data.matrix(40)),
    "posterior": partial(build_posterior_bars, data.posterior()),
    "utility": partial(build_utility_frequencies, data.utility()),
    "collusion": partial(build_collusion_bars, data.collusion()),
}
FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}


def drawn(build, style=STYLES["light"]):
    figure = build(style)
    FigureCanvasAgg(figure).draw()
    return figure


@pytest.mark.few(3)
@pytest.mark.parametrize("name", BUILDERS)
@pytest.mark.parametrize("look", STYLES)
def test_every_plot_draws_on_the_page_s_own_ground(name, look):
    figure = drawn(BUILDERS[name], STYLES[look])
    corner = np.asarray(figure.canvas.buffer_rgba())[-1, -1, :3]
    assert to_hex(corner / 255) == STYLES[look].background.lower()
    assert not any(spine.get_visible() for axes in figure.axes for spine in axes.spines.values())


@pytest.mark.parametrize("name", BUILDERS)
def test_every_plot_has_a_sentence_and_data(name):
    figure = BUILDERS[name](STYLES["light"])
    assert len(figure.headline.split()) >= 4
    assert figure.headline[0].isupper()
    assert "{" not in figure.headline + figure.subtitle
    lines = figure.to_csv().splitlines()
    assert lines[0].count(",") >= 2
    assert len(lines) == len(figure.data) + 1 > 3


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BUILDERS)
def test_every_plot_tells_its_values_under_the_pointer(name):
    figure = drawn(BUILDERS[name])
    assert figure.hover
    for region in figure.hover:
        left, bottom, right, top = region.box()
        assert figure.region_at((left + right) / 2, (bottom + top) / 2).text
        assert region.text
    assert figure.region_at(-5, -5) is None


@pytest.mark.few(1)
@pytest.mark.parametrize("name", BUILDERS)
def test_the_headline_is_wrapped_and_never_covers_the_axes(name):
    figure = BUILDERS[name](STYLES["light"])
    figure.set_size_inches(3.6, 5.0)
    FigureCanvasAgg(figure).draw()
    shown = [line for block in figure.texts_above for line in block.lines if line.get_text()]
    boxes = [line.get_window_extent() for line in shown]
    assert all(box.x1 <= 360 for box in boxes)
    assert min(box.y0 for box in boxes) >= max(axes.get_window_extent().y1 for axes in figure.axes)
    words = " ".join(line.get_text() for line in figure.texts_above[0].lines).split()
    assert words == figure.headline.split()


def test_a_corner_and_a_margin_are_kept_free():
    figure = BUILDERS["collusion"](STYLES["light"])
    figure.corner, figure.margin = 36.0, 24.0
    FigureCanvasAgg(figure).draw()
    width, height = figure.canvas.get_width_height()
    boxes = [
        line.get_window_extent()
        for block in figure.texts_above
        for line in block.lines
        if line.get_text()
    ]
    assert all(box.x0 >= 23 and box.x1 <= width - 24 - 36 for box in boxes)
    assert all(box.y1 <= height - 20 for box in boxes)


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_plots_can_be_written_in_every_format(kind):
    stream = BytesIO()
    figure = BUILDERS["posterior"](STYLES["light"])
    figure.savefig(stream, format=kind)
    assert len(stream.getvalue()) > 5000


def test_dollar_signs_in_values_are_no_formulas():
    figure = drawn(BUILDERS["posterior"])
    labels = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert "cancer $1 and $2" in labels


@pytest.mark.slow
def test_no_plot_touches_pyplot():
    code = (
        "import sys, importlib, pkgutil, sfumato.plots as plots\n"
        "for found in pkgutil.iter_modules(plots.__path__):\n"
        "    importlib.import_module(f'sfumato.plots.{found.name}')\n"
        "assert 'matplotlib.pyplot' not in sys.modules\n"
        "assert not any(name.startswith('PySide6') for name in sys.modules)\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_layout_is_for_plots_alone():
    with pytest.raises(TypeError):
        figures.HeadlineLayout().execute(Figure())


@pytest.mark.parametrize("look", STYLES)
def test_texts_can_be_read_on_their_ground(look):
    style = STYLES[look]
    for ground in (style.background, style.surface):
        for ink in (style.text, style.muted, style.accent, style.good, style.caution, style.danger):
            assert contrast(ink, ground) >= 4.5
        assert contrast(style.original, ground) >= 4.5
        assert contrast(style.released, ground) >= 4.0


@pytest.mark.parametrize("look", STYLES)
def test_trust_is_one_scale_that_gets_stronger_throughout(look):
    style = STYLES[look]
    colours = [style.trust_colour(step / 20) for step in range(21)]
    distances = [abs(luminance(colour) - luminance(style.background)) for colour in colours]
    assert distances == sorted(distances)
    assert contrast(colours[0], style.background) >= 2.5
    assert style.trust_colour(-1) == colours[0]
    assert style.trust_colour(2) == colours[-1]


def test_words_are_translated_before_they_are_filled_in():
    style = light_style()
    german = type(style)(**{**vars(style), "translate": {"{n} of {m}": "{n} von {m}"}.get})
    assert german.say("{n} of {m}", n=1, m=2) == "1 von 2"


def test_ink_is_chosen_for_its_ground():
    style = light_style()
    assert style.ink_on(style.accent) == style.background
    assert style.ink_on(style.surface) == style.text
    assert to_rgb(style.blend("#000000", 0.0)) == to_rgb(style.background)


def test_the_application_s_font_becomes_known_to_plots(tmp_path):
    assert register_fonts(resource_path("fonts")) == "Inter"
    assert register_fonts(tmp_path) == FALLBACK


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (0.0, "0 %"),
        (0.0001, "< 0.1 %"),
        (0.0312, "3.1 %"),
        (0.3149, "31 %"),
        (1.0, "100 %"),
        (-0.02, "-2.0 %"),
    ],
)
def test_percentages_have_the_digits_they_deserve(share, text):
    assert percent(share).replace("\u202f", " ") == text


def test_long_names_end_in_an_ellipsis():
    assert shorten("a" * 10, 10) == "a" * 10
    assert shorten("a bc" + "d" * 10, 3) == "a…"


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_figure_is_laid_out_once_for_a_size(monkeypatch):
    laid_out = []
    lay_out = figures.ConstrainedLayoutEngine.execute

    def noted(engine, fig):
        laid_out.append(tuple(fig.get_size_inches()))
        lay_out(engine, fig)

    monkeypatch.setattr(figures.ConstrainedLayoutEngine, "execute", noted)
    figure = build_trust_ladder(data.ladder(), STYLES["light"])
    canvas = FigureCanvasAgg(figure)
    for size in ((600.0, 400.0), (500.0, 300.0)):
        figure.fit(size)
        canvas.draw()
        canvas.draw()
    assert laid_out == [(6.0, 4.0), (5.0, 3.0)]
