"""Releases made by Dask: the same rows as Sfumato's own, on as many workers as there are.

Workers need Sfumato, pandas, pyarrow, numpy and cryptography, and the keys in the place that the
`KeySource` names. No key stands in a task graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.frozen import dataclass
from sfumato.project.release import engine
from sfumato.project.release.batches import batch_of_frame
from sfumato.project.release.engine import EngineRows, Work
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import PLACE, ClassFacts, KeySource, read_plan

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

    The released columns have Arrow's types; categories in an order are texts. What is checked
    before is computed at once. What does not fit in a row is said when the result is computed; it
    is named, and never a value.

    Parameters
    ----------
    ddf
        The table, with all columns of the plan.
    plan
        From `read_plan`.
    key_source
        Where each worker finds the key file that was made together with the plan.

    Raises
    ------
    PolicyError, DiversityError, TableError, KeyFileError
        As `sfumato.project.release.engine.released`.
    """
    made = engine.released(DaskRows(ddf), plan, key_source)
    assert isinstance(made, DaskRows)
    return made.frame


def class_counts(ddf: dd.DataFrame, columns: Sequence[str]) -> dd.DataFrame:
    """Return the distinct rows of some columns, missing values among them, and how many each has.

    These are in a column ``rows``. They are counted by the engine's own group-by.
    """
    return DaskRows(ddf).class_counts(columns)


def class_facts(
    ddf: dd.DataFrame, columns: Sequence[str], sensitive: str | None = None
) -> ClassFacts:
    """Return what classes tell of a table; see `sfumato.project.release.engine.class_facts`."""
    return engine.class_facts(DaskRows(ddf), columns, sensitive)


def view_facts(ddf: dd.DataFrame, plan: Plan, key_source: KeySource) -> dict[str, ClassFacts]:
    """Return what classes would tell; see `sfumato.project.release.engine.view_facts`."""
    return engine.view_facts(DaskRows(ddf), plan, key_source)


@dataclass(frozen=True)
class DaskRows(EngineRows):
    """Rows in a frame of Dask's.

    Parameters
    ----------
    frame
        The frame. What is made has Arrow's types but for words, which are numpy's numbers.
    """

    frame: dd.DataFrame

    @property
    def columns(self) -> list[str]:
        """See `EngineRows.columns`."""
        return [str(name) for name in self.frame.columns]

    def select(self, names: Sequence[str]) -> DaskRows:
        """See `EngineRows.select`."""
        return DaskRows(self.frame[list(names)])

    def placed(self) -> DaskRows:
        """See `EngineRows.placed`."""
        meta = self.frame._meta.assign(**{PLACE: np.empty(0, dtype=np.int64)})
        return DaskRows(self.frame.map_partitions(_placed, meta=meta))

    def mapped(self, work: Work, schema: pa.Schema) -> DaskRows:
        """See `EngineRows.mapped`."""
        made = self.frame.map_partitions(_worked, work, meta=_frame_of(schema.empty_table()))
        return DaskRows(made)

    def together(self, by: str, work: Work, schema: pa.Schema, rows: int) -> DaskRows:  # noqa: ARG002
        """See `EngineRows.together`."""
        return DaskRows(self.frame.shuffle(on=by, shuffle_method=_how())).mapped(work, schema)

    def first_of_each(self, unit: str, rank: str, most: int) -> DaskRows:
        """See `EngineRows.first_of_each`."""
        shuffled = self.frame.shuffle(on=unit, shuffle_method=_how())
        made = shuffled.map_partitions(_first_of_each, unit, rank, most, meta=self.frame._meta)
        return DaskRows(made)

    def in_order(self, words: Sequence[str]) -> DaskRows:
        """See `EngineRows.in_order`."""
        words, parts = list(words), self.frame.npartitions
        ends = [_MOST_ROWS * place for place in range(parts + 1)]
        if words != [PLACE]:
            # Hashes are spread evenly, so where to cut is known without looking.
            ends = [-(1 << 63) + (1 << 64) * place // parts for place in range(parts)]
            ends.append((1 << 63) - 1)
        apart = self.frame.set_index(words[0], divisions=ends, shuffle_method=_how())
        return DaskRows(apart.map_partitions(_in_order, words, self.columns, meta=self.frame._meta))

    def class_counts(self, columns: Sequence[str]) -> dd.DataFrame:
        """See `EngineRows.class_counts`."""
        frame = self.frame[list(columns)]
        # Dask can't rename what is grouped by dictionaries of Arrow's.
        plain = {
            name: pd.ArrowDtype(kind.pyarrow_dtype.value_type)
            for name, kind in frame.dtypes.items()
            if isinstance(kind, pd.ArrowDtype) and pa.types.is_dictionary(kind.pyarrow_dtype)
        }
        groups = (frame.astype(plain) if plain else frame).groupby(list(columns), dropna=False)
        sizes = groups.size(split_out=frame.npartitions, shuffle_method=_how())
        return sizes.rename("rows").reset_index()

    def class_totals(self, by: Sequence[str], within: Sequence[str] = ()) -> dict[str, dd.Scalar]:
        """See `EngineRows.class_totals`."""
        # Places in the place of the table's own names, of which one might be "rows".
        places = {name: f"q{place}" for place, name in enumerate((*by, *within))}
        names = [places[name] for name in by]
        renamed = self.frame[list(places)].rename(columns=places)
        classes = DaskRows(renamed).class_counts(list(places.values()))
        sizes = classes["rows"].astype("int64")
        told: dict[str, dd.Scalar] = {}
        if within:
            weighed = sizes * np.log(sizes)
            told_of = classes[names].assign(rows=sizes, most=sizes, values=1, weighed=weighed)
            how = {"rows": "sum", "most": "max", "values": "sum", "weighed": "sum"}
            grouped = told_of.groupby(names, dropna=False)
            parts = self.frame.npartitions
            classes = grouped.agg(how, split_out=parts, shuffle_method=_how())
            sizes = classes["rows"]
            told = {
                "values": classes["values"].min(),
                "varying": (classes["values"] > 1).sum(),
                "entropy": (np.log(sizes) - classes["weighed"] / sizes).min(),
                "largest_share": (classes["most"] / sizes).max(),
            }
        return told | {
            "rows": sizes.sum(),
            "classes": sizes.count(),
            "smallest": sizes.min(),
            "largest": sizes.max(),
            "unique": (sizes == 1).sum(),
        }

    def gathered(self) -> dd.DataFrame:
        """See `EngineRows.gathered`."""
        return self.frame

    def computed(self, asked: Mapping[str, Any]) -> Mapping[str, Any]:
        """See `EngineRows.computed`."""
        from dask import compute

        found: Mapping[str, Any] = compute(dict(asked))[0]
        return found


def _how() -> str:
    """Return how rows are brought together: as Dask is set, or by tasks.

    Where a worker is lost, tasks cost what was on it alone; Dask's own choice on a cluster begins
    the whole shuffle anew.
    """
    from dask import config

    stated: str | None = config.get("dataframe.shuffle.method", None)
    return stated or "tasks"


def _worked(frame: pd.DataFrame, work: Work) -> pd.DataFrame:
    return _frame_of(pa.Table.from_batches([work(batch_of_frame(frame, list(frame.columns)))]))


def _frame_of(rows: pa.Table) -> pd.DataFrame:
    """Return rows with Arrow's own types, in which whole numbers with missing ones stay whole."""
    frame: pd.DataFrame = rows.to_pandas(types_mapper=pd.ArrowDtype)
    words = [field.name for field in rows.schema if not field.nullable]
    return frame.assign(**{name: rows[name].to_numpy() for name in words})


def _placed(frame: pd.DataFrame, partition_info: dict[str, int] | None = None) -> pd.DataFrame:
    assert partition_info is not None
    first = _MOST_ROWS * partition_info["number"]
    return frame.assign(**{PLACE: np.arange(first, first + len(frame))})


def _first_of_each(frame: pd.DataFrame, unit: str, rank: str, most: int) -> pd.DataFrame:
    ranked = frame.sort_values([unit, rank])
    left: pd.DataFrame = ranked[ranked.groupby(unit).cumcount() < most]
    return left


def _in_order(frame: pd.DataFrame, words: list[str], names: list[str]) -> pd.DataFrame:
    ordered: pd.DataFrame = frame.reset_index().sort_values(words)[names]
    return ordered.reset_index(drop=True)
