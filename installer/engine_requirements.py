"""Print what the engine and its tests need, one requirement a line; there is no Qt in it."""

import re
import sys
import tomllib
from pathlib import Path

ENGINE = {"cryptography", "numpy", "pandas", "scipy"}
TESTS = {"pytest", "hypothesis"}

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
wanted = [*project["dependencies"], *project["optional-dependencies"]["test"]]
for requirement in wanted:
    if re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower() in ENGINE | TESTS:
        sys.stdout.write(requirement + "\n")
