"""What is done with the hierarchies of the Attributes panel: a column's own, or many from files."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.generalization.hierarchies import Recipe, propose_hierarchy
from sfumato.formats.language import grouped
from sfumato.project.document.model import Document
from sfumato.project.publication.hierarchy_files import (
    ENDINGS,
    HierarchyFile,
    files_in,
    read_files,
    read_for,
    with_hierarchies,
)
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in
from sfumato.ui.panels.attributes.hierarchy.dialog import HierarchyDialog
from sfumato.ui.panels.attributes.hierarchy.forms import kind_name, tr
from sfumato.ui.panels.attributes.hierarchy.preview import (
    DraftOutcome,
    LevelsView,
    as_draft,
    ground_of,
    outcome_of,
)
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import (
    ElidedLabel,
    ScrollPage,
    button,
    column,
    label,
    row,
    say,
    set_look,
)
from sfumato.ui.widgets.messages import Message, error_words
from sfumato.ui.widgets.responsive import FlowLayout

KEY = "hierarchy-keeping"


JOB: Final = "hierarchy-files"
NONE: Final = ""
"""The choice that a file is for no column."""
WIDTH, HEIGHT = 820, 560


class HierarchyFilesDialog(Dialog):
    """Reads hierarchies from files, each for the column that it is named after or one chosen.

    Parameters
    ----------
    session
        What is open; it has a table.
    """

    decided = Signal(object)
    """The `HierarchyFile`s to take."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        words = tr(
            "Each file is a table, value;level 1;…;*, and is for the column that it is named"
            " after, as adult_hierarchy_age.csv is for age. What is for no column, or has a"
            " problem, is left out, and changes nothing."
        )
        super().__init__(tr("Read several hierarchies"), words, parent)
        self._session = session
        self.files: list[HierarchyFile] = []
        self.columns: list[ChoiceField] = []
        self.states: list[QLabel] = []
        self.add_file = button(tr("Add a file…"), self._choose_file, icon="add")
        self.add_folder = button(tr("Add a folder…"), self._choose_folder, icon="folder")
        self.body.addLayout(row(self.add_file, self.add_folder, None))
        self.page = ScrollPage(self)
        self.none = label(tr("No file is chosen yet."), "muted")
        self.page.column.addWidget(self.none)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(Space.BETWEEN)
        self._grid.setVerticalSpacing(Space.INSIDE)
        self._grid.setColumnStretch(0, 2)
        self._grid.setColumnStretch(2, 3)
        self.page.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.page.put(self._grid, None)
        self.body.addWidget(self.page, 1)
        self.add_cancel()
        self.submit = self.add_primary(tr("Take them"))
        self.resize(scaled(WIDTH), scaled(HEIGHT))
        self.finished.connect(lambda _result: session.runner.cancel(JOB))
        self._show()

    # ----- files

    def _choose_file(self) -> None:
        endings = " ".join(f"*{ending}" for ending in ENDINGS)
        path = self._session.chooser.open_file(
            tr("Choose a hierarchy"), tr("Tables ({endings})").format(endings=endings), None
        )
        if path is not None:
            self.open_paths([path])

    def _choose_folder(self) -> None:
        path = self._session.chooser.folder(tr("Choose a folder with hierarchies"))
        if path is not None:
            self.open_paths([path])

    def open_paths(self, paths: list[Path]) -> None:
        """Read files, and the files in folders, after those that are there already."""
        table, document = self._session.survey, self._session.document
        if table is None:
            return
        known = list(self.files)
        taken = {file.path for file in known}

        def read(context: Context) -> list[HierarchyFile]:
            new = [path for path in files_in(paths) if path not in taken]
            return [*known, *read_files(new, document, table, context)]

        self._run(read)

    def _change(self, place: int, column: object) -> None:
        """Read a file again, for another column."""
        table, document = self._session.survey, self._session.document
        if table is None:
            return
        known = list(self.files)
        path = known[place].path

        def read(_context: Context) -> list[HierarchyFile]:
            known[place] = read_for(path, str(column) or None, document, table)
            return known

        self._run(read)

    def _run(self, work: Callable[[Context], list[HierarchyFile]]) -> None:
        self.submit.setEnabled(False)
        self._session.runner.run(tr("Reading hierarchies"), work, self._take, self._refuse, key=JOB)

    def _take(self, files: list[HierarchyFile]) -> None:
        self.files = files
        self.messages.clear()
        self._show()

    def _refuse(self, problem: SfumatoError) -> None:
        self.messages.show_message(Message.of_error(problem, topic="files"))
        self._allow()

    # ----- what is shown

    def _show(self) -> None:
        """Show the files: a line for each, which stays as long as the dialog."""
        self.none.setVisible(not self.files)
        for place in range(len(self.columns), len(self.files)):
            self._add_line(place)
        for file, field, state in zip(self.files, self.columns, self.states, strict=True):
            field.set_value(file.column or NONE)
            text, look = self._state(file)
            state.setText(text)
            set_look(state, look)
        self._allow()

    def _add_line(self, place: int) -> None:
        """Add a line for a file."""
        if not place:
            for at, head in enumerate((tr("File"), tr("Column"), tr("Result"))):
                self._grid.addWidget(label(head, "caption"), 0, at)
        name = self.files[place].path.name
        names = [column.name for column in self._session.document.columns]
        choices = [(NONE, tr("for no column")), *((each, each) for each in names)]
        field = ChoiceField(choices, self, name=tr("Column of {file}").format(file=name))
        field.chosen.connect(partial(self._change, place))
        state = label("", wrap=True)
        self.columns.append(field)
        self.states.append(state)
        shown = ElidedLabel(name, "", Qt.TextElideMode.ElideMiddle)
        for at, cell in enumerate((shown, field, state)):
            cell.setMinimumHeight(Space.FIELD)  # one line stands beside the choice
            self._grid.addWidget(cell, place + 1, at, Qt.AlignmentFlag.AlignTop)

    def _state(self, file: HierarchyFile) -> tuple[str, str]:
        """Return what comes of a file, and how that looks."""
        if file.problem is not None:
            return error_words(file.problem), "danger"
        if file.recipe is None:
            return tr("is left out"), "muted"
        if self._repeated(file):
            return tr("Another file is for this column too: choose one."), "danger"
        words = tr("{levels} {levels:level|levels}").format(levels=grouped(file.levels))
        if file.column in self._session.document.hierarchies:
            words += ", " + tr("in the place of the present hierarchy")
        return words, ""

    def _repeated(self, file: HierarchyFile) -> bool:
        alike = [other for other in self.usable() if other.column == file.column]
        return len(alike) > 1

    def usable(self) -> list[HierarchyFile]:
        """Return the files whose hierarchies can be taken."""
        return [file for file in self.files if file.recipe is not None]

    def _allow(self) -> None:
        usable = self.usable()
        self.submit.setEnabled(bool(usable) and not any(map(self._repeated, usable)))
        words = tr("Take {count} {count:hierarchy|hierarchies}").format(count=grouped(len(usable)))
        self.submit.setText(words if usable else tr("Take them"))

    def accept(self) -> None:
        """Hand the hierarchies over, and close."""
        if self.submit.isEnabled():
            self.decided.emit(self.usable())
            super().accept()


@dataclass(frozen=True)
class _KnownNames:
    table: SurveyedTable
    spec: ColumnSpec
    recipe: Recipe
    outcome: DraftOutcome | None = None


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

    def __init__(self, session: Session) -> None:
        super().__init__()
        self._session = session
        self._known: dict[str, _KnownNames] = {}
        self._shown = ""
        self.text = label("", wrap=True)
        self.problem = label("", "danger", wrap=True)
        self.levels = LevelsView((60, 72, 82), examples_shown=1, most=8)
        self.propose = button(self.tr("Propose one"), self._propose, icon="refresh")
        self.edit = button("", lambda: self.open_editor(self._shown), icon="edit")
        self.remove = button(self.tr("Remove"), lambda: self._edit(self._shown, None), "quiet")
        tip = self.tr("Read hierarchies from files that are named after their columns")
        self.files = button(self.tr("Read several…"), self.read_several, "quiet", tip=tip)
        self.setLayout(
            column(
                self.text,
                self.levels,
                self.problem,
                FlowLayout(self.propose, self.edit, self.remove, self.files),
            )
        )

    # ----- what is shown

    def show_column(self, spec: ColumnSpec) -> None:
        """Show a column's hierarchy; only a quasi-identifier's is of use."""
        self._shown = spec.name
        if spec.role is not Role.QUASI_IDENTIFIER:
            return
        recipe = self._session.document.hierarchies.get(spec.name)
        outcome = self._outcome(spec.name, recipe) or DraftOutcome()
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
        say(self.problem, error_words(error) if error is not None else "")

    def _outcome(self, name: str, recipe: Recipe | None) -> DraftOutcome | None:
        """Return what comes of a column's hierarchy, or None while that is not known."""
        table, at_hand = self._session.surveyed, self._session.at_hand
        if table is None or at_hand is None or recipe is None or name not in at_hand.columns:
            return None
        spec = self._session.document.column(name)
        known, asked = self._known.get(name), _KnownNames(table, spec, recipe)
        if known is not None and replace(known, outcome=None) == asked:
            return known.outcome
        known = self._known[name] = asked
        if table.answers_at_once and not _takes_a_while(recipe):
            known = self._known[name] = replace(known, outcome=_outcome(table, spec, recipe))
        else:
            self._session.runner.run(
                filled_in(tr("Building the hierarchy of {column}"), column=name),
                lambda _context: _outcome(table, spec, recipe),
                lambda outcome: self._keep(name, replace(asked, outcome=outcome)),
                self.refused.emit,
                key=(KEY, name),
            )
        return known.outcome

    def _keep(self, name: str, known: _KnownNames) -> None:
        self._known[name] = known
        self.changed.emit()

    # ----- what is done

    def _propose(self) -> None:
        """Give the column the hierarchy that its kind suggests."""
        name, table = self._shown, self._session.survey
        if table is None:
            return
        document = self._session.document
        spec = document.column(name)

        def propose(_context: object) -> Document:
            recipe = propose_hierarchy(spec, table.column(name)).recipe
            return document.with_hierarchy(name, recipe)

        text = filled_in(tr("Hierarchy of {column}"), column=name)
        title = filled_in(tr("Looking at {column}"), column=name)
        self._session.edit_later(text, propose, self.refused.emit, title=title, key=(KEY, name))

    def open_editor(self, name: str) -> HierarchyDialog | None:
        """Open the editor; None where there is no table to look at."""
        if self._session.surveyed is None:
            return None
        dialog = HierarchyDialog(self._session, name, self.window())
        dialog.decided.connect(self._edit)
        return dialog.present()

    def read_several(self) -> HierarchyFilesDialog | None:
        """Open the dialog that reads several files; None where there is no table to look at."""
        if self._session.surveyed is None:
            return None
        dialog = HierarchyFilesDialog(self._session, self.window())
        dialog.decided.connect(self._take)
        return dialog.present()

    def _take(self, files: list[HierarchyFile]) -> None:
        self._session.edit(
            tr("Read {count} {count:hierarchy|hierarchies}").format(count=grouped(len(files))),
            with_hierarchies(self._session.document, files),
        )

    def _edit(self, name: str, recipe: Recipe | None) -> None:
        """Give a column a hierarchy, or take it away; undo brings the other back."""
        words = tr("Hierarchy of {column}") if recipe else tr("Remove the hierarchy of {column}")
        document = self._session.document.with_hierarchy(name, recipe)
        self._session.edit(filled_in(words, column=name), document)


def _takes_a_while(recipe: Recipe) -> bool:
    draft = as_draft(recipe)
    return not isinstance(draft, Recipe) and len(draft) > 5000


def _outcome(table: SurveyedTable, spec: ColumnSpec, recipe: Recipe) -> DraftOutcome:
    try:
        ground = ground_of(spec, table.survey.column(spec.name))
    except SfumatoError as error:
        return DraftOutcome(error=error)
    return outcome_of(ground, recipe)
