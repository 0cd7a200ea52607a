"""What a worker of a cluster does: it finds the plan's keys and releases its part of the table.

It needs no project, no window and none of the large libraries. No key leaves its process.
"""

from __future__ import annotations

import base64
import binascii
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from math import exp
from pathlib import Path

import numpy as np
import pyarrow as pa

from sfumato.engine.core.errors import DiversityError, PolicyError, SfumatoError, TableError
from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.engine.randomness.row_order import Hashes
from sfumato.formats.files import opening
from sfumato.project.errors import KeyFileError
from sfumato.project.release.plan import Plan, Releaser


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
    return plan.bind(keys, leaving=True)


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
    if plan.unit is not None and plan.rows_as_in_table:
        raise PolicyError(
            "Rows of units are brought together on a cluster, so they can't leave as they stand in"
            " the table.",
            "Let rows leave in the release's own order, or release without an engine.",
        )
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


def released_part(
    batch: pa.RecordBatch, plan_text: str, source: KeySource
) -> tuple[pa.RecordBatch, Hashes]:
    """Return a part of the table as it is released, and words of its rows, shape (n, 2 or 4).

    By the first two they are sorted; where the rows leave as they stand in the table, these are
    all 0. Where rows belong to units, the others are `Releaser.unit_words`. Categories in an order
    are texts, since not every engine has such a type.

    Raises the errors of `releaser_from` and `Releaser.release_batch`.
    """
    releaser = releaser_from(plan_text, source)
    with _counted_in_part():
        if releaser.plan.rows_as_in_table:
            released = releaser.release_batch(batch)
            words = np.zeros((released.num_rows, 2), dtype=np.uint64)
        else:
            released, words = releaser.release_ordered(batch)
            if releaser.plan.unit is not None:
                words = np.hstack([words, releaser.unit_words(batch)])
    return released.cast(plain_schema(released.schema)), words


def hashed_part(batch: pa.RecordBatch, plan_text: str, source: KeySource) -> Hashes:
    """Return the keyed hash of each row's record key, shape (n, 2), by which some repeat.

    Where something is drawn once for a unit, it is followed by `Releaser.unit_values`.
    """
    releaser = releaser_from(plan_text, source)
    with _counted_in_part():
        words = releaser.record_hashes(batch)
        if releaser.plan.once_drawn:
            words = np.hstack([words, releaser.unit_values(batch)])
        return words


def hashed_columns(plan: Plan) -> list[str]:
    """Return the columns that `hashed_part` reads."""
    unit = () if plan.unit is None else plan.unit.columns
    return list(dict.fromkeys([str(plan.record_key), *unit, *plan.once_drawn]))


def plain_schema(schema: pa.Schema) -> pa.Schema:
    """Return a schema with texts in the place of categories."""
    return pa.schema(
        (field.name, pa.string() if pa.types.is_dictionary(field.type) else field.type)
        for field in schema
    )


def view_of(plan: Plan) -> Plan | None:
    """Return the plan of what the recipient sees of the quasi-identifiers; None where no k is."""
    if plan.coarsening is None or plan.coarsening.own.k == 1:
        return None
    names = tuple(plan.coarsening.hierarchies)
    read = {name: kind for name, kind in plan.schema.items() if name in {*names, plan.record_key}}
    return replace(plan, entries=(), released=names, pseudonyms={}, schema=read)


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
            "Mend these rows, or choose a column whose values are unique.",
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
            "Mend these rows, or let {columns} be drawn row by row.",
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
