"""A mechanism is its engine package, its editor and its texts: without these it is gone."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from sfumato.engine.mechanisms import all_mechanisms
from tests.source_code import ROOT

QUICK = "reconstruction"
"""The mechanism whose parts others use most; the rest are tried where there is time."""

TABLE = "sex,illness\n" + "".join(
    f"{'fm'[row % 2]},{('asthma', 'cold', 'flu', 'gout')[row * 7 % 4]}\n" for row in range(40)
)

RULES = """\
format = 1
title = "Ward 7"

[columns.sex]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = ["asthma", "cold", "flu", "gout"]

[[policy]]
attributes = ["illness"]
mechanism = "{mechanism}"

[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = {{ {level} }}
"""

TRIAL = """
import importlib, pkgutil, sys
import sfumato
from sfumato.engine.mechanisms import all_mechanisms

assert sfumato.__file__.startswith(sys.argv[1]), sfumato.__file__
for module in pkgutil.walk_packages(sfumato.__path__, "sfumato."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
print(*all_mechanisms())

from pathlib import Path
from PySide6.QtWidgets import QApplication
from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options
from sfumato.project.document.model import Document
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import read_source
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
from sfumato.ui.panels.policy.board.page import DRAWER
from sfumato.ui.state.insights import SurveyedTable
from sfumato.ui.state.settings import MemoryStore

table_file, rules, mechanism = sys.argv[2:5]
application = QApplication([])
store = MemoryStore()
store.setValue(DRAWER, 1)
session = Session(store=store)
window = MainWindow(session)
window.show()
path = Path(table_file)
table, source = read_source(path, detect_options(path), Silent())
document = Document(title="Ward 7", source=source)
document = apply_rules(
    Path(rules).read_text(), MemorySurvey(table.in_memory(Silent())), document, noise=session.noise
)
session.open_table("Open", SurveyedTable.of(table), document)
window.show_panel("policy")
while session.runner.jobs:
    application.processEvents()
application.processEvents()
panel = window.panels["policy"]
assert panel.page.editor is not None
print(panel.page.editor.mechanism)
window.close()
session.runner.shutdown()

from sfumato.cli import main

def run(*arguments):
    ended = main(list(arguments))
    assert ended == 0, (arguments, ended)

given = ("--table", table_file, "--rules", rules)
run("init", "ward.sfumato", *given)
run("release", "ward.sfumato", "--recipient", "Clinic A", "--out", "out", "--accept", "a test")
[bundle] = Path("out").iterdir()
run("verify", str(bundle), "--project", "ward.sfumato")
Path(rules).write_text(Path(rules).read_text().replace(panel.page.editor.mechanism, mechanism))
run("init", "refused.sfumato", *given)
"""


def without(mechanism: str, folder: Path) -> Path:
    """Copy the package into a folder, and delete a mechanism from it."""
    app = folder / "app"
    package = app / "sfumato"
    shutil.copytree(ROOT / "app" / "sfumato", package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "resources", folder / "resources")
    own = type(all_mechanisms()[mechanism]).__module__.split(".mechanisms.")[1].split(".")[0]
    for room in ("engine/mechanisms", "ui/panels/policy/mechanisms"):
        home = package / room / own
        if home.is_dir():
            shutil.rmtree(home)
        else:
            home.with_suffix(".py").unlink()
    (folder / "resources" / "help" / f"mechanism-{mechanism}.md").unlink()
    code = "".join(path.read_text("utf-8") for path in package.rglob("*.py"))
    for guide in (folder / "resources" / "recipient").glob(f"{mechanism}*.md"):
        if not re.search(f'"{guide.stem}"', code):
            guide.unlink()
    return app


def tried(app: Path, *arguments: object) -> tuple[list[str], str]:
    """Run `TRIAL` on the copy; return the lines that it said before it ended, and why it did."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(app),
        "QT_QPA_PLATFORM": "offscreen",
        "SFUMATO_PASSPHRASE": "nine herons on one leg",
    }
    ended = subprocess.run(
        [sys.executable, "-c", TRIAL, *map(str, (app, *arguments))],
        cwd=app.parent,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    return ended.stdout.splitlines(), ended.stderr


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize(
    "mechanism",
    [
        pytest.param(name, marks=() if name == QUICK else pytest.mark.slow)
        for name in all_mechanisms()
    ],
)
def test_without_its_package_editor_and_texts_a_mechanism_is_gone_and_all_else_works(
    mechanism, tmp_path
):
    app = without(mechanism, tmp_path)
    rest = [name for name in all_mechanisms() if name != mechanism]
    others = [all_mechanisms()[name] for name in rest]
    other = next(each for each in others if each.least_attributes == 1)
    statement = other.default_statements(1)[0]
    level = ", ".join(f"{name} = {value}" for name, value in statement.items())
    table, rules = tmp_path / "ward.csv", tmp_path / "rules.toml"
    table.write_text(TABLE, encoding="utf-8")
    rules.write_text(RULES.format(mechanism=other.name, level=level), encoding="utf-8")

    said, why = tried(app, table, rules, mechanism)
    assert said[0].split() == rest
    assert said[1] == other.name
    assert said[-1] == "Verified.", why
    assert "'refused.sfumato'" in why.splitlines()[-1]  # and nothing before it failed
    assert f"no mechanism {mechanism}" in why
