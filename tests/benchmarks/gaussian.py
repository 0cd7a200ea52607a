"""Numeric releases at many levels (Li et al., TKDE 2012, section 6.3), beside independent noise.

M copies in all, of which L exist: M - L further ones of 100,000 records are made, at levels drawn
from [0.25, 1]. Once on the keyed Brownian ladder, which needs none of the L copies; once by the
paper's algorithm 3 from numpy's normals, given the noise of the L copies.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.brownian import on_grid
from sfumato.engine.mechanisms.gaussian.release import NoiseRecipe, release_numbers
from sfumato.engine.mechanisms.gaussian.settings import NumberForm
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from tests.benchmarks.harness import Case
from tests.benchmarks.published_noise import noise_on_demand, parallel_noise

BASELINE = "x + sigma * rng.standard_normal((M - L, n)): independent noise, one attribute"
SPREAD = 14.8
COPIES = (4, 10, 20, 30)


def cases(quick: bool) -> Iterator[Case]:
    """Yield the ladder and algorithm 3 for each M and L."""
    records = 10_000 if quick else 100_000
    for copies in (4, 30) if quick else COPIES:
        for existing in (copies // 4, copies // 2, 3 * copies // 4):
            yield from _pair(records, copies, existing)


def _pair(records: int, copies: int, existing: int) -> Iterator[Case]:
    rng = np.random.default_rng(copies)
    income = rng.gamma(1.3, 13.0, records)
    levels = [on_grid(level) for level in rng.uniform(0.25, 1.0, copies)]
    known, wanted = levels[:existing], levels[existing:]
    factor = np.array([[SPREAD]])
    noise = parallel_noise(known, factor, records, rng.standard_normal)
    ids = record_ids_by_position(records)
    key = KeyRing(bytes(range(32))).for_attribute("benchmark", "", "benchmark")
    recipe = NoiseRecipe(factor, (NumberForm(),))
    name = f"n={records:,} M={copies} L={existing}: {len(wanted)} copies"
    baseline = partial(_independent, rng, income, wanted)
    ladder = partial(release_numbers, income[np.newaxis], recipe, wanted, ids, key, Silent())
    yield Case(f"{name}, ladder", ladder, baseline)
    yield Case(
        f"{name}, algorithm 3", partial(_on_demand, rng, income, known, noise, wanted), baseline
    )


def _on_demand(
    rng: np.random.Generator,
    income: np.ndarray,
    known: list[float],
    noise: np.ndarray,
    wanted: list[float],
) -> np.ndarray:
    factor = np.array([[SPREAD]])
    return income + noise_on_demand(known, noise, wanted, factor, rng.standard_normal)


def _independent(rng: np.random.Generator, income: np.ndarray, wanted: list[float]) -> np.ndarray:
    sigma = SPREAD * np.sqrt(wanted)
    return income + sigma[:, np.newaxis] * rng.standard_normal((len(wanted), len(income)))
