"""Tracing a leak: which releases a file comes from that was found somewhere.

The file may be a whole release or some of its rows, in another order, with columns missing or
added, altered here and there, or put together from several recipients' files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import factorize
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.mixed_files import (
    ColumnCells,
    Rule,
    mixed_likelihood,
    mixings,
    with_mixing,
)
from sfumato.engine.disclosure.tracing import (
    ABSENT,
    LeakCounts,
    RowGroups,
    Suspect,
    TracedLeak,
    Way,
    count_rows,
    trace_leak,
)
from sfumato.engine.table.repeated_units import varying_units
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME
from sfumato.formats.bundles.packages import bundle_at, lone_file
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.comparison import common_positions, is_number
from sfumato.formats.files import is_folder
from sfumato.formats.formulas import undone_if_escaped
from sfumato.formats.options import BadValues
from sfumato.formats.reading import detect_options, read_table
from sfumato.project.adoption.adopt import rung_holders
from sfumato.project.document.edits import true_together
from sfumato.project.document.entry_plan import EntryPlan, adopted_plan, plan_release
from sfumato.project.document.model import canonical_json
from sfumato.project.errors import NotTraceable
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.plan import open_column
from sfumato.project.release.regenerate import PoliciesInForce, Regenerator
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.views import Coarsening, coarsening_of
from sfumato.project.verification.recognition import PseudonymMatch, pseudonym_matches

_NEARLY_NONE: Final = 1e-6
_NEARLY_ALL: Final = 0.99
_CELLS_TRIED: Final = 40_000_000
"""So many cells are mixed at most to see whether a file was; beyond that, a part of the rows is."""
_HOW: Final = {
    Rule.AVERAGE: "by averaging their values",
    Rule.LOWER: "by taking the lower value each time",
    Rule.HIGHER: "by taking the higher value each time",
    Rule.VOTE: "by taking the value that most of them have",
    Rule.ANY: "by taking each value from one of them",
}


@dataclass(frozen=True)
class Candidate:
    """Releases that show the same values: one that a leaked file may come from.

    Parameters
    ----------
    plans
        The policy entries with their levels.
    records
        The ledger's releases with these values.
    recipients
        Whom they were made for, or would be made for by the present policy.
    maker
        Makes them again, by the policy that was in force.
    view
        How coarsely they show the quasi-identifiers; None for as they are.
    """

    plans: tuple[EntryPlan, ...]
    records: tuple[ReleaseRecord, ...]
    recipients: tuple[str, ...]
    maker: Regenerator = field(compare=False, repr=False)
    view: Coarsening | None = None

    @property
    def seen(self) -> tuple[int, str]:
        """What candidates share that show the unperturbed columns alike."""
        view = "" if self.view is None else canonical_json(self.view.to_dict())
        return id(self.maker), view

    @property
    def name(self) -> str:
        """The recipients, as they are shown."""
        return ", ".join(self.recipients)


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


def units_left(candidate: Candidate, shown: Mapping[str, pd.Series]) -> UnitsLeft:
    """Return what is known of units that leave, with columns as a candidate shows them."""
    maker, leaving = candidate.maker, candidate.maker.leaving
    units = maker.units[leaving]
    sizes = np.zeros(maker.table.rows, dtype=np.int64)
    sizes[leaving] = np.bincount(units)[units]
    constant = (
        name
        for name, column in shown.items()
        if not varying_units(units, factorize(column.iloc[leaving])[0]).any()
    )
    return UnitsLeft(sizes, int(sizes.max()), tuple(constant))


@dataclass(frozen=True)
class Source:
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
        what makes it (`Candidate.maker`) and the column's name; found here where it is not told.
    units_left
        Finds what is known of the units of all rows that leave.
    """

    table: Table
    rows: int
    candidates: tuple[Candidate, ...]
    different: Mapping[str, int] = field(default_factory=dict)
    occurs: Mapping[tuple[int, str], npt.NDArray[np.int64]] = field(default_factory=dict)
    units_left: Callable[[Candidate, Mapping[str, pd.Series]], UnitsLeft] = units_left


@dataclass(frozen=True)
class LeakReport:
    """What a leaked file tells of where it comes from.

    Parameters
    ----------
    candidates
        The releases it was compared with; `Suspect.candidates` are places among them.
    traced
        What speaks for each of them.
    compared
        The columns that were compared.
    ignored
        The file's columns that no release has.
    pseudonyms
        This project's pseudonyms that stand in the file.
    """

    candidates: tuple[Candidate, ...]
    traced: TracedLeak
    compared: tuple[str, ...]
    ignored: tuple[str, ...]
    pseudonyms: tuple[PseudonymMatch, ...] = ()

    @property
    def is_traced(self) -> bool:
        """Whether the file names anyone."""
        return bool(self.traced.sources or self.pseudonyms)

    def name_of(self, suspect: Suspect) -> str:
        """Return the recipients of a suspect."""
        names = [r for place in suspect.candidates for r in self.candidates[place].recipients]
        return ", ".join(dict.fromkeys(names))

    @property
    def verdict(self) -> str:
        """Where the file comes from: what its pseudonyms say, and what its values do."""
        pseudonyms = [match.sentence for match in self.pseudonyms]
        return joined(*pseudonyms, self._verdict_on_values)

    @property
    def _verdict_on_values(self) -> str:
        sources, rows = self.traced.sources, self.traced.rows
        if not sources and self.traced.of_table > 0.0:
            return self._verdict_on_the_table
        if not sources and not self.traced.suspects:
            return Sentence("The file has no perturbed column, so nothing else was compared.")
        if not sources:
            return Sentence(
                "The values of the file's {rows:,} {rows:row don't|rows don't} tell which release"
                " they come from: what speaks for any of them could be chance.",
                rows=rows,
            )
        if len(sources) == 1:
            doubt = 1.0 - sources[0].posterior
            return Sentence(
                "The {rows:,} {rows:row comes|rows come} from the release to {name}. The"
                " probability that it is another one of this project is {doubt:.1g}."
                if doubt > _NEARLY_NONE
                else "The {rows:,} {rows:row comes|rows come} from the release to {name}. The"
                " probability that it is another one of this project is less than {doubt:.6f}.",
                rows=rows,
                name=self.name_of(sources[0]),
                doubt=max(doubt, _NEARLY_NONE),
            )
        if self.traced.rule is not None:
            return Sentence(
                "The {rows:,} {rows:row was|rows were} mixed from the releases to {names} {how}.",
                rows=rows,
                names=listed([self.name_of(source) for source in sources]),
                how=Sentence(_HOW[Rule(self.traced.rule)]),
            )
        parts = [
            Sentence("{name} ({share:.0%})", name=self.name_of(source), share=source.share)
            for source in sources
        ]
        return Sentence(
            "The {rows:,} rows are a mixture of {count:,} releases: {parts}.",
            rows=rows,
            count=len(sources),
            parts=listed(parts),
        )

    @property
    def _verdict_on_the_table(self) -> str:
        """What is said of rows that are explained by the source table without any release."""
        rows, share = self.traced.rows, self.traced.of_table
        if share >= _NEARLY_ALL:
            return Sentence(
                "The {rows:,} {rows:row is|rows are} the source table's own, as no recipient was"
                " given them.",
                rows=rows,
            )
        return Sentence(
            "The {rows:,} {rows:row comes|rows come} from no release of this project. {share:.0%}"
            " are rows of the source table itself: a perturbation of it that this project did not"
            " make looks like that.",
            rows=rows,
            share=share,
        )


def read_leak(path: Path, context: Context) -> Table:
    """Read a file that was found: a bundle, or a table in any readable format, zipped or not.

    Raises
    ------
    FileError
        If it can't be read.
    """
    bundle = path.parent if path.name == DATAPACKAGE_NAME else path
    if is_folder(bundle) or bundle_at(path) == path:
        return read_bundle(bundle, context, accept_altered=True).table
    with lone_file(path, context) as file:
        # A coarsened column may hold years and "*": what does not fit its type makes it text.
        options = replace(detect_options(file), bad_values=BadValues.TEXT)
        return undone_if_escaped(read_table(file, options, context))


@dataclass(frozen=True)
class Sources:
    """Where the rows of a source table come from that a leaked file is compared with.

    Parameters
    ----------
    policies
        The policies in force.
    parts
        Yields all rows with some columns, those that the table has.
    like
        Finds the rows that a leaked table may show, by the columns that releases perturb.
    """

    policies: PoliciesInForce
    parts: Callable[[Sequence[str], Context], Iterator[Table]]
    like: Callable[[Table, Sequence[str], tuple[Candidate, ...], Context], Source]


def trace_file(project: ProjectFile, table: Table, leak: Table, context: Context) -> LeakReport:
    """Say which of a project's releases a leaked table comes from; see `traced_in`.

    Parameters
    ----------
    project
        The project; read-only is enough.
    table
        The source table, as the project's source was read.
    leak
        The table that was found.
    context
        Progress and cancelling.

    Raises
    ------
    NotTraceable
        If there is no release to compare with, or the file has no column that differs
        between releases.
    """
    sources = Sources(
        PoliciesInForce(project.document, table, project.keys, (project.path.parent,)),
        lambda *_: iter([table]),
        lambda _leak, _telling, candidates, _: Source(table, table.rows, candidates),
    )
    return traced_in(project, sources, leak, context)


def traced_in(project: ProjectFile, sources: Sources, leak: Table, context: Context) -> LeakReport:
    """Say which of a project's releases a leaked table comes from, however long the source is.

    Raises the errors of `trace_file`.
    """
    policies = sources.policies
    candidates = candidates_of(project.releases, policies)
    if not candidates:
        raise NotTraceable(
            "There is no release of this table that the file could come from.",
            "Make a release first, or open the project that the file may have been made with.",
        )
    first = Part(context, 0.0, 0.2)
    pseudonyms = pseudonym_matches(
        leak, sources.parts, project.releases, policies, project.keys, first
    )
    perturbed = {name for candidate in candidates for p in candidate.plans for name in p.attributes}
    telling = [name for name in leak.columns if name in perturbed]
    if not telling and not pseudonyms:
        raise NotTraceable(
            "The file has none of the perturbed columns ({columns}), so every release of this"
            " project looks the same in it.",
            "Give the columns the names that they were released under.",
            columns=", ".join(sorted(perturbed)),
        )
    traced = TracedLeak((), mixed=False, altered=0.0, rows=leak.rows)
    compared: tuple[str, ...] = ()
    if telling:
        source = sources.like(leak, telling, candidates, Part(context, 0.2, 0.6))
        comparison = _Comparison(leak, source, telling)
        counts, compared = comparison.counts(Part(context, 0.6, 0.8))
        traced = trace_leak(counts, Part(context, 0.8, 0.9))
        if len(traced.sources) != 1 and traced.of_table < _NEARLY_ALL:
            traced = comparison.mixed(traced, counts, Part(context, 0.9, 1.0))
    told = {*compared, *(match.column for match in pseudonyms)}
    return LeakReport(
        candidates,
        traced,
        tuple(name for name in leak.columns if name in told),
        tuple(name for name in leak.columns if name not in told),
        pseudonyms,
    )


def candidates_of(
    releases: Sequence[ReleaseRecord], policies: PoliciesInForce
) -> tuple[Candidate, ...]:
    """Return the releases that can be made again: the ledger's, and the present policy's.

    Adopted rungs are among them: at their levels the policy releases them as they were adopted.
    """
    found: dict[tuple[object, ...], Candidate] = {}
    for record in releases:
        # A generalized table has no perturbed column to tell it by.
        if record.counts and record.plans:
            maker = policies.at(record)
            if not any(maker.obstacle(plan) for plan in record.plans):
                view = coarsening_at(record)
                _add(found, Candidate(record.plans, (record,), (record.recipient,), maker, view))
    today = policies.today
    for recipient in today.document.recipients:
        try:
            plans = plan_release(today.document, today.attributes(), recipient)
            view = coarsening_of(today.document, recipient)
        except SfumatoError:
            continue  # not complete yet, so nobody was given it
        _add(found, Candidate(plans, (), (recipient.name,), today, view))
    for plan, holder in adopted_plans(today):
        _add(found, Candidate((plan,), (), (holder,), today))
    return tuple(found.values())


def adopted_plans(regenerator: Regenerator) -> Iterator[tuple[EntryPlan, str]]:
    """Yield each adopted rung that can be read, with who holds it.

    At its level the policy releases a rung as it was adopted.
    """
    document = regenerator.document
    with suppress(SfumatoError):  # the policy says what is wrong with its settings
        attributes = regenerator.attributes()
        for entry in document.policy:
            for holder in rung_holders(entry):
                plan = adopted_plan(document, entry, attributes, holder.file.level)
                if not regenerator.obstacle(plan):
                    yield plan, holder.name


def _add(found: dict[tuple[object, ...], Candidate], candidate: Candidate) -> None:
    """Add a candidate to those that show the same values of the same columns."""
    same = (
        tuple(sorted((plan.ladder, plan.level) for plan in candidate.plans)),
        candidate.maker.shown_as(),
        candidate.seen[1],
    )
    known = found.setdefault(same, replace(candidate, records=(), recipients=()))
    recipients = dict.fromkeys((*known.recipients, *candidate.recipients))
    records = (*known.records, *candidate.records)
    found[same] = replace(known, records=records, recipients=tuple(recipients))


def _is_dropped(maker: Regenerator, name: str) -> bool:
    spec = maker.specification(name)
    return spec is None or spec.role is Role.IDENTIFYING


class _Comparison:
    """A leaked file beside the releases that it may come from, column by column."""

    def __init__(self, leak: Table, source: Source, telling: Sequence[str]) -> None:
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
        for place, candidate in enumerate(self._candidates):
            part = Part(context, place / len(self._candidates), (place + 1) / len(self._candidates))
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
        telling, self._whole = self._telling, whole.leaked
        ways = _ways(start, self._leak, telling, nearest.maker, self._different, self._source)
        lacked = self._chance(everything - {*self._open[nearest.seen], *telling})
        ways = [replace(way, others=way.others * lacked) for way in ways]
        possible = float(prod(map(float, self._different.values())))
        together = self._together(starts, whole)
        found = count_rows(groups, self._source.rows, possible, ways, whole, added, together)
        return found, tuple(compared)

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
            texts = [_as_text(column) for column in every]
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
        self, candidate: Candidate, once: Sequence[str], start: RowGroups
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


def opened(
    maker: Regenerator, names: Sequence[str], view: Coarsening | None
) -> dict[str, pd.Series]:
    """Return those of some columns that a policy releases unperturbed, as they are seen."""
    return {
        name: column
        for name in names
        if not _is_dropped(maker, name) and (column := maker.unperturbed(name, view)) is not None
    }


def made_again(
    candidate: Candidate, telling: Sequence[str], context: Context
) -> dict[str, pd.Series]:
    """Return the telling columns as a candidate releases them."""
    maker = candidate.maker
    made = {
        name: column
        for plan in candidate.plans
        for name, column in maker.perturbed(plan, context).items()
    }
    maker.forget()
    found = {}
    for name in telling:
        spec = maker.specification(name)
        if name in made:
            found[name] = made[name]
        elif spec is None or spec.role is Role.SENSITIVE:
            found[name] = maker.table.column(name)
        elif spec.role is not Role.IDENTIFYING:
            found[name] = open_column(maker.table, spec)
    return found


def _ways(
    start: RowGroups,
    leak: Table,
    telling: Sequence[str],
    regenerator: Regenerator,
    different: Mapping[str, int],
    source: Source,
) -> list[Way]:
    """Return how rows can come about without any release, the table itself last.

    The columns that no release perturbs are the table's, and so are some of the others. The rest
    is drawn by chance: evenly, or as often as each value occurs in the table.
    """
    truth = {name: regenerator.unperturbed(name) for name in telling}
    even = {name: np.full(leak.rows, 1.0 / different[name]) for name in telling}
    if any(column is None for column in truth.values()):
        return [Way(start, _product(even.values(), leak.rows), shows_truth=False)]
    true = {name: column for name, column in truth.items() if column is not None}
    usual = {}
    for name, column in true.items():
        occurs = source.occurs.get((id(regenerator), name))
        if occurs is None:
            occurs = occurrences(column, leak.column(name))
        usual[name] = occurs / source.rows
    ways = []
    for kept in true_together(telling):
        groups = start
        for name in kept:
            groups = split_by(groups, true[name], leak.column(name), dict(different))
        # With all columns true nothing is left to chance.
        for chances in (even, usual) if len(kept) < len(telling) else (even,):
            others = _product((chances[name] for name in telling if name not in kept), leak.rows)
            ways.append(Way(groups, others, shows_truth=bool(kept)))
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
    """Return both columns as text where one was read as numbers and the other was not."""
    if is_number(released) == is_number(leaked):
        return released, leaked
    return _as_text(released), _as_text(leaked)


def _as_text(column: pd.Series) -> pd.Series:
    values = column
    if isinstance(column.dtype, pd.CategoricalDtype):
        values = pd.Series(column.cat.categories)
    texts = column.astype("string")
    # Whole numbers are decimals where some of them are missing.
    return texts.str.removesuffix(".0") if is_number(values) else texts.str.strip()
