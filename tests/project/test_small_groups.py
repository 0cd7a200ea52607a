"""Releases that protect small groups: made, verified, checked from the file, and refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import LadderError, LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_tails import SampleDraw
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.release.groups import public_columns
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of, material_of
from sfumato.project.rules.rules import apply_rules, rules_of
from tests.engine.disclosure.group_cases import enumerated_tails
from tests.in_batches import in_batches
from tests.project.verifying import (
    ROWS,
    a_document,
    a_table,
    edit,
    failed,
    new_project,
    other_illness,
    release,
    swap,
    verify,
)
from tests.project.whole_table import released_columns
from tests.row_order import in_table_order

SETTINGS = {
    "epsilon": 0.3,
    "delta": 0.17,
    "rule": "exact",
    "sampling": "blind",
    "retention_probability": 0.5,
    "public": ["age", "zip"],
}


def protected(settings=SETTINGS, levels=(0.5, 0.2), **changes):
    recipients = tuple(
        Recipient(
            name,
            {
                "illness": {"retention_probability": level},
                "work": {"retention_probability": 0.5},
            },
        )
        for name, level in zip(("Clinic A", "Institute B"), levels, strict=True)
    )
    policy = (
        PolicyEntry(("illness",), "reconstruction", settings),
        PolicyEntry(("work",), "uniform"),
    )
    return a_document(policy=policy, recipients=recipients, **changes)


def table():
    """The table with fewer places, so that groups are worth resampling."""
    made = a_table()
    return replace(made, frame=made.frame.assign(zip=[f"{i % 12:05d}" for i in range(ROWS)]))


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path, protected()) as made:
        yield made


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_is_verified_row_by_row_and_group_by_group(project, tmp_path):
    path = release(project, tmp_path / "out", table=table())
    lower = release(project, tmp_path / "out", "Institute B", table=table())
    for bundle in (path, lower):
        report = verify(project, bundle, table=table())
        assert failed(report) == {}
        assert report.holds
    titles = [check.title for check in verify(project, path, table=table()).checks]
    assert any("Resampled groups" in title for title in titles)


def test_an_altered_value_is_found(project, tmp_path):
    path = release(project, tmp_path / "out", table=table())
    edit(path, lambda rows: swap(rows, 5, *other_illness(rows[4])), vouch=True)
    report = verify(project, path, table=table())
    assert not report.holds
    assert report.recipient == "Clinic A"


def test_rows_keep_their_place_and_their_other_columns(project):
    document = project.document
    frame = released_columns(
        document, table(), document.recipient("Clinic A"), project.keys, Silent()
    )
    assert len(frame) == ROWS
    assert frame["zip"].tolist() == table().frame["zip"].tolist()
    assert frame["income"].tolist() == table().frame["income"].tolist()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_promise_can_be_recomputed_from_the_released_file_alone(project, tmp_path):
    """What a checker with no key and none of this code finds in the bundle."""
    path = release(project, tmp_path / "out", table=table())
    package = json.loads((path / "datapackage.json").read_text(encoding="utf-8"))
    fields = {f["name"]: f for f in package["resources"][0]["schema"]["fields"]}
    told = fields["illness"]["sfumato"]["parameters"]
    data = pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False)
    m, p = told["domain_size"], Fraction(str(told["retention_probability"]))
    epsilon, delta = Fraction(str(told["relative_error"])), told["error_probability"]
    draws = dict(told["draws_by_group_size"])
    checked = set()
    for _, group in data.groupby(told["public_columns"]):
        size = len(group)
        drawn = draws.get(size, size)
        for count in group["illness"].value_counts():
            # As many copies as so many draws give, rounded down or up.
            assert any(abs(count - k * size / drawn) < 1 for k in range(drawn + 1))
        if size in checked:
            continue
        checked.add(size)
        for own in range(1, size + 1):
            tails = enumerated_tails(size, own, drawn, p, m, epsilon, SampleDraw.AT_RANDOM)
            assert sum(tails) >= 2 * Fraction(str(delta)) - Fraction(1, 10**9)
    assert draws
    assert len(data) == ROWS


def test_a_higher_level_than_the_top_is_refused(project, tmp_path):
    document = protected(levels=(0.6, 0.2))
    project.save_document(document)
    with pytest.raises(LevelError, match=r"above 0\.5"):
        make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        (PolicyEntry(("illness",), "uniform"), "its mechanism changed"),
        (PolicyEntry(("illness",), "reconstruction", {**SETTINGS, "delta": 0.1}), "settings"),
        (
            PolicyEntry(("illness",), "reconstruction", {**SETTINGS, "public": ["age"]}),
            "settings",
        ),
    ],
)
def test_what_is_not_on_the_ladder_is_refused_with_the_reason(project, tmp_path, changed, reason):
    release(project, tmp_path / "out", table=table())
    document = protected()
    project.save_document(replace(document, policy=(changed, document.policy[1])))
    with pytest.raises(LadderError, match=reason):
        make_release(project, in_batches(table()), "Institute B", tmp_path / "out", "csv", Silent())


def test_another_edition_with_other_groups_is_refused(tmp_path):
    document = protected(record_key="person")
    with new_project(tmp_path, document) as project:
        release(project, tmp_path / "out", table=table())
        moved = table().frame.assign(zip=[f"{i % 11:05d}" for i in range(ROWS)])
        with pytest.raises(LadderError, match="groups"):
            make_release(
                project,
                in_batches(replace(table(), frame=moved)),
                "Institute B",
                tmp_path / "out",
                "csv",
                Silent(),
            )


def test_all_released_columns_are_public_unless_some_are_named():
    document = protected()
    assert public_columns(document, {}, "reconstruction") == ("age", "zip", "income")
    assert public_columns(document, SETTINGS, "reconstruction") == ("age", "zip")
    dropped = document.with_column(replace(document.column("zip"), role=Role.IDENTIFYING))
    assert public_columns(dropped, SETTINGS, "reconstruction") == ("age",)
    with pytest.raises(PolicyError, match="no such"):
        public_columns(document, {"public": ["postcode"]}, "reconstruction")


def test_groups_are_made_of_columns_as_they_are_released():
    material = material_of(protected(), table())
    groups = material.encoded["illness"].groups
    assert groups.names == ("age", "zip")
    assert groups.count == 3 * 12, "ages are released as three bins"
    assert material.encoded["work"].groups is None


def test_a_table_with_nothing_public_is_refused_clearly(project, tmp_path):
    document = protected({**SETTINGS, "public": []})
    project.save_document(document)
    with pytest.raises(PolicyError, match="no public column"):
        make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())


def test_the_guarantee_speaks_of_groups():
    document = protected()
    found = guarantee_of(document, attributes_of(document, table()))
    assert found.complete
    assert any("alike in age and zip" in each.promise.sentence for each in found.promises)


def test_rules_state_it_and_read_it_again():
    document = protected()
    text = rules_of(document)
    applied = apply_rules(text, MemorySurvey(table()), document)
    assert applied.policy[0] == document.policy[0]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_two_recipients_know_what_the_more_trusted_one_knows(project, tmp_path):
    # Row by row the lower release is the upper one, kept or replaced with one probability.
    paths = [
        release(project, tmp_path / "out", name, table=table())
        for name in ("Clinic A", "Institute B")
    ]
    upper, lower = (in_table_order(project, path, table())["illness"].astype(str) for path in paths)
    alike = float(np.mean(upper == lower))
    assert alike == pytest.approx(0.4 + 0.6 / 4, abs=0.06)
    with pytest.raises(AssertionError):
        pd.testing.assert_series_equal(upper, lower)
