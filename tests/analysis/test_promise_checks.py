"""What weakens a promise from beside it, recomputed from the table by plain means."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.all_rows import AllRows
from sfumato.analysis.answers import Severity
from sfumato.analysis.disclosure.small_groups import RiskSubject, promised_limits
from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import accepting, examine, mended, require_ready
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.analysis.utility.mode_costs import costs_of_modes
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.group_risk import RiskLimits
from sfumato.engine.generalization.hierarchies import Suppression
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.reconstruction.limits import default_limits
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, ViewRule
from sfumato.project.errors import ReleaseError
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from tests.engine.numbers import stated_settings

ROWS = 3_000
NOISE = KeyedNoise(KeyRing(b"promise-checks".ljust(32, b".")))
ILLNESSES = ("cold", "flu", "none", "other")


def visits(told: float = 0.0, sizes: int = 6) -> Table:
    """Rows of persons whose illness is theirs; a share of them is told by the ward."""
    rng = np.random.default_rng(3)
    person = np.sort(rng.integers(0, ROWS // sizes, ROWS))
    own = rng.integers(0, len(ILLNESSES), ROWS // sizes)[person]
    ward = np.where(rng.random(ROWS) < told, own, rng.integers(0, len(ILLNESSES), ROWS))
    return Table(
        pd.DataFrame(
            {
                "person": 100_000 + person,
                "ward": np.array(list("abcd"))[ward],
                "sex": rng.choice(["f", "m"], ROWS),
                "illness": np.array(ILLNESSES)[own],
            }
        )
    )


def a_document(level=0.2, person=Role.IDENTIFYING, **changes) -> Document:
    return Document(
        columns=(
            ColumnSpec("person", person, Kind.NUMERIC),
            ColumnSpec("ward", Role.QUASI_IDENTIFIER),
            ColumnSpec("sex", Role.QUASI_IDENTIFIER),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
        ),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(
            Recipient("Institute", {"illness": {"retention_probability": 0.9}}),
            Recipient("Public", {"illness": {"retention_probability": level}}),
        ),
        **changes,
    )


def books(rows: int = 900) -> Table:
    rng = np.random.default_rng(8)
    revenue = rng.lognormal(11.0, 0.8, rows).round()
    costs = (revenue * rng.uniform(0.5, 0.95, rows)).round()
    frame = pd.DataFrame({"revenue": revenue, "costs": costs, "result": revenue - costs})
    return Table(frame.assign(staff=rng.integers(1, 9, rows)))


def accounts(**roles) -> Document:
    """Who protects the result alone, unless roles say otherwise."""
    roles = {"result": Role.SENSITIVE} | roles
    names = ("revenue", "costs", "result", "staff")
    columns = tuple(ColumnSpec(n, roles.get(n, Role.INSENSITIVE), Kind.NUMERIC) for n in names)
    entries, levels = [], {}
    for spec in columns:
        if spec.role is Role.SENSITIVE:
            attribute = encode_column(books(), spec).attribute
            entries.append(PolicyEntry((spec.name,), "gaussian", stated_settings([attribute])))
            levels[spec.name] = {"sigma_squared": 0.25}
    return Document(
        columns=columns, policy=tuple(entries), recipients=(Recipient("Public", levels),)
    )


def found_in(document, table, columns=None):
    columns = columns or ShownColumns(table)
    return examine(document, columns, attributes_of(document, table), (), Silent())


def of_check(found, check, recipient="Public"):
    return [
        one
        for each in found
        for one in each.findings
        if each.recipient == recipient and one.check == check
    ]


def best_guess_by_ward(table):
    """The share that is right by the most common illness in each ward; pandas counts it."""
    frame = table.frame
    return frame.groupby("ward")["illness"].agg(lambda v: v.value_counts().max()).sum() / ROWS


# ----- columns that tell


def test_columns_that_tell_as_much_as_a_release_empty_its_promise():
    table = visits(told=0.9)
    found = found_in(a_document(), table)
    [one] = of_check(found, "Open columns")
    assert one.severity is Severity.GRAVE
    assert one.columns == ("ward",)
    share = float(one.facts[3])
    assert share == pytest.approx(100 * best_guess_by_ward(table), abs=2.0)
    with pytest.raises(ReleaseError, match="From ward, released unperturbed"):
        require_ready(found, ["Public"])


@pytest.mark.parametrize("level", [0.9, 1.0])
def test_columns_that_add_nothing_to_what_a_release_tells_are_not_told(level):
    found = of_check(found_in(a_document(level=level), visits(told=0.7)), "Open columns")
    assert found == [], "the release is right more often than the ward, and where they differ"


@pytest.mark.slow
@pytest.mark.turns(1)
def test_columns_that_tell_a_little_are_a_caution_and_those_that_tell_nothing_are_good():
    [little] = of_check(found_in(a_document(), visits(told=0.3)), "Open columns")
    assert little.severity is Severity.CAUTION
    [nothing] = of_check(found_in(a_document(), visits()), "Open columns")
    assert nothing.severity is Severity.GOOD
    assert "tell little of illness" in nothing.sentence


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_reason_for_what_columns_tell_stands_for_these_figures_only():
    document, table = a_document(), visits(told=0.9)
    public = next(each for each in found_in(document, table) if each.recipient == "Public")
    accepted = accepting(document, public.open, "A contract")
    require_ready(found_in(accepted, table), ["Public"])
    with pytest.raises(ReleaseError):
        require_ready(found_in(accepted, visits(told=0.8)), ["Public"])


@pytest.mark.slow
@pytest.mark.parametrize("deed", [RemedyKind.PROTECT, RemedyKind.COARSEN, RemedyKind.DROP])
def test_each_remedy_keeps_columns_from_telling_an_attribute(deed):
    document, table = accounts(), books()
    [one] = of_check(found_in(document, table), "Open columns")
    assert one.severity is Severity.GRAVE
    assert set(one.columns) == {"revenue", "costs"}
    assert "result = revenue − costs" in one.sentence
    remedy = next(each for each in one.remedies if each.deed is deed)
    after = mended(document, remedy, MemorySurvey(table), NOISE)
    assert after != document
    still = [o for o in of_check(found_in(after, table), "Open columns") if o.columns]
    assert not any(one.severity is Severity.GRAVE for one in still)
    if deed is RemedyKind.PROTECT:
        assert [set(entry.attributes) for entry in after.policy] == [{"revenue", "costs", "result"}]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_columns_that_follow_from_each_other_and_are_protected_apart_are_named():
    document, table = accounts(revenue=Role.SENSITIVE, costs=Role.SENSITIVE), books()
    [one] = of_check(found_in(document, table), "Dependent columns")
    assert one.severity is Severity.CAUTION
    assert set(one.columns) == {"revenue", "costs", "result"}
    after = mended(document, one.remedies[0], MemorySurvey(table), NOISE)
    assert of_check(found_in(after, table), "Dependent columns") == []


def test_an_estimate_says_when_the_recipient_sees_a_telling_column_more_coarsely():
    document = a_document(hierarchies={"ward": Suppression(), "sex": Suppression()})
    institute, public = document.recipients
    public = replace(public, view=ViewRule(k=2, levels={"ward": 1}))
    document = replace(document, recipients=(institute, public))
    found = found_in(document, visits(told=0.9))
    [exact] = of_check(found, "Open columns", "Institute")
    [coarse] = of_check(found, "Open columns")
    assert "Public sees it more coarsely" in coarse.sentence
    assert "coarsely" not in exact.sentence


@pytest.mark.slow
def test_what_is_found_again_after_an_edit_is_what_is_found_anew():
    table, kept = visits(told=0.6), None
    for level in (0.2, 0.5):
        for person in (Role.IDENTIFYING, Role.INSENSITIVE):
            document = a_document(level, person)
            kept = kept or ShownColumns(table)
            assert found_in(document, table, kept) == found_in(document, table)


# ----- rows that belong together


def test_pooling_a_persons_rows_empties_a_promise_until_they_are_protected_together():
    table, document = visits(), a_document(level=0.5)
    found = found_in(document, table)
    [one] = of_check(found, "Pooled rows")
    assert one.severity is Severity.GRAVE
    pooled, alone = (float(told.rstrip("%")) / 100 for told in one.facts[2:])
    assert pooled == pytest.approx(drawn_and_pooled(table, 0.5), abs=0.02)
    assert alone == pytest.approx(0.5 + 0.5 / 4, abs=0.02)
    [remedy] = one.remedies
    after = mended(document, remedy, MemorySurvey(table), NOISE)
    assert after.unit is not None
    assert after.unit.columns == ("person",)
    assert of_check(found_in(after, table), "Pooled rows") == []


def drawn_and_pooled(table, keep, times=20):
    """The share of rows restored by the most frequent value of a person's drawn rows."""
    rng = np.random.default_rng(9)
    true = table.frame["illness"].map({v: i for i, v in enumerate(ILLNESSES)}).to_numpy()
    _, person = np.unique(table.frame["person"], return_inverse=True)
    right = 0.0
    for _ in range(times):
        shown = np.where(rng.random(ROWS) < keep, true, rng.integers(0, len(ILLNESSES), ROWS))
        votes = np.zeros((person.max() + 1, len(ILLNESSES)))
        np.add.at(votes, (person, shown), 1.0)
        votes += rng.random(votes.shape) * 0.1
        right += float((votes.argmax(axis=1)[person] == true).mean())
    return right / times


def test_pooling_that_hardly_helps_is_not_grave():
    found = found_in(a_document(level=0.1), visits(sizes=2))
    assert not any(one.severity is Severity.GRAVE for one in of_check(found, "Pooled rows"))


@pytest.mark.parametrize(
    ("rule", "delta", "asked"), [("simplified", 0.8, 0.5), ("exact", 0.1, 0.1)]
)
def test_groups_are_asked_about_by_the_exact_test_whatever_test_was_promised(rule, delta, asked):
    """By a published bound, groups pass whose shares are known almost for certain."""
    settings = {"epsilon": 0.2, "delta": delta, "rule": rule, "sampling": "published"}
    promised = promised_limits(PolicyEntry(("illness",), "reconstruction", settings))
    assert promised == RiskLimits(0.2, asked)


# ----- reconstruction privacy, whose groups are those of the entry's public columns


def grouped(public, **settings):
    """Protect the illness of groups alike in some columns."""
    stated = {**default_limits(), "public": list(public), **settings}
    made = replace(a_document(), policy=(PolicyEntry(("illness",), "reconstruction", stated),))
    levels = {"illness": {"retention_probability": 0.5}}
    return replace(made, recipients=(Recipient("Public", levels),))


@pytest.mark.slow
def test_shares_that_were_measured_in_other_groups_are_told():
    document, table = grouped(["ward", "sex"], shares="noisy"), visits()
    [entry] = document.policy
    [attribute] = attributes_of(document, table).values()
    mechanism = mechanism_called(entry.mechanism)
    settings = mechanism.complete_settings([attribute], entry.settings, NOISE)
    document = replace(document, policy=(replace(entry, settings=settings),))
    assert of_check(found_in(document, table), "Measured shares") == []
    [one] = of_check(found_in(document, visits(told=0.5)), "Measured shares")
    assert one.severity is Severity.CAUTION
    assert one.columns == ("illness",)


@pytest.mark.slow
def test_what_modes_cost_is_told_of_the_entry_s_groups_whatever_is_known():
    document, table = grouped(["sex"]), BatchedTable.of(visits())
    rows = AllRows(document, table, KeyRing(bytes(32)))
    told = [
        costs_of_modes(RiskSubject(rows, document.policy[0], known), Silent())
        for known in (("sex",), ("ward", "sex"))
    ]
    assert told[0] == told[1]
