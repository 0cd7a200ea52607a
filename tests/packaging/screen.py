"""A screen without a monitor, whose windows are driven by keys as a person presses them."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

SIZE = (1366, 768)
PATIENCE = 60.0
"""Seconds until a window that does not come is given up."""


class Screen:
    """Xvfb with a window manager, as a context.

    Attributes
    ----------
    display
        Its name, such as ``:7``.
    """

    def __init__(self) -> None:
        self.display = ""
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Screen:
        reading, writing = os.pipe()
        size = "x".join(map(str, SIZE))
        self._processes.append(
            subprocess.Popen(
                [
                    "Xvfb",
                    "-displayfd",
                    str(writing),
                    "-screen",
                    "0",
                    f"{size}x24",
                    "-nolisten",
                    "tcp",
                ],
                pass_fds=(writing,),
                stderr=subprocess.DEVNULL,
            )
        )
        os.close(writing)
        with os.fdopen(reading) as told:
            self.display = f":{told.readline().strip()}"
        assert self.display != ":", "Xvfb did not start"
        self._processes.append(
            subprocess.Popen(
                ["openbox", "--sm-disable"], env=self._environment, stderr=subprocess.DEVNULL
            )
        )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for process in reversed(self._processes):
            process.terminate()
            process.wait()

    @property
    def _environment(self) -> dict[str, str]:
        return {**os.environ, "DISPLAY": self.display}

    def _xdotool(self, *arguments: str) -> str:
        return subprocess.run(
            ["xdotool", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        ).stdout.strip()

    def title(self) -> str:
        """Return the title of the window that has the focus."""
        return self._xdotool("getactivewindow", "getwindowname")

    def wait_for(self, title: str) -> None:
        """Wait until a window whose title contains a text has the focus."""
        self.until(lambda: title in self.title(), title)

    def until(self, happened: Callable[[], bool], what: str = "", every: float = 0.2) -> None:
        """Wait until something has happened in another process, which tells nobody of it."""
        end = time.monotonic() + PATIENCE
        while not happened():
            assert time.monotonic() < end, f"waited for {what!r}; in front is {self.title()!r}"
            time.sleep(every)

    def click_until(self, across: int, down: int, happened: Callable[[], bool]) -> None:
        """Click at a place, again after a while where nothing has come of it: it was not there."""

        def clicked() -> bool:
            if happened():
                return True
            self.click(across, down)
            return False

        self.until(clicked, every=4.0)

    def press(self, *keys: str) -> None:
        """Press keys, one after the other; ``ctrl+t`` is one."""
        self._xdotool("key", "--delay", "60", *keys)

    def write(self, text: str) -> None:
        """Write into what has the focus, over what is there."""
        self.press("ctrl+a")
        self._xdotool("type", "--delay", "20", text)

    def click(self, across: int, down: int) -> None:
        """Click at a place of the window with the focus, whatever frame is around it."""
        place = ("mousemove", "--window", "%1", str(across), str(down))
        self._xdotool("getactivewindow", *place, "click", "1")

    def maximize(self) -> None:
        """Let the window with the focus fill the screen."""
        self._xdotool("getactivewindow", "windowmove", "0", "0", "windowsize", *map(str, SIZE))

    def picture(self, path: Path) -> None:
        """Save what is seen, where there is a program for it."""
        subprocess.run(["import", "-window", "root", str(path)], env=self._environment, check=False)
