"""What a generalized table and other holders' tables leave of everybody's value together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError, SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    Breach,
    HolderClasses,
    ImaginaryTables,
    Standing,
    breaches,
    imaginary_tables,
    probabilistic_table,
    standing_of,
    weakest_of,
)
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.generalization.search import allowed_records
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    chosen_node,
    in_parts,
    prepare,
    search_table,
)
from sfumato.project.publication.prepared import Prepared, decided_in
from sfumato.project.release.long_table import LongTable

MOST_BREACHES: Final = 500
"""Combinations that are listed; the ones that leave fewest values come first among those found."""

LARGEST_COUNT: Final = 20_000_000
"""Beyond so many steps the ways to spread people over values are not counted."""


@dataclass(frozen=True)
class Beside:
    """Several published tables, and what they leave.

    Parameters
    ----------
    holders
        The others' tables, and ours last where it takes part.
    values
        Our sensitive attribute's domain.
    node
        The levels of ours; None where it takes no part.
    standing
        What each table contributes.
    others_leave
        The fewest values that the others' tables leave without ours: more can't be kept.
    breaches
        Combinations that break l, at most `MOST_BREACHES`.
    problem
        Why ours takes no part, where it was meant to.
    """

    holders: tuple[HolderClasses, ...]
    values: tuple[str, ...]
    node: Node | None
    standing: Standing
    others_leave: int
    breaches: tuple[Breach, ...] = field(repr=False)
    problem: SfumatoError | None = None


@dataclass(frozen=True)
class Belief:
    """What somebody who holds all tables believes about a person in certain classes.

    Parameters
    ----------
    prior
        The share of each value in the first table, shape (m,).
    probabilities
        The belief by equation (5), shape (m,); None where nobody can be in these classes.
    """

    prior: npt.NDArray[np.float64] = field(repr=False)
    probabilities: npt.NDArray[np.float64] | None = field(repr=False)


def asked_of(document: Document) -> int | None:
    """Return how many values are asked to remain, the l of distinct diversity; None if nothing."""
    decided = document.generalization
    stated = () if decided is None else decided.criteria
    asked = [choice.numbers["l"] for choice in stated if choice.kind == "distinct-diversity"]
    return int(max(asked)) if asked else None


def beside_others(
    document: Document,
    table: Table | LongTable,
    ours: Node | bool,
    l: int,  # noqa: E741 - the field's own name for it
    our_name: str,
    context: Context,
) -> Beside:
    """Find out which combinations of classes narrow somebody's value too far.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    ours
        The levels of our table; True for those that would be published, False to leave it out.
    l
        The values that should remain.
    our_name
        What our table is called among the others.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As `sfumato.project.publication.generalization_pipeline.prepare`.
    """
    table = in_parts(table)
    prepared = prepare(document, table, Part(context, 0.0, 0.3))
    node: Node | None = None
    problem: SfumatoError | None = None
    if ours is True:
        try:
            searched = search_table(document, table, Part(context, 0.3, 0.7))
            node = chosen_node(document, searched)
        except DiversityError as found_out:
            problem = found_out.with_traceback(None)
    elif ours is not False:
        node = ours
    holders = list(prepared.holders)
    if node is not None:
        holders.append(classes_at(document, prepared, node, our_name))
    size = len(prepared.coded.values)
    context.report(0.7, "Comparing classes")
    standing = standing_of(holders, l, size)
    context.report(0.8, "Listing combinations")
    found = breaches(holders, l, size, MOST_BREACHES)
    return Beside(
        tuple(holders),
        prepared.coded.values,
        node,
        standing,
        weakest_of(prepared.holders, size),
        tuple(found),
        problem,
    )


def plain(document: Document, found: Beside) -> dict[str, Any]:
    """Return what was found as plain JSON values, without any value of a table."""
    decided, standing = decided_in(document), found.standing
    holders = standing.holders[: len(decided.others)]
    return {
        "sensitive": decided.sensitive,
        "values": len(found.values),
        "asked": standing.l,
        "left": found.others_leave,
        "ours": {
            "levels": None
            if found.node is None
            else dict(zip(decided.quasi_identifiers, map(int, found.node), strict=True)),
            "left": standing.weakest,
            "combinations": len(found.breaches),
            "problem": "" if found.problem is None else str(found.problem),
        },
        "others": [
            {
                "holder": other.holder,
                "file": other.path,
                "quasi_identifiers": list(other.quasi_identifiers),
                "sensitive": other.sensitive,
                "classes": each.classes,
                "l": each.diversity,
                "left_without": each.without,
                "cause": each.is_cause,
            }
            for other, each in zip(decided.others, holders, strict=True)
        ],
    }


def classes_at(document: Document, prepared: Prepared, node: Node, name: str) -> HolderClasses:
    """Return the classes that our table shows at a node, as another holder's are.

    Records that stand out are no part of them where few enough do to be left out.
    """
    coded, decided = prepared.coded, decided_in(document)
    classes = equivalence_classes(coded, node, prepared.criteria)
    left_out = classes.suppressed <= allowed_records(coded, decided.suppression)
    shown = classes.kept if left_out else np.ones(len(classes.kept), dtype=np.bool_)
    first = np.empty(len(shown), dtype=np.intp)
    first[classes.of_row[::-1]] = np.arange(len(classes.of_row))[::-1]
    labels = tuple(
        tuple(
            quasi.labels[level][quasi.levels[level][quasi.codes[row]]]
            for quasi, level in zip(coded.quasi_identifiers, node, strict=True)
        )
        for row in first[shown]
    )
    counts = np.asarray(classes.counts[shown].todense(), dtype=np.int64)
    return HolderClasses(name, decided.quasi_identifiers, labels, counts)


def belief_in(holders: Sequence[HolderClasses], classes: Sequence[int]) -> Belief:
    """Return what is believed about somebody in one class of each table, by equation (5).

    Only what is inside and outside the chosen class of each table counts for it, so that no
    table of all combinations is made.
    """
    table = probabilistic_table(
        [_inside_or_not(h, number) for h, number in zip(holders, classes, strict=True)]
    )
    found = table.probabilities[(0,) * len(holders)]
    return Belief(table.prior, None if np.isnan(found).any() else found)


def known_correlation(
    holders: Sequence[HolderClasses],
    classes: Sequence[int],
    share: float,
    of: int,
    context: Context,
) -> ImaginaryTables:
    """Return what is believed where it is known how many people the classes share.

    Parameters
    ----------
    holders, classes
        The tables, and the class of each.
    share
        Of the people in the class of table `of`, the share that is in all the others as well.
    of
        The position of that table.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If the share does not fit the classes, or there are too many people to count their ways.
    """
    context.report(0.0, "Counting the ways")
    counts = holders[of].counts[classes[of]]
    if share * int(counts.sum()) * len(counts) ** 2 > LARGEST_COUNT:
        raise DiversityError(
            "The class of {holder} has too many people to count the ways they can be spread.",
            "Choose a smaller class or a smaller share.",
            holder=holders[of].holder,
        )
    return imaginary_tables(holders, classes, share, of)


def _inside_or_not(holder: HolderClasses, number: int) -> HolderClasses:
    inside = holder.counts[number]
    rest = holder.counts.sum(axis=0) - inside
    labels = (holder.labels[number], ("",) * len(holder.quasi_identifiers))
    return HolderClasses(holder.holder, holder.quasi_identifiers, labels, np.stack([inside, rest]))
