"""The first page: open a table, try the sample, or go on with a recent project."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import EmptyState, button, column, label

SHOWN = 4


class WelcomePage(QWidget):
    """Offers the ways to begin.

    Parameters
    ----------
    session
        Knows the recent projects.
    """

    table_wanted = Signal()
    sample_wanted = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self.empty = EmptyState(
            "table",
            self.tr("Open a table, or drop one here"),
            self.tr(
                "One row a person, in CSV, Excel, Parquet, SPSS, Stata or SAS. The file stays"
                " where it is: Sfumato only reads it."
            ),
        )
        self.open_button = self.empty.add_button(
            button(self.tr("Open a table…"), self.table_wanted.emit, "primary", "open")
        )
        self.sample_button = self.empty.add_button(
            button(self.tr("Try the sample"), self.sample_wanted.emit, icon="sample")
        )
        self.empty.add_note(self.tr("The sample is a made-up clinic with 10 000 patients."))
        self._recent = QVBoxLayout()
        self._recent.setSpacing(Space.TIGHT)
        self._recent_box = QWidget()
        self._recent_box.setLayout(self._recent)
        layout = column(spacing=0)
        layout.addWidget(self.empty, 1)
        layout.addWidget(self._recent_box, 0, Qt.AlignmentFlag.AlignHCenter)
        self.setLayout(layout)
        session.project_changed.connect(self.refresh)
        self.refresh()

    def refresh(self) -> None:
        """List the recent projects."""
        while (item := self._recent.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        paths = self._session.recent.paths[:SHOWN]
        self._recent_box.setVisible(bool(paths))
        if not paths:
            return
        heading = label(self.tr("Recent projects"), "caption")
        self._recent.addWidget(heading, 0, Qt.AlignmentFlag.AlignHCenter)
        for path in paths:
            made = button(path.stem, self._opener(path), "quiet", "file", str(path))
            self._recent.addWidget(made, 0, Qt.AlignmentFlag.AlignHCenter)
        self._recent.addSpacing(Space.AROUND)

    def _opener(self, path: Path) -> _Open:
        return _Open(self._session, path)


class _Open:
    """Asks the session for a project."""

    def __init__(self, session: Session, path: Path) -> None:
        self._session = session
        self._path = path

    def __call__(self) -> None:
        self._session.project_requested.emit(self._path)
