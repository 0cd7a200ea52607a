"""Every test runs offscreen, in an empty home of its own, and leaves nothing behind.

The engine's tests run where Qt is not installed, so Qt is imported only where it is there.
"""

from __future__ import annotations

import gc
import os
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

if find_spec("PySide6") is not None:
    from PySide6.QtCore import QCoreApplication, QEvent

HAS_QT = find_spec("PySide6") is not None

_home = pytest.StashKey[tempfile.TemporaryDirectory]()


def pytest_configure(config: pytest.Config) -> None:
    """Move into an empty home before anything asks where the home is."""
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
def nothing_left_behind() -> Iterator[None]:
    """Deliver deferred deletes and see that no thread outlives its test."""
    before = set(threading.enumerate())
    yield
    if HAS_QT:
        _deliver_deferred_deletes()
    # A pool's worker that Python has seen is a "dummy" thread; Qt ends it with its pool.
    left = [
        thread
        for thread in threading.enumerate()
        if thread not in before and not isinstance(thread, threading._DummyThread)
    ]
    for thread in left:
        thread.join(timeout=5)
    assert not [thread.name for thread in left if thread.is_alive()]


if HAS_QT:
    pytest_plugins = ["tests.ui.fixtures"]


@pytest.fixture(scope="session", autouse=True)
def collected_at_the_end() -> Iterator[None]:
    """Free what is left while Qt still stands: interpreters end in no certain order."""
    yield
    gc.collect()
    if HAS_QT:
        _deliver_deferred_deletes()
