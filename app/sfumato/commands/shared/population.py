"""What commands say and ask about the population that the table's people belong to."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import decided_in
from sfumato.project.publication.population import UnknownCells, basis_text, open_population


def add_population(parser: ArgumentParser) -> None:
    """Describe how a command is told what is known of the population."""
    known = parser.add_mutually_exclusive_group()
    known.add_argument(
        "--population",
        type=Path,
        metavar="FILE",
        help="a list of the population that the table's people belong to, with the same public"
        " columns: how likely they are found is counted in it; the project remembers where it is",
    )
    known.add_argument(
        "--sampling-fraction",
        type=float,
        metavar="SHARE",
        help="where there is no such list: the share of the population that is in the table,"
        " above 0 and at most 1; the project remembers it",
    )
    known.add_argument(
        "--no-population",
        action="store_true",
        help="forget what is known of the population",
    )


def changes_population(arguments: Namespace) -> bool:
    """Return whether the arguments say something about the population."""
    stated = (arguments.population, arguments.sampling_fraction)
    return arguments.no_population or any(each is not None for each in stated)


def with_population(document: Document, arguments: Namespace, context: Context) -> Document:
    """Return a document with what the arguments say about the population.

    Raises
    ------
    DiversityError
        If the file lacks a column, or the fraction is out of range.
    FileError
        If the file can't be read.
    """
    decided = decided_in(document)
    fraction, file = arguments.sampling_fraction, None
    if fraction is not None and not 0 < fraction <= 1:
        raise DiversityError(
            "The sampling fraction is {fraction:g}.",
            "Give the share of the population that is in the table, above 0 and at most 1.",
            fraction=fraction,
        )
    if arguments.population is not None:
        file = open_population(arguments.population, decided.quasi_identifiers, context)
    decided = replace(decided, population=file, sampling_fraction=fraction)
    return replace(document, generalization=decided)


def say_risk(risk: Mapping[str, Any], terminal: Terminal) -> None:
    """Say how likely somebody is found in the table, before and after."""
    terminal.say("How likely somebody is found, as it is and as it is published:")
    for name, words in (
        ("prosecutor", "one certain person (prosecutor), at most"),
        ("journalist", "anybody at all (journalist), at most"),
        ("marketer", "as many as possible (marketer), on average"),
    ):
        before, after = risk["before"][name], risk["after"][name]
        terminal.say(f"  {words}: {before:.4g}, then {after:.4g}")
    terminal.say(f"  {basis_text(risk)}")
    for each in risk.get("unknown", ()):
        terminal.note(UnknownCells(each["column"], each["cells"], each["row"]).text)
