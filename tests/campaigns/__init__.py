"""Campaigns: long trials of faults at places drawn by chance, from a seed that can be chosen.

``SFUMATO_TEST_KEYS`` says where they fall, as it does for the secrets of all tests; CONTRIBUTING.md
lists what says how many there are.
"""

from __future__ import annotations

import os
import random

import pytest

SEED = int(os.environ.get("SFUMATO_TEST_KEYS", "1"))
"""Where a campaign begins; another number tries other places."""


def chance(name: str) -> random.Random:
    """Return a campaign's own stream of chance; a test that fails shows the seed."""
    tell(f"SFUMATO_TEST_KEYS={SEED} ({name})")
    return random.Random(f"{SEED} {name}")


def tell(text: str) -> None:
    """Say something that pytest shows beside a failure, or with -s."""
    print(text)  # noqa: T201 - pytest keeps it


def runs(usual: int) -> int:
    """Return how often a campaign is tried: `usual` times, unless one asks for more."""
    return int(os.environ.get("SFUMATO_CAMPAIGN_RUNS", str(usual)))


slow = pytest.mark.slow
