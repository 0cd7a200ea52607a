from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings

from app.engine.columns import ColumnSpec, Domain
from app.project.errors import DamagedProject
from app.project.model import Document, PolicyEntry
from app.project.serialise import canonical_json, document_from_json, document_to_json
from tests.project.documents import documents


@settings(deadline=None, max_examples=60)
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


def test_damage_inside_a_document_is_named_without_its_values():
    document = Document(columns=(ColumnSpec("a", domain=Domain(("gout", "flu"))),))
    plain = json.loads(document_to_json(document))
    plain["columns"][0]["domain"]["values"] = ["gout", "gout"]
    with pytest.raises(DamagedProject) as caught:
        document_from_json(json.dumps(plain))
    assert "gout" not in str(caught.value)


def _entry(plain):
    return PolicyEntry(("a",), "uniform", plain)
