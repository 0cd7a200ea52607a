"""What a coalition restores from the very files that were released."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.answers import Answer
from sfumato.analysis.coalitions.holdings import Holding
from sfumato.analysis.coalitions.restored_files import RealizedReport, answer_of_files, weigh_held
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.disclosure.record_risk import RecordRisk
from sfumato.ui.look.wording import spoken, typeset
from sfumato.ui.panels.audit.holders import tr
from sfumato.ui.panels.audit.pages.answer import AnswerView
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import column, label, say
from sfumato.ui.widgets.messages import error_texts

JOB: Final = "audit files"


class ReleasedFiles(QWidget):
    """Makes the released columns again and tells what they give away of each record."""

    failed = Signal(object)
    """A `Message`: the plot could not be saved."""

    def __init__(self, session: Session, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._coalition: tuple[Holding, ...] = ()
        self.sentence = label("", wrap=True)
        self.agreement = label("", "muted", wrap=True)
        heading = self.tr("In the files as released")
        self.shown = AnswerView(session.chooser, heading, self)
        self.shown.failed.connect(self.failed)
        note = self.tr(
            "The figures above are averages over the noise. Here the released values themselves"
            " are looked at, record by record."
        )
        words = (label(heading, "heading"), label(note, "muted", wrap=True))
        self.setLayout(column(*words, self.sentence, self.agreement, self.shown))
        self.hide()

    def show_coalition(self, coalition: Sequence[Holding], expected: RecordRisk) -> None:
        """Weigh the files of a coalition, if they are released; else there is nothing to show.

        Parameters
        ----------
        coalition
            What the members hold, the most trusted first.
        expected
            What they restore on average over the noise.
        """
        session, rows = self._session, self._session.all_rows()
        released = not any(one.planned for one in coalition)
        if session.project is None or rows is None or not coalition or not released:
            self.dismiss()
            return
        self._coalition = tuple(coalition)
        self._say(tr("The released columns are being made again."))
        self.show()
        session.runner.run(
            self.tr("Weighing the released files"),
            partial(weigh_held, rows, self._coalition),
            partial(self._show, self._coalition, expected),
            self._refuse,
            key=JOB,
        )

    def dismiss(self) -> None:
        """Show nothing any more."""
        self._session.runner.cancel(JOB)
        self._coalition = ()
        self._say("")
        self.hide()

    def _show(
        self, coalition: tuple[Holding, ...], expected: RecordRisk, report: RealizedReport
    ) -> None:
        if coalition != self._coalition:
            return
        if report.risk is None:
            self._say(tr("That can't be told: {reason}", reason=spoken(report.reason)))
            return
        answer = answer_of_files(report, expected)
        told, *agreement = map(typeset, answer.sentences)
        self._say(told, " ".join(agreement), answer)

    def _refuse(self, error: SfumatoError) -> None:
        self._say(" ".join(error_texts(error)).strip())

    def _say(self, sentence: str, agreement: str = "", answer: Answer | None = None) -> None:
        self.sentence.setText(sentence)
        say(self.agreement, agreement)
        self.shown.show_answer(answer or Answer(()))
