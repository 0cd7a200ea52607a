"""Several hierarchies at once: files, the columns they are for, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.language import grouped
from sfumato.project.publication.hierarchy_files import (
    ENDINGS,
    HierarchyFile,
    files_in,
    read_files,
    read_for,
)
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.attributes.hierarchy.forms import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import ElidedLabel, ScrollPage, button, label, row, set_look
from sfumato.ui.widgets.messages import Message, error_texts

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
        super().__init__(
            tr("Read several hierarchies"),
            tr(
                "Each file is a table, value;level 1;…;*, and is for the column that it is named"
                " after, as adult_hierarchy_age.csv is for age. What is for no column, or has a"
                " problem, is left out, and changes nothing."
            ),
            parent,
        )
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
        self.page.column.addLayout(self._grid)
        self.page.column.addStretch(1)
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
        table, document = self._session.table, self._session.document
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
        table, document = self._session.table, self._session.document
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
            for at, head in enumerate((tr("File"), tr("Column"), tr("What comes of it"))):
                self._grid.addWidget(label(head, "caption"), 0, at)
        name = self.files[place].path.name
        names = [column.name for column in self._session.document.columns]
        choices = [(NONE, tr("for no column")), *((each, each) for each in names)]
        field = ChoiceField(choices, self)
        field.setAccessibleName(tr("Column of {file}").format(file=name))
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
            return " ".join(error_texts(file.problem)), "danger"
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
        self.submit.setText(
            tr("Take {count} {count:hierarchy|hierarchies}").format(count=grouped(len(usable)))
            if usable
            else tr("Take them")
        )

    def accept(self) -> None:
        """Hand the hierarchies over, and close."""
        if self.submit.isEnabled():
            self.decided.emit(self.usable())
            super().accept()
