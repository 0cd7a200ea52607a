"""A walk through the window: random deeds, and what must never follow from them."""

from __future__ import annotations

import gc
import random
import sys
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from PySide6.QtCore import (
    QCoreApplication,
    QEvent,
    QMessageLogContext,
    QObject,
    QtMsgType,
    QUrl,
    Slot,
    qInstallMessageHandler,
)
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QApplication, QDialog

from sfumato.jobs import BugReport
from sfumato.resources import resource_path
from sfumato.ui.dialogs.about import BugDialog
from sfumato.ui.dialogs.base import Dialog
from sfumato.ui.dialogs.help import HelpDialog
from sfumato.ui.panels.base import LazyWidget
from sfumato.ui.panels.policy.entry_page import EntryPage
from sfumato.ui.panels.policy.mechanisms import all_editors
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.widgets.paint_queue import turns
from tests.campaigns.hands import LOG, Hands
from tests.campaigns.stopwatch import Stall, Stopwatch
from tests.ui.fixtures import Answers

LONGEST_STEP = 0.3
"""Seconds of the main thread's own time in which the window may not answer."""
STRIDE = 100
"""After so many deeds everything is put away, and what is left is counted."""
PATIENCE_SECONDS = 20.0
TOLD_DEEDS = 40
OF_THE_PLATFORM = ("This plugin does not support",)
"""What the offscreen platform says of itself."""


@dataclass(frozen=True)
class Left:
    """What there is when everything is put away.

    Parameters
    ----------
    deeds
        How many deeds came before.
    kinds
        Qt's objects below the window, by the name of their class.
    widgets
        All widgets there are.
    dialogs
        The dialogs of Sfumato's among them: each is gone once it is answered.
    jobs
        Of Python's objects those that belong to jobs; each job that ended is gone.
    megabytes
        Memory in use.
    """

    deeds: int
    kinds: Counter[str] = field(repr=False)
    widgets: int
    dialogs: int
    jobs: int
    megabytes: float

    @property
    def objects(self) -> int:
        """Qt's objects below the window."""
        return self.kinds.total()

    def grown(self, before: Left) -> str:
        """Return what there is more of than before, the most first."""
        more = (self.kinds - before.kinds).most_common(12)
        return ", ".join(f"{count} {name}" for name, count in more)


@dataclass
class Walk:
    """What was done and what came of it."""

    seed: str
    log: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)
    stalls: list[Stall] = field(default_factory=list)
    longest: Stall = field(default_factory=lambda: Stall("", 0.0, 0.0))
    left: list[Left] = field(default_factory=list)

    def told(self, folder: Path) -> str:
        """Return what went wrong and how it came to it."""
        stalls = [stall.told() for stall in self.stalls]
        deeds = [f"  {number} {deed}" for number, deed in enumerate(self.log)][-TOLD_DEEDS:]
        head = f"seed {self.seed}, {len(self.log)} deeds, all in {folder / LOG}"
        return "\n".join([head, *self.troubles, *stalls, *deeds])


class _Witness(QObject):
    """Hears what goes wrong behind the scenes, and keeps pages from being opened elsewhere."""

    def __init__(self, walk: Walk) -> None:
        super().__init__()
        self._walk = walk

    def __enter__(self) -> _Witness:
        self._qt = qInstallMessageHandler(self._hear_qt)
        self._hook, sys.excepthook = sys.excepthook, self._hear
        for scheme in ("file", "http", "https"):
            QDesktopServices.setUrlHandler(scheme, self, "stay_here")
        return self

    def __exit__(self, *_error: object) -> None:
        for scheme in ("file", "http", "https"):
            QDesktopServices.unsetUrlHandler(scheme)
        sys.excepthook = self._hook
        qInstallMessageHandler(self._qt)

    @Slot(QUrl)
    def stay_here(self, _address: QUrl) -> None:
        """Open nothing."""

    def hear_bug(self, report: BugReport) -> None:
        """Note what failed in a job."""
        self._walk.troubles.append(f"A job failed:\n{report.text}")

    def _hear(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        told = "".join(traceback.format_exception(kind, error, trace))
        self._walk.troubles.append(f"Nobody caught this:\n{told}")

    def _hear_qt(self, kind: QtMsgType, _context: QMessageLogContext, text: str) -> None:
        quiet = kind in (QtMsgType.QtDebugMsg, QtMsgType.QtInfoMsg)
        if not quiet and not any(known in text for known in OF_THE_PLATFORM):
            self._walk.troubles.append(f"Qt says: {text}")


def walk(
    window: MainWindow,
    answers: Answers,
    folder: Path,
    seed: str,
    deeds: int,
    seconds: float,
) -> Walk:
    """Do random deeds until there are enough of them or the time is over.

    Parameters
    ----------
    window, answers
        Where, and what is answered where a file is asked for.
    folder
        Empty; tables are made in it, and projects and releases go there.
    seed
        Which deeds.
    deeds, seconds
        When it ends.
    """
    done = Walk(seed)
    make_tables(folder / "tables", seed)
    hands = Hands(window, answers, folder, seed)
    done.log = hands.log
    end = time.monotonic() + seconds
    with _Witness(done) as witness, Stopwatch(LONGEST_STEP) as watch:
        window.session.runner.bug_occurred.connect(witness.hear_bug)
        build_everything(window)
        put_away(window)
        pace, told = random.Random(f"pace {seed}"), 0
        while len(hands.log) < deeds and time.monotonic() < end:
            with watch.step(f"deed {len(hands.log)}"):
                hands.act()
            if watch.stalls and watch.stalls[-1].what == f"deed {len(hands.log) - 1}":
                last = watch.stalls[-1]
                what = f"{last.what}, {hands.log[-1]}"
                watch.stalls[-1] = replace(last, what=what)
            _live_on(window, watch, hands, wait=pace.random() < 0.4)
            _answer_bugs(window, done)
            hands.tell([stall.told() for stall in watch.stalls[told:]])
            told = len(watch.stalls)
            if len(hands.log) % STRIDE == 0:
                put_away(window)
                done.left.append(count(window, len(hands.log)))
        if len(hands.log) % STRIDE:
            put_away(window)
            done.left.append(count(window, len(hands.log)))
        done.stalls, done.longest = watch.stalls, watch.longest
        window.session.runner.bug_occurred.disconnect(witness.hear_bug)
    hands.close()
    return done


def _live_on(window: MainWindow, watch: Stopwatch, hands: Hands, *, wait: bool) -> None:
    """Let events come: some turns, or until no job runs and everything is drawn."""
    end = time.monotonic() + (1.0 if wait else 0.0)
    for turn in range(200):
        with watch.step(f"turn {turn} after deed {len(hands.log) - 1}, {hands.log[-1]}"):
            QCoreApplication.processEvents()
        busy = bool(window.session.runner.jobs) or bool(turns()._waiting)
        if turn >= 3 and (not busy or time.monotonic() > end):
            return
        if busy:
            time.sleep(0.002)


def _answer_bugs(window: MainWindow, done: Walk) -> None:
    for dialog in window.findChildren(BugDialog):
        if dialog.isVisible():
            done.troubles.append(f"Sfumato says that it failed: {dialog.details.toPlainText()}")
            dialog.reject()


def build_everything(window: MainWindow) -> None:
    """Build what is built when it is first seen, and kept: a walk does not leave it behind."""
    for name in window.panels:
        window.show_panel(name)
        turns().finish()
    for lazy in window.findChildren(LazyWidget):
        lazy.complete()
    for page in window.findChildren(EntryPage):
        page.prepare(tuple(all_editors()))
    turns().finish()


def put_away(window: MainWindow) -> None:
    """Close whatever is open, and let everything settle that is on its way."""
    while (popup := QApplication.activePopupWidget()) is not None:
        popup.close()
    for dialog in window.findChildren(QDialog):
        if dialog.isVisible() and not isinstance(dialog, HelpDialog):
            dialog.reject()
    if window.isFullScreen():
        window.showNormal()
    session = window.session
    session.runner.stop_all()
    session.forget_changes()
    session.set_project(None)
    for panel in window.panels.values():
        panel.messages.clear()
    window.show_panel("data")
    end = time.monotonic() + PATIENCE_SECONDS
    while session.runner.jobs and time.monotonic() < end:
        QCoreApplication.processEvents()
        time.sleep(0.005)
    turns().finish()
    for _ in range(5):
        QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def count(window: MainWindow, deeds: int) -> Left:
    """Count what is there."""
    gc.collect()
    return Left(
        deeds,
        Counter(type(each).__name__ for each in window.findChildren(QObject)),
        len(QApplication.allWidgets()),
        sum(isinstance(each, Dialog) for each in QApplication.allWidgets()),
        sum(str(type(each).__module__).startswith("sfumato.jobs.") for each in gc.get_objects()),
        _megabytes(),
    )


def _megabytes() -> float:
    status = Path("/proc/self/statm")
    if not status.exists():
        return 0.0
    return int(status.read_text().split()[1]) * 4096 / 2**20


def make_tables(folder: Path, seed: str) -> None:
    """Write the sample and small tables that tend to be forgotten."""
    folder.mkdir(parents=True)
    draw = random.Random(f"tables {seed}")

    def rows(count: int, *makers: object) -> str:
        return "\n".join(
            ",".join(str(make(line)) for make in makers)  # type: ignore[operator]
            for line in range(count)
        )

    ages = ("age,ward,disease", lambda _: draw.randint(18, 90), lambda _: draw.choice("NES"))
    numbers = ("a,b", lambda _: round(draw.gauss(50, 9), 2), lambda _: draw.randrange(1000))
    texts = {
        "people": f"{ages[0]}\n{rows(300, *ages[1:], lambda _: draw.choice(['flu', 'HIV', '']))}",
        "numbers": f"{numbers[0]}\n{rows(400, *numbers[1:])}",
        "one column": "only\n" + rows(40, lambda line: line % 3),
        "one row": "a,b,c\n1,2,x",
        "header": "a,b,c\n",
        "empty": "",
        "alike": "a,b\n" + rows(50, lambda _: 1, lambda _: "x"),
        "ragged": "a,b\n1,2\n3\n4,5,6\n",
        "wide": ",".join(f"v{i}" for i in range(120)) + "\n" + ("1," * 119 + "2\n") * 30,
        "names": "Größe;日本\n1,5;ä\n2,5;ß\n",
    }
    for name, text in texts.items():
        (folder / f"{name}.csv").write_text(text, encoding="utf-8")
    (folder / "binary.csv").write_bytes(draw.randbytes(3000))
    for suffix in ("csv", "toml"):
        sample = resource_path("samples", f"clinic.{suffix}")
        (folder / sample.name).write_bytes(sample.read_bytes())
