"""The Policy panel: for each sensitive attribute a mechanism, for each recipient a level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QWidget

from sfumato.analysis.steps import Step, stale_entries
from sfumato.analysis.utility.mechanism_choice import (
    MechanismChoice,
    compare_mechanisms,
    statements_like,
)
from sfumato.analysis.utility.worth import ColumnWorth, columns_worth
from sfumato.analysis.utility.worth_figures import RecordsBehind, records_behind
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.mechanisms import mechanism_called, recommended
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import ENGLISH
from sfumato.project.document import recipients
from sfumato.project.document.edits import state_level, with_entry, without_entry
from sfumato.project.document.entry_plan import unit_refusal
from sfumato.project.document.members import with_members
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.byproducts import weight_column
from sfumato.project.release.table_survey import Survey, first_settings
from sfumato.project.release.views import quasi_identifiers
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import spoken, statement_text
from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.policy import PANEL, edits
from sfumato.ui.panels.policy.board.page import BoardDrawer, BoardPage
from sfumato.ui.panels.policy.entry_page import (
    ChosenRecipient,
    EntryPage,
    candidates_for,
    levels_of,
    suitable,
)
from sfumato.ui.panels.policy.generalized.page import BOARD, Ways
from sfumato.ui.panels.policy.lists import (
    EntryList,
    Misfit,
    Unprotected,
    items_of,
    nothing_sensitive,
    standings_of,
)
from sfumato.ui.panels.policy.mechanisms.base import of_unit
from sfumato.ui.panels.policy.views_card import ViewsCard
from sfumato.ui.panels.policy.whole_plan import PlanProposer
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.insights import ROWS_AT_ONCE, SurveyedTable
from sfumato.ui.widgets.fields import SliderField
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, boxed, row
from sfumato.ui.widgets.messages import Action, MessageKind, error_texts, error_words
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import Pages

LOWERED: Final = "lowered by settings"
JOB: Final = "first settings"
VALUES_AT_ONCE: Final = 2_000
"""Up to this many values the settings that a mechanism begins with are found in milliseconds."""


def _is_quick(attribute: Attribute, table: SurveyedTable | None, mechanism: str) -> bool:
    if mechanism_called(mechanism).needs_groups and not (table is None or table.answers_at_once):
        return False
    if attribute.numbers is not None:
        return len(attribute.numbers) <= ROWS_AT_ONCE
    return attribute.domain is None or len(attribute.domain.values) <= VALUES_AT_ONCE


def _first_settings(
    document: Document,
    source: Survey | None,
    attributes: tuple[Attribute, ...],
    mechanism: str,
    noise: KeyedNoise,
    context: Context,
) -> Settings:
    context.report(0.1, "Finding what the protection begins with")
    return first_settings(document, source, attributes, mechanism, noise, Part(context, 0.1, 1.0))


class PolicyPanel(Panel):
    """Chooses mechanisms, recipients and levels; every change is one undoable edit."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self._key = self._column = ""
        self._covered: frozenset[str] = frozenset()
        self._recipient = ""
        self._behind: tuple[object, RecordsBehind] | None = None
        self._compared: tuple[Attribute, object, MechanismChoice] | None = None
        self.pages = Pages(self)
        self.board = BoardPage(session, self)
        self.drawer = BoardDrawer(session, self.board, self.pages, self)
        self.ways = Ways(session, self.drawer, self)
        self.plan = PlanProposer(session, self)
        self.add_to_head(self.plan.button)
        self.add_to_head(self.ways.segments)
        self.body.addWidget(self.ways, 1)
        self._build_pages()
        yield
        yield from self.board.steps
        self.board.show_drawer(self.drawer.is_open)
        yield
        self.page = EntryPage(session, self._scroll.widget())
        self._scroll.column.addWidget(self.page)
        yield
        self.views = ViewsCard(session, self._scroll.widget())
        self._scroll.column.addWidget(self.views)
        yield
        yield from self.ways.page.steps
        self._connect()
        yield
        self._refresh()

    def _build_pages(self) -> None:
        go = partial(self.session.panel_requested.emit, "attributes")
        self.nothing = nothing_sensitive(go, self)
        self.unprotected = Unprotected(self)
        self.waiting = EmptyState("clock", "", tr("The table is large; this takes a moment."))
        self.misfit = Misfit(self)
        self.list = EntryList(self)
        self.content = Pages(self)
        self._work = boxed(row(self.list, (self.content, 1), spacing=Space.BETWEEN), self)
        self.pages.add(self.nothing, self._work)
        self._scroll = ScrollPage(self.content)
        self.content.add(self._scroll, self.unprotected, self.waiting, self.misfit)

    def _connect(self) -> None:
        session = self.session
        refresh = self.in_sight(self._refresh)
        self.follow_state(session, self._refresh)
        session.attribute_changed.connect(refresh)
        self.misfit.attributes_asked.connect(partial(session.panel_requested.emit, "attributes"))
        self.unprotected.mechanism_chosen.connect(self._choose_mechanism)
        self.misfit.removal_asked.connect(self._remove_entry)
        self.list.entry_chosen.connect(self._choose_entry)
        self.ways.changed.connect(refresh)
        self.ways.changed.connect(self.state_changed)
        self.drawer.turned.connect(self._turned)
        self.ways.page.told.connect(self.messages.show_message)
        self.plan.told.connect(self.messages.show_message)
        self.board.told.connect(self.messages.show_message)
        self.board.opened.connect(self._open_settings)
        self.board.walked.connect(self._walk)
        self.board.closed.connect(self._close_settings)
        self.board.plan_asked.connect(self.plan.propose)
        self.board.add.clicked.connect(self._add_recipient)
        page = self.page
        page.mechanism_chosen.connect(self._choose_mechanism)
        page.together.members_chosen.connect(self._choose_members)
        page.remove.clicked.connect(self._remove_entry)
        page.stated.connect(self._state)
        page.finished.connect(session.end_merge)
        page.for_all.clicked.connect(self._state_for_all)
        page.settings_stated.connect(self._set_settings)
        page.level_asked.connect(self._give_level)
        page.ladder.chosen.connect(self._choose_recipient)
        page.ladder.dragged.connect(self._drag)
        page.ladder.drag_finished.connect(session.end_merge)
        page.ladder.asked.connect(self._type_level)
        card = page.recipients
        card.table.chosen.connect(self._choose_recipient)
        # Queued: the table must have closed its editor before its rows change.
        card.renamed.connect(self._rename, Qt.ConnectionType.QueuedConnection)
        card.add_typical.clicked.connect(self._add_typical)
        card.remove_asked.connect(self._remove_recipient)
        card.move_asked.connect(self._move)

    # ----- what is shown

    def step(self) -> Step:
        """Return how far the policy is, or the generalized table that takes its place."""
        if self.ways.instead:
            return Step(self.ways.page.state(), "")
        return super().step()

    def activate(self) -> None:
        """Fill the board of a table that was just opened."""
        if self.ways.perturbing:
            self.plan.fill()

    def _empty_entries(self) -> frozenset[str]:
        """Return the entries, by their keys, that promise a recipient nothing."""
        document, found = self.session.document, set()
        for entry in document.policy if self.session.source is not None else ():
            attributes = self._attributes_of(entry)
            if attributes is not None and edits.misfit(entry, attributes) is None:
                standings = standings_of(document.recipients, entry, attributes)
                found |= {entry.key} if any(each.empty for each in standings) else set()
        return frozenset(found)

    def _refresh(self, _changed: object = None) -> None:
        document = self.session.document
        if self.drawer.allow(self.session.surveyed is not None):
            self.board.show_drawer(self.drawer.is_open)
        refused = {e.key for e in document.policy if unit_refusal(document, e) is not None}
        items = items_of(document, self._empty_entries(), refused)
        # A quasi-identifier has levels where nothing in the table is sensitive, too.
        levels = self._column in quasi_identifiers(document)
        self.pages.setCurrentWidget(self._work if items or levels else self.nothing)
        for widget in (self.list, self.page):
            widget.setVisible(bool(items) or not levels)
        if not items:
            self.content.setCurrentWidget(self._scroll)
        else:
            keys = [item.key for item in items]
            if self._key not in keys:
                self._key = self._successor(keys)
            entry = self._entry()
            self._covered = frozenset((self._key,) if entry is None else entry.attributes)
            if self.drawer.is_open:  # else nobody sees them, and the board answers sooner
                self.list.show_items(items, self._key)
                self._show_entry(document)
        if self.drawer.is_open:
            self.views.refresh()
        self.plan.refresh(self.ways.perturbing)

    def _successor(self, keys: list[str]) -> str:
        """Return the entry that covers most of what was in sight, or else the first."""
        shared = {
            entry.key: len(self._covered & set(entry.attributes))
            for entry in self.session.document.policy
        }
        shared |= {key: 1 for key in keys if key in self._covered}
        return max(keys, key=lambda key: shared.get(key, 0))

    def _show_entry(self, document: Document) -> None:
        entry = self._entry()
        name = self._key if entry is None else entry.attributes[0]
        names = (name,) if entry is None else entry.attributes
        error = next(filter(None, map(self.session.attribute_error, names)), None)
        if entry is not None and entry in stale_entries(document):
            self.misfit.show_stale(entry.key)
            self.content.setCurrentWidget(self.misfit)
        elif error is not None:
            self.misfit.show_problem(name, *error_texts(error))
            self.content.setCurrentWidget(self.misfit)
        elif any(self.session.attribute(each) is None for each in names):
            self.waiting.heading.setText(tr("Reading {name}", name=self._key))
            self.content.setCurrentWidget(self.waiting)
        elif entry is None:
            suited = self._suitable(name)
            self.unprotected.show_attribute(name, suited, self._choice(name))
            self.page.prepare([mechanism for mechanism, _ in suited])
            self.content.setCurrentWidget(self.unprotected)
        elif (attributes := self._attributes_of(entry)) is not None:
            unfit = edits.misfit(entry, attributes)
            if unfit is not None:
                self.misfit.show_unfit(entry.key, *error_texts(unfit))
                self.content.setCurrentWidget(self.misfit)
            else:
                self._show_controls(document, entry, attributes)

    def _suitable(self, attribute: str) -> tuple[tuple[str, str], ...]:
        encoded = self.session.attribute(attribute)
        return suitable((encoded.attribute,)) if encoded is not None else ()

    def _choice(self, name: str) -> MechanismChoice | None:
        """Return what each mechanism would be worth for an attribute, and which is recommended."""
        known = self.session.attribute(name)
        if known is None:
            return None
        document = self.session.document
        attribute, recipe = known.attribute, document.hierarchies.get(name)
        behind = self._records_behind(document)
        asked = (document.policy, document.recipients, document.unit, recipe, behind)
        before = self._compared
        if before is None or before[0] is not attribute or before[1] != asked:
            chosen = (replace(attribute, hierarchy=recipe),)
            if behind is None:
                choice = MechanismChoice((name,), "", 0.0, False, fallback=recommended(chosen))
            else:
                recipient = next(iter(document.recipients), None)
                known_all, noise = self._sensitive(), self.session.noise
                choice = compare_mechanisms(document, chosen, recipient, behind, noise, known_all)
            before = self._compared = (attribute, asked, choice)
        return before[2]

    def _show_controls(
        self, document: Document, entry: PolicyEntry, attributes: tuple[Attribute, ...]
    ) -> None:
        names = [recipient.name for recipient in document.recipients]
        if self._recipient not in names:
            self._recipient = names[0] if names else ""
        standings = standings_of(document.recipients, entry, attributes)
        self.page.show_entry(entry, attributes, candidates_for(entry, self._sensitive()))
        self.page.show_recipients(standings, self._recipient)
        refusal = unit_refusal(document, entry)
        self.page.refused.warn("" if refusal is None else error_words(refusal))
        chosen = None
        if self._recipient:
            recipient = document.recipient(self._recipient)
            empty = next(each.empty for each in standings if each.name == self._recipient)
            stated = recipient.statements.get(entry.key)
            chosen = ChosenRecipient(
                recipient.name,
                stated,
                recipient.note,
                empty,
                recipient.language or ENGLISH,
                of_unit(document, entry, attributes, recipient),
                self._worth(document, entry, attributes, recipient),
            )
        self.page.show_level(entry, attributes, chosen)
        several = len(document.policy) > 1
        self.page.for_all.setVisible(
            several and chosen is not None and chosen.statement is not None
        )
        self.content.setCurrentWidget(self._scroll)

    def _worth(
        self,
        document: Document,
        entry: PolicyEntry,
        attributes: tuple[Attribute, ...],
        recipient: Recipient,
    ) -> tuple[ColumnWorth, ...]:
        """Return what the entry's columns are worth to a recipient, quickly: nothing is tried."""
        behind = self._records_behind(document)
        if behind is None:
            return ()
        alone = replace(document, policy=(entry,))
        known = {attribute.name: attribute for attribute in attributes}
        return columns_worth(alone, recipient, known, behind, helping=False)[0]

    def _records_behind(self, document: Document) -> RecordsBehind | None:
        """Return how many records stand behind estimates; None where the rows don't tell."""
        session, weight = self.session, weight_column(document)
        surveyed, table = session.surveyed, session.at_hand
        if surveyed is None or table is None:
            return None
        if surveyed.is_sampled:
            alone = document.unit is None and weight is None
            return RecordsBehind.of_rows(surveyed.rows) if alone else None
        asked = (table, document.unit, weight)
        if self._behind is None or self._behind[0] != asked:
            try:
                self._behind = asked, records_behind(document, table)
            except SfumatoError:
                return None
        return self._behind[1]

    def _entry(self) -> PolicyEntry | None:
        """Return the entry in sight; None where nothing protects the attribute."""
        return next((e for e in self.session.document.policy if e.key == self._key), None)

    def _attributes_of(self, entry: PolicyEntry) -> tuple[Attribute, ...] | None:
        known = tuple(self.session.attributes(entry.attributes).values())
        return known if len(known) == len(entry.attributes) else None

    def _sensitive(self) -> dict[str, Attribute]:
        """Return every sensitive attribute that is known, in the table's order."""
        return self.session.attributes(column.name for column in self.session.document.sensitive)

    # ----- what the person does

    def _open_settings(self, name: str, recipient: str) -> None:
        """Show all settings of a column of the board, for a recipient."""
        known = {column.name: column.role for column in self.session.document.columns}
        if known.get(name) not in (Role.SENSITIVE, Role.QUASI_IDENTIFIER):
            self.session.place_requested.emit("attributes", name, "")
            return
        self.go_to(name, recipient)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Close the drawer on Escape, and go back to the board, whose cell has kept its place."""
        shown = self.ways.perturbing and self.drawer.is_open
        if event.key() == Qt.Key.Key_Escape and shown:
            self._close_settings()
            return
        super().keyPressEvent(event)

    def _close_settings(self) -> None:
        self.drawer.turn(False)
        self.board.view.setFocus()

    def _turned(self) -> None:
        """Show in the drawer what has changed while it was closed."""
        self.board.show_drawer(self.drawer.is_open)
        self._refresh()

    def _walk(self, name: str, recipient: str) -> None:
        """Follow the person from cell to cell, where the drawer is open."""
        if not self.drawer.is_open or not self.isVisible():
            return
        self.show_changed(name, recipient)
        if self.session.document.column(name).role is Role.QUASI_IDENTIFIER:
            self._scroll.bring_top(self.views)
        elif self.session.document.column(name).role is Role.SENSITIVE:
            self._scroll.bring_top(self.page.level_card)

    def choose(self, key: str) -> None:
        """Bring an entry into sight, by its key, or an attribute that nothing protects."""
        self._key = key
        self._refresh()

    def go_to(self, name: str, recipient: str) -> None:
        """Choose what protects an attribute, or a recipient's view of a quasi-identifier."""
        entries = self.session.document.policy
        protected = any(name in (each.key, *each.attributes) for each in entries)
        self.open_settings()
        self.show_changed(name, recipient)
        if not protected and self.views.go_to(name, recipient):
            self.scroll_to(self.views)
            return
        first = self.unprotected.first
        if first.isVisible():
            first.setFocus()
            return
        self.page.recipients.table.setFocus()
        self._scroll.bring_top(self.page.level_card)

    def open_settings(self) -> None:
        """Bring the drawer with all settings into sight."""
        self.ways.show_way(BOARD)
        self.drawer.turn(True)

    def show_changed(self, name: str, recipient: str) -> None:
        """Choose the attribute and the recipient whose protection was changed."""
        document = self.session.document
        if recipient in [each.name for each in document.recipients]:
            self._recipient = recipient
        self._column = name
        self.board.choose(name, recipient)
        entry = next((e for e in document.policy if name in (e.key, *e.attributes)), None)
        self.choose(self._key if entry is None else entry.key)

    def _choose_entry(self, key: str) -> None:
        self.choose(key)
        self._mark_cell()

    def _choose_recipient(self, name: str) -> None:
        self._recipient = name
        self.session.end_merge()
        self._refresh()
        self._mark_cell()

    def _mark_cell(self) -> None:
        """Make the cell of what the drawer shows the board's current one."""
        entry = self._entry()
        self.board.choose(self._key if entry is None else entry.attributes[0], self._recipient)

    def _choose_mechanism(self, mechanism: str) -> None:
        """Protect by what a mechanism begins with: at once, or by a job where that takes time."""
        entry, known, session = self._entry(), self._sensitive(), self.session
        names = (self._key,) if entry is None else entry.attributes
        if not known.keys() >= set(names):
            return
        recipes = session.document.hierarchies
        attributes = tuple(replace(known[name], hierarchy=recipes.get(name)) for name in names)
        text = tr("Protect {name}", name=" + ".join(names))
        protect = partial(self._protect, text, session.document, attributes, mechanism)
        source = session.survey
        begin = partial(_first_settings, session.document, source, attributes, mechanism)
        work = partial(begin, session.noise)
        if not all(_is_quick(each, session.surveyed, mechanism) for each in attributes):
            title = tr("Working out the protection of {name}", name=" + ".join(names))
            taken = session.unless_changed(text, protect)
            job = session.runner.run(title, work, taken, self._refuse, key=JOB)
            self.waiting.heading.setText(title)
            self.content.setCurrentWidget(self.waiting)
            job.finished.connect(self._stop_waiting)
            return
        session.runner.cancel(JOB)
        try:
            settings = work(Silent())
        except SfumatoError as error:
            self._refuse(error)
        else:
            protect(settings)

    def _stop_waiting(self) -> None:
        """Show what is in force, once nothing is worked out that would replace it."""
        if not any(job.key == JOB for job in self.session.runner.jobs):
            self._refresh()

    def _protect(
        self,
        text: str,
        before: Document,
        attributes: Sequence[Attribute],
        mechanism: str,
        settings: Settings,
    ) -> None:
        """Protect attributes by what was found for them."""
        levels: dict[str, Statement] = {}
        choice = None if self._compared is None else self._compared[2]
        if choice is not None and choice.columns == tuple(one.name for one in attributes):
            option, known = choice.option(mechanism), self._sensitive()
            if option is not None and before.entry_for(attributes[0].name) is None:
                levels = statements_like(before, attributes, option, known)
        document = with_entry(before, attributes, mechanism, settings, levels)
        self.session.edit(text, document)
        self.page.mechanism.setFocus()  # else the next field gets it, and the page follows
        self.scroll_to(self.page.mechanism)

    def _refuse(self, error: SfumatoError) -> None:
        self.show_error(error, topic="mechanism")
        self._refresh()

    def _choose_members(self, members: object) -> None:
        """Let the entry in sight cover other attributes."""
        entry = self._entry()
        if entry is None or not isinstance(members, tuple) or not members:
            return
        try:
            document = with_members(
                self.session.document, entry.key, members, self._sensitive(), self.session.noise
            )
        except SfumatoError as error:
            self.show_error(error, topic="members")
            self._refresh()
            return
        kept = set(members) & set(entry.attributes) or set(members)
        self._key = next(e.key for e in document.policy if kept <= set(e.attributes))
        joined = set(members) > set(entry.attributes)
        together = tr("Protect {name} together", name=self._key)
        self.session.edit(together if joined else tr("Split {name}", name=entry.key), document)

    def _remove_entry(self) -> None:
        key = self._key
        document = without_entry(self.session.document, key)
        self.session.edit(tr("Remove the protection of {name}", name=key), document)

    def _state(self, statement: Statement) -> None:
        """Take a level of the chosen recipient over; a drag is one edit."""
        self.state_level(self._recipient, self._key, statement)

    def state_level(self, recipient: str, key: str, statement: Statement) -> None:
        """State a recipient's level for an entry; statements in a row are one edit."""
        self.session.edit(
            tr("Change the trust in {name}", name=recipient),
            recipients.with_statement(self.session.document, recipient, key, statement),
            merge_key=("level", recipient, key),
        )

    def _state_for_all(self) -> None:
        """Give the chosen recipient the trust in sight for every attribute."""
        document, name = self.session.document, self._recipient
        statement = document.recipient(name).statements.get(self._key)
        known = self._sensitive()
        attributes = {each for entry in document.policy for each in entry.attributes}
        if statement is None or not attributes <= known.keys():
            self.tell(MessageKind.INFO, tr("The attributes are still being read."), topic="trust")
            return
        keys = sorted((entry.key for entry in document.policy), key=lambda key: key != self._key)
        try:
            stated = state_level(document, name, statement, known, keys)
        except SfumatoError as error:
            self.show_error(error, topic="trust")
            return
        self.session.edit(tr("Trust {name} alike in everything", name=name), stated.document)
        for key, refusal in stated.refused.items():
            what, remedy = error_texts(refusal)
            words = tr("{entry} keeps its level: {reason}", entry=key, reason=what)
            self.tell(MessageKind.CAUTION, words, remedy, topic=f"trust {key}")

    def scroll_to(self, widget: QWidget) -> None:
        """Bring a part of the page into sight."""
        self._scroll.bring(widget)

    def _set_settings(self, key: str, settings: Settings) -> None:
        """Take settings over, and lower the recipients whose level they no longer allow.

        Settings and levels are one edit, so that undo brings both back; so is a drag.
        """
        editor, session = self.page.settings, self.session
        entry = next(each for each in session.document.policy if each.key == key)
        document = edits.with_settings(session.document, entry.key, settings)
        lowered: dict[str, Statement] = {}
        for recipient in document.recipients:
            stated = recipient.statements.get(entry.key)
            if stated is None or editor is None:
                continue
            fitted = editor.fitted(stated, settings)
            if fitted != stated:
                lowered[recipient.name] = fitted
                document = recipients.with_statement(document, recipient.name, entry.key, fitted)
        title = tr("Change the protection of {name}", name=entry.key)
        session.edit(title, document, merge_key=("settings", entry.key))
        if lowered:
            self._tell_lowered(entry, lowered)
        else:
            self.messages.clear(LOWERED)

    def _tell_lowered(self, entry: PolicyEntry, lowered: dict[str, Statement]) -> None:
        *others, last = lowered
        mechanism = mechanism_called(entry.mechanism)
        details = {
            "names": f"{', '.join(others)} {tr('and')} {last}" if others else last,
            "level": statement_text(mechanism, next(iter(lowered.values()))),
            "entry": entry.key,
        }
        one = tr("{names} was lowered to {level}, the highest level {entry} now allows.", **details)
        many = tr(
            "{names} were lowered to {level}, the highest level {entry} now allows.", **details
        )
        self.tell(
            MessageKind.INFO,
            many if others else one,
            tr("No recipient can learn more than the most trusted release reveals."),
            Action(tr("Undo"), self.session.undo, undoes=True),
            topic=LOWERED,
        )

    def _drag(self, name: str, trust: float) -> None:
        editor, document = self.page.editor, self.session.document
        statement = document.recipient(name).statements.get(self._key)
        if editor is None or statement is None:
            return
        moved = editor.statement_at(trust, statement)
        if moved is not None:
            self.state_level(name, self._key, moved)

    def _type_level(self) -> None:
        """Go to the first field that the chosen level is typed into."""
        fields = self.page.editor.fields if self.page.editor is not None else {}
        for field in fields.values():
            typed = field.field if isinstance(field, SliderField) else field
            typed.setFocus(Qt.FocusReason.ShortcutFocusReason)
            self.scroll_to(self.page.level_card)
            return

    def _give_level(self) -> None:
        entry = self._entry()
        if entry is not None:
            self._state(levels_of(entry)[-1].statement)
            self.session.end_merge()

    def _add_recipient(self) -> None:
        name = recipients.free_name(before := self.session.document, tr("New recipient"))
        levels = {entry.key: levels_of(entry)[-1].statement for entry in before.policy}
        try:
            document = recipients.with_recipient(before, name, levels)
        except SfumatoError as error:
            self.show_error(error, topic="recipients")
            return
        self._recipient = name
        self.session.edit(tr("Add a recipient"), document)
        self.open_settings()
        self.scroll_to(self.page.recipients)
        self.page.recipients.table.edit_name(name)

    def _add_typical(self) -> None:
        """Add a recipient for each of the levels that are named in plain words."""
        entry, document = self._entry(), self.session.document
        if entry is None:
            return
        for place, level in enumerate(levels_of(entry)):
            levels = {e.key: levels_of(e)[place].statement for e in document.policy}
            document = recipients.with_recipient(
                document, recipients.free_name(document, level.name), levels
            )
        self._recipient = document.recipients[0].name
        self.session.edit(tr("Add three recipients"), document)

    def _rename(self, recipient: str, name: str) -> None:
        try:
            document = recipients.renamed(self.session.document, recipient, name)
        except SfumatoError as error:
            self.page.recipients.show_problem(spoken(error.sentence))
            return
        self._recipient = name
        self.session.edit(tr("Rename {old} to {new}", old=recipient, new=name), document)

    def _remove_recipient(self) -> None:
        name = self._recipient
        self.session.edit(
            tr("Remove {name}", name=name),
            recipients.without_recipient(self.session.document, name),
        )
        self.tell(
            MessageKind.INFO,
            tr("{name} was removed.", name=name),
            tr("Releases made for them stay in the ledger."),
            Action(tr("Undo"), self.session.undo, undoes=True),
            topic="removed",
        )

    def _move(self, by: int) -> None:
        words = tr("Move {name}", name=self._recipient)
        self.session.edit(words, recipients.moved(self.session.document, self._recipient, by))
