"""From what is decided about a generalized table to the table."""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256

import pytest

from sfumato.analysis.other_holders.composition import classes_at
from sfumato.engine.core.columns import Coding
from sfumato.engine.core.errors import DiversityError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import ground_values, propose_hierarchy
from sfumato.formats.reading import detect_options
from sfumato.project.document.generalization import CriterionChoice, Generalization, OtherTableFile
from sfumato.project.document.model import Document, document_from_json, document_to_json
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.generalization_pipeline import (
    chosen_node,
    proposed,
    published_rows,
    rows_at,
    search_table,
)
from sfumato.project.publication.prepared import counted_rows
from tests.in_batches import in_batches
from tests.project.verifying import a_document, a_table


def decided(**changes: object) -> Document:
    document = a_document()
    table = a_table()
    for name in ("age", "zip"):
        recipe = propose_hierarchy(document.column(name), table.column(name)).recipe
        document = document.with_hierarchy(name, recipe)
    start = proposed(document)
    assert start is not None
    return replace(document, generalization=replace(start, **changes))


def test_a_proposal_takes_every_quasi_identifier_with_a_hierarchy():
    assert proposed(a_document()) is None
    found = decided().generalization
    assert found.sensitive == "illness"
    assert found.quasi_identifiers == ("age", "zip")


def test_what_is_decided_survives_the_file():
    other = OtherTableFile("B", "/data/b.csv", "00", {}, ("age",), "ill", (("Flu", "flu"),))
    document = decided(others=(other,), node=(1, 0), pinned=((1, 1),), suppression=0.02)
    assert document_from_json(document_to_json(document)) == document
    assert document_from_json(document_to_json(a_document())).generalization is None


def test_the_best_node_is_published_and_checked_from_its_own_rows():
    document, table = decided(), a_table()
    searched = search_table(document, in_batches(table), Silent())
    node = chosen_node(document, searched)
    made = published_rows(searched.prepared, node)
    assert counted_rows(made, Silent()).check.holds
    frame, _ = made.published(table)
    assert list(frame.columns) == ["age", "illness", "zip", "income"]
    sizes = frame.groupby(["age", "zip"], observed=True).size()
    assert sizes.min() >= 5


def test_other_tables_turn_distinct_diversity_into_what_remains(tmp_path):
    table = a_table()
    path = tmp_path / "other.csv"
    table.frame[["age", "illness"]].assign(age="*").to_csv(path, index=False)
    other = OtherTableFile(
        "Registry",
        str(path),
        sha256(path.read_bytes()).hexdigest(),
        detect_options(path).to_dict(),
        ("age",),
        "illness",
    )
    searched = search_table(decided(others=(other,)), in_batches(table), Silent())
    titles = [criterion.title for criterion in searched.prepared.criteria]
    assert "non-centralized distinct l-diversity with shared columns" in titles
    path.write_text("age,illness\n*,flu\n", encoding="utf-8")
    with pytest.raises(SourceChanged, match="Registry"):
        search_table(decided(others=(other,)), in_batches(table), Silent())
    path.unlink()
    with pytest.raises(SourceMissing, match="Registry"):
        search_table(decided(others=(other,)), in_batches(table), Silent())


def test_records_may_be_starred_or_left_out():
    table = a_table()
    for what in Suppressed:
        document = decided(suppression=0.2, suppressed=what)
        searched = search_table(document, in_batches(table), Silent())
        made = published_rows(searched.prepared, chosen_node(document, searched))
        assert counted_rows(made, Silent()).check.holds
        frame, _ = made.published(table)
        assert len(frame) == made.rows
        assert (made.rows == table.rows) or what is Suppressed.DROPPED


def test_too_few_starred_records_are_heeded_where_levels_are_searched_and_chosen():
    asked = {"criteria": (CriterionChoice("k-anonymity", {"k": 20}),), "suppression": 0.02}
    table = in_batches(a_table())
    left_out = search_table(decided(**asked), table, Silent())
    assert left_out.best.node == (1, 1)
    asked["suppressed"] = Suppressed.STARRED
    found = search_table(decided(**asked), table, Silent())
    assert found.best.node == (0, 2)
    assert not found.result.is_safe((1, 1))
    chosen = decided(**asked, node=(1, 1))
    with pytest.raises(DiversityError, match="starred records as a class of their own"):
        chosen_node(chosen, search_table(chosen, table, Silent()))
    ours = classes_at(chosen, found.prepared, (1, 1), "ours")
    assert ours.labels[-1] == ("*", "*")
    assert ours.counts.sum() == a_table().rows


def test_rounded_numbers_are_generalized_from_there():
    table = a_table()
    document = decided(criteria=(CriterionChoice("k-anonymity", {"k": 1}),))
    age = replace(document.column("age"), binning=None, coding=Coding(top=60, step=10))
    recipe = propose_hierarchy(age, table.column("age")).recipe
    document = document.with_column(age).with_hierarchy("age", recipe)
    searched = search_table(document, in_batches(table), Silent())
    frame, _ = rows_at(searched.prepared, (0, 0)).published(table)
    rounded = ((table.column("age") + 5) // 10 * 10).clip(upper=60)
    assert frame["age"].astype(str).tolist() == rounded.astype(str).tolist()
    assert set(ground_values(age, table.column("age"))) == set(rounded)


@pytest.mark.parametrize(
    ("kind", "numbers", "said"),
    [
        ("magic", {"k": 2}, "no criterion"),
        ("k-anonymity", {"l": 2}, "parameters k"),
        ("k-anonymity", {"k": 2.5}, "whole number"),
    ],
)
def test_an_unknown_criterion_is_refused(kind, numbers, said):
    with pytest.raises(PolicyError, match=said):
        CriterionChoice(kind, numbers)


def test_a_criterion_is_shown_with_its_parameters():
    assert CriterionChoice("k-anonymity", {"k": 5}).text == "k-anonymity (k = 5)"
    assert Generalization("illness", ("age",)).criteria[1].build().l == 3
