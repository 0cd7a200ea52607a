"""k and unique records by units, counted from exported files by pandas and nothing of ours."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.coarsening.views import (
    find_views,
    unique_by_recipient,
    views_in,
    with_proposed_hierarchies,
)
from sfumato.analysis.readiness.readiness import examine, shown_to
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.generalization import CriterionChoice, Generalization
from sfumato.project.document.model import TableSource, Unit, ViewRule
from sfumato.project.publication.publish import publish_table
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of, leaving_table
from sfumato.project.release.uniqueness import release_sentence
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project.making import new_project
from tests.project.test_pooled_rows import a_document
from tests.samples.make_households import households

KNOWN = ["region", "sex", "age"]
"""What an attacker knows: the quasi-identifiers."""
ASKED = {"Institute": (2, 0.0), "Ministry": (4, 0.05), "Public": (12, 0.15)}


def with_ages(count=150, seed=13):
    """Households whose members differ in age, each with a tag that joins rows to the truth."""
    frame = households(count, seed)
    rng = np.random.default_rng(seed)
    tags = rng.permutation(len(frame))
    return frame.assign(age=rng.integers(0, 90, len(frame)), tag=tags)


def surveyed(frame, most_rows=9, asked=ASKED):
    document = a_document(Role.IDENTIFYING)
    columns = (
        *document.columns,
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ColumnSpec("tag", Role.INSENSITIVE, Kind.NUMERIC),
    )
    recipients = tuple(
        replace(each, view=ViewRule(*asked[each.name])) if each.name in asked else each
        for each in document.recipients
    )
    document = replace(
        document.with_unit(Unit(("household",), most_rows, ("water",))),
        columns=columns,
        recipients=recipients,
        source=TableSource("/data/survey.csv", "ab" * 32, len(frame)),
    )
    return with_proposed_hierarchies(document, Table(frame))[0]


def found_for(document, frame, keys):
    return find_views(document, in_batches(leaving_table(document, Table(frame), keys)), Silent())


def units_per_class(rows, truth, columns):
    """Return how many different households share a row's values, for every row of a file."""
    joined = rows.merge(truth[["tag", "household"]], on="tag", validate="one_to_one")
    return joined.groupby(columns, dropna=False)["household"].transform("nunique"), joined


@pytest.mark.slow
@pytest.mark.parametrize("most_rows", [9, 2])
def test_every_class_of_an_exported_file_has_rows_of_k_households(tmp_path, most_rows):
    frame = with_ages()
    project = new_project(tmp_path, surveyed(frame, most_rows))
    project.save_document(found_for(project.document, frame, project.keys))
    fewer_than_rows = 0
    for name, (k, share) in ASKED.items():
        made = make_release(
            project, in_batches(Table(frame)), name, tmp_path / "out", "csv", Silent()
        )
        rows = pd.read_csv(made.path / "data.csv", keep_default_na=False)
        sizes, joined = units_per_class(rows, frame, KNOWN)
        assert sizes.min() >= k
        assert (rows[KNOWN].astype(str) == "*").all(axis=1).mean() <= share
        assert joined["household"].value_counts().max() <= most_rows
        fewer_than_rows += int(sizes.min() < rows.groupby(KNOWN).size().min())
        text = (made.path / "README.md").read_text()
        others = "one other unit" if k == 2 else f"{k - 1} other units"
        assert f"with records of at least {others}" in text
        told = json.loads((made.path / "datapackage.json").read_text())["sfumato"]["view"]
        assert (told["k"], told["k_counts_distinct"]) == (k, "household")
        report = verify_bundle(project, in_batches(Table(frame)), made.path, Silent())
        assert report.holds, [(c.title, c.finding) for c in report.failed]
        (kept,) = [c.finding for c in report.checks if c.title == "Quasi-identifiers"]
        assert f"has {sizes.min()} units, and k = {k} was promised" in kept
    if most_rows == 9:
        assert fewer_than_rows
    project.close()


def test_views_that_keep_k_rows_but_not_k_households_are_refused(tmp_path):
    # Every household lives alone in its region: each of its classes has many rows and one unit.
    frame = with_ages(40).assign(sex="f", age=30)
    frame["region"] = frame["household"].str.replace("h", "r")
    document = surveyed(frame, asked={"Public": (3, 0.0)})
    seen = {each.recipient: each for each in views_in(document, in_batches(Table(frame)), Silent())}
    assert "3" in seen["Public"].problem
    assert seen["Public"].view.unique == 0  # suppressed, and more than may be
    found = found_for(document, frame, KeyRing(bytes(32)))
    (public,) = views_in(found, in_batches(Table(frame)), Silent())
    assert public.problem == ""
    assert public.view.smallest >= 3
    assert (public.units, public.records) == (frame["household"].nunique(), len(frame))


def test_a_k_above_the_number_of_units_is_refused_by_name():
    frame = with_ages(20)
    k = frame["household"].nunique() + 1
    assert k < len(frame)
    document = surveyed(frame, asked={"Public": (k, 0.0)})
    with pytest.raises(DiversityError, match=f"Public's k is {k}, .* belong to {k - 1} units") as e:
        find_views(document, in_batches(Table(frame)), Silent())
    assert f"Choose a k from 1 to {k - 1}" in e.value.remedy
    (seen,) = views_in(document, in_batches(Table(frame)), Silent())
    assert f"belong to {k - 1} units" in seen.problem


@pytest.mark.few(1)
@pytest.mark.parametrize("most_rows", [9, 2])
@pytest.mark.parametrize("seed", [1, 2])
def test_unique_units_are_those_that_pandas_counts_among_the_rows_that_leave(most_rows, seed):
    frame = with_ages(120, seed).assign(tag=lambda f: f["tag"] % 3)
    frame.loc[frame["household"].str[-1] == "7", ["sex", "age"]] = ["f", 40]
    document, keys = surveyed(frame, most_rows, asked={}), KeyRing(bytes([seed]) * 32)
    left = leaving_table(document, Table(frame), keys)
    assert left.frame["household"].value_counts().max() <= most_rows
    columns = [*KNOWN, "tag"]
    together = left.frame.groupby(columns)["household"]
    alone = together.transform("nunique") == 1
    unique = left.frame.loc[alone, "household"].nunique()
    assert unique < alone.sum() or most_rows == 2
    (found,) = unique_by_recipient(document, in_batches(left), Silent())
    assert (found.alone, found.rows, found.smallest) == (
        unique,
        alone.sum(),
        together.nunique().min(),
    )
    assert found.units == frame["household"].nunique()
    known = left.frame.groupby(KNOWN)["household"].transform("nunique") == 1
    assert found.marked_alone == left.frame.loc[known, "household"].nunique()
    told = f"{unique} of {found.units} units (records with the same household) are unique"
    assert told in release_sentence(found)
    columns = LeavingColumns(Table(frame), keys).of(document)
    checked = examine(document, columns, attributes_of(document, Table(frame)), (), Silent())
    (one,) = [f for f in checked[0].findings if f.check == "Unique records"]
    assert one.facts[-1] == unique
    assert f"{unique} of {found.units} units" in one.sentence
    assert f"by {alone.sum()} of {left.rows} records" in one.sentence


@pytest.mark.slow
@pytest.mark.turns(1)
def test_five_rows_of_one_household_that_are_alike_are_found_before_a_release():
    frame = with_ages(60).assign(tag=0, age=30, sex="f", region="north")
    alike = frame["household"] == frame["household"].iloc[0]
    frame.loc[alike, "region"] = "south"
    assert alike.sum() > 1
    document = surveyed(frame, asked={})
    columns = LeavingColumns(Table(frame), KeyRing(bytes(32))).of(document)
    attributes = attributes_of(document, Table(frame))
    (one,) = {
        f.sentence
        for each in examine(document, columns, attributes, (), Silent())
        for f in each.findings
        if f.check == "Unique records"
    }
    assert one.startswith("1 of 60 units (records with the same household) is unique")
    by_rows = replace(document, unit=None)
    columns = LeavingColumns(Table(frame), KeyRing(bytes(32))).of(by_rows)
    found = examine(by_rows, columns, attributes, (), Silent())
    assert not any("are unique" in f.sentence for each in found for f in each.findings)


@pytest.mark.slow
def test_what_dropping_a_column_reaches_is_estimated_within_its_error():
    frame = with_ages(40_000).assign(tag=lambda f: f["tag"] % 20_000)
    document = surveyed(frame, asked={})
    columns = LeavingColumns(Table(frame), KeyRing(bytes(32))).of(document)
    found = columns.without(shown_to(document, document.recipients[0], columns), "age")
    alone = frame.groupby(["region", "sex", "tag"])["household"].transform("nunique") == 1
    unique = frame.loc[alone, "household"].nunique()
    assert unique > 1_000
    assert 0 < found.error < unique
    assert abs(found.unique - unique) <= 1.5 * found.error
    assert abs(found.rows - alone.sum()) <= 3 * found.error


@pytest.mark.few(1)
@pytest.mark.parametrize("suppressed", [Suppressed.DROPPED, Suppressed.STARRED])
def test_a_published_table_keeps_k_households_in_every_class(tmp_path, suppressed):
    frame = with_ages(200).drop(columns="rent")
    frame["age"] = frame.groupby("household")["age"].transform("first")
    document = surveyed(with_ages(200), asked={})
    decided = Generalization(
        "illness",
        tuple(KNOWN),
        (CriterionChoice("k-anonymity", {"k": 6}), CriterionChoice("distinct-diversity", {"l": 2})),
        suppression=0.1,
        suppressed=suppressed,
    )
    columns = tuple(spec for spec in document.columns if spec.name != "rent")
    document = replace(document, columns=columns, policy=(), generalization=decided)
    project = new_project(tmp_path, document)
    path = publish_table(project, in_batches(Table(frame)), tmp_path / "out", "csv", Silent()).path
    rows = pd.read_csv(path / "data.csv", keep_default_na=False)
    sizes, joined = units_per_class(rows, frame, KNOWN)
    assert sizes.min() >= 6
    assert sizes.min() < rows.groupby(KNOWN).size().min()
    assert rows.groupby(KNOWN)["illness"].nunique().min() >= 2
    # Whoever picks a row of a class hits a household by its share of the class.
    own = joined.groupby([*KNOWN, "household"]).size()
    share = own / own.groupby(KNOWN).transform("sum")
    risk = project.releases[0].details["risk"]
    assert risk["after"]["prosecutor"] == pytest.approx(share.max())
    assert risk["after"]["smallest"] == sizes.min()
    marketer = (own * share).sum() / len(rows)
    assert risk["after"]["marketer"] == pytest.approx(marketer)
    alone = project.releases[0].details["alone"]
    tagged = joined.groupby([*KNOWN, "sex", "tag"])["household"].transform("nunique") == 1
    assert alone["alone"] == joined.loc[tagged, "household"].nunique()
    assert (alone["unit"], alone["units"]) == ("household", joined["household"].nunique())
    text = (path / "README.md").read_text()
    assert "with records of at least 5 other units" in text
    assert "several of one unit in a class count each" in text
    shown = dict(re.findall(r"^\| (\w+) \|[^|]*\| ([^|]*) \|$", text, re.MULTILINE))
    for name in KNOWN:
        starred = int((rows[name] == "*").sum())
        if starred < len(rows):
            assert ("`*` in" in shown[name]) == (starred > 0)
            assert "as in the source" not in shown[name] or not starred
    report = verify_bundle(project, in_batches(Table(frame)), path, Silent())
    assert report.holds, [(c.title, c.finding) for c in report.failed]
    project.close()


def test_a_published_table_s_k_above_the_number_of_units_is_refused(tmp_path):
    frame = with_ages(20)
    decided = Generalization("illness", tuple(KNOWN), (CriterionChoice("k-anonymity", {"k": 21}),))
    document = replace(surveyed(frame, asked={}), policy=(), generalization=decided)
    project = new_project(tmp_path, document)
    with pytest.raises(DiversityError, match="k is 21, and the records belong to 20 units"):
        publish_table(project, in_batches(Table(frame)), tmp_path / "out", "csv", Silent())
    assert not (tmp_path / "out").exists()
    assert project.releases == ()
    project.close()
