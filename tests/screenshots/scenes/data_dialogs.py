"""The dialogs that are about no panel in particular, before an open table or an empty window."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import TypeVar

import pandas as pd
from PySide6.QtWidgets import QDialog

from sfumato.jobs import BugReport
from sfumato.project import SUFFIX
from sfumato.ui.dialogs.base import NewPassphraseDialog, OpenPassphraseDialog
from sfumato.ui.dialogs.help import HelpDialog
from sfumato.ui.shell.next_edition import NextEditionDialog
from sfumato.ui.state.recovering import RecoverDialog
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


def _recovering(stage: Stage) -> None:
    """A code of a recovery sheet, with a typing error in its third group."""
    stage.open_sample()
    path = stage.create_project().path
    stage.session.set_project(None)
    stage.window.projects.open(path)
    _dialog(stage, OpenPassphraseDialog).forgot.click()
    dialog = _dialog(stage, RecoverDialog)
    dialog.code.setText("CX3ZV-3TJ0V-YC1NK-NHG5F-JD4SD-F26FV-TY8FB-G1JBS")
    dialog.first.setText("three random words")
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


def _next_edition(stage: Stage) -> None:
    """Next month's file, in which people came, left and changed, and one category is new."""
    stage.open_sample()
    stage.create_project(released=True)
    source = stage.session.document.source
    assert source is not None
    assert isinstance(source.place, Path)
    frame = pd.read_csv(source.place, dtype=str).iloc[40:]
    sensitive = stage.session.document.policy[0].attributes[0]
    frame.loc[frame.index[:90], sensitive] = frame[sensitive].iloc[90:180].to_numpy()
    frame.loc[frame.index[:3], sensitive] = "not known before"
    path = stage.folder / f"{LONG_NAME}.csv"
    frame.to_csv(path, index=False)
    stage.session.chooser.open_file = lambda *_asked: path  # type: ignore[method-assign]
    stage.session.edition_requested.emit()
    _dialog(stage, NextEditionDialog)
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
    Scene("dialog-recovery", _recovering),
    Scene("dialog-found", _found),
    Scene("dialog-found-bundle", partial(_found, packed=True)),
    Scene("dialog-next-edition", _next_edition),
    Scene("dialog-bug", _bug),
    Scene("dialog-help", _help),
)
