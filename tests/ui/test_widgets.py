"""The building blocks: fields that show unit and range, segments, messages, labels."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLineEdit, QPushButton, QScrollBar, QWidget

from sfumato.engine.core.errors import TableError
from sfumato.ui.look.theme import themes
from sfumato.ui.widgets import messages as departures
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments, SliderField
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedLabel,
    EmptyState,
    ScrollPage,
    boxed,
    button,
)
from sfumato.ui.widgets.messages import Action, Message, MessageBar, MessageKind, MessageView
from sfumato.ui.widgets.responsive import FlowLayout
from tests.ui.hands import click, message_button, messages


@pytest.fixture
def shown(themed, qtbot):
    """Show a widget in a window, with the focus."""
    hosts = []

    def show(widget):
        host = QWidget()
        hosts.append(host)
        qtbot.addWidget(host)
        widget.setParent(host)
        host.resize(400, 120)
        host.move(100, 100)  # away from the pointer
        host.show()
        host.activateWindow()
        qtbot.waitExposed(host)
        return widget

    return show


def type_number(spin, text):
    spin.setFocus()
    QTest.keyClick(spin, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    QTest.keyClicks(spin, text)
    QTest.keyClick(spin, Qt.Key.Key_Return)


def wheel(widget):
    event = QWheelEvent(
        QPointF(5, 5),
        widget.mapToGlobal(QPointF(5, 5)),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)


class TestNumberField:
    def test_the_unit_and_the_range_are_shown(self, shown):
        field = shown(NumberField(0.0, 1.0, unit="p"))
        assert field.spin.suffix() == " p"
        assert field.spin.toolTip() == "0 to 1"
        field.set_range(0.001, 0.5)
        assert field.spin.toolTip() == "0.001 to 0.5"

    def test_the_range_has_its_thousands_apart_and_what_is_typed_in_has_not(self, shown):
        field = shown(NumberField(1, 10_000, decimals=0))
        field.set_value(9_000)
        assert field.spin.toolTip() == "1 to 10,000"
        assert field.spin.text() == "9000"

    def test_a_number_is_told_once_it_is_given(self, shown):
        field = shown(NumberField(0.0, 1.0))
        told = []
        field.value_changed.connect(told.append)
        type_number(field.spin, "0.25")
        assert told == [0.25]
        assert field.value == 0.25

    def test_setting_a_number_tells_nobody(self, shown, qtbot):
        field = shown(NumberField(0.0, 1.0))
        with qtbot.assertNotEmitted(field.value_changed):
            field.set_value(0.5)
            field.set_range(0.6, 1.0)
        assert field.value == 0.6

    def test_superfluous_zeros_are_left_out(self, shown):
        field = shown(NumberField(0.0, 100.0))
        field.set_value(0.6)
        assert field.spin.text() == "0.6"
        field.set_value(20)
        assert field.spin.text() == "20"

    @pytest.mark.parametrize("focused", [True, False])
    def test_the_wheel_scrolls_the_page_and_changes_nothing(self, shown, focused):
        field = shown(NumberField(0.0, 1.0))
        field.set_value(0.5)
        if focused:
            field.spin.setFocus()
        wheel(field.spin)
        assert field.value == 0.5


class TestSliderField:
    def test_scrolling_past_the_slider_moves_no_level(self, shown):
        field = shown(SliderField(0.0, 1.0))
        field.set_value(0.5)
        told = []
        field.value_changed.connect(told.append)
        field.slider.setFocus()
        wheel(field.slider)
        assert (field.value, told) == (0.5, [])

    def test_slider_and_field_show_the_same(self, shown):
        field = shown(SliderField(0.0, 1.0))
        field.set_value(0.25)
        assert field.slider.value() == 250
        type_number(field.field.spin, "0.75")
        assert field.slider.value() == 750

    def test_moving_the_slider_tells_the_number(self, shown):
        field = shown(SliderField(0.0, 1.0))
        told, finished = [], []
        field.value_changed.connect(told.append)
        field.editing_finished.connect(lambda: finished.append(field.value))
        field.slider.setFocus()
        QTest.keyClick(field.slider, Qt.Key.Key_Right)
        assert told == finished == [pytest.approx(0.001)]

    def test_a_logarithmic_slider_moves_by_factors(self, shown):
        field = shown(SliderField(0.001, 1.0, decimals=6, logarithmic=True))
        for value, place in ((0.001, 0), (0.0316228, 500), (1.0, 1000)):
            field.set_value(value)
            assert field.slider.value() == place


class TestChoices:
    def test_scrolling_past_a_choice_chooses_nothing(self, shown):
        field = shown(ChoiceField([(1, "one"), (2, "two")]))
        field.set_value(2)
        field.setFocus()
        wheel(field)
        assert field.value == 2

    def test_a_choice_is_told_by_its_value(self, shown):
        field = shown(ChoiceField([(1, "one"), (2, "two")]))
        told = []
        field.chosen.connect(told.append)
        QTest.keyClick(field, Qt.Key.Key_Down)
        assert told == [2]
        assert field.value == 2

    def test_the_value_stays_when_others_are_offered(self, shown, qtbot):
        field = shown(ChoiceField([(1, "one"), (2, "two")]))
        field.set_value(2)
        with qtbot.assertNotEmitted(field.chosen):
            field.set_choices([(2, "two"), (3, "three")])
        assert field.value == 2

    def test_without_choices_there_is_no_value(self, shown):
        assert shown(ChoiceField()).value is None

    def test_segments_are_chosen_by_click_and_arrow(self, shown):
        segments = shown(Segments([("a", "First"), ("b", "Second"), ("c", "Third")]))
        told = []
        segments.chosen.connect(told.append)
        click(segments.button_for("b"))
        QTest.keyClick(segments.button_for("b"), Qt.Key.Key_Right)
        QTest.keyClick(segments.button_for("c"), Qt.Key.Key_Right)
        assert told == ["b", "c"]
        assert segments.value == "c"


class TestMessages:
    def test_the_newest_stands_first_and_only_a_few_are_kept(self, shown):
        bar = shown(MessageBar())
        for number in range(5):
            bar.show_message(Message(MessageKind.INFO, str(number)))
        assert messages(bar) == ["4", "3", "2"]

    def test_a_message_takes_the_place_of_one_on_the_same_topic(self, shown):
        bar = shown(MessageBar())
        bar.show_message(Message(MessageKind.INFO, "reading", topic="data"))
        bar.show_message(Message(MessageKind.GOOD, "read", topic="data"))
        assert messages(bar) == ["read"]
        bar.clear("data")
        assert not bar.isVisible()

    def test_an_action_is_run_and_the_message_goes(self, shown):
        bar = shown(MessageBar())
        run = []
        action = Action("Undo", lambda: run.append("undo"))
        bar.show_message(Message(MessageKind.INFO, "Changed.", actions=(action,)))
        click(message_button(bar, "Undo"))
        assert run == ["undo"]
        assert messages(bar) == []

    @pytest.fixture
    def quick(self, monkeypatch):
        """Messages that go as soon as they can."""
        for name in ("LASTING", "QUIET", "FOLDING"):
            monkeypatch.setattr(departures, name, 5)

    @pytest.fixture
    def beside(self, shown):
        """A bar on a page where the keyboard is somewhere else."""
        bar = shown(MessageBar())
        field = QLineEdit(bar.parentWidget())
        field.show()
        field.setFocus()
        return bar

    def test_good_news_go_by_themselves_and_errors_stay(self, qtbot, beside, quick):
        bar = beside
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        bar.show_message(Message(MessageKind.DANGER, "Refused."))
        qtbot.waitUntil(lambda: messages(bar) == ["Refused."])
        bar.clear()
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        qtbot.waitUntil(lambda: not bar.isVisible())
        bar.show_message(Message(MessageKind.CAUTION, "Look."))
        assert bar.height() >= bar.sizeHint().height() > 0, "it may be as high as before"

    def test_where_nothing_may_move_good_news_go_without_folding(
        self, qtbot, beside, quick, monkeypatch
    ):
        monkeypatch.setattr(departures, "QPropertyAnimation", None)
        monkeypatch.setattr(themes(), "still", True)
        beside.show_message(Message(MessageKind.GOOD, "Released."))
        qtbot.waitUntil(lambda: not beside.isVisible())
        assert messages(beside) == []

    def test_good_news_that_nobody_saw_wait(self, qtbot, themed, quick):
        page = QWidget()
        qtbot.addWidget(page)
        field, bar = QLineEdit(page), MessageBar(page)
        field.setFocus()
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        assert not bar.findChild(departures.Departure).timer.isActive()
        page.move(100, 100)  # away from the pointer
        page.show()
        qtbot.waitUntil(lambda: messages(bar) == [])

    def test_good_news_go_when_the_person_goes_elsewhere(self, qtbot, shown):
        page = shown(QWidget())
        bar = MessageBar(page)
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        bar.show_message(Message(MessageKind.DANGER, "Refused."))
        page.hide()
        qtbot.waitUntil(lambda: len(messages(bar)) == 1)
        assert messages(bar) == ["Refused."]

    def test_good_news_stay_while_the_pointer_is_on_them(self, qtbot, beside, quick):
        bar = beside
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        view = bar.findChild(MessageView)
        view.setAttribute(Qt.WidgetAttribute.WA_UnderMouse)
        departure = view.findChild(departures.Departure)
        with qtbot.waitSignals([departure.timer.timeout] * 3):
            pass
        assert messages(bar) == ["Released."]
        view.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
        qtbot.waitUntil(lambda: messages(bar) == [])

    def test_good_news_stay_while_the_keyboard_is_in_them(self, qtbot, shown, quick):
        bar = shown(MessageBar())
        action = Action("Show", lambda: None)
        bar.show_message(Message(MessageKind.GOOD, "Released.", actions=(action,)))
        qtbot.waitActive(bar)
        message_button(bar, "Show").setFocus()
        view = bar.findChild(MessageView)
        departure = view.findChild(departures.Departure)
        with qtbot.waitSignals([departure.timer.timeout] * 3):
            pass
        assert messages(bar) == ["Released."]
        message_button(bar, "Show").clearFocus()
        qtbot.waitUntil(lambda: messages(bar) == [])

    def test_an_error_becomes_a_message_with_its_remedy(self, themed):
        error = TableError("Column {column} is empty.", "Choose another.", column="age")
        message = Message.of_error(error)
        assert (message.text, message.remedy) == ("Column age is empty.", "Choose another.")
        assert message.kind is MessageKind.DANGER

    def test_a_message_is_read_out_with_its_kind_in_words(self, shown):
        bar = shown(MessageBar())
        bar.show_message(Message(MessageKind.CAUTION, "Careful.", "Look."))
        view = next(child for child in bar.children() if hasattr(child, "message"))
        assert view.accessibleName() == "Caution: Careful. Look."

    def test_a_message_is_announced_when_it_comes_into_sight(self, shown, announced):
        page = shown(QWidget())
        page.hide()
        bar = MessageBar(page)
        bar.show_message(Message(MessageKind.DANGER, "Refused.", "Try again."))
        assert announced == []
        page.show()
        page.hide()
        page.show()
        assert announced == [("Problem: Refused. Try again.", True)]
        bar.show_message(Message(MessageKind.GOOD, "Released."))
        QApplication.processEvents()
        assert announced[1:] == [("Done: Released.", False)]


class TestLayout:
    def test_a_long_text_is_elided_and_told_as_a_tip(self, shown):
        label = shown(ElidedLabel("a very long path " * 20))
        label.resize(100, 20)
        label.show()
        QApplication.processEvents()
        assert label.toolTip() == label.text()

    def test_an_empty_state_offers_buttons_in_order(self, shown):
        empty = shown(EmptyState("data", "Nothing", "Open something."))
        run = []
        first = empty.add_button(button("Open", lambda: run.append("open"), "primary"))
        second = empty.add_button(button("Sample", lambda: run.append("sample")))
        empty.add_note("A note.")
        QApplication.processEvents()
        click(first)
        click(second)
        assert run == ["open", "sample"]
        assert first.x() < second.x()

    def test_a_badge_says_its_state_in_a_word(self, shown):
        badge = shown(Badge("good", "good", "Intact"))
        badge.show_state("danger", "danger", "Broken")
        assert badge.word.text() == "Broken"

    def test_a_card_has_a_heading_and_a_note(self, shown):
        card = shown(Card("Heading", "A note."))
        assert card.heading.text() == "Heading"
        assert card.note.wordWrap()


@pytest.mark.parametrize("width", [600, 260])
def test_what_does_not_fit_beside_a_title_stands_below_it(qtbot, width):
    title, first, second = (QPushButton(word) for word in ("Title", "First deed", "Second deed"))
    page = boxed(FlowLayout(title, first, second, apart=1))
    qtbot.addWidget(page)
    for each in (title, first, second):
        each.setFixedWidth(100)
    page.resize(width, 200)
    page.show()
    beside = width > 300
    assert (first.y() == title.y()) is beside
    assert second.y() == first.y()
    assert second.geometry().right() == (width - 1 if beside else 207)


def test_what_was_brought_into_sight_stays_there_while_what_is_above_gets_longer(shown, qtbot):
    page = shown(ScrollPage())
    page.resize(300, 100)
    above, result, below = (QWidget() for _ in range(3))
    for part, height in ((above, 20), (result, 80), (below, 300)):
        part.setFixedHeight(height)
        page.column.addWidget(part)

    def top():
        return result.mapTo(page.viewport(), QPoint()).y()

    page.bring_top(result)
    assert top() == 0
    above.setFixedHeight(400)
    longest = page.verticalScrollBar().maximum()
    qtbot.waitUntil(lambda: page.verticalScrollBar().maximum() > longest)
    assert top() == 0
    with page.kept():
        above.setFixedHeight(450)
    assert (above.height(), top()) == (450, 0)
    page.verticalScrollBar().triggerAction(QScrollBar.SliderAction.SliderToMinimum)
    longest = page.verticalScrollBar().maximum()
    above.setFixedHeight(600)
    qtbot.waitUntil(lambda: page.verticalScrollBar().maximum() > longest)
    assert page.verticalScrollBar().value() == 0
