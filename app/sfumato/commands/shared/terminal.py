"""Where a command speaks: output, remarks, progress, and the question for a passphrase."""

from __future__ import annotations

import getpass
import json
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType
from typing import Final, TextIO

from sfumato.engine.core.progress import Callback, Context
from sfumato.formats.language import said, worded
from sfumato.project.errors import PassphraseError

PASSPHRASE_VARIABLE: Final = "SFUMATO_PASSPHRASE"
NEW_PASSPHRASE_VARIABLE: Final = "SFUMATO_NEW_PASSPHRASE"

_BAR: Final = 60

_Handler = Callable[[int, FrameType | None], object] | int | signal.Handlers | None


class Terminal:
    """The streams and the environment of one command.

    Parameters
    ----------
    output, remarks
        Results go to the first, all else to the second.
    keyboard
        Where a person can be asked, if it is a terminal.
    environment
        The environment variables.
    """

    def __init__(
        self,
        output: TextIO | None = None,
        remarks: TextIO | None = None,
        keyboard: TextIO | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._output = output or sys.stdout
        self._remarks = remarks or sys.stderr
        self._keyboard = keyboard or sys.stdin
        self.environment = os.environ if environment is None else environment

    def say(self, text: str = "") -> None:
        """Print a line of the result."""
        print(_printable(said(text), self._output), file=self._output)

    def note(self, text: str) -> None:
        """Print a remark, which is no part of the result."""
        print(_printable(said(text), self._remarks), file=self._remarks)

    def tell(self, as_json: bool, plain: object, lines: Iterable[str]) -> None:
        """Print a result: its plain values as JSON for other programs, or lines for a person."""
        if as_json:
            print(json.dumps(plain, indent=2), file=self._output)
            return
        for line in lines:
            self.say(line)

    def passphrase(self, descriptor: int | None) -> str:
        """Return the passphrase from a descriptor, the environment or a person, in this order.

        Raises
        ------
        PassphraseError
            If there is none.
        """
        given = self.given(descriptor, PASSPHRASE_VARIABLE)
        return self._asked(worded("Passphrase: ")) if given is None else given

    def new_passphrase(self, descriptor: int | None, variable: str = PASSPHRASE_VARIABLE) -> str:
        """Return a passphrase to be set; a person is asked for it twice.

        Raises
        ------
        PassphraseError
            If there is none, or the two differ.
        """
        given = self.given(descriptor, variable)
        if given is None:
            given = self._asked(worded("New passphrase: "), variable)
            if self._asked(worded("Once more: "), variable) != given:
                raise PassphraseError("The two passphrases differ.", "Try again.")
        return given

    def remark_on(self, passphrase: str) -> None:
        """Say so where a passphrase that was set is weak."""
        from sfumato.project.store.secret import Strength, strength_of

        if strength_of(passphrase) is Strength.WEAK:
            self.note(
                "The passphrase is weak: a program guesses it, and whoever has it and the project"
                " can tell which released values are true. Four or five random words are strong;"
                " sfumato passphrase changes it."
            )

    def given(self, descriptor: int | None, variable: str) -> str | None:
        """Return a passphrase from a descriptor or the environment; None where there is none.

        Raises
        ------
        PassphraseError
            If the descriptor can't be read.
        """
        if descriptor is not None:
            return _first_line_of(descriptor)
        return self.environment.get(variable)

    @contextmanager
    def working(self) -> Iterator[Context]:
        """Give a context that shows progress, and turns Ctrl+C into a clean cancelling."""
        stopped = threading.Event()
        shown = _ProgressLine(self._remarks)
        in_main_thread = threading.current_thread() is threading.main_thread()
        before = _on_interrupt(lambda *_: _stop(stopped)) if in_main_thread else None
        try:
            yield Callback(shown.show, stopped.is_set)
        finally:
            shown.clear()
            if in_main_thread:
                _on_interrupt(before)

    def _asked(self, question: str, variable: str = PASSPHRASE_VARIABLE) -> str:
        if not self._keyboard.isatty():
            raise PassphraseError(
                "No passphrase was given.",
                "Set {variable}, use --passphrase-fd, or run the command in a terminal.",
                variable=variable,
            )
        try:
            return getpass.getpass(question, self._remarks)
        except EOFError:
            raise PassphraseError("No passphrase was given.", "Try again.") from None


class _ProgressLine:
    """One line that is written over and over; nothing where nobody watches."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._watched = stream.isatty()
        self._last = ""

    def show(self, fraction: float, text: str) -> None:
        line = f"{round(100 * fraction):3} %  {said(text)}"[:_BAR]
        if self._watched and line != self._last:
            self._write(f"\r{line:<{_BAR}}")
            self._last = line

    def clear(self) -> None:
        if self._last:
            self._write(f"\r{'':<{_BAR}}\r")
            self._last = ""

    def _write(self, text: str) -> None:
        self._stream.write(text)
        self._stream.flush()


def _stop(stopped: threading.Event) -> None:
    """Ask for a clean end; asked twice, end at once."""
    if stopped.is_set():
        raise KeyboardInterrupt
    stopped.set()


def _on_interrupt(handler: _Handler) -> _Handler:
    """Set what Ctrl+C does; return what it did before."""
    return signal.signal(signal.SIGINT, signal.SIG_DFL if handler is None else handler)


def _first_line_of(descriptor: int) -> str:
    try:
        with os.fdopen(descriptor, encoding="utf-8") as stream:
            line = stream.readline()
    except (OSError, ValueError):
        raise PassphraseError(
            "File descriptor {descriptor} can't be read.",
            "Give the number of one that is open for reading.",
            descriptor=descriptor,
        ) from None
    return line.removesuffix("\n").removesuffix("\r")


def _printable(text: str, stream: TextIO) -> str:
    """Return a text as a stream can write it; the names of some files are no texts."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)
