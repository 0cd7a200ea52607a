"""What pooling the rows of one person or household restores, where each row is drawn by itself."""

from __future__ import annotations

from functools import partial
from typing import ClassVar

from PySide6.QtCore import QT_TRANSLATE_NOOP

from sfumato.analysis.pooled_rows import PooledRows, found_unit
from sfumato.formats.language import grouped
from sfumato.plots.pooled_numbers import build_pooled_rows
from sfumato.ui.look.wording import number, typeset
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.panels.base import PanelState
from sfumato.ui.widgets.fields import ChoiceField
from sfumato.ui.widgets.layout import button, label, row


class PooledRowsPage(AuditPage):
    """Shows for an attribute and a column what each recipient restores by pooling rows."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "Pooled rows"))
    order: ClassVar[int] = 3
    nothing: ClassVar[tuple[str, str, str]] = (
        "audit",
        str(QT_TRANSLATE_NOOP("Audit", "Nothing is pooled yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once a sensitive attribute has a mechanism and recipients have levels of trust,"
                " see here what they restore by pooling the rows of one person or household.",
            )
        ),
    )

    listens: ClassVar[tuple[str, ...]] = (
        "document_changed",
        "table_changed",
        "profiles_changed",
        "attribute_changed",
        "ledger_changed",
        "pooled_changed",
    )

    def build(self) -> None:
        """Put the choice above the sentence, the plot and what helps."""
        self._drawn: tuple[PooledRows, ...] = ()
        self.asked = ChoiceField(parent=self)
        self.asked.setAccessibleName(self.tr("Attribute, and the column by which rows are pooled"))
        self.asked.setSizeAdjustPolicy(ChoiceField.SizeAdjustPolicy.AdjustToContents)
        self.plot = self.new_plot()
        self.remedy = label("", wrap=True)
        self.go = button(
            self.tr("Go to Attributes"), partial(self.session.panel_requested.emit, "attributes")
        )
        self.controls((self.tr("&Pooled"), self.asked), None)
        self.add(self.plot, self.remedy, row(self.go, None))
        self.asked.chosen.connect(self._show)

    def state(self) -> PanelState:
        """Return whether there is an answer."""
        return PanelState.DONE if self._drawn else PanelState.EMPTY

    def has_material(self) -> bool:
        """Return whether rows seem to belong together and show the same sensitive value."""
        insight, document = self.session.insight(), self.session.document
        if insight is None or not insight.looked_for_units:
            return insight is not None and insight.may_repeat
        return any(found_unit(document, unit) for unit in insight.repeated)

    def refresh(self, _changed: object = None) -> None:
        """Offer what can be pooled: every attribute with every column that brings rows together."""
        if not self.isVisible():
            return
        self.session.look_for_units()
        found = self.session.pooled(self.session.steps.releases())
        pairs = dict.fromkeys((one.attribute, one.column) for one in found)
        words = self.tr("{attribute}, by {column}")
        self.asked.set_choices(
            [(pair, words.format(attribute=pair[0], column=pair[1])) for pair in pairs]
        )
        self.show_work(bool(found))
        self._show()

    def _show(self, _chosen: object = None) -> None:
        found = self.session.pooled(self.session.steps.releases())
        drawn = tuple(one for one in found if (one.attribute, one.column) == self.asked.value)
        if drawn == self._drawn:
            return
        self._drawn = drawn
        self.state_changed.emit()
        if not drawn:
            self.plot.clear()
            return
        first = drawn[0]
        self.say(typeset(first.sentence), self._explanation(first))
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
                "{units} {units:group|groups}, on average a row shares its {column} with {others}"
                " {others:other|others}. A coalition pools what its most trusted member holds."
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
        if one.estimated:
            said.append(typeset(one.estimated))
        if one.varying:
            said.append(
                self.tr(
                    "{count} {count:group|groups} whose rows differ in {attribute}"
                    " {count:is|are} left out."
                ).format(count=grouped(one.varying), attribute=one.attribute)
            )
        return " ".join(said)


PAGE = PooledRowsPage
