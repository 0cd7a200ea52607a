"""What the hierarchy editor works on: a column's values, a draft, and what comes of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError, SfumatoError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies import (
    Hierarchy,
    Problem,
    Recipe,
    Rename,
    Rows,
    Suppression,
    Taxonomy,
    find_problems,
    ground_series,
    ground_values,
    refuse_problems,
)
from sfumato.formats.hierarchies import rows_of

Draft = Recipe | Rows
"""A recipe, or a table that may still have to be mended."""


@dataclass(frozen=True)
class Ground:
    """A column as the editor sees it: each value once, and how many records have it.

    Parameters
    ----------
    spec
        The column's specification.
    values
        Its ground values.
    records
        How many records have each, shape (m,).
    """

    spec: ColumnSpec
    values: tuple[Value, ...] = field(repr=False)
    records: npt.NDArray[np.int64] = field(repr=False)

    @property
    def name(self) -> str:
        """The column's name."""
        return self.spec.name


@dataclass(frozen=True)
class Outcome:
    """What comes of a draft.

    Parameters
    ----------
    hierarchy
        The hierarchy; None where the draft gives none.
    records
        For each level, how many records each class has.
    recipe
        What would be kept; None where the draft gives no hierarchy.
    rows
        The draft as a table.
    problems
        What is wrong with a table.
    error
        Why there is no hierarchy.
    """

    hierarchy: Hierarchy | None = None
    records: tuple[npt.NDArray[np.int64], ...] = field(default=(), repr=False)
    recipe: Recipe | None = None
    rows: Rows = field(default=(), repr=False)
    problems: tuple[Problem, ...] = ()
    error: SfumatoError | None = None


def ground_of(spec: ColumnSpec, series: pd.Series) -> Ground:
    """Return a column's values with the records that have them.

    Raises
    ------
    SfumatoError
        If the column mixes types, or its bins don't fit it.
    """
    values = ground_values(spec, series)
    codes = Suppression().build(spec.name, values).encode(ground_series(spec, series))
    return Ground(spec, values, np.bincount(codes, minlength=len(values)))


def outcome_of(ground: Ground, draft: Draft) -> Outcome:
    """Return what comes of a draft; what is wrong with it is part of that."""
    if isinstance(draft, Recipe):
        return _built(ground, draft)
    problems = find_problems(draft, ground.values, ground.name)
    try:
        refuse_problems(problems)
        outcome = _built(ground, Taxonomy(draft))
    except HierarchyError as error:
        return Outcome(rows=draft, problems=problems, error=error)
    return replace(outcome, problems=problems)


def _built(ground: Ground, recipe: Recipe) -> Outcome:
    table = recipe.rows if isinstance(recipe, Taxonomy) else ()
    try:
        hierarchy = recipe.build(ground.name, ground.values)
    except SfumatoError as error:
        problems = find_problems(table, ground.values, ground.name) if table else ()
        return Outcome(rows=table, problems=problems, error=error)
    records = tuple(
        np.bincount(
            hierarchy.codes(level), weights=ground.records, minlength=hierarchy.classes(level)
        ).astype(np.int64)
        for level in range(hierarchy.height)
    )
    return Outcome(hierarchy, records, recipe, rows_of(recipe, hierarchy))


def as_draft(recipe: Recipe) -> Draft:
    """Return what is edited of a recipe: its table, where it is one, with the new names."""
    return rows_of(recipe, None) if isinstance(recipe, Taxonomy) else recipe


def renamed(draft: Draft, level: int, shown: str, name: str) -> Draft:
    """Return a draft in which the class `shown` of a level has another name."""
    if not isinstance(draft, Recipe):
        return tuple(
            (*row[:level], name, *row[level + 1 :])
            if len(row) > level and row[level] == shown
            else row
            for row in draft
        )
    made = {r.made for r in draft.renames if r.level == level and r.shown == shown} or {shown}
    others = [r for r in draft.renames if r.level != level or r.made not in made]
    new = [Rename(level, old, name) for old in sorted(made) if name not in ("", old)]
    return replace(draft, renames=(*others, *new))


def relabelled(draft: Rows, row: int, level: int, text: str) -> Rows:
    """Return a table in which one cell is another."""
    changed = (*draft[row][:level], text, *draft[row][level + 1 :])
    return (*draft[:row], changed, *draft[row + 1 :])


def examples(names: Sequence[str], most: int = 3) -> str:
    """Return the first few names of a level's classes, for a line of text."""
    shown = names[: most + 1]
    return ", ".join(shown[:most]) + (", …" if len(shown) > most else "")
