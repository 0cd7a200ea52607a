"""The guarantee card: how every recipient stands, computed live; all lines on request."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QLabel, QToolButton, QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.guarantee import (
    IN_PARTS,
    EntryPromise,
    Guarantee,
    asked_instead,
    guarantee_of,
    row_order_caution,
)
from sfumato.analysis.open_columns import OpenAnswer
from sfumato.analysis.verdicts import Readiness, Standing, verdict_of
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import apart, spoken
from sfumato.ui.panels.policy.board.words import gauge_texts
from sfumato.ui.shell.guarantee_lines import GuaranteeLines, empty_promise
from sfumato.ui.shell.recipient_summary import RecipientSummary, counted
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import LOOKS
from sfumato.ui.widgets.layout import Hairline, ScrollPage, boxed, column, label, row, show_tool
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import IconLabel

WIDE: Final = 288
NARROW: Final = 44


class GuaranteeCard(QFrame):
    """Says of each recipient in one sentence and three gauges what the present settings come to.

    Parameters
    ----------
    session
        Whose settings are weighed.
    """

    collapsed = Signal(bool)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._compact = False
        self._shown: Guarantee | None = None
        self._beside: OpenAnswer | None = None
        self._unfolded = ""
        self._summaries: dict[str, RecipientSummary] = {}
        self.setProperty("look", "aside")
        self.setAccessibleName(self.tr("What is promised"))
        self._title = label(self.tr("Guarantee"), "heading")
        self._shield = IconLabel("shield", "accent", 20)
        self._toggle = QToolButton(self)
        self._toggle.clicked.connect(self.fold)
        self._page = ScrollPage(self)
        self._people = column(spacing=Space.BETWEEN)
        self._lines = GuaranteeLines(session)
        self._lines.hide()
        self._missing = GuaranteeLines(session)
        page = column(self._people, self._missing, None, spacing=Space.BETWEEN)
        page.setContentsMargins(0, 0, Space.TIGHT, 0)
        self._page.column.addLayout(page)
        self._counts = _Counts(self)
        head = row(self._shield, self._title, None, self._toggle)
        below = (self._page, 1), self._counts
        self._outer = column(head, *below, spacing=Space.BETWEEN)
        self.setLayout(self._outer)
        self._timer = delayed(self, self.refresh)
        known = (session.profiles_changed, session.pooled_changed, session.open_columns_changed)
        checks = (session.steps.checked, session.weighing.changed)
        session.follow(self._soon, session.ledger_changed, *known, *checks)
        self.set_compact(False)
        self.refresh()

    @property
    def compact(self) -> bool:
        """Whether the card is folded to its edge."""
        return self._compact

    @property
    def guarantee(self) -> Guarantee | None:
        """What is shown."""
        return self._shown

    @property
    def summaries(self) -> dict[str, RecipientSummary]:
        """How the recipients stand, by their names, in the order shown."""
        return dict(self._summaries)

    @property
    def counts(self) -> str:
        """What is told of all recipients where the card is folded."""
        return self._counts.accessibleName()

    def fold(self) -> None:
        """Fold the card to its edge, or unfold it again."""
        self.set_compact(not self._compact)

    def set_compact(self, compact: bool) -> None:
        """Fold the card to its edge, or unfold it."""
        changed = compact != self._compact
        self._compact = compact
        self.setFixedWidth(scaled(NARROW if compact else WIDE))
        side = Space.TIGHT if compact else Space.BETWEEN
        self._outer.setContentsMargins(side, Space.AROUND, side, Space.BETWEEN)
        for widget in (self._title, self._shield, self._page):
            widget.setVisible(not compact)
        self._counts.setVisible(compact)
        words = self.tr("Show the guarantee") if compact else self.tr("Fold the guarantee")
        show_tool(self._toggle, "shield" if compact else "chevron-right", words)
        if changed:
            self.collapsed.emit(compact)
            self._soon()

    def explain(self, recipient: str) -> None:
        """Show all that is promised to a recipient, or no more where that is shown."""
        self._unfolded = "" if recipient == self._unfolded else recipient
        with self._page.kept():
            self._show_people()
        summary = self._summaries.get(recipient)
        if summary is not None:
            summary.why.setFocus()

    def refresh(self) -> None:
        """Compute the promise anew and show it where it changed."""
        found = self._guarantee()
        visible = self.isVisible()
        if found.promises and visible:
            self._session.weighing.ask()
        self._beside = self._session.open_columns() if found.promises and visible else None
        self._shown = found
        self._show_people()

    def text(self) -> str:
        """Return everything that is said, for those who listen and for tests."""
        labels = self._page.findChildren(QLabel)
        shown = (item.text() for item in labels if item.isVisibleTo(self._page))
        return "\n".join(filter(None, shown))

    def _guarantee(self) -> Guarantee:
        session = self._session
        if session.source is None and session.document.columns:
            return Guarantee((), "", (self.tr("Open the project's table."),))
        if instead := asked_instead(session.document):
            return Guarantee((), "", (), row_order_caution(session.document), instead)
        releases = session.steps.releases()
        pooled = session.pooled(releases)
        found = (
            guarantee_of(session.document, session.attributes(), releases, pooled)
            if releases or pooled
            else session.steps.guarantee()
        )
        if found.promises and session.batched and not session.batched.insight.looked_for_units:
            found = replace(found, cautions=(*found.cautions, IN_PARTS))
        return found

    def _soon(self, *_what: object) -> None:
        self._timer.start()

    def showEvent(self, event: QShowEvent) -> None:
        """Weigh what other columns tell, now that somebody looks."""
        super().showEvent(event)
        self._soon()

    # ----- the recipients

    def _show_people(self) -> None:
        found = self._shown
        if found is None:
            return
        promised = {each.recipient for each in found.promises}
        names = [name for name in self._session.weighing.people if name in promised]
        if names != list(self._summaries):
            self._build(names)
        if self._unfolded not in self._summaries:
            self._unfolded = ""
        weighing, standings = self._session.weighing, list[Standing | None]()
        gauges = {each.recipient: each for each in weighing.gauges()} if names else {}
        checked = {each.recipient: each for each in weighing.found()}
        for name, summary in self._summaries.items():
            promises, own = found.for_recipient(name), checked.get(name)
            summary.show_verdict(*self._verdict(promises, own))
            texts = gauge_texts(gauges.get(name), own if weighing.known else None)
            summary.show_gauges(texts, stale=not weighing.known)
            summary.unfold(name == self._unfolded)
            standings.append(summary.standing)
        self._counts.show_standings(standings)
        worst = self._counts.worst
        danger = worst is not None and LOOKS[worst] == "danger"
        self._shield.show_icon(*(("danger", "danger") if danger else ("shield", "accent")))
        if self._unfolded:
            place = self._people.indexOf(self._summaries[self._unfolded]) + 1
            self._people.insertWidget(place, self._lines)
            self._lines.show_promises(found, self._beside, self._unfolded)
        self._lines.setVisible(bool(self._unfolded))
        self._missing.show_promises(found, None, "")
        empty = bool(names) and not (found.next_steps or found.instead)
        self._missing.setVisible(not empty)

    def _build(self, names: list[str]) -> None:
        """Make room for other recipients."""
        self._people.removeWidget(self._lines)
        self._lines.setParent(None)
        while (item := self._people.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        self._summaries = {}
        for name in names:
            if self._summaries:
                self._people.addWidget(Hairline())
            made = self._summaries[name] = RecipientSummary(name)
            made.asked.connect(self.explain)
            self._people.addWidget(made)

    def _verdict(
        self, promises: tuple[EntryPromise, ...], found: Readiness | None
    ) -> tuple[Standing | None, str, str, str]:
        """Return how a recipient stands, in a word, a sentence that says it, and the promise."""
        most = max(promises, key=lambda one: mechanism_called(one.entry.mechanism).trust(one.level))
        promised = self._apart(most.promise.sentence)
        if found is not None:
            verdict = verdict_of(found)
            bad = verdict.standing in (Standing.DANGER, Standing.WORTHLESS)
            sentence = self._apart(verdict.sentence) if bad else promised
            return verdict.standing, spoken(verdict.word), sentence, promised
        if any(empty_promise(self._session, one) for one in promises):
            word = spoken(Severity.GRAVE.word)
            return Standing.DANGER, word, spoken(Sentence("A promise is empty.")), promised
        return None, self.tr("not checked yet"), promised, promised

    def _apart(self, text: str) -> str:
        return apart(text, self._session.document.column_names)


class _Counts(QWidget):
    """How many recipients stand how, as a folded card shows it."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.worst: Standing | None = None
        signs = {each: IconLabel(icon, icon, 16) for each, icon in LOOKS.items()}
        self._told = {each: (sign, QLabel()) for each, sign in signs.items()}
        self._lines = {each: boxed(row(*pair, spacing=2)) for each, pair in self._told.items()}
        self.setLayout(column(*self._lines.values(), None))

    def show_standings(self, standings: list[Standing | None]) -> None:
        """Show how many there are of each."""
        counts = Counter(each for each in standings if each is not None)
        self.worst = min(counts, default=None)
        for standing, line in self._lines.items():
            self._told[standing][1].setText(grouped(counts[standing]))
            line.setVisible(bool(counts[standing]))
            line.setToolTip(counted(standing, counts[standing]))
        said = [counted(each, counts[each]) for each in Standing if counts[each]]
        self.setAccessibleName(", ".join(said))
