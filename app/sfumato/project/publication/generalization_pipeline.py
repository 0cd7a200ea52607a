"""From what is decided about a generalized table to the nodes that are safe, and to the table.

The rows that differ are counted while the table is read, and searched; a table in memory is read
like any other. The other holders' files are read again and compared with their digests.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.coded import CodedTable
from sfumato.engine.generalization.criteria import (
    Criterion,
    NonCentralizedDiversity,
    Suppressed,
)
from sfumato.engine.generalization.joint_criteria import (
    AlignedDiversity,
    LargestBelief,
    SharedName,
)
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    HolderClasses,
    OtherTable,
    holder_classes,
    minimal_sets,
)
from sfumato.engine.generalization.publication import (
    NodeChoice,
    NoSolution,
    choose,
    equivalence_classes,
    explain_no_solution,
    published_classes,
)
from sfumato.engine.generalization.search import SearchResult, search
from sfumato.engine.generalization.shared_columns import shared_columns
from sfumato.formats.bundles.packages import table_file
from sfumato.formats.files import is_file
from sfumato.formats.reading import ReadOptions, digest_of, read_table
from sfumato.project.document.generalization import Generalization, OtherTableFile, criteria_asked
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.joint_search import (
    check_joint,
    heeding_others,
    is_joint,
    refuse_broken,
)
from sfumato.project.publication.prepared import ClassedRows, Prepared, decided_in
from sfumato.project.publication.public_counts import check_counts, read_counts
from sfumato.project.release.batched_table import BatchedTable, Summary
from sfumato.project.release.batched_views import DistinctRecords, rows_apart
from sfumato.project.release.release_columns import check_columns


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
    best: NodeChoice | None


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


def looked_at(document: Document, table: BatchedTable, context: Context) -> Summary:
    """Return rows of every sort, and what occurs of the sensitive attribute, found in one pass.

    Raises
    ------
    DomainError
        If a row does not fit the sensitive attribute's domain.
    """
    names = (decided_in(document).sensitive,)
    return table.summary(replace(document, policy=(), unit=None), context, False, names)


def sensitive_in(document: Document, table: BatchedTable, context: Context) -> ColumnSpec:
    """Return the sensitive attribute with its domain, which the rows suggest where none is stated.

    Raises
    ------
    DomainError
        If a row does not fit it.
    DiversityError
        If it holds numbers without bins.
    """
    name = decided_in(document).sensitive
    domain = looked_at(document, table, context).encoded[name].attribute.domain
    if domain is None:
        raise DiversityError(
            "The sensitive attribute {column} holds numbers, which hardly ever repeat.",
            "Give it bins under Attributes.",
            column=name,
        )
    return replace(document.column(name), domain=domain)


def prepare(document: Document, table: BatchedTable, context: Context) -> Prepared:
    """Count the rows that differ by the hierarchies, and read the other holders' tables.

    Raises
    ------
    DiversityError
        If nothing is decided yet, a column has another role or no hierarchy, or a criterion
        can't be satisfied.
    HierarchyError, DomainError, TableError
        If a hierarchy or a domain does not fit the table, a row's unit is missing, or too many
        rows of a table that is too long for memory differ.
    SourceMissing, SourceChanged, FileError
        If another holder's file is gone, changed or can't be read.
    """
    decided, rows = decided_in(document), table.whole
    check_columns(document, table.columns)
    check_roles(document)
    sensitive = sensitive_in(document, rows, Part(context, 0.0, 0.2))
    domain = sensitive.domain
    apart = _apart(document, rows, sensitive, Part(context, 0.2, 0.8))
    assert apart.values is not None  # its values tell rows apart, too
    assert domain is not None
    quasi = tuple(
        replace(each, levels=each.levels[:height], labels=each.labels[:height])
        for each, height in zip(apart.quasi, (h.height for h in apart.hierarchies), strict=True)
    )
    coded = CodedTable(quasi, apart.values, domain.names, apart.units, apart.counts)
    others = tuple(
        read_other(other, Part(context, 0.8 + 0.2 * at / n, 0.8 + 0.2 * (at + 1) / n))
        for n in [max(len(decided.others), 1)]
        for at, other in enumerate(decided.others)
    )
    holders = tuple(holder_classes(other, domain.values) for other in others)
    public = tuple(read_counts(each, Part(context, 1.0, 1.0)) for each in decided.public_counts)
    check_counts(decided.suppression, public)
    unit = "" if document.unit is None else document.unit.name
    # Who is left out can't be told from the tables, and so not who can be in which classes.
    shared, unaligned = ((), ()) if decided.suppression else shared_columns(coded, holders)
    names = tuple(each.name for each in shared)
    criteria = criteria_of(decided, holders, len(domain.values), unit, names)
    check_joint(decided.suppression, criteria)
    by_quasi = replace(apart, sensitive=None, values=None, units=None)
    found = (apart.hierarchies, criteria, others, holders, domain.values, by_quasi, public)
    return Prepared(document, rows, coded, *found, shared, unaligned)


def check_roles(document: Document) -> None:
    """Refuse columns that can't be generalized.

    Raises
    ------
    DiversityError
        If one has no hierarchy, is sensitive as well, or there is none.
    """
    decided = decided_in(document)
    if not decided.quasi_identifiers:
        raise DiversityError(
            "The table has no quasi-identifier.",
            "Mark at least one column as quasi-identifier under Attributes.",
        )
    for name in decided.quasi_identifiers:
        if name not in document.hierarchies:
            raise DiversityError(
                "Column {column} has no hierarchy.",
                "Give it one under Attributes, or leave the column out of the generalization.",
                column=name,
            )
        if name == decided.sensitive:
            raise DiversityError(
                "Column {column} is sensitive and a quasi-identifier at once.",
                "Give it one of the two roles under Attributes.",
                column=name,
            )


def _apart(
    document: Document, table: BatchedTable, sensitive: ColumnSpec, context: Context
) -> DistinctRecords:
    """Return the rows that quasi-identifiers and the sensitive attribute tell apart."""
    names = decided_in(document).quasi_identifiers
    recipes = {name: document.hierarchies[name] for name in names}
    unit = None if document.unit is None else document.unit.columns
    floor = dict.fromkeys(names, 0)
    return rows_apart(table, document.columns, recipes, floor, context, unit, sensitive)


def search_table(document: Document, table: BatchedTable, context: Context) -> Searched:
    """Find every safe node, and the best of them.

    Raises the errors of `prepare`.
    """
    prepared = prepare(document, table, Part(context, 0.0, 0.4))
    suppression = decided_in(document).suppression
    result = _safe(prepared, suppression, Part(context, 0.4, 0.8))
    best = choose(prepared.coded, result, prepared.criteria, Part(context, 0.8, 1.0))
    return Searched(prepared, result, best)


def _safe(prepared: Prepared, suppression: float, context: Context) -> SearchResult:
    """Return the nodes that keep everything asked, beside the others' tables as well."""
    joint = any(map(is_joint, prepared.criteria))
    searching = Part(context, 0.0, 0.6 if joint else 1.0)
    suppressed = prepared.decided.suppressed
    result = search(prepared.coded, prepared.criteria, searching, suppression, suppressed)
    return heeding_others(prepared, result, Part(context, 0.6, 1.0))


def _explained(prepared: Prepared, suppression: float) -> NoSolution:
    """Return what stands in the way of a solution."""
    asked, suppressed = prepared.criteria, prepared.decided.suppressed
    return explain_no_solution(prepared.coded, asked, suppression, prepared.holders, suppressed)


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
            if decided.suppressed is Suppressed.STARRED:
                published_rows(searched.prepared, decided.node)  # says so of starred records
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
    why = _explained(searched.prepared, decided_in(document).suppression)
    usual = "Ask for less, add a level to a hierarchy, or let more records be left out."
    raise DiversityError(
        "No generalization satisfies the criteria.",
        "{advice}",
        advice=" ".join(why.advice) or usual,
    )


def rows_at(prepared: Prepared, node: Node) -> ClassedRows:
    """Return what makes the table of a node, whether it may be published or not."""
    classes = equivalence_classes(prepared.coded, node, prepared.criteria)
    return ClassedRows(prepared, node, classes, prepared.decided.suppressed)


def published_rows(prepared: Prepared, node: Node) -> ClassedRows:
    """Return what makes the generalized table of a node.

    Raises
    ------
    DiversityError
        If the node is not safe.
    """
    decided = prepared.decided
    refuse_broken(prepared, node)
    made_by = (prepared.criteria, decided.suppression, decided.suppressed)
    classes = published_classes(prepared.coded, node, *made_by)
    return ClassedRows(prepared, node, classes, decided.suppressed)


def criteria_of(
    decided: Generalization,
    holders: Sequence[HolderClasses],
    size: int,
    unit: str = "",
    shared: tuple[SharedName, ...] = (),
) -> tuple[Criterion, ...]:
    """Return the criteria; beside other tables, distinct diversity counts what remains.

    k-anonymity counts units where it is said what names them. `shared` are the columns of other
    tables that are aligned with ours.

    Raises
    ------
    DiversityError
        If the other tables have too many sets to compare.
    """
    asked = criteria_asked(decided, unit)
    if not holders:
        return asked
    found: list[Criterion] = []
    for criterion in asked:
        if isinstance(criterion, NonCentralizedDiversity):
            found.append(
                AlignedDiversity(criterion.l, shared)
                if shared
                else replace(criterion, others=minimal_sets(holders, size))
            )
        elif isinstance(criterion, LargestBelief):
            found.append(replace(criterion, shared=shared))
        else:
            found.append(criterion)
    return tuple(found)


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


@dataclass(frozen=True)
class PipelineResult:
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


def find(document: Document, table: BatchedTable, context: Context) -> PipelineResult:
    """Find the safe nodes; where there are none, what stands in the way.

    Raises
    ------
    SfumatoError
        If the table can't be prepared.
    """
    prepared = prepare(document, table, Part(context, 0.0, 0.4))
    suppression = decided_in(document).suppression
    try:
        result = _safe(prepared, suppression, Part(context, 0.4, 0.8))
    except DiversityError as problem:
        found = None
        with suppress(DiversityError):  # the problem itself explains then
            found = _explained(prepared, suppression)
        return PipelineResult(prepared, None, problem.with_traceback(None), found)
    best = choose(prepared.coded, result, prepared.criteria, Part(context, 0.8, 0.95))
    why = None
    if best is None:
        why = _explained(prepared, suppression)
    return PipelineResult(prepared, Searched(prepared, result, best), None, why)
