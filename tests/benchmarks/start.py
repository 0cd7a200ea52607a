"""How long Sfumato takes to start: its version, its help, a command's help, the window's picture.

Each case is a process of its own, beside one that imports numpy and pandas. Bytecode is compiled
into a folder of its own before anything is measured, as an installation has it.
"""

from __future__ import annotations

import json
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


LAUNCHER = """
import json, os, sys
process = os.posix_spawn(
    sys.executable,
    [sys.executable, *sys.argv[1:]],
    os.environ,
    file_actions=[(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)],
)
_, status, used = os.wait4(process, 0)
kilobytes = used.ru_maxrss / (1024 if sys.platform == "darwin" else 1)
code = os.waitstatus_to_exitcode(status)
print(json.dumps([code, used.ru_utime + used.ru_stime, kilobytes]))
"""
"""What starts a process and tells what it took.

A process begins with the peak of whoever started it, so it is started by one that is small.
"""


@dataclass
class Started:
    """A process that is started again and again, and what it took of processor and memory."""

    arguments: Sequence[str]
    environment: dict[str, str]
    cpu: list[float] = field(default_factory=list)
    kilobytes: list[float] = field(default_factory=list)

    def run(self) -> None:
        launched = subprocess.run(
            [sys.executable, "-I", "-S", "-c", LAUNCHER, *self.arguments],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            check=True,
        )
        code, cpu, kilobytes = json.loads(launched.stdout)
        if code:
            raise RuntimeError(f"the process ended with {code}: {launched.stderr.decode()}")
        self.cpu.append(cpu)
        self.kilobytes.append(kilobytes)

    def forget(self) -> None:
        """Begin to count anew."""
        self.cpu, self.kilobytes = [], []

    def peak_mb(self) -> float:
        """Return the most memory that any of the processes had, in MB."""
        return max(self.kilobytes) * 1024 / 1e6


def environment_with(bytecode: Path | str) -> dict[str, str]:
    """Return an environment in which bytecode is kept in a folder of its own."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPYCACHEPREFIX": str(bytecode), "QT_QPA_PLATFORM": "offscreen"}


def cases(quick: bool) -> Iterator[Case]:
    """Yield the starts; `facts` tells the processor's time, which other work disturbs less."""
    with tempfile.TemporaryDirectory() as bytecode:
        environment = environment_with(bytecode)
        chosen = list(STARTS.items())[: 2 if quick else None]
        for name, arguments in chosen:
            start, plain = Started(arguments, environment), Started(PLAIN, environment)
            start.run()
            plain.run()
            start.forget()
            plain.forget()
            yield Case(
                name,
                start.run,
                plain.run,
                peak_mb=start.peak_mb,
                facts=partial(_cpu, start, plain),
            )


def _cpu(start: Started, plain: Started) -> dict[str, object]:
    """Return the least processor's time of each, which is disturbed least."""
    return {"cpu": round(min(start.cpu), 3), "baseline_cpu": round(min(plain.cpu), 3)}
