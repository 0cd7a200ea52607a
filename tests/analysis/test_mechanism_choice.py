"""Which mechanism is recommended, beside its rivals' figures; and what mends a worthless column."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import check_rows, examine, mended
from sfumato.analysis.readiness.worth_checks import without_released
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.analysis.utility.mechanism_choice import (
    choices_of,
    compare_mechanisms,
)
from sfumato.analysis.utility.worth import columns_worth
from sfumato.analysis.utility.worth_figures import RecordsBehind, records_behind
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.worth import USEFUL
from sfumato.engine.mechanisms import mechanism_called, retention_profiles
from sfumato.engine.mechanisms.count_solver import solve_for
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from sfumato.project.document.promised import epsilon_of, typical_epsilon
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.table_survey import measured_for_unit

KEYS = KeyRing(b"7" * 32)
NOISE = KeyedNoise(KEYS)
JOBS = ("baker", "cook", "smith", "tailor")


def a_survey(rows=4_000, seed=2):
    rng = np.random.default_rng(seed)
    households = rng.integers(0, rows // 4, rows)
    return Table(
        pd.DataFrame(
            {
                "household": households,
                "job": rng.choice(JOBS, rows, p=[0.4, 0.3, 0.2, 0.1]),
                "income": np.round(np.exp(rng.normal(10.0, 1.2, rows))),
            }
        )
    )


COLUMNS = (
    ColumnSpec("household", Role.IDENTIFYING, Kind.NUMERIC),
    ColumnSpec("job", Role.SENSITIVE, domain=Domain(JOBS)),
    ColumnSpec("income", Role.SENSITIVE, Kind.NUMERIC),
)
NOBODY = Document(title="Survey", columns=COLUMNS)


def compared(document, table, name, recipient=None):
    found = choices_of(
        document, MemorySurvey(table), KEYS, recipient or document.recipients[:1], Silent()
    )
    return next(one for one in found if one.columns == (name,))


def test_noise_on_skewed_amounts_of_households_is_recommended_with_both_figures():
    table = a_survey()
    document = NOBODY.with_unit(Unit(("household",), 3))
    choice = compared(document, table, "income")
    laplace, gaussian = choice.option("laplace"), choice.option("gaussian")
    assert laplace.records < USEFUL < gaussian.records
    name, why = choice.recommended
    assert name == "gaussian"
    for one in (laplace, gaussian):
        assert f"worth {int(one.records):,}." in str(why)
    assert "bounding no odds): worth" in str(why)
    assert "They promise different things" in str(why)
    assert "for all rows with the same household" in str(why)


def test_what_is_measured_leaves_half_of_the_least_promise_for_released_values():
    table = a_survey()
    document = NOBODY.with_unit(Unit(("household",), 3))
    laplace = mechanism_called("laplace")
    typical = laplace.byproduct_epsilon(
        compared(document, table, "income").option("laplace").settings
    )
    assert 0.0 < typical <= typical_epsilon(2) / 2
    known = replace(document, recipients=(Recipient("Institute", {}),))
    trusted = laplace.byproduct_epsilon(compared(known, table, "income").option("laplace").settings)
    assert typical < trusted <= typical_epsilon(0) / 2


def test_a_limit_that_is_stated_is_kept_whatever_else_would_be_worth():
    table = a_survey()
    [income] = MemorySurvey(table).attributes([COLUMNS[2]])
    settings = mechanism_called("laplace").first_settings((income,), NOISE)
    document = replace(
        NOBODY,
        policy=(PolicyEntry(("income",), "laplace", dict(settings)),),
        recipients=(Recipient("Institute", {"income": {"epsilon": 0.5}}),),
    )
    choice = compared(document, table, "income")
    assert choice.stated
    assert choice.epsilon == pytest.approx(0.5)
    assert choice.recommended[0] == "laplace"
    assert choice.option("gaussian").records > 10 * choice.option("laplace").records


def test_what_is_recommended_is_worth_as_much_as_the_release_that_is_made_of_it():
    table = a_survey()
    for name in ("job", "income"):
        choice = compared(NOBODY, table, name)
        for one in choice.options:
            if one.problem:
                continue
            entry = PolicyEntry((name,), one.mechanism, dict(one.settings))
            recipient = Recipient("Institute", {name: dict(one.statement)})
            columns = tuple(c for c in COLUMNS if c.name in ("household", name))
            document = Document(title="", columns=columns, policy=(entry,), recipients=(recipient,))
            rows = replace(table, frame=table.frame[["household", name]])
            behind = records_behind(document, rows)
            attributes = attributes_of(document, rows)
            [worth], problems = columns_worth(document, recipient, attributes, behind)
            assert not problems
            assert worth.records == pytest.approx(one.records)
            assert choice.best.records >= one.records / 1.01 or not one.keeps


def test_per_value_limits_are_compared_within_their_own_limits():
    choice = compared(NOBODY, a_survey(), "job")
    found = choice.option("finegrain")
    entry = mechanism_called("finegrain")
    [job] = MemorySurvey(a_survey()).attributes([COLUMNS[1]])
    level = entry.level(found.statement, (job,), found.settings)
    assert level <= max(found.settings["profile"]) * (1 + 1e-9)
    assert found.statement["epsilon"] < choice.epsilon


def a_worthless_one():
    """Return a table, and a document whose columns tell its recipients next to nothing."""
    table = a_survey()
    bounds = {"bounds": "stated", "lowest": 0, "highest": 10_000_000, "step": 1}
    levels = {"job": {"retention_probability": 0.005}, "income": {"epsilon": 1.0}}
    document = replace(
        NOBODY,
        policy=(PolicyEntry(("job",), "uniform"), PolicyEntry(("income",), "laplace", bounds)),
        recipients=(Recipient("Institute", levels), Recipient("Public", levels)),
    )
    return document, table


def worthless_in(document, table, releases=()):
    columns = LeavingColumns(table, KEYS).of(document)
    found = examine(document, columns, attributes_of(document, table), releases, Silent())
    return {
        (each.recipient, one.columns[0]): one
        for each in found
        for one in each.findings
        if one.worthless
    }


def test_what_others_would_begin_with_is_measured_once_for_all_recipients(monkeypatch):
    document, table = a_worthless_one()
    measured = []

    def solved(*asked):
        measured.append(asked)
        return solve_for(*asked)

    monkeypatch.setattr(retention_profiles, "solve_for", solved)
    levels = document.recipients[0].statements
    many = tuple(Recipient(f"Institute {n}", levels) for n in range(4))
    alone = worthless_in(replace(document, recipients=many[:1]), table)
    assert len(measured) == 1
    found = worthless_in(replace(document, recipients=many), table)
    assert len(measured) == 2
    assert {(name, column) for name, column in found} == {
        (one.name, column) for one in many for _, column in alone
    }


def test_one_click_makes_a_worthless_column_worth_a_hundred_true_records():
    document, table = a_worthless_one()
    for (recipient, column), finding in worthless_in(document, table).items():
        remedy = next(one for one in finding.remedies if one.deed is RemedyKind.LEVEL)
        done = mended(document, remedy)
        changed = [one.name for one in document.recipients if one != done.recipient(one.name)]
        assert changed == [recipient]
        behind = records_behind(done, table)
        found, _ = columns_worth(
            done, done.recipient(recipient), attributes_of(done, table), behind
        )
        worth = next(one.records for one in found if one.column == column)
        assert 100.0 <= worth < 103.0


def limited():
    """Return a table, and a document whose mechanism spends its ε badly."""
    table = a_survey()
    table = replace(table, frame=table.frame[["household", "job"]])
    columns = tuple(c for c in COLUMNS if c.name != "income")
    limits = [{"value": one, "rho1": 0.1, "rho2": 0.13} for one in JOBS[:2]]
    stated = {
        "mode": "strict",
        "theta": 3.0,
        "limits": limits,
        "frequencies": "equal",
        "profile": [0.02, 0.06, 0.02, 0.02],
    }
    levels = {"Institute": {"job": {"trust_factor": 1.0}}, "Public": {"job": {"trust_factor": 0.5}}}
    return table, Document(
        title="",
        columns=columns,
        policy=(PolicyEntry(("job",), "finegrain", stated),),
        recipients=tuple(Recipient(*each) for each in levels.items()),
    )


def test_another_mechanism_is_put_in_its_place_by_one_click_at_everybody_s_loss():
    table, document = limited()
    finding = worthless_in(document, table)["Institute", "job"]
    remedy = next(one for one in finding.remedies if one.deed is RemedyKind.MECHANISM)
    done = mended(document, remedy, MemorySurvey(table), NOISE)
    [entry], [before] = done.policy, document.policy
    assert entry.mechanism == remedy.mechanism == "uniform"  # of those that are alike the first
    known = attributes_of(document, table)
    for recipient in done.recipients:
        was, now = (
            epsilon_of(one, made.recipient(recipient.name), known)
            for one, made in ((before, document), (entry, done))
        )
        assert now == pytest.approx(was)
    behind = records_behind(document, table)
    worth = [
        columns_worth(each, each.recipients[0], known, behind)[0][0].records
        for each in (document, done)
    ]
    assert worth[1] > 1.1 * worth[0]


def test_what_was_released_keeps_its_mechanism():
    table, document = limited()
    release = SimpleNamespace(plans=(SimpleNamespace(attributes=("job",)),))
    columns = LeavingColumns(table, KEYS).of(document)
    found = check_rows(document, columns, attributes_of(document, table), Silent())
    [finding] = [one for one in found.findings["Public"] if one.worthless]
    kept = without_released(finding, document, (release,))
    assert RemedyKind.MECHANISM in {one.deed for one in finding.remedies}
    assert RemedyKind.MECHANISM not in {one.deed for one in kept.remedies}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["codes", "numbers"])
def test_a_million_rows_are_compared_in_a_third_of_a_second_of_work(kind):
    rng = np.random.default_rng(5)
    if kind == "codes":
        domain = Domain(tuple(f"{place:03d}" for place in range(100)))
        codes = rng.integers(0, 100, 1_000_000)
        attribute = Attribute(
            "code", Kind.CATEGORICAL, domain, np.bincount(codes, minlength=100), codes=codes
        )
    else:
        attribute = Attribute("pay", Kind.NUMERIC, numbers=np.exp(rng.normal(10, 1, 1_000_000)))
    behind, taken = RecordsBehind.of_rows(1_000_000), []
    for _ in range(3):
        start = time.process_time()
        choice = compare_mechanisms(Document(title=""), (attribute,), None, behind, NOISE)
        taken.append(time.process_time() - start)
    assert len(choice.options) > 1
    assert min(taken) < 0.3


def test_household_limits_are_measured_for_the_household():
    table = a_survey()
    document = NOBODY.with_unit(Unit(("household",), 3))
    choice = compared(document, table, "income")
    settings = dict(choice.option("laplace").settings)
    entry = PolicyEntry(("income",), "laplace", settings)
    document = replace(document, policy=(entry,))
    assert measured_for_unit(document, MemorySurvey(table), NOISE).policy == (entry,)


def test_a_mechanism_that_the_loss_leaves_nothing_of_is_told_with_the_reason():
    choice = compared(NOBODY.with_unit(Unit(("household",), 400)), a_survey(), "income")
    laplace = choice.option("laplace")
    assert laplace.records == 0.0
    assert "leaves each of them ε" in str(laplace.problem)
    assert str(laplace.problem) in str(choice.sentence)
    assert choice.recommended[0] == "gaussian"


@pytest.mark.few(1)
@pytest.mark.parametrize(("size", "name"), [(400, "uniform"), (600, "hadamard")])
def test_what_serves_counting_alone_is_recommended_for_long_lists_only(size, name):
    counts = np.maximum(40_000 // np.arange(1, size + 1), 1)
    attribute = Attribute("code", Kind.CATEGORICAL, Domain(tuple(range(size))), counts)
    behind = RecordsBehind.of_rows(int(counts.sum()))
    choice = compare_mechanisms(Document(title=""), (attribute,), None, behind, NOISE)
    worth = {one.mechanism: one.records for one in choice.options}
    assert worth["hadamard"] > 1.5 * worth["uniform"]  # of the shorter list, too
    found, why = choice.recommended
    assert found == name
    assert ("Nothing else can be done with the column" in str(why)) == (name == "hadamard")
