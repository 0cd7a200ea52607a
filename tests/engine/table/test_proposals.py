"""What columns are proposed to be, with the reasons: people, households, companies and visits."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Binning, Kind, Role
from sfumato.engine.core.periods import Period
from sfumato.engine.table.profile import profile_columns
from sfumato.engine.table.proposals import alike, best_known, proposals
from sfumato.engine.table.table import Table

ROWS = 200


def proposal(name, values, **labels):
    table = Table(pd.DataFrame({name: values}), **labels)
    return proposals(table)[0]


def numbered(text, rows=ROWS):
    return [f"{text} {place}" for place in range(rows)]


def cycled(values, rows=ROWS):
    return list(itertools.islice(itertools.cycle(values), rows))


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient_name", cycled(["Ada", "Bo", "Cy"])),
        ("FirstName", cycled(["Ada", "Bo", "Cy"])),
        ("E-Mail", cycled(["a@b.c", "d@e.f"])),
        ("phone number", cycled(["1", "2"])),
        ("patient_id", range(1000, 1000 + ROWS)),
        ("record_number", numbered("25-")),
        ("Patientennummer", numbered("25-")),
        ("Straße", cycled(["a", "b"])),
        ("remark", numbered("text that nobody else has")),
        ("notes", cycled([f"{place} " + "long " * 20 for place in range(120)])),
        ("x", np.random.default_rng(1).permutation(ROWS) + 4000),
        ("x", np.random.default_rng(1).choice(900_000, ROWS, replace=False) + 100_000),
        ("hid", np.repeat(np.arange(ROWS // 4), 4) * 37),
        ("company_name", np.repeat(numbered("Ltd", ROWS // 2), 2)),
    ],
)
def test_columns_that_name_a_person_are_proposed_to_be_dropped(name, values):
    found = proposal(name, values)
    assert found.spec.role is Role.IDENTIFYING
    assert found.reason.endswith(".")


@pytest.mark.parametrize("rows", [2, 9, 15])
def test_codes_that_number_the_rows_of_a_very_short_table_are_its_key(rows):
    found = proposal("code", [f"P{place:03d}" for place in range(rows)])
    assert found.spec.role is Role.IDENTIFYING
    assert found.is_key


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("icd", ["A10", "A11", "A12"]),
        ("postcode", ["D-04103", "D-04104", "D-04105"]),
        ("colour", ["red", "green", "blue"]),
        ("code", ["P000", "P500", "P900"]),
        ("code", ["P000", "P000", "P001"]),
    ],
)
def test_other_texts_that_differ_in_a_very_short_table_name_nobody(name, values):
    assert proposal(name, values).spec.role is not Role.IDENTIFYING


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("age", cycled(range(18, 90)), Kind.NUMERIC),
        ("sex", cycled(["f", "m"]), Kind.CATEGORICAL),
        ("Größe", np.random.default_rng(2).random(ROWS), Kind.NUMERIC),
        ("Postleitzahl", cycled(range(1000, 1090)), Kind.CATEGORICAL),
        ("post code", cycled(range(1000, 1090)), Kind.CATEGORICAL),
        ("hospital_id", cycled(["H1", "H2", "H3"]), Kind.CATEGORICAL),
        ("ward", cycled(["A", "B"]), Kind.CATEGORICAL),
        ("hospital_name", cycled(["St Anne", "St Paul"]), Kind.CATEGORICAL),
        ("admitted", pd.date_range("2024-01-01", periods=ROWS), Kind.DATE),
        ("smoker", cycled([True, False]), Kind.CATEGORICAL),
        ("grade", cycled([1, 2, 3, 4]), Kind.CATEGORICAL),
    ],
)
def test_what_others_may_know_is_proposed_as_quasi_identifier(name, values, kind):
    found = proposal(name, values)
    assert found.spec.role is Role.QUASI_IDENTIFIER
    assert found.spec.kind is kind


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("dose", np.random.default_rng(2).random(ROWS)),
        ("country", ["NL"] * ROWS),
        ("empty", [None] * ROWS),
    ],
)
def test_measurements_and_constants_are_proposed_as_insensitive(name, values):
    assert proposal(name, values).spec.role is Role.INSENSITIVE


def test_measurements_that_nearly_every_row_has_for_itself_are_marked():
    numbers = np.random.default_rng(2).random(ROWS)
    found = proposal("score", numbers)
    assert found.reason.startswith("Nearly every row has a value of its own")
    assert found.hint_for(found.spec) == found.reason
    edges = Binning((0.0, 0.5, 1.0))
    for other in (Role.QUASI_IDENTIFIER, Role.SENSITIVE, Role.IDENTIFYING):
        assert not found.hint_for(replace(found.spec, role=other))
    assert not found.hint_for(replace(found.spec, binning=edges))
    common = proposal("score", np.round(numbers, 1))
    assert not common.hint_for(common.spec)


@pytest.mark.parametrize(
    "name",
    [
        *("diagnosis", "SalaryClass", "hiv_result", "religion", "cost", "Diagnose", "Kosten_EUR"),
        *("Nettoeinkommen", "Behandlungskosten", "Aufnahmediagnose", "Monatsgehalt 2024"),
    ],
)
def test_private_columns_are_pointed_out_and_never_made_sensitive(name):
    found = proposal(name, cycled(["a", "b", "c"]))
    assert found.may_be_sensitive
    assert "sensitive" in found.reason
    assert found.spec.role is not Role.SENSITIVE


def test_numbers_with_labels_are_categories():
    codes = list(range(30)) * 10
    labels = {"job": {code: f"job {code}" for code in range(30)}}
    assert proposal("job", codes, value_labels=labels).spec.kind is Kind.CATEGORICAL
    assert proposal("job", codes).spec.kind is Kind.NUMERIC


def test_proposals_keep_the_tables_order_and_use_known_profiles():
    table = Table(pd.DataFrame({"b": [1, 2], "a": ["x", "y"]}))
    profiles = profile_columns(table)
    assert [each.spec.name for each in proposals(table, profiles)] == ["b", "a"]
    assert proposals(table) == proposals(table, profiles)


def households(seed=5):
    """Return persons in households as a statistics office has them."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 9, 300)
    house = np.repeat(np.arange(300) * 7 + 11, sizes)
    rows = len(house)
    return pd.DataFrame(
        {
            "ori_hid": house,
            "urbrur": np.repeat(rng.integers(1, 3, 300), sizes),
            "water": np.repeat(rng.integers(1, 8, 300), sizes),
            "sex": rng.integers(1, 3, rows),
            "age": rng.integers(0, 95, rows),
            "income": np.round(rng.lognormal(15, 2, rows)).astype(np.int64),
            "expend": np.round(rng.lognormal(12, 2, rows)).astype(np.int64),
            "sampling_weight": np.repeat(rng.choice([60.5, 100.25, 133.0], 300), sizes),
            "household_weights": np.repeat(rng.uniform(16, 22, 300), sizes),
        }
    )


def companies(seed=6):
    """Return companies whose turnover is the sum of two amounts, and whose profit follows."""
    rng = np.random.default_rng(seed)
    home, abroad = np.round(rng.lognormal(13, 1.2, (2, 400))).astype(np.int64)
    costs = np.round(rng.lognormal(13, 1, 400))
    return pd.DataFrame(
        {
            "COMPANY": [f"Company {place} Ltd" for place in rng.permutation(400)],
            "REG_NO": rng.choice(10**7, 400, replace=False) + 10**7,
            "NACE": rng.choice(["A", "B", "C"], 400),
            "HOME": home,
            "ABROAD": abroad,
            "RESREVENUE": home + abroad,
            "TOTAL_COSTS": costs + 0.5,
            "EMPLOYEES": rng.integers(1, 90, 400),
        }
    )


def visits(seed=7):
    """Return visits of patients, a few each."""
    rng = np.random.default_rng(seed)
    texts = [
        f"Patient number {place} complains of " + "persistent pain " * 4 for place in range(90)
    ]
    return pd.DataFrame(
        {
            "patient": np.repeat([f"P-{place:04}" for place in range(150)], 4),
            "visit_date": pd.Timestamp("2025-01-01")
            + pd.to_timedelta(rng.integers(0, 365, 600), unit="D"),
            "remarks": rng.choice(texts, 600),
            "diagnosis": rng.choice(["J45", "E11", "I10"], 600),
            "weight": rng.normal(75, 12, 600).round(1),
        }
    )


def found_in(frame):
    table = Table(frame)
    return {found.spec.name: found for found in proposals(table, profile_columns(table))}


def roles(frame):
    return {name: found.spec.role for name, found in found_in(frame).items()}


def test_in_a_household_survey_the_household_s_number_is_dropped_and_the_weights_are_told():
    found = found_in(households())
    assert found["ori_hid"].spec.role is Role.IDENTIFYING
    assert "household" in found["ori_hid"].reason
    assert {name for name, one in found.items() if one.spec.role is Role.IDENTIFYING} == {"ori_hid"}
    assert "sampling weight" in found["sampling_weight"].reason
    assert found["household_weights"].reason == found["sampling_weight"].reason
    assert found["income"].may_be_sensitive
    assert found["expend"].may_be_sensitive


def test_amounts_of_companies_name_nobody_though_all_differ():
    frame = companies()
    assert frame["RESREVENUE"].is_unique
    found = found_in(frame)
    dropped = {name for name, one in found.items() if one.spec.role is Role.IDENTIFYING}
    assert dropped == {"COMPANY", "REG_NO"}
    assert "a text of its own" in found["COMPANY"].reason
    for name in ("HOME", "ABROAD", "RESREVENUE", "TOTAL_COSTS"):
        assert "amount" in found[name].reason or found[name].may_be_sensitive
        assert found[name].spec.kind is Kind.NUMERIC


def test_of_visits_free_texts_are_dropped_and_exact_dates_told():
    found = found_in(visits())
    assert found["remarks"].spec.role is Role.IDENTIFYING
    assert "free text" in found["remarks"].reason
    assert found["visit_date"].spec.role is Role.QUASI_IDENTIFIER
    assert "month or a year" in found["visit_date"].reason
    assert found["diagnosis"].may_be_sensitive
    assert "sampling" not in found["weight"].reason
    assert found["patient"].spec.role is Role.IDENTIFYING


def test_a_weight_beyond_any_body_s_is_a_sampling_weight():
    weights = np.random.default_rng(8).uniform(12_000, 900_000, ROWS)
    assert "sampling weight" in proposal("weight", weights).reason
    assert "sampling weight" in proposal("fnlwgt", weights.astype(np.int64)).reason
    assert proposal("hweight", weights / 1e4).spec.role is Role.WEIGHT


def test_what_people_keep_private_is_not_proposed_as_insensitive():
    incomes = np.random.default_rng(8).lognormal(10.0, 0.7, ROWS).round(2)
    found = proposal("income", incomes)
    assert found.may_be_sensitive
    assert found.spec.role is Role.QUASI_IDENTIFIER


def test_columns_proposed_for_the_same_reason_are_found_together():
    table = Table(households())
    known = proposals(table)
    assert alike(known, "sampling_weight") == ("sampling_weight", "household_weights")
    assert alike(known, "nowhere") == ()


@pytest.mark.parametrize(
    ("name", "values", "period"),
    [
        (
            "birth_month",
            [f"{1950 + row // 12}-{row % 12 + 1:02d}" for row in range(ROWS)],
            "month",
        ),
        ("born", range(1800, 1800 + ROWS), "year"),
        ("at", [f"{place // 60:02d}:{place % 60:02d}" for place in range(ROWS)], "time of day"),
        ("day", cycled(range(1, 8)), "weekday"),
    ],
)
def test_periods_are_knowable_and_no_numbering_of_records(name, values, period):
    found = proposal(name, values, periods={name: Period(period)})
    assert found.spec.role is Role.QUASI_IDENTIFIER
    assert found.reason == "Others can know when something happened to a person."


def test_a_duration_is_no_date_and_no_numbering():
    found = proposal("stay", range(ROWS), periods={"stay": Period.MINUTES})
    assert found.spec.kind is Kind.NUMERIC
    assert "when something happened" not in found.reason
    assert found.spec.role is not Role.IDENTIFYING


def test_the_profile_of_periods_names_them_with_the_first_and_the_last():
    table = Table(pd.DataFrame({"x": ["1968-02", "1950-11", None]}), periods={"x": Period.MONTH})
    (profile,) = profile_columns(table)
    assert (profile.type_name, profile.earliest, profile.latest) == ("month", "1950-11", "1968-02")


def test_what_is_known_best_of_people_is_told_by_name_age_first():
    names = ["roof", "region", "BirthYear", "sex", "household_size", "Familienstand", "usage"]
    assert best_known(names) == ("BirthYear", "sex", "region", "Familienstand")


def test_of_columns_that_tell_the_same_of_people_the_first_is_known_best():
    names = ["age", "birth_year", "region", "district", "sex"]
    assert best_known(names) == ("age", "sex", "region")


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("Gewicht", [0.8, 0.95, 1.1, 1.15], Role.WEIGHT),
        ("weight", [0.5, 1.5], Role.WEIGHT),
        ("weight", [3.1, 3.4, 2.9], Role.QUASI_IDENTIFIER),
        ("weight", [61.5, 80.0, 75.5], Role.QUASI_IDENTIFIER),
    ],
)
def test_weights_that_are_one_on_average_are_sampling_weights_and_bodies_weigh_more(
    name, values, role
):
    assert proposal(name, cycled(values)).spec.role is role


NOTES = ("See letter of ward {0}", "Fall at home on day {0}", "Referred by Dr. Amrein {0}")


@pytest.mark.parametrize("name", ["remarks", "entry_2"])
def test_short_notes_that_come_back_are_free_text_whatever_they_are_called(name):
    texts = [NOTES[row % 3].format(row % 50) for row in range(300)]
    found = proposal(name, texts)
    assert found.spec.role is Role.IDENTIFYING
    assert "free text" in found.reason


def test_a_list_of_names_of_several_words_is_not_free_text():
    jobs = [f"Machine operators and inspectors, group {row % 25}" for row in range(2000)]
    assert proposal("industry", jobs).spec.role is Role.QUASI_IDENTIFIER
