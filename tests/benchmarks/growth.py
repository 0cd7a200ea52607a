"""How the cost of a release grows with the rows, columns, recipients, values and sensitive columns.

Each is a release with its check, a process of its own, beside the same one of another build: that
of the last commit, or of the one that ``--beside`` names. So are the making of wide tables'
projects, and what is asked of many recipients' releases. The largest sizes are measured with
``--large``. How a cost grows is seen by two cases of one series.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from tests.benchmarks.builds import USUAL, beside, builds
from tests.benchmarks.harness import Case
from tests.benchmarks.pipeline import Workplace

BASELINE = "the build of another commit"


@dataclass(frozen=True)
class Size:
    """A table, and to how many recipients it is released."""

    rows: int = 100_000
    columns: int = 8
    recipients: int = 1
    values: int = 50
    sensitive: int = 1
    served: int | None = None
    """To so many recipients a release is made; None for all."""

    @property
    def name(self) -> str:
        served = "" if self.served is None else f"{self.served} of "
        return (
            f"{self.rows:,} × {self.columns:,}, recipients: {served}{self.recipients},"
            f" values: {self.sensitive} × {self.values:,}"
        )


SIZES = (
    *(Size(), Size(rows=1_000_000)),
    *(Size(rows=20_000, columns=100), Size(rows=20_000, columns=400)),
    *(Size(recipients=3), Size(recipients=10)),
    *(Size(600, recipients=3, served=1), Size(600, recipients=300, served=1)),
    Size(recipients=30, served=1),
    *(Size(values=1_000), Size(values=20_000)),
    Size(sensitive=4),
)
LARGE = (Size(rows=10_000_000), Size(columns=400), Size(rows=1_000_000, recipients=30))
WIDE, MANY = 100, 30
"""Of so many columns `init` is measured, and of so many recipients what is asked of them."""
QUICK = (Size(2_000, recipients=2),)


def cases(quick: bool, large: bool = False, commit: str = USUAL) -> Iterator[Case]:
    """Yield a release of each size beside that of another build; the bytes are those of one seed.

    Parameters
    ----------
    quick
        Whether small sizes are measured.
    large
        Whether the largest are, too.
    commit
        Whose build stands beside this one.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-benchmark-") as scratch:
        here, there = builds(Path(scratch), commit)
        for number, size in enumerate(QUICK if quick else SIZES + LARGE * large):
            table = Path(scratch) / f"table{number}.csv"
            write_table(size, table)
            places = [build.workplace(table, rules_of(size)) for build in (here, there)]

            def forget(places=places) -> None:
                for place in places:
                    place.forget_check()

            started, other = (
                replace(place.release(), arguments=to_all(place.release().arguments, size))
                for place in places
            )
            yield beside(size.name, started, other, there.name, forget)
            yield from _asked(size, places, there.name)
            table.unlink()


def _asked(size: Size, places: list[Workplace], other_name: str) -> Iterator[Case]:
    """Yield what is asked of many recipients' releases, and how a wide table's project is made."""
    report = str(places[0].folder / "report.html")
    asked = {
        "risk": ("risk",),
        "audit questions": ("audit", "questions"),
        "report": ("report", "--out", report),
    }
    for name, command in asked.items() if size.recipients == MANY else ():
        started, other = (place.command(*command, str(place.project)) for place in places)
        yield beside(f"{name}, {size.name}", started, other, other_name)

    def forget() -> None:
        for place in places:
            place.forget_project()

    if size.columns >= WIDE:
        started, other = (place.init() for place in places)
        yield beside(f"init, {size.name}", started, other, other_name, forget)


def to_all(arguments, size: Size) -> tuple[str, ...]:
    """Return a release's arguments, to every recipient in place of one."""
    given = list(arguments)
    at = given.index("--recipient")
    served = range(size.recipients if size.served is None else size.served)
    names = [text for n in served for text in ("--recipient", f"R{n}")]
    return (*given[:at], *names, *given[at + 2 :])


def write_table(size: Size, path: Path) -> None:
    """Write a table at random, identifiers in no order."""
    rng = np.random.default_rng(1)
    rows = size.rows

    def category(letter: str, number: int) -> pa.Array:
        names = pa.array([f"{letter}{i:05}" for i in range(number)])
        return names.take(pa.array(rng.integers(0, number, rows)))

    columns = {"id": rng.permutation(rows) + 10_000_000}
    columns |= {f"s{n}": category("value ", size.values) for n in range(size.sensitive)}
    for place in range(size.columns - len(columns)):
        if place % 4 == 0:
            column = category("v", 3 + place % 11)
        elif place % 4 == 1:
            column = rng.integers(0, 100, rows)
        elif place % 4 == 2:
            column = np.round(rng.lognormal(10, 0.5, rows), 2)
        else:
            column = rng.geometric(0.1, rows)
        columns[f"c{place}"] = column
    pa.csv.write_csv(pa.table(columns), path)


def rules_of(size: Size) -> str:
    """Return the rules of such a table: each sensitive column has a uniform ladder of its own."""
    sensitive = [f"s{n}" for n in range(size.sensitive)]
    open_columns = range(size.columns - 1 - size.sensitive)
    levels = np.linspace(0.1, 0.9, size.recipients)
    policy = ", ".join(
        f'{{ attributes = ["{name}"], mechanism = "uniform" }}' for name in sensitive
    )
    recipients = ", ".join(
        f'{{ name = "R{n}", levels = {{ '
        + ", ".join(f"{name}.retention_probability = {level:.4f}" for name in sensitive)
        + " } }"
        for n, level in enumerate(levels)
    )
    lines = [
        *("format = 1", 'title = "Benchmark"', 'record_key = "id"'),
        'columns.id = { role = "identifying", kind = "text" }',
        *(f'columns.{s} = {{ role = "sensitive", kind = "categorical" }}' for s in sensitive),
        *(
            f'columns.c{n} = {{ role = "insensitive",'
            f' kind = "{"numeric" if n % 4 else "categorical"}" }}'
            for n in open_columns
        ),
        *(f"policy = [{policy}]", f"recipients = [{recipients}]"),
    ]
    return "\n".join(lines) + "\n"
