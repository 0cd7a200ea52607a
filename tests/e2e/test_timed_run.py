"""From a survey of 34 columns to three sound bundles and a report: timed, its actions counted."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.columns import Role
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from tests.e2e.test_main_job import PASSPHRASE, command
from tests.household import household_survey
from tests.ui import test_keyboard as by_keys
from tests.ui.hands import click, dialog_of, type_into
from tests.ui.keys import Keys

MOST_SECONDS = 300
"""A person's five minutes; the script leaves them nearly all for thinking."""
PATIENCE = 200_000
"""So many milliseconds one step may take on a busy machine."""
QUASI = Role.QUASI_IDENTIFIER
PERSONS = 1_000
KS = {"Trusted partner": 5, "Contract recipient": 5, "Public file": 20}
"""Whom a plan is made for, and how many are alike there."""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """A thousand made-up people, each with 34 answers."""
    frame = household_survey(PERSONS)
    assert frame.shape[1] == 34
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False)
    return path


class Mouse:
    """Clicks and types, and counts both."""

    def __init__(self, window, qtbot, answers):
        self.window, self.answers, self._qtbot = window, answers, qtbot
        self.clicks = self.letters = 0

    def clicks_on(self, widget: QWidget) -> None:
        self._qtbot.waitUntil(lambda: widget.isVisible() and widget.isEnabled(), timeout=PATIENCE)
        click(widget)
        self.clicks += 1
        self.waits()

    def types(self, field: QWidget, text: str) -> None:
        type_into(field, text)
        self.letters += len(text)

    def waits(self) -> None:
        runner = self.window.session.runner
        self._qtbot.waitUntil(lambda: not runner.jobs, timeout=PATIENCE)

    def goes_to(self, name):
        self.clicks_on(self.window.rail.step(name))
        return self.window.panels[name]

    def works(self, survey: Path, folder: Path) -> None:
        self.answers.file = survey
        data = self.window.panels["data"]
        self.clicks_on(data.welcome.open_button)
        self.clicks_on(data.load_button)
        self.goes_to("policy")
        releases = self.goes_to("releases")
        assert not releases.readiness.ask.isVisible(), "nothing has to be explained away"
        self.types(releases.form.folder, str(folder / "bundles"))
        self.answers.saved = folder / "ward.sfumato"
        self.clicks += 1
        click(releases.primary)
        dialog = dialog_of(self.window, NewPassphraseDialog)
        for field in (dialog.first, dialog.second):
            self.types(field, PASSPHRASE)
        self.clicks_on(dialog.submit)
        audit = self.goes_to("audit")
        self.clicks_on(audit.report)
        page = audit.current
        assert isinstance(page, ReportPage)
        self.answers.saved = folder / "report.html"
        self.clicks_on(page.html)
        self._qtbot.waitUntil((folder / "report.html").is_file, timeout=PATIENCE)
        self.waits()


def check(window, folder: Path) -> None:
    """Three bundles that keep their k and verify, with nothing explained away, and a report."""
    made = window.session.project.releases
    assert [release.details.get("accepted") for release in made] == [None] * 3
    ks = {each.recipient: each.policy.recipient(each.recipient).view.k for each in made}
    assert ks == KS
    assert window.rail.step("releases").state is PanelState.DONE
    assert (folder / "report.html").stat().st_size > 10_000
    bundles = list((folder / "bundles").iterdir())
    assert len(bundles) == 3
    quasi = [each.name for each in window.session.document.columns if each.role is QUASI]
    for bundle in bundles:
        data = pd.read_csv(bundle / "data.csv", dtype=str, keep_default_na=False)
        seen = data[[name for name in quasi if name in data.columns]]
        [k] = [k for name, k in KS.items() if name.split()[0] in bundle.name]
        shown = seen[(seen != "*").any(axis=1)]
        assert len(shown) > 0.9 * PERSONS
        assert shown.value_counts().min() >= k
    window.menus.actions["new"].trigger()
    for bundle in bundles:
        code, said = command("verify", bundle, "--project", folder / "ward.sfumato")
        assert code == 0, said


def tell(capsys, facts: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n  {facts}")


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.turns(2)  # by keys in one commit, by mouse in the next
def test_by_keys(window, qtbot, answers, survey, tmp_path, capsys):
    window.activateWindow()
    qtbot.waitActive(window)
    keys, began = Keys(window, qtbot), time.monotonic()
    by_keys.opens(keys, answers, survey)
    keys.press(Qt.Key.Key_3, ctrl=True)
    keys.waits()
    qtbot.waitUntil(lambda: window.rail.step("policy").state is PanelState.DONE, timeout=PATIENCE)
    by_keys.releases(keys, answers, tmp_path)
    by_keys.reports(keys, answers, tmp_path / "report.html")
    took = time.monotonic() - began
    tell(capsys, f"by keys: {keys.pressed} keys, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.turns(2)  # by keys in one commit, by mouse in the next
def test_by_mouse(window, qtbot, answers, survey, tmp_path, capsys):
    mouse, began = Mouse(window, qtbot, answers), time.monotonic()
    mouse.works(survey, tmp_path)
    took = time.monotonic() - began
    tell(capsys, f"by mouse: {mouse.clicks} clicks, {mouse.letters} letters, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS
