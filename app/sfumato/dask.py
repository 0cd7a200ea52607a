"""Releases made by Dask: the same rows as Sfumato's own, on as many workers as there are.

Workers need Sfumato, pandas, pyarrow, numpy and cryptography, and the keys in the place that the
`KeySource` names. No key stands in a task graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.project.release.batches import batch_of_frame
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import (
    ClassFacts,
    KeySource,
    check_columns,
    hashed_columns,
    hashed_part,
    plain_schema,
    read_plan,
    refuse_repeated,
    refuse_small,
    refuse_varying,
    released_part,
    view_of,
)

if TYPE_CHECKING:
    import dask.dataframe as dd

__all__ = ["ClassFacts", "KeySource", "Plan", "class_counts", "class_facts", "read_plan", "release"]

_ORDER: Final = ("sfumato order 1", "sfumato order 2")
_UNIT: Final = ("sfumato unit 1", "sfumato unit 2")
_HALF: Final = np.uint64(1 << 63)


def release(ddf: dd.DataFrame, plan: Plan, key_source: KeySource) -> dd.DataFrame:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    That no record key stands in two rows is found out first, by a group-by over the keys' hashes;
    all else is done when the result is asked for.

    Parameters
    ----------
    ddf
        The table, with all columns of the plan.
    plan
        From `read_plan`.
    key_source
        Where each worker finds the key file that was made together with the plan.

    Returns
    -------
    dask.dataframe.DataFrame
        The released columns, with Arrow's types. Categories in an order are texts.

    Raises
    ------
    PolicyError
        If a record's release depends on other records, or units differ in what is drawn once.
    TableError
        If the table lacks a column, or record keys repeat. What does not fit in a row is said when
        the result is computed; it is named, and never a value.
    KeyFileError
        If the keys are not there, or are those of another plan.
    """
    schema = plain_schema(check_columns(plan, [str(name) for name in ddf.columns]))
    _check_rows(ddf, plan, key_source)
    if (view := view_of(plan)) is not None:
        shown = _made(ddf, view, key_source)[list(view.released)]
        refuse_small(plan, int(class_counts(shown, view.released)["rows"].min().compute()))
    made = _made(ddf, plan, key_source)
    if plan.rows_as_in_table:
        return made[list(schema.names)]
    parts = made.npartitions
    ends = [-(1 << 63) + (1 << 64) * place // parts for place in range(parts)]
    # Hashes are spread evenly, so where to cut is known without looking.
    sorted_apart = made.set_index(_ORDER[0], divisions=[*ends, (1 << 63) - 1])
    meta = _empty(schema)
    return sorted_apart.map_partitions(_in_order, list(schema.names), meta=meta)


def class_counts(ddf: dd.DataFrame, columns: Sequence[str]) -> dd.DataFrame:
    """Return the distinct rows of some columns, missing values among them, and how many each has.

    These are in a column ``rows``. They are counted by the engine's own group-by.
    """
    sizes = ddf.groupby(list(columns), dropna=False).size(split_out=ddf.npartitions)
    return sizes.rename("rows").reset_index()


def class_facts(
    ddf: dd.DataFrame, columns: Sequence[str], sensitive: str | None = None
) -> ClassFacts:
    """Return k, the unique records and, with a sensitive column, the l-diversity of a table.

    Parameters
    ----------
    ddf
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
    from dask import compute

    names = [*columns] if sensitive is None else [*columns, sensitive]
    # Places in the place of the table's own names, of which one might be "rows".
    places = {name: f"q{place}" for place, name in enumerate(names)}
    by, parts = [places[name] for name in columns], ddf.npartitions
    counts = class_counts(ddf[names].rename(columns=places), list(places.values()))
    plain = counts["rows"].astype("int64")
    told = counts[by].assign(rows=plain, most=plain, values=1, weighed=plain * np.log(plain))
    how = {"rows": "sum", "most": "max", "values": "sum", "weighed": "sum"}
    classes = told.groupby(by, dropna=False).agg(how, split_out=parts)
    shares = classes["most"] / classes["rows"]
    entropies = np.log(classes["rows"]) - classes["weighed"] / classes["rows"]
    found = compute(
        {
            "rows": classes["rows"].sum(),
            "classes": classes["rows"].count(),
            "smallest": classes["rows"].min(),
            "unique": (classes["rows"] == 1).sum(),
            "values": classes["values"].min(),
            "entropy": entropies.min(),
            "largest_share": shares.max(),
        }
    )[0]
    return ClassFacts.of(found, sensitive is not None)


def _made(ddf: dd.DataFrame, plan: Plan, source: KeySource) -> dd.DataFrame:
    """Return the released rows as they come, with what they are ordered by."""
    names = _ORDER if plan.unit is None else (*_ORDER, *_UNIT)
    words = {name: np.empty(0, dtype=np.int64) for name in names}
    meta = _empty(plain_schema(plan.output_schema())).assign(**words)
    made = ddf[list(plan.schema)].map_partitions(_released, plan.to_json(), source, meta=meta)
    if plan.unit is None:
        return made
    together, most = made.shuffle(on=_UNIT[0]), plan.unit.most_rows
    return together.map_partitions(_leaving, most, meta=meta.drop(columns=list(_UNIT)))


def _leaving(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return so many rows of each unit, of which all rows are here."""
    ranked = frame.sort_values(list(_UNIT))
    left: pd.DataFrame = ranked[ranked.groupby(_UNIT[0]).cumcount() < most]
    return left.drop(columns=list(_UNIT))


def _empty(schema: pa.Schema) -> pd.DataFrame:
    empty: pd.DataFrame = schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    return empty


def _check_rows(ddf: dd.DataFrame, plan: Plan, source: KeySource) -> None:
    """Refuse record keys that stand in several rows, and units that differ in what they share."""
    names = (*_ORDER, *_UNIT) if plan.once_drawn else _ORDER
    empty = pd.DataFrame({name: np.empty(0, dtype=np.uint64) for name in names})
    read = ddf[hashed_columns(plan)]
    hashes = read.map_partitions(_hashes, plan.to_json(), source, meta=empty)
    refuse_repeated(plan.record_key, _in_several_rows(class_counts(hashes, _ORDER)))
    if plan.once_drawn:
        values = class_counts(hashes[list(_UNIT)], _UNIT)
        refuse_varying(plan, _in_several_rows(class_counts(values, _UNIT[:1])))


def _in_several_rows(counts: dd.DataFrame) -> int:
    return int((counts["rows"] > 1).sum().compute())


def _hashes(frame: pd.DataFrame, plan_text: str, source: KeySource) -> pd.DataFrame:
    words = hashed_part(batch_of_frame(frame, list(frame.columns)), plan_text, source)
    return pd.DataFrame(dict(zip((*_ORDER, *_UNIT), words.T, strict=False)), index=frame.index)


def _released(frame: pd.DataFrame, plan_text: str, source: KeySource) -> pd.DataFrame:
    batch = batch_of_frame(frame, list(frame.columns))
    released, words = released_part(batch, plan_text, source)
    table = pa.Table.from_batches([released])
    shown: pd.DataFrame = table.to_pandas(types_mapper=pd.ArrowDtype)
    # As numbers with a sign, in the same order.
    signed = (words ^ _HALF).view(np.int64)
    return shown.assign(**dict(zip((*_ORDER, *_UNIT), signed.T, strict=False)))


def _in_order(frame: pd.DataFrame, names: list[str]) -> pd.DataFrame:
    ordered: pd.DataFrame = frame.reset_index().sort_values(list(_ORDER))[names]
    return ordered.reset_index(drop=True)
