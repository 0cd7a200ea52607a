"""What was found of an earlier release, as a list of tests with their results."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.engine.mechanisms.base import Check
from sfumato.project.adoption.examination import Examination
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped, number, spoken, typeset
from sfumato.ui.panels.policy.adoption.wording import level_field, records_text, tr
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, label


class Findings(Card):
    """The tests' results, the damage, and what adopting comes to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("What it is"), parent=parent)
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.INSIDE)
        self.body.addLayout(self._lines)
        self._texts: list[str] = []
        self.clear()

    @property
    def texts(self) -> tuple[str, ...]:
        """The sentences in sight."""
        return tuple(self._texts)

    def clear(self, text: str = "") -> None:
        """Show nothing but what is to be done first."""
        self._empty()
        self._add("info", "muted", text or tr("Choose the file. It is then examined."))

    def show_examination(self, examination: Examination, mechanism: str) -> None:
        """Show what was found."""
        self._empty()
        file = examination.file
        self._add_verdict(examination)
        for sentence in examination.damage:
            self._add("danger", "danger", sentence)
        self._add("info", "accent", examination.found.finding)
        if file.estimated:
            field = spoken(level_field(mechanism).title)
            words = tr(
                "It is taken to be {field} = {level}.", field=field, level=number(file.level, 4)
            )
            self._add("info", "accent", words)
        if file.part is not None:
            words = tr(
                "It has {records}. For the others it is no rung: they are released as though it"
                " did not exist. That is sound unless a record was left out of the file because"
                " of what it would have shown.",
                records=records_text(file),
            )
            self._add("caution", "caution", words)
        if examination.spare:
            words = tr(
                "{count} rows of the file belong to no record of the table and are left aside.",
                count=grouped(examination.spare),
            )
            self._add("caution", "caution", words)
        for check in examination.checks:
            self._add_check("", check)
        for pair in examination.pairs:
            for check in pair.checks:
                self._add_check(tr("Beside {holder}: ", holder=pair.other.called), check)

    def _add_verdict(self, examination: Examination) -> None:
        if not examination.file.rung:
            self._add(
                "caution",
                "caution",
                tr(
                    "It does not fit the ladder. You can adopt it beside the ladder: nothing is"
                    " fitted to it, and the guarantee says who holds it."
                ),
                strong=True,
            )
            return
        displaced = [other.called for other in examination.others if not other.rung]
        words = tr("It becomes a rung: further levels are fitted to it.")
        if displaced:
            words += " " + tr(
                "It is more trusted than {names}, with which it forms no ladder, so these stand"
                " beside the ladder.",
                names=", ".join(displaced),
            )
        self._add("good", "good", words, strong=True)

    def _add_check(self, where: str, check: Check) -> None:
        icon, token = ("check", "good") if check.holds else ("danger", "danger")
        self._add(icon, token, f"{where}{spoken(check.title)}. {spoken(check.finding)}")

    def _add(self, icon: str, token: str, text: str, *, strong: bool = False) -> None:
        line = QWidget(self)
        across = QHBoxLayout(line)
        across.setContentsMargins(0, 0, 0, 0)
        across.setSpacing(Space.INSIDE)
        words = label(typeset(text), "strong" if strong else "", wrap=True)
        across.addWidget(IconLabel(icon, token, 18))
        across.addWidget(words, 1)
        self._lines.addWidget(line)
        self._texts.append(text)

    def _empty(self) -> None:
        self._texts.clear()
        while (item := self._lines.takeAt(0)) is not None:
            widget = item.widget()
            if widget is not None:
                widget.hide()
                widget.deleteLater()
