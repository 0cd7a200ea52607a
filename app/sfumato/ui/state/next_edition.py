"""Going on with the next edition of the open project's table, in the window."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.next_edition import edition_answer
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.databases import Address, Place
from sfumato.project.next_edition import EditionChanges, look_at_edition, take_edition
from sfumato.ui.dialogs.next_edition import NextEditionDialog
from sfumato.ui.look.wording import filled_in
from sfumato.ui.state.session import Session
from sfumato.ui.state.source_reader import SourceReader
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.messages import Action

KEY = "next edition"

Looked = tuple[EditionChanges, Answer]
"""What was found of an edition, and what is told of it."""


class NextEdition(QObject):
    """Asks where the next edition is, tells what it changes, and takes it.

    Parameters
    ----------
    session
        What is open.
    sources
        Takes it.
    window
        What dialogs belong to.
    """

    def __init__(self, session: Session, sources: SourceReader, window: QWidget) -> None:
        super().__init__(window)
        self._session, self._sources, self._window = session, sources, window

    def choose(self) -> None:
        """Ask where the edition is: a file, or the database that the table comes from."""
        session = self._session
        source = session.document.source
        if session.project is None or source is None:
            return
        if isinstance(source.place, Address):
            session.database_requested.emit(source.place, self.look)
            return
        words = self.tr("Open the next edition")
        path = session.chooser.open_file(words, table_filters(), source.folder)
        if path is not None:
            self.look(path)

    def look(self, place: Place) -> None:
        """Compare an edition with the table before, and tell what it changes."""
        session = self._session
        project = session.project
        if project is None or not session.save():
            return

        def work(context: Context) -> Looked:
            found = look_at_edition(project, place, context)
            return found, edition_answer(project.document, project.releases, found)

        title = self.tr("Comparing {file} with the table").format(file=place.name)
        shown = partial(self._tell, place)
        session.runner.run(title, work, shown, self._refuse, key=KEY)

    def _tell(self, place: Place, looked: Looked) -> None:
        found, answer = looked
        dialog = NextEditionDialog(place.name, answer, self._window)
        dialog.present(partial(self._take, place, found, answer))

    def _take(self, place: Place, found: EditionChanges, answer: Answer) -> None:
        """Let the edition take the table's place; what is decided goes on."""
        accept = partial(take_edition, place=place, changes=found)
        self._sources.go_on(accept, self._refuse, *self._ways(answer))

    def _ways(self, answer: Answer) -> list[Action]:
        """Return where to go on: to the first column about which nothing is decided."""
        columns = answer.facts["columns"]
        undecided = [each["name"] for each in columns if each["undecided"]]
        go = self._session.place_requested.emit
        return [
            Action(
                filled_in(self.tr("Decide about {column}"), column=name),
                partial(go, "attributes", name, ""),
            )
            for name in [*undecided, *answer.facts["new_columns"]][:1]
        ]

    def _refuse(self, error: SfumatoError) -> None:
        again = Action(self.tr("Choose another file…"), self.choose)
        self._session.say_error(error, again, topic=KEY)
