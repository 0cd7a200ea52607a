"""What the ledger's card says of an event: a drawing, a word, who, what, and which file."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.language import grouped
from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.ledger.ledger import EntryKind
from sfumato.project.ledger.records import LedgerEvent, ReleaseRecord, ReleaseState, Subject
from sfumato.ui.look.wording import local_time, statement_text

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
