"""Generalization hierarchies: how a column's values become coarser, level by level.

A *recipe* (`Recipe`: intervals, orders, masking, dates, a taxonomy, four levels, suppression)
is what the custodian decides and what is kept. A *hierarchy* (`Hierarchy`) is what a recipe
makes of the values that a column holds: a label for every value at every level.
"""

from sfumato.engine.generalization.hierarchies.dates import Dates, DateUnit
from sfumato.engine.generalization.hierarchies.problems import (
    HierarchyProblem,
    Mend,
    ProblemKind,
    Rows,
    find_problems,
    mended,
    mended_throughout,
    refuse_problems,
    sentence,
)
from sfumato.engine.generalization.hierarchies.proposal import HierarchyProposal, propose_hierarchy
from sfumato.engine.generalization.hierarchies.recipe import TOP, Recipe, Rename
from sfumato.engine.generalization.hierarchies.recipes import (
    RECIPES,
    FourLevels,
    Intervals,
    IntervalStyle,
    Masking,
    Orders,
    Side,
    Suppression,
    Taxonomy,
    hierarchy_of,
    recipe_from_dict,
)
from sfumato.engine.generalization.hierarchies.tree import (
    Hierarchy,
    Split,
    find_splits,
    ground_series,
    ground_values,
    value_text,
)
