"""The tables that other holders published: adding one, their classes, and their own l."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd
from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QLineEdit, QListWidget, QListWidgetItem, QVBoxLayout, QWidget

from sfumato.engine.core.columns import MISSING_LABEL, Domain
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value
from sfumato.engine.core.wording import joined
from sfumato.engine.generalization.others import HolderClasses
from sfumato.formats.choices import cautions_first, rows_sentence
from sfumato.formats.language import grouped
from sfumato.formats.notes import Note
from sfumato.project.document.generalization import OtherTableFile, PublicCountsFile
from sfumato.project.publication.other_tables import (
    LookAtOther,
    OpenedOther,
    look_at_other,
    open_other,
)
from sfumato.project.publication.public_counts import open_counts, read_counts
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import typeset, value_name
from sfumato.ui.panels.policy import edits
from sfumato.ui.panels.policy.file_dialog import FileDialog, Meanings
from sfumato.ui.panels.policy.generalized.finding import NodeFinding
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, TickAll, prompt
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    boxed,
    button,
    column,
    form,
    label,
    refill,
    row,
    say,
    tool,
)
from sfumato.ui.widgets.messages import Message, MessageKind, error_texts
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.tables import TableView

JOB: Final = "other table"
COUNTS_JOB: Final = "public counts"
SIZE: Final = (680, 620)
COLUMN_HEIGHT: Final = 26
MOST_CLASSES: Final = 5000
MOST_VALUES: Final = 12


class OtherDialog(FileDialog):
    """Asks about a table that another holder published, and reads it at every change.

    Parameters
    ----------
    session
        What is open.
    sensitive
        Our sensitive attribute.
    domain
        Its domain.
    """

    added = Signal(object)
    """The `OtherTableFile`."""

    def __init__(
        self, session: Session, sensitive: str, domain: Domain, parent: QWidget | None = None
    ) -> None:
        texts = (
            tr("Add another holder's table"),
            tr(
                "A table that someone else published about the same people, with {name} under this"
                " or another name.",
                name=sensitive,
            ),
            tr("Add the table"),
        )
        super().__init__(session, JOB, texts, SIZE, parent)
        self._sensitive_name, self._domain = sensitive, domain
        self._opened: OpenedOther | None = None
        self._look: LookAtOther | None = None
        self._build_fields()
        note = tr("None of your values is spelled like this. Say which of yours each one means.")
        self.meanings: Meanings[Value] = Meanings(note, self)
        self.meanings.changed.connect(self._read)
        self.column.addLayout(
            form(
                (tr("File"), row((self.path, 1), self.choose, self.package)),
                (tr("Published by"), self.holder),
                (tr("Sensitive column"), self.sensitive),
                (tr("Public columns"), self.columns),
                ("", self.tick_all),
            )
        )
        self.column.addWidget(self.finding_text)
        self.column.addWidget(self.meanings)
        self.column.addStretch(1)
        self.choose.setFocus()

    def _build_fields(self) -> None:
        self.choose = button(tr("Choose &file…"), self._choose, icon="folder")
        self.package = button(
            tr("Choose fol&der…"),
            self._choose_folder,
            tip=tr("A bundle made by Sfumato, or another data package with its datapackage.json"),
        )
        self.holder = QLineEdit(self)
        prompt(self.holder, tr("Who published it"))
        self.holder.setAccessibleName(tr("Holder"))
        self.holder.textChanged.connect(lambda _text: self._allow())
        self.sensitive = ChoiceField(parent=self)
        self.sensitive.setAccessibleName(tr("Its sensitive column"))
        self.sensitive.chosen.connect(self._change_sensitive)
        self.columns = QListWidget(self)
        self.columns.setAccessibleName(tr("Its public columns"))
        self.columns.setFixedHeight(scaled(132))
        self.columns.itemChanged.connect(lambda _item: self._read())
        self.tick_all = TickAll(self._tick_all, self)
        self.finding_text = label(tr("Choose the file that was published."), "muted", wrap=True)

    # ----- the file

    def _choose(self) -> None:
        packages = tr("Data packages ({patterns})", patterns="*.zip datapackage.json")
        path = self.ask_for_file(tr("Choose the other holder's table"), f";;{packages}")
        if path is not None:
            self.open_file(path)

    def _choose_folder(self) -> None:
        path = self._session.chooser.folder(tr("Choose the other holder's bundle"))
        if path is not None:
            self.open_file(path)

    def open_file(self, path: Path) -> None:
        """Look into a file or a data package."""
        self.work(tr("Reading {name}", name=path.name), partial(open_other, path), self._show_file)

    def _show_file(self, opened: OpenedOther) -> None:
        self._opened = opened
        self.path.setText(str(opened.path))
        if not self.holder.text().strip():
            self.holder.setText(opened.name)
        guess = opened.proposed_sensitive(self._sensitive_name) or opened.columns[-1]
        self.sensitive.set_choices([(name, name) for name in opened.columns])
        self.sensitive.set_value(guess)
        with QSignalBlocker(self.columns):
            self.columns.clear()
            for name in opened.columns:
                item = QListWidgetItem(name, self.columns)
                item.setSizeHint(QSize(0, scaled(COLUMN_HEIGHT)))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
                public = opened.is_public(name, guess)
                item.setCheckState(Qt.CheckState.Checked if public else Qt.CheckState.Unchecked)
        self.tick_all.offer(len(opened.columns))
        self.meanings.forget()
        self._read()

    def _tick_all(self, ticked: bool) -> None:
        with QSignalBlocker(self.columns):
            for item in self._items():
                public = ticked and item.text() != self.sensitive.value
                item.setCheckState(Qt.CheckState.Checked if public else Qt.CheckState.Unchecked)
        self._read()

    def _change_sensitive(self, name: object) -> None:
        with QSignalBlocker(self.columns):
            for item in self._items():
                if item.text() == name:
                    item.setCheckState(Qt.CheckState.Unchecked)
        self.meanings.forget()
        self._read()

    def _items(self) -> list[QListWidgetItem]:
        return [self.columns.item(place) for place in range(self.columns.count())]

    # ----- reading it

    def stated(self) -> OtherTableFile:
        """Return what is said of the table."""
        ticked = [item for item in self._items() if item.checkState() == Qt.CheckState.Checked]
        values, codes = self._domain.values, self.meanings.codes
        return OtherTableFile(
            self.holder.text().strip(),
            str(self._opened.path) if self._opened is not None else "",
            "",
            {},
            tuple(item.text() for item in ticked if item.text() != self.sensitive.value),
            str(self.sensitive.value or ""),
            tuple((value, values[code]) for value, code in codes.items()),
        )

    def _read(self) -> None:
        if self._opened is not None:
            self.work(
                tr("Reading {name}", name=self._opened.path.name),
                partial(look_at_other, self._opened, self.stated(), self._domain.values),
                self._show_look,
            )

    def say(self, text: str) -> None:
        """Show a sentence where the findings will be."""
        self._look = None
        self.finding_text.setText(text)

    def _show_look(self, found: LookAtOther) -> None:
        self.messages.clear()
        if found.problem is not None:
            self.messages.show_message(Message.of_error(found.problem, topic=JOB))
            self.say("")
        if found.classes is not None:
            self.finding_text.setText(
                tr(
                    "{classes} {classes:class|classes}; the weakest shows {diversity} different"
                    " {diversity:value|values}.",
                    classes=grouped(found.classes.classes),
                    diversity=grouped(found.classes.diversity),
                )
            )
        for note in cautions_first(found.notes):
            kind = MessageKind.CAUTION if note.caution else MessageKind.INFO
            told = typeset(joined(note.sentence, rows_sentence(note)))
            self.messages.show_message(Message(kind, told, topic=note.text))
        self._look = found
        self._ask_meanings(found)
        self._allow()

    def _ask_meanings(self, found: LookAtOther) -> None:
        codes = {value: code for code, value in enumerate(self._domain.values)}
        known = dict(found.file.spelling)
        for value in found.unknown:
            shown = value_name(MISSING_LABEL) if value is None else str(value)
            self.meanings.ask(value, shown, self._domain.names)
            if value in known and known[value] in codes:
                self.meanings.fields[value].set_value(codes[known[value]])

    # ----- the choice

    def _allow(self) -> None:
        ready = self._look is not None and self._look.classes is not None
        self.submit.setEnabled(ready and bool(self.holder.text().strip()))

    def accept(self) -> None:
        """Hand the table over, and close."""
        if self._look is None or self._look.classes is None:
            return
        self.added.emit(replace(self._look.file, holder=self.holder.text().strip()))
        super().accept()


class OtherTablesCard(Card):
    """Other holders' tables about the same people.

    Parameters
    ----------
    session
        What is open.
    finding
        What was found; it has read the tables.
    """

    def __init__(
        self, session: Session, finding: NodeFinding, parent: QWidget | None = None
    ) -> None:
        super().__init__(
            tr("In combination with other holders' tables"),
            tr(
                "Who else has published a table about these people with the same sensitive"
                " attribute? Someone who holds both knows more than either shows."
            ),
            parent,
        )
        self._session, self._finding = session, finding
        self._shown: object = None
        self.rows: dict[str, QWidget] = {}
        self.counts_rows: dict[str, QWidget] = {}
        self._lines = QVBoxLayout()
        self._lines.setSpacing(Space.INSIDE)
        self.body.addLayout(self._lines)
        self.none = label(tr("None: the criteria apply to this table alone."), "small", wrap=True)
        self.body.addWidget(self.none)
        self.add = button(tr("Add a table…"), self.open_dialog, icon="add")
        self.counts = button(
            tr("Add public counts…"),
            self._choose_counts,
            tip=tr(
                "A table of how many people are in the same classes of several tables, with"
                " columns named as there, such as a census by age and place"
            ),
        )
        self.unaligned = label("", "caution", wrap=True)
        self.unaligned.hide()
        self.body.addWidget(self.unaligned)
        self.problem = label("", "danger", wrap=True)
        self.problem.hide()
        self.body.addWidget(boxed(FlowLayout(self.add, self.counts), self))
        self.body.addWidget(self.problem)
        self.body.addStretch(1)

    def refresh(self) -> None:
        """Show which tables there are, and what is known of them."""
        decided = self._session.document.generalization
        others = decided.others if decided is not None else ()
        holders = {each.holder: each for each in self._holders()}
        counts = decided.public_counts if decided is not None else ()
        shown = (others, tuple(holders), counts)
        if shown == self._shown:
            return
        self._shown = shown
        self.rows = {other.holder: self._line(other, holders.get(other.holder)) for other in others}
        self.counts_rows = {each.name: self._counts_line(each) for each in counts}
        refill(self._lines, (*self.rows.values(), *self.counts_rows.values()))
        say(self.unaligned, self._unaligned())
        self.none.setVisible(not others)
        self.counts.setEnabled(bool(others))

    def _holders(self) -> tuple[HolderClasses, ...]:
        found = self._finding.found
        return tuple(found.prepared.holders) if found is not None else ()

    def _aligned(self, holder: str) -> str:
        """Return which columns of a table are aligned with ours."""
        found = self._finding.found
        shared = () if found is None else found.prepared.shared
        return ", ".join(each.name[1] for each in shared if each.name[0] == holder)

    def _unaligned(self) -> str:
        """Return why columns that have the names of ours are not aligned."""
        found = self._finding.found
        left = () if found is None else found.prepared.unaligned
        return " ".join(typeset(each.sentence) for each in left)

    def _line(self, other: OtherTableFile, classes: HolderClasses | None) -> QWidget:
        words = tr("known: {columns}", columns=", ".join(other.quasi_identifiers) or tr("nothing"))
        if classes is not None:
            words = tr(
                "{classes} {classes:class|classes}, own l = {diversity}; {words}",
                classes=grouped(classes.classes),
                diversity=classes.diversity,
                words=words,
            )
        shared = self._aligned(other.holder)
        if shared:
            words = tr("{words}; aligned with yours: {columns}", words=words, columns=shared)
        texts = column(ElidedLabel(other.holder, "strong"), ElidedLabel(words, "small"), spacing=2)
        show = button(tr("Classes"), partial(self.show_classes, other.holder), "quiet")
        show.setEnabled(classes is not None)
        remove = tool("remove", tr("Leave this table out"), partial(self.remove, other.holder))
        remove.setAccessibleName(tr("Leave the table of {holder} out", holder=other.holder))
        return boxed(row((texts, 1), show, remove), self)

    def _counts_line(self, counts: PublicCountsFile) -> QWidget:
        words = tr("public counts by {columns}", columns=", ".join(c for c, *_ in counts.columns))
        texts = column(ElidedLabel(counts.name, "strong"), ElidedLabel(words, "small"), spacing=2)
        remove = tool("remove", tr("Leave these counts out"), partial(self.forget, counts.name))
        remove.setAccessibleName(tr("Leave the public counts {name} out", name=counts.name))
        return boxed(row((texts, 1), remove), self)

    # ----- what the person does

    def _choose_counts(self) -> None:
        source = self._session.document.source
        folder = source.folder if source is not None else None
        path = self._session.chooser.open_file(tr("Choose public counts"), table_filters(), folder)
        if path is not None:
            self.open_counts(path)

    def open_counts(self, path: Path) -> None:
        """Take a file of public counts into account."""
        before = self._session.document
        decided = before.generalization
        if decided is None:
            return
        text = tr("Take the public counts {name} into account", name=path.stem)
        tables = (decided.quasi_identifiers, decided.others)

        notes: list[Note] = []

        def read(context: Context) -> PublicCountsFile:
            found = open_counts(path, path.stem, None, (), *tables, Part(context, 0.0, 0.3))
            read_counts(found, Part(context, 0.3, 1.0), notes.append)  # before it is kept
            return found

        def take(found: PublicCountsFile) -> None:
            cautions = [typeset(note.sentence) for note in cautions_first(notes) if note.caution]
            say(self.problem, " ".join(cautions))
            self._session.edit(text, edits.with_counts(before, found))

        self._session.runner.run(
            tr("Reading {name}", name=path.name),
            read,
            self._session.unless_changed(text, take),
            self._refuse,
            key=COUNTS_JOB,
        )

    def _refuse(self, problem: SfumatoError) -> None:
        say(self.problem, " ".join(error_texts(problem)))

    def forget(self, name: str) -> None:
        """Leave public counts out; undo brings them back."""
        self._session.edit(
            tr("Leave the public counts {name} out", name=name),
            edits.without_counts(self._session.document, name),
        )

    def open_dialog(self) -> OtherDialog | None:
        """Ask for another table."""
        decided = self._session.document.generalization
        encoded = self._session.attribute(decided.sensitive) if decided is not None else None
        domain = encoded.attribute.domain if encoded is not None else None
        if decided is None or domain is None:
            return None
        dialog = OtherDialog(self._session, decided.sensitive, domain, self.window())
        dialog.added.connect(self._take)
        return dialog.present()

    def _take(self, other: OtherTableFile) -> None:
        self._session.edit(
            tr("Add the table of {holder}", holder=other.holder),
            edits.with_other(self._session.document, other),
        )

    def remove(self, holder: str) -> None:
        """Leave a table out; undo brings it back."""
        self._session.edit(
            tr("Leave the table of {holder} out", holder=holder),
            edits.without_other(self._session.document, holder),
        )

    def show_classes(self, holder: str) -> Dialog | None:
        """Show a table's classes and the sensitive values that occur in each."""
        found = self._finding.found
        classes = next((each for each in self._holders() if each.holder == holder), None)
        if found is None or classes is None:
            return None
        dialog = Dialog(
            tr("The table of {holder}", holder=holder),
            tr("Its equivalence classes, and the sensitive values in each."),
            self.window(),
        )
        table = TableView(dialog, row_numbers=False)
        table.setSortingEnabled(True)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        table.show_frame(classes_frame(classes, found.prepared.coded.values))
        dialog.body.addWidget(table, 1)
        dialog.add_cancel(tr("Close"))
        dialog.resize(scaled(720), scaled(480))
        return dialog.present()


def classes_frame(classes: HolderClasses, values: tuple[str, ...]) -> pd.DataFrame:
    """Return a row for each class: its labels, its records and its sensitive values."""
    shown = min(classes.classes, MOST_CLASSES)
    weakest = np.argsort((classes.counts > 0).sum(axis=1), kind="stable")[:shown]
    rows = []
    for number in weakest:
        present = np.flatnonzero(classes.counts[number])
        names = [str(values[code]) for code in present[:MOST_VALUES]]
        more = ["…"] if len(present) > MOST_VALUES else []
        records = int(classes.counts[number].sum())
        which = ", ".join([*names, *more])
        rows.append((classes.describe(int(number)), records, len(present), which))
    return pd.DataFrame(rows, columns=[tr("Class"), tr("Records"), tr("Values"), tr("Which")])
