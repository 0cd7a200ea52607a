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

from collections.abc import Callable
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.generalization.coded import IntArray
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


# ----- counterfeits, by which a generalized table may be published again after people came and left
# m-invariance (Xiao and Tao, SIGMOD 2007) keeps what is possible for a person as large from edition
# to edition, by records that belong to nobody. In classes that stay the same, it comes to this:
#
# *Everybody enters once.* Who comes to a class waits there until enough people do, by a number that
# follows from what was published before. Then all who wait enter together, as one group. From then
# on, every edition shows the group's records as they were; whoever leaves or changes is not taken
# out, so that the record stays as a counterfeit. Two editions differ by the groups in between
# alone.
#
# *A group shows at least l values.* Where its people have fewer, further values are drawn, from all
# others alike, until there are l, and all of them are shown as often as the most frequent one is.
#
# Who enters when follows from who was there in which class, never from a sensitive value. So all
# ways in which a group's people can have its values remain, and each is as likely as before; in a
# group with drawn values, these could as well be the true ones. Who knows this rule, everybody's
# class, and when everybody came and left, is left with the shares of one group for each person,
# whatever number of editions they hold. The tests enumerate it.


RARELY: Final = 0.05
"""How rarely a group is to need drawn values, if newcomers are like those who are shown."""


@dataclass(frozen=True)
class EnteringGroups:
    """Which groups enter an edition.

    Parameters
    ----------
    enters
        Whether those who wait in a class enter, shape (C,).
    added
        How many records of each value that adds, counterfeits included, shape (C, m).
    made
        How many of these belong to nobody, shape (C, m).
    """

    enters: Flags
    added: Integers = field(repr=False)
    made: Integers = field(repr=False)


def group_sizes(shown: Integers, k: int, l: int) -> Integers:  # noqa: E741
    """Return how many people have to wait in each class before they enter, shape (C,).

    So many that they have l values in all but some cases (`RARELY`), if these are as frequent as
    in the class before or, where it is new, in all classes.

    Parameters
    ----------
    shown
        How often each value was shown in each class, shape (C, m).
    k, l
        The records and the values that a group has at least.
    """
    whole = shown.sum(axis=0, keepdims=True)
    known = np.where(shown.sum(axis=1, keepdims=True) > 0, shown, whole)
    frequent = np.sort(known, axis=1)[:, ::-1][:, : l - 1].sum(axis=1)
    share = frequent / np.maximum(known.sum(axis=1), 1)
    share = np.clip(share, 0.0, 1 - 1 / np.maximum(known.sum(axis=1) + 1, 2))
    with np.errstate(divide="ignore"):
        needed = np.ceil(np.log(RARELY) / np.log(share))
    found: Integers = np.maximum(needed, max(k, l)).astype(np.int64)
    return found


def entering_groups(
    waiting: Integers,
    sizes: Integers,
    l: int,  # noqa: E741 - the field's own name for it
    draws: Callable[[IntArray], npt.NDArray[np.uint64]],
) -> EnteringGroups:
    """Return which groups enter, and with which records.

    Parameters
    ----------
    waiting
        How many people wait in each class with each value, shape (C, m).
    sizes
        How many have to, shape (C,).
    l
        The values that each group shows at least.
    draws
        Returns random numbers for some classes, shape (F, m): the values with the smallest ones are
        drawn first.

    Raises
    ------
    DiversityError
        If the attribute has fewer than l values.
    """
    if waiting.shape[1] < l:
        raise DiversityError(
            "Counterfeits can't show {l} {l:value|values}, since the sensitive attribute has"
            " {count}.",
            "Ask for fewer values, or add to its domain what people can have.",
            l=l,
            count=waiting.shape[1],
        )
    numbers = waiting.sum(axis=1)
    enters = (numbers >= sizes) & (numbers > 0)
    added = np.where(enters[:, None], waiting, 0)
    few = np.flatnonzero(enters & ((waiting > 0).sum(axis=1) < l))
    # Those that people have come first, then others by their random numbers.
    ranked = np.lexsort((draws(few), waiting[few] == 0), axis=1)[:, :l]
    added[few[:, None], ranked] = waiting[few].max(axis=1, initial=0)[:, None]
    return EnteringGroups(enters, added, added - np.where(enters[:, None], waiting, 0))
