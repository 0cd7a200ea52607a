"""Adopting noisy copies of numbers through the widgets that a person uses."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.release.release import make_release
from sfumato.project.verification.verify import verify_bundle
from sfumato.ui.panels.audit.pages.numbers import NumbersPage
from sfumato.ui.panels.policy import PANEL
from tests.in_batches import in_batches
from tests.ui import test_adopting
from tests.ui.clinic import save_clinic, wait_for_jobs
from tests.ui.hands import click, messages, on_screen, type_into
from tests.ui.payroll import open_payroll, payroll_table, protected

TABLE = payroll_table(2_000)
NAMES = ["age", "income"]
ask = test_adopting.ask


@pytest.fixture
def panel(qtbot, session):
    made = on_screen(qtbot, PANEL(session), 1000, 900)
    open_payroll(session, protected(), TABLE)
    wait_for_jobs(qtbot, session)
    return made


def noisy(path, level, seed=3):
    """Write a copy as numpy makes it: Y = X + √v·L·Z."""
    settings = protected().policy[0].settings
    factor = np.linalg.cholesky(np.array(settings["covariance"]))
    draw = np.random.default_rng(seed)
    noise = math.sqrt(level) * factor @ draw.normal(size=(2, TABLE.rows))
    frame = TABLE.frame.drop(columns="name")
    frame.assign(**{n: frame[n] + noise[i] for i, n in enumerate(NAMES)}).to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_a_noisy_copy_is_adopted_released_beside_and_weighed(qtbot, panel, ask, tmp_path):
    dialog = ask(noisy(tmp_path / "old.csv", 0.5))
    assert list(dialog.form.columns) == NAMES
    assert dialog.findings.texts[0].startswith("It becomes a rung")
    assert any("noise level σ² is 0.5" in text or "0.49" in text for text in dialog.findings.texts)
    type_into(dialog.form.holder, "Old Clinic")
    click(dialog.submit)
    wait_for_jobs(qtbot, panel.session)
    (file,) = adopted_files(panel.session.document.policy[0].settings)
    assert (file.holder, file.level, file.rung) == ("Old Clinic", 0.5, True)
    assert "σ² = 0.5, adopted" in panel.page.ladder.accessibleDescription()
    project = save_clinic(panel.session, tmp_path)
    for name in ("Clinic A", "Public"):
        made = make_release(project, in_batches(TABLE), name, tmp_path / "out", "csv", Silent())
        failed = verify_bundle(project, in_batches(TABLE), made.path, Silent()).failed
        assert [check.finding for check in failed] == []
    page = on_screen(qtbot, NumbersPage(panel.session))
    wait_for_jobs(qtbot, panel.session)
    held = [holding.recipient for holding in page.model.coalition]
    assert held == ["Clinic A", "Old Clinic", "Public"]
    assert "than Clinic A alone" in page.sentence.text()


@pytest.mark.slow
def test_a_copy_of_other_noise_is_told_with_what_it_gives_away(panel, ask, tmp_path):
    click(ask(noisy(tmp_path / "old.csv", 0.5)).submit)
    dialog = ask(noisy(tmp_path / "other.csv", 0.8, seed=4))
    assert dialog.findings.texts[0].startswith("It does not fit the ladder")
    assert any("Together they leave" in text for text in dialog.findings.texts)
    assert dialog.submit.text().replace("&", "") == "Adopt beside the ladder"


@pytest.mark.slow
def test_true_numbers_are_no_release_to_adopt(panel, ask, tmp_path):
    path = tmp_path / "true.csv"
    TABLE.frame.to_csv(path, index=False)
    dialog = ask(path)
    assert not dialog.submit.isEnabled()
    assert "are the true ones" in messages(dialog.messages)[0] + " ".join(dialog.findings.texts)
