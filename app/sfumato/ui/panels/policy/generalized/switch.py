"""Perturbed releases or a generalized table: the two ways of the Policy panel."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from sfumato.ui.panels.policy.generalized.page import GeneralizedPage
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import Segments

PERTURBED, GENERALIZED = "perturbed", "generalized"


class Ways(QStackedWidget):
    """The two ways to give the table away, one in sight.

    Parameters
    ----------
    session
        What is open.
    perturbed
        The page about perturbed releases.
    """

    changed = Signal()
    """The other way came into sight, or the generalized table got further."""

    def __init__(self, session: Session, perturbed: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.segments = Segments(
            [(PERTURBED, tr("Perturbed releases")), (GENERALIZED, tr("Generalized table"))], self
        )
        self.segments.setAccessibleName(tr("How the table is given away"))
        self.page = GeneralizedPage(session, self)
        self._pages = {PERTURBED: perturbed, GENERALIZED: self.page}
        for page in self._pages.values():
            self.addWidget(page)
        self.segments.chosen.connect(self.show_way)
        self.page.state_changed.connect(self.changed)
        session.project_changed.connect(self._bring_what_is_decided)

    @property
    def perturbing(self) -> bool:
        """Whether perturbed releases are in sight."""
        return self.segments.value == PERTURBED

    @property
    def instead(self) -> bool:
        """Whether a generalized table takes the place of perturbed releases."""
        document = self._session.document
        return document.generalization is not None and not document.policy

    def _bring_what_is_decided(self) -> None:
        """Begin a project that is about a generalized table at that."""
        if self.instead:
            self.show_way(GENERALIZED)

    def show_way(self, way: object) -> None:
        """Bring one of the two ways into sight."""
        self.segments.set_value(str(way))
        self.setCurrentWidget(self._pages[str(way)])
        self.changed.emit()
