"""The problems of a table, one by one, with buttons that mend them."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from sfumato.engine.generalization.hierarchies import Mend, Problem, ProblemKind, sentence
from sfumato.formats.language import grouped
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.attributes.hierarchy.forms import tr
from sfumato.ui.widgets.fields import WrappedCheckBox
from sfumato.ui.widgets.layout import Badge, button, clear_layout, column
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

_SHOWN = 4


def mend_name(mend: Mend, problem: Problem) -> str:
    """Return what a button that mends a problem says."""
    row_first = problem.kind in (ProblemKind.REPEATED, ProblemKind.CONFLICT)
    return {
        Mend.DROP_ROW: tr("Keep the first row") if row_first else tr("Remove the row"),
        Mend.FILL_ROW: tr("Fill the row up"),
        Mend.CUT_ROW: tr("Shorten the row"),
        Mend.LABEL_FROM_ABOVE: tr("Take the label above"),
        Mend.RESPELL: tr("Spell it as in the table"),
        Mend.ADD_HIDDEN: tr("Add it, hidden as *"),
        Mend.ADD_OWN: tr("Add it as a class of its own"),
        Mend.USE_FREQUENT_PARENT: tr("Use “{label}” for all").replace("{label}", problem.other),
        Mend.SPLIT_CLASS: tr("Make two classes"),
        Mend.ADD_TOP: tr("Add * above"),
    }[mend]


def problem_text(problem: Problem) -> str:
    """Return what is wrong, with the value it is about: only the custodian sees it."""
    said = spoken(sentence(problem))
    if not problem.text or problem.kind is ProblemKind.NO_TOP:
        return said
    other = f" – “{problem.other}”" if problem.kind is ProblemKind.SPELLING else ""
    return f"“{problem.text}”{other}: {said}"


class ProblemsModel(CellsModel):
    """What is wrong with a table, one problem a row."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__((Heading(),), parent)
        self.problems: tuple[Problem, ...] = ()

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show other problems."""
        self.problems = problems
        self.lay_out(len(problems))

    def cell(self, row: int, column: int) -> Cell:
        """Return what is wrong."""
        del column
        text = problem_text(self.problems[row])
        return Cell(text, text)


class ProblemsView(QWidget):
    """Shows what is wrong, and tells how the person wants it mended."""

    mend_wanted = Signal(list, object)
    """Problems, and the `Mend` for all of them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = ProblemsModel(self)
        self.badge = Badge("caution", "caution", "", look="")
        self.view = TableView(row_numbers=False)
        self.view.setModel(self.model)
        self.view.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.view.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.view.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Stretch)
        self.view.horizontalHeader().hide()
        self.view.setAccessibleName(self.tr("Problems of the table"))
        self.view.selectionModel().selectionChanged.connect(lambda *_: self._offer())
        self.all_alike = WrappedCheckBox()
        self._buttons = FlowLayout()
        layout = column(self.badge, self.view, spacing=Space.INSIDE)
        layout.addWidget(self.all_alike)
        layout.addLayout(self._buttons)
        self.setLayout(layout)

    def show_problems(self, problems: tuple[Problem, ...]) -> None:
        """Show other problems, those that keep the table from being used first."""
        blocking = sum(problem.blocks for problem in problems)
        notes = len(problems) - blocking
        self.setVisible(bool(problems))
        place = max(self.view.currentIndex().row(), 0)
        self.model.show_problems(tuple(sorted(problems, key=lambda p: not p.blocks)))
        if not problems:
            return
        words = self.tr("{count} {count:problem|problems} to mend").format(count=grouped(blocking))
        if blocking == 1:
            words = self.tr("One problem to mend")
        if not blocking:
            words = self.tr("{count} {count:remark|remarks}; the table can be used").format(
                count=grouped(notes)
            )
        self.badge.show_state(*(("caution", "caution") if blocking else ("info", "muted")), words)
        self.view.setFixedHeight(Space.FIELD * min(max(len(problems), 2), _SHOWN) + 4)
        self.view.selectRow(min(place, len(problems) - 1))
        self._offer()

    @property
    def chosen(self) -> Problem | None:
        """The problem that is chosen."""
        place = self.view.currentIndex().row()
        return self.model.problems[place] if 0 <= place < len(self.model.problems) else None

    def alike(self) -> list[Problem]:
        """Return the chosen problem, with all others that can be mended in the same ways."""
        chosen = self.chosen
        if chosen is None:
            return []
        return [p for p in self.model.problems if (p.kind, p.mends) == (chosen.kind, chosen.mends)]

    def _offer(self) -> None:
        """Offer the ways to mend the chosen problem."""
        clear_layout(self._buttons)
        chosen, alike = self.chosen, self.alike()
        self.all_alike.setVisible(len(alike) > 1)
        self.all_alike.setText(
            self.tr("Mend all {count} of this kind").format(count=grouped(len(alike)))
        )
        for mend in chosen.mends if chosen is not None else ():
            assert chosen is not None
            made = button(mend_name(mend, chosen), partial(self._mend, mend))
            made.setAutoDefault(False)
            self._buttons.addWidget(made)
            made.show()

    def _mend(self, mend: Mend) -> None:
        chosen = self.chosen
        if chosen is not None:
            every = self.all_alike.isChecked() and self.all_alike.isVisibleTo(self)
            self.mend_wanted.emit(self.alike() if every else [chosen], mend)
