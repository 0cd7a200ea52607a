"""What pooling the rows of one person or household restores, where each row is drawn by itself."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QStackedWidget, QVBoxLayout, QWidget

from sfumato.analysis.pooled_rows import PooledRows, found_unit
from sfumato.plots.pooled_rows import build_pooled_rows
from sfumato.ui.look.wording import grouped, number, typeset
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.state.records import releases_of
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import EmptyState, ScrollPage, button, label, row
from sfumato.ui.widgets.plot_view import PlotView


class PooledRowsPage(AuditPage):
    """Shows for an attribute and a column what each recipient restores by pooling rows."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Pooled rows"))
    order: ClassVar[int] = 3

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._drawn: tuple[PooledRows, ...] = ()
        self.asked = ChoiceField(parent=self)
        self.asked.setAccessibleName(self.tr("Attribute, and the column by which rows are pooled"))
        self.asked.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.sentence = label("", wrap=True)
        self.explanation = label("", "muted", wrap=True)
        self.plot = PlotView(session.chooser, self)
        self.remedy = label("", wrap=True)
        self.go = button(
            self.tr("Go to Attributes"), partial(session.panel_requested.emit, "attributes")
        )
        self.empty = EmptyState(
            "audit",
            self.tr("Nothing is pooled yet"),
            self.tr(
                "Once a sensitive attribute has a mechanism and recipients have levels of trust,"
                " see here what they restore by pooling the rows of one person or household."
            ),
        )
        self.empty.add_button(
            button(
                self.tr("Go to Policy"), partial(session.panel_requested.emit, "policy"), "primary"
            )
        )
        self.work = ScrollPage(self)
        caption = label(self.tr("&Pooled"), "muted")
        caption.setBuddy(self.asked)
        self.work.column.addLayout(row(caption, self.asked, None))
        for part in (self.sentence, self.explanation, self.plot, self.remedy):
            self.work.column.addWidget(part)
        self.work.column.addLayout(row(self.go, None))
        self.work.column.addStretch(1)
        self.pages = QStackedWidget(self)
        self.pages.addWidget(self.empty)
        self.pages.addWidget(self.work)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self.pages)
        for signal in (
            session.document_changed,
            session.table_changed,
            session.profiles_changed,
            session.attribute_changed,
            session.ledger_changed,
            session.pooled_changed,
        ):
            signal.connect(self._refresh)
        self.asked.chosen.connect(self._show)
        self.plot.failed.connect(self.told)
        self._refresh()

    def state(self) -> PanelState:
        """Return whether there is an answer."""
        return PanelState.DONE if self._drawn else PanelState.EMPTY

    def has_material(self) -> bool:
        """Return whether rows seem to belong together and show the same sensitive value."""
        insight, document = self.session.insight(), self.session.document
        return insight is not None and any(found_unit(document, u) for u in insight.repeated)

    def showEvent(self, event: QShowEvent) -> None:
        """Draw the answer, now that somebody looks."""
        super().showEvent(event)
        self._refresh()

    def _refresh(self, _changed: object = None) -> None:
        """Offer what can be pooled: every attribute with every column that brings rows together."""
        if not self.isVisible():
            return
        found = self.session.pooled(releases_of(self.session))
        pairs = dict.fromkeys((one.attribute, one.column) for one in found)
        words = self.tr("{attribute}, by {column}")
        self.asked.set_choices(
            [(pair, words.format(attribute=pair[0], column=pair[1])) for pair in pairs]
        )
        self.pages.setCurrentWidget(self.work if found else self.empty)
        self._show()

    def _show(self, _chosen: object = None) -> None:
        found = self.session.pooled(releases_of(self.session))
        drawn = tuple(one for one in found if (one.attribute, one.column) == self.asked.value)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.state_changed.emit()
        if not drawn:
            self.plot.clear()
            return
        first = drawn[0]
        self.sentence.setText(typeset(first.sentence))
        self.explanation.setText(self._explanation(first))
        self.plot.show_plot(partial(build_pooled_rows, drawn))
        self.remedy.setText(self._remedy(first))

    def _remedy(self, one: PooledRows) -> str:
        words = (
            self.tr(
                "Under Attributes, let rows belong to {column}: the level stated then holds for all"
                " rows of a unit together, of which at most so many leave as you say there."
            )
            if one.varying
            else self.tr(
                "Under Attributes, let rows belong to {column}: {attribute} is then drawn once for"
                " all of them, and pooling them restores nothing more."
            )
        )
        return words.format(attribute=one.attribute, column=one.column)

    def _explanation(self, one: PooledRows) -> str:
        said = [
            self.tr(
                "{units} groups, on average a row shares its {column} with {others} others. A"
                " coalition pools what its most trusted member holds."
            ).format(
                units=grouped(one.units), column=one.column, others=number(round(one.rows - 1, 1))
            )
        ]
        if one.restored is None:
            said.append(self.tr("Pooled: the mean of as many rows as a row has on average."))
        elif one.restored.error:
            said.append(self.tr("Outcomes were drawn, so the shares are estimates."))
        else:
            said.append(self.tr("The shares are computed from the matrix, by Bayes' rule."))
        if one.varying:
            said.append(
                self.tr("{count} groups whose rows differ in {attribute} are left out.").format(
                    count=grouped(one.varying), attribute=one.attribute
                )
            )
        return " ".join(said)


PAGE = PooledRowsPage
