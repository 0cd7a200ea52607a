"""Whether one matrix can be made from another: the question of two releases side by side."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.matrices.dense_matrix import DenseMatrix
from sfumato.engine.matrices.matrix import GarblingTest
from sfumato.engine.matrices.transition_matrix import TransitionMatrix
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.shell.messages import error_texts
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import Card, button, label, row, set_look

JOB: Final = "compare matrices"
MOST_NAMED: Final = 4


@dataclass(frozen=True)
class Comparison:
    """Both directions: is this matrix a garbling of the other, and the other of this one."""

    this_of_other: GarblingTest
    other_of_this: GarblingTest


def compare(this: TransitionMatrix, other: TransitionMatrix, context: Context) -> Comparison:
    """Examine both directions (for a job).

    Raises
    ------
    SfumatoError
        If one of them is no transition matrix.
    """
    first, second = DenseMatrix(this.entries), DenseMatrix(other.entries)
    context.report(0.1, "Looking for a channel")
    one = first.test_garbling_of(second)
    context.report(0.5, "Looking for a channel back")
    return Comparison(one, second.test_garbling_of(first))


class CompareCard(Card):
    """Takes a second matrix and says how it stands to the one in the grid."""

    paste_asked = Signal()
    import_asked = Signal()

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(
            tr("Compare with another matrix"),
            tr(
                "Was this attribute released by another matrix before? If one of the two can be"
                " made from the other, holding both tells nothing more than the better one."
            ),
            parent,
        )
        self._session = session
        self.paste = button(tr("Paste the other matrix"), self.paste_asked.emit)
        self.from_file = button(tr("Import it…"), self.import_asked.emit)
        self.verdict = label("", "", wrap=True)
        self.body.addLayout(row(self.paste, self.from_file, None))
        self.body.addWidget(self.verdict)
        self.verdict.hide()

    def start(self, this: TransitionMatrix, other: TransitionMatrix) -> None:
        """Compare two matrices, in a job."""
        self._say(tr("Comparing…"), "muted")
        self._session.runner.run(
            tr("Comparing two matrices"),
            partial(compare, this, other),
            partial(self._show, this.names),
            self.refuse,
            key=JOB,
        )

    def leave(self) -> None:
        """Stop, and forget what was found."""
        self._session.runner.cancel(JOB)
        self.verdict.hide()

    def refuse(self, error: SfumatoError) -> None:
        """Say why there is nothing to compare."""
        self._say(" ".join(error_texts(error)), "danger")

    def _show(self, names: tuple[str, ...], found: Comparison) -> None:
        this, other = found.this_of_other, found.other_of_this
        if this.holds and other.holds:
            self._say(tr("Each can be made from the other: they tell the same."), "good")
        elif this.holds:
            self._say(
                tr(
                    "Yes: this matrix can be made from the other one. Whoever holds both releases"
                    " learns no more than from the other alone."
                ),
                "good",
            )
        elif other.holds:
            self._say(
                tr(
                    "Yes: the other matrix can be made from this one. Whoever holds both releases"
                    " learns no more than from this one alone."
                ),
                "good",
            )
        else:
            lines = [
                tr("No: neither can be made from the other. Together they tell more than each."),
                _forbidden(tr("This from the other"), names, this),
                _forbidden(tr("The other from this"), names, other),
            ]
            self._say("\n".join(lines), "danger")

    def _say(self, text: str, look: str) -> None:
        self.verdict.setText(text)
        set_look(self.verdict, look)
        self.verdict.show()


def _forbidden(direction: str, names: tuple[str, ...], test: GarblingTest) -> str:
    """Name the entries that forbid a direction."""
    if not test.forbidding:
        return tr("{direction}: no channel exists.", direction=direction)
    listed = "; ".join(
        f"{names[entry.original]} → {names[entry.released]}: {entry.value:.3g}"
        for entry in test.forbidding[:MOST_NAMED]
    )
    return tr(
        "{direction}: the channel would need negative chances ({listed}).",
        direction=direction,
        listed=listed.replace("-", "−"),
    )
