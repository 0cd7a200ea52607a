"""Sfumato as it is installed from a wheel: one package, and nothing of the checkout is needed."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("pyproject.toml", "README.md", "NOTICE.md", "setup.py", "app", "resources")
LOCKED = ROOT / "installer" / "locked" / "run.txt"

pytestmark = pytest.mark.slow


def run(*command, **options) -> str:
    done = subprocess.run(
        [str(each) for each in command],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        **options,
    )
    assert done.returncode == 0, done.stderr[-2_000:]
    return done.stdout


def install(python: Path, *what) -> None:
    pip = ["-m", "pip", "--python", python, "install", "-q", "--no-compile"]
    run(sys.executable, *pip, *what)


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An empty environment with what is locked; its Python.

    Neither a pip of its own nor bytecode is written: most of it is imported by nobody here.
    """
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    install(python, "--require-hashes", "-r", LOCKED)
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel, built from a copy of the sources."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        there = folder / "source" / name
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, there, ignore=shutil.ignore_patterns("*.egg-info"))
        else:
            there.parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / name, there)
    build = ["-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation"]
    run(sys.executable, *build, "--wheel-dir", folder, folder / "source")
    [built] = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_package_with_its_resources_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0].split("-")[0] for name in names} == {"sfumato"}
    held = {name for name in names if name.startswith("sfumato/resources/")}
    wanted = ROOT / "resources"
    files = [path for path in wanted.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert held == {f"sfumato/{path.relative_to(wanted.parent).as_posix()}" for path in files}


def test_an_installed_sfumato_makes_its_demonstration_from_any_folder(wheel, environment, tmp_path):
    install(environment, "--no-deps", wheel)
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    clean["QT_QPA_PLATFORM"] = "offscreen"
    command = environment.parent / "sfumato"
    told = run(command, "demo", "--out", tmp_path / "demo", cwd=tmp_path, env=clean)
    assert "The demo is done." in told
    assert len(list((tmp_path / "demo" / "bundles").iterdir())) == 3
    assert list((tmp_path / "demo" / "pictures").glob("*.png"))
