"""How coarsely each recipient sees the quasi-identifiers: found, moved by hand, and what it gives.

The window, the command line and the report ask here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import DiversityError, PolicyError, SfumatoError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.chain import (
    Demand,
    View,
    find_chain,
    nodes_keeping,
    views_of,
)
from sfumato.engine.generalization.coded import QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import Weights
from sfumato.engine.generalization.hierarchies import propose_hierarchy
from sfumato.engine.generalization.lattice import NodeSet
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.combinations import marks_of
from sfumato.engine.table.repeated_units import Units, count_units, units_among, units_of
from sfumato.engine.table.table import Attribute, Table
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, Recipient, ViewRule
from sfumato.project.release.long_leaving import leaving_rows
from sfumato.project.release.long_survey import LongSurvey
from sfumato.project.release.long_table import LongTable
from sfumato.project.release.long_views import counted_view, long_view, rows_apart
from sfumato.project.release.release_columns import leaving_table
from sfumato.project.release.uniqueness import AloneInRelease, alone_in_release
from sfumato.project.release.views import (
    check_k,
    check_view,
    coarsened,
    coarsening_of,
    coded,
    in_chain,
    quasi_identifiers,
    shown_by,
)

_INSIDE: Final = 3
"""The k proposed for whoever is trusted most of several."""
_AMONG: Final = 5
_OUTSIDE: Final = 20
"""The k proposed for whoever is trusted least."""
PROPOSED_SHARE: Final = 0.01


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
    """

    recipient: str
    rule: ViewRule
    levels: Mapping[str, tuple[int, int]]
    records: int
    units: int
    view: View | None = None
    problem: str = ""
    by_unit: bool = False

    @property
    def sentence(self) -> str:
        """What it comes to, in a sentence; empty where that can't be said."""
        if self.view is None:
            return ""
        if self.by_unit:
            return Sentence(
                "{recipient}: the smallest class has {smallest:,} {smallest:unit|units},"
                " {unique:,} {unique:unit|units} ({rows:,} {rows:record|records}) {unique:is|are}"
                " unique, {suppressed:,} of {records:,} {records:record|records}"
                " {suppressed:is|are} suppressed.",
                recipient=self.recipient,
                smallest=self.view.smallest,
                unique=self.view.unique,
                rows=self.view.unique_rows,
                suppressed=self.view.suppressed_rows,
                records=self.records,
            )
        return Sentence(
            "{recipient}: the smallest class has {smallest:,} {smallest:record|records},"
            " {unique:,} {unique:is|are} unique, {suppressed:,} of {records:,} {suppressed:is|are}"
            " suppressed.",
            recipient=self.recipient,
            smallest=self.view.smallest,
            unique=self.view.unique,
            suppressed=self.view.suppressed_rows,
            records=self.records,
        )


def that_leave(
    document: Document, table: Table | LongTable, keys: KeyRing, context: Context
) -> Table | LongTable:
    """Return the rows that leave, in which views are counted.

    Raises the errors of `leaving_rows`.
    """
    if isinstance(table, LongTable):
        return leaving_rows(table, document, keys, context)
    return leaving_table(document, table, keys)


@dataclass(frozen=True)
class _Encoded:
    """Quasi-identifiers of rows that may stand for several, whose these are, and how many."""

    quasi: tuple[QuasiIdentifier, ...]
    units: Units
    weights: Weights
    counted: int

    @classmethod
    def of(cls, document: Document, table: Table | LongTable, context: Context) -> _Encoded:
        context.report(0.0, "Encoding the quasi-identifiers")
        unit = None if document.unit is None else document.unit.columns
        recipes = {name: document.hierarchies[name] for name in _with_hierarchies(document)}
        if isinstance(table, LongTable):
            floor = dict.fromkeys(recipes, 0)
            apart = rows_apart(table, document.columns, recipes, floor, context, unit)
            return cls(apart.quasi, apart.units, apart.counts, apart.number)
        units = None if unit is None else units_of(table, unit)
        counted = table.rows if units is None else int(units.max(initial=-1)) + 1
        return cls(coded(document.columns, recipes, table), units, None, counted)


def views_in(document: Document, table: Table | LongTable, context: Context) -> tuple[SeenBy, ...]:
    """Return what every recipient with a view sees, in order of trust.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`that_leave`).
    context
        Progress and cancelling.
    """
    chain = in_chain(document)
    if not chain:
        return ()
    if isinstance(table, LongTable):
        return _views_in_parts(document, table, chain, context)
    units, counted = None, table.rows
    try:
        if document.unit is not None:
            units = units_of(table, document.unit.columns)
            counted = int(units.max()) + 1
        coarsenings = [coarsening_of(document, each) for each in chain]
        hierarchies = {n: document.hierarchies[n] for n in quasi_identifiers(document)}
        context.report(0.1, "Encoding the quasi-identifiers")
        quasi = coded(document.columns, hierarchies, table)
        nodes = [tuple(_rule(each).levels.get(q.name, 0) for q in quasi) for each in chain]
        _check_heights(chain, {q.name: q.height for q in quasi})
        context.report(0.5, "Counting the classes")
        views = views_of(quasi, nodes, [_rule(each).k for each in chain], units) if quasi else ()
    except SfumatoError as error:
        return tuple(
            SeenBy(each.name, _rule(each), {}, table.rows, counted, None, error.sentence)
            for each in chain
        )
    found = []
    for each, coarsening, view in zip(chain, coarsenings, views, strict=False):
        levels = {q.name: (_rule(each).levels.get(q.name, 0), q.height) for q in quasi}
        problem = ""
        if coarsening is not None:
            try:
                check_view(shown_by(coarsening, document.columns, table, quasi, view, counted))
            except DiversityError as error:
                problem = error.sentence
        own = (each.name, _rule(each), levels, table.rows, counted)
        found.append(SeenBy(*own, view, problem, units is not None))
    context.report(1.0, "The classes are counted")
    return tuple(found)


def _views_in_parts(
    document: Document, table: LongTable, chain: Sequence[Recipient], context: Context
) -> tuple[SeenBy, ...]:
    """Return what `views_in` does of a long table."""
    found = []
    counted = table.rows if table.units is None else table.units.number
    try:
        for place, each in enumerate(chain):
            part = Part(context, place / len(chain), (place + 1) / len(chain))
            coarsening, problem = coarsening_of(document, each), ""
            if coarsening is None:
                return ()
            seen = long_view(table, document.columns, coarsening, part)
            levels = {name: (coarsening.level(name), top) for name, top in seen.highest.items()}
            try:
                check_view(seen)
            except DiversityError as error:
                problem = error.sentence
            own = (each.name, _rule(each), levels, table.rows, seen.units, seen.view, problem)
            found.append(SeenBy(*own, document.unit is not None))
    except SfumatoError as error:
        return tuple(
            SeenBy(each.name, _rule(each), {}, table.rows, counted, None, error.sentence)
            for each in chain
        )
    return tuple(found)


def as_they_are(
    document: Document, table: Table | LongTable, context: Context
) -> tuple[SeenBy, ...]:
    """Return what those see who have no view: today's classes, with no hierarchy needed.

    Of a long table, hierarchies are needed: without, and where too many rows differ, there is no
    view.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`that_leave`).
    context
        Progress and cancelling.
    """
    names = quasi_identifiers(document)
    without = [each.name for each in document.recipients if each.view is None]
    if not names or not without or not table.rows:
        return ()
    by_unit = document.unit is not None
    if isinstance(table, LongTable):
        bare, known = table.rows if table.units is None else table.units.number, None
        with suppress(SfumatoError):
            rows = _Encoded.of(document, table, context)
            node = (0,) * len(names)
            (known,) = views_of(rows.quasi, [node], [1], rows.units, rows.weights)
        return tuple(
            SeenBy(name, ViewRule(), {}, table.rows, bare, known, by_unit=by_unit)
            for name in without
        )
    units = None if document.unit is None else units_of(table, document.unit.columns)
    shown = (document.column(n).shown(table.column(n)).rename(n) for n in names)
    classes, found = pd.factorize(marks_of(shown, table.rows))
    sizes = count_units(classes, units, len(found))
    alone = sizes[classes] == 1
    nothing, own = np.zeros(table.rows, np.bool_), int(np.count_nonzero(alone))
    view = View((0,) * len(names), 1, nothing, sizes, units_among(units, alone), own, 0.0)
    counted = table.rows if units is None else int(units.max()) + 1
    return tuple(
        SeenBy(name, ViewRule(), {}, table.rows, counted, view, by_unit=by_unit) for name in without
    )


def proposed_ks(
    document: Document, attributes: Mapping[str, Attribute], table: Table | LongTable
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
            k = _OUTSIDE if last and not first else _INSIDE if first and len(order) > 2 else _AMONG
            more = [other.view.k for other in order[:place] if other.view is not None]
            less = [other.view.k for other in order[place:] if other.view is not None]
            proposed[each.name] = min([max([k, *more]), *less, max(table.rows, 1)])
    return proposed


def with_proposed_ks(
    document: Document, attributes: Mapping[str, Attribute], table: Table | LongTable
) -> Document:
    """Return the document with a k, and a share of suppressed rows, wherever none is stated."""
    for name, k in proposed_ks(document, attributes, table).items():
        document = with_statement(document, name, k, PROPOSED_SHARE)
    return document


def seen_together(
    document: Document,
    table: Table | LongTable,
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
    document: Document, table: Table | LongTable, context: Context
) -> tuple[AloneInRelease, ...]:
    """Count the records that are unique on what each recipient sees unperturbed.

    Recipients who see the quasi-identifiers as they are share the first count. Of a table in parts
    the rows that leave are given.

    Raises
    ------
    SfumatoError
        If a view or a column does not fit the table.
    """
    chain = in_chain(document)
    found: list[AloneInRelease | None] = []
    if len(chain) < max(len(document.recipients), 1):
        found.append(_alone(document, table, None, Part(context, 0.0, 0.4)))
    for place, each in enumerate(chain):
        part = Part(context, 0.4 + 0.6 * place / len(chain), 0.4 + 0.6 * (place + 1) / len(chain))
        found.append(_alone(document, table, each, part))
    return tuple(each for each in found if each is not None)


def _alone(
    document: Document, table: Table | LongTable, recipient: Recipient | None, context: Context
) -> AloneInRelease | None:
    """Count unique records as a recipient sees them; as they are for None."""
    coarsening = None if recipient is None else coarsening_of(document, recipient)
    if isinstance(table, Table):
        seen = None if coarsening is None else coarsened(coarsening, document.columns, table)
        return alone_in_release(document, table, context, seen)
    if recipient is None or coarsening is None:
        return table.summary(document, context).alone
    return counted_view(table, document, recipient, context).alone


def find_views(document: Document, table: Table | LongTable, context: Context) -> Document:
    """Return the document with the levels that lose least, for what is stated for each recipient.

    What each view keeps is counted in the rows that leave (`that_leave`), by units where the
    document states them. Of a long table, the rows that differ have to fit into memory.

    Raises
    ------
    PolicyError
        If nothing is stated for anybody, or a quasi-identifier has no hierarchy.
    DiversityError
        If a k is above the number of records or units, or there are too many nodes.
    SfumatoError
        If a hierarchy does not fit the table, or too many rows of a long one differ.
    """
    stated = [each for each in document.recipients if each.view is not None]
    if not stated:
        raise PolicyError(
            "No k is stated for any recipient.", "State one: the size of the smallest class."
        )
    names = _with_hierarchies(document)
    unit = () if document.unit is None else document.unit.columns
    rows = _Encoded.of(document, table, Part(context, 0.0, 0.4))
    for each in stated:
        check_k(each.name, _rule(each).k, table.rows, rows.counted, unit)
    chain = sorted(stated, key=lambda each: (_rule(each).k, _rule(each).suppression))
    demands = [Demand(_rule(each).k, _rule(each).suppression) for each in chain]
    part = Part(context, 0.4, 1.0)
    views = find_chain(rows.quasi, demands, part, rows.units, rows.weights)
    for each, view in zip(chain, views, strict=True):
        levels = dict(zip(names, view.node, strict=True))
        document = _with_rule(document, each.name, replace(_rule(each), levels=levels))
    return document


def with_statement(
    document: Document, recipient: str, k: int | None = None, suppression: float | None = None
) -> Document:
    """Return the document with another k or share for a recipient, who gets a view if without.

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
    )
    return _with_rule(document, recipient, rule)


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
    known = quasi_identifiers(document)
    for column, level in levels.items():
        if column not in known:
            raise PolicyError(
                "{column} is not a quasi-identifier.",
                "Choose one of: {known}.",
                column=column,
                known=", ".join(known),
            )
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
    document: Document, table: Table | LongTable, recipient: str, context: Context
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
    rows = _Encoded.of(document, table, Part(context, 0.0, 0.4))
    rule = document.recipient(recipient).view or ViewRule()
    demand = Demand(rule.k, rule.suppression)
    return nodes_keeping(rows.quasi, demand, Part(context, 0.4, 1.0), rows.weights)


def with_proposed_hierarchies(
    document: Document, table: Table | LongSurvey
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


def _check_heights(chain: tuple[Recipient, ...], highest: Mapping[str, int]) -> None:
    for each in chain:
        for name, height in highest.items():
            level = _rule(each).levels.get(name, 0)
            if level > height:
                raise PolicyError(
                    "{recipient} is to see {column} at level {level}, and its hierarchy ends at"
                    " level {highest}.",
                    "Choose a lower level, or give the hierarchy more levels.",
                    recipient=each.name,
                    column=name,
                    level=level,
                    highest=height,
                )
