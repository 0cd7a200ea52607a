"""One record's way down the ladder."""

from __future__ import annotations

import math
import random
from itertools import pairwise

import pytest

from sfumato.engine.randomness.keys import AttributeKey
from tests.engine.ladders.path import event_path
from tests.engine.ladders.reference import release_one
from tests.engine.ladders.test_ladder_words import RARE

KEY = AttributeKey(bytes(range(32)))


@pytest.mark.few(3)
@pytest.mark.parametrize("key", [KEY, *RARE.values()], ids=["plain", *RARE])
def test_releases_at_any_level_lie_on_the_path(key):
    chosen = random.Random(7)
    for record in range(5):
        path = event_path(1, 5, record, key, lowest=0.01)
        for _ in range(12):
            level = 0.01 ** chosen.random()
            shown = [step.code for step in path if step.level >= level][-1]
            assert shown == release_one(key, record, 1, 5, level)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_each_step_shows_its_code_at_its_level_and_not_above():
    for record in range(30):
        path = event_path(2, 7, record, KEY, lowest=1e-5)
        for before, step in pairwise(path):
            assert release_one(KEY, record, 2, 7, step.level) == step.code
            above = step.level * (1 + 1e-14)
            assert release_one(KEY, record, 2, 7, above) == before.code


def test_a_path_starts_with_the_original_and_goes_down_by_changes():
    path = event_path(4, 50, 3, KEY)
    assert (path[0].level, path[0].code) == (1.0, 4)
    for before, step in pairwise(path):
        assert 0.001 <= step.level < before.level
        assert step.code != before.code


@pytest.mark.slow
def test_a_record_changes_about_as_often_as_lemma_2_says():
    """The lemma: fewer than ln(1/c) changes down to level c, on average."""
    lowest, size, records = 0.05, 4, 300
    changes = [len(event_path(0, size, record, KEY, lowest)) - 1 for record in range(records)]
    expected = math.log(1 / lowest) * (size - 1) / size
    mean = sum(changes) / records
    assert abs(mean - expected) < 5 * (expected / records) ** 0.5
    assert mean < math.log(1 / lowest)


def test_a_longer_path_begins_with_the_shorter_one():
    short, long = event_path(0, 9, 5, KEY, 0.1), event_path(0, 9, 5, KEY, 1e-7)
    assert long[: len(short)] == short
    assert event_path(0, 9, 5, KEY, 1.0) == short[:1]
