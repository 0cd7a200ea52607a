"""What is done with the hierarchy of a column in the Attributes panel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QDialog, QWidget

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import HierarchyProposal, Recipe, propose_hierarchy
from sfumato.engine.table.table import Table
from sfumato.formats.language import grouped
from sfumato.project.publication.hierarchy_files import HierarchyFile, with_hierarchies
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.draft import (
    Outcome,
    as_draft,
    ground_of,
    outcome_of,
)
from sfumato.ui.panels.attributes.hierarchy.files_dialog import HierarchyFilesDialog
from sfumato.ui.panels.attributes.hierarchy.forms import kind_name, tr
from sfumato.ui.panels.attributes.hierarchy.preview import LevelsView
from sfumato.ui.state.attributes import ROWS_AT_ONCE
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import button, column, label
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import FlowLayout

KEY = "hierarchy-keeping"


@dataclass(frozen=True)
class _Known:
    table: Table
    spec: ColumnSpec
    recipe: Recipe
    outcome: Outcome | None = None


class HierarchySection(QWidget):
    """Shows whether a column has a hierarchy and what its levels are; makes, edits and removes it.

    Parameters
    ----------
    session
        What is open.
    """

    changed = Signal()
    """What comes of a hierarchy has become known."""
    refused = Signal(object)
    """Why a proposal could not be made."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._known: dict[str, _Known] = {}
        self._shown = ""
        self.text = label("", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.levels = LevelsView((60, 72, 82), examples_shown=1, most=8)
        self.propose = button(self.tr("Propose one"), self._propose, icon="refresh")
        self.edit = button("", lambda: self.open_editor(self._shown), icon="edit")
        self.remove = button(self.tr("Remove"), lambda: self._edit(self._shown, None), "quiet")
        self.files = button(
            self.tr("Read several…"),
            self.read_several,
            "quiet",
            tip=self.tr("Read hierarchies from files that are named after their columns"),
        )
        whole = column(self.text, self.levels, self.problem, spacing=Space.INSIDE)
        whole.addLayout(FlowLayout(self.propose, self.edit, self.remove, self.files))
        self.setLayout(whole)

    # ----- what is shown

    def show_column(self, spec: ColumnSpec) -> None:
        """Show a column's hierarchy; only a quasi-identifier's is of use."""
        self._shown = spec.name
        if spec.role is not Role.QUASI_IDENTIFIER:
            return
        recipe = self._session.document.hierarchies.get(spec.name)
        outcome = self._outcome(spec.name, recipe) or Outcome()
        self.propose.setVisible(recipe is None)
        self.remove.setVisible(recipe is not None)
        self.edit.setText(self.tr("Make one…") if recipe is None else self.tr("Edit…"))
        none = self.tr(
            "None yet. A hierarchy says how values become coarser, level by level: 37,"
            " then [35, 40), then [30, 40), then *. With one, each recipient can be shown"
            " this column as coarsely as that recipient's k asks."
        )
        self.text.setText(none if recipe is None else kind_name(recipe.kind))
        self.levels.show_outcome(outcome)
        error = outcome.error
        self.problem.setText(" ".join(error_texts(error)) if error is not None else "")
        self.problem.setVisible(error is not None)

    def _outcome(self, name: str, recipe: Recipe | None) -> Outcome | None:
        """Return what comes of a column's hierarchy, or None while that is not known."""
        table = self._session.table
        if table is None or recipe is None or name not in table.columns:
            return None
        spec = self._session.document.column(name)
        known = self._known.get(name)
        if (
            known is not None
            and known.table is table
            and (known.spec, known.recipe) == (spec, recipe)
        ):
            return known.outcome
        known = self._known[name] = _Known(table, spec, recipe)
        if table.rows <= ROWS_AT_ONCE and not _is_long(recipe):
            known = self._known[name] = replace(known, outcome=_outcome(table, spec, recipe))
        else:
            self._session.runner.run(
                tr("Building the hierarchy of {column}").format(column=name),
                lambda _context: _outcome(table, spec, recipe),
                lambda outcome: self._keep(name, _Known(table, spec, recipe, outcome)),
                self.refused.emit,
                key=(KEY, name),
            )
        return known.outcome

    def _keep(self, name: str, known: _Known) -> None:
        self._known[name] = known
        self.changed.emit()

    # ----- what is done

    def _propose(self) -> None:
        """Give the column the hierarchy that its kind suggests."""
        name, table = self._shown, self._session.table
        if table is None:
            return
        spec, series = self._session.document.column(name), table.column(name)

        def propose(_context: object) -> HierarchyProposal:
            return propose_hierarchy(spec, series)

        self._session.runner.run(
            tr("Looking at {column}").format(column=name),
            propose,
            lambda proposal: self._edit(name, proposal.recipe),
            self.refused.emit,
            key=(KEY, name),
        )

    def open_editor(self, name: str) -> HierarchyDialog | None:
        """Open the editor; None where there is no table to look at."""
        if self._session.table is None:
            return None
        dialog = HierarchyDialog(self._session, name, self.window())
        dialog.decided.connect(self._edit)
        return _opened(dialog)

    def read_several(self) -> HierarchyFilesDialog | None:
        """Open the dialog that reads several files; None where there is no table to look at."""
        if self._session.table is None:
            return None
        dialog = HierarchyFilesDialog(self._session, self.window())
        dialog.decided.connect(self._take)
        return _opened(dialog)

    def _take(self, files: list[HierarchyFile]) -> None:
        self._session.edit(
            tr("Read {count} {count:hierarchy|hierarchies}").format(count=grouped(len(files))),
            with_hierarchies(self._session.document, files),
        )

    def _edit(self, name: str, recipe: Recipe | None) -> None:
        """Give a column a hierarchy, or take it away; undo brings the other back."""
        words = tr("Hierarchy of {column}") if recipe else tr("Remove the hierarchy of {column}")
        document = self._session.document.with_hierarchy(name, recipe)
        self._session.edit(words.format(column=name), document)


Opened = TypeVar("Opened", bound=QDialog)


def _opened(dialog: Opened) -> Opened:
    dialog.finished.connect(dialog.deleteLater)
    dialog.open()
    return dialog


def _is_long(recipe: Recipe) -> bool:
    draft = as_draft(recipe)
    return not isinstance(draft, Recipe) and len(draft) > 5000


def _outcome(table: Table, spec: ColumnSpec, recipe: Recipe) -> Outcome:
    try:
        ground = ground_of(spec, table.column(spec.name))
    except SfumatoError as error:
        return Outcome(error=error)
    return outcome_of(ground, recipe)
