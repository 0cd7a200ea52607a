"""The settings of any matrix: the grid, where it comes from, and what mends it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.matrices.transition_matrix import TransitionMatrix, read_matrix
from sfumato.engine.mechanisms.base import Settings
from sfumato.engine.table.table import Attribute
from sfumato.ui.look.theme import Space
from sfumato.ui.panels.policy.mechanisms.matrix.comparing import CompareCard
from sfumato.ui.panels.policy.mechanisms.matrix.draft import MatrixDraft
from sfumato.ui.panels.policy.mechanisms.matrix.grid import MatrixGrid
from sfumato.ui.panels.policy.mechanisms.settings import SettingsEditor
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.icons import IconLabel
from sfumato.ui.widgets.layout import Card, button, label, row, set_look

MOST_NAMED: Final = 3
LARGEST_FILE: Final = 64_000_000
"""A larger file is no matrix that a grid could show; bytes."""


class MatrixSettings(SettingsEditor):
    """States the matrix that is the top of the ladder."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(session, parent)
        self._name = ""
        self._in_force: Settings = {}
        self._draft: MatrixDraft | None = None
        self._kept: dict[str, tuple[Settings, MatrixDraft]] = {}
        self.matrix = MatrixGrid(self)
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
        self.status = label("", "muted", wrap=True)
        self._icon = IconLabel("good", "good", 18)
        self.take_back = button(tr("Back to what is in force"), self._take_back)
        self._lay_out()
        self.matrix.entries.written.connect(self._write)
        self.matrix.grid.pasted.connect(self._paste)
        self.compare.paste_asked.connect(self._compare_pasted)
        self.compare.import_asked.connect(self._compare_imported)

    def _lay_out(self) -> None:
        card = Card(parent=self)
        card.body.addLayout(
            row(label(tr("Transition matrix"), "heading"), None, self.paste, self.from_file)
        )
        card.body.addWidget(self.matrix)
        line = QHBoxLayout()
        line.setSpacing(Space.INSIDE)
        line.addWidget(self._icon)
        line.addWidget(self.status, 1)
        card.body.addLayout(line)
        card.body.addLayout(row(self.normalise, self.transpose, self.take_back, None))
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(Space.BETWEEN)
        column.addWidget(card)
        column.addWidget(self.compare)

    # ----- what is shown

    def show_settings(self, attributes: Sequence[Attribute], settings: Settings) -> None:
        """Show an entry's matrix; one that is not right yet stays as it is."""
        attribute = attributes[0]
        if attribute.domain is None:
            return
        names = attribute.domain.names
        draft = self._draft
        if (
            draft is not None
            and self._name == attribute.name
            and draft.matrix.names == names
            and settings == self._in_force
        ):
            return
        if draft is not None and not draft.sound:
            self._kept[self._name] = (self._in_force, draft)
        self.leave()
        self._name, self._in_force = attribute.name, settings
        kept = self._kept.pop(attribute.name, None)
        if kept is not None and kept[0] == settings and kept[1].matrix.names == names:
            self._show(kept[1])
        else:
            self._show(self._stored(attribute.domain, settings))

    def leave(self) -> None:
        """Stop comparing."""
        self.compare.leave()

    def _stored(self, domain: Domain, settings: Settings) -> MatrixDraft:
        return MatrixDraft.of(domain.names, settings.get("entries", []))

    def _show(self, draft: MatrixDraft) -> None:
        self._draft = draft
        self.matrix.show_draft(draft)
        problems = draft.matrix.problems()
        self.take_back.setVisible(bool(problems))
        if not problems:
            self._say("good", tr("Every column sums to 1. This matrix is in force."))
            return
        lines = [problem.what for problem in problems[:MOST_NAMED]]
        if len(problems) > MOST_NAMED:
            lines.append(tr("{count} more are marked.", count=len(problems) - MOST_NAMED))
        lines.append(tr("Until this is right, the matrix before stays in force."))
        self._say("danger", "\n".join(lines))

    def _say(self, look: str, text: str) -> None:
        self._icon.show_icon(look, look)
        set_look(self.status, "danger" if look == "danger" else "muted")
        self.status.setText(text)

    # ----- what the person does

    def _take(self, draft: MatrixDraft) -> None:
        """Take a change over; a matrix that is right comes into force, as one edit."""
        self._show(draft)
        self.compare.leave()
        if draft.sound and draft.settings != dict(self._in_force):
            self._in_force = draft.settings
            self.settings_stated.emit(self._in_force)
            self.finished.emit()

    def _try(self, change: Callable[[], TransitionMatrix]) -> None:
        """Take a changed matrix over, or say why there is none and keep the present one."""
        try:
            changed = change()
        except SfumatoError as error:
            self._say("danger", " ".join(error_texts(error)))
            return
        self._take(MatrixDraft(changed))

    def _write(self, texts: dict[tuple[int, int], str]) -> None:
        if self._draft is not None and texts:
            self._take(self._draft.with_texts(texts))

    def _normalise(self) -> None:
        if self._draft is not None:
            self._try(self._draft.matrix.normalised)

    def _transpose(self) -> None:
        if self._draft is not None:
            texts = {(column, at): text for (at, column), text in self._draft.texts.items()}
            self._take(MatrixDraft(self._draft.matrix.transposed(), texts))

    def _take_back(self) -> None:
        if self._draft is not None:
            names = self._draft.matrix.names
            self._show(MatrixDraft.of(names, self._in_force.get("entries", [])))

    def _paste(self, text: str) -> None:
        draft = self._draft
        if draft is None:
            return
        block = _block(text)
        at = self.matrix.grid.currentIndex()
        if at.isValid() and block and len(block) < len(draft.matrix.names):
            size = len(draft.matrix.names)
            self._take(
                draft.with_texts(
                    {
                        (at.row() + down, at.column() + across): cell
                        for down, cells in enumerate(block)
                        for across, cell in enumerate(cells)
                        if at.row() + down < size and at.column() + across < size
                    }
                )
            )
            return
        self._try(lambda: read_matrix(text, draft.matrix.names))

    def _import(self) -> None:
        draft = self._draft
        text = self._chosen_text()
        if draft is not None and text is not None:
            self._try(lambda: read_matrix(text, draft.matrix.names))

    def _compare_pasted(self) -> None:
        self._compare(QGuiApplication.clipboard().text())

    def _compare_imported(self) -> None:
        text = self._chosen_text()
        if text is not None:
            self._compare(text)

    def _compare(self, text: str) -> None:
        if self._draft is None:
            return
        try:
            other = read_matrix(text, self._draft.matrix.names)
            for matrix, whose in ((self._draft.matrix, tr("This")), (other, tr("The other"))):
                problems = matrix.problems()
                if problems:
                    raise PolicyError(
                        "{whose} matrix is not right yet: {problem}",
                        "{mending}",
                        whose=whose,
                        problem=problems[0].what,
                        mending=problems[0].remedy,
                    )
        except SfumatoError as error:
            self.compare.refuse(error)
            return
        self.compare.start(self._draft.matrix, other)

    def _chosen_text(self) -> str | None:
        """Ask for a file and return its text; None where there is none."""
        path = self.session.chooser.open_file(
            tr("Import a matrix"), tr("Tables of text (*.csv *.tsv *.txt)")
        )
        if path is None:
            return None
        try:
            return _read(path)
        except SfumatoError as error:
            self._say("danger", " ".join(error_texts(error)))
        except (OSError, UnicodeDecodeError):
            self._say("danger", tr("The file can't be read as text. Save it as CSV in UTF-8."))
        return None


def _read(path: Path) -> str:
    if path.stat().st_size > LARGEST_FILE:
        raise PolicyError("The file is too large to be a matrix.", "Choose another file.")
    return path.read_text(encoding="utf-8-sig")


def _block(text: str) -> list[list[str]]:
    """Return a spreadsheet's cells: tab-separated lines."""
    return [line.split("\t") for line in text.splitlines() if line.strip()]
