"""What a found file tells: the verdict, and every release with what speaks for it."""

from __future__ import annotations

import pandas as pd
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.project.verification.leak import LeakReport
from sfumato.ui.look.theme import Space
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, button, label, row
from sfumato.ui.widgets.tables import FrameModel, TableView

ROWS_IN_SIGHT = 8


class FindingCard(Card):
    """Asks for a file, and shows which releases it comes from."""

    asked = Signal()
    """The person wants to choose a file."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._icon = IconLabel("verify", "muted", 24)
        self.verdict = label(self.tr("Whose copy is it?"), "heading", wrap=True)
        self.about = label("", "muted", wrap=True)
        self.choose = button(self.tr("Choose the found &file…"), self.asked.emit, "primary")
        self.table = TableView(self, row_numbers=False)
        self.table.setAccessibleName(self.tr("Releases that the file may come from"))
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.table.hide()
        self._model: FrameModel | None = None
        head = row(self._icon)
        head.addWidget(self.verdict, 1)
        self.body.addLayout(head)
        self.body.addWidget(self.about)
        self.body.addWidget(self.table)
        self.body.addSpacing(Space.INSIDE)
        self.body.addLayout(row(self.choose, None))
        self.show_nothing()

    def show_nothing(self) -> None:
        """Say what the card is for."""
        self._icon.show_icon("verify", "muted")
        self.verdict.setText(self.tr("Whose copy is it?"))
        self.about.setText(
            self.tr(
                "Choose a file that turned up where it should not be. A part of a release is"
                " enough, in any order, with columns missing, or mixed from two recipients'"
                " files."
            )
        )
        self.table.hide()

    def show_working(self, name: str) -> None:
        """Say that a file is being compared."""
        self._icon.show_icon("clock", "muted")
        self.verdict.setText(self.tr("Comparing {name} with every release").format(name=name))
        self.about.setText(self.tr("Each release is made again from the table and the key."))
        self.table.hide()

    def show_report(self, name: str, report: LeakReport) -> None:
        """Show where a file comes from."""
        found = bool(report.traced.sources)
        token = "good" if found else "caution"
        self._icon.show_icon(token, token)
        self.verdict.setText(report.verdict)
        self.about.setText(self._about(name, report))
        self._fill(report)

    def _about(self, name: str, report: LeakReport) -> str:
        said = [
            self.tr("{name}, compared by {columns}.").format(
                name=name, columns=", ".join(report.compared)
            )
        ]
        if report.traced.sources and report.traced.altered >= 0.001:
            said.append(
                self.tr("{share:.1%} of its rows come from none of these releases.").format(
                    share=report.traced.altered
                )
            )
        if report.ignored:
            said.append(
                self.tr("In no release, so left aside: {columns}.").format(
                    columns=", ".join(report.ignored)
                )
            )
        return " ".join(said)

    def _fill(self, report: LeakReport) -> None:
        suspects = report.traced.suspects
        columns: dict[str, list[object]] = {
            self.tr("Release to"): [report.name_of(suspect) for suspect in suspects],
            self.tr("Source"): [
                self.tr("yes") if suspect.is_source else self.tr("no") for suspect in suspects
            ],
        }
        if report.traced.mixed:
            columns[self.tr("Share, %")] = [round(100 * s.share, 1) for s in suspects]
        else:
            columns[self.tr("Probability, %")] = [round(100 * s.posterior, 2) for s in suspects]
        columns[self.tr("Rows only here")] = [suspect.own_rows for suspect in suspects]
        frame = pd.DataFrame(columns)
        self._model = FrameModel(frame)
        self.table.setModel(self._model)
        self.table.setSortingEnabled(False)
        self.table.fit_columns()
        header = self.table.horizontalHeader()
        header.setSectionResizeMode(0, QHeaderView.ResizeMode.Stretch)
        rows = min(len(frame), ROWS_IN_SIGHT)
        self.table.setFixedHeight((rows + 1) * Space.FIELD + 16)
        self.table.show()
