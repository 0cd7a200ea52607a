"""The real application, on a real screen, as a screen reader hears it over AT-SPI and D-Bus."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.screen import Screen

PYTHON = "/usr/bin/python3"
READER = Path(__file__).with_name("screen_reader.py")
TOOLS = ("Xvfb", "openbox", "xdotool", "dbus-run-session", PYTHON)
STEPS = ("Data", "Attributes", "Policy", "Preview", "Releases", "Audit")
UNNAMED = ("push button", "combo box", "check box", "radio button", "spin button", "slider")

pytestmark = [pytest.mark.slow, pytest.mark.alone]


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What the screen reader was told while keys were pressed, from an empty window on."""
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} is not installed")
    bindings = "import gi; gi.require_version('Atspi', '2.0'); from gi.repository import Atspi"
    if subprocess.run([PYTHON, "-c", bindings], check=False, capture_output=True).returncode:
        pytest.skip("PyGObject with AT-SPI (python3-gi, gir1.2-atspi-2.0) is not installed")
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o700)
    with Screen() as screen:
        own = {"DISPLAY": screen.display, "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
        own |= {"XDG_CONFIG_HOME": str(home), "QT_QPA_PLATFORM": "xcb", "LANG": "C.UTF-8"}
        command = ["dbus-run-session", "--", PYTHON, str(READER), sys.executable, "-m", "sfumato"]
        done = subprocess.run(
            command,
            check=False,
            env=os.environ | own,
            capture_output=True,
            text=True,
            timeout=400,
        )
    if "The window can't open" in done.stderr:
        pytest.skip(f"Qt can't open a window here: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])  # others print into the session too


def named(told, role):
    return [name for kind, name in told if kind == role]


def test_the_window_its_steps_and_its_menus_are_there_with_their_names(told):
    first = told["first"]
    [frame] = named(first, "frame")
    assert "Sfumato" in frame
    steps = named(first, "radio button")
    assert [step.partition(":")[0] for step in steps] == list(STEPS)
    worked_on = [name for name in named(told["sample"], "radio button") if ": " in name]
    assert worked_on, "no step tells how far it is"
    assert named(first, "menu item") == ["File", "Edit", "View", "Help"]
    assert {"Steps of the work", "What is promised", "Running work"} <= set(named(first, "panel"))


def test_a_panel_that_is_brought_up_by_its_key_is_announced_and_shown(told):
    assert ["announced", "Attributes"] in told["keys"]
    assert "Attributes" in named(told["second"], "heading")
    assert "Open a table…" not in named(told["second"], "push button")


def test_the_sample_is_opened_by_what_is_heard_alone_and_its_controls_have_names(told):
    sample = told["sample"]
    assert any(named(sample, "table"))
    for page in ("first", "second", "sample"):
        assert [kind for kind, name in told[page] if kind in UNNAMED and not name] == []


def test_the_board_of_the_finished_sample_is_read_cell_by_cell(told):
    recipients = ("Regional health office", "University study group", "Public file")
    board = [re.sub(r", suppressed in [\d,]+ rows", "", each) for each in told["board"]]
    read = [each for each in board if each.partition(", ")[0] in recipients]
    assert len(read) > 30
    for ending in (
        "sex: exact, female stays female",
        "region: coarsened, Harbour becomes Coast",
        "name: left out",
    ):
        assert {f"{each}, {ending}" for each in recipients} <= set(read)
    for each in recipients:
        said = f"{each}, diagnosis: randomised, the true value in "
        assert any(cell.startswith(said) and cell.endswith(" of 100 records") for cell in read)
