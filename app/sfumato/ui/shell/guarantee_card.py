"""The guarantee card: how every recipient stands, computed live; all lines on request."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from PySide6.QtCore import QCoreApplication, QRect, Qt, Signal
from PySide6.QtGui import QFontMetrics, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QToolButton, QWidget

from sfumato.analysis.answers import Severity
from sfumato.analysis.guarantee import (
    IN_PARTS,
    EntryPromise,
    Guarantee,
    asked_instead,
    guarantee_of,
    row_order_caution,
)
from sfumato.analysis.readiness.verdicts import Readiness, Standing, verdict_of
from sfumato.analysis.unperturbed.open_columns import OpenAnswer
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, TextSize, font, scaled
from sfumato.ui.look.wording import apart, filled_in, parted, spoken, typeset, unmarked
from sfumato.ui.panels.policy.board.words import GaugeText, gauge_texts
from sfumato.ui.shell.guarantee_lines import GuaranteeLines, empty_promise
from sfumato.ui.state.session import Session
from sfumato.ui.state.weighing import LOOKS
from sfumato.ui.widgets.layout import (
    ElidedLabel,
    Hairline,
    ScrollPage,
    boxed,
    button,
    column,
    label,
    row,
    set_look,
    show_tool,
)
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import IconLabel

_LINES: Final = 3
"""For a sentence of so many lines there is always room, so that nothing below it moves; for more
where the promise needs them, which another sentence may take the place of."""


def counted(standing: Standing, count: int) -> str:
    """Return how many recipients stand so, in words."""
    words = {
        Standing.DANGER: QCoreApplication.translate("GuaranteeCard", "{count} in danger"),
        Standing.WORTHLESS: QCoreApplication.translate("GuaranteeCard", "{count} worthless"),
        Standing.CAUTION: QCoreApplication.translate("GuaranteeCard", "{count} with cautions"),
        Standing.GOOD: QCoreApplication.translate("GuaranteeCard", "{count} in order"),
    }
    return filled_in(words[standing], count=count)


class RecipientSummary(QWidget):
    """A recipient's name and verdict, one sentence, three gauges, and the way to all lines."""

    asked = Signal(str)
    """All that is promised to this recipient is to be shown, or no more."""

    def __init__(self, recipient: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.recipient = recipient
        self.standing: Standing | None = None
        self._icon = IconLabel("step-empty", "muted", 16)
        self._name = ElidedLabel(recipient, "strong")
        self._word = label("", "muted")
        self.sentence = label("", wrap=True)
        self.sentence.setAlignment(Qt.AlignmentFlag.AlignTop)
        self._longest = ""
        self._reserve()
        self._gauges = [_GaugeLine() for _ in range(3)]
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for at, gauge in enumerate(self._gauges):
            grid.addWidget(gauge.icon, at, 0)
            grid.addWidget(gauge.name, at, 1)
            grid.addWidget(gauge.value, at, 2)
        self.why = button(self.tr("Why?"), lambda: self.asked.emit(self.recipient), "quiet")
        head = row(self._icon, self._name, wide=1)
        # The verdict's word stands where it never takes room from the name.
        below = row(self._word, None, self.why)
        self.setLayout(column(head, self.sentence, grid, below, spacing=Space.TIGHT))
        self.unfold(False)

    def show_verdict(
        self, standing: Standing | None, word: str, sentence: str, longest: str = ""
    ) -> None:
        """Show how the recipient stands; None where that is not known.

        There is room for the `longest` sentence that may stand there next.
        """
        self.standing = standing
        look = "muted" if standing is None else LOOKS[standing]
        self._icon.show_icon("step-empty" if standing is None else look, look)
        self._word.setText(word)
        set_look(self._word, "danger" if look == "danger" else "muted")
        self.sentence.setText(typeset(sentence))
        self._longest = longest
        self._reserve()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Keep as much room as the sentences need at another width."""
        super().resizeEvent(event)
        self._reserve()

    def _reserve(self) -> None:
        metrics = QFontMetrics(font())
        least, width = _LINES * metrics.lineSpacing(), self.sentence.width()
        wrapped = Qt.TextFlag.TextWordWrap.value
        needed = max(
            metrics.boundingRect(QRect(0, 0, width, 0), wrapped, parted(unmarked(text))).height()
            for text in (self.sentence.text(), self._longest)
        )
        self.sentence.setMinimumHeight(max(least, needed))

    def show_gauges(self, gauges: Sequence[GaugeText], *, stale: bool) -> None:
        """Show the three figures; grey where they are of earlier settings."""
        for line, gauge in zip(self._gauges, gauges, strict=True):
            line.show_gauge(gauge, stale=stale)

    def unfold(self, unfolded: bool) -> None:
        """Say whether all lines are shown below."""
        words = self.tr("Less") if unfolded else self.tr("Why?")
        self.why.setText(words)
        self.why.setAccessibleName(f"{words} {self.recipient}")


class _GaugeLine:
    """The widgets of one gauge: its colour, its name and its value."""

    def __init__(self) -> None:
        self.look = "muted"
        self.icon = IconLabel("step-empty", "muted", 13)
        self.name = label("", "muted")
        self.value = QLabel()
        for widget in (self.name, self.value):
            widget.setFont(font(TextSize.SMALL, strong=widget is self.value, tabular=True))
        self.value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)

    def show_gauge(self, gauge: GaugeText, *, stale: bool) -> None:
        """Show a gauge."""
        self.look = "muted" if stale else gauge.look
        self.icon.show_icon("step-empty" if self.look == "muted" else self.look, self.look)
        self.name.setText(gauge.name)
        self.value.setText(gauge.value)
        loud = self.look in ("danger", "caution")
        set_look(self.value, self.look if loud else "muted" if stale else "")
        for widget in (self.icon, self.name, self.value):
            widget.setToolTip(gauge.why)
        self.value.setAccessibleDescription(gauge.why)


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
        insight = session.insight()
        if found.promises and insight is not None and not insight.looked_for_units:
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
