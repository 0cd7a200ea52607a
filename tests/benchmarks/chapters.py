"""One keyed release of the ladder in chapters, beside plain unkeyed numpy for a single level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.hierarchical import release_in_chapters
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.harness import Case

BASELINE = "two np.where of rng.random and rng.integers: within the chapter, then everywhere"
CHAPTERS = tuple(np.repeat(range(20), [3, 5, 7, 10] * 5).tolist())
LEVELS = ((0.9, 0.95), (0.5, 0.7), (0.1, 0.3))


def cases(quick: bool) -> Iterator[Case]:
    """Yield each depth for 125 values in twenty chapters of four sizes."""
    records = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(1)
    codes = rng.integers(0, len(CHAPTERS), records).astype(np.uint8)
    ring = KeyRing(bytes(range(32)))
    keys = ring.for_attribute("a", "", "inside"), ring.for_attribute("a", "", "everywhere")
    ids = record_ids_by_position(records)
    for levels in LEVELS:
        yield Case(
            f"n={records:,} m={len(CHAPTERS)} a={levels[0]:g} c={levels[1]:g}",
            partial(release_in_chapters, codes, CHAPTERS, levels, ids, keys, Silent()),
            partial(_plain, rng, codes, levels),
        )


def _plain(rng: np.random.Generator, codes: np.ndarray, levels: tuple[float, float]) -> np.ndarray:
    records = len(codes)
    _, first, sizes = np.unique(CHAPTERS, return_index=True, return_counts=True)
    chapter = np.array(CHAPTERS)[codes]
    inside = first[chapter] + rng.integers(0, sizes[chapter])
    kept = np.where(rng.random(records) < levels[0], codes, inside)
    drawn = rng.integers(0, len(CHAPTERS), records)
    return np.where(rng.random(records) < levels[1], kept, drawn)
