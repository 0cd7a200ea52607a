"""What two editions of a generalized table tell together, at the same levels.

Somebody holds both, and knows of everybody in a class whether they came, left or stayed between
the editions. Let a value be shown c times before and c' times after.

*Who left.* At least c - c' people with the value did, wherever that is above 0, and as many came as
make up for all that left beyond these. So of who left, each value that became rarer is possible;
where none did, everything that the class showed before is.
*Who came.* Likewise each value that became more frequent, or everything that it shows after.
*Who stayed.* Each value that is shown both times: one who has it can be the one who stays.

Each of these is reached by some way in which people can come and go, however many did (the numbers
of each value are bounded independently, and only their sum is known), so that no more can be ruled
out. This is what m-invariance (Xiao and Tao, SIGMOD 2007) keeps by counterfeits: that the values
possible for a person stay as many from edition to edition.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from sfumato.engine.core.values import Integers
from sfumato.engine.generalization.others import HolderClasses


@dataclass(frozen=True)
class TwoEditions:
    """What two editions leave of everybody's value.

    Parameters
    ----------
    came, left, stayed
        The fewest values that remain possible in any class, None where nobody can be told to have.
    classes
        How many classes either shows.
    changed
        How many of them show other values or numbers than before.
    remaining
        The fewest values that remain possible in each class for who came, left or stayed, 0 for
        those of whom nobody can be told to have, shape (classes, 3).
    """

    came: int | None
    left: int | None
    stayed: int | None
    classes: int
    changed: int
    remaining: Integers = field(repr=False, compare=False)

    def fewer_than(self, least: int) -> int:
        """Return in how many classes somebody is left fewer values than so many."""
        return int(((self.remaining > 0) & (self.remaining < least)).any(axis=1).sum())

    @property
    def weakest(self) -> int:
        """The fewest values of all."""
        return min(each for each in (self.came, self.left, self.stayed) if each is not None)


def two_editions(before: HolderClasses, after: HolderClasses) -> TwoEditions:
    """Compare the classes of two editions.

    Parameters
    ----------
    before, after
        By the same columns and levels, in any order.
    """
    labels = list(dict.fromkeys((*before.labels, *after.labels)))
    numbers = {label: number for number, label in enumerate(labels)}
    size = before.counts.shape[1]
    first, second = (np.zeros((len(labels), size), dtype=np.int64) for _ in "12")
    np.add.at(first, [numbers[label] for label in before.labels], before.counts)
    np.add.at(second, [numbers[label] for label in after.labels], after.counts)
    changed = (first != second).any(axis=1)
    possible = second > first, second < first, (first > 0) & (second > 0)
    remaining = np.stack([each.sum(axis=1) for each in possible], axis=1)
    came, left, stayed = (_fewest(each) for each in remaining.T)
    shown = {"classes": len(labels), "changed": int(changed.sum())}
    return TwoEditions(came, left, stayed, **shown, remaining=remaining)


def _fewest(numbers: Integers) -> int | None:
    """Return the fewest values of a class that has any."""
    return int(numbers[numbers > 0].min()) if numbers.any() else None
