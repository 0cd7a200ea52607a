"""How coarsely each recipient sees the quasi-identifiers, and what that makes of a table.

The recipients who have a view stand in a chain, the most trusted first: by their k, then by how
fine their levels are. What is suppressed for one is suppressed for all who follow, so a release
for a recipient depends on the views of those who are trusted more.

Whether a row shows "*" follows from its quasi-identifiers alone. So a plan that is carried out in
parts lists those that are suppressed, as keyed hashes: who has no key learns how many there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import DiversityError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.values import factorize
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.cells import (
    MOST_COLUMNS,
    WHOLE,
    CellCosts,
    CellMasks,
    hides,
)
from sfumato.engine.generalization.coded import (
    QuasiIdentifier,
    generalized_column,
    mixed_radix,
    quasi_identifier,
)
from sfumato.engine.generalization.distinct_rows import Weights
from sfumato.engine.generalization.hierarchies import Recipe, ground_series, hierarchy_of
from sfumato.engine.generalization.views import Demand, View, views_of
from sfumato.engine.randomness.keys import AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import canonical_text, canonical_texts, keyed_hash
from sfumato.engine.table.repeated_units import Units
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, Recipient, to_plain


@dataclass(frozen=True)
class ViewStep:
    """One view of a chain.

    Parameters
    ----------
    recipient
        Whose view it is.
    k
        The records of the smallest class, or its units.
    levels
        The level of each quasi-identifier; those not named are shown as they are.
    cells
        Whether single cells are suppressed; None for whole rows.
    """

    recipient: str
    k: int
    levels: Mapping[str, int]
    cells: bool | None = None


@dataclass(frozen=True)
class Coarsening:
    """What a recipient's view is a function of, but for the rows.

    Parameters
    ----------
    hierarchies
        The recipe of each quasi-identifier's hierarchy, by column, in the table's order.
    steps
        The views of the recipients who are trusted more, and at the end the recipient's own.
    suppression
        The largest share of the records that may be suppressed, or of the cells.
    unit
        The columns that name the units that k counts; None where it counts records.
    importance
        The quasi-identifiers whose cells are suppressed last, the most important first; None
        where no cells are, or all are alike.
    """

    hierarchies: Mapping[str, Recipe]
    steps: tuple[ViewStep, ...]
    suppression: float = 0.0
    unit: tuple[str, ...] | None = None
    importance: tuple[str, ...] | None = None

    @property
    def own(self) -> ViewStep:
        """The recipient's view."""
        return self.steps[-1]

    def level(self, column: str) -> int:
        """Return the recipient's level of a quasi-identifier."""
        return self.own.levels.get(column, 0)

    def costs(self, step: ViewStep, names: Sequence[str]) -> CellCosts:
        """Return what suppressing a cell of each column costs; None where a view has no cells."""
        return cell_costs(names, self.importance) if step.cells else None

    @property
    def own_costs(self) -> CellCosts:
        """What suppressing a cell costs in the recipient's view; None where rows are."""
        return self.costs(self.own, tuple(self.hierarchies))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        plain: dict[str, Any] = to_plain(self)
        return plain


@dataclass(frozen=True)
class Coarsened:
    """What a view makes of a table.

    Parameters
    ----------
    coarsening
        The view.
    units
        How many units the table has; its records where rows stand alone.
    columns
        The quasi-identifiers as they are shown, by name, each of shape (n,).
    changed
        The columns that hold labels in place of their values.
    view
        Its suppressed rows, classes and loss.
    highest
        The highest level of each quasi-identifier.
    """

    coarsening: Coarsening
    columns: Mapping[str, pd.Series]
    changed: frozenset[str]
    view: View
    highest: Mapping[str, int]
    units: int

    @property
    def left_out(self) -> frozenset[str]:
        """The columns of which every row shows `*`."""
        level = self.coarsening.level
        return frozenset(name for name in self.changed if level(name) == self.highest[name])


def cell_costs(names: Sequence[str], importance: Sequence[str] | None) -> tuple[float, ...]:
    """Return what suppressing a cell of each quasi-identifier costs.

    One where nothing is said of it; the least important of those named costs two, the next three,
    and so on.
    """
    named = [name for name in importance or () if name in names]
    places = {name: len(named) - place + 1 for place, name in enumerate(named)}
    return tuple(float(places.get(name, 1)) for name in names)


def quasi_identifiers(document: Document) -> tuple[str, ...]:
    """Return the quasi-identifiers, in the table's order."""
    return tuple(c.name for c in document.columns if c.role is Role.QUASI_IDENTIFIER)


def in_chain(document: Document) -> tuple[Recipient, ...]:
    """Return the recipients who have a view, in order of trust."""
    names = quasi_identifiers(document)
    with_view = [each for each in document.recipients if each.view is not None]

    def trust(recipient: Recipient) -> tuple[int, int]:
        view = recipient.view
        assert view is not None
        return view.k, sum(view.levels.get(name, 0) for name in names)

    return tuple(sorted(with_view, key=trust))


def finest_of(document: Document, names: Sequence[str]) -> Recipient | None:
    """Return whose view recipients hold who pool their files; None for the values as they are.

    Raises
    ------
    PolicyError
        If the views up to that of the least trusted of them are no chain: nobody's is the finest.
    """
    chain = in_chain(document)
    places = [place for place, each in enumerate(chain) if each.name in names]
    if not places or len(places) != len(set(names)):
        return None
    check_chain(chain[: places[-1] + 1], quasi_identifiers(document))
    return chain[places[0]]


def coarsening_of(document: Document, recipient: Recipient) -> Coarsening | None:
    """Return a recipient's view; None where quasi-identifiers are shown as they are.

    Raises
    ------
    PolicyError
        If the views up to the recipient's are no chain, or a quasi-identifier has no hierarchy.
    """
    if recipient.view is None:
        return None
    names = quasi_identifiers(document)
    for name in names:
        if name not in document.hierarchies:
            raise PolicyError(
                "The quasi-identifier {column} has no hierarchy, so {recipient} can't be given a"
                " coarser view of it.",
                "Give it one; one can be proposed.",
                column=name,
                recipient=recipient.name,
            )
    chain = in_chain(document)
    # Whoever is trusted less depends on those before, and can be shown nothing until they agree.
    before = chain[: [each.name for each in chain].index(recipient.name) + 1]
    check_chain(before, names)
    steps = tuple(
        ViewStep(
            each.name,
            each.view.k,
            {name: each.view.levels.get(name, 0) for name in names},
            each.view.cells or None,
        )
        for each in before
        if each.view is not None
    )
    recipes = {name: document.hierarchies[name] for name in names}
    unit = None if document.unit is None else document.unit.columns
    importance = None
    if any(step.cells for step in steps):
        importance = tuple(n for n in document.importance or () if n in names) or None
        check_cells(names)
    share = recipient.view.suppression
    return Coarsening(recipes, steps, share, unit, importance) if names else None


def check_cells(names: Sequence[str]) -> None:
    """Refuse to suppress single cells of more columns than are kept apart with a `PolicyError`."""
    if len(names) > MOST_COLUMNS:
        raise PolicyError(
            "Single cells can be suppressed of up to {most} quasi-identifiers, and there are"
            " {count}.",
            "Leave some columns out, or suppress whole records.",
            most=MOST_COLUMNS,
            count=len(names),
        )


def check_chain(chain: Sequence[Recipient], names: Sequence[str]) -> None:
    """Refuse views in which somebody who is trusted less sees a column more finely.

    Raises
    ------
    PolicyError
        Naming the recipients and the column.
    """
    for more, less in itertools.pairwise(chain):
        if more.view is None or less.view is None:
            continue
        for name in names:
            fine, coarse = more.view.levels.get(name, 0), less.view.levels.get(name, 0)
            if coarse < fine:
                raise PolicyError(
                    # Of the same k, one is before the other by the sum of levels, not by trust.
                    "{less} sees {column} at level {coarse}, more finely than {more}, who sees it"
                    " at level {fine}, and other columns more finely than {less}: together they"
                    " would tell more than either view."
                    if more.view.k == less.view.k
                    else "{less} sees {column} at level {coarse}, more finely than {more}, who is"
                    " trusted more and sees it at level {fine}: together they would tell more"
                    " than either view.",
                    "Give {less} level {fine} or above, or {more} level {coarse} or below.",
                    less=less.name,
                    more=more.name,
                    column=name,
                    coarse=coarse,
                    fine=fine,
                )


def coded(
    columns: Sequence[ColumnSpec], hierarchies: Mapping[str, Recipe], table: Table
) -> tuple[QuasiIdentifier, ...]:
    """Return a table's quasi-identifiers, encoded by their hierarchies, with "*" on top of each.

    Raises
    ------
    HierarchyError, DomainError, TableError
        If a hierarchy or bins don't fit the table.
    """
    specs = {spec.name: spec for spec in columns}
    found = []
    for name, recipe in hierarchies.items():
        series = table.column(name)
        hierarchy = hierarchy_of(recipe, specs[name], series)
        ground = Table(ground_series(specs[name], series).to_frame(name))
        found.append(quasi_identifier(hierarchy, ground).with_one_group_on_top())
    return tuple(found)


def own_view(
    coarsening: Coarsening,
    quasi: Sequence[QuasiIdentifier],
    units: Units = None,
    weights: Weights = None,
) -> View:
    """Return a recipient's view of encoded rows; see `views_of`.

    Raises
    ------
    PolicyError
        If a hierarchy has fewer levels than the view names.
    """
    check_heights(coarsening, quasi)
    nodes = [tuple(step.levels.get(q.name, 0) for q in quasi) for step in coarsening.steps]
    names = [each.name for each in quasi]
    costs = [coarsening.costs(step, names) for step in coarsening.steps]
    return views_of(quasi, nodes, [s.k for s in coarsening.steps], units, weights, costs)[-1]


def counts_rows(coarsening: Coarsening) -> bool:
    """Whether rows may be suppressed, since too few share what is shown of them."""
    return any(step.k > 1 for step in coarsening.steps)


def labels_stand_alone(coarsening: Coarsening, columns: Sequence[ColumnSpec]) -> bool:
    """Whether the labels that a row shows depend on no other row."""
    specs = {spec.name: spec for spec in columns}
    return all(
        recipe.by_value or specs[name].binning is not None or specs[name].domain is not None
        for name, recipe in coarsening.hierarchies.items()
        if coarsening.level(name)
    )


def shown_alone(
    coarsening: Coarsening,
    columns: Sequence[ColumnSpec],
    table: Table,
    hidden: CellMasks | None = None,
    starred: Collection[str] = (),
) -> dict[str, pd.Series]:
    """Return the quasi-identifiers that a view shows as labels, of some rows that stand alone.

    `hidden` says which of their cells show "*", in the order of the columns' names; None where the
    view suppresses nothing of the table. The columns `starred` show it somewhere in the table.

    Raises
    ------
    PolicyError
        If a hierarchy has fewer levels than the view names.
    DomainError
        If neighbours in an order are grouped, and a row has a value outside its domain.
    SfumatoError
        As `coded`.
    """
    specs = {spec.name: spec for spec in columns}
    names = sorted(coarsening.hierarchies)
    recipes = {
        name: recipe
        for name, recipe in coarsening.hierarchies.items()
        if coarsening.level(name) or name in starred
    }
    for name, recipe in recipes.items():
        domain = specs[name].domain if coarsening.level(name) else None
        if not recipe.by_value and specs[name].binning is None and domain is not None:
            domain.encode(table.column(name).dropna(), name)
    quasi = coded(columns, recipes, table)
    check_heights(coarsening, quasi)
    kept = {q.name: np.ones(table.rows, dtype=np.bool_) for q in quasi}
    if hidden is not None:
        kept = {q.name: ~hides(hidden, names.index(q.name)) for q in quasi}
    index = table.frame.index
    return {
        q.name: generalized_column(q, coarsening.level(q.name), kept[q.name], index) for q in quasi
    }


def check_heights(coarsening: Coarsening, quasi: Sequence[QuasiIdentifier]) -> None:
    """Refuse a view that names a level above a hierarchy's highest with a `PolicyError`."""
    for each in quasi:
        if coarsening.level(each.name) > each.height:
            raise PolicyError(
                "{recipient} is to see {column} at level {level}, and its hierarchy ends at level"
                " {highest}.",
                "Choose a lower level, or give the hierarchy more levels.",
                recipient=coarsening.own.recipient,
                column=each.name,
                level=coarsening.level(each.name),
                highest=each.height,
            )


def as_labels(spec: ColumnSpec) -> ColumnSpec:
    """Return the specification of a column whose values are labels of its hierarchy."""
    return ColumnSpec(spec.name, spec.role, Kind.CATEGORICAL)


def check_view(found: Coarsened) -> None:
    """Refuse a view that does not keep what was stated for its recipient.

    Raises
    ------
    DiversityError
        Saying what the table comes to.
    """
    own, view = found.coarsening.own, found.view
    rows = view.rows
    check_k(own.recipient, own.k, rows, found.units, found.coarsening.unit or ())
    if own.cells:
        _check_cells_of(found)
        return
    allowed = Demand(own.k, found.coarsening.suppression).allowed(rows)
    if view.suppressed_rows > allowed:
        raise DiversityError(
            "At {recipient}'s levels {suppressed:,} of {rows:,} {rows:record|records}"
            " {suppressed:has|have} to be suppressed for k = {k}, and at most {allowed:,} may be.",
            "Find the levels again, raise some of them, or let more records be suppressed.",
            recipient=own.recipient,
            suppressed=view.suppressed_rows,
            rows=rows,
            k=own.k,
            allowed=allowed,
        )


def _check_cells_of(found: Coarsened) -> None:
    own, view = found.coarsening.own, found.view
    columns = len(found.coarsening.hierarchies)
    allowed = Demand(own.k, found.coarsening.suppression).allowed_cells(view.rows, columns)
    if view.suppressed_cells > allowed:
        raise DiversityError(
            "At {recipient}'s levels {suppressed:,} of {cells:,} {cells:cell|cells}"
            " {suppressed:has|have} to be suppressed for k = {k}, and at most {allowed:,} may be.",
            "Find the levels again, raise some of them, or let more cells be suppressed.",
            recipient=own.recipient,
            suppressed=view.suppressed_cells,
            cells=view.rows * columns,
            k=own.k,
            allowed=allowed,
        )


def check_k(recipient: str, k: int, rows: int, units: int, unit: Sequence[str]) -> None:
    """Refuse a k that is above the number of records, or of units where one is stated.

    Raises
    ------
    DiversityError
        Naming the recipient, and saying what to do.
    """
    if k <= units:
        return
    if not unit:
        raise DiversityError(
            "{recipient}'s k is {k}, and the table has {rows} {rows:record|records}.",
            "Choose a k from 1 to the number of records.",
            recipient=recipient,
            k=k,
            rows=rows,
        )
    raise DiversityError(
        "{recipient}'s k is {k}, and the {rows:,}"
        " {rows:record that leaves belongs|records that leave belong} to {units:,}"
        " {units:unit|units}: k counts records with the same {unit} once.",
        "Choose a k from 1 to {units:,}, or state another unit of protection.",
        recipient=recipient,
        k=k,
        rows=rows,
        units=units,
        unit=" + ".join(unit),
    )


def promise_of(coarsening: Coarsening) -> str:
    """Say what a release with a view promises; a release that would not keep it is refused."""
    own = coarsening.own
    names = listed(tuple(coarsening.hierarchies))
    if own.k == 1:
        return Sentence("{names} are shown at the levels chosen; no k is asked.", names=names)
    others = own.k - 1
    said = Sentence(
        "Every record shares what is shown of {names} with at least {others}.",
        names=names,
        others=Sentence("{count:,} {count:other|others}", count=others)
        if others > 1
        else Sentence("one other"),
    )
    if coarsening.unit:
        units = Sentence("{count:,} other {count:unit|units}", count=others)
        said = Sentence(
            "Every record shares what is shown of {names} with records of at least {others}."
            " Records with the same {unit} are one unit; what is shown of several of them"
            " together may fit fewer.",
            names=names,
            others=units if others > 1 else Sentence("one other unit"),
            unit=" + ".join(coarsening.unit),
        )
    if not coarsening.suppression:
        return said
    if own.cells:
        share = Sentence(
            "Beyond their levels, at most {share:.1%} of their cells show *, which is a value of"
            " its own.",
            share=coarsening.suppression,
        )
        return joined(said, share)
    return joined(
        said,
        Sentence(
            "At most {share:.1%} of the records show * for all of them.",
            share=coarsening.suppression,
        ),
    )


def told_of(found: Coarsened) -> dict[str, Any]:
    """Return what the ledger keeps of what a view came to; its policy is kept beside it."""
    view, counted = found.view, bool(found.coarsening.unit)
    return {
        "suppressed": view.suppressed_rows,
        **({"suppressed_cells": view.suppressed_cells} if view.cells_apart else {}),
        "smallest": view.smallest,
        "unique": view.unique,
        "classes": view.classes,
        "records": view.rows,
        **({"units": found.units, "unique_records": view.unique_rows} if counted else {}),
    }


def listed_rows(frame: pd.DataFrame, hidden: CellMasks, keys: KeyRing) -> set[str]:
    """Return what a plan lists of rows with hidden cells: their hashes, in hexadecimal.

    Where not all of a row's cells are hidden, these follow as a number. The frame's columns are
    sorted by name, and `hidden` has its cells in this order.
    """
    found = keyed_rows(
        Table(frame, is_part=True), list(map(str, frame)), keys.for_suppressed_rows()
    )
    rows = zip(found.tolist(), hidden.tolist(), strict=True)
    return {each.hex() if mask == WHOLE else f"{each.hex()}:{mask:x}" for each, mask in rows}


def columns_listed(names: Iterable[str], suppressed: Iterable[str]) -> set[str]:
    """Return the quasi-identifiers of which `listed_rows` hides any cell."""
    total = 0
    for each in suppressed:
        _, cells, mask = each.partition(":")
        total |= int(mask, 16) if cells else int(WHOLE)
    found = np.array([total], dtype=np.uint64)
    return {name for axis, name in enumerate(sorted(names)) if hides(found, axis)[0]}


def hidden_in(
    table: Table, names: Iterable[str], suppressed: Iterable[str], keys: KeyRing
) -> CellMasks:
    """Return which cells of each row's quasi-identifiers are suppressed, shape (n,).

    They are in the order of their names.

    Parameters
    ----------
    table
        Some rows.
    names
        The quasi-identifiers of the view.
    suppressed
        What a plan lists of the rows, see `listed_rows`.
    keys
        The keys by which it was made.
    """
    listed = {}
    for each in suppressed:
        row, cells, mask = each.partition(":")
        listed[bytes.fromhex(row)] = int(mask, 16) if cells else int(WHOLE)
    first = np.frombuffer(b"".join(listed), dtype=np.uint64)[::2]
    # A plan that was kept as text need not have its columns in their order any more.
    found = keyed_rows(table, sorted(names), keys.for_suppressed_rows())
    among = np.isin(found.view(np.uint64)[::2], first)
    hidden = np.zeros(table.rows, dtype=np.uint64)
    # Whole hashes are compared as bytes: as numpy's or pandas' texts they lose zeros at their end.
    hidden[among] = [listed.get(each, 0) for each in found[among].tolist()]
    return hidden


def keyed_rows(table: Table, names: Sequence[str], key: AttributeKey) -> npt.NDArray[np.void]:
    """Return a hash of each row's values in some columns, shape (n,), 16 bytes each."""
    coded = [factorize(table.column(name)) for name in names]
    numbers, _ = mixed_radix(
        [positions.astype(np.intp) + 1 for positions, _ in coded],
        [len(uniques) + 1 for _, uniques in coded],
    )
    # Rows that are alike are hashed once.
    places, _ = pd.factorize(numbers)
    firsts = np.flatnonzero(np.diff(np.maximum.accumulate(places), prepend=-1))
    parts = [canonical_texts(_texts(positions[firsts], uniques)) for positions, uniques in coded]
    found: npt.NDArray[np.void] = keyed_hash(parts, key, Silent())[places].view("V16").ravel()
    return found


def _texts(positions: npt.NDArray[np.integer], uniques: pd.Index) -> pd.Series:
    """Return values' canonical texts, what is missing among them."""
    # What is missing comes last, at position -1, and is no text that a value could have.
    texts = [*map(_text, uniques.tolist()), "missing"]
    return pd.Series(pd.array(texts, dtype="str").take(positions))


def _text(value: object) -> str:
    # Letters that Unicode writes in two ways are two values, unlike those of record keys.
    if isinstance(value, str) and not value.isascii():
        return f"~{value!a}"
    return f"={canonical_text(value)}"
