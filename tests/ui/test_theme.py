"""The looks: readable in light and dark, following the person's choice at once."""

from __future__ import annotations

import itertools
import re

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, Qt
from PySide6.QtGui import QFontInfo, QPalette
from PySide6.QtWidgets import (
    QLabel,
    QLineEdit,
    QPushButton,
    QStackedWidget,
    QTableWidget,
    QVBoxLayout,
    QWidget,
)

from sfumato.plots.style import (
    contrast,
    dark_style,
    light_style,
    strong_dark_style,
    strong_light_style,
)
from sfumato.ui.look import theme as theme_module
from sfumato.ui.look.theme import Appearance, Space, Theme, current_theme, font, mix, themes
from sfumato.ui.state.settings import MemoryStore, TextScale
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.painted import IconLabel, themed_icon
from tests.ui.hands import on_screen

READABLE, READABLE_BY_WEAK_EYES = 4.5, 7.0
SEEN = 3.0
"""WCAG 2.2: what a control, a state or a curve is told by needs as much beside its ground."""
LOOKS = {
    "light": light_style,
    "dark": dark_style,
    "high contrast, light": strong_light_style,
    "high contrast, dark": strong_dark_style,
}


@pytest.fixture(params=LOOKS.values(), ids=LOOKS)
def theme(request, themed) -> Theme:
    return Theme(request.param())


def readable(theme: Theme) -> float:
    return READABLE_BY_WEAK_EYES if theme.style.strong else READABLE


GROUNDS = ("background", "surface")
INKS = ("text", "muted", "accent", "good", "caution", "danger", "original", "released")


@pytest.mark.parametrize(("ink", "ground"), list(itertools.product(INKS, GROUNDS)))
def test_text_can_be_read_on_the_page_and_on_cards(theme, ink, ground):
    assert contrast(getattr(theme.style, ink), getattr(theme.style, ground)) >= readable(theme)


@pytest.mark.parametrize("ink", INKS)
def test_messages_can_be_read_on_their_tints(theme, ink):
    ground = theme.tint(getattr(theme.style, ink))
    assert contrast(theme.style.text, ground) >= readable(theme)
    if ink in ("accent", "good", "caution", "danger"):
        assert contrast(getattr(theme.style, ink), ground) >= SEEN  # its icon


def test_text_can_be_read_on_buttons_rails_and_selections(theme):
    style = theme.style
    pairs = [
        (theme.on_accent, style.accent),
        (theme.on_accent, theme.accent_hover),
        (style.text, theme.rail),
        (theme.quiet, theme.rail),
        (style.caution, theme.rail),
        (style.text, theme.hover),
        (style.text, theme.selected),
        (theme.quiet, theme.hover),
        (theme.quiet, theme.selected),
        (style.caution, theme.selected),
    ]
    pairs += [
        (style.ink_on(style.trust_colour(t / 20)), style.trust_colour(t / 20)) for t in range(21)
    ]
    weak = [(i, g, contrast(i, g)) for i, g in pairs[:-21] if contrast(i, g) < readable(theme)]
    weak += [(i, g, contrast(i, g)) for i, g in pairs[-21:] if contrast(i, g) < SEEN]
    assert weak == []


@pytest.mark.parametrize("ground", GROUNDS)
def test_fields_the_keyboard_and_curves_can_be_seen(theme, ground):
    style, under = theme.style, getattr(theme.style, ground)
    trusts = [style.trust_colour(step / 20) for step in range(21)]
    shapes = [theme.field_line, style.accent, style.text, style.original, style.released, *trusts]
    weak = [(shape, contrast(shape, under)) for shape in shapes if contrast(shape, under) < SEEN]
    assert weak == []
    if style.strong:
        assert contrast(style.line, under) >= SEEN


def test_the_edge_of_the_keyboard_can_be_seen_on_every_ground(theme):
    style = theme.style
    grounds = [theme.rail, theme.hover, theme.selected, theme.tint(style.danger)]
    assert min(contrast(style.accent, ground) for ground in grounds) >= SEEN
    if style.strong:  # drawn inside the one button that is filled
        assert contrast(theme.on_accent, style.accent) >= READABLE_BY_WEAK_EYES


class _Hints:
    """A system that asks for high contrast."""

    def __init__(self, dark: bool) -> None:
        self.dark = dark

    def styleHints(self) -> _Hints:
        return self

    accessibility = styleHints

    def colorScheme(self) -> Qt.ColorScheme:
        return Qt.ColorScheme.Dark if self.dark else Qt.ColorScheme.Light

    def contrastPreference(self) -> Qt.ContrastPreference:
        return Qt.ContrastPreference.HighContrast


@pytest.mark.parametrize("dark", [False, True])
def test_high_contrast_follows_the_system_and_its_darkness(light_again, monkeypatch, dark):
    monkeypatch.setattr(theme_module, "QGuiApplication", _Hints(dark))
    themes().set_appearance(Appearance.SYSTEM)
    assert (current_theme().style.strong, current_theme().style.dark) == (True, dark)
    themes().set_appearance(Appearance.DARK)
    assert (current_theme().style.strong, current_theme().style.dark) == (False, True)


def test_high_contrast_can_be_chosen_where_the_system_asks_for_none(light_again):
    themes().set_appearance(Appearance.CONTRAST)
    assert current_theme().style.strong
    assert "3px double" in light_again.styleSheet()


def test_the_choice_of_appearance_takes_effect_at_once(themed):
    heard = []
    keeper = themes()
    keeper.changed.connect(lambda: heard.append(current_theme().name))
    keeper.set_appearance(Appearance.DARK)
    window = themed.palette().color(QPalette.ColorRole.Window).name().upper()
    assert window == current_theme().style.background
    keeper.set_appearance(Appearance.LIGHT)
    keeper.set_appearance(Appearance.LIGHT)
    assert heard == ["dark", "light"]


class Restyled(QLabel):
    """Counts how often it takes other colours."""

    times = 0

    def changeEvent(self, event):
        super().changeEvent(event)
        self.times += event.type() in (QEvent.Type.StyleChange, QEvent.Type.PaletteChange)


def ink_of(widget):
    return widget.palette().color(QPalette.ColorRole.WindowText).name().upper()


@pytest.fixture
def light_again(themed):
    """The application, which is light again at the end."""
    yield themed
    themes().set_appearance(Appearance.LIGHT)


def test_a_switch_styles_what_stands_deep_as_often_as_what_stands_on_top(light_again, qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    made, inside = [], page
    for _ in range(12):
        made.append(Restyled("text", inside))
        deeper = QWidget(inside)
        column = QVBoxLayout(inside)
        column.addWidget(made[-1])
        column.addWidget(deeper)
        inside = deeper
    page.show()
    for each in made:
        each.times = 0
    themes().set_appearance(Appearance.DARK)
    assert {ink_of(each) for each in made} == {current_theme().style.text}
    times = {each.times for each in made}
    assert len(times) == 1
    assert max(times) <= 2


def test_what_is_hidden_takes_the_new_colours_when_it_is_shown(light_again, qtbot):
    pages = QStackedWidget()
    qtbot.addWidget(pages)
    shown, hidden, folded = QLabel("a"), QWidget(), QLabel("c")
    inside, deep = QLabel("b", hidden), QWidget(hidden)
    folded.setParent(deep)
    pages.addWidget(shown)
    pages.addWidget(hidden)
    pages.show()
    pages.setCurrentWidget(hidden)  # both were styled once
    pages.setCurrentWidget(shown)
    deep.hide()
    light = ink_of(shown)
    themes().set_appearance(Appearance.DARK)
    dark = current_theme().style.text
    assert (ink_of(shown), ink_of(inside), ink_of(folded)) == (dark, light, light)
    pages.setCurrentWidget(hidden)
    assert (ink_of(inside), ink_of(folded)) == (dark, light)
    deep.show()
    assert ink_of(folded) == dark


def test_what_was_hidden_through_two_switches_looks_as_it_did(light_again, qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    inside = QLabel("text", page)
    page.resize(200, 100)
    page.show()
    before = ink_of(inside), page.grab().toImage()
    page.hide()
    themes().set_appearance(Appearance.DARK)
    themes().set_appearance(Appearance.LIGHT)
    page.show()
    assert (ink_of(inside), page.grab().toImage()) == before


def test_a_switch_draws_the_window_as_if_it_had_been_made_in_that_look(light_again, qtbot):
    def picture():
        made = QWidget()
        made.setProperty("look", "page")
        qtbot.addWidget(made)
        column = QVBoxLayout(made)
        column.addWidget(label("Title", "heading"))
        column.addWidget(label("more", "muted"))
        for each in (QPushButton("Press"), QLineEdit("typed"), QTableWidget(2, 2)):
            each.setFocusPolicy(Qt.FocusPolicy.NoFocus)
            column.addWidget(each)
        made.show()
        return made

    switched = picture()
    themes().set_appearance(Appearance.DARK)
    made_dark = picture()
    QCoreApplication.processEvents()
    assert switched.grab().toImage() == made_dark.grab().toImage()


def test_the_bundled_font_is_used_in_its_four_sizes(themed):
    made = font(16, strong=True)
    assert QFontInfo(made).family() == "Inter"
    assert made.pixelSize() == 16


def test_figures_in_tables_have_equal_widths(themed, qtbot):
    label = QLabel()
    qtbot.addWidget(label)
    label.setFont(font(tabular=True))
    widths = {label.fontMetrics().horizontalAdvance(digit * 8) for digit in "0123456789"}
    assert len(widths) == 1


def test_icons_follow_the_theme_without_being_set_again(themed, qtbot):
    icon = themed_icon("data", "text")
    light = icon.pixmap(32, 32).toImage()
    themes().set_appearance(Appearance.DARK)
    dark = icon.pixmap(32, 32).toImage()
    themes().set_appearance(Appearance.LIGHT)
    assert light != dark
    assert not dark.allGray() or dark != light


def test_an_icon_that_is_not_shipped_is_left_out(themed, qtbot):
    assert themed_icon("no-such-drawing").isNull()
    absent = IconLabel("no-such-drawing")
    qtbot.addWidget(absent)
    assert absent.grab().toImage().size().width() > 0


def test_a_standing_icon_follows_the_theme(light_again, qtbot):
    standing = on_screen(qtbot, IconLabel("data", "text"))
    light = standing.grab().toImage()
    themes().set_appearance(Appearance.DARK)
    dark = standing.grab().toImage()
    assert light.pixelColor(0, 0) != dark.pixelColor(0, 0)  # the ground
    colours = {dark.pixelColor(x, y).name().upper() for x in range(20) for y in range(20)}
    assert current_theme().style.text in colours


@pytest.mark.parametrize("look", [Appearance.LIGHT, Appearance.DARK])
def test_what_a_field_asks_for_can_be_read(light_again, qtbot, look):
    themes().set_appearance(look)
    field = on_screen(qtbot, QLineEdit())
    field.setPlaceholderText("Find a column")
    asked = field.palette().color(QPalette.ColorRole.PlaceholderText)
    assert asked.alpha() == 255
    assert contrast(asked.name(), current_theme().style.surface) >= 4.5


def test_mixing_goes_from_one_colour_to_the_other(themed):
    assert mix("#000000", "#FFFFFF", 0.0) == "#FFFFFF"
    assert mix("#000000", "#FFFFFF", 1.0) == "#000000"
    assert mix("#000000", "#FFFFFF", 0.5) == "#808080"


def test_texts_fields_and_type_sizes_grow_together(themed):
    before = font().pixelSize(), Space.FIELD, current_theme().stylesheet()
    themes().set_scale(1.5)
    try:
        assert (font().pixelSize(), Space.FIELD) == (round(1.5 * before[0]), 48)
        sheet = current_theme().stylesheet()
        assert "font-size: 20px" in sheet
        assert "font-size: 13px" not in sheet
        assert not re.search(r"\d ?em\b", sheet)
    finally:
        themes().set_scale()
    assert (font().pixelSize(), Space.FIELD, current_theme().stylesheet()) == before


def test_a_chosen_size_of_text_is_remembered_and_needs_a_restart(window):
    window.menus.actions["text-125"].trigger()
    assert TextScale(window.session.store).percent == 125
    assert "Restart Sfumato" in window.current.messages.messages[0].text


@pytest.mark.parametrize("stored", ["enormous", 77, None])
def test_a_size_that_is_not_offered_counts_as_the_usual_one(stored):
    store = MemoryStore()
    store.setValue("window/text-size", stored)
    assert TextScale(store).percent == 100
