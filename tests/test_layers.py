"""Imports point one way, and each room keeps to what it may touch."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from graphlib import CycleError, TopologicalSorter

import pytest

from tests.rooms import FLOORS, PICTURE, imports_of_rooms, picture
from tests.source_code import ROOT, Module, dotted, is_or_below, modules

BELOW = {
    "engine": set(),
    "formats": {"engine"},
    "project": {"engine", "formats"},
    "analysis": {"engine", "formats", "project"},
    "plots": {"engine", "formats", "project", "analysis"},
    "jobs": {"engine", "formats", "project", "analysis"},
    "report": {"engine", "formats", "project", "analysis", "plots"},
}
"""For each room, the rooms it may import; ui and the commands are on top and may import all."""

ROOMS = {*BELOW, "ui", "commands"}
QT = ("PySide6", "shiboken6", "PyQt6", "qtpy")
NO_QT = ("engine", "formats", "project", "analysis", "plots")
FILES_AND_CLOCKS = (
    *("os", "io", "pathlib", "shutil", "tempfile", "glob", "sqlite3", "zipfile", "mmap"),
    *("time", "socket", "subprocess", "logging", "matplotlib", "pyarrow"),
)
CLOCK_CALLS = ("datetime.now", "datetime.today", "datetime.utcnow", "date.today")
RANDOM = ("random", "numpy.random", "np.random", "scipy.stats.qmc")


def offences(room: str, packages: tuple[str, ...]) -> list[str]:
    return [
        f"{module.place}:{line} imports {name}"
        for module in modules(f"app/sfumato/{room}")
        for line, name in module.imports()
        if any(is_or_below(name, package) for package in packages)
    ]


@pytest.mark.parametrize("room", sorted(BELOW))
def test_a_room_imports_only_the_rooms_below_it(room):
    forbidden = ROOMS - BELOW[room] - {room}
    packages = (
        *(f"sfumato.{name}" for name in sorted(forbidden)),
        "sfumato.cli",
        "sfumato.api",
        "sfumato.__main__",
    )
    assert modules(f"app/sfumato/{room}"), "the room is empty"
    assert offences(room, packages) == []


ENGINES = ("sfumato.dask", "sfumato.spark")
"""What the engines of clusters call; a command may call it too."""


@pytest.mark.parametrize("engine", ENGINES)
def test_what_workers_of_a_cluster_import_stands_on_the_project_alone(engine):
    (found,) = (module for module in modules("app/sfumato") if module.name == engine)
    named = {name for _, name in found.imports()}
    ours = {name for name in named if is_or_below(name, "sfumato")}
    below = ("sfumato.engine", "sfumato.formats", "sfumato.project")
    assert ours
    assert not [name for name in ours if not any(is_or_below(name, each) for each in below)]
    for room in sorted(ROOMS - {"commands"}):
        assert offences(room, (engine, engine.removeprefix("sfumato."), "pyspark")) == []


def test_a_worker_of_a_cluster_imports_none_of_the_large_libraries():
    large = {"PySide6", "scipy.stats", "scipy.optimize", "matplotlib", "sqlite3", "xlrd"}
    code = f"import sys, sfumato.project.release.workers; print({large} & sys.modules.keys())"
    path = {**os.environ, "PYTHONPATH": str(ROOT / "app")}
    ran = subprocess.run([sys.executable, "-c", code], env=path, capture_output=True, check=True)
    assert ran.stdout.decode().strip() == "set()"


@cache
def imported_files() -> dict[str, set[str]]:
    """For each file of the package the files it imports, also for the type checker alone."""
    files = {module.name: module for module in modules("app/sfumato")}
    # What programs import by the house's own name is listed there for type checkers, and is fetched
    # when it is asked for.
    del files["sfumato"]
    found: dict[str, set[str]] = {}
    for name, module in files.items():
        named = {each for _, each in module.imports()}
        # ``from a import b`` names a as well: where b is a file, it is b that is imported.
        packages = {each.rpartition(".")[0] for each in named & files.keys()}
        found[name] = {each for each in named if each in files and each != name} - packages
    return found


def circle_in(imports: Mapping[str, set[str]]) -> list[str]:
    """One circle, from a name back to itself; empty where there is none."""
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_files_import_each_other():
    assert circle_in(imported_files()) == []


@cache
def engine_folders() -> list[str]:
    named = {module.name for module in modules("app/sfumato/engine")}
    parents = {name.rpartition(".")[0] for name in named}
    return sorted(name for name in parents if is_or_below(name, "sfumato.engine"))


@pytest.mark.parametrize("folder", engine_folders())
def test_the_rooms_of_one_floor_of_the_engine_do_not_import_each_other(folder):
    """Among a folder's subfolders, and the files that lie beside them, imports run one way."""

    def room(name: str) -> str:
        inside = name.removeprefix(f"{folder}.").split(".")
        return inside[0] if f"{folder}.{inside[0]}" in engine_folders() else "files"

    rooms: dict[str, set[str]] = {}
    for name, imported in imported_files().items():
        if is_or_below(name, folder) and name != folder:
            others = {room(each) for each in imported if each.startswith(f"{folder}.")}
            rooms.setdefault(room(name), set()).update(others - {room(name)})
    assert circle_in(rooms) == []


@pytest.mark.parametrize("floor", [floor for floors in FLOORS for floor in floors])
def test_the_rooms_of_a_floor_import_one_way(floor):
    rooms = imports_of_rooms(floor)
    assert circle_in(rooms) == []


def test_the_picture_of_the_rooms_shows_the_code():
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tests.rooms draws it again"


def test_circles_are_found():
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert circle_in({"a": {"b"}, "b": {"c"}, "c": {"a"}}) != []


@pytest.mark.parametrize("room", NO_QT)
def test_below_the_jobs_nothing_knows_qt(room):
    assert offences(room, QT) == []


def test_the_engine_touches_no_files_and_no_clock():
    assert offences("engine", FILES_AND_CLOCKS) == []
    calls = [
        f"{module.place}:{node.lineno} calls {name}"
        for module in modules("app/sfumato/engine")
        for node in module.nodes
        if isinstance(node, ast.Call) and (name := dotted(node.func))
        if name in {"open", "print", "input"} or name.endswith(CLOCK_CALLS)
    ]
    assert calls == []


def test_nothing_is_released_but_through_the_check():
    makers = ("make_release", "make_plan")
    made = tuple(f"sfumato.project.release.release.{name}" for name in makers)
    found = {each.split(":")[0] for room in sorted(ROOMS) for each in offences(room, made)}
    assert found == {"app/sfumato/analysis/releasing.py"}


def test_figures_are_built_without_pyplot():
    assert offences("plots", ("matplotlib.pyplot", "pylab")) == []
    assert offences("ui", ("matplotlib.pyplot", "pylab")) == []


THREADED = ("engine/core/parallel.py", "formats/databases.py")
"""Where the engine computes in threads, and a database is waited for; all of them have ended when
a call returns, but for a connection that nobody waits for any more."""


def test_threads_are_made_by_the_jobs_and_for_single_calls_below_them():
    makers = ("threading.Thread", "threading.Timer", "concurrent", "multiprocessing", "asyncio")
    qt_makers = ("QThread", "QThreadPool", "QRunnable", "QtConcurrent")
    qt_makers = tuple(f"PySide6.QtCore.{name}" for name in qt_makers)
    found = []
    for room in sorted(ROOMS - {"jobs"}):
        found += offences(room, (*makers, *qt_makers))
        found += [
            f"{module.place}:{node.lineno} uses {dotted(node)}"
            for module in modules(f"app/sfumato/{room}")
            for node in module.nodes
            if isinstance(node, ast.Attribute) and dotted(node) in makers
        ]
    allowed = tuple(f"app/sfumato/{place}:" for place in THREADED)
    assert [offence for offence in found if not offence.startswith(allowed)] == []
    assert {offence.split(":")[0] for offence in found} == {place[:-1] for place in allowed}


def test_the_engines_threads_end_with_the_call_that_made_them():
    lasting = []
    for module in modules("app/sfumato/engine"):
        with_end = {
            item.context_expr
            for node in module.nodes
            if isinstance(node, ast.With)
            for item in node.items
        }
        lasting += [
            f"{module.place}:{node.lineno}"
            for node in module.nodes
            if isinstance(node, ast.Call) and dotted(node.func).endswith("PoolExecutor")
            if node not in with_end
        ]
    assert lasting == []


def test_a_panel_does_not_know_the_other_panels():
    strangers = []
    for module in modules("app/sfumato/ui/panels"):
        parts = module.name.split(".")
        if len(parts) < 5:
            continue
        own = ".".join(parts[:4])
        shared = ("sfumato.ui.panels.base", "sfumato.ui.panels.import_page", own)
        strangers += [
            f"{module.place}:{line} imports {name}"
            for line, name in module.imports()
            if name.startswith("sfumato.ui.panels.")
            and not any(is_or_below(name, package) for package in shared)
        ]
    assert strangers == []


def test_nothing_in_the_product_draws_from_generators_whose_state_shows_in_their_output():
    found = [
        f"{module.place}:{line} imports {name}"
        for module in modules("app")
        for line, name in module.imports()
        if any(is_or_below(name, package) for package in RANDOM)
    ]
    found += [
        f"{module.place}:{node.lineno} uses {dotted(node)}"
        for module in modules("app")
        for node in module.nodes
        if isinstance(node, ast.Attribute) and dotted(node) in {"np.random", "numpy.random"}
    ]
    assert found == []


def test_the_engine_keeps_no_state_between_calls():
    found = []
    for module in modules("app/sfumato/engine"):
        found += [
            f"{module.place}:{node.lineno} is global"
            for node in module.nodes
            if isinstance(node, ast.Global)
        ]
        found += [
            f"{module.place}:{node.lineno} is a container that could change"
            for node in module.tree.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and _could_change(node)
        ]
    assert found == []


def _could_change(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether a module-level name holds a container that no annotation makes read-only."""
    value = node.value
    container = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp) or (
        isinstance(value, ast.Call)
        and dotted(value.func).rpartition(".")[2] in {"list", "dict", "set", "defaultdict", "deque"}
    )
    if not container or _is_all(node):
        return False
    annotation = ast.unparse(node.annotation) if isinstance(node, ast.AnnAssign) else ""
    return "Mapping[" not in annotation and "Sequence[" not in annotation


def _is_all(node: ast.Assign | ast.AnnAssign) -> bool:
    return isinstance(node, ast.Assign) and [dotted(t) for t in node.targets] == ["__all__"]


def test_relative_imports_are_seen_as_what_they_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.source_code.ROOT", tmp_path)
    path = tmp_path / "app" / "sfumato" / "engine" / "a.py"
    path.parent.mkdir(parents=True)
    path.write_text("from ..ui import theme\nfrom . import table\nimport os.path\n")
    names = [name for _, name in Module(path).imports()]
    assert names == [
        "sfumato.ui",
        "sfumato.ui.theme",
        "sfumato.engine",
        "sfumato.engine.table",
        "os.path",
    ]


NETWORKS = (
    *("socket", "ssl", "http", "urllib.request", "urllib3", "requests", "httpx", "aiohttp"),
    *("ftplib", "smtplib", "xmlrpc", "asyncio", "PySide6.QtNetwork", "PySide6.QtWebEngineCore"),
    *("PySide6.QtWebSockets", "pyarrow.flight", "pyarrow.fs", "fsspec"),
)


def test_nothing_reaches_for_a_network():
    found = [
        f"{module.place}:{line} imports {name}"
        for module in modules("app/sfumato")
        for line, name in module.imports()
        if any(is_or_below(name, network) for network in NETWORKS)
    ]
    assert found == []
