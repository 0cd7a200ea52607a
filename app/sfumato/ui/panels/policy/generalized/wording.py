"""Sentences about a generalized table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QT_TRANSLATE_NOOP, QCoreApplication

from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.search import SearchResult
from sfumato.project.document.generalization import CRITERION_KINDS
from sfumato.ui.look.wording import grouped, number

SHOWN_LABELS = 3
"""So many groups of a level are named."""


def tr(template: str, **details: object) -> str:
    """Return a sentence about generalized tables in the person's language, filled in."""
    return QCoreApplication.translate("Generalized", template).format(**details)


@dataclass(frozen=True)
class NumberRange:
    """What a parameter of a criterion can be.

    Parameters
    ----------
    low, high
        Both ends allowed.
    decimals
        How many can be given.
    """

    low: float
    high: float
    decimals: int


def range_of(kind: str, parameter: str, rows: int, values: int) -> NumberRange:
    """Return what a criterion's parameter can be in a table of so many rows and values."""
    if parameter in CRITERION_KINDS[kind].whole:
        high = rows if parameter == "k" else values
        return NumberRange(1, max(high, 1), 0)
    if parameter == "t":
        return NumberRange(0.0, 1.0, 3)
    if parameter == "c":
        return NumberRange(0.01, 1000.0, 2)
    return NumberRange(1.0, max(float(values), 1.0), 2)


GLOSSES = {
    "k-anonymity": QT_TRANSLATE_NOOP("Generalized", "people that look alike, in every class"),
    "distinct-diversity": QT_TRANSLATE_NOOP(
        "Generalized", "different sensitive values that remain possible"
    ),
    "entropy-diversity": QT_TRANSLATE_NOOP(
        "Generalized", "equally frequent values that a class is as mixed as"
    ),
    "recursive-diversity": QT_TRANSLATE_NOOP(
        "Generalized", "the most frequent value stays below c times the rarer ones"
    ),
    "closeness": QT_TRANSLATE_NOOP("Generalized", "distance of a class from the whole table"),
    "ordered-closeness": QT_TRANSLATE_NOOP(
        "Generalized", "distance where neighbouring values are alike"
    ),
}
"""What each criterion's numbers count, in a few words."""


def result_sentence(result: SearchResult) -> str:
    """Return what a search found."""
    size = result.lattice.size
    average = result.minimum_average_level
    if average is None:
        return tr("None of the {size} combinations of levels is safe", size=grouped(size))
    if result.safe_count == 1:
        return tr(
            "1 of {size} combinations of levels is safe; its average level is {average}",
            size=grouped(size),
            average=number(average),
        )
    return tr(
        "{safe} of {size} combinations of levels are safe; the best keeps an average level of"
        " {average}",
        safe=grouped(result.safe_count),
        size=grouped(size),
        average=number(average),
    )


def minimal_sentence(result: SearchResult) -> str:
    """Return how many of the safe combinations can't be made more detailed."""
    count = len(result.minimal)
    if count == 1:
        return tr("One safe combination can't be made more detailed anywhere and stay safe.")
    return tr(
        "{count} of the safe combinations can't be made more detailed anywhere and stay safe.",
        count=grouped(count),
    )


def node_text(names: Sequence[str], node: Node) -> str:
    """Return a node's levels, e.g. "age 2, sex 0"."""
    return ", ".join(f"{name} {level}" for name, level in zip(names, node, strict=True))


def labels_text(labels: Sequence[str]) -> str:
    """Return some of the groups of a level."""
    shown = [label if len(label) <= 24 else label[:23] + "…" for label in labels[:SHOWN_LABELS]]
    return ", ".join(shown) + (", …" if len(labels) > SHOWN_LABELS else "")
