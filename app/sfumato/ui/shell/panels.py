"""The panels of the window, each built when it is first needed."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.analysis.steps import Step
from sfumato.ui.panels import all_panels
from sfumato.ui.panels.base import Panel, PanelKind
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.paint_queue import Steps, turns


class Panels(QObject):
    """The panels by name; looking one up builds it.

    At the start there is only the one in sight. Once something is open, the others are built as
    well, one a turn: the rail shows how far each step is.

    Parameters
    ----------
    session
        What the panels are about.
    parent
        What they stand on.
    """

    state_changed = Signal(str)
    """A panel's state may be another, by the panel's name."""
    all_built = Signal()
    """Every panel is there, and with them all that the window ever imports."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._kinds: Mapping[str, PanelKind] = {kind.name: kind for kind in all_panels()}
        self._built: dict[str, Panel] = {}
        self._begun: dict[str, Panel] = {}
        self.stack = QStackedWidget(parent)
        session.document_changed.connect(self._need_all)
        session.project_changed.connect(self._need_all)

    def __iter__(self) -> Iterator[str]:
        """Return the names, in the order of the work."""
        return iter(self._kinds)

    def __len__(self) -> int:
        """Return how many panels there are, built or not."""
        return len(self._kinds)

    def __contains__(self, name: object) -> bool:
        """Return whether there is a panel of that name."""
        return name in self._kinds

    def __getitem__(self, name: str) -> Panel:
        """Return a panel."""
        if name not in self._built:
            panel = self._begun.pop(name, None) or self._kinds[name](self._session, self.stack)
            panel.complete()
            self._built[name] = panel
            self.stack.addWidget(panel)
            panel.state_changed.connect(lambda: self.state_changed.emit(name))
            self.state_changed.emit(name)
        return self._built[name]

    def step(self, name: str) -> Step:
        """Return how far a step is, without building its panel."""
        built = self._built.get(name)
        return self._session.steps.of(name) if built is None else built.step()

    @property
    def built(self) -> tuple[str, ...]:
        """The names of the panels that are built, in the order of the work."""
        return tuple(name for name in self if name in self._built)

    def values(self) -> list[Panel]:
        """Return all panels, which builds them."""
        return [self[name] for name in self]

    def _need_all(self) -> None:
        """Build what is not there yet, once something is open that it could tell of."""
        session = self._session
        waits = turns().waits(self.stack)
        if len(self._built) < len(self) and not waits and session.document.columns:
            turns().ask(self.stack, self._building())

    def _building(self) -> Steps:
        """Import each module and build each panel: steps, between which the window answers."""
        for name in self:
            if name in self._built:
                continue
            package = importlib.import_module(f"sfumato.ui.panels.{name}")
            for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
                if module.name not in sys.modules:
                    importlib.import_module(module.name)
                    yield
            if name not in self._built:
                panel = self._kinds[name](self._session, self.stack, at_once=False)
                self._begun[name] = panel
                yield
                yield from panel.steps
            self[name]
            yield
        self.all_built.emit()
