"""What an attacker knows, the groups that makes, and what a release shows of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.coarsening.views import with_levels, with_proposed_hierarchies, with_statement
from sfumato.analysis.disclosure.attacker import attacked, exposure, joined_draws, released_values
from sfumato.analysis.disclosure.small_groups import (
    RiskSubject,
    answer_risk,
    possible_changes,
    with_remedies,
)
from sfumato.analysis.previews.count_answers import answer_pool, open_desk
from sfumato.engine.core.columns import Binning, ColumnSpec, Kind, Role
from sfumato.engine.core.errors import EstimationError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_risk import RiskLimits, group_risk
from sfumato.engine.generalization.hierarchies import Intervals, Taxonomy
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.micro_groups import micro_groups, value_counts
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.groups import public_names, usual_knowledge
from sfumato.project.release.release_columns import material_of
from sfumato.project.release.views import coarsening_of
from tests.in_batches import in_batches
from tests.project.whole_table import coarsened, released_columns

KEYS = KeyRing(bytes(range(32)))


def crowd(rows: int = 4_000) -> Table:
    rng = np.random.default_rng(12)
    town = rng.choice(["Ayton", "Beeford", "Ceton"], rows)
    flu = (town == "Ayton") & (rng.random(rows) < 0.8)
    return Table(
        pd.DataFrame(
            {
                "name": [f"p{i}" for i in range(rows)],
                "town": town,
                "age": rng.integers(20, 40, rows),
                "note": rng.choice(["x", "y"], rows),
                "illness": np.where(flu, "flu", rng.choice(["asthma", "cold", "flu"], rows)),
            }
        )
    )


def document(mechanism: str = "uniform", **changes: object) -> Document:
    columns = (
        ColumnSpec("name", Role.IDENTIFYING, Kind.TEXT),
        ColumnSpec("town", Role.QUASI_IDENTIFIER),
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC),
        ColumnSpec("note", Role.INSENSITIVE),
        ColumnSpec("illness", Role.SENSITIVE),
    )
    settings = {}
    if mechanism == "reconstruction":
        settings = {
            "epsilon": 0.3,
            "delta": 0.17,
            "rule": "exact",
            "sampling": "blind",
            "retention_probability": 0.5,
            "public": ["age", "town"],
        }
    levels = {"A": 0.5, "B": 0.2}
    whole = Document(
        columns=columns,
        policy=(PolicyEntry(("illness",), mechanism, settings),),
        recipients=tuple(
            Recipient(name, {"illness": {"retention_probability": level}})
            for name, level in levels.items()
        ),
    )
    return replace(whole, **changes)


def test_an_attacker_usually_knows_the_quasi_identifiers() -> None:
    assert public_names(document()) == ("town", "age", "note")
    assert usual_knowledge(document()) == ("town", "age")
    plain = document(columns=(ColumnSpec("note"), ColumnSpec("illness", Role.SENSITIVE)), policy=())
    assert usual_knowledge(plain) == ("note",)


def test_nobody_looks_people_up_by_what_is_not_released() -> None:
    rows = rows_of(document(), in_batches(crowd()), KEYS)
    for name in ("name", "illness"):
        with pytest.raises(PolicyError, match=name):
            attacked(rows, rows.document.policy[0], [name], Silent())


def test_bins_are_known_as_their_labels() -> None:
    binned = document().with_column(
        ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC, binning=Binning((20, 30, 40)))
    )
    known = attacked(
        rows_of(binned, in_batches(crowd()), KEYS), binned.policy[0], ("town", "age"), Silent()
    )
    assert known.grouped.groups == 6
    changes = possible_changes(binned, known)
    assert [(each.attribute, each.bins) for each in changes] == [("town", None), ("age", None)]
    whole = document()
    known = attacked(
        rows_of(whole, in_batches(crowd()), KEYS), whole.policy[0], ("town", "age"), Silent()
    )
    changes = possible_changes(whole, known)
    assert [each.attribute for each in changes] == ["town", "age", "age"]
    assert (changes[2].bins or 0) > 2


@pytest.mark.parametrize("mechanism", ["uniform", "reconstruction"])
def test_what_is_counted_is_what_is_released(mechanism: str) -> None:
    table = crowd()
    whole = document(mechanism)
    rows, recipient, entry = (
        rows_of(whole, in_batches(table), KEYS),
        whole.recipients[1],
        whole.policy[0],
    )
    known = attacked(rows, entry, ("town", "age"), Silent())
    plan = plan_entry(whole, entry, {"illness": known.attribute}, recipient)
    [counted] = released_values(rows, [plan], known, Silent())
    frame = released_columns(document(mechanism), table, recipient, KEYS, Silent())
    domain = known.attribute.domain
    assert domain is not None
    codes = domain.encode(frame["illness"])
    groups = micro_groups(table.frame, ("town", "age"), Silent())
    assert (counted != value_counts(groups, codes, domain.size)).nnz == 0


def test_the_promise_of_reconstruction_privacy_is_seen_kept() -> None:
    table = crowd()
    limits = RiskLimits(0.3, 0.17)
    found = {}
    for mechanism in ("uniform", "reconstruction"):
        whole = document(mechanism)
        known = attacked(
            rows_of(whole, in_batches(table), KEYS), whole.policy[0], ("town", "age"), Silent()
        )
        shown = exposure(whole, whole.policy[0], known, whole.recipients[0])
        risk = group_risk(known.grouped, shown.matrix, limits, Silent(), shown.trials)
        found[mechanism] = (shown, risk)
    assert found["uniform"][0].trials is None
    assert found["uniform"][1].total.groups > 20
    trials = found["reconstruction"][0].trials
    assert trials is not None
    assert found["reconstruction"][1].total.groups == 0


def test_whoever_knows_less_joins_groups_and_their_draws() -> None:
    table = crowd()
    material = material_of(document("reconstruction"), table)
    whole, column = material.document, material.encoded["illness"]
    fewer = attacked(rows_of(whole, in_batches(table), KEYS), whole.policy[0], ("town",), Silent())
    shown = exposure(whole, whole.policy[0], fewer, whole.recipients[0])
    assert shown.trials is not None
    assert column.groups is not None
    how = mechanism_called("reconstruction").resampling(
        0.5, (column.attribute,), whole.policy[0].settings
    )
    assert how is not None
    assert (shown.trials.counts < fewer.grouped.sizes).all()
    # As many as the parts together, or fewer where they are repeated unequally.
    assert shown.trials.counts.sum() <= how.samples.sum() + 3
    same = joined_draws(column.groups, column.groups, how.samples)
    assert np.array_equal(same, how.samples)


def test_levels_of_a_hierarchy_are_remedies_in_the_place_of_bins() -> None:
    table = crowd()
    towns = Taxonomy(
        rows=(("Ayton", "South", "*"), ("Beeford", "North", "*"), ("Ceton", "North", "*"))
    )
    whole = document().with_hierarchy("town", towns).with_hierarchy("age", Intervals(width=5))
    subject = RiskSubject(rows_of(whole, in_batches(table), KEYS), whole.policy[0], ("town", "age"))
    known = subject.known(Silent())
    changes = possible_changes(whole, known)
    levels = [(each.attribute, each.level, each.classes) for each in changes if each.level]
    assert ("town", 1, 2) in levels
    assert ("age", 1, 4) in levels
    assert not [each for each in changes if each.bins]
    answer = answer_risk(subject, known, whole.recipients[0], RiskLimits(0.3, 0.17), Silent())
    found = with_remedies(subject, answer, Silent()).remedies
    by_change = {(each.change.attribute, each.change.level): each.total for each in found}
    assert by_change["town", 1].all_groups < known.grouped.groups
    assert by_change["age", 1].all_groups == 12


def test_people_are_looked_up_by_what_recipients_views_show() -> None:
    table = crowd()
    whole = document(recipients=(*document().recipients, Recipient("C", {})))
    whole, _ = with_proposed_hierarchies(whole, table)
    whole, _ = with_levels(with_statement(whole, "B", 1), "B", {"age": 1})
    whole, _ = with_levels(with_statement(whole, "C", 30, 0.2), "C", {"age": 2, "town": 0})
    subject = RiskSubject(rows_of(whole, in_batches(table), KEYS), whole.policy[0], ("town", "age"))
    exact, finer, coarser = subject.known_to_each(("A", "B", "C"), Silent())
    for name, known in (("B", finer), ("C", coarser)):
        coarsening = coarsening_of(whole, whole.recipient(name))
        assert coarsening is not None
        shown = pd.DataFrame(dict(coarsened(coarsening, whole.columns, table).columns))
        sizes = shown.value_counts(sort=False)
        assert sorted(known.grouped.sizes) == sorted(sizes)
        assert name in known.looked_up
    assert exact.grouped.groups > finer.grouped.groups > coarser.grouped.groups
    assert exact.looked_up == ""
    # Whoever pools files has the finest view among them.
    pooled = subject.known(Silent(), ("C", "B"))
    assert sorted(pooled.grouped.sizes) == sorted(finer.grouped.sizes)
    assert subject.known(Silent(), ("C", "A")).grouped.groups == exact.grouped.groups
    # What is shown as labels can only be left out.
    changes = possible_changes(whole, finer)
    assert [each.level for each in changes if each.attribute == "age"] == [None]
    answer = answer_risk(subject, finer, whole.recipients[1], RiskLimits(0.3, 0.17), Silent())
    assert len(with_remedies(subject, answer, Silent()).remedies) == len(changes)


@pytest.mark.slow
def test_a_release_that_protects_groups_is_made_anew_for_those_that_are_left() -> None:
    table = crowd()
    whole = document("reconstruction")
    subject = RiskSubject(rows_of(whole, in_batches(table), KEYS), whole.policy[0], ("town", "age"))
    known = subject.known(Silent())
    for recipient in whole.recipients:
        answer = answer_risk(subject, known, recipient, RiskLimits(0.3, 0.17), Silent())
        found = with_remedies(subject, answer, Silent()).remedies
        # Groups that merge are larger, but of these no more records are drawn than is safe.
        assert len(found) == 3
        assert all(remedy.total.groups == 0 for remedy in found)


def test_a_recipient_without_a_level_is_refused_and_left_out_of_the_desk() -> None:
    table = crowd()
    lost = document(recipients=(*document().recipients, Recipient("C", {})))
    subject = RiskSubject(rows_of(lost, in_batches(table), KEYS), lost.policy[0], ("town",))
    known = subject.known(Silent())
    with pytest.raises(PolicyError, match="no trust level"):
        exposure(lost, lost.policy[0], known, lost.recipients[2])
    desk = open_desk(subject, Silent())
    assert [held.shown.recipient for held in desk.held] == ["A", "B"]
    result = desk.ask({"town": "Ayton"}, 2)
    frame = table.frame
    here = frame["town"] == "Ayton"
    assert result.matching == here.sum()
    assert result.truth == (here & (frame["illness"] == "flu")).sum()
    assert [each.recipient for each in result.answers] == ["A", "B"]
    pool = answer_pool(desk, Silent())
    assert [each.recipient for each in pool.recipients] == ["A", "B"]
    with pytest.raises(EstimationError, match="No record"):
        desk.ask({"town": "Nowhere"}, 2)


@pytest.mark.slow
def test_intervals_of_resampled_groups_hold_the_truth() -> None:
    table = crowd(3_000)
    whole = document("reconstruction")
    inside = asked = 0
    for seed in range(60):
        keys = KeyRing(seed.to_bytes(32, "little"))
        subject = RiskSubject(
            rows_of(whole, in_batches(table), keys), whole.policy[0], ("town", "age")
        )
        desk = open_desk(subject, Silent())
        for town in ("Ayton", "Beeford"):
            result = desk.ask({"town": town}, 2)
            answer = result.answers[0].answer
            inside += answer.low <= result.truth <= answer.high
            asked += 1
    assert inside / asked > 0.86
