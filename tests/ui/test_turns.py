"""Whoever draws on the main thread takes one step a turn, and the window answers in between."""

from __future__ import annotations

import itertools
from functools import partial

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.plots.coalitions import build_collusion_bars
from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.plot_view import PlotView
from tests.plots import data


@pytest.fixture
def who(qtbot, themed):
    """Two widgets in sight and one out of sight."""
    made = [QWidget() for _ in range(3)]
    for each in made:
        qtbot.addWidget(each)
    for each in made[:2]:
        each.show()
    return made


def steps(name, count, done):
    for step in range(count):
        done.append((name, step))
        yield


def answered(done, until):
    """Note that the window answered, after every turn."""
    clock = QTimer()
    clock.setInterval(1)
    clock.timeout.connect(lambda: None if done[-1:] == ["answer"] else done.append("answer"))
    clock.start()
    until()
    clock.stop()
    return done


def test_the_window_answers_between_two_steps(qtbot, who):
    done = []
    turns().ask(who[0], steps("a", 3, done))
    answered(done, lambda: qtbot.waitUntil(lambda: not turns().waits(who[0])))
    taken = [place for place, each in enumerate(done) if each != "answer"]
    assert [done[place] for place in taken] == [("a", 0), ("a", 1), ("a", 2)]
    assert all(after - before == 2 for before, after in itertools.pairwise(taken))


def test_who_came_first_finishes_first_and_who_is_out_of_sight_comes_last(qtbot, who):
    done = []
    first, second, hidden = who
    turns().ask(hidden, steps("hidden", 1, done))
    turns().ask(first, steps("first", 2, done))
    turns().ask(second, steps("second", 2, done))
    qtbot.waitUntil(lambda: not any(map(turns().waits, who)))
    assert [name for name, _ in done] == ["first", "first", "second", "second", "hidden"]


def test_steps_asked_for_anew_take_the_place_of_those_before(qtbot, who):
    done = []
    turns().ask(who[0], steps("old", 2, done))
    turns().ask(who[0], steps("new", 1, done))
    turns().ask(who[1], steps("given up", 1, done))
    turns().leave(who[1])
    qtbot.waitUntil(lambda: not turns().waits(who[0]))
    assert done == [("new", 0)]


def test_nothing_is_done_for_a_widget_that_is_gone(qtbot, who):
    done = []
    gone = QWidget()
    turns().ask(gone, steps("gone", 1, done))
    gone.deleteLater()
    qtbot.waitUntil(lambda: not turns().waits(gone))
    turns().ask(who[0], steps("here", 1, done))
    qtbot.waitUntil(lambda: not turns().waits(who[0]))
    assert done == [("here", 0)]


def test_steps_that_fail_end_and_the_others_go_on(qtbot, who):
    def failing():
        yield
        raise RuntimeError("no figure")

    done = []
    turns().ask(who[0], failing())
    turns().ask(who[1], steps("next", 1, done))
    with qtbot.captureExceptions() as failures:
        qtbot.waitUntil(lambda: not turns().waits(who[1]))
    assert [str(error) for _, error, _ in failures] == ["no figure"]
    assert done == [("next", 0)]


def test_everything_is_done_at_once_for_a_picture(who):
    done = []
    turns().ask(who[0], steps("a", 2, done))
    turns().ask(who[2], steps("hidden", 2, done))
    turns().finish()
    assert done == [("a", 0), ("a", 1), ("hidden", 0), ("hidden", 1)]
    assert not any(map(turns().waits, who))


class Noting(PlotView):
    """Notes what it does, and when the event loop came round."""

    def __init__(self, name, done):
        super().__init__()
        self.name, self.done = name, done

    def _rebuild(self):
        super()._rebuild()
        self.done.append((self.name, "built"))

    def _render(self):
        super()._render()
        self.done.append((self.name, "drawn"))


@pytest.fixture
def done():
    return []


@pytest.fixture
def plots(qtbot, themed, done):
    """Three plots below one another, the last hidden."""
    page = QWidget()
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    made = [Noting(name, done) for name in "abc"]
    for each in made:
        column.addWidget(each)
        each.show_plot(partial(build_collusion_bars, data.collusion()))
    made[2].hide()
    page.resize(640, 800)
    page.show()
    yield made
    page.close()


def test_one_plot_is_built_or_drawn_a_turn(qtbot, plots, done):
    shown = plots[:2]
    answered(done, lambda: qtbot.waitUntil(lambda: all(each.settled for each in shown)))
    work = [place for place, each in enumerate(done) if each != "answer"]
    assert {done[place] for place in work} == {
        (name, what) for name in "ab" for what in ("built", "drawn")
    }
    assert all(after - before > 1 for before, after in itertools.pairwise(work))


@pytest.mark.slow
def test_a_hidden_plot_is_not_drawn_until_it_is_shown(qtbot, plots, done):
    qtbot.waitUntil(lambda: all(each.settled for each in plots[:2]))
    themes().set_appearance(Appearance.DARK)
    qtbot.waitUntil(lambda: all(each.settled for each in plots[:2]))
    themes().set_appearance(Appearance.LIGHT)
    assert not [each for each in done if each[0] == "c"]
    plots[2].show()
    qtbot.waitUntil(lambda: plots[2].settled)
    assert [what for name, what in done if name == "c"][:2] == ["built", "drawn"]


@pytest.mark.slow
def test_a_plot_that_is_hidden_before_its_turn_waits_until_it_is_shown_again(qtbot, plots, done):
    plots[0].hide()
    plots[2].show()
    qtbot.waitUntil(lambda: plots[1].settled and plots[2].settled)
    assert ("a", "drawn") not in done
    assert not plots[0].settled


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_old_picture_stays_until_the_new_one_is_drawn(qtbot, plots):
    view = plots[0]
    qtbot.waitUntil(lambda: view.settled)
    before, spoken = view._image, view._region_at(view._area_of(view.figure.hover[0]).center()).text
    view.show_plot(partial(build_collusion_bars, data.collusion()))
    assert view._image is before
    assert view._region_at(view._area_of(view._drawn.hover[0]).center()).text == spoken
    qtbot.waitUntil(lambda: view.settled)
    assert view._image is not before
