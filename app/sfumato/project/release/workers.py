"""What a worker of a cluster does: it finds the plan's keys and releases its part of the table.

It needs no project, no window and none of the large libraries. No key leaves its process.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import cache, lru_cache
from importlib import import_module
from math import exp
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import DiversityError, PolicyError, SfumatoError, TableError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Words
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.engine.randomness.row_order import Hashes, order_words
from sfumato.engine.table.table import Table, encode_attribute
from sfumato.formats.files import opening
from sfumato.project.errors import KeyFileError
from sfumato.project.release.group_shuffle import (
    group_columns,
    group_words,
    grouped_entries,
    mark_of,
    marks_as_told,
    shown_alone_by,
    shown_of_groups,
    unit_values,
    unit_words,
    value_words,
)
from sfumato.project.release.plan import Plan, Releaser
from sfumato.project.release.views import keyed_rows

MOST_TOGETHER: Final = 1 << 23
"""Of a group of more records none are drawn in parts: it takes some 150 bytes for each."""


@dataclass(frozen=True)
class KeySource:
    """Where a process finds the keys of a plan: a place that may be known, and never the keys.

    Make one by `in_file`, `in_variable` or `from_function`. Each process looks once.

    Parameters
    ----------
    kind
        ``file``, ``variable`` or ``function``.
    name
        Which one.
    """

    kind: str
    name: str

    @classmethod
    def in_file(cls, path: str | Path) -> KeySource:
        """Return the place of a key file on every machine that works."""
        return cls("file", str(path))

    @classmethod
    def in_variable(cls, name: str) -> KeySource:
        """Return an environment variable that holds a key file in base64."""
        return cls("variable", name)

    @classmethod
    def from_function(cls, name: str) -> KeySource:
        """Return a function ``module:name`` that returns a key file's bytes, or them in base64.

        It is named, since what is sent of a function itself could hold the keys. For instance
        it asks the cluster's secret scope.
        """
        return cls("function", name)

    def keys(self) -> DerivedKeys:
        """Return the keys.

        Raises
        ------
        KeyFileError
            If there are none in that place.
        """
        return _keys_from(self)

    def _content(self) -> bytes:
        if self.kind == "variable":
            return _decoded(os.environ.get(self.name, "").encode())
        if self.kind == "file":
            path = Path(self.name)
            with opening(path):
                return path.read_bytes()
        module, _, function = self.name.partition(":")
        found = None
        # What the function raises may hold what it was asked for.
        with suppress(Exception):
            found = getattr(import_module(module), function)()
        if isinstance(found, str):
            return _decoded(found.encode())
        return found if isinstance(found, bytes) else b""


@cache
def _keys_from(source: KeySource) -> DerivedKeys:
    keys = None
    content = source._content()
    with suppress(ValueError):
        keys = DerivedKeys.from_bytes(content)
    if keys is None:
        raise KeyFileError(
            "The {kind} {name} holds no keys.",
            "Put the key file there that was made together with the plan: as it is into a file, in"
            " base64 into an environment variable.",
            kind=source.kind,
            name=source.name,
        )
    return keys


def _decoded(text: bytes) -> bytes:
    with suppress(binascii.Error, ValueError):
        return base64.b64decode(text.strip(), validate=True)
    return b""


@lru_cache(maxsize=16)
def releaser_from(plan_text: str, source: KeySource) -> Releaser:
    """Return what releases rows by a plan with the keys of a place; made once in a process.

    Raises
    ------
    KeyFileError
        If there are no keys in that place, or those of another plan.
    """
    plan, keys = Plan.from_json(plan_text), source.keys()
    if plan.keys != keys.fingerprint:
        raise KeyFileError(
            "The keys in the {kind} {name} are not those of the plan.",
            "Use the plan and the key file that were made together.",
            kind=source.kind,
            name=source.name,
        )
    # Of units, the engine holds back the rows that don't leave.
    return plan.bind(keys)


@lru_cache(maxsize=16)
def _alone_from(plan_text: str, source: KeySource) -> Releaser:
    """Return what releases what each row shows by itself; see `releaser_from`."""
    releaser = releaser_from(plan_text, source)
    return replace(releaser, plan=shown_alone_by(releaser.plan))


@lru_cache(maxsize=16)
def _seen_from(plan_text: str, source: KeySource) -> Releaser:
    """Return what releases what each row shows of the quasi-identifiers; see `releaser_from`."""
    releaser = releaser_from(plan_text, source)
    seen = seen_by(releaser.plan)
    assert seen is not None
    return replace(releaser, plan=seen)


def read_plan(path: str | Path) -> Plan:
    """Return the plan in a file.

    Raises
    ------
    CannotOpen
        If it can't be read.
    KeyFileError
        If it is no plan.
    """
    plan, path = None, Path(path)
    with opening(path):
        content = path.read_bytes()
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        plan = Plan.from_json(content.decode())
    if plan is None:
        raise KeyFileError(
            "{path} is not a plan.", "Give the file that sfumato plan wrote.", path=path
        )
    return plan


def check_columns(plan: Plan, names: Sequence[str]) -> pa.Schema:
    """Return what a plan releases, where it can be made in parts of a table with some columns.

    Raises
    ------
    PolicyError
        If a record's release depends on other records, or the plan was made without keys.
    TableError
        If a column is missing.
    """
    schema = plan.output_schema()
    if not (plan.keys and plan.release_id):
        raise PolicyError(
            "The plan was made without keys.",
            "Make plan and keys by sfumato plan, and give the place of the keys.",
        )
    for name in plan.schema:
        if list(names).count(name) != 1:
            raise TableError(
                "The table has no column {column}, or several.",
                "Give it all columns of the plan, each once and by its name.",
                column=name,
            )
    return schema


ORDER: Final = ("sfumato order 1", "sfumato order 2")
"""By these columns released rows are sorted, or repeated record keys are found."""
PLACE: Final = "sfumato place"
"""By this column rows are sorted that leave as they stand in the table."""
UNIT: Final = ("sfumato unit", "sfumato rank")
"""Whose a row is, and by what the rows of a unit are ranked, or told apart."""
RECORD: Final = "sfumato record"
"""The record's identifier, where rows are brought together by groups."""


def group_names(place: int) -> tuple[str, str, str]:
    """Return the columns of a row's group and of its true value, by the entry's place."""
    return (
        f"sfumato group {place} 1",
        f"sfumato group {place} 2",
        f"sfumato value {place}",
    )


def released_names(plan: Plan) -> list[str]:
    """Return the columns of words that `released_part` adds."""
    order = () if plan.rows_as_in_table else ORDER
    unit = () if plan.unit is None else UNIT
    entries = range(len(grouped_entries(plan)))
    groups = [name for place in entries for name in group_names(place)]
    return [*order, *unit, *((RECORD,) if groups else ()), *groups]


def hashed_names(plan: Plan) -> list[str]:
    """Return the columns of `hashed_part`."""
    unit = UNIT if plan.once_drawn else ()
    entries = range(len(grouped_entries(plan)))
    groups = [name for place in entries for name in group_names(place)[:2]]
    return [*ORDER, *unit, *groups]


def check_classes(plan: Plan, names: Sequence[str]) -> None:
    """Refuse a plan whose recipient sees no quasi-identifiers; and what `check_columns` refuses."""
    check_columns(plan, names)
    if seen_by(plan) is None:
        raise PolicyError(
            "The plan shows no quasi-identifiers, so all records are alike.",
            "Mark the columns by which people may be known as quasi-identifiers.",
        )


def released_part(batch: pa.RecordBatch, plan_text: str, source: KeySource) -> pa.RecordBatch:
    """Return what each row of a part of the table shows by itself, with words of it.

    These are columns `released_names` of whole numbers, sorted as the words are. What is drawn
    from groups is missing: `together_part` has it. Categories in an order are texts, since not
    every engine has such a type.

    Raises the errors of `releaser_from` and `Releaser.release_part`.
    """
    releaser, alone = releaser_from(plan_text, source), _alone_from(plan_text, source)
    plan = releaser.plan
    with _counted_in_part():
        released, hashes = alone.release_part(batch)
        if not batch.num_rows:
            return _with_words(released, [], released_names(plan))
        ids, words = hashes[:, 0].copy(), []
        if not plan.rows_as_in_table:
            words.append(order_words(ids, releaser.keys.for_row_order(plan.release_id)))
        if plan.unit is not None:
            words.append(unit_words(releaser, batch))
        entries = grouped_entries(plan)
        if entries:
            words.append(ids[:, None])
        for entry in entries:
            words.append(group_words(releaser, entry, batch))
            words.append(value_words(releaser, entry, batch, ids)[:, None])
    return _with_words(released, words, released_names(plan))


def together_part(
    words: pa.RecordBatch, plan_text: str, source: KeySource, place: int
) -> pa.RecordBatch:
    """Return what rows show of the entry in a place, of whose groups all rows are here.

    Of what `released_part` returned, it takes the columns `group_names` and `RECORD`.
    """
    releaser = releaser_from(plan_text, source)
    entry = grouped_entries(releaser.plan)[place]
    names = (*group_names(place), RECORD)
    first, second, values, ids = (_words_of(words[name]) for name in names)
    groups = np.stack([first, second], axis=1)
    shown = shown_of_groups(releaser, entry, groups, values, ids)
    found = pa.record_batch([shown], names=list(entry.attributes))
    return found.cast(plain_schema(found.schema))


def hashed_part(batch: pa.RecordBatch, plan_text: str, source: KeySource) -> pa.RecordBatch:
    """Return words of each row, columns `hashed_names`, that are looked through before a release.

    They are the keyed hash of its record key, by which some repeat; where something is drawn once
    for a unit, `unit_values`; and its groups.
    """
    releaser = releaser_from(plan_text, source)
    names = hashed_names(releaser.plan)
    if not batch.num_rows:
        return _with_words(None, [], names)
    with _counted_in_part():
        words = [releaser.record_hashes(batch)]
        if releaser.plan.once_drawn:
            words.append(unit_values(releaser, batch))
        words += [group_words(releaser, each, batch) for each in grouped_entries(releaser.plan)]
    return _with_words(None, words, names)


def hashed_columns(plan: Plan) -> list[str]:
    """Return the columns that `hashed_part` reads."""
    unit = () if plan.unit is None else plan.unit.columns
    groups = [name for names in plan.groups.values() for name in names]
    return list(dict.fromkeys([str(plan.record_key), *unit, *plan.once_drawn, *groups]))


def marked_part(batch: pa.RecordBatch, plan_text: str, source: KeySource) -> list[list[int]]:
    """Return the mark of a part's groups for each of the `grouped_entries`, two words each."""
    releaser = releaser_from(plan_text, source)
    plan = releaser.plan
    with _counted_in_part():
        table = plan.table_of(batch, group_columns(plan))
        found: list[list[int]] = mark_of(plan, table, releaser.keys).tolist()
    return found


_SIGN: Final = np.uint64(1 << 63)


def _with_words(
    released: pa.RecordBatch | None, words: Sequence[Hashes], names: Sequence[str]
) -> pa.RecordBatch:
    """Return rows with words as whole numbers that have a sign, in the same order as words."""
    columns, known = [], list(names)
    if released is not None:
        released = released.cast(plain_schema(released.schema))
        columns, known = list(released.columns), [*released.schema.names, *names]
    for each in words:
        columns += [pa.array(column.copy()) for column in (each ^ _SIGN).view(np.int64).T]
    if not words:  # of no rows
        columns += [pa.array([], pa.int64())] * len(names)
    return pa.RecordBatch.from_arrays(columns, known)


def _words_of(numbers: pa.Array) -> Words:
    found: Words = numbers.to_numpy().view(np.uint64) ^ _SIGN
    return found


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with texts in the place of categories."""
    return pa.schema(
        [
            field.with_type(pa.string()) if pa.types.is_dictionary(field.type) else field
            for field in schema
        ]
    )


def word_schema(words: Sequence[str], shown: pa.Schema | None = None) -> pa.Schema:
    """Return what rows are of: what they show, and words of them, which can't be missing."""
    fields = [pa.field(name, pa.int64(), nullable=False) for name in words]
    return pa.schema([*(shown or ()), *fields])


def seen_by(plan: Plan) -> Plan | None:
    """Return the plan of what the recipient sees of the quasi-identifiers; None without any."""
    quasi = {spec.name for spec in plan.columns if spec.role is Role.QUASI_IDENTIFIER}
    names = tuple(name for name in plan.released if name in quasi)
    if not names:
        return None
    wanted = {*names, plan.record_key, *(() if plan.unit is None else plan.unit.columns)}
    return replace(
        plan,
        entries=(),
        released=names,
        groups={},
        pseudonyms={},
        schema={name: kind for name, kind in plan.schema.items() if name in wanted},
        rows_as_in_table=True,
    )


def counts_classes(plan: Plan) -> bool:
    """Whether classes are counted before rows are released: whether the view has a k above 1."""
    return plan.coarsening is not None and plan.coarsening.own.k > 1


def counted_attributes(plan: Plan) -> list[str]:
    """Return the attributes whose true values are counted in classes: those with a domain."""
    names = [name for entry in plan.entries for name in entry.attributes]
    return [name for name in names if plan.column(name).domain is not None]


CLASS: Final = ("sfumato class 1", "sfumato class 2")
"""What a row shows of the quasi-identifiers, as the keyed hash of its class."""


def class_names(plan: Plan, with_values: bool) -> list[str]:
    """Return the columns of `class_part`."""
    unit = () if plan.unit is None else UNIT
    attributes = counted_attributes(plan) if with_values else ()
    return [*CLASS, *unit, *(value_name(name) for name in attributes)]


def value_name(attribute: str) -> str:
    """Return the column of `class_part` with an attribute's values."""
    return f"sfumato value of {attribute}"


def class_columns(plan: Plan, with_values: bool) -> list[str]:
    """Return the columns that `class_part` reads."""
    seen = seen_by(plan)
    assert seen is not None
    return list(dict.fromkeys([*seen.schema, *(counted_attributes(plan) if with_values else ())]))


def class_part(
    batch: pa.RecordBatch, plan_text: str, source: KeySource, with_values: bool
) -> pa.RecordBatch:
    """Return each row's class, whose it is, and its true values, as words; see `class_names`.

    A value is a keyed hash of it and of its class: which classes share values it does not tell.
    """
    releaser, seen = releaser_from(plan_text, source), _seen_from(plan_text, source)
    plan, names = releaser.plan, class_names(releaser.plan, with_values)
    if not batch.num_rows:
        return _with_words(None, [], names)
    with _counted_in_part():
        shown = seen.release_part(batch)[0].to_pandas()
        key = releaser.keys.for_classes()

        def hashed(*more: pd.Series) -> Hashes:
            columns = [*(shown[name] for name in shown), *more]
            frame = pd.concat(columns, axis=1, keys=list(map(str, range(len(columns)))))
            table = Table(frame, is_part=True)
            return keyed_rows(table, list(frame), key).view(np.uint64).reshape(-1, 2)

        words = [hashed()]
        if plan.unit is not None:
            words.append(unit_words(releaser, batch))
        for name in counted_attributes(plan) if with_values else ():
            table = plan.table_of(batch, (name,))
            codes = encode_attribute(table, plan.column(name)).values
            words.append(hashed(pd.Series(codes))[:, :1])
    return _with_words(None, words, names)


def refuse_small(plan: Plan, smallest: int) -> None:
    """Refuse a table of which a class of records has fewer rows than the view's k.

    Raises
    ------
    DiversityError
        Saying what it comes to.
    """
    k = 1 if plan.coarsening is None else plan.coarsening.own.k
    if smallest < k:
        raise DiversityError(
            "The smallest group of records that share what is shown of them has {smallest}, and"
            " k is {k}: this is not the table that the plan was made from.",
            "Make the plan again from the table as it is now.",
            smallest=smallest,
            k=k,
        )


def refuse_other_groups(plan: Plan, marks: Sequence[Sequence[int]]) -> None:
    """Refuse a table whose groups are not those of the plan, by the sums of its parts' marks.

    Raises
    ------
    TableError
        Naming the entry.
    """
    words = np.array([[word % (1 << 64) for word in pair] for pair in marks], dtype=np.uint64)
    for key, told in marks_as_told(plan, words).items():
        if plan.group_marks.get(key) != told:
            raise TableError(
                "{entry} is released by groups of records, and these are not the groups that the"
                " plan was made from: this is another table.",
                "Make the plan again from the table as it is now.",
                entry=key,
            )


def refuse_large(entry: str, largest: int) -> None:
    """Refuse groups of which the largest has more rows than are drawn from together.

    Raises
    ------
    TableError
        Naming the entry.
    """
    if largest > MOST_TOGETHER:
        raise TableError(
            "{entry} is released by groups of records, with a group of {largest:,}: more than"
            " {most:,} {most:record|records} are not drawn from on one worker.",
            "Choose more public columns or finer bins, or release without an engine.",
            entry=entry,
            largest=largest,
            most=MOST_TOGETHER,
        )


@dataclass(frozen=True)
class ClassFacts:
    """What the equivalence classes of a table tell, counted by an engine.

    Parameters
    ----------
    rows, classes
        How many there are.
    smallest
        The rows of the smallest class, k.
    unique
        How many classes have a single row.
    values
        Every class has at least so many different sensitive values, l; None where none were
        asked about.
    entropy
        Every class has an entropy of at least the logarithm of this number.
    largest_share
        The largest share that one sensitive value has of a class.
    """

    rows: int
    classes: int
    smallest: int
    unique: int
    values: int | None = None
    entropy: float | None = None
    largest_share: float | None = None

    @classmethod
    def of(cls, found: Mapping[str, float], with_values: bool) -> ClassFacts:
        """Return the facts from what an engine found, by the names of `ClassFacts`.

        There, ``entropy`` is the least entropy of a class, in nats.

        Raises
        ------
        TableError
            If there are no rows.
        """
        if not found["classes"]:
            raise TableError("The table has no rows.", "Count classes of a table that has some.")
        counts = {name: int(found[name]) for name in ("rows", "classes", "smallest", "unique")}
        if not with_values:
            return cls(**counts)
        values, share = int(found["values"]), float(found["largest_share"])
        return cls(**counts, values=values, entropy=exp(found["entropy"]), largest_share=share)


def refuse_repeated(record_key: str | None, count: int) -> None:
    """Refuse a table in which several rows share a record key, where some do.

    Raises
    ------
    TableError
        Saying of how many keys that is so.
    """
    if count:
        raise TableError(
            "The record key {column} is not unique: {count:,} {count:key stands|keys stand} in"
            " several rows.",
            "Correct these rows, or choose a column whose values are unique.",
            column=record_key,
            count=count,
        )


def refuse_varying(plan: Plan, count: int) -> None:
    """Refuse a table where so many units differ in what is drawn once for each, where some do.

    Raises
    ------
    PolicyError
        Saying of how many that is so.
    """
    if count and plan.unit is not None:
        raise PolicyError(
            "What is drawn once for all rows with the same {unit} differs between the rows of"
            " {count:,} {count:group|groups}: {columns}.",
            "Correct these rows, or randomise {columns} row by row.",
            columns=", ".join(plan.once_drawn),
            unit=plan.unit.name,
            count=count,
        )


@contextmanager
def _counted_in_part() -> Iterator[None]:
    """Say of rows that are named that a worker counts those of its part."""
    found = None
    try:
        yield
    except SfumatoError as error:
        if "row" not in error.details:
            raise
        found = error
    if found is not None:
        raise TableError(
            "{finding} (Rows are counted from 1 in each part of the table.)",
            found.remedy_template,
            finding=found.what,
        )
