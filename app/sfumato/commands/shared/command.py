"""What a command is, the arguments that commands share, and how a command ends."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, translated, worded

if TYPE_CHECKING:
    from argparse import _ArgumentGroup

    from sfumato.commands.shared.terminal import Terminal
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


class Described(Protocol):
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
    """

    arguments: Sequence[Described]
    run: Callable[[Namespace, Terminal], ExitCode]
    examples: tuple[str, ...] = ()

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
    "release although something grave was found (see sfumato check); the ledger and the report"
    " keep the reason, which stands until what it was given for changes",
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
        option("--format", "FORMAT", "csv, parquet, sav or dta (usual: csv)", default="csv"),
        flag("--zip", "one zip file in place of a folder"),
        flag("--dcat", "describe the bundle for data catalogues too: DCAT as JSON-LD"),
        flag(
            "--keep-formulas",
            "leave texts that begin with = + - or @ as they are in CSV, though spreadsheets run"
            " them (usual: an apostrophe before them)",
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


def lines_of_verification(checks: Sequence[Check]) -> Iterator[str]:
    """Return a line for each check, and one that sums them up."""
    yield from lines_of_checks(checks)
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
