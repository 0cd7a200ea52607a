"""``python -m tests.benchmarks [NAME …] [--json] [--quick] [--keep] [--rounds N]``.

A name is a benchmark's, or a figure's or table's of the papers that is run again; ``window`` tells
how long the window does not answer, and what memory it takes.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from tests import benchmarks
from tests.benchmarks.harness import measure
from tests.benchmarks.reproductions import REPRODUCTIONS, add_arguments
from tests.benchmarks.results import kept

COLUMNS = (
    "{bench:<12} {case:<34} {seconds:>10} {baseline_seconds:>10} {ratio:>7} {cpu_ratio:>7} "
    "{peak_mb:>9}\n"
)


def waits(chosen: argparse.Namespace) -> None:
    """Print how long the window does not answer, and what memory it takes."""
    from tests.e2e.waits import measure_waits  # noqa: PLC0415 - nothing else needs Qt

    measure_waits(chosen)


RUNS = {**REPRODUCTIONS, "window": waits}
"""What prints its own figures."""


def names_found() -> list[str]:
    """Return the benchmarks' names without importing them."""
    files = sorted(Path(__file__).parent.glob("[!_]*.py"))
    return [file.stem for file in files if "\ndef cases(" in file.read_text(encoding="utf-8")]


def found() -> dict[str, ModuleType]:
    """Return the benchmarks by name."""
    return {
        name: importlib.import_module(f"{benchmarks.__name__}.{name}") for name in names_found()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m tests.benchmarks", description=__doc__)
    known = found()
    names = [*known, *RUNS]
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(names)}")
    parser.add_argument("--json", action="store_true", help="print one JSON line a case")
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--keep", action="store_true", help="renew the table in RESULTS.md")
    parser.add_argument("--rounds", type=int, help="how often each case is measured")
    parser.add_argument("--rows", type=int, help="pipeline and window: how many (usual: 1,000,000)")
    parser.add_argument("--large", action="store_true", help="the largest sizes, where known")
    parser.add_argument(
        "--beside", default="HEAD", help="peers and growth: the commit of the other build"
    )
    add_arguments(parser)
    chosen = parser.parse_args(arguments)
    unknown = [name for name in chosen.names if name not in names]
    if unknown:
        parser.error(f"no benchmark is called {unknown[0]}; known are {', '.join(names)}")
    for name in chosen.names:
        if name in RUNS:
            RUNS[name](chosen)
    measured = [name for name in chosen.names or known if name in known]
    if measured and not chosen.json:
        sys.stdout.write(
            COLUMNS.format(
                bench="bench",
                case="case",
                seconds="seconds",
                baseline_seconds="baseline",
                ratio="ratio",
                cpu_ratio="cpu",
                peak_mb="peak MB",
            )
        )
    rounds = chosen.rounds or (1 if chosen.quick else 7)
    for name in measured:
        module = known[name]
        sized = {"rows": chosen.rows} if name == "pipeline" else {}
        if name == "count_tables":
            sized = {"large": chosen.large}
        if name in {"peers", "growth"}:
            sized = {"large": chosen.large, "commit": chosen.beside}
        for case in module.cases(chosen.quick, **sized):
            figures = measure(name, case, rounds, not chosen.quick).as_json(module.BASELINE)
            line = json.dumps(figures) + "\n" if chosen.json else COLUMNS.format(**figures)
            sys.stdout.write(line)
            sys.stdout.flush()
            if chosen.keep:
                kept([figures])
    return 0


if __name__ == "__main__":
    sys.exit(main())
