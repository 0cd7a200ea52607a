"""Tables of counts: columns are dragged into a table, seen with its noise, and released."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QCheckBox, QHBoxLayout, QLabel, QWidget

from sfumato.analysis.disclosure.record_losses import LossInAll, RecordLosses, losses_by_records
from sfumato.analysis.findings import APPROVAL, Finding
from sfumato.analysis.readiness.verdicts import Readiness, verdict_of
from sfumato.analysis.tables.count_tables import (
    CountPreview,
    preview_counts,
    release_counts,
    standing_for_counts,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.ladders.laplace import HIGHEST, LOWEST
from sfumato.formats.language import grouped
from sfumato.jobs import Ending, Job
from sfumato.project.approval import approve_contents, approvers
from sfumato.project.count_tables.counting import countable, sizes_of
from sfumato.project.count_tables.held import CountTableRecord
from sfumato.project.count_tables.making import content_of_counts
from sfumato.project.document.model import Recipient
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in, number, spoken
from sfumato.ui.panels.base import catch_up
from sfumato.ui.panels.releases.approval import ask_to_approve
from sfumato.ui.panels.releases.column_lists import ColumnLists
from sfumato.ui.panels.releases.order_card import ProgressLine
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments, prompt, text_field
from sfumato.ui.widgets.files import name_folder
from sfumato.ui.widgets.layout import Card, ScrollPage, button, captioned, form, label, row
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.responsive import ResponsiveRow
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

PREVIEW_JOB: Final = "counts preview"
COUNTS_JOB: Final = "counts"
START: Final = 1.0
WIDE: Final = 640
"""From this width on, the noisy table stands beside the true one; pixels at scale 1."""
MOST_ACROSS: Final = 200
"""More columns are not shown."""
_HIGH: Final = 240
_WAIT: Final = 150
"""Milliseconds after the last change until the counts are made anew."""


class CountsPage(ScrollPage):
    """Puts a table of counts together, shows it with its noise beside the truth, and releases it.

    Parameters
    ----------
    session
        What is open.
    """

    changed = Signal()
    """Whether the table can be released may be otherwise."""
    failed = Signal(object)
    """It can't be released: a `SfumatoError`."""
    made = Signal(object)
    """It was released: its `Path`."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._job: Job | None = None
        self.preview: CountPreview | None = None
        self._left: RecordLosses | None = None
        self._standing: tuple[Finding, ...] = ()
        self._wait = QTimer(self, singleShot=True, interval=_WAIT)
        self._wait.timeout.connect(self._count)
        self.put(self._build_choice(), self._build_tables(), self._build_cost(), None)
        session.follow(self.refresh, session.ledger_changed)

    # ----- what is there

    def _build_choice(self) -> Card:
        words = self.tr(
            "Drag columns into the rows and columns of the table, or choose one and press a button;"
            " R, C and Delete do the same. Only columns with stated values can be counted by."
        )
        card = Card(self.tr("Table of counts"), words, parent=self)
        self.lists = ColumnLists(card)
        self.lists.changed.connect(self._look_again)
        card.put(self.lists)
        return card

    def _build_tables(self) -> Card:
        card = Card(self.tr("What leaves, and what is true"), parent=self)
        self.about = label("", "muted", wrap=True)
        self._noisy, self._true = CellsModel(parent=self), CellsModel(parent=self)
        self.noisy = TableView(self, model=self._noisy, name=self.tr("Noisy counts that leave"))
        self.true = TableView(self, model=self._true, name=self.tr("True counts"))
        told = self.tr("Leaves: noisy counts, with intervals"), self.tr("True: for you alone")
        tables = zip(told, (self.noisy, self.true), strict=True)
        parts = [captioned(words, table, "muted", wrap=True) for words, table in tables]
        for one, other in ((self.noisy, self.true), (self.true, self.noisy)):
            one.setFixedHeight(scaled(_HIGH))
            one.verticalScrollBar().valueChanged.connect(other.verticalScrollBar().setValue)
        self.shown = ResponsiveRow(WIDE, *parts, parent=card)
        card.put(self.about, self.shown)
        return card

    def _build_cost(self) -> Card:
        card = Card(self.tr("For whom"), parent=self)
        self.recipient = ChoiceField(
            name=self.tr("Recipient of the table"), chosen=self._look_again, least=160
        )
        self.epsilon = NumberField(
            LOWEST,
            HIGHEST,
            name=self.tr("ε of the table"),
            given=self._look_again,
            parent=card,
        )
        self.epsilon.set_value(START)
        self.folder = text_field(name=self.tr("Folder for the table"))
        prompt(self.folder, self.tr("A folder for the bundles"))
        self.folder.textChanged.connect(lambda _text: self.changed.emit())
        self.choose = button(self.tr("C&hoose…"), self._choose_folder, icon="folder")
        self._losses = CellsModel(
            (
                Heading(self.tr("Recipient")),
                Heading(self.tr("ε by released records"), right=True),
                Heading(self.tr("ε by tables of counts so far"), right=True),
                Heading(self.tr("ε in all with this table"), right=True),
            ),
            self,
        )
        self.losses = TableView(
            self,
            row_numbers=False,
            model=self._losses,
            name=self.tr("What a record loses in all"),
            framed=False,
            widest=0,
        )
        note = label(
            self.tr(
                "Of tables with the same noise, and of releases of a column, the largest ε counts;"
                " all others are added."
            ),
            "small",
            wrap=True,
        )
        self.progress = ProgressLine(self.tr("Progress of the table"), card)
        self.progress.cancel.clicked.connect(lambda: self._session.runner.cancel(COUNTS_JOB))
        self.kind = Segments(
            [(False, self.tr("Folder")), (True, self.tr("Zip file"))],
            card,
            name=self.tr("Kind of the bundle of counts"),
        )
        fields = form(
            (self.tr("Recipient"), self.recipient),
            ("ε", self.epsilon),
            (self.tr("Into"), row((self.folder, 1), self.choose, self.kind)),
        )
        symbol = fields.labelForField(self.epsilon)
        assert isinstance(symbol, QLabel)
        symbol.setBuddy(self.epsilon.spin)
        card.put(fields, self.losses, note, *self._build_verdict(card), self.progress)
        return card

    def _build_verdict(self, card: Card) -> tuple[QWidget | QHBoxLayout, ...]:
        """Build what says whether the table can be released, and what is asked for that."""
        self.limited = QCheckBox(self.tr("Allow no more in all than ε ="), card)
        self.most = NumberField(
            LOWEST, HIGHEST, name=self.tr("Largest ε in all"), given=self._limit, parent=card
        )
        self.most.set_value(START)
        self.limited.clicked.connect(self._limit)
        self.verdict = label("", wrap=True)
        self.findings = label("", "small", wrap=True)
        self.reason = text_field(name=self.tr("Reason for the table"))
        prompt(self.reason, self.tr("Reason, kept in the ledger"))
        self.reason.textChanged.connect(lambda _text: self._show_progress())
        self.approve = button(self.tr("A&pprove…"), self._ask_to_approve, icon="verify")
        asked = row((self.reason, 1), self.approve)
        return row(self.limited, self.most, None), self.verdict, self.findings, asked

    def _limit(self, _changed: object = None) -> None:
        document = self._session.document
        most = self.most.value if self.limited.isChecked() else None
        if most != document.most_epsilon:
            changed = replace(document, most_epsilon=most)
            self._session.edit(self.tr("Limit what a record loses in all"), changed)

    # ----- what is shown

    def refresh(self, _changed: object = None) -> None:
        """While it is in sight: offer the columns and recipients there are, and count again."""
        if not self.isVisible():
            return
        document = self._session.document
        found = countable(document)
        self.lists.offer(
            {
                spec.name: self.tr("{n} {n:value|values}").format(n=grouped(size))
                for spec, size in zip(found, sizes_of(found), strict=True)
            }
        )
        self.recipient.set_choices([(each.name, each.name) for each in document.recipients])
        self.limited.setChecked(document.most_epsilon is not None)
        self.most.setEnabled(document.most_epsilon is not None)
        if document.most_epsilon is not None:
            self.most.set_value(document.most_epsilon)
        self._left = None
        self._look_again()

    def propose_folder(self, folder: str) -> None:
        """Propose a folder, unless another was named."""
        if not self.folder.text().strip():
            self.folder.setText(folder)

    def showEvent(self, event: object) -> None:
        """Catch up with what has changed while nobody looked."""
        super().showEvent(event)  # type: ignore[arg-type]
        catch_up(self.refresh)

    def _look_again(self, _changed: object = None) -> None:
        self.preview = None
        self._session.runner.cancel(PREVIEW_JOB)
        if self.isVisible():
            self._wait.start()
        self._show()

    def _records(self) -> tuple[CountTableRecord, ...]:
        return self._session.steps.count_tables()

    def _recipient(self) -> Recipient | None:
        known = self._session.document.recipients
        return next((each for each in known if each.name == self.recipient.value), None)

    def _count(self) -> None:
        session, recipient = self._session, self._recipient()
        down, across = self.lists.down, self.lists.across
        if session.source is None or recipient is None or not (down or across):
            return
        named = (session.document, session.source, down, across, recipient.name)
        asked = (*named, self.epsilon.value, session.keys, self._records())
        counting = partial(preview_counts, *asked)
        work = partial(_looked_at, session.project, session.source, self._left, counting)
        session.runner.run(
            self.tr("Counting"), work, self._show_preview, self._refuse, key=PREVIEW_JOB
        )

    def _refuse(self, error: SfumatoError) -> None:
        self._show()
        self.about.setText(" ".join(error_texts(error)))

    def _show_preview(self, preview: CountPreview) -> None:
        self.preview, self._left = preview, preview.left
        self._show()

    def _show(self) -> None:
        found = self.preview
        wide = found is not None and len(found.headings) > MOST_ACROSS
        self.shown.setVisible(found is not None and not wide)
        self.losses.setVisible(found is not None)
        self._show_verdict(found)
        if found is None:
            told = self.tr("Put a column into the table to see it.")
            chosen = bool(self.lists.down or self.lists.across)
            self.about.setText(self.tr("Counting…") if chosen else told)
        else:
            self.about.setText(self._about(found, wide))
            self._show_cells(found)
            self._show_losses(found.losses)
        self._show_progress()

    def _show_progress(self) -> None:
        self.progress.hint.setText(self._hint())
        self.changed.emit()

    def _show_verdict(self, found: CountPreview | None) -> None:
        """Tell whether the table can be released to the recipient, and what says so."""
        project, recipient = self._session.project, self._recipient()
        self._standing = ()
        if found is not None and recipient is not None and project is not None:
            with suppress(SfumatoError):
                columns = (*self.lists.down, *self.lists.across)
                asked = (columns, recipient, self.epsilon.value)
                self._standing = standing_for_counts(project, *asked)
        for part in (self.verdict, self.findings):
            part.setVisible(found is not None)
        self.reason.setVisible(found is not None and bool(found.readiness.open))
        self.approve.setVisible(any(one.check == APPROVAL for one in self._refused))
        if found is None:
            return
        ready = Readiness(found.readiness.recipient, (*self._standing, *found.readiness.findings))
        verdict = verdict_of(ready)
        words = spoken(verdict.word), spoken(verdict.sentence)
        said = self.tr("{word}: {sentence}")
        self.verdict.setText(said.format(word=words[0], sentence=words[1]))
        self.findings.setText("\n".join(spoken(one.sentence) for one in ready.findings))

    @property
    def _refused(self) -> tuple[Finding, ...]:
        return tuple(one for one in self._standing if one.refuses)

    def _about(self, found: CountPreview, wide: bool) -> str:
        told = self.tr(
            "{n} {n:cell|cells}. 95 times in 100 a count is off by at most {most}."
        ).format(n=grouped(found.noisy.size), most=grouped(found.half_width))
        if found.added_from:
            told += " " + filled_in(
                self.tr("It is added from the noisy counts by {columns}."),
                columns=", ".join(found.added_from),
            )
        if self._session.project is None:
            told += " " + self.tr("Without a project the noise is not that of the release.")
        if wide:
            told += " " + self.tr("It has too many columns to be shown: put some into the rows.")
        return told

    def _show_cells(self, found: CountPreview) -> None:
        caption = " · ".join(found.across)
        headings = [
            Heading(each or self.tr("Count"), caption, right=True) for each in found.headings
        ]
        names = [Heading(each or self.tr("All")) for each in found.names]
        for table, model, teller in (
            (self.noisy, self._noisy, self._noisy_cell),
            (self.true, self._true, self._true_cell),
        ):
            model.lay_out(0, headings)
            model.show_cells(0, partial(teller, found))
            model.lay_out(len(names), headings, names)
            table.fit_columns()

    def _noisy_cell(self, found: CountPreview, line: int, place: int) -> Cell:
        low, high = map(grouped, found.interval(line, place))
        count = grouped(int(found.noisy[line, place]))
        told = self.tr("{count}  ({low} to {high})").format(count=count, low=low, high=high)
        return Cell(
            told,
            self.tr("95 times in 100 the true count is from {low} to {high}").format(
                low=low, high=high
            ),
        )

    def _true_cell(self, found: CountPreview, line: int, place: int) -> Cell:
        return Cell(grouped(int(found.truth[line, place])), self.tr("It does not leave"))

    def _show_losses(self, losses: tuple[LossInAll, ...]) -> None:
        self._losses.show_cells(len(losses), partial(self._loss_cell, losses))
        self.losses.setFixedHeight((Space.FIELD + 4) + len(losses) * Space.FIELD + 2)

    def _loss_cell(self, losses: tuple[LossInAll, ...], line: int, place: int) -> Cell:
        one = losses[line]
        name = one.recipient or self.tr("all together")
        told = (one.by_records, one.before, one.total)
        text = (name, *(str(number(each)) for each in told))[place]
        return Cell(text, text, strong=place > 0 and one.grows)

    # ----- releasing

    @property
    def ready(self) -> bool:
        """Whether the table can be released."""
        return not self._lacking() and self._job is None

    def _lacking(self) -> str:
        """Return what the release waits for first; empty where it waits for nothing."""
        project, preview = self._session.project, self.preview
        unfounded = preview is not None and preview.readiness.open
        lacking = (
            (self._session.source is None, self.tr("Open the table.")),
            (self._recipient() is None, self.tr("Name a recipient under Policy.")),
            (
                project is not None and project.read_only,
                self.tr("The project is open for reading only, so no release can be made."),
            ),
            (preview is None, self.tr("Put a column into the table.")),
            (self._refused, " ".join(spoken(one.sentence) for one in self._refused)),
            (
                unfounded and not self.reason.text().strip(),
                self.tr("Give a reason for the table, or choose a smaller ε."),
            ),
            (not self.folder.text().strip(), self.tr("Choose a folder for the bundles.")),
        )
        return next((said for lacks, said in lacking if lacks), "")

    def _hint(self) -> str:
        if lacking := self._lacking():
            return lacking
        if self._session.project is None:
            return self.tr(
                "You are asked to save a project first: it keeps the secret and the ledger."
            )
        return self.tr("The bundle holds counts, margins, intervals and a README.")

    def _choose_folder(self) -> None:
        name_folder(self._session.chooser, self.folder, self.tr("Folder for the bundles"))

    def release(self) -> None:
        """Release the table, once the work is safe in a project."""
        self._session.once_saved(self._start)

    def _start(self) -> None:
        session, recipient = self._session, self._recipient()
        project, source = session.project, session.source
        columns = (*self.lists.down, *self.lists.across)
        if project is None or source is None or recipient is None or not columns:
            return
        if self._job is not None:
            return
        folder = Path(self.folder.text().strip()).expanduser()
        asked = (
            columns,
            recipient,
            self.epsilon.value,
            folder,
            self.reason.text().strip(),
            bool(self.kind.value),
        )
        work = partial(release_counts, project, source, *asked)
        title = self.tr("Counting for {name}").format(name=recipient.name)
        self._job = session.runner.run(
            title, work, self._tell_made, self.failed.emit, key=COUNTS_JOB
        )
        self._job.progressed.connect(lambda: self.progress.show_job(self._job))
        self._job.finished.connect(self._end)
        self.progress.show_job(self._job)
        self.changed.emit()

    def _tell_made(self, made: tuple[Path, CountTableRecord, Readiness]) -> None:
        self.reason.clear()
        self.made.emit(made[0])

    def _ask_to_approve(self) -> None:
        """Let a second person approve just this table."""
        session, recipient = self._session, self._recipient()
        project = session.project
        if project is None or recipient is None or not session.save():
            return
        if not approvers(project):
            told = self.tr("Nobody can approve yet: add a person under Records.")
            self.progress.hint.setText(told)
            return
        columns, epsilon = (*self.lists.down, *self.lists.across), self.epsilon.value

        def approve(name: str, passphrase: str) -> None:
            content = content_of_counts(project, columns, recipient, epsilon)
            approve_contents(project, [content], name, passphrase)

        ask_to_approve(session, project, (recipient.name,), approve, self.window())

    def _end(self) -> None:
        done = self._job is not None and self._job.ending is Ending.DONE
        self._job = None
        self.progress.show_job(None)
        if done:
            self._session.ledger_changed.emit()
        self.changed.emit()


def _looked_at(
    project: ProjectFile | None,
    source: BatchedTable,
    left: RecordLosses | None,
    counting: Callable[..., CountPreview],
    context: Context,
) -> CountPreview:
    """Return what would be released, beside what left before, which is found out once."""
    if left is None and project is not None and project.tampering is None:
        left = losses_by_records(project, source, Part(context, 0.0, 0.5))
    return counting(left=left or RecordLosses(), context=Part(context, 0.5, 1.0))
