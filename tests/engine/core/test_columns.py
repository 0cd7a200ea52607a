"""Domains, bins and specifications: what a column's values are and how they become codes."""

from __future__ import annotations

import datetime as dt
import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import (
    MISSING_LABEL,
    Binning,
    ColumnSpec,
    Domain,
    Kind,
    MissingRule,
    Role,
    find_column,
    names_of,
    smallest_unsigned,
)
from sfumato.engine.core.errors import DomainError
from tests.thorough import tried

SECRET = "leukaemia"

COLUMNS = {
    "str": pd.Series(["b", "a", "b", None], dtype="str"),
    "object": pd.Series(["b", "a", "b", None], dtype=object),
    "Int64": pd.Series([3, 1, 3, None], dtype="Int64"),
    "float": pd.Series([2.5, 0.5, 2.5, np.nan]),
    "boolean": pd.Series([True, False, True, None], dtype="boolean"),
    "categorical": pd.Series(pd.Categorical(["b", "a", "b", None], categories=["z", "b", "a"])),
    "categorical of numbers": pd.Series(pd.Categorical([3, 1, 3, None])),
    "dates": pd.to_datetime(pd.Series(["2024-05-01", "2023-01-31", "2024-05-01", None])),
}
"""Each: the greater value, the smaller, the greater again, missing."""


@pytest.mark.parametrize("name", COLUMNS)
def test_every_type_is_encoded_and_decoded(name):
    column = COLUMNS[name].rename("x")
    domain = Domain.of_column(column)
    assert domain.size == 3
    assert domain.values[-1] is None
    codes = domain.encode(column)
    assert codes.tolist() == [1, 0, 1, 2]
    assert codes.dtype == np.uint8
    back = domain.decode(codes, "x")
    assert back.name == "x"
    assert back.isna().tolist() == [False, False, False, True]
    assert back.iloc[0] == domain.values[1]
    assert np.array_equal(domain.encode(back), codes)


@pytest.mark.parametrize(
    ("column", "size"),
    [(pd.Series([True, False]), 2), (pd.Series([1, 2, 3]), 3), (pd.Series([1.5, 2.0]), 2)],
)
def test_columns_without_missing_values_have_none_in_their_domain(column, size):
    domain = Domain.of_column(column)
    assert domain.size == size
    assert not domain.allows_missing
    decoded = domain.decode(domain.encode(column), "x")
    assert decoded.tolist() == column.tolist()


def test_dates_are_iso_texts_with_the_time_only_where_there_is_one():
    dates = pd.Series([pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-01 13:30")])
    assert Domain.of_column(dates).values == ("2024-05-01", "2024-05-01 13:30:00")
    assert Domain.of_column(pd.Series([dt.date(2024, 5, 1)])).values == ("2024-05-01",)


def test_values_that_do_not_occur_keep_their_place():
    domain = Domain(("x", "a", "y", "b", None))
    assert domain.encode(pd.Series(["b", "a"])).tolist() == [3, 1]
    assert domain.decode(np.array([0, 2, 4], dtype=np.uint8), "c").tolist()[:2] == ["x", "y"]


def test_a_whole_number_is_the_same_value_however_it_is_stored():
    whole, fractions = Domain((1, 2, None)), Domain((1.0, 2.0, None))
    assert whole.fingerprint == fractions.fingerprint
    assert whole.encode(pd.Series([2.0, np.nan, 1.0])).tolist() == [1, 2, 0]
    assert fractions.encode(pd.Series([2, 1])).tolist() == [1, 0]


def test_a_fingerprint_tells_values_types_and_order_apart():
    domains = [
        Domain((1, 2)),
        Domain((2, 1)),
        Domain(("1", "2")),
        Domain((1, 2, None)),
        Domain((False, True)),
        Domain((0, 1)),
        Domain(("None",)),
    ]
    assert len({domain.fingerprint for domain in domains}) == len(domains)
    assert Domain((1, 2), {1: "one"}).fingerprint == Domain((1, 2)).fingerprint


def test_labels_name_values_and_bring_values_that_do_not_occur():
    domain = Domain.of_column(pd.Series([2.0, np.nan]), labels={1: "one", 2: "two"})
    assert domain.values == (1, 2, None)
    assert domain.names == ("one", "two", MISSING_LABEL)
    assert domain.encode(pd.Series([1, 2])).tolist() == [0, 1]


def test_missing_is_left_out_where_it_is_refused():
    column = pd.Series(["a", None])
    domain = Domain.of_column(column, MissingRule.REFUSED)
    assert domain.values == ("a",)
    with pytest.raises(DomainError, match="first in row 2"):
        domain.encode(column, "illness")


def test_unused_categories_are_not_part_of_the_proposed_domain():
    column = pd.Series(pd.Categorical(["a", "b"], categories=["c", "b", "a"]))
    assert Domain.of_column(column).values == ("a", "b")
    # And an unused category outside the domain harms nobody.
    assert Domain(("a", "b")).encode(column).tolist() == [0, 1]


@pytest.mark.parametrize("dtype", ["str", object, "category"])
def test_a_value_outside_the_domain_is_named_by_its_row_only(dtype):
    column = pd.Series(["a", "a", SECRET, SECRET], dtype=dtype)
    with pytest.raises(DomainError) as refused:
        Domain(("a", "b")).encode(column, "illness")
    assert refused.value.details["row"] == 3
    assert refused.value.details["count"] == 2
    assert "illness" in str(refused.value)
    assert SECRET not in str(refused.value) + repr(refused.value)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((), "empty"),
        (("a", "b", "a"), "Entries 1 and 3"),
        ((1, 1.0), "Entries 1 and 2"),
        ((None, None), "Entries 1 and 2"),
        (("a", 1), "entry 1 is a text, entry 2 a number"),
        ((None, True, 2), "entry 2 is a yes/no value"),
        ((1.0, float("nan")), "Entry 2"),
        ((float("inf"),), "Entry 1"),
    ],
)
def test_what_is_no_domain_is_refused(values, message):
    with pytest.raises(DomainError, match=message):
        Domain(values)


@pytest.mark.parametrize(
    ("size", "dtype"), [(1, "u1"), (256, "u1"), (257, "u2"), (65_536, "u2"), (65_537, "u4")]
)
def test_codes_take_the_smallest_type(size, dtype):
    assert smallest_unsigned(size) == np.dtype(dtype)


def test_a_domain_of_many_values_is_encoded():
    domain = Domain(tuple(range(70_000)))
    codes = domain.encode(pd.Series([69_999, 0, 256]))
    assert codes.dtype == np.uint32
    assert codes.tolist() == [69_999, 0, 256]
    assert domain.decode(codes, "x").tolist() == [69_999, 0, 256]


@settings(deadline=None, max_examples=tried(60))
@given(st.lists(st.one_of(st.none(), st.text(max_size=3)), min_size=1, max_size=30))
def test_any_column_of_texts_survives_the_round_trip(values):
    column = pd.Series(values, dtype=object)
    domain = Domain.of_column(column)
    back = domain.decode(domain.encode(column), "x").astype(object)
    assert [None if pd.isna(value) else value for value in back] == values


def test_millions_of_texts_are_encoded_quickly():
    """Looking each text up in the domain took 0.25 s a million; finding distinct ones 0.015 s."""
    codes = np.random.default_rng(1).integers(0, 50, 2_000_000).astype(np.int8)
    names = [f"value {place}" for place in range(50)]
    column = pd.Series(pd.Categorical.from_codes(codes, categories=names)).astype("str")
    domain = Domain(tuple(names))
    started = time.perf_counter()
    encoded = domain.encode(column)
    assert time.perf_counter() - started < 5.0
    assert np.array_equal(encoded, codes)


def test_bins_are_half_open_and_the_last_holds_its_upper_edge():
    binned = Binning((0, 10, 20)).apply(pd.Series([0, 9.99, 10, 20, None], name="age"))
    assert binned.astype(object).where(binned.notna(), None).tolist() == [
        "[0, 10)",
        "[0, 10)",
        "[10, 20]",
        "[10, 20]",
        None,
    ]
    assert binned.name == "age"
    assert binned.cat.ordered


def test_bins_can_have_names_of_their_own():
    binned = Binning((0, 18, 120), ("minor", "adult")).apply(pd.Series([17, 18], dtype="Int64"))
    assert binned.tolist() == ["minor", "adult"]


def test_bin_names_keep_the_digits_that_tell_edges_apart():
    assert Binning((1_234_567, 1_234_568, 1_234_569)).names == (
        "[1234567, 1234568)",
        "[1234568, 1234569]",
    )
    assert Binning((0.0, 0.1 + 0.2, 1.0)).names == ("[0, 0.3)", "[0.3, 1]")


@pytest.mark.parametrize(
    ("edges", "labels"),
    [
        ((0, 1), ()),
        ((0, 1, 1), ()),
        ((0, 2, 1), ()),
        ((0, 1, float("inf")), ()),
        ((0, 1, float("nan")), ()),
        ((0, 1, 2), ("only one",)),
        ((0, 1, 2), ("same", "same")),
    ],
)
def test_what_is_no_binning_is_refused(edges, labels):
    with pytest.raises(DomainError) as refused:
        Binning(edges, labels)
    assert refused.value.remedy


def test_numbers_outside_the_bins_are_named_by_their_row():
    with pytest.raises(DomainError, match="2 rows, first in row 2"):
        Binning((0, 1, 2)).apply(pd.Series([1, 3, -1], name="score"))


def test_texts_cannot_be_binned():
    with pytest.raises(DomainError, match="not numeric"):
        Binning((0, 1, 2)).apply(pd.Series(["a"], name="score"))


def test_columns_are_found_by_name_and_by_role():
    columns = (ColumnSpec("a", Role.SENSITIVE), ColumnSpec("b", kind=Kind.TEXT))
    assert find_column(columns, "b").kind is Kind.TEXT
    assert names_of(columns, Role.SENSITIVE) == ("a",)
    with pytest.raises(KeyError):
        find_column(columns, "c")
