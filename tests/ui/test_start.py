"""What is imported and built before the window shows for the first time."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from sfumato.ui.panels import all_panels
from sfumato.ui.widgets.paint_queue import turns
from tests.ui.hands import load_table

SHOWN = """
import sys
from sfumato.ui.shell.application import make_application
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.state.settings import MemoryStore

application = make_application()
window = MainWindow(Session(store=MemoryStore()))
window.show()
application.processEvents()
assert not window.grab().isNull()
print(*sys.modules, sep="\\n", flush=True)
window.session.close()
"""
LATER = (
    *("matplotlib", "openpyxl", "pyreadstat", "sklearn", "duckdb"),
    "adbc_driver_manager",
    *("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.special"),
    *("sfumato.commands", "sfumato.plots.figure"),
    *("sfumato.report.material", "sfumato.report.writing"),
)


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules of a process that shows the window."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    shown = subprocess.run(
        [sys.executable, "-c", SHOWN], env=environment, capture_output=True, text=True, check=False
    )
    assert shown.returncode == 0, shown.stderr
    return set(shown.stdout.split())


@pytest.mark.parametrize("library", LATER)
def test_the_windows_first_picture_does_without(imported, library):
    assert {name for name in imported if name == library or name.startswith(f"{library}.")} == set()


def test_no_panel_but_the_first_is_imported_at_the_start(imported):
    built = {
        kind.name for kind in all_panels() if f"sfumato.ui.panels.{kind.name}.panel" in imported
    }
    assert built == {"data"}


def test_the_other_panels_are_built_once_something_is_open(window, qtbot, clinic):
    assert len(window.panels.built) == 1
    load_table(window, qtbot, clinic)
    qtbot.waitUntil(lambda: not turns().waits(window.panels.stack), timeout=60_000)
    assert window.panels.built == tuple(window.panels)
    assert window.rail.step("attributes").state is window.panels["attributes"].state()


def test_a_panel_is_built_when_it_is_looked_at(window):
    window.show_panel("audit")
    assert window.panels.built == ("data", "audit")
    assert window.current.name == "audit"
