"""The dialog that adopts an earlier release: what is said of it, what is found, and the choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.analysis.earlier_release import Look, Opened, look, open_file
from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.table.table import EncodedColumn, Table
from sfumato.formats.language import grouped
from sfumato.formats.options import ReadOptions
from sfumato.project.adoption.adopt import check_not_released, entry_called
from sfumato.project.adoption.examination import Claim, Examination, adopt
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.import_page import ReadingDialog
from sfumato.ui.panels.policy.adoption.claim import ClaimForm, level_field, records_text
from sfumato.ui.panels.policy.file_dialog import FileDialog, Meanings
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, boxed, clear_layout, label, row
from sfumato.ui.widgets.messages import Message

JOB: Final = "adoption"
SIZE: Final = (820, 660)


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
        self._texts.clear()
        clear_layout(self._lines)
        if text:
            self._add("info", "muted", text)

    def show_examination(self, examination: Examination, mechanism: str) -> None:
        """Show what was found."""
        self.clear()
        file = examination.file
        self._add_verdict(examination)
        for sentence in examination.damage:
            self._add("danger", "danger", sentence)
        self._add("info", "accent", examination.found.finding)
        if file.estimated:
            field, level = spoken(level_field(mechanism).title), number(file.level, 4)
            words = tr("The level is taken to be {field} = {level}.", field=field, level=level)
            self._add("info", "accent", words)
        if file.part is not None:
            words = tr(
                "The file has {records}. For the others it is not a rung: they are released as"
                " though it did not exist. That is sound unless a record was left out of the file"
                " because of what it would have shown.",
                records=records_text(file),
            )
            self._add("caution", "caution", words)
        if examination.spare:
            words = tr(
                "{count} {count:row|rows} of the file {count:belongs|belong} to no record of the"
                " table and {count:is|are} ignored.",
                count=grouped(examination.spare),
            )
            self._add("caution", "caution", words)
        self._add_checks("", examination.checks)
        for pair in examination.pairs:
            self._add_checks(tr("Compared with {holder}: ", holder=pair.other.called), pair.checks)

    def _add_verdict(self, examination: Examination) -> None:
        if not examination.file.rung:
            words = tr(
                "It does not fit the ladder. You can adopt it beside the ladder: nothing is"
                " fitted to it, and the guarantee says who holds it."
            )
            self._add("caution", "caution", words, "strong")
            return
        words = tr("It becomes a rung: further levels are fitted to it.")
        displaced = [other.called for other in examination.others if not other.rung]
        if displaced:
            words += " " + tr(
                "It is more trusted than {names} but does not form a ladder with them, so they"
                " are kept beside the ladder.",
                names=", ".join(displaced),
            )
        self._add("good", "good", words, "strong")

    def _add_checks(self, where: str, checks: Sequence[Check]) -> None:
        for check in checks:
            icon, token = ("check", "good") if check.holds else ("danger", "danger")
            self._add(icon, token, f"{where}{spoken(check.title)}. {spoken(check.finding)}")

    def _add(self, icon: str, token: str, text: str, look: str = "") -> None:
        words = label(typeset(text), look, wrap=True)
        self._lines.addWidget(boxed(row(IconLabel(icon, token, 18), (words, 1)), self))
        self._texts.append(text)


class AdoptDialog(FileDialog):
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
        texts = (
            tr("Adopt an earlier release of {name}", name=entry.key),
            tr(
                "A version of this table that was given out before, made with another tool."
                " Further levels are fitted to it, so that old and new releases form one ladder."
            ),
            tr("Adopt"),
        )
        super().__init__(session, JOB, texts, SIZE, parent)
        self._entry, self._table, self._columns = entry, table, tuple(columns)
        self._document: Document = session.document
        self._found: Examination | None = None
        attributes = [column.attribute for column in columns]
        self._domains = {a.name: a.domain for a in attributes if a.domain is not None}
        self.form = ClaimForm(self.path, session.document, entry, attributes, table.columns, self)
        note = tr("The file contains values that are not in the domain.")
        self.meanings: Meanings[tuple[str, str]] = Meanings(note, self)
        self.findings = Findings(self)
        self.findings.clear(tr("Choose the file; Sfumato then examines it."))
        for widget in (self.form, self.meanings, self.findings):
            self.column.addWidget(widget)
        self.column.addStretch(1)
        self.form.choose.setFocus()
        self.form.file_asked.connect(self._choose)
        self.form.reading_asked.connect(self._ask_how)
        self.form.changed.connect(self._examine)
        self.meanings.changed.connect(self._take_meaning)
        for choice in self.form.columns.values():
            choice.chosen.connect(lambda _value: self.meanings.forget())

    # ----- the file

    def _choose(self) -> None:
        path = self.ask_for_file(tr("Choose the earlier release"), beside=self.form.file)
        if path is not None:
            self.open_file(path)

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
        title = tr("Reading {name}", name=path.name)
        self.work(title, partial(open_file, path, options), self._show_file)

    def _show_file(self, opened: Opened) -> None:
        self.messages.clear()
        self.form.show_file(opened)
        if opened.problem is not None:
            self.show_problem(opened.problem)

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
            values=self._meant(),
            holder=self.form.holder.text(),
        )

    def _meant(self) -> dict[str, tuple[tuple[str, Value], ...]]:
        """Return the meanings that were given, by attribute."""
        meant: dict[str, tuple[tuple[str, Value], ...]] = {}
        for (name, text), code in self.meanings.codes.items():
            meant[name] = (*meant.get(name, ()), (text, self._domains[name].values[code]))
        return meant

    def _take_meaning(self) -> None:
        """Examine again, once every value has its meaning."""
        if len(self.meanings.codes) == len(self.meanings.fields):
            self._examine()

    def _examine(self) -> None:
        try:
            claim = self.claim()
        except SfumatoError as error:
            self.show_problem(error)
            return
        if claim is None:
            return
        document, folders = self._session.document, self._session.project_folders
        self.work(
            tr("Examining {name}", name=claim.path.name),
            partial(look, document, self._entry.key, claim, self._columns, self._table, folders),
            partial(self._show_look, document),
        )

    def say(self, text: str) -> None:
        """Show a sentence where the findings will be."""
        self._found = None
        self.findings.clear(text or tr("Nothing can be said about it yet."))

    def _show_look(self, document: Document, found: Look) -> None:
        self._document = document
        self.messages.clear()
        if found.problem is not None:
            self.show_problem(found.problem)
            for name, texts in found.unknown.items():
                for text in texts:
                    self.meanings.ask((name, text), text, self._domains[name].names)
        elif found.examination is not None:
            self._show_examination(found.examination)

    def _show_examination(self, examination: Examination) -> None:
        self.findings.show_examination(examination, self._entry.mechanism)
        key = self._entry.key
        try:
            changed = adopt(self._document, key, examination)
            before, after = (entry_called(d, key) for d in (self._document, changed))
            check_not_released(before, after, releases_of(self._session))
        except SfumatoError as error:
            self.messages.show_message(Message.of_error(error, topic=JOB))
            return
        self._found = examination
        rung = examination.file.rung
        self.submit.setText(tr("Adopt") if rung else tr("Adopt beside the ladder"))
        self.submit.setEnabled(True)

    # ----- the choice

    def accept(self) -> None:
        """Hand the document with the release adopted over, and close."""
        if self._found is None:
            return
        # The holder as it is written now: it changes nothing that was found.
        file = self._found.file.held_by(self.form.holder.text().strip())
        found = self._found.with_file(file)
        self.adopted.emit(adopt(self._document, self._entry.key, found))
        super().accept()
