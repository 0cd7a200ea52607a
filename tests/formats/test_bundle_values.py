"""Values that files like to change: they come back from a bundle as they were."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle
from tests.formats.bundles import plain_contents


def test_texts_that_look_like_something_else_stay_texts(tmp_path):
    odd = [
        "NA",
        "null",
        "1",
        "01",
        "true",
        "1e5",
        "2024-01-01",
        " padded ",
        'q"uote',
        "a,b",
        "l\nb",
    ]
    write_bundle(plain_contents(pd.DataFrame({"a": odd, "b": odd})), tmp_path, "csv", Silent())
    assert list(read_bundle(tmp_path).table.frame["a"]) == odd


def test_a_single_column_with_missing_values_keeps_its_rows(tmp_path):
    frame = pd.DataFrame({"a": ["x", None, "y", None]})
    write_bundle(plain_contents(frame), tmp_path, "csv", Silent())
    found = read_bundle(tmp_path).table.frame["a"].astype(object)
    assert list(found.fillna("?")) == ["x", "?", "y", "?"]


def test_whole_numbers_beyond_what_a_decimal_can_hold_stay_exact(tmp_path):
    frame = pd.DataFrame(
        {
            "a": [2**53 + 1, -(2**62), 7],
            "b": pd.array([2**53 + 1, None, 7], "Int64"),
            "c": pd.array([2**64 - 1, None, 7], "UInt64"),
        }
    )
    write_bundle(plain_contents(frame), tmp_path, "csv", Silent())
    found = read_bundle(tmp_path).table.frame
    for name in frame.columns:
        assert list(found[name].dropna()) == list(frame[name].dropna())


def test_infinite_and_extreme_numbers_survive(tmp_path):
    numbers = [float("inf"), float("-inf"), 5e-324, 1.7976931348623157e308, 0.1 + 0.2]
    write_bundle(plain_contents(pd.DataFrame({"a": numbers})), tmp_path, "csv", Silent())
    assert list(read_bundle(tmp_path).table.frame["a"]) == numbers


@pytest.mark.parametrize("digits", [3, 6, 9])
def test_moments_with_fractions_of_a_second_survive(tmp_path, digits):
    moments = pd.Series(
        pd.to_datetime([f"2024-01-01T10:00:0{i}.{'123456789'[:digits]}" for i in (1, 2)])
    )
    contents = plain_contents(pd.DataFrame({"a": moments}))
    write_bundle(contents, tmp_path, "csv", Silent())
    assert list(read_bundle(tmp_path).table.frame["a"]) == list(moments)
