"""Plots as a part of the page: drawn sharp, told under the pointer, saved from their menu."""

from __future__ import annotations

from functools import partial

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt, QTranslator
from PySide6.QtGui import QGuiApplication, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip

from sfumato.plots.beliefs import build_posterior_bars
from sfumato.plots.coalitions import build_collusion_bars
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.plot_view import PlotView
from tests.plots import data
from tests.ui.hands import on_screen


class Chooser:
    """Answers with one path, or None."""

    def __init__(self):
        self.path = None
        self.asked = []

    def save_file(self, title, filters, proposal):
        self.asked.append((title, filters, proposal))
        return self.path


@pytest.fixture
def chooser():
    return Chooser()


@pytest.fixture
def view(qtbot, themed, chooser):
    made = on_screen(qtbot, PlotView(chooser), 600, 360)
    made.show_plot(partial(build_collusion_bars, data.collusion()))
    qtbot.waitUntil(lambda: made.settled)
    return made


def first_bar(view):
    return view._area_of(view.figure.hover[0]).center()


def trigger(view, text):
    menu = view.menu()
    next(action for action in menu.actions() if action.text().startswith(text)).trigger()
    menu.close()


def test_it_speaks_for_those_who_listen(view):
    assert view.accessibleName() == view.figure.headline
    assert view.accessibleDescription() == view.figure.subtitle


def test_it_asks_for_the_height_that_nothing_is_cramped_at(view):
    assert view.minimumHeight() < view.sizeHint().height() < view.maximumHeight()


def test_values_are_told_under_the_pointer(qtbot, view):
    assert "Recipient 1" in view._region_at(first_bar(view)).text
    assert view._region_at(QPointF(2, 2)) is None
    # Straight to the plot: a cursor that is set finds the window below it, which may be another.
    for point in (QPointF(2, 2), first_bar(view)):
        none = Qt.MouseButton.NoButton
        there = view.mapToGlobal(point)
        kind, keys = QEvent.Type.MouseMove, Qt.KeyboardModifier.NoModifier
        QApplication.sendEvent(view, QMouseEvent(kind, point, there, none, none, keys))
    assert "Recipient 1" in QToolTip.text()


def test_the_arrow_keys_step_through_the_values(qtbot, view):
    view.setFocus()
    qtbot.keyClick(view, Qt.Key.Key_Down)
    assert view._region is view.figure.hover[0]
    qtbot.keyClick(view, Qt.Key.Key_Right)
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view._region is view.figure.hover[0]
    qtbot.keyClick(view, Qt.Key.Key_Up)
    assert view._region is view.figure.hover[-1]


def test_it_is_drawn_anew_in_the_dark(qtbot, view):
    themes().set_appearance(Appearance.DARK)
    assert view.figure.style.dark
    qtbot.waitUntil(lambda: view.settled and view._image.pixelColor(1, 1).lightness() < 60)
    themes().set_appearance(Appearance.LIGHT)
    assert not view.figure.style.dark


@pytest.mark.slow
def test_it_is_drawn_anew_at_another_size(qtbot, view):
    qtbot.waitUntil(lambda: view._image is not None)
    before = view._image.width()
    view.resize(500, 320)
    width = round(500 * view.devicePixelRatioF())
    qtbot.waitUntil(lambda: view.settled and view._image.width() != before)
    assert view._image.width() == width


def test_a_plot_out_of_sight_is_drawn_when_it_comes_into_sight(qtbot, view):
    view.hide()
    built = []

    def build(style):
        built.append(style)
        return build_posterior_bars(data.posterior(), style)

    view.show_plot(build)
    assert built == []
    view.show()
    qtbot.waitUntil(lambda: len(built) == 1)


class Shouting(QTranslator):
    """Translates what plots say into capitals."""

    def isEmpty(self):
        return False

    def translate(self, context, text, _disambiguation=None, _number=-1):
        return text.replace("recipients", "RECIPIENTS") if context == "Plots" else text


@pytest.mark.slow
def test_its_words_are_in_the_person_s_language(qapp, view):
    translator = Shouting()
    qapp.installTranslator(translator)
    try:
        view.show_plot(partial(build_collusion_bars, data.collusion()))
        assert view.figure.headline.startswith("Three RECIPIENTS who pool")
    finally:
        qapp.removeTranslator(translator)


@pytest.mark.slow
def test_another_plot_takes_its_place(view):
    view.show_plot(partial(build_posterior_bars, data.posterior()))
    assert view.figure.headline.startswith("Seeing")
    assert view.accessibleName() == view.figure.headline
    view.clear()
    assert view.figure is None
    assert view._region_at(QPointF(100, 100)) is None


@pytest.mark.few(1)
@pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_pictures_are_saved_from_the_menu(view, chooser, tmp_path, kind, start):
    chooser.path = tmp_path / f"plot.{kind}"
    trigger(view, f"Save as {kind.upper()}")
    turns().finish()
    assert chooser.path.read_bytes().startswith(start)
    assert [path.name for path in tmp_path.iterdir()] == [f"plot.{kind}"]


@pytest.mark.slow
def test_a_saved_picture_has_the_page_s_resolution_doubled_and_a_margin(view, tmp_path):
    view.save_as(tmp_path / "plot.png")
    image = QImage(str(tmp_path / "plot.png"))
    assert image.width() == 1200
    assert image.pixelColor(4, 4).name() == view.figure.style.background.lower()


def test_values_are_saved_as_csv(view, chooser, tmp_path):
    chooser.path = tmp_path / "values"
    trigger(view, "Save values as CSV")
    turns().finish()
    lines = (tmp_path / "values.csv").read_text().splitlines()
    assert lines[0] == "who,noise,restored"
    assert len(lines) == 7


def test_thinking_better_of_saving_writes_nothing(view, chooser, tmp_path):
    trigger(view, "Save as PNG")
    turns().finish()
    assert chooser.asked
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_folder_that_can_t_be_written_is_said(qtbot, view, chooser, tmp_path):
    chooser.path = tmp_path / "missing" / "plot.png"
    with qtbot.waitSignal(view.failed) as failed:
        trigger(view, "Save as PNG")
    assert "There is no folder" in failed.args[0].text


@pytest.mark.slow
def test_the_window_answers_while_a_picture_is_built_and_written(view, chooser, tmp_path):
    chooser.path = tmp_path / "plot.png"
    trigger(view, "Save as PNG")
    assert not chooser.path.exists()
    assert turns().waits(view._more)
    turns().finish()
    assert chooser.path.stat().st_size > 1000


def test_picture_and_values_are_copied(view):
    trigger(view, "Copy values")
    assert QGuiApplication.clipboard().text().startswith("who\tnoise\trestored")
    trigger(view, "Copy picture")
    assert not QGuiApplication.clipboard().image().isNull()


def test_the_menu_opens_from_its_button(qtbot, view):
    assert view._more.isVisible()
    assert view._more.accessibleName()
    qtbot.mouseClick(view._more, Qt.MouseButton.LeftButton)
    menus = view.findChildren(type(view.menu()))
    assert any(menu.isVisible() for menu in menus)
    for menu in menus:
        menu.close()
