"""The command line: which command is meant, and what its ending means."""

from __future__ import annotations

import argparse
import atexit
import gc
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import sfumato
from sfumato.commands import COMMANDS, command_called
from sfumato.commands.shared.command import Command, ExitCode, Terminal
from sfumato.commands.shared.late import imported_late
from sfumato.engine.core.errors import Cancelled, SfumatoError
from sfumato.formats.errors import CannotOpen, FileError
from sfumato.formats.files import printable
from sfumato.formats.language import (
    know_columns,
    languages,
    of_the_environment,
    said,
    speak,
    translated,
    worded,
)
from sfumato.project import SUFFIX
from sfumato.project.errors import NotSealed, PassphraseError

_BETWEEN_SEARCHES: Final = 10_000
"""While a command runs, Python makes so many objects before it looks for cycles among them."""


def main(arguments: Sequence[str] | None = None, terminal: Terminal | None = None) -> int:
    """Run a command, or the window where none is given.

    Parameters
    ----------
    arguments
        The command line without the program's name; the process's own where it is None.
    terminal
        Where to speak; the process's own where it is None.

    Returns
    -------
    int
        One of `ExitCode`.
    """
    terminal = terminal or Terminal()
    # Work shares the processors already. Threads of BLAS wait for each other at full load, and make
    # the window wait for a busy machine: inverting a matrix of 200 values took 170 ms, and takes 1.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        given = sys.argv[1:] if arguments is None else arguments
        speak(of_the_environment(terminal.environment))
        know_columns(())
        meant = _meant(_spoken(given))
        parsed = _parser(meant).parse_args(meant)
    except SystemExit as ended:
        return int(ended.code or 0)
    try:
        _check_names(parsed)
        return _window(terminal) if parsed.command is None else _ran(parsed, terminal)
    except (Cancelled, KeyboardInterrupt):
        terminal.note("Cancelled. What was not finished is gone; what was finished stays.")
        return ExitCode.CANCELLED
    except SfumatoError as error:
        what, remedy = (
            worded(template, **error.details)
            for template in (error.what_template, error.remedy_template)
        )
        terminal.note(f"sfumato: {what}" + (f"\n  {remedy}" if remedy else ""))
        if isinstance(error, FileError) and parsed.command and parsed.reads(parsed):
            from sfumato.commands.shared.remarks import lines_of_ways  # noqa: PLC0415

            for line in lines_of_ways(error):
                terminal.note(line)
        if isinstance(error, NotSealed):
            accepting = "sfumato seal PROJECT --accept REASON"
            terminal.note("  " + worded("To accept it: {command}", command=accepting))
        wrong = isinstance(error, PassphraseError)
        return ExitCode.PASSPHRASE if wrong else ExitCode.EXPECTED_ERROR
    except BrokenPipeError:
        # Whoever read the output has had enough; Python would complain once more at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except Exception as error:
        told = _refused_by_the_system(error)
        terminal.note(told or _fault(error))
        return ExitCode.EXPECTED_ERROR if told else ExitCode.FAULT


def _ran(parsed: argparse.Namespace, terminal: Terminal) -> int:
    imported_late("pandas")
    # SciPy takes all of numpy's parts over, and these take two fifths of its own import.
    imported_late("scipy", "numpy.f2py", "numpy.testing", "numpy.ctypeslib")
    # The system takes all memory back at the end; Python would search it for cycles first.
    atexit.register(gc.freeze)
    usual = gc.get_threshold()
    # What is imported stays, and would be searched again and again while more is.
    gc.set_threshold(_BETWEEN_SEARCHES, *usual[1:])
    try:
        return int(parsed.run(parsed, terminal))
    finally:
        gc.set_threshold(*usual)


def _spoken(arguments: Sequence[str]) -> Sequence[str]:
    """Speak the language that a command line asks for anywhere; return what else it asks."""
    for place, word in enumerate(arguments):
        name, equals, language = word.partition("=")
        if name == "--language":
            after = place + 1 if equals else place + 2
            wanted = language if equals else "".join(arguments[place + 1 : after])
            if wanted not in languages():
                _parser(()).error(
                    worded(
                        "there is no language {language}; there are {known}",
                        language=repr(wanted),
                        known=", ".join(languages()),
                    )
                )
            speak(wanted, asked=True)
            return [*arguments[:place], *arguments[after:]]
    return arguments


def _meant(arguments: Sequence[str]) -> Sequence[str]:
    """Return the command line as meant: a project's file or a table alone is to be opened.

    A file manager starts the program so, and no command is called like a file with a suffix.
    """
    if len(arguments) != 1 or not (suffix := Path(arguments[0]).suffix):
        return arguments
    return ("open", *arguments) if suffix == SUFFIX or _is_file(arguments[0]) else arguments


def _is_file(name: str) -> bool:
    try:
        return Path(name).is_file()
    except ValueError:  # a name that no file can have
        return False


def _check_names(parsed: argparse.Namespace) -> None:
    """Refuse paths that no file can have, before anything is done.

    Raises
    ------
    CannotOpen
        If there is one.
    """
    for given in vars(parsed).values():
        for path in given if isinstance(given, list | tuple) else (given,):
            if isinstance(path, Path) and "\0" in str(path):
                raise CannotOpen(
                    "{path} can't be the name of a file.",
                    "Write it without the NUL.",
                    path=printable(path),
                )


def parser_of_all() -> argparse.ArgumentParser:
    """Return the parser of every command line: for the manual and for completion."""
    return _parser((), every=True)


def _parser(arguments: Sequence[str], *, every: bool = False) -> argparse.ArgumentParser:
    """Return the parser of a command line; only the command that it names is imported.

    Where the command comes first, the parser knows no other: to build all of them takes longer than
    everything else it does.
    """
    meant = next((word for word in arguments if not word.startswith("-")), "")
    alone = meant in COMMANDS and arguments[0] == meant
    argparse._ = translated  # type: ignore[attr-defined]
    parser = argparse.ArgumentParser(
        prog="sfumato",
        description=translated("Release one table at many trust levels."),
        epilog=_epilog(),
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--version",
        action="version",
        version=f"Sfumato {sfumato.__version__}",
        help=translated("show program's version number and exit"),
    )
    parser.add_argument(
        "--language",
        metavar="LANGUAGE",
        choices=languages(),
        help=translated("speak this language, and report in it; also after the command"),
    )
    commands = parser.add_subparsers(
        dest="command", metavar="COMMAND", title=translated("commands")
    )
    for name in (meant,) if alone else COMMANDS:
        summary = said(COMMANDS[name][1])
        described = commands.add_parser(
            name,
            help=summary,
            description=summary,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        if every or name == meant:
            command = command_called(name)
            described.epilog = _examples(command)
            command.add_to(described)
            described.set_defaults(run=command.run, reads=command.reads)
    return parser


def _epilog() -> str:
    """Return what the help ends with."""
    return translated(
        """\
Without a command the window opens; a project (NAME.sfumato) or a table alone opens in it.

The passphrase is asked for, or taken from --passphrase-fd N or from the environment variable
SFUMATO_PASSPHRASE. It is never an argument, because others can see the arguments of a command.

exit codes:
  0    done
  1    a check failed: a bundle, the ledger or the project's seal is not as it should be, no
       release is named as the source of a file, or an earlier release does not fit the ladder
  2    the command line was not understood
  3    something is wrong with a file, the table, the rules or a level; the message says what
  4    the passphrase is wrong or missing
  70   a fault in Sfumato
  130  cancelled
"""
    )


def _examples(command: Command) -> str:
    """Return what the help of a command ends with."""
    if not command.examples:
        return ""
    title = translated("example:" if len(command.examples) == 1 else "examples:")
    return "\n  ".join((title, *command.examples))


def _window(terminal: Terminal) -> int:
    open_window = command_called("open")
    return int(open_window.run(argparse.Namespace(project=None), terminal))


def _refused_by_the_system(error: Exception) -> str:
    """Describe a disk, a folder or a memory that failed; empty for anything else."""
    if isinstance(error, MemoryError):
        what = translated("There is not enough memory for this.")
        remedy = translated("Close other programs, or choose a smaller table.")
        return f"sfumato: {what}\n  {remedy}"
    if not isinstance(error, OSError) or not error.errno:
        return ""
    place = printable(Path(os.fsdecode(error.filename))) if error.filename else worded("A file")
    reason = os.strerror(error.errno)
    what = worded("{place} can't be used: {reason}.", place=place, reason=reason)
    return f"sfumato: {what}\n  {translated('Check the disk that it is on.')}"


def _fault(error: Exception) -> str:
    """Describe a bug without its message, which could hold a value of the table."""
    frames = traceback.walk_tb(error.__traceback__)
    modules = ((str(frame.f_globals.get("__name__")), line) for frame, line in frames)
    *_, (module, line) = (each for each in modules if each[0].startswith("sfumato."))
    what = worded(
        "a fault in Sfumato {version}: {error} in {module}, line {line}.",
        version=sfumato.__version__,
        error=type(error).__name__,
        module=module,
        line=line,
    )
    remedy = translated("Please report this line. What was saved before is safe.")
    return f"sfumato: {what}\n  {remedy}"
