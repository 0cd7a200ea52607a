"""Do the whole work on the sample."""

from __future__ import annotations

import math
import os
import secrets
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    PASSPHRASE,
    PASSPHRASE_VARIABLE,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    flag,
    lines_of_verification,
)
from sfumato.commands.shared.opening import read_text
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.formats.files import refusal_to_write, write_whole
from sfumato.formats.language import worded
from sfumato.project import SUFFIX
from sfumato.project.errors import TargetExists
from sfumato.resources import resource_path

if TYPE_CHECKING:
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable

SAMPLE = "clinic"
REASON = "The sample is made up: nobody can be found in it."


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.commands.init import document_for
    from sfumato.project.source import create_project, open_table

    folder = arguments.out.absolute()
    _check_empty(folder)
    passphrase = _passphrase(arguments, terminal)
    table = _copied_sample(folder)
    rules = read_text(resource_path("samples", f"{SAMPLE}.toml"))
    with terminal.working() as context:
        made = document_for(table, rules, None, Part(context, 0.0, 0.15))
        path, part = folder / f"{SAMPLE}{SUFFIX}", Part(context, 0.15, 0.2)
        project = create_project(path, passphrase, made.document, made.table, part)
        with project:
            terminal.say("Project   {path}", path=project.path)
            read = open_table(project, math.inf, Part(context, 0.2, 0.3))
            out = folder / "bundles"
            holds = _release_all(project, read, out, Part(context, 0.3, 1.0), terminal)
            if not arguments.no_pictures:
                _take_pictures(project, read, folder / "pictures", terminal)
    terminal.say(worded("The demo is done.") if holds else worded("A check failed."))
    terminal.note(
        "What a recipient gets is in {folder}; begin with a README.md there. To look at the"
        " project, type: sfumato open {folder_2}",
        folder=folder / "bundles",
        folder_2=folder / (SAMPLE + SUFFIX),
    )
    return ExitCode.OK if holds else ExitCode.CHECK_FAILED


def _check_empty(folder: Path) -> None:
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise TargetExists(
            "{folder} is not empty.", "Choose a new or an empty folder.", folder=folder
        )


def _passphrase(arguments: Namespace, terminal: Terminal) -> str:
    """Return the passphrase given, or make one up: the sample is about nobody."""
    given = terminal.given(arguments.passphrase_fd, PASSPHRASE_VARIABLE)
    if given is not None:
        return given
    passphrase = "-".join(secrets.token_hex(2) for _ in range(5))
    terminal.say("Passphrase of the demo project: {passphrase}", passphrase=passphrase)
    terminal.note(
        "This passphrase is made up, and shown because the sample is about nobody. Never let"
        " one of"
        " real data be shown or written down beside it."
    )
    return passphrase


def _copied_sample(folder: Path) -> Path:
    """Put a copy of the sample into the folder, so that the project can be moved with it."""
    table = folder / f"{SAMPLE}.csv"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(table, resource_path("samples", table.name).read_bytes())
    except OSError as error:
        raise refusal_to_write(error, table) from None
    return table


def _release_all(
    project: ProjectFile, table: BatchedTable, out: Path, context: Context, terminal: Terminal
) -> bool:
    """Make and verify every recipient's bundle; return whether all checks hold."""
    from sfumato.analysis.releasing import ReleaseOrder, make_releases
    from sfumato.project.release.prepared import PreparedTable
    from sfumato.project.verification.verify import verify_bundle

    names = tuple(recipient.name for recipient in project.document.recipients)
    prepared, first = PreparedTable(project, table), Part(context, 0.0, 0.5)
    bundles = []
    for outcome in make_releases(project, prepared, ReleaseOrder(names, out), REASON, first):
        terminal.say("Released  {path}", path=outcome.path)
        bundles.append(outcome.path)
    holds = True
    for path, part in one_by_one(Part(context, 0.5, 1.0), bundles):
        report = verify_bundle(project, table, path, part)
        if report.holds:
            terminal.say(
                "Verified  {path} ({checks} {checks:check|checks})",
                path=path,
                checks=len(report.checks),
            )
        else:
            terminal.tell(False, None, lines_of_verification(report.failed))
        holds = holds and report.holds
    return holds


def _take_pictures(
    project: ProjectFile, table: BatchedTable, folder: Path, terminal: Terminal
) -> None:
    """Draw the window's panels without a screen."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    try:
        from sfumato.ui.pictures import save_pictures
    except ModuleNotFoundError:
        terminal.note("Qt is not installed, so there are no pictures of the window.")
        return
    for path in save_pictures(project, table, folder):
        terminal.say("Picture   {path}", path=path)


DEMO = Command(
    (
        file_argument(
            "--out",
            "DIR",
            "a new or empty folder for the project, the bundles and the pictures",
            required=True,
        ),
        flag("--no-pictures", "leave out the pictures of the window"),
        PASSPHRASE,
    ),
    _run,
    ("sfumato demo --out demo",),
)
