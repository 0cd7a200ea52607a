"""What a recipient's view comes to in the rows that leave, and which level had better be raised."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.views import with_levels
from sfumato.analysis.counted_rows import (
    CoarsenedRows,
    GroundRows,
    ShownColumnsOfView,
    ShownGroundRows,
)
from sfumato.analysis.findings import About, Examined, Finding, Remedy, RemedyKind, unique_then
from sfumato.analysis.shown_columns import (
    ClassCounts,
    ColumnView,
    CountedColumns,
    ShownColumns,
    look_of,
)
from sfumato.engine.core.errors import DiversityError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.cells import CellCosts, cells_hidden, hides
from sfumato.engine.generalization.coded import IntArray, QuasiIdentifier
from sfumato.engine.generalization.distinct_rows import DistinctRows, ViewedRows
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.views import view_as
from sfumato.project.document.model import Document, Recipient, canonical_json, to_plain
from sfumato.project.release.batched_views import batched_view
from sfumato.project.release.groups import public_names
from sfumato.project.release.views import (
    Coarsened,
    Coarsening,
    check_heights,
    check_view,
    coarsening_of,
    coded,
    in_chain,
    quasi_identifiers,
)

_COUNTED: Final = 2
"""So many raised levels are counted with all columns that leave, the best first."""


def shown_to(
    document: Document, recipient: Recipient, columns: ShownColumns
) -> tuple[ColumnView, ...]:
    """Return the columns that a recipient sees unperturbed, as they leave.

    Raises the errors of `coarsening_of` and `coded`.
    """
    names = [name for name in public_names(document) if name in columns.table.columns]
    looks = {name: look_of(document.column(name)) for name in names}
    seen = seen_by(document, recipient, columns)
    if seen is not None:
        told = _told(document, seen)
        rows = seen.rows if isinstance(seen, CoarsenedRows) else None
        for name in looks.keys() & told.keys():
            looks[name] = replace(looks[name], rows=rows)
            if name in seen.changed:
                column = seen.columns[name] if rows is None else None
                looks[name] = replace(looks[name], view=told[name], column=column)
    return tuple(looks.values())


def _told(document: Document, seen: Coarsened) -> dict[str, str]:
    """Return what decides how a view shows each column: its level, and which rows are hidden."""
    found = {}
    # Of counted rows it takes what they were counted by to tell which are hidden.
    by = dict(seen.rows.counted.told) if isinstance(seen, CoarsenedRows) else {}
    counted_by = hashlib.sha256(canonical_json(by).encode()).hexdigest()
    for axis, (name, recipe) in enumerate(seen.coarsening.hierarchies.items()):
        which, level = seen.view.marks[axis], seen.coarsening.level(name)
        hidden = [which, counted_by] if which else []
        found[name] = canonical_json(
            [to_plain(recipe), to_plain(document.column(name)), level, hidden]
        )
    return found


def seen_by(document: Document, recipient: Recipient, columns: ShownColumns) -> Coarsened | None:
    """Return what a recipient's view makes of the rows; None without one.

    Raises the errors of `coarsening_of` and `coded`.
    """
    coarsening = coarsening_of(document, recipient)
    if coarsening is None:
        return None
    if isinstance(columns, CountedColumns):
        return columns.seen(document, recipient, Silent())
    asked = (canonical_json(coarsening.to_dict()), _recipes(document, coarsening))

    def find() -> Coarsened:
        counted, rows = _rows_before(document, columns, coarsening)
        return _seen_in(document, columns, coarsening, counted, rows)

    return columns.latest(f"view of {recipient.name}", asked, find)


def _seen_in(
    document: Document,
    columns: ShownColumns,
    coarsening: Coarsening,
    counted: GroundRows,
    rows: DistinctRows,
) -> CoarsenedRows:
    """Return what a view makes of counted rows."""
    shown = rows.shown(rows.node, coarsening.own.k, coarsening.own_costs)
    view = view_as(rows, coarsening.own.k, shown)
    changed = frozenset(
        name
        for axis, name in enumerate(rows.names)
        if rows.node[axis] or hides(shown.hidden, axis).any()
    )
    specs = {name: document.column(name) for name in rows.names}
    found = ShownGroundRows(columns.table, specs, counted, rows, shown, changed)
    highest = {each.name: each.height for each in rows.quasi_identifiers}
    units = columns.units
    number = rows.rows if units is None else int(units.max(initial=-1)) + 1
    seen = ShownColumnsOfView(found)
    return CoarsenedRows(coarsening, seen, changed, view, highest, number, rows=found)


def _recipes(document: Document, coarsening: Coarsening) -> dict[str, str]:
    """Return what decides the codes of each quasi-identifier, and of each level."""
    return {
        name: canonical_json([to_plain(recipe), to_plain(document.column(name))])
        for name, recipe in coarsening.hierarchies.items()
    }


def _rows_before(
    document: Document, columns: ShownColumns, coarsening: Coarsening
) -> tuple[GroundRows, DistinctRows]:
    """Return the counted rows, and these at a view's levels, with what views before it hide."""
    recipes, steps = _recipes(document, coarsening), coarsening.steps
    nodes = [tuple(step.levels[name] for name in recipes) for step in steps]
    counted = _counted(document, columns, coarsening, recipes)
    check_heights(coarsening, [each for each in counted.quasi if each.name in recipes])

    def rows_at(place: int) -> DistinctRows:
        def find() -> DistinctRows:
            if place:
                finer = rows_at(place - 1)
                step = steps[place - 1]
                costs = coarsening.costs(step, finer.names)
                hidden = finer.shown(finer.node, step.k, costs).hidden
                return replace(finer, hidden=hidden).joined(nodes[place])
            return _grouped(columns, counted, recipes, nodes[0])

        costs = [coarsening.costs(step, tuple(recipes)) for step in steps]
        before = [*zip([step.k for step in steps[:place]], nodes, costs, strict=False)]
        asked = (recipes, before, nodes[place], counted.told)
        return columns.latest(f"rows of view {place}", asked, find)

    return counted, rows_at(len(steps) - 1)


def _counted(
    document: Document, columns: ShownColumns, coarsening: Coarsening, recipes: Mapping[str, str]
) -> GroundRows:
    """Return the rows counted by their quasi-identifiers, or by some more that were before."""
    if isinstance(columns, CountedColumns):
        apart = batched_view(columns.leaving, document.columns, coarsening, Silent()).apart
        told = {**recipes, "": canonical_json(list(apart.floor))}
        return GroundRows(told, apart.quasi, apart.counts, apart.units)
    for _, known in columns.answers("counted rows"):
        if recipes.items() <= known.told.items():
            recipes = known.told

    def find() -> GroundRows:
        quasi = [_encoded(document, columns, coarsening, *each) for each in recipes.items()]
        return GroundRows.of(recipes, quasi, columns.units)

    return columns.latest("counted rows", recipes, find)


def encoded_of(
    document: Document, columns: ShownColumns, coarsening: Coarsening, name: str
) -> QuasiIdentifier:
    """Return a quasi-identifier as its hierarchy encodes the rows that are looked at."""
    told = _recipes(document, coarsening)[name]
    return _encoded(document, columns, coarsening, name, told)


def _encoded(
    document: Document, columns: ShownColumns, coarsening: Coarsening, name: str, told: str
) -> QuasiIdentifier:
    recipe = {name: coarsening.hierarchies[name]}
    find = partial(coded, (document.column(name),), recipe, columns.table)
    return columns.keep(("quasi-identifier", told), find)[0]


def _grouped(
    columns: ShownColumns, counted: GroundRows, recipes: Mapping[str, str], node: Node
) -> DistinctRows:
    """Group counted rows at a node, or join what an earlier question told apart where it may."""
    finer: Node
    for (told, _, finer, by), known in columns.answers("rows of view 0"):
        levels = dict(zip(told, finer, strict=True))
        same = by == counted.told and all(name in levels for name in recipes)
        if same and all(levels[name] <= at for name, at in zip(recipes, node, strict=True)):
            rows: DistinctRows = known.joined(node, tuple(recipes))
            return rows
    return counted.at(node, tuple(recipes))


def broken_views(examined: Examined) -> Iterator[Finding]:
    """Tell where a recipient's view does not keep its k; a release would be refused."""
    document, recipient = examined.document, examined.recipient
    seen = seen_by(document, recipient, examined.columns)
    if seen is None:
        return
    try:
        check_view(seen)
    except DiversityError as error:
        by_cell = seen.coarsening.own.cells
        before = seen.view.suppressed_cells if by_cell else seen.view.suppressed_rows
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


def is_broken(examined: Examined) -> bool:
    """Return whether a recipient's view does not keep its k, so that nothing can be released."""
    seen = seen_by(examined.document, examined.recipient, examined.columns)
    if seen is None:
        return False
    try:
        check_view(seen)
    except DiversityError:
        return True
    return False


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
        if after.unique < before and not _breaks_others(examined, {one.column: one.level}):
            remedy = _raise(examined, one, "unique", before, after.unique, after.error)
            found.append((after.unique, remedy))
    return tuple(remedy for _, remedy in sorted(found, key=lambda each: each[0]))


def _breaks_others(examined: Examined, levels: Mapping[str, int]) -> bool:
    """Whether other levels of a recipient's view keep whoever is trusted less from a release.

    What is hidden from one is hidden from all who are trusted less, whose classes may get too
    small by that though their levels stay.
    """
    document, columns = examined.document, examined.columns
    name = examined.recipient.name
    changed, _ = with_levels(document, name, levels)
    chain = in_chain(changed)
    for each in chain[[one.name for one in chain].index(name) + 1 :]:
        with suppress(SfumatoError):  # refused today: whoever it concerns is told so
            if is_broken(replace(examined, recipient=document.recipient(each.name))):
                continue
            coarsening = coarsening_of(changed, each)
            assert coarsening is not None
            counted, rows = _rows_before(changed, columns, coarsening)
            try:
                check_view(_seen_in(changed, columns, coarsening, counted, rows))
            except DiversityError:
                return True
    return False


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
        Which of the counted rows each row of the table is, shape (n,).
    costs
        What suppressing a cell costs; None where rows are suppressed.
    """

    followed: tuple[str, ...]
    told: Hashable
    rows: DistinctRows
    node: Node
    k: int
    of_rows: IntArray
    costs: CellCosts = None

    @property
    def shown(self) -> ViewedRows:
        """What it makes of the rows."""
        return self.rows.shown(self.node, self.k, self.costs)


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
    counted, rows = _rows_before(document, columns, before)
    if counted.place is not None:
        of_rows = counted.place
    else:
        assert isinstance(columns, CountedColumns)
        apart = batched_view(columns.leaving, document.columns, before, Silent()).apart
        of_rows = apart.places(apart.codes(columns.table))
    node = tuple(coarsening.level(each) for each in rows.names)
    recipes = tuple(_recipes(document, coarsening).values())
    told = (canonical_json(coarsening.to_dict()), recipes)
    own = coarsening.own
    costs = coarsening.costs(own, rows.names)
    return RaisedView(followed, told, rows, node, own.k, of_rows, costs)


def counted_with(
    examined: Examined, view: RaisedView, looks: Mapping[str, ColumnView], roughly: int = 1
) -> ClassCounts:
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

    def find() -> ClassCounts:
        shown = view.shown
        changed = [
            name
            for axis, (name, at) in enumerate(zip(rows.names, node, strict=True))
            if name in looks and (at or hides(shown.hidden, axis).any())
        ]
        others = [
            # What the view coarsens today it may show as it is.
            look_of(examined.document.column(name)) if look.view else look
            for name, look in looks.items()
            if name not in changed
        ]
        marks = rows.marks(node, shown, changed)
        return examined.columns.passing(others, marks[view.of_rows], roughly)

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
    seen = seen_by(examined.document, examined.recipient, examined.columns)
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
    rows, shown = view.rows, view.shown
    suppressed = int(rows.counts[shown.suppressed].sum())
    if view.costs is not None:
        suppressed = int(rows.counts @ cells_hidden(shown.hidden, len(rows.names)))
    return rows.unique(shown)[0], suppressed, rows.loss(view.node, shown)


def _raise(
    examined: Examined, one: _Raised, what: str, before: int, after: int, error: int = 0
) -> Remedy:
    told = unique_then(before, after, error)
    if what != "unique":
        told = Sentence("{before:,} → {after:,} suppressed", before=before, after=after)
    return Remedy(
        RemedyKind.RAISE,
        Sentence(
            "Show {column} at level {level} to {names}: {figures}",
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
