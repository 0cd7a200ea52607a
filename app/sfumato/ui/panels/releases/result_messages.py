"""What became of an order, told in the panel: the releases, and why some were refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from PySide6.QtCore import QCoreApplication

from sfumato.ui.panels.base import Panel
from sfumato.ui.panels.releases.making import Made, Refusal
from sfumato.ui.shell.messages import Action, MessageKind, error_texts

REFUSALS_TOLD: Final = 2
"""More are told in one message: beside the one about what was made, there is room for two."""


def tell_made(panel: Panel, made: Made, show_folder: Callable[[Path], None]) -> None:
    """Tell what became of an order.

    Parameters
    ----------
    panel
        Where it is told.
    made
        The releases and the refusals.
    show_folder
        Shows where a bundle is.
    """
    _tell_refused(panel, made.refusals)
    if not made.outcomes:
        return
    tr = QCoreApplication.translate
    first = made.outcomes[0].path
    words = tr("Releases", "{count} releases are in {folder}.")
    if len(made.outcomes) == 1:
        words = tr("Releases", "The release is in {folder}.")
    panel.tell(
        MessageKind.GOOD,
        words.format(count=len(made.outcomes), folder=first.parent),
        tr("Releases", "Hand each recipient only the bundle with their name."),
        Action(tr("Releases", "Show folder"), partial(show_folder, first)),
        topic="release",
    )


def _tell_refused(panel: Panel, refusals: tuple[Refusal, ...]) -> None:
    """Tell of each release that was refused; of many in one message, with the first reason."""
    tr = QCoreApplication.translate
    together = len(refusals) > REFUSALS_TOLD
    for refusal in reversed(refusals[:1] if together else refusals):
        what, remedy = error_texts(refusal.error)
        told = tr("Releases", "No release for {name}: {what}")
        told = told.format(name=refusal.recipient, what=what)
        if together:
            names = ", ".join(other.recipient for other in refusals)
            remedy = f"{told} {remedy}"
            told = tr("Releases", "No release for {names}.").format(names=names)
        panel.tell(MessageKind.DANGER, told, remedy, topic=f"refused {refusal.recipient}")
