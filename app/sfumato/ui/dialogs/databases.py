"""Where a table is that no file dialog finds: on a server, in a database, in a folder of parts."""

from __future__ import annotations

from enum import Enum
from pathlib import Path
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QLineEdit, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.databases import PASSWORDS, Address, place_of
from sfumato.formats.errors import WrongPassword
from sfumato.formats.reading import Place, sheets_of
from sfumato.jobs import JobRunner
from sfumato.ui.dialogs.base import Dialog, SecretField
from sfumato.ui.look.theme import scaled
from sfumato.ui.widgets.fields import ChoiceField, NumberField, prompt, when_given
from sfumato.ui.widgets.files import FileChooser
from sfumato.ui.widgets.layout import button, fill, form, row
from sfumato.ui.widgets.messages import Message

JOB: Final = "looking into a database"
_PORT: Final = 5432
_WIDTH: Final = 560


class DatabaseKind(Enum):
    """What a table can be in."""

    SERVER = 0
    FILE = 1
    FOLDER = 2


class DatabaseDialog(Dialog):
    """Asks where a database is, looks into it in a job, and hands over the place.

    Parameters
    ----------
    runner
        Runs the job.
    chooser
        Asks for files and folders.
    place
        What is filled in to begin with.
    """

    found = Signal(object)
    """There are tables at this place; a password that it needs is in memory."""

    def __init__(
        self,
        runner: JobRunner,
        chooser: FileChooser,
        place: Place | None = None,
        parent: QWidget | None = None,
    ) -> None:
        words = self.tr(
            "Sfumato only reads. The password is forgotten when the project is closed, and"
            " never saved."
        )
        super().__init__(self.tr("Open a table of a database"), words, parent)
        self._runner, self._chooser = runner, chooser
        self._settings: tuple[tuple[str, str], ...] = ()
        self._states_port = True
        tr = self.tr
        self.kind = ChoiceField(
            (
                (DatabaseKind.SERVER, tr("PostgreSQL server")),
                (DatabaseKind.FILE, tr("SQLite or DuckDB file")),
                (DatabaseKind.FOLDER, tr("Folder of Parquet files")),
            ),
            self,
        )
        self.path, self.host, self.database, self.user = (QLineEdit(self) for _ in range(4))
        self.browse = button(tr("&Choose…"), self._browse)
        self.port = NumberField(1, 65_535, decimals=0, show_range=False)
        self.password = SecretField(tr("Show the password"), self)
        self.form = form()
        self.form.addRow(tr("&Kind"), self.kind)
        self._file_row = row(self.path, self.browse, wide=0)
        self.form.addRow(tr("&File"), self._file_row)
        self._server_rows = (
            (tr("&Host"), self.host),
            (tr("P&ort"), self.port),
            (tr("&Database"), self.database),
            (tr("&User"), self.user),
            (tr("&Password"), self.password),
        )
        for words, field in self._server_rows:
            self.form.addRow(words, field)
            field.setAccessibleName(words.replace("&", ""))
        self.kind.setAccessibleName(tr("Kind"))
        self.path.setAccessibleName(tr("File or folder"))
        prompt(self.host, tr("db.example.org, or a whole postgresql:// address"))
        prompt(self.password, tr("empty: from your password file, if you have one"))
        fill(self.body, self.form, None)
        self.add_cancel()
        self.submit = self.add_primary(tr("Show its tables"), self._look)
        self._connect()
        self._fill(place)
        self.resize(scaled(_WIDTH), self.sizeHint().height())

    def _connect(self) -> None:
        self.kind.chosen.connect(lambda _kind: self._show_kind())
        when_given(self.host, self._take_address)
        for field in (self.path, self.host, self.database):
            field.textChanged.connect(lambda _text: self._allow())
        self.finished.connect(lambda _result: self._runner.cancel(JOB))
        # Qt goes through fields in the order in which they were made: the buttons came first.
        server = (self.host, self.port.spin, self.database, self.user, self.password)
        fields = (self.kind, self.path, self.browse, *server)
        for before, after in zip(fields, (*fields[1:], self.submit), strict=True):
            QWidget.setTabOrder(before, after)

    def _fill(self, place: Place | None) -> None:
        """Show what is known of a place."""
        self.port.set_value(_PORT)
        if isinstance(place, Address):
            self.kind.set_value(DatabaseKind.SERVER)
            self.host.setText(place.host)
            self.port.set_value(place.port or _PORT)
            self.database.setText(place.database)
            self.user.setText(place.user)
            self._settings = place.settings
            self._states_port = bool(place.port)
        elif place is not None:
            self.kind.set_value(DatabaseKind.FOLDER if place.is_dir() else DatabaseKind.FILE)
            self.path.setText(str(place))
        self._show_kind()

    def _show_kind(self) -> None:
        server = self.kind.value is DatabaseKind.SERVER
        self.form.setRowVisible(self._file_row, not server)
        for _, field in self._server_rows:
            self.form.setRowVisible(field, server)
        folder = self.kind.value is DatabaseKind.FOLDER
        self.submit.setText(self.tr("Show its rows") if folder else self.tr("Show its tables"))
        self._allow()

    def _allow(self) -> None:
        server = self.kind.value is DatabaseKind.SERVER
        filled = self.host.text() or self.database.text() if server else self.path.text()
        self.submit.setEnabled(bool(filled.strip()))

    def _browse(self) -> None:
        if self.kind.value is DatabaseKind.FOLDER:
            path = self._chooser.folder(self.tr("Choose a folder of Parquet files"))
        else:
            path = self._chooser.open_file(self.tr("Choose a database"), self.tr("All files (*)"))
        if path is not None:
            self.path.setText(str(path))

    def _take_address(self) -> None:
        """Spread a whole address over the fields."""
        text = self.host.text().strip()
        if "://" not in text:
            return
        self.messages.clear()
        try:
            place = Address.of(text)
        except SfumatoError as error:
            # It may hold a password, which nobody should read over a shoulder.
            self.host.clear()
            self._refuse(error)
            return
        self._fill(place)

    @property
    def place(self) -> Place:
        """The place that is filled in.

        Raises
        ------
        BadAddress
            If it can be none.
        """
        if self.kind.value is not DatabaseKind.SERVER:
            return Path(self.path.text().strip())
        host, port = self.host.text().strip(), round(self.port.value)
        if port == _PORT and not self._states_port:
            port = 0  # What the address leaves to the driver's own ways stays with them.
        database, user = self.database.text().strip(), self.user.text().strip()
        return place_of(str(Address(host, port, database, user, self._settings)))

    def _look(self) -> None:
        """Look for tables at the place."""
        self.messages.clear()
        try:
            place = self.place
        except SfumatoError as error:
            self._refuse(error)
            return
        if isinstance(place, Address):
            PASSWORDS.keep(place, self.password.text())
        self._set_busy(True)
        self._runner.run(
            self.tr("Looking into {database}").format(database=place.name),
            lambda context: sheets_of(place, context),
            lambda _tables: self._end(place),
            self._refuse,
            key=JOB,
        )

    def _end(self, place: Place) -> None:
        self.accept()
        self.found.emit(place)

    def _refuse(self, error: SfumatoError) -> None:
        self._set_busy(False)
        self.messages.show_message(Message.of_error(error))
        self.grow()
        if isinstance(error, WrongPassword):
            self.password.selectAll()
            self.password.setFocus()

    def _set_busy(self, busy: bool) -> None:
        for field in (
            self.kind,
            self.path,
            self.browse,
            *(field for _, field in self._server_rows),
        ):
            field.setEnabled(not busy)
        self.submit.setEnabled(not busy)
