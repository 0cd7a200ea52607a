"""The recovery sheet: a second key to a project's secret, on paper, for a lost passphrase.

The secret is wrapped a second time, under a random code that nothing but the sheet holds. A new
sheet takes the place of the one before. Copies of the project from before still open by theirs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from pathlib import Path

from sfumato.engine.core.frozen import dataclass
from sfumato.project.errors import (
    PassphraseError,
    WrongPassphrase,
    WrongRecoveryCode,
)
from sfumato.project.ledger import EntryKind
from sfumato.project.project_file import ProjectFile, existing_project, id_in
from sfumato.project.store.files import Clock, stamp, utc_now
from sfumato.project.store.recovery_code import RecoveryCode
from sfumato.project.store.schema import Contents
from sfumato.project.store.secret import (
    RECOVERY,
    STANDARD_COST,
    Cost,
    ProjectSecret,
    key_in,
    unwrap,
    wrap,
    write_key,
)


@dataclass(frozen=True)
class RecoverySheet:
    """What is printed.

    Parameters
    ----------
    project
        The name of the project's file.
    title
        The project's title.
    made_at
        When it was made; ISO 8601, UTC.
    code
        What opens the project.
    """

    project: str
    title: str
    made_at: str
    code: RecoveryCode = field(repr=False)


def make_sheet(
    project: ProjectFile, passphrase: str, keep: Callable[[RecoverySheet], None]
) -> None:
    """Make a recovery sheet, in the place of an earlier one.

    Parameters
    ----------
    project
        Open for writing.
    passphrase
        Its passphrase: whoever finds the project open makes no second key to it.
    keep
        Writes the sheet down, before the earlier one is of no use any more.

    Raises
    ------
    WrongPassphrase
        If it is another one.
    Exception
        As `keep`: then the earlier sheet stays valid.
    """
    project.check_passphrase(passphrase)
    code = RecoveryCode.generate()
    made_at = stamp(project.clock)
    wrapped = wrap(project.secret, code.reveal(), _about(project.project_id), project.cost)
    with project.database.transaction() as connection:
        write_key(connection, RECOVERY, wrapped)
        project.ledger.append(connection, EntryKind.RECOVERY_SHEET_MADE, {})
        keep(RecoverySheet(project.path.name, project.document.title, made_at, code))


def recover(
    path: Path,
    code: str,
    passphrase: str,
    *,
    cost: Cost = STANDARD_COST,
    clock: Clock = utc_now,
) -> ProjectFile:
    """Open a project by the code of its recovery sheet, and give it a new passphrase.

    Parameters
    ----------
    path
        The project.
    code
        As it was typed.
    passphrase
        What opens the project from now on.
    cost
        The work of one guess of it.
    clock
        Tells the time for the ledger.

    Raises
    ------
    WrongRecoveryCode
        If the code is mistyped, or is not that of the project's newest sheet.
    PassphraseError
        If the new passphrase is empty.
    ProjectError
        As `ProjectFile.open`.
    """
    typed = RecoveryCode(code)
    if not passphrase:
        raise PassphraseError("The passphrase is empty.", "Choose a passphrase of several words.")
    path = existing_project(path)
    project = ProjectFile.opened_by(path, lambda contents: _secret_by(contents, typed), clock)
    try:
        project.set_passphrase(passphrase, {"by": "recovery sheet"}, cost=cost)
    except BaseException:
        project.close()
        raise
    return project


def _secret_by(contents: Contents, code: RecoveryCode) -> ProjectSecret:
    found = key_in(contents.tables.get("keys", ()), RECOVERY)
    if found is None:
        raise WrongRecoveryCode(
            "No recovery sheet was made for this project.",
            "Open it with its passphrase, or restore a copy whose passphrase you know.",
        )
    try:
        return unwrap(found[1], code.reveal(), _about(id_in(contents)))
    except WrongPassphrase:
        raise WrongRecoveryCode(
            "The recovery code is typed as it was printed, but it does not open this project.",
            "It is the sheet of another project, or a newer sheet was made since: take the newest"
            " one of this project.",
        ) from None


def _about(project_id: str) -> str:
    """Return what keeps the wrapped secret from standing for the one under the passphrase."""
    return f"{project_id} recovery sheet"
