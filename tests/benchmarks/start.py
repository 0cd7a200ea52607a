"""How long Sfumato takes to start: its version, its help, a command's help, the window's picture.

Each case is a process of its own, beside one that imports numpy and pandas. Bytecode is compiled
into a folder of its own before anything is measured, as an installation has it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from tests.benchmarks.harness import Case

ROOT = Path(__file__).parents[2]
BASELINE = "python -c 'import numpy, pandas'"
PLAIN = ("-c", "import numpy, pandas")
COMMAND = ("-c", "import sys; from sfumato.cli import main; sys.exit(main(sys.argv[1:]))")
WINDOW = """
import sys, tempfile
from pathlib import Path
from PySide6.QtCore import QSettings
from sfumato.ui.shell.application import make_application
application = make_application(sys.argv[:1])
from sfumato.ui.shell.main_window import MainWindow
from sfumato.ui.state.session import Session
store = QSettings(str(Path(tempfile.mkdtemp()) / "settings.ini"), QSettings.Format.IniFormat)
window = MainWindow(Session(store=store))
window.show()
application.processEvents()
assert not window.grab().isNull()
import os
os._exit(0)
"""
STARTS = {
    "--version": (*COMMAND, "--version"),
    "--help": (*COMMAND, "--help"),
    "release --help": (*COMMAND, "release", "--help"),
    "window, first picture": ("-c", WINDOW),
}


@dataclass
class Started:
    """A process that is started again and again, and what it took of the processor."""

    arguments: Sequence[str]
    environment: dict[str, str]
    cpu: list[float] = field(default_factory=list)

    def run(self) -> None:
        process = subprocess.Popen(
            [sys.executable, *self.arguments],
            cwd=ROOT,
            env=self.environment,
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"the process ended with {process.returncode}")
        self.cpu.append(used.ru_utime + used.ru_stime)


def cases(quick: bool) -> Iterator[Case]:
    """Yield the starts; `facts` tells the processor's time, which other work disturbs less."""
    with tempfile.TemporaryDirectory() as bytecode:
        kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment = {**kept, "PYTHONPYCACHEPREFIX": bytecode, "QT_QPA_PLATFORM": "offscreen"}
        chosen = list(STARTS.items())[: 2 if quick else None]
        for name, arguments in chosen:
            start, plain = Started(arguments, environment), Started(PLAIN, environment)
            start.run()
            plain.run()
            start.cpu, plain.cpu = [], []
            yield Case(
                name,
                start.run,
                plain.run,
                peak_mb=lambda: 0.0,  # a child begins with its parent's peak
                facts=partial(_cpu, start, plain),
            )


def _cpu(start: Started, plain: Started) -> dict[str, object]:
    """Return the least processor's time of each, which is disturbed least."""
    return {"cpu": round(min(start.cpu), 3), "baseline_cpu": round(min(plain.cpu), 3)}
