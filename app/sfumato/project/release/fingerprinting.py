"""A level of its own for every recipient, a hair below the one chosen.

Two recipients at the same level get the same values, so a leaked file names them both. With a
spacing s, the recipient with mark k is released to at a level lower by the share k·s: still one
ladder, so that pooling tells no more, and every file has values of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, combinations
from typing import Final

from sfumato.engine.core.errors import LevelError
from sfumato.project.document.model import Document, Recipient

WIDEST_SPACING: Final = 0.05
"""A wider spacing is no hair any more."""
USUAL_SPACING: Final = 0.01
LOWEST_SHARE: Final = 0.5
"""No mark may take more than half of a level."""
_MOST_COMBINED: Final = 4
"""Up to so many perturbed columns, each may be true or not in a row that comes from no release."""


def with_spacing(document: Document, spacing: float) -> Document:
    """Return the document with levels that lie apart by a share of themselves.

    Parameters
    ----------
    document
        The recipients; those without a mark of their own get one and keep it.
    spacing
        The share of the level between two marks, 0 (all get the level chosen) to
        `WIDEST_SPACING`.

    Raises
    ------
    LevelError
        If the spacing is out of range, or too wide for so many recipients.
    """
    if not 0.0 <= spacing <= WIDEST_SPACING:
        raise LevelError(
            "The spacing between recipients' levels is out of range.",
            "Give a share from 0 to {widest:g}.",
            widest=WIDEST_SPACING,
        )
    marked = replace(document, level_spacing=spacing)
    if spacing == 0.0:
        return marked
    marked = with_marks(marked)
    most = max((recipient.mark for recipient in marked.recipients), default=0)
    if spacing * most > LOWEST_SHARE:
        raise LevelError(
            "With a spacing of {spacing:g}, the last of {count} recipients would lose more than"
            " half of the level chosen.",
            "Choose a spacing of at most {most:.2g}.",
            spacing=spacing,
            count=len(marked.recipients),
            most=LOWEST_SHARE / most,
        )
    return marked


def with_marks(document: Document) -> Document:
    """Return the document with a mark of its own for each recipient; given ones are kept."""
    taken: set[int] = set()
    recipients: list[Recipient] = []
    for recipient in document.recipients:
        mark = recipient.mark
        if mark in taken:
            mark = 1 + max(*taken, *(r.mark for r in document.recipients))
        taken.add(mark)
        recipients.append(recipient if mark == recipient.mark else replace(recipient, mark=mark))
    return replace(document, recipients=tuple(recipients))


def true_together(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return which perturbed columns may be true in a row that comes from no release.

    From none of them to all.
    """
    if len(names) > _MOST_COMBINED:
        return [(), tuple(names)]
    return list(chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))
