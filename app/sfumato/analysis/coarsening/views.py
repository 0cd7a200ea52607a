"""How coarsely each recipient sees the quasi-identifiers: found, moved by hand, and what it gives.

The window, the command line and the report ask here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sfumato.engine.core.errors import DiversityError, PolicyError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import listed
from sfumato.engine.generalization.chain import find_levels, nodes_keeping
from sfumato.engine.generalization.coded import LARGEST_LATTICE, QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import Weights
from sfumato.engine.generalization.hierarchies import Recipe, Suppression, propose_hierarchy
from sfumato.engine.generalization.lattice import NodeSet
from sfumato.engine.generalization.views import Demand, View, views_of
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.repeated_units import Units
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, Recipient, ViewRule
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batched_views import batched_view, counted_view, rows_apart
from sfumato.project.release.leaving_units import every_row_leaving, leaving_rows
from sfumato.project.release.table_survey import Survey
from sfumato.project.release.uniqueness import SampleUniques
from sfumato.project.release.views import (
    cell_costs,
    check_cells,
    check_k,
    check_view,
    coarsening_of,
    in_chain,
    quasi_identifiers,
)

FEW_COLUMNS: Final = 10
"""Of up to so many quasi-identifiers single cells are tried: of more, few cells would be left."""
_AMONG: Final = 5
"""The k proposed for whoever is trusted more: the check before a release asks for no less."""
_OUTSIDE: Final = 20
"""The k proposed for whoever is trusted least."""
_ALL: Final = 1 - 1e-9
_SHARE: Final = 0.01
_MOST: Final = 0.1
"""The share of the records that may be suppressed, as proposed; and the most in a small table."""


@dataclass(frozen=True)
class SeenBy:
    """What one recipient sees of the quasi-identifiers.

    Parameters
    ----------
    recipient, rule
        Who, and what is stated for them.
    levels
        For each quasi-identifier, its level and the highest level of its hierarchy.
    records
        The records of the table, n.
    units
        How many units they belong to, which k counts; n where rows stand alone.
    view
        What it comes to in the table; None where that can't be said.
    problem
        Why a release with this view would be refused; empty where it would not.
    by_unit
        Whether units are counted in place of records.
    alone
        What is unique on all columns that leave unperturbed, weights and others among them, as it
        is counted before a release; None where that can't be said.
    """

    recipient: str
    rule: ViewRule
    levels: Mapping[str, tuple[int, int]]
    records: int
    units: int
    view: View | None = None
    problem: str = ""
    by_unit: bool = False
    alone: SampleUniques | None = None

    @property
    def unique(self) -> int | None:
        """How many records, or units, are unique on all columns that leave unperturbed.

        Of the quasi-identifiers alone where the others can't be counted; None where neither can.
        """
        if self.alone is not None:
            return self.alone.alone
        return None if self.view is None else self.view.unique

    @property
    def unique_rows(self) -> int | None:
        """By how many records those that are unique are found."""
        if self.alone is not None:
            return self.alone.rows if self.by_unit else self.alone.alone
        return None if self.view is None else self.view.unique_rows


def released_rows(
    document: Document, table: BatchedTable, keys: KeyRing, context: Context
) -> BatchedTable:
    """Return the rows that leave, in which views are counted.

    Raises the errors of `leaving_rows`.
    """
    return leaving_rows(table, document, keys, context)


@dataclass(frozen=True)
class QuasiRows:
    """Quasi-identifiers of rows that may stand for several, whose these are, and how many.

    Parameters
    ----------
    quasi
        The quasi-identifiers, with the codes of all rows.
    units, weights
        Each row's unit, None where rows stand alone; and how many rows of the table each stands
        for, None for one each.
    counted
        How many units, or rows of the table, there are.
    """

    quasi: tuple[QuasiIdentifier, ...]
    units: Units
    weights: Weights
    counted: int

    @classmethod
    def of(
        cls,
        document: Document,
        table: BatchedTable,
        recipes: Mapping[str, Recipe],
        context: Context,
    ) -> QuasiRows:
        """Encode the rows of a table by the hierarchies of some columns.

        Raises `SfumatoError` if a hierarchy does not fit, or too many rows of a long table differ.
        """
        context.report(0.0, "Encoding the quasi-identifiers")
        unit = None if document.unit is None else document.unit.columns
        given = (document.columns, recipes, dict.fromkeys(recipes, 0), context, unit)
        apart = rows_apart(table, *given)
        return cls(apart.quasi, apart.units, apart.counts, apart.number)


def views_in(document: Document, table: BatchedTable, context: Context) -> tuple[SeenBy, ...]:
    """Return what every recipient with a view sees, in order of trust.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`released_rows`).
    context
        Progress and cancelling.
    """
    chain = in_chain(document)
    if not chain:
        return ()
    rows = _with_units(document, table)
    counted, found = rows.rows if rows.units is None else rows.units.number, list[SeenBy]()
    try:
        for each, part in one_by_one(context, chain):
            coarsening, problem, alone = coarsening_of(document, each), "", None
            if coarsening is None:
                return ()
            seen = batched_view(rows, document.columns, coarsening, Part(part, 0.0, 0.5))
            levels = {name: (coarsening.level(name), top) for name, top in seen.highest.items()}
            try:
                check_view(seen)
            except DiversityError as error:
                problem = error.sentence
            with suppress(SfumatoError):  # weights that say nothing hide no view
                alone = counted_view(rows, document, each, Part(part, 0.5, 1.0)).alone
            own = (each.name, _rule(each), levels, rows.rows, seen.units, seen.view, problem)
            found.append(SeenBy(*own, document.unit is not None, alone))
    except SfumatoError as error:
        return tuple(
            SeenBy(each.name, _rule(each), {}, rows.rows, counted, None, error.sentence)
            for each in chain
        )
    context.report(1.0, "The classes are counted")
    return tuple(found)


def _with_units(document: Document, table: BatchedTable) -> BatchedTable:
    """Return rows that all leave, with their units where the document states any."""
    if document.unit is None or table.units is not None:
        return table
    return every_row_leaving(table, document.unit, Silent())


def uncoarsened_views(
    document: Document, table: BatchedTable, context: Context
) -> tuple[SeenBy, ...]:
    """Return what those see who have no view: today's classes, with no hierarchy needed.

    Where too many rows differ, there is no view.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`released_rows`).
    context
        Progress and cancelling.
    """
    names = quasi_identifiers(document)
    without = [each.name for each in document.recipients if each.view is None]
    if not names or not without or not table.rows:
        return ()
    by_unit, alone, known = document.unit is not None, None, None
    rows = _with_units(document, table)
    with suppress(SfumatoError):  # weights that say nothing hide no classes
        alone = _alone(document, rows, None, Part(context, 0.5, 1.0))
    counted = rows.rows if rows.units is None else rows.units.number
    with suppress(SfumatoError):
        recipes = {name: document.hierarchies.get(name, Suppression()) for name in names}
        encoded = QuasiRows.of(document, rows, recipes, Part(context, 0.0, 0.5))
        node = (0,) * len(names)
        (known,) = views_of(encoded.quasi, [node], [1], encoded.units, encoded.weights)
    return tuple(
        SeenBy(name, ViewRule(), {}, rows.rows, counted, known, "", by_unit, alone)
        for name in without
    )


def proposed_ks(
    document: Document, attributes: Mapping[str, Attribute], table: BatchedTable
) -> dict[str, int]:
    """Return a k for each recipient for whom none is stated, by the order of trust.

    Whoever is trusted least gets the largest: nobody knows who will see that file. A k stays
    between those stated for recipients who are trusted more and less, and below the records.
    """
    places = dict.fromkeys((each.name for each in document.recipients), 0)
    for entry in document.policy:
        trust: dict[str, float] = {}
        for each in document.recipients:
            with suppress(SfumatoError, KeyError):  # the policy says what is wrong with it
                level = plan_entry(document, entry, attributes, each).level
                trust[each.name] = mechanism_called(entry.mechanism).trust(level)
        for name, own in trust.items():
            places[name] += sum(other > own for other in trust.values())
    order = sorted(document.recipients, key=lambda each: places[each.name])
    proposed: dict[str, int] = {}
    for place, each in enumerate(order):
        if each.view is None:
            last, first = place == len(order) - 1, place == 0
            k = _OUTSIDE if last and not first else _AMONG
            more = [other.view.k for other in order[:place] if other.view is not None]
            less = [other.view.k for other in order[place:] if other.view is not None]
            proposed[each.name] = min([max([k, *more]), *less, max(table.rows, 1)])
    return proposed


def proposed_share(ks: Iterable[int], rows: int) -> float:
    """Return the share of the records that may be suppressed, as it is proposed to all.

    Suppressed records are a class of their own: fewer than k can't be, and whoever sees more
    suppresses no more. So that anybody can suppress some, the share grows where a table is small.

    Parameters
    ----------
    ks
        The recipients' k.
    rows
        The records, n.
    """
    needed = math.ceil(100 * max(ks, default=1) / max(rows, 1)) / 100
    return needed if _SHARE < needed <= _MOST else _SHARE


def with_proposed_ks(
    document: Document, attributes: Mapping[str, Attribute], table: BatchedTable
) -> Document:
    """Return the document with a k, and a share of suppressed rows, wherever none is stated."""
    ks = proposed_ks(document, attributes, table)
    share = proposed_share(ks.values(), table.rows)
    for name, k in ks.items():
        document = with_statement(document, name, k, share)
    return document


def seen_together(
    document: Document,
    table: BatchedTable,
    finest: str,
    found: Sequence[SeenBy],
    context: Context,
) -> SeenBy | None:
    """Return what all recipients together see: the finest view, or the values as they are.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave.
    finest
        Who sees the quasi-identifiers most finely (`Guarantee.together`).
    found
        What each recipient with a view sees.
    context
        Progress and cancelling.
    """
    known = [each for each in found if each.recipient == finest]
    if not known and found:
        # A view at the levels that nothing generalizes is what stands there without one.
        known = [*views_in(with_statement(document, finest, k=1), table, context)]
    return next((each for each in known if each.recipient == finest), None)


def unique_by_recipient(
    document: Document, table: BatchedTable, context: Context
) -> tuple[SampleUniques, ...]:
    """Count the records that are unique on what each recipient sees unperturbed.

    Recipients who see the quasi-identifiers as they are share the first count. The rows that leave
    are given.

    Raises
    ------
    SfumatoError
        If a view or a column does not fit the table.
    """
    chain, rows = in_chain(document), _with_units(document, table)
    found: list[SampleUniques | None] = []
    if len(chain) < max(len(document.recipients), 1):
        found.append(_alone(document, rows, None, Part(context, 0.0, 0.4)))
    for place, each in enumerate(chain):
        part = Part(context, 0.4 + 0.6 * place / len(chain), 0.4 + 0.6 * (place + 1) / len(chain))
        found.append(_alone(document, rows, each, part))
    return tuple(each for each in found if each is not None)


def _alone(
    document: Document, table: BatchedTable, recipient: Recipient | None, context: Context
) -> SampleUniques | None:
    """Count unique records as a recipient sees them; as they are for None."""
    if recipient is None or coarsening_of(document, recipient) is None:
        return table.summary(document, context).alone
    return counted_view(table, document, recipient, context).alone


def find_views(
    document: Document, table: BatchedTable, context: Context, *, evenly: bool = False
) -> Document:
    """Return the document with the levels that lose least, for what is stated for each recipient.

    Of so many columns that not every combination of levels can be searched, levels are found step
    by step: most columns keep some detail, and others are shown at their highest level, which
    tells nothing (`sfumato.analysis.coarsening.columns_left`).

    What each view keeps is counted in the rows that leave (`released_rows`), by units where the
    document states them. The rows that differ have to fit into memory. What `evenly` means is said
    at `find_levels`.

    Raises
    ------
    PolicyError
        If nothing is stated for anybody, or a quasi-identifier has no hierarchy.
    DiversityError
        If a k is above the number of records or units.
    SfumatoError
        If a hierarchy does not fit the table, or too many rows of a long one differ.
    """
    stated = [each for each in document.recipients if each.view is not None]
    if not stated:
        raise PolicyError(
            "No k is stated for any recipient.", "State one: the size of the smallest class."
        )
    recipes = {name: document.hierarchies[name] for name in _with_hierarchies(document)}
    unit = () if document.unit is None else document.unit.columns
    rows = QuasiRows.of(document, table, recipes, Part(context, 0.0, 0.4))
    for each in stated:
        check_k(each.name, _rule(each).k, table.rows, rows.counted, unit)
    chain = sorted(stated, key=lambda each: (_rule(each).k, _rule(each).suppression))
    part = Part(context, 0.4, 1.0)
    names = [each.name for each in rows.quasi]
    costs = cell_costs(names, document.importance)
    if any(_rule(each).cells for each in chain):
        check_cells(names)
    demands = [
        Demand(_rule(each).k, _rule(each).suppression, costs if _rule(each).cells else None)
        for each in chain
    ]
    found = find_levels(rows.quasi, demands, part, rows.units, rows.weights, costs, evenly=evenly)
    for each, node in zip(chain, found.nodes, strict=True):
        levels = dict(zip(names, node, strict=True))
        document = _with_rule(document, each.name, replace(_rule(each), levels=levels))
    return document


def levels_found_anew(
    document: Document,
    table: BatchedTable,
    keys: KeyRing,
    context: Context,
    *,
    evenly: bool = False,
) -> Document:
    """Return the document with the levels that lose least in the rows that leave.

    Raises the errors of `released_rows` and `find_views`.
    """
    left = released_rows(document, table, keys, Part(context, 0.0, 0.2))
    return find_views(document, left, Part(context, 0.2, 1.0), evenly=evenly)


def with_statement(
    document: Document,
    recipient: str,
    k: int | None = None,
    suppression: float | None = None,
    cells: bool | None = None,
) -> Document:
    """Return the document with another k or share for a recipient, who gets a view if without.

    `cells` says whether single cells are suppressed from now on. What is None stays.

    Raises
    ------
    PolicyError
        If k is below 1, or the share is not from 0 to below 1.
    """
    if k is not None and k < 1:
        raise PolicyError("k is {k}.", "Choose a whole number from 1.", k=k)
    if suppression is not None and not 0 <= suppression < 1:
        raise PolicyError(
            "The share of records that may be suppressed is {share:g}.",
            "Choose a share from 0 to below 1.",
            share=suppression,
        )
    rule = document.recipient(recipient).view or ViewRule()
    rule = replace(
        rule,
        k=rule.k if k is None else k,
        suppression=rule.suppression if suppression is None else suppression,
        cells=rule.cells if cells is None else cells or None,
    )
    return _with_rule(document, recipient, rule)


def with_cells(document: Document, cells: bool) -> Document:
    """Return the document in which every view suppresses single cells, or whole records."""
    for each in document.recipients:
        if each.view is not None:
            document = with_statement(document, each.name, cells=cells)
    return document


def with_importance(document: Document, names: Sequence[str]) -> Document:
    """Return the document in which other columns' cells are suppressed last.

    Parameters
    ----------
    document
        What is decided.
    names
        Quasi-identifiers, the most important first; those not named come after them.

    Raises
    ------
    PolicyError
        If a column is no quasi-identifier, or is named twice.
    """
    for name in names:
        _refuse_others(document, name)
        if list(names).count(name) > 1:
            raise PolicyError("{column} is named twice.", "Name it once.", column=name)
    return replace(document, importance=tuple(names) or None)


def _refuse_others(document: Document, name: str) -> None:
    known = quasi_identifiers(document)
    if name not in known:
        raise PolicyError(
            "{column} is not a quasi-identifier.",
            "Choose one of: {known}.",
            column=name,
            known=", ".join(known),
        )


def by_importance(document: Document) -> tuple[str, ...]:
    """Return the quasi-identifiers, the most important first; the table's order where none is."""
    known = quasi_identifiers(document)
    named = [name for name in document.importance or () if name in known]
    return (*named, *(name for name in known if name not in named))


def put_in_place_of(document: Document, name: str, other: str) -> Document:
    """Return the document in which a column is as important as another one was.

    Those between them move by one place. Where all stand in the table's order then, no importance
    is stated.

    Raises
    ------
    PolicyError
        If one of them is no quasi-identifier.
    """
    order = [*by_importance(document)]
    if name in order and other in order:
        place = order.index(other)
        order.remove(name)
        order.insert(place, name)
    else:
        order += [each for each in (name, other) if each not in order]  # refused below, by name
    natural = tuple(order) == quasi_identifiers(document)
    return with_importance(document, () if natural else order)


def without_view(document: Document, recipient: str) -> Document:
    """Return the document in which a recipient sees the quasi-identifiers as they are."""
    return _with_rule(document, recipient, None)


def with_level(
    document: Document, recipient: str, column: str, level: int
) -> tuple[Document, tuple[str, ...]]:
    """Return the document with another level of one column; otherwise as `with_levels`."""
    return with_levels(document, recipient, {column: level})


def with_levels(
    document: Document, recipient: str, levels: Mapping[str, int]
) -> tuple[Document, tuple[str, ...]]:
    """Return the document with other levels, and who had to follow so that the chain holds.

    Whoever is trusted more sees a column at its new level or below, whoever is trusted less at
    that level or above.

    Parameters
    ----------
    document, recipient
        Whose levels; a recipient without a view gets one.
    levels
        From 0, by quasi-identifier; the others stay.

    Raises
    ------
    PolicyError
        If a column is no quasi-identifier, or a level is below 0.
    """
    for column, level in levels.items():
        _refuse_others(document, column)
        if level < 0:
            raise PolicyError("The level is {level}.", "Choose a level from 0.", level=level)
    if document.recipient(recipient).view is None:
        document = _with_rule(document, recipient, ViewRule())
    chain = in_chain(document)
    place = [each.name for each in chain].index(recipient)
    followed = []
    for position, each in enumerate(chain):
        wanted = {}
        for column, level in levels.items():
            now = _rule(each).levels.get(column, 0)
            bounded = min(now, level) if position < place else max(now, level)
            if (level if position == place else bounded) != now:
                wanted[column] = level
        if wanted:
            rule = replace(_rule(each), levels={**_rule(each).levels, **wanted})
            document = _with_rule(document, each.name, rule)
            if position != place:
                followed.append(each.name)
    return document, tuple(followed)


def may_keep(
    document: Document,
    table: BatchedTable,
    recipient: str,
    context: Context,
    most: int = LARGEST_LATTICE,
) -> NodeSet:
    """Return which nodes may keep what is stated for a recipient; no other node can.

    A node that does so taken alone need not once others' suppressed records are suppressed too;
    `views_in` tells. Where units are counted, classes of too few records have too few units.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave.
    recipient
        Whose k and share are asked for; without a view, all nodes may.
    context
        Progress and cancelling.
    most
        No more nodes are searched.

    Returns
    -------
    numpy.ndarray
        One axis for each quasi-identifier, one place for each level.

    Raises
    ------
    PolicyError
        If a quasi-identifier has no hierarchy.
    SfumatoError
        If a hierarchy does not fit the table, or there are too many nodes.
    """
    recipes = {name: document.hierarchies[name] for name in _with_hierarchies(document)}
    rows = QuasiRows.of(document, table, recipes, Part(context, 0.0, 0.4))
    rule = document.recipient(recipient).view or ViewRule()
    share = rule.suppression
    if rule.cells:
        # Each row that can't stay as it is has at least one cell suppressed.
        share = min(share * len(recipes), _ALL)
    demand = Demand(rule.k, share)
    return nodes_keeping(rows.quasi, demand, Part(context, 0.4, 1.0), rows.weights, most)


def with_proposed_hierarchies(
    document: Document, table: Table | Survey
) -> tuple[Document, dict[str, str]]:
    """Return the document in which every quasi-identifier has a hierarchy, and why those added.

    They follow from the values of the table, however often each occurs.

    Raises
    ------
    SfumatoError
        If a column mixes texts with numbers, or its bins don't fit it.
    """
    reasons = {}
    for name in quasi_identifiers(document):
        if name not in document.hierarchies:
            proposal = propose_hierarchy(document.column(name), table.column(name))
            document = document.with_hierarchy(name, proposal.recipe)
            reasons[name] = str(proposal.reason)
    return document, reasons


def _with_hierarchies(document: Document) -> tuple[str, ...]:
    """Return the quasi-identifiers, each of which must have a hierarchy."""
    names = quasi_identifiers(document)
    if not names:
        raise PolicyError(
            "No column is a quasi-identifier.", "Give the columns that could be known that role."
        )
    missing = [name for name in names if name not in document.hierarchies]
    if missing:
        raise PolicyError(
            "These quasi-identifiers have no hierarchy: {columns}.",
            "Give them one, or let hierarchies be proposed.",
            columns=listed(missing),
        )
    return names


def _rule(recipient: Recipient) -> ViewRule:
    assert recipient.view is not None
    return recipient.view


def _with_rule(document: Document, name: str, rule: ViewRule | None) -> Document:
    document.recipient(name)
    recipients = tuple(
        replace(each, view=rule) if each.name == name else each for each in document.recipients
    )
    return replace(document, recipients=recipients)
