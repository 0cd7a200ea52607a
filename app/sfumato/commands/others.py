"""List or change other holders' tables about the same people."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    file_argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.groups import with_decision
from sfumato.commands.shared.opening import MEMORY, open_project, opened_by_parts
from sfumato.commands.shared.remarks import lines_of, lines_of_answers
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.formats.language import said, worded
from sfumato.formats.notes import Note

if TYPE_CHECKING:
    from sfumato.engine.core.columns import Domain
    from sfumato.engine.core.values import Value
    from sfumato.project.document.generalization import OtherTableFile
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.publication.other_tables import LookAtOther, OpenedOther
    from sfumato.project.release.batched_table import BatchedTable


_SHOWN: Final = 20


_MISSING: Final = "(missing)"


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.other_holders.composition import answer_of, asked_of, beside_others

    stated = arguments.holder is not None or arguments.sensitive is not None
    stated |= bool(arguments.quasi or arguments.value or arguments.discard_shared)
    if arguments.add is None and stated:
        terminal.note(
            "sfumato: --holder, --sensitive, --quasi, --value and --discard-shared go with"
            " --add FILE"
        )
        return ExitCode.USAGE
    if arguments.counts is None and (arguments.name or arguments.people or arguments.column):
        terminal.note("sfumato: --name, --people and --column go with --counts FILE")
        return ExitCode.USAGE
    if arguments.counts is not None or arguments.remove_counts is not None:
        with open_project(arguments, terminal) as project:
            return _change_counts(project, arguments, terminal)
    if arguments.remove is not None:
        with open_project(arguments, terminal) as project:
            return _remove(project, arguments.remove, terminal)
    reading = opened_by_parts(arguments, terminal, 0.2, arguments.add is None)
    with reading as (project, table, context):
        document = with_decision(project.document)
        domain = _domain(document, table, Part(context, 0.0, 0.2))
        if arguments.add is not None:
            look = _look(arguments, document, domain, Part(context, 0.2, 0.6))
            if not _say_look(look, domain, terminal):
                return ExitCode.EXPECTED_ERROR
            document = _with(document, look.file)
            project.save_document(document)
        least, part = asked_of(document) or 1, Part(context, 0.6, 1.0)
        found = beside_others(
            document, table, arguments.with_ours, least, worded("this table"), part
        )
    answer = answer_of(found, document)
    others = answer.facts["others"]
    terminal.tell(
        arguments.json, answer.plain("others"), lines_of_answers([answer] if others else ())
    )
    if not others and not arguments.json:
        terminal.note("There are no tables of other holders.")
    return ExitCode.OK


def _domain(document: Document, table: BatchedTable, context: Context) -> Domain:
    from sfumato.project.publication.generalization_pipeline import sensitive_in

    domain = sensitive_in(document, table.whole, context).domain
    assert domain is not None  # or it would have been refused
    return domain


def _remove(project: ProjectFile, holder: str, terminal: Terminal) -> ExitCode:
    from sfumato.project.rules.text import suggestion

    decided = project.document.generalization
    others = decided.others if decided is not None else ()
    kept = tuple(other for other in others if other.holder != holder)
    if decided is None or len(kept) == len(others):
        raise DiversityError(
            "There is no table of {holder}.",
            suggestion(holder, [other.holder for other in others]),
            holder=holder,
        )
    project.save_document(replace(project.document, generalization=replace(decided, others=kept)))
    terminal.note("The table of {holder} is left out.", holder=holder)
    return ExitCode.OK


def _change_counts(project: ProjectFile, arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Add public counts of how many people tables share, or leave some out."""
    from sfumato.project.publication.prepared import decided_in
    from sfumato.project.publication.public_counts import open_counts, read_counts
    from sfumato.project.rules.text import suggestion

    document = with_decision(project.document)
    decided = decided_in(document)
    name = arguments.remove_counts or arguments.name
    if arguments.counts is not None:
        path = arguments.counts.absolute()
        name = name or path.stem
        stated = [_counts_column(number, text) for number, text in enumerate(arguments.column, 1)]
        tables = (decided.quasi_identifiers, decided.others)
        found = open_counts(path, name, arguments.people, stated, *tables, Silent())
        notes: list[Note] = []
        read_counts(found, Silent(), notes.append)  # before it is kept: it may not be readable
        for line in lines_of(notes, found.options):
            terminal.note(line)
    kept = tuple(each for each in decided.public_counts if each.name != name)
    if arguments.counts is not None:
        kept = (*kept, found)
    elif len(kept) == len(decided.public_counts):
        raise DiversityError(
            "There are no public counts {name}.",
            suggestion(name, [each.name for each in decided.public_counts]),
            name=name,
        )
    changed = replace(decided, public_counts=kept)
    project.save_document(replace(document, generalization=changed))
    said_of = (
        worded("The public counts {name} are left out.", name=name)
        if arguments.counts is None
        else worded("The public counts {name} are taken into account.", name=name)
    )
    terminal.note(said_of)
    return ExitCode.OK


def _counts_column(number: int, text: str) -> tuple[str, str, str]:
    """Return what ``COLUMN=HOLDER:THEIRS`` says, or ``COLUMN=OURS``."""
    column, sign, there = text.partition("=")
    if not sign or not column or not there:
        raise DiversityError(
            "What --column number {number} says does not fit.",
            "Write COLUMN=OURS, or COLUMN=HOLDER:THEIRS.",
            number=number,
        )
    holder, colon, theirs = there.partition(":")
    return (column, holder, theirs) if colon else (column, "", there)


def _with(document: Document, other: OtherTableFile) -> Document:
    """Return a document with another holder's table; one of the same holder is replaced."""
    from sfumato.project.publication.prepared import decided_in

    decided = decided_in(document)
    others = tuple(each for each in decided.others if each.holder != other.holder)
    return replace(document, generalization=replace(decided, others=(*others, other)))


def _look(
    arguments: Namespace, document: Document, domain: Domain, context: Context
) -> LookAtOther:
    from sfumato.project.document.generalization import OtherTableFile
    from sfumato.project.publication.other_tables import look_at_other, open_other
    from sfumato.project.publication.prepared import decided_in

    opened = open_other(arguments.add.absolute(), Part(context, 0.0, 0.2))
    holder = arguments.holder or opened.name
    sensitive = _sensitive(opened, arguments.sensitive, decided_in(document).sensitive, holder)
    names = _quasi_identifiers(opened, arguments.quasi, sensitive)
    if arguments.discard_shared:
        ours = {name.casefold() for name in decided_in(document).quasi_identifiers}
        names = tuple(name for name in names if name.casefold() not in ours)
    stated = OtherTableFile(holder, str(opened.path), "", {}, names, sensitive)
    look = look_at_other(opened, stated, domain.values, Part(context, 0.2, 0.6))
    if not arguments.value:
        return look
    pairs = tuple(
        _pair(number, text, look.unknown, domain) for number, text in enumerate(arguments.value, 1)
    )
    stated = replace(stated, spelling=pairs)
    return look_at_other(opened, stated, domain.values, Part(context, 0.6, 1.0))


def _sensitive(opened: OpenedOther, stated: str | None, ours: str, holder: str) -> str:
    """Return the other table's sensitive column."""
    from sfumato.project.rules.text import suggestion

    found = stated if stated is not None else opened.proposed_sensitive(ours)
    if found not in opened.columns:
        raise DiversityError(
            "The table of {holder} has no column {column}.",
            "Name the one that holds our sensitive attribute: --sensitive COLUMN. "
            + suggestion(stated or ours, opened.columns),
            holder=holder,
            column=stated or ours,
        )
    return found


def _quasi_identifiers(
    opened: OpenedOther, stated: Sequence[str], sensitive: str
) -> tuple[str, ...]:
    if not stated:
        return tuple(name for name in opened.columns if opened.is_public(name, sensitive))
    found: list[str] = []
    for text in stated:
        # A column's name may hold a comma itself.
        parts = [text] if text in opened.columns else text.split(",")
        found += (part.strip() for part in parts if part.strip())
    return tuple(dict.fromkeys(found))


def _pair(number: int, text: str, unknown: Sequence[Value], domain: Domain) -> tuple[Value, Value]:
    """Return what ``THERE=HERE`` says; values may hold equals signs themselves."""
    theirs = {_shown(value): value for value in unknown}
    ours = {_shown(value): value for value in domain.values}
    for place, sign in enumerate(text):
        there, here = text[:place], text[place + 1 :]
        if sign == "=" and there in theirs and here in ours:
            return theirs[there], ours[here]
    raise DiversityError(
        "What --value number {number} says does not fit: a value of the other table that is not"
        " known yet has to stand before the =, and one of ours after it.",
        "Leave --value out to see which values are not known. A missing value is written"
        " {missing}.",
        number=number,
        missing=_MISSING,
    )


def _shown(value: Value) -> str:
    return _MISSING if value is None else str(value)


def _say_look(look: LookAtOther, domain: Domain, terminal: Terminal) -> bool:
    """Say what was remarked and how values are spelled; whether the table can be used."""
    for line in lines_of(look.notes, look.file.options):
        terminal.note(line)
    known = dict(look.file.spelling)
    for there, here in known.items():
        terminal.note("There {shown} is here {shown_2}.", shown=_shown(there), shown_2=_shown(here))
    if look.classes is not None:
        return True
    if look.problem is not None:
        terminal.note("sfumato: {problem}", problem=said(look.problem))
    strange = [value for value in look.unknown if value not in known]
    if strange:
        terminal.note("Not known here: {listed}.", listed=_listed(strange))
        terminal.note("Ours are: {listed}.", listed=_listed(domain.values))
        terminal.note('Say which is which: --value "THERE=HERE".')
    return False


def _listed(values: Sequence[Value]) -> str:
    more = (
        worded(", and {values:,} more", values=len(values) - _SHOWN) if len(values) > _SHOWN else ""
    )
    return "; ".join(map(_shown, values[:_SHOWN])) + more


OTHERS = Command(
    (
        *PROJECT,
        one_of(
            file_argument(
                "--add",
                "FILE",
                "a table that was published: a file, or a data package (a folder or a zip file)",
            ),
            option("--remove", "NAME", "leave a holder's table out again"),
        ),
        option("--holder", "NAME", "with --add: who published it (default: the file's name)"),
        option(
            "--sensitive",
            "COLUMN",
            "with --add: its column with our sensitive attribute (default: the one of the same"
            " name)",
        ),
        repeated(
            "--quasi", "COLUMN,…", "with --add: its public columns (default: all others but keys)"
        ),
        repeated(
            "--value",
            "THERE=HERE",
            "with --add: what a value of its sensitive column is here; may be repeated",
        ),
        flag(
            "--discard-shared",
            "with --add: leave out those of its public columns that are ours too",
        ),
        file_argument(
            "--counts",
            "FILE",
            "public counts of how many people share classes of several tables, to be taken into"
            " account",
        ),
        option("--name", "NAME", "with --counts: what they are called (default: the file's name)"),
        option("--people", "COLUMN", "with --counts: the column with the number of people"),
        repeated(
            "--column",
            "COLUMN=HOLDER:THEIRS",
            "with --counts: whose column it is, or COLUMN=OURS for ours; may be repeated",
        ),
        option("--remove-counts", "NAME", "leave public counts out again"),
        flag(
            "--with-ours",
            "also say what our own table, as it would be published, leaves beside them",
        ),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato others clinic.sfumato",
        "sfumato others clinic.sfumato --add registry.csv --holder Registry --value Influenza=flu",
    ),
)
