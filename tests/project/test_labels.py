"""Labels that are named after values of the table, and what is said of them."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.analysis.readiness.readiness import examine
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.api import read_bundle
from sfumato.engine.core.columns import Domain, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Orders
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import CriterionChoice, Generalization
from sfumato.project.document.model import Document, ViewRule
from sfumato.project.publication.publish import publish_table
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from tests.in_batches import in_batches
from tests.project.verifying import a_document, a_table, new_project, release

SAID = "called after the first and the last of their values that occur"
HIGHEST = 80


def by_order(level: int) -> Document:
    """Return a document in which the public sees ages in the order of those that occur."""
    document = a_document(hierarchies={"age": Orders((5, 20))})
    age = replace(document.column("age"), binning=None)
    zip_code = replace(document.column("zip"), role=Role.IDENTIFYING)
    document = document.with_column(age).with_column(zip_code)
    seen = replace(document.recipient("Public C"), view=ViewRule(2, 0.0, {"age": level}))
    return replace(document, recipients=(seen,))


@pytest.mark.few(1)
@pytest.mark.parametrize(("level", "told"), [(1, True), (2, True), (3, False)])
def test_whoever_sees_labels_named_after_values_of_the_table_is_told(tmp_path, level, told):
    document = by_order(level)
    with new_project(tmp_path, document) as project:
        bundle = release(project, tmp_path / "out", "Public C")
        columns = LeavingColumns(a_table(), project.keys).of(document)
    known = attributes_of(document, a_table())
    (ready,) = examine(document, columns, known, (), Silent())
    labels = pd.read_csv(bundle / "data.csv")["age"]
    assert labels.str.endswith(f"{HIGHEST}").any() == told
    readme = (bundle / "README.md").read_text(encoding="utf-8")
    assert (SAID in readme) == told
    assert any(SAID in caution for caution in guarantee_of(document, known).cautions) == told
    assert any(SAID in finding.sentence for finding in ready.findings) == told


def test_labels_named_after_stated_values_tell_nothing(tmp_path):
    document = by_order(1)
    stated = replace(document.column("age"), domain=Domain(tuple(range(10, 100))))
    with new_project(tmp_path, document.with_column(stated)) as project:
        bundle = release(project, tmp_path / "out", "Public C")
    assert not pd.read_csv(bundle / "data.csv")["age"].str.endswith(f"{HIGHEST}").any()
    assert SAID not in (bundle / "README.md").read_text(encoding="utf-8")


def test_a_published_table_tells_of_values_that_only_records_left_out_have(tmp_path):
    frame = a_table().frame.copy()
    frame.loc[0, "age"] = 117
    document = replace(
        by_order(1),
        generalization=Generalization(
            "illness",
            ("age",),
            (CriterionChoice("k-anonymity", {"k": 30}),),
            suppression=0.1,
            node=(1,),
        ),
    )
    with new_project(tmp_path, document) as project:
        table = Table(frame)
        bundle = publish_table(project, in_batches(table), tmp_path / "out", "csv", Silent()).path
    assert not pd.read_csv(bundle / "data.csv")["age"].str.contains("117").any()
    assert "117" in (bundle / "hierarchy-1.csv").read_text(encoding="utf-8")
    assert SAID in (bundle / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(("level", "told"), [(1, True), (3, False)])
@pytest.mark.parametrize("published", [False, True])
def test_codes_in_coarser_labels_are_explained(tmp_path, level, told, published):
    """Groups called 1 – 2 of a statistical file's codes are told by what the file calls these."""
    document = by_order(level)
    table = replace(a_table(), value_labels={"age": {20.0: "twenty", 21.0: "twenty-one"}})
    if published:
        criterion = CriterionChoice("k-anonymity", {"k": 1})
        found = Generalization("illness", ("age",), (criterion,), node=(level,))
        document = replace(document, generalization=found)
    with new_project(tmp_path, document) as project:
        rows, folder = in_batches(table), tmp_path / "out"
        if published:
            bundle = publish_table(project, rows, folder, "csv", Silent()).path
        else:
            bundle = make_release(project, rows, "Public C", folder, "csv", Silent()).path
    known = read_bundle(bundle).value_labels
    assert known.get("age", {}) == ({"20": "twenty", "21": "twenty-one"} if told else {})
