"""The looks: readable in light and dark, following the person's choice at once."""

from __future__ import annotations

import itertools

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

from sfumato.plots.style import contrast
from sfumato.ui.look.theme import Appearance, Theme, current_theme, font, mix, themes
from sfumato.ui.widgets.icons import IconLabel, themed_icon
from sfumato.ui.widgets.layout import label

READABLE = 4.5


@pytest.fixture(params=[Appearance.LIGHT, Appearance.DARK])
def theme(request, themed) -> Theme:
    themes().set_appearance(request.param)
    yield current_theme()
    themes().set_appearance(Appearance.LIGHT)


GROUNDS = ("background", "surface")
INKS = ("text", "muted", "accent", "good", "caution", "danger")


@pytest.mark.parametrize(("ink", "ground"), list(itertools.product(INKS, GROUNDS)))
def test_text_can_be_read_on_the_page_and_on_cards(theme, ink, ground):
    assert contrast(getattr(theme.style, ink), getattr(theme.style, ground)) >= READABLE


@pytest.mark.parametrize("ink", INKS)
def test_messages_can_be_read_on_their_tints(theme, ink):
    ground = theme.tint(getattr(theme.style, ink))
    assert contrast(theme.style.text, ground) >= READABLE


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
    weak = [(ink, ground) for ink, ground in pairs if contrast(ink, ground) < READABLE]
    assert weak == []


def test_fields_can_be_seen_on_cards(theme):
    assert contrast(theme.field_line, theme.style.surface) >= 1.6


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
    standing = IconLabel("data", "text")
    qtbot.addWidget(standing)
    standing.show()
    light = standing.grab().toImage()
    themes().set_appearance(Appearance.DARK)
    dark = standing.grab().toImage()
    assert light.pixelColor(0, 0) != dark.pixelColor(0, 0)  # the ground
    colours = {dark.pixelColor(x, y).name().upper() for x in range(20) for y in range(20)}
    assert current_theme().style.text in colours


def test_mixing_goes_from_one_colour_to_the_other(themed):
    assert mix("#000000", "#FFFFFF", 0.0) == "#FFFFFF"
    assert mix("#000000", "#FFFFFF", 1.0) == "#000000"
    assert mix("#000000", "#FFFFFF", 0.5) == "#808080"
