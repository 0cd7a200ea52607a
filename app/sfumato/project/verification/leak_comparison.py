"""A leaked file compared with the releases that it may come from, column by column."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from math import prod
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.mixed_files import (
    ColumnCells,
    mixed_likelihood,
    mixings,
    rounded_as,
    with_mixing,
)
from sfumato.engine.disclosure.tracing import (
    ABSENT,
    LeakCounts,
    RowGroups,
    RowOrigin,
    TracedLeak,
    count_rows,
    occurring,
)
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.formats.comparison import EXACT, as_text, common_positions, is_number
from sfumato.project.document.edits import true_together
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import CountedOpenColumn
from sfumato.project.release.leaving_units import look_at_units
from sfumato.project.release.regenerate import Regenerator, columns_for
from sfumato.project.release.units import units_in
from sfumato.project.release.witnesses import frame_of
from sfumato.project.verification.leak_candidates import LeakCandidate, made_again, opened
from sfumato.project.verification.policies import PartMaker, TablePolicies

_DRAWN: Final = 20
"""So often a release is drawn with other keys: fewer let chance look like a release."""
_CELLS_TRIED: Final = 40_000_000
"""So many cells are mixed at most to see whether a file was; beyond that, a part of the rows is."""


@dataclass(frozen=True, eq=False)
class UnitsLeft:
    """What is known of the units of a table's rows that leave.

    Parameters
    ----------
    sizes
        How many rows of its unit leave, with each of the rows that may be leaked ones, shape (n,);
        0 where it does not leave itself.
    largest
        The most rows of one unit that leave.
    constant
        The columns, as they are shown, that are the same in all of them of every unit.
    """

    sizes: npt.NDArray[np.int64]
    largest: int
    constant: tuple[str, ...]


@dataclass(frozen=True)
class LeakSource:
    """The rows of a table that a leaked file may show, and what is known of all its rows.

    Parameters
    ----------
    table
        These rows. The others are like no leaked one in what no release perturbs.
    rows
        How many rows the table has, n.
    candidates
        Make these rows' columns.
    different
        How many different values a column has at least, by name.
    occurs
        How often each leaked value stands in a column of the table, shape (k,), by the places of
        what makes it (`LeakCandidate.maker`) and the column's name.
    units_left
        Finds what is known of the units of all rows that leave.
    """

    table: Table
    rows: int
    candidates: tuple[LeakCandidate, ...]
    different: Mapping[str, int]
    occurs: Mapping[tuple[int, str], npt.NDArray[np.int64]]
    units_left: Callable[[LeakCandidate, Mapping[str, pd.Series]], UnitsLeft]


class LeakComparison:
    """A leaked file beside the releases that it may come from, column by column."""

    def __init__(self, leak: Table, source: LeakSource, telling: Sequence[str]) -> None:
        self._leak, self._source, self._telling = leak, source, telling
        self._candidates = source.candidates
        self._different = dict(source.different)
        self._start = RowGroups.before_any_column(leak.rows, source.table.rows)
        self._shown: list[dict[str, pd.Series]] = []
        self._open: dict[tuple[int, str], dict[str, pd.Series]] = {}
        names = [name for name in leak.columns if name not in telling]
        for candidate in self._candidates:
            if candidate.seen not in self._open:
                self._open[candidate.seen] = opened(candidate.maker, names, candidate.view)

    def counts(self, context: Context) -> tuple[LeakCounts, tuple[str, ...]]:
        """Count the leaked rows in every candidate; return the columns compared as well."""
        groups, had = [], []
        starts = {seen: self._split(self._start, shown) for seen, shown in self._open.items()}
        # The policy that explains most of the rows tells how the table's own rows look.
        nearest = max(self._candidates, key=lambda one: starts[one.seen].found)
        self._nearest = start = starts[nearest.seen]
        every = -(-len(mixings(len(self._candidates), True)) * self._source.rows // _CELLS_TRIED)
        self._tried = start.leaked % max(every, 1) == 0
        self._kept = np.flatnonzero((start.table != ABSENT) & (start.table % max(every, 1) == 0))
        for candidate, part in one_by_one(context, self._candidates):
            part.report(0.0, Sentence("Making the release to {name} again", name=candidate.name))
            seen = candidate.seen
            made = made_again(candidate, self._telling, part)
            if every:
                self._shown.append({name: each.iloc[self._kept] for name, each in made.items()})
            groups.append(self._split(starts[seen], made))
            had.append({*self._open[seen], *made})
        everything = set().union(*had)
        compared = sorted(
            (name for name in self._leak.columns if name in everything),
            key=lambda name: name in self._telling,
        )
        whole = RowGroups.before_any_column(self._leak.rows, self._leak.rows)
        for name in compared:
            whole = split_by(whole, self._leak.column(name), self._leak.column(name), {})
        added = np.array([self._chance(everything - own) for own in had])
        context.report(1.0, "Comparing with the table itself")
        telling, self._whole, self._groups = self._telling, whole.leaked, groups
        ways = _ways(start, self._leak, telling, nearest.maker, self._different, self._source)
        lacked = self._chance(everything - {*self._open[nearest.seen], *telling})
        ways = [replace(way, others=way.others * lacked) for way in ways]
        possible = float(prod(map(float, self._different.values())))
        together = self._together(starts, whole)
        found = count_rows(groups, self._source.rows, possible, ways, whole, added, together)
        return found, tuple(compared)

    def drawn_otherwise(self, place: int, context: Context) -> list[npt.NDArray[np.int64]]:
        """Return how often leaked rows occur in a candidate's release drawn with other keys.

        Empty where other keys draw the same: an adopted release, or true values.
        """
        candidate, maker = self._candidates[place], self._candidates[place].maker
        assert isinstance(maker, PartMaker)
        start = self._split(self._start, self._open[candidate.seen])
        distinct, found = int(self._whole.max()) + 1, []
        own = occurring(self._groups[place], self._whole, distinct)
        for number, part in one_by_one(context, range(_DRAWN)):
            other = replace(candidate, maker=maker.with_keys(_other_keys(number)))
            made = made_again(other, self._telling, part)
            found.append(occurring(self._split(start, made), self._whole, distinct))
        return [] if all((each == own).all() for each in found) else found

    def mixed(self, traced: TracedLeak, counts: LeakCounts, context: Context) -> TracedLeak:
        """Return what the file tells if cells of several candidates may have been mixed.

        Parameters
        ----------
        traced, counts
            What it tells if whole rows were mixed at most, and what that was found from.
        """
        if min(map(len, self._shown), default=0) < len(self._telling):
            return traced
        columns = [self._cells(name) for name in self._telling]
        tried = mixings(len(self._shown), any(each.is_number for each in columns))
        if not tried or not self._tried.any():
            return traced
        start = self._nearest
        start = RowGroups(start.leaked[self._tried], start.table[self._kept], start.count)
        found = np.zeros((len(tried), len(counts.leaked)))
        whole = self._whole[self._tried]
        for place, mixing in enumerate(tried):
            context.report(0.8 * place / len(tried), "Weighing the releases")
            found[place, whole] = mixed_likelihood(mixing, columns, start, self._source.rows)
        rows = np.isin(np.arange(len(counts.leaked)), whole)
        part = Part(context, 0.8, 1.0)
        return with_mixing(traced, counts.only(rows), tried, found[:, rows], part)

    def _cells(self, name: str) -> ColumnCells:
        """Return a perturbed column of the file and of every candidate as ordered numbers."""
        every = [self._leak.column(name)[self._tried], *(shown[name] for shown in self._shown)]
        number = all(is_number(column) for column in every)
        if number:
            cells = [column.to_numpy(dtype=np.float64, na_value=np.nan) for column in every]
        else:
            texts = [as_text(column) for column in every]
            known = sorted(set().union(*(column.dropna().unique() for column in texts)))
            codes = [pd.Categorical(column, categories=known).codes for column in texts]
            cells = [np.where(code < 0, np.nan, code.astype(np.float64)) for code in codes]
        return ColumnCells(cells[0], np.stack(cells[1:]), number)

    def _together(
        self, starts: Mapping[tuple[int, str], RowGroups], whole: RowGroups
    ) -> npt.NDArray[np.int64] | None:
        """Return how many leaked rows may show one draw with each, at most, shape (k,).

        Where an attribute is drawn once for a unit these are the unit's rows in the file. Which
        they are is not known; but they are no more than such a unit has in the table, and no more
        than the leaked rows that are alike in all that is the same in a unit's rows.
        """
        found: npt.NDArray[np.int64] | None = None
        for candidate in self._candidates:
            names = [n for plan in candidate.plans if plan.by_unit for n in plan.attributes]
            once = [name for name in names if name in self._telling]
            if not once:
                continue
            most = self._rows_of_a_unit(candidate, once, starts[candidate.seen])
            found = most if found is None else np.maximum(found, most)
        if found is None:
            return None
        # Rows alike in every column compared count alike.
        most = np.zeros(whole.count, dtype=np.int64)
        np.maximum.at(most, whole.leaked, found)
        return most[whole.leaked]

    def _rows_of_a_unit(
        self, candidate: LeakCandidate, once: Sequence[str], start: RowGroups
    ) -> npt.NDArray[np.int64]:
        """Return how many of a candidate's rows in the file may be of one unit, shape (k,)."""
        left = self._source.units_left(candidate, self._open[candidate.seen])
        known = (start.table != ABSENT) & (left.sizes > 0)
        most = np.zeros(start.count, dtype=np.int64)
        np.maximum.at(most, start.table[known], left.sizes[known])
        bound = most[start.leaked]
        # A row that is like none of the table's may be of any unit.
        bound[bound == 0] = left.largest
        alike = RowGroups.before_any_column(self._leak.rows, self._leak.rows)
        for name in (*once, *left.constant):
            alike = split_by(alike, self._leak.column(name), self._leak.column(name), {})
        here = np.bincount(alike.leaked)[alike.leaked]
        together: npt.NDArray[np.int64] = np.minimum(bound, here)
        return together

    def _chance(self, names: Collection[str]) -> float:
        """Return how likely the values of columns are that a release does not have."""
        return float(prod(1.0 / self._different[name] for name in names))

    def _split(self, groups: RowGroups, columns: Mapping[str, pd.Series]) -> RowGroups:
        for name, column in columns.items():
            groups = split_by(groups, column, self._leak.column(name), self._different)
        return groups


def _other_keys(number: int) -> KeyRing:
    """Return keys that are no project's; the same each time, so that a file is told alike."""
    return KeyRing(sha256(f"no project's keys {number}".encode()).digest())


def _ways(
    start: RowGroups,
    leak: Table,
    telling: Sequence[str],
    regenerator: Regenerator,
    different: Mapping[str, int],
    source: LeakSource,
) -> list[RowOrigin]:
    """Return how rows can come about without any release, the table itself last.

    The columns that no release perturbs are the table's, and so are some of the others. The rest
    is drawn by chance: evenly, or as often as each value occurs in the table.
    """
    truth = {name: regenerator.unperturbed(name) for name in telling}
    even = {name: np.full(leak.rows, 1.0 / different[name]) for name in telling}
    if any(column is None for column in truth.values()):
        return [RowOrigin(start, _product(even.values(), leak.rows), shows_truth=False)]
    true = {name: column for name, column in truth.items() if column is not None}
    usual = {}
    for name in true:
        usual[name] = source.occurs[id(regenerator), name] / source.rows
    ways = []
    for kept in true_together(telling):
        groups = start
        for name in kept:
            groups = split_by(groups, true[name], leak.column(name), dict(different))
        # With all columns true nothing is left to chance.
        for chances in (even, usual) if len(kept) < len(telling) else (even,):
            others = _product((chances[name] for name in telling if name not in kept), leak.rows)
            ways.append(RowOrigin(groups, others, shows_truth=bool(kept)))
    return ways


def occurrences(true: pd.Series, leaked: pd.Series) -> npt.NDArray[np.int64]:
    """Return how often each leaked value occurs in a column of the table, shape (k,)."""
    places, leaked_places = common_positions(*alike(true, leaked))
    # Missing is -1, and what the table does not have lies below.
    counts = np.bincount(places + 1, minlength=1)
    found: npt.NDArray[np.int64] = counts[np.maximum(leaked_places + 1, 0)]
    return np.where(leaked_places < -1, 0, found)


def _product(factors: Iterable[npt.NDArray[np.float64]], rows: int) -> npt.NDArray[np.float64]:
    product: npt.NDArray[np.float64] = np.prod([np.ones(rows), *factors], axis=0)
    return product


def split_by(
    groups: RowGroups, released: pd.Series, leaked: pd.Series, different: dict[str, int]
) -> RowGroups:
    """Return groups split by one more column, and say how many values it has in `different`."""
    expected, actual = alike(released, leaked)
    table_places, leaked_places = common_positions(expected, actual)
    name = str(leaked.name)
    # One more would make chance less likely than it is, and speak for every release.
    different[name] = max(different.get(name, 1), len(np.unique(table_places)))
    return groups.split_by(leaked_places, table_places)


def alike(released: pd.Series, leaked: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Return both columns as text where one was read as numbers and the other was not.

    Numbers are as precise as the leaked ones are, whatever was done to these.
    """
    if is_number(released) != is_number(leaked):
        return as_text(released), as_text(leaked)
    if not is_number(released):
        return released, leaked
    numbers = [each.to_numpy(dtype=np.float64, na_value=np.nan) for each in (released, leaked)]
    if any((np.abs(each) >= EXACT).any() for each in numbers):
        return released, leaked
    shown, found = rounded_as(numbers[1], numbers[0])[::-1]
    return pd.Series(shown, name=released.name), pd.Series(found, name=leaked.name)


MOST_ALIKE: Final = 1 << 21
"""So many rows of the table are compared at most."""


class LeakRows:
    """All rows of a source table, of which some may be in a leaked file.

    Parameters
    ----------
    project, table
        The project, and its source table.
    context
        Progress and cancelling.
    """

    def __init__(self, project: ProjectFile, table: BatchedTable, context: Context) -> None:
        self._table, self._keys = table, project.keys
        self.policies = TablePolicies(project, table, context)
        self._units: dict[tuple[int, str], UnitsLeft] = {}

    def parts(self, names: Sequence[str], context: Context) -> Iterator[Table]:
        """Yield all rows with some columns, those that the table has."""
        known = [name for name in names if name in self._table.columns]
        for batch, _ in self._table.read(known, "Making pseudonyms again", context):
            yield self._part([batch], known)

    def shown(
        self, names: Sequence[str], candidates: tuple[LeakCandidate, ...], context: Context
    ) -> Iterator[tuple[LeakCandidate, ...]]:
        """Yield candidates that make some columns of all rows, part by part."""
        needed = self._needed(names, candidates)
        for each in candidates:
            if each.view is not None:
                self.policies.context_of(each.maker).look_through_view(each.view)
        for batch, rows in self._table.read(needed, "Comparing the columns", context):
            yield self._made_of(self._part([batch], needed), rows, candidates)

    def like(
        self,
        leak: Table,
        telling: Sequence[str],
        candidates: tuple[LeakCandidate, ...],
        context: Context,
    ) -> LeakSource:
        """Return the rows that are like a leaked one in what a release does not perturb.

        Raises
        ------
        TableError
            If they are too many, or the table changed.
        """
        names, search = (
            self._needed(leak.columns, candidates),
            _LeakSearch(leak, telling, candidates),
        )
        for each in candidates:
            self.policies.context_of(each.maker).look_through(each, self._keys)
        kept: list[pa.RecordBatch] = []
        where: list[npt.NDArray[np.int64]] = []
        found = 0
        for batch, rows in self._table.read(names, "Comparing the rows", context):
            part = self._part([batch], names)
            alike = search.look_at(self._made_of(part, rows, candidates))
            found += int(alike.sum())
            if found > self._table.most_held(MOST_ALIKE):
                raise TableError(
                    "More than {most:,} {most:row|rows} of the table are like the leaked ones in"
                    " what releases show unperturbed, too many to be compared in parts.",
                    "Give the file the names of more of its columns, or let more memory be taken.",
                    most=MOST_ALIKE,
                )
            if alike.any():
                kept.append(batch.filter(pa.array(alike)))
                where.append(rows[alike])
        places = np.concatenate([np.empty(0, dtype=np.int64), *where])
        those = self._made_of(self._part(kept, names), places, candidates)
        told = search.told(those)
        return LeakSource(those[0].maker.table, self._table.rows, those, *told, self._units_left)

    def _units_left(self, candidate: LeakCandidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        """Return what is known of units that leave; found once for a view."""
        if candidate.seen not in self._units:
            self._units[candidate.seen] = self._look_at_units(candidate, shown)
        return self._units[candidate.seen]

    def _look_at_units(self, candidate: LeakCandidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
        maker, view, names = candidate.maker, candidate.view, list(shown)
        assert isinstance(maker, PartMaker)
        settled, unit = maker.settled, maker.document.unit
        assert unit is not None
        assert maker.unit_ids is not None
        whose, of_rows = np.unique(maker.unit_ids, return_inverse=True)
        sizes = np.zeros(len(whose), dtype=np.int64)
        for batch, _ in settled.left.read(unit.columns, "Looking at the units", Silent()):
            units = units_in(batch, unit, self._keys)
            sizes += np.bincount(
                np.searchsorted(whose, units[np.isin(units, whose)]), None, len(whose)
            )
        leave = np.isin(np.arange(len(of_rows)), maker.leaving)
        wanted = {*names, *(() if view is None else view.hierarchies)}
        read = [name for name in self._table.columns if name in wanted]

        def as_seen(batch: pa.RecordBatch, rows: npt.NDArray[np.int64]) -> Mapping[str, pd.Series]:
            part = self._part([batch.select(read)], read)
            return opened(PartMaker(settled, part, self._keys, rows), names, view)

        same, most = look_at_units(settled.left, unit.columns, names, Silent(), as_seen, read)
        return UnitsLeft(np.where(leave, sizes[of_rows], 0), most, same)

    def _part(self, batches: Sequence[pa.RecordBatch], names: Sequence[str]) -> Table:
        types = {name: self._table.batches.types[name] for name in names}
        frame = frame_of(batches, types, max(sum(map(len, batches)), 1))
        return Table(frame, self._table.batches.value_labels, is_part=True)

    def _needed(self, columns: Sequence[str], candidates: Sequence[LeakCandidate]) -> list[str]:
        """Return the columns that the comparison needs, in the table's order."""
        wanted = set(columns)
        for candidate in candidates:
            wanted |= set(() if candidate.view is None else candidate.view.hierarchies)
            wanted |= columns_for(candidate.maker.document, candidate.plans)
        return [name for name in self._table.columns if name in wanted]

    def _made_of(
        self,
        part: Table,
        places: npt.NDArray[np.int64],
        candidates: Sequence[LeakCandidate],
    ) -> tuple[LeakCandidate, ...]:
        """Return the candidates as they make columns of rows that stand in some places."""
        makers = {
            id(maker): PartMaker(self.policies.context_of(maker), part, self._keys, places)
            for maker in {id(each.maker): each.maker for each in candidates}.values()
        }
        return tuple(replace(each, maker=makers[id(each.maker)]) for each in candidates)


class _LeakSearch:
    """Looks for rows like a leaked one, and counts in all rows what chance is judged by."""

    def __init__(
        self, leak: Table, telling: Sequence[str], candidates: Sequence[LeakCandidate]
    ) -> None:
        self._leak, self._telling = leak, telling
        self._names = [name for name in leak.columns if name not in telling]
        self._makers = list(dict.fromkeys(id(each.maker) for each in candidates))
        self._of_maker = [self._makers.index(id(each.maker)) for each in candidates]
        self._counted: dict[tuple[object, str], CountedOpenColumn] = {}
        self._occurs: dict[tuple[int, str], npt.NDArray[np.int64]] = {}

    def look_at(self, candidates: Sequence[LeakCandidate]) -> npt.NDArray[np.bool_]:
        """Return which of the rows that candidates make are like a leaked one, shape (n,)."""
        rows = candidates[0].maker.table.rows
        found = np.zeros(rows, dtype=np.bool_)
        done: dict[object, None] = {}
        for place, (number, each) in enumerate(zip(self._of_maker, candidates, strict=True)):
            seen = number, each.seen[1]
            if seen not in done:
                done[seen] = None
                groups = RowGroups.before_any_column(self._leak.rows, rows)
                for name, column in opened(each.maker, self._names, each.view).items():
                    self._count(seen, name, column)
                    groups = split_by(groups, column, self._leak.column(name), {})
                found |= groups.table != ABSENT
            for name, column in made_again(each, self._telling, Silent()).items():
                self._count(place, name, column)
            for name in self._telling:
                true = None if (number, name) in done else each.maker.unperturbed(name)
                if true is not None:
                    done[number, name] = None
                    here = occurrences(true, self._leak.column(name))
                    self._occurs[number, name] = self._occurs.get((number, name), 0) + here
        return found

    def _count(self, of: object, name: str, column: pd.Series) -> None:
        known = self._counted.setdefault(
            (of, name), CountedOpenColumn(ColumnSpec(name, Role.INSENSITIVE))
        )
        known.marks(alike(column, self._leak.column(name))[0].rename(name), True)

    def told(
        self, candidates: Sequence[LeakCandidate]
    ) -> tuple[dict[str, int], dict[tuple[int, str], npt.NDArray[np.int64]]]:
        """Return how many values columns have, and how often leaked ones occur (`LeakSource`)."""
        different: dict[str, int] = {}
        for (_, name), column in self._counted.items():
            facts = column.facts()
            values = facts.distinct + bool(facts.missing)
            different[name] = max(different.get(name, 1), values)
        makers = {
            number: id(each.maker) for number, each in zip(self._of_maker, candidates, strict=True)
        }
        occurs = {(makers[number], name): each for (number, name), each in self._occurs.items()}
        return different, occurs
