"""Micro groups are the records that agree on every public attribute."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato.engine.table.micro_groups as subject
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.micro_groups import (
    MicroGroups,
    largest_counts,
    merge,
    merged_counts,
    micro_groups,
    most_frequent,
    regrouped,
    value_counts,
)
from tests.thorough import tried

PUBLIC = ["sex", "age", "town"]


def people() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "sex": pd.Categorical(["f", "m", "f", None, "f", None]),
            "age": [30.0, 30.0, 30.0, np.nan, 31.0, np.nan],
            "town": ["Bath", "Bath", "Bath", None, "Bath", None],
        }
    )


rows = st.lists(
    st.tuples(
        st.sampled_from(["f", "m", None]),
        st.sampled_from([1.0, 2.0, np.nan]),
        st.sampled_from(["a", "b", None]),
        st.integers(0, 4),
    ),
    min_size=1,
    max_size=40,
)


def frame_of(records: list[tuple[object, ...]]) -> tuple[pd.DataFrame, np.ndarray]:
    frame = pd.DataFrame([record[:3] for record in records], columns=PUBLIC)
    return frame, np.array([record[3] for record in records], dtype=np.uint8)


def known(record: tuple[object, ...]) -> tuple[object, ...]:
    return tuple("missing" if pd.isna(value) else value for value in record[:3])  # type: ignore[call-overload]


def public_values(groups: MicroGroups, group: int) -> dict[str, object]:
    """Return the values that a group's records share, by attribute."""
    return {each.name: each.value(int(each.codes[group])) for each in groups.attributes}


def test_records_with_equal_public_values_share_a_group_and_missing_is_a_value() -> None:
    groups = micro_groups(people(), PUBLIC, Silent())
    assert groups.codes.tolist() == [0, 1, 0, 2, 3, 2]
    assert groups.sizes.tolist() == [2, 1, 2, 1]
    assert groups.names == ("sex", "age", "town")


def test_a_group_is_described_by_its_public_values() -> None:
    groups = micro_groups(people(), PUBLIC, Silent())
    assert public_values(groups, 3) == {"sex": "f", "age": 31.0, "town": "Bath"}
    assert public_values(groups, 2) == {"sex": None, "age": None, "town": None}


def test_without_public_attributes_the_table_is_one_group() -> None:
    groups = micro_groups(people(), [], Silent())
    assert groups.sizes.tolist() == [6]
    assert public_values(groups, 0) == {}


def test_an_unknown_column_is_named() -> None:
    with pytest.raises(TableError, match="height"):
        micro_groups(people(), ["sex", "height"], Silent())


def test_a_table_without_rows_is_refused() -> None:
    with pytest.raises(TableError, match="no rows"):
        micro_groups(people().iloc[:0], PUBLIC, Silent())


def test_values_are_not_shown_by_accident() -> None:
    assert "Bath" not in repr(micro_groups(people(), PUBLIC, Silent()))


@settings(deadline=None, max_examples=tried(60))
@given(records=rows)
def test_groups_and_counts_are_those_of_a_dictionary(records: list[tuple[object, ...]]) -> None:
    frame, codes = frame_of(records)
    groups = micro_groups(frame, PUBLIC, Silent())
    numbers: dict[tuple[object, ...], int] = {}
    expected = [numbers.setdefault(known(record), len(numbers)) for record in records]
    assert groups.codes.tolist() == expected
    counts = value_counts(groups, codes, 5)
    tally = Counter(zip(expected, codes.tolist(), strict=True))
    dense = np.zeros((len(numbers), 5), dtype=int)
    for cell, count in tally.items():
        dense[cell] = count
    assert np.array_equal(counts.toarray(), dense)
    assert np.array_equal(groups.sizes, dense.sum(axis=1))
    assert np.array_equal(largest_counts(counts), dense.max(axis=1))
    assert np.array_equal(most_frequent(counts), dense.argmax(axis=1))


@settings(deadline=None, max_examples=tried(40))
@given(records=rows, dropped=st.sampled_from(PUBLIC))
def test_dropping_an_attribute_gives_the_groups_of_the_others(
    records: list[tuple[object, ...]], dropped: str
) -> None:
    frame, codes = frame_of(records)
    kept = [name for name in PUBLIC if name != dropped]
    groups = micro_groups(frame, PUBLIC, Silent())
    fewer = regrouped(groups, tuple(fewer_attributes(groups, dropped)))
    expected = micro_groups(frame, kept, Silent())
    assert np.array_equal(fewer.codes, expected.codes)
    assert np.array_equal(fewer.sizes, expected.sizes)
    assert [public_values(fewer, i) for i in range(fewer.count)] == [
        public_values(expected, i) for i in range(expected.count)
    ]
    merged = merge(fewer_attributes(groups, dropped), groups.count)
    added = merged_counts(value_counts(groups, codes, 5), merged, fewer.count)
    assert np.array_equal(added.toarray(), value_counts(expected, codes, 5).toarray())


def fewer_attributes(groups: MicroGroups, dropped: str) -> list[subject.PublicAttribute]:
    return [each for each in groups.attributes if each.name != dropped]


def test_many_wide_columns_do_not_overflow() -> None:
    rng = np.random.default_rng(7)
    wide = rng.integers(0, 1000, size=(1000, 12))
    wide[500:] = wide[:500]
    frame = pd.DataFrame(wide, columns=[f"c{i}" for i in range(12)])
    groups = micro_groups(frame, list(frame.columns), Silent())
    assert groups.count == len(np.unique(wide, axis=0))
    assert (groups.codes[500:] == groups.codes[:500]).all()


def test_many_groups_of_one_are_counted_without_a_dense_table() -> None:
    frame = pd.DataFrame({"number": np.arange(50_000)})
    groups = micro_groups(frame, ["number"], Silent())
    counts = value_counts(groups, np.full(50_000, 9_999, dtype=np.uint16), 10_000)
    assert counts.shape == (50_000, 10_000)
    assert counts.nnz == 50_000
    assert (most_frequent(counts) == 9_999).all()
