"""How coarsely each recipient sees the quasi-identifiers: a grid to state, find and change it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.views import (
    SeenBy,
    find_views,
    views_in,
    with_level,
    with_proposed_hierarchies,
    with_statement,
    without_view,
)
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.plots.axes import percent
from sfumato.project.document.model import Document, ViewRule
from sfumato.project.release.release_columns import leaving_table
from sfumato.project.release.views import quasi_identifiers
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, button, label, row, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, SheetView

COUNT_JOB: Final = "views-counted"
FIND_JOB: Final = "views-found"
PROPOSE_JOB: Final = "views-proposed"
MOST_ROWS_SHOWN: Final = 8
NAME, K, SHARE, SMALLEST, UNIQUE, SUPPRESSED = range(6)
LEVELS: Final = 6
"""The columns before the quasi-identifiers."""


@dataclass(frozen=True)
class Line:
    """A recipient's line: what is stated, and what it comes to where that is known."""

    name: str
    rule: ViewRule | None
    seen: SeenBy | None = None


class ViewsModel(CellsModel):
    """Recipients by quasi-identifiers; k, shares and levels are typed in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self.lines: tuple[Line, ...] = ()
        self.names: tuple[str, ...] = ()

    def show_lines(self, lines: Sequence[Line], names: Sequence[str]) -> None:
        """Show recipients; where only cells changed, selection and scrolling stay."""
        shape = ([line.name for line in self.lines], self.names)
        same = shape == ([line.name for line in lines], tuple(names))
        self.lines, self.names = tuple(lines), tuple(names)
        if same:
            self.repaint()
        else:
            self.lay_out(len(lines), self._headings())

    def _headings(self) -> tuple[Heading, ...]:
        share = tr("The largest share of the records that may show * instead")
        return (
            Heading(tr("Recipient")),
            Heading(
                "k", tr("The records, or units, of the smallest class; empty for no k"), True, True
            ),
            Heading(tr("Suppress at most"), share, True, True),
            Heading(tr("Smallest class"), "", True),
            Heading(tr("Unique"), tr("Records, or units, that are alone in their class"), True),
            Heading(tr("Suppressed"), "", True),
            *(
                Heading(name, tr("The level of {name}", name=name), True, True)
                for name in self.names
            ),
        )

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        line = self.lines[row]
        if column == NAME:
            return Cell(line.name, line.name)
        if column in (SMALLEST, UNIQUE, SUPPRESSED):
            return self._counted(line, column - SMALLEST)
        return self._stated(line, column)

    def _stated(self, line: Line, column: int) -> Cell:
        rule = line.rule
        if rule is None:
            return Cell("–", tr("Sees the quasi-identifiers as they are"), "")
        if column == K:
            return Cell(str(rule.k))
        if column == SHARE:
            return Cell(percent(rule.suppression, 1), "", f"{rule.suppression * 100:g}")
        name = self.names[column - LEVELS]
        level = rule.levels.get(name, 0)
        highest = None if line.seen is None else line.seen.levels.get(name, (0, None))[1]
        if highest is None:
            return Cell(str(level))
        return Cell(tr("{level} of {highest}", level=level, highest=highest), "", str(level))

    def _counted(self, line: Line, place: int) -> Cell:
        if line.rule is None or line.seen is None or line.seen.view is None:
            return Cell("–" if line.rule is None or line.seen is not None else "…")
        view, bad = line.seen.view, bool(line.seen.problem)
        figures = (view.smallest, view.unique, view.suppressed_rows)
        alarming = (bad, view.unique > 0, bad)[place]
        text = ""
        if line.seen.by_unit and place == SUPPRESSED - SMALLEST:
            text = tr(
                "{suppressed:,} of {records:,} records",
                suppressed=view.suppressed_rows,
                records=line.seen.records,
            )
        elif line.seen.by_unit:
            text = tr(
                "Of {units:,} units; {unique:,} records are of units alone in their class",
                units=line.seen.units,
                unique=view.unique_rows,
            )
        icon = "danger" if alarming else ""
        return Cell(grouped(figures[place]), text, icon=icon, strong=alarming)


class ViewsCard(Card):
    """The views of all recipients, for every policy entry.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.session = session
        self._asked: tuple[object, ...] | None = None
        self._found: tuple[SeenBy, ...] = ()
        self.propose = button(tr("Propose missing hierarchies"), self._propose)
        self.find_levels = button(tr("Find levels"), self._find)
        self.find_levels.setToolTip(
            tr("Find the levels that lose least, for each recipient's k and share")
        )
        self.model = ViewsModel(self)
        self.table = SheetView(self.model, row_numbers=False, parent=self)
        self.table.setAccessibleName(tr("Quasi-identifiers by recipient"))
        self.model.written.connect(self._write)
        about = label(
            tr(
                "State a k for each recipient: every record then shares what is shown of the"
                " quasi-identifiers with at least k − 1 others. Whoever is trusted less sees no"
                " column more finely, so a group sees no more than the finest view."
            ),
            "muted",
            wrap=True,
        )
        self._problem = label("", "danger", wrap=True)
        self._note = label("", "muted", wrap=True)
        heading = label(tr("Quasi-identifiers"), "heading")
        self.body.addLayout(row(heading, None, self.propose, self.find_levels))
        self.body.addWidget(about)
        self.body.addWidget(self.table)
        self.body.addWidget(self._note)
        self.body.addWidget(self._problem)
        say(self._problem, "")
        say(self._note, "")
        session.document_changed.connect(self.refresh)
        session.table_changed.connect(self.refresh)
        self.refresh()

    @property
    def problem(self) -> str:
        """What is said to be wrong."""
        return self._problem.text()

    @property
    def followed(self) -> str:
        """Who had to follow the last change."""
        return self._note.text()

    def showEvent(self, event: QShowEvent) -> None:
        """Count what has changed while nobody looked."""
        super().showEvent(event)
        self.refresh()

    def refresh(self, _changed: object = None) -> None:
        """Show what the document has, and count what it comes to where that is in sight."""
        document, table = self.session.document, self.session.table
        names = quasi_identifiers(document)
        self.setVisible(bool(names and document.recipients))
        missing = [name for name in names if name not in document.hierarchies]
        self.propose.setVisible(bool(missing))
        self.find_levels.setEnabled(
            table is not None
            and not missing
            and any(r.view is not None for r in document.recipients)
        )
        keys, unit = self.session.keys, (document.unit, document.record_key)
        asked = (table, document.columns, document.recipients, unit, *document.hierarchies.items())
        if asked != self._asked:
            self._found = ()
        self._show()
        if table is None or not self.isVisible() or asked == self._asked:
            return
        self._asked = asked
        self.session.runner.run(
            tr("Counting what each recipient sees"),
            lambda context: views_in(document, leaving_table(document, table, keys), context),
            partial(self._take, asked),
            partial(self._refuse_count, asked),
            key=COUNT_JOB,
        )

    def _show(self) -> None:
        document = self.session.document
        seen = {each.recipient: each for each in self._found}
        lines = [Line(each.name, each.view, seen.get(each.name)) for each in document.recipients]
        self.model.show_lines(lines, quasi_identifiers(document))
        self.table.fit_columns()
        rows = min(max(len(lines), 2), MOST_ROWS_SHOWN)
        self.table.setFixedHeight(Space.FIELD * (rows + 2))

    def _take(self, asked: tuple[object, ...], found: tuple[SeenBy, ...]) -> None:
        if asked != self._asked:
            return
        self._found = found
        self._show()
        say(self._problem, "\n".join(dict.fromkeys(str(e.problem) for e in found if e.problem)))

    def _refuse_count(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked == self._asked:
            self._refuse(error)

    def _refuse(self, error: SfumatoError) -> None:
        say(self._problem, " ".join(filter(None, error_texts(error))))

    # ----- what the person does

    def _write(self, texts: Mapping[tuple[int, int], str]) -> None:
        """Take over what was typed; all of it is one edit."""
        document, followed = self.session.document, list[str]()
        try:
            for (place, column), text in texts.items():
                name = self.model.lines[place].name
                document, others = self._written(document, name, column, text.strip())
                followed += others
        except SfumatoError as error:
            self._refuse(error)
            return
        say(self._problem, "")
        names = ", ".join(dict.fromkeys(followed))
        say(
            self._note,
            tr("{names} followed, so that the chain holds.", names=names) if names else "",
        )
        self.session.edit(tr("Change what recipients see"), document)

    def _written(
        self, document: Document, name: str, column: int, text: str
    ) -> tuple[Document, tuple[str, ...]]:
        if column == K:
            if not text:
                return without_view(document, name), ()
            return with_statement(document, name, k=_whole(text)), ()
        if column == SHARE:
            return with_statement(document, name, suppression=_share(text)), ()
        return with_level(document, name, self.model.names[column - LEVELS], _whole(text or "0"))

    def _propose(self) -> None:
        session, table = self.session, self.session.table
        if table is None:
            return
        before = session.document

        def take(found: tuple[Document, dict[str, str]]) -> None:
            if session.document == before:
                session.edit(tr("Propose hierarchies"), found[0])

        session.runner.run(
            tr("Proposing hierarchies"),
            lambda _context: with_proposed_hierarchies(before, table),
            take,
            self._refuse,
            key=PROPOSE_JOB,
        )

    def _find(self) -> None:
        session, table = self.session, self.session.table
        if table is None:
            return
        before, keys = session.document, session.keys

        def take(found: Document) -> None:
            if session.document == before:
                session.edit(tr("Find levels"), found)

        session.runner.run(
            tr("Finding levels"),
            lambda context: find_views(before, leaving_table(before, table, keys), context),
            take,
            self._refuse,
            key=FIND_JOB,
        )


def _whole(text: str) -> int:
    """Return a whole number that was typed; what follows a space, as in "2 of 4", is let go."""
    number = text.split(" ", maxsplit=1)[0]
    if not number.isdecimal():
        raise PolicyError("{typed} is not a whole number.", "Type one, such as 5.", typed=text)
    return int(number)


def _share(text: str) -> float:
    """Return a share that was typed in percent."""
    number = text.replace("%", "").replace(",", ".").strip() or "0"
    try:
        return float(number) / 100
    except ValueError:
        raise PolicyError(
            "{typed} is not a share in percent.", "Type one, such as 2 %.", typed=text
        ) from None
