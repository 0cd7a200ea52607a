"""From an empty window to three sound bundles and a report: timed, its actions counted."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PySide6.QtWidgets import QWidget

from sfumato.engine.core.columns import Role
from sfumato.ui.dialogs.projects import NewPassphraseDialog
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from tests.e2e.test_main_job import PASSPHRASE, command
from tests.ui import test_keyboard as by_keys
from tests.ui.hands import choose, click, dialog_of, type_into
from tests.ui.keys import Keys

MOST_SECONDS = 600
"""A person's ten minutes; the script leaves them nearly all for thinking."""
ROWS = 5_000
ROLES = {"respondent": Role.IDENTIFYING, "health": Role.SENSITIVE}


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Five thousand made-up respondents."""
    random = np.random.default_rng(7)
    frame = pd.DataFrame(
        {
            "respondent": [f"R{place:05d}" for place in range(ROWS)],
            "sex": random.choice(["female", "male"], ROWS),
            "region": random.choice(["north", "east", "south", "west"], ROWS),
            "health": random.choice(
                ["good", "fair", "poor", "ill"], ROWS, p=[0.5, 0.3, 0.15, 0.05]
            ),
        }
    )
    path = tmp_path / "survey.csv"
    frame.to_csv(path, index=False)
    return path


class Mouse:
    """Clicks and types, and counts both."""

    def __init__(self, window, qtbot, answers):
        self.window, self.answers, self._qtbot = window, answers, qtbot
        self.clicks = self.letters = 0

    def clicks_on(self, widget: QWidget) -> None:
        self._qtbot.waitUntil(lambda: widget.isVisible() and widget.isEnabled(), timeout=60_000)
        click(widget)
        self.clicks += 1
        self.waits()

    def types(self, field: QWidget, text: str) -> None:
        type_into(field, text)
        self.letters += len(text)

    def waits(self) -> None:
        runner = self.window.session.runner
        self._qtbot.waitUntil(lambda: not runner.jobs, timeout=60_000)

    def goes_to(self, name):
        self.clicks_on(self.window.rail.step(name))
        return self.window.panels[name]

    def works(self, survey: Path, folder: Path) -> None:
        self.answers.file = survey
        data = self.window.panels["data"]
        self.clicks_on(data.welcome.open_button)
        self.clicks_on(data.load_button)
        attributes = self.goes_to("attributes")
        for name, role in ROLES.items():
            attributes.choose(name)
            choose(attributes.detail.role, role)
            self.clicks += 3  # the row, the list of roles, the role
        policy = self.goes_to("policy")
        page = policy.unprotected
        self.clicks_on(page.protect if page.protect.isVisible() else page.cards[0])
        self.clicks_on(policy.page.recipients.add_typical)
        releases = self.goes_to("releases")
        self.types(releases.form.folder, str(folder / "bundles"))
        self.answers.saved = folder / "ward.sfumato"
        if releases.readiness.ask.isVisible():
            self.types(releases.readiness.reason, "The table is made up")
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
        self._qtbot.waitUntil((folder / "report.html").is_file, timeout=60_000)
        self.waits()


def check(window, folder: Path) -> None:
    """Three bundles that verify, and a report."""
    assert len(window.session.project.releases) == 3
    assert window.rail.step("releases").state is PanelState.DONE
    assert (folder / "report.html").stat().st_size > 10_000
    bundles = list((folder / "bundles").iterdir())
    assert len(bundles) == 3
    window.menus.actions["new"].trigger()
    for bundle in bundles:
        code, said = command("verify", bundle, "--project", folder / "ward.sfumato")
        assert code == 0, said


def tell(capsys, facts: str) -> None:
    with capsys.disabled():
        sys.stdout.write(f"\n  {facts}")


@pytest.mark.slow
def test_by_keys(window, qtbot, answers, survey, tmp_path, capsys):
    window.activateWindow()
    qtbot.waitActive(window)
    keys, began = Keys(window, qtbot), time.monotonic()
    by_keys.opens(keys, answers, survey)
    by_keys.decides(keys, ROLES)
    by_keys.protects(keys)
    by_keys.releases(keys, answers, tmp_path)
    by_keys.reports(keys, answers, tmp_path / "report.html")
    took = time.monotonic() - began
    tell(capsys, f"by keys: {keys.pressed} keys, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS


@pytest.mark.slow
def test_by_mouse(window, qtbot, answers, survey, tmp_path, capsys):
    mouse, began = Mouse(window, qtbot, answers), time.monotonic()
    mouse.works(survey, tmp_path)
    took = time.monotonic() - began
    tell(capsys, f"by mouse: {mouse.clicks} clicks, {mouse.letters} letters, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS
