"""Processes that begin where their imports are done: forks of one that has done them.

To start Python and import the library for statistical files takes many times as long as to read a
small file. A fork is a process of its own all the same, which can crash, hang and be killed. Run as
a script this file is the process that forks, which imports nothing of the tests.
"""

from __future__ import annotations

import atexit
import os
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace, TracebackType

CAN_FORK = hasattr(os, "fork")
MODULES = ("numpy", "pyarrow", "pyreadstat", "sfumato.formats.statistical")


@cache
def _forking() -> socket.socket:
    """Start the process that forks; it ends with this one."""
    ours, theirs = socket.socketpair()
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno()), *MODULES]
        app = str(Path(__file__).parents[1] / "app")
        environment = {**os.environ, "PYTHONPATH": app}
        process = subprocess.Popen(command, pass_fds=[theirs.fileno()], env=environment)

    def end() -> None:
        ours.close()
        process.wait(60)

    atexit.register(end)
    return ours


class WarmProcess:
    """Stands for `subprocess.Popen` where the library for statistical files is started."""

    def __init__(self, command: list[str], **_: object) -> None:
        asked, asking = os.pipe()
        answering, answered = os.pipe()
        # Without a buffer, as the product reads and writes.
        self.stdin = os.fdopen(asking, "wb", buffering=0)
        self.stdout = os.fdopen(answering, "rb", buffering=0)
        module = command[-1].encode()
        socket.send_fds(_forking(), [module], [asked, answered])
        self._number = int(_forking().recv(32))
        os.close(asked)
        os.close(answered)

    def kill(self) -> None:
        """End it at once."""
        with suppress(ProcessLookupError):
            os.kill(self._number, signal.SIGKILL)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stdin.close()
        self.stdout.close()


SUBPROCESS = SimpleNamespace(Popen=WarmProcess, PIPE=subprocess.PIPE, DEVNULL=subprocess.DEVNULL)
"""Stands for the module `subprocess` where nothing but the library is started."""


def _serve(asked: socket.socket) -> None:
    """Fork for each module that is asked for, until nobody asks any more."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for a fork
    while True:
        module, descriptors, *_ = socket.recv_fds(asked, 1024, 2)
        if not module:
            return
        number = os.fork()
        if number == 0:
            asked.close()
            _begin(module.decode(), *descriptors)
        asked.send(str(number).encode())
        for each in descriptors:
            os.close(each)


def _begin(module: str, reading: int, writing: int) -> None:
    """Be ``python -m`` with a module, and end."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.dup2(reading, 0)
    os.dup2(writing, 1)
    os.closerange(3, max(reading, writing) + 1)
    try:
        runpy.run_module(module, run_name="__main__")
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


if __name__ == "__main__":
    for _name in sys.argv[2:]:
        import_module(_name)
    _serve(socket.socket(fileno=int(sys.argv[1])))
