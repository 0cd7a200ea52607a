"""What is done with a column's hierarchy in the Attributes panel."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import HierarchyProposal, Recipe, propose_hierarchy
from sfumato.engine.table.table import Table
from sfumato.project.publication.hierarchy_files import HierarchyFile, with_hierarchies
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.draft import (
    Outcome,
    as_draft,
    ground_of,
    outcome_of,
)
from sfumato.ui.panels.attributes.hierarchy.files_dialog import HierarchyFilesDialog
from sfumato.ui.panels.attributes.hierarchy.section import HierarchySection
from sfumato.ui.panels.attributes.hierarchy.wording import tr
from sfumato.ui.state.attributes import ROWS_AT_ONCE
from sfumato.ui.state.session import Session

KEY = "hierarchy-keeping"


@dataclass(frozen=True)
class _Known:
    table: Table
    spec: ColumnSpec
    recipe: Recipe
    outcome: Outcome | None


class Hierarchies(QObject):
    """Makes, edits and removes hierarchies, and knows what came of those that are kept.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    changed = Signal()
    """What comes of a hierarchy has become known."""
    refused = Signal(object)
    """Why a proposal could not be made."""

    def __init__(self, session: Session, parent: QObject) -> None:
        super().__init__(parent)
        self._session = session
        self._known: dict[str, _Known] = {}
        self._section: HierarchySection | None = None
        self._shown = ""

    def attach(self, section: HierarchySection) -> None:
        """Do what the person wants in a section."""
        self._section = section
        section.propose_wanted.connect(lambda: self.propose(self._shown))
        section.edit_wanted.connect(lambda: self.edit(self._shown))
        section.remove_wanted.connect(lambda: self.remove(self._shown))
        section.files_wanted.connect(self.read_several)

    def show(self, spec: ColumnSpec) -> None:
        """Show a column's hierarchy in the section; only a quasi-identifier's is of use."""
        self._shown = spec.name
        if self._section is not None and spec.role is Role.QUASI_IDENTIFIER:
            self._section.show_hierarchy(self.recipe(spec.name), self.outcome(spec.name))

    def recipe(self, name: str) -> Recipe | None:
        """Return how a column's hierarchy is made, if it has one."""
        return self._session.document.hierarchies.get(name)

    def outcome(self, name: str) -> Outcome | None:
        """Return what comes of a column's hierarchy, or None while that is not known."""
        table, recipe = self._session.table, self.recipe(name)
        if table is None or recipe is None or name not in table.columns:
            return None
        spec = self._session.document.column(name)
        known = self._known.get(name)
        if (
            known is not None
            and known.table is table
            and (known.spec, known.recipe)
            == (
                spec,
                recipe,
            )
        ):
            return known.outcome
        if table.rows <= ROWS_AT_ONCE and not _is_long(recipe):
            self._known[name] = _Known(table, spec, recipe, _outcome(table, spec, recipe))
        else:
            self._known[name] = _Known(table, spec, recipe, None)
            self._session.runner.run(
                tr("Building the hierarchy of {column}").format(column=name),
                lambda _context: _outcome(table, spec, recipe),
                lambda outcome: self._keep(name, _Known(table, spec, recipe, outcome)),
                self.refused.emit,
                key=(KEY, name),
            )
        return self._known[name].outcome

    def _keep(self, name: str, known: _Known) -> None:
        self._known[name] = known
        self.changed.emit()

    def propose(self, name: str) -> None:
        """Give a column the hierarchy that its kind suggests."""
        table = self._session.table
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

    def edit(self, name: str) -> HierarchyDialog | None:
        """Open the editor; None where there is no table to look at."""
        if self._session.table is None:
            return None
        parent = self.parent()
        dialog = HierarchyDialog(
            self._session, name, parent.window() if isinstance(parent, QWidget) else None
        )
        dialog.decided.connect(self._edit)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def read_several(self) -> HierarchyFilesDialog | None:
        """Open the dialog that reads several files; None where there is no table to look at."""
        if self._session.table is None:
            return None
        parent = self.parent()
        dialog = HierarchyFilesDialog(
            self._session, parent.window() if isinstance(parent, QWidget) else None
        )
        dialog.decided.connect(self._take)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()
        return dialog

    def _take(self, files: list[HierarchyFile]) -> None:
        self._session.edit(
            tr("Read {count} hierarchies").format(count=len(files)),
            with_hierarchies(self._session.document, files),
        )

    def remove(self, name: str) -> None:
        """Take a column's hierarchy away; undo brings it back."""
        self._edit(name, None)

    def _edit(self, name: str, recipe: Recipe | None) -> None:
        words = tr("Hierarchy of {column}") if recipe else tr("Remove the hierarchy of {column}")
        document = self._session.document.with_hierarchy(name, recipe)
        self._session.edit(words.format(column=name), document)


def _is_long(recipe: Recipe) -> bool:
    draft = as_draft(recipe)
    return not isinstance(draft, Recipe) and len(draft) > 5000


def _outcome(table: Table, spec: ColumnSpec, recipe: Recipe) -> Outcome:
    try:
        ground = ground_of(spec, table.column(spec.name))
    except SfumatoError as error:
        return Outcome(error=error)
    return outcome_of(ground, recipe)
