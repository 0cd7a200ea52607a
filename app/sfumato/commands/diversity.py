"""Generalized tables: the search for safe ones, publishing, and others' tables beside ours."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    bundle_arguments,
    file_argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.groups import (
    POPULATION,
    changes_population,
    lines_of_risk,
    with_decision,
    with_population,
)
from sfumato.commands.shared.opening import MEMORY, open_project, opened_by_parts
from sfumato.commands.shared.remarks import lines_of, lines_of_answers
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import localized, said, worded
from sfumato.formats.notes import Note

if TYPE_CHECKING:
    from sfumato.analysis.answers import Answer
    from sfumato.engine.core.columns import Domain
    from sfumato.engine.core.values import Value
    from sfumato.engine.generalization.publication import NodeChoice
    from sfumato.project.document.generalization import OtherTableFile
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.publication.generalization_pipeline import PipelineResult, Searched
    from sfumato.project.publication.other_tables import LookAtOther, OpenedOther
    from sfumato.project.release.batched_table import BatchedTable

_SHOWN: Final = 20
"""Candidates that are listed unless all are asked for."""
_HEADINGS: Final = ("average level", "loss", "classes", "records left out")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.tables.safe_levels import answer_of
    from sfumato.project.publication.generalization_pipeline import find

    changes = changes_population(arguments)
    opening = opened_by_parts(arguments, terminal, 0.2, not changes)
    with opening as (project, table, context):
        document = with_decision(project.document)
        if changes:
            document = with_population(document, arguments, Part(context, 0.0, 0.05))
            project.save_document(document)
        is_proposed = document != project.document
        found = find(document, table, Part(context, 0.05, 0.6))
        candidates = _candidates(found, arguments.all, Part(context, 0.6, 0.9))
        figures = _figures(document, table, found, candidates)
        figures["risk"] = _risk(document, found, Part(context, 0.9, 1.0))
    figures["proposed"] = is_proposed
    if not arguments.json:
        for remark in _remarks(figures):
            terminal.note(remark)
    terminal.tell(arguments.json, figures, _lines(figures, answer_of(found)))
    return ExitCode.OK if figures["safe"] else ExitCode.EXPECTED_ERROR


def _candidates(found: PipelineResult, every: bool, context: Context) -> list[NodeChoice]:
    """Return the safe nodes to list, with what each loses."""
    from sfumato.engine.generalization.publication import rank

    if found.searched is None:
        return []
    result = found.searched.result
    nodes = result.safe_nodes() if every else result.minimal[:_SHOWN]
    return rank(found.prepared.coded, nodes, found.prepared.criteria, context)


def _risk(document: Document, found: PipelineResult, context: Context) -> dict[str, Any] | None:
    """Return how likely somebody is found at the levels that would be published."""
    from sfumato.project.publication.generalization_pipeline import chosen_node, rows_at
    from sfumato.project.publication.population import read_population, risks_of, told
    from sfumato.project.publication.prepared import decided_in

    if found.searched is None or found.searched.best is None:
        return None
    prepared, decided = found.prepared, decided_in(document)
    try:
        node = chosen_node(document, found.searched)
    except DiversityError:
        return None  # publishing says why these levels can't be published
    population = read_population(document, prepared, Part(context, 0.0, 0.5))
    risks = risks_of(document, rows_at(prepared, node), population, Part(context, 0.5, 1.0))
    unit = "" if document.unit is None else document.unit.name
    return told(risks, population, decided.sampling_fraction, unit)


def _figures(
    document: Document,
    table: BatchedTable,
    found: PipelineResult,
    candidates: Sequence[NodeChoice],
) -> dict[str, Any]:
    from sfumato.project.publication.prepared import decided_in

    decided = decided_in(document)
    names = decided.quasi_identifiers
    figures: dict[str, Any] = {
        "sensitive": decided.sensitive,
        "quasi_identifiers": list(names),
        "criteria": [choice.text for choice in decided.criteria],
        "beside": [other.holder for other in decided.others],
        "records": table.rows,
        "suppression": decided.suppression,
        "chosen": None if decided.node is None else dict(zip(names, decided.node, strict=True)),
        "safe": 0,
        **(_counts(found.searched) if found.searched is not None else {}),
        "candidates": [_candidate(choice, names) for choice in candidates],
    }
    if found.problem is not None:
        figures["problem"] = found.problem.sentence
    if found.no_solution is not None:
        figures["advice"] = list(found.no_solution.advice)
        figures["failing"] = list(found.no_solution.failing)
    return figures


def _counts(searched: Searched) -> dict[str, Any]:
    result = searched.result
    return {
        "nodes": result.lattice.size,
        "examined": result.examined,
        "safe": result.safe_count,
        "minimal": len(result.minimal),
        "minimum_average_level": result.minimum_average_level,
        "best": None if searched.best is None else _candidate(searched.best, result.names),
    }


def _candidate(choice: NodeChoice, names: Sequence[str]) -> dict[str, Any]:
    return {"levels": dict(zip(names, choice.node, strict=True)), **asdict(choice.loss)}


def _remarks(figures: dict[str, Any]) -> Iterator[str]:
    """Return what is no part of the result: what is proposed, unknown or left out."""
    from sfumato.project.publication.population import UnknownCells

    if figures["proposed"]:
        yield worded("Nothing is decided yet; this is what is proposed.")
    for each in (figures["risk"] or {}).get("unknown", ()):
        yield UnknownCells(each["column"], each["cells"], each["row"]).text
    left = figures.get("minimal", 0) - len(figures["candidates"])
    if figures["safe"] and left > 0:
        yield worded("{left:,} more minimal ones; --all lists every safe one.", left=left)


def _lines(figures: dict[str, Any], answer: Answer) -> Iterator[str]:
    beside = (
        worded(", beside the tables of {beside}", beside=", ".join(figures["beside"]))
        if figures["beside"]
        else ""
    )
    yield f"{figures['sensitive']}: {'; '.join(map(said, figures['criteria']))}{beside}"
    yield from lines_of_answers([answer])
    if not figures["safe"]:
        return
    best = figures["best"]
    yield worded("Best: {levels}", levels=_levels(best["levels"]))
    yield worded(
        "  average level {average_level:.3g}, loss {generalization:.4f}, entropy"
        " {entropy:.4f}, {classes:,} {classes:class|classes}, a record looks like"
        " {average_discernibility:,.1f} records on average, where one that stands out counts as"
        " like all; {suppressed:,} {suppressed:stands|stand} out",
        average_level=best["average_level"],
        generalization=best["generalization"],
        entropy=best["entropy"],
        classes=best["classes"],
        average_discernibility=best["average_discernibility"],
        suppressed=best["suppressed"],
    )
    if figures["chosen"] is not None:
        yield worded("Chosen: {levels}", levels=_levels(figures["chosen"]))
    if figures["risk"] is not None:
        yield from lines_of_risk(figures["risk"])
    yield from _candidate_lines(figures)


def _candidate_lines(figures: dict[str, Any]) -> Iterator[str]:
    names = figures["quasi_identifiers"]
    rows = [
        [
            *(str(each["levels"][name]) for name in names),
            localized(f"{each['average_level']:.3g}"),
            localized(f"{each['generalization']:.4f}"),
            localized(f"{each['classes']:,}"),
            localized(f"{each['suppressed']:,}"),
        ]
        for each in figures["candidates"]
    ]
    headings = [*names, *_HEADINGS]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    yield ""
    for row in (headings, *rows):
        yield "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))


def _levels(levels: dict[str, int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


DIVERSITY = Command(
    (
        *PROJECT,
        flag(
            "--all",
            Sentence(
                "list every safe choice of levels, not only the {SHOWN} lowest minimal ones",
                SHOWN=_SHOWN,
            ),
        ),
        POPULATION,
        MEMORY,
        JSON,
    ),
    _run,
    ("sfumato diversity clinic.sfumato --all",),
)


# ----- publish the generalized table and record it


def _run_publish(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.project.publication.continued import publish_further
    from sfumato.project.publication.followed import edition_told
    from sfumato.project.publication.publish import publish_table
    from sfumato.project.release.uniqueness import alone_from, publication_limits

    with opened_by_parts(arguments, terminal, 0.2, read_only=False) as (project, table, context):
        cautions = row_order_caution(project.document)
        if changes_population(arguments):
            known = with_population(project.document, arguments, Part(context, 0.0, 0.0))
            project.save_document(known)
        given = (project, table, arguments.out, arguments.format, context, arguments.zip)
        options = {
            "override": arguments.override,
            "escape_formulas": not arguments.keep_formulas,
            "dcat": arguments.dcat,
        }
        if arguments.counterfeits:
            outcome = publish_further(*given, **options)
        else:
            outcome = publish_table(*given, earlier=arguments.earlier, **options)
        told = outcome.record.details["alone"]
        limits = publication_limits(
            project.document, alone_from(told) if told else None, advice=True
        )
    terminal.say(str(outcome.path))
    edition = edition_told(outcome.record)
    for remark in (*([] if edition is None else [edition]), *limits, *cautions):
        terminal.note(remark)
    return ExitCode.OK


PUBLISH = Command(
    (
        *PROJECT,
        *bundle_arguments("publish beside releases that it contradicts"),
        file_argument(
            "--earlier",
            "BUNDLE",
            "the bundle of the earlier edition: this one may follow if both together leave enough",
        ),
        flag(
            "--counterfeits",
            "follow the earlier editions at their levels: who came enters in groups, the records"
            " of who left stay as counterfeits, and are counted",
        ),
        POPULATION,
        MEMORY,
    ),
    _run_publish,
    (
        "sfumato publish clinic.sfumato --out public",
        "sfumato publish clinic.sfumato --out public --earlier public/generalized-1a2b3c4d-csv",
        "sfumato publish clinic.sfumato --out public --counterfeits",
    ),
)


_VALUES_SHOWN: Final = 20
_MISSING: Final = "(missing)"


def _run_others(arguments: Namespace, terminal: Terminal) -> ExitCode:
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
        worded(", and {values:,} more", values=len(values) - _VALUES_SHOWN)
        if len(values) > _VALUES_SHOWN
        else ""
    )
    return "; ".join(map(_shown, values[:_VALUES_SHOWN])) + more


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
    _run_others,
    (
        "sfumato others clinic.sfumato",
        "sfumato others clinic.sfumato --add registry.csv --holder Registry --value Influenza=flu",
    ),
)
