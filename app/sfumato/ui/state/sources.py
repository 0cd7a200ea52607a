"""Reading the source table of an opened project, and finding it again when it is gone."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QObject

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.formats.databases.address import Address, Place
from sfumato.formats.errors import CannotConnect
from sfumato.formats.language import grouped
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.source import (
    accept_edition,
    is_long,
    locate_source,
    open_long_source,
    open_source,
)
from sfumato.ui.state.insights import LongSource, look_at_long
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.messages import Action, Message, MessageKind

TOPIC = "source"


class SourceReader(QObject):
    """Reads the document's source table in a job, with a way forward for each refusal.

    Parameters
    ----------
    session
        What is open.
    parent
        The owner.
    """

    def __init__(self, session: Session, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session

    def read(self) -> None:
        """Read the table from where the document says it is."""
        document, beside = self._session.document, self._folder()
        memory = self._session.memory

        def work(context: Context) -> tuple[Table | LongSource, Document]:
            return _opened(document, context, beside, memory)

        self._run(work)

    def _read_at(self, path: Place) -> None:
        """Read the table from where the person says it is now."""
        document = self._session.document
        if document.source is not None and path == document.source.place:
            self.read()
            return

        memory = self._session.memory

        def work(context: Context) -> tuple[Table | LongSource, Document]:
            found = locate_source(document, path, Part(context, 0.0, 0.2))
            return _opened(found, Part(context, 0.2, 1.0), None, memory)

        self._run(work)

    def read_whole(self) -> None:
        """Read all of a table that is read in parts, whatever memory it takes."""
        self._session.take_all_memory()
        self.read()

    def _run(self, work: object) -> None:
        self._session.runner.run(
            self.tr("Reading the source table"),
            work,  # type: ignore[arg-type]
            lambda found: self._session.attach_table(*found),
            self._refused,
            key=TOPIC,
        )

    def _refused(self, error: SfumatoError) -> None:
        actions = []
        if isinstance(error, CannotConnect):
            actions.append(Action(self.tr("Connect again…"), self.locate))
        if isinstance(error, SourceMissing | SourceChanged):
            actions.append(Action(self.tr("Show where it is…"), self.locate))
        if isinstance(error, SourceChanged) and self._session.project is None:
            self._tell_changed(actions)
            return
        if isinstance(error, SourceChanged):
            actions.insert(0, Action(self.tr("Accept as new edition"), self._accept))
        self._session.message.emit(Message.of_error(error, *actions, topic=TOPIC))

    def _tell_changed(self, actions: list[Action]) -> None:
        """Tell that the table of unsaved work, which has no ledger, is another by now."""
        source = self._session.document.source
        assert source is not None
        path = source.place
        wanted = self._session.table_requested.emit
        now = Action(self.tr("Open it as it is now"), lambda: wanted(path))
        message = Message(
            MessageKind.CAUTION,
            self.tr("The table {file} changed since you worked on it.").format(file=path.name),
            self.tr("With the same columns, everything you decided is kept."),
            (now, *actions),
            TOPIC,
        )
        self._session.message.emit(message)

    def locate(self) -> None:
        """Ask where the source table is now, and read it there."""
        source = self._session.document.source
        if source is not None and isinstance(source.place, Address):
            self._session.database_requested.emit(source.place, self._read_at)
            return
        path = self._session.chooser.open_file(
            self.tr("Show where the source table is"), self.tr("All files (*)"), self._folder()
        )
        if path is not None:
            self._read_at(path)

    def _accept(self) -> None:
        """Take the changed file as the table's next edition; the ledger records it."""
        session = self._session
        project, source = session.project, session.document.source
        if project is None or source is None or not session.save():
            return
        path, memory = source.place, session.memory

        def work(context: Context) -> Table | LongSource:
            part = Part(context, 0.0, 0.5)
            table = accept_edition(project, path, part, memory=memory)
            if isinstance(table, Table):
                return table
            return look_at_long(table, Part(context, 0.5, 1.0))

        def accepted(table: Table | LongSource) -> None:
            rows = table.rows if isinstance(table, Table) else table.table.rows
            session.attach_table(table, project.document)
            session.ledger_changed.emit()
            session.message.emit(
                Message(
                    MessageKind.GOOD,
                    self.tr("The new edition has {rows} {rows:row|rows}.").format(
                        rows=grouped(rows)
                    ),
                    self.tr("The ledger records that it took the place of the old one."),
                    topic=TOPIC,
                )
            )

        session.runner.run(
            self.tr("Reading the new edition"), work, accepted, self._refused, key=TOPIC
        )

    def _folder(self) -> Path | None:
        """Return the project's own folder: a table may have moved along with it."""
        path = self._session.project_path
        return path.parent if path is not None else None


def _opened(
    document: Document, context: Context, beside: Path | None, memory: float
) -> tuple[Table | LongSource, Document]:
    """Open the document's source table, in parts where it would take more memory, in bytes."""
    source = document.source
    room = beside or (source.folder if source is not None else None)
    if room is not None and is_long(document, memory):
        found = open_long_source(document, Part(context, 0.0, 0.4), room)
        if found is not None:
            return look_at_long(found[0], Part(context, 0.4, 1.0)), found[1]
    return open_source(document, context, beside)
