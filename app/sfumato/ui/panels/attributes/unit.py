"""Says which rows belong together: a person's visits, a household's members, a company's sites."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QSizePolicy

from sfumato.analysis.pooled_rows import proposed_unit
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Unit
from sfumato.project.release.long_leaving import propose_long_unit
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.units import beyond_largest, idle_bound, propose_unit, unit_sentence
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.attributes.columns import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, boxed, button, label, row

MOST_ROWS = 1_000_000
_JOB = "unit"


def _proposed(
    document: Document,
    table: Table | LongTable,
    columns: Sequence[str],
    most_rows: int | None,
    context: Context,
) -> tuple[Unit, str]:
    """Return the unit, and what is to be said of its bound (for a job)."""
    context.report(0.1, "Looking for what is the same in rows that belong together")
    if isinstance(table, LongTable):
        unit, largest = propose_long_unit(document, table, columns, most_rows, context)
        return unit, beyond_largest(unit, largest)
    unit = propose_unit(document, table, columns, most_rows)
    return unit, idle_bound(unit, units_of(table, columns))


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
        super().__init__()
        self._session = session
        self._idle: tuple[Unit, str] | None = None
        side = Space.INSIDE + 4
        self.body.setContentsMargins(Space.BETWEEN, side, Space.BETWEEN, side)
        caption = label(tr("Rows belong to"), "strong", wrap=True)
        self.field, self.second = ChoiceField(), ChoiceField()
        self.field.setAccessibleName(tr("Rows belong to"))
        self.second.setAccessibleName(tr("and"))
        caption.setBuddy(self.field)
        for field in (self.field, self.second):
            field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
            field.setMinimumWidth(scaled(90))
            field.chosen.connect(lambda _name: self._choose())
        line = row(caption, self.field, self.second, spacing=Space.BETWEEN)
        line.setStretch(1, 1)
        line.setStretch(2, 1)
        self.most_rows = NumberField(1, MOST_ROWS, decimals=0, step=1, show_range=False)
        self.most_rows.spin.setAccessibleName(tr("Rows of a unit that leave at most"))
        self.most_rows.value_changed.connect(lambda _value: self._bound())
        words = label(tr("Rows of a unit that leave at most"), wrap=True)
        bound = row((words, 1), self.most_rows)
        self.bound = boxed(bound, self)
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
        self.field.set_choices([("", tr("nobody else: each stands alone")), *choices])
        self.field.set_value(columns[0] if columns else "")
        others = [choice for choice in choices if choice[0] not in columns[:1]]
        self.second.set_choices([("", tr("no other")), *others])
        self.second.set_value(columns[1] if len(columns) > 1 else "")
        self.second.setVisible(unit is not None)
        self.bound.setVisible(unit is not None)
        if unit is not None:
            self.most_rows.set_value(unit.most_rows)
            told = typeset(unit_sentence(document))
            idle = self._idle[1] if self._idle is not None and self._idle[0] == unit else ""
            self.note.setText(f"{told} {typeset(idle)}".strip())
        else:
            self.note.setText("" if found is None else typeset(found[1]))
        self.note.setVisible(bool(self.note.text()))
        self.protect.setVisible(found is not None)
        if found is not None:
            self.protect.setText(tr("Protect by {column}").format(column=found[0]))

    def _protect(self) -> None:
        found = self.found()
        if found is not None:
            self._state((found[0],), None)

    def _choose(self) -> None:
        first, second = str(self.field.value or ""), str(self.second.value or "")
        if not first:
            text = tr("Protect each row by itself")
            self._session.edit(text, self._session.document.with_unit(None))
            return
        known = self._session.document.unit
        more = (second,) if known is not None and second and second != first else ()
        self._state((first, *more), None)

    def _bound(self) -> None:
        unit = self._session.document.unit
        if unit is not None and int(self.most_rows.value) != unit.most_rows:
            self._state(unit.columns, int(self.most_rows.value))

    def _state(self, columns: tuple[str, ...], most_rows: int | None) -> None:
        """Protect by columns, once a job has found what is the same in rows that share them."""
        session = self._session
        before, table = session.document, session.source
        if table is None:
            return
        work = partial(_proposed, before, table, columns, most_rows)
        title = tr("Looking for what is the same in rows of one {unit}")
        name = " + ".join(columns)

        text = tr("Protect by {column}").format(column=name)

        def keep(answer: tuple[Unit, str]) -> None:
            self._idle = answer
            session.edit(text, before.with_unit(answer[0]), merge_key=("unit", columns))
            self.refresh()

        def refuse(error: SfumatoError) -> None:
            self.refused.emit(error)
            self.refresh()

        taken = session.unless_changed(text, keep)
        session.runner.run(title.format(unit=name), work, taken, refuse, key=_JOB)
