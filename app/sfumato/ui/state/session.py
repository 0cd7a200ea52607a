"""What is open now: the table, the document, the project and its keys.

Panels read the session and ask it to edit; it tells everyone what changed. It is the only
thing that panels share.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

from PySide6.QtCore import QCoreApplication, QObject, Signal, SignalInstance

from sfumato.analysis.all_rows import AllRows, rows_of
from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.pooled_rows import PooledRows, pooled_rows, repeated_units
from sfumato.analysis.shown_columns import LeavingColumns, ShownColumns
from sfumato.analysis.unperturbed.open_columns import (
    OpenAnswer,
    OpenColumnsKey,
    answer_open_columns,
)
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.mechanisms import all_mechanisms
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, EncodedColumn, Table
from sfumato.formats.databases import PASSWORDS
from sfumato.formats.language import know_columns
from sfumato.jobs import JobRunner
from sfumato.project.document.model import Document
from sfumato.project.release.groups import public_columns
from sfumato.project.release.table_survey import Survey
from sfumato.ui.state.history import EditState, History, changed_place
from sfumato.ui.state.insights import (
    AttributeCache,
    Insight,
    LatestAnswer,
    SurveyedTable,
    Wanted,
    insight_of,
)
from sfumato.ui.state.settings import MemoryLimit, MemoryStore, RecentProjects, Store
from sfumato.ui.state.steps import Steps
from sfumato.ui.state.weighing import Weighing
from sfumato.ui.widgets.files import FileChooser, PlatformChooser
from sfumato.ui.widgets.messages import Action, Message, MessageKind
from sfumato.ui.widgets.paint_queue import delayed

if TYPE_CHECKING:
    from sfumato.engine.table.repeated_units import RepeatedUnit
    from sfumato.project.ledger import ReleaseRecord
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable

AUTOSAVE_MILLISECONDS: Final = 800

Found = TypeVar("Found")


def _passing_keys() -> KeyRing:
    return KeyRing(secrets.token_bytes(32))


class Session(QObject):
    """The state of one window, with undo, autosave and change signals.

    Parameters
    ----------
    runner
        Runs jobs; made when absent.
    store
        Where recent projects and choices are remembered; forgotten at the end when absent.
    chooser
        Asks for files; the platform's dialogs when absent.
    """

    table_changed = Signal()
    document_changed = Signal()
    project_changed = Signal()
    ledger_changed = Signal()
    attribute_changed = Signal(str)
    """An attribute's encoding, or the reason why there is none, has become known."""
    history_changed = Signal()
    saved = Signal()
    changes_forgotten = Signal()
    """The person gave up what is not saved."""
    message = Signal(object)
    """A `Message` for whichever panel is in sight."""
    table_requested = Signal(object)
    """A table file (`Path`) should be opened: from the menu, a drop or a recent list."""
    reading_requested = Signal(object)
    """The open table should be read again by other `ReadOptions`; earlier decisions are kept."""
    database_requested = Signal(object, object)
    """The person is to be asked for a database: what is filled in (a `Place` or None), and what is
    called with the place found."""
    project_requested = Signal(object)
    """A project (`Path`) should be opened."""
    file_brought = Signal(str, object)
    """A file (`Path`) should be worked on by another panel, by its name."""
    whole_requested = Signal()
    """All of a table that is read in parts should be read, whatever memory it takes."""
    locate_requested = Signal()
    """The person wants to show where the source table is now."""
    edition_requested = Signal()
    """The person wants to go on with the next edition of the source table."""
    pooled_changed = Signal()
    """What pooling the rows of a person or household restores has become known."""
    open_columns_changed = Signal()
    """What the columns released unchanged tell has become known."""
    profiles_changed = Signal()
    """The columns' profiles have become known, or belong to another table now."""
    panel_requested = Signal(str)
    """Another panel, by its name, should come into sight."""
    place_requested = Signal(str, str, str)
    """A panel should come into sight with a column or attribute chosen, and a recipient."""
    returned = Signal(str, str, str)
    """An edit was undone or done again: the panel it was made in, the column or attribute that it
    changed, and the recipient."""
    save_requested = Signal(object)
    """The work should be saved in a project, which may have to be made first; carries what to
    call once it is safe there, or None."""

    def __init__(
        self,
        runner: JobRunner | None = None,
        store: Store | None = None,
        chooser: FileChooser | None = None,
    ) -> None:
        super().__init__()
        self.runner = runner if runner is not None else JobRunner(self)
        self.store: Store = store if store is not None else MemoryStore()
        self.chooser: FileChooser = chooser if chooser is not None else PlatformChooser()
        self.recent = RecentProjects(self.store)
        self._state = EditState(Document())
        self.document_follows = False
        """Whether `document_changed` comes at once after this `table_changed`."""
        self._history = History()
        self._project: ProjectFile | None = None
        self._passing_keys = _passing_keys()
        self._unsaved = False
        self._limited = True
        self.panel = ""
        """The panel in sight, by its name: where edits are made."""
        self.unplanned: SurveyedTable | None = None
        """The table that was just opened, as long as nobody has made a plan of it."""
        self._attributes = AttributeCache(self.runner, self.attribute_changed.emit)
        self._looked_at: SurveyedTable | None = None
        self._columns: LeavingColumns | None = None
        self._weighed: ShownColumns | None = None
        told_pooled, told_open = self.pooled_changed.emit, self.open_columns_changed.emit
        self._pooled = LatestAnswer[tuple[PooledRows, ...]](self.runner, "pooled", told_pooled)
        self._open_columns = LatestAnswer[OpenAnswer](self.runner, "open columns", told_open)
        self.follow(self._know_columns)
        self.steps = Steps(self, self)
        self.weighing = Weighing(self, self)
        self.follow(self.steps.take_notice, self.ledger_changed)
        self._autosave = delayed(self, self.save, AUTOSAVE_MILLISECONDS)

    # ----- what is open

    @property
    def table(self) -> Table | None:
        """The table in memory; None before one is open, and where it is read in parts."""
        held = self._state.table
        return None if held is None else held.table.held_rows()

    @property
    def source(self) -> BatchedTable | None:
        """All rows, in memory or not: what releases are made from."""
        held = self._state.table
        return None if held is None else held.table

    @property
    def surveyed(self) -> SurveyedTable | None:
        """The open table, as far as it is known."""
        return self._state.table

    @property
    def survey(self) -> Survey | None:
        """What is known of all rows; None before a table is open."""
        held = self._state.table
        return None if held is None else held.survey

    @property
    def at_hand(self) -> Table | None:
        """The rows in memory: all, or a sample of a long table, for pictures and proposals."""
        held = self._state.table
        return None if held is None else held.sample

    @property
    def memory(self) -> float:
        """How many bytes a table may take, about; a longer one is read in parts."""
        return MemoryLimit(self.store).bytes if self._limited else math.inf

    def limit_memory(self, megabytes: int) -> None:
        """Let tables take so much memory from now on; see `MemoryLimit`."""
        MemoryLimit(self.store).choose(megabytes)
        self._limited = True

    def take_all_memory(self) -> None:
        """Let tables take as much memory as they need, as long as the window is open."""
        self._limited = False

    @property
    def document(self) -> Document:
        """What is decided about the table."""
        return self._state.document

    @property
    def project(self) -> ProjectFile | None:
        """The open project file; None until the work is saved for the first time."""
        return self._project

    @property
    def project_path(self) -> Path | None:
        """Where the open project is."""
        return Path(self._project.path) if self._project is not None else None

    @property
    def project_folders(self) -> tuple[Path, ...]:
        """Where files that moved with the project are looked for."""
        place = self.project_path
        return (place.parent,) if place is not None else ()

    @property
    def unsaved(self) -> bool:
        """Whether there is work that no project file holds yet."""
        return self._unsaved

    @property
    def keys(self) -> KeyRing:
        """The project's keys; passing ones, good for previews alone, until there is a project."""
        if self._project is not None:
            return self._project.keys
        return self._passing_keys

    @property
    def noise(self) -> KeyedNoise:
        """What draws noise for statistics of the table; what is drawn is kept in the settings."""
        return KeyedNoise(self.keys)

    @property
    def protected(self) -> tuple[str, ...]:
        """The attributes that the policy protects, entry by entry."""
        covered = (name for entry in self.document.policy for name in entry.attributes)
        return tuple(dict.fromkeys(covered))

    def follow(self, run: Callable[..., object], *others: SignalInstance) -> None:
        """Call a function whenever something that is open changes, or another signal is emitted."""
        opened = (self.document_changed, self.table_changed, self.attribute_changed)
        for signal in (*opened, self.project_changed, *others):
            signal.connect(run)

    def say(
        self, kind: MessageKind, text: str, remedy: str = "", *actions: Action, topic: str = ""
    ) -> None:
        """Show a message in whichever panel is in sight."""
        self.message.emit(Message(kind, text, remedy, actions, topic))

    def say_error(self, error: SfumatoError | OSError, *actions: Action, topic: str = "") -> None:
        """Show an expected error there."""
        self.message.emit(Message.of_error(error, *actions, topic=topic))

    def _know_columns(self) -> None:
        know_columns(self.document.column_names)

    # ----- edits

    def edit(self, text: str, document: Document, *, merge_key: Hashable | None = None) -> None:
        """Put a new document in the place of the old one, as one step of undo.

        Parameters
        ----------
        text
            What the edit does, as the Edit menu shows it ("Mark occupation as sensitive").
        document
            The new document.
        merge_key
            Edits in a row with the same key are one step.
        """
        if document == self.document:
            return
        self._history.push(text, self._state, merge_key, self.panel)
        self._move_to(replace(self._state, document=document))

    def unless_changed(self, text: str, then: Callable[[Found], object]) -> Callable[[Found], None]:
        """Return what passes on what a job found, unless the document or the table is another now.

        What was found holds for those that the job began with. The person is told that nothing
        came of it.

        Parameters
        ----------
        text
            What was asked for, as the Edit menu shows it.
        then
            Takes what was found.
        """
        before = self._state

        def pass_on(found: Found) -> None:
            if self._state is before:
                then(found)
                return
            words = self.tr(
                "Not carried out, since something else was changed in the meantime: {edit}."
            )
            remedy = self.tr("Try again if you still want it.")
            self.say(MessageKind.INFO, words.format(edit=text), remedy, topic="meanwhile")

        return pass_on

    def edit_later(
        self,
        text: str,
        work: Callable[[Context], Document],
        refuse: Callable[[SfumatoError], None] | None = None,
        *,
        title: str = "",
        key: Hashable = None,
    ) -> None:
        """Work a new document out in a job, and put it in place unless something else changed.

        Parameters
        ----------
        text
            What the edit does, as the Edit menu shows it.
        work
            Makes the document from what is open now.
        refuse
            Takes an expected error; the panel in sight tells it when absent.
        title
            What the job is called where that is not what the edit does.
        key
            The job's key.
        """
        take = self.unless_changed(text, partial(self.edit, text))
        self.runner.run(title or text, work, take, refuse, key=key)

    def open_table(
        self,
        text: str,
        table: SurveyedTable,
        document: Document,
    ) -> None:
        """Put a table and the document about it in place, as one step of undo.

        Parameters
        ----------
        text
            What the Edit menu calls it.
        table, document
            The table and what is decided about it.
        """
        self._history.push(text, self._state, panel=self.panel)
        self._history.forget_old_tables(table)
        self._move_to(EditState(document, table))

    def attach_table(self, table: SurveyedTable, document: Document | None = None) -> None:
        """Give the document the table it is about (after opening a project); not an edit.

        Parameters
        ----------
        table
            The table.
        document
            The document with the place where the table was found, where that is another.
        """
        found = document is not None and document != self.document
        self._state = EditState(document if document is not None else self.document, table)
        self._attributes.forget()
        self._tell_table(found)
        if found:
            self._unsaved = True
            self._autosave.start()
            self.document_changed.emit()

    def take_up(self, document: Document) -> None:
        """Go on with unsaved work that was left behind; its table is attached once it is read."""
        self.set_project(None)
        self._move_to(EditState(document))

    def end_merge(self) -> None:
        """Let the next edit be a step of its own (a slider was let go)."""
        self._history.end_merge()

    def undo(self) -> None:
        """Take the last edit back."""
        panel, now = self.undo_panel, self._state
        before = self._history.undo(now)
        if before is not None:
            self._move_to(before)
            self.returned.emit(panel, *changed_place(now.document, before.document))

    def redo(self) -> None:
        """Do the edit again that was undone last."""
        panel, now = self.redo_panel, self._state
        after = self._history.redo(now)
        if after is not None:
            self._move_to(after)
            self.returned.emit(panel, *changed_place(now.document, after.document))

    @property
    def undo_text(self) -> str | None:
        """What undo would take back; None where there is nothing."""
        return self._history.last.text if self._history.last is not None else None

    @property
    def redo_text(self) -> str | None:
        """What redo would do again; None where there is nothing."""
        return self._history.next.text if self._history.next is not None else None

    @property
    def undo_panel(self) -> str:
        """The panel that undo turns to."""
        return self._history.last.panel if self._history.last is not None else ""

    @property
    def redo_panel(self) -> str:
        """The panel that redo turns to."""
        return self._history.next.panel if self._history.next is not None else ""

    def _move_to(self, state: EditState) -> None:
        other_table = state.table is not self._state.table
        other_document = state.document != self._state.document
        self._state = state
        self._unsaved = True
        if self._project is not None and not self._project.read_only:
            self._autosave.start()
        if other_table:
            self._attributes.forget()
            self._tell_table(other_document)
        if other_document:
            self.document_changed.emit()
        self.history_changed.emit()

    def _tell_table(self, document_follows: bool) -> None:
        self.document_follows = document_follows
        self.table_changed.emit()
        self.document_follows = False

    # ----- the project file

    def set_project(self, project: ProjectFile | None, *, keep_state: bool = False) -> None:
        """Make a project file the open one; its document becomes the present one.

        Parameters
        ----------
        project
            The file; None to start afresh, with a new secret.
        keep_state
            True when the file was just created from the present document.
        """
        if self._project is not None and self._project is not project:
            self.runner.stop_all()  # a release must not lose the file under its hands
            self.save()
            self._project.close()
        self._autosave.stop()
        self._project = project
        self._unsaved = False
        if project is None:
            self._passing_keys = _passing_keys()
        if not keep_state:
            PASSWORDS.forget()
            self._history.clear()
            self._attributes.forget()
            self._state = EditState(project.document if project is not None else Document())
        if self.project_path is not None:
            self.recent.add(self.project_path)
        self.project_changed.emit()
        if not keep_state:
            self._tell_table(True)
            self.document_changed.emit()
        self.history_changed.emit()
        self.ledger_changed.emit()

    def save(self, anywhere: bool = False) -> bool:
        """Write the document into the open project file; return whether it is safe there.

        `anywhere`, also where another file has taken its place: it is copied from there next.
        """
        self._autosave.stop()
        if self._project is None:
            return False
        if self._unsaved and self._project.read_only:
            return False
        if self._unsaved:
            try:
                self._project.save_document(self.document, anywhere=anywhere)
            except (SfumatoError, OSError) as error:
                self.say_error(error)
                return False
            self._unsaved = not self._project.database.in_place
        self.saved.emit()
        return True

    def once_saved(self, run: Callable[[], object]) -> None:
        """Call a function once the work is safe in a project; the person is asked for one."""
        if self.project is None:
            self.save_requested.emit(run)
        elif self.save():
            run()

    def forget_changes(self) -> None:
        """Give up what is not saved (the person said so)."""
        self._autosave.stop()
        self._unsaved = False
        self.changes_forgotten.emit()

    # ----- what is computed from the table

    def attribute(self, name: str) -> EncodedColumn | None:
        """Return a column encoded by its specification, or None while it is not known.

        Small tables are encoded at once; large ones in a job, after which
        `attribute_changed` is emitted. See `attribute_error` for why there is none.
        """
        held, at_hand = self._state.table, self.at_hand
        if held is None or at_hand is None or name not in at_hand.columns:
            return None
        try:
            spec = self.document.column(name)
        except KeyError:
            return None
        unit = self.document.unit if spec.role is Role.SENSITIVE else None
        entry = self.document.entry_for(name)
        together = entry is not None and len(entry.attributes) > 1
        wanted = Wanted(spec, self._public_columns(name), unit, together)
        return self._attributes.get(held, wanted)

    def encoded(self, names: Iterable[str] | None = None) -> dict[str, EncodedColumn]:
        """Return columns as they are encoded, as far as they are known: the policy's, or others."""
        wanted = self.protected if names is None else names
        found = {name: self.attribute(name) for name in wanted}
        return {name: column for name, column in found.items() if column is not None}

    def attributes(self, names: Iterable[str] | None = None) -> dict[str, Attribute]:
        """Return attributes by their names, as `encoded` does columns."""
        return {name: column.attribute for name, column in self.encoded(names).items()}

    def _public_columns(self, name: str) -> tuple[ColumnSpec, ...] | None:
        """Return the columns that group the records for an attribute's mechanism, if any."""
        document = self.document
        entry = document.entry_for(name)
        known = None if entry is None else all_mechanisms().get(entry.mechanism)
        if entry is None or known is None or not known.needs_groups:
            return None
        try:
            names = public_columns(document, entry.settings, entry.mechanism)
        except SfumatoError:
            return None  # a release says which column is meant and is not there
        return tuple(document.column(each) for each in names)

    def attribute_error(self, name: str) -> SfumatoError | None:
        """Return why a column does not fit its specification; None where it does."""
        self.attribute(name)
        return self._attributes.error(name)

    def insight(self) -> Insight | None:
        """Return the columns' profiles and proposals, or None while they are not known.

        They are looked up in a job, after which `profiles_changed` is emitted.
        """
        held = self._state.table
        if held is None or held.insight is not None or self._looked_at is held:
            return None if held is None else held.insight

        def keep(found: Insight) -> None:
            held.insight = found
            self.profiles_changed.emit()

        self._looked_at = held
        words = QCoreApplication.translate("Insights", "Looking at the columns")
        self.runner.run(words, partial(insight_of, held.survey), keep, key="insight")
        return None

    def pooled(self, releases: Sequence[ReleaseRecord]) -> tuple[PooledRows, ...]:
        """Return what pooling the rows of a unit restores; nothing while it is not known.

        It is computed in a job, after which `pooled_changed` is emitted.
        """
        insight = self.insight() if self.document.recipients else None
        if insight is None or not insight.repeated:
            return ()
        document, attributes, units = self.document, self.attributes(), insight.repeated
        # Titles, notes and the like change no figure.
        relevant = replace(document, title="", hierarchies={}, rows_as_in_table="", terms=None)
        question = (relevant, *map(id, attributes.values()), *map(id, units), *releases)

        def work(context: Context) -> tuple[PooledRows, ...]:
            return pooled_rows(document, attributes, units, releases, ReleaseBasis.EITHER, context)

        words = self.tr("Pooling rows that belong together")
        self._pooled.ask(question, words, work)
        return self._pooled.answer or () if self._pooled.known else ()

    def look_for_units(self) -> None:
        """Look for rows that belong together, unless that was done.

        It is done in a job, after which `profiles_changed` is emitted.
        """
        source, insight = self.surveyed, self.insight()
        if source is None or insight is None or insight.looked_for_units:
            return

        def keep(found: tuple[RepeatedUnit, ...]) -> None:
            source.insight = replace(insight, repeated=found, looked_for_units=True)
            self.profiles_changed.emit()

        words = self.tr("Looking for rows that belong together")
        self.runner.run(words, partial(repeated_units, source.table), keep, key="units")

    def all_rows(self, policy: Document | None = None) -> AllRows | None:
        """Return all rows by a policy, for a job to go through; None without a table.

        Parameters
        ----------
        policy
            What was decided when others were released; None for what is decided now.
        """
        if self.source is None:
            return None
        own = policy is None or policy is self.document
        given = (self.source, self.keys, self.project_folders, self.document)
        return rows_of(policy or self.document, *given, self.encoded() if own else {})

    @property
    def leaving(self) -> LeavingColumns | None:
        """What is known of the columns of a table in memory, for everybody who asks about them."""
        table, known = self.table, self._columns
        if table is None:
            return None
        if known is None or known.table is not table or known.keys is not self.keys:
            known = self._columns = LeavingColumns(table, self.keys)
        return known

    def shown_columns(self) -> ShownColumns | None:
        """Return what is known of all rows' columns, or of a sample of a long table."""
        if (leaving := self.leaving) is not None:
            return leaving.whole
        return None if self.surveyed is None else self.surveyed.columns

    def open_columns(self) -> OpenAnswer | None:
        """Return what the columns released unchanged tell; None while it is not known.

        It is computed in a job, after which `open_columns_changed` is emitted. Until then the last
        answer holds if it is about these columns: figures of levels that have changed are left out
        by `OpenAnswer.beside`.
        """
        document, columns, recipients = (
            self.document,
            self.shown_columns(),
            self.document.recipients,
        )
        if columns is None or not document.policy or not recipients:
            return None
        attributes = self.attributes()
        if columns is not self._weighed:
            self._weighed = columns
            self._open_columns.forget()
        if len(attributes) < len(self.protected):
            return None
        asked = OpenColumnsKey.of(document)
        people = tuple((each.name, each.mark, each.statements, each.view) for each in recipients)
        question = (asked, document.policy, people, document.level_spacing, tuple(attributes))

        def work(context: Context) -> OpenAnswer:
            return answer_open_columns(document, columns, attributes, context)

        words = self.tr("Weighing the columns released unchanged")
        self._open_columns.ask(question, words, work)
        known = self._open_columns.answer
        return known if known is not None and known.findings.asked == asked else None

    def close(self) -> None:
        """Save, stop every job and let the project file go."""
        self.save()
        self.runner.shutdown()
        PASSWORDS.forget()
        if self._project is not None:
            self._project.close()
            self._project = None
