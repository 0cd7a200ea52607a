"""A hierarchy over further values, where these change nothing for the values that it has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.hierarchies.leaves import in_order
from sfumato.engine.generalization.hierarchies.recipe import Recipe
from sfumato.engine.generalization.hierarchies.tree import Hierarchy

_MOST_TRIED: Final = 500
"""Values that are tried one by one, where they don't fit together."""


def widened(recipe: Recipe, hierarchy: Hierarchy, further: Sequence[Value]) -> Hierarchy:
    """Return a column's hierarchy over further values as well.

    Parameters
    ----------
    recipe
        How the hierarchy was made.
    hierarchy
        What it made of the column's values.
    further
        Values of the same column elsewhere, of the same type.

    Returns
    -------
    Hierarchy
        Over the values that it had and those of `further` that the recipe has a place for. All
        that it had keep their labels at every level; where further values would change them, as
        in an order whose groups are counted off, it is `hierarchy` itself.
    """
    known = set(hierarchy.values)
    new = [value for value in dict.fromkeys(further) if value not in known]
    if not new:
        return hierarchy
    whole = _with(recipe, hierarchy, new)
    if whole is not None:
        return whole
    fitting = [v for v in new[:_MOST_TRIED] if _with(recipe, hierarchy, [v]) is not None]
    return (_with(recipe, hierarchy, fitting) if fitting else None) or hierarchy


def _with(recipe: Recipe, hierarchy: Hierarchy, new: Sequence[Value]) -> Hierarchy | None:
    """Return the hierarchy with more values; None where that is not possible."""
    try:
        made = recipe.build(hierarchy.column, in_order((*hierarchy.values, *new)))
    except (SfumatoError, TypeError):
        return None
    if made.height != hierarchy.height:
        return None
    places = {value: place for place, value in enumerate(made.values)}
    order = [places[value] for value in hierarchy.values]
    same = all(
        tuple(labels[place] for place in order) == before
        for labels, before in zip(made.labels, hierarchy.labels, strict=True)
    )
    return made if same else None
