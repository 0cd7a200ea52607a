"""A matrix in the making as a spreadsheet, with a line of sums that stays in sight below it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.matrix.transition_matrix import TOLERANCE, TransitionMatrix
from sfumato.formats.language import localized
from sfumato.ui.look.theme import Space, mix, scaled, themes
from sfumato.ui.look.wording import number
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.widgets.layout import column, label
from sfumato.ui.widgets.sheets import SheetView, typed_number
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

Place = tuple[int, int]
"""Row (released) and column (original), from 0."""

CELL_WIDTH = 92
NAME_WIDTH = 140
ROWS_IN_SIGHT = 10
SCROLL_BAR = 14


@dataclass(frozen=True)
class MatrixDraft:
    """A matrix with the texts of the cells that are no numbers: nothing typed is lost.

    Parameters
    ----------
    matrix
        The numbers; NaN where a text is none.
    texts
        Those texts, by cell.
    """

    matrix: TransitionMatrix
    texts: Mapping[Place, str] = field(default_factory=dict)

    @classmethod
    def of(cls, names: Sequence[str], rows: Any) -> MatrixDraft:
        """Return the draft of stored rows; what does not fit is cut, and what lacks is empty."""
        size = len(names)
        try:
            return cls(TransitionMatrix.from_lists(names, rows))
        except (PolicyError, TypeError):
            entries = np.full((size, size), np.nan)
            for place, row in enumerate(rows if isinstance(rows, list) else []):
                if place < size and isinstance(row, list):
                    kept = [number if isinstance(number, float) else np.nan for number in row]
                    entries[place, : len(kept[:size])] = kept[:size]
            return cls(TransitionMatrix(tuple(names), entries))

    def with_texts(self, changes: Mapping[Place, str]) -> MatrixDraft:
        """Return the draft with some cells typed anew; those outside the matrix are left out."""
        entries, texts = self.matrix.entries.copy(), dict(self.texts)
        for place, text in changes.items():
            if max(place) < len(entries):
                entries[place] = typed_number(text)
                texts.pop(place, None)
                if math.isnan(entries[place]) and text.strip():
                    texts[place] = text.strip()
        return MatrixDraft(TransitionMatrix(self.matrix.names, entries), texts)

    def text(self, place: Place) -> str:
        """Return what stands in a cell, with all its digits."""
        chance = float(self.matrix.entries[place])
        return self.texts.get(place, "") if math.isnan(chance) else localized(f"{chance:.12g}")

    @property
    def sound(self) -> bool:
        """Whether a release can be made by it."""
        return not self.matrix.problems()

    @property
    def settings(self) -> dict[str, Any]:
        """The mechanism's settings."""
        return {"entries": self.matrix.entries.tolist()}


class EntriesModel(CellsModel):
    """Rows are released values, columns original ones."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._draft = MatrixDraft.of((), [])
        self._problems: dict[Place, str] = {}

    def show_draft(self, draft: MatrixDraft) -> None:
        """Show a matrix; of the same domain, selection and scrolling stay."""
        before, self._draft = self._draft, draft
        self._problems = {
            (problem.released, problem.original): f"{problem.what} {problem.remedy}"
            for problem in draft.matrix.problems()
            if problem.released is not None and problem.original is not None
        }
        names = draft.matrix.names
        if before.matrix.names == names:
            self.repaint()
            return
        original, released = tr("Original value"), tr("Released value")
        columns = [
            Heading(name, f"{original}: {name}", right=True, editable=True) for name in names
        ]
        self.lay_out(len(names), columns, [Heading(name, f"{released}: {name}") for name in names])

    def cell(self, row: int, column: int) -> Cell:
        """Return a chance: shaded by its size, greyed where it is 0, marked where it is wrong."""
        place, theme = (row, column), themes().current
        text, problem = self._draft.text(place), self._problems.get(place)
        if problem is not None:
            danger = theme.style.danger
            return Cell(text, problem, ink=danger, ground=theme.tint(danger), icon="danger")
        chance, names = float(self._draft.matrix.entries[place]), self._draft.matrix.names
        if chance == 0:
            tip = tr(
                "{original} is never released as {released}. Normalising keeps this zero.",
                original=names[column],
                released=names[row],
            )
            return Cell("0", tip, ink=theme.quiet, ground=theme.style.line)
        tip = tr(
            "{original} is released as {released} with probability {chance}.",
            original=names[column],
            released=names[row],
            chance=localized(f"{chance:.6g}"),
        )
        ground = mix(theme.style.accent, theme.style.surface, 0.35 * chance)
        return Cell(number(chance, 4), tip, text, ground=ground)


class SumsModel(CellsModel):
    """Two lines: what each column sums to, and what is too much or too little."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._matrix = TransitionMatrix((), np.zeros((0, 0)))

    def show_matrix(self, matrix: TransitionMatrix) -> None:
        """Show the sums of a matrix."""
        self._matrix = matrix
        names = (Heading(tr("Sum")), Heading(tr("Too much, too little")))
        self.lay_out(2, [Heading(right=True)] * len(matrix.names), names)

    def cell(self, row: int, column: int) -> Cell:
        """Return a sum, or how far it is off; nothing where it is right."""
        total, name = float(self._matrix.column_sums[column]), self._matrix.names[column]
        off, style = total - 1, themes().current.style
        if abs(off) <= TOLERANCE:
            return Cell("" if row else number(total, 4), ink=style.muted)
        if math.isnan(off):
            tip = tr("A chance of {name} is not a number.", name=name)
            return Cell("" if row else "?", tip, ink=style.danger, strong=True)
        size = localized(f"{abs(off):.3g}")
        tip = tr(
            "The chances of {name} sum to {total}: {off} too {side}.",
            name=name,
            total=localized(f"{total:.6g}"),
            off=size,
            side=tr("much") if off > 0 else tr("little"),
        )
        text = f"{'+' if off > 0 else '−'}{size}" if row else number(total, 4)
        return Cell(text, tip, ink=style.danger, strong=True)


class MatrixGrid(QWidget):
    """The entries and, always in sight below them, the sums of their columns."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.entries = EntriesModel(self)
        self.sums = SumsModel(self)
        self.grid = SheetView(self.entries, blank="0", parent=self)
        self.grid.setAccessibleName(tr("Transition matrix"))
        self.footer = TableView(self)
        self.footer.setModel(self.sums)
        self.footer.setAccessibleName(tr("Sums of the columns"))
        for table in (self.grid, self.footer):
            table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
            table.horizontalHeader().setDefaultSectionSize(scaled(CELL_WIDTH))
            table.verticalHeader().setFixedWidth(scaled(NAME_WIDTH))
            for header in (table.horizontalHeader(), table.verticalHeader()):
                header.setTextElideMode(Qt.TextElideMode.ElideRight)
        off = Qt.ScrollBarPolicy.ScrollBarAlwaysOff
        self.footer.horizontalHeader().hide()
        self.footer.setHorizontalScrollBarPolicy(off)
        self.footer.setVerticalScrollBarPolicy(off)
        self.footer.setSelectionMode(QAbstractItemView.SelectionMode.NoSelection)
        self.footer.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.footer.setFixedHeight(2 * Space.FIELD + 3)
        across = self.grid.horizontalScrollBar()
        across.valueChanged.connect(self.footer.horizontalScrollBar().setValue)
        heading = label(tr("Columns: original value. Rows: released value."), "small", wrap=True)
        self.setLayout(column(heading, self.grid, self.footer, spacing=Space.TIGHT))

    def show_draft(self, draft: MatrixDraft) -> None:
        """Show a matrix."""
        self.entries.show_draft(draft)
        self.sums.show_matrix(draft.matrix)
        rows = min(max(self.entries.rowCount(), 3), ROWS_IN_SIGHT)
        self.grid.setFixedHeight((rows + 1) * Space.FIELD + SCROLL_BAR + 8)
        self.footer.horizontalScrollBar().setValue(self.grid.horizontalScrollBar().value())
