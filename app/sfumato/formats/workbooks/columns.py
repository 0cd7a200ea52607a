"""Columns of a sheet, gathered piece by piece."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from types import NoneType
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.periods import DURATIONS, Period
from sfumato.formats.columns.arrays import Column, Mask, unmasked
from sfumato.formats.columns.gathering import BlockEvidence, GatheredColumn
from sfumato.formats.options import (
    ColumnType,
    DateOrder,
    ErrorCells,
    Hidden,
    ReadOptions,
    ShownDates,
)
from sfumato.formats.workbooks.blocks import BlockColumn, EncodedCells
from sfumato.formats.workbooks.cells import (
    Cell,
    Clock,
    Code,
    Fault,
    Moment,
    Month,
    Partial,
    Span,
    UnsupportedDate,
    Veiled,
    VeiledText,
    Year,
    cell_text,
    span_number,
)

FIRST: Final = 5
"""So many of the rows are named that something is said of."""
_EXACT: Final = 1 << 53
_NUMBERS: Final = frozenset({int, float})
_TEXTS: Final = frozenset({str, Fault, UnsupportedDate, VeiledText})
"""What says nothing of a column's type but that it is text."""
_NOTHING: Final = frozenset({Fault, UnsupportedDate, Veiled, VeiledText})
"""What is read as missing, unless one chooses otherwise."""
_PERIODS: Final = {4: Period.YEAR, 7: Period.MONTH}
_NUMERIC: Final = frozenset({ColumnType.INTEGER, ColumnType.NUMBER})


@dataclass
class OccurrenceTally:
    """How often something occurs, and at which places first."""

    count: int = 0
    first: list[int] = field(default_factory=list)

    def add(self, places: Iterable[int]) -> None:
        """Count places, which come in their order."""
        for place in places:
            self.count += 1
            if len(self.first) < FIRST:
                self.first.append(place)


class SheetColumn:
    """A column of a sheet that grows piece by piece.

    Numbers stay numbers while all cells are. Else all are kept as texts which give them back, so
    that a column with several kinds of cells is found out about like one of a CSV file. A
    column in which every cell is a text stays text, whatever the texts look like.

    Parameters
    ----------
    name
        The column's name.
    before
        How many rows came before the column's first cell.
    options
        How the sheet is read.
    """

    def __init__(self, name: str, before: int, options: ReadOptions) -> None:
        self.name = name
        self._options = options
        self._new = options.version >= 2
        own = options.column_missing.get(name, ()) if self._new else ()
        self._missing = frozenset((*options.missing, *own, ""))
        self._number_missing = self._new and any(map(_is_number, self._missing))
        self._pieces: list[pa.Array] = [pa.nulls(before, pa.string())] if before else []
        self._moments: dict[int, pa.Array] = {}
        self._rows = before
        self._all_texts = True
        self._sizes: set[int] = set()
        self._kinds: set[type] = set()
        errors = {Fault} if options.error_cells != ErrorCells.MISSING else set()
        veiled = {Veiled, VeiledText} if options.hidden != Hidden.LEAVE_OUT else set()
        self._kept: set[type] = errors | veiled
        self._has_kept = False
        self.finer, self.codes, self.partial = (
            OccurrenceTally(),
            OccurrenceTally(),
            OccurrenceTally(),
        )
        self.coarse = OccurrenceTally()
        self.faults, self.beyond, self.veiled = (
            OccurrenceTally(),
            OccurrenceTally(),
            OccurrenceTally(),
        )

    @property
    def is_empty(self) -> bool:
        """Whether no cell has a value."""
        return all(piece.null_count == len(piece) for piece in self._pieces)

    @property
    def period(self) -> Period | None:
        """What its values stand for, where all of them are of one kind."""
        if not self._new or self.name in self._options.column_types or not self._kinds:
            return None
        if self._kinds == {Clock}:
            return Period.TIME
        if units := {kind.unit for kind in self._kinds if issubclass(kind, Span)}:
            finest = min(units, key=DURATIONS.__getitem__)
            alone = not self._has_kept and all(issubclass(kind, Span) for kind in self._kinds)
            return finest if alone else None
        alike = all(issubclass(kind, Moment) for kind in self._kinds)
        return _PERIODS.get(self.shown) if self.is_as_shown and alike else None

    @property
    def shown(self) -> int:
        """How many characters of its dates are shown; 0 where all are, or not as many of each."""
        return min(self._sizes) if len(self._sizes) == 1 and self._sizes <= _CUT else 0

    @property
    def is_as_shown(self) -> bool:
        """Whether its dates are read as shown; months and years are not where dates are stated."""
        coarse = not self._sizes.isdisjoint(_PERIODS)
        stated = self._options.column_types.get(self.name) == ColumnType.DATE
        as_shown = self._options.shown_dates == ShownDates.AS_SHOWN
        return self._new and as_shown and not (coarse and stated)

    @property
    def is_coarse_in_part(self) -> bool:
        """Whether some of its dates show a month or year alone, and others more or less."""
        return len(self._sizes) > 1 and not self._sizes.isdisjoint(_PERIODS)

    def add(self, cells: Sequence[Cell]) -> None:
        """Append cells; texts that mean a missing value become missing."""
        kinds: set[type] = set(map(type, cells)) - {NoneType}
        self._all_texts &= kinds <= (_TEXTS if self._new else {str})
        self._kinds |= kinds - _NOTHING
        self._has_kept |= not self._kept.isdisjoint(kinds)
        if kinds <= {str}:
            if not self._missing.isdisjoint(cells):
                cells = [None if cell in self._missing else cell for cell in cells]
            piece = pa.array(cells, pa.string())
        else:
            whole = kinds <= _NUMBERS and not self._number_missing
            piece = (_numbers(cells, kinds) if whole else None) or self._mixed(cells, kinds)
        self._pieces.append(piece)
        self._rows += len(piece)

    def add_block(self, cells: BlockColumn) -> None:
        """Append cells that are held together; the column is as if they came one by one."""
        if isinstance(cells, pa.Array):
            self._add_array(cells)
        elif isinstance(cells, EncodedCells):
            self._add_encoded(cells)
        else:
            self.add(cells)

    def _add_array(self, cells: pa.Array) -> None:
        """Append texts or numbers."""
        of_texts = pa.types.is_string(cells.type)
        if cells.null_count == len(cells) or (not of_texts and self._number_missing):
            self.add(cells.to_pylist())
            return
        self._all_texts &= of_texts
        self._kinds.add(str if of_texts else float)
        if of_texts:
            missing = pc.is_in(cells, pa.array(sorted(self._missing), pa.string()))
            if pc.any(missing).as_py():
                cells = pc.if_else(missing, None, cells)
        self._pieces.append(cells)
        self._rows += len(cells)

    def _add_encoded(self, cells: EncodedCells) -> None:
        """Append moments, say, of which nothing is to be told but what they are."""
        cells = cells.occurring()
        kinds = set(map(type, cells.cells)) - {NoneType}
        if any(map(_is_told, cells.cells)) or not all(issubclass(kind, str) for kind in kinds):
            self.add(cells.to_pylist())
            return
        self._all_texts &= kinds <= (_TEXTS if self._new else {str})
        self._kinds |= kinds
        shown = [cell.shown if isinstance(cell, Moment) else None for cell in cells.cells]
        if any(shown):
            self._moments[len(self._pieces)] = pa.array(shown, pa.int8()).take(cells.indices)
            self._sizes.update(size for size in shown if size is not None)
        texts = pa.array(map(self._text, cells.cells), pa.string())
        self._pieces.append(texts.take(cells.indices))
        self._rows += len(cells.indices)

    def _mixed(self, cells: Sequence[Cell], kinds: set[type]) -> pa.Array:
        """Return cells of several kinds as texts."""
        if any(issubclass(kind, Moment) for kind in kinds):
            shown = [cell.shown if isinstance(cell, Moment) else None for cell in cells]
            self._moments[len(self._pieces)] = pa.array(shown, pa.int8())
            self._sizes.update(size for size in shown if size is not None)
        for kind, tally, counts in (
            *((Fault, self.faults, None), (UnsupportedDate, self.beyond, None)),
            *((Veiled, self.veiled, None), (Partial, self.partial, None)),
            *((Moment, self.finer, _is_finer), (Code, self.codes, _is_padded)),
            *((Month, self.coarse, None), (Year, self.coarse, None)),
        ):
            if any(issubclass(found, kind) for found in kinds):
                tally.add(
                    place
                    for place, cell in enumerate(cells, start=self._rows)
                    if isinstance(cell, kind) and (counts is None or counts(cell))
                )
        return pa.array([self._text(cell) for cell in cells], pa.string())

    def _text(self, cell: Cell) -> str | None:
        kind = type(cell)
        if kind is str or cell is None:
            return None if cell is None or cell in self._missing else str(cell)
        if kind is UnsupportedDate:
            return None
        if kind is Fault and self._options.error_cells == ErrorCells.MISSING:
            return None
        if isinstance(cell, Veiled) and self._options.hidden == Hidden.LEAVE_OUT:
            return None
        if isinstance(cell, Code) and self._options.column_types.get(self.name) in _NUMERIC:
            return cell.plain
        text = cell_text(cell)
        return None if self._new and text in self._missing else text

    def gathered(self, options: ReadOptions) -> GatheredColumn:
        """Return the column as found out about by its values."""
        plain = replace(options, decimal=".", thousands="", date_order=DateOrder.YEAR_FIRST)
        fixed = self.name in options.column_types
        in_part = self.is_as_shown and self.is_coarse_in_part
        if not fixed and (self._all_texts or self.codes.count or in_part):
            plain = plain.with_type(self.name, ColumnType.TEXT)
            fixed = True
        seen = None if fixed else self._as_numbers()
        column = GatheredColumn(self.name, plain, self._rows)
        if seen is None:
            of_durations = not fixed and self.period in DURATIONS
            for piece in self._durations() if of_durations else self._texts():
                column.add(piece)
        else:
            for piece, found in seen:
                column.add(piece, found)
        return column

    def as_text(self, options: ReadOptions, keep: Mask | None) -> Column:
        """Return the column as texts, of the rows in `keep` or of all rows."""
        column = GatheredColumn(
            self.name, options.with_type(self.name, ColumnType.TEXT), self._rows
        )
        for piece in self._texts():
            column.add(piece)
        return column.finish(keep)

    def _durations(self) -> Iterable[pa.Array]:
        """Yield durations as numbers of the finest unit that is shown of any."""
        unit = self.period or Period.SECONDS
        for piece in self._pieces:
            held = piece.dictionary_encode()
            numbers = [span_number(span, unit) for span in held.dictionary.to_pylist()]
            yield pa.array(numbers, pa.string()).take(held.indices)

    def _texts(self) -> Iterable[pa.Array]:
        cuts = sorted(self._sizes & _CUT) if self.is_as_shown else []
        for number, piece in enumerate(self._pieces):
            if not pa.types.is_string(piece.type):
                texts = [None if cell is None else cell_text(cell) for cell in piece.to_pylist()]
                yield pa.array(texts, pa.string())
            else:
                for cut in cuts if number in self._moments else ():
                    short = pc.utf8_slice_codeunits(piece, 0, cut)
                    here = pc.fill_null(pc.equal(self._moments[number], cut), False)
                    piece = pc.if_else(here, short, piece)  # noqa: PLW2901
                yield piece

    def _as_numbers(self) -> list[tuple[pa.Array, BlockEvidence]] | None:
        """Return the pieces as numbers, where all of them are and none needs a closer look."""
        numeric = [piece for piece in self._pieces if piece.null_count < len(piece)]
        if not numeric or any(pa.types.is_string(piece.type) for piece in numeric):
            return None
        whole = all(map(_is_whole, numeric))
        if not whole and any(not _fits(piece) for piece in numeric):
            return None
        target = pa.int64() if whole else pa.float64()
        kind = ColumnType.INTEGER if whole else ColumnType.NUMBER
        found = []
        for piece in self._pieces:
            values, missing = unmasked(piece.cast(target))
            # -0 is 0.
            found.append((piece, BlockEvidence(kind, values if whole else values + 0.0, missing)))
        return found


_CUT: Final = frozenset({4, 7, 10})
"""So many characters of a moment are its year, its month, its day."""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_padded(code: object) -> bool:
    return isinstance(code, Code) and code != code.plain


def _is_told(cell: Cell) -> bool:
    """Whether something is to be said of a cell."""
    kinds = (*_NOTHING, Partial, Month, Year)
    return isinstance(cell, kinds) or _is_padded(cell) or _is_finer(cell)


def _is_finer(moment: object) -> bool:
    """Whether a moment is finer than the sheet shows it: the first of a month or year is not."""
    if not isinstance(moment, Moment):
        return False
    rest = moment[moment.shown :]
    return bool(rest) and rest not in {"-01", "-01-01"}


def _numbers(cells: Sequence[Cell], kinds: set[type]) -> pa.Array | None:
    """Return numbers as an array; None where one would be altered."""
    try:
        found = pa.array(cells, pa.float64() if float in kinds else pa.int64())
    except (pa.ArrowException, OverflowError):
        return None
    if pa.types.is_integer(found.type):
        return found if _fits(found) else None
    finite = pc.all(pc.is_finite(found)).as_py()
    return found if finite is not False else None


def _fits(numbers: pa.Array) -> bool:
    """Whether no whole number is larger than a decimal number tells from the next."""
    if not pa.types.is_integer(numbers.type):
        return True
    bounds = pc.min_max(numbers).as_py()
    return bounds["min"] is None or (bounds["max"] <= _EXACT and bounds["min"] >= -_EXACT)


def _is_whole(numbers: pa.Array) -> bool:
    if pa.types.is_integer(numbers.type):
        return True
    whole = pc.and_(
        pc.equal(pc.trunc(numbers), numbers), pc.less_equal(pc.abs(numbers), float(_EXACT))
    )
    return bool(pc.all(whole).as_py() is not False)
