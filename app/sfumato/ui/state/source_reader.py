"""Reading the source table of what is open, and letting another edition take its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.databases import Address, Place
from sfumato.formats.errors import CannotConnect
from sfumato.formats.language import grouped
from sfumato.formats.notes import Note
from sfumato.project.document.model import Document, TableSource
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.source import (
    accept_edition,
    exceeds_memory,
    locate_source,
    open_long_source,
    open_source,
)
from sfumato.project.source_changes import awaits_comparison, compared
from sfumato.project.store.remembered import Remembered
from sfumato.ui.look.wording import spoken
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.messages import Action, MessageKind

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
        memory, remembered = self._session.memory, self._remembered()
        self._run(lambda context: _opened(document, context, beside, memory, remembered))

    def _read_at(self, path: Place) -> None:
        """Read the table from where the person says it is now."""
        document = self._session.document
        if document.source is not None and path == document.source.place:
            self.read()
            return

        memory, remembered = self._session.memory, self._remembered()

        def work(context: Context) -> tuple[SurveyedTable, Document]:
            found = locate_source(document, path, Part(context, 0.0, 0.2), remembered)
            return _opened(found, Part(context, 0.2, 1.0), None, memory, remembered)

        self._run(work)

    def read_whole(self) -> None:
        """Read all of a table that is read in parts, whatever memory it takes."""
        self._session.take_all_memory()
        self.read()

    def _run(self, work: object) -> None:
        self._session.runner.run(
            self.tr("Reading the source table"),
            work,  # type: ignore[arg-type]
            partial(self._take, self._session.document.source),
            self._refused,
            key=TOPIC,
        )

    def _take(self, sought: TableSource | None, found: tuple[SurveyedTable, Document]) -> None:
        """Attach the table, unless another is open by now; what was edited meanwhile stays."""
        if self._session.document.source == sought:
            self._attach(found[0], found[1].source)
            self._compare_versions()

    def _attach(self, table: SurveyedTable, source: TableSource | None) -> None:
        self._session.attach_table(table, replace(self._session.document, source=source))

    def _compare_versions(self) -> None:
        """Tell once what the present version of reading would read otherwise of an older table."""
        session = self._session
        project, held, source = session.project, session.surveyed, session.document.source
        if not (project and held and source and awaits_comparison(session.document)):
            return
        table = session.source
        assert table is not None

        def keep(found: tuple[tuple[Note, ...], bool]) -> None:
            notes, first = found
            if session.document.source != source or session.project is not project:
                return
            self._attach(held, replace(source, notes=notes))
            show = partial(session.panel_requested.emit, "data")
            for note in notes if first else ():
                told, action = spoken(note.sentence), Action(self.tr("Show how it is read"), show)
                session.say(MessageKind.INFO, told, "", action, topic="versions")

        work = partial(compared, project.remembered, source, table, source.place)
        session.runner.run(self.tr("Comparing how the table is read"), work, keep, key="versions")

    def _refused(self, error: SfumatoError) -> None:
        actions = []
        if isinstance(error, CannotConnect):
            actions.append(Action(self.tr("Connect again…"), self.locate))
        if isinstance(error, SourceMissing | SourceChanged):
            actions.append(Action(self.tr("Show where it is…"), self.locate))
        if isinstance(error, SourceChanged) and self._session.project is None:
            self._tell_changed(actions, error)
            return
        if isinstance(error, SourceChanged):
            actions.insert(0, Action(self.tr("Accept as new edition"), self._accept))
        self._session.say_error(error, *actions, topic=TOPIC)

    def _tell_changed(self, actions: list[Action], error: SourceChanged) -> None:
        """Tell that the table of unsaved work, which has no ledger, is another by now."""
        source = self._session.document.source
        assert source is not None
        wanted = partial(self._session.table_requested.emit, source.place)
        words = self.tr("The table {file} changed since you worked on it.")
        changed = error.details.get("changes")
        changes = spoken(changed) if isinstance(changed, Sentence) else ""
        self._session.say(
            MessageKind.CAUTION,
            " ".join(filter(None, (words.format(file=source.place.name), changes))),
            self.tr("With the same columns, everything you decided is kept."),
            Action(self.tr("Open it as it is now"), wanted),
            *actions,
            topic=TOPIC,
        )

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
        """Take the changed file as the table's next edition."""
        source = self._session.document.source
        if source is not None:
            self.go_on(partial(accept_edition, path=source.place), self._refused)

    def go_on(
        self,
        accept: Callable[..., BatchedTable],
        refused: Callable[[SfumatoError], None],
        *ways: Action,
    ) -> None:
        """Let an edition take the table's place; the ledger records it.

        Parameters
        ----------
        accept
            Does so, told of the project, the context and the memory that the table may take.
        refused
            Told why it can't be.
        ways
            What may be done next.
        """
        session = self._session
        project, memory = session.project, session.memory
        if project is None or not session.save():
            return

        def work(context: Context) -> SurveyedTable:
            table = accept(project, context=Part(context, 0.0, 0.5), memory=memory)
            return SurveyedTable.of(table, Part(context, 0.5, 1.0))

        def accepted(table: SurveyedTable) -> None:
            session.attach_table(table, _going_on(session.document, project.document))
            session.ledger_changed.emit()
            words = self.tr("The new edition has {rows} {rows:row|rows}.")
            told = self.tr("The ledger records that it took the place of the old one.")
            session.say(
                MessageKind.GOOD, words.format(rows=grouped(table.rows)), told, *ways, topic=TOPIC
            )

        session.runner.run(self.tr("Reading the new edition"), work, accepted, refused, key=TOPIC)

    def _remembered(self) -> Remembered | None:
        """Return what this computer remembers about the open project."""
        project = self._session.project
        return None if project is None else project.remembered

    def _folder(self) -> Path | None:
        """Return the project's own folder: a table may have moved along with it."""
        path = self._session.project_path
        return path.parent if path is not None else None


def _going_on(edited: Document, taken: Document) -> Document:
    """Return what is decided with an edition's source, key and columns; what was edited stays."""
    own = {spec.name: spec for spec in edited.columns}
    return replace(
        edited,
        source=taken.source,
        record_key=edited.record_key or taken.record_key,
        columns=tuple(own.get(spec.name, spec) for spec in taken.columns),
    )


def _opened(
    document: Document,
    context: Context,
    beside: Path | None,
    memory: float,
    remembered: Remembered | None,
) -> tuple[SurveyedTable, Document]:
    """Open the document's source table, in parts where it would take more memory, in bytes."""
    source = document.source
    room = beside or (source.folder if source is not None else None)
    if room is not None and exceeds_memory(document, memory):
        found = open_long_source(document, Part(context, 0.0, 0.4), room, remembered)
        if found is not None:
            return SurveyedTable.of(found[0], Part(context, 0.4, 1.0)), found[1]
    table, document = open_source(document, context, beside, remembered)
    return SurveyedTable.of(table), document
