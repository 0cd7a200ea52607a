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
from sfumato.project.release.brought_together import (
    group_columns,
    grouped_entries,
    shown_alone_by,
)
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
    read_plan,
    refuse_large,
    refuse_other_groups,
    refuse_repeated,
    refuse_small,
    refuse_varying,
    released_names,
    released_part,
    together_part,
    value_name,
)

if TYPE_CHECKING:
    import dask.dataframe as dd

__all__ = [
    "ClassFacts",
    "KeySource",
    "Plan",
    "class_counts",
    "class_facts",
    "read_plan",
    "release",
    "view_facts",
]

_MOST_ROWS: Final = 1 << 40
"""Of a partition: so far apart are the places of rows in two of them."""


def release(ddf: dd.DataFrame, plan: Plan, key_source: KeySource) -> dd.DataFrame:
    """Return the rows of a table as a plan's recipient is given them, in the release's own order.

    That no record key stands in two rows is found out first, by a group-by over the keys' hashes,
    and what the plan says of units and groups; all else is done when the result is asked for.

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
    if counts_classes(plan):
        refuse_small(plan, int(_smallest(ddf, plan, key_source).compute()))
    names, parts, placed = list(schema.names), ddf.npartitions, plan.rows_as_in_table
    made = _made(ddf, plan, key_source, placed)
    if placed and not (plan.groups or plan.unit):
        return made[names]
    words = [PLACE] if placed else list(ORDER)
    ends = [_MOST_ROWS * place for place in range(parts + 1)]
    if not placed:
        # Hashes are spread evenly, so where to cut is known without looking.
        ends = [-(1 << 63) + (1 << 64) * place // parts for place in range(parts)]
        ends.append((1 << 63) - 1)
    sorted_apart = made.set_index(words[0], divisions=ends)
    return sorted_apart.map_partitions(_in_order, words, names, meta=_empty(schema))


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

    return ClassFacts.of(compute(_facts(ddf, columns, sensitive))[0], sensitive is not None)


def view_facts(ddf: dd.DataFrame, plan: Plan, key_source: KeySource) -> dict[str, ClassFacts]:
    """Return what the classes tell that a plan's recipient would see, before anything is released.

    Rows are in one class that agree on what is shown of the quasi-identifiers, among those that
    leave. In each, the true values are counted.

    Parameters
    ----------
    ddf, plan, key_source
        See `release`.

    Returns
    -------
    dict
        By each sensitive attribute with a list of values or bins; under "" where there is none.

    Raises
    ------
    PolicyError, TableError, KeyFileError
        As `release`; the table may also show no quasi-identifiers, or have no rows.
    """
    from dask import compute

    check_classes(plan, [str(name) for name in ddf.columns])
    made = _classes(ddf, plan, key_source, with_values=True)
    names = counted_attributes(plan)
    if not names:
        return {"": class_facts(made, CLASS)}
    found = compute({name: _facts(made, CLASS, value_name(name)) for name in names})[0]
    return {name: ClassFacts.of(facts, True) for name, facts in found.items()}


def _facts(
    ddf: dd.DataFrame, columns: Sequence[str], sensitive: str | None
) -> dict[str, dd.Scalar]:
    """Return what `ClassFacts.of` takes, still to be computed."""
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
    return {
        "rows": classes["rows"].sum(),
        "classes": classes["rows"].count(),
        "smallest": classes["rows"].min(),
        "unique": (classes["rows"] == 1).sum(),
        "values": classes["values"].min(),
        "entropy": entropies.min(),
        "largest_share": shares.max(),
    }


def _made(ddf: dd.DataFrame, plan: Plan, source: KeySource, placed: bool) -> dd.DataFrame:
    """Return the released rows as they come, with what they are ordered by.

    Rows of a unit are brought together, and those of a group. `placed` ones say where they stood
    in the table.
    """
    alone, text = shown_alone_by(plan), plan.to_json()
    words = [*released_names(plan), *([PLACE] if placed else ())]
    meta = _empty(plain_schema(alone.output_schema())).assign(**_numbers(words))
    made = ddf[list(plan.schema)].map_partitions(_released, text, source, words, meta=meta)
    if plan.unit is not None:
        made = _leaving_of(made, plan.unit.most_rows, meta)
    schema = plain_schema(plan.output_schema())
    for place, entry in enumerate(grouped_entries(plan)):
        names = group_names(place)
        own = _empty(pa.schema([schema.field(name) for name in entry.attributes]))
        meta = meta.drop(columns=list(names)).assign(**own)
        made = made.shuffle(on=names[0]).map_partitions(_together, text, source, place, meta=meta)
    return made


def _leaving(frame: pd.DataFrame, most: int) -> pd.DataFrame:
    """Return so many rows of each unit, of which all rows are here."""
    ranked = frame.sort_values(list(UNIT))
    left: pd.DataFrame = ranked[ranked.groupby(UNIT[0]).cumcount() < most]
    return left


def _classes(
    ddf: dd.DataFrame, plan: Plan, source: KeySource, with_values: bool = False
) -> dd.DataFrame:
    """Return the words of `class_part`, of rows that leave."""
    names = class_names(plan, with_values)
    empty = _numbers(names)
    read = ddf[class_columns(plan, with_values)]
    made = read.map_partitions(_class_words, plan.to_json(), source, with_values, meta=empty)
    return made if plan.unit is None else _leaving_of(made, plan.unit.most_rows, empty)


def _leaving_of(made: dd.DataFrame, most: int, meta: pd.DataFrame) -> dd.DataFrame:
    """Return so many rows of each unit, brought together."""
    return made.shuffle(on=UNIT[0]).map_partitions(_leaving, most, meta=meta)


def _smallest(ddf: dd.DataFrame, plan: Plan, source: KeySource) -> dd.Scalar:
    """Return how many rows the smallest class of a view has, or units."""
    classes = _classes(ddf, plan, source)
    if plan.unit is not None:
        classes = class_counts(classes, [*CLASS, UNIT[0]])
    return class_counts(classes, CLASS)["rows"].min()


def _class_words(
    frame: pd.DataFrame, plan_text: str, source: KeySource, with_values: bool
) -> pd.DataFrame:
    batch = batch_of_frame(frame, list(frame.columns))
    found: pd.DataFrame = class_part(batch, plan_text, source, with_values).to_pandas()
    return found


def _numbers(names: Sequence[str]) -> pd.DataFrame:
    return pd.DataFrame({name: np.empty(0, dtype=np.int64) for name in names})


def _empty(schema: pa.Schema) -> pd.DataFrame:
    empty: pd.DataFrame = schema.empty_table().to_pandas(types_mapper=pd.ArrowDtype)
    return empty


def _check_rows(ddf: dd.DataFrame, plan: Plan, source: KeySource) -> None:
    """Refuse repeated record keys, units that differ in what they share, and other groups."""
    from dask import compute

    text = plan.to_json()
    read = ddf[hashed_columns(plan)]
    hashes = read.map_partitions(_hashes, text, source, meta=_numbers(hashed_names(plan)))
    found = {"keys": _in_several_rows(class_counts(hashes[list(ORDER)], ORDER))}
    if plan.once_drawn:
        values = class_counts(hashes[list(UNIT)], UNIT)
        found["units"] = _in_several_rows(class_counts(values[list(UNIT[:1])], UNIT[:1]))
    entries = grouped_entries(plan)
    for place, entry in enumerate(entries):
        names = list(group_names(place)[:2])
        found[entry.key] = class_counts(hashes[names], names)["rows"].max()
    if entries:
        read, marks = ddf[list(group_columns(plan))], map(str, range(2 * len(entries)))
        found["marks"] = read.map_partitions(_marks, text, source, meta=_numbers(list(marks)))
    found = compute(found)[0]
    refuse_repeated(plan.record_key, int(found["keys"]))
    refuse_varying(plan, int(found.get("units", 0)))
    if entries:
        totals = found["marks"].to_numpy().sum(axis=0).reshape(-1, 2).tolist()
        refuse_other_groups(plan, totals)
    for entry in entries:
        refuse_large(entry.key, int(found[entry.key]))


def _in_several_rows(counts: dd.DataFrame) -> dd.Scalar:
    return (counts["rows"] > 1).sum()


def _hashes(frame: pd.DataFrame, plan_text: str, source: KeySource) -> pd.DataFrame:
    words = hashed_part(batch_of_frame(frame, list(frame.columns)), plan_text, source)
    found: pd.DataFrame = words.to_pandas()
    return found


def _marks(frame: pd.DataFrame, plan_text: str, source: KeySource) -> pd.DataFrame:
    marks = marked_part(batch_of_frame(frame, list(frame.columns)), plan_text, source)
    words = np.array(marks, dtype=np.uint64).view(np.int64).reshape(1, -1)
    return pd.DataFrame(words, columns=list(map(str, range(words.size))))


def _released(
    frame: pd.DataFrame,
    plan_text: str,
    source: KeySource,
    words: list[str],
    partition_info: dict[str, int] | None = None,
) -> pd.DataFrame:
    batch = batch_of_frame(frame, list(frame.columns))
    released = pa.Table.from_batches([released_part(batch, plan_text, source)])
    if PLACE in words:
        assert partition_info is not None
        first = _MOST_ROWS * partition_info["number"]
        places = np.arange(first, first + len(released))
        released = released.append_column(PLACE, pa.array(places))
    shown: pd.DataFrame = released.drop_columns(words).to_pandas(types_mapper=pd.ArrowDtype)
    return shown.assign(**{name: released[name].to_numpy() for name in words})


def _together(frame: pd.DataFrame, plan_text: str, source: KeySource, place: int) -> pd.DataFrame:
    names = [*group_names(place), RECORD]
    words = pa.RecordBatch.from_pandas(frame[names], preserve_index=False)
    shown = pa.Table.from_batches([together_part(words, plan_text, source, place)])
    own = shown.to_pandas(types_mapper=pd.ArrowDtype).set_axis(frame.index)
    return frame.drop(columns=names[:-1]).assign(**own)


def _in_order(frame: pd.DataFrame, words: list[str], names: list[str]) -> pd.DataFrame:
    ordered: pd.DataFrame = frame.reset_index().sort_values(words)[names]
    return ordered.reset_index(drop=True)
