"""Take a release made elsewhere onto the ladder."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    file_argument,
    flag,
    lines_of_checks,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, READING, opened_by_parts, reading_of
from sfumato.commands.shared.remarks import lines_of
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, worded
from sfumato.project.errors import AdoptionError

if TYPE_CHECKING:
    from sfumato.engine.core.columns import Domain
    from sfumato.engine.core.values import Value
    from sfumato.engine.table.table import EncodedColumn
    from sfumato.project.adoption.examination import Examination
    from sfumato.project.document.adopted_files import RowMatching
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable

ESTIMATE = "estimate"
MATCHES = ("key", "rows")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.adoption.adopt import check_not_released, entry_called
    from sfumato.project.adoption.examination import adopt

    with opened_by_parts(arguments, terminal, 0.3, read_only=False) as (project, table, context):
        examination = _examined(arguments, project, table, context)
        for line in lines_of(examination.notes, examination.file.options):
            terminal.note(line)
        terminal.tell(False, None, _lines(examination))
        if not examination.file.rung and not arguments.beside:
            terminal.say(
                "Not adopted: no level can be fitted to it. With --beside it is adopted all the"
                " same, so that its holder is counted wherever coalitions are."
            )
            return ExitCode.CHECK_FAILED
        changed = adopt(project.document, arguments.attribute, examination)
        check_not_released(
            entry_called(project.document, arguments.attribute),
            entry_called(changed, arguments.attribute),
            project.releases,
        )
        project.save_document(changed)
    place = (
        worded("as a rung of the ladder") if examination.file.rung else worded("beside the ladder")
    )
    terminal.say("Adopted {place}. The ledger records it with the next release.", place=place)
    return ExitCode.OK


def _examined(
    arguments: Namespace, project: ProjectFile, table: BatchedTable, context: Context
) -> Examination:
    from sfumato.project.adoption.adopt import adopting, entry_called
    from sfumato.project.adoption.examination import Claim, examine

    entry = entry_called(project.document, arguments.attribute)
    adopting(entry)
    document = project.document
    part = Part(context, 0.0, 0.3)
    columns = table.encoded(document, entry.attributes, part)
    claim = Claim(
        path=arguments.file,
        options=reading_of(arguments, arguments.file),
        columns=_columns(arguments, entry.attributes),
        level=_level(arguments.level),
        match=_match(arguments, document.record_key),
        values=_values(arguments.value, columns),
        holder=arguments.holder,
    )
    rest, folders = Part(context, 0.3, 1.0), (project.path.parent,)
    return examine(document, entry.key, claim, columns, table.to_match(rest), rest, folders)


def _columns(arguments: Namespace, attributes: tuple[str, ...]) -> dict[str, str]:
    given = arguments.column or list(attributes)
    if len(given) != len(attributes):
        raise AdoptionError(
            "{count} {count:column was|columns were} given, and {attribute} consists of {needed}.",
            "Give --column once for each attribute, in their order.",
            count=len(given),
            attribute=arguments.attribute,
            needed=len(attributes),
        )
    return dict(zip(attributes, given, strict=True))


def _level(text: str) -> float | None:
    if text == ESTIMATE:
        return None
    try:
        return float(text)
    except ValueError:
        raise AdoptionError(
            "The level is neither a number nor '{word}'.",
            "Write --level 0.4, or --level {word}.",
            word=ESTIMATE,
        ) from None


def _match(arguments: Namespace, record_key: str | None) -> RowMatching:
    from sfumato.project.document.adopted_files import BY_KEY, BY_ROWS, RowMatching

    if arguments.match == BY_ROWS:
        return RowMatching()
    column = arguments.key or record_key or ""
    if not column:
        raise AdoptionError(
            "The project has no record key to match by.",
            "Name the table's key column: --key COLUMN.",
        )
    return RowMatching(BY_KEY, column, arguments.file_key or column)


def _values(
    given: list[str], columns: tuple[EncodedColumn, ...]
) -> dict[str, tuple[tuple[str, Value], ...]]:
    pairs: dict[str, tuple[tuple[str, Value], ...]] = {}
    for column in columns:
        domain = column.attribute.domain
        if domain is not None and given:
            pairs[column.attribute.name] = tuple(_pair(text, domain) for text in given)
    return pairs


def _pair(text: str, domain: Domain) -> tuple[str, Value]:
    found, _, meant = text.partition("=")
    for name, value in zip(domain.names, domain.values, strict=True):
        if meant in (name, str(value)):
            return found, value
    raise AdoptionError(
        "One of the --value arguments does not name a value of the domain.",
        "Write it as FOUND=MEANT, with a value of the domain after the equals sign.",
    )


def _lines(examination: Examination) -> Iterator[str]:
    yield said(examination.found.finding)
    if examination.file.estimated:
        yield worded("It is taken to be {level:g}.", level=examination.file.level)
    if examination.file.part is not None:
        covered, records = examination.file.part
        yield worded(
            "It has {covered:,} of the table's {records:,} {records:record|records}. For the"
            " others it is no rung: they are released as though it did not exist.",
            covered=covered,
            records=records,
        )
    if examination.spare:
        yield worded(
            "{spare:,} {spare:row|rows} of the file {spare:belongs|belong} to no record of the"
            " table.",
            spare=examination.spare,
        )
    yield from lines_of_checks(examination.checks)
    for pair in examination.pairs:
        yield from lines_of_checks(
            pair.checks, worded("beside {called}: ", called=pair.other.called)
        )
    yield from map(said, examination.damage)


ADOPT = Command(
    (
        *PROJECT,
        option(
            "--attribute", "NAME", "the policy entry that the file is a release of", required=True
        ),
        file_argument("--file", "FILE", "the release", required=True),
        option(
            "--level",
            "P",
            Sentence(
                "its level in the mechanism's unit, or '{ESTIMATE}' (default: {ESTIMATE})",
                ESTIMATE=ESTIMATE,
            ),
            default=ESTIMATE,
        ),
        argument(
            "--match",
            choices=MATCHES,
            default="rows",
            help="match records by a key column or by the order of the rows (default: rows)",
        ),
        option("--key", "COLUMN", "the table's key column (default: the record key)", default=""),
        option("--file-key", "COLUMN", "the file's key column (default: the same)", default=""),
        repeated(
            "--column",
            "NAME",
            "the file's column, one for each attribute of the entry (default: the one of the same"
            " name)",
        ),
        repeated(
            "--value", "FOUND=MEANT", "what a value of the file means; may be given several times"
        ),
        option("--holder", "NAME", "who was given the file", default=""),
        flag("--beside", "adopt the file beside the ladder where it does not fit"),
        READING,
        MEMORY,
    ),
    _run,
    ("sfumato adopt clinic.sfumato --attribute diagnosis --file earlier.csv --level 0.4",),
    reads=lambda _arguments: True,
)
