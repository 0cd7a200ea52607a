"""What the ledger tells of, the newest first: a line for each event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import (
    QT_TRANSLATE_NOOP,
    QCoreApplication,
    QModelIndex,
    QPersistentModelIndex,
    Qt,
)
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.language import grouped
from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.ledger.ledger import EntryKind
from sfumato.project.ledger.records import LedgerEvent, ReleaseRecord, ReleaseState, Subject
from sfumato.ui.look.theme import current_theme
from sfumato.ui.look.wording import local_time, statement_text
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading

Index = QModelIndex | QPersistentModelIndex
STATE, WHEN, RECIPIENT, LEVELS, BUNDLE, DIGEST = range(6)
DIGEST_SHOWN: Final = 8


Look = tuple[str, str, str]
"""A drawing, its colour, and its word."""

STATES: Final[dict[ReleaseState, Look]] = {
    ReleaseState.COMPLETED: ("good", "good", str(QT_TRANSLATE_NOOP("Ledger", "Released"))),
    ReleaseState.PREPARED: ("clock", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Unfinished"))),
    ReleaseState.ABANDONED: ("remove", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Taken back"))),
    ReleaseState.UNTRACED: ("caution", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Untraced"))),
}
"""For each state of a release."""

PUBLISHED: Final[Look] = ("table", "good", str(QT_TRANSLATE_NOOP("Ledger", "Published")))

KINDS: Final[dict[str, Look]] = {
    EntryKind.ADOPTED: ("ladder", "accent", str(QT_TRANSLATE_NOOP("Ledger", "Adopted"))),
    EntryKind.OVERRIDE: ("danger", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Overridden"))),
    EntryKind.PROJECT_CREATED: ("file", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Created"))),
    EntryKind.PASSPHRASE_CHANGED: ("key", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Passphrase"))),
    EntryKind.ACCEPTED_UNSEALED: (
        "danger",
        "danger",
        str(QT_TRANSLATE_NOOP("Ledger", "No valid seal")),
    ),
    EntryKind.SOURCE_CHANGED: ("data", "muted", str(QT_TRANSLATE_NOOP("Ledger", "New edition"))),
}
"""For each other kind of entry."""


@dataclass(frozen=True)
class Line:
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
        return self.path if self.event.subject is Subject.RELEASE else None


def line_of(event: LedgerEvent) -> Line:
    """Return an event as it is shown, whatever it holds: a forged ledger can be looked at too."""
    look = look_of(event)
    try:
        line = _line(event, look)
    except _OF_ANOTHER_FORM:
        line = None
    if line is None or not all(isinstance(t, str) for t in (line.who, line.what, line.digest)):
        when = local_time(event.entry.recorded_at)
        return Line(event, look, when, what=_tr("It is not as Sfumato writes such entries."))
    return line


_OF_ANOTHER_FORM: Final = (
    SfumatoError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def _line(event: LedgerEvent, look: Look) -> Line:
    if event.subject is Subject.ADOPTION:
        return _adoption(event, look)
    when, record = local_time(event.entry.recorded_at), event.record
    if event.subject is Subject.OVERRIDE:
        who = record.recipient if record is not None else ""
        return Line(event, look, when, who, _reason(event), record.target if record else None)
    if record is not None:
        what = ";  ".join(filter(None, (levels_of(record), _order_of(record))))
        return Line(event, look, when, record.recipient, what, record.target, record.digest)
    if event.entry.kind == EntryKind.SOURCE_CHANGED:
        return _edition(event, look)
    return Line(event, look, when, what=_project(event))


def look_of(event: LedgerEvent) -> Look:
    """Return an event's drawing, its colour and its translated word."""
    record = event.record
    if event.subject is Subject.RELEASE and record is not None:
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
        return ";  ".join(f"{name}: {level}" for name, level in levels)
    return ";  ".join(
        f"{plan.key}: {_statement(plan.mechanism, plan.statement)}" for plan in record.plans
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


def _adoption(event: LedgerEvent, look: Look) -> Line:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    try:
        file = AdoptedFile.from_dict(details["release"])
        field = mechanism_called(details["mechanism"]).terms[0].fields[0].name
        level = _statement(details["mechanism"], {field: file.level})
    except (SfumatoError, KeyError, TypeError, ValueError, AttributeError):
        return Line(event, look, when, str(details.get("holder", "")))  # of another version
    place = _tr("on the ladder") if file.rung else _tr("beside the ladder")
    if file.part is not None:
        covered, records = (grouped(count) for count in file.part)
        place += ", " + _tr("{covered} of {records} {records:record|records}").format(
            covered=covered, records=records
        )
    what = f"{details.get('attribute', '')}: {level}, {place}"
    return Line(event, look, when, file.holder, what, file.path, file.digest)


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


def _edition(event: LedgerEvent, look: Look) -> Line:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    before, after = details.get("from", {}), details.get("to", {})
    what = _tr("{after} {after:record|records}, before {before}").format(
        after=grouped(int(after.get("rows", 0))), before=grouped(int(before.get("rows", 0)))
    )
    place = after.get("path")
    path = Path(place) if place else None
    return Line(event, look, when, "", what, path, after.get("digest", ""))


def _project(event: LedgerEvent) -> str:
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
        self._all: list[Line] = []
        self._lines: list[Line] = []
        self._order = (WHEN, True)
        self._subject: Subject | None = None
        self._words: tuple[str, ...] = ()

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show events, in the order chosen last."""
        self._all = [line_of(event) for event in events]
        self._show()

    def narrow(self, subject: Subject | None, text: str) -> None:
        """Show events about one subject only (None for all), in which every word occurs."""
        self._subject, self._words = subject, tuple(text.casefold().split())
        self._show()

    def _show(self) -> None:
        self.arrange(*self._order)
        self.lay_out(len(self._lines))

    def line(self, row: int) -> Line:
        """Return what a line shows."""
        return self._lines[row]

    def count(self, subject: Subject | None = None) -> int:
        """Return how many events there are, about a subject or about anything."""
        return sum(subject in (None, line.event.subject) for line in self._all)

    def arrange(self, column: int, descending: bool) -> None:
        """Put the lines in the order of a column."""
        self._order = (column, descending)
        keys: dict[int, Callable[[Line], Any]] = {WHEN: lambda line: line.event.number}
        key = keys.get(column, lambda line: _text(line, column).casefold())
        self._lines = [line for line in self._all if self._is_asked_for(line)]
        self._lines.sort(key=key, reverse=descending)

    def _is_asked_for(self, line: Line) -> bool:
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

    def _tip(self, line: Line, column: int) -> str:
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


def _text(line: Line, column: int) -> str:
    return (
        line.look[2],
        line.when,
        line.who,
        line.what,
        line.path.name if line.path is not None else "",
        line.digest[:DIGEST_SHOWN],
    )[column]
