"""The rows of a long table that are held once they were read are as they were in its file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.table_format import Batches
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batches import HeldRows, with_codes
from tests.thorough import tried

NUMBERS = {
    "int8": st.integers(-(1 << 7), (1 << 7) - 1),
    "int64": st.integers(-(1 << 63), (1 << 63) - 1),
    "uint64": st.integers(0, (1 << 64) - 1),
    "small int64": st.integers(-(1 << 15), 1 << 15),
    "double": st.floats(allow_nan=False),
    "string": st.sampled_from(["Oslo", "Rome", ""]),
    "bool": st.booleans(),
}


def source_of(batches, asked):
    """Return rows that note which columns they are asked for."""

    def read(names):
        asked.append(tuple(names))
        return (batch.select(names) for batch in batches)

    types = {field.name: field.type for field in batches[0].schema}
    return Batches(types, sum(map(len, batches)), {}, {}, read)


@given(st.data())
@settings(max_examples=tried(60))
def test_columns_that_are_held_are_read_once_and_are_as_they_were(data):
    kinds = data.draw(st.lists(st.sampled_from(list(NUMBERS)), min_size=1, max_size=4, unique=True))
    sizes = data.draw(st.lists(st.integers(0, 20), min_size=1, max_size=4))
    batches = [
        pa.record_batch(
            {
                kind: pa.array(
                    data.draw(st.lists(NUMBERS[kind] | st.none(), min_size=rows, max_size=rows)),
                    kind.split()[-1],
                )
                for kind in kinds
            }
        )
        for rows in sizes
    ]
    asked, held = [], HeldRows()
    source = source_of(batches, asked)
    first = list(held.read(source, kinds))
    again = list(held.read(source, kinds[::-1]))
    assert [each.select(kinds) for each in again] == first == list(with_codes(batches))
    assert [each.schema.field(kinds[0]) for each in again] == [
        first[0].schema.field(kinds[0])
    ] * len(sizes)
    assert asked == [tuple(kinds)] or not sum(sizes)


def test_categories_in_an_order_are_held_as_such():
    kind = pa.dictionary(pa.int32(), pa.string(), ordered=True)
    grades = pa.DictionaryArray.from_arrays(
        pa.array([1, None, 0], pa.int32()), ["low", "high"], ordered=True
    )
    asked, held = [], HeldRows()
    source = source_of([pa.record_batch({"grade": grades})], asked)
    first, again = (list(held.read(source, ["grade"])) for _ in range(2))
    assert first == again
    assert again[0].schema.field("grade").type == kind
    assert len(asked) == 1


def test_a_table_that_takes_more_than_may_be_held_is_read_each_time():
    batches = [pa.record_batch({"income": np.arange(100) / 7}) for _ in range(4)]
    for most, times in ((3199, 2), (3200, 1)):
        asked, held = [], HeldRows()
        for _ in range(2):
            found = list(held.read(source_of(batches, asked), ["income"], most))
            assert found == batches
        assert len(asked) == times


def test_nothing_is_held_until_all_columns_are_read_and_each_has_its_values_then():
    ages, stays = np.arange(100) / 7, np.arange(100)
    asked, held = [], HeldRows()
    source = source_of([pa.record_batch({"age": ages, "stay": stays})], asked)
    for names in (["age"], ["age"], ["stay", "age"], ["age"], ["stay"]):
        [found] = held.read(source, names)
        wanted = {"age": ages, "stay": stays}
        assert found == pa.record_batch({name: wanted[name] for name in names})
    assert asked == [("age",), ("age",), ("stay", "age")]


@pytest.mark.parametrize("why", ["nobody reads on", "there are fewer rows"])
def test_nothing_is_held_of_a_table_that_was_not_read_to_its_end(why):
    batches = [pa.record_batch({"age": [1, 2]}), pa.record_batch({"age": [3, 4]})]
    asked, held = [], HeldRows()
    source = source_of(batches, asked)
    if why == "nobody reads on":
        next(held.read(source, ["age"]))
    else:
        list(held.read(replace(source, rows=5), ["age"]))
    assert list(held.read(source, ["age"])) == batches
    assert len(asked) == 2


def test_all_rows_that_are_in_memory_may_be_held_and_others_up_to_a_number(tmp_path):
    whole = BatchedTable.of(Table(pd.DataFrame({"age": range(50)})), tmp_path)
    parts = BatchedTable(whole.batches, tmp_path)
    assert [each.most_held(20) for each in (whole, parts)] == [50, 20]
    assert [each.most_held(80) for each in (whole, parts)] == [80, 80]
    assert [each.fits for each in (whole, parts)] == [True, False]
    assert [whole.held_rows(most) is None for most in (50, 49)] == [False, True]
    assert parts.held_rows(50) is None
    read = parts.in_memory(Silent()).frame
    assert read["age"].tolist() == whole.in_memory(Silent()).frame["age"].tolist()
