"""Who holds what, in words and as a list: a tick for each member, and what open columns tell.

The pages that weigh coalitions share these, the choice of an attribute, and which releases count.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QCoreApplication
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QHeaderView, QLabel, QWidget

from sfumato.analysis.coalitions import ROUNDING, CoalitionAnswer
from sfumato.analysis.holdings import Holding, ReleaseBasis, holdings_of
from sfumato.analysis.open_columns import figure_sentences
from sfumato.analysis.pooled_numbers import NumbersCoalition, form_leak_sentences
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import joined, small_number
from sfumato.engine.matrices.privacy import epsilon_of_gamma
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import FormLeaks
from sfumato.engine.table.table import Attribute
from sfumato.plots.pooled_numbers import BayesData
from sfumato.project.adoption.adopt import beside_sentence, part_sentence
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import filled_in, local_day, number, spoken, statement_text, typeset
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, Segments
from sfumato.ui.widgets.layout import Card
from sfumato.ui.widgets.sheets import TickedModel
from sfumato.ui.widgets.tables import Cell, Heading, TableView

TIED = 1e-12
"""Levels whose trust differs by less are the same."""
MOST_NAMED = 3


def tr(template: str, **details: object) -> str:
    """Return a sentence of the audit in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("Audit", template), **details)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; many are counted."""
    if len(names) > MOST_NAMED:
        return tr("These {count} recipients", count=len(names))
    *others, last = names
    return tr("{others} and {last}", others=", ".join(others), last=last) if others else last


def adopted_beside(entry: PolicyEntry) -> str:
    """Return where the coalitions in sight and adopted releases are not alike.

    Some releases are no rungs and are left out; others have some of the records only.
    """
    try:
        return spoken(joined(part_sentence([entry]), beside_sentence([entry])))
    except SfumatoError:
        return ""  # the policy says what is wrong with the entry's settings


def coalition_sentence(
    attribute: str, coalition: Sequence[Holding], answer: CoalitionAnswer | None = None
) -> str:
    """Return what a coalition learns.

    Parameters
    ----------
    attribute
        The policy entry's attributes.
    coalition
        What its members hold, the most trusted first.
    answer
        What they restore, once that is computed.
    """
    if not coalition:
        return tr("Tick recipients to see what they learn together.")
    names = [holding.recipient for holding in coalition]
    best = coalition[0]
    if best.trust >= 1.0 - TIED:
        return tr("{best} holds the true {attribute}.", best=best.recipient, attribute=attribute)
    if len(coalition) == 1:
        sentence = tr(
            "{best} alone knows {attribute} at {level}.",
            best=names[0],
            level=level_text(best),
            attribute=attribute,
        )
    elif coalition[-1].trust >= best.trust - TIED:
        sentence = tr(
            "{names} hold the same values of {attribute}: together they learn no more than each"
            " alone.",
            names=listed(names),
            attribute=attribute,
        )
    else:
        sentence = tr(
            "{names} together learn no more about {attribute} than {best} alone.",
            names=listed(names),
            attribute=attribute,
            best=best.recipient,
        )
    return sentence if answer is None else f"{sentence} {typeset(answer.guessed)}"


def level_text(holding: Holding) -> str:
    """Return a holding's level as it is stated."""
    return statement_text(mechanism_called(holding.plan.mechanism), holding.statement)


def numbers_sentence(coalition: NumbersCoalition) -> str:
    """Return what a coalition learns; where numbers are rounded, that it may be more."""
    if len(coalition.members) < 2 or not coalition.formed:
        return coalition_sentence(coalition.entry.key, coalition.members)
    return tr(
        "{names} together can learn a little more about {attribute} than {best} alone, because"
        " released numbers are rounded or bounded. How much is measured under “Numbers”.",
        names=listed(coalition.names),
        attribute=coalition.entry.key,
        best=coalition.names[0],
    )


def forms_text(leaks: FormLeaks | None) -> str:
    """Return what rounding and bounds give away; empty where there are none."""
    if leaks is None:
        return ""
    return "\n".join(typeset(sentence) for sentence in form_leak_sentences(leaks))


def bayes_sentence(data: BayesData, *, formed: bool = False) -> str:
    """Return that pooling changes no guess on the ladder, and by how much it was checked.

    Parameters
    ----------
    data
        What was measured.
    formed
        Whether numbers are rounded or bounded, which these guesses do not exploit.
    """
    if formed:
        return tr(
            "This attacker knows which numbers occur and how often, and takes the released numbers"
            " as if they were not rounded or bounded. What can be made of that as well is told"
            " below."
        )
    known = tr(
        "This attacker knows which numbers occur and how often, and guesses the mean of what is"
        " possible: no estimate has a smaller mean square error."
    )
    if len(data.names) == 1:
        return known
    details = {"known": known, "names": listed(data.names), "best": data.names[0]}
    if data.apart == 0.0:
        return tr(
            "{known} On the ladder, {names} together guess exactly what {best} guesses alone.",
            **details,
        )
    told = tr(
        "{known} On the ladder, the largest difference between a guess of {names} together and"
        " {best}'s own is {apart} of the spread",
        apart=typeset(small_number(data.apart)),
        **details,
    )
    if data.apart <= ROUNDING_OF_GUESSES:
        told += " " + tr("(rounding): they are the same")
    return told + "."


ROUNDING_OF_GUESSES: Final = 1e6 * ROUNDING
"""A guess is a sum over thousands of records, of exponentials of large numbers."""


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
        self.basis.chosen.connect(self.refresh)
        self.model.ticked.connect(self.weigh)
        card = Card(tr("Coalition"), tr("Who might put their releases together?"), parent=self)
        card.body.addWidget(self.table, 1)
        return card

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
