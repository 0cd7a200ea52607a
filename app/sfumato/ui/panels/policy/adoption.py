"""Earlier releases that are adopted: what is said of one, its dialog, and the card of all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import joined
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Check, LevelField
from sfumato.engine.table.table import Attribute, EncodedColumn
from sfumato.formats.choices import cautions_first, rows_sentence
from sfumato.formats.language import grouped
from sfumato.formats.options import ReadOptions
from sfumato.plots.ladders import LadderRung
from sfumato.project.adoption.adopt import (
    check_not_released,
    entry_called,
    with_new_place,
    without_file,
)
from sfumato.project.adoption.examination import (
    Claim,
    Examination,
    ExaminationResult,
    OpenedFile,
    adopt,
    look,
    open_file,
)
from sfumato.project.document.adopted_files import (
    BY_KEY,
    BY_ROWS,
    AdoptedFile,
    RowMatching,
    adopted_files,
)
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.release.batched_table import BatchedTable
from sfumato.ui.look.wording import number, spoken, typeset
from sfumato.ui.panels.import_page import ReadingDialog
from sfumato.ui.panels.policy.file_dialog import FileDialog, Meanings
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments, text_field
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import (
    Badge,
    Card,
    ElidedLabel,
    boxed,
    button,
    clear_layout,
    column,
    fill,
    form,
    label,
    refill,
    row,
    tool,
)
from sfumato.ui.widgets.messages import Message
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import FlowLayout

PLACE_JOB: Final = "adopted place"


JOB: Final = "adoption"
SIZE: Final = (820, 660)


def level_field(mechanism_name: str) -> LevelField:
    """Return the field that a mechanism's level itself is stated in: its first term's."""
    return mechanism_called(mechanism_name).terms[0].fields[0]


def records_text(file: AdoptedFile) -> str:
    """Return how many records an adopted release has, where it does not have all of them."""
    covered, records = file.part or (0, 0)
    return tr(
        "{covered} of {records} {records:record|records}",
        covered=grouped(covered),
        records=grouped(records),
    )


class ClaimForm(QWidget):
    """The fields of a claim.

    Parameters
    ----------
    path
        Where the file's path is shown.
    document, entry, attributes
        What the release is of.
    columns
        The table's columns, by which records can be identified.
    """

    changed = Signal()

    def __init__(
        self,
        path: ElidedLabel,
        document: Document,
        entry: PolicyEntry,
        attributes: Sequence[Attribute],
        columns: Sequence[str],
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._entry, self._attributes = entry, tuple(attributes)
        self.opened: OpenedFile | None = None
        self.path = path
        self.choose = button(tr("Choose &file…"), None, icon="folder")
        self.reading = button(tr("How it is &read…"), None, "quiet", "settings")
        self.reading.setEnabled(False)
        self.columns = {
            name: self._choice(tr("Column of {name}", name=name)) for name in entry.attributes
        }
        self.match = Segments(((BY_ROWS, tr("Row by row")), (BY_KEY, tr("By a key column"))), self)
        self.match.setAccessibleName(tr("How rows are matched"))
        self.table_key = self._choice(tr("Key column of the table"))
        self.table_key.set_choices([(name, name) for name in columns])
        self.table_key.set_value(document.record_key or columns[0])
        self._is = label("=", "muted")
        self.file_key = self._choice(tr("Key column of the file"))
        self.how = Segments(((False, tr("Estimate it")), (True, tr("I know it"))), self)
        self.how.setAccessibleName(tr("Where the level comes from"))
        field = level_field(entry.mechanism)
        self.level = NumberField(
            field.minimum, field.maximum, decimals=max(field.decimals, 4), unit=field.unit
        )
        self.level.spin.setAccessibleName(spoken(field.title))
        proposal = mechanism_called(entry.mechanism).default_statements(1)[0]
        self.level.set_value(next(iter(proposal.values())))
        self.holder = text_field(name=tr("Holder"), hint=tr("Who was given it"))
        self._lay_out(spoken(field.title))
        choices: list[ChoiceField | Segments] = [*self.columns.values(), self.match, self.how]
        for choice in (*choices, self.table_key, self.file_key):
            choice.chosen.connect(self._tell)
        self.level.value_changed.connect(self._tell)
        self._show_fields()

    def _choice(self, name: str) -> ChoiceField:
        return ChoiceField(parent=self, name=name, least=160)

    def _lay_out(self, level_name: str) -> None:
        several = len(self.columns) > 1
        keys = FlowLayout(self.match, self.table_key, self._is, self.file_key)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addLayout(
            form(
                (tr("File"), row((self.path, 1), self.reading, self.choose)),
                *(
                    (
                        tr("Column of {name}", name=name) if several else tr("Column"),
                        row(field, None),
                    )
                    for name, field in self.columns.items()
                ),
                (tr("Rows are matched"), keys),
                (tr("Level"), FlowLayout(self.how, label(level_name, "muted"), self.level)),
                (tr("Held by"), self.holder),
            )
        )

    def _tell(self, _value: object = None) -> None:
        self._show_fields()
        if self.readable:
            self.changed.emit()

    def _show_fields(self) -> None:
        """Enable what counts; nothing moves."""
        known = self.readable
        for choice in (*self.columns.values(), self.file_key):
            choice.setEnabled(known)
        for widget in (self.table_key, self._is, self.file_key):
            widget.setVisible(self.match.value == BY_KEY)
        self.level.setEnabled(bool(self.how.value))

    def show_file(self, opened: OpenedFile) -> None:
        """Offer a file's columns: of the same file those chosen before, else of the same names."""
        again = self.file == opened.path
        self.opened = opened
        self.path.setText(str(opened.path))
        self.reading.setEnabled(True)
        choices = [(name, name) for name in opened.columns]
        for name, field in (*self.columns.items(), (self.table_key.value, self.file_key)):
            chosen = field.value if again and field.value in opened.columns else name
            field.set_choices(choices)
            field.set_value(chosen)
        self._tell()

    @property
    def readable(self) -> bool:
        """Whether a file was chosen, and can be read as it is said to be."""
        return self.opened is not None and self.opened.problem is None

    @property
    def file(self) -> Path | None:
        """The file that was chosen."""
        return self.opened.path if self.opened is not None else None

    def stated_match(self) -> RowMatching:
        """Return how rows are matched."""
        if self.match.value == BY_ROWS:
            return RowMatching()
        return RowMatching(BY_KEY, str(self.table_key.value), str(self.file_key.value))

    def stated_level(self) -> float | None:
        """Return the level that is stated; None to have it estimated.

        Raises
        ------
        LevelError
            If it can't be met.
        """
        if not self.how.value:
            return None
        entry = self._entry
        statement = {level_field(entry.mechanism).name: self.level.value}
        return mechanism_called(entry.mechanism).level(statement, self._attributes, entry.settings)


class AdoptionFindings(Card):
    """The tests' results, the damage, and what adopting comes to."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(tr("What it is"), parent=parent)
        self._lines = column()
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
        for note in cautions_first(examination.notes):
            look = ("caution", "caution") if note.caution else ("info", "accent")
            self._add(*look, typeset(joined(note.sentence, rows_sentence(note))))
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


def look_in_parts(
    document: Document,
    entry: PolicyEntry,
    claim: Claim,
    table: BatchedTable,
    folders: Sequence[Path],
    context: Context,
) -> ExaminationResult:
    """Examine a claim about a table in memory or not; of all rows, an entry's attributes are held.

    Raises
    ------
    SfumatoError
        If a row does not fit the document.
    """
    rest = Part(context, 0.3, 1.0)
    columns = table.encoded(document, entry.attributes, Part(context, 0.0, 0.3))
    return look(document, entry.key, claim, columns, table.to_match(rest), folders, rest)


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
        table: BatchedTable,
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
        self._entry, self._table = entry, table
        self._document: Document = session.document
        self._found: Examination | None = None
        attributes = [column.attribute for column in columns]
        self._domains = {a.name: a.domain for a in attributes if a.domain is not None}
        self.form = ClaimForm(self.path, session.document, entry, attributes, table.columns, self)
        note = tr("The file contains values that are not in the domain.")
        self.meanings: Meanings[tuple[str, str]] = Meanings(note, self)
        self.findings = AdoptionFindings(self)
        self.findings.clear(tr("Choose the file; Sfumato then examines it."))
        fill(self.column, self.form, self.meanings, self.findings, None)
        self.form.choose.setFocus()
        self.form.choose.clicked.connect(self._choose)
        self.form.reading.clicked.connect(self._ask_how)
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
        dialog.present(lambda: self.open_file(opened.path, dialog.options))

    def open_file(self, path: Path, options: ReadOptions | None = None) -> None:
        """Look into a file, and examine it with what is said so far."""
        self.meanings.forget()
        title = tr("Reading {name}", name=path.name)
        self.work(title, partial(open_file, path, options), self._show_file)

    def _show_file(self, opened: OpenedFile) -> None:
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
            partial(look_in_parts, document, self._entry, claim, self._table, folders),
            partial(self._show_look, document),
        )

    def say(self, text: str) -> None:
        """Show a sentence where the findings will be."""
        self._found = None
        self.findings.clear(text or tr("Nothing can be said about it yet."))

    def _show_look(self, document: Document, found: ExaminationResult) -> None:
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
            check_not_released(before, after, self._session.steps.releases())
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


def short_level(entry: PolicyEntry, file: AdoptedFile) -> str:
    """Return an adopted release's level, e.g. ``p = 0.4``."""
    return f"{spoken(level_field(entry.mechanism).title)} = {number(file.level, 4)}"


def fixed_rungs(entry: PolicyEntry, files: tuple[AdoptedFile, ...]) -> tuple[LadderRung, ...]:
    """Return the adopted releases that are rungs as the ladder shows them."""
    mechanism = mechanism_called(entry.mechanism)
    return tuple(
        LadderRung(
            file.called,
            mechanism.trust(file.level),
            tr("{level}, adopted", level=short_level(entry, file)),
            tr("An earlier release. Further levels are fitted to it."),
        )
        for file in files
        if file.rung
    )


def _match_text(file: AdoptedFile) -> str:
    """Return how an adopted release's rows are matched."""
    if file.match.by != BY_KEY:
        return tr("matched row by row")
    matched = tr("matched by {column}", column=file.match.table_column)
    return f"{matched}, {records_text(file)}" if file.part is not None else matched


class AdoptedCard(Card):
    """A line for each adopted release of the entry in sight.

    Parameters
    ----------
    session
        What is open.
    """

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._session, self._key = session, ""
        self.dialog: AdoptDialog | None = None
        self.adopt = button(tr("Adopt an earlier release…"), self._ask, icon="open")
        words = tr(
            "Was a version of this table given out before, made with another tool? Adopt it,"
            " and the levels released from here form one ladder with it."
        )
        self._about = label(words, "muted", wrap=True)
        self._lines = column()
        words = tr("Earlier releases")
        self.put(FlowLayout(label(words, "heading"), self.adopt, apart=1), self._about, self._lines)
        self._shown: tuple[AdoptedFile, ...] = ()
        self.lines: dict[str, QWidget] = {}

    # ----- what is shown

    def show_entry(self, entry: PolicyEntry) -> tuple[AdoptedFile, ...]:
        """Show an entry's adopted releases; return them."""
        self._key = entry.key
        self.setVisible(mechanism_called(entry.mechanism).adopts)
        try:
            files = adopted_files(entry.settings)
        except SfumatoError:
            files = ()  # the guarantee says what is wrong with them
        self._about.setVisible(not files)
        if files != self._shown:
            self._shown = files
            self.lines = {file.digest: self._line(entry, file) for file in files}
            refill(self._lines, self.lines.values())
        return files

    def _line(self, entry: PolicyEntry, file: AdoptedFile) -> QWidget:
        state = ("ladder", "good", tr("On the ladder"))
        if not file.rung:
            state = ("caution", "caution", tr("Beside the ladder"))
        level = short_level(entry, file)
        if file.estimated:
            level = tr("{level}, estimated", level=level)
        about = f"{level} · {file.path.name}, {_match_text(file)}"
        texts = column(ElidedLabel(file.called, "strong"), ElidedLabel(about, "small"), spacing=0)
        place = partial(self._show_place, file.digest)
        remove = partial(self._remove, file.digest)
        return boxed(
            row(
                (texts, 1),
                Badge(*state),
                tool("folder", tr("Show where it is now…"), place),
                tool("remove", tr("Stop adopting it"), remove),
            ),
            self,
        )

    # ----- what the person does

    def _ask(self) -> None:
        session, table = self._session, self._session.source
        entry = entry_called(session.document, self._key)
        columns = [session.attribute(name) for name in entry.attributes]
        known = [column for column in columns if column is not None]
        if table is None or len(known) < len(columns):
            return
        self.dialog = AdoptDialog(session, entry, known, table, self.window())
        self.dialog.adopted.connect(self._adopt)
        self.dialog.finished.connect(self._forget)
        self.dialog.open()

    def _forget(self, _result: int) -> None:
        if self.dialog is not None:
            self.dialog.deleteLater()
            self.dialog = None

    def _adopt(self, document: Document) -> None:
        self._session.edit(tr("Adopt an earlier release of {name}", name=self._key), document)

    def _refuse(self, error: SfumatoError) -> None:
        self._session.say_error(error, topic="adoption")

    def _remove(self, digest: str) -> None:
        session = self._session
        changed = without_file(session.document, self._key, digest)
        before, after = (entry_called(d, self._key) for d in (session.document, changed))
        try:
            check_not_released(before, after, session.steps.releases())
        except SfumatoError as error:
            self._refuse(error)
            return
        session.edit(tr("Stop adopting a release of {name}", name=self._key), changed)

    def _show_place(self, digest: str) -> None:
        session = self._session
        path = session.chooser.open_file(tr("Show where the file is now"), table_filters())
        if path is None:
            return
        text = tr("Show where an adopted release is")
        work = partial(with_new_place, session.document, self._key, digest, path)
        title = tr("Reading {name}", name=path.name)
        session.edit_later(text, work, self._refuse, title=title, key=PLACE_JOB)
