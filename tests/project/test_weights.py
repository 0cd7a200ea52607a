"""Sampling weights: what is refused, what they say of risks, and what recipients compute."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import nbinom

from sfumato.engine.core.columns import Coding, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.risk import PopulationBasis, risk_of_sizes
from sfumato.engine.table.table import Table
from sfumato.project.document.model import document_from_json, document_to_json
from sfumato.project.publication.generalization_pipeline import prepare
from sfumato.project.publication.population import basis_text, risks_of, told
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import material_of
from sfumato.project.release.uniqueness import release_sentence
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project import making
from tests.project.counting_alone import alone_in_release
from tests.project.test_population import a_document, a_table, every_row

WEIGHTS = [10.0, 20.0, 20.0, 1.0, 50.0, 4.0]


def weighted(weights=WEIGHTS, **coding):
    """The table of six with a weight each, and a document that knows it."""
    table = a_table()
    table = Table(table.frame.assign(weight=weights))
    document = a_document()
    spec = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC, **coding)
    return table, replace(document, columns=(*document.columns, spec), policy=())


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, None, 2.0, 3.0, 4.0, 5.0], "is missing in 1 row, first in row 2"),
        ([1.0, 2.0, -2.0, 0.0, 4.0, 5.0], "is zero or negative in 2 rows, first in row 3"),
        ([1.0, 2.0, 2.0, 3.0, 4.0, np.inf], "is infinite in 1 row, first in row 6"),
        (["a", "b", "c", "d", "e", "f"], "are not numbers"),
    ],
)
def test_weights_that_say_nothing_are_refused_by_name_with_what_to_do(weights, said):
    table, document = weighted(weights)
    document = replace(document, columns=making.document().columns[:0] + document.columns)
    with pytest.raises(TableError, match=said) as refused:
        alone_in_release(document, table, Silent())
    assert "weight" in refused.value.what
    assert "another role" in refused.value.remedy


def test_no_release_is_made_with_such_weights():
    table = Table(making.table().frame.assign(weight=[0.0] * 12))
    document = making.document()
    columns = (*document.columns, ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC))
    with pytest.raises(TableError, match="zero or negative in 12 rows"):
        material_of(replace(document, columns=columns), table)


def test_rounding_that_leaves_weights_of_zero_is_refused():
    table, document = weighted(coding=Coding(step=10.0))
    with pytest.raises(TableError, match="Rounded to 10, the weights of column weight become 0"):
        alone_in_release(document, table, Silent())
    mended, document = weighted(coding=Coding(bottom=5.0, step=10.0))
    assert alone_in_release(document, mended, Silent()).records == 6


def test_the_risk_estimates_a_class_in_the_population_by_the_sum_of_its_weights():
    table, document = weighted()
    prepared = prepare(document, in_batches(table), Silent())
    node = (1, 0)  # decades of age; sex as it is: two classes of three
    _, after = risks_of(document, every_row(prepared, node), None, Silent())
    assert after.basis is PopulationBasis.WEIGHTED
    # E[1/F | f] by summing the negative binomial law itself, class by class.
    shares = []
    for people in (50.0, 55.0):
        misses = np.arange(20_000)
        shares.append((nbinom.pmf(misses, 3, 3 / people) / (3 + misses)).sum())
    assert after.journalist == pytest.approx(max(shares), rel=1e-6)
    assert after.marketer == pytest.approx(3 * sum(shares) / 6, rel=1e-6)
    facts = told((after, after), None, None)
    assert "sampling weights" in basis_text(facts)


def test_relative_weights_make_no_risk_look_smaller_than_without_them():
    sizes = np.array([1, 2, 5])
    relative = risk_of_sizes(sizes, weights=np.array([0.4, 1.0, 3.0]))
    alone = risk_of_sizes(sizes)
    assert (relative.journalist, relative.marketer) == (alone.journalist, alone.marketer)


def test_uniques_are_counted_with_the_weight_and_expected_in_the_population():
    table, document = weighted()
    found = alone_in_release(document, table, Silent())
    # Two women of 25 share everything but ward, which is sensitive; their weights are equal.
    assert (found.alone, found.weight) == (4, "weight")
    assert found.expected == pytest.approx(1 / 10 + 1.0 + 1 / 50 + 1 / 4)
    assert "about 1.4 of the unique records" in release_sentence(found)


def test_a_weight_counts_as_a_quasi_identifier_unless_it_is_rounded():
    frame = pd.DataFrame(
        {"sex": ["f", "f", "m", "m"], "w": [11.0, 12.0, 13.0, 13.0], "note": list("abcd")}
    )
    specs = (
        ColumnSpec("sex", Role.QUASI_IDENTIFIER),
        ColumnSpec("w", Role.WEIGHT, Kind.NUMERIC),
        ColumnSpec("note", Role.INSENSITIVE),
    )
    document = replace(making.document(), columns=specs, policy=())
    exact = alone_in_release(document, Table(frame), Silent())
    assert (exact.marked, exact.marked_alone) == (("sex", "w"), 2)
    rounded = document.with_column(replace(specs[1], coding=Coding(step=10.0)))
    found = alone_in_release(rounded, Table(frame), Silent())
    assert (found.marked, found.marked_alone) == (("sex",), 0)


def test_role_and_coding_are_kept_in_document_and_rules():
    table, document = weighted(coding=Coding(bottom=5.0, top=40.0, step=2.5))
    document = replace(document, generalization=None, hierarchies={}, columns=document.columns)
    assert document_from_json(document_to_json(document)) == document
    rules = rules_of(replace(document, columns=(*document.columns[:2], document.columns[3])))
    assert 'role = "weight"' in rules
    read = apply_rules(
        rules + '\n[columns.ward]\nrole = "insensitive"\n', MemorySurvey(table), document
    )
    assert read.column("weight") == document.column("weight")


def test_a_release_shows_coded_numbers_and_weights_and_is_verified(tmp_path):
    numbers = {
        "age": [3, 17, 44, 51, 60, 61, 70, 71, 88, 90, 95, 104],
        "w": np.arange(12) * 3.0 + 7,
    }
    table = Table(making.table().frame.assign(**numbers))
    document = making.document("person")
    columns = (
        *document.columns,
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, coding=Coding(top=85.0)),
        ColumnSpec("w", Role.WEIGHT, Kind.NUMERIC, coding=Coding(step=5.0)),
    )
    with making.new_project(tmp_path, replace(document, columns=columns)) as project:
        outcome = make_release(
            project, in_batches(table), "Clinic A", tmp_path / "out", "csv", Silent()
        )
        frame = pd.read_csv(outcome.path / "data.csv")
        assert sorted(frame["age"]) == [3, 17, 44, 51, 60, 61, 70, 71, 85, 85, 85, 85]
        assert sorted(frame["w"]) == sorted(np.floor(numbers["w"] / 5 + 0.5) * 5)
        assert verify_bundle(project, in_batches(table), outcome.path, Silent()).holds
        readme = (outcome.path / "README.md").read_text(encoding="utf-8")
        assert "85 means 85 or more" in readme
        assert "By the sampling weights (“w”)" in readme
        uncoded = project.document.with_column(replace(columns[3], coding=None))
        project.save_document(uncoded)
        report = verify_bundle(project, in_batches(table), outcome.path, Silent())
        assert report.holds, report.failed  # judged by the policy that was in force
