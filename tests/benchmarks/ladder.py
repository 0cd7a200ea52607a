"""One keyed release of the uniform ladder, beside plain unkeyed numpy for a single level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.harness import Case

BASELINE = "np.where(rng.random(n) < p, x, rng.integers(0, m, n))"
LEVELS = (0.9, 0.5, 0.1, 0.01, 0.001)
OTHERS = ((2, 0.5), (50, 1e-6), (1_000, 0.1), (20_000, 0.1))


def cases(quick: bool) -> Iterator[Case]:
    """Yield each depth for a domain of 50 values, then other domains."""
    records = 100_000 if quick else 10_000_000
    for size, level in [*((50, level) for level in LEVELS), *OTHERS]:
        rng = np.random.default_rng(1)
        codes = rng.integers(0, size, records).astype(smallest_unsigned(size))
        key = KeyRing(bytes(range(32))).for_attribute("benchmark", "", "benchmark")
        ids = record_ids_by_position(records)
        yield Case(
            f"n={records:,} m={size:,} p={level:g}",
            partial(release_codes, codes, size, level, ids, key, Silent()),
            partial(_plain, rng, codes, size, level),
        )


def _plain(rng: np.random.Generator, codes: np.ndarray, size: int, level: float) -> np.ndarray:
    records = len(codes)
    return np.where(rng.random(records) < level, codes, rng.integers(0, size, records))
