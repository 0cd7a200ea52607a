"""What screen readers are told: controls by name, role and value, and pictures by their parts."""

from __future__ import annotations

import gc

import numpy as np
import pandas as pd
import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QPointF, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from sfumato.engine.table.profile import NumberSummary
from sfumato.plots.coalitions import build_realized_distribution
from sfumato.plots.ladders import LadderRung, build_trust_ladder
from sfumato.ui.look.theme import themes
from sfumato.ui.panels import all_panels
from sfumato.ui.panels.attributes.domain import Histogram
from sfumato.ui.panels.policy.generalized.lattice_drawing import Token
from sfumato.ui.panels.policy.generalized.lattice_view import LatticeView
from sfumato.ui.panels.policy.generalized.node_list import SpecialNodes
from sfumato.ui.panels.policy.ladder_view import LadderView
from sfumato.ui.panels.policy.mechanisms.controls import Notice
from sfumato.ui.panels.policy.views_picture import Nodes
from sfumato.ui.shell.frame import state_word
from sfumato.ui.widgets.fields import ChoiceField, NumberField, SliderField
from sfumato.ui.widgets.layout import label
from sfumato.ui.widgets.paint_queue import turns
from sfumato.ui.widgets.painted import PaintedPart, PartText, show_parts
from sfumato.ui.widgets.plot_view import HEADINGS, PlotView, readable
from tests.plots import data as plots
from tests.plots import test_risk_plots as risks
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage
from tests.ui.accessible_walk import exposed, faults, tops

Role = QAccessible.Role
pytestmark = pytest.mark.usefixtures("told")

QUICK_SCENES = ("data-options", "attributes-filled", "policy-filled", "audit-planned")
"""One full page of each kind; all scenes are read out where they are laid out (`test_layout`)."""


def interface(widget):
    return QAccessible.queryAccessibleInterface(widget)


def text(widget, which=QAccessible.Text.Name):
    return interface(widget).text(which)


@pytest.fixture
def page(themed, qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    QVBoxLayout(made)
    made.resize(700, 500)
    made.show()
    return made


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK_SCENES)
def test_everything_on_a_page_can_be_told(themed, tmp_path, name):
    panel, _, scene = name.partition("-")
    home = tmp_path / "Clinic"
    home.mkdir()
    stage = Stage(home, rows=300)
    try:
        stage.panel(panel)
        next(each for each in scenes_of(panel) if each.name == scene).arrange(stage)
        stage.settle()
        turns().finish()
        assert [fault for top in tops(stage.window) for fault in faults(top)] == []
        roles = {found.role for found in exposed(stage.window)}
        assert Role.Button in roles
        steps = [found.name for found in exposed(stage.window) if found.path.endswith("StepButton")]
        assert len(steps) == 6
        said = (state_word(stage.window.rail.step(each.name).state) for each in all_panels())
        assert sorted(step.partition(": ")[2] for step in steps) == sorted(said)  # in words
    finally:
        stage.close()


def test_the_walk_finds_what_has_no_name_and_what_is_called_like_its_neighbour(page):
    page.layout().addWidget(QLineEdit())
    for _ in range(2):
        page.layout().addWidget(QPushButton("Show"))
    custom = QWidget()
    custom.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    custom.setAccessibleName("Picture")
    page.layout().addWidget(custom)
    page.layout().addWidget(QLabel("&Distance"))
    QCoreApplication.processEvents()
    found = " / ".join(faults(page))
    assert found.count("has no name") == 1
    assert found.count("has the name of a control beside it") == 1
    assert found.count("has a role that says nothing") == 1
    assert found.count("belongs to no field") == 1


class TestFields:
    def test_a_number_takes_the_name_of_its_label(self, page):
        name, field = QLabel("&Distance"), NumberField(0, 1)
        name.setBuddy(field)
        page.layout().addWidget(name)
        page.layout().addWidget(field)
        QCoreApplication.processEvents()
        assert text(field.spin) == "Distance"
        assert interface(field.spin).role() == Role.SpinBox

    def test_a_slider_and_its_field_have_one_name(self, page):
        field = SliderField(0, 1)
        field.setAccessibleName("Trust")
        page.layout().addWidget(field)
        assert (text(field.slider), text(field.spin)) == ("Trust", "Trust")

    def test_a_choice_tells_its_name_beside_what_is_chosen(self, page):
        field = ChoiceField([(1, "one"), (2, "two")])
        field.setAccessibleName("Number")
        page.layout().addWidget(field)
        parts = (QAccessible.Text.Name, QAccessible.Text.Description, QAccessible.Text.Value)
        assert {"Number", "one"} <= {text(field, part) for part in parts}


class TestParts:
    def test_the_ladder_is_a_list_of_rungs_with_their_levels(self, page):
        ladder = LadderView()
        page.layout().addWidget(ladder)
        rungs = [
            LadderRung("Institute", 0.5, "p = 0.5"),
            LadderRung("Public", 0.1, "p = 0.1", "cautious"),
        ]
        ladder.show_rungs(rungs, "Public")
        list_ = interface(ladder)
        assert list_.role() == Role.List
        parts = [list_.child(place) for place in range(list_.childCount())]
        assert [part.role() for part in parts] == [Role.ListItem] * 3
        told = [part.text(QAccessible.Text.Name) for part in parts]
        assert told == ["Original: not released", "Institute: p = 0.5", "Public: p = 0.1"]
        assert "chosen" in parts[2].text(QAccessible.Text.Description)
        places = [part.rect().top() for part in parts]
        assert places == sorted(places)

    def test_a_step_on_the_ladder_is_announced(self, page, announced):
        ladder = LadderView()
        page.layout().addWidget(ladder)
        ladder.show_rungs([LadderRung("A", 0.5, "p = 0.5"), LadderRung("B", 0.1, "p = 0.1")], "A")
        QTest.keyClick(ladder, Qt.Key.Key_Down)
        assert announced == [("B: p = 0.1", False)]

    def test_a_lattice_tells_who_stands_where_and_the_node_that_a_key_goes_to(
        self, page, announced
    ):
        lattice = LatticeView(lambda node: f"levels {node[0]} and {node[1]}")
        page.layout().addWidget(lattice)
        QCoreApplication.processEvents()
        lattice.show_lattice(Nodes.of(np.ones((2, 3), dtype=np.bool_)))
        lattice.show_marks(SpecialNodes(None, None, ()), (0, 0))
        lattice.show_tokens([Token("Institute", "1", (0, 1)), Token("Public", "2", (1, 2))], "")
        assert interface(lattice).role() == Role.Graphic
        told = [text(part) for part in lattice.findChildren(PaintedPart)]
        assert told == ["Institute: levels 0 and 1", "Public: levels 1 and 2"]
        QTest.keyClick(lattice, Qt.Key.Key_Up)
        assert len(announced) == 1
        assert announced[0][0] in ("levels 0 and 1", "levels 1 and 0")

    def test_parts_that_go_are_told_no_more_and_a_click_goes_through_them(self, page):
        area = page.rect()
        show_parts(page, [PartText(name, area) for name in "abc"])
        show_parts(page, [PartText("d", area)])
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert [text(part) for part in page.findChildren(PaintedPart)] == ["d"]
        assert page.childAt(area.center()) is None

    @pytest.mark.slow
    def test_roles_outlive_garbage_and_go_with_their_widgets(self, page):
        for number in range(10):
            ladder = LadderView(page)
            ladder.show_rungs([LadderRung("A", 0.5, "")], "A")
            ladder.show()
            if number == 5:
                gc.collect()
            assert interface(ladder).role() == Role.List
            assert interface(ladder).child(0).role() == Role.ListItem
            ladder.deleteLater()
            QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()
        assert interface(page).childCount() == 0

    def test_the_histogram_of_bins_is_told_in_words(self, page):
        histogram = Histogram()
        page.layout().addWidget(histogram)
        summary = NumberSummary.__new__(NumberSummary)
        object.__setattr__(summary, "edges", (0.0, 10.0, 20.0))
        object.__setattr__(summary, "counts", (3, 5))
        histogram.show_numbers(summary, (0.0, 20.0))
        assert interface(histogram).role() == Role.Graphic
        told = text(histogram, QAccessible.Text.Description)
        assert told == "0 to 10: 3; 10 to 20: 5; Bins end at 0, 20"


class TestAnnouncements:
    def test_a_notice_is_announced_once_and_again_when_it_says_something_else(
        self, page, announced
    ):
        notice = Notice()
        page.layout().addWidget(notice)
        for words in ("Too small.", "Too small.", "Too large."):
            notice.say("danger", words)
        assert announced == [("Too small.", False), ("Too large.", False)]

    def test_a_danger_is_announced_when_it_arises(self, page, announced):
        note = Notice()
        page.layout().addWidget(note)
        for words in ("Hides nothing.", "Hides nothing.", ""):
            note.warn(words)
        assert announced == [("Hides nothing.", False)]

    def test_the_panel_that_comes_into_sight_is_announced(self, window, announced):
        window.show_panel("releases")
        window.show_panel("releases")
        assert announced == [("Releases", False)]


def test_series_of_bars_differ_by_more_than_their_colours(themed):
    style = themes().current.style
    figure = build_realized_distribution(*risks.files(), style)
    hatches = {bar.get_hatch() for bar in figure.axes[0].patches if bar.get_height() > 0}
    assert len(hatches) == 2


class TestPlots:
    @pytest.fixture
    def view(self, page):
        made = PlotView()
        page.layout().addWidget(made)
        made.show_plot(lambda style: build_trust_ladder(plots.ladder(), style))
        QCoreApplication.processEvents()
        turns().finish()
        return made

    def test_a_plot_is_a_chart_that_says_its_answer(self, view):
        assert interface(view).role() == Role.Chart
        assert text(view) == view.figure.headline

    def test_a_plot_is_shown_as_a_table_and_as_a_picture_again(self, view, page):
        view.clearFocus()
        before = view.grab().toImage()
        [as_table] = [action for action in view.menu().actions() if action.isCheckable()]
        as_table.trigger()
        shown = view.table.table
        assert interface(shown).role() == Role.Table
        assert text(shown) == view.figure.headline
        headers = [
            shown.model().headerData(place, Qt.Orientation.Horizontal)
            for place in range(shown.model().columnCount())
        ]
        assert headers == ["Recipient", "Trust", "Level", "In coalition"]
        assert shown.model().rowCount() == len(view.figure.data)
        assert faults(page) == []
        view.show_plot(lambda style: build_trust_ladder(plots.ladder(rungs=()), style))
        QCoreApplication.processEvents()
        turns().finish()
        assert shown.model().rowCount() == 0
        view.show_plot(lambda style: build_trust_ladder(plots.ladder(), style))
        view.show_table(False)
        QCoreApplication.processEvents()
        turns().finish()
        view.clearFocus()
        assert view.grab().toImage() == before

    def test_the_keyboard_goes_into_the_table_and_back(self, view, qtbot):
        view.window().activateWindow()
        view.setFocus()
        qtbot.waitUntil(view.hasFocus)
        view.show_table(True)
        qtbot.waitUntil(view.table.table.hasFocus)
        view.show_table(False)
        assert view.focusPolicy() == Qt.FocusPolicy.TabFocus

    def test_the_value_that_an_arrow_key_points_out_is_announced(self, view, announced):
        QTest.keyClick(view, Qt.Key.Key_Right)
        assert announced == [(view.figure.hover[0].text, False)]
        assert view._region_at(QPointF(-5, -5)) is None

    def test_figures_are_rounded_and_names_are_left_as_they_are(self):
        shown = readable(pd.DataFrame({"lower_quartile": [0.123456789], "Clinic_A": ["x"]}))
        assert list(shown.columns) == ["Lower quartile", "Clinic_A"]
        assert shown.iloc[0, 0] == 0.12346
        assert list(HEADINGS) == sorted(set(HEADINGS))


@pytest.mark.parametrize("look", ["title", "heading"])
def test_headings_are_told_as_headings_by_what_they_say_now(page, look):
    made = label("Coalition", look, wrap=True)
    page.layout().addWidget(made)
    assert interface(made).role() == Role.Heading
    assert text(made) == "Coalition"
    made.setText("Numbers_with_a_long_name")
    assert text(made) == "Numbers_with_a_long_name"


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_window_has_headings_to_go_through(themed, tmp_path):
    stage = Stage(tmp_path, rows=50)
    try:
        told = [each.name for each in exposed(stage.window) if each.role == Role.Heading]
        assert stage.window.current.kind.translated_title() in told
    finally:
        stage.close()
