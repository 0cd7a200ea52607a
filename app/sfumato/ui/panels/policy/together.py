"""Which attributes a policy entry protects together: ticked in a list, with what binds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QVBoxLayout, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.correlation import correlation
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, label, row

TELLING: Final = 0.1
"""A correlation from which on one attribute noticeably tells about another."""


@dataclass(frozen=True)
class Candidate:
    """An attribute that an entry covers, or could cover.

    Parameters
    ----------
    name
        The attribute.
    inside
        Whether the entry covers it.
    partner, correlation
        The other member that it depends on most, and how much (−1 to 1); an empty name where
        there is none.
    obstacle
        Why it can't join; empty where it can.
    """

    name: str
    inside: bool
    partner: str = ""
    correlation: float = 0.0
    obstacle: str = ""


def candidates_for(
    entry: PolicyEntry, attributes: Mapping[str, Attribute]
) -> tuple[Candidate, ...]:
    """Return the attributes that an entry covers or could cover, in the given order.

    Parameters
    ----------
    entry
        The policy entry.
    attributes
        Every sensitive attribute that is known, by name.

    Returns
    -------
    tuple of Candidate
        Empty where the entry can only ever cover one attribute.
    """
    mechanism = mechanism_called(entry.mechanism)
    members = [attributes[name] for name in entry.attributes]
    found = []
    for name, attribute in attributes.items():
        if attribute.numbers is None or attribute.kind not in mechanism.kinds:
            continue
        inside = name in entry.attributes
        obstacle = ""
        if not inside:
            try:
                mechanism.check_attributes((*members, attribute))
            except SfumatoError as error:
                obstacle = error_texts(error)[0]
        others = [member for member in members if member.name != name]
        partner, value = _strongest(attribute, others)
        found.append(Candidate(name, inside, partner, value, obstacle))
    several = len(entry.attributes) > 1 or any(not c.inside and not c.obstacle for c in found)
    return tuple(found) if several else ()


def _strongest(attribute: Attribute, others: Sequence[Attribute]) -> tuple[str, float]:
    found = [(other.name, correlation(attribute, other)) for other in others]
    return max(found, key=lambda pair: abs(pair[1]), default=("", 0.0))


class Together(Card):
    """Shows which attributes are perturbed together, and lets others join or leave."""

    members_chosen = Signal(object)
    """The person wants the entry to cover these attributes: a tuple of names."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("Protect together"),
            tr(
                "Attributes that depend on each other have to be perturbed together: apart, one"
                " helps to clear the noise from the other. Everybody then has one level of trust"
                " for all of them."
            ),
            parent=parent,
        )
        self.boxes: dict[str, QCheckBox] = {}
        self._shown: tuple[Candidate, ...] = ()
        self._list = QVBoxLayout()
        self._list.setSpacing(Space.TIGHT)
        self.body.addLayout(self._list)
        self.advice = label("", wrap=True)
        self._advice = QWidget(self)
        line = row(IconLabel("caution", "caution", 16), self.advice)
        line.setStretch(1, 1)
        self._advice.setLayout(line)
        self.body.addWidget(self._advice)

    def show_candidates(self, candidates: Sequence[Candidate]) -> None:
        """Show who is in and who could join; nothing where nobody could."""
        self.setVisible(bool(candidates))
        if tuple(candidates) != self._shown:
            self._shown = tuple(candidates)
            self._rebuild()
        for candidate in self._shown:
            self.boxes[candidate.name].setChecked(candidate.inside)
        advice = self._advised()
        self.advice.setText(advice)
        self._advice.setVisible(bool(advice))

    def _rebuild(self) -> None:
        focused = next((name for name, box in self.boxes.items() if box.hasFocus()), "")
        while (item := self._list.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        inside = sum(candidate.inside for candidate in self._shown)
        self.boxes = {}
        for candidate in self._shown:
            box = QCheckBox(candidate.name.replace("&", "&&"))
            only_one = candidate.inside and inside == 1
            box.setEnabled(not candidate.obstacle and not only_one)
            words = candidate.obstacle or _bond(candidate)
            box.setToolTip(words)
            box.setAccessibleDescription(words)
            box.clicked.connect(self._tell)
            self.boxes[candidate.name] = box
            line = QWidget(self)
            line.setLayout(row(box, label(words, "small"), None, spacing=Space.BETWEEN))
            self._list.addWidget(line)
        if focused in self.boxes:
            self.boxes[focused].setFocus()

    def _advised(self) -> str:
        """Return who had better join; empty where nobody outside tells much."""
        outside = [
            c
            for c in self._shown
            if not c.inside and not c.obstacle and abs(c.correlation) >= TELLING
        ]
        if not outside:
            return ""
        worst = max(outside, key=lambda c: abs(c.correlation))
        return tr(
            "{name} depends on {partner} (correlation {value}). Tick it, or whoever holds both"
            " learns more about each than its own level says.",
            name=worst.name,
            partner=worst.partner,
            value=_signed(worst.correlation),
        )

    def _tell(self, _checked: bool = False) -> None:
        self.members_chosen.emit(tuple(name for name, box in self.boxes.items() if box.isChecked()))


def _bond(candidate: Candidate) -> str:
    if not candidate.partner:
        return ""
    return tr(
        "correlation {value} with {partner}",
        value=_signed(candidate.correlation),
        partner=candidate.partner,
    )


def _signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "\u2212")
