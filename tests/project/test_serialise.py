from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings

from sfumato.engine.core.columns import ColumnSpec, Domain
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    canonical_json,
    document_from_json,
    document_to_json,
)
from sfumato.project.errors import DamagedProject
from tests.project.documents import documents
from tests.project.making import document as a_document
from tests.thorough import tried


@pytest.mark.slow
@pytest.mark.turns(1)
@settings(deadline=None, max_examples=tried(60))
@given(documents())
def test_a_document_comes_back_as_it_was(document):
    assert document_from_json(document_to_json(document)) == document


@pytest.mark.parametrize("values", [(1, 2), (1.0, 2.5), ("1", "2"), (True, False), (None, "a")])
def test_the_values_of_a_domain_keep_their_types(values):
    document = Document(columns=(ColumnSpec("a", domain=Domain(values)),))
    back = document_from_json(document_to_json(document)).columns[0].domain
    assert [(type(v), v) for v in back.values] == [(type(v), v) for v in values]


def test_labels_of_numbers_and_of_missing_values_are_kept():
    labels = {1: "yes", 2: "no", None: "unknown"}
    document = Document(columns=(ColumnSpec("a", domain=Domain((1, 2, None), labels)),))
    back = document_from_json(document_to_json(document)).columns[0].domain
    assert dict(back.labels) == labels
    assert {type(key) for key in back.labels} == {int, type(None)}


def test_numbers_that_json_lacks_are_kept_in_settings():
    document = Document(policy=(_entry({"limit": math.inf, "steps": [1, 2.0, -math.inf]}),))
    assert document_from_json(document_to_json(document)) == document


def test_the_canonical_text_does_not_depend_on_the_order_of_keys():
    assert canonical_json({"b": 1, "a": "é"}) == canonical_json({"a": "é", "b": 1})
    assert canonical_json({"b": 1, "a": "é"}) == '{"a":"\\u00e9","b":1}'
    with pytest.raises(ValueError, match="JSON"):
        canonical_json(math.nan)


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", "null", '{"title": 1}', '{"columns": [{"role": "emperor"}]}']
)
def test_another_text_is_damage_and_not_a_crash(text):
    with pytest.raises(DamagedProject, match="document"):
        document_from_json(text)


def places_in(value, place=()):
    """Give the way to every value inside of a JSON value."""
    named = dict(enumerate(value)) if isinstance(value, list) else value
    for key, inner in named.items() if isinstance(named, dict) else ():
        yield (*place, key)
        yield from places_in(inner, (*place, key))


WRONG = (None, 7, 1.5, True, "x", [], {}, [[]], {"a": 1}, -1, 1e300, [1], ["a"], [None], {"a": []})


@pytest.mark.slow
@pytest.mark.turns(1)
def test_whatever_stands_anywhere_in_a_document_it_is_damage_or_a_document_of_its_types():
    text = document_to_json(a_document())
    refused = 0
    for place in places_in(json.loads(text)):
        for wrong in WRONG:
            plain = inner = json.loads(text)
            for key in place[:-1]:
                inner = inner[key]
            inner[place[-1]] = wrong
            try:
                found = document_from_json(json.dumps(plain))
            except DamagedProject:
                refused += 1
            else:
                assert document_from_json(document_to_json(found)) == found
    assert refused > 500


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"title":' * 50_000, '{"level_spacing": 1' + "0" * 5000 + "}", "\0", "7"],
)
def test_a_text_that_breaks_readers_of_json_is_damage(text):
    with pytest.raises(DamagedProject, match="document"):
        document_from_json(text)


def test_damage_inside_a_document_is_named_without_its_values():
    document = Document(columns=(ColumnSpec("a", domain=Domain(("gout", "flu"))),))
    plain = json.loads(document_to_json(document))
    plain["columns"][0]["domain"]["values"] = ["gout", "gout"]
    with pytest.raises(DamagedProject) as caught:
        document_from_json(json.dumps(plain))
    assert "gout" not in str(caught.value)


def _entry(plain):
    return PolicyEntry(("a",), "uniform", plain)
