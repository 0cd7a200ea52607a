"""What the next edition of a table changes, told before it is taken."""

from __future__ import annotations

import pandas as pd
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer, AnswerTable, CellKind
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import typeset
from sfumato.ui.widgets.layout import fill, label
from sfumato.ui.widgets.tables import TableView

MOST_LINES = 8
"""Lines of the table in sight; it scrolls through more."""
WIDTH = 560
"""Of the table, which has four columns."""


class NextEditionDialog(Dialog):
    """Tells what an edition changes and what that discloses, and asks whether to take it.

    Parameters
    ----------
    file
        What the edition is called.
    answer
        What is told of it.
    """

    def __init__(self, file: str, answer: Answer, parent: QWidget | None = None) -> None:
        words = self.tr("What {file} changes as the next edition").format(file=file)
        super().__init__(words, "", parent)
        self.told = [label(typeset(sentence), wrap=True) for sentence in answer.sentences]
        self.remedies = [label(typeset(one), "muted", wrap=True) for one in answer.remedies]
        self.tables = [self._table_of(table) for table in answer.tables]
        fill(self.body, *self.told, *self.tables, *self.remedies)
        self.add_cancel()
        self.take = self.add_primary(self.tr("Go on with this edition"))

    def _table_of(self, told: AnswerTable) -> TableView:
        table = TableView(self, row_numbers=False)
        table.setAccessibleName(", ".join(told.header))
        lines = min(len(told.rows), MOST_LINES) + 1
        table.setFixedHeight(scaled(Space.FIELD * lines + Space.AROUND))
        table.setMinimumWidth(scaled(WIDTH))
        shown = zip(told.header, told.columns.values(), strict=True)
        table.show_frame(
            pd.DataFrame({name: _column(told, at, kind) for at, (name, kind) in enumerate(shown)})
        )
        return table


def _column(told: AnswerTable, at: int, kind: CellKind) -> pd.Series:
    """Return a column as it is shown: counts as numbers, where all are known."""
    cells = [row[at] for row in told.rows]
    if kind is CellKind.COUNT and None not in cells:
        return pd.Series(cells)
    return pd.Series([row[at] for row in told.texts])
