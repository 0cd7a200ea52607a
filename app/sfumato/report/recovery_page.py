"""The recovery sheet as it is printed: a page of HTML, or plain text."""

from __future__ import annotations

import os
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Final

from sfumato.formats.errors import CannotWrite
from sfumato.formats.files import refusal_to_write, write_whole
from sfumato.formats.language import moment, said, spoken, worded
from sfumato.project.project_file import ProjectFile
from sfumato.project.recovery_sheet import RecoverySheet, make_sheet

ENDINGS: Final = (".html", ".txt")
_A_LINE: Final = 4
"""So many groups stand in a line."""
_HOW: Final = (
    "Whoever has this sheet and the project's file can open it, and tell which released values are"
    " true. Keep it locked away, and apart from the file.",
    "Lost the passphrase? Choose “Forgot the passphrase?” where the project is opened, or run"
    " sfumato passphrase PROJECT --recovery, type the code, and choose a new passphrase.",
    "The last character of each group checks the others. O is read as 0, I and L as 1.",
    "A new sheet makes this one useless, except for earlier copies of the project.",
)
_STYLE: Final = """\
@page { margin: 2cm } body { font: 12pt/1.5 sans-serif; max-width: 17cm; margin: 1cm auto }
h1 { font-size: 18pt } .code { font: bold 18pt/2 monospace; border: 1pt solid; padding: 8pt 16pt }
.code span { margin-right: 1em; white-space: nowrap }
.code small { font-weight: normal; font-size: 9pt }
"""


def _facts(sheet: RecoverySheet) -> tuple[tuple[str, str], ...]:
    made = f"{moment(datetime.fromisoformat(sheet.made_at))} UTC"
    return (
        (said("Project"), sheet.project),
        (said("Title"), sheet.title),
        (said("Made"), made),
    )


def sheet_as_text(sheet: RecoverySheet) -> str:
    """Return the sheet as lines to print."""
    groups = [f"{at}  {group}" for at, group in enumerate(sheet.code.groups, start=1)]
    lines = ["     ".join(groups[at : at + _A_LINE]) for at in range(0, len(groups), _A_LINE)]
    facts = [worded("{name}: {fact}", name=name, fact=fact) for name, fact in _facts(sheet) if fact]
    told = "\n\n".join(map(said, _HOW))
    whole = (said("Recovery sheet"), "\n".join(facts), "\n\n".join(lines), told)
    return "\n\n".join(whole) + "\n"


def sheet_as_html(sheet: RecoverySheet) -> str:
    """Return the sheet as a page to print."""
    title = escape(said("Recovery sheet"))
    facts = "".join(
        f"<p>{escape(name)}: <strong>{escape(fact)}</strong></p>"
        for name, fact in _facts(sheet)
        if fact
    )
    groups = "".join(
        f"<span><small>{at}</small> {group}</span> "
        for at, group in enumerate(sheet.code.groups, start=1)
    )
    told = "".join(f"<p>{escape(said(each))}</p>" for each in _HOW)
    return (
        f'<!DOCTYPE html>\n<html lang="{spoken()}"><head><meta charset="utf-8">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n<body><h1>{title}</h1>{facts}"
        f'<p class="code">{groups}</p>{told}</body></html>\n'
    )


def save_sheet(project: ProjectFile, passphrase: str, path: Path) -> None:
    """Make a recovery sheet and write it to a file that only its owner can read.

    Parameters
    ----------
    project, passphrase
        As `make_sheet`.
    path
        A new file that ends in ``.html`` or ``.txt``.

    Raises
    ------
    CannotWrite
        If there is a file already, or it ends otherwise.
    FileError
        If the folder does not take it. An earlier sheet stays valid then.
    WrongPassphrase, ProjectError
        As `make_sheet`.
    """
    check_ending(path)
    if os.path.lexists(path):
        raise CannotWrite("There is a file at {path} already.", "Choose another name.", path=path)
    written = False

    def keep(sheet: RecoverySheet) -> None:
        nonlocal written
        made = sheet_as_html(sheet) if path.suffix.lower() == ".html" else sheet_as_text(sheet)
        written = True
        write_whole(path, made.encode())

    try:
        make_sheet(project, passphrase, keep)
    except BaseException as error:
        if written:  # what it says would open nothing
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise refusal_to_write(error, path) from None
        raise


def check_ending(path: Path) -> None:
    """Raise `CannotWrite` unless a sheet can be written by this name."""
    if path.suffix.lower() not in ENDINGS:
        raise CannotWrite(
            "A recovery sheet is written as .html or .txt.",
            "Choose a name that ends so, such as {name}.",
            name=path.with_suffix(".html").name,
        )
