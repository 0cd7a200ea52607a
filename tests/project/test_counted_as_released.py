"""Records are counted by what the bundle tells apart: no more values are one, and no fewer."""

from __future__ import annotations

import datetime as dt
from collections import Counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.progress import Silent
from sfumato.formats.options import ReadOptions
from sfumato.formats.tables import parquet
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import make_release
from sfumato.project.source import open_long_source, open_source, read_source
from tests.in_batches import in_batches
from tests.project.making import new_project

ROWS = 24
FOLD = dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC)
"""Half past two in Berlin, for the first time."""


def of(values, kind=None):
    return pa.array([values[i % len(values)] for i in range(ROWS)], kind)


def twice(ordered):
    """A dictionary that holds a text twice."""
    codes = pa.array([i % 3 for i in range(ROWS)], pa.int32())
    return pa.DictionaryArray.from_arrays(codes, pa.array(["a", "b", "a"]), ordered=ordered)


COLUMNS = {
    "zeros": (of([0.0, -0.0]), 1),
    "zeros of 32 bits": (of([0.0, -0.0], pa.float32()), 1),
    "not a number, and missing": (
        pa.Array.from_buffers(
            pa.float64(),
            ROWS,
            [None, pa.py_buffer(np.array([0x7FF8 << 48, 0xFFF8 << 48 | 5] * 12, "u8").tobytes())],
        ),
        1,
    ),
    "missing and none": (of([None, float("nan"), 1.0]), 2),
    "infinite": (of([float("inf"), float("-inf")]), 2),
    "decimals of 32 bits": (of([0.1, 0.2], pa.float32()), 2),
    "normal forms": (of(["Mu\u0308nchen", "M\u00fcnchen"]), 2),
    "blanks": (of(["a", "a ", " a", "a\u00a0"]), 4),
    "no width": (of(["a", "a\u200b", "\ufeffa"]), 3),
    "texts like numbers": (of(["1", "1.0", "01"]), 3),
    "an empty text and none": (of(["", None]), 2),
    "a dictionary with a text twice": (twice(ordered=False), 2),
    "an order with a text twice": (twice(ordered=True), 2),
    "an hour that comes twice": (
        pa.array(
            [FOLD + dt.timedelta(hours=i % 2) for i in range(ROWS)],
            pa.timestamp("us", "Europe/Berlin"),
        ),
        2,
    ),
    "nanoseconds": (of([10**18, 10**18 + 1], pa.int64()).cast(pa.timestamp("ns")), 2),
    "seconds": (of([0, 86_400], pa.int64()).cast(pa.timestamp("s")), 2),
    "large numbers": (of([2**53, 2**53 + 1, -1]), 3),
    "no sign": (of([2**64 - 1, 2**64 - 2], pa.uint64()), 2),
    "yes and no": (of([True, False, None]), 3),
}
"""A column, and how many values it has as they are written."""


def document(source):
    return Document(
        title="Ward 7",
        source=source,
        record_key="key",
        columns=(
            ColumnSpec("key", Role.IDENTIFYING),
            ColumnSpec("x", Role.QUASI_IDENTIFIER),
            ColumnSpec("ill", Role.SENSITIVE, domain=Domain(("flu", "none"))),
        ),
        policy=(PolicyEntry(("ill",), "uniform"),),
        recipients=(Recipient("Clinic A", {"ill": {"retention_probability": 0.5}}),),
    )


def classes_in(made, form):
    """How many rows share each value of the column, as the file's bytes tell them apart."""
    path = made.path / f"data.{form}"
    if form == "parquet":
        column = pq.read_table(path)["x"].cast(pa.string()).to_pylist()
    else:
        column = [line.rpartition(b",")[0] for line in path.read_bytes().splitlines()[1:]]
    return sorted(Counter(column).values())


@pytest.mark.few(3)
@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("kind", "in_parts", "version"),
    [
        *((kind, in_parts, 2) for kind in COLUMNS for in_parts in (False, True)),
        *(("zeros", in_parts, 1) for in_parts in (False, True)),
    ],
)
def test_classes_are_those_of_the_bundle(tmp_path, monkeypatch, kind, in_parts, version):
    monkeypatch.setattr(parquet, "BATCH_ROWS", 7)
    values, number = COLUMNS[kind]
    path = tmp_path / "t.parquet"
    ill = [("flu", "none")[i % 2] for i in range(ROWS)]
    table = pa.table({"key": [f"P{i:03d}" for i in range(ROWS)], "x": values, "ill": ill})
    pq.write_table(table, path, row_group_size=10)
    _, source = read_source(path, ReadOptions(format="parquet", version=version), Silent())
    with new_project(tmp_path, document(source)) as project:
        read = open_long_source if in_parts else open_source
        found = read(project.document, Silent(), tmp_path)
        assert found is not None
        alone = PreparedTable(project, in_batches(found[0])).summary(Silent()).alone
        assert alone is not None
        for form in ("csv", "parquet"):
            made = make_release(
                project, in_batches(found[0]), "Clinic A", tmp_path / form, form, Silent()
            )
            sizes = classes_in(made, form)
            assert len(sizes) == number
            assert (alone.smallest, alone.alone) == (sizes[0], sizes.count(1))
