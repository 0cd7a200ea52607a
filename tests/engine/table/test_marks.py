"""Marks: one number a record, the same where records agree."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.table import combinations
from sfumato.engine.table.combinations import class_counts, marks_of

COLUMNS = {
    "whole": st.integers(-3, 3),
    "large": st.sampled_from([2**63 - 1, -(2**63), 0]),
    "decimal": st.sampled_from([0.0, -0.0, 1.5, float("nan"), -float("nan"), float("inf")]),
    "text": st.sampled_from(["a", "b", "ä", None]),
    "category": st.sampled_from(["x", "y", None]),
    "flag": st.booleans(),
    "day": st.sampled_from([pd.Timestamp("2026-11-20"), pd.Timestamp("1969-01-01"), pd.NaT]),
    "gap": st.sampled_from([1, 2, pd.NA]),
}
TYPES = {"text": "str", "category": "category", "day": "datetime64[us]", "gap": "Int64"}
ROWS = st.lists(st.fixed_dictionaries(COLUMNS), min_size=1, max_size=30)


def frame_of(rows) -> pd.DataFrame:
    return pd.DataFrame(
        {name: pd.Series([row[name] for row in rows], dtype=TYPES.get(name)) for name in COLUMNS}
    )


@given(ROWS, st.sets(st.sampled_from(sorted(COLUMNS)), min_size=1))
def test_records_share_a_mark_where_they_agree_on_every_column_and_only_there(rows, names):
    frame = frame_of(rows)[sorted(names)]
    expected = frame.groupby(list(frame), dropna=False, observed=True, sort=False).ngroup()
    found = pd.factorize(marks_of((frame[name] for name in frame), len(frame)))[0]
    assert found.tolist() == expected.tolist()
    sizes = class_counts(np.sort(marks_of((frame[name] for name in frame), len(frame))))
    assert sorted(sizes) == sorted(expected.value_counts())


def test_a_value_counts_otherwise_in_another_column():
    one, other = pd.Series([1, 2], name="a"), pd.Series([2, 1], name="b")
    assert len(set(marks_of([one, other], 2))) == 2


def test_columns_without_a_name_are_not_taken_for_one():
    with pytest.raises(ValueError, match="without a name"):
        marks_of([pd.Series([1, 2]), pd.Series([2, 1])], 2)


@pytest.mark.parametrize("dtype", ["int64", "float64", "category"])
def test_a_long_column_has_the_marks_of_its_pieces(monkeypatch, dtype):
    column = pd.Series(np.arange(1_000) % 7, name="a").astype(dtype)
    whole = marks_of([column], 1_000)
    monkeypatch.setattr(combinations, "_TILE", 64)
    assert (marks_of([column], 1_000) == whole).all()
    assert len(set(whole)) == 7
