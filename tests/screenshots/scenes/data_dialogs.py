"""The dialogs that are about no panel in particular, before an open table or an empty window."""

from __future__ import annotations

import shutil
from functools import partial
from typing import TypeVar

from PySide6.QtWidgets import QDialog

from sfumato.jobs import BugReport
from sfumato.project import SUFFIX
from sfumato.ui.dialogs.base import NewPassphraseDialog, OpenPassphraseDialog
from sfumato.ui.dialogs.help import HelpDialog
from tests.screenshots.stage import Scene, Stage

LONG_NAME = "Survey of admissions to the hospitals of the northern region 2024, final"

Kind = TypeVar("Kind", bound=QDialog)


def _dialog(stage: Stage, kind: type[Kind]) -> Kind:
    """Return the dialog that is open."""
    stage.settle()
    return next(one for one in stage.window.findChildren(kind) if one.isVisible())


def _leaving(stage: Stage) -> None:
    """A new project is asked for, and the work is in none."""
    stage.open_sample()
    stage.window.projects.new()
    stage.settle()


def _new_passphrase(stage: Stage) -> None:
    """A passphrase that a program would guess, typed differently the second time."""
    stage.open_sample()
    path = stage.folder / f"{LONG_NAME}{SUFFIX}"
    stage.session.chooser.save_file = lambda *_asked: path  # type: ignore[method-assign]
    stage.window.projects.save()
    dialog = _dialog(stage, NewPassphraseDialog)
    dialog.first.setText("abc")
    dialog.second.setText("ab")
    stage.settle()


def _wrong_passphrase(stage: Stage) -> None:
    stage.open_sample()
    path = stage.create_project().path
    stage.session.set_project(None)
    stage.window.projects.open(path)
    dialog = _dialog(stage, OpenPassphraseDialog)
    dialog.first.setText("three random words")
    dialog.submitted.emit()
    stage.settle()


def _found(stage: Stage, *, packed: bool = False) -> None:
    """A released file is dropped on the window, or a bundle that was packed again."""
    stage.open_sample()
    stage.create_project(released=True)
    bundle = min((stage.folder / "bundles").iterdir())
    path = bundle / "data.csv"
    if packed:
        path = stage.folder / f"{LONG_NAME}.zip"
        shutil.make_archive(str(path.with_suffix("")), "zip", bundle)
    stage.window.open_file(path)
    stage.settle()


def _bug(stage: Stage) -> None:
    frame = '  File "sfumato/project/release/plan.py", line 120, in released\n    return kept'
    stage.window.show_bug(BugReport(f"Releasing to {LONG_NAME}", "KeyError", (frame,) * 6))
    stage.settle()


def _help(stage: Stage) -> None:
    stage.window.show_help()
    _dialog(stage, HelpDialog)


SCENES = (
    Scene("dialog-leaving", _leaving),
    Scene("dialog-new-project", _new_passphrase),
    Scene("dialog-passphrase", _wrong_passphrase),
    Scene("dialog-found", _found),
    Scene("dialog-found-bundle", partial(_found, packed=True)),
    Scene("dialog-bug", _bug),
    Scene("dialog-help", _help),
)
