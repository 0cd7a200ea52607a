"""The Attributes panel: roles, kinds, domains and bins, and what records are known by."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import numpy as np
import numpy.typing as npt
import pandas as pd
from PySide6.QtCore import QItemSelectionModel, QPoint, Qt
from PySide6.QtWidgets import QMenu, QWidget

from sfumato.analysis.findings import endangering, released_relations
from sfumato.engine.core.columns import (
    Binning,
    Coding,
    ColumnSpec,
    Domain,
    Kind,
    MissingRule,
    Pseudonym,
    Role,
    beyond,
)
from sfumato.engine.core.errors import DomainError, SfumatoError, TableError
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.table.profile import (
    BinWidths,
    EndsNotNeeded,
    alone_at_ends,
    suggest_binning,
    suggest_ends,
)
from sfumato.engine.table.proposals import alike
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import proposed_domain
from sfumato.formats.language import grouped
from sfumato.project.document import edits
from sfumato.project.document.edits import (
    needs_domain,
    with_coding,
    with_pseudonym,
    with_roles,
)
from sfumato.project.document.model import Document
from sfumato.project.release.byproducts import released_weights
from sfumato.project.release.release_compatibility import domain_held
from sfumato.project.release.table_survey import with_fixed_domains
from sfumato.project.release.units import newly_sensitive, with_once_drawn
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.look.wording import filled_in
from sfumato.ui.panels.attributes import PANEL
from sfumato.ui.panels.attributes.columns import (
    NAME,
    ROLE,
    ROW_HEIGHT,
    ROWS_AT_LEAST,
    ColumnsDelegate,
    ColumnsModel,
    ColumnsTable,
    RecordKeyField,
    UnitCard,
    kind_name,
    kinds_for,
    role_choices,
    role_name,
    tr,
)
from sfumato.ui.panels.attributes.detail import Detail
from sfumato.ui.panels.base import Panel
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, button, column, row
from sfumato.ui.widgets.messages import MessageKind, error_words
from sfumato.ui.widgets.paint_queue import Steps
from sfumato.ui.widgets.responsive import Pages
from sfumato.ui.widgets.tables import TableView


def who_stays(before: Document, after: Document) -> tuple[str, ...]:
    """Say what stays protected of the entries that covered several attributes."""
    found = []
    for entry in before.policy:
        left = [name for name in entry.attributes if after.entry_for(name) is not None]
        gone = [name for name in entry.attributes if name not in left]
        if left and gone:
            words = tr("{left} stays protected without {gone}, at the levels stated before.")
            found.append(filled_in(words, left=" + ".join(left), gone=" + ".join(gone)))
    return tuple(found)


EDIT_KEY = "attributes-edit"
RELATIONS_TOLD = 3


class AttributesPanel(Panel):
    """Says what each column is for; every change is one undoable edit."""

    kind = PANEL

    def assemble(self) -> Steps:
        """Build the panel."""
        session = self.session
        self._provisional = ""
        self.model = ColumnsModel(session, self)
        request = partial(session.panel_requested.emit, "data")
        self.empty = EmptyState(
            "attributes",
            self.tr("There are no columns yet"),
            self.tr("Open a table first. Each of its columns gets a role here."),
            offer=button(self.tr("Go to Data"), request, "primary", "data"),
        )
        self.pages = Pages(self)
        self.body.addWidget(self.pages, 1)
        self.pages.addWidget(self.empty)
        yield
        yield from self._build_work()
        self.next = self.set_primary(self.tr("Set the policy"), "policy")
        self.next.clicked.connect(lambda: session.panel_requested.emit("policy"))
        self._connect()
        yield
        self.refresh()

    # ----- assembly

    def _build_table(self) -> TableView:
        table = ColumnsTable(row_numbers=False, model=self.model, whole_rows=True, edits=True)
        table.setItemDelegate(ColumnsDelegate(table))
        table.verticalHeader().setDefaultSectionSize(scaled(ROW_HEIGHT))
        table.clicked.connect(lambda index: table.edit(index) if index.column() != NAME else None)
        table.setAccessibleName(self.tr("Columns with their roles and kinds"))
        table.setMinimumWidth(scaled(330))
        table.setMinimumHeight(scaled((ROWS_AT_LEAST + 1) * ROW_HEIGHT))
        table.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        table.customContextMenuRequested.connect(self._offer_roles)
        return table

    def _build_work(self) -> Steps:
        work = QWidget(self.pages)
        self.pages.addWidget(work)
        self.table = self._build_table()
        self.record_key = RecordKeyField(self.session)
        self.unit = UnitCard(self.session)
        left = column(self.table, self.record_key, self.unit, spacing=Space.BETWEEN)
        scroll = ScrollPage(work)
        scroll.setMinimumWidth(scaled(250))
        work.setLayout(row((left, 1), (scroll, 1), spacing=Space.BETWEEN))
        yield
        self.detail = Detail(self.session, scroll.widget())
        scroll.put(self.detail, None)
        yield

    def _connect(self) -> None:
        session, detail = self.session, self.detail
        session.document_changed.connect(self.in_sight(self.refresh))
        session.table_changed.connect(self.in_sight(self.refresh))
        session.profiles_changed.connect(self.in_sight(self._take_insight))
        session.attribute_changed.connect(self.in_sight(self._show_detail))
        self.table.selectionModel().selectionChanged.connect(lambda *_: self._show_detail())
        self.model.role_chosen.connect(lambda name, role: self._set_roles([name], role))
        self.model.kind_chosen.connect(self._set_kind)
        detail.role.chosen.connect(lambda role: self._set_roles(self.chosen, role))
        detail.alike.clicked.connect(self._give_alike)
        detail.kind.chosen.connect(lambda kind: self._set_kind(self.chosen[0], kind))
        detail.missing.chosen.connect(self._set_missing)
        detail.bins.suggestion_wanted.connect(self._suggest_bins)
        detail.bins.edges_given.connect(self._set_bins)
        detail.pseudonyms.given.connect(self._set_pseudonym)
        detail.coding.given.connect(self._set_coding)
        detail.coding.ends_wanted.connect(self._propose_ends)
        detail.hierarchy.changed.connect(self._show_detail)
        for part in (detail.hierarchy, self.unit, self.record_key):
            part.refused.connect(self.show_error)
        domain = detail.domain
        domain.added.connect(self._add_value)
        domain.removed.connect(lambda rows: self._change_domain(edits.remove_values, rows))
        domain.moved.connect(lambda row, by: self._change_domain(edits.move_value, row, by))
        domain.sort_asked.connect(lambda: self._change_domain(edits.sorted_domain))
        domain.confirmed.connect(self._confirm)
        domain.labelled.connect(self._label_value)

    # ----- what is shown

    @property
    def chosen(self) -> list[str]:
        """The names of the chosen columns."""
        return [self.model.spec(row).name for row in self.table.chosen_rows()]

    def choose(self, name: str) -> None:
        """Choose a column."""
        row = self.model.row_of(name)
        if row >= 0:
            flags = QItemSelectionModel.SelectionFlag
            self.table.selectionModel().setCurrentIndex(
                self.model.index(row, ROLE), flags.ClearAndSelect | flags.Rows
            )

    def go_to(self, name: str, recipient: str) -> None:
        """Choose a column, in sight and with the focus."""
        del recipient
        self.choose(name)
        self.table.scrollTo(self.table.currentIndex())
        self.table.setFocus()

    def show_changed(self, name: str, recipient: str) -> None:
        """Choose the column that was changed."""
        del recipient
        if name not in self.chosen:
            self.choose(name)

    def refresh(self) -> None:
        """Show the document's columns."""
        self.model.refresh()
        columns = self.session.document.columns
        self.pages.setCurrentIndex(1 if columns else 0)
        self.next.setVisible(bool(columns))
        self.next.setEnabled(bool(self.session.document.sensitive))
        self.record_key.refresh()
        self.unit.refresh()
        if columns and not self.chosen:
            self._choose_first()
        self._show_detail()

    def _choose_first(self) -> None:
        """Choose the first column that may be sensitive, else the first of all."""
        insight, columns = self.session.insight(), self.session.document.columns
        known = insight.proposals if insight is not None else ()
        hinted = [proposal.spec.name for proposal in known if proposal.may_be_sensitive]
        names = [column.name for column in columns]
        self._provisional = names[0] if insight is None else ""
        self.choose(next((name for name in hinted if name in names), names[0]))

    def _take_insight(self) -> None:
        """Show what has become known; begin where it points, unless the person chose already."""
        if self._provisional and self.chosen == [self._provisional]:
            self._choose_first()
        self.record_key.refresh()
        self.unit.refresh()
        self._show_detail()

    def _show_detail(self) -> None:
        names = self.chosen
        document, session = self.session.document, self.session
        self.detail.setEnabled(bool(names))  # what it shows belongs to no chosen column
        if not names:
            return
        if len(names) > 1:
            self.detail.show_several([document.column(name) for name in names])
            return
        spec, table = document.column(names[0]), session.at_hand
        insight = session.insight()
        profile = insight.by_name.get(spec.name) if insight is not None else None
        proposal = insight.proposal_for.get(spec.name) if insight is not None else None
        known = table is not None and spec.name in table.columns
        kinds = kinds_for(table.column(spec.name)) if known and table is not None else (spec.kind,)
        self.detail.show_column(spec, kinds, profile, proposal)
        self.detail.show_alike(spec.role, self._alike(spec))
        self._show_relations(spec)
        encoded = session.attribute(spec.name) if self._has_values(spec) else None
        domain, counts = spec.domain, None
        if encoded is not None and encoded.attribute.domain is not None:
            domain = encoded.attribute.domain
            found = encoded.attribute.counts
            counts = tuple(found.tolist()) if found is not None else None
        error = session.attribute_error(spec.name) if self._has_values(spec) else None
        attribute = encoded.attribute if encoded is not None else None
        error = domain_held(spec, attribute, error, session.steps.releases())
        self.detail.show_values(spec, domain, counts, error or self._weight_error(spec))
        self._show_coding(spec)
        names = [recipient.name for recipient in document.recipients]
        self.detail.pseudonyms.show_pseudonym(spec.pseudonym, names)
        self.detail.hierarchy.show_column(spec)

    def _show_relations(self, spec: ColumnSpec) -> None:
        """Say what a column follows from, first where a sensitive one is told by it."""
        insight, document = self.session.insight(), self.session.document
        known = () if insight is None else insight.relations
        known = tuple(each for each in known if spec.name in (each.name, *each.columns))
        told = endangering(document, known)
        all_told = told or released_relations(document, known)
        self.detail.show_relations(all_told[:RELATIONS_TOLD], endangers=bool(told))

    def _alike(self, spec: ColumnSpec) -> list[str]:
        """Return the columns proposed for the same reason as one that have another role."""
        insight, document = self.session.insight(), self.session.document
        known = {column.name: column.role for column in document.columns}
        found = alike(insight.proposals, spec.name) if insight is not None else ()
        return [name for name in found if known.get(name, spec.role) is not spec.role]

    def _give_alike(self, _checked: bool) -> None:
        spec = self.session.document.column(self.chosen[0])
        self._set_roles(self._alike(spec), spec.role)

    def _show_coding(self, spec: ColumnSpec) -> None:
        """Show how a column that leaves unperturbed is rounded and cut off."""
        table, cut_off, alone = self.session.table, None, (0, 0)
        numeric = spec.kind is Kind.NUMERIC and spec.binning is None
        if table is not None and spec.name in table.columns and numeric:
            series = table.column(spec.name)
            if pd.api.types.is_numeric_dtype(series.dtype):
                alone = alone_at_ends(series, self._units_at_hand())
                cut_off = None if spec.coded is None else beyond(series, spec.coded)
        units = self.session.document.unit is not None
        self.detail.coding.show_coding(spec.coding, cut_off, alone, units=units)

    def _weight_error(self, spec: ColumnSpec) -> SfumatoError | None:
        """Return why a column can't be a sampling weight; None where it can, or is none."""
        table = self.session.at_hand
        if spec.role is not Role.WEIGHT or table is None or spec.name not in table.columns:
            return None
        try:
            released_weights(table, spec)
        except SfumatoError as error:
            return error
        return None

    def _has_values(self, spec: ColumnSpec) -> bool:
        """Return whether a column's values are worth listing: free text and names are not."""
        return spec.role is not Role.IDENTIFYING and spec.kind is not Kind.TEXT

    def _offer_roles(self, place: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for role, words in role_choices():
            action = menu.addAction(words)
            action.triggered.connect(
                lambda _checked=False, role=role: self._set_roles(self.chosen, role)
            )
        menu.popup(self.table.viewport().mapToGlobal(place))

    # ----- what is edited

    def _set_roles(self, names: list[str], role: object) -> None:
        if not isinstance(role, Role) or not names:
            return
        several = tr("{count} {count:column|columns}").format(count=grouped(len(names)))
        what = names[0] if len(names) == 1 else several
        text = filled_in(tr("Mark {column} as {role}"), column=what, role=role_name(role).lower())
        session, before = self.session, self.session.document
        changed = with_roles(before, names, role, session.attributes(), session.noise)
        self._edit(text, changed)
        for words in who_stays(before, changed):
            self.tell(MessageKind.INFO, words, topic="roles")

    def _set_kind(self, name: str, kind: object) -> None:
        if isinstance(kind, Kind):
            text = filled_in(
                tr("Read {column} as {kind}"), column=name, kind=kind_name(kind).lower()
            )
            self._edit(text, edits.with_kind(self.session.document, name, kind))

    def _edit(self, text: str, document: Document) -> None:
        """Make an edit, after looking up what it asks for: domains, and what a unit draws once."""
        session, before = self.session, self.session.document
        held = session.surveyed
        waiting = [spec for spec in document.sensitive if needs_domain(spec)]
        unit_draws = document.unit is not None and newly_sensitive(document, before)
        if held is None or not (waiting or unit_draws):
            session.edit(text, document)
            return
        known = {spec.name: self._known_domain(spec) for spec in waiting}
        domains = {name: domain for name, domain in known.items() if domain is not None}
        survey = held.survey

        def complete(context: Context) -> Document:
            changed = with_fixed_domains(document, survey, domains)
            return with_once_drawn(changed, before, survey, context)

        told = len(domains) == len(waiting) and document.unit is None
        if told or held.answers_at_once:
            try:
                session.edit(text, complete(Silent()))
            except SfumatoError as error:
                self.show_error(error)
            return
        self._edit_later(text, complete)

    def _edit_later(self, text: str, work: Callable[[Context], Document]) -> None:
        title = tr("Reading the values")
        self.session.edit_later(text, work, self.show_error, title=title, key=EDIT_KEY)

    def _known_domain(self, spec: ColumnSpec) -> Domain | None:
        """Return the domain that the column was encoded by, unless it is read otherwise now."""
        now = self.session.document.column(spec.name)
        if (now.kind, now.binning, now.missing) != (spec.kind, spec.binning, spec.missing):
            return None
        encoded = self.session.attribute(spec.name)
        return encoded.attribute.domain if encoded is not None else None

    def _set_missing(self, rule: object) -> None:
        name, insight = self.chosen[0], self.session.insight()
        profile = insight.by_name.get(name) if insight is not None else None
        occurs = profile is not None and profile.missing > 0
        if isinstance(rule, MissingRule):
            changed = edits.with_missing(self.session.document, name, rule, occurs)
            self.session.edit(filled_in(tr("Missing values of {column}"), column=name), changed)

    # ----- bins

    def _suggest_bins(self, count: int, widths: object) -> None:
        name = self.chosen[0]
        rows, survey = self._rows_at_hand(name), self.session.survey
        if rows is None or survey is None or not isinstance(widths, BinWidths):
            self._show_detail()
            return
        series, text = survey.numbers(name), tr("Bins of {column}")
        take = partial(self._set_bins, name=name, from_rows=True)
        self.session.runner.run(
            tr("Looking for round edges"),
            lambda _context: suggest_binning(series, count, widths),
            self.session.unless_changed(filled_in(text, column=name), take),
            self._refuse_bins,
            key=EDIT_KEY,
        )

    def _rows_at_hand(self, name: str) -> pd.Series | None:
        """Return a column's rows in memory; None, and say so, where the table has none of it."""
        table = self.session.at_hand
        if table is None:
            self.tell(MessageKind.INFO, tr("Open the table first."))
            return None
        try:
            return table.column(name)
        except TableError as error:
            self.show_error(error)
            return None

    def _units_at_hand(self) -> npt.NDArray[np.int64] | None:
        """Return whose each row in memory is; None where rows stand alone."""
        table, unit = self.session.at_hand, self.session.document.unit
        if table is None or unit is None:
            return None
        with suppress(TableError):  # the check before a release says what is wrong with the unit
            return units_of(table, unit.columns)
        return None

    def _refuse_bins(self, error: SfumatoError) -> None:
        self.show_error(error)
        self._show_detail()

    def _set_bins(
        self, binning: Binning | None, name: str = "", *, from_rows: bool = False
    ) -> None:
        name = name or self.chosen[0]
        text = filled_in(tr("Bins of {column}"), column=name)
        changed = edits.with_binning(self.session.document, name, binning, from_rows=from_rows)
        self._edit(text, changed)

    def _set_pseudonym(self, pseudonym: Pseudonym | None) -> None:
        name = self.chosen[0]
        text = filled_in(tr("Pseudonyms of {column}"), column=name)
        self.session.edit(text, with_pseudonym(self.session.document, name, pseudonym))

    # ----- rounding and ends

    def _set_coding(self, coding: Coding | None, name: str = "") -> None:
        name = name or self.chosen[0]
        text = filled_in(tr("Rounding and ends of {column}"), column=name)
        self.session.edit(text, with_coding(self.session.document, name, coding))

    def _propose_ends(self) -> None:
        name = self.chosen[0]
        series, now = self._rows_at_hand(name), self.session.document.column(name).coding
        if series is None:
            return
        step = None if now is None else now.step
        text = filled_in(tr("Rounding and ends of {column}"), column=name)
        self.session.runner.run(
            tr("Looking for ends"),
            lambda _context: replace(suggest_ends(series, self._units_at_hand()), step=step),
            self.session.unless_changed(text, partial(self._set_coding, name=name)),
            self._tell_no_ends,
            key=EDIT_KEY,
        )

    def _tell_no_ends(self, error: SfumatoError) -> None:
        fine = isinstance(error, EndsNotNeeded)
        self.detail.coding.show_problem(error_words(error), "muted" if fine else "danger")

    # ----- domain

    def _domain_of(self, name: str) -> Domain | None:
        spec, table = self.session.document.column(name), self.session.table
        if spec.domain is not None:
            return spec.domain
        encoded = self.session.attribute(name)
        if encoded is not None and encoded.attribute.domain is not None:
            return encoded.attribute.domain
        if table is None or name not in table.columns:
            return None
        return proposed_domain(table, spec)

    def _change_domain(self, change: Callable[..., Domain], *arguments: object) -> bool:
        """Edit the chosen column's domain; say beside it why that can't be done."""
        name = self.chosen[0]
        domain = self._domain_of(name)
        if domain is None:
            return False
        try:
            changed = change(domain, *arguments)
        except DomainError as error:
            self.detail.domain.show_problem(error_words(error))
            return False
        self.detail.domain.show_problem("")
        text = filled_in(tr("Values of {column}"), column=name)
        self.session.edit(text, edits.with_domain(self.session.document, name, changed))
        return True

    def _add_value(self, text: str) -> None:
        series = self._rows_at_hand(self.chosen[0])
        if series is None:
            return

        def add(domain: Domain) -> Domain:
            value = edits.value_of_text(text, domain.values, series)
            return edits.add_value(domain, value)

        if self._change_domain(add):
            self.detail.domain.clear_new_value()

    def _confirm(self) -> None:
        name = self.chosen[0]
        text = filled_in(tr("Confirm the values of {column}"), column=name)
        self.session.edit(text, edits.confirmed(self.session.document, name))

    def _label_value(self, row: int, text: str) -> None:
        spec = self.session.document.column(self.chosen[0])
        if spec.binning is None:
            self._change_domain(edits.with_label, row, text)
            return
        try:
            binning = edits.relabelled(spec.binning, row, text)
        except (DomainError, IndexError):
            self.detail.domain.show_problem(tr("Give each bin a name of its own."))
            return
        changed = replace(spec, binning=binning, domain=None)
        words = tr("Name a bin of {column}")
        self._edit(filled_in(words, column=spec.name), self.session.document.with_column(changed))
