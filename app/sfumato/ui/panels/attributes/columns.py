"""The columns with their roles and kinds, edited in place, and the words for these."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pandas as pd
from PySide6.QtCore import QAbstractItemModel, QCoreApplication, QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from sfumato.analysis.promise_checks import endangering
from sfumato.engine.core.columns import ColumnSpec, Kind, MissingRule, Role
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.icons import draw_icon
from sfumato.ui.widgets.painted import draw_text
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, Index, TableView

ROLE_ICONS = {
    Role.IDENTIFYING: ("person", "caution"),
    Role.QUASI_IDENTIFIER: ("people", "muted"),
    Role.SENSITIVE: ("lock", "accent"),
    Role.INSENSITIVE: ("file", "muted"),
    Role.WEIGHT: ("table", "muted"),
}


def tr(text: str) -> str:
    """Return a text in the person's language."""
    return QCoreApplication.translate("Attributes", text)


def role_name(role: Role) -> str:
    """Return a role's name."""
    return {
        Role.IDENTIFYING: tr("Identifying"),
        Role.QUASI_IDENTIFIER: tr("Quasi-identifier"),
        Role.SENSITIVE: tr("Sensitive"),
        Role.INSENSITIVE: tr("Insensitive"),
        Role.WEIGHT: tr("Weight"),
    }[role]


def role_meaning(role: Role) -> str:
    """Return what a role does to a column, in a sentence."""
    return {
        Role.IDENTIFYING: tr(
            "Names a person by itself. It is dropped from every release, or shown as a pseudonym."
        ),
        Role.QUASI_IDENTIFIER: tr(
            "Others can know it; together with more of the kind it can single a person out."
            " It is released as it is."
        ),
        Role.SENSITIVE: tr(
            "What nobody may learn about a person. Every release perturbs it by the policy."
        ),
        Role.INSENSITIVE: tr("Neither known to others nor private. It is released as it is."),
        Role.WEIGHT: tr(
            "Says how many of the population a record stands for. It is released; risks and the"
            " recipient's guide count with it. Unless rounded, it can single a person out."
        ),
    }[role]


def kind_name(kind: Kind) -> str:
    """Return a kind's name."""
    return {
        Kind.CATEGORICAL: tr("Categories"),
        Kind.NUMERIC: tr("Numbers"),
        Kind.DATE: tr("Dates"),
        Kind.TEXT: tr("Free text"),
    }[kind]


def missing_name(rule: MissingRule, *, numbers: bool = False) -> str:
    """Return the name of what a missing value means, in categories or in numbers."""
    value = tr("stays missing in releases") if numbers else tr("is a value like any other")
    return {MissingRule.VALUE: value, MissingRule.REFUSED: tr("stops a release")}[rule]


def protection_of_numbers(*, binned: bool) -> str:
    """Return what becomes of a sensitive column of numbers, with bins or without."""
    if binned:
        return tr(
            "In bins, a release shows a bin's label, which the policy perturbs like a category."
            " Recipients estimate how many records fall into each bin."
        )
    return tr(
        "Without bins they stay numbers, protected by noise: recipients estimate means, spreads"
        " and how attributes depend on each other."
    )


def role_choices() -> Sequence[tuple[Role, str]]:
    """Return the roles with their names, in the order in which they are offered."""
    return [(role, role_name(role)) for role in Role]


def kinds_for(series: pd.Series) -> tuple[Kind, ...]:
    """Return the kinds that fit how a column is stored."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return (Kind.CATEGORICAL, Kind.TEXT)
    if pd.api.types.is_numeric_dtype(dtype):
        return (Kind.CATEGORICAL, Kind.NUMERIC)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return (Kind.DATE, Kind.CATEGORICAL)
    return (Kind.CATEGORICAL, Kind.TEXT)


NAME, ROLE, KIND = range(3)
ROW_HEIGHT: Final = 36
NARROW: Final = 380
ROWS_AT_LEAST: Final = 4
"""Whatever else stands on the page, so many columns are in sight."""


class ColumnsModel(CellsModel):
    """The document's columns; edits are told, not made.

    Parameters
    ----------
    session
        Whose document is shown.
    """

    role_chosen = Signal(str, object)
    kind_chosen = Signal(str, object)

    def __init__(self, session: Session, parent: QWidget) -> None:
        roles, kinds = Heading(tr("Role"), editable=True), Heading(tr("Kind"), editable=True)
        super().__init__((Heading(tr("Column")), roles, kinds), parent)
        self._session = session
        self._specs: tuple[ColumnSpec, ...] = ()

    def refresh(self) -> None:
        """Show the document's columns; the selection stays where the columns are the same."""
        before, self._specs = self._specs, self._session.document.columns
        if [spec.name for spec in before] == [spec.name for spec in self._specs]:
            self.repaint()
        else:
            self.lay_out(len(self._specs))

    def spec(self, row: int) -> ColumnSpec:
        """Return the column in a row."""
        return self._specs[row]

    def row_of(self, name: str) -> int:
        """Return the row of a column, -1 where there is none."""
        return next((i for i, spec in enumerate(self._specs) if spec.name == name), -1)

    def cell(self, row: int, column: int) -> Cell:
        """Return what is shown of a column."""
        spec = self._specs[row]
        text = (spec.name, role_name(spec.role), kind_name(spec.kind))[column]
        return Cell(text, role_meaning(spec.role) if column == ROLE else self.hint(row) or text)

    def choose(self, row: int, column: int, value: object) -> None:
        """Tell what the person chose."""
        spec = self._specs[row]
        if column == ROLE and value != spec.role:
            self.role_chosen.emit(spec.name, value)
        elif column == KIND and value != spec.kind:
            self.kind_chosen.emit(spec.name, value)

    def choices(self, row: int, column: int) -> Sequence[tuple[Role | Kind, str]]:
        """Return what can be chosen in a cell."""
        if column == ROLE:
            return role_choices()
        spec, table = self._specs[row], self._session.at_hand
        known = table is not None and spec.name in table.columns
        kinds = kinds_for(table.column(spec.name)) if known and table is not None else ()
        offered = kinds if spec.kind in kinds else (*kinds, spec.kind)
        return [(kind, kind_name(kind)) for kind in offered]

    def hint(self, row: int) -> str:
        """Return why a column might deserve another role; empty where nothing suggests it."""
        spec, insight = self._specs[row], self._session.insight()
        known = () if insight is None else insight.relations
        for relation in endangering(self._session.document, known):
            if spec.name in (relation.name, *relation.columns):
                return spoken(relation.sentence)
        proposal = insight.proposal_for.get(spec.name) if insight is not None else None
        if proposal is None or not proposal.may_be_sensitive or spec.role is Role.SENSITIVE:
            return ""
        return proposal.reason


def _model_of(index: Index) -> ColumnsModel:
    model = index.model()
    assert isinstance(model, ColumnsModel)
    return model


class ColumnsTable(TableView):
    """Leaves the kinds out, which are told beside it, where names would be cut off for them."""

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Give the roles the room that their names need, and the names what is left."""
        super().resizeEvent(event)
        narrow = self.width() < scaled(NARROW)
        if self.isColumnHidden(KIND) != narrow:
            self.setColumnHidden(KIND, narrow)
        metrics = QFontMetrics(font(TextSize.BODY))
        widest = max(metrics.horizontalAdvance(role_name(role)) for role in ROLE_ICONS)
        self.set_widths({ROLE: (widest + 32) / Space.scale + 24, KIND: 100})


class ColumnsDelegate(QStyledItemDelegate):
    """Draws names, and roles with their icons; edits by a combo box that opens at once."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        """Return a fixed height."""
        return QSize(super().sizeHint(option, index).width(), scaled(ROW_HEIGHT))

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
            icon, token = ROLE_ICONS[_model_of(index).spec(index.row()).role]
            side = scaled(16)
            place = QRectF(inner.left(), inner.center().y() - side / 2, side, side)
            draw_icon(painter, icon, token, place)
            inner.adjust(side + 8, 0, 0, 0)
        if index.column() == NAME and _model_of(index).hint(index.row()):
            side = scaled(16)
            place = QRectF(inner.right() - side + 2, inner.center().y() - side / 2, side, side)
            draw_icon(painter, "info", "accent", place)
            inner.adjust(0, 0, -side - 6, 0)
        self._draw_text(painter, inner, index, selected)
        painter.restore()

    def _draw_text(self, painter: QPainter, area: QRectF, index: Index, selected: bool) -> None:
        theme = current_theme()
        muted = theme.quiet if selected else theme.style.muted
        colour = muted if index.column() == KIND else theme.style.text
        draw_text(painter, area, str(index.data()), font(strong=index.column() == NAME), colour)

    def createEditor(self, parent: QWidget, option: QStyleOptionViewItem, index: Index) -> QWidget:
        """Return a combo box over the choices."""
        del option
        editor = ChoiceField(_model_of(index).choices(index.row(), index.column()), parent)
        editor.setProperty("look", "cell")
        editor.chosen.connect(lambda _value: self._commit(editor))
        QTimer.singleShot(0, editor, editor.showPopup)
        return editor

    def setEditorData(self, editor: QWidget, index: Index) -> None:
        """Show the present choice."""
        if isinstance(editor, ChoiceField):
            spec = _model_of(index).spec(index.row())
            editor.set_value(spec.role if index.column() == ROLE else spec.kind)

    def setModelData(self, editor: QWidget, model: QAbstractItemModel, index: Index) -> None:
        """Hand the choice over."""
        del model
        if isinstance(editor, ChoiceField):
            _model_of(index).choose(index.row(), index.column(), editor.value)

    def _commit(self, editor: QWidget) -> None:
        # Where the columns changed meanwhile, the view has put the editor away; its list may still
        # be open.
        if editor.isHidden():
            return
        self.commitData.emit(editor)
        self.closeEditor.emit(editor)
