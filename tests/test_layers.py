"""Imports point one way, and each room keeps to what it may touch."""

from __future__ import annotations

import ast

import pytest

from tests.source_code import Module, dotted, is_or_below, modules

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
        "sfumato.__main__",
    )
    assert modules(f"app/sfumato/{room}"), "the room is empty"
    assert offences(room, packages) == []


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


def test_figures_are_built_without_pyplot():
    assert offences("plots", ("matplotlib.pyplot", "pylab")) == []
    assert offences("ui", ("matplotlib.pyplot", "pylab")) == []


def test_threads_are_made_by_the_jobs_alone():
    makers = ("threading.Thread", "threading.Timer", "concurrent", "multiprocessing", "asyncio")
    qt_makers = ("QThread", "QThreadPool", "QRunnable", "QtConcurrent")
    qt_makers = tuple(f"PySide6.QtCore.{name}" for name in qt_makers)
    for room in ("formats", "project", "analysis", "plots", "ui"):
        assert offences(room, (*makers, *qt_makers)) == []
        used = [
            f"{module.place}:{node.lineno} uses {dotted(node)}"
            for module in modules(f"app/sfumato/{room}")
            for node in module.nodes
            if isinstance(node, ast.Attribute) and dotted(node) in makers
        ]
        assert used == []


def test_a_panel_does_not_know_the_other_panels():
    strangers = []
    for module in modules("app/sfumato/ui/panels"):
        parts = module.name.split(".")
        if len(parts) < 5:
            continue
        own = ".".join(parts[:4])
        shared = ("sfumato.ui.panels.base", own)
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
