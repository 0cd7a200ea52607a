"""Random recipes and the values they are made for."""

from __future__ import annotations

import datetime as dt

from hypothesis import strategies as st

from sfumato.engine.generalization.hierarchies import (
    Dates,
    DateUnit,
    FourLevels,
    Intervals,
    IntervalStyle,
    Masking,
    Orders,
    Rename,
    Side,
    Suppression,
    Taxonomy,
)

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=8)
NUMBERS = st.integers(-5000, 5000) | st.floats(-1e6, 1e6, allow_nan=False).map(
    lambda x: round(x, 3)
)
DATES = st.dates(dt.date(1, 1, 1)).map(lambda day: day.isoformat())


def listed(values):
    return st.lists(values, min_size=1, max_size=40, unique=True)


@st.composite
def intervals(draw):
    edges = sorted(draw(st.lists(st.integers(-900, 900), max_size=6, unique=True)))
    return Intervals(
        draw(st.sampled_from([0.1, 0.25, 1.0, 5.0, 10.0, 333.3])),
        float(draw(st.integers(-20, 20))),
        draw(st.integers(1, 6)),
        draw(st.integers(2, 4)),
        tuple(float(edge) for edge in edges),
        draw(st.sampled_from(list(IntervalStyle))),
    )


ORDERS = st.builds(
    Orders,
    st.lists(st.integers(2, 5), min_size=1, max_size=4).map(tuple),
    st.lists(TEXTS, max_size=5, unique=True).map(tuple),
)
MASKINGS = st.builds(
    Masking,
    st.lists(st.integers(1, 3), min_size=1, max_size=4).map(tuple),
    st.sampled_from(list(Side)),
    st.booleans(),
    st.integers(0, 6),
)
DATE_RECIPES = st.sets(st.sampled_from(list(DateUnit)), min_size=1).map(
    lambda units: Dates(tuple(unit for unit in DateUnit if unit in units))
)
SIMPLE = st.just(Suppression()) | st.builds(
    FourLevels, st.lists(TEXTS, max_size=5, unique=True).map(tuple)
)


@st.composite
def cases(draw):
    """Return a recipe and ground values that it is for."""
    recipe, values = draw(
        st.one_of(
            st.tuples(intervals(), listed(NUMBERS)),
            st.tuples(ORDERS | MASKINGS | SIMPLE, listed(TEXTS)),
            st.tuples(ORDERS | MASKINGS | SIMPLE, listed(st.integers(0, 99999))),
            st.tuples(DATE_RECIPES, listed(DATES)),
        )
    )
    missing = [None] if draw(st.booleans()) else []
    return recipe, (*values, *missing)


@st.composite
def taxonomies(draw):
    """Return a table that is a tree."""
    names = draw(st.lists(TEXTS.filter(str.strip), min_size=1, max_size=20, unique=True))
    middle = [draw(st.sampled_from("abc")) for _ in names]
    upper = {"a": "x", "b": "x", "c": "y"}
    rows = tuple(
        (name, label, upper[label], "*") for name, label in zip(names, middle, strict=True)
    )
    renames = (Rename(1, "a", "first"),) if draw(st.booleans()) else ()
    return Taxonomy(rows, renames=renames)


RECIPES = st.one_of(cases().map(lambda case: case[0]), taxonomies())
