"""`sfumato about`: the versions, and what is found by being in a folder."""

from __future__ import annotations

import json
import re

from sfumato import __version__
from sfumato.commands import COMMANDS
from sfumato.commands.shared.command import ExitCode
from tests.source_code import ROOT

PACKAGE = ROOT / "app" / "sfumato"


def modules_with(folder, attribute, name):
    """What defines an attribute, by reading the files: modules, and packages by a module's name."""
    paths = (*folder.glob("*.py"), *folder.glob(f"*/{name}.py"))
    found = (path for path in paths if f"\n{attribute}" in path.read_text(encoding="utf-8"))
    return sorted(path.parent.name if path.stem == name else path.stem for path in found)


def test_all_that_lies_in_the_folders_is_found(line):
    assert line.run("about", "--json") == ExitCode.OK
    found = json.loads(line.output)["found"]
    assert found["commands"] == list(COMMANDS)
    panels = modules_with(PACKAGE / "ui" / "panels", "PANEL = ", "__init__")
    assert sorted(found["steps"]) == panels
    mechanisms = modules_with(PACKAGE / "engine" / "mechanisms", "MECHANISM", "mechanism")
    assert len(found["mechanisms"]) == len(found["editors"]) == len(mechanisms)
    assert set(found["mechanisms"]) == set(found["editors"])
    questions = PACKAGE / "analysis" / "questions"
    assert len(found["questions"]) >= len(modules_with(questions, "QUESTION", "question")) > 1
    pages = modules_with(PACKAGE / "ui" / "panels" / "audit" / "pages", "PAGE", "page")
    assert sorted(found["audit pages"]) == pages
    written = [path.read_text() for path in (PACKAGE / "formats" / "tables").glob("*.py")]
    formats = re.findall(r"^    order = \d+$", "\n".join(written), re.MULTILINE)
    assert len(found["formats"]) == len(formats)
    pages = {path.stem for path in (ROOT / "resources" / "help").glob("*.md")}
    assert set(found["help pages"]) == pages


def test_the_versions_are_told_with_licences_and_so_is_the_network(line):
    assert line.run("about") == ExitCode.OK
    assert line.output.startswith(f"Sfumato             {__version__}\n")
    assert "LGPL-3.0" in line.output
    assert line.output.strip().endswith("connects to no network, unless you open a database.")
