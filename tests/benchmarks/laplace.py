"""One keyed release of the Laplace ladder, beside plain unkeyed noise of a single level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.laplace import release_steps
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.harness import Case

BASELINE = "x + rng.geometric(1 - q, n) - rng.geometric(1 - q, n): discrete Laplace noise"
STEPS = 1_000
LEVELS = (64.0, 16.0, 4.0, 1.0, 0.1)


def cases(quick: bool) -> Iterator[Case]:
    """Yield each level for numbers with a thousand steps between their bounds."""
    records = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(1)
    numbers = rng.integers(0, STEPS + 1, records).astype(np.uint32)
    key = KeyRing(bytes(range(32))).for_attribute("benchmark", "", "benchmark")
    ids = record_ids_by_position(records)
    for level in LEVELS:
        yield Case(
            f"n={records:,} K={STEPS:,} ε={level:g}",
            partial(release_steps, numbers, STEPS, level, ids, key, Silent()),
            partial(_plain, rng, numbers, level),
        )


def _plain(rng: np.random.Generator, numbers: np.ndarray, level: float) -> np.ndarray:
    falls = -np.expm1(-level / STEPS)
    return numbers + rng.geometric(falls, len(numbers)) - rng.geometric(falls, len(numbers))
