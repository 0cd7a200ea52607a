"""One record's ladder: at which level of trust its value changes, and to what."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

import pandas as pd
from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from sfumato.analysis.questions.question import Topic
from sfumato.analysis.record_path import RecordPath, record_path
from sfumato.engine.core.errors import SfumatoError
from sfumato.plots.ladders import RecordLadderData, build_record_ladder
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.audit.pages.base import AuditPage
from sfumato.ui.widgets.fields import ChoiceField, NumberField
from sfumato.ui.widgets.layout import Card
from sfumato.ui.widgets.messages import Message
from sfumato.ui.widgets.tables import FrameModel, TableView, show_value

JOB: Final = "one record's ladder"
ROWS_IN_SIGHT: Final = 8


class RecordPathPage(AuditPage):
    """Picks a row and shows its way down the ladder, to its custodian only."""

    title: ClassVar[str] = str(QT_TRANSLATE_NOOP("Audit", "One record"))
    topic: ClassVar[Topic] = Topic.FOUND
    order: ClassVar[int] = 70
    nothing: ClassVar[tuple[str, str, str]] = (
        "ladder",
        str(QT_TRANSLATE_NOOP("Audit", "There is no ladder yet")),
        str(
            QT_TRANSLATE_NOOP(
                "Audit",
                "Once recipients have levels of trust, pick a row here and see at which level its"
                " value changes, and what each recipient sees of it.",
            )
        ),
    )

    def build(self) -> None:
        """Put the choices above the ladder and what each recipient sees."""
        self._shown_for: tuple[Document, object, str, int] | None = None
        self._model: FrameModel | None = None
        self.attribute = ChoiceField(parent=self, least=160, chosen=self.refresh)
        self.row = NumberField(1, 1, decimals=0, step=1, parent=self, given=self.refresh)
        self.plot = self.new_plot()
        self.table = TableView(self, row_numbers=False)
        self.table.setAccessibleName(self.tr("What each recipient sees of the record"))
        card = Card(self.tr("What each recipient sees of this record"), parent=self)
        card.body.addWidget(self.table)
        self.controls(
            (self.tr("&Attribute"), self.attribute), (self.tr("&Row of the table"), self.row), None
        )
        self.add(self.plot, card)

    def _entries(self) -> dict[str, PolicyEntry]:
        """Return the policy's attributes with their entries."""
        return {name: entry for entry in self.session.document.policy for name in entry.attributes}

    def refresh(self, _changed: object = None) -> None:
        """Walk down the ladder, now that somebody looks."""
        session, entries = self.session, self._entries()
        rows = session.all_rows()
        ready = bool(entries) and bool(session.document.recipients) and rows is not None
        self.show_work(ready)
        if not ready or rows is None:
            session.runner.cancel(JOB)
            return
        self.attribute.set_choices([(name, name) for name in entries])
        self.row.set_range(1, rows.rows)
        name, row = str(self.attribute.value), int(self.row.value)
        asked = (session.document, session.keys, name, row)
        if not self.isVisible() or self._shown_for == asked:
            return
        self._shown_for = asked
        session.runner.run(
            self.tr("Walking down one record's ladder"),
            partial(record_path, rows, entries[name], name, row),
            self._show,
            self._fail,
            key=JOB,
        )

    def _show(self, path: RecordPath) -> None:
        stops = tuple((stop.recipient, stop.trust, _text(stop.value)) for stop in path.stops)
        data = RecordLadderData(
            path.attribute,
            path.row,
            tuple((s.upper, s.lower, _text(s.value)) for s in path.stretches),
            path.trusts,
            path.numbers,
            stops,
        )
        self.plot.show_plot(partial(build_record_ladder, data))
        frame = pd.DataFrame(
            {
                self.tr("Recipient"): [name for name, _, _ in stops],
                self.tr("Trust"): [round(trust, 4) for _, trust, _ in stops],
                self.tr("Sees"): [seen for _, _, seen in stops],
            }
        )
        if any(stop.alike for stop in path.stops):
            for name in path.stops[0].public:
                frame[f"{name}\u200b"] = [_text(stop.public[name]) for stop in path.stops]
            frame[self.tr("Records alike")] = [stop.alike for stop in path.stops]
        self._model = FrameModel(frame)
        self.table.setModel(self._model)
        self.table.fit_columns()
        self.table.setFixedHeight((min(len(frame), ROWS_IN_SIGHT) + 1) * Space.FIELD + 16)

    def _fail(self, error: SfumatoError) -> None:
        self._shown_for = None
        self.plot.clear()
        self.table.setModel(None)
        self.tell(Message.of_error(error, topic="record"))


def _text(value: object) -> str:
    missing = value is None or value is pd.NA or value != value  # noqa: PLR0124 (NaN)
    return QCoreApplication.translate("Audit", "missing") if missing else show_value(value)


PAGE = RecordPathPage
