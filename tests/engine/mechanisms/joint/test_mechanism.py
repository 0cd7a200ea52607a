"""Joint retention: its ladder enumerated, its promise for combinations and values, its limits."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.errors import DomainError, LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.retention_matrix import odds_of_member
from sfumato.engine.mechanisms import mechanism_called, serving
from sfumato.engine.mechanisms.base import ReleaseRequest
from sfumato.engine.mechanisms.joint import CombinationLimits
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.combinations import (
    combined,
    combined_codes,
    combined_column,
    combined_series,
    members,
    separate_codes,
)
from sfumato.engine.table.table import Attribute, ColumnSpec, Table, encode_attribute
from tests.engine.categories import KEYS, released
from tests.noise import NOISE

JOINT = mechanism_called("joint")
SIZES = (2, 3)
TRUE = np.array([[4_000, 500, 1_500], [200, 6_000, 800]])
LIMITED = {
    "others": {"rho1": 0.1, "rho2": 0.6},
    "limits": [
        {"values": {"illness": "HIV"}, "rho1": 0.05, "rho2": 0.2},
        {"values": {"illness": "cold", "job": "priest"}, "rho1": 0.1, "rho2": 0.25},
    ],
}


def columns_of(true=TRUE):
    """Two encoded columns whose combinations occur as often as `true` says, mixed."""
    codes = np.repeat(np.arange(true.size), true.ravel())
    codes = codes[np.random.default_rng(8).permutation(len(codes))]
    first, second = np.unravel_index(codes, true.shape)
    frame = pd.DataFrame(
        {
            "illness": np.array(["HIV", "cold"])[first],
            "job": np.array(["cook", "nurse", "priest"])[second],
        }
    )
    table = Table(frame)
    return tuple(encode_attribute(table, ColumnSpec(name)) for name in frame.columns)


COLUMNS = columns_of()
ATTRIBUTES = tuple(column.attribute for column in COLUMNS)


def request_for(settings, level, columns=COLUMNS):
    ids = record_ids_by_position(len(columns[0].values))
    return ReleaseRequest(columns, settings, level, ids, KEYS)


def limited(mode="strict"):
    return JOINT.complete_settings(ATTRIBUTES, {**LIMITED, "mode": mode}, NOISE)


# ----- combinations


def test_combinations_are_counted_and_taken_apart_again():
    whole = combined(ATTRIBUTES)
    assert whole.counts.reshape(SIZES).tolist() == TRUE.tolist()
    assert whole.domain.names[4] == "cold · nurse"
    assert combined(ATTRIBUTES) is whole
    codes = combined_column(COLUMNS).values
    for own, column in zip(separate_codes(codes, SIZES), COLUMNS, strict=True):
        assert own.tolist() == column.values.tolist()
    sizes = (100, 200)
    every = tuple(map(np.ravel, np.indices(sizes)))
    assert combined_codes(every, sizes).tolist() == list(range(20_000))


def test_a_combination_s_name_may_be_ambiguous_and_its_code_is_not():
    first, second = (
        replace(ATTRIBUTES[0], domain=Domain(("a", "a · b")), codes=None),
        replace(ATTRIBUTES[1], domain=Domain(("b · c", "c")), codes=None),
    )
    domain = combined((first, second)).domain
    assert domain.names[0] != domain.names[1]
    assert domain.names[1] == "a · c"
    assert len(set(domain.values)) == 4


# ----- the ladder


def test_columns_released_one_by_one_are_found_out():
    release = released(JOINT, request_for({}, 0.5))
    mixed = release.columns["job"].sample(frac=1, random_state=1, ignore_index=True)
    apart = replace(release, columns={**release.columns, "job": mixed})
    checks = JOINT.check_release(request_for({}, 0.5), apart)
    assert not all(check.holds for check in checks)
    outside = replace(release, columns={**release.columns, "job": mixed.astype(str) + "?"})
    assert not JOINT.check_release(request_for({}, 0.5), outside)[0].holds


def test_the_top_is_the_original():
    original = JOINT.release(request_for({}, 1.0), Silent())
    assert combined_series(ATTRIBUTES, original).tolist() == (
        combined_column(COLUMNS).values.tolist()
    )


# ----- what is promised


@pytest.mark.parametrize("settings", [{}, limited(), limited("published")])
def test_the_promise_holds_for_every_combination_and_every_value(settings):
    """Recomputed from the entries over all pairs of true combinations, one by one."""
    level = 0.8 * float(JOINT.profile(ATTRIBUTES, settings).max())
    matrix = JOINT.matrix(level, ATTRIBUTES, settings)
    entries = matrix.dense()
    for place in range(2):
        odds = odds_of_member(matrix, members(SIZES, place))
        own = np.unravel_index(np.arange(6), SIZES)[place]
        for value in range(SIZES[place]):
            inside, outside = np.flatnonzero(own == value), np.flatnonzero(own != value)
            ratios = entries[:, inside][:, :, None] / entries[:, outside][:, None, :]
            assert odds.up[value] == pytest.approx(ratios.max())
            assert odds.down[value] == pytest.approx(ratios.min())
            assert odds.up[value] <= matrix.gamma * (1 + 1e-12)
    facts = JOINT.promise(level, ATTRIBUTES, settings).facts
    (gamma,) = (fact.value for fact in facts if fact.symbol == "γ")
    assert gamma == pytest.approx(max((entries.max(axis=1) / entries.min(axis=1)).max(), 1.0))


@pytest.mark.parametrize("mode", ["strict", "published"])
def test_limits_of_values_and_of_combinations_are_kept(mode):
    settings = limited(mode)
    matrix = JOINT.matrix(
        JOINT.level({"trust_factor": 1}, ATTRIBUTES, settings), ATTRIBUTES, settings
    )
    gammas = {"HIV": 0.2 * 0.95 / (0.05 * 0.8), "cold · priest": 0.25 * 0.9 / (0.1 * 0.75)}
    odds = matrix.worst_odds_ratios()
    names = combined(ATTRIBUTES).domain.names
    for up, down, name in zip(odds.up, odds.down, names, strict=True):
        limit = next((g for start, g in gammas.items() if name.startswith(start)), 13.5)
        assert up <= limit * (1 + 1e-9), name
        if mode == "strict":
            assert down >= 1 / limit * (1 - 1e-9), name
    assert odds_of_member(matrix, members(SIZES, 0)).up[0] <= gammas["HIV"] * (1 + 1e-9)
    facts = {fact.title: fact.value for fact in JOINT.promise(0.0, ATTRIBUTES, settings).facts}
    assert facts["Combinations whose limit is exceeded"] == 0


def test_the_tightest_of_several_limits_counts_and_others_have_theirs():
    rows = [
        {"values": {"job": "nurse"}, "rho1": 0.1, "rho2": 0.8},
        {"values": {"job": "nurse", "illness": "HIV"}, "rho1": 0.1, "rho2": 0.2},
    ]
    limits = CombinationLimits.from_dict({"limits": rows, "others": {}})
    gammas = limits.gammas(ATTRIBUTES).reshape(SIZES)
    assert gammas[:, 1] == pytest.approx([2.25, 36.0])
    assert np.isinf(gammas[:, [0, 2]]).all()
    assert CombinationLimits.from_dict(limits.to_dict()) == limits


def test_twenty_thousand_combinations_need_vectors_only():
    first, second = (
        Attribute(name, Kind.CATEGORICAL, Domain(tuple(map(str, range(size)))))
        for name, size in (("code", 200), ("place", 100))
    )
    both = (first, second)
    settings = JOINT.complete_settings(
        both, {"limits": [{"values": {"code": "7"}, "rho1": 0.01, "rho2": 0.05}]}, NOISE
    )
    for chosen in ({}, settings):
        level = JOINT.level({"gamma": 9.0}, both, chosen)
        assert JOINT.matrix(level, both, chosen).size == 20_000
        assert JOINT.odds_factor(level, both, chosen) <= 9.0
        assert JOINT.promise(level, both, chosen).facts
    with pytest.raises(PolicyError, match="40,000 combinations of values; 20,000"):
        JOINT.check_attributes((first, replace(second, domain=Domain(tuple(range(200))))))


# ----- what is refused, and what stays


def test_a_single_column_numbers_and_single_values_are_refused():
    with pytest.raises(PolicyError, match="illness is a single one"):
        JOINT.check_attributes(ATTRIBUTES[:1])
    numbers = Attribute("age", Kind.NUMERIC, numbers=np.arange(3.0))
    with pytest.raises(PolicyError, match="age is numeric without bins"):
        JOINT.check_attributes((*ATTRIBUTES, numbers))
    alone = replace(ATTRIBUTES[1], domain=Domain(("cook",)))
    with pytest.raises(PolicyError, match="job has a single value"):
        JOINT.check_attributes((ATTRIBUTES[0], alone))


def test_each_kind_and_number_of_columns_has_a_mechanism_that_serves_it():
    assert serving(ATTRIBUTES[:1], "joint").name == "uniform"
    assert serving(ATTRIBUTES, "uniform").name == "joint"
    numbers = tuple(Attribute(name, Kind.NUMERIC) for name in ("age", "pay"))
    assert serving(numbers).name == "gaussian"
    with pytest.raises(PolicyError, match="No mechanism protects illness, age together"):
        serving((ATTRIBUTES[0], numbers[0]))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"limits": [{"values": {}, "rho1": 0.1, "rho2": 0.2}]},
            "tables with values, rho1, rho2",
        ),
        (
            {"limits": [{"values": {"illness": "HIV"}, "rho1": "a", "rho2": 1}]},
            "limits is not a list",
        ),
        ({"limits": [{"values": {"age": "9"}, "rho1": 0.1, "rho2": 0.2}]}, "a column, age"),
        ({"limits": [{"values": {"job": "cowboy"}, "rho1": 0.1, "rho2": 0.2}]}, "a value, cowboy"),
        ({"limit": []}, "no setting called limit"),
        ({"mode": "loose"}, "mode is not one of: strict, published"),
    ],
)
def test_limits_that_can_not_be_meant_are_refused(settings, said):
    with pytest.raises(PolicyError, match=said):
        JOINT.complete_settings(ATTRIBUTES, settings, NOISE)


def test_limits_out_of_range_and_profiles_that_do_not_fit_are_refused():
    wrong = {"limits": [{"values": {"job": "cook"}, "rho1": 0.5, "rho2": 0.2}]}
    with pytest.raises(LevelError, match="limits of cook don't fit"):
        JOINT.complete_settings(ATTRIBUTES, wrong, NOISE)
    with pytest.raises(PolicyError, match="6 probabilities, one for each"):
        JOINT.check_settings(ATTRIBUTES, {**limited(), "profile": [0.5]})
    with pytest.raises(LevelError, match="no trust factor"):
        JOINT.level({"trust_factor": 1.0}, ATTRIBUTES, {})
    with pytest.raises(LevelError, match="out of range"):
        JOINT.level({"trust_factor": 100.0}, ATTRIBUTES, limited())


def test_a_value_that_is_missing_or_outside_the_domain_names_row_and_column():
    frame = pd.DataFrame({"illness": ["HIV", None], "job": ["cook", "nurse"]})
    spec = ColumnSpec("illness", domain=Domain(("HIV", "cold")))
    with pytest.raises(DomainError, match="illness is missing in 1 row, first in row 2"):
        encode_attribute(Table(frame), spec)


def test_a_profile_stays_and_limits_move_with_their_columns():
    settings = limited()
    assert JOINT.complete_settings(ATTRIBUTES, settings, NOISE) == settings
    identity = JOINT.ladder_identity(ATTRIBUTES, settings)
    assert identity != JOINT.ladder_identity(ATTRIBUTES, {})
    assert identity != JOINT.ladder_identity(ATTRIBUTES[::-1], {})
    third = replace(ATTRIBUTES[1], name="place")
    kept = JOINT.resettled((ATTRIBUTES[0], third), settings)
    assert [row["values"] for row in kept["limits"]] == [{"illness": "HIV"}]
    assert "profile" not in kept
