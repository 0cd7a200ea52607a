"""The button that offers the best matrix within limits: one job, both gains, one step of undo."""

from __future__ import annotations

from functools import partial
from typing import Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QWidget

from sfumato.analysis.utility.best_matrix import BestMatrixOffer, offer_best_matrix
from sfumato.analysis.utility.mechanism_choice import behind_source
from sfumato.engine.core.progress import Context, Part
from sfumato.ui.dialogs.base import ChoiceDialog
from sfumato.ui.look.wording import quoted, spoken, typeset
from sfumato.ui.panels.policy.wording import tr
from sfumato.ui.state.session import Session
from sfumato.ui.widgets.layout import button

JOB: Final = "best matrix"


class BestMatrixProposer(QObject):
    """Finds the best matrix within the limits in force, and puts it into effect once accepted.

    Parameters
    ----------
    session
        What is open.
    """

    refused = Signal(object)
    """Why there is none: a `SfumatoError`."""

    def __init__(self, session: Session, parent: QWidget) -> None:
        super().__init__(parent)
        self._session = session
        self._name = ""
        tip = tr("More records may keep their value; you see what both are worth before you choose")
        words = tr("Best matrix within these limits…")
        self.button = button(words, self.propose, "quiet", tip=tip)

    def show_attribute(self, name: str) -> None:
        """Take the attribute whose limits are in sight."""
        self._name = name

    def leave(self) -> None:
        """Stop looking for a matrix."""
        self._session.runner.cancel(JOB)

    def propose(self) -> None:
        """Find the matrix in a job."""
        session, name = self._session, self._name
        document, keys, held = session.document, session.keys, session.survey
        entry, known = document.entry_for(name), session.attribute(name)
        if entry is None or known is None or held is None:
            return
        source = held
        attribute = known.attribute

        def work(context: Context) -> BestMatrixOffer:
            behind = behind_source(document, source, keys, Part(context, 0.0, 0.2))
            context.report(0.3, tr("Finding the best matrix"))
            return offer_best_matrix(document, entry, attribute, behind)

        words = tr("Best matrix for {name}", name=quoted(name))
        take = session.unless_changed(words, partial(self._ask, words))
        session.runner.run(words, work, take, self.refused.emit, key=JOB)

    def _ask(self, words: str, offer: BestMatrixOffer) -> None:
        """Tell both gains; nothing is changed unless the person takes the matrix."""
        told = "\n\n".join(typeset(spoken(one)) for one in (offer.sentence, offer.about_levels))
        ways = (("take", tr("Use this matrix")),)
        dialog = ChoiceDialog(words, told, ways, self.button.window())
        edit = partial(self._session.edit, words)
        take = self._session.unless_changed(words, edit)
        dialog.present(partial(take, offer.document))
