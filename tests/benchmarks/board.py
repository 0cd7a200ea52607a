"""How soon the board answers on 1,000,000 rows: a cell that is dragged, and the gauges after it.

The window is a real one that nobody sees. *drag* is one step of a cell until it is drawn;
*gauges* is one step until the three figures above every recipient are those of the new settings.
Each goes forth and back by turns, between two levels; *unseen levels* goes on to others with every
step. Baseline: one pass over the rows that sorts one integer for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import cycle
from statistics import median
from time import thread_time
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.ui.state.insights import SurveyedTable
from tests.benchmarks.harness import Case
from tests.in_batches import in_batches

BASELINE = "numpy.sort of one integer a row"
ROWS, QUICK_ROWS = 1_000_000, 20_000
SHARES: Final = {"sex": 2, "region": 16, "occupation": 20, "education": 6, "marital_status": 4}
"""Quasi-identifiers of categories, with how many each has."""
SENSITIVE: Final = {"diagnosis": 30, "ward": 8}
LEVELS: Final = {"Partner": 0.6, "Contract": 0.3, "Public file": 0.1}
KS: Final = {"Partner": 5, "Contract": 5, "Public file": 20}


def table_of(rows: int) -> pd.DataFrame:
    """Return made-up people: 12 columns."""
    draw = np.random.default_rng(1)
    frame = pd.DataFrame({"person": np.arange(rows), "age": draw.integers(0, 95, rows)})
    for name, values in {**SHARES, **SENSITIVE}.items():
        shares = 1 / np.arange(1, values + 1)
        codes = draw.choice(values, rows, p=shares / shares.sum())
        names = [f"{name} {code + 1}" for code in range(values)]
        frame[name] = pd.Categorical.from_codes(codes, names).astype("str")
    frame["children"] = draw.integers(0, 6, rows)
    frame["visits"] = draw.integers(1, 30, rows)
    frame["cost"] = np.round(np.exp(draw.normal(7, 1, rows)), 2)
    return frame


class Window:
    """A window with the board of a table in sight."""

    def __init__(self, rows: int) -> None:
        from PySide6.QtCore import QCoreApplication, QEvent, Qt  # noqa: PLC0415 - nothing else needs Qt

        from sfumato.engine.table.table import Table  # noqa: PLC0415
        from sfumato.ui.shell.application import make_application  # noqa: PLC0415
        from sfumato.ui.shell.main_window import MainWindow  # noqa: PLC0415
        from sfumato.ui.state.session import Session  # noqa: PLC0415
        from sfumato.ui.state.settings import MemoryStore  # noqa: PLC0415

        make_application(["sfumato"])
        self._process: Callable[[], None] = QCoreApplication.processEvents
        self.session = Session(store=MemoryStore())
        self.window = MainWindow(self.session)
        self.window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        self.window.resize(1366, 768)
        self.window.show()
        updates = QEvent.Type.UpdateRequest
        self._draw = partial(QCoreApplication.sendPostedEvents, self.window, updates)
        table = Table(table_of(rows))
        self.session.open_table("Open", SurveyedTable.of(in_batches(table)), decided(table))
        self.window.show_panel("policy")
        self.board: Any = self.window.panels["policy"].board  # type: ignore[attr-defined]
        self._less: dict[str, bool] = {}
        self._unseen = cycle([*SHARES, "age"])
        self._taken: list[float] = []
        self.settle()

    def settle(self) -> None:
        """Wait until no job runs."""
        while self.session.runner.jobs or self.board.model.stale:
            self._process()

    def drag(self, name: str) -> None:
        """Move a cell by a step, forth and back by turns, until it is drawn."""
        self._less[name] = less = not self._less.get(name, False)
        if not self._move(name, -1 if less else 1):
            raise RuntimeError("the cell did not move")

    def _move(self, name: str, steps: int) -> bool:
        """Move a cell until it is drawn; return whether it did."""
        index = self.board.model.index(*self.board.model.place_of(name, "Contract"))
        before, began = (index.data(), self.board.model.word(index)), thread_time()
        self.board.view.moved.emit(index, steps)
        self._draw()
        if (index.data(), self.board.model.word(index)) == before:
            return False
        self._taken.append(thread_time() - began)
        return True

    def taken(self) -> dict[str, object]:
        """Return what the main thread took of the processor for a step, in milliseconds."""
        found, self._taken = median(self._taken), []
        return {"main_thread_ms": round(1000 * found, 1)}

    def weigh(self, name: str) -> None:
        """Move a cell by a step until the gauges are those of the new settings."""
        self.drag(name)
        self._follow()

    def explore(self) -> None:
        """Show one column after the other a level more coarsely, until the gauges have followed."""
        if not any(self._move(next(self._unseen), -1) for _ in range(len(SHARES) + 1)):
            raise RuntimeError("every column is at its highest level")
        self._follow()

    def _follow(self) -> None:
        if not self.board.model.stale:
            raise RuntimeError("the gauges are not asked for")
        while self.board.model.stale:
            self._process()


def decided(table: Any) -> Any:
    """Return the document: roles, two mechanisms, three recipients with a view each."""
    from sfumato.analysis.coarsening.views import with_proposed_hierarchies, with_statement  # noqa: PLC0415
    from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role  # noqa: PLC0415
    from sfumato.project.document.model import (  # noqa: PLC0415
        Document,
        PolicyEntry,
        Recipient,
    )

    quasi = {**dict.fromkeys(SHARES, Kind.CATEGORICAL), "age": Kind.NUMERIC}
    specs = []
    for name in table.columns:
        role = Role.QUASI_IDENTIFIER if name in quasi else Role.INSENSITIVE
        spec = ColumnSpec(name, role, quasi.get(name, Kind.NUMERIC))
        if name in SENSITIVE:
            domain = Domain.of_column(table.column(name))
            spec = ColumnSpec(name, Role.SENSITIVE, Kind.CATEGORICAL, domain)
        specs.append(replace(spec, role=Role.IDENTIFYING) if name == "person" else spec)
    people = tuple(
        Recipient(name, {each: {"retention_probability": level} for each in SENSITIVE})
        for name, level in LEVELS.items()
    )
    document = Document(
        title="people",
        columns=tuple(specs),
        policy=tuple(PolicyEntry((name,), "uniform") for name in SENSITIVE),
        recipients=people,
    )
    document, _ = with_proposed_hierarchies(document, table)
    for name, k in KS.items():
        document = with_statement(document, name, k, 0.02)
    return document


def cases(quick: bool) -> Iterator[Case]:
    rows = QUICK_ROWS if quick else ROWS
    window = Window(rows)
    numbers = np.random.default_rng(2).integers(0, 2**40, rows)
    sort = partial(np.sort, numbers)
    for what, name in (("randomised", "diagnosis"), ("coarsened", "age")):
        yield Case(f"drag a {what} cell", partial(window.drag, name), sort, facts=window.taken)
        window.settle()
        yield Case(
            f"gauges of a {what} cell", partial(window.weigh, name), sort, facts=window.taken
        )
        window.settle()
    yield Case("gauges at unseen levels", window.explore, sort, facts=window.taken)
    window.settle()
