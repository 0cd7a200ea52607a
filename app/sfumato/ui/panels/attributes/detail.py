"""One column, or several, in detail: role, kind and missing values, and how it leaves.

What leaves unperturbed is edited here: numbers are rounded and cut off, names are dropped or
replaced by pseudonyms. A domain, bins and a hierarchy have editors of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from PySide6.QtCore import QCoreApplication, Signal
from PySide6.QtWidgets import QGridLayout, QLineEdit, QWidget

from sfumato.engine.core.columns import (
    Coding,
    ColumnSpec,
    Domain,
    Kind,
    MissingRule,
    Pseudonym,
    Role,
)
from sfumato.engine.core.errors import DomainError, SfumatoError
from sfumato.engine.table.profile import ColumnProfile
from sfumato.engine.table.proposals import Proposal
from sfumato.engine.table.relations import Relation
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import filled_in, spoken, typeset
from sfumato.ui.panels.attributes.columns import (
    kind_name,
    missing_name,
    protection_of_numbers,
    role_choices,
    role_meaning,
    role_name,
)
from sfumato.ui.panels.attributes.domain import BinningEditor, DomainEditor
from sfumato.ui.panels.attributes.hierarchy.keeping import HierarchySection
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, prompt, when_given
from sfumato.ui.widgets.layout import (
    Card,
    ElidedButton,
    ElidedLabel,
    Hairline,
    beside,
    boxed,
    button,
    captioned,
    column,
    label,
    row,
    say,
    set_look,
)
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.painted import IconLabel, put_icon
from sfumato.ui.widgets.sheets import TickGrid
from sfumato.ui.widgets.tables import show_value


class IdentifierShown(StrEnum):
    """What recipients see in the place of an identifier."""

    NOTHING = "nothing"
    OWN = "own"
    SHARED = "shared"
    SOME = "some"


class PseudonymEditor(QWidget):
    """Shows what an identifying column leaves as, and tells what the person wants instead."""

    given = Signal(object)
    """A `Pseudonym`, or None to drop the column."""

    def __init__(self) -> None:
        super().__init__()
        self._recipients: tuple[str, ...] = ()
        self.choice = ChoiceField(
            (
                (IdentifierShown.NOTHING, self.tr("Dropped")),
                (IdentifierShown.OWN, self.tr("A pseudonym for each recipient")),
                (IdentifierShown.SHARED, self.tr("A pseudonym that all share")),
                (IdentifierShown.SOME, self.tr("A pseudonym that some share")),
            )
        )
        self.choice.setAccessibleName(self.tr("In releases"))
        self.choice.chosen.connect(self._choose)
        self.meaning = label("", "muted", wrap=True)
        self.sharing = TickGrid(1, parent=self)
        self.sharing.chosen.connect(lambda names: self.given.emit(Pseudonym(names)))
        self.setLayout(column(self.choice, self.meaning, self.sharing))

    def show_pseudonym(self, pseudonym: Pseudonym | None, recipients: Sequence[str]) -> None:
        """Show what a column leaves as.

        Parameters
        ----------
        pseudonym
            None where it is dropped.
        recipients
            Everybody's name, in order.
        """
        self._recipients = tuple(recipients)
        shown = _shown(pseudonym)
        self.choice.set_value(shown)
        self.meaning.setText(self._meaning(shown))
        sharing = () if pseudonym is None else pseudonym.shared_by or ()
        self.sharing.show_names(recipients, sharing)
        self.sharing.setVisible(shown is IdentifierShown.SOME)

    def _meaning(self, shown: IdentifierShown) -> str:
        return {
            IdentifierShown.NOTHING: self.tr("It is in no release."),
            IdentifierShown.OWN: self.tr(
                "Rows of the same unit can be linked within a recipient's releases, and not with"
                " those of others."
            ),
            IdentifierShown.SHARED: self.tr(
                "Recipients who pool their releases can link them row by row: together they know"
                " everything that any of them was given about a unit."
            ),
            IdentifierShown.SOME: self.tr(
                "Those ticked can link their releases row by row: together they know everything"
                " that any of them was given about a unit. All others have pseudonyms of their own."
            ),
        }[shown]

    def _choose(self, shown: object) -> None:
        wanted = {
            IdentifierShown.NOTHING: None,
            IdentifierShown.OWN: Pseudonym(()),
            IdentifierShown.SHARED: Pseudonym(None),
            IdentifierShown.SOME: Pseudonym(self._recipients[:2]),
        }
        if isinstance(shown, IdentifierShown):
            self.given.emit(wanted[shown])


def _shown(pseudonym: Pseudonym | None) -> IdentifierShown:
    if pseudonym is None:
        return IdentifierShown.NOTHING
    if pseudonym.shared_by is None:
        return IdentifierShown.SHARED
    return IdentifierShown.SOME if pseudonym.shared_by else IdentifierShown.OWN


class CodingEditor(QWidget):
    """Shows how a column is coded, and tells what the person wants instead."""

    given = Signal(object)
    """A `Coding`, or None for numbers as they are."""
    ends_wanted = Signal()
    """Ends that single records don't tell should be proposed."""

    def __init__(self) -> None:
        super().__init__()
        self._coding: Coding | None = None
        titles = (self.tr("No less than"), self.tr("No more than"), self.tr("Multiples of"))
        self.fields = tuple(QLineEdit(self) for _ in titles)
        self.bottom, self.top, self.step = self.fields
        grid = QGridLayout()
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        for place, (title, field) in enumerate(zip(titles, self.fields, strict=True)):
            field.setAccessibleName(title)
            prompt(field, self.tr("as it is"))
            when_given(field, self._give)
            grid.addWidget(label(title, "small", wrap=True), 0, place)
            grid.setColumnStretch(place, 1)
            grid.addWidget(field, 1, place)
        words = self.tr("Round numbers that several records reach")
        told = self.tr("Propose ends")
        self.propose = button(told, self.ends_wanted.emit, "quiet", "refresh", words)
        self.told = label("", "muted", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.setLayout(column(grid, self.told, self.problem, row(self.propose, None)))

    def show_coding(
        self,
        coding: Coding | None,
        cut_off: int | None,
        alone: tuple[int, int] = (0, 0),
        *,
        units: bool = False,
    ) -> None:
        """Show how a column is coded.

        Parameters
        ----------
        coding
            Its rounding and its ends; None where it leaves as it is.
        cut_off
            How many numbers lie beyond the ends, where that is known.
        alone
            How many records, or units, have the smallest and the largest number where few do,
            else 0.
        units
            Whether units are counted.
        """
        typing = coding == self._coding and any(field.hasFocus() for field in self.fields)
        self._coding = coding
        stated = (None, None, None) if coding is None else (coding.bottom, coding.top, coding.step)
        for field, number in zip(self.fields, stated, strict=True):
            if not typing:
                field.setText("" if number is None else show_value(number))
        say(self.told, self._words(coding, cut_off, alone, units))
        self.show_problem("")

    def _words(
        self, coding: Coding | None, cut_off: int | None, alone: tuple[int, int], units: bool
    ) -> str:
        """Return what the ends do, or why there should be some."""
        low, high = alone
        bottom, top = (None, None) if coding is None else (coding.bottom, coding.top)
        said = []
        if cut_off is not None and (bottom is not None or top is not None):
            words = self.tr(
                "{count} {count:number lies|numbers lie} beyond the ends: recipients see the end"
                " instead."
            )
            said.append(words.format(count=grouped(cut_off)))
        if high and top is None:
            words = self.tr("Records with the largest number, which few share: {count}.")
            if units:
                words = self.tr("Units with the largest number, which few share: {count}.")
            said.append(words.format(count=grouped(high)))
        if low and bottom is None:
            words = self.tr("Records with the smallest number, which few share: {count}.")
            if units:
                words = self.tr("Units with the smallest number, which few share: {count}.")
            said.append(words.format(count=grouped(low)))
        return " ".join(said)

    def show_problem(self, text: str, look: str = "danger") -> None:
        """Say what can't be done, or need not; an empty text takes it away."""
        set_look(self.problem, look)
        say(self.problem, text)

    def _give(self) -> None:
        try:
            coding = self._typed()
        except DomainError as error:
            self.show_problem(error_words(error))
            return
        self.show_problem("")
        if coding != self._coding:
            self.given.emit(coding)

    def _typed(self) -> Coding | None:
        """Return what was typed; raise `DomainError` where it is no coding."""
        stated: list[float | None] = []
        for field in self.fields:
            text = field.text().strip().replace("\u2212", "-").replace(",", ".")
            try:
                stated.append(float(text) if text else None)
            except ValueError:
                raise DomainError(
                    "An end or a step is not a number.", "Give a number, or leave it empty."
                ) from None
        return None if stated == [None, None, None] else Coding(*stated)


class CardSection(QWidget):
    """A part of the card with a rule above, and a caption unless it has one of its own."""

    def __init__(self, title: str, *widgets: QWidget) -> None:
        super().__init__()
        titled = (label(title, "caption"), *widgets) if title else widgets
        self.setLayout(column(Hairline(), *titled, margins=(0, Space.INSIDE, 0, 0)))


class Detail(Card):
    """Shows what is decided about the chosen columns, and tells what should change.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.title = ElidedLabel("", "heading")
        self.about = label("", "muted", wrap=True)
        self.role = ChoiceField(role_choices(), name=self.tr("Role"), least=96, shrinks=True)
        self.kind = ChoiceField(name=self.tr("Kind"), least=96, shrinks=True)
        self.meaning = label("", wrap=True)
        self.reason = label("", "muted", wrap=True)
        self.relations = label("", wrap=True)
        self._sign = IconLabel("info", "muted", 18)
        self._relations = boxed(beside(self._sign, self.relations), self)
        self.alike = ElidedButton("", None)
        put_icon(self.alike, "people", "accent")
        words = self.tr("A missing value")
        self.missing = ChoiceField([(rule, missing_name(rule)) for rule in MissingRule], name=words)
        self.bins = BinningEditor()
        self.coding = CodingEditor()
        self.pseudonyms = PseudonymEditor()
        self.domain = DomainEditor()
        self.hierarchy = HierarchySection(session)
        self.problem = label("", "danger", wrap=True)
        self._kind_box = captioned(self.tr("Kind"), self.kind)
        self._parts: dict[QWidget, CardSection] = {
            editor: CardSection(title, editor)
            for title, editor in (
                (self.tr("In releases"), self.pseudonyms),
                (self.tr("Bins"), self.bins),
                (self.tr("Rounding and ends"), self.coding),
                (words, self.missing),
                (self.tr("Hierarchy"), self.hierarchy),
                ("", self.domain),
            )
        }
        choices = row((captioned(self.tr("Role"), self.role), 3), (self._kind_box, 2))
        self.put(column(self.title, self.about, spacing=2), Space.TIGHT, choices, self.meaning)
        self.put(self.reason, self._relations, row(self.alike, None), self.problem)
        self.put(*self._parts.values())

    def show_several(self, specs: Sequence[ColumnSpec]) -> None:
        """Show what several columns have in common: their role."""
        self.title.setText(
            self.tr("{count} {count:column|columns}").format(count=grouped(len(specs)))
        )
        names = ", ".join(spec.name for spec in specs[:6])
        self.about.setText(names if len(specs) <= 6 else f"{names}, …")
        roles = {spec.role for spec in specs}
        if len(roles) == 1:
            self.role.set_value(specs[0].role)
        else:
            self.role.setCurrentIndex(-1)
        self.meaning.setText(role_meaning(specs[0].role) if len(roles) == 1 else "")
        self.reason.setText(self.tr("A role chosen here is given to all of them."))
        for part in (self._kind_box, self.problem, self.alike, self._relations):
            part.hide()
        for part in self._parts.values():
            part.hide()

    def show_column(
        self,
        spec: ColumnSpec,
        kinds: Sequence[Kind],
        profile: ColumnProfile | None,
        proposal: Proposal | None,
    ) -> None:
        """Show one column.

        Parameters
        ----------
        spec
            What is decided about it.
        kinds
            What it can be read as.
        profile, proposal
            What looking at it told, where that is known.
        """
        self.title.setText(spec.name)
        self.about.setText(_about(profile))
        self._kind_box.show()
        self.role.set_value(spec.role)
        self.kind.set_choices([(kind, kind_name(kind)) for kind in kinds])
        self.kind.set_value(spec.kind)
        self.meaning.setText(role_meaning(spec.role))
        say(self.reason, _reason(spec, proposal))
        numbers = spec.kind is Kind.NUMERIC and spec.binning is None
        self.missing.set_choices([(r, missing_name(r, numbers=numbers)) for r in MissingRule])
        self.missing.set_value(spec.missing)
        sensitive, named = spec.role is Role.SENSITIVE, spec.role is Role.IDENTIFYING
        weighs = spec.role is Role.WEIGHT  # which risks count with as a number
        words = protection_of_numbers(binned=spec.binning is not None) if sensitive else ""
        self.bins.show_consequence(words)
        for editor, wanted in (
            (self.bins, spec.kind is Kind.NUMERIC and not named and not (numbers and weighs)),
            (self.coding, numbers and not named and not sensitive),
            (self.pseudonyms, named),
            (self.missing, sensitive),
            (self.hierarchy, spec.role is Role.QUASI_IDENTIFIER),
        ):
            self._parts[editor].setVisible(wanted)
        self.bins.show_binning(spec.binning, profile.numbers if profile is not None else None)

    def show_relations(self, told: Sequence[Relation], *, endangers: bool) -> None:
        """Say how a column follows from others exactly, and what to do about it."""
        said = (f"{typeset(each.sentence)} {typeset(each.advice)}" for each in told)
        self.relations.setText("\n".join(said))
        self._sign.show_icon(*(("caution", "caution") if endangers else ("info", "muted")))
        self._relations.setVisible(bool(told))

    def show_alike(self, role: Role, others: Sequence[str]) -> None:
        """Offer a column's role to the others that are proposed for the same reason.

        Parameters
        ----------
        role
            The column's role.
        others
            Those that have another role.
        """
        one = self.tr("Mark {column} as {role} too: same reason")
        several = self.tr("Mark {count} more as {role}: same reason")
        words = one if len(others) == 1 else several
        name = role_name(role).lower()
        names = ", ".join(others)
        self.alike.say(filled_in(words, column=names, count=len(others), role=name), names)
        self.alike.setVisible(bool(others))

    def show_values(
        self,
        spec: ColumnSpec,
        domain: Domain | None,
        counts: tuple[int, ...] | None,
        error: SfumatoError | None,
    ) -> None:
        """Show a column's domain, and why its rows don't fit where they don't.

        Parameters
        ----------
        spec
            What is decided about the column.
        domain
            Its values; None where it has none.
        counts
            How many records have each.
        error
            Why the rows don't fit.
        """
        wanted = spec.role is not Role.IDENTIFYING and spec.kind is not Kind.TEXT
        self._parts[self.domain].setVisible(domain is not None and wanted)
        if domain is not None:
            binned = spec.binning is not None
            text = self.tr("{count} {count:value|values}")
            if binned:
                text = self.tr("{count} {count:bin|bins}")
            if binned and domain.allows_missing:
                text = self.tr("{count} {count:value|values}: bins, and missing")
            self.domain.caption.setText(text.format(count=grouped(domain.size)))
        self.domain.show_domain(domain, counts, fixed=spec.binning is not None)
        self.domain.show_origin(from_rows=spec.tells_rows)
        say(self.problem, error_words(error) if error is not None else "")


def _about(profile: ColumnProfile | None) -> str:
    """Return what a column looks like, in a line."""
    if profile is None:
        return ""
    tr = QCoreApplication.translate
    values = tr("Profiles", "{count} different {count:value|values}")
    parts = [spoken(profile.type_name), values.format(count=grouped(profile.distinct))]
    if profile.missing:
        missing = tr("Profiles", "missing in {count} {count:record|records}")
        parts.append(missing.format(count=grouped(profile.missing)))
    return " · ".join(parts)


def _reason(spec: ColumnSpec, proposal: Proposal | None) -> str:
    """Return why another role was proposed, or might be right."""
    if proposal is None:
        return ""
    if hint := proposal.hint_for(spec):
        return spoken(hint)
    if proposal.spec.role is spec.role:
        words = QCoreApplication.translate("Attributes", "Proposed: {reason}")
        return words.format(reason=spoken(proposal.reason))
    return ""
