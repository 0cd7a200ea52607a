"""Uniform retention: what a level means and promises, what is released, and how it is examined."""

from __future__ import annotations

import itertools
import json
import math
import re
from string import Template

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Callback
from sfumato.engine.matrices.estimate import Target, estimate_frequencies
from sfumato.engine.matrices.goodness_of_fit import FALSE_ALARM, examine_kept, examine_spread
from sfumato.engine.matrices.privacy import delta_of_gamma
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Released
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.profile import suggest_binning
from sfumato.engine.table.table import Attribute, Table, encode_column
from sfumato.resources import resource_path
from tests.engine.categories import column_of, released, request_for
from tests.thorough import tried

UNIFORM = mechanism_called("uniform")
COLUMN = column_of([16_000, 9_000, 4_000, 990, 10])
ATTRIBUTES = (COLUMN.attribute,)
NAME = COLUMN.attribute.name
DOMAIN = COLUMN.attribute.domain
LEVELS = (1.0, 0.6, 0.3, 0.01, 0.0)


@pytest.fixture(scope="module")
def ladder():
    return {level: released(UNIFORM, request_for(COLUMN, {}, level)) for level in LEVELS}


def attribute(size):
    return Attribute("a", Kind.CATEGORICAL, Domain(tuple(range(size))), np.ones(size, int))


def level(size=5, **statement):
    return UNIFORM.level(statement, (attribute(size),), {})


# ----- levels and what they mean


def test_a_level_can_be_stated_in_each_of_the_terms():
    assert level(10, retention_probability=0.6) == 0.6
    assert level(10, gamma=11) == pytest.approx(0.5)
    assert level(10, epsilon=math.log(11)) == pytest.approx(0.5)
    assert level(10, rho1=0.1, rho2=0.5) == pytest.approx(8 / 18)
    stated = {frozenset(field.name for field in term.fields) for term in UNIFORM.terms}
    assert frozenset({"rho1", "rho2"}) in stated
    assert len(stated) == 4


@settings(deadline=None, max_examples=tried(100))
@given(st.floats(0.0, 0.9999), st.integers(2, 20_000))
def test_a_level_restated_in_any_term_means_the_same_or_less(retention, size):
    restated = UNIFORM.restate(retention, (attribute(size),), {})
    assert set(restated) == {term.name for term in UNIFORM.terms}
    for name, statement in restated.items():
        if name == "rho" and statement["rho1"] >= statement["rho2"]:
            continue  # at p = 0 no belief rises, which no pair of limits states
        again = level(size, **statement)
        # ε is a rounded logarithm and may come back a rounding step above.
        assert again <= retention * (1 + 1e-9) + 1e-15
        assert again == pytest.approx(retention, rel=1e-6, abs=1e-9)


def test_the_original_promises_nothing_in_any_term():
    restated = UNIFORM.restate(1.0, ATTRIBUTES, {})
    assert restated["gamma"]["gamma"] == restated["epsilon"]["epsilon"] == math.inf
    assert restated["rho"]["rho2"] == 1.0


@pytest.mark.parametrize(
    "statement",
    [
        {"retention_probability": 0.5, "epsilon": 1.0},
        {"retention_probability": True},
        {"retention_probability": "0.5"},
        {"epsilon": float("inf")},
    ],
)
def test_a_level_that_cannot_be_met_is_refused_with_a_remedy(statement):
    with pytest.raises(LevelError) as refused:
        level(**statement)
    assert refused.value.remedy


@pytest.mark.parametrize("count", [0, 1, 2, 3, 8, 60])
def test_proposed_levels_fall_and_can_be_met(count):
    levels = [level(**statement) for statement in UNIFORM.default_statements(count)]
    assert len(levels) == count
    assert all(upper > lower for upper, lower in itertools.pairwise(levels))
    assert all(0.009 < one <= 0.6 for one in levels)


def test_trust_is_the_retention_probability():
    assert UNIFORM.trust(0.3) == 0.3
    with pytest.raises(LevelError):
        UNIFORM.trust(2.0)


# ----- what it can serve


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ((), "one attribute"),
        ((attribute(3), attribute(3)), "one attribute"),
        ((Attribute("age", Kind.NUMERIC),), "numeric without bins"),
        ((attribute(1),), "single value"),
    ],
)
def test_attributes_that_cannot_be_served_are_refused(attributes, message):
    with pytest.raises(PolicyError, match=message) as refused:
        UNIFORM.check_attributes(attributes)
    assert refused.value.remedy


def test_there_is_nothing_to_set():
    assert UNIFORM.default_settings(ATTRIBUTES) == {}
    with pytest.raises(PolicyError, match="no setting called colour"):
        UNIFORM.check_settings(ATTRIBUTES, {"colour": 1})


def test_all_levels_of_an_attribute_share_a_ladder_and_no_others():
    other = (column_of([5, 5], name="Disease").attribute, column_of([5] * 5, name="Job").attribute)
    identities = {UNIFORM.ladder_identity((one,), {}) for one in (COLUMN.attribute, *other)}
    assert len(identities) == 3
    again = column_of([1] * 5).attribute
    assert UNIFORM.ladder_identity((again,), {}) == UNIFORM.ladder_identity(ATTRIBUTES, {})


# ----- what is promised and published


def test_the_promise_is_in_plain_words_and_rounded_up():
    size = 5
    promise = UNIFORM.promise(level(size, gamma=7.66), ATTRIBUTES, {})
    assert promise.sentence == (
        "Whatever anyone believed about a person's Disease, this release multiplies the odds by at"
        " most 7.7."
    )
    assert promise.limits


@pytest.mark.parametrize(
    ("retention", "words"),
    [(1.0, "promises nothing"), (0.0, "all of it is random"), (0.99999, "499,997"), (0.01, "1.06")],
)
def test_the_ends_and_extremes_are_said_as_they_are(retention, words):
    assert words in UNIFORM.promise(retention, ATTRIBUTES, {}).sentence


@pytest.mark.parametrize("retention", [0.0, 0.25, 0.6, 1.0])
def test_facts_are_computed_from_the_matrix(retention):
    matrix = UNIFORM.matrix(retention, ATTRIBUTES, {})
    facts = {fact.symbol: fact.value for fact in UNIFORM.promise(retention, ATTRIBUTES, {}).facts}
    gamma = math.inf if retention == 1 else 1 + 5 * retention / (1 - retention)
    assert facts["p"] == retention
    assert facts["m"] == 5
    assert facts["γ"] == pytest.approx(gamma)
    assert facts["1/γ"] == pytest.approx(1 / gamma)
    assert facts["ε"] == pytest.approx(math.log(gamma))
    assert facts["δ"] == delta_of_gamma(matrix.gamma)
    assert facts["ρ2"] == matrix.rho2_for(0.1)
    assert facts["Pii"] == pytest.approx(retention + (1 - retention) / 5)


@pytest.mark.parametrize("retention", LEVELS)
def test_what_is_published_is_json_and_holds_no_counts(retention):
    published = UNIFORM.published(retention, ATTRIBUTES, {})
    told = json.loads(json.dumps(published.parameters, allow_nan=False))
    assert told["retention_probability"] == retention
    assert told["domain"] == ["SARS", "HIV", "H1N1", "cancer", None]
    assert set(told) == {"retention_probability", "domain_size", "domain", "odds_factor"}
    assert resource_path("recipient", f"{published.guide}.md").exists()


# ----- what is released


def test_a_release_reports_its_progress():
    fractions = []
    context = Callback(lambda fraction, _: fractions.append(fraction), lambda: False)
    UNIFORM.release(request_for(COLUMN, {}, 0.5), context)
    assert fractions[-1] == 1.0


def test_missing_is_released_as_missing(ladder):
    shown = ladder[0.3].columns[NAME]
    assert shown.name == NAME
    assert shown.isna().any()
    assert list(shown.cat.categories) == ["SARS", "HIV", "H1N1", "cancer"]


# ----- what the recipient does with it


def guide_code(language, retention, column=NAME):
    """The recipient's guide for the column, filled in; its blocks of code in one language."""
    published = UNIFORM.published(retention, ATTRIBUTES, {})
    text = resource_path("recipient", f"{published.guide}.md").read_text(encoding="utf-8")
    filled = Template(text).substitute(
        attribute=column,
        attributes=column,
        attribute_code=json.dumps(column),
        data_file="data.csv",
        rows="30,000",
        chosen="condition",
        chosen_in_r="condition",
        **published.values,
    )
    return re.findall(rf"```{language}\n(.*?)```", filled, re.DOTALL)


def test_the_recipients_code_agrees_with_the_engine(ladder, capsys):
    retention = 0.3
    data = pd.DataFrame({NAME: ladder[retention].columns[NAME].astype("str"), "age": 40})
    told = UNIFORM.published(retention, ATTRIBUTES, {}).parameters
    names = {"pd": pd, "data": data, "fields": {NAME: {"sfumato": {"parameters": told}}}}
    (code,) = guide_code("python", retention)
    exec(compile(code, "guide", "exec"), names)
    counts = np.bincount(DOMAIN.encode(data[NAME]), minlength=5)
    matrix = UNIFORM.matrix(retention, ATTRIBUTES, {})
    for target, sample in ((Target.TABLE, False), (Target.POPULATION, True)):
        expected = estimate_frequencies(counts, matrix, target=target)
        found = names["estimate"](data, sample=sample)
        rows = len(data)
        assert found["count"].to_numpy() == pytest.approx(expected.frequencies * rows)
        assert found["standard_error"].to_numpy() == pytest.approx(expected.standard_errors * rows)
        assert found["low"].to_numpy() == pytest.approx(expected.low * rows, rel=1e-4, abs=0.1)
        assert found["high"].to_numpy() == pytest.approx(expected.high * rows, rel=1e-4)
    assert "(missing)" in capsys.readouterr().out


def test_the_guide_for_noise_estimates_nothing():
    assert guide_code("python", 0.0) == guide_code("r", 0.0) == []


def test_the_code_in_r_names_what_the_code_in_python_does():
    (code,) = guide_code("r", 0.3)
    assert code.count("(") == code.count(")")
    assert code.count("{") == code.count("}")
    assert "$sfumato$parameters" in code
    assert "$$" not in code


def test_binned_numbers_are_released_by_the_names_of_their_bins():
    ages = pd.Series(np.random.default_rng(5).integers(17, 91, 500), name="age")
    spec = ColumnSpec("age", kind=Kind.NUMERIC, binning=suggest_binning(ages, 6))
    column = encode_column(Table(ages.to_frame()), spec)
    shown = released(UNIFORM, request_for(column, {}, 0.5)).columns["age"]
    assert set(shown) <= set(spec.binning.names)


def changed(release, column):
    return Released(release.level, {NAME: column})


def failing(checks):
    return [check.title for check in checks if not check.holds]


@pytest.mark.parametrize("retention", LEVELS)
def test_a_sound_release_passes_every_check(ladder, retention):
    checks = UNIFORM.check_release(request_for(COLUMN, {}, retention), ladder[retention])
    assert failing(checks) == []
    assert len(checks) >= 3
    text = " ".join(check.finding for check in checks)
    assert "SARS" not in text
    assert retention == 1.0 or "1,000,000" in text


def test_one_changed_record_of_the_original_is_caught_with_its_row(ladder):
    column = ladder[1.0].columns[NAME].copy()
    row = int(np.flatnonzero((column == "HIV").to_numpy())[0])
    column.iloc[row] = "SARS"
    checks = UNIFORM.check_release(request_for(COLUMN, {}, 1.0), changed(ladder[1.0], column))
    assert failing(checks) == ["Equal values"]
    assert f"row {row + 1:,}" in checks[-1].finding


def test_replacements_that_are_not_uniform_are_caught(ladder):
    codes = DOMAIN.encode(ladder[0.3].columns[NAME])
    replaced = codes != COLUMN.values
    codes[replaced & (codes == 3)] = 2
    skewed = changed(ladder[0.3], DOMAIN.decode(codes, NAME))
    assert "Spread of released values" in failing(
        UNIFORM.check_release(request_for(COLUMN, {}, 0.3), skewed)
    )


def test_shuffled_rows_are_caught(ladder):
    order = np.random.default_rng(2).permutation(len(COLUMN.values))
    shuffled = changed(ladder[0.6], ladder[0.6].columns[NAME].iloc[order])
    assert failing(UNIFORM.check_release(request_for(COLUMN, {}, 0.6), shuffled))


def test_lost_rows_and_strange_values_are_caught_without_showing_them(ladder):
    short = changed(ladder[0.6], ladder[0.6].columns[NAME].iloc[:-1])
    assert failing(UNIFORM.check_release(request_for(COLUMN, {}, 0.6), short)) == [
        "Number of records"
    ]
    column = ladder[0.6].columns[NAME].astype(object)
    column.iloc[4] = "plague"
    checks = UNIFORM.check_release(request_for(COLUMN, {}, 0.6), changed(ladder[0.6], column))
    assert failing(checks) == ["Released values"]
    assert "row 5" in checks[-1].finding
    assert "plague" not in str(checks)


def test_releases_from_two_secrets_are_not_on_one_ladder(ladder):
    stranger = released(UNIFORM, request_for(COLUMN, {}, 0.3, KeyRing(b"x" * 32)))
    assert failing(UNIFORM.check_pair(ladder[0.6], stranger, ATTRIBUTES, {}))
    same = released(UNIFORM, request_for(COLUMN, {}, 0.6, KeyRing(b"x" * 32)))
    assert failing(UNIFORM.check_pair(ladder[0.6], same, ATTRIBUTES, {})) == ["Equal values"]


def test_a_tiny_table_is_examined_as_far_as_it_can_be():
    tiny = column_of([2, 1])
    checks = UNIFORM.check_release(
        request_for(tiny, {}, 0.5), released(UNIFORM, request_for(tiny, {}, 0.5))
    )
    assert failing(checks) == []
    assert "too few" in checks[-1].finding


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("size", "records", "retention"), [(2, 300, 0.5), (50, 2000, 0.6), (300, 3000, 0.0)]
)
def test_false_alarms_are_as_rare_as_stated(size, records, retention):
    """1,500 sound releases each: chances are uniform, so 5 % fall below 0.05.

    The share is within 5 standard errors (2.8 points), and none alarms.
    """
    generator = np.random.default_rng(4)
    shares = 1 / np.arange(1, size + 1)
    kept, spread = [], []
    for _ in range(1500):
        true = generator.choice(size, records, p=shares / shares.sum()).astype(np.uint16)
        noise = generator.integers(0, size, records).astype(np.uint16)
        shown = np.where(generator.random(records) < retention, true, noise)
        kept.append(examine_kept(true, shown, np.full(size, retention)).chance)
        spread.append(examine_spread(true, shown, np.full(size, retention)).chance)
    for chances in (np.array(kept), np.array(spread)):
        assert (chances < 0.05).mean() < 0.05 + 0.028
        assert chances.min() > FALSE_ALARM
    assert (np.array(spread) < 0.05).mean() > 0.05 - 0.028
