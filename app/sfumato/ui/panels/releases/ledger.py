"""The ledger: a line for each event, whether the record is intact, and the way to verify a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QHeaderView, QLineEdit, QToolButton, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.language import grouped
from sfumato.project.approval import COLUMNS
from sfumato.project.count_tables.held import CountTableRecord, count_tables_in
from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.errors import ReleaseError
from sfumato.project.ledger import (
    END_STATES,
    EntryKind,
    EventSubject,
    LedgerEvent,
    ReleaseRecord,
    ReleaseState,
)
from sfumato.project.publication.followed import edition_told
from sfumato.project.verification.verify import VerificationReport
from sfumato.project.withdrawal import refuse_withdrawal
from sfumato.ui.look.theme import current_theme, scaled
from sfumato.ui.look.wording import filled_in, local_day, local_time, number, spoken, statement_text
from sfumato.ui.panels.releases.verification_view import VerificationView
from sfumato.ui.widgets.fields import Segments, text_field
from sfumato.ui.widgets.layout import Badge, Card, EmptyState, boxed, button, row
from sfumato.ui.widgets.painted import themed_icon
from sfumato.ui.widgets.responsive import FlowLayout, Pages, ResponsiveRow
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

STATE, WHEN, RECIPIENT, LEVELS, BUNDLE, DIGEST = range(6)
DIGEST_SHOWN: Final = 8
NARROW: Final = 560
"""Below this width the search stands below what the lines are about; pixels at scale 1."""
WIDE: Final = 780
"""From this width on, the digests' beginnings are shown."""
WIDEST: Final = 1000
"""From this width on, the files' names are shown as well."""

Look = tuple[str, str, str]
"""A drawing, its colour, and its word."""

STATES: Final[dict[ReleaseState, Look]] = {
    ReleaseState.COMPLETED: ("good", "good", str(QT_TRANSLATE_NOOP("Ledger", "Released"))),
    ReleaseState.PREPARED: ("clock", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Unfinished"))),
    ReleaseState.ABANDONED: ("remove", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Taken back"))),
    ReleaseState.UNTRACED: ("caution", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Untraced"))),
}
"""For each state of a release."""

WITHDRAWN: Final[Look] = ("remove", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Withdrawn")))

PUBLISHED: Final[Look] = ("table", "good", str(QT_TRANSLATE_NOOP("Ledger", "Published")))

KINDS: Final[dict[str, Look]] = {
    EntryKind.ADOPTED: ("ladder", "accent", str(QT_TRANSLATE_NOOP("Ledger", "Adopted"))),
    EntryKind.OVERRIDE: ("danger", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Overridden"))),
    EntryKind.RELEASE_WITHDRAWN: (
        "remove",
        "caution",
        str(QT_TRANSLATE_NOOP("Ledger", "Withdrawal")),
    ),
    EntryKind.PROJECT_CREATED: ("file", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Created"))),
    EntryKind.PASSPHRASE_CHANGED: ("key", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Passphrase"))),
    EntryKind.RELEASE_APPROVED: ("verify", "good", str(QT_TRANSLATE_NOOP("Ledger", "Approved"))),
    EntryKind.APPROVER_ADDED: ("key", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Approver"))),
    EntryKind.APPROVER_REMOVED: ("key", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Approver"))),
    EntryKind.RECOVERY_SHEET_MADE: (
        "key",
        "muted",
        str(QT_TRANSLATE_NOOP("Ledger", "Recovery sheet")),
    ),
    EntryKind.ACCEPTED_UNSEALED: (
        "danger",
        "danger",
        str(QT_TRANSLATE_NOOP("Ledger", "No valid seal")),
    ),
    EntryKind.COUNTS_RELEASED: ("table", "good", str(QT_TRANSLATE_NOOP("Ledger", "Counts"))),
    EntryKind.COUNTS_WITHDRAWN: (
        "remove",
        "caution",
        str(QT_TRANSLATE_NOOP("Ledger", "Withdrawal")),
    ),
    EntryKind.SOURCE_CHANGED: ("data", "muted", str(QT_TRANSLATE_NOOP("Ledger", "New edition"))),
}
"""For each other kind of entry."""


@dataclass(frozen=True)
class LedgerLine:
    """An event as it is shown.

    Parameters
    ----------
    event
        The event.
    look
        Its drawing, its colour and its word.
    when
        The local time.
    who
        The recipient or the holder; empty where there is none.
    what
        Levels, a reason, or what was changed.
    path
        The file or bundle, where there is one.
    digest
        Its digest; may be empty.
    """

    event: LedgerEvent
    look: Look
    when: str
    who: str = ""
    what: str = ""
    path: Path | None = None
    digest: str = ""

    @property
    def bundle(self) -> Path | None:
        """Where the bundle of a release was put."""
        return self.path if self.event.subject is EventSubject.RELEASE else None


def line_of(event: LedgerEvent) -> LedgerLine:
    """Return an event as it is shown, whatever it holds: a forged ledger can be looked at too."""
    look = look_of(event)
    try:
        line = _line(event, look)
    except _OF_ANOTHER_FORM:
        line = None
    if line is None or not all(isinstance(t, str) for t in (line.who, line.what, line.digest)):
        when = local_time(event.entry.recorded_at)
        return LedgerLine(event, look, when, what=_tr("It is not as Sfumato writes such entries."))
    return line


_OF_ANOTHER_FORM: Final = (
    SfumatoError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


_OF_APPROVAL: Final[dict[str, str]] = {
    EntryKind.RELEASE_APPROVED: str(
        QT_TRANSLATE_NOOP("Ledger", "{name} approved what would be released")
    ),
    EntryKind.APPROVER_ADDED: str(QT_TRANSLATE_NOOP("Ledger", "{name} can approve releases")),
    EntryKind.APPROVER_REMOVED: str(QT_TRANSLATE_NOOP("Ledger", "{name} approves no more")),
}


def _line(event: LedgerEvent, look: Look) -> LedgerLine:
    if event.subject is EventSubject.ADOPTION:
        return _adoption(event, look)
    when, record = local_time(event.entry.recorded_at), event.record
    if event.subject is EventSubject.OVERRIDE:
        who = record.recipient if record is not None else ""
        return LedgerLine(event, look, when, who, _reason(event), record.target if record else None)
    if record is not None and event.entry.kind == EntryKind.RELEASE_WITHDRAWN:
        return LedgerLine(
            event, look, when, record.recipient, _reason(event), record.target, record.digest
        )
    if record is not None:
        told = (_withdrawal_of(record), levels_of(record), _order_of(record))
        what = ";  ".join(filter(None, told))
        return LedgerLine(event, look, when, record.recipient, what, record.target, record.digest)
    return _other(event, look, when)


def _other(event: LedgerEvent, look: Look, when: str) -> LedgerLine:
    if event.entry.kind in _OF_APPROVAL:
        details = event.entry.details
        what = _tr(_OF_APPROVAL[event.entry.kind]).format(name=details.get("approver", ""))
        if COLUMNS in details:
            what = filled_in(
                _tr("{name} approved a table of counts by {columns}: ε = {epsilon}"),
                name=details["approver"],
                columns=", ".join(details[COLUMNS]),
                epsilon=number(details["epsilon"]),
            )
        return LedgerLine(event, look, when, str(details.get("recipient", "")), what)
    line_of = _OF_ONE_KIND.get(event.entry.kind)
    if line_of is not None:
        return line_of(event, look)
    return LedgerLine(event, look, when, what=_project(event))


def look_of(event: LedgerEvent) -> Look:
    """Return an event's drawing, its colour and its translated word."""
    record = event.record
    ended = None if event.ending is None else END_STATES.get(event.ending.kind)
    if event.entry.kind == EntryKind.RELEASE_WITHDRAWN:
        look = KINDS[EntryKind.RELEASE_WITHDRAWN]
    elif record is None and ended is not None and ended is not ReleaseState.COMPLETED:
        look = STATES[ended]  # a table of counts that was interrupted
    elif event.subject is EventSubject.RELEASE and record is not None and record.withdrawn:
        look = WITHDRAWN
    elif event.subject is EventSubject.RELEASE and record is not None:
        done = record.state is ReleaseState.COMPLETED
        look = PUBLISHED if done and record.is_publication else STATES[record.state]
    else:
        look = KINDS.get(event.entry.kind, ("info", "muted", event.entry.kind))
    icon, token, word = look
    return icon, token, QCoreApplication.translate("Ledger", word)


def levels_of(record: ReleaseRecord) -> str:
    """Return a release's levels as they were stated, or a generalized table's levels."""
    facts = record.details.get("generalization")
    if facts is not None:
        levels = zip(facts["quasi_identifiers"], facts["levels"], strict=True)
        edition = edition_told(record)
        told = [f"{name}: {level}" for name, level in levels]
        return ";  ".join([*told, *([] if edition is None else [spoken(edition)])])
    return ";  ".join(
        f"{plan.key}: {_statement(plan.mechanism, plan.statement)}" for plan in record.plans
    )


def _withdrawal_of(record: ReleaseRecord) -> str:
    """Return when and why a release was withdrawn; empty where it was not."""
    if record.withdrawn is None:
        return ""
    return _tr("withdrawn on {day}: “{reason}”").format(
        day=local_day(record.withdrawn.recorded_at), reason=record.withdrawn.reason
    )


def _order_of(record: ReleaseRecord) -> str:
    """Return that rows stand as in the table, where that was chosen, and why."""
    if not record.rows_reason:
        return ""
    return _tr("rows as in the table: “{reason}”").format(reason=record.rows_reason)


def _statement(mechanism: str, statement: object) -> str:
    try:
        return statement_text(mechanism_called(mechanism), statement)  # type: ignore[arg-type]
    except SfumatoError:  # a mechanism of another version
        return mechanism


def _adoption(event: LedgerEvent, look: Look) -> LedgerLine:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    try:
        file = AdoptedFile.from_dict(details["release"])
        field = mechanism_called(details["mechanism"]).terms[0].fields[0].name
        level = _statement(details["mechanism"], {field: file.level})
    except (SfumatoError, KeyError, TypeError, ValueError, AttributeError):
        return LedgerLine(event, look, when, str(details.get("holder", "")))  # of another version
    place = _tr("on the ladder") if file.rung else _tr("beside the ladder")
    if file.part is not None:
        covered, records = (grouped(count) for count in file.part)
        place += ", " + _tr("{covered} of {records} {records:record|records}").format(
            covered=covered, records=records
        )
    what = f"{details.get('attribute', '')}: {level}, {place}"
    return LedgerLine(event, look, when, file.holder, what, file.path, file.digest)


def _reason(event: LedgerEvent) -> str:
    reason = str(event.entry.details.get("reason", ""))
    return _tr("“{reason}”").format(reason=reason)


def contradictions(event: LedgerEvent) -> str:
    """Return in spite of what something was overridden or accepted; empty for other events."""
    details = event.entry.details
    with suppress(*_OF_ANOTHER_FORM):
        if event.entry.kind == EntryKind.ACCEPTED_UNSEALED:
            return "\n".join(str(found["what"]) for found in details.get("findings") or ())
        return "\n".join(str(what) for what in (details.get("overridden") or {}).values())
    return ""


def _edition(event: LedgerEvent, look: Look) -> LedgerLine:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    before, after = details.get("from", {}), details.get("to", {})
    what = _tr("{after} {after:record|records}, before {before}").format(
        after=grouped(int(after.get("rows", 0))), before=grouped(int(before.get("rows", 0)))
    )
    place = after.get("path")
    path = Path(place) if place else None
    return LedgerLine(event, look, when, "", what, path, after.get("digest", ""))


def _counts(event: LedgerEvent, look: Look) -> LedgerLine:
    (record,) = count_tables_in([event.entry])
    columns = ", ".join(record.columns)
    what = filled_in(
        _tr("by {columns}: ε = {epsilon}"), columns=columns, epsilon=number(record.epsilon)
    )
    when, target = local_time(event.entry.recorded_at), Path(record.target)
    return LedgerLine(event, look, when, record.recipient, what, target, record.digest)


def _counts_withdrawn(event: LedgerEvent, look: Look) -> LedgerLine:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    columns = ", ".join(details["columns"])
    what = filled_in(_tr("by {columns}: {reason}"), columns=columns, reason=_reason(event))
    return LedgerLine(event, look, when, details["recipient"], what, Path(details["target"]))


_OF_ONE_KIND: Final[dict[str, Callable[[LedgerEvent, Look], LedgerLine]]] = {
    EntryKind.SOURCE_CHANGED: _edition,
    EntryKind.COUNTS_RELEASED: _counts,
    EntryKind.COUNTS_WITHDRAWN: _counts_withdrawn,
}


def _project(event: LedgerEvent) -> str:
    if event.entry.kind == EntryKind.RECOVERY_SHEET_MADE:
        return _tr("A recovery sheet was made; earlier ones no longer open the project")
    if event.entry.kind == EntryKind.PASSPHRASE_CHANGED and event.entry.details.get("by"):
        return _tr("The passphrase was reset with the recovery sheet")
    if event.entry.kind == EntryKind.PASSPHRASE_CHANGED:
        return _tr("The passphrase was changed")
    if event.entry.kind == EntryKind.ACCEPTED_UNSEALED:
        return _tr("Accepted as it stood: {reason}").format(reason=_reason(event))
    if event.entry.kind == EntryKind.PROJECT_CREATED:
        version = event.entry.details.get("version", "")
        return _tr("The project, with Sfumato {version}").format(version=version)
    return ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Ledger", text)


class LedgerModel(CellsModel):
    """A line for each event that is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        titles = (
            self.tr("Event"),
            self.tr("When"),
            self.tr("Who"),
            self.tr("Levels or reason"),
            self.tr("File"),
            self.tr("Digest"),
        )
        figures = (WHEN, LEVELS, DIGEST)
        headings = [Heading(title, tabular=at in figures) for at, title in enumerate(titles)]
        self.lay_out(0, headings)
        self._all: list[LedgerLine] = []
        self._lines: list[LedgerLine] = []
        self._order = (WHEN, True)
        self._subject: EventSubject | None = None
        self._words: tuple[str, ...] = ()

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show events, in the order chosen last."""
        self._all = [line_of(event) for event in events]
        self._show()

    def counts_in_use(self, number: int) -> CountTableRecord | None:
        """Return the table of counts of an entry, where it was not withdrawn."""
        with suppress(SfumatoError):
            events = [line.event for line in self._all]
            found = count_tables_in(e for v in events for e in (v.entry, v.ending) if e)
            return next((r for r in found if r.number == number and r.withdrawn is None), None)
        return None

    @property
    def events(self) -> int:
        """How many events there are, shown or not."""
        return len(self._all)

    def narrow(self, subject: EventSubject | None, text: str) -> None:
        """Show events about one subject only (None for all), in which every word occurs."""
        self._subject, self._words = subject, tuple(text.casefold().split())
        self._show()

    def _show(self) -> None:
        self.arrange(*self._order)
        self.lay_out(len(self._lines))

    def line(self, row: int) -> LedgerLine:
        """Return what a line shows."""
        return self._lines[row]

    def count(self, subject: EventSubject | None = None) -> int:
        """Return how many events there are, about a subject or about anything."""
        return sum(subject in (None, line.event.subject) for line in self._all)

    def arrange(self, column: int, descending: bool) -> None:
        """Put the lines in the order of a column."""
        self._order = (column, descending)
        keys: dict[int, Callable[[LedgerLine], Any]] = {WHEN: lambda line: line.event.number}
        key = keys.get(column, lambda line: _text(line, column).casefold())
        self._lines = [line for line in self._all if self._is_asked_for(line)]
        self._lines.sort(key=key, reverse=descending)

    def _is_asked_for(self, line: LedgerLine) -> bool:
        if self._subject not in (None, line.event.subject):
            return False
        text = " ".join([*(_text(line, column) for column in range(6)), line.digest]).casefold()
        return all(word in text for word in self._words)

    def cell(self, row: int, column: int) -> Cell:
        """Return what is shown of a cell."""
        line = self._lines[row]
        icon, tint, _ = line.look
        alarming = tint == "danger" and column in (STATE, LEVELS)
        return Cell(
            _text(line, column),
            self._tip(line, column),
            ink=current_theme().style.danger if alarming else "",
            icon=icon if column == STATE else "",
            tint=tint,
        )

    def _tip(self, line: LedgerLine, column: int) -> str:
        numbers = [entry.number for entry in (line.event.entry, line.event.ending) if entry]
        entries = self.tr("Entry {number}") if len(numbers) == 1 else self.tr("Entries {number}")
        whole = {
            STATE: entries.format(number=", ".join(str(number) for number in numbers)),
            BUNDLE: str(line.path or ""),
            DIGEST: line.digest,
        }
        if column == LEVELS and (against := contradictions(line.event)):
            return f"{line.what}\n{against}"
        return whole.get(column, _text(line, column))

    def copied_header(self) -> list[str]:
        """Return the names of what `copied` returns."""
        names = [str(self.headerData(section, Qt.Orientation.Horizontal)) for section in range(6)]
        return [self.tr("Entry"), *names]

    def copied(self, row: int) -> list[str]:
        """Return a line as it is copied: its entry, and all it shows in full."""
        line = self._lines[row]
        path = str(line.path) if line.path is not None else ""
        whole = [line.look[2], line.event.entry.recorded_at, line.who, line.what, path, line.digest]
        return [str(line.event.number), *(text.replace("\t", " ") for text in whole)]


def _text(line: LedgerLine, column: int) -> str:
    return (
        line.look[2],
        line.when,
        line.who,
        line.what,
        line.path.name if line.path is not None else "",
        line.digest[:DIGEST_SHOWN],
    )[column]


class LedgerCard(Card):
    """Shows what happened to the project, or what a verification found."""

    folder_asked = Signal(object)
    """The folder of a release should be shown: its `Path`."""
    withdrawal_asked = Signal(object)
    """A release or a table of counts should be withdrawn: its record."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Ledger"), parent=parent)
        self.model = LedgerModel(self)
        self.table = self._build_table()
        words = self.tr(
            "Each release is written down here: when, to whom, at which levels, and the"
            " digest of its files; and so is what was adopted, overridden or changed."
        )
        self.empty = EmptyState("releases", self.tr("Nothing is written down yet"), words)
        self.nothing = EmptyState("search", self.tr("The ledger has nothing like this"), "")
        self.nothing.add_button(button(self.tr("Show everything"), self._show_everything))
        self.report = VerificationView(self)
        self.pages = Pages(self)
        self.report.closed.connect(lambda: self.pages.setCurrentWidget(self._list))
        self.pages.add(self.table, self.empty, self.nothing, self.report)
        self._list: QWidget = self.empty
        self.pages.setCurrentWidget(self.empty)
        self.intact = Badge("verify", "muted", "")
        self.show_folder = button(self.tr("Show &folder"), self._ask_for_folder, icon="folder")
        self.verify = button(self.tr("&Verify a file…"), None, icon="verify")
        words = self.tr("Copy the chosen lines, or all that are shown, with whole digests")
        self.copy = button(self.tr("&Copy"), self._copy, icon="copy", tip=words)
        words = self.tr("Say that the chosen release was wrong; the ledger keeps it")
        self.withdraw = button(
            self.tr("&Withdraw…"), self._ask_to_withdraw, icon="remove", tip=words
        )
        self._may_write = False
        self.show_folder.setEnabled(False)
        self.withdraw.setEnabled(False)
        self.filters = self._build_filters()
        self.body.removeWidget(self.heading)
        title = boxed(row(self.heading, self.intact))
        deeds = (self.copy, self.show_folder, self.withdraw, self.verify)
        self.put(FlowLayout(title, *deeds, apart=1), self.filters, (self.pages, 1))
        self.setMinimumHeight(scaled(300))

    def let_verify(self, ready: bool) -> None:
        """Let a file be verified, or say what it takes."""
        self.verify.setEnabled(ready)
        self.verify.setToolTip(
            self.tr("Choose a bundle, or drop one here")
            if ready
            else self.tr("A file is verified against a project and its table: open them first")
        )

    def _build_filters(self) -> QWidget:
        """Return the choice of what the events are about, beside the words to look for."""
        self.subject = Segments(
            (
                (None, self.tr("All")),
                (EventSubject.RELEASE, self.tr("Releases")),
                (EventSubject.ADOPTION, self.tr("Adoptions")),
                (EventSubject.OVERRIDE, self.tr("Overrides")),
                (EventSubject.PROJECT, self.tr("Project")),
            ),
            self,
        )
        self.subject.setAccessibleName(self.tr("What the ledger's lines are about"))
        self.search = text_field(hint=self.tr("Name, level, reason, file or digest"))
        self.search.setAccessibleName(self.tr("Look for words in the ledger"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(themed_icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        for part, name in zip(
            self.search.findChildren(QToolButton),
            (self.tr("Clear the search"), self.tr("Search")),
            strict=True,
        ):
            part.setAccessibleName(name)
        self.subject.chosen.connect(self._narrow)
        self.search.textChanged.connect(self._narrow)
        return ResponsiveRow(NARROW, (self.subject, 0), self.search, parent=self)

    def _build_table(self) -> TableView:
        table = _LedgerTable(
            self, row_numbers=False, model=self.model, whole_rows=True, framed=False, widest=BUNDLE
        )
        table.setAccessibleName(self.tr("What the ledger tells of"))
        table.setSortingEnabled(True)
        table.sortByColumn(WHEN, Qt.SortOrder.DescendingOrder)
        table.setTextElideMode(Qt.TextElideMode.ElideRight)
        table.horizontalHeader().setSectionResizeMode(LEVELS, QHeaderView.ResizeMode.Stretch)
        table.wrap_rows()
        table.selectionModel().selectionChanged.connect(self._allow_folder)
        table.doubleClicked.connect(lambda _index: self._ask_for_folder())
        return table

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what there is no room for; levels and reasons come first. Copies have all."""
        super().resizeEvent(event)
        self.table.setColumnHidden(DIGEST, self.width() < WIDE)
        self.table.setColumnHidden(BUNDLE, self.width() < WIDEST)

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show what a ledger tells of."""
        reading = self.pages.currentWidget() is self.report
        self.model.show_events(events)
        for button_ in (self.show_folder, self.withdraw, self.copy):
            button_.setVisible(bool(events))
        self._choose_list()
        if not reading:
            self.show_ledger()

    def _narrow(self, _changed: object = None) -> None:
        subject = self.subject.value
        self.model.narrow(
            subject if isinstance(subject, EventSubject) else None, self.search.text()
        )
        self._choose_list()
        self.show_ledger()

    def _show_everything(self) -> None:
        self.subject.set_value(None)
        self.search.clear()
        self._narrow()

    def _choose_list(self) -> None:
        """Show the lines, or why there are none."""
        shown = bool(self.model.rowCount())
        nothing = self.nothing if self.model.count() else self.empty
        self._list = self.table if shown else nothing
        self.copy.setEnabled(shown)
        self._allow_folder()

    def _copy(self) -> None:
        if not self.table.copy():
            self.table.selectAll()
            self.table.copy()
            self.table.clearSelection()

    def show_intact(self, icon: str, token: str, words: str, detail: str = "") -> None:
        """Say whether the ledger is as it was written."""
        self.intact.show_state(icon, token, words)
        self.intact.setToolTip(detail)
        self.intact.setVisible(bool(words))

    def show_ledger(self) -> None:
        """Show the ledger, and no longer what a verification found."""
        self.filters.setVisible(bool(self.model.count()))
        self.pages.setCurrentWidget(self._list)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what a verification found."""
        self.report.show_report(name, report)
        self.filters.hide()
        self.pages.setCurrentWidget(self.report)

    def _chosen(self) -> LedgerLine | None:
        """Return the one line that is chosen."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.line(rows[0].row()) if len(rows) == 1 else None

    def let_write(self, ready: bool) -> None:
        """Let releases be withdrawn, where the project can be written."""
        self._may_write = ready
        self._allow_folder()

    def _allow_folder(self, *_changes: object) -> None:
        line = self._chosen()
        self.show_folder.setEnabled(line is not None and line.bundle is not None)
        self.withdraw.setEnabled(self._to_withdraw(line) is not None)

    def _to_withdraw(self, line: LedgerLine | None) -> ReleaseRecord | CountTableRecord | None:
        """Return the release or the table of counts of a line, where it can be withdrawn."""
        if line is None or not self._may_write or line.event.subject is not EventSubject.RELEASE:
            return None
        record = line.event.record
        if line.event.entry.kind == EntryKind.COUNTS_RELEASED:
            return self.model.counts_in_use(line.event.number)
        if record is None:
            return None
        with suppress(ReleaseError):
            refuse_withdrawal(record)
            return record
        return None

    def _ask_to_withdraw(self) -> None:
        record = self._to_withdraw(self._chosen())
        if record is not None:
            self.withdrawal_asked.emit(record)

    def _ask_for_folder(self) -> None:
        line = self._chosen()
        if line is not None and line.bundle is not None:
            self.folder_asked.emit(line.bundle)


class _LedgerTable(TableView):
    """Lines that are copied with whole paths, digests and the entries' numbers."""

    def copy(self) -> bool:
        """Copy the chosen lines as tab-separated text; return whether there were any."""
        model, chosen = self.model(), self.selectionModel()
        if not isinstance(model, LedgerModel) or not chosen.selectedRows():
            return False
        rows = sorted(index.row() for index in chosen.selectedRows())
        lines = [model.copied_header(), *(model.copied(row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))
        return True
