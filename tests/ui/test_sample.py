"""The sample: finished at a click, blank beside it, and released within a few clicks."""

from __future__ import annotations

import pytest

from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.policy.board.page import DRAWER
from tests.ui.hands import click, dialog_of, settle, type_into

PASSPHRASE = "seven pears under glass"


class Clicks:
    """Counts what is clicked."""

    def __init__(self, qtbot, session):
        self.made = 0
        self._qtbot, self._session = qtbot, session

    def __call__(self, widget):
        self.made += 1
        click(widget)
        settle(self._qtbot, self._session)


@pytest.mark.slow
def test_the_sample_is_released_by_five_clicks_and_one_passphrase(window, qtbot, answers, tmp_path):
    session, clicks = window.session, Clicks(qtbot, window.session)
    session.store.setValue(DRAWER, 0)
    answers.saved = tmp_path / "sample.sfumato"
    clicks(window.panels["data"].welcome.sample_button)
    assert window.current.name == "policy"
    board = window.panels["policy"].board
    assert board.view.isVisible()
    assert len(board.model.people) == 3
    clicks(window.rail.step("releases"))
    releases = window.panels["releases"]
    assert "samples" not in releases.form.folder.text(), "not among the program's files"
    releases.form.folder.setText(str(tmp_path / "releases"))
    assert releases.primary.text() == "&Release to 3"
    clicks(releases.primary)
    clicks.made += 1  # where the project is saved, in the system's own dialog
    dialog = dialog_of(window, NewPassphraseDialog)
    type_into(dialog.first, PASSPHRASE)
    type_into(dialog.second, PASSPHRASE)
    clicks(dialog.submit)
    qtbot.waitUntil(lambda: len(session.project.releases) == 3)
    settle(qtbot, session)
    assert len(list((tmp_path / "releases").iterdir())) == 3
    assert clicks.made <= 5
