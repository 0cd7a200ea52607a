"""How coarsely each recipient sees the quasi-identifiers: a grid to state, find and change it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QResizeEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.coarsening.columns_left import kept_columns
from sfumato.analysis.coarsening.undone_views import given_back
from sfumato.analysis.coarsening.views import (
    SeenBy,
    levels_found_anew,
    proposed_ks,
    proposed_share,
    released_rows,
    seen_together,
    uncoarsened_views,
    views_in,
    with_cells,
    with_importance,
    with_level,
    with_levels,
    with_proposed_hierarchies,
    with_proposed_ks,
    with_statement,
    without_view,
)
from sfumato.analysis.guarantee import AllTogether, together_of
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.generalization.lattice import Node
from sfumato.formats.language import grouped, localized
from sfumato.jobs import Ending, Job
from sfumato.plots.axes import percent
from sfumato.project.document.model import Document, ViewRule
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.uniqueness import release_sentence
from sfumato.project.release.views import quasi_identifiers
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.base import catch_up
from sfumato.ui.panels.policy.views_picture import ViewsPicture, numbered
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments
from sfumato.ui.widgets.layout import Card, boxed, button, label, row, say
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.order_list import OrderList
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.sheets import SheetView
from sfumato.ui.widgets.tables import HEADING_MARGINS, Cell, CellsModel, Heading, Index

MANY: Final = 12
"""Of more columns, importance is asked for: not all of them can be kept."""
_Counted = tuple[tuple[SeenBy, ...], SeenBy | None, tuple[Sentence, ...]]
COUNT_JOB: Final = "views-counted"
FIND_JOB: Final = "views-found"
PROPOSE_JOB: Final = "views-proposed"
K, SHARE, SMALLEST, UNIQUE, SUPPRESSED, LEVELS = range(6)
"""The rows; the quasi-identifiers follow from `LEVELS` on."""
COUNTED: Final = (SMALLEST, UNIQUE, SUPPRESSED)
NAMES: Final = 116
"""The least width of the names of the rows, in pixels."""
ROOMY: Final = 80
"""How wide a recipient's column is at least before the names get more."""


@dataclass(frozen=True)
class RecipientColumn:
    """A recipient's column: what is stated, and what it comes to where that is known.

    The virtual recipient has no name, and nothing can be stated for it.
    """

    name: str
    rule: ViewRule | None
    seen: SeenBy | None = None
    place: int = 0


def propose_hierarchies(
    session: Session, then: Callable[[], object], refuse: Callable[[SfumatoError], None]
) -> None:
    """Give every quasi-identifier without a hierarchy one, in a job, as one edit."""
    table = session.survey
    if table is None:
        return
    before, text = session.document, tr("Propose hierarchies")

    def take(found: tuple[Document, dict[str, str]]) -> None:
        session.edit(text, found[0])
        then()

    session.runner.run(
        tr("Proposing hierarchies"),
        lambda _context: with_proposed_hierarchies(before, table),
        session.unless_changed(text, take),
        refuse,
        key=PROPOSE_JOB,
    )


class ViewsModel(CellsModel):
    """Quasi-identifiers by recipients; k, shares and levels are typed in."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__((), parent)
        self.lines: tuple[RecipientColumn, ...] = ()
        self.names: tuple[str, ...] = ()

    def show_lines(self, lines: Sequence[RecipientColumn], names: Sequence[str]) -> None:
        """Show recipients; where only cells changed, selection and scrolling stay."""
        before = self._headings(), self.names
        self.lines, self.names = tuple(lines), tuple(names)
        if before == (self._headings(), self.names):
            self.repaint()
        else:
            self.lay_out(LEVELS + len(names), self._headings())

    def _headings(self) -> tuple[Heading, ...]:
        together = tr("What all recipients together see: the finest view")
        return (
            Heading(),
            *(
                Heading(
                    f"{line.place} · {line.name}" if line.place else line.name or tr("Together"),
                    line.name or together,
                    True,
                    bool(line.name),
                )
                for line in self.lines
            ),
        )

    def headerData(
        self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole
    ) -> Any:
        """Return what a column is called; long names take several lines."""
        found = super().headerData(section, orientation, role)
        if role == Qt.ItemDataRole.TextAlignmentRole and found is not None:
            return found | Qt.TextFlag.TextWordWrap
        return found

    def flags(self, index: Index) -> Qt.ItemFlag:
        """Return what can be done with a cell: what was counted can't be typed."""
        flags = super().flags(index)
        return flags & ~Qt.ItemFlag.ItemIsEditable if index.row() in COUNTED else flags

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        if column == 0:
            return self._name(row)
        line = self.lines[column - 1]
        return self._counted(line, row) if row in COUNTED else self._stated(line, row)

    def _name(self, row: int) -> Cell:
        if row >= LEVELS:
            name = self.names[row - LEVELS]
            return Cell(name, tr("The level of {name}", name=name))
        text, tip = (
            ("k", tr("The records, or units, of the smallest class; empty for no k")),
            (
                tr("Suppress at most"),
                tr("The largest share of the records, or of their cells, that may show * instead"),
            ),
            (tr("Smallest class"), tr("The records, or units, of the smallest class")),
            (tr("Unique"), tr("Records, or units, alike no other in all columns left unperturbed")),
            (tr("Suppressed"), tr("Records that show * instead, in all columns or in some")),
        )[row]
        return Cell(text, tip)

    def _stated(self, line: RecipientColumn, row: int) -> Cell:
        rule = line.rule
        if rule is None or (row < LEVELS and not line.name):
            return Cell("–", tr("Sees the quasi-identifiers as they are") if line.name else "", "")
        if row == K:
            return Cell(str(rule.k))
        if row == SHARE:
            return Cell(percent(rule.suppression, 1), "", localized(f"{rule.suppression * 100:g}"))
        name = self.names[row - LEVELS]
        level = rule.levels.get(name, 0)
        highest = None if line.seen is None else line.seen.levels.get(name, (0, None))[1]
        if highest is None:
            return Cell(str(level))
        return Cell(tr("{level} of {highest}", level=level, highest=highest), "", str(level))

    def _counted(self, line: RecipientColumn, row: int) -> Cell:
        if line.seen is None or line.seen.view is None:
            return Cell("–" if line.seen is not None else "…")
        view, bad, unique = line.seen.view, bool(line.seen.problem), line.seen.unique or 0
        figure, alarming = {
            SMALLEST: (view.smallest, bad),
            UNIQUE: (unique, unique > 0),
            SUPPRESSED: (view.rows_with_cells, bad),
        }[row]
        told = grouped(figure)
        if row == UNIQUE and line.seen.alone is not None:
            tip = typeset(release_sentence(line.seen.alone))
        elif view.cells_apart and row == SUPPRESSED:
            tip = tr(
                "{cells:,} {cells:cell|cells} suppressed, in {rows:,} {rows:record|records}",
                cells=view.suppressed_cells,
                rows=view.rows_with_cells,
            )
        elif line.seen.by_unit and row == SUPPRESSED:
            tip = tr(
                "{suppressed:,} of {records:,} {records:record|records}",
                suppressed=view.suppressed_rows,
                records=line.seen.records,
            )
        elif line.seen.by_unit:
            tip = tr("{figure} of {units:,} {units:unit|units}", figure=told, units=line.seen.units)
        else:
            tip = told
        return Cell(told, tip, icon="danger" if alarming else "", strong=alarming)


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
        self._read: BatchedTable | None = None
        """The long table all rows of which are counted from now on: somebody asked for that."""
        self._found: tuple[SeenBy, ...] = ()
        self._seen_together: SeenBy | None = None
        self._together: AllTogether | None = None
        self._ordered: tuple[object, ...] | None = None
        self.propose = button(tr("Propose missing hierarchies"), self._propose)
        self.find_levels = button(tr("Find levels"), self._find)
        self.find_levels.setToolTip(
            tr("Find the levels that lose least, for each recipient's k and share")
        )
        self.count_rows = button(tr("Count what they see"), self._count)
        self.count_rows.setToolTip(
            tr("Count all rows of the long table; from then on, after every change")
        )
        self._build()
        say(self.problem, "")
        say(self.followed, "")

    def _build(self) -> None:
        self.model = ViewsModel(self)
        name = tr("Quasi-identifiers by recipient")
        self.table = SheetView(self.model, name=name, row_numbers=False, parent=self)
        self.table.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        header = self.table.horizontalHeader()
        header.setTextElideMode(Qt.TextElideMode.ElideNone)  # headings have several lines
        self.model.written.connect(self._write)
        self.table.selectionModel().currentChanged.connect(self._point)
        words = tr(
            "Set a group size k for each recipient: every record then shares what is shown of the"
            " quasi-identifiers with at least k − 1 others. A recipient trusted less sees no"
            " column more finely, so a group sees no more than the finest view."
        )
        about = label(words, "muted", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.problem.setObjectName("problem")
        self.followed = label("", "muted", wrap=True)
        self.kept = label("", wrap=True)
        self._virtual_head = label(tr("All recipients together"), "strong")
        self.virtual, self.gets = label("", wrap=True), label("", "muted", wrap=True)
        self.picture = ViewsPicture(self.session, self)
        self.picture.moved.connect(self._move)
        words = tr("What is suppressed where too few are alike")
        choices = [(False, tr("Whole records")), (True, tr("Single cells"))]
        self.hides = Segments(choices, self, name=words, chosen=self._hide_cells)
        self.importance = OrderList(tr("The most important first: its cells are kept longest"))
        self.importance.changed.connect(self._put_in_order)
        caption = label(tr("Suppress"), "small")
        self._hiding = boxed(row(caption, self.hides, None))
        title = label(tr("Quasi-identifiers"), "heading")
        heading = (title, self.propose, self.find_levels, self.count_rows)
        self.body.addLayout(FlowLayout(*heading, apart=1))
        together = (self._virtual_head, self.virtual, self.gets)
        self.proposed = label("", "muted", wrap=True)
        self.state_k = button(tr("State these"), self._state_k, "quiet")
        self._offer = boxed(row(self.proposed, self.state_k, wide=0))
        # What can't be done is said below the buttons; the table may be longer than a screen.
        self.put(self.problem, self.kept, about, self.table, self._offer)
        self.put(self._hiding, self.importance, self.followed, *together, self.picture)

    def go_to(self, column: str, recipient: str) -> bool:
        """Choose the level at which a recipient sees a column; return whether there is one.

        Where nothing is stated for the recipient yet, it is the k that wants to be.
        """
        people = [line.name for line in self.model.lines]
        if column not in self.model.names or recipient not in people:
            return False
        place = people.index(recipient)
        stated = self.model.lines[place].rule is not None
        self.table.show_cell(LEVELS + self.model.names.index(column) if stated else K, 1 + place)
        return True

    def showEvent(self, event: QShowEvent) -> None:
        """Count what has changed while nobody looked."""
        super().showEvent(event)
        catch_up(self.refresh)

    def refresh(self) -> None:
        """Show what the document has, and count what it comes to where that is in sight."""
        document, table = self.session.document, self.session.source
        names = quasi_identifiers(document)
        self.setVisible(bool(names and document.recipients))
        missing = [name for name in names if name not in document.hierarchies]
        self.propose.setVisible(bool(missing))
        self.find_levels.setEnabled(
            table is not None
            and not missing
            and any(r.view is not None for r in document.recipients)
        )
        self._together = (
            together_of(document, self.session.attributes()) if self.isVisible() else None
        )
        keys, unit = self.session.keys, (document.unit, document.record_key)
        basis = (table, document.columns, unit, *document.hierarchies.items())
        views = tuple((each.name, each.view) for each in document.recipients)
        finest = "" if self._together is None else self._together.finest[0]
        asked = (basis, views, document.importance, finest)
        if asked != self._asked:
            self._found, self._seen_together = (), None
            say(self.kept, "")
        self._show()
        quick = table is None or table.fits
        wanted = quick or table is self._read
        drawn = table is not None and wanted and not missing and bool(document.recipients)
        # Counting first: the picture then finds what it needs of a long table.
        ready = quick or bool(self._found)
        self.picture.setVisible(drawn and (ready or not self.picture.isHidden()))
        self.count_rows.setVisible(not wanted and not missing)
        if table is None or not wanted or not self.isVisible():
            return
        if drawn and ready:
            self.picture.refresh(basis, partial(released_rows, document, table, keys))
        if asked == self._asked:
            return
        self._asked = asked

        def count(context: Context) -> _Counted:
            left = released_rows(document, table, keys, Part(context, 0.0, 0.2))
            # Of a long table, the rows of the finest view are counted first: the others join them.
            others = uncoarsened_views(document, left, Part(context, 0.2, 0.5))
            found = views_in(document, left, Part(context, 0.5, 0.8))
            part = Part(context, 0.8, 1.0)
            virtual = seen_together(document, left, finest, found, part) if finest else None
            kept = kept_columns(document, left, Silent())
            told = () if kept is None else tuple(kept.sentences)
            told += tuple(one.sentence for one in given_back(document, left, Silent()))
            return (*found, *others), virtual, told

        title = tr("Counting what each recipient sees")
        job = self.session.runner.run(title, count, self._take, self._refuse, key=COUNT_JOB)
        job.finished.connect(partial(self._stopped, asked, job))

    def _show(self) -> None:
        document = self.session.document
        seen, places = {each.recipient: each for each in self._found}, numbered(document)
        lines = [
            RecipientColumn(each.name, each.view, seen.get(each.name), places.get(each.name, 0))
            for each in document.recipients
        ]
        if self._together is not None:
            rule = document.recipient(self._together.finest[0]).view or ViewRule()
            lines.append(RecipientColumn("", rule, self._seen_together))
        names = quasi_identifiers(document)
        self.model.show_lines(lines, names)
        views = [each.view for each in document.recipients if each.view is not None]
        by_cell = any(view.cells for view in views)
        self._hiding.setVisible(bool(views))
        self.hides.set_value(by_cell)
        # Of many columns, levels are found by importance, too.
        self.importance.setVisible(
            (by_cell or bool(views and len(names) > MANY)) and len(names) > 1
        )
        if (names, document.importance) != self._ordered:
            self._ordered = names, document.importance
            self.importance.show_order(document.importance or (), names)
        table, offered = self.session.source, dict[str, int]()
        if table is not None and self.isVisible():
            offered = proposed_ks(document, self.session.attributes(), table)
        ks = ", ".join(tr("{name} k = {k}", name=name, k=k) for name, k in offered.items())
        self._offer.setVisible(bool(offered))
        words = tr(
            "No k is stated for some recipients. Proposed by their trust: {ks}; at most"
            " {share} of the records suppressed.",
            ks=ks,
            share=percent(proposed_share(offered.values(), 1 if table is None else table.rows)),
        )
        self.proposed.setText(words)
        self._lay_out()
        together = self._together
        self._virtual_head.setVisible(together is not None)
        nobody = tr("No recipient is trusted most with everything.")
        say(self.virtual, f"{nobody} {typeset(together.sentence)}" if together is not None else "")
        say(self.gets, "\n".join(map(typeset, together.gets)) if together is not None else "")

    def _lay_out(self) -> None:
        """Give the names the room that the recipients leave, and the table that of all rows."""
        header, lines = self.table.horizontalHeader(), len(self.model.lines)
        metrics = self.table.fontMetrics()
        texts = (self.model.cell(at, 0).text for at in range(self.model.rowCount()))
        needed = max(map(metrics.horizontalAdvance, texts), default=0)
        left = self.table.width() - scaled(ROOMY) * lines
        names = max(min(needed + 28, left), scaled(NAMES))
        self.table.set_widths({0: names / Space.scale})
        scrolls = names + lines * header.minimumSectionSize() > self.table.width()
        bar = self.table.horizontalScrollBar().sizeHint().height() if scrolls else 0
        header.setFixedHeight(self._heading_height())
        height = Space.FIELD * self.model.rowCount() + header.height() + bar + 4
        self.table.setFixedHeight(height)

    def _heading_height(self) -> int:
        """Return how high the headings are when no line of a recipient's name is cut off."""
        header = self.table.horizontalHeader()
        metrics = header.fontMetrics()
        lines = 2 * metrics.height()
        for section in range(1, header.count()):
            text = str(self.model.headerData(section, Qt.Orientation.Horizontal))
            room = QRect(0, 0, header.sectionSize(section) - HEADING_MARGINS, 1000)
            wrapped = metrics.boundingRect(room, Qt.TextFlag.TextWordWrap, text)
            lines = max(lines, wrapped.height())
        return lines + 2 * Space.INSIDE

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Share the room anew."""
        super().resizeEvent(event)
        self._lay_out()

    def _take(self, found: _Counted) -> None:
        self._found, self._seen_together, told = found
        say(self.kept, "\n".join(map(typeset, told)))
        self.refresh()
        problems = dict.fromkeys(typeset(e.problem) for e in self._found if e.problem)
        say(self.problem, "\n".join(problems))

    def _stopped(self, asked: tuple[object, ...], job: Job) -> None:
        """Offer to count a long table again, where the person stopped it."""
        table, stopped = self.session.source, job.ending is Ending.CANCELLED
        if stopped and asked == self._asked and table is not None and not table.fits:
            self._read = self._asked = None
            self.refresh()

    def _refuse(self, error: SfumatoError) -> None:
        say(self.problem, error_words(error))

    # ----- what the person does

    def _write(self, texts: Mapping[tuple[int, int], str]) -> None:
        """Take over what was typed; all of it is one edit."""
        document, followed = self.session.document, list[str]()
        try:
            for (place, column), text in texts.items():
                name = self.model.lines[column - 1].name
                document, others = self._written(document, name, place, text.strip())
                followed += others
        except SfumatoError as error:
            self._refuse(error)
            return
        self._change(document, followed)

    def _move(self, name: str, node: Node) -> None:
        """Move a recipient to a node of the lattice."""
        levels = dict(zip(self.model.names, node, strict=True))
        self._change(*with_levels(self.session.document, name, levels))

    def _change(self, document: Document, followed: Sequence[str]) -> None:
        self._say_no_problem()
        names = ", ".join(dict.fromkeys(followed))
        said = tr("{names} followed, so that the chain holds.", names=names) if names else ""
        say(self.followed, said)
        self.session.edit(tr("Change what recipients see"), document)

    def _point(self, index: Index) -> None:
        """Choose the recipient in the picture whose column is chosen."""
        name = self.model.lines[index.column() - 1].name if index.column() > 0 else ""
        if name and self.picture.isVisible() and name != self.picture.chosen:
            self.picture.choose(name)

    def _written(
        self, document: Document, name: str, place: int, text: str
    ) -> tuple[Document, tuple[str, ...]]:
        if place == K:
            if not text:
                return without_view(document, name), ()
            return with_statement(document, name, k=_whole(text)), ()
        if place == SHARE:
            return with_statement(document, name, suppression=_share(text)), ()
        return with_level(document, name, self.model.names[place - LEVELS], _whole(text or "0"))

    def _hide_cells(self, cells: bool) -> None:
        self._say_no_problem()
        text = tr("Suppress single cells") if cells else tr("Suppress whole records")
        self.session.edit(text, with_cells(self.session.document, cells))

    def _put_in_order(self) -> None:
        document, order = self.session.document, self.importance.order
        self._ordered = quasi_identifiers(document), order or None
        self.session.edit(tr("Order columns by importance"), with_importance(document, order))

    def _propose(self) -> None:
        propose_hierarchies(self.session, self._go_on, self._refuse)

    def _state_k(self) -> None:
        session, table = self.session, self.session.source
        if table is not None:
            changed = with_proposed_ks(session.document, session.attributes(), table)
            session.edit(tr("State proposed k"), changed)
            self._go_on()

    def _go_on(self) -> None:
        """Give the keyboard what comes next, where what was pressed has gone."""
        following = self.state_k if self._offer.isVisible() else self.find_levels
        following.setFocus()

    def _count(self) -> None:
        """Count what recipients see of a long table, now and after every edit."""
        self._read = self.session.source
        self.refresh()
        self.find_levels.setFocus()

    def _say_no_problem(self) -> None:
        say(self.problem, "")

    def _find(self) -> None:
        session, table = self.session, self.session.source
        if table is None:
            return
        before, keys, text = session.document, session.keys, tr("Find levels")

        def find(context: Context) -> Document:
            return levels_found_anew(before, table, keys, context)

        def take(found: Document) -> None:
            self._read = table
            self._say_no_problem()
            session.edit(text, found)
            self.refresh()

        words = tr("Finding levels")
        session.runner.run(
            words, find, session.unless_changed(text, take), self._refuse, key=FIND_JOB
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
