"""Ready to release? What was found for each recipient, in a list and a grid, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from functools import cache, partial
from typing import Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QModelIndex, Qt, Signal
from PySide6.QtGui import QKeyEvent, QShowEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import About, Finding, Remedy
from sfumato.analysis.readiness.readiness import accepting
from sfumato.analysis.readiness.readiness_checks import CLASS_SIZES
from sfumato.analysis.readiness.verdicts import Readiness, ReleaseRisk, grade_of, verdict_of
from sfumato.formats.language import grouped
from sfumato.project.release.views import quasi_identifiers
from sfumato.ui.look.theme import Space, themes
from sfumato.ui.look.wording import apart, filled_in, spoken, typeset
from sfumato.ui.panels.base import catch_up
from sfumato.ui.state.mending import mend
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import LOOKS, SEVERITY_LOOKS
from sfumato.ui.widgets.fields import prompt, text_field
from sfumato.ui.widgets.layout import (
    Card,
    ElidedButton,
    ScrollPage,
    beside,
    boxed,
    button,
    clear_layout,
    column,
    label,
    row,
    say,
)
from sfumato.ui.widgets.messages import announce, error_words
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

_SHOWN: Final = 60
"""Findings of so many groups of recipients are shown, the worst first."""
_NAMED: Final = 30


class ReadinessCard(Card):
    """Checks every recipient's release while it is in sight, and asks for what is missing.

    Parameters
    ----------
    session
        What is open.
    """

    changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("What was found"), parent=parent)
        self._session = session
        self._shown: tuple[Readiness, ...] | None = None
        self._offered: set[str] = set()
        self._blocks: list[tuple[frozenset[str], QWidget]] = []
        self._told = ""
        self.note = label("", "muted", wrap=True)
        self.reason = text_field(name=self.tr("Reason for what stays open"))
        prompt(self.reason, self.tr("Reason, kept in the ledger and the report"))
        self.asking = label("", "danger", wrap=True)
        self.ask = QWidget(self)
        self.ask.setLayout(column(self.asking, self.reason, spacing=Space.TIGHT))
        self.list = column()
        self.again = button(self.tr("Check again"), self.refresh)
        self.put(self.note, row(self.again, None), self.list, self.ask)
        self.again.hide()
        self.ask.hide()
        self.hide()
        session.table_changed.connect(self._clear)
        for signal in (
            session.table_changed,
            session.document_changed,
            session.attribute_changed,
            session.ledger_changed,
        ):
            signal.connect(self.refresh)
        session.steps.checked.connect(self._take)
        session.steps.given_up.connect(self._give_up)

    def showEvent(self, event: QShowEvent) -> None:
        """Check what has changed while nobody looked."""
        super().showEvent(event)
        catch_up(self.refresh)

    def open_for(self, recipients: Sequence[str]) -> tuple[Finding, ...]:
        """Return what keeps releases to recipients from being made, as far as it is known."""
        chosen = [each for each in self.found if each.recipient in recipients]
        return tuple(one for each in chosen for one in each.open)

    def block_of(self, recipient: str) -> QWidget | None:
        """Return where what was found worst for a recipient stands; None where nothing is."""
        return next((block for names, block in self._blocks if recipient in names), None)

    def settle(self, recipients: Sequence[str]) -> bool:
        """Take the reason for what is open; return whether nothing keeps the releases back."""
        left = self.open_for(recipients)
        reason = self.reason.text().strip()
        if not left:
            return True
        if not reason:
            return False
        document = accepting(self._session.document, left, reason)
        self._session.edit(self.tr("Give a reason for what stays open"), document)
        self.reason.clear()
        return True

    # ----- checking

    @property
    def found(self) -> tuple[Readiness, ...]:
        """What the last check found."""
        return self._session.steps.found

    def refresh(self, _changed: object = None) -> None:
        """Check again where something has changed, while the card is in sight."""
        if not self.isVisible():
            return
        steps = self._session.steps
        self.again.hide()
        steps.check()
        if steps.current:
            if steps.found is not self._shown:
                self._show()
        elif not self._shown:
            say(self.note, self.tr("Checking every recipient's release…"))

    def _clear(self) -> None:
        """Show nothing of another table."""
        self._shown = None
        clear_layout(self.list)
        self._blocks = []
        self.ask.hide()

    def _give_up(self) -> None:
        """Offer to check another time."""
        say(self.note, self.tr("The check of the present settings was stopped."))
        self.again.show()

    def _take(self) -> None:
        if self.isVisible() and self._session.steps.current:
            self._show()
        self.changed.emit()

    def _show(self) -> None:
        self._shown = self._session.steps.found
        self.again.hide()
        page = self.parentWidget()
        while page is not None and not isinstance(page, ScrollPage):
            page = page.parentWidget()
        with nullcontext() if page is None else page.kept():
            self._build_list()

    def _build_list(self) -> None:
        refusal = self._session.steps.refusal
        clear_layout(self.list)
        self._offered.clear()
        words = "" if refusal is None else error_words(refusal)
        surveyed = self._session.surveyed
        if self.found and surveyed is not None and surveyed.is_sampled:
            words = self.tr(
                "Values and unique records are counted in all rows; what is estimated beside"
                " them is estimated from {some} of {rows} {rows:row|rows}."
            ).format(some=grouped(surveyed.sample.rows), rows=grouped(surveyed.rows))
        say(self.note, words)
        blocks = _alike(self.found)
        self._blocks = []
        for names, findings in blocks[:_SHOWN]:
            block = self._block(names, findings)
            self._blocks.append((frozenset(names), block))
            self.list.addWidget(block)
            block.show()
        if more := {name for names, _ in blocks[_SHOWN:] for name in names}:
            said = self.tr(
                "Findings of {count} {count:recipient|recipients} are not shown here; sfumato check"
                " tells them all."
            )
            self.list.addWidget(label(filled_in(said, count=len(more)), "muted", wrap=True))
        waiting = [each.recipient for each in self.found if each.open]
        self.ask.setVisible(bool(waiting))
        asking = self.tr(
            "Not ready: {names}. Resolve what is marked as danger, or give a reason for releasing."
        )
        self.asking.setText(asking.format(names=self._names(waiting)))
        told = self.asking.text() if waiting else self._ready_or_not()
        if self.found and told != self._told and self.isVisible():
            announce(self, told)
            self._told = told

    def _ready_or_not(self) -> str:
        """Say whether releases can be made, where no reason is asked."""
        refused = [each.recipient for each in self.found if each.standing]
        worthless = [each.recipient for each in self.found if each.worthless]
        if not refused and worthless:
            told = self.tr("Releases can be made, but some columns are worthless to {names}.")
            return told.format(names=self._names(worthless))
        if not refused:
            return self.tr("Every recipient is ready.")
        told = self.tr("Not ready: {names}. Resolve what is marked as danger.")
        return told.format(names=self._names(refused))

    def _names(self, names: Sequence[str]) -> str:
        """Return names, of very many the first ones and how many more there are."""
        if len(names) <= _NAMED:
            return ", ".join(names)
        said = self.tr("{names} and {count} more")
        return filled_in(said, names=", ".join(names[:_NAMED]), count=len(names) - _NAMED)

    def _block(self, names: Sequence[str], findings: Sequence[Finding]) -> QWidget:
        block = QWidget()
        lines = column(label(self._names(names), "strong", wrap=True), spacing=Space.TIGHT)
        block.setLayout(lines)
        for one in findings:
            lines.addWidget(self._line(one))
        return block

    def _line(self, finding: Finding) -> QWidget:
        look = "danger" if finding.worthless else SEVERITY_LOOKS[finding.severity]
        word = self.tr("Worthless") if finding.worthless else spoken(finding.severity.word)
        danger = finding.worthless or (finding.severity is Severity.GRAVE and not finding.reason)
        tone = "danger" if danger else ""
        names = self._session.document.column_names
        said = self.tr("{word}: {text}").format(word=word, text=apart(finding.sentence, names))
        text = label(said, tone, wrap=True)
        texts = column(text, spacing=Space.TIGHT)
        if finding.reason:
            told = self.tr("Accepted: {reason}").format(reason=finding.reason)
            texts.addWidget(label(told, "muted", wrap=True))
        # Once for all recipients whom the same would help.
        wanted = [each for each in finding.remedies if str(each.words) not in self._offered]
        self._offered |= {str(each.words) for each in wanted}
        ways: list[QWidget] = [
            ElidedButton(typeset(remedy.words), partial(self._mend, remedy)) for remedy in wanted
        ]
        if finding.about is About.READING and finding.asks and not finding.reason:
            words = self.tr("It is meant so")
            ways.append(ElidedButton(words, partial(self._keep, finding)))
        if finding.severity is not Severity.GOOD and finding.about is not About.RELEASE:
            ways += [*self._way_to_k(finding), self._way_to(finding)]
        texts.addLayout(FlowLayout(*ways, spacing=0, elided=True))
        return boxed(beside(IconLabel(look, look, 18), texts))

    def _way_to(self, finding: Finding) -> QWidget:
        """Return the button that leads to where a finding is mended otherwise."""
        if finding.about is About.READING:
            go = partial(self._session.panel_requested.emit, "data")
            return ElidedButton(self.tr("Go to Data"), go)
        columns = finding.about is About.COLUMNS
        words = self.tr("Go to Attributes") if columns else self.tr("Go to Policy")
        wanted = "attributes" if columns else "policy"
        name = next(iter(finding.columns), "")
        go = partial(self._session.place_requested.emit, wanted, name, finding.recipient)
        return ElidedButton(words, go, name)

    def _way_to_k(self, finding: Finding) -> Iterator[QWidget]:
        """Yield the button that leads to a recipient's k, where small classes are due to none."""
        if finding.check not in CLASS_SIZES:
            return
        document = self._session.document
        known = [name for name in quasi_identifiers(document) if name in finding.columns]
        recipient = document.recipient(finding.recipient)
        if known and recipient.view is None:
            go = partial(self._session.place_requested.emit, "policy", known[0], recipient.name)
            yield ElidedButton(self.tr("Set the group size"), go, recipient.name)

    def _keep(self, finding: Finding) -> None:
        """Take a remark on the reading as answered for everybody: the table is meant so."""
        alike = [
            one
            for each in self.found
            for one in each.findings
            if (one.check, one.sentence) == (finding.check, finding.sentence)
        ]
        reason = self.tr("The table is meant so.")
        document = accepting(self._session.document, alike, reason)
        self._session.edit(self.tr("Keep how the table is read"), document)

    def _mend(self, remedy: Remedy) -> None:
        mend(self._session, remedy, self.refresh)


def _alike(found: Sequence[Readiness]) -> list[tuple[list[str], list[Finding]]]:
    """Return each finding once, below all recipients of whom it is found."""
    whom: dict[object, tuple[list[str], Finding]] = {}
    for each in found:
        for one in each.findings:
            told = (one.check, one.severity, one.sentence, one.reason)
            whom.setdefault(told, ([], one))[0].append(each.recipient)
    blocks: dict[tuple[str, ...], tuple[list[str], list[Finding]]] = {}
    for names, one in whom.values():
        blocks.setdefault(tuple(names), (names, []))[1].append(one)

    def worst(block: tuple[list[str], list[Finding]]) -> tuple[int, float, int]:
        return verdict_of(Readiness(block[0][0], tuple(block[1]))).rank

    return sorted(blocks.values(), key=worst)


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
