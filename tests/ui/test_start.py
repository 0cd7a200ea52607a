"""What is imported and built before the window shows for the first time."""

from __future__ import annotations

import os
import subprocess
import sys
from itertools import pairwise

import pytest
from PySide6.QtWidgets import QWidget

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
"""
BUILT = """
window.panels.values()
print(*sys.modules, sep="\\n", flush=True)
"""
ENDED = "window.session.close()"
LATER = (
    *("matplotlib", "xlrd", "sfumato.formats.workbooks", "pyreadstat", "sklearn", "duckdb"),
    "adbc_driver_manager",
    *("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.special"),
    *("sfumato.commands", "sfumato.plots.figure"),
    *("sfumato.report.material", "sfumato.report.writing"),
)
MOST_AT_ONCE = 170
"""How many widgets may be made before the window answers again: some 20 ms of work."""


def modules_after(*code: str) -> set[str]:
    """Return the modules of a process that ran some code and told them at the end."""
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    ended = subprocess.run(
        [sys.executable, "-c", "".join([*code, ENDED])],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stdout.split())


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """The modules of a process that shows the window."""
    return modules_after(SHOWN)


@pytest.fixture(scope="module")
def imported_by_all() -> set[str]:
    """Those of one that has built all panels."""
    return modules_after(SHOWN, BUILT)


@pytest.mark.slow
@pytest.mark.parametrize("library", LATER)
def test_the_windows_first_picture_does_without(imported, library):
    assert {name for name in imported if name == library or name.startswith(f"{library}.")} == set()


@pytest.mark.slow
def test_no_panel_but_the_first_is_imported_at_the_start(imported):
    built = {
        kind.name for kind in all_panels() if f"sfumato.ui.panels.{kind.name}.panel" in imported
    }
    assert built == {"data"}


@pytest.mark.slow
@pytest.mark.parametrize("library", ["xlrd", "pyreadstat", "duckdb"])
def test_what_reads_other_files_is_imported_once_there_is_one(imported_by_all, library):
    assert "sfumato.formats.tables.excel" in imported_by_all
    assert library not in imported_by_all


@pytest.mark.slow
def test_the_other_panels_are_built_once_something_is_open(window, qtbot, clinic):
    assert len(window.panels.built) == 1
    load_table(window, qtbot, clinic)
    qtbot.waitUntil(lambda: not turns().waits(window.panels.stack))
    assert window.panels.built == tuple(window.panels)
    assert window.rail.step("attributes").state is window.panels["attributes"].state()


def test_a_panel_is_built_when_it_is_looked_at(window):
    window.show_panel("audit")
    assert window.panels.built == ("data", "audit")
    assert window.current.name == "audit"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attributes", "policy", "preview", "releases", "audit"])
def test_a_panel_is_built_in_steps_none_of_which_is_much_of_it(window, session, name):
    [kind] = [kind for kind in all_panels() if kind.name == name]
    panel = kind(session, window, at_once=False)
    counts = [0, *(len(panel.findChildren(QWidget)) for _ in panel.steps)]
    assert len(counts) > 2
    assert max(after - before for before, after in pairwise(counts)) < MOST_AT_ONCE


@pytest.mark.slow
def test_a_panel_that_is_looked_at_while_it_is_built_is_whole(window, qtbot, clinic):
    load_table(window, qtbot, clinic)
    qtbot.waitUntil(lambda: "policy" in window.panels._begun)
    window.show_panel("policy")
    assert window.current.ways.page.start is not None
    qtbot.waitUntil(lambda: not turns().waits(window.panels.stack))
    assert window.panels.built == tuple(window.panels)
    assert window.panels.stack.count() == len(window.panels)
