"""From what is decided about a generalized table to the nodes that are safe, and to the table.

Pure but for the other holders' files, which are read again and compared with their digests.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.checker import PublicationCheck, verify_publication
from sfumato.engine.generalization.coded import CodedTable, coded_table
from sfumato.engine.generalization.criteria import (
    Criterion,
    DistinctDiversity,
    NonCentralizedDiversity,
)
from sfumato.engine.generalization.hierarchies import Hierarchy, ground_series, hierarchy_of
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    HolderClasses,
    OtherTable,
    holder_classes,
    minimal_sets,
)
from sfumato.engine.generalization.publication import (
    Choice,
    NoSolution,
    Publication,
    choose,
    explain_no_solution,
    publish,
)
from sfumato.engine.generalization.search import SearchResult, search
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.bundles.packages import table_file
from sfumato.formats.files import is_file
from sfumato.formats.reading import ReadOptions, digest_of, read_table
from sfumato.project.document.generalization import Generalization, OtherTableFile
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.release.plan import open_column
from sfumato.project.release.release_columns import check_columns


@dataclass(frozen=True)
class Prepared:
    """Everything a search needs.

    Parameters
    ----------
    coded
        Quasi-identifiers with their levels, and the sensitive attribute.
    hierarchies
        One for each quasi-identifier.
    criteria
        What is asked; beside other tables, distinct diversity counts what remains.
    others, holders
        The other holders' tables, and their equivalence classes.
    values
        The sensitive attribute's domain as it is in the tables, None for missing; `coded.values`
        are their names.
    """

    coded: CodedTable
    hierarchies: tuple[Hierarchy, ...]
    criteria: tuple[Criterion, ...]
    others: tuple[OtherTable, ...]
    holders: tuple[HolderClasses, ...]
    values: tuple[Value, ...] = field(repr=False)


@dataclass(frozen=True)
class Searched:
    """What was found.

    Parameters
    ----------
    prepared
        What was searched.
    result
        The safe nodes.
    best
        The one to publish unless another is chosen; None where none is safe.
    """

    prepared: Prepared
    result: SearchResult
    best: Choice | None


def proposed(document: Document) -> Generalization | None:
    """Return what a generalization starts with; None where it has nothing to work on.

    Every quasi-identifier with a hierarchy takes part, and the first sensitive attribute.
    """
    names = tuple(
        column.name
        for column in document.columns
        if column.role is Role.QUASI_IDENTIFIER and column.name in document.hierarchies
    )
    if not names or not document.sensitive:
        return None
    return Generalization(document.sensitive[0].name, names)


def prepare(document: Document, table: Table, context: Context) -> Prepared:
    """Encode the table by its hierarchies and read the other holders' tables.

    Raises
    ------
    DiversityError
        If nothing is decided yet, a column has another role or no hierarchy, or a criterion
        can't be satisfied.
    HierarchyError, DomainError, TableError
        If a hierarchy or a domain does not fit the table, or a row's unit is missing.
    SourceMissing, SourceChanged, FileError
        If another holder's file is gone, changed or can't be read.
    """
    decided = decided_in(document)
    check_columns(document, table)
    hierarchies = tuple(_hierarchy(document, table, name) for name in decided.quasi_identifiers)
    context.report(0.1, "Encoding the table")
    coded = coded_table(_grounded(document, table), hierarchies, document.column(decided.sensitive))
    if document.unit is not None:
        coded = replace(coded, units=units_of(table, document.unit.columns))
    others = tuple(
        read_other(other, Part(context, 0.2 + 0.7 * at / n, 0.2 + 0.7 * (at + 1) / n))
        for n in [max(len(decided.others), 1)]
        for at, other in enumerate(decided.others)
    )
    domain = encode_column(table, document.column(decided.sensitive)).attribute.domain
    assert domain is not None  # or the table would not have been encoded
    holders = tuple(holder_classes(other, domain.values) for other in others)
    unit = "" if document.unit is None else document.unit.name
    criteria = criteria_of(decided, holders, len(domain.values), unit)
    return Prepared(coded, hierarchies, criteria, others, holders, domain.values)


def search_table(document: Document, table: Table, context: Context) -> Searched:
    """Find every safe node, and the best of them.

    Raises the errors of `prepare`.
    """
    prepared = prepare(document, table, Part(context, 0.0, 0.4))
    suppression = decided_in(document).suppression
    result = search(prepared.coded, prepared.criteria, Part(context, 0.4, 0.8), suppression)
    best = choose(prepared.coded, result, prepared.criteria, Part(context, 0.8, 1.0))
    return Searched(prepared, result, best)


def chosen_node(document: Document, searched: Searched) -> Node:
    """Return the node that is published: the one chosen, or else the best.

    Raises
    ------
    DiversityError
        If no node is safe, or the chosen one is not.
    """
    decided = decided_in(document)
    if decided.node is not None:
        if decided.node not in searched.result.lattice:
            raise DiversityError(
                "The chosen levels are none of the lattice's: a hierarchy has changed since.",
                "Choose a node again.",
            )
        if not searched.result.is_safe(decided.node):
            raise DiversityError(
                "The chosen levels don't satisfy the criteria any more.",
                "Choose a safe node.",
            )
        return decided.node
    if searched.best is None:
        raise DiversityError(
            "No generalization satisfies the criteria.",
            "Ask for less, add a level to a hierarchy, or let more records be left out.",
        )
    return searched.best.node


def refuse_no_solution(document: Document, searched: Searched) -> None:
    """Refuse what was searched where no node is safe; say what would help, which takes a while.

    Raises
    ------
    DiversityError
        If no node is safe.
    """
    if searched.best is not None:
        return
    prepared, suppression = searched.prepared, decided_in(document).suppression
    why = explain_no_solution(prepared.coded, prepared.criteria, suppression, prepared.holders)
    usual = "Ask for less, add a level to a hierarchy, or let more records be left out."
    raise DiversityError(
        "No generalization satisfies the criteria.",
        "{advice}",
        advice=" ".join(why.advice) or usual,
    )


def published_table(
    document: Document, table: Table, searched: Searched | Prepared, node: Node
) -> tuple[Publication, PublicationCheck]:
    """Return the generalized table, and what an independent check of it found.

    Parameters
    ----------
    document, table
        What it is made from.
    searched
        The search, or only what was prepared for one.
    node
        The level of each quasi-identifier.

    Identifying columns and other sensitive attributes are left out; columns that are not
    generalized stay as they are.

    Raises
    ------
    DiversityError
        If the node is not safe.
    """
    decided = decided_in(document)
    frame = _shown(document, table, decided)
    prepared = searched if isinstance(searched, Prepared) else searched.prepared
    publication = publish(
        prepared.coded,
        frame,
        node,
        prepared.criteria,
        decided.suppression,
        decided.suppressed,
    )
    check = verify_publication(
        publication.frame,
        decided.quasi_identifiers,
        decided.sensitive,
        prepared.criteria,
        prepared.others,
        prepared.values,
        None if prepared.coded.units is None else prepared.coded.units[publication.rows],
    )
    return publication, check


def criteria_of(
    decided: Generalization, holders: Sequence[HolderClasses], size: int, unit: str = ""
) -> tuple[Criterion, ...]:
    """Return the criteria; beside other tables, distinct diversity counts what remains.

    k-anonymity counts units where it is said what names them.

    Raises
    ------
    DiversityError
        If the other tables have too many sets to compare.
    """
    built = [choice.build(unit) for choice in decided.criteria]
    if not holders:
        return tuple(built)
    sets = minimal_sets(holders, size)
    return tuple(
        NonCentralizedDiversity(criterion.l, sets)
        if isinstance(criterion, DistinctDiversity)
        else criterion
        for criterion in built
    )


def read_other(other: OtherTableFile, context: Context) -> OtherTable:
    """Read another holder's table again.

    Raises
    ------
    SourceMissing
        If the file is not where it was.
    SourceChanged
        If it is another file than the one that was chosen.
    FileError
        If it can't be read.
    """
    path = Path(other.path)
    if not is_file(path):
        raise SourceMissing(
            "The table of {holder} is not at {path}.",
            "Show where the file is now, or bring it back.",
            holder=other.holder,
            path=path,
        )
    if digest_of(path, Part(context, 0.0, 0.2)) != other.digest:
        raise SourceChanged(
            "The table of {holder} changed since it was chosen.",
            "Bring the old file back, or choose the new one.",
            holder=other.holder,
        )
    options = ReadOptions.from_dict(dict(other.options))
    with table_file(path) as file:
        frame = read_table(file, options, Part(context, 0.2, 1.0)).frame
    return OtherTable(
        other.holder, frame, other.quasi_identifiers, other.sensitive, dict(other.spelling)
    )


def decided_in(document: Document) -> Generalization:
    """Return what is decided about the generalized table.

    Raises
    ------
    DiversityError
        If nothing is.
    """
    if document.generalization is None:
        raise DiversityError(
            "Nothing is decided about a generalized table yet.",
            "Give the quasi-identifiers hierarchies, and say what is asked of every class.",
        )
    return document.generalization


def _hierarchy(document: Document, table: Table, name: str) -> Hierarchy:
    recipe = document.hierarchies.get(name)
    if recipe is None:
        raise DiversityError(
            "Column {column} has no hierarchy.",
            "Give it one under Attributes, or leave the column out of the generalization.",
            column=name,
        )
    return hierarchy_of(recipe, document.column(name), table.column(name))


def _grounded(document: Document, table: Table) -> Table:
    """Return the table with its quasi-identifiers as their hierarchies know them: with bins."""
    decided = decided_in(document)
    columns = {
        name: ground_series(document.column(name), table.column(name))
        for name in decided.quasi_identifiers
    }
    return replace(table, frame=table.frame.assign(**columns))


def _shown(document: Document, table: Table, decided: Generalization) -> pd.DataFrame:
    columns = {}
    for name in table.columns:
        spec = document.column(name)
        if name in decided.quasi_identifiers:
            columns[name] = table.column(name)
        elif name == decided.sensitive or spec.role not in {Role.IDENTIFYING, Role.SENSITIVE}:
            columns[name] = open_column(table, spec)
    return pd.DataFrame(columns, copy=False)


@dataclass(frozen=True)
class Found:
    """What came of a search.

    Parameters
    ----------
    prepared
        What was searched.
    searched
        What was found; None where no search was possible.
    problem
        Why none was possible.
    no_solution
        What stands in the way, where no node is safe.
    """

    prepared: Prepared
    searched: Searched | None = None
    problem: DiversityError | None = None
    no_solution: NoSolution | None = None


def find(document: Document, table: Table, context: Context) -> Found:
    """Find the safe nodes; where there are none, what stands in the way.

    Raises
    ------
    SfumatoError
        If the table can't be prepared.
    """
    prepared = prepare(document, table, Part(context, 0.0, 0.4))
    suppression = decided_in(document).suppression
    try:
        result = search(prepared.coded, prepared.criteria, Part(context, 0.4, 0.8), suppression)
    except DiversityError as problem:
        found = None
        with suppress(DiversityError):  # the problem itself explains then
            found = explain_no_solution(
                prepared.coded, prepared.criteria, suppression, prepared.holders
            )
        return Found(prepared, None, problem.with_traceback(None), found)
    best = choose(prepared.coded, result, prepared.criteria, Part(context, 0.8, 0.95))
    why = None
    if best is None:
        why = explain_no_solution(prepared.coded, prepared.criteria, suppression, prepared.holders)
    return Found(prepared, Searched(prepared, result, best), None, why)
