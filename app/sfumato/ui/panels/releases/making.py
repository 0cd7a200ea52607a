"""Making several releases in one job, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import PreparedTable, ReleaseOutcome, make_release


@dataclass(frozen=True)
class Order:
    """What is to be released.

    Parameters
    ----------
    recipients
        Their names, in order.
    folder
        Where the bundles go.
    format_name
        The data files' format.
    as_zip
        One zip file each instead of a folder.
    override
        The reason for releasing a column otherwise than before; may be empty.
    escape_formulas
        Whether texts that a spreadsheet would run are made harmless in CSV files.
    """

    recipients: tuple[str, ...]
    folder: Path
    format_name: str
    as_zip: bool
    override: str = ""
    escape_formulas: bool = True


@dataclass(frozen=True)
class Refusal:
    """A release that could not be made."""

    recipient: str
    error: SfumatoError


@dataclass(frozen=True)
class Made:
    """What became of an order."""

    outcomes: tuple[ReleaseOutcome, ...]
    refusals: tuple[Refusal, ...]


def make_all(project: ProjectFile, table: Table, order: Order, context: Context) -> Made:
    """Make the releases of an order, one after another; a refused one does not stop the others.

    Raises
    ------
    Cancelled
        When asked to stop. Releases that were finished by then stay.
    """
    outcomes: list[ReleaseOutcome] = []
    refusals: list[Refusal] = []
    count = len(order.recipients)
    prepared = PreparedTable(project, table)
    for place, recipient in enumerate(order.recipients):
        part = Part(context, place / count, (place + 1) / count)
        part.report(0.0, recipient)
        try:
            outcome = make_release(
                project,
                table,
                recipient,
                order.folder,
                order.format_name,
                part,
                order.as_zip,
                override=order.override,
                escape_formulas=order.escape_formulas,
                prepared=prepared,
            )
        except SfumatoError as error:
            refusals.append(Refusal(recipient, error))
        else:
            outcomes.append(outcome)
    return Made(tuple(outcomes), tuple(refusals))
