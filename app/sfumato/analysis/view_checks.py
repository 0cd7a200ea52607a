"""What a recipient's view comes to in the rows that leave, and which level had better be raised."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np

from sfumato.analysis.findings import About, Deed, Examined, Finding, Remedy, Severity
from sfumato.analysis.shown_columns import Classes, LongColumns, Look, ShownColumns, look_of
from sfumato.analysis.views import with_levels
from sfumato.engine.core.errors import DiversityError, SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.chain import view_of
from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import (
    DistinctRows,
    Weights,
)
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.table.repeated_units import Units
from sfumato.project.document.model import Document, Recipient, canonical_json, to_plain
from sfumato.project.release.groups import public_names
from sfumato.project.release.long_views import long_view
from sfumato.project.release.views import (
    Coarsened,
    Coarsening,
    check_heights,
    check_view,
    coarsening_of,
    coded,
    quasi_identifiers,
    shown_by,
)

_COUNTED: Final = 2
"""So many raised levels are counted with all columns that leave, the best first."""


def shown_to(document: Document, recipient: Recipient, columns: ShownColumns) -> tuple[Look, ...]:
    """Return the columns that a recipient sees unperturbed, as they leave.

    Raises the errors of `coarsening_of` and `coarsened`.
    """
    names = [name for name in public_names(document) if name in columns.table.columns]
    looks = {name: look_of(document.column(name)) for name in names}
    seen = _seen_by(document, recipient, columns)
    if seen is not None:
        told = _told(document, seen)
        for name in seen.changed:
            looks[name] = replace(looks[name], view=told[name], column=seen.columns[name])
    return tuple(looks.values())


def _told(document: Document, seen: Coarsened) -> dict[str, str]:
    """Return what decides how a view shows each column: its level, and which rows are hidden."""
    hidden = seen.view.suppressed
    which = hashlib.sha256(np.packbits(hidden).tobytes()).hexdigest() if hidden.any() else ""
    return {
        name: canonical_json(
            [to_plain(recipe), to_plain(document.column(name)), seen.coarsening.level(name), which]
        )
        for name, recipe in seen.coarsening.hierarchies.items()
    }


def _seen_by(document: Document, recipient: Recipient, columns: ShownColumns) -> Coarsened | None:
    """Return what a recipient's view makes of the rows; None without one."""
    coarsening = coarsening_of(document, recipient)
    if coarsening is None:
        return None
    if isinstance(columns, LongColumns):
        return columns.seen(document, recipient, Silent())
    asked = (canonical_json(coarsening.to_dict()), _recipes(document, coarsening))

    def find() -> Coarsened:
        rows = _rows_before(document, columns, coarsening)
        view, _ = view_of(rows, coarsening.own.k)
        units = columns.units
        counted = rows.rows if units is None else int(units.max(initial=-1)) + 1
        quasi = rows.quasi_identifiers
        return shown_by(coarsening, document.columns, columns.table, quasi, view, counted)

    return columns.latest(f"view of {recipient.name}", asked, find)


def _recipes(document: Document, coarsening: Coarsening) -> dict[str, str]:
    """Return what decides the codes of each quasi-identifier, and of each level."""
    return {
        name: canonical_json([to_plain(recipe), to_plain(document.column(name))])
        for name, recipe in coarsening.hierarchies.items()
    }


def _rows_before(document: Document, columns: ShownColumns, coarsening: Coarsening) -> DistinctRows:
    """Return the rows at a view's levels, those hidden that the views before it suppress."""
    recipes, steps = _recipes(document, coarsening), coarsening.steps
    nodes = [tuple(step.levels[name] for name in recipes) for step in steps]
    quasi: Sequence[QuasiIdentifier]
    units: Units = columns.units
    weights = None
    if isinstance(columns, LongColumns):
        apart = long_view(columns.long, document.columns, coarsening, Silent()).apart
        quasi, weights, units = apart.quasi, apart.counts, apart.units
    else:
        quasi = [_encoded(document, columns, coarsening, *each) for each in recipes.items()]
    check_heights(coarsening, quasi)

    def rows_at(place: int) -> DistinctRows:
        def find() -> DistinctRows:
            if place:
                finer = rows_at(place - 1)
                hidden = finer.shown(finer.node, steps[place - 1].k).suppressed
                return replace(finer, hidden=hidden).joined(nodes[place])
            return _grouped(columns, quasi, recipes, nodes[0], units, weights)

        before = [(step.k, node) for step, node in zip(steps[:place], nodes, strict=False)]
        return columns.latest(f"rows of view {place}", (recipes, before, nodes[place]), find)

    return rows_at(len(steps) - 1)


def _encoded(
    document: Document, columns: ShownColumns, coarsening: Coarsening, name: str, told: str
) -> QuasiIdentifier:
    recipe = {name: coarsening.hierarchies[name]}
    find = partial(coded, (document.column(name),), recipe, columns.table)
    return columns.keep(("quasi-identifier", told), find)[0]


def _grouped(
    columns: ShownColumns,
    quasi: Sequence[QuasiIdentifier],
    recipes: Mapping[str, str],
    node: Node,
    units: Units,
    weights: Weights,
) -> DistinctRows:
    """Group the rows at a node, or join what an earlier question told apart where that will do."""
    told: Mapping[str, str]
    finer: Node
    for (told, _, finer), known in columns.answers("rows of view 0"):
        levels = dict(zip(told, finer, strict=True))
        same = all(told.get(name) == recipe for name, recipe in recipes.items())
        if same and all(levels[name] <= at for name, at in zip(recipes, node, strict=True)):
            rows: DistinctRows = known.joined(node, tuple(recipes))
            return rows
    return DistinctRows.of(quasi, node, units, weights)


def broken_views(examined: Examined) -> Iterator[Finding]:
    """Tell where a recipient's view does not keep its k; a release would be refused."""
    document, recipient = examined.document, examined.recipient
    seen = _seen_by(document, recipient, examined.columns)
    if seen is None:
        return
    try:
        check_view(seen)
    except DiversityError as error:
        before = seen.view.suppressed_rows
        options = sorted(_raised(examined), key=lambda one: (one.suppressed, one.loss))
        yield Finding(
            "View",
            Severity.GRAVE,
            error.sentence,
            (before, seen.coarsening.own.k),
            tuple(dict.fromkeys([*(one.column for one in options), *seen.columns])),
            tuple(
                _raise(examined, one, "suppressed", before, one.suppressed)
                for one in options[:_COUNTED]
                if one.suppressed < before
            ),
            about=About.POLICY,
            asks=False,
            refuses=True,
        )


def raised_levels(examined: Examined, before: int) -> tuple[Remedy, ...]:
    """Return the levels of a recipient's view whose rise leaves fewer unique, the best first.

    Parameters
    ----------
    examined
        For whom.
    before
        How many are unique on all columns that leave.
    """
    if examined.recipient.view is None or not before:
        return ()
    # What is unique on the quasi-identifiers alone says which to count with the other columns.
    options = sorted(_raised(examined), key=lambda one: (one.unique, one.loss))[:_COUNTED]
    found = []
    for one in options:
        looks = {look.name: look for look in examined.shown}
        after = counted_with(examined, one.view, looks)
        if after.unique < before:
            remedy = _raise(examined, one, "unique", before, after.unique, after.error)
            found.append((after.unique, remedy))
    return tuple(remedy for _, remedy in sorted(found, key=lambda each: each[0]))


@dataclass(frozen=True)
class RaisedView:
    """A recipient's view with some levels raised.

    Parameters
    ----------
    followed
        Whose views had to follow.
    told
        What decides what it comes to.
    rows, node, k
        The rows as the views before it leave them, its levels, and its k.
    of_rows
        Which of the rows that differ each row of the table is; None where `rows` are all of it.
    """

    followed: tuple[str, ...]
    told: Hashable
    rows: DistinctRows
    node: Node
    k: int
    of_rows: IntArray | None = None


def raised_view(examined: Examined, levels: Mapping[str, int]) -> RaisedView:
    """Return a recipient's view with other levels of some quasi-identifiers.

    Raises
    ------
    SfumatoError
        Where nobody could be given a release with it.
    """
    document, columns, name = examined.document, examined.columns, examined.recipient.name
    changed, followed = with_levels(document, name, levels)
    today = coarsening_of(document, examined.recipient)
    coarsening = coarsening_of(changed, changed.recipient(name))
    assert today is not None
    assert coarsening is not None
    # Those who are trusted more see what they saw, so their views are known.
    same = coarsening.steps[:-1] == today.steps[:-1]
    before = today if same else coarsening
    rows, of_rows = _rows_before(document, columns, before), None
    if isinstance(columns, LongColumns):
        apart = long_view(columns.long, document.columns, before, Silent()).apart
        of_rows = apart.places(apart.codes(columns.table))
    node = tuple(coarsening.level(each) for each in rows.names)
    recipes = tuple(_recipes(document, coarsening).values())
    told = (canonical_json(coarsening.to_dict()), recipes)
    return RaisedView(followed, told, rows, node, coarsening.own.k, of_rows)


def counted_with(
    examined: Examined, view: RaisedView, looks: Mapping[str, Look], roughly: int = 1
) -> Classes:
    """Count the classes of all columns that leave for a recipient, with another view of some.

    Parameters
    ----------
    examined, view
        For whom, and how the quasi-identifiers are shown.
    looks
        The columns that leave, by name; the view decides how those leave that it coarsens.
    roughly
        How much smaller a part than usual is counted of a long table's classes.
    """
    rows, node = view.rows, view.node

    def find() -> Classes:
        shown = rows.shown(node, view.k)
        hides = shown.suppressed.any()
        changed = [
            n for n, at in zip(rows.names, node, strict=True) if n in looks and (at or hides)
        ]
        others = [
            # What the view coarsens today it may show as it is.
            look_of(examined.document.column(name)) if look.view else look
            for name, look in looks.items()
            if name not in changed
        ]
        marks = rows.marks(node, shown, changed)
        if view.of_rows is not None:
            marks = marks[view.of_rows]
        return examined.columns.passing(others, marks, roughly)

    told = frozenset(look.bare for look in looks.values())
    return examined.columns.keep(("raised and counted", view.told, told, roughly), find)


@dataclass(frozen=True)
class _Raised:
    """One level of a recipient's view raised by one, and what that comes to."""

    column: str
    level: int
    view: RaisedView
    unique: int
    suppressed: int
    loss: float


def _raised(examined: Examined) -> list[_Raised]:
    """Return what each quasi-identifier one level up comes to; none where no view can be made."""
    seen = _seen_by(examined.document, examined.recipient, examined.columns)
    found: list[_Raised] = []
    for column in () if seen is None else quasi_identifiers(examined.document):
        level = 0 if seen is None else seen.coarsening.level(column) + 1
        if seen is None or level > seen.highest.get(column, 0):
            continue
        examined.context.report(0.5, Sentence("Raising the level of {column}", column=column))
        with suppress(SfumatoError):  # where nobody could be given a release with it
            view = raised_view(examined, {column: level})
            figures = examined.columns.keep(("raised", view.told), partial(_figures, view))
            found.append(_Raised(column, level, view, *figures))
    return found


def _figures(view: RaisedView) -> tuple[int, int, float]:
    """Return how many a view leaves unique and suppressed, and what it loses."""
    rows, shown = view.rows, view.rows.shown(view.node, view.k)
    suppressed = int(rows.counts[shown.suppressed].sum())
    return rows.unique(shown)[0], suppressed, rows.loss(view.node, shown)


def _raise(
    examined: Examined, one: _Raised, what: str, before: int, after: int, error: int = 0
) -> Remedy:
    words = "Show {column} at level {level} to {names}: {figures}"
    figures = "{before:,} → {about}{after:,} unique"
    if what != "unique":
        figures = "{before:,} → {about}{after:,} suppressed"
    told = Sentence(figures, before=before, about="≈ " if error else "", after=after)
    return Remedy(
        Deed.RAISE,
        Sentence(
            words,
            column=one.column,
            level=one.level,
            names=listed((examined.recipient.name, *one.view.followed)),
            figures=told,
        ),
        one.column,
        before=before if what == "unique" else None,
        after=after if what == "unique" else None,
        error=error,
        recipient=examined.recipient.name,
        level=one.level,
        followed=one.view.followed,
    )
