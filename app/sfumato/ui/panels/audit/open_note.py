"""What the columns released unchanged tell beside the best member's release, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QLabel, QWidget

from sfumato.analysis.holdings import Holding
from sfumato.analysis.open_columns import figure_sentences
from sfumato.ui.look.wording import typeset
from sfumato.ui.state.session import Session


class OpenNote(QLabel):
    """Says what somebody learns who uses the columns released unchanged as well.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._best: tuple[str, Holding] | None = None
        self.setWordWrap(True)
        self.hide()
        session.open_columns_changed.connect(self._tell)

    def show_best(self, entry: str, coalition: Sequence[Holding]) -> None:
        """Tell of a policy entry and the most trusted member of a coalition."""
        self._best = (entry, coalition[0]) if coalition else None
        self._tell()

    def _tell(self) -> None:
        answer = self._session.open_columns() if self._best is not None else None
        told: tuple[str, ...] = ()
        if answer is not None and self._best is not None:
            entry, best = self._best
            told = figure_sentences(answer.beside(entry, best.recipient, best.level))
        self.setText(" ".join(typeset(sentence) for sentence in told))
        self.setVisible(bool(told))
