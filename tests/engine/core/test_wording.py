"""Sentences that remember their template."""

from __future__ import annotations

import copy
import pickle

from sfumato.engine.core.wording import Sentence, joined, listed, set_apart


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
