"""Who holds what, in words and as a list: a tick for each member, and what open columns tell.

The pages that weigh coalitions share these, the choice of an attribute, and which releases count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QLabel, QWidget

from sfumato.analysis.coalitions.holdings import Holding, ReleaseBasis, holdings_of
from sfumato.analysis.unperturbed.open_columns import figure_sentences
from sfumato.engine.matrices.privacy import epsilon_of_gamma
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import filled_in, local_day, number, statement_text, typeset
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, Segments
from sfumato.ui.widgets.layout import Card, label, say
from sfumato.ui.widgets.sheets import TickedModel
from sfumato.ui.widgets.tables import Cell, Heading, TableView


def tr(template: str, **details: object) -> str:
    """Return a sentence of the audit in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("Audit", template), **details)


TICK: Final = str(QT_TRANSLATE_NOOP("Audit", "Tick recipients to see what they learn together."))


def level_text(holding: Holding) -> str:
    """Return a holding's level as it is stated."""
    return statement_text(mechanism_called(holding.plan.mechanism), holding.statement)


NAME, LEVEL, ODDS, EPSILON, SINCE = range(5)
MOST_ROWS_SHOWN: Final = 8
WIDE: Final = 480
"""From this width on, the dates are shown."""


class OpenNote(QLabel):
    """Says what somebody learns who uses the columns released unchanged as well.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._best: tuple[str, Holding] | None = None
        self.setWordWrap(True)
        self.hide()
        session.open_columns_changed.connect(self._tell)

    def show_best(self, entry: str, coalition: Sequence[Holding]) -> None:
        """Tell of a policy entry and the most trusted member of a coalition."""
        self._best = (entry, coalition[0]) if coalition else None
        self._tell()

    def _tell(self) -> None:
        answer = self._session.open_columns() if self._best is not None else None
        told: tuple[str, ...] = ()
        if answer is not None and self._best is not None:
            entry, best = self._best
            told = figure_sentences(answer.beside(entry, best.recipient, best.level))
        self.setText(" ".join(typeset(sentence) for sentence in told))
        self.setVisible(bool(told))


class HoldersModel(TickedModel):
    """A line for each recipient, the most trusted first; new ones are ticked."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.holdings: tuple[Holding, ...] = ()
        headings = (
            Heading(self.tr("Recipient")),
            Heading(self.tr("Level"), tabular=True),
            Heading("γ", self.tr("How far the release multiplies anyone's odds at most (γ)"), True),
            Heading("ε", self.tr("The logarithm of γ: local differential privacy"), True),
            Heading(self.tr("Held"), tabular=True),
        )
        self.lay_out(0, headings)

    @property
    def coalition(self) -> tuple[Holding, ...]:
        """What the ticked recipients hold, the most trusted first."""
        return tuple(h for h in self.holdings if self.is_ticked(h.recipient))

    @property
    def has_odds(self) -> bool:
        """Whether it is known how far any release multiplies odds: not so for numbers."""
        return any(holding.matrix is not None for holding in self.holdings)

    def show_holdings(self, holdings: Sequence[Holding]) -> None:
        """Show who holds what."""
        self.holdings = tuple(holdings)
        self.show_lines([holding.recipient for holding in holdings])

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        holding = self.holdings[row]
        odds = holding.odds
        since = self.tr("adopted") if holding.adopted else self.tr("planned")
        if holding.recorded_at is not None:
            since = self.tr("since {day}").format(day=local_day(holding.recorded_at))
        texts = (
            holding.recipient,
            level_text(holding),
            number(odds) if odds is not None else "–",
            number(epsilon_of_gamma(odds)) if odds is not None else "–",
            since,
        )
        return Cell(texts[column], f"{holding.recipient}: {since}")


class HoldersTable(TableView):
    """The table of those who hold something."""

    def __init__(self, model: HoldersModel, parent: QWidget | None = None) -> None:
        super().__init__(parent, row_numbers=False)
        self.setModel(model)
        self._holders = model
        self.setProperty("framed", False)
        self.setAccessibleName(self.tr("Members of the coalition"))
        self.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        header = self.horizontalHeader()
        header.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setMinimumSectionSize(44)

    def fit_rows(self) -> None:
        """Take the height that the lines need, up to a few, and the columns that tell anything."""
        for column in (ODDS, EPSILON):
            self.setColumnHidden(column, not self._holders.has_odds)
        lines = min(max(self.model().rowCount(), 2), MOST_ROWS_SHOWN)
        self.setMinimumHeight((Space.FIELD + 4) + Space.FIELD * lines + 2)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave the dates to the tips where names would not have room beside them."""
        super().resizeEvent(event)
        self.setColumnHidden(SINCE, self.width() < WIDE)


def basis_choice(parent: QWidget) -> Segments:
    """Return a choice of which releases are weighed."""
    choices = [("released", tr("Released so far")), ("planned", tr("As planned"))]
    return Segments(choices, parent, name=tr("Which releases are weighed"))


class HoldersPage(AuditPage):
    """A page on which holders of one policy entry are ticked, and weighed together."""

    listens: ClassVar[tuple[str, ...]] = (*AuditPage.listens, "ledger_changed")

    def lay_out_holders(self) -> Card:
        """Make the choices, and the card of those who may put their releases together."""
        self.entry = ChoiceField(parent=self, least=160, chosen=self.refresh)
        self.basis = basis_choice(self)
        self.model = HoldersModel(self)
        self.table = HoldersTable(self.model, self)
        self.open_note = OpenNote(self.session, self)
        self.rest = label("", "muted", wrap=True)
        self.basis.chosen.connect(self.refresh)
        self.model.ticked.connect(self.weigh)
        card = Card(tr("Coalition"), tr("Who might put their releases together?"), parent=self)
        card.body.addWidget(self.table, 1)
        return card

    def tell_learned(self, sentences: Sequence[str], beside: Iterable[str] = ()) -> None:
        """Say who learns from whom, how much, and what is to be known; the rest stands apart."""
        first, figures, *others = (*map(typeset, sentences), "", "")
        self.say(first, " ".join(filter(None, (figures, *map(typeset, beside)))))
        say(self.rest, "\n".join(filter(None, others)))

    @abstractmethod
    def weigh(self) -> None:
        """Say what those who are ticked learn together."""

    def is_weighed(self, attribute: Attribute) -> bool:
        """Return whether the page is about such an attribute."""
        del attribute
        return True

    def offer(self, entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> None:
        """Offer what can be asked about the entry that is chosen."""

    def entries(self) -> dict[str, tuple[PolicyEntry, dict[str, Attribute]]]:
        """Return the entries whose attributes are known and weighed here, with these."""
        found = {}
        for entry in self.session.document.policy:
            encoded = {name: self.session.attribute(name) for name in entry.attributes}
            known = {
                name: column.attribute
                for name, column in encoded.items()
                if column is not None and self.is_weighed(column.attribute)
            }
            if len(known) == len(encoded):
                found[entry.key] = (entry, known)
        return found

    def refresh(self, _changed: object = None) -> None:
        """Show who holds what, and weigh the coalition, now that somebody looks."""
        entries = self.entries()
        self.entry.set_choices([(key, key) for key in entries])
        holdings: tuple[Holding, ...] = ()
        released = False
        if entries:
            entry, attributes = entries[str(self.entry.value)]
            holdings, released = self._held(entry, attributes)
            self.offer(entry, attributes)
        self.basis.setVisible(released)
        self.model.show_holdings(holdings)
        self.table.fit_rows()
        self.show_work(bool(holdings))
        self.weigh()

    def _held(
        self, entry: PolicyEntry, attributes: Mapping[str, Attribute]
    ) -> tuple[tuple[Holding, ...], bool]:
        """Return who holds what, and whether anything of the entry was released.

        Where nothing was, it is what is planned.
        """
        releases = self.session.steps.releases()
        asked = partial(holdings_of, self.session.document, entry, attributes, releases)
        held = asked(ReleaseBasis.RELEASED)
        released = any(holding.recorded_at is not None for holding in held)
        chosen = released and self.basis.value == ReleaseBasis.RELEASED
        return held if chosen else asked(ReleaseBasis.PLANNED), released
