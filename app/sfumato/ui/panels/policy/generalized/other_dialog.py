"""The dialog that adds another holder's table: file, columns, and what its values mean."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QSignalBlocker, QSize, Qt, Signal
from PySide6.QtWidgets import QFormLayout, QLineEdit, QListWidget, QListWidgetItem, QWidget

from sfumato.engine.core.columns import MISSING_LABEL, Domain
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.values import Value
from sfumato.project.document.generalization import OtherTableFile
from sfumato.project.publication.other_tables import (
    LookAtOther,
    OpenedOther,
    look_at_other,
    open_other,
)
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import grouped
from sfumato.ui.panels.policy.generalized.wording import tr
from sfumato.ui.shell.choosers import table_filters
from sfumato.ui.shell.messages import Message
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import Card, ElidedLabel, ScrollPage, button, label, row

JOB: Final = "other table"
OPEN: Final = -1
WIDTH, HEIGHT = 680, 620
COLUMN_HEIGHT: Final = 26


class OtherDialog(Dialog):
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
        self,
        session: Session,
        sensitive: str,
        domain: Domain,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(
            tr("Add another holder's table"),
            tr(
                "A table that somebody else published about the same people, with {name} under"
                " this or another name.",
                name=sensitive,
            ),
            parent,
        )
        self._session, self._sensitive_name = session, sensitive
        self._domain, self._values = domain, domain.values
        self._opened: OpenedOther | None = None
        self._look: LookAtOther | None = None
        self.meanings: dict[Value, ChoiceField] = {}
        self._build_fields()
        self._lay_out()
        self.add_cancel()
        self.submit = self.add_primary(tr("Add the table"))
        self.submit.setEnabled(False)
        self.resize(WIDTH, HEIGHT)
        self.choose.setFocus()
        self.finished.connect(lambda _result: session.runner.cancel(JOB))

    def _build_fields(self) -> None:
        self.path = ElidedLabel(tr("No file is chosen yet."), "muted", Qt.TextElideMode.ElideMiddle)
        self.choose = button(tr("Choose &file…"), self._choose, icon="folder")
        self.package = button(
            tr("Choose fol&der…"),
            self._choose_folder,
            tip=tr("A bundle made by Sfumato, or another data package with its datapackage.json"),
        )
        self.holder = QLineEdit(self)
        self.holder.setPlaceholderText(tr("Who published it"))
        self.holder.setAccessibleName(tr("Holder"))
        self.holder.textChanged.connect(lambda _text: self._allow())
        self.sensitive = ChoiceField(parent=self)
        self.sensitive.setAccessibleName(tr("Its sensitive column"))
        self.sensitive.chosen.connect(self._change_sensitive)
        self.columns = QListWidget(self)
        self.columns.setAccessibleName(tr("Its public columns"))
        self.columns.setFixedHeight(132)
        self.columns.itemChanged.connect(lambda _item: self._read())
        self.finding_text = label(tr("Choose the file that was published."), "muted", wrap=True)

    def _lay_out(self) -> None:
        form = QFormLayout()
        form.setHorizontalSpacing(Space.BETWEEN)
        form.setVerticalSpacing(Space.INSIDE)
        form.setLabelAlignment(Qt.AlignmentFlag.AlignLeft)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.AllNonFixedFieldsGrow)
        line = row(self.path, self.choose, self.package)
        line.setStretch(0, 1)
        form.addRow(tr("File"), line)
        form.addRow(tr("Holder"), self.holder)
        form.addRow(tr("Sensitive column"), self.sensitive)
        form.addRow(tr("Public columns"), self.columns)
        self.spelling = Card(
            tr("What do these values mean?"),
            tr("They are spelled in no way that ours are. Say which of ours each of them is."),
            self,
        )
        self._meanings = QFormLayout()
        self._meanings.setVerticalSpacing(Space.TIGHT)
        self.spelling.body.addLayout(self._meanings)
        self.spelling.hide()
        page = ScrollPage(self)
        page.column.setContentsMargins(0, 0, Space.INSIDE, 0)
        page.column.addLayout(form)
        page.column.addWidget(self.finding_text)
        page.column.addWidget(self.spelling)
        page.column.addStretch(1)
        self.body.addWidget(page, 1)

    # ----- the file

    def _choose(self) -> None:
        source = self._session.document.source
        folder = Path(source.path).parent if source is not None else None
        packages = tr("Data packages ({patterns})", patterns="*.zip datapackage.json")
        path = self._session.chooser.open_file(
            tr("Choose the other holder's table"), f"{table_filters()};;{packages}", folder
        )
        if path is not None:
            self.open_file(path)

    def _choose_folder(self) -> None:
        path = self._session.chooser.folder(tr("Choose the other holder's bundle"))
        if path is not None:
            self.open_file(path)

    def open_file(self, path: Path) -> None:
        """Look into a file or a data package."""
        self._wait(tr("Reading {name}…", name=path.name))
        self._session.runner.run(
            tr("Reading {name}", name=path.name),
            partial(open_other, path),
            self._show_file,
            self._show_problem,
            key=JOB,
        )

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
                item.setSizeHint(QSize(0, COLUMN_HEIGHT))
                item.setFlags(Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsUserCheckable)
                public = opened.is_public(name, guess)
                item.setCheckState(Qt.CheckState.Checked if public else Qt.CheckState.Unchecked)
        self._forget_meanings()
        self._read()

    def _change_sensitive(self, name: object) -> None:
        with QSignalBlocker(self.columns):
            for item in self._items():
                if item.text() == name:
                    item.setCheckState(Qt.CheckState.Unchecked)
        self._forget_meanings()
        self._read()

    def _items(self) -> list[QListWidgetItem]:
        return [self.columns.item(place) for place in range(self.columns.count())]

    # ----- reading it

    def stated(self) -> OtherTableFile:
        """Return what is said of the table."""
        public = tuple(
            item.text()
            for item in self._items()
            if item.checkState() == Qt.CheckState.Checked and item.text() != self.sensitive.value
        )
        spelling = tuple(
            (value, self._values[field.value])
            for value, field in self.meanings.items()
            if isinstance(field.value, int) and field.value != OPEN
        )
        path = str(self._opened.path) if self._opened is not None else ""
        return OtherTableFile(
            self.holder.text().strip(),
            path,
            "",
            {},
            public,
            str(self.sensitive.value or ""),
            spelling,
        )

    def _read(self) -> None:
        if self._opened is None:
            return
        self._wait(tr("Reading {name}…", name=self._opened.path.name))
        self._session.runner.run(
            tr("Reading {name}", name=self._opened.path.name),
            partial(look_at_other, self._opened, self.stated(), self._values),
            self._show_look,
            self._show_problem,
            key=JOB,
        )

    def _wait(self, text: str) -> None:
        self._look = None
        self.finding_text.setText(text)
        self._allow()

    def _show_look(self, found: LookAtOther) -> None:
        self._look = found
        self.messages.clear()
        if found.problem is not None:
            self.messages.show_message(Message.of_error(found.problem, topic="other"))
            self.finding_text.setText("")
        if found.classes is not None:
            self.finding_text.setText(
                tr(
                    "{classes} classes; the weakest shows {diversity} different values.",
                    classes=grouped(found.classes.classes),
                    diversity=found.classes.diversity,
                )
            )
        self._ask_meanings(found)
        self._allow()

    def _show_problem(self, problem: SfumatoError) -> None:
        self._look = None
        self.finding_text.setText("")
        self.messages.clear()
        self.messages.show_message(Message.of_error(problem, topic="other"))
        self._allow()

    def _forget_meanings(self) -> None:
        while self._meanings.rowCount():
            self._meanings.removeRow(0)
        self.meanings.clear()
        self.spelling.hide()

    def _ask_meanings(self, found: LookAtOther) -> None:
        codes = {value: code for code, value in enumerate(self._values)}
        known = dict(found.file.spelling)
        choices = [(OPEN, tr("choose…")), *enumerate(self._domain.names)]
        for value in found.unknown:
            if value not in self.meanings:
                field = ChoiceField(choices, self)
                field.setAccessibleName(tr("Meaning of {value}", value=value))
                field.chosen.connect(lambda _code: self._read())
                self.meanings[value] = field
                self._meanings.addRow(MISSING_LABEL if value is None else str(value), field)
            if value in known:
                self.meanings[value].set_value(codes.get(known[value], OPEN))
        self.spelling.setVisible(bool(self.meanings))

    # ----- the choice

    def _allow(self) -> None:
        ready = self._look is not None and self._look.classes is not None
        self.submit.setEnabled(ready and bool(self.holder.text().strip()))

    def accept(self) -> None:
        """Hand the table over, and close."""
        if self._look is None or self._look.classes is None:
            return
        file = self._look.file
        self.added.emit(
            OtherTableFile(
                self.holder.text().strip(),
                file.path,
                file.digest,
                file.options,
                file.quasi_identifiers,
                file.sensitive,
                file.spelling,
            )
        )
        super().accept()
