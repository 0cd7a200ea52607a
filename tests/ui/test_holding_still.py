"""A window holds still at any size: nothing that changes a size in answer to one turns for ever."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize
from PySide6.QtWidgets import QSizePolicy, QWidget

from sfumato.ui.panels import Panels
from sfumato.ui.panels.policy.generalized.lattice_view import LatticeView
from sfumato.ui.widgets.layout import ScrollPage, column, label
from sfumato.ui.widgets.responsive import ResponsiveGrid, ResponsiveRow, RoomyScrollArea
from tests.campaigns import SEED
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage
from tests.thorough import in_turn, some
from tests.ui.hands import on_screen
from tests.ui.layout_watch import LayoutWatch
from tests.ui.test_lattice_view import Nodes

HEIGHT = 768
WIDTHS = range(1_100, 2_001)
FITTED = ("policy-survey", "policy-views-lattice-large", "policy-generalized-lattice")
"""States with pictures that are fitted into their room: resized to every width in three turns of
CI; the layout's tests resize all states to some."""
LATTICES = (
    (3, 2, 4, 1),
    (2, 2),
    (4, 4, 4),
    (3, 2, 1, 2, 3, 1),
    (4, 1, 1, 1, 3, 3),
    (1, 2, 2, 2, 4, 4),
)


class HighWhereWide(QWidget):
    """Stands for a plot: it asks for a height in answer to its width."""

    def __init__(self, edge: int) -> None:
        super().__init__()
        self._edge = edge
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(100, 400 if self.width() >= self._edge else 100)

    def resizeEvent(self, event) -> None:
        self.updateGeometry()


@pytest.fixture
def watch(themed):
    return LayoutWatch(themed)


@pytest.fixture
def lattice(qtbot):
    return on_screen(qtbot, LatticeView(lambda node: ""), 480, 280)


@pytest.mark.slow
@pytest.mark.parametrize("top", LATTICES)
def test_a_lattice_that_is_fitted_into_its_view_holds_still_at_any_size(watch, lattice, top):
    lattice.show_lattice(Nodes(*top))
    for height in (280, *some((220, 281, 300), SEED)):
        assert not watch.loops(lattice, range(440, 640), height)


def test_a_fitted_lattice_is_all_in_sight_and_scrolls_once_it_is_larger(qtbot, lattice):
    lattice.show_lattice(Nodes(4, 1, 1, 1, 3, 3))
    bars = (lattice.horizontalScrollBar(), lattice.verticalScrollBar())
    assert not any(bar.isVisible() for bar in bars)
    lattice.zoom(8)
    qtbot.waitUntil(lambda: all(bar.isVisible() for bar in bars))
    lattice.show_all()
    assert not any(bar.isVisible() for bar in bars)


@pytest.mark.parametrize("inside", [ScrollPage, RoomyScrollArea])
def test_a_page_holds_still_where_its_content_is_higher_the_wider_it_is(watch, qtbot, inside):
    content = HighWhereWide(300)
    page = inside() if inside is ScrollPage else inside(column(content))
    if isinstance(page, ScrollPage):
        page.put(content)
    on_screen(qtbot, page, 280, 200)
    assert not watch.loops(page, range(280, 330), 200)


class Lines(QWidget):
    """A text that asks for another line whenever it gets less width than it needs."""

    def __init__(self, words: int) -> None:
        super().__init__()
        words_ = label("word " * words, wrap=True)
        self.setLayout(column(words_))


@pytest.mark.parametrize("inside", [ScrollPage, RoomyScrollArea])
def test_a_row_that_turns_into_a_column_holds_still_inside_a_page_that_scrolls(
    watch, qtbot, inside
):
    def parts(wide):
        return ResponsiveRow(wide, Lines(60), Lines(60))

    row = parts(300)
    page = inside() if inside is ScrollPage else inside(column(row))
    if isinstance(page, ScrollPage):
        page.put(row)
    on_screen(qtbot, page, 280, 200)
    assert not watch.loops(page, range(280, 340), 200)


def test_a_row_turns_into_a_column_only_where_it_is_narrower_than_where_it_turns_back(qtbot):
    row = on_screen(qtbot, ResponsiveRow(300, QWidget(), QWidget()), 290, 60)
    turned = {}
    for width in (*range(290, 330), *range(330, 270, -1)):
        before = row.side_by_side
        row.resize(width, 60)
        if row.side_by_side != before:
            turned[row.side_by_side] = width
    assert turned[True] - turned[False] > 8


def test_a_grid_breaks_its_line_only_where_it_is_narrower_than_where_it_joins_it(qtbot):
    grid = ResponsiveGrid(300, 2)
    for _ in range(4):
        grid.add(QWidget())
    on_screen(qtbot, grid, 290, 60)
    turned = {}
    for width in (*range(290, 330), *range(330, 270, -1)):
        before = grid.in_one_line
        grid.resize(width, 60)
        if grid.in_one_line != before:
            turned[grid.in_one_line] = width
    assert turned[True] - turned[False] > 8


def arranged(folder, name: str) -> Stage:
    """Bring a window that is not painted into a state, named as ``panel-scene``."""
    panel, _, name = name.partition("-")
    scene = next(each for each in scenes_of(panel) if each.name == name)
    stage = Stage(folder, (WIDTHS[0], HEIGHT), 300)
    stage.panel(panel)
    scene.arrange(stage)
    stage.settle()
    stage.window.setUpdatesEnabled(False)
    return stage


@pytest.fixture
def only_in_sight(monkeypatch):
    """Only the panel in sight is built: the others would cost most of the time."""
    monkeypatch.setattr(Panels, "_need_all", lambda _panels: None)


def loops(watch: LayoutWatch, folder, name: str, widths) -> list[str]:
    """Return at which widths of the window a state does not hold still."""
    stage = arranged(folder, name)
    try:
        return watch.loops(stage.window, widths, HEIGHT)
    finally:
        stage.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", FITTED)
def test_what_is_fitted_holds_still_at_some_widths_of_the_window(
    watch, only_in_sight, tmp_path, name
):
    widths = [*some(WIDTHS[SEED % 47 :: 47], SEED), 1_119, 1_267, 1_366]
    assert not (turning := loops(watch, tmp_path, name, widths)), "\n".join(turning)


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", FITTED)
def test_what_is_fitted_holds_still_at_every_width_that_has_its_turn(
    watch, only_in_sight, tmp_path, name
):
    # The large lattice takes as long as all others together: of its widths, every third.
    widths = WIDTHS[SEED % 3 :: 3] if name == "policy-views-lattice-large" else WIDTHS
    widths = in_turn(widths, 3)  # a loop is one at the widths beside it too
    assert not (turning := loops(watch, tmp_path, name, widths)), "\n".join(turning)
