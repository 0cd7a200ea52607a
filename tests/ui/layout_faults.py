"""Finds what is cut off, covered or out of reach in a window, by geometry."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from PySide6.QtCore import QModelIndex, QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QFontMetricsF
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractScrollArea,
    QAbstractSpinBox,
    QCheckBox,
    QComboBox,
    QLabel,
    QLineEdit,
    QMenuBar,
    QPushButton,
    QRadioButton,
    QScrollArea,
    QScrollBar,
    QStackedWidget,
    QStyle,
    QStyleOptionComboBox,
    QStyleOptionSpinBox,
    QTabBar,
    QTableView,
    QToolButton,
    QWidget,
)

from sfumato.ui.look.theme import TextSize, font
from sfumato.ui.look.wording import parts
from sfumato.ui.panels.audit.pages.groups import KnowledgeButton
from sfumato.ui.panels.policy.mechanisms.controls import PADDING, ChoiceCard
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import ElidedLabel
from sfumato.ui.widgets.plot_view import PlotView

SLACK = 2
"""Pixels that rounding and antialiasing may take."""
MOST_CELLS = 40
OVERLAYS = ("DropHint", "QSizeGrip", "QRubberBand")


def layout_faults(window: QWidget) -> list[str]:
    """Return a line for each text that is cut off and each control that is covered or out of reach.

    Text may be elided where a tip tells it whole. A page may be longer than its room where it
    scrolls, but not wider: only tables, trees and pictures with a view of their own may be.
    """
    faults = []
    for widget in (window, *window.findChildren(QWidget)):
        own = widget.window() is window and widget.isVisibleTo(window) and not _overlay(widget)
        if widget is window or own:
            faults += [f"{_place(widget)}: {fault}" for fault in _of(widget, window)]
    return faults


def _of(widget: QWidget, window: QWidget) -> Iterator[str]:
    if widget is not window:
        yield from _outside(widget)
    yield from _overlaps(widget)
    yield from _clipped(widget)
    if isinstance(widget, QTableView) and widget.model() is not None:
        yield from _cells(widget)
    if hasattr(widget, "painted_texts"):
        yield from _painted(widget)


# ----- where widgets are


def _outside(widget: QWidget) -> Iterator[str]:
    """Tell what sticks out of its parent where nothing scrolls."""
    parent = widget.parentWidget()
    if parent is None or widget.isWindow() or isinstance(parent, QStackedWidget):
        return
    area = parent.parentWidget()
    rect = widget.geometry()
    if isinstance(area, QAbstractScrollArea) and area.viewport() is parent:
        if isinstance(area, QScrollArea) and rect.width() > parent.width():
            widest = _widest(widget)
            yield f"{rect.width()} wide on a page of {parent.width()}, for {widest}"
        return
    room = parent.rect().adjusted(-SLACK, -SLACK, SLACK, SLACK)
    if not room.contains(rect):
        yield f"{_box(rect)} sticks out of {type(parent).__name__} {_box(parent.rect())}"


def _widest(page: QWidget) -> str:
    """Name the innermost part that makes a page so wide, to begin looking there."""
    inside = page
    while True:
        here = (one for one in inside.children() if isinstance(one, QWidget))
        shown = [one for one in here if one.isVisibleTo(page) and not one.isWindow()]
        parts = [one for one in shown if not isinstance(one, QScrollBar)]
        wide = max(parts, key=_least_width, default=None)
        if wide is None or _least_width(wide) < 0.5 * _least_width(inside):
            return f"{_place(inside)}, which needs {_least_width(inside)}"
        inside = wide


def _least_width(widget: QWidget) -> int:
    return max(widget.minimumSizeHint().width(), widget.minimumWidth())


def _overlaps(parent: QWidget) -> Iterator[str]:
    """Tell which children of a widget lie on each other."""
    if isinstance(parent, (QStackedWidget, QAbstractScrollArea, QAbstractSpinBox, QMenuBar)):
        return
    if isinstance(parent, (QComboBox, QLineEdit, QTabBar, PlotView)) or parent.layout() is None:
        return
    here = [one for one in parent.children() if isinstance(one, QWidget) and not one.isWindow()]
    shown = [one for one in here if one.isVisibleTo(parent) and not _overlay(one)]
    for first, second in combinations(shown, 2):
        shared = first.geometry() & second.geometry()
        if shared.width() > SLACK and shared.height() > SLACK:
            yield f"{_name(first)} {_box(first.geometry())} lies on {_name(second)}"


# ----- texts


def _clipped(widget: QWidget) -> Iterator[str]:
    match widget:
        case ElidedLabel():
            shown = widget._shown()
            if shown != widget.text() and widget.text() not in widget.toolTip():
                yield "elided without a tip"
            if widget.text() and len(shown) < min(len(widget.text()), 4):
                yield f"no room for a name: {shown!r}"
        case QLabel() if widget.text():
            yield from _label(widget)
        case QTabBar():
            yield from _tabs(widget)
        case QToolButton() if not widget.icon().isNull() and _icon_only(widget):
            pass
        case QPushButton() | QToolButton() | QCheckBox() | QRadioButton() if widget.text():
            needed = _button_width(widget)
            told = {_plain(widget.text()), widget.accessibleName() or "\0"}  # "…" is elided there
            if isinstance(widget, KnowledgeButton):
                told.add(", ".join(widget.names))  # it says how many more there are
            if widget.width() < needed - SLACK and not any(t in widget.toolTip() for t in told):
                yield f"needs {needed}, is {widget.width()} wide"
            high = max(_height(widget), widget.heightForWidth(widget.width()))
            if widget.height() < high - SLACK:
                yield f"is {widget.height()} high"
        case ChoiceCard():
            yield from _card(widget)
        case QComboBox() if widget.currentText():
            yield from _combo(widget)
        case QAbstractSpinBox():
            yield from _spin(widget)
        case QLineEdit() if not isinstance(widget.parentWidget(), QAbstractSpinBox | QComboBox):
            # What is typed scrolls with the cursor; what a field asks for does not.
            text = "" if widget.text() else widget.placeholderText()
            needed = _width(widget, text) + 18
            if needed > widget.width() + SLACK and text not in widget.toolTip():
                yield f"needs {needed:.0f}, is {widget.width()} wide"


def _icon_only(widget: QToolButton) -> bool:
    return widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly


def _label(widget: QLabel) -> Iterator[str]:
    width, height = widget.width(), widget.height()
    if not widget.wordWrap():
        needed = widget.sizeHint()
        told = widget.text() in widget.toolTip()
        if needed.width() > width + SLACK and not told:
            yield f"needs {needed.width()}, is {width} wide"
        if needed.height() > height + SLACK:
            yield f"needs {needed.height()}, is {height} high"
        return
    high = widget.heightForWidth(width)
    if high > height + SLACK:
        yield f"needs {high}, is {height} high at {width} wide"
    longest = max((_width(widget, part) for part in parts(widget.text())), default=0)
    if widget.textFormat() != Qt.TextFormat.RichText and longest > width + SLACK:
        yield f"its longest word needs {longest:.0f}, it is {width} wide"


def _card(widget: ChoiceCard) -> Iterator[str]:
    room = widget.width() - 2 * PADDING
    name, sentence = QFontMetricsF(font(strong=True)), QFontMetricsF(font(TextSize.SMALL))
    widths = [name.horizontalAdvance(word) for word in widget.text().split()]
    widths += map(sentence.horizontalAdvance, parts(widget.sentence))
    if (longest := max(widths, default=0)) > room + SLACK:
        yield f"its longest word needs {longest:.0f}, it has {room}"
    if (high := widget.heightForWidth(widget.width())) > widget.height() + SLACK:
        yield f"needs {high}, is {widget.height()} high"


def _button_width(widget: QAbstractButton) -> int:
    if widget.hasHeightForWidth():  # its words take several lines
        return widget.minimumSizeHint().width()
    if isinstance(widget, QToolButton) and widget.property("look") == "tab":
        return round(_width(widget, _plain(widget.text())))
    return widget.sizeHint().width()


def _combo(widget: QComboBox) -> Iterator[str]:
    option = QStyleOptionComboBox()
    widget.initStyleOption(option)
    part = QStyle.SubControl.SC_ComboBoxEditField
    field = widget.style().subControlRect(QStyle.ComplexControl.CC_ComboBox, option, part, widget)
    text = widget.currentText()
    needed = _width(widget, text)
    told = isinstance(widget, ChoiceField)  # its tip begins with the choice
    if field.width() < _width(widget, "mmm…") and needed > field.width() + SLACK:
        yield f"no room for {text!r}: {field.width()}"
    elif (
        needed > field.width() + SLACK and not told and widget.currentText() not in widget.toolTip()
    ):
        yield f"needs {needed:.0f}, has {field.width()} for {text!r}"


def _spin(widget: QAbstractSpinBox) -> Iterator[str]:
    option = QStyleOptionSpinBox()
    widget.initStyleOption(option)  # type: ignore[attr-defined]
    part = QStyle.SubControl.SC_SpinBoxEditField
    field = widget.style().subControlRect(QStyle.ComplexControl.CC_SpinBox, option, part, widget)
    needed = _width(widget, widget.text())
    if needed > field.width() + SLACK:
        yield f"needs {needed:.0f}, has {field.width()} for {widget.text()!r}"


def _tabs(widget: QTabBar) -> Iterator[str]:
    for place in range(widget.count()):
        needed = _width(widget, _plain(widget.tabText(place)))
        if widget.isTabVisible(place) and needed > widget.tabRect(place).width() + SLACK:
            yield f"tab {widget.tabText(place)!r} needs {needed:.0f}"
    last = widget.tabRect(widget.count() - 1)
    if last.right() > widget.width() + SLACK and not widget.usesScrollButtons():
        yield "tabs out of reach"


def _cells(view: QTableView) -> Iterator[str]:
    """Tell which headings and cells in sight are cut off, and not told by a tip."""
    for orientation, header in (
        (Qt.Orientation.Horizontal, view.horizontalHeader()),
        (Qt.Orientation.Vertical, view.verticalHeader()),
    ):
        for section in range(header.count() if header.isVisible() else 0):
            if header.isSectionHidden(section) or not _in_sight(header, section):
                continue
            text = str(view.model().headerData(section, orientation) or "")
            across = orientation == Qt.Orientation.Horizontal
            room = (header.sectionSize(section) if across else header.width()) - 12
            tip = view.heading_tip(section, orientation) if hasattr(view, "heading_tip") else ""
            longest = max((_width(header, line) for line in text.split("\n")), default=0)
            high = QFontMetricsF(header.font()).height() * (text.count("\n") + 1)
            if longest > room + SLACK and text not in tip:
                yield f"heading {text!r} needs {longest:.0f}, has {room}"
            if high > (header.height() if across else header.sectionSize(section)) + SLACK:
                yield f"heading {text!r} is cut off below"
    for index in _cells_in_sight(view):
        text = str(index.data() or "")
        rect = view.visualRect(index)
        metrics = QFontMetricsF(index.data(Qt.ItemDataRole.FontRole) or view.font())
        needed, room = metrics.horizontalAdvance(text), rect.width() - 12
        tip = view.tip_of(index) if hasattr(view, "tip_of") else str(index.data(3) or "")
        wrapped = view.wordWrap() and "\n" not in text and " " in text.strip()
        if wrapped:
            box, wrap = QRectF(0, 0, room, 10_000), int(Qt.TextFlag.TextWordWrap)
            lines = metrics.boundingRect(box, wrap, text)
            if lines.height() > rect.height() + SLACK and text not in tip:
                yield f"cell {text[:40]!r} needs {lines.height():.0f}, is {rect.height()} high"
        elif needed > room + SLACK and text not in tip:
            yield f"cell {text[:40]!r} needs {needed:.0f}, has {room}"
        if metrics.height() > rect.height() + SLACK:
            yield f"row of {text[:40]!r} is {rect.height()} high"


def _cells_in_sight(view: QTableView) -> Iterator[QModelIndex]:
    shown = view.viewport().rect()
    found = 0
    for row in range(min(view.model().rowCount(), MOST_CELLS)):
        for column in range(view.model().columnCount()):
            index = view.model().index(row, column)
            if shown.intersects(view.visualRect(index)) and not view.isColumnHidden(column):
                found += 1
                yield index
        if found > 400:
            return


def _in_sight(header: QWidget, section: int) -> bool:
    start = header.sectionViewportPosition(section)  # type: ignore[attr-defined]
    return 0 <= start < max(header.width(), header.height())


def _painted(widget: QWidget) -> Iterator[str]:
    """Tell which texts that a widget paints itself are cut off, or lie on each other."""
    lines = widget.painted_texts()  # type: ignore[attr-defined]
    room = widget.rect().adjusted(-SLACK, -SLACK, SLACK, SLACK)
    for line in lines:
        metrics = QFontMetricsF(line.face)
        if line.shown != line.text and line.text not in line.tip:
            yield f"painted {line.text!r} is elided without a tip"
        if len(line.shown) < min(len(line.text), 4):
            yield f"painted {line.text!r} has no room: {line.shown!r}"
        if metrics.ascent() > line.area.height() + SLACK:
            yield f"painted {line.text!r} is {line.area.height():.0f} high"
        if not room.contains(line.area.toAlignedRect()):
            yield f"painted {line.text!r} at {_box(line.area.toAlignedRect())} is out of sight"
    for first, second in combinations(lines, 2):
        shared = first.area & second.area
        if shared.height() > 0.3 * first.area.height() and shared.width() > SLACK:
            yield f"painted {first.text!r} lies on {second.text!r}"


# ----- words


def _overlay(widget: QWidget) -> bool:
    kinds = {kind.__name__ for kind in type(widget).__mro__}
    return bool(kinds & set(OVERLAYS)) or isinstance(widget, QScrollBar)


def _width(widget: QWidget, text: str) -> float:
    return QFontMetricsF(widget.font()).horizontalAdvance(text)


def _height(widget: QWidget) -> float:
    return QFontMetricsF(widget.font()).height()


def _plain(text: str) -> str:
    return text.replace("&&", "\0").replace("&", "").replace("\0", "&")


def _box(rect: QRect) -> str:
    return f"({rect.x()}, {rect.y()}) {rect.width()} × {rect.height()}"


def _name(widget: QWidget) -> str:
    text = getattr(widget, "text", None)
    said = text() if callable(text) else ""
    return f"{type(widget).__name__} {str(said or widget.accessibleName())[:50]!r}"


def _place(widget: QWidget) -> str:
    """Name a widget by what it says and what it stands in."""
    above, chain = widget.parentWidget(), []
    while above is not None and len(chain) < 3:
        if type(above) is not QWidget:
            chain.append(type(above).__name__)
        above = above.parentWidget()
    at = widget.mapTo(widget.window(), QPoint())
    return f"{_name(widget)} in {' < '.join(chain)} at ({at.x()}, {at.y()})"
