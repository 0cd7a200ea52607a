"""Measure cases beside their baselines.

Machines are noisy, so a figure means something only beside another that was measured in
between: each round runs the case and its baseline once, and medians are compared.
"""

from __future__ import annotations

import gc
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """One thing to measure, beside what it should be compared with.

    `peak_mb` tells the memory where it is not Python's own, which is measured otherwise.
    """

    name: str
    run: Callable[[], object]
    baseline: Callable[[], object]
    peak_mb: Callable[[], float] | None = None


@dataclass(frozen=True)
class Measured:
    """What was measured: medians in seconds, and memory beyond what the case was given."""

    bench: str
    case: str
    seconds: float
    baseline: float
    peak_mb: float

    def as_json(self, baseline_name: str) -> dict[str, object]:
        return {
            "bench": self.bench,
            "case": self.case,
            "seconds": round(self.seconds, 6),
            "baseline": baseline_name,
            "baseline_seconds": round(self.baseline, 6),
            "ratio": round(self.seconds / self.baseline, 3),
            "peak_mb": round(self.peak_mb, 1),
        }


def measure(bench: str, case: Case, rounds: int, warm_up: bool = True) -> Measured:
    """Measure a case, after one round that only warms up."""
    seconds: list[float] = []
    baselines: list[float] = []
    for _ in range(rounds + warm_up):
        baselines.append(_timed(case.baseline))
        seconds.append(_timed(case.run))
    return Measured(
        bench,
        case.name,
        statistics.median(seconds[warm_up:]),
        statistics.median(baselines[warm_up:]),
        case.peak_mb() if case.peak_mb is not None else _peak_mb(case.run),
    )


def _timed(function: Callable[[], object]) -> float:
    gc.collect()
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def _peak_mb(function: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6
