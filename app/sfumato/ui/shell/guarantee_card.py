"""The guarantee card: what the present settings promise, computed live, and cautions to act on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QGridLayout,
    QLabel,
    QPushButton,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from sfumato.analysis.guarantee import (
    IN_PARTS,
    EntryPromise,
    Guarantee,
    asked_instead,
    guarantee_of,
    in_table,
    promise_is_empty,
    row_order_caution,
)
from sfumato.analysis.open_columns import OpenAnswer, sampling_sentence
from sfumato.analysis.open_figures import NAMED, OpenFigure, left_out, made_coarser, protected_too
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import Fact
from sfumato.project.document.model import Document
from sfumato.project.release.long_survey import surveyed
from sfumato.ui.look.theme import Space, TextSize, font, scaled
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.state.insights import column_source
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import is_on
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import (
    Rule,
    ScrollPage,
    boxed,
    button,
    column,
    fill,
    label,
    row,
    show_tool,
    signed,
)
from sfumato.ui.widgets.paint_queue import delayed
from sfumato.ui.widgets.painted import IconLabel

WIDE: Final = 288
NARROW: Final = 44
_FIGURES: Final = "guarantee/all-figures"
_KNOWN: Final = ("γ", "ε")


JOB: Final = "open columns remedy"


class OpenCaution(QWidget):
    """Says what columns tell of an attribute, and offers to protect, coarsen or drop them.

    Parameters
    ----------
    session
        Whose document is changed.
    figure
        What is told.
    """

    def __init__(self, session: Session, figure: OpenFigure) -> None:
        super().__init__()
        self._session = session
        self._figure = figure
        self._columns = figure.telling[:NAMED]
        names = ", ".join(self._columns)
        together = self.tr("Make {columns} sensitive and protect them together with {name}")
        self.protect = button(self.tr("Protect too"), self._protect, "quiet", tip=together)
        coarser = self.tr("Divide {columns} into five bins")
        self.coarsen = button(self.tr("Make coarser"), self._coarsen, "quiet", tip=coarser)
        none = self.tr("Release {columns} to nobody")
        self.drop = button(self.tr("Leave out"), self._drop, "quiet", tip=none)
        for each in (self.protect, self.coarsen, self.drop):
            each.setToolTip(each.toolTip().format(columns=names, name=figure.attribute))
            each.setAccessibleDescription(each.toolTip())
        top = signed("caution", "caution", typeset(figure.caution))
        buttons = column(self.protect, self.coarsen, self.drop, spacing=0)
        self.setLayout(column(top, buttons, spacing=Space.TIGHT))

    def _protect(self) -> None:
        document, held, noise = self._session.document, self._session.held, self._session.noise
        source = column_source(held)
        if source is None:
            return
        attribute, columns = self._figure.attribute, self._columns

        def work(context: Context) -> Document:
            context.report(0.0, "Protecting columns together")
            return protected_too(document, surveyed(source), attribute, columns, noise)

        self._run(self.tr("Protect columns that tell {name}"), work)

    def _coarsen(self) -> None:
        document, held, columns = self._session.document, self._session.held, self._columns
        source = column_source(held)
        if source is None:
            return

        def work(context: Context) -> Document:
            context.report(0.0, "Making columns coarser")
            return made_coarser(document, surveyed(source), columns)

        self._run(self.tr("Make columns coarser that tell {name}"), work)

    def _drop(self) -> None:
        text = self.tr("Leave out columns that tell {name}").format(name=self._figure.attribute)
        self._session.edit(text, left_out(self._session.document, self._columns))

    def _run(self, template: str, work: Callable[[Context], Document]) -> None:
        self._session.edit_later(template.format(name=self._figure.attribute), work, key=JOB)


class GuaranteeCard(QFrame):
    """Says in plain words what is promised, to whom, by which figures, and what is not.

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
        self.setProperty("look", "aside")
        self.setAccessibleName(self.tr("What is promised"))
        self._title = label(self.tr("Guarantee"), "heading")
        self._shield = IconLabel("shield", "accent", 20)
        self._toggle = QToolButton(self)
        self._toggle.clicked.connect(self.fold)
        self.recipient = ChoiceField(name=self.tr("The promise to this recipient"))
        self.recipient.chosen.connect(lambda _name: self._fill())
        promised = label(self.tr("Promised to"), "caption", wrap=True)
        self._chooser = boxed(column(promised, self.recipient, spacing=4), self)
        self._page = ScrollPage(self)
        self._content: QWidget | None = None
        self._page.column.addStretch(1)
        head = row(self._shield, self._title, None, self._toggle)
        self._outer = column(head, self._chooser, (self._page, 1), spacing=Space.BETWEEN)
        self.setLayout(self._outer)
        self._timer = delayed(self, self.refresh)
        known = (session.profiles_changed, session.pooled_changed, session.open_columns_changed)
        session.follow(self._soon, session.ledger_changed, *known)
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
        self._chooser.setVisible(not compact and self._has_choice())
        words = self.tr("Show the guarantee") if compact else self.tr("Fold the guarantee")
        show_tool(self._toggle, "shield" if compact else "chevron-right", words)
        if changed:
            self.collapsed.emit(compact)

    def refresh(self) -> None:
        """Compute the promise anew and show it where it changed."""
        session = self._session
        if session.source is None and session.document.columns:
            found = Guarantee((), "", (self.tr("Open the project's table."),))
        elif instead := asked_instead(session.document):
            found = Guarantee((), "", (), row_order_caution(session.document), instead)
        else:
            releases = session.steps.releases()
            pooled = session.pooled(releases)
            found = (
                guarantee_of(session.document, session.attributes(), releases, pooled)
                if releases or pooled
                else session.steps.guarantee()
            )
        if found.promises and session.long and not session.long.insight.looked_for_units:
            found = replace(found, cautions=(*found.cautions, IN_PARTS))
        beside = session.open_columns() if found.promises and self.isVisible() else None
        if found == self._shown and beside is self._beside:
            return
        self._shown, self._beside = found, beside
        people = list(dict.fromkeys(promise.recipient for promise in found.promises))
        self.recipient.set_choices([(name, name) for name in people])
        self._chooser.setVisible(not self._compact and self._has_choice())
        self._fill()

    def text(self) -> str:
        """Return everything that is said, for those who listen and for tests."""
        labels = self._content.findChildren(QLabel) if self._content is not None else []
        return "\n".join(item.text() for item in labels if item.text())

    def _soon(self, *_what: object) -> None:
        self._timer.start()

    def _has_choice(self) -> bool:
        return self.recipient.count() > 1

    def _fill(self) -> None:
        """Build the card's content for the chosen recipient."""
        if self._shown is None:
            return
        content = QWidget()
        lines = column(spacing=12, margins=(0, 0, Space.TIGHT, 0))
        content.setLayout(lines)
        chosen = self._shown.for_recipient(str(self.recipient.value))
        empty = any(map(self._empty, chosen))
        self._shield.show_icon("danger" if empty else "shield", "danger" if empty else "accent")
        for promise in chosen:
            self._add_promise(lines, promise, named=len(chosen) > 1)
        total = [text for name, text in self._shown.totals if name == self.recipient.value]
        if total:
            lines.addLayout(self._titled(self.tr("All attributes"), total))
        seen = [text for name, text in self._shown.views if name == self.recipient.value]
        if seen:
            lines.addLayout(self._titled(self.tr("Quasi-identifiers"), seen))
        if self._shown.instead:
            lines.addLayout(self._instead(self._shown.instead))
        if self._shown.coalition:
            fill(lines, Rule(), self._titled(self.tr("Together"), [self._shown.coalition]))
        if self._shown.editions:
            fill(lines, Rule(), self._titled(self.tr("Editions"), self._shown.editions))
        if cautions := (*self._shown.cautions, *self._shown.in_house):
            fill(lines, Rule(), self._cautions(cautions))
        self._add_open_columns(lines, chosen)
        limits = tuple(dict.fromkeys(text for item in chosen for text in item.promise.limits))
        if limits:
            fill(lines, Rule(), self._titled(self.tr("Not promised"), limits, "muted"))
        if self._shown.next_steps:
            if chosen:
                lines.addWidget(Rule())
            lines.addLayout(self._steps(self._shown.next_steps, promised=bool(chosen)))
        if self._content is not None:
            self._page.column.removeWidget(self._content)
            self._content.hide()
            self._content.deleteLater()
        self._content = content
        self._page.column.insertWidget(0, content)
        content.show()

    def _add_promise(self, lines: QVBoxLayout, promise: EntryPromise, *, named: bool) -> None:
        """Add one entry's sentence, its two best-known figures, and all of them on request."""
        entry = column(spacing=Space.TIGHT)
        if named:
            entry.addWidget(label(promise.entry.key, "caption", wrap=True))
        if empty := self._empty(promise):
            told = self.tr("Danger: {text}").format(text=typeset(empty))
            entry.addLayout(signed("danger", "danger", told, "danger"))
        entry.addWidget(label(typeset(promise.promise.sentence), wrap=True))
        if here := in_table(promise, self._session.attributes(), self._beside):
            fill(entry, Space.TIGHT, label(typeset(here), "muted", wrap=True))
        facts = promise.promise.facts
        unfolded = is_on(self._session.store, _FIGURES)
        if unfolded:
            fill(entry, Space.TIGHT, _facts(facts))
        words = self.tr("Fewer figures") if unfolded else self.tr("All figures")
        more = button(words, lambda: self._fold_figures(not unfolded), "quiet")
        more.setAccessibleName(f"{words}: {promise.entry.key}")
        brief = ",  ".join(f"{fact.symbol} = {number(fact.value)}" for fact in _best_known(facts))
        figures = label("" if unfolded else brief, "small", wrap=True)
        entry.addLayout(row(figures, more, wide=0))
        lines.addLayout(entry)

    def _empty(self, promise: EntryPromise) -> str:
        """Say why a release hides nothing of an entry; empty where it hides something."""
        known, entry = self._session.attributes(), promise.entry
        attributes = [known[name] for name in entry.attributes if name in known]
        if len(attributes) < len(entry.attributes):
            return ""
        return promise_is_empty(
            entry.mechanism, promise.level, entry.settings, attributes, entry.key
        )

    def _add_open_columns(self, lines: QVBoxLayout, chosen: Sequence[EntryPromise]) -> None:
        """Say which columns released unchanged tell what is promised, and offer what helps."""
        if self._beside is None:
            return
        told = [
            figure
            for item in chosen
            for figure in self._beside.beside(item.entry.key, item.recipient, item.level)
            if figure.matters
        ]
        if told or self._beside.findings.hidden_relations:
            fill(lines, Rule(), label(self.tr("What other columns tell"), "caption"))
        for figure in told:
            lines.addWidget(OpenCaution(self._session, figure))
        if self._beside.findings.hidden_relations:
            lines.addLayout(self._cautions(self._beside.findings.hidden_relations))
        sampled = sampling_sentence(self._beside.findings)
        if told and sampled:
            lines.addWidget(label(typeset(sampled), "muted", wrap=True))

    def showEvent(self, event: QShowEvent) -> None:
        """Weigh what other columns tell, now that somebody looks."""
        super().showEvent(event)
        self._soon()

    def _fold_figures(self, unfolded: bool) -> None:
        self._session.store.setValue(_FIGURES, int(unfolded))
        self._fill()
        again = self._content.findChild(QPushButton) if self._content is not None else None
        if again is not None:
            again.setFocus()

    def _instead(self, asked: Sequence[str]) -> QVBoxLayout:
        """Say what is asked of a generalized table; Policy says whether it is kept."""
        title = self.tr("Asked of the generalized table")
        note = self.tr("Policy finds out which levels keep it, and what is not promised.")
        lines = self._titled(title, asked)
        lines.addWidget(label(note, "muted", wrap=True))
        return lines

    def _titled(self, title: str, texts: Sequence[str], look: str = "") -> QVBoxLayout:
        return column(
            label(title, "caption", wrap=True),
            *(label(typeset(text), look, wrap=True) for text in texts),
        )

    def _cautions(self, cautions: Sequence[str]) -> QVBoxLayout:
        told = (signed("caution", "caution", typeset(words)) for words in cautions)
        return column(label(self.tr("Caution"), "caption"), *told)

    def _steps(self, steps: Sequence[str], *, promised: bool) -> QVBoxLayout:
        nothing, not_all = self.tr("Nothing is promised yet"), self.tr("Not everything is set yet")
        lines = column(
            label(not_all if promised else nothing, "strong", wrap=True),
            label(self.tr("Before a release can be made:"), "muted", wrap=True),
            spacing=Space.TIGHT,
        )
        for step in steps:
            fill(lines, Space.TIGHT, signed("step-empty", "muted", spoken(step)))
        return lines


def _best_known(facts: Sequence[Fact]) -> list[Fact]:
    """Return the figures that most custodians know, or the first ones."""
    known = [fact for fact in facts if fact.symbol in _KNOWN]
    return known or list(facts[:2])


def _facts(facts: Sequence[Fact]) -> QGridLayout:
    """Return the figures, each with its symbol, its name and what it means as a tip."""
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(Space.INSIDE)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(0, 1)
    for line, fact in enumerate(facts):
        title = label(spoken(fact.title), "small", wrap=True)
        symbol = label(fact.symbol, "small")
        value = label(number(fact.value, 4))
        value.setFont(font(TextSize.SMALL, strong=True, tabular=True))
        value.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignTop)
        for widget in (title, symbol, value):
            widget.setToolTip(spoken(fact.explanation))
        grid.addWidget(title, line, 0)
        grid.addWidget(symbol, line, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(value, line, 2, Qt.AlignmentFlag.AlignTop)
    return grid
