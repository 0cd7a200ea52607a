"""Releases made by an engine: on this machine, by Dask or by Spark, the same rows from all.

What is released and what is refused is said here, once. An engine is a subclass of `EngineRows`: it
reads rows, hands them to functions batch by batch, brings together those that belong together, and
counts classes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.project.release.group_shuffle import group_columns, grouped_entries, shown_alone_by
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import (
    CLASS,
    ORDER,
    PLACE,
    RECORD,
    UNIT,
    ClassFacts,
    KeySource,
    check_classes,
    check_columns,
    class_columns,
    class_names,
    class_part,
    counted_attributes,
    counts_classes,
    group_names,
    hashed_columns,
    hashed_names,
    hashed_part,
    marked_part,
    plain_schema,
    refuse_large,
    refuse_other_groups,
    refuse_repeated,
    refuse_small,
    refuse_varying,
    released_names,
    released_part,
    together_part,
    value_name,
    word_schema,
)

Work = Callable[[pa.RecordBatch], pa.RecordBatch]
"""What is done with a batch. It is sent to other processes, so it holds no key."""
ClassTotals = Mapping[str, float]
"""What `EngineRows.class_totals` comes to, by name:

``rows``, ``classes``, how many there are; ``smallest``, ``largest``, the rows of a class;
``unique``, classes of a single row; and of different values within a class, if any are counted:
``values``, the fewest; ``varying``, classes with several; ``entropy``, the least, in nats; and
``largest_share``, that of the most frequent one.
"""


class EngineTable(ABC):
    """A table that an engine can read, some columns at a time."""

    @property
    @abstractmethod
    def columns(self) -> Sequence[str]:
        """The columns' names."""

    @abstractmethod
    def select(self, names: Sequence[str]) -> EngineRows:
        """Return some columns, in this order."""


class EngineRows(EngineTable):
    """Rows that an engine holds, or will make when they are asked for."""

    @abstractmethod
    def placed(self) -> Self:
        """Return the rows with a column `PLACE` of whole numbers, in the table's order."""

    @abstractmethod
    def mapped(self, work: Work, schema: pa.Schema) -> Self:
        """Return what becomes of each batch by itself; fields of words can't be missing."""

    @abstractmethod
    def together(self, by: str, work: Work, schema: pa.Schema, rows: int) -> Self:
        """Return what becomes of batches in which all rows with the same word are together.

        There are about so many `rows`.
        """

    @abstractmethod
    def first_of_each(self, unit: str, rank: str, most: int) -> Self:
        """Return so many rows of each unit, those with the lowest ranks."""

    @abstractmethod
    def in_order(self, words: Sequence[str]) -> Self:
        """Return the rows sorted by columns of words: by `PLACE`, or by hashes."""

    @abstractmethod
    def class_counts(self, columns: Sequence[str]) -> Any:
        """Return the distinct rows of some columns, and in ``rows`` how many each has."""

    @abstractmethod
    def class_totals(self, by: Sequence[str], within: Sequence[str] = ()) -> Any:
        """Return what will be `computed` as `ClassTotals` of rows that agree on some columns.

        Missing values agree. Where there are columns `within`, their values are counted in each
        class.
        """

    @abstractmethod
    def gathered(self) -> Any:
        """Return what will be `computed` as an array of these few rows of words."""

    def computed(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what was asked for, all at once where that spares reading the table again."""
        return asked

    @contextmanager
    def kept(self) -> Iterator[Self]:
        """Keep rows meanwhile that the engine would make anew each time they are read."""
        yield self


def released(rows: EngineTable, plan: Plan, source: KeySource) -> EngineRows:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    That no record key stands in two rows is found out first, by a group-by over the keys' hashes,
    and what the plan says of units and groups; all else is done when the result is asked for.

    Raises
    ------
    PolicyError
        If a record's release depends on other records, or units differ in what is drawn once.
    DiversityError
        If a class of records is smaller than the view's k.
    TableError
        If the table lacks a column, or record keys repeat.
    KeyFileError
        If the keys are not there, or are those of another plan.
    """
    schema = check_columns(plan, rows.columns)
    total = _check_rows(rows, plan, source)
    if counts_classes(plan):
        _check_classes(rows, plan, source)
    placed = plan.rows_as_in_table
    made = _made(rows, plan, source, total)
    if not placed or plan.groups or plan.unit:
        made = made.in_order([PLACE] if placed else ORDER)
    return made.select(schema.names)


def class_facts(
    rows: EngineRows, columns: Sequence[str], sensitive: str | None = None
) -> ClassFacts:
    """Return k, the unique records and, with a sensitive column, the l-diversity of a table.

    Parameters
    ----------
    rows
        The table, for instance a release.
    columns
        The quasi-identifiers: rows that agree on them are a class. A missing value is one, too.
    sensitive
        The column whose values are counted in each class; a missing value is one.

    Raises
    ------
    TableError
        If the table has no rows.
    """
    return _facts(rows, columns, {"": sensitive})[""]


def view_facts(rows: EngineTable, plan: Plan, source: KeySource) -> dict[str, ClassFacts]:
    """Return what the classes tell that a plan's recipient would see, before anything is released.

    Rows are in one class that agree on what is shown of the quasi-identifiers, among those that
    leave. In each, the true values are counted.

    Returns
    -------
    dict
        By each sensitive attribute with a list of values or bins; under "" where there is none.

    Raises
    ------
    PolicyError, TableError, KeyFileError
        As `released`; the table may also show no quasi-identifiers, or have no rows.
    """
    check_classes(plan, rows.columns)
    counted = {name: value_name(name) for name in counted_attributes(plan)}
    with _classes(rows, plan, source, with_values=True).kept() as made:
        return _facts(made, CLASS, counted or {"": None})


def _facts(
    rows: EngineRows, columns: Sequence[str], sensitive: Mapping[str, str | None]
) -> dict[str, ClassFacts]:
    asked = {
        key: rows.class_totals(columns, () if name is None else (name,))
        for key, name in sensitive.items()
    }
    found = rows.computed(asked)
    return {key: ClassFacts.of(found[key], name is not None) for key, name in sensitive.items()}


def _made(rows: EngineTable, plan: Plan, source: KeySource, total: int) -> EngineRows:
    """Return the released rows as they come, with what they are ordered by.

    Rows of a unit are brought together, and those of a group. Where they leave as in the table,
    they say where they stood in it.
    """
    alone, text, words = shown_alone_by(plan), plan.to_json(), released_names(plan)
    read = rows.select(list(plan.schema))
    if plan.rows_as_in_table:
        read, words = read.placed(), [*words, PLACE]
    shown = plain_schema(alone.output_schema())
    made = read.mapped(partial(_released, text, source), word_schema(words, shown))
    if plan.unit is not None:
        made = made.first_of_each(*UNIT, plan.unit.most_rows)
    whole = plain_schema(plan.output_schema())
    for place, entry in enumerate(grouped_entries(plan)):
        names = group_names(place)
        words = [name for name in words if name not in names]
        for name in entry.attributes:
            shown = shown.append(whole.field(name))
        schema = word_schema(words, shown)
        work = partial(_together, text, source, place, schema.names)
        made = made.together(names[0], work, schema, total)
    return made


def _classes(
    rows: EngineTable, plan: Plan, source: KeySource, with_values: bool = False
) -> EngineRows:
    """Return the words of `class_part`, of rows that leave."""
    read = rows.select(class_columns(plan, with_values))
    work = partial(class_part, plan_text=plan.to_json(), source=source, with_values=with_values)
    made = read.mapped(work, word_schema(class_names(plan, with_values)))
    return made if plan.unit is None else made.first_of_each(*UNIT, plan.unit.most_rows)


def _check_classes(rows: EngineTable, plan: Plan, source: KeySource) -> None:
    """Refuse a table of which a class has fewer rows, or units, than the view's k."""
    units = () if plan.unit is None else UNIT[:1]
    classes = _classes(rows, plan, source)
    found = classes.computed({"": classes.class_totals(CLASS, units)})[""]
    refuse_small(plan, int(found["values" if units else "smallest"]))


def _check_rows(rows: EngineTable, plan: Plan, source: KeySource) -> int:
    """Refuse repeated record keys, units that differ in what they share, and other groups.

    Return how many rows there are.
    """
    text, entries = plan.to_json(), grouped_entries(plan)
    hashed = partial(hashed_part, plan_text=text, source=source)
    hashes = rows.select(hashed_columns(plan)).mapped(hashed, word_schema(hashed_names(plan)))
    asked = {"keys": hashes.class_totals(ORDER)}
    if plan.once_drawn:
        asked["units"] = hashes.class_totals(UNIT[:1], UNIT[1:])
    for place in range(len(entries)):
        asked[f"group {place}"] = hashes.class_totals(group_names(place)[:2])
    if entries:
        marked = word_schema(list(map(str, range(2 * len(entries)))))
        read = rows.select(group_columns(plan))
        asked["marks"] = read.mapped(partial(_marks, text, source, marked), marked).gathered()
    found = hashes.computed(asked)
    keys = found["keys"]
    refuse_repeated(plan.record_key, int(keys["classes"] - keys["unique"]))
    if plan.once_drawn:
        refuse_varying(plan, int(found["units"]["varying"]))
    if entries:
        # Sums of words leave out what is above the highest bit.
        totals = np.asarray(found["marks"]).astype(np.int64).sum(axis=0)
        refuse_other_groups(plan, totals.reshape(-1, 2).tolist())
    for place, entry in enumerate(entries):
        refuse_large(entry.key, int(found[f"group {place}"]["largest"]))
    return int(keys["rows"])


def _released(plan_text: str, source: KeySource, batch: pa.RecordBatch) -> pa.RecordBatch:
    made = released_part(batch, plan_text, source)
    return made.append_column(PLACE, batch[PLACE]) if PLACE in batch.schema.names else made


def _together(
    plan_text: str, source: KeySource, place: int, names: Sequence[str], batch: pa.RecordBatch
) -> pa.RecordBatch:
    words = batch.select([*group_names(place), RECORD])
    shown = together_part(words, plan_text, source, place)
    for name in shown.schema.names:
        batch = batch.append_column(name, shown[name])
    return batch.select(names)


def _marks(
    plan_text: str, source: KeySource, schema: pa.Schema, batch: pa.RecordBatch
) -> pa.RecordBatch:
    words = np.array(marked_part(batch, plan_text, source), dtype=np.uint64).ravel()
    columns = [pa.array([word]) for word in words.view(np.int64).tolist()]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


# ----- the engine on this machine: rows in batches, brought together and counted in memory


@dataclass(frozen=True)
class LocalRows(EngineRows):
    """Rows that are read in batches. What becomes of them is held in memory.

    Parameters
    ----------
    names
        The columns' names.
    read
        Yields the rows of some columns, in the table's order.
    """

    names: Sequence[str]
    read: Callable[[Sequence[str]], Iterable[pa.RecordBatch]]

    @property
    def columns(self) -> Sequence[str]:
        """See `EngineRows.columns`."""
        return self.names

    @classmethod
    def of(cls, table: pa.Table) -> Self:
        """Return the rows of a table in memory."""
        empty = pa.RecordBatch.from_pylist([], table.schema)
        batches = table.to_batches() or [empty]
        return cls(table.column_names, lambda names: [each.select(names) for each in batches])

    def to_table(self) -> pa.Table:
        """Return all rows; there is at least one batch."""
        return pa.Table.from_batches(self.read(self.columns))

    def select(self, names: Sequence[str]) -> LocalRows:
        """See `EngineRows.select`."""
        return LocalRows(list(names), self.read)

    def placed(self) -> Self:
        """See `EngineRows.placed`."""
        table = self.to_table()
        return self.of(table.append_column(PLACE, pa.array(np.arange(len(table)))))

    def mapped(self, work: Work, schema: pa.Schema) -> Self:
        """See `EngineRows.mapped`."""
        made = [work(batch).cast(schema) for batch in self.read(self.columns)]
        return self.of(pa.Table.from_batches(made, schema))

    def together(self, by: str, work: Work, schema: pa.Schema, rows: int) -> Self:  # noqa: ARG002
        """See `EngineRows.together`: all rows are."""
        batch = pa.concat_batches(self.read(self.columns))
        return self.of(pa.Table.from_batches([work(batch).cast(schema)]))

    def first_of_each(self, unit: str, rank: str, most: int) -> Self:
        """See `EngineRows.first_of_each`."""
        rows = self._sorted([unit, rank])
        units = rows[unit].to_numpy()
        begins = np.ones(len(units), dtype=np.bool_)
        begins[1:] = units[1:] != units[:-1]
        places = np.arange(len(units))
        firsts = np.maximum.accumulate(np.where(begins, places, 0))
        return self.of(rows.filter(pa.array(places - firsts < most)))

    def in_order(self, words: Sequence[str]) -> Self:
        """See `EngineRows.in_order`."""
        return self.of(self._sorted(words))

    def _sorted(self, words: Sequence[str]) -> pa.Table:
        return self.to_table().sort_by([(name, "ascending") for name in words])

    def class_counts(self, columns: Sequence[str]) -> pa.Table:
        """See `EngineRows.class_counts`."""
        counted = (
            self.select(columns).to_table().group_by(list(columns)).aggregate([([], "count_all")])
        )
        return counted.rename_columns([*columns, "rows"])

    def class_totals(self, by: Sequence[str], within: Sequence[str] = ()) -> ClassTotals:
        """See `EngineRows.class_totals`."""
        names = [f"q{place}" for place in range(len(by) + len(within))]
        table = self.select([*by, *within]).to_table().rename_columns(names)
        counted = LocalRows.of(table).class_counts(names)
        rows = counted["rows"].to_numpy()
        if not len(rows):
            return {"classes": 0, "rows": 0}
        counted = counted.append_column("weighed", pa.array(rows * np.log(rows)))
        asked = [("rows", "sum"), ("rows", "max"), ("rows", "count"), ("weighed", "sum")]
        classes = counted.group_by(names[: len(by)]).aggregate(asked)
        sizes, most, values, weighed = (classes[f"{name}_{how}"].to_numpy() for name, how in asked)
        return {
            "rows": sizes.sum(),
            "classes": len(sizes),
            "smallest": sizes.min(),
            "largest": sizes.max(),
            "unique": (sizes == 1).sum(),
            "values": values.min(),
            "varying": (values > 1).sum(),
            "entropy": (np.log(sizes) - weighed / sizes).min(),
            "largest_share": (most / sizes).max(),
        }

    def gathered(self) -> pa.Table:
        """See `EngineRows.gathered`."""
        return self.to_table()
