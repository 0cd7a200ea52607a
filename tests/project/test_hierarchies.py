"""Hierarchies in documents, project files and rules."""

from __future__ import annotations

import json
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.generalization.hierarchies import (
    Dates,
    Intervals,
    Rename,
    Suppression,
    Taxonomy,
)
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, document_from_json, document_to_json
from sfumato.project.errors import DamagedProject, RulesError
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules, rules_of
from tests.engine.generalization.hierarchies.recipes import RECIPES
from tests.thorough import tried

RULES = """\
format = 1
other_columns = "quasi-identifier"

[hierarchies.age]
kind = "intervals"
width = 5
steps = 2

[hierarchies.town]
file = "towns.csv"
"""


def table():
    return Table(pd.DataFrame({"age": [30, 41], "town": ["Bonn", "Lyon"], "born": ["x", "y"]}))


def document(hierarchies):
    specs = tuple(
        ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in table().columns
    )
    return Document(title="t", columns=specs, hierarchies=hierarchies)


@settings(deadline=None, max_examples=tried(80))
@given(st.dictionaries(st.sampled_from(["age", "town", "born"]), RECIPES))
def test_hierarchies_survive_a_project_file_and_rules(recipes):
    made = document(recipes)
    assert document_from_json(document_to_json(made)) == made
    assert apply_rules(rules_of(made), MemorySurvey(table()), Document()).hierarchies == recipes


def test_a_project_from_before_there_were_hierarchies_opens():
    plain = json.loads(document_to_json(document({"age": Intervals()})))
    del plain["hierarchies"]
    assert document_from_json(json.dumps(plain)).hierarchies == {}


def test_a_damaged_hierarchy_is_damage_of_the_project():
    plain = json.loads(document_to_json(document({"age": Intervals()})))
    plain["hierarchies"]["age"]["kind"] = "magic"
    with pytest.raises(DamagedProject):
        document_from_json(json.dumps(plain))


def test_a_hierarchy_is_put_in_place_and_taken_away():
    empty = document({})
    filled = empty.with_hierarchy("age", Intervals()).with_hierarchy("town", Suppression())
    assert dict(filled.hierarchies) == {"age": Intervals(), "town": Suppression()}
    assert filled.with_hierarchy("age", Dates()).hierarchies["age"] == Dates()
    assert filled.with_hierarchy("age", None).with_hierarchy("town", None) == empty


def test_the_rules_are_text_that_people_read():
    text = rules_of(document({"age": Intervals(5.0, renames=(Rename(1, "[0, 5)", "small"),))}))
    assert "[hierarchies.age]" in text
    assert 'kind = "intervals"' in text
    assert 'shown = "small"' in text


def test_a_hierarchy_of_a_column_that_is_gone_is_not_written():
    made = replace(document({"age": Intervals()}), columns=document({}).columns[1:])
    assert "hierarchies" not in rules_of(made)


def test_a_hierarchy_in_a_file_beside_the_rules_is_read(tmp_path):
    (tmp_path / "towns.csv").write_text("town;country\nBonn;DE;*\nNice;FR;*\n")
    made = apply_rules(RULES, MemorySurvey(table()), Document(), tmp_path)
    # The table's value that the file lacks is named under Attributes.
    assert made.hierarchies["town"] == Taxonomy((("Bonn", "DE", "*"), ("Nice", "FR", "*")))
    assert made.hierarchies["age"] == Intervals(5.0, steps=2)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("[hierarchies.age]", "[hierarchies.agee]"), "no such column.*Did you mean age"),
        (('kind = "intervals"', 'kind = "interval"'), "no hierarchy of the kind interval"),
        (("width = 5", 'width = "5"'), "width should be a number"),
        (("steps = 2", "step = 2"), "no setting step"),
        (("width = 5", "width = 0"), "not a number above 0"),
        (('file = "towns.csv"', 'file = "other.csv"'), r"no file .*other\.csv"),
        (('file = "towns.csv"', 'file = "towns.csv"\nwidth = 3'), "no such key"),
        (('file = "towns.csv"', 'file = "torn.csv"'), "Row 2 repeats row 1"),
    ],
)
def test_faults_name_their_place(tmp_path, change, said):
    (tmp_path / "towns.csv").write_text("Bonn;DE;*\nLyon;FR;*\n")
    (tmp_path / "torn.csv").write_text("Bonn;DE;*\nBonn;DE;*\n")
    with pytest.raises(RulesError, match=said) as refused:
        apply_rules(RULES.replace(*change), MemorySurvey(table()), Document(), tmp_path)
    assert "Line" in str(refused.value)
    assert "Bonn" not in str(refused.value)


def test_a_file_is_refused_where_nobody_knows_the_rules_folder():
    with pytest.raises(RulesError, match="whole path"):
        apply_rules(RULES, MemorySurvey(table()), Document())
