"""What a generalized table and other holders' tables tell together."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from PySide6.QtCore import QT_TRANSLATE_NOOP, QItemSelection, Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from sfumato.analysis.composition import Beside, beside_others
from sfumato.engine.core.errors import SfumatoError
from sfumato.ui.look.theme import Space, scaled
from sfumato.ui.panels.audit.pages.base import AuditPage, Topic
from sfumato.ui.panels.audit.pages.diversity.person_card import (
    PersonCard,
    breaches_frame,
    breaches_sentence,
    explanation,
    holders_frame,
    tr,
    verdict,
)
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card, label
from sfumato.ui.widgets.tables import FrameModel, TableView

JOB: Final = "audit other holders"
USUAL_L: Final = 2
TABLE_ROW: Final = 32
BREACHES_HEIGHT: Final = 260


class DiversityPage(AuditPage):
    """Which combinations of classes narrow a value too far, and whose table is the cause."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Other holders"))
    topic: ClassVar[Topic] = Topic.GROUPS
    order: ClassVar[int] = 60
    nothing: ClassVar[tuple[str, str, str]] = (
        "people",
        str(QT_TRANSLATE_NOOP("Audit", "No other holder's table yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Where others published tables about the same people, this page shows what all of"
                " them tell together. Add them under Policy, Generalized table.",
            )
        ),
    )
    listens: ClassVar[tuple[str, ...]] = ("document_changed", "table_changed")

    def build(self) -> None:
        """Put the tables, the combinations and one person's belief below one another."""
        column = self.sheet.column
        self.found: Beside | None = None
        self._failed = False
        self._asked: tuple[object, ...] = ()
        self._stated_l: float | None = None
        column.setContentsMargins(0, 0, Space.INSIDE, 0)
        self.ours = ChoiceField(parent=self)
        self.ours.setAccessibleName(tr("Our table"))
        self.ours.setMinimumWidth(scaled(230))
        self.ours.chosen.connect(self.ask)
        self.l = NumberField(1, 1000, decimals=0, step=1.0, show_range=True)
        self.l.set_value(USUAL_L)
        self.l.spin.setAccessibleName(tr("Values that should remain"))
        self.l.value_changed.connect(self._state_l)
        self.controls(
            (tr("Our table"), self.ours), (tr("Values that should remain, l"), self.l), None
        )
        self.cards = QWidget(self)
        cards = QVBoxLayout(self.cards)
        cards.setContentsMargins(0, 0, 0, 0)
        cards.setSpacing(Space.BETWEEN)
        holders = Card(tr("What each table contributes"), parent=self)
        self.holders = self._table(tr("Tables"))
        holders.body.addWidget(self.holders)
        broken = Card(
            tr("Combinations of classes that leave too few values"),
            tr(
                "Nobody can tell in general which classes belong together, so every combination"
                " counts, even one that belongs to nobody."
            ),
            self,
        )
        self.count = label("", "muted", wrap=True)
        self.breaches = self._table(tr("Combinations"))
        self.breaches.setSelectionMode(TableView.SelectionMode.SingleSelection)
        self.breaches.setSortingEnabled(True)
        broken.body.addWidget(self.count)
        broken.body.addWidget(self.breaches)
        self.person = PersonCard(self.session, self)
        self.person.told.connect(self.told)
        for card in (holders, broken, self.person):
            cards.addWidget(card)
        self.add(self.cards)

    def _table(self, name: str) -> TableView:
        made = TableView(self, row_numbers=False)
        made.setProperty("framed", False)
        made.setAccessibleName(name)
        made.setSelectionBehavior(TableView.SelectionBehavior.SelectRows)
        made.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        return made

    # ----- the question

    def state(self) -> PanelState:
        """Return whether the tables have been compared, and keep l."""
        if not self._has_others():
            return PanelState.EMPTY
        if self._failed or (self.found is not None and not self.found.standing.holds):
            return PanelState.ATTENTION
        return PanelState.DONE if self.found is not None else PanelState.IN_PROGRESS

    def has_material(self) -> bool:
        """Return whether other holders' tables were named."""
        return self._has_others()

    def _has_others(self) -> bool:
        decided = self.session.document.generalization
        return self.session.table is not None and decided is not None and bool(decided.others)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be compared, and compare it, now that somebody looks."""
        decided = self.session.document.generalization
        if not self._has_others() or decided is None:
            self.session.runner.cancel(JOB)
            self.found, self._asked = None, ()
            self.show_work(False)
            self.state_changed.emit()
            return
        self.show_work(True)
        names = decided.quasi_identifiers
        pinned = [
            (node, ", ".join(f"{n} {at}" for n, at in zip(names, node, strict=True)))
            for node in decided.pinned
            if len(node) == len(names)
        ]
        self.ours.set_choices(
            [
                (True, tr("as it would be published")),
                *((node, tr("pinned: {levels}", levels=words)) for node, words in pinned),
                (False, tr("left out: only the others'")),
            ]
        )
        if self._stated_l is None:
            stated = [c.numbers["l"] for c in decided.criteria if c.kind == "distinct-diversity"]
            self.l.set_value(stated[0] if stated else USUAL_L)
        self.ask()

    def _state_l(self, value: float) -> None:
        self._stated_l = value
        self.ask()

    def ask(self, _choice: object = None) -> None:
        """Start comparing; a hidden page waits."""
        document, table = self.session.document, self.session.table
        if not self.isVisible() or not self._has_others() or table is None:
            return
        ours, needed = self.ours.value, int(self.l.value)
        asked = (id(table), document.generalization, document.columns, ours, needed)
        if asked == self._asked:
            return
        self._asked, self.found, self._failed = asked, None, False
        self.say(tr("Comparing the tables…"), "", "clock", "muted")
        self.cards.hide()
        wanted = ours if isinstance(ours, bool | tuple) else True
        self.session.runner.run(
            tr("Comparing published tables"),
            lambda context: beside_others(
                document, table, wanted, needed, tr("this table"), context
            ),
            partial(self._show, asked),
            partial(self._fail, asked),
            key=JOB,
        )
        self.state_changed.emit()

    # ----- the answer

    def _show(self, asked: tuple[object, ...], found: Beside) -> None:
        if asked != self._asked:
            return
        self.found = found
        token = "good" if found.standing.holds else "danger"
        self.say(verdict(found), explanation(found), token)
        self._fill(self.holders, FrameModel(holders_frame(found)))
        self.holders.setFixedHeight(TABLE_ROW * (len(found.holders) + 1) + 16)
        self._fill(self.breaches, FrameModel(breaches_frame(found)))
        self.breaches.setVisible(bool(found.breaches))
        needed = TABLE_ROW * (len(found.breaches) + 1) + 24
        self.breaches.setFixedHeight(min(needed, BREACHES_HEIGHT))
        self.l.set_range(1, max(len(found.values), self.l.value))
        self.count.setText(breaches_sentence(found))
        self.breaches.selectionModel().selectionChanged.connect(self._choose)
        self.person.show_tables(found)
        if found.breaches:
            self.breaches.selectRow(0)
        self.cards.show()
        self.state_changed.emit()

    def _fill(self, table: TableView, model: FrameModel) -> None:
        model.setParent(table)
        table.horizontalHeader().setSortIndicator(-1, Qt.SortOrder.AscendingOrder)
        table.setModel(model)
        table.fit_columns()

    def _fail(self, asked: tuple[object, ...], error: SfumatoError) -> None:
        if asked == self._asked:
            self._failed = True
            self.refuse(error)
            self.cards.hide()
            self.state_changed.emit()

    def _choose(self, _chosen: QItemSelection, _left: QItemSelection) -> None:
        rows = self.breaches.selectionModel().selectedRows()
        model = self.breaches.model()
        if rows and self.found is not None and isinstance(model, FrameModel):
            breach = self.found.breaches[model.source_row(rows[0].row())]
            self.person.choose(breach.classes)


PAGE = DiversityPage
