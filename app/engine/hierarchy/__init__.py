"""Generalization hierarchies: how a column's values become coarser, level by level.

A *recipe* (`Recipe`: intervals, orders, masking, dates, a taxonomy, four levels, suppression)
is what the custodian decides and what is kept. A *hierarchy* (`Hierarchy`) is what a recipe
makes of the values that a column holds: a label for every value at every level.
"""

from app.engine.hierarchy.dates import Dates, DateUnit
from app.engine.hierarchy.ground import ground_series, ground_values, value_text
from app.engine.hierarchy.intervals import Intervals, IntervalStyle
from app.engine.hierarchy.masking import Masking, Side
from app.engine.hierarchy.mending import mended
from app.engine.hierarchy.orders import FourLevels, Orders
from app.engine.hierarchy.problem_texts import mended_throughout, refuse_problems, sentence
from app.engine.hierarchy.problems import Mend, Problem, ProblemKind, Rows, find_problems
from app.engine.hierarchy.proposal import HierarchyProposal, propose_hierarchy
from app.engine.hierarchy.recipe import TOP, Recipe, Rename
from app.engine.hierarchy.recipes import RECIPES, hierarchy_of, recipe_from_dict
from app.engine.hierarchy.taxonomy import Suppression, Taxonomy
from app.engine.hierarchy.tree import Hierarchy, Split, find_splits

__all__ = [
    "RECIPES",
    "TOP",
    "DateUnit",
    "Dates",
    "FourLevels",
    "Hierarchy",
    "HierarchyProposal",
    "IntervalStyle",
    "Intervals",
    "Masking",
    "Mend",
    "Orders",
    "Problem",
    "ProblemKind",
    "Recipe",
    "Rename",
    "Rows",
    "Side",
    "Split",
    "Suppression",
    "Taxonomy",
    "find_problems",
    "find_splits",
    "ground_series",
    "ground_values",
    "hierarchy_of",
    "mended",
    "mended_throughout",
    "propose_hierarchy",
    "recipe_from_dict",
    "refuse_problems",
    "sentence",
    "value_text",
]
