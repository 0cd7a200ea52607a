"""How long the window does not answer: ``python -m tests.benchmarks window [--rows N]``.

A person opens a table, decides by rules, moves a rung, changes a mechanism, looks at what
recipients get, releases, verifies and audits, while jobs work on all rows. A table that would take
more than a gigabyte is read in parts. A timer beats on the main thread: the longest wait between
two beats is the time for which nobody was answered, and the processor's time of the main thread
within one wait says how much of it is the window's own. Linux tells each step's peak of memory.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from PySide6.QtCore import QDeadlineTimer, QPoint, Qt
from PySide6.QtTest import QTest

from sfumato.project.project_file import ProjectFile
from sfumato.project.store.secret import ScryptCost
from sfumato.ui.shell.application import make_application, spare_what_is_loaded
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import MemoryLimit, MemoryStore
from sfumato.ui.widgets.paint_queue import turns
from tests.e2e.heartbeat import Heartbeat

USUAL_ROWS = 1_000_000
PATIENCE = 3600.0
MEGABYTES = 1000
"""A table that takes more is read in parts."""
BLOCK = 1_000_000
LINE = "{case:<44} {longest_ms:>12} {busiest_ms:>12} {peak_mb!s:>9}\n"
DIAGNOSES = [f"Diagnosis {number}" for number in range(200)]
REGIONS = ["North", "East", "South", "West"]
VALUES = ", ".join(f'"{name}"' for name in DIAGNOSES)

RULES = f"""\
format = 1
title = "Registry"
other_columns = "insensitive"
[columns.diagnosis]
role = "sensitive"
kind = "categorical"
values = [{VALUES}]
[[policy]]
attributes = ["diagnosis"]
mechanism = "uniform"
[[recipients]]
name = "Office"
levels = {{ diagnosis = {{ retention_probability = 0.6 }} }}
[[recipients]]
name = "Public"
levels = {{ diagnosis = {{ retention_probability = 0.1 }} }}
"""


def write_registry(path: Path, rows: int) -> None:
    """Write a file of so many rows and four columns, in CSV or Parquet, in parts."""
    random = np.random.default_rng(1)

    def drawn(values: list[str], count: int) -> pa.Array:
        codes = random.integers(0, len(values), count, dtype=np.int16)
        return pa.DictionaryArray.from_arrays(codes, values).cast(pa.string())

    schema = pa.schema(
        [("year", pa.int16()), ("days", pa.int16())]
        + [(name, pa.string()) for name in ("region", "diagnosis")]
    )
    kind = pa.parquet.ParquetWriter if path.suffix == ".parquet" else pa.csv.CSVWriter
    with kind(path, schema) as writer:
        for begin in range(0, rows, BLOCK):
            block = min(BLOCK, rows - begin)
            columns = [
                pa.array(random.integers(1930, 2020, block, dtype=np.int16)),
                pa.array(random.integers(1, 90, block, dtype=np.int16)),
                drawn(REGIONS, block),
                drawn(DIAGNOSES, block),
            ]
            writer.write_table(pa.table(columns, schema=schema))


def peak_mb() -> int | None:
    """Return the most memory since this was asked last, in megabytes; None where it isn't told."""
    status, forget = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not forget.exists():
        return None
    told = dict(line.split(":", 1) for line in status.read_text().splitlines())
    forget.write_text("5")
    return round(int(told["VmHWM"].split()[0]) * 1024 / 1e6)


class Person:
    """Somebody at the window, whose waits are told."""

    def __init__(self, window: Any, tell: Callable[[str, Heartbeat], None]) -> None:
        self.window, self.session, self._tell = window, window.session, tell

    @contextmanager
    def waits_while(self, what: str) -> Iterator[None]:
        """Note the longest wait of a block, and of the jobs that it started."""
        with Heartbeat() as heart:
            yield
            self.waits_for_jobs()
        self._tell(what, heart)

    def waits_until(self, condition: Callable[[], bool]) -> None:
        deadline = QDeadlineTimer(round(PATIENCE * 1000))
        while not condition():
            if deadline.hasExpired():
                raise TimeoutError("the window did not come to it")
            QTest.qWait(10)

    def waits(self, beats: int = 30) -> None:
        """Give the window the time of some beats to begin what it was asked for."""
        with Heartbeat() as heart:
            self.waits_until(lambda: heart.beats >= beats)

    def waits_for_jobs(self) -> None:
        self.waits()
        self.waits_until(lambda: not self.session.runner.jobs)

    def waits_for_turns(self) -> None:
        """Wait until what is built beside the work is there."""
        self.waits_until(lambda: not turns().busy)

    def waits_for_work(self, part: float) -> None:
        """Wait until some job came at least so far."""
        self.waits_until(lambda: any(job.fraction >= part for job in self.session.runner.jobs))

    def cancels(self) -> None:
        for job in self.session.runner.jobs:
            job.cancel()
        self.waits_for_jobs()

    def clicks(self, button: Any) -> None:
        self.waits_until(button.isEnabled)
        button.click()

    def releases(self, folder: Path) -> None:
        panel = self.window.panels["releases"]
        self.window.show_panel("releases")
        panel.form.folder.setText(str(folder))
        self.waits_for_jobs()
        panel.readiness.reason.setText("a measurement")
        self.clicks(panel.primary)

    def drags(self, to: float, steps: int = 20) -> None:
        """Drag the chosen rung to a trust, as the pointer does."""
        ladder = self.window.panels["policy"].page.ladder
        held = next(rung for rung in ladder._rungs if rung.name == ladder._selected)
        x = round(sum(ladder._rails) / 2)
        begin, end = ladder.y_of(held.trust), ladder.y_of(to)
        left = Qt.MouseButton.LeftButton
        QTest.mousePress(ladder, left, pos=QPoint(x, round(begin)))
        for step in range(1, steps + 1):
            QTest.mouseMove(ladder, QPoint(x, round(begin + (end - begin) * step / steps)))
            QTest.qWait(10)
        QTest.mouseRelease(ladder, left, pos=QPoint(x, round(end)))


def go_through(person: Person, table: Path, folder: Path) -> None:
    """Do the work of a custodian, from opening to releasing."""
    window, session = person.window, person.session
    rules = folder / "rules.toml"
    rules.write_text(RULES, encoding="utf-8")
    with person.waits_while("opening is cancelled"):
        window.open_file(table)
        person.clicks(window.panels["data"].primary)
        person.waits_for_work(0.3)
        person.cancels()
    with person.waits_while("opening"):
        person.clicks(window.panels["data"].primary)
        person.waits_until(lambda: session.source is not None)
    with person.waits_while("applying rules"):
        window.rules.apply(rules)
        person.waits_until(lambda: bool(session.document.recipients))
    for name in window.panels:
        with person.waits_while(f"first sight of {name}"):
            window.show_panel(name)
    change_the_policy(person)
    look_at_the_preview(person)
    project = ProjectFile.create(
        folder / "registry.sfumato", "a passphrase", session.document, cost=ScryptCost(16)
    )
    session.set_project(project, keep_state=True)
    with person.waits_while("a release is cancelled"):
        person.releases(folder / "cancelled")
        person.waits_for_work(0.4)
        person.cancels()
    with person.waits_while("releasing"):
        person.releases(folder / "released")
        person.waits_until(lambda: len(project.releases) == 2)
    with person.waits_while("verifying"):
        window.panels["releases"].verify(next((folder / "released").iterdir()))
    window.show_panel("audit")
    audit = window.panels["audit"]
    for page in filter(audit.questions.offers, audit.pages):
        with person.waits_while(f"audit: {page.translated_title()}"):
            audit.show_page(type(page))


def change_the_policy(person: Person) -> None:
    """Move a rung, and protect by another mechanism and back."""
    panel = person.window.panels["policy"]
    person.window.show_panel("policy")
    person.waits_for_jobs()
    for mechanism in ("per-value", "matrix", "distribution", "uniform"):
        panel.page.mechanism.setFocus()
        person.waits_for_turns()
        with person.waits_while(f"the mechanism becomes {mechanism}"):
            panel.page.mechanism_chosen.emit(mechanism)
        with person.waits_while(f"a rung is dragged, {mechanism}"):
            person.drags(0.35)


def look_at_the_preview(person: Person) -> None:
    """Look at another recipient, and at what an undone edit changes."""
    panel = person.window.panels["preview"]
    person.window.show_panel("preview")
    person.waits_for_jobs()
    with person.waits_while("the preview of another recipient"):
        panel.recipient.set_value("Public")
        panel.recipient.chosen.emit("Public")
    with person.waits_while("an edit while the preview is shown"):
        person.session.undo()


def measure_waits(chosen: Namespace) -> None:
    """Print the waits of each step."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    rows = chosen.rows or USUAL_ROWS

    def tell(case: str, heart: Heartbeat) -> None:
        found = {"longest_ms": round(heart.longest * 1e3), "busiest_ms": round(heart.busiest * 1e3)}
        line = {"bench": "window", "case": case, "rows": rows, **found, "peak_mb": peak_mb()}
        sys.stdout.write(json.dumps(line) + "\n" if chosen.json else LINE.format(**line))
        sys.stdout.flush()

    application = make_application()
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "registry.parquet"
        write_registry(table, rows)
        store = MemoryStore()
        MemoryLimit(store).choose(MEGABYTES)
        window = MainWindow(Session(store=store))
        spare_what_is_loaded()
        window.panels.all_built.connect(spare_what_is_loaded)
        window.resize(1366, 768)
        window.show()
        person = Person(window, tell)
        person.waits()
        if not chosen.json:
            sys.stdout.write(f"{rows:,} rows, milliseconds\n")
            heads = {"case": "while", "longest_ms": "longest wait", "busiest_ms": "window's CPU"}
            sys.stdout.write(LINE.format(**heads, peak_mb="peak MB"))
        go_through(person, table, Path(folder))
        window.session.close()
    application.closeAllWindows()
