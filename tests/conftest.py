"""Every test runs offscreen, in an empty home of its own, and leaves nothing behind.

The engine's tests run where Qt is not installed, so Qt is imported only where it is there.
"""

from __future__ import annotations

import gc
import hashlib
import itertools
import os
import secrets
import tempfile
import threading
from collections.abc import Callable, Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import settings

from tests.thorough import TURN, leave_to_ci, left_to_other_turns, tried
from tests.warm import CAN_FORK, SUBPROCESS

if find_spec("PySide6") is not None:
    from PySide6.QtCore import QCoreApplication, QEvent

HAS_QT = find_spec("PySide6") is not None
KEYS = os.environ.get("SFUMATO_TEST_KEYS", "1")
"""Names the secrets that tests draw: another name, other secrets (see `Draws`)."""

# As the application sets it before anything imports numpy. Threads of BLAS wait for each other:
# four walks through the window, side by side on two cores, took 160 seconds with them, 68 without.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# The command line speaks English, whatever the system's language is.
for _name in ("LC_ALL", "LC_MESSAGES", "LANG"):
    os.environ.pop(_name, None)

# A property is tried on the same examples each time, and on others where the keys are others.
settings.register_profile(
    "repeatable", derandomize=KEYS == "1", deadline=None, max_examples=tried(100)
)
settings.load_profile("repeatable")

_home = pytest.StashKey[tempfile.TemporaryDirectory]()


class Draws:
    """Stands for the system's randomness: each test and wide fixture draws its own secrets.

    A release is a function of its key, so with secrets that follow from a test's name a test
    that has passed passes again, alone or beside others, in any order. What holds for one key
    only is found by running the tests with another `SFUMATO_TEST_KEYS`.
    """

    def __init__(self) -> None:
        self.begin("before any test")

    def begin(self, name: str) -> None:
        """Draw what belongs to a name, from its beginning."""
        self.now = f"{KEYS} {name}", itertools.count()

    def token_bytes(self, size: int | None = None) -> bytes:
        """Stand for `secrets.token_bytes`."""
        name, counter = self.now
        return hashlib.shake_256(f"{name} {next(counter)}".encode()).digest(size or 32)


_draws = Draws()
_homes = itertools.count()
secrets.token_bytes = _draws.token_bytes  # `secrets.token_hex` draws from it too


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[object], request: pytest.FixtureRequest
) -> Iterator[None]:
    """Give a fixture that outlives a test secrets of its own, whichever test asks first."""
    if fixturedef.scope == "function":
        return (yield)
    before = _draws.now
    _draws.begin(f"{fixturedef.baseid} {fixturedef.argname} {getattr(request, 'param', '')}")
    try:
        return (yield)
    finally:
        _draws.now = before


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let a test's secrets follow from its name, and no test know what another has seen."""
    _draws.begin(item.nodeid)
    state = Path(item.config.stash[_home].name, "state", str(next(_homes)))
    os.environ["XDG_STATE_HOME"] = str(state)


def pytest_configure(config: pytest.Config) -> None:
    """Move into an empty home before anything asks where the home is."""
    gc.disable()  # until all is imported: see `pytest_collection_finish`
    home = tempfile.TemporaryDirectory(prefix="sfumato-home-", ignore_cleanup_errors=True)
    config.stash[_home] = home
    root = Path(home.name)
    for variable, folder in {
        "HOME": "home",
        "USERPROFILE": "home",
        "XDG_CONFIG_HOME": "config",
        "XDG_CACHE_HOME": "cache",
        "XDG_DATA_HOME": "data",
        "XDG_STATE_HOME": "state",
        "XDG_RUNTIME_DIR": "runtime",
        "APPDATA": "config",
        "LOCALAPPDATA": "cache",
        "MPLCONFIGDIR": "matplotlib",
    }.items():
        (root / folder).mkdir(mode=0o700, exist_ok=True)
        os.environ[variable] = str(root / folder)
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    for variable in ("QT_SCALE_FACTOR", "QT_STYLE_OVERRIDE", "QT_QPA_PLATFORMTHEME"):
        os.environ.pop(variable, None)


def pytest_report_header() -> str:
    """Tell which cases are tried of those that take turns."""
    return "all cases are tried" if TURN is None else f"SFUMATO_TEST_TURN={TURN}"


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave to CI what one run need not try each time, and to other turns what CI need not."""
    leave_to_ci(items)
    if left := left_to_other_turns(items):
        config.hook.pytest_deselected(items=left)
        names = {item.nodeid for item in left}
        items[:] = [item for item in items if item.nodeid not in names]


def pytest_collection_finish() -> None:
    """Let no search for garbage look at the libraries and the tests: a million objects."""
    gc.freeze()  # without a last look at them, which takes half a second
    gc.enable()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the home."""
    home = config.stash.get(_home, None)
    if home is not None:
        home.cleanup()


def _deliver_deferred_deletes() -> None:
    """Delete what Qt would delete at the next turn of the event loop."""
    application = QCoreApplication.instance()
    if application is None:
        return
    for _ in range(3):  # a deleted widget may leave its children for later
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        application.processEvents()


@pytest.fixture(autouse=True)
def nothing_left_behind(search_for_garbage: Callable[[], None]) -> Iterator[None]:
    """Deliver deferred deletes, and see that no thread outlives its test."""
    before = set(threading.enumerate())
    yield
    if HAS_QT:
        import_module("sfumato.formats.language").know_columns(())
        _deliver_deferred_deletes()
    # A pool's worker that Python has seen is a "dummy" thread; Qt ends it with its pool.
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not isinstance(thread, threading._DummyThread)
    ]
    for thread in left:
        thread.join(timeout=60)
    assert not [thread.name for thread in left if thread.is_alive()]
    search_for_garbage()


@pytest.fixture(autouse=True, scope="session")
def warm_library() -> Iterator[None]:
    """Let the library for statistical files start where its imports are done."""
    if not CAN_FORK or find_spec("pyreadstat") is None:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sfumato.formats.statistical.reading.subprocess", SUBPROCESS)
        yield


@pytest.fixture(autouse=True, scope="session")
def waited_for() -> Iterator[str]:
    """Let no test wait for the disk; give SQLite's way of waiting that projects have otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)  # refuses what is no open file, too
        if not HAS_QT:  # the engine alone
            yield ""
            return
        database = import_module("sfumato.project.store.database")
        usual = database.SYNCHRONOUS
        patch.setattr(database, "SYNCHRONOUS", "OFF")
        yield usual


@pytest.fixture(autouse=True, scope="session")
def remembered() -> Iterator[None]:
    """Let what takes long be computed once from the same arguments, but in the engine's tests."""
    with pytest.MonkeyPatch.context() as patch:
        if HAS_QT:
            import_module("tests.remembered").remember(patch)
        yield


pytest_plugins = ["tests.crashes", *(["tests.ui.fixtures"] if HAS_QT else [])]


@pytest.fixture(scope="session", autouse=True)
def search_for_garbage(request: pytest.FixtureRequest) -> Iterator[Callable[[], None]]:
    """Free what is left while Qt still stands: interpreters end in no certain order.

    There is one application in a process, and commands that draw make a lesser one where there
    is none: so the one that widgets need is there before any test. While it is there, Python
    searches for garbage between tests and where the window does: nowhere else, since widgets
    that are left in cycles must die neither on another thread nor while Qt deletes others.
    """
    if not HAS_QT:
        yield lambda: None
        return
    request.getfixturevalue("qapp")
    collector = import_module("sfumato.jobs").GarbageCollector()
    yield collector.look
    collector.close()
    gc.collect()
    _deliver_deferred_deletes()
