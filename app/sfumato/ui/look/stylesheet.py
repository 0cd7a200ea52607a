"""The style sheet, written from the theme's tokens.

Widgets say what they are by the dynamic property ``look`` (``primary``, ``quiet``, ``card``,
``title``, …); nothing sets colours of its own.
"""

from __future__ import annotations

from string import Template
from typing import TYPE_CHECKING, Final

from sfumato.resources import resource_path

if TYPE_CHECKING:
    from sfumato.ui.look.theme import Theme

_BASE: Final = """
* { font-size: 13px; }
QWidget { color: $text; }
QMainWindow, QDialog, QWidget[look="page"] { background: $background; }
QToolTip {
  background: $surface; color: $text; border: 1px solid $line; padding: 6px 8px;
}
QLabel { background: transparent; }
QLabel[look="title"] { font-size: 22px; font-weight: 600; }
QLabel[look="heading"] { font-size: 16px; font-weight: 600; }
QLabel[look="strong"] { font-weight: 600; }
QLabel[look="muted"] { color: $muted; }
QLabel[look="small"] { color: $muted; font-size: 12px; }
QLabel[look="caption"] { color: $muted; font-size: 12px; font-weight: 600; }
QLabel[look="good"] { color: $good; }
QLabel[look="caution"] { color: $caution; }
QLabel[look="danger"] { color: $danger; }
QFrame[look="card"] {
  background: $surface; border: 1px solid $line; border-radius: 6px;
}
QFrame[look="rule"] { background: $line; border: none; }
QFrame[look="rail"] { background: $rail; border: none; border-right: 1px solid $line; }
QFrame[look="rail"] QLabel[look="small"], QFrame[look="bar"] QLabel[look="small"] {
  color: $quiet;
}
QFrame[look="aside"] { background: $background; border: none; border-left: 1px solid $line; }
QFrame[look="bar"] { background: $rail; border: none; border-top: 1px solid $line; }
QScrollArea, QScrollArea > QWidget > QWidget[look="page"] { background: transparent; border: none; }
"""

_BUTTONS: Final = """
QPushButton {
  background: $surface; color: $text; border: 1px solid $field_line; border-radius: 6px;
  padding: 0 14px; min-height: 30px; font-weight: 500;
}
QPushButton:hover { background: $hover; }
QPushButton:pressed { background: $selected; }
QPushButton:focus { border: 2px solid $accent; padding: 0 13px; min-height: 28px; }
QPushButton:disabled { color: $disabled; border-color: $line; background: transparent; }
QPushButton[look="primary"] {
  background: $accent; color: $on_accent; border: 1px solid $accent; font-weight: 600;
}
QPushButton[look="primary"]:hover { background: $accent_hover; border-color: $accent_hover; }
QPushButton[look="primary"]:focus { border: 2px solid $text; padding: 0 13px; min-height: 28px; }
QPushButton[look="primary"]:disabled {
  background: $hover; color: $disabled; border-color: $line;
}
QPushButton[look="quiet"], QToolButton {
  background: transparent; border: 1px solid transparent; border-radius: 6px;
}
QPushButton[look="quiet"] { padding: 0 8px; color: $accent; }
QPushButton[look="quiet"]:hover, QToolButton:hover { background: $hover; }
QPushButton[look="quiet"]:pressed, QToolButton:pressed, QToolButton:checked {
  background: $selected;
}
QPushButton[look="quiet"]:focus { border: 2px solid $accent; padding: 0 7px; }
QPushButton[look="quiet"]:disabled { color: $disabled; }
QToolButton { min-width: 28px; min-height: 28px; padding: 1px; color: $text; }
QToolButton:focus { border: 2px solid $accent; padding: 0; }
QToolButton:disabled { color: $disabled; }
QToolButton::menu-indicator { image: none; }
QToolButton[look="segment"] {
  border: 1px solid $field_line; background: $surface; border-radius: 0;
  padding: 0 10px; min-height: 28px; color: $text;
}
QToolButton[look="segment"][place="first"] {
  border-top-left-radius: 6px; border-bottom-left-radius: 6px;
}
QToolButton[look="segment"][place="middle"], QToolButton[look="segment"][place="last"] {
  margin-left: -1px;
}
QToolButton[look="segment"][place="last"] {
  border-top-right-radius: 6px; border-bottom-right-radius: 6px;
}
QToolButton[look="segment"]:hover { background: $hover; }
QToolButton[look="segment"]:checked {
  background: $selected; border-color: $accent; color: $text; font-weight: 600;
}
QToolButton[look="segment"]:focus { border: 2px solid $accent; padding: 0 9px; }
QToolButton[look="tab"] {
  border: none; border-bottom: 2px solid transparent; border-radius: 0; color: $text;
  background: transparent; padding: 0; min-height: 30px;
}
QToolButton[look="tab"]:hover { border-bottom-color: $line; }
QToolButton[look="tab"]:checked {
  border-bottom-color: $accent; font-weight: 600;
}
QToolButton[look="tab"]:focus { border: 2px solid $accent; border-radius: 6px; min-height: 28px; }
QCheckBox, QRadioButton { spacing: 8px; min-height: 24px; background: transparent; }
QCheckBox:disabled, QRadioButton:disabled { color: $disabled; }
QCheckBox::indicator, QRadioButton::indicator, QTableView::indicator, QListView::indicator {
  width: 16px; height: 16px; border: 1px solid $field_line; background: $surface;
}
QCheckBox::indicator, QTableView::indicator, QListView::indicator { border-radius: 4px; }
QRadioButton::indicator { border-radius: 9px; }
QCheckBox::indicator:hover, QRadioButton::indicator:hover { border-color: $accent; }
QCheckBox::indicator:focus, QRadioButton::indicator:focus {
  width: 14px; height: 14px; border: 2px solid $accent;
}
QCheckBox::indicator:checked, QTableView::indicator:checked, QListView::indicator:checked {
  background: $accent; border-color: $accent; image: url("$assets/check.svg");
}
QCheckBox::indicator:indeterminate {
  background: $accent; border-color: $accent; image: url("$assets/partial.svg");
}
QRadioButton::indicator:checked {
  background: $accent; border-color: $accent; image: url("$assets/dot.svg");
}
QCheckBox:focus, QRadioButton:focus { outline: none; }
"""

_FIELDS: Final = """
QLineEdit, QComboBox, QAbstractSpinBox, QPlainTextEdit, QTextEdit {
  background: $surface; color: $text; border: 1px solid $field_line; border-radius: 6px;
  selection-background-color: $accent; selection-color: $on_accent;
}
QLineEdit, QComboBox, QAbstractSpinBox { min-height: 30px; padding: 0 8px; }
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus, QPlainTextEdit:focus, QTextEdit:focus {
  border: 2px solid $accent;
}
QLineEdit:focus, QComboBox:focus, QAbstractSpinBox:focus { padding: 0 7px; min-height: 28px; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit {
  border: none; padding: 0; min-height: 0; background: transparent;
}
QLineEdit QToolButton { min-width: 0; min-height: 0; padding: 0; border: none; }
QLineEdit[invalid="true"], QAbstractSpinBox[invalid="true"] { border: 2px solid $danger; }
QLineEdit:disabled, QComboBox:disabled, QAbstractSpinBox:disabled {
  color: $disabled; border-color: $line; background: transparent;
}
QLineEdit[look="cell"], QComboBox[look="cell"] { border-radius: 4px; min-height: 24px; }
QComboBox[look="cell"] { background: transparent; border-color: transparent; }
QComboBox[look="cell"]:hover { background: $surface; border-color: $field_line; }
QComboBox[look="cell"]:focus { background: $surface; border: 2px solid $accent; min-height: 22px; }
QComboBox::drop-down { border: none; width: 26px; }
QComboBox::down-arrow { image: url("$assets/chevron-down.svg"); width: 16px; height: 16px; }
QComboBox QAbstractItemView {
  background: $surface; border: 1px solid $line; padding: 4px; outline: none;
  selection-background-color: $selected; selection-color: $text;
}
QComboBox QAbstractItemView::item { min-height: 28px; padding: 0 8px; border-radius: 4px; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button {
  border: none; width: 20px; background: transparent;
}
QAbstractSpinBox::up-arrow { image: url("$assets/chevron-up.svg"); width: 12px; height: 12px; }
QAbstractSpinBox::down-arrow { image: url("$assets/chevron-down.svg"); width: 12px; height: 12px; }
QSlider { min-height: 24px; background: transparent; }
QSlider::groove:horizontal { height: 4px; border-radius: 2px; background: $line; }
QSlider::sub-page:horizontal { height: 4px; border-radius: 2px; background: $accent; }
QSlider::handle:horizontal {
  width: 14px; height: 14px; margin: -6px 0; border-radius: 8px;
  background: $surface; border: 2px solid $accent;
}
QSlider::handle:horizontal:focus { background: $accent; }
QSlider::sub-page:horizontal:disabled { background: $field_line; }
QSlider::handle:horizontal:disabled { border-color: $field_line; }
QProgressBar {
  border: none; border-radius: 2px; background: $line; height: 4px; max-height: 4px;
  color: transparent;
}
QProgressBar::chunk { border-radius: 2px; background: $accent; }
"""

_VIEWS: Final = """
QAbstractItemView {
  background: $surface; border: none; outline: none;
  selection-background-color: $selected; selection-color: $text;
}
QListView[look="plain"] { background: transparent; }
QTableView { gridline-color: transparent; }
QTableView[framed="true"], QListView[framed="true"], QTreeView[framed="true"] {
  border: 1px solid $line; border-radius: 6px;
}
QTableView::item { border-bottom: 1px solid $line; padding: 0 8px; }
QTableView::item:selected { background: $selected; color: $text; }
QTableView::item:focus { border: 1px solid $accent; }
QTreeView { background: $surface; selection-background-color: $selected; }
QTreeView::item { border: none; padding: 0 4px; }
QTreeView::item:selected { background: $selected; color: $text; }
QListView::item { padding: 0 8px; border-radius: 4px; }
QListView::item:hover { background: $hover; }
QListView::item:selected { background: $selected; color: $text; }
QHeaderView { background: transparent; border: none; }
QHeaderView::section {
  background: $surface; color: $muted; font-size: 12px; font-weight: 600; border: none;
  border-bottom: 1px solid $field_line; padding: 0 11px; min-height: 32px;
}
QHeaderView::section:vertical {
  font-weight: 400; border-bottom: 1px solid $line; padding: 0 8px;
}
QTableCornerButton::section {
  background: $surface; border: none; border-bottom: 1px solid $field_line;
  border-top-left-radius: 5px;
}
QHeaderView::section:horizontal:first, QHeaderView::section:horizontal:only-one {
  border-top-left-radius: 5px;
}
QHeaderView::section:horizontal:last, QHeaderView::section:horizontal:only-one {
  border-top-right-radius: 5px;
}
QScrollBar { background: transparent; border: none; }
QScrollBar:vertical { width: 10px; margin: 0; }
QScrollBar:horizontal { height: 10px; margin: 0; }
QScrollBar::handle { background: $field_line; border-radius: 3px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 32px; }
QScrollBar::handle:horizontal { min-width: 32px; }
QScrollBar::handle:hover { background: $muted; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; border: none; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QSplitter::handle { background: transparent; }
"""

_MENUS: Final = """
QMenuBar { background: $rail; border-bottom: 1px solid $line; padding: 2px 8px; }
QMenuBar::item { background: transparent; padding: 5px 10px; border-radius: 4px; }
QMenuBar::item:selected { background: $hover; }
QMenu { background: $surface; border: 1px solid $line; padding: 4px; }
QMenu::item { padding: 6px 28px 6px 28px; border-radius: 4px; }
QMenu::item:selected { background: $selected; }
QMenu::item:disabled { color: $disabled; }
QMenu::separator { height: 1px; background: $line; margin: 4px 8px; }
QMenu::icon { padding-left: 8px; }
QMenu::indicator { width: 14px; height: 14px; left: 8px; }
QTabWidget::pane { border: none; border-top: 1px solid $line; }
QTabBar { background: transparent; }
QTabBar::tab {
  background: transparent; color: $muted; padding: 8px 2px; margin-right: 14px;
  border: none; border-bottom: 2px solid transparent;
}
QTabBar::tab:hover { color: $text; }
QTabBar::tab:selected { color: $text; border-bottom-color: $accent; font-weight: 600; }
QTabBar::tab:focus { color: $accent; }
QFrame[look="message"][kind="good"] { background: $good_tint; border: 1px solid $good_line; }
QFrame[look="message"][kind="info"] { background: $info_tint; border: 1px solid $info_line; }
QFrame[look="message"][kind="caution"] {
  background: $caution_tint; border: 1px solid $caution_line;
}
QFrame[look="message"][kind="danger"] { background: $danger_tint; border: 1px solid $danger_line; }
QFrame[look="message"] { border-radius: 6px; }
"""


def stylesheet(theme: Theme) -> str:
    """Return the application's style sheet in the given theme."""
    s = theme.style
    kinds = {"good": s.good, "info": s.accent, "caution": s.caution, "danger": s.danger}
    tints = {f"{kind}_tint": theme.tint(colour) for kind, colour in kinds.items()}
    lines = {f"{kind}_line": s.blend(colour, 0.35) for kind, colour in kinds.items()}
    return Template(_BASE + _BUTTONS + _FIELDS + _VIEWS + _MENUS).substitute(
        background=s.background,
        surface=s.surface,
        text=s.text,
        muted=s.muted,
        line=s.line,
        accent=s.accent,
        good=s.good,
        caution=s.caution,
        danger=s.danger,
        accent_hover=theme.accent_hover,
        on_accent=theme.on_accent,
        rail=theme.rail,
        hover=theme.hover,
        quiet=theme.quiet,
        selected=theme.selected,
        field_line=theme.field_line,
        disabled=theme.disabled,
        assets=resource_path("style", theme.name).as_posix(),
        **tints,
        **lines,
    )
