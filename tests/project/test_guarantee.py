"""The guarantee card: computed from the settings, complete or not."""

from __future__ import annotations

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest

from sfumato.analysis.guarantee import guarantee_of
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from tests.noise import NOISE
from tests.project import numbers

ILLNESS = Attribute("illness", Kind.CATEGORICAL, Domain(("a", "b", "c")), np.array([50, 30, 20]))
JOB = Attribute("job", Kind.CATEGORICAL, Domain(("x", "y")), np.array([50, 50]))
ATTRIBUTES = {"illness": ILLNESS, "job": JOB}


def keeping(**levels: float) -> dict[str, dict[str, float]]:
    return {name: {"retention_probability": level} for name, level in levels.items()}


def a_document(*recipients: Recipient, both: bool = False) -> Document:
    names = ("illness", "job") if both else ("illness",)
    return Document(
        columns=(
            ColumnSpec("person", Role.IDENTIFYING),
            ColumnSpec("illness", Role.SENSITIVE, domain=ILLNESS.domain),
            ColumnSpec("job", Role.SENSITIVE if both else Role.INSENSITIVE, domain=JOB.domain),
        ),
        policy=tuple(PolicyEntry((name,), "uniform") for name in names),
        recipients=recipients,
    )


def test_every_recipient_gets_the_promise_of_the_mechanism():
    document = a_document(
        Recipient("B", keeping(illness=0.2)), Recipient("A", keeping(illness=0.6))
    )
    guarantee = guarantee_of(document, ATTRIBUTES)
    assert guarantee.complete
    assert [(p.recipient, p.level, p.trust) for p in guarantee.promises] == [
        ("A", 0.6, 0.6),
        ("B", 0.2, 0.2),
    ]
    expected = mechanism_called("uniform").promise(0.6, (ILLNESS,), {})
    assert guarantee.promises[0].promise == expected
    assert guarantee.for_recipient("B") == guarantee.promises[1:]
    assert guarantee.coalition == "Any group of recipients learns no more than A alone."


def test_the_odds_in_the_sentence_follow_from_the_level():
    document = a_document(Recipient("A", keeping(illness=0.5)))
    (promised,) = guarantee_of(document, ATTRIBUTES).promises
    assert "at most 4." in promised.promise.sentence  # 1 + 3 * 0.5 / 0.5


def test_a_level_stated_otherwise_is_compared_on_the_same_scale():
    document = a_document(
        Recipient("By odds", {"illness": {"gamma": 100.0}}),
        Recipient("By p", keeping(illness=0.5)),
    )
    assert guarantee_of(document, ATTRIBUTES).coalition.endswith("than By odds alone.")


def test_recipients_with_the_highest_level_are_all_named():
    document = a_document(
        Recipient("A", keeping(illness=0.6)),
        Recipient("B", keeping(illness=0.6)),
        Recipient("C", keeping(illness=0.1)),
    )
    assert guarantee_of(document, ATTRIBUTES).coalition == (
        "Any group of recipients learns no more than A alone. B gets the same values as A."
    )


def test_recipients_who_all_have_one_level_are_told_so():
    document = a_document(
        Recipient("A", keeping(illness=0.6)), Recipient("B", keeping(illness=0.6))
    )
    assert guarantee_of(document, ATTRIBUTES).coalition.startswith("All recipients get the same")


def test_a_single_recipient_has_nobody_to_pool_with():
    document = a_document(Recipient("A", keeping(illness=0.6)))
    assert guarantee_of(document, ATTRIBUTES).coalition.startswith("A is the only recipient")


def test_one_recipient_may_be_trusted_most_with_everything():
    document = a_document(
        Recipient("A", keeping(illness=0.6, job=0.5)),
        Recipient("B", keeping(illness=0.3, job=0.5)),
        both=True,
    )
    assert guarantee_of(document, ATTRIBUTES).coalition == (
        "Any group of recipients learns no more than A alone. Attributes that depend on each other"
        " tell about each other, so whoever holds several may learn more of one than its own"
        " promise says."
    )


def enumerated_loss(levels, sizes, rows=None):
    """ε of all that is released of one unit, over every pair of truths and every outcome."""
    worst = []
    for level, size, count in zip(levels, sizes, rows or (1,) * len(levels), strict=True):
        matrix = level * np.eye(size) + (1 - level) / size
        outcomes = itertools.product(range(size), repeat=count)
        ratios = [
            np.prod([matrix[shown, one] / matrix[shown, other] for shown in outcome])
            for outcome in outcomes
            for one, other in itertools.permutations(range(size), 2)
        ]
        worst.append(max(ratios))
    return float(np.log(worst).sum())


def test_the_loss_of_all_attributes_is_that_of_the_worst_outcome():
    document = a_document(
        Recipient("A", keeping(illness=0.6, job=0.5)),
        Recipient("B", keeping(illness=0.2, job=0.1)),
        both=True,
    )
    guarantee = guarantee_of(document, ATTRIBUTES)
    for name, levels in (("A", (0.6, 0.5)), ("B", (0.2, 0.1))):
        loss = enumerated_loss(levels, (3, 2))
        assert sum(each.loss for each in guarantee.for_recipient(name)) == pytest.approx(loss)
        told = dict(guarantee.totals)[name]
        odds, epsilon = re.search(r"by at most ([\d.]+) \(ε = ([\d.]+),", told).groups()
        assert np.exp(loss) - 1e-9 <= float(odds) < np.exp(loss) + 0.1
        assert loss - 1e-9 <= float(epsilon) < loss + 0.1
        assert "anything about one person" in told


def test_what_all_recipients_hold_is_the_sum_of_each_attribute_s_highest_loss():
    document = a_document(
        Recipient("A", keeping(illness=0.6, job=0.1)),
        Recipient("B", keeping(illness=0.2, job=0.5)),
        both=True,
    )
    told = guarantee_of(document, ATTRIBUTES).coalition
    assert "What all recipients hold: illness and job together" in told
    odds = float(re.search(r"by at most ([\d.]+) \(ε", told).group(1))
    expected = np.exp(enumerated_loss((0.6, 0.5), (3, 2)))
    assert expected - 1e-9 <= odds < expected + 0.1


def test_an_attribute_that_is_drawn_row_by_row_counts_for_each_row_of_a_unit():
    document = a_document(Recipient("A", keeping(illness=0.3, job=0.2)), both=True)
    unit = Unit(("person",), 3, ("job",))
    guarantee = guarantee_of(replace(document, unit=unit), ATTRIBUTES)
    by_key = {each.entry.key: each for each in guarantee.promises}
    # A row's level follows from K; the job is drawn once for all rows.
    loss = enumerated_loss((by_key["illness"].level, 0.2), (3, 2), (3, 1))
    assert sum(each.loss for each in guarantee.promises) == pytest.approx(loss)
    assert "all rows with the same person" in dict(guarantee.totals)["A"]


def test_true_values_have_no_bound_and_one_attribute_has_no_total():
    shown = a_document(Recipient("A", keeping(illness=1.0, job=0.5)), both=True)
    assert dict(guarantee_of(shown, ATTRIBUTES).totals) == {
        "A": "True values of illness are shown: ε has no bound."
    }
    assert guarantee_of(a_document(Recipient("A", keeping(illness=0.6))), ATTRIBUTES).totals == ()


def test_numbers_that_depend_on_each_other_and_are_protected_apart_are_a_caution():
    table = numbers.a_table()
    together = numbers.a_document(table)
    known = {
        name: encode_column(table, together.column(name)).attribute
        for name in ("age", "income", "sex")
    }
    gaussian = mechanism_called("gaussian")
    entries = tuple(
        PolicyEntry((name,), "gaussian", gaussian.first_settings([known[name]], NOISE))
        for name in ("age", "income")
    )
    stated = {name: {"sigma_squared": 0.5} for name in ("age", "income")}
    apart = replace(
        together,
        policy=(*entries, together.policy[1]),
        recipients=tuple(
            replace(r, statements={**r.statements, **stated}) for r in together.recipients
        ),
    )
    (caution,) = guarantee_of(apart, known).in_house
    assert caution.startswith("age and income depend on each other (correlation 0.9")
    assert "Protect together" in caution
    assert "tell about each other" in guarantee_of(apart, known).coalition
    assert guarantee_of(apart, known).cautions == guarantee_of(together, known).cautions == ()
    assert guarantee_of(together, known).in_house == ()
    alone = guarantee_of(replace(apart, recipients=apart.recipients[:1]), known).coalition
    assert "nobody to pool" in alone
    assert "tell about each other" in alone


def test_what_every_mechanism_leaves_visible_is_said_in_the_same_words():
    table = numbers.a_table()
    document = numbers.a_document(table)
    known = {
        column.name: encode_column(table, column).attribute
        for entry in document.policy
        for column in map(document.column, entry.attributes)
    }
    promises = guarantee_of(document, known).promises
    assert {promise.entry.mechanism for promise in promises} == {"gaussian", "uniform"}
    limits = {limit for promise in promises for limit in promise.promise.limits}
    assert sum("is in the table" in limit for limit in limits) == 1
    assert sum("that records depend on one another" in limit for limit in limits) == 1


def test_where_different_recipients_are_trusted_most_it_is_said_attribute_by_attribute():
    document = a_document(
        Recipient("A", keeping(illness=0.6, job=0.1)),
        Recipient("B", keeping(illness=0.3, job=0.5)),
        both=True,
    )
    guarantee = guarantee_of(document, ATTRIBUTES)
    assert "From the releases of job, any group" in guarantee.coalition
    assert "From the releases of illness" in guarantee.coalition
    assert "than from A's alone" in guarantee.coalition
    assert "than from B's alone" in guarantee.coalition
    assert "depend on each other" in guarantee.coalition
    assert {promised.entry.key for promised in guarantee.promises} == {"illness", "job"}


@pytest.mark.parametrize(
    ("document", "step"),
    [
        (Document(), "Open a table."),
        (Document(columns=(ColumnSpec("a"),)), "Mark at least one column as sensitive."),
        (replace(a_document(Recipient("A")), policy=()), "Choose a mechanism for illness."),
        (a_document(), "Add a recipient."),
        (
            a_document(Recipient("A")),
            "A has no trust level for illness. Set the level in the policy.",
        ),
    ],
)
def test_what_is_missing_is_the_next_step(document, step):
    guarantee = guarantee_of(document, ATTRIBUTES)
    assert guarantee.next_steps[0] == step
    assert not guarantee.complete
    assert guarantee.coalition == ""


def test_a_level_that_cannot_be_met_is_a_next_step_and_leaves_the_others_standing():
    document = a_document(
        Recipient("A", keeping(illness=2.0)), Recipient("B", keeping(illness=0.2))
    )
    guarantee = guarantee_of(document, ATTRIBUTES)
    assert [promise.recipient for promise in guarantee.promises] == ["B"]
    assert len(guarantee.next_steps) == 1
    assert guarantee.coalition == ""


def test_a_mechanism_for_a_column_that_is_not_sensitive_is_a_next_step():
    document = a_document(Recipient("A", keeping(illness=0.2, job=0.2)))
    document = replace(document, policy=(*document.policy, PolicyEntry(("job",), "uniform")))
    (step,) = guarantee_of(document, ATTRIBUTES).next_steps
    assert "job, which is not a sensitive attribute" in step


def test_an_attribute_that_does_not_fit_the_table_is_a_next_step():
    document = a_document(Recipient("A", keeping(illness=0.2)))
    guarantee = guarantee_of(document, {})
    assert guarantee.promises == ()
    assert guarantee.next_steps == (
        "Correct the domain of illness: it does not fit the table yet.",
    )
