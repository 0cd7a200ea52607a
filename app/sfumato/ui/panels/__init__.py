"""The panels: one package each, found by being here, and built when it is first needed.

A package here that defines ``PANEL`` (a `sfumato.ui.panels.base.PanelKind`) is a panel of the
window. Nothing else lists them.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterator, Mapping
from functools import cache

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.analysis.steps import Step
from sfumato.engine.core.discovery import found_in
from sfumato.ui.panels.base import Panel, PanelKind
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.paint_queue import Steps, turns


@cache
def all_panels() -> tuple[PanelKind, ...]:
    """Return what is known of the panels, in the order of the work; none is built by this."""
    kinds: list[PanelKind] = found_in(__name__, "PANEL")
    return tuple(sorted(kinds, key=lambda panel: panel.order))


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
            package = importlib.import_module(f"{__name__}.{name}")
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
