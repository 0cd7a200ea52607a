"""What records are known by, and which rows belong together: a person's visits, a household."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QCoreApplication, Signal

from sfumato.analysis.pooled_rows import proposed_key, proposed_unit
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Unit
from sfumato.project.release.long_leaving import propose_long_unit
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.units import beyond_largest, idle_bound, propose_unit, unit_sentence
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.attributes.columns import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, boxed, button, label, row, say

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
        words = self.tr("Records are known by")
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
        position = ("", self.tr("their position in the table"))
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
            self.accept.setText(self.tr("Know records by {column}").format(column=found[0]))

    def _accept(self) -> None:
        found = self.found()
        if found is not None:
            self._choose(found[0])

    def _choose(self, name: object) -> None:
        session, key = self._session, str(name) or None
        text = QCoreApplication.translate("Attributes", "Record key")
        changed, long = replace(session.document, record_key=key), session.long
        if long is None or key is None:
            session.edit(text, changed)
            return

        def refuse(error: SfumatoError) -> None:
            self.refresh()
            self.refused.emit(error)

        words = tr("Looking whether {column} tells all records apart").format(column=key)
        keep = session.unless_changed(text, lambda _checked: session.edit(text, changed))
        session.runner.run(
            words, partial(long.survey.check_key, key), keep, refuse, key="record-key"
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
        self._idle: tuple[Unit, str] | None = None
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
            say(self.note, f"{told} {typeset(idle)}".strip())
        else:
            say(self.note, "" if found is None else typeset(found[1]))
        self.protect.setVisible(found is not None)
        if found is not None:
            self.protect.setText(tr("Protect by {column}").format(column=found[0]))

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
