"""Columns that undo a coarsening: what a view hides, and others that leave give back."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.view_checks import encoded_of, seen_by, shown_to
from sfumato.analysis.findings import About, Examined, Finding, Remedy, RemedyKind, said_together
from sfumato.analysis.shown_columns import ColumnView, CountedColumns, ShownColumns
from sfumato.analysis.unperturbed.open_figures import has_numbers, whole_codes, whole_numbers
from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.values import Flags, Floats, Indices, Integers
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.disclosure.restored_columns import (
    BINS,
    CoarsenedCodes,
    OpenCodes,
    Restored,
    binned,
    restore,
)
from sfumato.engine.generalization.coded import SUPPRESSED, QuasiIdentifier
from sfumato.engine.randomness.keys import sample_rows
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.views import Coarsened, in_chain

UNDONE_VIEW: Final = "Columns that undo a view"
_NEARLY: Final = 0.9
"""A column is as good as restored where so many of the records that show less are guessed right."""
_HALF: Final = 0.5
_NOTICED: Final = 0.25
"""A part of what is hidden that is worth telling."""
_MOST_ROWS: Final = 1 << 17
_MOST_STEPS: Final = 12


@dataclass(frozen=True)
class GivenBack:
    """What other columns give back of one that a recipient sees more coarsely.

    Parameters
    ----------
    recipient
        Whose view it is.
    level
        The level at which values come back.
    found
        How well, and from which columns.
    """

    recipient: str
    level: int
    found: Restored

    @property
    def is_undone(self) -> bool:
        """Whether the coarsening is as good as undone."""
        return self.found.restored >= _NEARLY and self.found.returned >= _HALF

    @property
    def matters(self) -> bool:
        """Whether it is worth telling."""
        return self.found.returned >= _NOTICED and bool(self.found.telling)

    @property
    def sentence(self) -> Sentence:
        """What is given back, with figures."""
        words = (
            "{columns} {count:gives|give} {name} back, which {recipient} sees more coarsely: its"
            " value{level} is guessed right for {restored:.0f} in 100 of the"
            " {records:,} {records:record|records} that {records:shows|show} less, and for"
            " {alone:.0f} without {columns}."
        )
        level: str = ""
        if self.level:
            level = Sentence(" at level {level}", level=self.level)
        return Sentence(
            words,
            columns=listed(self.found.telling),
            count=len(self.found.telling),
            name=self.found.name,
            recipient=self.recipient,
            level=level,
            restored=100.0 * self.found.restored,
            alone=100.0 * self.found.alone,
            records=self.found.records,
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "column": self.found.name,
            "level": self.level,
            "from": list(self.found.telling),
            "guessed right": round(self.found.restored, 4),
            "without": round(self.found.alone, 4),
            "undone": self.is_undone,
        }


def undone_views(examined: Examined) -> Iterator[Finding]:
    """Tell which coarsened columns come back from others that leave, with what suffices."""
    for one in _given_back(examined):
        if not one.matters:
            continue
        remedy = _remedy(examined, one)
        yield Finding(
            UNDONE_VIEW,
            Severity.GRAVE if one.is_undone else Severity.CAUTION,
            one.sentence,
            (
                one.found.name,
                list(one.found.telling),
                one.level,
                round(100 * one.found.restored),
                round(100 * one.found.alone),
            ),
            (one.found.name, *one.found.telling),
            () if remedy is None else (remedy,),
            about=About.POLICY,
            exposure=one.found.restored,
        )


def given_back(document: Document, table: BatchedTable, context: Context) -> tuple[GivenBack, ...]:
    """Return what matters of what other columns give back to each recipient with a view.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`released_rows`).
    context
        Progress and cancelling.
    """
    found: list[GivenBack] = []
    try:
        columns = CountedColumns(table.summary(document, Silent()), table)
        for place, each in enumerate(chain := in_chain(document)):
            context.report(place / len(chain), "Looking for columns that undo a view")
            shown = shown_to(document, each, columns)
            examined = Examined(document, each, shown, columns, {})
            found += [one for one in _given_back(examined) if one.matters]
    except SfumatoError:
        pass  # the counts of the views say what is wrong
    return tuple(found)


@dataclass(frozen=True)
class _Hidden:
    """A quasi-identifier as a view shows it, and what decides that."""

    look: ColumnView
    quasi: QuasiIdentifier
    level: int
    coarse: Integers
    starred: Flags


def _given_back(examined: Examined) -> Sequence[GivenBack]:
    """Return what comes back of each column that the recipient's view coarsens, most first."""
    views = [look for look in examined.shown if look.view]
    seen = seen_by(examined.document, examined.recipient, examined.columns) if views else None
    if seen is None:
        return ()
    key = ("given back", frozenset(look.bare for look in examined.shown))

    def find() -> tuple[GivenBack, ...]:
        others = _others(examined)
        found = []
        for look in views:
            examined.context.report(0.5, Sentence("Restoring {column}", column=look.name))
            hidden = _hidden(examined, look, seen)
            beside = [one for one in others if one.name != look.name]
            found.append(_restored(examined, hidden, beside))
        return tuple(sorted(found, key=lambda one: -one.found.returned))

    name = examined.recipient.name
    # Recipients may have the same view.
    return [replace(one, recipient=name) for one in examined.columns.keep(key, find)]


def _rows(columns: ShownColumns) -> Indices:
    return sample_rows(columns.table.rows, _MOST_ROWS)


def _others(examined: Examined) -> list[OpenCodes]:
    """Return all columns that leave, by their values, and by bins where they have many numbers."""
    columns, found = examined.columns, list[OpenCodes]()
    rows = _rows(columns)
    for look in examined.shown:
        codes = whole_codes(columns, look)[rows]
        if look.view:
            codes[_starred(columns, look, rows)] = -1
        values = int(codes.max(initial=0)) + 1
        if values <= len(rows) / 2:
            found.append(OpenCodes(look.name, codes, look.bare))
        if values > BINS and look.spec.kind is not Kind.CATEGORICAL and not look.view:
            numbers = _numbers(columns, look)
            if numbers is not None:
                bins = binned(codes, numbers[rows])
                found.append(OpenCodes(look.name, bins, (look.bare, BINS)))
    return found


def _numbers(columns: ShownColumns, look: ColumnView) -> Floats | None:
    return whole_numbers(columns, look) if has_numbers(columns, look) else None


def _starred(columns: ShownColumns, look: ColumnView, rows: Indices) -> Flags:
    """Return which rows show nothing of a column, shape (rows,)."""
    starred: Flags = (look.shown(columns.table).iloc[rows] == SUPPRESSED).to_numpy(dtype=np.bool_)
    return starred


def _hidden(examined: Examined, look: ColumnView, seen: Coarsened) -> _Hidden:
    quasi = encoded_of(examined.document, examined.columns, seen.coarsening, look.name)
    rows = _rows(examined.columns)
    level = seen.coarsening.level(look.name)
    coarse = whole_codes(examined.columns, look)[rows]
    starred = _starred(examined.columns, look, rows)
    if quasi.sizes[level] == 1:  # all rows show it
        starred = np.zeros(len(rows), dtype=np.bool_)
    return _Hidden(look.bare, quasi, level, coarse, starred)


def _restored(examined: Examined, hidden: _Hidden, beside: Sequence[OpenCodes]) -> GivenBack:
    """Return how well a column comes back: at the finest level at which it is no less so."""
    units = examined.columns.units
    rows = _rows(examined.columns)
    units = None if units is None else units[rows]
    first = max(hidden.level - 1, 0)

    def found_at(level: int) -> Restored:
        def keep(told: Hashable, find: Callable[[], float]) -> float:
            return examined.columns.keep(("screened", hidden.look, level, told), find)

        return restore(_column(hidden, rows, level), beside, units, keep)

    best = GivenBack(examined.recipient.name, first, found_at(first))
    if first and best.matters:
        finest = found_at(0)
        other = GivenBack(examined.recipient.name, 0, finest)
        if (other.is_undone, other.matters) >= (best.is_undone, best.matters):
            best = other
    return best


def _column(hidden: _Hidden, rows: Indices, level: int) -> CoarsenedCodes:
    true = hidden.quasi.levels[level][hidden.quasi.codes[rows]]
    affected = np.ones(len(rows), dtype=np.bool_) if hidden.level else hidden.starred
    return CoarsenedCodes(hidden.quasi.name, hidden.coarse, true, affected, hidden.starred)


def _remedy(examined: Examined, one: GivenBack) -> Remedy | None:
    """Return the one remedy after which hardly anything comes back, if a few columns suffice."""
    look = next(look for look in examined.shown if look.name == one.found.name)
    seen = seen_by(examined.document, examined.recipient, examined.columns)
    if seen is None:
        return None
    hidden, others = _hidden(examined, look, seen), _others(examined)
    now = one
    parts: dict[str, Remedy] = {}
    for _ in range(_MOST_STEPS):
        telling = now.found.telling[0]
        part, codes = _without(examined, telling, parts.get(telling), seen)
        parts[telling] = part
        others = [other for other in others if other.name != telling]
        if codes is not None:
            others.append(OpenCodes(telling, codes, (telling, part.level)))
        beside = [other for other in others if other.name != one.found.name]
        now = _restored(examined, hidden, beside)
        if not now.matters:
            return _together(list(parts.values()))
    return None


def _without(
    examined: Examined, name: str, before: Remedy | None, seen: Coarsened
) -> tuple[Remedy, Integers | None]:
    """Return what shows less of a column, and what is left of it then; None for nothing."""
    if name not in seen.coarsening.hierarchies:
        words = Sentence("Drop {column}", column=name)
        return Remedy(RemedyKind.DROP, words, name), None
    quasi = encoded_of(examined.document, examined.columns, seen.coarsening, name)
    level = (seen.coarsening.level(name) if before is None else before.level) + 1
    level = min(level, quasi.height)
    whose = examined.recipient.name
    remedy = Remedy(RemedyKind.RAISE, "", name, recipient=whose, level=level)
    codes = quasi.levels[level][quasi.codes[_rows(examined.columns)]]
    return remedy, codes if quasi.sizes[level] > 1 else None


def _together(parts: list[Remedy]) -> Remedy:
    words = Sentence("{deeds}", deeds=said_together(parts))
    if len(parts) == 1:
        return replace(parts[0], words=words)
    dropped = tuple(one.column for one in parts if one.deed is RemedyKind.DROP)
    if len(dropped) == len(parts):
        return Remedy(RemedyKind.DROP, words, dropped[0], columns=dropped)
    return Remedy(
        RemedyKind.TOGETHER,
        words,
        parts[0].column,
        columns=tuple(one.column for one in parts),
        parts=tuple(parts),
    )
