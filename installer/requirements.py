"""Print what pyproject.toml asks for, one requirement a line, as `installer/lock` needs it.

``run`` is what the application needs, ``test`` with what its tests need; ``engine`` is what the
engine and its tests need, without Qt; ``package`` is what packages are built with, and of;
``spark`` is Spark, which is large: CI alone installs it; ``uv`` is what installs the others.
"""

import re
import sys
import tomllib
from pathlib import Path

COMPUTING = {"cryptography", "numpy", "pandas", "scipy"}
TESTING = {"hypothesis", "pycanon", "pytest", "pytest-xdist", "scikit-learn"}


def name_of(requirement: str) -> str:
    """Return the package that a requirement names."""
    return re.split(r"[^A-Za-z0-9_-]", requirement)[0].lower()


file = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))
build, project = file["build-system"]["requires"], file["project"]
run = [*build, *project["dependencies"]]
extras = project["optional-dependencies"]
test = [*run, *extras["databases"], *extras["dask"], *extras["test"]]
engine = [requirement for requirement in test if name_of(requirement) in COMPUTING | TESTING]
package = [*run, *extras["databases"], *file["dependency-groups"]["package"]]
wanted = {"spark": extras["spark"], "run": run, "test": test, "engine": engine, "package": package}
wanted["uv"] = ["uv"]
sys.stdout.writelines(f"{requirement}\n" for requirement in wanted[sys.argv[1]])
