"""The Preview panel: the releases as they would be, before anything leaves the house."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QTabWidget, QWidget

from sfumato.analysis.previews.previewed_numbers import NumberPreview, compute_numbers
from sfumato.analysis.previews.previewed_values import (
    EntryPreview,
    PreviewQuestion,
    compute_preview,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_in
from sfumato.formats.language import grouped
from sfumato.jobs import Ending, Job
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.base import Panel, catch_up
from sfumato.ui.panels.preview import PANEL
from sfumato.ui.panels.preview.number_pages import (
    DistributionPage,
    EstimatesPage,
    NumberRecordPage,
    NumberSamplePage,
    ScatterPage,
)
from sfumato.ui.panels.preview.pages import MatrixPage, PosteriorPage, SamplePage, UtilityPage
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import Badge, EmptyState, button, column, fill, label, row, say
from sfumato.ui.widgets.messages import error_texts
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import Pages

JOB: Final = "preview"
QUICK_ROWS: Final = 200_000
"""Tables up to this size are previewed in a blink: what is in sight stays until then."""


class PreviewPanel(Panel):
    """Shows what recipients would see, how a value would change beliefs, and the utility."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self._preview: EntryPreview | NumberPreview | None = None
        self._error: SfumatoError | None = None
        self._shown: tuple[object, ...] | None = None
        self._seen: Document | None = None
        self.pages = Pages(self)
        self.body.addWidget(self.pages, 1)
        go, words = partial(session.panel_requested.emit, "policy"), self.tr("Go to Policy")
        self.empty = EmptyState(
            "preview",
            self.tr("There is nothing to preview yet"),
            self.tr(
                "Open a table, mark what is sensitive, choose its protection and add a recipient:"
                " then you see here what they would get."
            ),
            offer=button(words, go, "primary"),
        )
        what = self.tr("This can't be previewed yet")
        self.problem = EmptyState("danger", what, offer=button(words, go))
        self.waiting = EmptyState("clock", "", self.tr("This takes a moment for a large table."))
        self.work = QWidget(self.pages)
        self.pages.add(self.empty, self.problem, self.waiting, self.work)
        yield
        yield from self._build_work()
        session.follow(self.in_sight(self._refresh))
        self._refresh()

    def _build_work(self) -> Steps:
        self.attribute = ChoiceField(parent=self)
        self.recipient = ChoiceField(parent=self)
        line = row()
        for words, field in (
            (self.tr("&Attribute"), self.attribute),
            (self.tr("Reci&pient"), self.recipient),
        ):
            name = label(words, "muted")
            name.setBuddy(field)
            field.setAccessibleName(words.replace("&", ""))
            field.setMinimumWidth(scaled(160))
            field.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
            field.chosen.connect(self._refresh)
            fill(line, name, field, Space.INSIDE)
        line.addStretch(1)
        self.working = Badge("clock", "muted", self.tr("Working…"))
        self.working.hide()
        line.addWidget(self.working)
        lines = column(line)
        self.work.setLayout(lines)
        self.part = label("", "muted", wrap=True)
        lines.addWidget(self.part)
        self.tabs = QTabWidget(self.work)
        self.tabs.setDocumentMode(True)
        self.tabs.tabBar().setDrawBase(False)
        lines.addWidget(self.tabs, 1)
        yield
        # The pages for categories and those for numbers; an entry has either.
        self.sample = SamplePage(self)
        self.matrix = MatrixPage(self.session, self)
        self.posterior = PosteriorPage(self.session, self)
        self.utility = UtilityPage(self.session, self)
        yield
        self.numbers = NumberSamplePage(self)
        self.distribution = DistributionPage(self.session)
        self.scatter = ScatterPage(self.session)
        self.record = NumberRecordPage(self.session)
        self.estimates = EstimatesPage(self.session)
        for page, title in (
            (self.sample, self.tr("Before and after")),
            (self.matrix, self.tr("What becomes of a value")),
            (self.posterior, self.tr("What a value tells")),
            (self.utility, self.tr("Usefulness")),
            (self.numbers, self.tr("Before and after")),
            (self.distribution, self.tr("Distribution")),
            (self.scatter, self.tr("Dependence")),
            (self.record, self.tr("What it tells")),
            (self.estimates, self.tr("Usefulness")),
        ):
            self.tabs.addTab(page, title)
            yield

    # ----- what there is

    def showEvent(self, event: QShowEvent) -> None:
        """Compute what the present settings lead to, now that somebody looks."""
        super().showEvent(event)
        catch_up(self._refresh)

    def _entries(self) -> dict[str, PolicyEntry]:
        """Return the entries that can be previewed: sensitive, with at least one level."""
        document = self.session.document
        sensitive = {column.name for column in document.sensitive}
        return {
            entry.key: entry
            for entry in document.policy
            if sensitive.issuperset(entry.attributes)
            and any(entry.key in recipient.statements for recipient in document.recipients)
        }

    def _refresh(self, _changed: object = None) -> None:
        entries = self._entries()
        if not entries or self.session.at_hand is None:
            self.session.runner.cancel(JOB)
            self._error = None
            self.pages.setCurrentWidget(self.empty)
        else:
            self.attribute.set_choices([(key, key) for key in entries])
            self._offer_recipients(entries[str(self.attribute.value)])
            if self.isVisible():
                self._compute(entries[str(self.attribute.value)])

    def _offer_recipients(self, entry: PolicyEntry) -> None:
        names = [r.name for r in self.session.document.recipients if entry.key in r.statements]
        self.recipient.set_choices([(name, name) for name in names])

    def _compute(self, entry: PolicyEntry) -> None:
        """Start the job, unless what it would compute is in sight already."""
        session, recipient = self.session, str(self.recipient.value)
        errors = list(filter(None, map(session.attribute_error, entry.attributes)))
        columns = {name: session.attribute(name) for name in entry.attributes}
        if errors:
            self._fail(errors[0])
            return
        known = {name: column for name, column in columns.items() if column is not None}
        held = session.surveyed
        if len(known) < len(columns) or held is None:
            self.show_waiting(entry.key)
            return
        wanted = (session.document, entry.key, recipient, session.project)
        if wanted == self._shown and self._error is None:
            return
        place = session.project_path
        folder = place.parent if place is not None else None
        table, places = held.sample, None if held.table.fits else held.survey.places
        question = PreviewQuestion(
            session.document, table, session.keys, entry, known, recipient, folder, places
        )
        self._shown = wanted
        if self._preview is None or table.rows > QUICK_ROWS:
            self.show_waiting(recipient)
        self.working.show()
        job = session.runner.run(
            self.tr("Previewing {name}").format(name=recipient),
            partial(_computed, question, held.table),
            partial(self._show, question, session.project is not None),
            self._fail,
            key=JOB,
        )
        job.finished.connect(partial(self._give_up, job))

    # ----- what is shown

    def show_waiting(self, name: str) -> None:
        """Say that a view is being worked out."""
        self.waiting.heading.setText(self.tr("Working out what {name} shows").format(name=name))
        self.pages.setCurrentWidget(self.waiting)

    def _give_up(self, job: Job) -> None:
        """Leave the waiting page where the work failed; a dialog tells the rest."""
        if job.ending is Ending.BUG:
            self._fail(
                SfumatoError("The preview failed.", "Change the policy, or report the failure.")
            )

    def _fail(self, error: SfumatoError) -> None:
        self._error, self._shown = error, None
        self.problem.text.setText("\n".join(error_texts(error)))
        self.working.hide()
        self.pages.setCurrentWidget(self.problem)

    def _show(
        self, question: PreviewQuestion, final: bool, preview: EntryPreview | NumberPreview
    ) -> None:
        self._preview, self._error = preview, None
        self.working.hide()
        words = self.tr(
            "The table is read in parts: what is shown of rows, and how useful they are, is"
            " shown of {some} of {rows} {rows:row|rows}. Intervals from all rows are narrower."
        )
        source = self.session.source
        rows = 0 if source is None else source.rows
        words = words.format(some=grouped(question.table.rows), rows=grouped(rows))
        say(self.part, "" if question.places is None else words)
        if isinstance(preview, NumberPreview):
            shown = self._show_numbers(question, final, preview)
        else:
            shown = self._show_categories(question, final, preview)
        self._offer_pages(shown)
        self.pages.setCurrentWidget(self.work)

    def _offer_pages(self, shown: tuple[QWidget, ...]) -> None:
        """Show these pages and no others; of another kind, the page with the same title."""
        title = self.tabs.tabText(self.tabs.currentIndex())
        places = [self.tabs.indexOf(page) for page in shown]
        # Never more than one tab too many: a row that is too long scrolls, and stays scrolled.
        for place in range(self.tabs.count()):
            if place != self.tabs.currentIndex():
                self.tabs.setTabVisible(place, place in places)
        if self.tabs.currentIndex() not in places:
            alike = (place for place in places if self.tabs.tabText(place) == title)
            before = self.tabs.currentIndex()
            self.tabs.setCurrentIndex(next(alike, places[0]))
            self.tabs.setTabVisible(before, False)
        self.tabs.setTabVisible(self.tabs.currentIndex(), True)

    def _show_categories(
        self, question: PreviewQuestion, final: bool, preview: EntryPreview
    ) -> tuple[QWidget, ...]:
        """Fill the pages for categories and return those that have something to show."""
        self.sample.show_sample(preview.sample, question.recipient, final=final)
        self.utility.show_preview(preview, question)
        if preview.matrix is None and preview.utility is not None:
            return self.sample, self.utility
        if preview.matrix is None:
            return (self.sample,)
        self.matrix.show_matrix(preview.matrix, preview.domain.names, question.recipient)
        self.posterior.show_preview(preview)
        return self.sample, self.matrix, self.posterior, self.utility

    def _show_numbers(
        self, question: PreviewQuestion, final: bool, preview: NumberPreview
    ) -> tuple[QWidget, ...]:
        """Fill the pages for numbers and return those that have something to show."""
        self.numbers.show_preview(preview, question.recipient, final=final)
        self.distribution.show_preview(preview)
        self.scatter.show_preview(preview)
        self.record.show_preview(preview)
        self.estimates.show_preview(preview)
        known = any(seen.noise is not None for seen in preview.sample.seen)
        offered = (
            (self.numbers, True),
            (self.distribution, True),
            (self.scatter, bool(preview.scatters)),
            (self.record, known),
            (self.estimates, preview.estimates is not None),
        )
        return tuple(page for page, offers in offered if offers)


def _computed(
    question: PreviewQuestion, table: BatchedTable, context: Context
) -> EntryPreview | NumberPreview:
    """Compute the preview that fits the entry's attributes."""
    places = question.places
    if places is not None and question.document.unit is not None:
        part, context = Part(context, 0.0, 0.7), Part(context, 0.7, 1.0)
        left = leaving_rows(table, question.document, question.keys, part)
        assert left.units is not None
        chosen = left.units.leave(places)
        question = replace(question, leaving=np.flatnonzero(chosen))
    if places is not None and adopted_in(question.entry.settings):
        question = question.with_rungs_of(table, Part(context, 0.0, 0.7))
        context = Part(context, 0.7, 1.0)
    if places is not None and mechanism_called(question.entry.mechanism).needs_groups:
        question = question.with_groups_of(table, Part(context, 0.0, 0.7))
        context = Part(context, 0.7, 1.0)
    if all(attribute.domain is None for attribute in question.attributes):
        return compute_numbers(question, context)
    return compute_preview(question, context)
