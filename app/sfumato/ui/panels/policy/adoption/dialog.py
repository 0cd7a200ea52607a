"""The dialog that adopts an earlier release: what is said of it, what is found, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.formats.options import ReadOptions
from sfumato.project.adoption.adopt import check_not_released, entry_called
from sfumato.project.adoption.examination import Claim, Examination, adopt
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.adoption.findings import Findings
from sfumato.ui.panels.policy.adoption.form import ClaimForm
from sfumato.ui.panels.policy.adoption.looking import Look, Opened, look, open_file
from sfumato.ui.panels.policy.adoption.meanings import Meanings
from sfumato.ui.panels.policy.adoption.wording import tr
from sfumato.ui.reading.dialog import ReadingDialog
from sfumato.ui.shell.choosers import table_filters
from sfumato.ui.shell.messages import Message
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import ScrollPage

JOB: Final = "adoption"
WIDTH, HEIGHT = 820, 660


class AdoptDialog(Dialog):
    """Asks about an earlier release, examines it at every change, and hands it over.

    Parameters
    ----------
    session
        What is open.
    entry
        The policy entry that it is a release of.
    columns
        The entry's attributes, encoded.
    table
        The table.
    """

    adopted = Signal(object)
    """The `Document` with the release adopted."""

    def __init__(
        self,
        session: Session,
        entry: PolicyEntry,
        columns: Sequence[EncodedColumn],
        table: Table,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(
            tr("Adopt an earlier release of {name}", name=entry.key),
            tr(
                "A version of this table that somebody was given already, made with another tool."
                " Further levels are fitted to it, so that old and new releases form one ladder."
            ),
            parent,
        )
        self._session, self._entry, self._table = session, entry, table
        self._columns = tuple(columns)
        self._document: Document = session.document
        self._found: Examination | None = None
        attributes = [column.attribute for column in columns]
        self.form = ClaimForm(session.document, entry, attributes, table.columns, self)
        self.meanings = Meanings(self)
        self.findings = Findings(self)
        page = ScrollPage(self)
        page.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        for widget in (self.form, self.meanings, self.findings):
            page.column.addWidget(widget)
        page.column.addStretch(1)
        self.body.addWidget(page, 1)
        self.add_cancel()
        self.submit = self.add_primary(tr("Adopt"))
        self.submit.setEnabled(False)
        self.resize(WIDTH, HEIGHT)
        self.form.choose.setFocus()
        self.form.file_asked.connect(self._choose)
        self.form.reading_asked.connect(self._ask_how)
        self.form.changed.connect(self._examine)
        self.meanings.changed.connect(self._examine)
        for choice in self.form.columns.values():
            choice.chosen.connect(lambda _value: self.meanings.forget())
        self.finished.connect(lambda _result: session.runner.cancel(JOB))

    # ----- the file

    def _choose(self) -> None:
        folder = self.form.file.parent if self.form.file is not None else self._folder()
        path = self._session.chooser.open_file(
            tr("Choose the earlier release"), table_filters(), folder
        )
        if path is not None:
            self.open_file(path)

    def _folder(self) -> Path | None:
        source = self._session.document.source
        return Path(source.path).parent if source is not None else None

    def _ask_how(self) -> None:
        """Let the person change how the file is read."""
        opened = self.form.opened
        if opened is None:
            return
        dialog = ReadingDialog(self._session, opened.path, opened.options, opened.sheets, self)
        dialog.accepted.connect(lambda: self.open_file(opened.path, dialog.options))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def open_file(self, path: Path, options: ReadOptions | None = None) -> None:
        """Look into a file, and examine it with what is said so far."""
        self.meanings.forget()
        self._wait(tr("Reading {name}", name=path.name))
        self._session.runner.run(
            tr("Reading {name}", name=path.name),
            partial(open_file, path, options),
            self._show_file,
            self._show_problem,
            key=JOB,
        )

    def _show_file(self, opened: Opened) -> None:
        self.messages.clear()
        self.form.show_file(opened)
        if opened.problem is not None:
            self._show_problem(opened.problem)

    # ----- what it is

    def claim(self) -> Claim | None:
        """Return what is said of the release; None before a file is chosen.

        Raises
        ------
        LevelError
            If the level that is stated can't be met.
        """
        opened = self.form.opened
        if opened is None or opened.problem is not None:
            return None
        return Claim(
            path=opened.path,
            options=opened.options,
            columns={name: str(field.value) for name, field in self.form.columns.items()},
            level=self.form.stated_level(),
            match=self.form.stated_match(),
            values=self.meanings.values,
            holder=self.form.holder.text(),
        )

    def _examine(self) -> None:
        try:
            claim = self.claim()
        except SfumatoError as error:
            self._show_problem(error)
            return
        if claim is None:
            return
        self._wait(tr("Examining {name}", name=claim.path.name))
        folders = self._session.project_folders
        document = self._session.document
        self._session.runner.run(
            tr("Examining {name}", name=claim.path.name),
            partial(look, document, self._entry.key, claim, self._columns, self._table, folders),
            partial(self._show_look, document),
            self._show_problem,
            key=JOB,
        )

    def _wait(self, text: str) -> None:
        self._found = None
        self.submit.setEnabled(False)
        self.findings.clear(text)

    def _show_look(self, document: Document, found: Look) -> None:
        self._document = document
        self.messages.clear()
        if found.problem is not None:
            self._show_problem(found.problem)
            domains = {
                column.attribute.name: column.attribute.domain
                for column in self._columns
                if column.attribute.domain is not None
            }
            if found.unknown:
                self.meanings.ask(found.unknown, domains)
        elif found.examination is not None:
            self._show_examination(found.examination)

    def _show_examination(self, examination: Examination) -> None:
        self.findings.show_examination(examination, self._entry.mechanism)
        key = self._entry.key
        try:
            changed = adopt(self._document, key, examination)
            check_not_released(
                entry_called(self._document, key),
                entry_called(changed, key),
                releases_of(self._session),
            )
        except SfumatoError as error:
            self.messages.show_message(Message.of_error(error, topic="adoption"))
            return
        self._found = examination
        rung = examination.file.rung
        self.submit.setText(tr("Adopt") if rung else tr("Adopt beside the ladder"))
        self.submit.setEnabled(True)

    def _show_problem(self, problem: SfumatoError) -> None:
        self._found = None
        self.submit.setEnabled(False)
        self.findings.clear(tr("Nothing can be said about it yet."))
        self.messages.clear()
        self.messages.show_message(Message.of_error(problem, topic="adoption"))

    # ----- the choice

    def accept(self) -> None:
        """Hand the document with the release adopted over, and close."""
        if self._found is None:
            return
        self.adopted.emit(self._with_holder(self._found))
        super().accept()

    def _with_holder(self, examination: Examination) -> Document:
        """Adopt, with the holder as it is written now: it changes nothing that was found."""
        holder = self.form.holder.text().strip()
        file = examination.file.held_by(holder)
        return adopt(self._document, self._entry.key, examination.with_file(file))
