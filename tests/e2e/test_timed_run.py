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
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.audit.pages.report import ReportPage
from sfumato.ui.panels.base import PanelState
from tests.e2e.test_main_job import PASSPHRASE, command
from tests.ui import test_keyboard as by_keys
from tests.ui.hands import choose, click, dialog_of, type_into
from tests.ui.keys import Keys

MOST_SECONDS = 600
"""A person's ten minutes; the script leaves them nearly all for thinking."""
PERSONS = 3_000
ROLES = {"income": Role.SENSITIVE, "health": Role.SENSITIVE}
TOWNS = {"Ahausen": 0.35, "Birkdorf": 0.25, "Calden": 0.2, "Dornheim": 0.12, "Eschbach": 0.08}
HEALTH = {"very good": 0.2, "good": 0.4, "fair": 0.25, "poor": 0.12, "very poor": 0.03}
WORK = ["nurse", "teacher", "farmer", "driver", "engineer", "cook", "clerk", "none"]


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Three thousand made-up people, in the households that they live in."""
    random = np.random.default_rng(7)
    sizes = random.choice([1, 2, 3, 4, 5], PERSONS, p=[0.38, 0.32, 0.13, 0.12, 0.05])
    household = np.repeat(np.arange(PERSONS), sizes)[:PERSONS]
    person = 1 + np.concatenate([np.arange(size) for size in sizes])[:PERSONS]
    adult = person <= 2
    age = np.where(adult, random.integers(18, 95, PERSONS), random.integers(0, 18, PERSONS))
    worked = np.where(age > 66, "retired", random.choice(WORK, PERSONS))
    earned = (random.lognormal(7.6, 0.45, PERSONS) // 10 * 10).astype(int)
    town = random.choice(list(TOWNS), PERSONS, p=list(TOWNS.values()))
    frame = pd.DataFrame(
        {
            "household": [f"H{number:05d}" for number in household],
            "person": person,
            "sex": random.choice(["female", "male"], PERSONS),
            "age": age,
            "town": town[household],
            "occupation": np.where(adult, worked, "pupil"),
            "income": np.where(adult, earned, 0),
            "health": random.choice(list(HEALTH), PERSONS, p=list(HEALTH.values())),
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
        for row in range(policy.list.count()):
            policy.list.setCurrentRow(row)
            self.clicks += 1
            page = policy.unprotected
            self.clicks_on(page.protect if page.protect.isVisible() else page.cards[0])
        self.clicks_on(policy.page.recipients.add_typical)
        views = policy.views
        for pressed in (views.propose, views.state_k, views.find_levels):
            self.clicks_on(pressed)
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
        self._qtbot.waitUntil((folder / "report.html").is_file, timeout=60_000)
        self.waits()


def check(window, folder: Path) -> None:
    """Three bundles that keep their k and verify, with nothing explained away, and a report."""
    made = window.session.project.releases
    assert [release.details.get("accepted") for release in made] == [None] * 3
    assert [release.policy.recipient(release.recipient).view.k for release in made] == [3, 5, 20]
    assert window.rail.step("releases").state is PanelState.DONE
    assert (folder / "report.html").stat().st_size > 10_000
    bundles = list((folder / "bundles").iterdir())
    assert len(bundles) == 3
    for bundle in bundles:
        seen = pd.read_csv(bundle / "data.csv")[["person", "sex", "age", "town", "occupation"]]
        k = {"Trusted": 3, "Contract": 5, "Public": 20}[bundle.name.split("-")[1]]
        shown = seen[(seen != "*").any(axis=1)]
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
def test_by_keys(window, qtbot, answers, survey, tmp_path, capsys):
    window.activateWindow()
    qtbot.waitActive(window)
    keys, began = Keys(window, qtbot), time.monotonic()
    by_keys.opens(keys, answers, survey)
    by_keys.decides(keys, ROLES)
    by_keys.protects(keys)
    by_keys.coarsens(keys)
    qtbot.waitUntil(lambda: window.rail.step("policy").state is PanelState.DONE, timeout=60_000)
    by_keys.releases(keys, answers, tmp_path)
    by_keys.reports(keys, answers, tmp_path / "report.html")
    took = time.monotonic() - began
    tell(capsys, f"by keys: {keys.pressed} keys, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS


@pytest.mark.slow
@pytest.mark.alone
def test_by_mouse(window, qtbot, answers, survey, tmp_path, capsys):
    mouse, began = Mouse(window, qtbot, answers), time.monotonic()
    mouse.works(survey, tmp_path)
    took = time.monotonic() - began
    tell(capsys, f"by mouse: {mouse.clicks} clicks, {mouse.letters} letters, {took:.1f} s")
    check(window, tmp_path)
    assert took < MOST_SECONDS
