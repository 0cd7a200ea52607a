"""The columns with their roles and kinds, edited in place."""

from __future__ import annotations

from typing import Any, Final

from PySide6.QtCore import (
    QAbstractItemModel,
    QAbstractTableModel,
    QModelIndex,
    QPersistentModelIndex,
    QRectF,
    QSize,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QColor, QPainter
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.ui.look.theme import TextSize, current_theme, font
from sfumato.ui.panels.attributes.wording import (
    ROLE_ICONS,
    kind_name,
    kinds_for,
    role_choices,
    role_meaning,
    role_name,
)
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.icons import draw_icon

Index = QModelIndex | QPersistentModelIndex

NAME, ROLE, KIND = range(3)
CHOICES_ROLE: Final = Qt.ItemDataRole.UserRole
VALUE_ROLE: Final = Qt.ItemDataRole.EditRole
HINT_ROLE: Final = Qt.ItemDataRole.UserRole + 1
ROW_HEIGHT: Final = 36


class ColumnsModel(QAbstractTableModel):
    """The document's columns; edits are told, not made.

    Parameters
    ----------
    session
        Whose document is shown.
    """

    role_chosen = Signal(str, object)
    kind_chosen = Signal(str, object)

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._columns: tuple[ColumnSpec, ...] = ()

    def refresh(self) -> None:
        """Show the document's columns; the selection stays where the columns are the same."""
        columns = self._session.document.columns
        if [c.name for c in columns] != [c.name for c in self._columns]:
            self.beginResetModel()
            self._columns = columns
            self.endResetModel()
        elif columns:
            self._columns = columns
            self.dataChanged.emit(self.index(0, NAME), self.index(len(columns) - 1, KIND))

    def spec(self, row: int) -> ColumnSpec:
        """Return the column in a row."""
        return self._columns[row]

    def row_of(self, name: str) -> int:
        """Return the row of a column, -1 where there is none."""
        return next((i for i, c in enumerate(self._columns) if c.name == name), -1)

    def rowCount(self, parent: Index | None = None) -> int:
        """Return the number of columns of the table."""
        return 0 if parent is not None and parent.isValid() else len(self._columns)

    def columnCount(self, parent: Index | None = None) -> int:
        """Return three: name, role and kind."""
        return 0 if parent is not None and parent.isValid() else 3

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return the headings."""
        if orientation == Qt.Orientation.Horizontal and role == Qt.ItemDataRole.DisplayRole:
            return (self.tr("Column"), self.tr("Role"), self.tr("Kind"))[section]
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return that roles and kinds can be edited."""
        flags = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
        return flags if index.column() == NAME else flags | Qt.ItemFlag.ItemIsEditable

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        """Return what is shown of a column."""
        spec = self._columns[index.row()]
        if role == Qt.ItemDataRole.DisplayRole:
            return (spec.name, role_name(spec.role), kind_name(spec.kind))[index.column()]
        if role == VALUE_ROLE:
            return (spec.name, spec.role, spec.kind)[index.column()]
        if role == CHOICES_ROLE:
            return self._choices(spec, index.column())
        if role == HINT_ROLE:
            return self._hint(spec)
        if role == Qt.ItemDataRole.ToolTipRole:
            return role_meaning(spec.role) if index.column() == ROLE else self._hint(spec)
        return None

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        """Tell what the person chose."""
        if role != VALUE_ROLE or index.column() == NAME:
            return False
        spec = self._columns[index.row()]
        if index.column() == ROLE and isinstance(value, Role) and value != spec.role:
            self.role_chosen.emit(spec.name, value)
        elif index.column() == KIND and isinstance(value, Kind) and value != spec.kind:
            self.kind_chosen.emit(spec.name, value)
        return True

    def _choices(self, spec: ColumnSpec, column: int) -> list[tuple[Any, str]]:
        if column == ROLE:
            return list(role_choices())
        table = self._session.table
        if table is None or spec.name not in table.columns:
            return [(spec.kind, kind_name(spec.kind))]
        kinds = kinds_for(table.column(spec.name))
        offered = kinds if spec.kind in kinds else (*kinds, spec.kind)
        return [(kind, kind_name(kind)) for kind in offered]

    def _hint(self, spec: ColumnSpec) -> str:
        """Return why a column might deserve another role; empty where nothing suggests it."""
        insight = self._session.insight()
        proposal = insight.proposal_for.get(spec.name) if insight is not None else None
        if proposal is None or not proposal.may_be_sensitive or spec.role is Role.SENSITIVE:
            return ""
        return proposal.reason


class ColumnsDelegate(QStyledItemDelegate):
    """Draws names, and roles with their icons; edits by a combo box that opens at once."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a fixed height."""
        return QSize(super().sizeHint(option, index).width(), ROW_HEIGHT)

    def paint(self, painter: QPainter, option: Any, index: Index) -> None:
        """Draw a cell."""
        theme = current_theme()
        painter.save()
        area = QRectF(option.rect)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
        if selected:
            painter.fillRect(area, QColor(theme.selected))
        painter.fillRect(
            QRectF(area.left(), area.bottom() - 1, area.width(), 1), QColor(theme.style.line)
        )
        if option.state & QStyle.StateFlag.State_HasFocus and index.column() != NAME:
            painter.setPen(QColor(theme.style.accent))
            painter.drawRect(area.adjusted(0.5, 0.5, -1.5, -1.5))
        inner = area.adjusted(11, 0, -11, 0)
        if index.column() == ROLE:
            icon, token = ROLE_ICONS[index.data(VALUE_ROLE)]
            draw_icon(painter, icon, token, QRectF(inner.left(), inner.center().y() - 8, 16, 16))
            inner.adjust(24, 0, 0, 0)
        hint = index.column() == NAME and index.data(HINT_ROLE)
        if hint:
            place = QRectF(inner.right() - 14, inner.center().y() - 8, 16, 16)
            draw_icon(painter, "info", "accent", place)
            inner.adjust(0, 0, -22, 0)
        self._draw_text(painter, inner, index, selected)
        painter.restore()

    def _draw_text(self, painter: QPainter, area: QRectF, index: Index, selected: bool) -> None:
        theme = current_theme()
        muted = theme.quiet if selected else theme.style.muted
        painter.setFont(font(TextSize.BODY, strong=index.column() == NAME))
        painter.setPen(QColor(muted if index.column() == KIND else theme.style.text))
        text = painter.fontMetrics().elidedText(
            str(index.data()), Qt.TextElideMode.ElideRight, int(area.width())
        )
        side = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(area, int(side), text)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """Return a combo box over the choices."""
        del option
        editor = ChoiceField(index.data(CHOICES_ROLE), parent)
        editor.setProperty("look", "cell")
        editor.chosen.connect(lambda _value: self._commit(editor))
        QTimer.singleShot(0, editor, editor.showPopup)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """Show the present choice."""
        if isinstance(editor, ChoiceField):
            editor.set_value(index.data(VALUE_ROLE))

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        """Hand the choice over."""
        if isinstance(editor, ChoiceField):
            model.setData(index, editor.value, VALUE_ROLE)

    def _commit(self, editor: QWidget) -> None:
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)
