"""What a published table may be required to keep beside others' tables, seen over all classes.

Of these a class by itself can only be seen to break them: what several tables tell together of a
person depends on which classes meet (see `shared_columns`). The search heeds what a class shows by
itself, which rules most levels out, and examines the rest.
"""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Integers
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.generalization.criteria import (
    ClassesToJudge,
    Criterion,
    LeavesValues,
    Need,
)

SharedName = tuple[str, str, str]
"""A column that another table shares with ours: the holder, its name there, and our name."""

_TIE = 1e-12
"""A share that exceeds the limit by no more than this part of it is the limit."""


def same_of_a_person(shared: tuple[SharedName, ...]) -> Sentence:
    """Return what is taken for granted of columns that tables share."""
    columns = tuple(dict.fromkeys(ours for _, _, ours in shared))
    return Sentence(
        "{columns} {count:is|are} taken to say the same of a person in every table that has"
        " {count:it|them}.",
        columns=listed(columns),
        count=len(columns),
    )


@dataclass(frozen=True)
class AlignedDiversity(LeavesValues):
    """Everybody keeps l values beside others' tables whose columns are aligned with ours.

    Nobody is young in one table and old in another, so that only classes that agree on the columns
    that tables share can be a person's. Among these, everything of `NonCentralizedDiversity` holds:
    people with one value who agree on the shared columns can exchange their classes in one table.

    Parameters
    ----------
    shared
        The columns that are aligned.
    """

    shared: tuple[SharedName, ...]
    title: ClassVar[str] = "non-centralized distinct l-diversity with shared columns"

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        kept = Sentence(
            "Nobody's value can be narrowed to fewer than {l} {l:value|values} by somebody who also"
            " holds the other holders' tables and knows of how many people are in the same classes"
            " of several tables only what the columns tell that they share with this one.",
            l=self.l,
        )
        return joined(kept, same_of_a_person(self.shared))


@dataclass(frozen=True)
class LargestBelief(Criterion):
    """Nobody's value becomes likelier than x percent, beside others' tables where there are some.

    Parameters
    ----------
    x
        The largest belief, in percent.
    independent
        Whether what several tables show is taken to be independent given the value (equation 5 of
        Cheong et al. 2012); else the belief is the greatest that any way allows in which the
        tables can go together, so that it holds for who knows how many people share classes.
    beside
        The other holders.
    shared
        The columns that are aligned.
    """

    x: float
    independent: bool = False
    beside: tuple[str, ...] = ()
    shared: tuple[SharedName, ...] = ()
    needs: ClassVar[Need] = Need.COUNTS
    survives_growth: ClassVar[bool] = False
    title: ClassVar[str] = "largest belief"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes show no value for too large a share."""
        counts = classes.known_counts()
        return self.allows(counts.max(axis=1), counts.sum(axis=1))

    def allows(self, most: Integers, people: Integers) -> Flags:
        """Return whether so many of people with one value are few enough."""
        return 100 * most <= self.x * people * (1 + _TIE)

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse an x that the whole table, or whatever remains of it, can't keep."""
        if not 0 < self.x <= 100 or not math.isfinite(self.x):
            raise DiversityError(
                "x is {x:g}.", "Choose an x above 0 and up to 100, in percent.", x=self.x
            )
        most, people = int(reference.max()), int(reference.sum())
        if not allowed and not self.allows(np.array(most), np.array(people)):
            # Rounded up, so that the x named is one that can be kept.
            least = formatted(math.ceil(1e4 * most / people) / 100, ".2f")
            raise DiversityError(
                "x is {x:g} %, and {least} % of the whole table have the same value.",
                "Choose an x of at least {least}.",
                x=self.x,
                least=least,
            )

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        if not self.beside:
            return Sentence(
                "Nobody's value becomes likelier than {x:g} % for somebody who knows their values"
                " in the generalized columns.",
                x=self.x,
            )
        told = {"x": self.x, "holders": listed(self.beside)}
        kept = Sentence(
            "Nobody's value becomes likelier than {x:g} % for somebody who also holds the tables of"
            " {holders}, whatever they know of how many people are in the same classes of several"
            " tables, provided that those of these tables that show no more people than this one"
            " show only people who are in it.",
            **told,
        )
        if self.independent:
            kept = Sentence(
                "Nobody's value becomes likelier than {x:g} % for somebody who also holds the"
                " tables of {holders} and takes what they show to be independent given the value;"
                " who knows how many people are in the same classes of several tables can come to"
                " believe more.",
                **told,
            )
        return joined(kept, same_of_a_person(self.shared)) if self.shared else kept
