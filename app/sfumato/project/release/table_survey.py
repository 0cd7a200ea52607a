"""What a new project needs to know of a table that is read in parts, found in one pass.

Missing and different values are counted in all rows, and so is every value of a column that has
not too many of them, or is a sensitive one of categories. What is shown of a column of numbers is
that of the sample, with the ends of all rows. Where rules need the rows of a column themselves (the
spread of numbers that is measured, combinations of values), this column alone is read as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from secrets import token_bytes
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import DomainError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing, sample_rows
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.randomness.record_ids import key_hashes
from sfumato.engine.table.profile import ColumnProfile, profile_columns
from sfumato.engine.table.proposals import Proposal, proposals
from sfumato.engine.table.repeated_units import RepeatedUnit, units_of
from sfumato.engine.table.table import (
    Attribute,
    EncodedColumn,
    FullTableRange,
    MeasuredRows,
    MeasuredUnit,
    Table,
    encode_attribute,
    encode_column,
    no_column,
    with_proposed_domain,
)
from sfumato.project.document.edits import needs_domain
from sfumato.project.document.entry_plan import is_measured_for_unit
from sfumato.project.document.model import Document, PolicyEntry, Unit
from sfumato.project.document.promised import least_promised_of
from sfumato.project.release.batched_table import (
    SAMPLE,
    BatchedTable,
    RowSampler,
    naming_rows,
    refuse_repeated,
    refuse_soon,
    stays_number,
    weights_in,
)
from sfumato.project.release.bucket_counts import (
    Buckets,
    CountedOpenColumn,
    ValueCounts,
    put_keys,
    repeated_keys,
    series_of,
)
from sfumato.project.release.groups import CountedGroups, counted_groups
from sfumato.project.release.leaving_units import (
    drawn_as,
    look_at_units,
    units_drawn,
)
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.units import one_of_each
from sfumato.project.release.witnesses import frame_of

_COUNTED: Final = 1 << 16
"""The values of a column that has more different ones are not counted one by one."""


@dataclass(frozen=True)
class TableSurvey:
    """What is known of a long table before anything is decided about it.

    Parameters
    ----------
    table
        The rows.
    sample
        Rows drawn evenly.
    profiles
        What each column looks like: counts of all rows; shares and the like by the sample.
    counts
        How often each value occurs, of the columns that don't have too many.
    repeated
        How many keys stand in several rows, of a record key that was looked at with the rows.
    """

    table: BatchedTable
    sample: Table
    profiles: tuple[ColumnProfile, ...]
    counts: dict[str, ValueCounts] = field(repr=False)
    repeated: dict[str, int] = field(default_factory=dict, repr=False)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.table.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return self.table.columns

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """Where the sample's rows stand in the table, shape (k,), ascending."""
        return sample_rows(self.table.rows, SAMPLE)

    def profiled(self, context: Context) -> tuple[ColumnProfile, ...]:
        """Return what each column looks like, which is known."""
        del context
        return self.profiles

    def proposals(self) -> tuple[Proposal, ...]:
        """Return what each column is proposed to be."""
        return proposals(self.sample, self.profiles)

    def column(self, name: str) -> pd.Series:
        """Return every value of a column, often but once; a missing one where there is any.

        Raises
        ------
        TableError
            If the table has no such column.
        """
        self.column_type(name)
        found = self.counts.get(name)
        return self._rows([name]).column(name) if found is None else found.seen()

    def numbers(self, name: str) -> pd.Series:
        """Return a column's numbers in the sample, and the ends of all rows; see `column`."""
        self.column_type(name)
        series, found = self.sample.column(name), self._profile(name).numbers
        if found is None:
            return series
        ends = pd.Series([found.minimum, found.maximum], name=name).astype(series.dtype)
        return pd.concat([series, ends], ignore_index=True)

    def values(self, name: str) -> Table:
        """Return a table with every value of a column; see `column`."""
        return self._only(self.column(name))

    def column_type(self, name: str) -> pa.DataType:
        """Return what a column is read as.

        Raises
        ------
        TableError
            If the table has no such column.
        """
        if name not in self.columns:
            raise no_column(name)
        return self.table.batches.types[name]

    def with_domain(self, spec: ColumnSpec, known: Domain | None = None) -> ColumnSpec:
        """Return a column whose domain is what the rows suggest, or suggested before."""
        if known is not None:
            return with_proposed_domain(self._only(self.sample.column(spec.name)), spec, known)
        if spec.binning is not None:  # its bins are known: only whether values are missing isn't
            none = [float("nan")] * bool(self._profile(spec.name).missing)
            series = pd.Series(none, name=spec.name, dtype=np.float64)
        else:
            series = self.column(spec.name)
        return with_proposed_domain(self._only(series), spec)

    def attributes(
        self, specs: Sequence[ColumnSpec], unit: Unit | None = None
    ) -> tuple[Attribute, ...]:
        """Return what a mechanism knows about the attributes of a policy entry.

        Raises
        ------
        DomainError
            If a row does not fit.
        TableError, PolicyError
            See `by_unit`.
        """
        known = zip(self._attributes(specs), specs, strict=True)
        return tuple(self.by_unit(one, spec, unit, Silent()) for one, spec in known)

    def _attributes(self, specs: Sequence[ColumnSpec]) -> tuple[Attribute, ...]:
        [first, *others] = specs
        found = None if others or stays_number(first) else self.counts.get(first.name)
        if found is None:
            rows = self._rows([spec.name for spec in specs])
            return tuple(encode_column(rows, spec).attribute for spec in specs)
        with self._naming_row(first, Silent()):
            return (self._counted(found, first),)

    def encoded_for(
        self,
        spec: ColumnSpec,
        context: Context,
        public: Sequence[ColumnSpec] | None = None,
        unit: Unit | None = None,
        together: bool = False,
    ) -> EncodedColumn:
        """Return a column encoded for a mechanism, in groups by `public` columns or by `unit`."""
        part, rest = Part(context, 0.0, 0.3), Part(context, 0.3, 1.0)
        if public is not None:
            return self.grouped(self.encoded(spec, part), spec, public, rest)
        if unit is None:
            return self.encoded(spec, context, together)
        encoded = self.encoded(spec, part, together and spec.name not in unit.constant)
        return replace(encoded, attribute=self.by_unit(encoded.attribute, spec, unit, rest))

    def encoded(self, spec: ColumnSpec, context: Context, together: bool = False) -> EncodedColumn:
        """Return a column encoded by its specification, as `encode_column` does.

        Its counts are those of all rows, and so are its codes where it is protected `together`
        with others. Its values, and its numbers, are those of the sample.

        Raises
        ------
        DomainError
            If a row does not fit, naming the first.
        """
        if stays_number(spec):
            return self._sampled(spec, context)
        with self._naming_row(spec, context):
            if together:
                attribute = encode_column(self._rows([spec.name], context), spec).attribute
            else:
                attribute = self._categories(spec, context)
        shown = replace(spec, domain=attribute.domain)
        return EncodedColumn(attribute, encode_column(self.sample, shown).values)

    def attribute(self, spec: ColumnSpec, unit: Unit | None, context: Context) -> Attribute:
        """Return it of one attribute, whose numbers are those of the sample; see `attributes`."""
        return self.by_unit(self.encoded(spec, context).attribute, spec, unit, context)

    def attributes_of(self, document: Document, context: Context) -> dict[str, Attribute]:
        """Return the attributes of a policy; numbers are those of the sample.

        Raises
        ------
        DomainError, TableError
            If a row does not fit the document, as a release would, naming the row.
        """
        specs = [document.column(name) for each in document.policy for name in each.attributes]
        found = {
            spec.name: self.by_unit(self._checked(spec, context), spec, document.unit, context)
            for spec in specs
        }
        return found | self._grouped(document, found, context)

    def _grouped(
        self, document: Document, found: Mapping[str, Attribute], context: Context
    ) -> dict[str, Attribute]:
        """Return the attributes that are protected by groups, with these, found in one pass."""
        counted = counted_groups(document, self.table.batches.types)
        none = np.zeros(0)
        columns = {name: EncodedColumn(attribute, none) for name, attribute in found.items()}
        told = self._told(list(counted.values()), columns, context)
        return {name: column.attribute for name, column in told.items()}

    def grouped_as_released(
        self,
        document: Document,
        entry: PolicyEntry,
        attributes: Sequence[Attribute],
        context: Context,
    ) -> list[Attribute]:
        """Return the attributes of a policy entry with the groups that its releases have."""
        asked = replace(document, policy=(entry,))
        found = self._grouped(asked, {one.name: one for one in attributes}, context)
        return [found.get(one.name, one) for one in attributes]

    def grouped(
        self,
        column: EncodedColumn,
        spec: ColumnSpec,
        public: Sequence[ColumnSpec],
        context: Context,
    ) -> EncodedColumn:
        """Return a column with what is told of groups of all records, found in one pass.

        Parameters
        ----------
        column, spec
            The column, and its specification.
        public
            The columns that make the groups.
        context
            Progress and cancelling.

        Raises
        ------
        DomainError
            If a row does not fit a column's bins.
        TableError
            If there are too many groups to be counted in parts.
        """
        counted = CountedGroups(public, [spec], self.table.batches.types)
        return self._told([counted], {spec.name: column}, context).get(spec.name, column)

    def _told(
        self,
        counted: Sequence[CountedGroups],
        columns: Mapping[str, EncodedColumn],
        context: Context,
    ) -> dict[str, EncodedColumn]:
        """Return those columns that have groups, which are counted in one pass."""
        names = dict.fromkeys(name for each in counted for name in each.read)
        if not names:
            return {}
        for batch, rows in self.table.read(list(names), "Grouping records", context):
            with naming_rows(rows):
                for each in counted:
                    each.add(batch)
        return dict(pair for each in counted for pair in each.found(columns).told(columns).items())

    def by_unit(
        self, attribute: Attribute, spec: ColumnSpec, unit: Unit | None, context: Context
    ) -> Attribute:
        """Return an attribute whose counts are of units, where it is drawn once for each.

        Raises
        ------
        TableError
            If a row's unit is missing.
        PolicyError
            If it is not the same in all rows of a unit although that is stated.
        """
        if unit is None:
            return attribute
        attribute = replace(attribute, units=self._measured(attribute, spec, unit))
        if spec.name not in unit.constant:
            return attribute
        drawn = units_drawn(self.table, unit, spec, context)
        if attribute.domain is None:
            return attribute
        seen = drawn_as(spec, self.column(spec.name)).drop_duplicates()
        return replace(attribute, counts=drawn.counts(seen, attribute.domain, spec.name))

    def _measured(self, attribute: Attribute, spec: ColumnSpec, unit: Unit) -> MeasuredRows:
        """Return what is known of an attribute in one row of each unit of the sample's."""
        found = encode_column(self.sample, replace(spec, domain=attribute.domain)).attribute
        rows = one_of_each(units_of(self.sample, unit.columns))
        return MeasuredRows(MeasuredUnit(unit.columns, 1), found.at_rows(rows))

    @contextmanager
    def _naming_row(self, spec: ColumnSpec, context: Context) -> Iterator[None]:
        """Let errors in a column's values name the first row of the table that has such a one."""
        try:
            yield
        except DomainError:
            for batch, rows in self.table.read([spec.name], "Looking for a row", context):
                with naming_rows(rows):
                    encode_attribute(self._only(series_of(batch[spec.name], spec.name)), spec)
            raise

    def _checked(self, spec: ColumnSpec, context: Context) -> Attribute:
        if not stays_number(spec):
            with self._naming_row(spec, context):
                encoded = encode_attribute(self._only(self.column(spec.name)), spec)
            found = self.counts.get(spec.name)
            return encoded.attribute if found is None else self._counted(found, spec)
        none = pd.Series([float("nan")] * bool(self._profile(spec.name).missing), name=spec.name)
        with self._naming_row(spec, context):
            encode_attribute(self._only(none.astype(np.float64)), spec)
        return self._sampled(spec, context).attribute

    def _sampled(self, spec: ColumnSpec, context: Context) -> EncodedColumn:
        """Return a column of numbers: the sample's, once all rows are known to be finite."""
        profile = self._profile(spec.name)
        ends = () if profile.numbers is None else (profile.numbers.minimum, profile.numbers.maximum)
        with self._naming_row(spec, context):
            if ends:
                encode_column(self._only(pd.Series(ends, name=spec.name)), spec)
            found = encode_column(self.sample, spec)
        beyond = FullTableRange(profile.present, *ends) if ends else None
        return replace(found, attribute=replace(found.attribute, beyond=beyond))

    def _categories(self, spec: ColumnSpec, context: Context) -> Attribute:
        """Return an attribute of categories, counted in a pass of its own where it was not."""
        found = self.counts.get(spec.name)
        if found is not None:
            return self._counted(found, spec)
        found = ValueCounts(spec)
        for batch, rows in self.table.read([spec.name], "Counting values", context):
            with naming_rows(rows):
                found.add(batch[spec.name])
        if spec.binning is not None:  # the bins' names were counted
            known = spec if spec.domain is not None else self.with_domain(spec)
            spec = replace(known, kind=Kind.CATEGORICAL, binning=None)
        return self._counted(found, spec)

    def _profile(self, name: str) -> ColumnProfile:
        return next(each for each in self.profiles if each.name == name)

    def _counted(self, found: ValueCounts, spec: ColumnSpec) -> Attribute:
        """Return an attribute of categories as the counts of its values tell it."""
        encoded = encode_column(self._only(found.seen()), spec)
        domain = encoded.attribute.domain
        assert domain is not None
        weights = np.append(found.counts, [found.missing] * bool(found.missing))
        counts = np.bincount(encoded.values, weights=weights, minlength=domain.size)
        return replace(encoded.attribute, counts=counts.astype(np.int64), codes=None)

    def _only(self, series: pd.Series) -> Table:
        labels = self.table.batches.value_labels
        return Table(pd.DataFrame({series.name: series}), labels, is_part=True)

    def _rows(self, names: Sequence[str], context: Context = Silent()) -> Table:  # noqa: B008
        """Return all rows of some columns."""
        types = {name: self.table.batches.types[name] for name in names}
        rows = (batch for batch, _ in self.table.read(names, "Reading columns", context))
        return Table(
            frame_of(rows, types, self.table.rows), self.table.batches.value_labels, is_part=True
        )

    def check_weights(self, document: Document, context: Context) -> None:
        """Refuse sampling weights that say nothing, see `check_weights` of tables in memory."""
        names = [column.name for column in document.columns if column.role is Role.WEIGHT]
        if not names:
            return
        for batch, rows in self.table.read(names, "Looking at the weights", context):
            with naming_rows(rows):
                weights_in(batch, document)

    def constant_columns(
        self, columns: Sequence[str], names: Sequence[str], context: Context
    ) -> tuple[tuple[str, ...], int]:
        """Return what is the same in all rows of every unit, as it does of tables in memory."""
        return look_at_units(self.table, columns, names, context)

    def repeated_units(self, context: Context) -> tuple[RepeatedUnit, ...] | None:
        """Return None: by which columns rows may belong together is looked for on request."""
        del context
        return None

    def check_key(self, name: str, context: Context) -> None:
        """Refuse a record key.

        Raises
        ------
        TableError
            If it is missing in a row, or stands in two.
        """
        if name not in self.repeated:
            refuse_soon(self.table, name)
            keys = KeyRing(token_bytes(SECRET_BYTES))
            with Buckets(self.table.folder, self.table.rows) as buckets:
                for batch, rows in self.table.read([name], "Looking at the record keys", context):
                    with naming_rows(rows):
                        put_keys(buckets, key_hashes(series_of(batch[name], name), keys, Silent()))
                self.repeated[name] = repeated_keys(buckets)
        refuse_repeated(self.table, name, self.repeated[name])


Survey = MemorySurvey | TableSurvey


def with_fixed_domains(
    document: Document, source: Survey, known: Mapping[str, Domain] | None = None
) -> Document:
    """Fix the domain of each sensitive attribute that has none yet.

    Parameters
    ----------
    document, source
        What is to be completed, and where values are looked up, which may take a while.
    known
        Domains that need no looking up.
    """
    for spec in document.sensitive:
        if needs_domain(spec) and spec.name in source.columns:
            suggested = (known or {}).get(spec.name)
            document = document.with_column(source.with_domain(spec, suggested))
    return document


def measured_for_unit(document: Document, source: Survey, noise: KeyedNoise) -> Document:
    """Return the document with the statistics that bundles tell measured for the unit.

    What was measured of single rows can't be bounded for a unit, so it is measured anew.

    Parameters
    ----------
    document, source
        What is decided, and what is known of the rows.
    noise
        Draws noise for the statistics.

    Raises
    ------
    SfumatoError
        If they can't be measured.
    """

    def measured(entry: PolicyEntry) -> PolicyEntry:
        if document.unit is None or is_measured_for_unit(document, entry):
            return entry
        kept = mechanism_called(entry.mechanism).without_measured(entry.settings)
        return completed_entry(document, replace(entry, settings=kept), source, noise)

    return replace(document, policy=tuple(map(measured, document.policy)))


def completed_entry(
    document: Document,
    entry: PolicyEntry,
    source: Survey,
    noise: KeyedNoise,
    stated: Iterable[str] | None = None,
) -> PolicyEntry:
    """Return a policy entry whose settings hold what the table decides, too.

    Settings that nobody `stated` measure within what everybody is promised; all are, where None.

    Raises
    ------
    SfumatoError
        If the settings can't be met for the columns.
    """
    mechanism = mechanism_called(entry.mechanism)
    if not mechanism.completes_settings:
        return entry
    found = source.attributes([document.column(n) for n in entry.attributes], document.unit)
    known = tuple(replace(one, hierarchy=document.hierarchies.get(one.name)) for one in found)
    if mechanism.needs_groups and document.unit is None:
        known = tuple(source.grouped_as_released(document, entry, known, Silent()))
    bears = least_promised_of(document, entry, known)
    chosen = entry.settings if stated is None else stated
    settings = mechanism.settled(known, entry.settings, noise, bears, chosen)
    return replace(entry, settings=dict(settings))


def first_settings(
    document: Document,
    source: Survey | None,
    attributes: Sequence[Attribute],
    mechanism: str,
    noise: KeyedNoise,
    context: Context,
) -> Settings:
    """Return the settings that a mechanism begins with, its groups found in the rows.

    Raises
    ------
    SfumatoError
        If they can't be measured, or the groups can't be formed.
    """
    made, names = mechanism_called(mechanism), tuple(attribute.name for attribute in attributes)
    bears = least_promised_of(document, PolicyEntry(names, mechanism, {}), attributes)
    if made.needs_groups and source is not None and document.unit is None:
        entry = PolicyEntry(names, mechanism, made.default_settings(attributes))
        attributes = source.grouped_as_released(document, entry, attributes, context)
    return made.first_settings(tuple(attributes), noise, bears)


def survey_of_any(table: BatchedTable, context: Context, record_key: str | None = None) -> Survey:
    """Look at all rows of a table once; of one in memory whenever something is asked."""
    if (held := table.held_rows()) is not None:
        return MemorySurvey(held, table)
    return survey_of(table, context, record_key)


def survey_of(table: BatchedTable, context: Context, record_key: str | None = None) -> TableSurvey:
    """Look at all rows of a table once.

    Where a column is the record key, whether it tells all rows apart is found meanwhile.

    Raises
    ------
    TableError
        If the table changed while it was read.
    FileError
        If a row can't be read.
    """
    counts = {name: ValueCounts(ColumnSpec(name, Role.INSENSITIVE)) for name in table.columns}
    many: dict[str, CountedOpenColumn] = {}
    repeated: dict[str, int] = {}
    sampling, secret = RowSampler(table), KeyRing(token_bytes(SECRET_BYTES))
    key = record_key if record_key in table.columns else None
    try:
        if key is not None:
            refuse_soon(table, key)
    except TableError:  # `check_key` says so once the rest is found to be well.
        key = None
    with Buckets(table.folder, table.rows) as keys:
        for batch, _ in table.read(table.columns, "Looking at the rows", Part(context, 0.0, 0.9)):
            sampling.add(batch)
            _count(batch, counts, many)
            if key is not None:
                try:
                    put_keys(keys, key_hashes(series_of(batch[key], key), secret, Silent()))
                except TableError:
                    key = None
        if key is not None:
            repeated[key] = repeated_keys(keys)
    sample = sampling.sample()
    profiles = profile_columns(sample, Part(context, 0.9, 1.0))
    exact = []
    for each in profiles:
        counted = counts.get(each.name)
        seen = many[each.name] if counted is None else _seen(counted, each.name)
        exact.append(_exact(each, table.rows, seen, counted))
    return TableSurvey(table, sample, tuple(exact), counts, repeated)


def _count(
    batch: pa.RecordBatch, counts: dict[str, ValueCounts], many: dict[str, CountedOpenColumn]
) -> None:
    """Count the values of some rows; columns that turn out to have too many go to `many`."""
    for name, column in many.items():
        column.marks(series_of(batch[name], name), True)
    for name, counted in list(counts.items()):
        counted.add(batch[name])
        if len(counted.counts) > _COUNTED:
            many[name] = _seen(counts.pop(name), name)


def _seen(counted: ValueCounts, name: str) -> CountedOpenColumn:
    """Return what is known of a column whose values were counted so far."""
    seen = CountedOpenColumn(ColumnSpec(name, Role.INSENSITIVE))
    seen.add_counted(counted)
    return seen


def _exact(
    profile: ColumnProfile, rows: int, seen: CountedOpenColumn, counted: ValueCounts | None
) -> ColumnProfile:
    """Return a profile with what was counted in all rows."""
    facts = seen.facts()
    distinct = facts.distinct if counted is None else len(counted.counts)
    profile = replace(profile, count=rows, missing=facts.missing, distinct=distinct)
    if profile.numbers is None or not seen.ends:
        return profile
    low, high = (float(end) for end, _ in seen.ends)
    return replace(profile, numbers=replace(profile.numbers, minimum=low, maximum=high))
