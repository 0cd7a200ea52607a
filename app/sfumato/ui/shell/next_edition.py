"""The next edition of a table: what it changes, told before it is taken, and going on with it."""

from __future__ import annotations

from functools import partial

import pandas as pd
from PySide6.QtCore import QObject
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer, AnswerTable, CellKind
from sfumato.analysis.editions.next_edition import edition_answer
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.formats.databases import Address, Place
from sfumato.project.next_edition import EditionChanges, look_at_edition, take_edition
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, typeset
from sfumato.ui.state.session import Session
from sfumato.ui.state.source_reader import SourceReader
from sfumato.ui.widgets.files import table_filters
from sfumato.ui.widgets.layout import fill, label
from sfumato.ui.widgets.messages import Action
from sfumato.ui.widgets.tables import TableView

MOST_LINES = 8
"""Lines of the table in sight; it scrolls through more."""
WIDTH = 560
"""Of the table, which has four columns."""


class NextEditionDialog(Dialog):
    """Tells what an edition changes and what that discloses, and asks whether to take it.

    Parameters
    ----------
    file
        What the edition is called.
    answer
        What is told of it.
    """

    def __init__(self, file: str, answer: Answer, parent: QWidget | None = None) -> None:
        words = self.tr("What {file} changes as the next edition").format(file=file)
        super().__init__(words, "", parent)
        self.told = [label(typeset(sentence), wrap=True) for sentence in answer.sentences]
        self.remedies = [label(typeset(one), "muted", wrap=True) for one in answer.remedies]
        self.tables = [self._table_of(table) for table in answer.tables]
        fill(self.body, *self.told, *self.tables, *self.remedies)
        self.add_cancel()
        self.take = self.add_primary(self.tr("Go on with this edition"))

    def _table_of(self, told: AnswerTable) -> TableView:
        table = TableView(self, row_numbers=False)
        table.setAccessibleName(", ".join(told.header))
        lines = min(len(told.rows), MOST_LINES) + 1
        table.setFixedHeight(scaled(Space.FIELD * lines + Space.AROUND))
        table.setMinimumWidth(scaled(WIDTH))
        shown = zip(told.header, told.columns.values(), strict=True)
        table.show_frame(
            pd.DataFrame({name: _column(told, at, kind) for at, (name, kind) in enumerate(shown)})
        )
        return table


def _column(told: AnswerTable, at: int, kind: CellKind) -> pd.Series:
    """Return a column as it is shown: counts as numbers, where all are known."""
    cells = [row[at] for row in told.rows]
    if kind is CellKind.COUNT and None not in cells:
        return pd.Series(cells)
    return pd.Series([row[at] for row in told.texts])


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
