"""Mutated inputs end as a table or as an error that says what to do.

The seed is that of `SFUMATO_TEST_KEYS`; `SFUMATO_CAMPAIGN_INPUTS` says how many inputs the slow
test tries, a half of them at each turn, and `SFUMATO_CAMPAIGN_SECONDS` how long at most for a half.
"""

from __future__ import annotations

import os

import pytest

from tests.campaigns import SEED, tell
from tests.campaigns.corpus import KINDS, seeds
from tests.campaigns.inputs import run
from tests.campaigns.mutations import mutated
from tests.campaigns.worker import outcome

pytest.importorskip("resource", reason="the system has no limits on memory")

MANY = int(os.environ.get("SFUMATO_CAMPAIGN_INPUTS", "250"))
SLOW = float(os.environ.get("SFUMATO_CAMPAIGN_SECONDS", "180"))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_input_can_be_made_again_from_its_seed_and_number():
    for number in range(len(KINDS)):
        assert mutated(SEED, number) == mutated(SEED, number)
    assert mutated(SEED, 0) != mutated(SEED + 1, 0)


@pytest.mark.few(5)
@pytest.mark.parametrize("kind", KINDS)
def test_the_inputs_that_a_campaign_starts_from_are_read(tmp_path, kind):
    assert {outcome(kind, content, tmp_path) for content in seeds(kind)} == {"read"}


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("half", [0, 1])
def test_inputs_of_every_kind_are_read_or_refused(half):
    tell(f"SFUMATO_TEST_KEYS={SEED}")
    found = run(SEED + 1_000, MANY // 2, first=half * (MANY // 2), seconds=SLOW)
    assert not found.faults, "\n".join(found.faults)
    assert found.inputs > 50
    assert {kind for kind, _ in found.counts} == set(KINDS)
