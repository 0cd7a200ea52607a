"""One column, or several, in detail: role, kind, missing values, bins and domain."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, MissingRule, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.table.profile import ColumnProfile
from sfumato.engine.table.proposals import Proposal
from sfumato.engine.table.relations import Relation
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.attributes.bins import BinningEditor
from sfumato.ui.panels.attributes.coding import CodingEditor, PseudonymEditor
from sfumato.ui.panels.attributes.columns import (
    kind_name,
    missing_name,
    protection_of_numbers,
    role_choices,
    role_meaning,
    role_name,
)
from sfumato.ui.panels.attributes.domain import DomainEditor
from sfumato.ui.panels.attributes.hierarchy.keeping import HierarchySection
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, ElidedLabel, Rule, boxed, button, column, label, row
from sfumato.ui.widgets.messages import error_texts


class Section(QWidget):
    """A part of the card with a rule above, and a caption unless it has one of its own."""

    def __init__(self, title: str, *widgets: QWidget) -> None:
        super().__init__()
        titled = (label(title, "caption"), *widgets) if title else widgets
        self.setLayout(column(Rule(), *titled, margins=(0, Space.INSIDE, 0, 0)))


class Detail(Card):
    """Shows what is decided about the chosen columns, and tells what should change.

    Parameters
    ----------
    session
        What is open.
    """

    role_chosen = Signal(object)
    kind_chosen = Signal(object)
    missing_chosen = Signal(object)
    role_for_alike = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self.title = ElidedLabel("", "heading")
        self.about = label("", "muted", wrap=True)
        self.role = ChoiceField(role_choices(), name=self.tr("Role"))
        self.role.chosen.connect(self.role_chosen)
        self.kind = ChoiceField(name=self.tr("Kind"))
        self.kind.chosen.connect(self.kind_chosen)
        self.meaning = label("", wrap=True)
        self.reason = label("", "muted", wrap=True)
        self.relations = label("", wrap=True)
        self._sign = IconLabel("info", "muted", 18)
        line = row(self._sign, (self.relations, 1))
        line.setAlignment(self._sign, Qt.AlignmentFlag.AlignTop)
        self._relations = boxed(line, self)
        self.alike = button("", self.role_for_alike.emit, "quiet", "people")
        self.missing = ChoiceField([(rule, missing_name(rule)) for rule in MissingRule])
        self.missing.setAccessibleName(self.tr("A missing value"))
        self.missing.chosen.connect(self.missing_chosen)
        self.bins = BinningEditor()
        self.coding = CodingEditor()
        self.pseudonyms = PseudonymEditor()
        self.domain = DomainEditor()
        self.hierarchy = HierarchySection(session)
        self.problem = label("", "danger", wrap=True)
        self._lay_out()

    def _lay_out(self) -> None:
        titles = column(self.title, self.about, spacing=2)
        self.body.addLayout(titles)
        self._kind_box = QWidget()
        self._kind_box.setLayout(self._titled(self.tr("Kind"), self.kind))
        choices = row((self._titled(self.tr("Role"), self.role), 3), (self._kind_box, 2))
        self.put(
            Space.TIGHT,
            choices,
            self.meaning,
            self.reason,
            self._relations,
            row(self.alike, None),
            self.problem,
        )
        self._bins = Section(self.tr("Bins"), self.bins)
        self._pseudonyms = Section(self.tr("In releases"), self.pseudonyms)
        self._coding = Section(self.tr("Rounding and ends"), self.coding)
        self._missing = Section(self.tr("A missing value"), self.missing)
        self._domain = Section("", self.domain)
        self._hierarchy = Section(self.tr("Hierarchy"), self.hierarchy)
        self.put(
            self._pseudonyms, self._bins, self._coding, self._missing, self._hierarchy, self._domain
        )

    def _titled(self, title: str, field: ChoiceField) -> QVBoxLayout:
        field.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        field.setMinimumWidth(scaled(96))
        caption = label(title, "small")
        caption.setBuddy(field)
        return column(caption, field, spacing=Space.TIGHT)

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
        self._kind_box.hide()
        hidden = (self._bins, self._coding, self._missing, self._hierarchy, self._domain)
        for widget in (*hidden, self._pseudonyms, self.problem, self.alike, self._relations):
            widget.hide()

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
        self.reason.setText(_reason(spec, proposal))
        self.reason.setVisible(bool(self.reason.text()))
        sensitive = spec.role is Role.SENSITIVE
        numbers = spec.kind is Kind.NUMERIC and spec.binning is None
        self.missing.set_choices([(r, missing_name(r, numbers=numbers)) for r in MissingRule])
        self.missing.set_value(spec.missing)
        words = protection_of_numbers(binned=spec.binning is not None) if sensitive else ""
        self.bins.show_consequence(words)
        self._bins.setVisible(spec.kind is Kind.NUMERIC and spec.role is not Role.IDENTIFYING)
        self._coding.setVisible(numbers and spec.role not in (Role.IDENTIFYING, Role.SENSITIVE))
        self._pseudonyms.setVisible(spec.role is Role.IDENTIFYING)
        self._missing.setVisible(sensitive)
        self._hierarchy.setVisible(spec.role is Role.QUASI_IDENTIFIER)
        self.bins.show_binning(spec.binning, profile.numbers if profile is not None else None)

    def show_relations(self, told: Sequence[Relation], *, endangers: bool) -> None:
        """Say how a column follows from others exactly, and what to do about it."""
        said = (f"{typeset(each.sentence)} {typeset(each.advice)}" for each in told)
        self.relations.setText("\n".join(said))
        self._sign.show_icon(
            "caution" if endangers else "info", "caution" if endangers else "muted"
        )
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
        self.alike.setText(words.format(column=", ".join(others), count=len(others), role=name))
        self.alike.setToolTip(", ".join(others))
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
        self._domain.setVisible(domain is not None and wanted)
        if domain is not None:
            text = (
                self.tr("{count} {count:value|values}")
                if spec.binning is None
                else self.tr("{count} {count:bin|bins}")
            )
            if domain.allows_missing and spec.binning is not None:
                text = self.tr("{count} {count:value|values}: bins, and missing")
            self.domain.caption.setText(text.format(count=grouped(domain.size)))
        fixed = spec.binning is not None
        self.domain.show_domain(domain, counts, fixed=fixed)
        self.domain.show_origin(from_rows=spec.tells_rows)
        self.problem.setText(" ".join(error_texts(error)) if error is not None else "")
        self.problem.setVisible(error is not None)


def _about(profile: ColumnProfile | None) -> str:
    """Return what a column looks like, in a line."""
    if profile is None:
        return ""
    tr = QCoreApplication.translate
    parts = [
        spoken(profile.type_name),
        tr("Profiles", ("{count} different {count:value|values}")).format(
            count=grouped(profile.distinct)
        ),
    ]
    if profile.missing:
        parts.append(
            tr("Profiles", ("missing in {count} {count:record|records}")).format(
                count=grouped(profile.missing)
            )
        )
    return " · ".join(parts)


def _reason(spec: ColumnSpec, proposal: Proposal | None) -> str:
    """Return why another role was proposed, or might be right."""
    if proposal is None:
        return ""
    if proposal.may_be_sensitive and spec.role is not Role.SENSITIVE:
        return spoken(proposal.reason)
    if proposal.spec.role is spec.role:
        words = QCoreApplication.translate("Attributes", "Proposed: {reason}")
        return words.format(reason=spoken(proposal.reason))
    return ""
