"""The editor of any matrix: recipients by a trust factor, the matrix in a grid, and comparing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from typing import Any, ClassVar, Final

import numpy as np
from PySide6.QtCore import QT_TRANSLATE_NOOP, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QWidget

from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.matrices.matrix import DenseMatrix, GarblingTest
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.mechanisms.matrix import (
    ENTRIES,
    TOLERANCE,
    TransitionMatrix,
    read_matrix,
)
from sfumato.formats.files import opening
from sfumato.formats.language import localized
from sfumato.ui.look.theme import Space, mix, scaled, themes
from sfumato.ui.look.wording import number, spoken
from sfumato.ui.panels.policy.mechanisms import effects
from sfumato.ui.panels.policy.mechanisms.base import Attributes, LevelEditor, SettingsEditor
from sfumato.ui.panels.policy.mechanisms.controls import Notice, states
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, button, column, label
from sfumato.ui.widgets.messages import error_words
from sfumato.ui.widgets.responsive import FlowLayout
from sfumato.ui.widgets.sheets import SheetView, sheet_rows, typed_number
from sfumato.ui.widgets.tables import Cell, CellsModel, Heading, TableView

JOB: Final = "compare matrices"
MOST_NAMED: Final = 3
LARGEST_FILE: Final = 64_000_000
"""A larger file is no matrix that a grid could show; bytes."""

Comparison = tuple[GarblingTest, GarblingTest]
"""Whether this matrix is a garbling of the other, and the other of this one."""


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
        self.grid = SheetView(self.entries, blank="0", parent=self, name=spoken(ENTRIES.title))
        self.footer = TableView(self, model=self.sums, name=tr("Sums of the columns"))
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


class MatrixSettings(SettingsEditor):
    """States the matrix that is the top of the ladder."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._draft = MatrixDraft.of((), [])
        self.matrix = MatrixGrid(self)
        states(self.matrix.grid, ENTRIES)
        self.compare = CompareCard(session, self)
        self.paste = button(
            tr("Paste"), self.matrix.grid.paste, "quiet", tip=tr("A whole matrix, or a block")
        )
        self.from_file = button(tr("Import…"), self._import, "quiet", tip=tr("From a CSV file"))
        self.normalise = button(
            tr("Normalise"), self._normalise, tip=tr("Divide each column by its sum")
        )
        self.transpose = button(
            tr("Transpose"), self._transpose, tip=tr("Exchange rows and columns")
        )
        self.problem.offer(self.take_back)
        card = Card(parent=self)
        words = spoken(ENTRIES.title)
        card.put(
            FlowLayout(label(words, "heading"), self.paste, self.from_file, apart=1),
            self.matrix,
            self.problem,
            FlowLayout(self.normalise, self.transpose),
        )
        self.setLayout(column(card, self.compare, spacing=Space.BETWEEN))
        self.matrix.entries.written.connect(self._write)
        self.matrix.grid.pasted.connect(self._paste)
        self.compare.pasted.connect(self._compare)
        self.compare.from_file.clicked.connect(self._compare_imported)

    # ----- what is shown

    def show_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Show an entry's matrix; one that is not right yet stays as it is."""
        attribute = attributes[0]
        if attribute.domain is None:
            return
        names, shown = attribute.domain.names, self._draft.matrix.names
        same = self._names == (attribute.name,) and shown == names
        if same and settings == self._in_force:
            return
        self.leave()
        draft = self.come_to(attributes, settings)
        if isinstance(draft, MatrixDraft) and draft.matrix.names == names:
            self._show(draft)
        else:
            self._show(self._stated(names))

    def show_in_force(self) -> None:
        """Show the matrix in force in the place of what was typed."""
        self._show(self._stated(self._draft.matrix.names))

    def _stated(self, names: Sequence[str]) -> MatrixDraft:
        return MatrixDraft.of(names, self._in_force.get("entries", []))

    def leave(self) -> None:
        """Stop comparing."""
        self.compare.leave()

    def _show(self, draft: MatrixDraft) -> None:
        self._draft = draft
        self.matrix.show_draft(draft)
        problems = draft.matrix.problems()
        if not problems:
            self.problem.say("info", tr("Every column sums to 1. This matrix is in force."))
            return
        lines = [spoken(problem.what) for problem in problems[:MOST_NAMED]]
        if len(problems) > MOST_NAMED:
            lines.append(tr("{count} more are marked.", count=len(problems) - MOST_NAMED))
        self.refuse_draft("\n".join(lines))

    # ----- what the person does

    def _take(self, draft: MatrixDraft) -> None:
        """Take a change over; a matrix that is right comes into force, as one edit."""
        self._show(draft)
        self.hold(None if draft.sound else draft)
        self.compare.leave()
        if draft.sound and draft.settings != dict(self._in_force):
            self._in_force = draft.settings
            self.state(self._in_force)

    def _try(self, change: Callable[[], TransitionMatrix]) -> None:
        """Take a changed matrix over, or say why there is none and keep the present one."""
        try:
            changed = change()
        except SfumatoError as error:
            self.refuse(error)
            return
        self._take(MatrixDraft(changed))

    def _write(self, texts: dict[tuple[int, int], str]) -> None:
        self._take(self._draft.with_texts(texts))

    def _normalise(self) -> None:
        self._try(self._draft.matrix.normalised)

    def _transpose(self) -> None:
        texts = {(column, at): text for (at, column), text in self._draft.texts.items()}
        self._take(MatrixDraft(self._draft.matrix.transposed(), texts))

    def _paste(self, text: str) -> None:
        """Put a block in at the current cell, or a whole matrix in the place of the present one."""
        draft, at, block = self._draft, self.matrix.grid.currentIndex(), sheet_rows(text)
        if at.isValid() and block and len(block) < len(draft.matrix.names):
            texts = {
                (at.row() + down, at.column() + across): cell
                for down, cells in enumerate(block)
                for across, cell in enumerate(cells)
            }
            self._take(draft.with_texts(texts))
        else:
            self._read(text)

    def _read(self, text: str) -> None:
        """Take a whole matrix over."""
        try:
            read, transposed = read_matrix(text, self._draft.matrix.names)
        except SfumatoError as error:
            self.refuse(error)
            return
        self._take(MatrixDraft(read))
        if transposed:
            sign = "info" if self._draft.sound else "danger"
            self.problem.say(sign, f"{_transposed()}\n{self.problem.words}")

    def _import(self) -> None:
        text = self._chosen_text()
        if text is not None:
            self._read(text)

    def _compare_imported(self) -> None:
        text = self._chosen_text()
        if text is not None:
            self._compare(text)

    def _compare(self, text: str) -> None:
        try:
            other, transposed = read_matrix(text, self._draft.matrix.names)
            for matrix, whose in ((self._draft.matrix, tr("This")), (other, tr("The other"))):
                problems = matrix.problems()
                if problems:
                    raise PolicyError(
                        "{whose} matrix is not right yet: {problem}",
                        "{advice}",
                        whose=whose,
                        problem=problems[0].what,
                        advice=problems[0].remedy,
                    )
        except SfumatoError as error:
            self.compare.refuse(error)
            return
        self.compare.start(self._draft.matrix, other, transposed)

    def _chosen_text(self) -> str | None:
        """Ask for a file and return its text; None where there is none."""
        path = self.session.chooser.open_file(
            tr("Import a matrix"), tr("Tables of text (*.csv *.tsv *.txt)")
        )
        if path is None:
            return None
        try:
            if path.stat().st_size > LARGEST_FILE:
                raise PolicyError("The file is too large to be a matrix.", "Choose another file.")
            with opening(path):
                return path.read_text(encoding="utf-8-sig")
        except SfumatoError as error:
            self.refuse(error)
        except (OSError, UnicodeDecodeError):
            words = tr("The file can't be read as text. Save it as CSV in UTF-8.")
            self.problem.say("danger", words)
        return None


class CompareCard(Card):
    """Takes a second matrix and says how it stands to the one in the grid."""

    pasted = Signal(str)

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        words = tr(
            "Was this attribute released by another matrix before? If one of the two can be"
            " made from the other, holding both tells nothing more than the better one."
        )
        super().__init__(tr("Compare with another matrix"), words, parent)
        self._session = session
        words = tr("Paste the other matrix")
        self.paste = button(words, lambda: self.pasted.emit(QGuiApplication.clipboard().text()))
        self.from_file = button(tr("Import it…"), None)
        self.verdict = Notice(parent=self)
        self._about: tuple[str, ...] = ()
        self.put(FlowLayout(self.paste, self.from_file), self.verdict)

    def start(self, this: TransitionMatrix, other: TransitionMatrix, transposed: bool) -> None:
        """Compare two matrices, in a job; say so if the other one was transposed."""
        self._about = (_transposed(),) if transposed else ()
        self.verdict.say("clock", tr("Comparing…"))
        title = tr("Comparing two matrices")
        work = partial(_compare, this, other)
        self._session.runner.run(title, work, partial(self._show, this.names), self.refuse, key=JOB)

    def leave(self) -> None:
        """Stop, and forget what was found."""
        self._session.runner.cancel(JOB)
        self.verdict.clear()

    def refuse(self, error: SfumatoError) -> None:
        """Say why there is nothing to compare."""
        self.verdict.say("danger", error_words(error))

    def _show(self, names: tuple[str, ...], found: Comparison) -> None:
        this, other = found
        if this.holds and other.holds:
            words = tr("Each can be made from the other: they tell the same.")
        elif this.holds:
            words = tr(
                "Yes: this matrix can be made from the other one. Whoever holds both releases"
                " learns no more than from the other alone."
            )
        elif other.holds:
            words = tr(
                "Yes: the other matrix can be made from this one. Whoever holds both releases"
                " learns no more than from this one alone."
            )
        else:
            lines = (
                *self._about,
                tr("No: neither can be made from the other. Together they tell more than each."),
                _forbidden(tr("This from the other"), names, this),
                _forbidden(tr("The other from this"), names, other),
            )
            self.verdict.say("danger", "\n".join(lines))
            return
        self.verdict.say("good", "\n".join((*self._about, words)))


def _transposed() -> str:
    return tr(
        "Its rows summed to 1, its columns didn't: its rows were taken as original values, and the"
        " matrix was transposed."
    )


def _compare(this: TransitionMatrix, other: TransitionMatrix, context: Context) -> Comparison:
    """Examine both directions (for a job); raises SfumatoError for what is no matrix."""
    first, second = DenseMatrix(this.entries), DenseMatrix(other.entries)
    context.report(0.1, "Looking for a channel")
    one = first.test_garbling_of(second)
    context.report(0.5, "Looking for a channel back")
    return one, second.test_garbling_of(first)


def _forbidden(direction: str, names: tuple[str, ...], test: GarblingTest) -> str:
    """Name the entries that forbid a direction."""
    if not test.forbidding:
        return tr("{direction}: no channel exists.", direction=direction)
    listed = "; ".join(
        f"{names[entry.original]} → {names[entry.released]}: {localized(f'{entry.value:.3g}')}"
        for entry in test.forbidding[: MOST_NAMED + 1]
    )
    return tr(
        "{direction}: the channel would need negative chances ({listed}).",
        direction=direction,
        listed=listed.replace("-", "−"),
    )


class MatrixEditor(LevelEditor):
    """States how often a recipient sees what the matrix shows."""

    mechanism: ClassVar[str] = "matrix"
    plain_name = QT_TRANSLATE_NOOP("Policy", "State every probability")
    effect = effects.every_chance
    settings_editor = MatrixSettings
    whole = QT_TRANSLATE_NOOP("Policy", "The matrix itself")


EDITOR = MatrixEditor
