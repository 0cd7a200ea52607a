"""A population file: what is counted in it, what is not known of it, and where it is kept."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Intervals, Suppression
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.generalization.risk import PopulationBasis
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import CriterionChoice, Generalization
from sfumato.project.document.model import Document, document_from_json, document_to_json
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.generalization_pipeline import prepare
from sfumato.project.publication.population import (
    basis_text,
    open_population,
    read_population,
    risks_of,
    told,
)
from sfumato.project.publication.prepared import ClassedRows
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules, rules_of
from tests.in_batches import in_batches

WARDS = ("heart", "lungs")


def a_table():
    """Six records: ages 21, 25, 25 and 33, 37, 38; three women, three men."""
    return Table(
        pd.DataFrame(
            {
                "age": [21, 25, 25, 33, 37, 38],
                "sex": ["f", "f", "f", "m", "m", "m"],
                "ward": ["heart", "lungs", "heart", "lungs", "heart", "lungs"],
            }
        )
    )


def a_document(**decided):
    document = Document(
        columns=(
            ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
            ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(WARDS)),
        )
    )
    document = document.with_hierarchy("age", Intervals(width=10, steps=1))
    document = document.with_hierarchy("sex", Suppression())
    criteria = (CriterionChoice("k-anonymity", {"k": 2}),)
    start = Generalization("ward", ("age", "sex"), criteria)
    return replace(document, generalization=replace(start, **decided))


def write_population(folder, rows, columns=("age", "sex")):
    path = folder / "register.csv"
    pd.DataFrame(rows, columns=list(columns)).to_csv(path, index=False)
    return path


def everybody():
    """The table's six, twelve more in their twenties, two men in their thirties, one of 45."""
    table = a_table().frame
    own = list(zip(table["age"], table["sex"], strict=True))
    return [*own, *[(21, "f")] * 4, *[(26, "f")] * 8, *[(34, "m")] * 2, (45, "f")]


def measured(folder, rows, node=(1, 1), **decided):
    path = write_population(folder, rows)
    file = open_population(path, ("age", "sex"), Silent())
    document = a_document(population=file, **decided)
    prepared = prepare(document, in_batches(a_table()), Silent())
    found = read_population(document, prepared, Silent())
    return found, risks_of(document, every_row(prepared, node), found, Silent())


def every_row(prepared, node):
    """The rows of a node, none of which stands out."""
    classes = equivalence_classes(prepared.coded, node)
    return ClassedRows(prepared, node, classes, prepared.decided.suppressed)


def test_the_risk_is_counted_in_the_population(tmp_path):
    found, (before, after) = measured(tmp_path, everybody())
    assert found.people == 21
    # As it is: 21 has five people, 25 two; 33, 37 and 38 are alone with their age.
    assert (before.prosecutor, before.journalist) == (1, 1)
    assert before.marketer == pytest.approx((1 / 5 + 2 / 2 + 3 * 1) / 6)
    assert (before.uniques, before.population_uniques) == (4, 3)
    # In bands of ten years: three of 15, and three of 5.
    assert (after.prosecutor, after.journalist) == (1 / 3, 1 / 5)
    assert after.marketer == pytest.approx((3 / 15 + 3 / 5) / 6)
    assert after.basis is PopulationBasis.COUNTED
    assert found.unknown == ()


def test_a_value_that_the_table_does_not_have_counts_where_its_class_does(tmp_path):
    # 26 and 34 are in the table's bands, though nobody in the table has these ages.
    _, (_, in_bands) = measured(tmp_path, everybody(), (1, 0))
    assert in_bands.journalist == 1 / 5
    _, (_, on_top) = measured(tmp_path, everybody(), (2, 1))
    assert on_top.journalist == 1 / 21


def test_cells_that_a_hierarchy_does_not_know_are_named_by_row_and_column(tmp_path):
    rows = [*everybody(), ("secret", "f"), ("old", "f"), (22, "f")]
    found, (_, after) = measured(tmp_path, rows)
    [unknown] = found.unknown
    assert (unknown.column, unknown.cells, unknown.row) == ("age", 2, 22)
    assert "2 cells" in unknown.text
    assert "secret" not in unknown.text
    assert after.marketer == pytest.approx((3 / 16 + 3 / 5) / 6)


def test_missing_cells_of_the_population_are_no_values_of_the_table(tmp_path):
    found, (_, after) = measured(tmp_path, [*everybody(), (None, "f")])
    assert found.unknown == ()
    assert after.journalist == 1 / 5


def test_a_population_without_the_tables_people_is_refused(tmp_path):
    with pytest.raises(DiversityError, match="fewer people than the table has records"):
        measured(tmp_path, everybody()[4:])


def test_columns_are_found_by_their_names_capitals_aside(tmp_path):
    path = write_population(tmp_path, everybody(), ("Age", "SEX"))
    file = open_population(path, ("age", "sex"), Silent())
    assert file.columns == (("age", "Age"), ("sex", "SEX"))
    with pytest.raises(DiversityError, match="no column zip"):
        open_population(path, ("age", "zip"), Silent())


def test_a_column_in_bins_is_counted_in_its_bins(tmp_path):
    document = a_document()
    age = replace(document.column("age"), binning=Binning((20.0, 30.0, 40.0)))
    document = document.with_column(age).with_hierarchy("age", Suppression())
    path = write_population(tmp_path, everybody())
    file = open_population(path, ("age", "sex"), Silent())
    decided = replace(document.generalization, population=file)
    document = replace(document, generalization=decided)
    prepared = prepare(document, in_batches(a_table()), Silent())
    found = read_population(document, prepared, Silent())
    before, after = risks_of(document, every_row(prepared, (0, 0)), found, Silent())
    assert (before.uniques, after.uniques) == (4, 0)
    assert after.journalist == 1 / 5


def test_a_sampling_fraction_is_the_simple_way(tmp_path):
    document = a_document(sampling_fraction=0.5)
    prepared = prepare(document, in_batches(a_table()), Silent())
    assert read_population(document, prepared, Silent()) is None
    risks = risks_of(document, every_row(prepared, (2, 1)), None, Silent())
    assert risks[1].basis is PopulationBasis.SAMPLED
    assert 0.5 / 6 < risks[1].journalist < 1 / 6
    facts = told(risks, None, 0.5)
    assert facts["sampling_fraction"] == 0.5
    assert "sample of 50 %" in basis_text(facts)


def test_a_population_that_is_gone_or_another_is_refused(tmp_path):
    path = write_population(tmp_path, everybody())
    document = a_document(population=open_population(path, ("age", "sex"), Silent()))
    prepared = prepare(document, in_batches(a_table()), Silent())
    write_population(tmp_path, everybody() * 2)
    with pytest.raises(SourceChanged):
        read_population(document, prepared, Silent())
    path.unlink()
    with pytest.raises(SourceMissing):
        read_population(document, prepared, Silent())


def test_a_population_lacks_a_column_that_is_generalized_since(tmp_path):
    path = write_population(tmp_path, everybody())
    document = a_document(population=open_population(path, ("age",), Silent()))
    prepared = prepare(document, in_batches(a_table()), Silent())
    with pytest.raises(DiversityError, match="without the column sex"):
        read_population(document, prepared, Silent())


def test_what_is_known_of_the_population_survives_the_file_and_the_rules(tmp_path):
    path = write_population(tmp_path, everybody(), ("Age", "sex"))
    file = open_population(path, ("age", "sex"), Silent())
    for document in (a_document(population=file), a_document(sampling_fraction=0.02)):
        assert document_from_json(document_to_json(document)) == document
        text = rules_of(document, tmp_path)
        assert str(tmp_path) not in text
        again = apply_rules(text, MemorySurvey(a_table()), Document(), tmp_path)
        assert again.generalization == document.generalization
