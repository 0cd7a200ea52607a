"""Cautions about columns that tell a sensitive attribute, with what can be done in one click."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from sfumato.analysis.open_figures import NAMED, OpenFigure
from sfumato.analysis.open_remedies import left_out, made_coarser, protected_too
from sfumato.engine.core.progress import Context
from sfumato.project.document.model import Document
from sfumato.ui.look.theme import Space
from sfumato.ui.look.wording import typeset
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import button, column, label, row

JOB: Final = "open columns remedy"


class OpenCaution(QWidget):
    """Says what columns tell of an attribute, and offers to protect, coarsen or drop them.

    Parameters
    ----------
    session
        Whose document is changed.
    figure
        What is told.
    """

    def __init__(self, session: Session, figure: OpenFigure, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._figure = figure
        self._columns = figure.telling[:NAMED]
        names = ", ".join(self._columns)
        self.protect = button(self.tr("Protect too"), self._protect, "quiet")
        self.protect.setToolTip(
            self.tr("Make {columns} sensitive and protect them together with {name}").format(
                columns=names, name=figure.attribute
            )
        )
        self.coarsen = button(self.tr("Make coarser"), self._coarsen, "quiet")
        self.coarsen.setToolTip(self.tr("Divide {columns} into five bins").format(columns=names))
        self.drop = button(self.tr("Leave out"), self._drop, "quiet")
        self.drop.setToolTip(self.tr("Release {columns} to nobody").format(columns=names))
        for each in (self.protect, self.coarsen, self.drop):
            each.setAccessibleDescription(each.toolTip())
        sign = IconLabel("caution", "caution", 16)
        text = label(typeset(figure.caution), wrap=True)
        top = row(sign, text)
        top.setAlignment(sign, Qt.AlignmentFlag.AlignTop)
        top.setStretch(1, 1)
        buttons = column(self.protect, self.coarsen, self.drop, spacing=0)
        lines = column(top, buttons, spacing=Space.TIGHT)
        lines.setContentsMargins(0, 0, 0, 0)
        self.setLayout(lines)

    def _protect(self) -> None:
        document, table, noise = self._session.document, self._session.table, self._session.noise
        if table is None:
            return
        attribute, columns = self._figure.attribute, self._columns

        def work(context: Context) -> Document:
            context.report(0.0, "Protecting columns together")
            return protected_too(document, table, attribute, columns, noise)

        self._run(self.tr("Protect columns that tell {name}"), work)

    def _coarsen(self) -> None:
        document, table, columns = self._session.document, self._session.table, self._columns
        if table is None:
            return

        def work(context: Context) -> Document:
            context.report(0.0, "Making columns coarser")
            return made_coarser(document, table, columns)

        self._run(self.tr("Make columns coarser that tell {name}"), work)

    def _drop(self) -> None:
        text = self.tr("Leave out columns that tell {name}").format(name=self._figure.attribute)
        self._session.edit(text, left_out(self._session.document, self._columns))

    def _run(self, template: str, work: Callable[[Context], Document]) -> None:
        text = template.format(name=self._figure.attribute)
        session, before = self._session, self._session.document
        session.runner.run(text, work, partial(_keep, session, text, before), key=JOB)


def _keep(session: Session, text: str, before: Document, changed: Document) -> None:
    """Put the changed document in place, unless something else was edited meanwhile."""
    if session.document == before:
        session.edit(text, changed)
