"""Counterfeits, by which a generalized table may be published again after people came and left.

m-invariance (Xiao and Tao, SIGMOD 2007) keeps what is possible for a person as large from edition
to edition, by records that belong to nobody. In classes that stay the same, it comes to this:

*Everybody enters once.* Who comes to a class waits there until enough people do, by a number that
follows from what was published before. Then all who wait enter together, as one group. From then
on, every edition shows the group's records as they were; whoever leaves or changes is not taken
out, so that the record stays as a counterfeit. Two editions differ by the groups in between alone.

*A group shows at least l values.* Where its people have fewer, further values are drawn, from all
others alike, until there are l, and all of them are shown as often as the most frequent one is.

Who enters when follows from who was there in which class, never from a sensitive value. So all ways
in which a group's people can have its values remain, and each is as likely as before; in a group
with drawn values, these could as well be the true ones. Who knows this rule, everybody's class, and
when everybody came and left, is left with the shares of one group for each person, whatever number
of editions they hold. The tests enumerate it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.generalization.coded import IntArray

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
