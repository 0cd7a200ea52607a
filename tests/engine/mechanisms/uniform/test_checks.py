"""Examining released files of the uniform ladder, against the table and against each other."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.matrices.goodness_of_fit import FALSE_ALARM, examine_kept, examine_spread
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Released
from sfumato.engine.randomness.keys import KeyRing
from tests.engine.categories import column_of, released, request_for

UNIFORM = mechanism_called("uniform")
COLUMN = column_of([16_000, 9_000, 4_000, 990, 10])
ATTRIBUTES = (COLUMN.attribute,)
NAME = COLUMN.attribute.name
DOMAIN = COLUMN.attribute.domain
LEVELS = (1.0, 0.6, 0.3, 0.01, 0.0)


@pytest.fixture(scope="module")
def ladder():
    return {level: released(UNIFORM, request_for(COLUMN, {}, level)) for level in LEVELS}


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


def test_a_release_at_another_level_is_caught(ladder):
    posing = Released(0.6, ladder[0.3].columns)
    assert "Retained values" in failing(UNIFORM.check_release(request_for(COLUMN, {}, 0.6), posing))


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


def test_a_pair_is_examined_in_either_order(ladder):
    forward = UNIFORM.check_pair(ladder[0.6], ladder[0.3], ATTRIBUTES, {})
    assert UNIFORM.check_pair(ladder[0.3], ladder[0.6], ATTRIBUTES, {}) == forward


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
