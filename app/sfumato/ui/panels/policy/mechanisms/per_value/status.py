"""What is wrong with the limits and where, and what there is to do about it."""

from __future__ import annotations

from collections.abc import Mapping

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.per_value.draft import LimitsDraft
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import button, label, row, set_look

MOST_NAMED = 3


class Status(QWidget):
    """One message below the grid, with its actions; silent where all is well."""

    place_asked = Signal(int, int)
    """The first problem's cell should come into sight: position, column of the draft."""
    strays_removed = Signal()
    taken_back = Signal()
    """The grid should show again what is in force."""
    solve_asked = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._first: tuple[int, int] | None = None
        self.text = label("", "", wrap=True)
        self._icon = IconLabel("danger", "danger", 18)
        self.show_cell = button(tr("Show the cell"), self._go)
        self.remove_strays = button(tr("Remove the unknown values"), self.strays_removed.emit)
        self.take_back = button(tr("Back to what is in force"), self.taken_back.emit)
        self.solve_again = button(tr("Solve again"), self.solve_asked.emit, "primary")
        self._buttons = (self.show_cell, self.remove_strays, self.take_back, self.solve_again)
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(self._icon)
        line.addWidget(self.text, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.INSIDE)
        column.addLayout(line)
        column.addLayout(row(*self._buttons, None))
        self.clear()

    @property
    def words(self) -> str:
        """What is said; empty where all is well."""
        return self.text.text() if not self.isHidden() else ""

    def clear(self) -> None:
        """Say nothing."""
        self.text.setText("")
        self.hide()

    def show_problems(self, draft: LimitsDraft, problems: Mapping[tuple[int, int], str]) -> None:
        """Name what is wrong; the limits in force stay until it is right."""
        places = sorted(problems)
        lines = [f"{draft.names[at[0]]}: {problems[at]}" for at in places[:MOST_NAMED]]
        if len(places) > MOST_NAMED:
            lines.append(tr("{count} more are marked.", count=len(places) - MOST_NAMED))
        if draft.strays:
            named = ", ".join(value or "–" for value, _, _ in draft.strays[:MOST_NAMED])
            more = len(draft.strays) - MOST_NAMED
            lines.append(
                tr(
                    "Not in the domain: {named}{more}.",
                    named=named,
                    more=tr(" and {count} others", count=more) if more > 0 else "",
                )
            )
        lines.append(tr("Until this is right, the limits before stay in force."))
        self._first = places[0] if places else None
        self._show("danger", "\n".join(lines))
        self.show_cell.setVisible(bool(places))
        self.remove_strays.setVisible(bool(draft.strays))
        self.take_back.show()

    def show_refusal(self, what: str, remedy: str) -> None:
        """Say why limits that are sound by themselves can't be met."""
        self._show("danger", f"{what} {remedy}".strip())
        self.take_back.show()

    def show_unsolved(self) -> None:
        """Say that the profile in force does not fit the attribute's values any more."""
        self._show("danger", tr("These limits were solved for other values of the attribute."))
        self.solve_again.show()

    def show_exact(self) -> None:
        """Say that the profile in force gives the exact counts away."""
        words = tr("These limits were solved for the exact counts, which the profile gives away.")
        self._show("danger", words)
        self.solve_again.show()

    def show_working(self, text: str) -> None:
        """Say that a job is at work."""
        self._show("clock", text)

    def show_hint(self, text: str) -> None:
        """Say something that needs no action."""
        self._show("info", text)

    def add_hint(self, text: str) -> None:
        """Say something beside a problem, or by itself."""
        if self.isHidden():
            self.show_hint(text)
        else:
            self.text.setText(f"{self.text.text()}\n{text}")

    def _show(self, icon: str, text: str) -> None:
        for each in self._buttons:
            each.hide()
        self._icon.show_icon(icon, "danger" if icon == "danger" else "muted")
        set_look(self.text, "danger" if icon == "danger" else "muted")
        self.text.setText(text)
        self.setAccessibleName(text)
        self.show()

    def _go(self) -> None:
        if self._first is not None:
            self.place_asked.emit(*self._first)
