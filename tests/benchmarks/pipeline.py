"""Whole commands on a table of eight columns, beside the script that a competent analyst writes.

The script reads the table with Arrow, drops the identifier, perturbs the sensitive column by one
`np.where`, writes the result and prints its digest: no ladder, no record of what was released, and
an order of rows that gives the identifier away. Each command and the script is a process of its
own, with its bytecode compiled before anything is measured.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from tests.benchmarks.harness import Case
from tests.benchmarks.start import COMMAND, Started, environment_with

BASELINE = "the analyst's script: read by Arrow, perturb by np.where, write, digest"
ROWS, QUICK = 1_000_000, 20_000
FORMATS = ("csv", "parquet")
RECIPIENT = "Institute"
IN_PARTS = ("--memory", "0")
SCRIPT = """
import hashlib, sys
import numpy as np, pyarrow as pa
source, target = sys.argv[1:]
if source.endswith(".csv"):
    from pyarrow import csv
    table = csv.read_csv(source)
else:
    from pyarrow import parquet
    table = parquet.read_table(source)
column = table["illness"].combine_chunks().dictionary_encode()
x, domain = column.indices.to_numpy(), column.dictionary
rng = np.random.default_rng()
n, m = len(x), len(domain)
y = np.where(rng.random(n) < 0.5, x, rng.integers(0, m, n))
place = table.schema.get_field_index("illness")
table = table.set_column(place, "illness", domain.take(pa.array(y))).drop_columns(["id"])
if target.endswith(".csv"):
    csv.write_csv(table, target)
else:
    parquet.write_table(table, target, compression="zstd")
with open(target, "rb") as file:
    print(hashlib.file_digest(file, "sha256").hexdigest())
"""
RULES = """
format = 1
title = "Benchmark"
record_key = "id"
columns.id = { role = "identifying", kind = "text" }
columns.region = { role = "quasi-identifier", kind = "categorical" }
columns.sex = { role = "quasi-identifier", kind = "categorical" }
columns.occupation = { role = "quasi-identifier", kind = "categorical" }
columns.illness = { role = "sensitive", kind = "categorical" }
columns.age = { role = "quasi-identifier", kind = "numeric" }
columns.income = { role = "insensitive", kind = "numeric" }
columns.stay = { role = "insensitive", kind = "numeric" }
policy = [{ attributes = ["illness"], mechanism = "uniform" }]
recipients = [{ name = "Institute", levels.illness.retention_probability = 0.5 }]
"""


@dataclass(frozen=True)
class Workplace:
    """A folder with a table, and the commands that are run on it."""

    folder: Path
    ending: str
    environment: dict[str, str]

    @property
    def table(self) -> Path:
        return self.folder / f"table.{self.ending}"

    @property
    def project(self) -> Path:
        return self.folder / "table.sfumato"

    def script(self) -> Started:
        target = self.folder / f"analyst.{self.ending}"
        return Started(("-c", SCRIPT, str(self.table), str(target)), self.environment)

    def command(self, *arguments: str) -> Started:
        return Started((*COMMAND, *arguments), self.environment)

    def init(self, *more: str) -> Started:
        rules = str(self.folder / "rules.toml")
        given = (str(self.project), "--table", str(self.table), "--rules", rules)
        return self.command("init", *given, *more)

    def release(self, *more: str) -> Started:
        given = (str(self.project), "--recipient", RECIPIENT, *more)
        # The numbers leave as they are, so nearly everybody is unique, which is refused.
        reason = ("--accept", "A benchmark: the rows were drawn at random.")
        written = ("--out", str(self.folder / "out"), "--format", self.ending)
        return self.command("release", *given, *reason, *written)

    def verify(self, *more: str) -> Started:
        (bundle,) = (self.folder / "out").iterdir()
        return self.command("verify", str(bundle), "--project", str(self.project), *more)

    def forget_project(self) -> None:
        self.project.unlink(missing_ok=True)

    def forget_release(self) -> None:
        shutil.rmtree(self.folder / "out", ignore_errors=True)

    def forget_check(self) -> None:
        """Take away the release, and what checks found in the rows."""
        self.forget_release()
        remembered = Path(self.environment["XDG_STATE_HOME"], "sfumato", "remembered")
        shutil.rmtree(remembered, ignore_errors=True)


def cases(quick: bool, rows: int | None = None) -> Iterator[Case]:
    """Yield init, release and verify of each format, as it is usual and in parts.

    A release checks the rows itself, or finds them checked, by another release or by
    ``sfumato check``. `facts` tells the scripts' memory. The quick round is of one format.
    """
    rows = rows or (QUICK if quick else ROWS)
    with tempfile.TemporaryDirectory() as scratch:
        environment = environment_with(Path(scratch) / "bytecode")
        environment["SFUMATO_PASSPHRASE"] = "a passphrase for a benchmark"
        environment["XDG_STATE_HOME"] = str(Path(scratch) / "state")
        for ending in FORMATS[: 1 if quick else None]:
            folder = Path(scratch) / ending
            folder.mkdir()
            place = Workplace(folder, ending, environment)
            write_table(rows, place.table)
            (folder / "rules.toml").write_text(RULES)
            yield from _cases_at(place, rows)
            shutil.rmtree(folder)


def _cases_at(place: Workplace, rows: int) -> Iterator[Case]:
    name = f"{{}}, {place.ending}, n={rows:,}"
    script, init, release = place.script(), place.init(), place.release()
    for started in (script, init, release, place.verify):  # compiles the bytecode
        (started() if callable(started) else started).run()

    def case(command: str, started: Started, forget: object = None) -> Case:
        def run() -> None:
            if callable(forget):
                forget()
            started.run()

        script.forget()
        started.forget()
        facts = partial(_facts, started, script)
        return Case(name.format(command), run, script.run, started.peak_mb, facts=facts)

    for words, more in (("", ()), (" in parts", IN_PARTS)):
        release = place.release(*more)
        yield case(f"release{words}", release, place.forget_check)
        yield case(f"release{words}, checked before", release, place.forget_release)
        yield case(f"verify{words}", place.verify(*more))
    yield case("init", init, place.forget_project)
    yield case("init in parts", place.init(*IN_PARTS), place.forget_project)


def _facts(started: Started, script: Started) -> dict[str, object]:
    """Return the processor's time of both, and the script's memory."""
    cpu = {"cpu": round(min(started.cpu), 3), "baseline_cpu": round(min(script.cpu), 3)}
    return {**cpu, "baseline_peak_mb": round(script.peak_mb(), 1)}


def write_table(rows: int, path: Path) -> None:
    """Write a table of eight columns at random, identifiers in no order."""
    rng = np.random.default_rng(1)

    def category(letter: str, size: int) -> pa.Array:
        names = pa.array([f"{letter}{i:03}" for i in range(size)])
        return names.take(pa.array(rng.integers(0, size, rows)))

    table = pa.table(
        {
            "id": rng.permutation(rows) + 10_000_000,
            "region": category("region ", 20),
            "sex": category("s", 2),
            "occupation": category("occupation ", 50),
            "illness": category("illness ", 200),
            "age": rng.integers(0, 100, rows),
            "income": np.round(rng.lognormal(10, 0.5, rows), 2),
            "stay": rng.geometric(0.1, rows),
        }
    )
    if path.suffix == ".csv":
        pa.csv.write_csv(table, path)
    else:
        pa.parquet.write_table(table, path, compression="zstd", row_group_size=1 << 20)
    os.sync()
