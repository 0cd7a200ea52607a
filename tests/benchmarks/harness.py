"""Measure cases beside their baselines.

Machines are noisy, so a figure means something only beside another that was measured in
between: each round runs the case and its baseline once, and medians are compared. Processor time
of all threads and of processes that ended stands beside the time that passed: a case that works on
two threads would otherwise look twice as cheap as it is.
"""

from __future__ import annotations

import gc
import os
import statistics
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Case:
    """One thing to measure, beside what it should be compared with.

    `peak_mb` tells the memory where it is not Python's own, which is measured otherwise. A slow
    baseline may be measured in fewer rounds, and be another than its fellows'. `facts` tells what
    the case found, to be printed beside the times.
    """

    name: str
    run: Callable[[], object]
    baseline: Callable[[], object]
    peak_mb: Callable[[], float] | None = None
    baseline_rounds: int | None = None
    baseline_name: str | None = None
    facts: Callable[[], dict[str, object]] | None = None


@dataclass(frozen=True)
class Measured:
    """What was measured: medians in seconds, and memory beyond what the case was given.

    `cpu` and `baseline_cpu` are processor time, `seconds` and `baseline` the time that passed.
    """

    bench: str
    case: str
    seconds: float
    baseline: float
    cpu: float
    baseline_cpu: float
    peak_mb: float
    baseline_name: str | None = None
    facts: dict[str, object] = field(default_factory=dict)

    def as_json(self, baseline_name: str) -> dict[str, object]:
        return {
            "bench": self.bench,
            "case": self.case,
            "seconds": round(self.seconds, 6),
            "baseline": self.baseline_name or baseline_name,
            "baseline_seconds": round(self.baseline, 6),
            "ratio": round(self.seconds / self.baseline, 3),
            "peak_mb": round(self.peak_mb, 1),
            "cpu_seconds": round(self.cpu, 6),
            "baseline_cpu_seconds": round(self.baseline_cpu, 6),
            "cpu_ratio": round(self.cpu / max(self.baseline_cpu, 1e-9), 3),
            **self.facts,
        }


def measure(bench: str, case: Case, rounds: int, warm_up: bool = True) -> Measured:
    """Measure a case, after one round that only warms up."""
    seconds: list[tuple[float, float]] = []
    baselines: list[tuple[float, float]] = []
    slow = case.baseline_rounds is not None
    for number in range(rounds + warm_up):
        if not slow or number < (case.baseline_rounds or 0):
            baselines.append(_timed(case.baseline))
        seconds.append(_timed(case.run))
    passed, cpu = _medians(seconds[warm_up:])
    baseline, baseline_cpu = _medians(baselines if slow else baselines[warm_up:])
    return Measured(
        bench,
        case.name,
        passed,
        baseline,
        cpu,
        baseline_cpu,
        case.peak_mb() if case.peak_mb is not None else _peak_mb(case.run),
        case.baseline_name,
        case.facts() if case.facts is not None else {},
    )


def _timed(function: Callable[[], object]) -> tuple[float, float]:
    gc.collect()
    start, cpu = time.perf_counter(), _cpu()
    function()
    return time.perf_counter() - start, _cpu() - cpu


def _cpu() -> float:
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def _medians(pairs: list[tuple[float, float]]) -> tuple[float, float]:
    passed, cpu = zip(*pairs, strict=True)
    return statistics.median(passed), statistics.median(cpu)


def _peak_mb(function: Callable[[], object]) -> float:
    gc.collect()
    tracemalloc.start()
    function()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6
