"""What a command is, the arguments that commands share, how a command ends, and where it speaks.

It speaks through a terminal: output, remarks, progress, and the question for a passphrase.
"""

from __future__ import annotations

import getpass
import json
import os
import signal
import sys
import threading
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Callback, Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, translated, worded
from sfumato.project.errors import PassphraseError

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from sfumato.engine.core.errors import SfumatoError
    from sfumato.engine.mechanisms.base import Check


class ExitCode(IntEnum):
    """How a command ends. The numbers are documented in the help and never change."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    EXPECTED_ERROR = 3
    PASSPHRASE = 4
    FAULT = 70
    CANCELLED = 130


# ----- how a command is described


class Describable(Protocol):
    """What can be described to a parser."""

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe it."""


@dataclass(frozen=True)
class Argument:
    """One argument: its names, and what else `ArgumentParser.add_argument` takes."""

    names: tuple[str, ...]
    settings: Mapping[str, Any]

    def add_to(self, parser: ArgumentParser | _ArgumentGroup) -> None:
        """Describe the argument to a parser, or to a group of one."""
        settings = dict(self.settings)
        if "help" in settings:
            settings["help"] = said(settings["help"])
        parser.add_argument(*self.names, **settings)


@dataclass(frozen=True)
class Group:
    """Arguments below a title of their own; without a title, at most one of them is given."""

    arguments: tuple[Argument, ...]
    title: str = ""
    required: bool = False

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe the arguments to a parser."""
        group = (
            parser.add_argument_group(said(self.title))
            if self.title
            else parser.add_mutually_exclusive_group(required=self.required)
        )
        for each in self.arguments:
            each.add_to(group)


@dataclass(frozen=True)
class Command:
    """One command.

    A command imports what it works with when it runs, so that its help is there at once.

    Parameters
    ----------
    arguments
        What stands on its command line, in the order of its help.
    run
        Does it; returns how it ended.
    examples
        Command lines that its help shows; each is one that it understands.
    reads
        Whether it reads a table by the options stated on its command line: where the table is
        refused, those that would do are told.
    """

    arguments: Sequence[Describable]
    run: Callable[[Namespace, Terminal], ExitCode]
    examples: tuple[str, ...] = ()
    reads: Callable[[Namespace], bool] = lambda _arguments: False

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe the command's arguments to a parser."""
        for each in self.arguments:
            each.add_to(parser)


def argument(*names: str, **settings: Any) -> Argument:
    """Describe an argument as `ArgumentParser.add_argument` takes it."""
    return Argument(names, settings)


def flag(name: str, text: str) -> Argument:
    """Describe an argument that is there or not."""
    return argument(name, action="store_true", help=text)


def option(name: str, metavar: str, text: str, **settings: Any) -> Argument:
    """Describe an argument that has a value."""
    return argument(name, metavar=metavar, help=text, **settings)


def repeated(name: str, metavar: str, text: str, **settings: Any) -> Argument:
    """Describe an argument that may be given several times: a list, empty where it is not."""
    return option(name, metavar, text, **{"action": "append", "default": [], **settings})


def file_argument(name: str, metavar: str, text: str, **settings: Any) -> Argument:
    """Describe an argument that is a path."""
    return option(name, metavar, text, type=Path, **settings)


def one_of(*arguments: Argument, required: bool = False) -> Group:
    """Describe arguments of which at most one is given."""
    return Group(arguments, required=required)


# ----- the arguments of several commands

# Never an argument itself: others can see the arguments of a command.
PASSPHRASE = option(
    "--passphrase-fd", "N", "read the passphrase from file descriptor N, its first line", type=int
)
PROJECT = (file_argument("project", "PROJECT", "the project's file"), PASSPHRASE)
BY_PROJECT = file_argument("--project", "PROJECT", "the project's file", required=True)
JSON = flag("--json", "print JSON, for other programs")
ACCEPT = option(
    "--accept",
    "REASON",
    "release in spite of a danger (see sfumato check); the ledger and the report keep the reason,"
    " which stays valid until the findings it was given for change",
    default="",
)


def override_for(allows: str) -> Argument:
    """Describe the custodian's reason for what it allows."""
    words = Sentence("{override}; the ledger keeps the reason", override=Sentence(allows))
    return option("--override", "REASON", words, default="")


def bundle_arguments(override: str) -> tuple[Argument, ...]:
    """Describe where a bundle goes and how it is written; `override` is what a reason allows."""
    return (
        file_argument("--out", "DIR", "the folder that the bundle is put into", required=True),
        option("--format", "FORMAT", "csv, parquet, sav or dta (default: csv)", default="csv"),
        flag("--zip", "one zip file in place of a folder"),
        flag("--dcat", "describe the bundle for data catalogues too: DCAT as JSON-LD"),
        flag(
            "--keep-formulas",
            "leave texts that begin with = + - or @ as they are in CSV, though spreadsheets run"
            " them (default: an apostrophe before them)",
        ),
        override_for(override),
    )


# ----- what commands do alike


def part_of(context: Context, place: int, count: int) -> Part:
    """Return the context of one of `count` equal parts of the work."""
    return Part(context, place / count, (place + 1) / count)


def lines_of_checks(checks: Sequence[Check], where: str = "") -> Iterator[str]:
    """Return a line for each check."""
    for check in checks:
        mark = translated("ok  ") if check.holds else translated("FAIL")
        yield f"{mark}  {where}{said(check.title)}: {said(check.finding)}"


def lines_of_verification(
    checks: Sequence[Check], *, only_table_differs: bool = False
) -> Iterator[str]:
    """Return a line for each check, and one that sums them up."""
    yield from lines_of_checks(checks)
    if only_table_differs:
        yield worded(
            "Not verified: the bundle is as it was released, but the table has changed since. Its"
            " values can be verified only with the table it was made from."
        )
        return
    failed = sum(not check.holds for check in checks)
    yield (
        worded(
            "{failed} of {checks} {checks:check|checks} failed.", failed=failed, checks=len(checks)
        )
        if failed
        else worded("Verified.")
    )


def seal_as_check(tampering: SfumatoError | None) -> Check:
    """Return whether the project is as it was sealed, its ledger included, as a check."""
    from sfumato.engine.mechanisms.base import Check

    unharmed = "The project and its ledger are as Sfumato wrote them."
    finding = unharmed if tampering is None else tampering.sentence
    return Check("Seal and ledger", tampering is None, finding)


PASSPHRASE_VARIABLE: Final = "SFUMATO_PASSPHRASE"
NEW_PASSPHRASE_VARIABLE: Final = "SFUMATO_NEW_PASSPHRASE"
RECOVERY_VARIABLE: Final = "SFUMATO_RECOVERY_CODE"
APPROVER_VARIABLE: Final = "SFUMATO_APPROVER_PASSPHRASE"

_OPTIONS: Final = {
    PASSPHRASE_VARIABLE: "--passphrase-fd",
    NEW_PASSPHRASE_VARIABLE: "--new-passphrase-fd",
    RECOVERY_VARIABLE: "--recovery-fd",
    APPROVER_VARIABLE: "--approver-passphrase-fd",
}
"""The option that gives what a variable does."""
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

    def say(self, text: str = "", /, **details: object) -> None:
        """Print a line of the result, filled in with its details."""
        print(_printable(_told(text, details), self._output), file=self._output)

    def note(self, text: str, /, **details: object) -> None:
        """Print a remark, which is no part of the result."""
        print(_printable(_told(text, details), self._remarks), file=self._remarks)

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

    def recovery_code(self, descriptor: int | None) -> str:
        """Return a recovery code from a descriptor, the environment or a person, in this order.

        Raises
        ------
        PassphraseError
            If there is none.
        """
        given = self.given(descriptor, RECOVERY_VARIABLE)
        return self._asked(worded("Recovery code: "), RECOVERY_VARIABLE) if given is None else given

    def approvers_passphrase(self, name: str, descriptor: int | None) -> str:
        """Return the passphrase of who approves, asked for as `recovery_code` asks.

        Raises
        ------
        PassphraseError
            If there is none.
        """
        given = self.given(descriptor, APPROVER_VARIABLE)
        question = worded("Passphrase of {name}: ", name=name)
        return self._asked(question, APPROVER_VARIABLE) if given is None else given

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
                "Set {variable}, use {option}, or run the command in a terminal.",
                variable=variable,
                option=_OPTIONS[variable],
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


def _told(text: str, details: Mapping[str, object]) -> str:
    return worded(text, **details) if details else said(text)


def _printable(text: str, stream: TextIO) -> str:
    """Return a text as a stream can write it; the names of some files are no texts."""
    encoding = stream.encoding or "utf-8"
    return text.encode(encoding, errors="backslashreplace").decode(encoding)
