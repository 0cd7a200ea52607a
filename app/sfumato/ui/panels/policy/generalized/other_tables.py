"""The tables that other holders published: which there are, their classes, and their own l."""

from __future__ import annotations

from functools import partial
from typing import Final

import numpy as np
import pandas as pd
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from sfumato.engine.generalization.others import HolderClasses
from sfumato.engine.table.table import EncodedColumn
from sfumato.project.document.generalization import OtherTableFile
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped
from sfumato.ui.panels.policy.generalized import edits
from sfumato.ui.panels.policy.generalized.finding import Finding
from sfumato.ui.panels.policy.generalized.other_dialog import OtherDialog
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import themed_icon
from sfumato.ui.widgets.layout import Card, ElidedLabel, button, label
from sfumato.ui.widgets.tables import FrameModel, TableView

MOST_CLASSES: Final = 5000
MOST_VALUES: Final = 12


class HolderRow(QFrame):
    """One other holder's table."""

    def __init__(
        self, other: OtherTableFile, classes: HolderClasses | None, card: OtherTablesCard
    ) -> None:
        super().__init__(card)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Space.INSIDE)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(ElidedLabel(other.holder, "strong"))
        words = tr("known: {columns}", columns=", ".join(other.quasi_identifiers) or tr("nothing"))
        if classes is not None:
            words = tr(
                "{classes} classes, own l = {diversity}; {words}",
                classes=grouped(classes.classes),
                diversity=classes.diversity,
                words=words,
            )
        texts.addWidget(ElidedLabel(words, "small"))
        line.addLayout(texts, 1)
        self.show_classes = button(tr("Classes"), partial(card.show_classes, other.holder), "quiet")
        self.show_classes.setEnabled(classes is not None)
        line.addWidget(self.show_classes)
        self.remove = QToolButton(self)
        self.remove.setIcon(themed_icon("remove"))
        self.remove.setToolTip(tr("Leave this table out"))
        self.remove.setAccessibleName(tr("Leave the table of {holder} out", holder=other.holder))
        self.remove.clicked.connect(lambda: card.remove(other.holder))
        line.addWidget(self.remove)


class OtherTablesCard(Card):
    """Other holders' tables about the same people.

    Parameters
    ----------
    session
        What is open.
    finding
        What was found; it has read the tables.
    """

    def __init__(self, session: Session, finding: Finding, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("Beside other holders' tables"),
            tr(
                "Who else published a table about these people with the same sensitive attribute?"
                " Whoever holds both knows more than either says."
            ),
            parent,
        )
        self._session, self._finding = session, finding
        self._shown: object = None
        self.rows: dict[str, HolderRow] = {}
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.INSIDE)
        self.body.addLayout(self._lines)
        self.none = label(tr("None: the criteria count this table alone."), "small", wrap=True)
        self.body.addWidget(self.none)
        self.add = button(tr("Add a table…"), self.open_dialog, icon="add")
        self.body.addWidget(self.add, 0, Qt.AlignmentFlag.AlignLeft)
        self.body.addStretch(1)

    def refresh(self) -> None:
        """Show which tables there are, and what is known of them."""
        decided = self._session.document.generalization
        others = decided.others if decided is not None else ()
        found = self._finding.found
        holders = {h.holder: h for h in found.prepared.holders} if found is not None else {}
        shown = (others, tuple(holders))
        if shown == self._shown:
            return
        self._shown = shown
        for line in self.rows.values():
            line.hide()
            self._lines.removeWidget(line)
            line.deleteLater()
        self.rows = {
            other.holder: HolderRow(other, holders.get(other.holder), self) for other in others
        }
        for line in self.rows.values():
            self._lines.addWidget(line)
        self.none.setVisible(not others)

    # ----- what the person does

    def open_dialog(self) -> OtherDialog | None:
        """Ask for another table."""
        decided = self._session.document.generalization
        if decided is None:
            return None
        encoded: EncodedColumn | None = self._session.attribute(decided.sensitive)
        domain = encoded.attribute.domain if encoded is not None else None
        if domain is None:
            return None
        dialog = OtherDialog(self._session, decided.sensitive, domain, self.window())
        dialog.added.connect(self._take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _take(self, other: OtherTableFile) -> None:
        self._session.edit(
            tr("Add the table of {holder}", holder=other.holder),
            edits.with_other(self._session.document, other),
        )

    def remove(self, holder: str) -> None:
        """Leave a table out; undo brings it back."""
        self._session.edit(
            tr("Leave the table of {holder} out", holder=holder),
            edits.without_other(self._session.document, holder),
        )

    def show_classes(self, holder: str) -> Dialog | None:
        """Show a table's classes and the sensitive values that occur in each."""
        found = self._finding.found
        if found is None:
            return None
        classes = next((h for h in found.prepared.holders if h.holder == holder), None)
        if classes is None:
            return None
        dialog = Dialog(
            tr("The table of {holder}", holder=holder),
            tr("Its classes of people who look alike, and the sensitive values in each."),
            self.window(),
        )
        table = TableView(dialog, row_numbers=False)
        table.setSortingEnabled(True)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        model = FrameModel(classes_frame(classes, found.prepared.coded.values))
        model.setParent(table)
        table.setModel(model)
        table.fit_columns()
        dialog.body.addWidget(table, 1)
        dialog.add_cancel(tr("Close"))
        dialog.resize(720, 480)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog


def classes_frame(classes: HolderClasses, values: tuple[str, ...]) -> pd.DataFrame:
    """Return a row for each class: its labels, its records and its sensitive values."""
    shown = min(classes.classes, MOST_CLASSES)
    weakest = np.argsort((classes.counts > 0).sum(axis=1), kind="stable")[:shown]
    rows = []
    for number in weakest:
        present = np.flatnonzero(classes.counts[number])
        names = [str(values[code]) for code in present[:MOST_VALUES]]
        more = ["…"] if len(present) > MOST_VALUES else []
        rows.append(
            (
                classes.describe(int(number)),
                int(classes.counts[number].sum()),
                len(present),
                ", ".join([*names, *more]),
            )
        )
    heads = [tr("Class"), tr("Records"), tr("Values"), tr("Which")]
    return pd.DataFrame(rows, columns=heads)
