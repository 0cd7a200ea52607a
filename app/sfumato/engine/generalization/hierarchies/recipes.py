"""Every kind of recipe, and how one is found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies.dates import Dates
from sfumato.engine.generalization.hierarchies.intervals import Intervals
from sfumato.engine.generalization.hierarchies.leaves import ground_values
from sfumato.engine.generalization.hierarchies.masking import Masking
from sfumato.engine.generalization.hierarchies.orders import FourLevels, Orders
from sfumato.engine.generalization.hierarchies.recipe import Recipe, read_renames
from sfumato.engine.generalization.hierarchies.settings import Settings
from sfumato.engine.generalization.hierarchies.taxonomy import Suppression, Taxonomy
from sfumato.engine.generalization.hierarchies.tree import Hierarchy

RECIPES: Final[Mapping[str, type[Recipe]]] = MappingProxyType(
    {
        recipe.kind: recipe
        for recipe in (Intervals, Orders, Masking, Dates, Taxonomy, FourLevels, Suppression)
    }
)
"""Every kind of recipe by its name in files, in the order in which they are offered."""


def recipe_from_dict(values: Mapping[str, Any]) -> Recipe:
    """Return the recipe that `Recipe.to_dict` wrote.

    Raises
    ------
    HierarchyError
        If the kind or a setting is unknown or out of range.
    """
    given = Settings(values)
    kind = given.text("kind")
    if kind not in RECIPES:
        raise HierarchyError(
            "There is no hierarchy of the kind {kind}.",
            "Choose among {known}.",
            kind=kind or "(none)",
            known=", ".join(RECIPES),
        )
    renames = read_renames(given)
    recipe = RECIPES[kind].from_settings(given)
    given.finish()
    return replace(recipe, renames=renames) if renames else recipe


def hierarchy_of(recipe: Recipe, spec: ColumnSpec, series: pd.Series) -> Hierarchy:
    """Return the hierarchy that a recipe makes of a column of the table.

    Parameters
    ----------
    recipe
        How its levels are made.
    spec
        The column's specification; a column with bins is generalized from its bins.
    series
        The column, shape (n,).

    Raises
    ------
    HierarchyError
        If the recipe does not fit the column's values.
    DomainError
        If the column's bins don't fit it.
    """
    return recipe.build(spec.name, ground_values(spec, series))
