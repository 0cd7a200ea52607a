"""The ledger: a line for each event, whether the record is intact, and the way to verify a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QGridLayout, QHeaderView, QLineEdit, QToolButton, QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.language import grouped
from sfumato.project.document.adopted_files import AdoptedFile
from sfumato.project.ledger import EntryKind, LedgerEvent, ReleaseRecord, ReleaseState, Subject
from sfumato.project.verification.verify import VerificationReport
from sfumato.ui.look.theme import Space, current_theme, scaled
from sfumato.ui.look.wording import local_time, spoken, statement_text
from sfumato.ui.widgets.fields import Segments, text_field
from sfumato.ui.widgets.layout import Badge, Card, EmptyState, boxed, button, column, label, row
from sfumato.ui.widgets.painted import IconLabel, themed_icon
from sfumato.ui.widgets.responsive import FlowLayout, Pages, ResponsiveRow
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

STATE, WHEN, RECIPIENT, LEVELS, BUNDLE, DIGEST = range(6)
DIGEST_SHOWN: Final = 8
NARROW: Final = 560
"""Below this width the search stands below what the lines are about; pixels at scale 1."""
WIDE: Final = 780
"""From this width on, the digests' beginnings are shown."""
WIDEST: Final = 1000
"""From this width on, the files' names are shown as well."""

Look = tuple[str, str, str]
"""A drawing, its colour, and its word."""

STATES: Final[dict[ReleaseState, Look]] = {
    ReleaseState.COMPLETED: ("good", "good", str(QT_TRANSLATE_NOOP("Ledger", "Released"))),
    ReleaseState.PREPARED: ("clock", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Unfinished"))),
    ReleaseState.ABANDONED: ("remove", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Taken back"))),
    ReleaseState.UNTRACED: ("caution", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Untraced"))),
}
"""For each state of a release."""

PUBLISHED: Final[Look] = ("table", "good", str(QT_TRANSLATE_NOOP("Ledger", "Published")))

KINDS: Final[dict[str, Look]] = {
    EntryKind.ADOPTED: ("ladder", "accent", str(QT_TRANSLATE_NOOP("Ledger", "Adopted"))),
    EntryKind.OVERRIDE: ("danger", "caution", str(QT_TRANSLATE_NOOP("Ledger", "Overridden"))),
    EntryKind.PROJECT_CREATED: ("file", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Created"))),
    EntryKind.PASSPHRASE_CHANGED: ("key", "muted", str(QT_TRANSLATE_NOOP("Ledger", "Passphrase"))),
    EntryKind.ACCEPTED_UNSEALED: (
        "danger",
        "danger",
        str(QT_TRANSLATE_NOOP("Ledger", "No valid seal")),
    ),
    EntryKind.SOURCE_CHANGED: ("data", "muted", str(QT_TRANSLATE_NOOP("Ledger", "New edition"))),
}
"""For each other kind of entry."""


@dataclass(frozen=True)
class Line:
    """An event as it is shown.

    Parameters
    ----------
    event
        The event.
    look
        Its drawing, its colour and its word.
    when
        The local time.
    who
        The recipient or the holder; empty where there is none.
    what
        Levels, a reason, or what was changed.
    path
        The file or bundle, where there is one.
    digest
        Its digest; may be empty.
    """

    event: LedgerEvent
    look: Look
    when: str
    who: str = ""
    what: str = ""
    path: Path | None = None
    digest: str = ""

    @property
    def bundle(self) -> Path | None:
        """Where the bundle of a release was put."""
        return self.path if self.event.subject is Subject.RELEASE else None


def line_of(event: LedgerEvent) -> Line:
    """Return an event as it is shown, whatever it holds: a forged ledger can be looked at too."""
    look = look_of(event)
    try:
        line = _line(event, look)
    except _OF_ANOTHER_FORM:
        line = None
    if line is None or not all(isinstance(t, str) for t in (line.who, line.what, line.digest)):
        when = local_time(event.entry.recorded_at)
        return Line(event, look, when, what=_tr("It is not as Sfumato writes such entries."))
    return line


_OF_ANOTHER_FORM: Final = (
    SfumatoError,
    ArithmeticError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
)


def _line(event: LedgerEvent, look: Look) -> Line:
    if event.subject is Subject.ADOPTION:
        return _adoption(event, look)
    when, record = local_time(event.entry.recorded_at), event.record
    if event.subject is Subject.OVERRIDE:
        who = record.recipient if record is not None else ""
        return Line(event, look, when, who, _reason(event), record.target if record else None)
    if record is not None:
        what = ";  ".join(filter(None, (levels_of(record), _order_of(record))))
        return Line(event, look, when, record.recipient, what, record.target, record.digest)
    if event.entry.kind == EntryKind.SOURCE_CHANGED:
        return _edition(event, look)
    return Line(event, look, when, what=_project(event))


def look_of(event: LedgerEvent) -> Look:
    """Return an event's drawing, its colour and its translated word."""
    record = event.record
    if event.subject is Subject.RELEASE and record is not None:
        done = record.state is ReleaseState.COMPLETED
        look = PUBLISHED if done and record.is_publication else STATES[record.state]
    else:
        look = KINDS.get(event.entry.kind, ("info", "muted", event.entry.kind))
    icon, token, word = look
    return icon, token, QCoreApplication.translate("Ledger", word)


def levels_of(record: ReleaseRecord) -> str:
    """Return a release's levels as they were stated, or a generalized table's levels."""
    facts = record.details.get("generalization")
    if facts is not None:
        levels = zip(facts["quasi_identifiers"], facts["levels"], strict=True)
        return ";  ".join(f"{name}: {level}" for name, level in levels)
    return ";  ".join(
        f"{plan.key}: {_statement(plan.mechanism, plan.statement)}" for plan in record.plans
    )


def _order_of(record: ReleaseRecord) -> str:
    """Return that rows stand as in the table, where that was chosen, and why."""
    if not record.rows_reason:
        return ""
    return _tr("rows as in the table: “{reason}”").format(reason=record.rows_reason)


def _statement(mechanism: str, statement: object) -> str:
    try:
        return statement_text(mechanism_called(mechanism), statement)  # type: ignore[arg-type]
    except SfumatoError:  # a mechanism of another version
        return mechanism


def _adoption(event: LedgerEvent, look: Look) -> Line:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    try:
        file = AdoptedFile.from_dict(details["release"])
        field = mechanism_called(details["mechanism"]).terms[0].fields[0].name
        level = _statement(details["mechanism"], {field: file.level})
    except (SfumatoError, KeyError, TypeError, ValueError, AttributeError):
        return Line(event, look, when, str(details.get("holder", "")))  # of another version
    place = _tr("on the ladder") if file.rung else _tr("beside the ladder")
    if file.part is not None:
        covered, records = (grouped(count) for count in file.part)
        place += ", " + _tr("{covered} of {records} {records:record|records}").format(
            covered=covered, records=records
        )
    what = f"{details.get('attribute', '')}: {level}, {place}"
    return Line(event, look, when, file.holder, what, file.path, file.digest)


def _reason(event: LedgerEvent) -> str:
    reason = str(event.entry.details.get("reason", ""))
    return _tr("“{reason}”").format(reason=reason)


def contradictions(event: LedgerEvent) -> str:
    """Return in spite of what something was overridden or accepted; empty for other events."""
    details = event.entry.details
    with suppress(*_OF_ANOTHER_FORM):
        if event.entry.kind == EntryKind.ACCEPTED_UNSEALED:
            return "\n".join(str(found["what"]) for found in details.get("findings") or ())
        return "\n".join(str(what) for what in (details.get("overridden") or {}).values())
    return ""


def _edition(event: LedgerEvent, look: Look) -> Line:
    details, when = event.entry.details, local_time(event.entry.recorded_at)
    before, after = details.get("from", {}), details.get("to", {})
    what = _tr("{after} {after:record|records}, before {before}").format(
        after=grouped(int(after.get("rows", 0))), before=grouped(int(before.get("rows", 0)))
    )
    place = after.get("path")
    path = Path(place) if place else None
    return Line(event, look, when, "", what, path, after.get("digest", ""))


def _project(event: LedgerEvent) -> str:
    if event.entry.kind == EntryKind.PASSPHRASE_CHANGED:
        return _tr("The passphrase was changed")
    if event.entry.kind == EntryKind.ACCEPTED_UNSEALED:
        return _tr("Accepted as it stood: {reason}").format(reason=_reason(event))
    if event.entry.kind == EntryKind.PROJECT_CREATED:
        version = event.entry.details.get("version", "")
        return _tr("The project, with Sfumato {version}").format(version=version)
    return ""


def _tr(text: str) -> str:
    return QCoreApplication.translate("Ledger", text)


class LedgerModel(CellsModel):
    """A line for each event that is asked for."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        titles = (
            self.tr("Event"),
            self.tr("When"),
            self.tr("Who"),
            self.tr("Levels or reason"),
            self.tr("File"),
            self.tr("Digest"),
        )
        figures = (WHEN, LEVELS, DIGEST)
        headings = [Heading(title, tabular=at in figures) for at, title in enumerate(titles)]
        self.lay_out(0, headings)
        self._all: list[Line] = []
        self._lines: list[Line] = []
        self._order = (WHEN, True)
        self._subject: Subject | None = None
        self._words: tuple[str, ...] = ()

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show events, in the order chosen last."""
        self._all = [line_of(event) for event in events]
        self._show()

    def narrow(self, subject: Subject | None, text: str) -> None:
        """Show events about one subject only (None for all), in which every word occurs."""
        self._subject, self._words = subject, tuple(text.casefold().split())
        self._show()

    def _show(self) -> None:
        self.arrange(*self._order)
        self.lay_out(len(self._lines))

    def line(self, row: int) -> Line:
        """Return what a line shows."""
        return self._lines[row]

    def count(self, subject: Subject | None = None) -> int:
        """Return how many events there are, about a subject or about anything."""
        return sum(subject in (None, line.event.subject) for line in self._all)

    def arrange(self, column: int, descending: bool) -> None:
        """Put the lines in the order of a column."""
        self._order = (column, descending)
        keys: dict[int, Callable[[Line], Any]] = {WHEN: lambda line: line.event.number}
        key = keys.get(column, lambda line: _text(line, column).casefold())
        self._lines = [line for line in self._all if self._is_asked_for(line)]
        self._lines.sort(key=key, reverse=descending)

    def _is_asked_for(self, line: Line) -> bool:
        if self._subject not in (None, line.event.subject):
            return False
        text = " ".join([*(_text(line, column) for column in range(6)), line.digest]).casefold()
        return all(word in text for word in self._words)

    def cell(self, row: int, column: int) -> Cell:
        """Return what is shown of a cell."""
        line = self._lines[row]
        icon, tint, _ = line.look
        alarming = tint == "danger" and column in (STATE, LEVELS)
        return Cell(
            _text(line, column),
            self._tip(line, column),
            ink=current_theme().style.danger if alarming else "",
            icon=icon if column == STATE else "",
            tint=tint,
        )

    def _tip(self, line: Line, column: int) -> str:
        numbers = [entry.number for entry in (line.event.entry, line.event.ending) if entry]
        entries = self.tr("Entry {number}") if len(numbers) == 1 else self.tr("Entries {number}")
        whole = {
            STATE: entries.format(number=", ".join(str(number) for number in numbers)),
            BUNDLE: str(line.path or ""),
            DIGEST: line.digest,
        }
        if column == LEVELS and (against := contradictions(line.event)):
            return f"{line.what}\n{against}"
        return whole.get(column, _text(line, column))

    def copied_header(self) -> list[str]:
        """Return the names of what `copied` returns."""
        names = [str(self.headerData(section, Qt.Orientation.Horizontal)) for section in range(6)]
        return [self.tr("Entry"), *names]

    def copied(self, row: int) -> list[str]:
        """Return a line as it is copied: its entry, and all it shows in full."""
        line = self._lines[row]
        path = str(line.path) if line.path is not None else ""
        whole = [line.look[2], line.event.entry.recorded_at, line.who, line.what, path, line.digest]
        return [str(line.event.number), *(text.replace("\t", " ") for text in whole)]


def _text(line: Line, column: int) -> str:
    return (
        line.look[2],
        line.when,
        line.who,
        line.what,
        line.path.name if line.path is not None else "",
        line.digest[:DIGEST_SHOWN],
    )[column]


class VerificationView(QWidget):
    """A verdict, and every check with an icon, a word and what was found."""

    closed = Signal()
    """The person wants to see the ledger again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = IconLabel("good", "good", 24)
        self.verdict = label("", "heading", wrap=True)
        self.about = label("", "muted", wrap=True)
        self.back = button(self.tr("Back to the ledger"), self.closed.emit, "quiet", "chevron-left")
        self._checks: QWidget | None = None
        head = row(self._icon, (column(self.verdict, self.about, spacing=2), 1))
        head.addWidget(self.back, 0, Qt.AlignmentFlag.AlignTop)
        self._whole = column(head, spacing=Space.BETWEEN)
        self.setLayout(self._whole)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what was found of a file."""
        token = "good" if report.holds else "danger"
        self._icon.show_icon(token, token)
        verdict, about = self._words(report)
        failed, count = grouped(len(report.failed)), grouped(len(report.checks))
        self.verdict.setText(verdict.format(name=name, failed=failed, count=count))
        self.about.setText(about.format(recipient=report.recipient))
        self._fill([*report.failed, *(check for check in report.checks if check.holds)])

    def _words(self, report: VerificationReport) -> tuple[str, str]:
        """Return the verdict and what else is known of a file."""
        if report.whole:
            made_for = self.tr("Made for {recipient}.")
            unknown = self.tr("It could not be recognised as one of this project's releases.")
            holds = self.tr("{name} is as it was released, and keeps what it promises")
            fails = self.tr(
                "{name} does not hold up: {failed} of {count} {count:check|checks}"
                " {failed:fails|fail}"
            )
            return holds if report.holds else fails, made_for if report.recipient else unknown
        if report.release is None:
            return self.tr("{name} was not released as it stands"), ""
        return (
            self.tr("{name} is a file as it was released"),
            self.tr("Made for {recipient}. The rest of its bundle was not examined."),
        )

    def texts(self) -> tuple[str, ...]:
        """Return what is said of each check."""
        if self._checks is None:
            return ()
        return tuple(view.accessibleName() for view in self._checks.findChildren(_CheckView))

    def _fill(self, checks: list[Check]) -> None:
        if self._checks is not None:
            self._whole.removeWidget(self._checks)
            self._checks.deleteLater()
        self._checks = QWidget(self)
        lines = column(spacing=Space.BETWEEN)
        for check in checks:
            lines.addWidget(_CheckView(check))
        lines.addStretch(1)
        self._checks.setLayout(lines)
        self._whole.addWidget(self._checks, 1)


class _CheckView(QWidget):
    """One check: icon, word, title and finding."""

    def __init__(self, check: Check) -> None:
        super().__init__()
        token = "good" if check.holds else "danger"
        words = {True: self.tr("Holds"), False: self.tr("Fails")}
        word = words[check.holds]
        title, found = spoken(check.title), spoken(check.finding)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(Space.INSIDE)
        grid.setVerticalSpacing(2)
        grid.addWidget(IconLabel(token, token, 18), 0, 0, Qt.AlignmentFlag.AlignTop)
        state = label(word, token)
        # As wide for either word, so that the titles of all checks stand below one another.
        state.ensurePolished()
        widths = map(state.fontMetrics().horizontalAdvance, words.values())
        state.setMinimumWidth(max(widths) + Space.TIGHT)
        grid.addWidget(state, 0, 1, Qt.AlignmentFlag.AlignTop)
        grid.addWidget(label(title, "strong", wrap=True), 0, 2)
        finding = label(found, "muted", wrap=True)
        finding.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        grid.addWidget(finding, 1, 2)
        grid.setColumnStretch(2, 1)
        self.setAccessibleName(f"{word}: {title}. {found}")


class LedgerCard(Card):
    """Shows what happened to the project, or what a verification found."""

    folder_asked = Signal(object)
    """The folder of a release should be shown: its `Path`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Ledger"), parent=parent)
        self.model = LedgerModel(self)
        self.table = self._build_table()
        words = self.tr(
            "Each release is written down here: when, to whom, at which levels, and the"
            " digest of its files; and so is what was adopted, overridden or changed."
        )
        self.empty = EmptyState("releases", self.tr("Nothing is written down yet"), words)
        self.nothing = EmptyState("search", self.tr("The ledger has nothing like this"), "")
        self.nothing.add_button(button(self.tr("Show everything"), self._show_everything))
        self.report = VerificationView(self)
        self.pages = Pages(self)
        self.report.closed.connect(lambda: self.pages.setCurrentWidget(self._list))
        self.pages.add(self.table, self.empty, self.nothing, self.report)
        self._list: QWidget = self.empty
        self.pages.setCurrentWidget(self.empty)
        self.intact = Badge("verify", "muted", "")
        self.show_folder = button(self.tr("Show &folder"), self._ask_for_folder, icon="folder")
        self.verify = button(self.tr("&Verify a file…"), None, icon="verify")
        words = self.tr("Copy the chosen lines, or all that are shown, with whole digests")
        self.copy = button(self.tr("&Copy"), self._copy, icon="copy", tip=words)
        self.show_folder.setEnabled(False)
        self.filters = self._build_filters()
        self.body.removeWidget(self.heading)
        title = boxed(row(self.heading, self.intact))
        deeds = (self.copy, self.show_folder, self.verify)
        self.put(FlowLayout(title, *deeds, apart=1), self.filters, (self.pages, 1))
        self.setMinimumHeight(scaled(300))

    def let_verify(self, ready: bool) -> None:
        """Let a file be verified, or say what it takes."""
        self.verify.setEnabled(ready)
        self.verify.setToolTip(
            self.tr("Choose a bundle, or drop one here")
            if ready
            else self.tr("A file is verified against a project and its table: open them first")
        )

    def _build_filters(self) -> QWidget:
        """Return the choice of what the events are about, beside the words to look for."""
        self.subject = Segments(
            (
                (None, self.tr("All")),
                (Subject.RELEASE, self.tr("Releases")),
                (Subject.ADOPTION, self.tr("Adoptions")),
                (Subject.OVERRIDE, self.tr("Overrides")),
                (Subject.PROJECT, self.tr("Project")),
            ),
            self,
        )
        self.subject.setAccessibleName(self.tr("What the ledger's lines are about"))
        self.search = text_field(hint=self.tr("Name, level, reason, file or digest"))
        self.search.setAccessibleName(self.tr("Look for words in the ledger"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(themed_icon("search"), QLineEdit.ActionPosition.LeadingPosition)
        for part, name in zip(
            self.search.findChildren(QToolButton),
            (self.tr("Clear the search"), self.tr("Search")),
            strict=True,
        ):
            part.setAccessibleName(name)
        self.subject.chosen.connect(self._narrow)
        self.search.textChanged.connect(self._narrow)
        return ResponsiveRow(NARROW, (self.subject, 0), self.search, parent=self)

    def _build_table(self) -> TableView:
        table = _LedgerTable(
            self, row_numbers=False, model=self.model, whole_rows=True, framed=False, widest=BUNDLE
        )
        table.setAccessibleName(self.tr("What the ledger tells of"))
        table.setSortingEnabled(True)
        table.sortByColumn(WHEN, Qt.SortOrder.DescendingOrder)
        table.setTextElideMode(Qt.TextElideMode.ElideRight)
        table.horizontalHeader().setSectionResizeMode(LEVELS, QHeaderView.ResizeMode.Stretch)
        table.wrap_rows()
        table.selectionModel().selectionChanged.connect(self._allow_folder)
        table.doubleClicked.connect(lambda _index: self._ask_for_folder())
        return table

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Leave out what there is no room for; levels and reasons come first. Copies have all."""
        super().resizeEvent(event)
        self.table.setColumnHidden(DIGEST, self.width() < WIDE)
        self.table.setColumnHidden(BUNDLE, self.width() < WIDEST)

    def show_events(self, events: Sequence[LedgerEvent]) -> None:
        """Show what a ledger tells of."""
        reading = self.pages.currentWidget() is self.report
        self.model.show_events(events)
        for button_ in (self.show_folder, self.copy):
            button_.setVisible(bool(events))
        self._choose_list()
        if not reading:
            self.show_ledger()

    def _narrow(self, _changed: object = None) -> None:
        subject = self.subject.value
        self.model.narrow(subject if isinstance(subject, Subject) else None, self.search.text())
        self._choose_list()
        self.show_ledger()

    def _show_everything(self) -> None:
        self.subject.set_value(None)
        self.search.clear()
        self._narrow()

    def _choose_list(self) -> None:
        """Show the lines, or why there are none."""
        shown = bool(self.model.rowCount())
        nothing = self.nothing if self.model.count() else self.empty
        self._list = self.table if shown else nothing
        self.copy.setEnabled(shown)
        self._allow_folder()

    def _copy(self) -> None:
        if not self.table.copy():
            self.table.selectAll()
            self.table.copy()
            self.table.clearSelection()

    def show_intact(self, icon: str, token: str, words: str, detail: str = "") -> None:
        """Say whether the ledger is as it was written."""
        self.intact.show_state(icon, token, words)
        self.intact.setToolTip(detail)
        self.intact.setVisible(bool(words))

    def show_ledger(self) -> None:
        """Show the ledger, and no longer what a verification found."""
        self.filters.setVisible(bool(self.model.count()))
        self.pages.setCurrentWidget(self._list)

    def show_report(self, name: str, report: VerificationReport) -> None:
        """Show what a verification found."""
        self.report.show_report(name, report)
        self.filters.hide()
        self.pages.setCurrentWidget(self.report)

    def _chosen(self) -> Path | None:
        """Return the bundle of the one line that is chosen."""
        rows = self.table.selectionModel().selectedRows()
        return self.model.line(rows[0].row()).bundle if len(rows) == 1 else None

    def _allow_folder(self, *_changes: object) -> None:
        self.show_folder.setEnabled(self._chosen() is not None)

    def _ask_for_folder(self) -> None:
        bundle = self._chosen()
        if bundle is not None:
            self.folder_asked.emit(bundle)


class _LedgerTable(TableView):
    """Lines that are copied with whole paths, digests and the entries' numbers."""

    def copy(self) -> bool:
        """Copy the chosen lines as tab-separated text; return whether there were any."""
        model, chosen = self.model(), self.selectionModel()
        if not isinstance(model, LedgerModel) or not chosen.selectedRows():
            return False
        rows = sorted(index.row() for index in chosen.selectedRows())
        lines = [model.copied_header(), *(model.copied(row) for row in rows)]
        QGuiApplication.clipboard().setText("\n".join("\t".join(line) for line in lines))
        return True
