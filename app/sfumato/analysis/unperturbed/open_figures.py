"""What open columns tell of an attribute without a release and with it, and what can be done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.shown_columns import ColumnView, ShownColumns, look_of
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import DomainError, PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, factorize, rounded_down
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.disclosure.open_features import ONE_BY_ONE, UnperturbedColumn
from sfumato.engine.mechanisms import mechanism_called, recommended, serving
from sfumato.engine.randomness.keys import sample_rows
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.profile import suggest_binning
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.edits import with_entry
from sfumato.project.document.members import with_members
from sfumato.project.document.model import Document
from sfumato.project.document.promised import least_promised
from sfumato.project.release.table_survey import Survey
from sfumato.project.release.views import quasi_identifiers

LEARNED: Final = 1 << 18
"""Of longer tables, so many records are learned from, and those that share rare values."""
_RARE: Final = 32
"""Values of fewer records in the part drawn are rare."""
_FEW: Final = 0.01
"""Rare values of a smaller share of the estimated records are of no account."""


@dataclass(frozen=True, eq=False)
class WeighedRows:
    """The rows that are learned from and estimated, with the columns as far as they go.

    Parameters
    ----------
    table
        The columns of these rows, n of them.
    rows
        Their places in the whole table, ascending, shape (n,); None where they are all of it.
    sample
        Which of these are estimated, ascending, shape (s,).
    counted
        For a column with rare values, by which rows its groups are known, shape (n,).
    repeating
        The columns whose numbers repeat often enough to be known one by one.
    """

    table: Table
    rows: Indices | None
    sample: Indices
    counted: Mapping[str, Flags]
    repeating: frozenset[str]

    @property
    def places(self) -> Indices:
        """Where the estimated rows stand in the whole table, shape (s,)."""
        return self.sample if self.rows is None else self.rows[self.sample]

    def codes(self, columns: ShownColumns, look: ColumnView) -> Integers:
        """Return each row's value as a code from 0, missing being one of them."""
        return whole_codes(columns, look) if self.rows is None else _codes(look, self.table)

    def numbers(
        self, spec: ColumnSpec, codes: Integers, numbers: Floats | Integers
    ) -> UnperturbedColumn:
        """Return a column of numbers, with their codes where they repeat."""
        repeats = 1 < int(codes.max()) + 1 <= len(codes) / 2
        if self.rows is not None:
            repeats = bool(codes.max()) and spec.name in self.repeating
        counted = self.counted.get(spec.name) if repeats else None
        return UnperturbedColumn(spec.name, numbers, _small(codes) if repeats else None, counted)

    def open_column(self, columns: ShownColumns, spec: ColumnSpec) -> UnperturbedColumn | None:
        """Return a column as recipients see it; None where it is constant or its bins misfit."""
        look = look_of(spec)
        try:
            series = look.shown(self.table)
            codes = self.codes(columns, look)
        except DomainError:
            return None  # no release can be made either
        # Whole numbers as they are: a copy of each of very many columns would fill the memory.
        whole = isinstance(series.dtype, np.dtype) and series.dtype.kind in "iu"
        numbers = series.to_numpy() if whole else _numbers(series)
        if numbers is not None and spec.kind is not Kind.CATEGORICAL:
            return self.numbers(spec, codes, numbers)
        if int(codes.max()) == int(codes.min()):
            return None
        # Codes that are numbers may be in an order that tells, too.
        ordered = numbers if codes.max() >= ONE_BY_ONE else None
        return UnperturbedColumn(spec.name, ordered, _small(codes), self.counted.get(spec.name))


def weighed_rows(columns: ShownColumns, specs: Sequence[ColumnSpec], most: int) -> WeighedRows:
    """Choose the rows that a table's columns are weighed by.

    Parameters
    ----------
    columns
        What is known of the table's columns.
    specs
        The columns that are learned from.
    most
        How many rows are estimated at most.
    """
    table = columns.table
    if table.rows <= LEARNED:
        everything = sample_rows(table.rows, most)
        return WeighedRows(table, None, everything, {}, frozenset())
    part = sample_rows(table.rows, LEARNED)
    estimated = part[sample_rows(len(part), most)]
    shared: dict[str, Indices] = {}
    repeating = set()
    for spec in specs:
        look = look_of(spec)

        def find(look: ColumnView = look) -> tuple[Indices | None, float]:
            return _sharing(look.shown(table), part, estimated)

        try:
            # No edit of another column changes this.
            found, alone = columns.keep(("sharing", look, most), find)
        except (DomainError, TypeError):
            continue
        if alone <= 0.5:
            repeating.add(spec.name)
            if found is not None:
                shared[spec.name] = found
    rows = np.flatnonzero(_marked(table.rows, part, *shared.values()))
    frame = pd.DataFrame(
        {name: column.take(rows).reset_index(drop=True) for name, column in table.frame.items()},
        copy=False,
    )
    counted = {name: _marked(table.rows, part, also)[rows] for name, also in shared.items()}
    sample = np.searchsorted(rows, estimated)
    return WeighedRows(
        Table(frame, table.value_labels, table.column_labels, periods=table.periods),
        rows,
        sample,
        counted,
        frozenset(repeating),
    )


def _marked(rows: int, *parts: Indices) -> Flags:
    """Return which of a table's rows are in any of several parts of it, shape (n,)."""
    marked = np.zeros(rows, dtype=np.bool_)
    for part in parts:
        marked[part] = True
    return marked


def _sharing(column: pd.Series, part: Indices, estimated: Indices) -> tuple[Indices | None, float]:
    """Return which rows share a rare value with an estimated one, and how many do with none.

    None where too few of the estimated rows have a rare value; of too many rows that share one,
    as many as the part has, evenly.
    """
    drawn = factorize(column.take(part))[0].astype(np.int64)
    drawn[drawn < 0] = drawn.max() + 1
    own = drawn[np.searchsorted(part, estimated)]
    sizes = np.bincount(drawn)[own].astype(np.float64)
    rare = sizes < _RARE
    every = len(column) / len(part)
    if rare.mean() < _FEW:
        return None, float((1.0 / (sizes * every)).mean())
    values = column.take(estimated[rare])
    rows = np.flatnonzero(column.isin(values.unique()).to_numpy())
    codes, uniques = factorize(column.take(rows))
    of_value = np.bincount(codes[codes >= 0], minlength=len(uniques))
    mine = codes[np.searchsorted(rows, estimated[rare])]
    shares = 1.0 / np.concatenate([sizes[~rare] * every, np.maximum(of_value[mine], 1)])
    most = max(len(part), _RARE * len(estimated))
    return rows[sample_rows(len(rows), most)], float(shares.mean())


def _small(codes: Integers) -> npt.NDArray[np.integer]:
    """Return codes in as few bytes as they need."""
    return codes.astype(np.min_scalar_type(-int(codes.max()) - 1))


def whole_codes(columns: ShownColumns, look: ColumnView) -> Integers:
    """Return a column's values in all rows as codes from 0, missing being one of them."""
    codes: Integers = columns.codes(look).astype(np.int64)
    codes[codes < 0] = codes.max() + 1
    return codes


def whole_numbers(columns: ShownColumns, look: ColumnView) -> Floats:
    """Return a column's numbers in all rows, NaN where missing."""
    numbers = _numbers(look.shown(columns.table))
    assert numbers is not None
    return numbers


def has_numbers(columns: ShownColumns, look: ColumnView) -> bool:
    """Return whether a column leaves as numbers, or as moments."""
    return _numbers(look.shown(columns.table)) is not None


def _codes(look: ColumnView, table: Table) -> Integers:
    codes: Integers = factorize(look.shown(table))[0].astype(np.int64)
    codes[codes < 0] = codes.max() + 1
    return codes


def _numbers(series: pd.Series) -> Floats | None:
    """Return a column's numbers, or its moments as numbers; None where it has neither."""
    kind = series.dtype
    if pd.api.types.is_datetime64_any_dtype(kind):
        moments = series.to_numpy(dtype="datetime64[us]").astype(np.int64).astype(np.float64)
        return np.where(series.isna().to_numpy(), np.nan, moments)
    if pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_bool_dtype(kind):
        numbers: Floats = series.to_numpy(dtype=np.float64, na_value=np.nan)
        return numbers
    return None


NAMED: Final = 3
"""So many columns are named at most."""
_NOTICED: Final = 0.9
"""A half-width is worth telling if it is smaller by this factor, a guess if it is better by as
much of what it could be."""
_EXACT: Final = 1e-6
_HELD: Final = 0.9
"""The share of the records that half-widths hold."""


BINS: Final = 5
"""So many bins make a column of numbers coarse."""


@dataclass(frozen=True)
class OpenFigure:
    """What is told of one attribute, without a recipient's release and with it.

    Half-widths that hold 90 % of the records for numbers, shares of the records whose value is
    guessed right for categories.

    Parameters
    ----------
    attribute
        The sensitive attribute.
    recipient
        Whose release it is; empty for none.
    numeric
        Whether figures are half-widths.
    alone
        Without any release, by somebody who knows no other column.
    open
        Without any release, from the columns released unchanged.
    linear
        Of numbers, the same by the best linear estimate; of categories, as `open`.
    released
        From the release, by somebody who knows no other column; as `alone` without a release.
    both
        From the release and the columns released unchanged.
    telling
        The columns that matter, the most telling first.
    exact
        Why the attribute follows from open columns exactly; empty where it does not.
    sampled, records
        On how many of how many records it was computed.
    coarser
        The telling columns that the recipient's view shows more coarsely than the table has them.
    """

    attribute: str
    recipient: str
    numeric: bool
    alone: float
    open: float
    linear: float
    released: float
    both: float
    telling: tuple[str, ...]
    exact: str
    sampled: int
    records: int
    coarser: tuple[str, ...] = ()

    @property
    def matters(self) -> bool:
        """Whether the columns released unchanged tell enough to be worth a caution."""
        if self.exact:
            return True
        if self.numeric:
            return self.open < _NOTICED * self.alone
        error = 2.0 * float(np.sqrt(self.open * (1.0 - self.open) / self.sampled))
        return self.open - self.alone > max((1.0 - _NOTICED) * (1.0 - self.alone) / 2.0, error)

    @property
    def empties(self) -> bool:
        """Whether the open columns empty the promise of the release.

        They do where, without any release, they tell half of what there is to tell, and beside the
        release more than it tells alone; or everything. How much the release itself tells does not
        excuse them: a recipient who is given more would be told of a lesser danger.
        """
        if self.exact or not self.matters or not self.recipient:
            return bool(self.exact)
        if self.numeric:
            half, more = self.open <= self.alone / 2.0, self.open <= self.released
        else:
            half, more = self.open >= (1.0 + self.alone) / 2.0, self.open >= self.released
        return half and (more or self.adds)

    @property
    def adds(self) -> bool:
        """Whether, as figures are shown, the columns tell more beside the release than it does."""
        shown = self.told
        return shown["both"] != shown["released"]

    @property
    def exposure(self) -> float:
        """In what share of the cases an attacker with the release and the columns is right.

        Numbers are placed within an interval that holds nine of ten, or exactly.
        """
        if self.numeric:
            return 1.0 if self.exact else _HELD
        return max(self.open, self.both)

    @property
    def told(self) -> dict[str, Sentence]:
        """The figures as they are shown."""
        return {
            name: _width(number, self.alone) if self.numeric else formatted(100.0 * number, ".0f")
            for name, number in (
                ("alone", self.alone),
                ("open", self.open),
                ("released", self.released),
                ("both", self.both),
            )
        }

    @property
    def sentence(self) -> str:
        """What is told, and why."""
        numbers = _WIDTHS if self.numeric else _GUESSES
        template = numbers[self.matters, bool(self.recipient)]
        told = Sentence(
            template,
            name=self.attribute,
            columns=listed(self.telling[:NAMED] or ("",)),
            **self.told,
        )
        known = ""
        if coarser := [name for name in self.telling[:NAMED] if name in self.coarser]:
            known = Sentence(
                "This holds for somebody who knows {columns} as the table has it; {recipient} sees"
                " it more coarsely.",
                columns=listed(coarser),
                recipient=self.recipient,
            )
        return joined(told, self.exact, known)

    @property
    def remedy(self) -> str:
        """What can be done about it; empty where there is nothing to do."""
        if not self.matters:
            return ""
        return Sentence(
            "Protect {columns} as well, together with {name}; make {count:it|them} coarser; or"
            " leave {count:it|them} out of the releases.",
            count=len(self.telling[:NAMED]),
            columns=listed(self.telling[:NAMED]),
            name=self.attribute,
        )

    @property
    def caution(self) -> str:
        """What weakens the promise, and what can be done; empty where there is nothing to do."""
        if not self.matters:
            return ""
        return Sentence(
            "{columns}, released unperturbed, {count:tells|tell} {name}: {remedy}",
            count=len(self.telling[:NAMED]),
            columns=listed(self.telling[:NAMED]),
            name=self.attribute,
            remedy=self.remedy,
        )

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        unit = "half-width of 90 %" if self.numeric else "share guessed right"
        return {
            "attribute": self.attribute,
            "recipient": self.recipient or None,
            "figure": unit,
            "without any release": {
                "no other column": self.alone,
                "linear": self.linear if self.numeric else None,
                "open columns": self.open,
            },
            "with the release": {"no other column": self.released, "open columns": self.both}
            if self.recipient
            else None,
            "telling columns": list(self.telling),
            "follows exactly": self.exact or None,
            "matters": self.matters,
            "records": self.records,
            "sampled": self.sampled,
        }


_WIDTHS: Final = {
    (True, True): (
        "From {columns}, released unperturbed, 90 in 100 people's {name} can be placed within"
        " {open} without any release (knowing no other column, {alone}); with this release within"
        " {both}, by the release alone within {released}."
    ),
    (True, False): (
        "From {columns}, released unperturbed, 90 in 100 people's {name} can be placed within"
        " {open} without any release (knowing no other column, {alone})."
    ),
    (False, True): (
        "The columns released unperturbed tell little of {name}: with them 90 in 100 people's can"
        " be placed within {open} without any release, and within {both} with this one."
    ),
    (False, False): (
        "The columns released unperturbed tell little of {name}: with them 90 in 100 people's can"
        " be placed within {open} without any release, without them within {alone}."
    ),
}
_GUESSES: Final = {
    (True, True): (
        "From {columns}, released unperturbed, the best guess of {name} is right for {open} in 100"
        " people without any release (always naming the most common value, {alone}); with this"
        " release for {both}, by the release alone for {released}."
    ),
    (True, False): (
        "From {columns}, released unperturbed, the best guess of {name} is right for {open} in 100"
        " people without any release (always naming the most common value, {alone})."
    ),
    (False, True): (
        "The columns released unperturbed tell little of {name}: the best guess is right for {open}"
        " in 100 people without any release, and for {both} with this one."
    ),
    (False, False): (
        "The columns released unperturbed tell little of {name}: the best guess is right for {open}"
        " in 100 people, without them for {alone}."
    ),
}


def _width(number: float, alone: float) -> Sentence:
    least = 0 if number <= _EXACT * alone else rounded_down(number)
    return Sentence("\u00b1\u202f{least}", least=least)


def protected_too(
    document: Document, source: Survey, attribute: str, columns: Sequence[str], noise: KeyedNoise
) -> Document:
    """Mark columns as sensitive, and protect them together with an attribute where that can be.

    What can't be protected together with it, such as numbers beside categories, gets a mechanism
    of its own.

    Parameters
    ----------
    document, source
        What is decided, and what is known of the rows.
    attribute
        The sensitive attribute that the columns tell, or one of these, to protect each by itself.
    columns
        These.
    noise
        Draws noise for statistics of the table.

    Raises
    ------
    DomainError
        If a column's values don't fit.
    """
    for name in columns:
        spec = replace(document.column(name), role=Role.SENSITIVE)
        if spec.kind is not Kind.NUMERIC or spec.binning is not None:
            spec = source.with_domain(spec)
        document = document.with_column(spec)
    entry = document.entry_for(attribute)
    known: dict[str, Attribute] = {}
    others = [one.attributes for one in document.policy if one != entry]
    for names in ((*(() if entry is None else entry.attributes), *columns), *others):
        specs = [document.column(name) for name in names if name not in known]
        if specs:
            known |= {one.name: one for one in source.attributes(specs, document.unit)}
    for name in columns:
        entry = document.entry_for(attribute)
        if entry is not None:
            with suppress(SfumatoError):
                members = (*entry.attributes, name)
                document = with_members(document, entry.key, members, known, noise)
    for name in columns:
        if document.entry_for(name) is None:
            alone = (replace(known[name], hierarchy=document.hierarchies.get(name)),)
            with suppress(SfumatoError):
                suited, _ = recommended(alone)
                mechanism = mechanism_called(suited) if suited else serving(alone)
                bears = least_promised(document, alone, known)
                settings = mechanism.first_settings(alone, noise, bears)
                document = with_entry(document, alone, mechanism.name, settings)
    return document


def left_out(document: Document, columns: Sequence[str]) -> Document:
    """Leave columns out of every release."""
    for name in columns:
        spec = replace(document.column(name), role=Role.IDENTIFYING, binning=None)
        document = document.with_column(spec)
    return document


def divisible(document: Document, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold numbers and may be divided into fewer bins.

    Those that views coarsen are not: their levels are raised, which other bins would unsettle.
    """
    own = set(columns).difference(in_views(document))
    return tuple(name for name in columns if name in own and _divisible(document.column(name)))


def in_views(document: Document) -> tuple[str, ...]:
    """Return the columns that are coarsened by levels, since somebody has a view."""
    viewed = any(each.view is not None for each in document.recipients)
    return quasi_identifiers(document) if viewed else ()


def _divisible(spec: ColumnSpec) -> bool:
    fine = spec.binning is None or len(spec.binning.edges) > BINS + 1
    return spec.kind is Kind.NUMERIC and fine


def made_coarser(document: Document, source: Survey, columns: Sequence[str]) -> Document:
    """Divide columns of numbers into a few bins.

    Raises
    ------
    PolicyError
        If none of them holds numbers that are not binned so coarsely yet.
    DomainError
        If their numbers can't be divided.
    """
    changed = document
    for name in columns:
        spec = document.column(name)
        if not _divisible(spec):
            continue
        binning = suggest_binning(source.numbers(name), BINS)
        # They follow from the rows until somebody confirms them.
        spec = replace(spec, binning=binning, coding=None, domain=None, from_rows=True)
        changed = changed.with_column(spec)
    if changed == document:
        raise PolicyError(
            "{columns} can't be made coarser by bins.",
            "Give them a hierarchy, protect them too, or leave them out.",
            columns=", ".join(columns),
        )
    return changed
