"""Hierarchies that are no trees, leave values out, or stand in files that are no tables."""

from __future__ import annotations

from collections.abc import Callable

from sfumato.engine.core.columns import find_column
from sfumato.engine.core.errors import HierarchyError, SfumatoError
from sfumato.engine.generalization.hierarchies import (
    Dates,
    Hierarchy,
    Intervals,
    Recipe,
    Taxonomy,
    find_problems,
    ground_values,
    hierarchy_of,
    refuse_problems,
)
from sfumato.formats.errors import CannotOpen, DamagedFile, EmptyFile
from sfumato.formats.hierarchies import read_hierarchy
from tests.bad_inputs.workshop import DIAGNOSES, Act, BadInput, Workshop


def of(recipe: Callable[[], Recipe], column: str = "diagnosis") -> Callable[[Workshop], Act]:
    """A stage on which a recipe is applied to a column of the workshop's table."""

    def stage(workshop: Workshop) -> Act:
        spec = find_column(workshop.document().columns, column)
        series = workshop.table().column(column)
        return lambda: hierarchy_of(recipe(), spec, series)

    return stage


def table(*rows: str) -> Callable[[Workshop], Act]:
    """A stage on which a table is taken for the diagnoses' hierarchy."""

    def stage(workshop: Workshop) -> Act:
        path = workshop.write("diagnoses.csv", "\n".join(rows))
        spec = find_column(workshop.document().columns, "diagnosis")
        values = ground_values(spec, workshop.table().column("diagnosis"))
        return lambda: refuse_problems(find_problems(read_hierarchy(path).rows, values))

    return stage


def file(name: str, content: bytes | None) -> Callable[[Workshop], Act]:
    """A stage on which a file is read as a hierarchy."""

    def stage(workshop: Workshop) -> Act:
        path = workshop.folder / name
        if content is not None:
            workshop.write(name, content)
        return lambda: read_hierarchy(path)

    return stage


def case(
    what: str,
    says: str,
    stage: Callable[[Workshop], Act],
    error: type[SfumatoError] = HierarchyError,
) -> BadInput:
    return BadInput(what, error, says, stage)


LISTED = [f"{name};ill;*" for name in DIAGNOSES]

CASES = (
    case(
        "a hierarchy that is not a tree",
        "not a tree.* level 1",
        lambda _: (
            lambda: Hierarchy("diagnosis", DIAGNOSES[:2], (DIAGNOSES[:2], ("x", "x"), ("y", "z")))
        ),
    ),
    case(
        "a hierarchy's table that leaves values out",
        "does not list 4 of its 5 values",
        of(lambda: Taxonomy(((DIAGNOSES[0], "*"),))),
    ),
    case("intervals of texts", "5 values are no finite", of(Intervals)),
    case("spans of the calendar for numbers", "not dates", of(Dates, "age")),
    case("a table with a value missing", "no row lists", table(*LISTED[1:])),
    case("a table with a value twice", "Row 6 repeats row 1", table(*LISTED, LISTED[0])),
    case(
        "a table with a value under two labels",
        "Row 6 gives the value of row 2",
        table(*LISTED, f"{DIAGNOSES[1]};well;*"),
    ),
    case("a table with a short row", "Row 5 has 2 cells", table(*LISTED[:4], "Measles;ill")),
    case("a table with an empty label", "Row 5 has no label", table(*LISTED[:4], "Measles;;*")),
    case(
        "a table with a torn class",
        "Row 5: a class of level 1",
        table(*LISTED[:4], "Measles;ill;other"),
    ),
    case("a hierarchy in an empty file", "empty", file("h.csv", b""), EmptyFile),
    case("a hierarchy in a picture", "not a text", file("h.csv", b"\x89PNG\0\0\0\1"), DamagedFile),
    case("a hierarchy in a file that is gone", "no file", file("gone.csv", None), CannotOpen),
)
