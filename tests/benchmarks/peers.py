"""Whole jobs beside what an analyst would use in their place, and beside another build.

Each is a process of its own that imports what it needs. The other build is that of the last commit,
or of the one that ``--beside`` names; ``--large`` takes the widest table and ten million rows.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from tests.benchmarks import growth, ladder, laplace, pipeline, reading
from tests.benchmarks.builds import USUAL, Build, beside, builds
from tests.benchmarks.harness import Case
from tests.benchmarks.start import Started

QUICK = 2_000
BASELINE = "pandas, numpy or Arrow"
PANDAS_JOB = """
import hashlib, sys
import numpy as np, pandas as pd
source, target, column, key = sys.argv[1:]
frame = pd.read_csv(source)
codes, domain = pd.factorize(frame[column])
rng = np.random.default_rng()
n, m = len(codes), len(domain)
frame[column] = domain.take(np.where(rng.random(n) < 0.5, codes, rng.integers(0, m, n)))
frame.drop(columns=[key]).to_csv(target, index=False)
with open(target, "rb") as file:
    print(hashlib.file_digest(file, "sha256").hexdigest())
"""
PANDAS_PROFILE = """
import sys
import pandas as pd
print(pd.read_csv(sys.argv[1]).describe(include="all"))
"""
PANDAS_UNIQUES = """
import sys
import pandas as pd
frame = pd.read_csv(sys.argv[1])
print((frame.groupby(sys.argv[2:], observed=True, dropna=False).size() == 1).sum())
"""
OURS_WORKBOOK = """
import sys
from pathlib import Path
from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options, read_table
path = Path(sys.argv[1])
read_table(path, detect_options(path), Silent())
"""
PANDAS_WORKBOOK = """
import sys
import pandas as pd
pd.read_excel(sys.argv[1], engine="openpyxl")
"""


def cases(quick: bool, large: bool = False, commit: str = USUAL) -> Iterator[Case]:
    """Yield each job beside its peers, then beside the build of a commit.

    Parameters
    ----------
    quick
        Whether small sizes are measured.
    large
        Whether the largest are.
    commit
        Whose build stands beside this one.
    """
    rows = QUICK if quick else 10_000_000 if large else 1_000_000
    with tempfile.TemporaryDirectory(prefix="sfumato-benchmark-") as scratch:
        folder = Path(scratch)
        both = builds(folder, commit)
        yield from _releases(folder, both, rows)
        if not quick:
            yield from _wide(folder, both, 100_000, 400 if large else 100)
        yield from _workbook(folder, both, QUICK if quick else reading.WORKBOOK)
    for module in (laplace, ladder):
        for case in islice(module.cases(quick), 1 if quick else None):
            name = f"{module.__name__.rpartition('.')[2]}, {case.name}"
            yield replace(case, name=name, baseline_name=module.BASELINE)


def _script(build: Build, code: str, *arguments: object) -> Started:
    return Started(("-c", code, *map(str, arguments)), build.environment)


def _releases(folder: Path, both: tuple[Build, Build], rows: int) -> Iterator[Case]:
    """Yield the first release of a table with its check, and how its project is made."""
    table = folder / "people.csv"
    pipeline.write_table(rows, table)
    places = [build.workplace(table, pipeline.RULES) for build in both]

    def forget() -> None:
        for place in places:
            place.forget_check()

    def forget_projects() -> None:
        for place in places:
            place.forget_project()

    target, name = folder / "analyst.csv", f"release with its check, n={rows:,}"
    release = places[0].release()
    arrow = _script(both[0], pipeline.SCRIPT, table, target)
    pandas = _script(both[0], PANDAS_JOB, table, target, "illness", "id")
    yield beside(name, release, arrow, "Arrow", forget)
    if rows > QUICK:
        yield beside(name, release, pandas, "pandas", forget)
    yield beside(name, release, places[1].release(), both[1].name, forget)
    risk, others = (place.command("risk", str(place.project)) for place in places)
    quasi = ("region", "sex", "occupation", "age")
    uniques = _script(both[0], PANDAS_UNIQUES, table, *quasi)
    yield beside(f"risk, n={rows:,}", risk, uniques, "pandas, sample uniques alone")
    if rows > QUICK:
        yield beside(f"risk, n={rows:,}", risk, others, both[1].name)
    name, init = f"init, n={rows:,}", places[0].init()
    profile = _script(both[0], PANDAS_PROFILE, table)
    yield beside(name, init, profile, "pandas with describe()", forget_projects)
    if rows > QUICK:
        yield beside(name, init, places[1].init(), both[1].name, forget_projects)


def _wide(folder: Path, both: tuple[Build, Build], rows: int, columns: int) -> Iterator[Case]:
    table, size = folder / "wide.csv", growth.Size(rows, columns)
    growth.write_table(size, table)
    places = [build.workplace(table, growth.rules_of(size)) for build in both]
    ours, other = (
        Started(growth.to_all(place.release().arguments, size), place.environment)
        for place in places
    )

    def forget() -> None:
        for place in places:
            place.forget_check()

    name = f"release with its check, {rows:,} × {columns}"
    pandas = _script(both[0], PANDAS_JOB, table, folder / "analyst.csv", "s0", "id")
    yield beside(name, ours, pandas, "pandas", forget)
    yield beside(name, ours, other, both[1].name, forget)


def _workbook(folder: Path, both: tuple[Build, Build], rows: int) -> Iterator[Case]:
    book = folder / "book.xlsx"
    reading.make_workbook(book, rows)
    name = f"open a workbook, n={rows:,}"
    ours, other = (_script(build, OURS_WORKBOOK, book) for build in both)
    yield beside(name, ours, _script(both[0], PANDAS_WORKBOOK, book), "pandas with openpyxl")
    yield beside(name, ours, other, both[1].name)
