"""Which tables of counts the ledger has, and how much a record loses by them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from datetime import date
from types import MappingProxyType

from sfumato.engine.core.frozen import dataclass
from sfumato.project.ledger import Entry, EntryKind, Withdrawal, tampered_at, withdrawal_in


@dataclass(frozen=True)
class CountTableRecord:
    """One table of counts as the ledger has it.

    Parameters
    ----------
    number
        The number of its entry.
    recorded_at
        When that was; ISO 8601, UTC.
    recipient, target
        Who got it, and where it was put.
    columns
        Its columns, sorted.
    root
        The columns of the table whose noise it has: its own, or those of a finer one that it was
        added from.
    root_digest
        SHA-256 of that table's canonical form.
    edition
        What tells the source table from other editions.
    noise
        The same for two tables with the same noise, and for no others.
    epsilon
        ε for whoever replaces one record, or one unit.
    most_rows
        K of a unit; 1 for records.
    digest
        The bundle's.
    files
        SHA-256 of each file, by name.
    withdrawn
        That it was wrong, where the custodian said so.
    """

    number: int
    recorded_at: str
    recipient: str
    target: str
    columns: tuple[str, ...]
    root: tuple[str, ...]
    root_digest: str
    edition: str
    noise: str
    epsilon: float
    most_rows: int
    digest: str
    files: Mapping[str, str]
    withdrawn: Withdrawal | None = None

    @property
    def day(self) -> date:
        """The day it was recorded, UTC."""
        return date.fromisoformat(self.recorded_at[:10])


def count_tables_in(entries: Iterable[Entry]) -> tuple[CountTableRecord, ...]:
    """Return the tables of counts that entries tell of, oldest first.

    One that was interrupted counts, unless its files were removed before anyone could have them.

    Raises
    ------
    LedgerTampered
        If an entry does not hold what such an entry holds.
    """
    found: dict[int, CountTableRecord] = {}
    for entry in entries:
        if entry.kind == EntryKind.COUNTS_RELEASED:
            found[entry.number] = _record(entry)
        elif entry.kind == EntryKind.RELEASE_ABANDONED:
            found.pop(entry.details.get("prepared", 0), None)
        elif entry.kind == EntryKind.COUNTS_WITHDRAWN:
            number = entry.details.get("withdrawn")
            if isinstance(number, int) and number in found:
                found[number] = replace(found[number], withdrawn=withdrawal_in(entry))
    return tuple(found.values())


def _record(entry: Entry) -> CountTableRecord:
    told = entry.details
    try:
        return CountTableRecord(
            number=entry.number,
            recorded_at=entry.recorded_at,
            recipient=str(told["recipient"]),
            target=str(told["target"]),
            columns=tuple(map(str, told["columns"])),
            root=tuple(map(str, told["root"])),
            root_digest=str(told["root_digest"]),
            edition=str(told["edition"]),
            noise=str(told["noise"]),
            epsilon=float(told["epsilon"]),
            most_rows=int(told["most_rows"]),
            digest=str(told["digest"]),
            files={str(name): str(digest) for name, digest in told["files"].items()},
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise tampered_at(entry.number) from None


def loss_by_tables(
    records: Iterable[CountTableRecord],
    recipients: Collection[str] | None = None,
    more: Mapping[str, float] = MappingProxyType({}),
    most_rows: int | None = None,
) -> float:
    """Return by how much ε a record, or a unit, loses by some recipients' tables together.

    Of tables with the same noise the most trusted one counts alone; other tables and other editions
    have noise of their own, and their ε are added.

    Parameters
    ----------
    records
        The tables.
    recipients
        Who pool theirs; None for all.
    more
        ε by noise of tables that are not released yet.
    most_rows
        K, for whoever has up to so many rows: the noise of a table that was made for other units
        bounds K times what one row tells. None for each table's own.
    """
    most: dict[str, float] = dict(more)
    for record in records:
        if recipients is None or record.recipient in recipients:
            times = 1.0 if most_rows is None else most_rows / record.most_rows
            most[record.noise] = max(most.get(record.noise, 0.0), times * record.epsilon)
    return sum(most.values())
