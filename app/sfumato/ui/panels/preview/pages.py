"""The pages of the preview, each answering one question."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import Final

import numpy as np
import numpy.typing as npt
from PySide6.QtCore import QCoreApplication, Qt
from PySide6.QtWidgets import QComboBox, QCompleter, QWidget

from sfumato.analysis.previews.previewed_values import (
    EntryPreview,
    PreviewQuestion,
    Sample,
    UtilityData,
)
from sfumato.analysis.previews.two_way import TwoWayTables
from sfumato.analysis.utility.worth import ColumnWorth
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.matrices.matrix import DENSE_LIMIT, PerturbationMatrix
from sfumato.plots.axes import percent, whole
from sfumato.plots.beliefs import PosteriorData, build_posterior_bars
from sfumato.plots.estimates import build_utility_frequencies
from sfumato.plots.matrices import MOST_CELLS, MatrixData, build_matrix_heatmap
from sfumato.ui.look.theme import Space, themes
from sfumato.ui.look.wording import filled_in, typeset, value_name
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.fields import ChoiceField, NumberField, Segments
from sfumato.ui.widgets.layout import (
    ScrollPage,
    beside,
    boxed,
    column,
    label,
    row,
    say,
    set_look,
)
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.painted import IconLabel
from sfumato.ui.widgets.plot_view import PlotView
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

MANY_VALUES = 40
"""From this many values on, a value is found by typing."""
PART = 24
"""Values shown one by one of a domain that is too large to be shown whole."""

GROUPS = 24
"""Of such a domain, groups of neighbouring values."""
ROW, TRUE = 0, 1
REPLACED_SIGN = "→"


def tr(template: str, **details: object) -> str:
    """Return a sentence of the preview in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("EntryPreview", template), **details)


class SampleModel(CellsModel):
    """A line for each row of the sample, a column for each recipient."""

    def show_sample(self, sample: Sample) -> None:
        """Show other rows."""
        self._sample = sample
        headings = [
            Heading(tr("Row"), right=True),
            Heading(tr("True {attribute}", attribute=sample.attribute)),
            *(Heading(seen.recipient) for seen in sample.seen),
        ]
        self.lay_out(len(sample.rows), headings)

    def cell(self, row: int, column: int) -> Cell:
        """Return a row's number, its true value, or what a recipient sees instead."""
        style, sample = themes().current.style, self._sample
        if column == ROW:
            return Cell(whole(sample.rows[row]), ink=style.muted)
        if column == TRUE:
            return Cell(sample.true[row], ink=style.original)
        seen = sample.seen[column - 2]
        if seen.kept[row]:
            return Cell(seen.values[row], tr("The true value"), ink=style.original)
        shown = f"{REPLACED_SIGN} {value_name(seen.values[row])}"
        return Cell(shown, tr("Replaced at random"), ink=style.released)


class SamplePage(QWidget):
    """Rows as they are and as each recipient sees them."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.headline = label("", "heading", wrap=True)
        self.note = label("", "muted", wrap=True)
        self.model = SampleModel(parent=self)
        self.table = TableView(self, row_numbers=False, model=self.model, name=tr("Sample rows"))
        self.table.horizontalHeader().setStretchLastSection(True)
        self.setLayout(
            column(
                self.headline,
                self.note,
                Space.INSIDE,
                (self.table, 1),
                spacing=Space.TIGHT,
                margins=(0, Space.BETWEEN, 0, 0),
            )
        )

    def show_sample(self, sample: Sample, recipient: str, *, final: bool) -> None:
        """Show rows.

        Parameters
        ----------
        sample
            The rows.
        recipient
            Whose view the headline counts.
        final
            Whether a release would show these very values.
        """
        view = next((seen for seen in sample.seen if seen.recipient == recipient), None)
        if view is not None and sample.symbols:
            words = tr(
                "{recipient} sees a symbol in place of each {attribute}, shared by many",
                recipient=recipient,
                attribute=sample.attribute,
            )
            self.headline.setText(words)
        elif view is not None:
            words = tr(
                "{recipient} sees the true {attribute} in {kept} of these {rows}"
                " {rows:row|rows}, and can't tell in which",
                recipient=recipient,
                attribute=sample.attribute,
                kept=int(np.count_nonzero(view.kept)),
                rows=whole(len(sample.rows)),
            )
            self.headline.setText(words)
        words = tr("An arrow marks a value that was replaced; recipients see no arrow.")
        if final:
            words += " " + tr("A release at these levels shows exactly these values.")
        else:
            words += " " + tr("Once the project is saved, its own key decides which.")
        self.note.setText(words)
        self.model.show_sample(sample)
        self.table.fit_columns()


class PlotPage(ScrollPage):
    """A page around a plot."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.column.setContentsMargins(0, Space.BETWEEN, 0, 0)
        self.plot = PlotView(session.chooser, self, session.message.emit)


class MatrixPage(PlotPage):
    """The perturbation matrix."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._matrix: PerturbationMatrix | None = None
        self._names: tuple[str, ...] = ()
        self._recipient = ""
        self.mode = Segments([("groups", tr("All, in groups")), ("part", tr("Value by value"))])
        self.mode.setAccessibleName(tr("What is shown of the matrix"))
        self.first = NumberField(1, 1, decimals=0, step=PART, name=tr("First value"))
        self._from = label(tr("from value"), "muted")
        self.mode.chosen.connect(self._draw)
        self.first.value_changed.connect(self._draw)
        self._bar = boxed(row(self.mode, self._from, self.first, None), self)
        self.put(self._bar, self.plot, None)

    def show_matrix(
        self, matrix: PerturbationMatrix, names: tuple[str, ...], recipient: str
    ) -> None:
        """Show a recipient's matrix."""
        self._matrix, self._names, self._recipient = matrix, names, recipient
        self._bar.setVisible(not fits(matrix))
        self.first.set_range(1, max(matrix.size - PART + 1, 1))
        self._draw()

    def _draw(self, _changed: object = None) -> None:
        if self._matrix is None:
            return
        by_value = self.mode.value == "part"
        self._from.setVisible(by_value)
        self.first.setVisible(by_value)
        if fits(self._matrix):
            data = part_of(self._matrix, self._names, 0, self._matrix.size, self._recipient)
        elif by_value:
            first = round(self.first.value) - 1
            data = part_of(self._matrix, self._names, first, PART, self._recipient)
        else:
            data = grouped(self._matrix, self._recipient)
        self.plot.show_plot(partial(build_matrix_heatmap, data))


def fits(matrix: PerturbationMatrix) -> bool:
    """Return whether all values can be shown one by one."""
    return matrix.size <= MOST_CELLS


def part_of(
    matrix: PerturbationMatrix, names: Sequence[str], first: int, count: int, recipient: str
) -> MatrixData:
    """Return some neighbouring values of a matrix.

    Parameters
    ----------
    matrix
        The matrix.
    names
        The values' names, shape (m,).
    first
        The first value's position, from 0.
    count
        How many values.
    recipient
        Who gets the release.
    """
    end = min(first + count, matrix.size)
    shown = np.arange(first, end)
    keeps, moves = _ranges(matrix)
    return MatrixData(
        tuple(names[first:end]),
        matrix.block(shown, shown),
        matrix.size,
        len(shown),
        keeps,
        moves,
        recipient,
    )


def grouped(matrix: PerturbationMatrix, recipient: str) -> MatrixData:
    """Return a whole matrix in groups of neighbouring values, in O(groups · m)."""
    edges = [round(place * matrix.size / GROUPS) for place in range(GROUPS + 1)]
    shares = np.empty((GROUPS, GROUPS))
    for place, (start, end) in enumerate(itertools.pairwise(edges)):
        within = np.zeros(matrix.size)
        within[start:end] = 1.0 / (end - start)
        shares[:, place] = np.add.reduceat(matrix.apply(within), edges[:-1])
    keeps, moves = _ranges(matrix)
    names = tuple(f"{a + 1}–{b}" for a, b in itertools.pairwise(edges))
    return MatrixData(names, shares, matrix.size, matrix.size, keeps, moves, recipient)


def _ranges(matrix: PerturbationMatrix) -> tuple[tuple[float, float], tuple[float, float]]:
    """Return the least and greatest chance to be kept, and to become a certain other value.

    For domains too large for a whole matrix, the latter is each column's average.
    """
    diagonal = matrix.diagonal
    moves: npt.NDArray[np.float64] = (1.0 - diagonal) / (matrix.size - 1)
    if matrix.size <= min(DENSE_LIMIT, 512):
        dense = matrix.dense()
        moves = dense[~np.eye(matrix.size, dtype=bool)]
    return (
        (float(diagonal.min()), float(diagonal.max())),
        (float(moves.min()), float(moves.max())),
    )


class PosteriorPage(PlotPage):
    """What a released value tells about the true one."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._preview: EntryPreview | None = None
        self.picker = ChoiceField(parent=self, name=tr("Released value"), least=220)
        self.picker.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.picker.chosen.connect(self._draw)
        line = row(label(tr("Someone sees the released value"), "muted"), self.picker, None)
        self.put(line, self.plot, None)

    def show_preview(self, preview: EntryPreview) -> None:
        """Show the values of a domain; the most frequent one is seen first."""
        other = self._preview is None or self._preview.domain.names != preview.domain.names
        self._preview = preview
        if other:
            self._offer(preview.domain.names)
            self.picker.set_value(int(preview.frequencies.argmax()))
        self._draw()

    def _offer(self, names: tuple[str, ...]) -> None:
        self.picker.set_choices(list(enumerate(map(value_name, names))))
        many = len(names) > MANY_VALUES
        self.picker.setEditable(many)
        if many:
            completer = QCompleter(self.picker.model(), self.picker)
            completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
            completer.setFilterMode(Qt.MatchFlag.MatchContains)
            self.picker.setCompleter(completer)

    def _draw(self, _chosen: object = None) -> None:
        preview, seen = self._preview, self.picker.value
        if preview is None or preview.matrix is None or not isinstance(seen, int):
            return
        posterior = preview.matrix.posterior(preview.frequencies, seen)
        if np.isnan(posterior).any():  # such a value is never released
            posterior = preview.frequencies
        data = PosteriorData(preview.domain.names, preview.frequencies, posterior, seen)
        self.plot.show_plot(partial(build_posterior_bars, data))


class WorthLine(QWidget):
    """What a recipient's columns are worth, in the colour of a danger where that is nothing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._icon = IconLabel("table", "muted", 18)
        self.text = label("", wrap=True)
        self.setLayout(column(beside(self._icon, self.text)))

    def show_worth(self, found: Sequence[ColumnWorth]) -> None:
        """Show it; out of sight where nothing is known."""
        useless = any(one.worthless for one in found)
        look = "danger" if useless else "muted"
        self._icon.show_icon("danger" if useless else "table", look)
        set_look(self.text, "danger" if useless else "")
        words = " ".join(typeset(e.as_danger if e.worthless else e.sentence) for e in found)
        say(self.text, tr("Worthless: {text}", text=words) if useless else words)
        self.setVisible(bool(found))


TWO_WAY_JOB: Final = "preview two-way table"


class UtilityPage(PlotPage):
    """How well a recipient can estimate the values' shares, alone and with another column's."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._session = session
        self._tables: TwoWayTables | None = None
        self.note = label("", "muted", wrap=True)
        self.worth = WorthLine(self)
        self.beside = ChoiceField(parent=self, name=tr("Two-way table with"), least=160)
        self.beside.chosen.connect(self._tabulate)
        name = label(tr("Two-way table with"), "muted")
        name.setBuddy(self.beside)
        self.choice = QWidget(self)
        self.choice.setLayout(row(name, self.beside, None))
        self.table = PlotView(session.chooser, self, session.message.emit)
        self.table_note = label("", "muted", wrap=True)
        self.put(self.worth, self.plot, self.note, self.choice, self.table, self.table_note, None)

    def show_preview(self, preview: EntryPreview, question: PreviewQuestion) -> None:
        """Show estimates, or why there are none."""
        self.worth.show_worth(preview.worth)
        self.plot.setVisible(preview.utility is not None)
        if preview.utility is not None:
            self.plot.show_plot(partial(build_utility_frequencies, preview.utility))
            self.note.setText(
                tr(
                    "The column shows symbols, each shared by many codes. What is estimated from"
                    " all of them stands here; a single one says of many codes that they are a"
                    " little likelier, and nothing more."
                )
                if preview.kept_share is None
                else tr(
                    "{share} of the released values are true. Estimates correct for the others;"
                    " they are worth more than the released counts themselves.",
                    share=percent(preview.kept_share),
                )
            )
        elif preview.problem is not None:
            self.note.setText(error_words(preview.problem))
        estimated = preview.utility is not None and preview.kept_share is not None
        self._tables = TwoWayTables.of(question) if estimated else None
        beside = () if self._tables is None else self._tables.beside
        self.beside.set_choices([("", tr("no other column")), *((one, one) for one in beside)])
        self.choice.setVisible(bool(beside))
        self._tabulate()

    def _tabulate(self, _chosen: object = None) -> None:
        """Estimate the two-way table with the chosen column, where one is chosen."""
        self._session.runner.cancel(TWO_WAY_JOB)
        chosen = str(self.beside.value or "")
        if self._tables is None or not chosen:
            self.table.hide()
            self.table_note.hide()
            return
        title, work = tr("Estimating a two-way table"), partial(self._tables.table, chosen)
        self._session.runner.run(
            title, work, self._show_table, self._show_obstacle, key=TWO_WAY_JOB
        )

    def _show_table(self, data: UtilityData) -> None:
        self.table.show_plot(partial(build_utility_frequencies, data))
        self.table.show()
        say(
            self.table_note,
            tr(
                "Shares of the combinations of both columns, estimated with both columns'"
                " probabilities; a column that leaves unperturbed is taken as it leaves."
            ),
        )

    def _show_obstacle(self, error: SfumatoError) -> None:
        """Say why there is no such table."""
        self.table.hide()
        say(self.table_note, error_words(error))
