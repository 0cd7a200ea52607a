"""What is to be released to whom, how and where: the form, and the one job that makes it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication, Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QHeaderView,
    QLineEdit,
    QProgressBar,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from sfumato.analysis.editions.since_release import SinceRelease
from sfumato.analysis.releasing import ReleaseOrder
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.mechanisms import mechanism_called
from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.formats.tables import all_formats
from sfumato.jobs import Job
from sfumato.project.document.model import Document, Recipient
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import level_words, local_day, spoken
from sfumato.ui.panels.releases.approval import ApprovalLine
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import CatalogueChoice, Segments, TickAll, prompt, text_field
from sfumato.ui.widgets.layout import (
    Card,
    ElidedLabel,
    beside,
    boxed,
    button,
    column,
    fill,
    label,
    row,
)
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.responsive import ResponsiveRow
from sfumato.ui.widgets.sheets import TickedModel
from sfumato.ui.widgets.tables import Cell, Heading, TableView


class ProgressLine(QStackedWidget):
    """A hint while nothing runs, and else the progress.

    Parameters
    ----------
    name
        What the progress is called.
    """

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hint = label("", "small", wrap=True)
        self.bar = QProgressBar(self)
        self.bar.setRange(0, 1000)
        self.bar.setAccessibleName(name)
        self._doing = ElidedLabel("", "small")
        self.cancel = button(self.tr("Cancel"), None, "quiet")
        running = QWidget(self)
        running.setLayout(row((self.bar, 1), (self._doing, 1), self.cancel, spacing=Space.BETWEEN))
        self.addWidget(self.hint)
        self.addWidget(running)
        self.setMinimumHeight(Space.FIELD + 4)  # a hint of several lines takes more
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)

    def show_job(self, job: Job | None) -> None:
        """Show how far the work is; None when it has ended."""
        self.setCurrentIndex(0 if job is None else 1)
        if job is not None:
            self.bar.setValue(round(1000 * job.fraction))
            self._doing.setText(spoken(job.text))


NAME, LEVELS, LAST = range(3)


@dataclass(frozen=True)
class RecipientCandidate:
    """One recipient.

    Parameters
    ----------
    name
        The recipient.
    levels
        Their levels, attribute by attribute.
    last
        When a release was made for them last, and whether anything has changed since.
    changes
        What has changed since.
    """

    name: str
    levels: str
    last: str
    changes: tuple[str, ...] = ()


class CandidatesModel(TickedModel):
    """Recipients with a tick each."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._candidates: tuple[RecipientCandidate, ...] = ()
        headings = (
            Heading(self.tr("Recipient")),
            Heading(self.tr("Levels"), tabular=True),
            Heading(self.tr("Last release"), tabular=True),
        )
        self.lay_out(0, headings)

    @property
    def chosen(self) -> tuple[str, ...]:
        """The names that are ticked, in order."""
        return tuple(each.name for each in self._candidates if self.is_ticked(each.name))

    def show_candidates(self, candidates: Sequence[RecipientCandidate]) -> None:
        """Show recipients; new ones are ticked."""
        self._candidates = tuple(candidates)
        names = [each.name for each in candidates]
        self._left_out &= set(names)
        self.show_lines(names)

    def cell(self, row: int, column: int) -> Cell:
        """Return what a cell shows."""
        one = self._candidates[row]
        text = (one.name, one.levels, one.last)[column]
        return Cell(text, "\n".join((text, *(one.changes if column == LAST else ()))))


def candidates_of(
    document: Document, since: Sequence[SinceRelease]
) -> tuple[RecipientCandidate, ...]:
    """Return every recipient with their levels and their last release.

    Parameters
    ----------
    document
        The policy and the recipients.
    since
        What has changed since everybody's last release, in the recipients' order.
    """
    return tuple(
        RecipientCandidate(
            recipient.name, _levels(document, recipient), _last(one), changes_told(one)
        )
        for recipient, one in zip(document.recipients, since, strict=True)
    )


def changes_told(since: SinceRelease) -> tuple[str, ...]:
    """Return what has changed since a recipient's last release, attribute by attribute."""
    return tuple(
        f"{name}: {spoken(words)}" if name else spoken(words) for name, words in since.changes
    )


def _levels(document: Document, recipient: Recipient) -> str:
    alike: dict[str, list[str]] = {}
    for entry in document.policy:
        statement = recipient.statements.get(entry.key)
        text = (
            level_words(mechanism_called(entry.mechanism), statement)
            if statement is not None
            else _tr("not set")
        )
        alike.setdefault(text, []).append(entry.key)
    return "\n".join(f"{', '.join(names)}: {text}" for text, names in alike.items())


def _last(since: SinceRelease) -> str:
    if since.record is None:
        return _tr("never")
    day = local_day(since.record.recorded_at)
    if since.current:
        return _tr("{day}, same levels").format(day=day)
    return _tr("{day}, changed since").format(day=day)


def _tr(text: str) -> str:
    return QCoreApplication.translate("Releases", text)


class RowOrderChoice(QWidget):
    """A random order of each release's own, or the table's for a reason.

    Parameters
    ----------
    session
        Whose document keeps the choice: the reason, or none.
    caption_width
        The width of the word before the choice.
    """

    changed = Signal()

    def __init__(self, session: Session, caption_width: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._writing = False
        self.order = Segments(
            [(False, self.tr("In random order")), (True, self.tr("As in the table"))], self
        )
        self.order.setAccessibleName(self.tr("Order of rows"))
        self.reason = text_field(name=self.tr("Reason for the table's order"))
        prompt(self.reason, self.tr("Reason, kept in the ledger"))
        told = label(spoken(ROWS_AS_IN_TABLE), "danger", wrap=True)
        said = column(told, self.reason, spacing=Space.TIGHT)
        self.warning = boxed(beside(IconLabel("danger", "danger", 18), said), self)
        name = label(self.tr("Rows"), "muted")
        name.setMinimumWidth(caption_width)
        name.setBuddy(self.order)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        fill(whole, row(name, self.order, None), self.warning)
        self.order.chosen.connect(self._choose)
        self.reason.textEdited.connect(self._write)
        session.document_changed.connect(self.refresh)
        session.project_changed.connect(self.refresh)
        self.refresh()

    @property
    def lacks_reason(self) -> bool:
        """Whether the table's order was chosen and nothing was said for it yet."""
        return bool(self.order.value) and not self._session.document.rows_as_in_table

    def refresh(self, _changed: object = None) -> None:
        """Show what the document has, unless a reason is being written."""
        reason = self._session.document.rows_as_in_table
        if not self._writing:
            self.order.set_value(bool(reason))
            if self.reason.text().strip() != reason:
                self.reason.setText(reason)
        self.warning.setVisible(bool(self.order.value))

    def _choose(self, as_in_table: object) -> None:
        self.warning.setVisible(bool(as_in_table))
        if as_in_table:
            self.reason.setFocus()
            self._write(self.reason.text())
        else:
            self._keep("")
        self.changed.emit()

    def _write(self, text: str) -> None:
        self._keep(text.strip())
        self.changed.emit()

    def _keep(self, reason: str) -> None:
        document = replace(self._session.document, rows_as_in_table=reason)
        self._writing = True
        try:
            self._session.edit(
                self.tr("Keep rows in the table's order")
                if reason
                else self.tr("Put rows in random order"),
                document,
                merge_key="order of rows",
            )
        finally:
            self._writing = False


MOST_ROWS_SHOWN: Final = 5
CAPTION_WIDTH: Final = 56
WIDE: Final = 640
"""From this width on, format and kind stand side by side."""


class OrderCard(Card):
    """Recipients, format, kind of bundle and folder; and the progress while it is carried out."""

    changed = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Make releases"), parent=parent)
        self.model = CandidatesModel(self)
        self.table = self._build_table()
        self.tick_all = TickAll(self.model.tick_all, self)
        formats = [(f.name, spoken(f.title)) for f in all_formats().values() if f.can_write]
        self.format = Segments(formats, self, name=self.tr("Format"))
        self.kind = Segments([(False, self.tr("Folder")), (True, self.tr("Zip file"))], self)
        self.kind.setAccessibleName(self.tr("Kind of bundle"))
        self.escape_formulas = self._build_escape()
        self.dcat = CatalogueChoice(self)
        self.rows = RowOrderChoice(session, CAPTION_WIDTH, self)
        self.approval = ApprovalLine(session, self)
        self.folder = text_field(name=self.tr("Target folder"))
        prompt(self.folder, self.tr("A folder for the bundles"))
        self.choose = button(self.tr("C&hoose…"), None, icon="folder")
        self.reason = text_field(name=self.tr("Reason"), hint=self.tr("Reason, kept in the ledger"))
        self._conflict_text = label("", wrap=True)
        self.conflict = self._build_conflict()
        self.progress = ProgressLine(self.tr("Progress of the release"), self)
        self.cancel, self._hint = self.progress.cancel, self.progress.hint
        self.changes = label("", "muted", wrap=True)
        self.changes.hide()
        self.put(self.table, self.tick_all, self.changes)
        of_files = self._line(self.tr("Format"), self.format)
        as_what = self._line(self.tr("As"), self.kind)
        ways = ResponsiveRow(WIDE, (of_files, 0), as_what, parent=self)
        self.put(
            ways,
            self._line("", self.escape_formulas),
            self._line("", self.dcat),
            self.rows,
            self._line("", self.approval),
            self._line(self.tr("Into"), self.folder, self.choose),
            self.conflict,
            self.progress,
        )
        self.table.wrapped.connect(self._fit)
        self.model.ticked.connect(self.changed)
        self.folder.textChanged.connect(self.changed)
        self.rows.changed.connect(self.changed)
        self.approval.changed.connect(self.changed)
        self.reason.textChanged.connect(self.changed)

    def _build_table(self) -> TableView:
        table = TableView(self, row_numbers=False, model=self.model, framed=False, whole_rows=True)
        table.setAccessibleName(self.tr("Recipients of this release"))
        header = table.horizontalHeader()
        header.setSectionResizeMode(NAME, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(LEVELS, QHeaderView.ResizeMode.Stretch)
        header.setSectionResizeMode(LAST, QHeaderView.ResizeMode.ResizeToContents)
        table.wrap_rows()
        return table

    def _build_escape(self) -> QCheckBox:
        """Return the choice that is safe each time anew; it concerns CSV files only."""
        choice = QCheckBox(self.tr("Keep spreadsheets from reading text as formulas"), self)
        words = self.tr(
            "In CSV files, an apostrophe is put before text that begins with =, +, - or @."
            " Numbers stay unchanged. The README explains how to remove it."
        )
        choice.setToolTip(words)
        choice.setChecked(True)
        choice.setEnabled(self.format.value == "csv")
        self.format.chosen.connect(lambda name: choice.setEnabled(name == "csv"))
        return choice

    def _build_conflict(self) -> QWidget:
        frame = QWidget(self)
        line = row(IconLabel("caution", "caution", 18))
        line.setAlignment(Qt.AlignmentFlag.AlignTop)
        line.addLayout(column(self._conflict_text, self.reason, spacing=Space.TIGHT), 1)
        frame.setLayout(line)
        frame.hide()
        return frame

    def _line(self, words: str, *widgets: QWidget) -> QWidget:
        name = label(words, "muted")
        name.setMinimumWidth(max(scaled(CAPTION_WIDTH), name.sizeHint().width()))
        name.setBuddy(widgets[0])
        line = row(name)
        stretching = isinstance(widgets[0], QLineEdit)
        for place, widget in enumerate(widgets):
            line.addWidget(widget, 1 if stretching and place == 0 else 0)
        if not stretching:
            line.addStretch(1)
        whole = QWidget(self)
        whole.setLayout(line)
        return whole

    # ----- what is shown

    def show_candidates(self, candidates: Sequence[RecipientCandidate]) -> None:
        """Show who can get a release, and what has changed for them since the last one."""
        self.model.show_candidates(candidates)
        self.tick_all.offer(len(candidates))
        self._fit()
        changed = [each for each in candidates if each.changes]
        told = (
            self.tr("Changed since the last release to {name}: {changes}").format(
                name=each.name, changes="; ".join(each.changes)
            )
            for each in changed
        )
        self.changes.setText("\n".join(told))
        self.changes.setVisible(bool(changed))

    def _fit(self) -> None:
        """Show the first recipients' rows whole."""
        rows = min(self.model.rowCount(), MOST_ROWS_SHOWN)
        heights = sum(self.table.rowHeight(row) for row in range(rows))
        self.table.setFixedHeight((Space.FIELD + 4) + max(heights, Space.FIELD) + 2)

    def show_conflict(self, text: str) -> None:
        """Say what speaks against a release; an empty text takes it away."""
        self._conflict_text.setText(text)
        self.conflict.setVisible(bool(text))

    def show_hint(self, text: str) -> None:
        """Say what releasing will do, or what is missing."""
        self._hint.setText(text)

    def show_job(self, job: Job | None) -> None:
        """Show how far the work is; None when it has ended."""
        self.progress.show_job(job)

    @property
    def folder_path(self) -> Path | None:
        """The folder that was named."""
        text = self.folder.text().strip()
        return Path(text).expanduser() if text else None

    def order(self) -> ReleaseOrder | None:
        """Return what is ordered; None while something is missing."""
        folder, recipients = self.folder_path, self.model.chosen
        conflict = not self.conflict.isHidden()
        if self.approval.waiting(recipients):
            return None
        unfounded = self.rows.lacks_reason or (conflict and not self.reason.text().strip())
        if folder is None or not recipients or unfounded:
            return None
        return ReleaseOrder(
            recipients,
            folder,
            str(self.format.value),
            bool(self.kind.value),
            self.reason.text().strip() if conflict else "",
            self.escape_formulas.isChecked(),
            self.dcat.isChecked(),
        )
