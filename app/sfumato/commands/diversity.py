"""Search for safe generalizations of the table."""

from __future__ import annotations

import json
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any, Final

from sfumato.commands.shared.command import Command, ExitCode, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.population import (
    add_population,
    changes_population,
    say_risk,
    with_population,
)
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.loss import Choice, rank
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    Searched,
    chosen_node,
    decided_in,
    proposed,
)
from sfumato.project.publication.population import read_population, risks_of, told
from sfumato.project.publication.search import Found, find

_SHOWN: Final = 20
"""Candidates that are listed unless all are asked for."""
_HEADINGS: Final = ("average level", "loss", "classes", "records left out")


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    parser.add_argument(
        "--all",
        action="store_true",
        help=f"list every safe choice of levels, not only the {_SHOWN} lowest minimal ones",
    )
    add_population(parser)
    parser.add_argument("--json", action="store_true", help="the figures as JSON")


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    changes = changes_population(arguments)
    with (
        open_project(arguments, terminal, read_only=not changes) as project,
        terminal.working() as context,
    ):
        table = source_of(project, Part(context, 0.0, 0.2))
        document = with_decision(project.document)
        if changes:
            document = with_population(document, arguments, Part(context, 0.2, 0.25))
            project.save_document(document)
        is_proposed = document != project.document
        found = find(document, table, Part(context, 0.25, 0.7))
        candidates = _candidates(found, arguments.all, Part(context, 0.7, 0.9))
        figures = _figures(document, table, found, candidates)
        figures["risk"] = _risk(document, table, found, Part(context, 0.9, 1.0))
    figures["proposed"] = is_proposed
    if arguments.json:
        terminal.say(json.dumps(figures, indent=2))
    else:
        _print(figures, terminal)
    return ExitCode.OK if figures["safe"] else ExitCode.EXPECTED_ERROR


def with_decision(document: Document) -> Document:
    """Return a document in which something is decided about a generalized table.

    Where nothing is, it is what a generalization starts with.

    Raises
    ------
    DiversityError
        If there is nothing to start with either.
    """
    if document.generalization is None:
        document = replace(document, generalization=proposed(document))
    if document.generalization is None:
        raise DiversityError(
            "There is nothing to generalize: no quasi-identifier has a hierarchy, or no column is"
            " sensitive.",
            "Give the quasi-identifiers hierarchies: sfumato hierarchy PROJECT --column COLUMN"
            " --propose.",
        )
    return document


def _candidates(found: Found, every: bool, context: Context) -> list[Choice]:
    """Return the safe nodes to list, with what each loses."""
    if found.searched is None:
        return []
    result = found.searched.result
    nodes = result.safe_nodes() if every else result.minimal[:_SHOWN]
    return rank(found.prepared.coded, nodes, found.prepared.criteria, context)


def _risk(
    document: Document, table: Table, found: Found, context: Context
) -> dict[str, Any] | None:
    """Return how likely somebody is found at the levels that would be published."""
    if found.searched is None or found.searched.best is None:
        return None
    prepared, decided = found.prepared, decided_in(document)
    try:
        node = chosen_node(document, found.searched)
    except DiversityError:
        return None  # publishing says why these levels can't be published
    classes = equivalence_classes(prepared.coded, node, prepared.criteria)
    population = read_population(document, table, prepared, context)
    risks = risks_of(document, table, prepared, classes, population, node)
    return told(risks, population, decided.sampling_fraction)


def _figures(
    document: Document, table: Table, found: Found, candidates: Sequence[Choice]
) -> dict[str, Any]:
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
        figures["problem"] = str(found.problem)
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


def _candidate(choice: Choice, names: Sequence[str]) -> dict[str, Any]:
    return {"levels": dict(zip(names, choice.node, strict=True)), **asdict(choice.loss)}


def _print(figures: dict[str, Any], terminal: Terminal) -> None:
    if figures["proposed"]:
        terminal.note("Nothing is decided yet; this is what is proposed.")
    beside = f", beside the tables of {', '.join(figures['beside'])}" if figures["beside"] else ""
    terminal.say(f"{figures['sensitive']}: {'; '.join(figures['criteria'])}{beside}")
    if not figures["safe"]:
        _print_advice(figures, terminal)
        return
    terminal.say(
        f"{figures['safe']:,} of {figures['nodes']:,} choices of levels are safe,"
        f" {figures['minimal']:,} of them minimal; {figures['examined']:,} were tested."
    )
    best = figures["best"]
    terminal.say(f"Best: {_levels(best['levels'])}")
    terminal.say(
        f"  average level {best['average_level']:.3g}, loss {best['generalization']:.4f},"
        f" entropy {best['entropy']:.4f}, {best['classes']:,} classes, a record looks like"
        f" {best['average_discernibility']:,.1f} records on average,"
        f" {best['suppressed']:,} left out"
    )
    if figures["chosen"] is not None:
        terminal.say(f"Chosen: {_levels(figures['chosen'])}")
    if figures["risk"] is not None:
        say_risk(figures["risk"], terminal)
    _print_candidates(figures, terminal)


def _print_advice(figures: dict[str, Any], terminal: Terminal) -> None:
    terminal.say("No choice of levels is safe, not even the highest.")
    if "problem" in figures:
        terminal.say(figures["problem"])
    for line in figures.get("advice", ()):
        terminal.say(f"  {line}")


def _print_candidates(figures: dict[str, Any], terminal: Terminal) -> None:
    names = figures["quasi_identifiers"]
    rows = [
        [
            *(str(each["levels"][name]) for name in names),
            f"{each['average_level']:.3g}",
            f"{each['generalization']:.4f}",
            f"{each['classes']:,}",
            f"{each['suppressed']:,}",
        ]
        for each in figures["candidates"]
    ]
    headings = [*names, *_HEADINGS]
    widths = [max(map(len, column)) for column in zip(headings, *rows, strict=True)]
    terminal.say()
    for row in (headings, *rows):
        terminal.say("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)))
    left = max(figures["minimal"] - len(rows), 0)
    if left:
        terminal.note(f"{left:,} more minimal ones; --all lists every safe one.")


def _levels(levels: dict[str, int]) -> str:
    return ", ".join(f"{name} {level}" for name, level in levels.items())


COMMAND = Command(_add_arguments, _run, ("sfumato diversity clinic.sfumato --all",))
