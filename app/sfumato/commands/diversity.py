"""Search for safe generalizations of the table, and publish the one that was chosen."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
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
)
from sfumato.commands.shared.groups import (
    POPULATION,
    changes_population,
    lines_of_risk,
    with_decision,
    with_population,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import localized, said, worded

if TYPE_CHECKING:
    from sfumato.analysis.answers import Answer
    from sfumato.engine.generalization.publication import NodeChoice
    from sfumato.project.document.model import Document
    from sfumato.project.publication.generalization_pipeline import PipelineResult, Searched
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
