"""Ready to release? Recipients by risks, each with how it stands, above what is exported."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.readiness.verdicts import Readiness, ReleaseRisk, grade_of, verdict_of
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, themes
from sfumato.ui.look.wording import filled_in, spoken, typeset
from sfumato.ui.panels.base import catch_up
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import LOOKS, SEVERITY_LOOKS
from sfumato.ui.widgets.layout import Card, label, say
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

MOST_LINES: Final = 6
"""So many recipients are in sight at once."""
RISKS: Final = {
    ReleaseRisk.FOUND: QT_TRANSLATE_NOOP("ReadinessGrid", "People found"),
    ReleaseRisk.PROMISES: QT_TRANSLATE_NOOP("ReadinessGrid", "Promises"),
    ReleaseRisk.WORTH: QT_TRANSLATE_NOOP("ReadinessGrid", "Worth"),
    ReleaseRisk.TABLE: QT_TRANSLATE_NOOP("ReadinessGrid", "Table and ledger"),
}
"""The columns, in their order."""
_ENTER: Final = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


class ReadinessGrid(Card):
    """How every recipient stands in each risk; a click leads to what was found.

    Parameters
    ----------
    session
        What is open.
    """

    chosen = Signal(str)
    """What was found for this recipient is asked for."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Ready to release?"), parent=parent)
        self._session = session
        self._found: tuple[Readiness, ...] = ()
        self.model = CellsModel(self._headings(), self)
        self.table = _Grid(self.model, self.tr("Ready to release? Recipients by risks"), self)
        words = self.tr(
            "The worst first: dangers, which keep a release back, then what is worthless, then"
            " cautions; among these, what exposes most: of how many people something is learned, or"
            " how often an attacker is right."
        )
        self.order = label(words, "muted", wrap=True)
        self.note = label("", "muted", wrap=True)
        self.put(self.note, self.table, self.order)
        self.hide()
        self.table.asked.connect(self._ask)
        refresh = partial(catch_up, self.refresh)
        for signal in (
            session.table_changed,
            session.document_changed,
            session.attribute_changed,
            session.ledger_changed,
            session.steps.checked,
            session.steps.given_up,
        ):
            signal.connect(lambda *_: refresh())

    def showEvent(self, event: QShowEvent) -> None:
        """Show what has been found while nobody looked."""
        super().showEvent(event)
        catch_up(self.refresh)

    def refresh(self) -> None:
        """Show what the check found; grey while it is that of earlier settings."""
        if not self.isVisible():
            return
        steps = self._session.steps
        self._found = steps.found
        pending = not steps.current
        say(self.note, self.tr("Checking every recipient's release…") if pending else "")
        self.table.setVisible(bool(self._found))
        self.order.setVisible(any(each.worst is not Severity.GOOD for each in self._found))
        self.model.show_cells(len(self._found), partial(self._cell, cache(self._told), pending))
        self.table.fit()

    def _headings(self) -> tuple[Heading, ...]:
        return (Heading(self.tr("Recipient")), *(Heading(self.tr(str(w))) for w in RISKS.values()))

    def _cell(
        self, told: Callable[[int, int], tuple[str, str, str]], pending: bool, row: int, column: int
    ) -> Cell:
        text, tip, look = told(row, column)
        sign = "" if pending else look
        if column == 0:
            return Cell(text, tip, strong=True, icon=sign)
        style = themes().current.style
        ink = style.muted if pending else style.text if look == "good" else getattr(style, look)
        return Cell(text, tip, ink=ink, icon=sign)

    def _told(self, row: int, column: int) -> tuple[str, str, str]:
        """Return the text of a cell, its tip and its icon, which a table asks for many times."""
        found = self._found[row]
        if column == 0:
            verdict = verdict_of(found)
            told = typeset(spoken(verdict.sentence))
            return found.recipient, f"{found.recipient}: {told}", LOOKS[verdict.standing]
        severity, findings = grade_of(found, list(RISKS)[column - 1])
        tip = "\n".join(dict.fromkeys(typeset(one.sentence) for one in findings))
        words = {
            Severity.GRAVE: self.tr("{count} {count:danger|dangers}"),
            Severity.CAUTION: self.tr("{count} {count:caution|cautions}"),
            Severity.GOOD: spoken(Severity.GOOD.word),
        }[severity]
        count = len(dict.fromkeys(str(one.sentence) for one in findings))
        text = filled_in(words, count=grouped(count))
        if severity is Severity.GRAVE and all(one.worthless for one in findings):
            text = filled_in(self.tr("{count} worthless"), count=grouped(count))
        return text, tip, SEVERITY_LOOKS[severity]

    def _ask(self, row: int) -> None:
        if 0 <= row < len(self._found):
            self.chosen.emit(self._found[row].recipient)


class _Grid(TableView):
    """The grid's table; a click or Enter asks for what was found."""

    asked = Signal(int)

    def __init__(self, model: CellsModel, name: str, parent: QWidget) -> None:
        super().__init__(parent, model=model, name=name, row_numbers=False, framed=False, widest=0)
        self.setSelectionMode(self.SelectionMode.SingleSelection)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.clicked.connect(self._click)
        self.wrap_rows()  # the names of recipients get what room the words leave
        self.wrapped.connect(self.fit)

    def fit(self) -> None:
        """Be as high as the first lines."""
        shown = min(self.model().rowCount(), MOST_LINES)
        lines = sum(map(self.rowHeight, range(shown))) or Space.FIELD
        self.setFixedHeight(self.horizontalHeader().height() + lines + 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Ask for what was found by Enter or the space bar."""
        if event.key() in _ENTER and self.currentIndex().isValid():
            self.asked.emit(self.currentIndex().row())
            return
        super().keyPressEvent(event)

    def _click(self, index: QModelIndex) -> None:
        self.asked.emit(index.row())
