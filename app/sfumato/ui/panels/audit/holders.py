"""Who holds what, a tick for each member, and what open columns tell beside the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QLabel, QWidget

from sfumato.analysis.holdings import Holding
from sfumato.analysis.open_columns import figure_sentences
from sfumato.engine.matrices.privacy import epsilon_of_gamma
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import local_day, number, typeset
from sfumato.ui.panels.audit.wording import level_text
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.tables import Cell, Heading, TableView, TickedModel

NAME, LEVEL, ODDS, EPSILON, SINCE = range(5)
MOST_ROWS_SHOWN: Final = 8
WIDE: Final = 480
"""From this width on, the dates are shown."""


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


class HoldersModel(TickedModel):
    """A line for each recipient, the most trusted first; new ones are ticked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._holdings: tuple[Holding, ...] = ()
        headings = (
            Heading(self.tr("Recipient")),
            Heading(self.tr("Level"), tabular=True),
            Heading("γ", self.tr("How far the release multiplies anyone's odds at most (γ)"), True),
            Heading("ε", self.tr("The logarithm of γ: local differential privacy"), True),
            Heading(self.tr("Held"), tabular=True),
        )
        self.lay_out(0, headings)

    @property
    def coalition(self) -> tuple[Holding, ...]:
        """What the ticked recipients hold, the most trusted first."""
        return tuple(h for h in self._holdings if self.is_ticked(h.recipient))

    @property
    def has_odds(self) -> bool:
        """Whether it is known how far any release multiplies odds: not so for numbers."""
        return any(holding.matrix is not None for holding in self._holdings)

    def show_holdings(self, holdings: Sequence[Holding]) -> None:
        """Show who holds what."""
        self._holdings = tuple(holdings)
        self.show_lines([holding.recipient for holding in holdings])

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        holding = self._holdings[row]
        odds = holding.odds
        since = self.tr("adopted") if holding.adopted else self.tr("planned")
        if holding.recorded_at is not None:
            since = self.tr("since {day}").format(day=local_day(holding.recorded_at))
        texts = (
            holding.recipient,
            level_text(holding),
            number(odds) if odds is not None else "–",
            number(epsilon_of_gamma(odds)) if odds is not None else "–",
            since,
        )
        return Cell(texts[column], f"{holding.recipient}: {since}")


class HoldersTable(TableView):
    """The table of those who hold something."""

    def __init__(self, model: HoldersModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_numbers=False)
        self.setModel(model)
        self._holders = model
        self.setProperty("framed", False)
        self.setAccessibleName(self.tr("Members of the coalition"))
        self.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(44)

    def fit_rows(self) -> None:
        """Take the height that the lines need, up to a few, and the columns that tell anything."""
        for column in (ODDS, EPSILON):
            self.setColumnHidden(column, not self._holders.has_odds)
        lines = min(max(self.model().rowCount(), 2), MOST_ROWS_SHOWN)
        self.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the dates to the tips where names would not have room beside them."""
        super().resizeEvent(event)
        self.setColumnHidden(SINCE, self.width() < WIDE)
