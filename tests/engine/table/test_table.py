"""The table, and what a mechanism is given of its columns."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, MissingRule, Role
from sfumato.engine.core.errors import DomainError, TableError
from sfumato.engine.core.values import count_codes
from sfumato.engine.table.table import Attribute, Table, encode_column, proposed_domain


def table(**columns):
    return Table(pd.DataFrame(columns))


def test_a_table_knows_its_shape_and_columns():
    small = table(a=[1, 2], b=["x", "y"])
    assert small.rows == 2
    assert small.columns == ("a", "b")
    assert small.column("b").tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (pd.DataFrame(), "no columns"),
        (pd.DataFrame({"a": []}), "no rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "Two columns are called a"),
    ],
)
def test_what_is_no_table_is_refused_with_a_remedy(frame, message):
    with pytest.raises(TableError, match=message) as refused:
        Table(frame)
    assert refused.value.remedy


def test_a_missing_column_is_named():
    with pytest.raises(TableError, match="no column age"):
        table(a=[1]).column("age")


def test_a_column_is_encoded_by_its_domain_with_counts():
    small = table(illness=["flu", "cold", "flu", None])
    domain = Domain(("gout", "flu", "cold", None))
    encoded = encode_column(small, ColumnSpec("illness", Role.SENSITIVE, domain=domain))
    assert encoded.values.tolist() == [1, 2, 1, 3]
    assert encoded.attribute.counts.tolist() == [0, 2, 1, 1]
    assert encoded.attribute.frequencies == pytest.approx([0, 0.5, 0.25, 0.25])
    assert encoded.attribute.domain is domain


def test_a_domain_is_proposed_where_none_is_given():
    small = table(illness=["flu", "cold", None])
    assert encode_column(small, ColumnSpec("illness")).attribute.domain.values == (
        "cold",
        "flu",
        None,
    )
    refused = ColumnSpec("illness", missing=MissingRule.REFUSED)
    with pytest.raises(DomainError, match="missing"):
        encode_column(small, refused)


def test_value_labels_of_the_file_name_the_proposed_domain():
    labelled = Table(pd.DataFrame({"sex": [1, 2]}), {"sex": {1: "male", 2: "female", 3: "other"}})
    domain = proposed_domain(labelled, ColumnSpec("sex"))
    assert domain.values == (1, 2, 3)
    assert domain.names == ("male", "female", "other")


def test_numbers_are_given_as_they_are_or_in_bins():
    small = Table(pd.DataFrame({"age": pd.array([15, None, 40], dtype="Int64")}))
    plain = encode_column(small, ColumnSpec("age", kind=Kind.NUMERIC))
    assert plain.attribute.domain is None
    assert np.array_equal(plain.values, [15, np.nan, 40], equal_nan=True)
    bins = Binning((0, 18, 100), ("minor", "adult"))
    binned = encode_column(small, ColumnSpec("age", kind=Kind.NUMERIC, binning=bins))
    assert binned.attribute.kind is Kind.CATEGORICAL
    assert binned.attribute.domain.values == ("minor", "adult", None)
    assert binned.values.tolist() == [0, 2, 1]


def test_bins_keep_their_domain_when_no_record_falls_into_one():
    small = table(age=[15, 16])
    spec = ColumnSpec("age", kind=Kind.NUMERIC, binning=Binning((0, 18, 100)))
    assert encode_column(small, spec).attribute.counts.tolist() == [2, 0]


def test_a_numeric_attribute_has_no_frequencies():
    with pytest.raises(TypeError):
        _ = Attribute("age", Kind.NUMERIC).frequencies


def test_codes_are_counted_block_by_block():
    codes = np.random.default_rng(1).integers(0, 5, (1 << 20) + 17).astype(np.uint8)
    assert count_codes(codes, 7).tolist() == np.bincount(codes, minlength=7).tolist()
    assert count_codes(codes[:0], 3).tolist() == [0, 0, 0]


def test_a_column_that_stays_numbers_has_them_beside_its_rows():
    small = table(age=pd.array([3, None, 5], dtype="Int64"))
    encoded = encode_column(small, ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC))
    assert encoded.attribute.numbers is encoded.values
    assert encoded.values.tolist()[::2] == [3.0, 5.0]
    assert np.isnan(encoded.values[1])
    assert "5" not in repr(encoded.attribute)


@pytest.mark.parametrize("values", [["3", "secret"], [True, False], [None, None]])
def test_a_column_without_numbers_can_t_stay_numbers(values):
    small = table(age=pd.Series(values, dtype=object if values[0] is None else None))
    with pytest.raises(DomainError, match="age does not hold numbers") as refused:
        encode_column(small, ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC))
    assert "secret" not in str(refused.value)
    assert refused.value.remedy


def test_infinite_numbers_are_refused_where_they_would_be_perturbed():
    small = table(age=[1.0, np.inf, -np.inf])
    with pytest.raises(DomainError, match="infinite numbers in 2 rows, first in row 2"):
        encode_column(small, ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC))
    assert encode_column(small, ColumnSpec("age", kind=Kind.NUMERIC)).values[1] == np.inf
