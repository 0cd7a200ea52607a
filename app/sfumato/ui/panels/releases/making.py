"""An order of several releases, made in one job, and what became of each."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sfumato.analysis.readiness import accepted_for, examine, looked_through, require_ready
from sfumato.analysis.shown_columns import LeavingColumns, ShownColumns
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import Table
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import ReleaseOutcome, make_release
from sfumato.project.release.release_columns import attributes_of


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
    dcat
        Whether bundles are described for data catalogues too.
    """

    recipients: tuple[str, ...]
    folder: Path
    format_name: str
    as_zip: bool
    override: str = ""
    escape_formulas: bool = True
    dcat: bool = False


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


def make_all(
    project: ProjectFile,
    table: Table | LongTable,
    order: Order,
    columns: LeavingColumns | None,
    context: Context,
) -> Made:
    """Make the releases of an order, one after another; a refused one does not stop the others.

    `columns` is what is known of the columns of a table in memory, for the check before.

    Raises
    ------
    Cancelled
        When asked to stop. Releases that were finished by then stay.
    """
    outcomes: list[ReleaseOutcome] = []
    refusals: list[Refusal] = []
    count = len(order.recipients)
    document, first = project.document, 0.3 if isinstance(table, LongTable) else 0.1
    leaving: ShownColumns
    ready = Part(context, 0.0, first)
    try:
        if isinstance(table, LongTable):
            document, leaving, known = looked_through(
                document, table, project.keys, Part(ready, 0.0, 0.9)
            )
            ready = Part(ready, 0.9, 1.0)
        else:
            assert columns is not None
            known, leaving = attributes_of(document, table), columns.of(document)
        checked = examine(document, leaving, known, project.releases, ready)
    except SfumatoError as error:
        return Made((), tuple(Refusal(name, error) for name in order.recipients))
    prepared, rest = PreparedTable(project, table), Part(context, first, 1.0)
    for place, recipient in enumerate(order.recipients):
        part = Part(rest, place / count, (place + 1) / count)
        part.report(0.0, recipient)
        try:
            require_ready(checked, [recipient])
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
                dcat=order.dcat,
                prepared=prepared,
                accepted=accepted_for(checked, recipient),
            )
        except SfumatoError as error:
            refusals.append(Refusal(recipient, error))
        else:
            outcomes.append(outcome)
    return Made(tuple(outcomes), tuple(refusals))
