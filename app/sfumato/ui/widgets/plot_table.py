"""What a plot shows, as a table: for who can't see it, and for who wants the figures."""

from __future__ import annotations

from typing import Final

import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Qt
from PySide6.QtWidgets import QWidget

from sfumato.formats.language import value_name
from sfumato.plots.figure import PlotFigure
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.layout import column, label, say
from sfumato.ui.widgets.tables import TableView

DIGITS: Final = 5
"""A figure is read as well as it can be drawn; the file of values has all digits."""

HEADINGS: Final = (
    QT_TRANSLATE_NOOP("Plots", "about"),
    QT_TRANSLATE_NOOP("Plots", "after"),
    QT_TRANSLATE_NOOP("Plots", "at"),
    QT_TRANSLATE_NOOP("Plots", "attacker"),
    QT_TRANSLATE_NOOP("Plots", "average level"),
    QT_TRANSLATE_NOOP("Plots", "before"),
    QT_TRANSLATE_NOOP("Plots", "change"),
    QT_TRANSLATE_NOOP("Plots", "classes after"),
    QT_TRANSLATE_NOOP("Plots", "classes before"),
    QT_TRANSLATE_NOOP("Plots", "copies"),
    QT_TRANSLATE_NOOP("Plots", "correlated"),
    QT_TRANSLATE_NOOP("Plots", "error"),
    QT_TRANSLATE_NOOP("Plots", "estimate"),
    QT_TRANSLATE_NOOP("Plots", "estimated"),
    QT_TRANSLATE_NOOP("Plots", "expected"),
    QT_TRANSLATE_NOOP("Plots", "figure"),
    QT_TRANSLATE_NOOP("Plots", "from"),
    QT_TRANSLATE_NOOP("Plots", "groups"),
    QT_TRANSLATE_NOOP("Plots", "height"),
    QT_TRANSLATE_NOOP("Plots", "high"),
    QT_TRANSLATE_NOOP("Plots", "in coalition"),
    QT_TRANSLATE_NOOP("Plots", "independent"),
    QT_TRANSLATE_NOOP("Plots", "independent up to"),
    QT_TRANSLATE_NOOP("Plots", "joined"),
    QT_TRANSLATE_NOOP("Plots", "ladder"),
    QT_TRANSLATE_NOOP("Plots", "ladder up to"),
    QT_TRANSLATE_NOOP("Plots", "least"),
    QT_TRANSLATE_NOOP("Plots", "level"),
    QT_TRANSLATE_NOOP("Plots", "linearly dependent"),
    QT_TRANSLATE_NOOP("Plots", "low"),
    QT_TRANSLATE_NOOP("Plots", "lower quartile"),
    QT_TRANSLATE_NOOP("Plots", "mean"),
    QT_TRANSLATE_NOOP("Plots", "median"),
    QT_TRANSLATE_NOOP("Plots", "most"),
    QT_TRANSLATE_NOOP("Plots", "noise"),
    QT_TRANSLATE_NOOP("Plots", "one row"),
    QT_TRANSLATE_NOOP("Plots", "pooled"),
    QT_TRANSLATE_NOOP("Plots", "realized"),
    QT_TRANSLATE_NOOP("Plots", "recipient"),
    QT_TRANSLATE_NOOP("Plots", "reconstructed"),
    QT_TRANSLATE_NOOP("Plots", "record share"),
    QT_TRANSLATE_NOOP("Plots", "records"),
    QT_TRANSLATE_NOOP("Plots", "records after"),
    QT_TRANSLATE_NOOP("Plots", "records before"),
    QT_TRANSLATE_NOOP("Plots", "released"),
    QT_TRANSLATE_NOOP("Plots", "restored"),
    QT_TRANSLATE_NOOP("Plots", "retention"),
    QT_TRANSLATE_NOOP("Plots", "share"),
    QT_TRANSLATE_NOOP("Plots", "spread"),
    QT_TRANSLATE_NOOP("Plots", "standard error"),
    QT_TRANSLATE_NOOP("Plots", "table share"),
    QT_TRANSLATE_NOOP("Plots", "to"),
    QT_TRANSLATE_NOOP("Plots", "true"),
    QT_TRANSLATE_NOOP("Plots", "trust"),
    QT_TRANSLATE_NOOP("Plots", "trust from"),
    QT_TRANSLATE_NOOP("Plots", "trust to"),
    QT_TRANSLATE_NOOP("Plots", "truth"),
    QT_TRANSLATE_NOOP("Plots", "upper quartile"),
    QT_TRANSLATE_NOOP("Plots", "value"),
    QT_TRANSLATE_NOOP("Plots", "violates"),
    QT_TRANSLATE_NOOP("Plots", "violating groups"),
    QT_TRANSLATE_NOOP("Plots", "who"),
    QT_TRANSLATE_NOOP("Plots", "within"),
)
"""How plots call their columns; what else heads one is a name of the table or of a recipient."""


def heading(column: str) -> str:
    """Return the heading of a plot's column, in the person's language."""
    words = str(column).replace("_", " ")
    if words not in HEADINGS:
        return str(column)
    said = QCoreApplication.translate("Plots", words)
    return said[:1].upper() + said[1:]


def readable(values: pd.DataFrame) -> pd.DataFrame:
    """Return a plot's values as they are read: with headings, and no more digits than count."""
    shown = values.copy()
    for name in shown.columns[[kind.kind == "f" for kind in shown.dtypes]]:
        shown[name] = [float(f"{value:.{DIGITS}g}") for value in shown[name]]
    for name in shown.columns[[kind.kind == "O" for kind in shown.dtypes]]:
        shown[name] = [value_name(v) if isinstance(v, str) else v for v in shown[name]]
    return shown.set_axis([heading(name) for name in shown.columns], axis=1)


class PlotTable(QWidget):
    """A plot's sentence, and below it the values that it shows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._headline = label("", "strong", wrap=True)
        self._subtitle = label("", "small", wrap=True)
        self.table = TableView(self, row_numbers=False)
        self.table.setProperty("framed", True)
        # The corner with the plot's menu stays free.
        head = column(self._headline, self._subtitle, spacing=Space.TIGHT)
        head.setContentsMargins(0, 0, 40, 0)
        body = column(spacing=Space.INSIDE)
        body.addLayout(head)
        body.addWidget(self.table, 1)
        body.setContentsMargins(2, 2, 2, 2)
        self.setLayout(body)
        self.setFocusProxy(self.table)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)

    def show_figure(self, figure: PlotFigure) -> None:
        """Show what a figure shows."""
        self._headline.setText(figure.headline)
        say(self._subtitle, figure.subtitle)
        self.table.setAccessibleName(figure.headline)
        self.table.setAccessibleDescription(figure.subtitle)
        self.table.show_frame(readable(figure.data))
