"""What one more recipient would change: a level is chosen, nothing is released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.analysis.coalitions import weigh_added
from sfumato.analysis.holdings import Holding, imagined
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.disclosure.coalition_risk import AddedRecipient
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import LevelTerm
from sfumato.engine.table.table import Attribute
from sfumato.plots.coalitions import AddedData, build_added_recipient
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.audit.wording import level_text, tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import SliderField
from sfumato.ui.widgets.layout import label, row
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.plot_view import PlotView

JOB: Final = "audit what if"
MOST_ON_SLIDER: Final = 10.0
USUAL: Final = 0.5


class WhatIf(QWidget):
    """Answers what a recipient more would change, before anything is released."""

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._term: LevelTerm | None = None
        self._entry: PolicyEntry | None = None
        self._attributes: Mapping[str, Attribute] = {}
        self._coalition: tuple[Holding, ...] = ()
        self.title = label("", "muted")
        self.level = SliderField(0.0, 1.0, parent=self)
        self.trouble = label("", "muted", wrap=True)
        self.trouble.hide()
        self.plot = PlotView(session.chooser, self)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(Space.INSIDE)
        self._column.addWidget(label(self.tr("What if I add a recipient?"), "heading"))
        note = self.tr("Choose a level. Nothing is released, and nothing is kept.")
        self._column.addWidget(label(note, "muted", wrap=True))
        self._column.addLayout(row(self.title, self.level))
        self._column.addWidget(self.trouble)
        self._column.addWidget(self.plot, 1)
        self.level.editing_finished.connect(self.ask)
        self.plot.failed.connect(self.failed)

    def show_coalition(
        self,
        entry: PolicyEntry,
        attributes: Mapping[str, Attribute],
        coalition: Sequence[Holding],
    ) -> None:
        """Ask about another coalition, or another attribute."""
        same = self._entry == entry
        self._entry, self._attributes = entry, attributes
        self._coalition = tuple(coalition)
        terms = mechanism_called(entry.mechanism).terms
        term = next((term for term in terms if len(term.fields) == 1), None)
        if term is not None and not (same and term == self._term):
            self._offer(term)
        self._term = term
        self.setVisible(term is not None)
        self.ask()

    def ask(self) -> None:
        """Weigh the coalition with the recipient who is imagined."""
        if self._term is None or self._entry is None or not self.isVisible():
            self._session.runner.cancel(JOB)
            return
        field = self._term.fields[0]
        try:
            added = imagined(
                self._session.document,
                self._entry,
                {field.name: self.level.value},
                self._attributes,
                tr("A new recipient"),
            )
        except SfumatoError as error:
            self._refuse(error)
            return
        self._session.runner.run(
            self.tr("Weighing one more recipient"),
            partial(weigh_added, self._entry, self._coalition, added, self._attributes),
            partial(self._show, self._entry.key, level_text(added), self._coalition),
            self._refuse,
            key=JOB,
        )

    def _offer(self, term: LevelTerm) -> None:
        """Put a slider for this term in place."""
        field = term.fields[0]
        top = min(field.maximum, MOST_ON_SLIDER)
        made = SliderField(
            field.minimum,
            field.maximum,
            decimals=field.decimals,
            unit=field.unit,
            reach=(field.minimum, top),
            parent=self,
        )
        made.set_value(min(max(USUAL, field.minimum), top))
        made.field.spin.setAccessibleName(spoken(term.title))
        made.editing_finished.connect(self.ask)
        self._column.replaceWidget(self.level, made)
        self.level.hide()
        self.level.deleteLater()
        self.level = made
        made.show()
        self.title.setText(spoken(term.title))
        self.level.setAccessibleName(spoken(term.title))

    def _show(
        self,
        attribute: str,
        level: str,
        coalition: tuple[Holding, ...],
        change: AddedRecipient | None,
    ) -> None:
        if coalition != self._coalition:
            return
        self.trouble.hide()
        if change is None:
            self.plot.clear()
            return
        best = coalition[0].recipient if coalition else ""
        self.plot.show_plot(
            partial(build_added_recipient, AddedData(attribute, level, best, change))
        )

    def _refuse(self, error: SfumatoError) -> None:
        """Say why there is no answer, where the level was given."""
        self._session.runner.cancel(JOB)
        self.plot.clear()
        self.trouble.setText(" ".join(error_texts(error)).strip())
        self.trouble.show()
