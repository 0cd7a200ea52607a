"""The main job as a new user does it in the window, and the same from the command line."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest

from sfumato.cli import main
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE, Terminal
from sfumato.engine.core.columns import Role
from sfumato.resources import resource_path
from sfumato.ui.dialogs.base import NewPassphraseDialog
from sfumato.ui.panels.base import PanelState
from sfumato.ui.shell.main_window import MainWindow
from tests.ui.fixtures import Answers
from tests.ui.hands import choose, click, dialog_of, press, settle, type_into

PASSPHRASE = "nine herons on one leg"
LEVELS = {"Trusted partner": 0.6, "Contract recipient": 0.3, "Public": 0.1}
IDENTIFYING = ("record_number", "name", "postcode")


class NewUser:
    """Somebody who works through the panels from the first to the last."""

    def __init__(self, window: MainWindow, answers: Answers, qtbot: Any) -> None:
        self.window, self.answers, self._qtbot = window, answers, qtbot

    def goes_to(self, name: str) -> Any:
        QTest.mouseClick(self.window.rail.step(name), Qt.MouseButton.LeftButton)
        self.waits()
        assert self.window.current.name == name
        return self.window.panels[name]

    def waits(self) -> None:
        settle(self._qtbot, self.window.session)

    def opens_the_sample(self) -> None:
        self.window.menus.actions["open-sample"].trigger()
        self.waits()
        click(self.window.panels["data"].load_button)
        self.waits()

    def marks_attributes(self) -> None:
        panel = self.goes_to("attributes")
        roles = dict.fromkeys(IDENTIFYING, Role.IDENTIFYING) | {"diagnosis": Role.SENSITIVE}
        for name, role in roles.items():
            panel.choose(name)
            choose(panel.detail.role, role)
        self.waits()

    def sets_the_policy(self) -> None:
        panel = self.goes_to("policy")
        if panel.unprotected.protect.isVisible():
            click(panel.unprotected.protect)
        else:
            cards = panel.unprotected.cards
            click(next(c for c in cards if c.sentence.startswith("Uniform retention")))
        press(panel, panel.page.recipients.add_typical.text().replace("&", ""))
        for row, retention in enumerate(LEVELS.values()):
            panel.page.recipients.table.selectRow(row)
            self.waits()
            click(panel.page.editor.terms.cards["retention"])
            field = panel.page.editor.fields["retention_probability"]
            field.field.spin.setValue(retention)

    def releases_into(self, folder: Path, project: Path) -> None:
        panel = self.goes_to("releases")
        type_into(panel.form.folder, str(folder))
        self.answers.saved = project
        self.waits()
        if panel.readiness.ask.isVisible():
            type_into(panel.readiness.reason, "The sample is made up")
        click(panel.primary)
        dialog = dialog_of(self.window, NewPassphraseDialog)
        type_into(dialog.first, PASSPHRASE)
        type_into(dialog.second, PASSPHRASE)
        click(dialog.submit)
        self.waits()


@pytest.fixture
def user(window: MainWindow, answers: Answers, qtbot: Any) -> NewUser:
    return NewUser(window, answers, qtbot)


def command(*arguments: object) -> tuple[int, str]:
    """Run a command; return its exit code and everything it said."""
    said = io.StringIO()
    terminal = Terminal(said, said, io.StringIO(), {PASSPHRASE_VARIABLE: PASSPHRASE})
    return main([str(argument) for argument in arguments], terminal), said.getvalue()


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.mark.slow
def test_a_new_user_releases_the_sample_and_the_command_line_makes_the_same_bytes(
    user: NewUser, tmp_path: Path
):
    project, out, again = tmp_path / "clinic.sfumato", tmp_path / "out", tmp_path / "again"
    user.opens_the_sample()
    user.marks_attributes()
    user.sets_the_policy()
    for name in ("preview", "audit"):
        user.goes_to(name)
    user.releases_into(out, project)

    session = user.window.session
    assert [release.recipient for release in session.project.releases] == list(LEVELS)
    assert user.window.panels["releases"].state() is PanelState.DONE
    for release in session.project.releases:
        [plan] = release.plans
        assert plan.level == LEVELS[release.recipient]
        check_bundle(release.target)

    user.window.menus.actions["new"].trigger()
    assert session.project is None
    for name in LEVELS:
        accept = ("--accept", "nobody is in the table")
        code, said = command("release", project, "--recipient", name, "--out", again, *accept)
        assert code == 0, said
    assert contents(again) == contents(out)
    for bundle in again.iterdir():
        code, said = command("verify", bundle, "--project", project)
        assert code == 0, said
        check_alteration_is_found(bundle, project)


def check_bundle(bundle: Path) -> None:
    """Nothing that identifies is in it, and the other columns are as they were."""
    [data] = bundle.glob("*.csv")
    released = pd.read_csv(data)
    original = pd.read_csv(resource_path("samples", "clinic.csv"))
    assert not set(IDENTIFYING) & set(released.columns)
    assert len(released) == len(original)
    unchanged = ["sex", "region", "occupation", "admission_date", "length_of_stay"]
    assert sorted(map(str, released[unchanged].to_numpy().tolist())) == sorted(
        map(str, original[unchanged].to_numpy().tolist())
    )
    # Rows have left in an order of their own: records that these columns tell apart are laid side
    # by side by them.
    single = ~original.duplicated(unchanged, keep=False)
    pairs = original[single].merge(released, on=unchanged, suffixes=("", " released"))
    assert len(pairs) == single.sum() > 1_000
    kept = (pairs["diagnosis"].fillna("") == pairs["diagnosis released"].fillna("")).mean()
    assert 0.1 < kept < 0.7
    assert (released["sex"] == original["sex"]).mean() < 0.7


def check_alteration_is_found(bundle: Path, project: Path) -> None:
    """One changed value makes the verification fail, and say where."""
    [data] = bundle.glob("*.csv")
    text = data.read_text(encoding="utf-8")
    data.write_text(text.replace("Asthma", "Stroke", 1), encoding="utf-8")
    code, said = command("verify", bundle, "--project", project)
    assert code == 1
    assert data.name in said
    assert "Asthma" not in said
