"""Sentences that remember their template."""

from __future__ import annotations

import copy
import pickle

import pytest

from sfumato.engine.core.wording import (
    MISSING_LABEL,
    Sentence,
    details_apart,
    filled,
    joined,
    listed,
    set_apart,
)


def test_a_sentence_is_a_text_filled_in_from_its_template():
    made = Sentence("{share:.1f} of {whole}", share=0.25, whole=Sentence("the rows"))
    assert made == "0.2 of the rows"
    assert made.template == "{share:.1f} of {whole}"
    assert made.details == {"share": 0.25, "whole": "the rows"}


def test_copies_of_a_sentence_keep_its_template_and_details():
    made = Sentence("{{{column}}} is empty.", column="{age}")
    for again in (copy.deepcopy(made), pickle.loads(pickle.dumps(made))):
        assert again == "{{age}} is empty."
        assert again.template == made.template
        assert again.details == {"column": "{age}"}


def test_names_of_columns_are_set_apart_wherever_a_sentence_tells_one():
    columns = {"age", "zip code", "north"}
    told = Sentence("{recipient} sees {column}.", recipient="north", column="north")
    assert set_apart(told, columns) == "north sees “north”."
    several = Sentence("{columns} tell {key}.", columns=listed(["age", "x", "north"]), key="age")
    assert set_apart(several, columns) == "“age”, x and “north” tell “age”."
    plain = Sentence("{columns} and {key}", columns="age, zip code", key="age + north")
    assert set_apart(plain, columns) == "“age”, “zip code” and “age” + “north”"
    assert set_apart(joined(told, plain), columns).count("“") == 5
    assert set_apart("age", columns) == "age", "a text of one's own has no names that are known"
    assert set_apart(told, columns, str.upper) == "north sees NORTH."


def test_numbers_are_written_and_words_follow_them_wherever_a_template_asks():
    def write(number):
        return f"<{number}>"

    told = "{name} has {rows} {rows:row|rows}, {share:.1%} of {{all}}"
    details = {"name": "age", "rows": 1234, "share": 0.25}
    assert filled(told, details, write) == "age has <1,234> rows, <25.0 %> of {all}"
    assert filled("{share:.{digits}f}", {"share": 0.25, "digits": 1}) == "0.2"
    assert filled("{missing}", {"missing": MISSING_LABEL}, write) == f"<{MISSING_LABEL}>"
    assert filled("{yes}", {"yes": True}, write) == "<True>"
    with pytest.raises(KeyError, match="rows"):
        filled("{rows}", {})


def test_names_within_sentences_wait_for_whoever_fills_each_in_by_itself():
    inner = Sentence("{column} is gone", column="age")
    details = {"inner": inner, "column": "age"}
    found = details_apart("{inner}: {column}", details, {"age"}, within=False)
    assert found["inner"] is inner
    assert found["column"] == "“age”"
