"""What a state of the window is arranged on: a fresh window, the sample and a project at hand."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from PySide6.QtCore import Qt

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.generalization.hierarchies import propose_hierarchy
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.reading import detect_options, digest_of
from sfumato.jobs import Job
from sfumato.project import SUFFIX
from sfumato.project.document.generalization import OtherTableFile
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.project_file import ProjectFile
from sfumato.project.publication.generalization_pipeline import proposed
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release import make_release
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import read_source
from sfumato.project.store.secret import ScryptCost
from sfumato.resources import resource_path
from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.data.panel import DataPanel
from sfumato.ui.pictures import settle, take_down
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import MemoryLimit
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.proposed import proposed_columns
from tests.ui.hands import at_settings

SAMPLE: Final = "clinic"
NUMBERS: Final = ("length_of_stay", "cost")
"""The sample's columns of numbers that depend on each other."""
GENERALIZED: Final = ("sex", "birth_year", "region", "occupation", "admission_date")
"""The sample's columns that are generalized."""
QUICK: Final = ScryptCost(2**4)
"""Pictures of made-up people need no protection from guessing."""


class Stage:
    """A window to arrange a scene in, with the sample and a project at hand.

    Parameters
    ----------
    folder
        Where projects and bundles of the scene go; thrown away later.
    size
        The window's width and height.
    rows
        How many rows of the sample there are; all when None.
    names
        Other words for the sample's columns, values and recipients.
    """

    def __init__(
        self,
        folder: Path,
        size: tuple[int, int] = (1366, 768),
        rows: int | None = None,
        names: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.folder = folder
        self._rows, self._names = rows, names
        self._held: list[Job] = []
        self.session = Session(store=at_settings())
        self.window = MainWindow(self.session)
        self.window.setAttribute(Qt.WidgetAttribute.WA_DontShowOnScreen)
        self.window.resize(*size)
        self.window.show()
        self.settle()

    def panel(self, name: str) -> Panel:
        """Bring a panel into sight and return it."""
        self.window.show_panel(name)
        return self.window.panels[name]

    def settle(self) -> None:
        """Let every running job end and its result be shown, but of those that are held."""
        settle(self.session, self._held)

    def hold(self, title: str, fraction: float, text: str, key: str | None = None) -> Job:
        """Show a job that does not end by itself; it ends with the stage."""

        def work(context: Context) -> None:
            never = threading.Event()
            while True:
                context.report(fraction, text)
                never.wait(0.02)

        job = self.session.runner.run(title, work, key=key)
        job.set_progress(fraction, text)
        self._held.append(job)
        return job

    def called(self, name: str) -> str:
        """Return what a column of the sample is called on this stage."""
        return self._names.get(name, name)

    def sample(self) -> Path:
        """Return a copy of the sample in the scene's folder."""
        path = self.folder / f"{SAMPLE}.csv"
        if not path.exists():
            lines = self._resource("csv").splitlines(keepends=True)
            end = None if self._rows is None else self._rows + 1
            path.write_text("".join(lines[:end]), encoding="utf-8")
        return path

    def _resource(self, suffix: str) -> str:
        """Return a file of the sample, in this stage's words."""
        text = resource_path("samples", f"{SAMPLE}.{suffix}").read_text(encoding="utf-8")
        if self._rows is not None:  # classes are smaller in a part of the sample
            text = re.sub(r"suppression = [\d.]+", "suppression = 0.9", text)
            measured = 'mechanism = "gaussian"'  # and with their usual ε0 some draws tell no spread
            text = text.replace(measured, f"{measured}\nsettings = {{ measured_epsilon = 8 }}")
        if not self._names:
            return text
        words = re.compile(rf"\b({'|'.join(map(re.escape, self._names))})\b")
        return words.sub(lambda found: self._names[found[0]], text)

    def open_sample(self, *, with_rules: bool = True) -> Table:
        """Load the sample; with rules, it has a policy and three recipients."""
        path = self.sample()
        read, source = read_source(path, detect_options(path), Silent())
        table = read.in_memory(Silent())
        document = Document(title=SAMPLE, source=source, columns=proposed_columns(table))
        if with_rules:
            # Noise of its own in each scene would hide the spread of costs in 1 of some 200.
            document = apply_rules(
                self._resource("toml"), MemorySurvey(table), document, noise=NOISE
            )
        self.session.open_table("Open", SurveyedTable.of(read), document)
        self.settle()
        return table

    def open_long(self) -> None:
        """Load the sample as if it were too long for memory."""
        self.session.store.setValue(MemoryLimit.KEY, 0.001)
        panel = self.panel("data")
        assert isinstance(panel, DataPanel)
        panel.open_file(self.sample())
        self.settle()
        panel.load()
        self.settle()

    def open_numbers(self, *, together: bool = True, mechanism_name: str = "gaussian") -> Table:
        """Load the sample with two sensitive columns of numbers, protected by noise."""
        table = self.open_sample()
        document = self.session.document
        for name in NUMBERS:
            spec = ColumnSpec(name, Role.SENSITIVE, Kind.NUMERIC)
            document = document.with_column(spec)
        groups = (NUMBERS,) if together else tuple((name,) for name in NUMBERS)
        mechanism = mechanism_called(mechanism_name)
        entries = []
        for group in groups:
            columns = [encode_column(table, document.column(name)).attribute for name in group]
            settings = mechanism.first_settings(columns, NOISE)
            entries.append(PolicyEntry(group, mechanism.name, settings))
        stated = mechanism.default_statements(len(document.recipients))
        recipients = tuple(
            replace(recipient, statements={entry.key: statement for entry in entries})
            for recipient, statement in zip(document.recipients, stated, strict=True)
        )
        others = [c for c in document.sensitive if c.name not in NUMBERS]
        for spec in others:
            document = document.with_column(replace(spec, role=Role.INSENSITIVE))
        document = replace(document, policy=tuple(entries), recipients=recipients)
        self.session.edit("Protect numbers", document)
        self.settle()
        return table

    def generalize(self, *, others: Sequence[str] = (), **decided: Any) -> Table:
        """Load the sample with a generalized table, also beside others.

        Parameters
        ----------
        others
            For each other holder's table the column that it shows beside years of birth.
        decided
            What else is decided about the table.
        """
        table = self.open_sample()
        document = replace(self.session.document, policy=(), recipients=())
        for name in map(self.called, GENERALIZED):
            proposal = propose_hierarchy(document.column(name), table.column(name))
            document = document.with_hierarchy(name, proposal.recipe)
        start = proposed(document)
        assert start is not None
        sensitive = self.called(decided.get("sensitive", start.sensitive))
        decided["sensitive"] = sensitive
        if others:
            shown = map(self.called, others)
            tables = (self._other_table(table, sensitive, column) for column in shown)
            decided["others"] = tuple(tables)
        document = replace(document, generalization=replace(start, **decided))
        self.session.edit("Generalize", document)
        self.settle()
        return table

    def _other_table(self, table: Table, sensitive: str, column: str) -> OtherTableFile:
        """Write a table that another holder might have published, and return how it is read."""
        path = self.folder / f"{column} registry.csv"
        born = (table.column(self.called("birth_year")) // 30 * 30).astype("Int64").astype(
            str
        ) + " on"
        shown = {"born": born, column: table.column(column)}
        table.frame[[sensitive]].assign(**shown).to_csv(path, index=False)
        return OtherTableFile(
            path.stem.capitalize(),
            str(path),
            digest_of(path, Silent()),
            detect_options(path).to_dict(),
            ("born", column),
            sensitive,
        )

    def create_project(self, *, released: bool = False) -> ProjectFile:
        """Save the work as a project; when `released`, every recipient has a bundle."""
        path = self.folder / f"{SAMPLE}{SUFFIX}"
        project = ProjectFile.create(path, "made-up people", self.session.document, cost=QUICK)
        self.session.set_project(project, keep_state=True)
        if released and self.session.table is not None:
            for recipient in self.session.document.recipients:
                make_release(
                    project,
                    in_batches(self.session.table),
                    recipient.name,
                    self.folder / "bundles",
                    "csv",
                    Silent(),
                )
            self.session.ledger_changed.emit()
        self.settle()
        return project

    def close(self) -> None:
        """Take everything down, and leave no unsaved work behind to be offered."""
        self.session.forget_changes()
        self.session.runner.shutdown()
        self.session.close()
        take_down(self.window)


@dataclass(frozen=True)
class Scene:
    """One state of a panel.

    Parameters
    ----------
    name
        Part of the picture's file name.
    arrange
        Brings a fresh stage into the state.
    """

    name: str
    arrange: Callable[[Stage], object]
