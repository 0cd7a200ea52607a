"""A column's hierarchy in short, with the way into its editor."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QHeaderView, QWidget

from sfumato.engine.generalization.hierarchies import Recipe
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.hierarchy.draft import Outcome
from sfumato.ui.panels.attributes.hierarchy.tables import LevelsModel
from sfumato.ui.panels.attributes.hierarchy.wording import kind_name
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.widgets.layout import boxed, button, column, label, row
from sfumato.ui.widgets.responsive import ResponsiveRow
from sfumato.ui.widgets.tables import TableView

WIDE = 430
"""From this width on, all buttons stand side by side; pixels."""
NARROW = 280
_ROW = 32
_HEAD = 40


class HierarchySection(QWidget):
    """Shows whether a column has a hierarchy and what its levels are."""

    propose_wanted = Signal()
    edit_wanted = Signal()
    remove_wanted = Signal()
    files_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.model = LevelsModel(examples_shown=1)
        self.model.setParent(self)
        self.text = label("", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.levels = TableView(row_numbers=False)
        self.levels.setModel(self.model)
        self.levels.setAccessibleName(self.tr("The levels of the hierarchy"))
        header = self.levels.horizontalHeader()
        for section, width in ((0, 60), (1, 72), (2, 82)):
            header.setSectionResizeMode(section, QHeaderView.ResizeMode.Fixed)
            header.resizeSection(section, width)
        header.setSectionResizeMode(3, QHeaderView.ResizeMode.Stretch)
        self.propose = button(self.tr("Propose one"), self.propose_wanted.emit, icon="refresh")
        self.edit = button("", self.edit_wanted.emit, icon="edit")
        self.remove = button(self.tr("Remove"), self.remove_wanted.emit, "quiet")
        self.files = button(self.tr("Read several…"), self.files_wanted.emit, "quiet")
        self.files.setToolTip(
            self.tr("Read hierarchies from files that are named after their columns")
        )
        whole = column(self.text, self.levels, self.problem, spacing=Space.INSIDE)
        buttons = ResponsiveRow(WIDE, NARROW, parent=self)
        buttons.add(boxed(row(self.propose, self.edit, self.remove, None)), 0)
        buttons.add(boxed(row(self.files, None)))
        whole.addWidget(buttons)
        self.setLayout(whole)

    def show_hierarchy(self, recipe: Recipe | None, outcome: Outcome | None) -> None:
        """Show a column's hierarchy.

        Parameters
        ----------
        recipe
            How it is made; None where the column has none.
        outcome
            What comes of it; None while that is being computed.
        """
        self.propose.setVisible(recipe is None)
        self.remove.setVisible(recipe is not None)
        if recipe is None:
            self.edit.setText(self.tr("Make one…"))
            self.text.setText(
                self.tr(
                    "None yet. A hierarchy says how values become coarser, level by level: 37,"
                    " then [35, 40), then [30, 40), then *. It is needed to publish a generalized"
                    " table; releases that perturb do without."
                )
            )
        else:
            self.edit.setText(self.tr("Edit…"))
            self.text.setText(kind_name(recipe.kind))
        hierarchy = outcome.hierarchy if outcome is not None else None
        self.model.show_outcome(outcome if outcome is not None else Outcome())
        self.levels.setVisible(hierarchy is not None)
        if hierarchy is not None:
            self.levels.setFixedHeight(_HEAD + _ROW * min(hierarchy.height, 8) + 2)
        error = outcome.error if outcome is not None else None
        self.problem.setText(" ".join(error_texts(error)) if error is not None else "")
        self.problem.setVisible(error is not None)
