"""The lines of the guarantee: all that is promised to one recipient, and what is not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QGridLayout, QPushButton, QVBoxLayout, QWidget

from sfumato.analysis.guarantee import EntryPromise, Guarantee, in_table, promise_is_empty
from sfumato.analysis.unperturbed.open_columns import OpenAnswer, sampling_sentence
from sfumato.analysis.unperturbed.open_figures import (
    NAMED,
    OpenFigure,
    left_out,
    made_coarser,
    protected_too,
)
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms.base import PromiseFigure
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import Space, TextSize, font
from sfumato.ui.look.wording import apart, filled_in, number, spoken, typeset
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import is_on
from sfumato.ui.widgets.layout import (
    Hairline,
    button,
    column,
    fill,
    label,
    row,
    signed,
)

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
            each.setToolTip(filled_in(each.toolTip(), columns=names, name=figure.attribute))
            each.setAccessibleDescription(each.toolTip())
        caution = apart(figure.caution, session.document.column_names)
        top = signed("caution", "caution", caution)
        buttons = column(self.protect, self.coarsen, self.drop, spacing=0)
        self.setLayout(column(top, buttons, spacing=Space.TIGHT))

    def _protect(self) -> None:
        document, source, noise = self._session.document, self._session.survey, self._session.noise
        if source is None:
            return
        attribute, columns = self._figure.attribute, self._columns

        def work(context: Context) -> Document:
            context.report(0.0, "Protecting columns together")
            return protected_too(document, source, attribute, columns, noise)

        self._run(self.tr("Protect columns that tell {name}"), work)

    def _coarsen(self) -> None:
        document, source, columns = self._session.document, self._session.survey, self._columns
        if source is None:
            return

        def work(context: Context) -> Document:
            context.report(0.0, "Making columns coarser")
            return made_coarser(document, source, columns)

        self._run(self.tr("Make columns coarser that tell {name}"), work)

    def _drop(self) -> None:
        text = filled_in(self.tr("Leave out columns that tell {name}"), name=self._figure.attribute)
        self._session.edit(text, left_out(self._session.document, self._columns))

    def _run(self, template: str, work: Callable[[Context], Document]) -> None:
        self._session.edit_later(filled_in(template, name=self._figure.attribute), work, key=JOB)


def empty_promise(session: Session, promise: EntryPromise) -> str:
    """Say why a release hides nothing of an entry; empty where it hides something."""
    known, entry = session.attributes(), promise.entry
    attributes = [known[name] for name in entry.attributes if name in known]
    if len(attributes) < len(entry.attributes):
        return ""
    return promise_is_empty(entry.mechanism, promise.level, entry.settings, attributes, entry.key)


class GuaranteeLines(QWidget):
    """Says all that is promised to a recipient, or what is missing before anything is.

    Parameters
    ----------
    session
        Whose settings are weighed.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._shown: Guarantee | None = None
        self._beside: OpenAnswer | None = None
        self._recipient = ""
        self._column = column()
        self.setLayout(self._column)
        self._content: QWidget | None = None

    def show_promises(self, found: Guarantee, beside: OpenAnswer | None, recipient: str) -> None:
        """Show what is promised to a recipient, where it is another than is shown.

        Parameters
        ----------
        found
            What the present settings promise.
        beside
            What the columns released unchanged tell, as far as that is known.
        recipient
            To whom; empty for nobody: then what is asked or missing is said.
        """
        same = found == self._shown and beside is self._beside
        if same and recipient == self._recipient:
            return
        self._shown, self._beside, self._recipient = found, beside, recipient
        self._fill()

    def _fill(self) -> None:
        found = self._shown
        if found is None:
            return
        content, before = QWidget(self), self._content
        lines = column(spacing=12)
        content.setLayout(lines)
        if self._recipient:
            self._add_promises(lines, found)
        else:
            self._add_missing(lines, found)
        if before is not None:
            self._column.removeWidget(before)
            before.hide()
            before.deleteLater()
        self._content = content
        self._column.addWidget(content)
        content.show()

    def _add_promises(self, lines: QVBoxLayout, found: Guarantee) -> None:
        chosen = found.for_recipient(self._recipient)
        for promise in chosen:
            self._add_promise(lines, promise, named=len(chosen) > 1)
        for title, told in (
            (self.tr("All attributes"), found.totals),
            (self.tr("Quasi-identifiers"), found.views),
        ):
            if own := [text for name, text in told if name == self._recipient]:
                lines.addLayout(self._titled(title, own))
        if found.coalition:
            fill(lines, Hairline(), self._titled(self.tr("Together"), [found.coalition]))
        if found.editions:
            fill(lines, Hairline(), self._titled(self.tr("Editions"), found.editions))
        if cautions := (*found.cautions, *found.in_house):
            fill(lines, Hairline(), self._cautions(cautions))
        self._add_open_columns(lines, chosen)
        limits = tuple(dict.fromkeys(text for item in chosen for text in item.promise.limits))
        if limits:
            fill(lines, Hairline(), self._titled(self.tr("Not promised"), limits, "muted"))

    def _add_missing(self, lines: QVBoxLayout, found: Guarantee) -> None:
        promised = bool(found.promises)
        if found.instead:
            lines.addLayout(self._instead(found.instead))
        if not promised and (cautions := (*found.cautions, *found.in_house)):
            fill(lines, Hairline(), self._cautions(cautions))
        if found.next_steps:
            lines.addLayout(self._steps(found.next_steps, promised=promised))

    def _add_promise(self, lines: QVBoxLayout, promise: EntryPromise, *, named: bool) -> None:
        """Add one entry's sentence, its two best-known figures, and all of them on request."""
        entry = column(spacing=Space.TIGHT)
        if named:
            entry.addWidget(label(promise.entry.key, "caption", wrap=True))
        if empty := empty_promise(self._session, promise):
            told = self.tr("Danger: {text}").format(text=self._apart(empty))
            entry.addLayout(signed("danger", "danger", told, "danger"))
        entry.addWidget(label(self._apart(promise.promise.sentence), wrap=True))
        if here := in_table(promise, self._session.attributes(), self._beside):
            fill(entry, Space.TIGHT, label(self._apart(here), "muted", wrap=True))
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
            fill(lines, Hairline(), label(self.tr("What other columns tell"), "caption"))
        for figure in told:
            lines.addWidget(OpenCaution(self._session, figure))
        if self._beside.findings.hidden_relations:
            lines.addLayout(self._cautions(self._beside.findings.hidden_relations))
        sampled = sampling_sentence(self._beside.findings)
        if told and sampled:
            lines.addWidget(label(typeset(sampled), "muted", wrap=True))

    def _apart(self, text: str) -> str:
        """Return a sentence in which the columns' names are set apart."""
        return apart(text, self._session.document.column_names)

    def _fold_figures(self, unfolded: bool) -> None:
        self._session.store.setValue(_FIGURES, int(unfolded))
        self._fill()
        again = self._content.findChild(QPushButton) if self._content is not None else None
        if again is not None:
            again.setFocus()

    def _instead(self, asked: Sequence[str]) -> QVBoxLayout:
        """Say what is asked of a generalized table; Policy says whether it is kept."""
        title = self.tr("Requirements of the generalized table")
        note = self.tr("Policy finds out which levels keep it, and what is not promised.")
        lines = self._titled(title, asked)
        lines.addWidget(label(note, "muted", wrap=True))
        return lines

    def _titled(self, title: str, texts: Sequence[str], look: str = "") -> QVBoxLayout:
        return column(
            label(title, "caption", wrap=True),
            *(label(self._apart(text), look, wrap=True) for text in texts),
        )

    def _cautions(self, cautions: Sequence[str]) -> QVBoxLayout:
        told = (signed("caution", "caution", self._apart(words)) for words in cautions)
        return column(label(self.tr("Caution"), "caption"), *told)

    def _steps(self, steps: Sequence[str], *, promised: bool) -> QVBoxLayout:
        nothing, not_all = self.tr("Nothing is promised yet"), self.tr("Not everything is set yet")
        lines = column(
            label(not_all if promised else nothing, "strong", wrap=True),
            label(self.tr("Before a release can be made:"), "muted", wrap=True),
            spacing=Space.TIGHT,
        )
        for step in steps:
            fill(lines, Space.TIGHT, signed("step-empty", "muted", self._apart(step)))
        return lines


def _best_known(facts: Sequence[PromiseFigure]) -> list[PromiseFigure]:
    """Return the figures that most custodians know, or the first ones."""
    known = [fact for fact in facts if fact.symbol in _KNOWN]
    return known or list(facts[:2])


def _facts(facts: Sequence[PromiseFigure]) -> QGridLayout:
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
