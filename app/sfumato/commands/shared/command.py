"""What every command is, and how a command ends."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.commands.shared.terminal import Terminal
    from sfumato.project.project_file import ProjectFile


class ExitCode(IntEnum):
    """How a command ends. The numbers are documented in the help and never change."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    EXPECTED_ERROR = 3
    PASSPHRASE = 4
    FAULT = 70
    CANCELLED = 130


@dataclass(frozen=True)
class Command:
    """One command.

    Parameters
    ----------
    add_arguments
        Describes its arguments to a parser.
    run
        Does it; returns how it ended.
    examples
        Command lines that its help shows; each is one that it understands.
    """

    add_arguments: Callable[[ArgumentParser], None]
    run: Callable[[Namespace, Terminal], ExitCode]
    examples: tuple[str, ...] = ()


def add_project(parser: ArgumentParser) -> None:
    """Describe the argument that names the project, and how its passphrase is given."""
    parser.add_argument("project", type=Path, metavar="PROJECT", help="the project's file")
    add_passphrase(parser)


def add_passphrase(parser: ArgumentParser) -> None:
    """Describe how the passphrase is given: never as an argument, which others could see."""
    parser.add_argument(
        "--passphrase-fd",
        type=int,
        metavar="N",
        help="read the passphrase from file descriptor N, its first line",
    )


def add_json(parser: ArgumentParser) -> None:
    """Describe the argument that has results printed for programs."""
    parser.add_argument("--json", action="store_true", help="print JSON, for other programs")


def add_bundle(parser: ArgumentParser, override: str) -> None:
    """Describe where a bundle goes and how it is written.

    Parameters
    ----------
    parser
        The command's.
    override
        What a reason lets the command do.
    """
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="DIR",
        help="the folder that the bundle is put into",
    )
    parser.add_argument(
        "--format", default="csv", metavar="FORMAT", help="csv, parquet, sav or dta (usual: csv)"
    )
    parser.add_argument("--zip", action="store_true", help="one zip file in place of a folder")
    parser.add_argument(
        "--keep-formulas",
        action="store_true",
        help="leave texts that begin with = + - or @ as they are in CSV, though spreadsheets run"
        " them (usual: an apostrophe before them)",
    )
    parser.add_argument(
        "--override",
        default="",
        metavar="REASON",
        help=f"{override}; the ledger keeps the reason",
    )


def open_project(arguments: Namespace, terminal: Terminal, read_only: bool = False) -> ProjectFile:
    """Open the project that the arguments name, and say what became of unfinished releases."""
    from sfumato.project.project_file import ProjectFile  # noqa: PLC0415 (help is quick without)

    passphrase = terminal.passphrase(arguments.passphrase_fd)
    project = ProjectFile.open(arguments.project, passphrase, read_only=read_only)
    for recovered in project.recovered:
        terminal.note(
            f"An unfinished release to {recovered.recipient} was settled:"
            f" {recovered.explanation}. ({recovered.target})"
        )
    if project.tampering is not None:
        terminal.note(f"sfumato: {project.tampering.what}")
    return project
