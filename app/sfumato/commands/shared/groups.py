"""What the commands about groups share: the attribute, the attacker, the generalization decided."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from sfumato.commands.shared.command import (
    JSON,
    file_argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY
from sfumato.engine.core.errors import DiversityError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.disclosure.small_groups import RiskSubject
    from sfumato.project.document.model import Document, Recipient
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable


ATTRIBUTE: Final = option(
    "--attribute", "COLUMN", "the sensitive attribute; needed where several are"
)
KNOWS: Final = repeated(
    "--knows",
    "COLUMN",
    "a public column by which an attacker looks people up; may be repeated."
    " Without it, all quasi-identifiers",
)
SUBJECT: Final = (ATTRIBUTE, KNOWS, MEMORY, JSON)
"""The attribute, and what the attacker knows."""


def read_question(
    arguments: Namespace, project: ProjectFile, table: BatchedTable, context: Context
) -> RiskSubject:
    """Return the attribute that the arguments name, with all rows of the project's table.

    Raises
    ------
    PolicyError
        If no attribute is named where there are several, or it has no list of values.
    """
    from sfumato.analysis.all_rows import rows_of
    from sfumato.analysis.disclosure.small_groups import subject_of

    rows = rows_of(project.document, table, project.keys, (project.path.parent,))
    attributes = rows.attributes(context)
    found = subject_of(rows, attributes, arguments.attribute or "", arguments.knows or None)
    context.report(1.0, "The table is encoded")
    return found


def recipient_called(document: Document, name: str) -> Recipient:
    """Return a recipient by name.

    Raises
    ------
    PolicyError
        If there is none of that name.
    """
    for recipient in document.recipients:
        if recipient.name == name:
            return recipient
    if not document.recipients:
        raise PolicyError(
            "There is no recipient {recipient}.",
            "Add one: sfumato recipients PROJECT --add NAME",
            recipient=name,
        )
    raise PolicyError(
        "There is no recipient {recipient}.",
        "Known are: {known}.",
        recipient=name,
        known=", ".join(each.name for each in document.recipients),
    )


def names_of_recipients(project: ProjectFile, names: Sequence[str]) -> frozenset[str]:
    """Return the names of the recipients that are meant: all where none is named.

    Raises
    ------
    PolicyError
        If there is no recipient of a name.
    """
    document = project.document
    chosen = [recipient_called(document, name) for name in names] or document.recipients
    return frozenset(each.name for each in chosen)


POPULATION: Final = one_of(
    file_argument(
        "--population",
        "FILE",
        "a list of the population that the table's people belong to, with the same public"
        " columns: how likely they are found is counted in it; the project remembers where it is",
    ),
    option(
        "--sampling-fraction",
        "SHARE",
        "where there is no such list: the share of the population that is in the table,"
        " above 0 and at most 1; the project remembers it",
        type=float,
    ),
    flag("--no-population", "forget what is known of the population"),
)
"""What is known of the population."""


def with_decision(document: Document) -> Document:
    """Return a document in which something is decided about a generalized table.

    Where nothing is, it is what a generalization starts with.

    Raises
    ------
    DiversityError
        If there is nothing to start with either.
    """
    from sfumato.project.publication.generalization_pipeline import proposed

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
    from sfumato.project.publication.population import open_population
    from sfumato.project.publication.prepared import decided_in

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


def lines_of_risk(risk: Mapping[str, Any]) -> Iterator[str]:
    """Return how likely somebody is found in the table, before and after."""
    from sfumato.project.publication.population import basis_text

    yield worded("How likely somebody is found, as it is and as it is published:")
    for name, words in (
        ("prosecutor", worded("one certain person (prosecutor), at most")),
        ("journalist", worded("anybody at all (journalist), at most")),
        ("marketer", worded("as many as possible (marketer), on average")),
    ):
        before, after = risk["before"][name], risk["after"][name]
        yield worded(
            "  {words}: {before:.4g}, then {after:.4g}", words=words, before=before, after=after
        )
    yield f"  {said(basis_text(risk))}"
