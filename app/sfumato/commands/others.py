"""List or change other holders' tables about the same people."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

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
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.engine.core.columns import Domain
    from sfumato.engine.core.values import Value
    from sfumato.engine.table.table import Table
    from sfumato.project.document.generalization import OtherTableFile
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.publication.other_tables import LookAtOther, OpenedOther
    from sfumato.project.release.long_table import LongTable

_SHOWN: Final = 20
_MISSING: Final = "(missing)"


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.composition import asked_of, beside_others, plain

    stated = arguments.holder is not None or arguments.sensitive is not None
    if arguments.add is None and (stated or arguments.quasi or arguments.value):
        terminal.note(
            worded("sfumato: --holder, --sensitive, --quasi and --value go with --add FILE")
        )
        return ExitCode.USAGE
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
    figures = plain(document, found)
    terminal.tell(arguments.json, figures, _lines(figures))
    if not figures["others"] and not arguments.json:
        terminal.note(worded("There are no tables of other holders."))
    return ExitCode.OK


def _domain(document: Document, table: Table | LongTable, context: Context) -> Domain:
    from sfumato.project.publication.generalization_pipeline import in_parts, sensitive_in

    domain = sensitive_in(document, in_parts(table), context).domain
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
    terminal.note(worded("The table of {holder} is left out.", holder=holder))
    return ExitCode.OK


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
    """Say how values are spelled; whether the table can be used."""
    known = dict(look.file.spelling)
    for there, here in known.items():
        terminal.note(
            worded("There {shown} is here {shown_2}.", shown=_shown(there), shown_2=_shown(here))
        )
    if look.classes is not None:
        return True
    if look.problem is not None:
        terminal.note(worded("sfumato: {problem}", problem=said(look.problem)))
    strange = [value for value in look.unknown if value not in known]
    if strange:
        terminal.note(worded("Not known here: {listed}.", listed=_listed(strange)))
        terminal.note(worded("Ours are: {listed}.", listed=_listed(domain.values)))
        terminal.note(worded('Say which is which: --value "THERE=HERE".'))
    return False


def _listed(values: Sequence[Value]) -> str:
    more = (
        worded(", and {values:,} more", values=len(values) - _SHOWN) if len(values) > _SHOWN else ""
    )
    return "; ".join(map(_shown, values[:_SHOWN])) + more


def _lines(figures: dict[str, Any]) -> Iterator[str]:
    if not figures["others"]:
        return
    for each in figures["others"]:
        knows = ", ".join(each["quasi_identifiers"]) or worded("no public column")
        yield worded(
            "{holder}: {classes:,} {classes:class|classes} by {knows}, own l = {l} ({file})",
            holder=each["holder"],
            classes=each["classes"],
            knows=knows,
            l=each["l"],
            file=each["file"],
        )
    left, asked = figures["left"], figures["asked"]
    yield worded(
        "Together they leave at least {left} of {values} {values:value|values} of {sensitive};"
        " no table beside them can keep more.",
        left=left,
        values=figures["values"],
        sensitive=figures["sensitive"],
    )
    if left < asked:
        yield worded("An l of {asked} is out of reach.", asked=asked)
        for each in figures["others"]:
            if each["cause"]:
                yield worded(
                    "  The table of {holder} is the cause: the others leave {left_without}.",
                    holder=each["holder"],
                    left_without=each["left_without"],
                )
    ours = figures["ours"]
    if ours["problem"]:
        yield worded("Our own table takes no part: {problem}", problem=ours["problem"])
    elif ours["levels"] is not None:
        at = ", ".join(f"{name} {level}" for name, level in ours["levels"].items())
        yield worded(
            "With our own table ({at}), {left} {left:value is|values are} left at least;"
            " {combinations:,} {combinations:combination|combinations} of classes"
            " {combinations:leaves|leave} fewer than {asked}.",
            at=at,
            left=ours["left"],
            combinations=ours["combinations"],
            asked=asked,
        )


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
        option("--holder", "NAME", "with --add: who published it (usual: the file's name)"),
        option(
            "--sensitive",
            "COLUMN",
            "with --add: its column with our sensitive attribute (usual: of the same name)",
        ),
        repeated(
            "--quasi", "COLUMN,…", "with --add: its public columns (usual: all others but keys)"
        ),
        repeated(
            "--value",
            "THERE=HERE",
            "with --add: what a value of its sensitive column is here; may be repeated",
        ),
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
