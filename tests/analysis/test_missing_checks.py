"""What missing values tell beside a release, as the checks before it find it."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import RemedyKind
from sfumato.analysis.readiness.readiness import mended
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, MissingRule, Role
from sfumato.engine.table.table import MissingReasons, Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.memory_survey import MemorySurvey
from tests.analysis.test_readiness import checks, finding, found_in

ROWS = 300
WHY = MissingReasons({"refused": ".a"}, {".a": "refused"}, companion="health_missing")


def a_table(values):
    gone = [row % 5 == 0 for row in range(ROWS)]
    shown = [None if none else values[row % len(values)] for row, none in enumerate(gone)]
    why = ["refused" if none else None for none in gone]
    frame = pd.DataFrame({"health": shown, "health_missing": why, "sex": ["f", "m"] * (ROWS // 2)})
    return Table(frame, missing_reasons={"health": WHY})


def a_document(health, policy, level, role=Role.QUASI_IDENTIFIER):
    return Document(
        title="Survey",
        columns=(health, ColumnSpec("health_missing", role), ColumnSpec("sex", role)),
        policy=(policy,),
        recipients=(Recipient("Public", {policy.key: level}),),
    )


CATEGORIES = ColumnSpec(
    "health",
    Role.SENSITIVE,
    domain=Domain(("good", "poor", None)),
    missing=MissingRule.VALUE,
)
UNIFORM = PolicyEntry(("health",), "uniform"), {"retention_probability": 0.4}
NUMBERS = ColumnSpec("health", Role.SENSITIVE, Kind.NUMERIC)
NOISE = PolicyEntry(("health",), "gaussian"), {"sigma_squared": 1.0}


@pytest.mark.parametrize(
    ("values", "spec", "policy", "severity", "said"),
    [
        (["good", "poor"], CATEGORIES, UNIFORM, Severity.GRAVE, "protected in vain"),
        ([1.5, 2.5, 4.0], NUMBERS, NOISE, Severity.CAUTION, "why health is missing"),
    ],
)
def test_a_column_that_tells_why_a_protected_one_is_missing_is_named(
    values, spec, policy, severity, said
):
    table, document = a_table(values), a_document(spec, *policy)
    one = finding(found_in(document, table), "Reasons of missing values")
    assert one.severity is severity
    assert said in one.sentence
    assert one.columns == ("health_missing", "health")
    drop = next(remedy for remedy in one.remedies if remedy.deed is RemedyKind.DROP)
    dropped = mended(document, drop, MemorySurvey(table))
    assert "Reasons of missing values" not in checks(found_in(dropped, table))


def test_reasons_that_are_protected_themselves_or_dropped_are_not_named():
    table = a_table(["good", "poor"])
    open_ = a_document(CATEGORIES, *UNIFORM)
    drawn = replace(
        open_,
        columns=(
            CATEGORIES,
            ColumnSpec(
                "health_missing",
                Role.SENSITIVE,
                domain=Domain(("refused", None)),
                missing=MissingRule.VALUE,
            ),
            open_.columns[2],
        ),
        policy=(*open_.policy, PolicyEntry(("health_missing",), "uniform")),
        recipients=(Recipient("Public", {"health": UNIFORM[1], "health_missing": UNIFORM[1]}),),
    )
    assert "Reasons of missing values" not in checks(found_in(drawn, table))
    dropped = a_document(CATEGORIES, *UNIFORM, role=Role.IDENTIFYING)
    assert "Reasons of missing values" not in checks(found_in(dropped, table))


def test_numbers_that_stay_missing_tell_that_a_protected_reason_is_there():
    """Noise leaves missing numbers missing, so only which reason it is stays hidden."""
    spec = ColumnSpec(
        "health_missing",
        Role.SENSITIVE,
        domain=Domain(("refused", None)),
        missing=MissingRule.VALUE,
    )
    noisy = a_document(NUMBERS, *NOISE)
    document = replace(
        noisy,
        columns=(NUMBERS, spec, noisy.columns[2]),
        policy=(*noisy.policy, PolicyEntry(("health_missing",), "uniform")),
        recipients=(Recipient("Public", {"health": NOISE[1], "health_missing": UNIFORM[1]}),),
    )
    one = finding(found_in(document, a_table([1.5, 2.5, 4.0])), "Reasons of missing values")
    assert one.severity is Severity.CAUTION
    assert "only which reason it is stays protected" in one.sentence


def with_codes(role, kind=Kind.NUMERIC):
    numbers = [99999.0 if row % 20 == 3 else 900.0 + row for row in range(ROWS)]
    table = Table(pd.DataFrame({"income": numbers, "sex": ["f", "m"] * (ROWS // 2)}))
    drawn = role is Role.SENSITIVE
    document = Document(
        title="Survey",
        columns=(ColumnSpec("income", role, kind), ColumnSpec("sex", Role.QUASI_IDENTIFIER)),
        policy=(PolicyEntry(("income",), "gaussian"),) if drawn else (),
        recipients=(Recipient("Public", {"income": NOISE[1]} if drawn else {}),),
    )
    return document, table


@pytest.mark.parametrize("role", [Role.SENSITIVE, Role.INSENSITIVE, Role.QUASI_IDENTIFIER])
def test_codes_among_numbers_that_leave_or_are_drawn_are_named_and_never_said(role):
    one = finding(found_in(*with_codes(role)), "Codes among numbers")
    assert one.severity is Severity.CAUTION
    assert one.columns == ("income",)
    assert "15 numbers of income look like codes" in one.sentence
    assert "99999" not in one.sentence
    assert "99999" not in repr(one)


@pytest.mark.parametrize(
    ("role", "kind"),
    [(Role.IDENTIFYING, Kind.NUMERIC), (Role.QUASI_IDENTIFIER, Kind.CATEGORICAL)],
)
def test_codes_of_columns_that_are_dropped_or_categories_are_let_alone(role, kind):
    assert "Codes among numbers" not in checks(found_in(*with_codes(role, kind)))
