"""Generalized tables that can't be published, and other holders' tables that can't be used."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sfumato.engine.core.errors import DiversityError, HierarchyError, LadderError, SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Recipe, Suppression, Taxonomy
from sfumato.formats.errors import EmptyFile
from sfumato.formats.reading import detect_options
from sfumato.project.document.generalization import CriterionChoice, Generalization, OtherTableFile
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.publication.publish import publish_table
from tests.bad_inputs.workshop import DIAGNOSES, Act, BadInput, Workshop
from tests.in_batches import in_batches

HALVES = Taxonomy(tuple((str(20 + row), "20-39" if row < 20 else "40-59") for row in range(40)))
"""A hierarchy whose highest level still tells two classes apart."""
OTHER = "region,diagnosis\n" + "".join(f"north,{name}\n" for name in DIAGNOSES)


def distinct(least: int) -> CriterionChoice:
    return CriterionChoice("distinct-diversity", {"l": least})


def other(
    content: str | None = OTHER, then: str | None = None, **changes: Any
) -> Callable[[Workshop], tuple[OtherTableFile, ...]]:
    """Another holder's table; `then` is what the file holds later."""

    def made(workshop: Workshop) -> tuple[OtherTableFile, ...]:
        path = workshop.write("registry.csv", content or OTHER)
        file = OtherTableFile(
            "Registry",
            str(path),
            hashlib.sha256(path.read_bytes()).hexdigest(),
            detect_options(path).to_dict(),
            ("region",),
            "diagnosis",
        )
        if content is None:
            path.unlink()
        elif then is not None:
            path.write_text(then)
        return (replace(file, **changes),)

    return made


def publishing(
    recipe: Recipe | None = Suppression(),  # noqa: B008 - an immutable value
    others: Callable[[Workshop], tuple[OtherTableFile, ...]] = lambda _: (),
    **decided: Any,
) -> Callable[[Workshop], Act]:
    """A stage on which the workshop's table is published, with age generalized."""

    def stage(workshop: Workshop) -> Act:
        start = Generalization("diagnosis", ("age",), (distinct(2),))
        changes: dict[str, Any] = {
            "hierarchies": {} if recipe is None else {"age": recipe},
            "generalization": replace(start, others=others(workshop), **decided),
        }
        workshop.change_document(**changes)
        table = workshop.table()

        def act() -> object:
            with workshop.open() as project:
                return publish_table(project, in_batches(table), workshop.out, "csv", Silent())

        return act

    return stage


def nothing_decided(workshop: Workshop) -> Act:
    table = workshop.table()

    def act() -> object:
        with workshop.open() as project:
            return publish_table(project, in_batches(table), workshop.out, "csv", Silent())

    return act


def case(
    what: str,
    says: str,
    stage: Callable[[Workshop], Act],
    error: type[SfumatoError] = DiversityError,
) -> BadInput:
    return BadInput(what, error, says, stage)


CASES = (
    case("publishing before anything is decided", "Nothing is decided", nothing_decided),
    case(
        "another holder's table without the sensitive attribute",
        "Registry has no column diagnosis",
        publishing(others=other("region,income\nnorth,12\nsouth,13\n")),
    ),
    case(
        "another holder's table without a public column",
        "Registry has no column region",
        publishing(others=other("area,diagnosis\nnorth,Measles\n")),
    ),
    case(
        "another holder's table with another domain",
        "Registry shows 1 value, first in row 6",
        publishing(others=other(OTHER + "north,Quicksilver\n")),
    ),
    case(
        "another holder's table with a missing sensitive value",
        "Registry shows 1 value, first in row 2",
        publishing(others=other("region,diagnosis\nnorth,Measles\nnorth,\n")),
    ),
    case(
        "another holder's table without rows",
        "no rows",
        publishing(others=other("region,diagnosis\n")),
        EmptyFile,
    ),
    case(
        "another holder's table that is gone",
        "Registry is not at",
        publishing(others=other(None)),
        SourceMissing,
    ),
    case(
        "another holder's table that changed",
        "Registry changed",
        publishing(others=other(then=OTHER + "south,Asthma\n")),
        SourceChanged,
    ),
    case(
        "another holder's table that leaves too little",
        "narrow somebody's value to 1 value",
        publishing(others=other("region,diagnosis\nnorth,Measles\nnorth,Measles\n")),
    ),
    case(
        "an l above the number of values",
        "l is 6, and 5 different",
        publishing(criteria=(distinct(6),)),
    ),
    case(
        "a k above the number of records",
        "k is 41, and the table has 40",
        publishing(criteria=(CriterionChoice("k-anonymity", {"k": 41}),)),
    ),
    case("no criterion at all", "No criterion", publishing(criteria=())),
    case(
        "criteria that no generalization satisfies",
        "No generalization satisfies",
        publishing(HALVES, criteria=(CriterionChoice("k-anonymity", {"k": 21}),)),
    ),
    case(
        "levels that are not safe",
        "don't satisfy the criteria",
        publishing(node=(0,)),
    ),
    case(
        "levels that a hierarchy does not have",
        "none of the lattice's",
        publishing(node=(7,)),
    ),
    case("a quasi-identifier without a hierarchy", "age has no hierarchy", publishing(recipe=None)),
    case(
        "a hierarchy that does not cover the values of a published column",
        "does not list 39 of its 40 values",
        publishing(Taxonomy((("20", "*"),))),
        HierarchyError,
    ),
    case(
        "a generalized table beside perturbed releases",
        "perturbed for Office",
        publishing(),
        LadderError,
    ),
)
