from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.formats.errors import BadOptions
from sfumato.formats.options import (
    ENCODINGS,
    READING_VERSION,
    BadValues,
    ColumnType,
    DateOrder,
    RaggedRows,
    ReadOptions,
)
from tests.thorough import tried

choices = st.sampled_from(list(BadValues))
some_options = st.builds(
    ReadOptions,
    format=st.sampled_from(["csv", "xlsx", "sav"]),
    encoding=st.sampled_from([name for name, _ in ENCODINGS]),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
    decimal=st.sampled_from([".", ","]),
    thousands=st.sampled_from(["", " ", "'", "\u202f"]),
    date_order=st.sampled_from(list(DateOrder)),
    header=st.booleans(),
    skip_lines=st.integers(0, 9),
    missing=st.lists(st.text(max_size=3), max_size=3).map(tuple),
    sheet=st.text(max_size=5),
    keep_user_missing=st.booleans(),
    column_types=st.dictionaries(st.text(max_size=3), st.sampled_from(list(ColumnType))),
    ragged_rows=st.sampled_from(list(RaggedRows)),
    bad_values=choices,
    column_bad_values=st.dictionaries(st.text(max_size=3), choices),
)


@given(some_options)
@settings(deadline=None, max_examples=tried(60))
def test_options_come_back_from_json(options):
    assert ReadOptions.from_dict(json.loads(json.dumps(options.to_dict()))) == options


def test_usual_options_take_one_word():
    assert ReadOptions().to_dict() == {"format": "csv", "version": READING_VERSION}


def test_options_without_a_version_are_of_the_first() -> None:
    assert ReadOptions.from_dict({"format": "csv"}).version == 1
    assert ReadOptions.from_dict({"format": "csv"}, READING_VERSION) == ReadOptions()


def test_a_later_version_is_refused() -> None:
    with pytest.raises(BadOptions, match="does not know"):
        ReadOptions.from_dict({"version": READING_VERSION + 1})


@pytest.mark.parametrize(
    ("plain", "words"),
    [
        ({"colour": "red"}, "no option colour"),
        ({"header": "yes"}, "has a value it can't have"),
        ({"skip_lines": True}, "has a value it can't have"),
        ({"skip_lines": -1}, "negative"),
        ({"missing": "NA"}, "has a value it can't have"),
        ({"missing": [1]}, "has a value it can't have"),
        ({"column_types": ["age"]}, "has a value it can't have"),
        ({"column_types": {"age": "colour"}}, "has a value it can't have"),
        ({"ragged_rows": "burn"}, "has a value it can't have"),
        ({"encoding": "klingon"}, "no encoding called klingon"),
        ({"encoding": "base64"}, "no encoding called base64"),
        ({"delimiter": ""}, "must be one character"),
        ({"delimiter": "||"}, "must be one character"),
        ({"delimiter": "\n"}, "must be one character"),
        ({"delimiter": "¦"}, "must be an ASCII character"),
        ({"delimiter": '"'}, "are the same"),
        ({"decimal": "·"}, "point or a comma"),
        ({"decimal": ",", "thousands": ","}, "can't be the decimal mark"),
        ({"thousands": "0"}, "can't be the decimal mark"),
    ],
)
def test_options_that_make_no_sense_are_refused(plain, words):
    with pytest.raises(BadOptions, match=words):
        ReadOptions.from_dict(plain)


def test_a_choice_for_one_column_goes_before_that_for_all():
    options = ReadOptions(bad_values=BadValues.SKIP).with_bad_values("age", BadValues.TEXT)
    assert options.choice_for("age") is BadValues.TEXT
    assert options.choice_for("sex") is BadValues.SKIP


def test_a_fixed_type_can_be_let_go_of():
    fixed = ReadOptions().with_type("age", ColumnType.TEXT)
    assert fixed.column_types == {"age": ColumnType.TEXT}
    assert fixed.with_type("age", None) == ReadOptions()


def test_tolerant_options_refuse_nothing():
    strict = ReadOptions(column_bad_values={"age": BadValues.REFUSE})
    tolerant = strict.tolerant()
    assert tolerant.ragged_rows is RaggedRows.SKIP
    assert tolerant.choice_for("age") is BadValues.TEXT
