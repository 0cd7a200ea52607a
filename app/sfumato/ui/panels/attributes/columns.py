"""The columns with their roles and kinds, edited in place, and what the table's rows are.

Records are known by a column; columns also say which rows belong together: a person's visits, a
household.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, Final

import pandas as pd
from PySide6.QtCore import QAbstractItemModel, QCoreApplication, QRectF, QSize, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QResizeEvent
from PySide6.QtWidgets import QStyle, QStyledItemDelegate, QStyleOptionViewItem, QWidget

from sfumato.analysis.disclosure.pooled_rows import proposed_key, proposed_unit
from sfumato.analysis.findings import endangering
from sfumato.analysis.utility.unit_price import UnitPrice, price_in, price_of_unit
from sfumato.engine.core.columns import ColumnSpec, Kind, MissingRule, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.formats.language import grouped
from sfumato.project.document.model import Document, Unit
from sfumato.project.release.table_survey import (
    Survey,
    measured_for_unit,
)
from sfumato.project.release.units import beyond_largest, unit_of_columns, unit_sentence
from sfumato.ui.look.theme import Space, TextSize, current_theme, font, scaled
from sfumato.ui.look.wording import filled_in, spoken, typeset
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, boxed, button, label, row, say
from sfumato.ui.widgets.painted import draw_icon, draw_row_ground, draw_text
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
            "Names a person by itself, or is not to be released. It is dropped from every release,"
            " or shown as a pseudonym."
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
        return "" if proposal is None else spoken(proposal.hint_for(spec))


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
        area = draw_row_ground(painter, option)
        selected = bool(option.state & QStyle.StateFlag.State_Selected)
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


MOST_ROWS = 1_000_000
_JOB = "unit"
_PRICE_JOB = "unit price"
_PRICES_SHOWN: Final = 4


def _price_words(price: UnitPrice) -> str:
    """Return what a unit costs, the proposal and the highest prices first."""
    told = list(map(typeset, price.sentences))
    left = len(told) - _PRICES_SHOWN
    if left > 0:
        words = tr("The other {count} are told by sfumato worth --by.")
        told[_PRICES_SHOWN:] = [words.format(count=grouped(left))]
    return "\n".join(told)


@dataclass(frozen=True)
class _UnitTold:
    """A unit, and what is said of it: that its bound is idle, and what it costs."""

    unit: Unit | None
    idle: str = ""
    price: UnitPrice | None = None


def _proposed(
    document: Document,
    survey: Survey,
    columns: Sequence[str],
    most_rows: int | None,
    noise: KeyedNoise,
    context: Context,
) -> tuple[Document, _UnitTold]:
    """Return the document with a unit, and what is to be said of it (for a job).

    Where no bound is stated, the one is taken at which means and shares are known best. Statistics
    that recipients are told, and that were measured of single rows, are measured anew.
    """
    context.report(0.0, "Looking for what is the same in rows that belong together")
    price = None
    if most_rows is None:
        alone, part = document.with_unit(None), Part(context, 0.1, 0.9)
        with suppress(SfumatoError):  # the unit or the policy say what is wrong
            price = price_in(alone, survey, columns, noise, part)
            most_rows = None if price is None else price.proposed
    unit, largest = unit_of_columns(document, survey, columns, most_rows, context)
    document = measured_for_unit(document.with_unit(unit), survey, noise)
    return document, _UnitTold(document.unit, beyond_largest(unit, largest), price)


class RecordKeyField(Card):
    """Chooses the record key among the columns that can be one.

    Parameters
    ----------
    session
        Whose document is edited.
    """

    refused = Signal(object)
    """A column of a long table does not tell all records apart (`SfumatoError`)."""

    def __init__(self, session: Session) -> None:
        super().__init__(flat=True)
        self._session = session
        words = self.tr("Record key")
        self.field = ChoiceField(name=words, chosen=self._choose, least=120, shrinks=True)
        caption = label(words, "strong", wrap=True)
        caption.setBuddy(self.field)
        line = row((caption, 1), (self.field, 2), spacing=Space.BETWEEN)
        self.note = label("", "small", wrap=True)
        self.accept = button("", self._accept, "quiet", "key")
        self.put(line, self.note, self.accept)

    def found(self) -> tuple[str, str] | None:
        """Return the column by which records can be known, and why; None where none is proposed."""
        insight = self._session.insight()
        return None if insight is None else proposed_key(self._session.document, insight.proposals)

    def candidates(self) -> tuple[str, ...]:
        """Return the columns whose values are all there and all different."""
        insight, table = self._session.insight(), self._session.at_hand
        if insight is None or table is None:
            return ()
        return tuple(p.name for p in insight.profiles if p.is_unique and not p.missing)

    def refresh(self) -> None:
        """Show the document's record key."""
        document, found = self._session.document, self.found()
        names = list(self.candidates())
        if document.record_key is not None and document.record_key not in names:
            names.append(document.record_key)
        position = ("", self.tr("the row's position"))
        self.field.set_choices([position, *((name, name) for name in names)])
        self.field.set_value(document.record_key or "")
        if document.record_key is not None:
            words = self.tr("Rows can be sorted, added and removed between releases.")
        elif found is not None:
            words = typeset(found[1])
        elif names:
            words = self.tr("The table must not change between releases; with a key it may.")
        else:
            words = self.tr(
                "The table must stay as it is between releases: no column numbers its records."
            )
        self.note.setText(words)
        self.accept.setVisible(found is not None)
        if found is not None:
            self.accept.setText(filled_in(self.tr("Know records by {column}"), column=found[0]))

    def _accept(self) -> None:
        found = self.found()
        if found is not None:
            self._choose(found[0])

    def _choose(self, name: object) -> None:
        session, key = self._session, str(name) or None
        text = QCoreApplication.translate("Attributes", "Record key")
        changed, held = replace(session.document, record_key=key), session.surveyed
        if key is None or held is None or held.table.fits:
            session.edit(text, changed)
            return

        def refuse(error: SfumatoError) -> None:
            self.refresh()
            self.refused.emit(error)

        words = filled_in(tr("Looking whether {column} tells all records apart"), column=key)
        keep = session.unless_changed(text, lambda _checked: session.edit(text, changed))
        session.runner.run(
            words, partial(held.survey.check_key, key), keep, refuse, key="record-key"
        )


class UnitCard(Card):
    """Chooses the columns that rows of one unit share, and how many of its rows leave.

    Parameters
    ----------
    session
        Whose document is edited.
    """

    refused = Signal(object)
    """The `SfumatoError` that says why rows can't be protected by a column."""

    def __init__(self, session: Session) -> None:
        super().__init__(flat=True)
        self._session = session
        self._told, self._priced = _UnitTold(None), ""
        self._asked: object = None
        caption = label(tr("Rows belong to"), "strong", wrap=True)
        self.field, self.second = (
            ChoiceField(name=name, chosen=self._choose, least=90, shrinks=True)
            for name in (tr("Rows belong to"), tr("and"))
        )
        caption.setBuddy(self.field)
        line = row(caption, (self.field, 1), (self.second, 1), spacing=Space.BETWEEN)
        self.most_rows = NumberField(1, MOST_ROWS, decimals=0, step=1, show_range=False)
        self.most_rows.spin.setAccessibleName(tr("Rows of a unit that leave at most"))
        self.most_rows.value_changed.connect(self._bound)
        words = label(tr("Rows of a unit that leave at most"), wrap=True)
        self.bound = boxed(row((words, 1), self.most_rows), self)
        self.note = label("", "small", wrap=True)
        self.protect = button("", self._protect, "quiet", "shield")
        self.put(line, self.bound, self.note, self.protect)

    def found(self) -> tuple[str, str] | None:
        """Return the column by which rows seem to belong together, and why; None without one."""
        insight = self._session.insight()
        if insight is None:
            return None
        return proposed_unit(self._session.document, insight.repeated, insight.proposals)

    def refresh(self) -> None:
        """Show what is stated, or what was found."""
        document = self._session.document
        unit, found = document.unit, self.found()
        columns = () if unit is None else unit.columns
        names = [spec.name for spec in document.columns if spec.role is not Role.SENSITIVE]
        choices = [(name, name) for name in names]
        self.field.set_choices([("", tr("one row per person")), *choices])
        self.field.set_value(columns[0] if columns else "")
        others = [choice for choice in choices if choice[0] not in columns[:1]]
        self.second.set_choices([("", tr("no other")), *others])
        self.second.set_value(columns[1] if len(columns) > 1 else "")
        self.second.setVisible(unit is not None)
        self.bound.setVisible(unit is not None)
        if unit is not None:
            self.most_rows.set_value(unit.most_rows)
            told = f"{typeset(unit_sentence(document))} {self._beside(unit)}"
            say(self.note, told.strip())
        else:
            told = "" if found is None else typeset(found[1])
            if found is not None and self._price_known(document, found[0]):
                told = f"{told}\n{self._priced}".strip()
            say(self.note, told)
        self.protect.setVisible(found is not None)
        if found is not None:
            self.protect.setText(filled_in(tr("Protect by {column}"), column=found[0]))

    def _beside(self, unit: Unit) -> str:
        """Return what was found when the unit was stated: an idle bound, and its price."""
        told = self._told
        if told.unit != unit:
            return ""
        price = "" if told.price is None else _price_words(told.price)
        return f"{typeset(told.idle)}\n{price}".strip()

    def _price_known(self, document: Document, column: str) -> bool:
        """Return whether it is known what protecting by a column costs; find it out else."""
        session, sensitive = self._session, tuple(document.sensitive)
        asked = (column, document.policy, document.recipients, sensitive)
        table = session.table
        if self._asked == asked or table is None or not sensitive:
            return self._asked == asked and bool(self._priced)
        self._asked, self._priced = asked, ""
        work = partial(price_of_unit, document, table, (column,), session.noise)

        def keep(price: UnitPrice) -> None:
            if self._asked == asked:
                self._priced = _price_words(price)
                self.refresh()

        title = filled_in(tr("Weighing what protection by {unit} costs"), unit=column)
        session.runner.run(title, work, keep, lambda _error: None, key=_PRICE_JOB)
        return False

    def _protect(self) -> None:
        found = self.found()
        if found is not None:
            self._state((found[0],), None)

    def _choose(self, _name: object) -> None:
        first, second = str(self.field.value or ""), str(self.second.value or "")
        if not first:
            text = tr("Protect each row by itself")
            self._session.edit(text, self._session.document.with_unit(None))
            return
        known = self._session.document.unit
        more = (second,) if known is not None and second and second != first else ()
        self._state((first, *more), None)

    def _bound(self, _rows: float) -> None:
        unit = self._session.document.unit
        if unit is not None and int(self.most_rows.value) != unit.most_rows:
            self._state(unit.columns, int(self.most_rows.value))

    def _state(self, columns: tuple[str, ...], most_rows: int | None) -> None:
        """Protect by columns, once a job has found what is the same in rows that share them."""
        session = self._session
        before, survey = session.document, session.survey
        if survey is None:
            return
        work = partial(_proposed, before, survey, columns, most_rows, session.noise)
        title = tr("Looking for what is the same in rows of one {unit}")
        name = " + ".join(columns)

        text = filled_in(tr("Protect by {column}"), column=name)

        def keep(answer: tuple[Document, _UnitTold]) -> None:
            document, self._told = answer
            session.edit(text, document, merge_key=("unit", columns))
            self.refresh()

        def refuse(error: SfumatoError) -> None:
            self.refused.emit(error)
            self.refresh()

        taken = session.unless_changed(text, keep)
        session.runner.run(filled_in(title, unit=name), work, taken, refuse, key=_JOB)
