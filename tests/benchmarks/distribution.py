"""One keyed release by a published distribution, beside plain unkeyed numpy for a single level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.columns import smallest_unsigned
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.distribution import CELLS, cells_of, release_from_cells
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.harness import Case

BASELINE = "np.where(rng.random(n) < p, x, rng.choice(m, n, p=shares))"
SIZES = (5, 50, 4096)
LEVELS = (0.9, 0.1)


def cases(quick: bool) -> Iterator[Case]:
    """Yield domains of several sizes whose shares fall from value to value."""
    records = 100_000 if quick else 5_000_000
    key = KeyRing(bytes(range(32))).for_attribute("benchmark", "", "benchmark")
    ids = record_ids_by_position(records)
    for size in SIZES:
        rng = np.random.default_rng(1)
        codes = rng.integers(0, size, records).astype(smallest_unsigned(size))
        cells = cells_of([1 / (place + 1) for place in range(size)], 0.1)
        for level in LEVELS:
            yield Case(
                f"n={records:,} m={size:,} p={level:g}",
                partial(release_from_cells, codes, cells, level, ids, key, Silent()),
                partial(_plain, rng, codes, np.array(cells) / CELLS, level),
            )


def _plain(
    rng: np.random.Generator, codes: np.ndarray, shares: np.ndarray, level: float
) -> np.ndarray:
    records = len(codes)
    drawn = rng.choice(len(shares), records, p=shares)
    return np.where(rng.random(records) < level, codes, drawn)
