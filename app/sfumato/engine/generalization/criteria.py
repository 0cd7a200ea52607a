"""What a published table may be required to keep to, class by class.

Every criterion here passes from a table to each of its generalizations, and to what is left when
a quasi-identifier is dropped: joining classes that satisfy it gives one that does. For k-anonymity
and for distinct l-diversity, alone or beside other holders' tables, more is true: a class that
satisfies it does so still when *any* records join it. Only these stay monotone when outlying
records may be left out, since there a good class can be joined with one that was left out.

Sets of sensitive values are bit masks: bit v of word v // 64 stands for value v.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Flag, StrEnum, auto
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import DiversityError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Integers, Words
from sfumato.engine.core.wording import Sentence, formatted, listed

TOLERANCE: Final = 1e-9
"""How far rounding may carry an entropy or a distance past its limit."""

_TIE: Final = 1e-12
"""A product that exceeds a whole number by no more than this share of it is that number."""


SetArray = Words
"""Sets in rows, shape (number of sets, words)."""

WORD: Final = 64
"""The values that one word holds."""

_MANY: Final = 16
"""From this many sets on both sides, equal ones are looked at once."""

_CHUNK: Final = 1 << 20
"""Intersections that are counted at once."""


class Suppressed(StrEnum):
    """What becomes of the records that stand out."""

    DROPPED = "dropped"
    """They are left out of the published table."""
    STARRED = "starred"
    """They stay with "*" for every quasi-identifier, as one more class."""


def words_for(size: int) -> int:
    """Return how many words hold a set of values out of `size`."""
    return max(1, -(-size // WORD))


def singletons(values: npt.NDArray[np.integer], size: int) -> SetArray:
    """Return the set {v} for every v of `values`, shape (len(values), words)."""
    sets = np.zeros((len(values), words_for(size)), dtype=np.uint64)
    word, bit = np.divmod(values, WORD)
    sets[np.arange(len(values)), word] = np.uint64(1) << bit.astype(np.uint64)
    return sets


def from_flags(flags: Flags) -> SetArray:
    """Return the set of the true columns of every row of `flags`, shape (…, words).

    Parameters
    ----------
    flags
        Whether value v belongs to the set, shape (…, m).
    """
    words = words_for(flags.shape[-1])
    padded = np.zeros((*flags.shape[:-1], words * WORD), dtype=np.bool_)
    padded[..., : flags.shape[-1]] = flags
    packed = np.packbits(padded, axis=-1, bitorder="little")
    # Little-endian words whatever the machine, so that bit v of the bytes is bit v of the word.
    return packed.view("<u8").astype(np.uint64, copy=False)


def to_flags(sets: SetArray, size: int) -> Flags:
    """Return which of `size` values belong to each set, shape (…, size)."""
    raw = np.ascontiguousarray(sets.astype("<u8", copy=False)).view(np.uint8)
    return np.unpackbits(raw, axis=-1, bitorder="little", count=size).astype(np.bool_)


def members(one: SetArray, size: int) -> tuple[int, ...]:
    """Return the values of one set, shape (words,), in order."""
    return tuple(int(value) for value in np.flatnonzero(to_flags(one, size)))


def cardinality(sets: SetArray) -> Integers:
    """Return the number of values in each set, shape (…,)."""
    return np.bitwise_count(sets).sum(axis=-1, dtype=np.int64)


def distinct(sets: SetArray) -> SetArray:
    """Return each set once, in the order of their words."""
    return np.unique(sets, axis=0)


def inclusion_minimal(sets: SetArray) -> SetArray:
    """Return the sets that contain no other one of them, each once.

    An intersection with a larger set has at least as many values as one with a set inside it, so
    these are all that a test of intersections has to look at.
    """
    ordered = distinct(sets)
    ordered = ordered[np.argsort(cardinality(ordered), kind="stable")]
    kept: list[SetArray] = []
    while len(ordered):
        smallest = ordered[0]
        kept.append(smallest)
        contains = ((ordered & smallest) == smallest).all(axis=1)
        ordered = ordered[~contains]
    return np.array(kept, dtype=np.uint64).reshape(len(kept), sets.shape[1])


def intersections(first: SetArray, second: SetArray) -> SetArray:
    """Return the intersection of every set of `first` with every one of `second`, each once."""
    found = [
        distinct((first[start : start + step, None] & second).reshape(-1, first.shape[1]))
        for step in [max(1, _CHUNK // max(len(second), 1))]
        for start in range(0, len(first), step)
    ]
    return distinct(np.concatenate(found))


def smallest_intersections(sets: SetArray, others: SetArray) -> Integers:
    """Return the size of the smallest intersection of each set with one of `others`.

    Parameters
    ----------
    sets
        Shape (C, words).
    others
        Shape (r, words), at least one.

    Returns
    -------
    numpy.ndarray
        Shape (C,).
    """
    if len(others) > _MANY and len(sets) > _MANY:
        # Classes by the thousand have few different sets.
        once, of_set = np.unique(sets, axis=0, return_inverse=True)
        if len(once) < len(sets):
            return smallest_intersections(once, others)[of_set.reshape(-1)]
    smallest = cardinality(sets & others[0])
    for other in others[1:]:
        np.minimum(smallest, cardinality(sets & other), out=smallest)
    return smallest


class Need(Flag):
    """What a criterion has to know about a class."""

    NOTHING = 0
    SIZES = auto()
    """How many records it has."""
    SETS = auto()
    """Which sensitive values occur in it."""
    COUNTS = auto()
    """How often each sensitive value occurs in it."""


@dataclass(frozen=True)
class ClassesToJudge:
    """Equivalence classes, with what was asked for.

    Parameters
    ----------
    sizes
        Records in each class, shape (C,).
    sets
        Sensitive values that occur, shape (C, words).
    counts
        Records with each sensitive value, shape (C, m).
    whole
        Records of the whole table with each sensitive value, shape (m,).
    with_units
        Which classes have records of so many different units, shape (C,); None where every
        record is a unit of its own, or where records are counted as the most that units can be.
    """

    sizes: Integers | None = None
    sets: SetArray | None = None
    counts: Integers | None = None
    whole: Integers | None = None
    with_units: Callable[[int], Flags] | None = None

    def known_sizes(self) -> Integers:
        """Return `sizes`, which must have been asked for."""
        if self.sizes is None:
            raise TypeError("the classes were grouped without their sizes")
        return self.sizes

    def known_sets(self) -> SetArray:
        """Return `sets`, which must have been asked for."""
        if self.sets is None:
            raise TypeError("the classes were grouped without their sets")
        return self.sets

    def known_whole(self) -> Integers:
        """Return `whole`, which must have been given."""
        if self.whole is None:
            raise TypeError("the classes were grouped without the whole table's frequencies")
        return self.whole

    def known_counts(self) -> Integers:
        """Return `counts`, which must have been asked for."""
        if self.counts is None:
            raise TypeError("the classes were grouped without their counts")
        return self.counts


@dataclass(frozen=True)
class Criterion(ABC):
    """A requirement on every equivalence class of a published table."""

    needs: ClassVar[Need]
    """What it has to know about a class."""
    survives_growth: ClassVar[bool]
    """Whether a class that satisfies it still does when any records join it."""
    title: ClassVar[str]
    """What the criterion is called."""

    @abstractmethod
    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes satisfy it, shape (C,).

        Parameters
        ----------
        classes
            The classes, with what `needs` names.
        """

    @abstractmethod
    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse a parameter that no generalization of the table can satisfy.

        Parameters
        ----------
        reference
            How often each sensitive value occurs in the table, shape (m,).
        allowed
            How many records may be left out. What remains may be more mixed than the whole table,
            so that the whole table's own mixture rules nothing out then.

        Raises
        ------
        DiversityError
            Saying which parameter, and what would help.
        """

    def at_least(self, reference: Integers) -> Criterion | None:
        """Return what survives growth, and holds wherever this does; None where nothing is known.

        Parameters
        ----------
        reference
            How often each sensitive value occurs in the table, shape (m,).
        """
        return self if self.survives_growth else None

    @property
    @abstractmethod
    def promise(self) -> str:
        """What it promises, in plain words."""


@dataclass(frozen=True)
class KAnonymity(Criterion):
    """Every class has at least k records (Sweeney 2002), or records of k units.

    Parameters
    ----------
    k
        How many.
    unit
        What names the units, where several records belong to one; else empty.
    """

    k: int
    unit: str = ""
    needs: ClassVar[Need] = Need.SIZES
    survives_growth: ClassVar[bool] = True
    title: ClassVar[str] = "k-anonymity"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes have k records or units."""
        if classes.with_units is not None:
            return classes.with_units(self.k)
        return classes.known_sizes() >= self.k

    def check_units(self, units: int) -> None:
        """Refuse a k above the number of units.

        Raises
        ------
        DiversityError
            Saying how many there are.
        """
        if self.unit and self.k > units:
            raise DiversityError(
                "k is {k}, and the records belong to {units:,} {units:unit|units}: k counts"
                " records with the same {unit} once.",
                "Choose a k from 1 to {units:,}, or state another unit of protection.",
                k=self.k,
                units=units,
                unit=self.unit,
            )

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse a k below 1 or above the number of records."""
        rows = int(reference.sum())
        if not 1 <= self.k <= rows:
            raise DiversityError(
                "k is {k}, and the table has {rows} {rows:record|records}.",
                "Choose a k from 1 to the number of records.",
                k=self.k,
                rows=rows,
            )

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        if self.unit:
            units = Sentence("{count:,} other {count:unit|units}", count=self.k - 1)
            return Sentence(
                "Every record shares its values in the generalized columns with records of at least"
                " {others}. Records with the same {unit} are one unit; several of them together may"
                " fit fewer.",
                others=Sentence("one other unit") if self.k == 2 else units,
                unit=self.unit,
            )
        others = Sentence("{count:,} {count:other|others}", count=self.k - 1)
        return Sentence(
            "Everybody shares their values in the generalized columns with at least {others}.",
            others=Sentence("one other") if self.k == 2 else others,
        )


@dataclass(frozen=True)
class LeavesValues(Criterion):
    """Every class has at least l distinct sensitive values, whatever else is asked.

    Parameters
    ----------
    l
        The values that must remain.
    """

    l: int  # noqa: E741 - the field's own name for it
    needs: ClassVar[Need] = Need.SETS
    survives_growth: ClassVar[bool] = True

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes have l values, as each must."""
        return cardinality(classes.known_sets()) >= self.l

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse an l below 1 or above the number of values that occur."""
        check_l(self.l, reference)


@dataclass(frozen=True)
class DistinctDiversity(LeavesValues):
    """Every class has at least l distinct sensitive values (Machanavajjhala et al. 2006)."""

    title: ClassVar[str] = "distinct l-diversity"

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "Nobody's value can be narrowed to fewer than {l} {l:value|values}.", l=self.l
        )


@dataclass(frozen=True)
class EntropyDiversity(Criterion):
    """The entropy of every class is at least log l (Machanavajjhala et al. 2006)."""

    l: float  # noqa: E741
    needs: ClassVar[Need] = Need.COUNTS
    survives_growth: ClassVar[bool] = False
    title: ClassVar[str] = "entropy l-diversity"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes have an entropy of log l."""
        return entropies(classes.known_counts()) >= math.log(self.l) - TOLERANCE

    def at_least(self, reference: Integers) -> Criterion | None:
        """Return that there are as many values as are equally frequent ones."""
        return DistinctDiversity(math.ceil(self.l - 2 * self.l * TOLERANCE))

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse an l that the whole table, or whatever remains of it, can't reach."""
        if allowed:
            check_l(self.l, reference)
            return
        reached = math.exp(entropies(reference[None])[0])
        if not 1 <= self.l <= reached + TOLERANCE:
            raise DiversityError(
                "l is {l:g}, and the whole table as one class reaches an entropy of log {reached}.",
                "Choose an l from 1 to {reached}.",
                l=self.l,
                # Rounded down, so that the value named is one that can be reached.
                reached=formatted(math.floor(reached * 1000) / 1000, ".3f"),
            )

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "In every class the values are as mixed as {l:g} equally frequent ones.", l=self.l
        )


@dataclass(frozen=True)
class RecursiveDiversity(Criterion):
    """Recursive (c,l)-diversity: r1 < c·(rl + … + rm) in every class, r1 ≥ r2 ≥ … its counts."""

    c: float
    l: int  # noqa: E741
    needs: ClassVar[Need] = Need.COUNTS
    survives_growth: ClassVar[bool] = False
    title: ClassVar[str] = "recursive (c,l)-diversity"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes have no value that is too frequent."""
        ordered = np.sort(classes.known_counts(), axis=1)[:, ::-1]
        rest = ordered[:, self.l - 1 :].sum(axis=1)
        # 5.9·170 is a little above 1003 in floating point; a tie is no less for that.
        return ordered[:, 0] < self.c * rest * (1 - _TIE)

    def at_least(self, reference: Integers) -> Criterion | None:
        """Return that there are l values."""
        return DistinctDiversity(self.l)

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse parameters that the whole table, or whatever remains of it, can't satisfy."""
        if self.c <= 0 or not math.isfinite(self.c):
            raise DiversityError("c is {c:g}.", "Choose a c above 0.", c=self.c)
        check_l(self.l, reference)
        if not allowed and not self.satisfied(ClassesToJudge(counts=reference[None]))[0]:
            ordered = np.sort(reference)[::-1]
            raise DiversityError(
                "Even the whole table as one class is not ({c:g},{l})-diverse.",
                "Choose a c above {enough:.4g}, or a smaller l.",
                c=self.c,
                l=self.l,
                enough=ordered[0] / ordered[self.l - 1 :].sum(),
            )

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "In every class the most frequent value stays below {c:g} times all values "
            "from the {l}. most frequent on.",
            c=self.c,
            l=self.l,
        )


@dataclass(frozen=True)
class Closeness(Criterion):
    """t-closeness: every class is distributed like the whole table, up to t (Li et al. 2007).

    The earth mover's distance is taken with the equal ground distance, or, for an attribute whose
    values have an order, with the ordered one. Values that occur nowhere in the table are no part
    of either, so that the distance can be checked from what is published.
    """

    t: float
    ordered: bool = False
    needs: ClassVar[Need] = Need.COUNTS
    survives_growth: ClassVar[bool] = False
    title: ClassVar[str] = "t-closeness"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes are close enough."""
        return self.distances(classes.known_counts(), classes.known_whole()) <= self.t + TOLERANCE

    def at_least(self, reference: Integers) -> Criterion | None:
        """Return that the values which occur have nearly all records of the table."""
        return None if self.ordered else _Covers(1.0 - self.t - 2 * TOLERANCE)

    def distances(self, counts: Integers, whole: Integers) -> Floats:
        """Return the distance of each class from the whole, shape (C,), between 0 and 1."""
        occurring = whole > 0
        shares = counts[:, occurring] / counts.sum(axis=1, keepdims=True)
        apart = shares - whole[occurring] / whole.sum()
        if self.ordered:
            steps = max(int(occurring.sum()) - 1, 1)
            return np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / steps
        return np.abs(apart).sum(axis=1) / 2

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse a t outside 0 to 1."""
        if not 0 <= self.t <= 1:
            raise DiversityError("t is {t:g}.", "Choose a t from 0 to 1.", t=self.t)

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "In every class the values are spread as in the whole table, up to {t:g}.", t=self.t
        )


@dataclass(frozen=True)
class _Covers(Criterion):
    """In every class values occur that have at least a share of the table's records.

    Nobody is promised it: what lacks values is as far from the whole table as they are frequent.
    """

    share: float
    needs: ClassVar[Need] = Need.SETS
    survives_growth: ClassVar[bool] = True
    title: ClassVar[str] = "covered share"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes have such values."""
        whole, sets = classes.known_whole(), classes.known_sets()
        covered, step = np.zeros(len(sets)), max(1, _CHUNK // len(whole))
        for first in range(0, len(sets), step):
            part = slice(first, first + step)
            covered[part] = to_flags(sets[part], len(whole)) @ (whole / whole.sum())
        return covered >= self.share

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse nothing."""

    @property
    def promise(self) -> str:
        """Nothing that is told."""
        return ""


@dataclass(frozen=True)
class NonCentralizedDiversity(LeavesValues):
    """Every class keeps l values beside other holders' tables (Cheong et al. 2012, definition 4).

    A class is safe if its set of sensitive values has at least l values in common with every
    intersection of one set from each of the others' tables. Joining classes, and dropping a
    quasi-identifier, which joins classes too, makes sets larger and so keeps this: the
    generalization and the subset property (theorems 3 and 4). No probabilistic table is built.

    *For which knowledge it holds.* Somebody holds all tables and knows the classes of one person.
    Where nothing is known of how many people are in the same classes of several tables, people
    with one value can be placed whatever is done with those with another, and every value that
    occurs in all the person's classes is the person's in some table that agrees with all published
    ones: place one who has it there, and the rest anyhow, since what remains of each table's
    classes has the same sum. So the intersection is just what remains, and l values of it are
    kept. The paper claims this for any correlation that is known (section 4.2.2) and for who knows
    the classes of everybody (section 5.1), and that is wrong: who knows that five people are in
    two classes, where six have H in all and the classes have five and six of them, knows that all
    five have H (see `beliefs`).

    Parameters
    ----------
    others
        The inclusion-minimal intersections of the others' sets, shape (r, words).
    """

    others: SetArray = field(repr=False, compare=False)
    title: ClassVar[str] = "non-centralized distinct l-diversity"

    def satisfied(self, classes: ClassesToJudge) -> Flags:
        """Return which classes keep l values in every combination."""
        return smallest_intersections(classes.known_sets(), self.others) >= self.l

    def check(self, reference: Integers, allowed: int = 0) -> None:
        """Refuse an l that the others' tables have made impossible already."""
        check_l(self.l, reference)
        weakest = self.weakest
        if weakest < self.l:
            raise narrowed_already(weakest)
        own = from_flags(reference[None] > 0)
        reached = int(smallest_intersections(own, self.others)[0])
        if reached < self.l:
            raise DiversityError(
                "Some values in the other holders' tables occur nowhere in this one: beside them"
                " even the whole table as one class leaves only {reached} {reached:value|values}.",
                "Choose an l of at most {reached}, or check that the tables are about the same"
                " people and that their values are spelled the same.",
                reached=reached,
            )

    @cached_property
    def weakest(self) -> int:
        """The fewest values that the others' tables leave without this one."""
        return int(cardinality(self.others).min())

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "Nobody's value can be narrowed to fewer than {l} {l:value|values} by somebody who also"
            " holds the other holders' tables and knows nothing of how many people are in the same"
            " classes of several tables. Public counts of them, and columns that several tables"
            " share, tell something of it.",
            l=self.l,
        )


@dataclass(frozen=True)
class InformedDiversity(LeavesValues):
    """Everybody keeps l values for who knows others' tables and public counts of shared people.

    A class by itself can only be seen to have l values. What remains beside the others' tables and
    the counts depends on all classes at once: see `public_counts`.

    Parameters
    ----------
    known
        What the public counts are called.
    """

    known: tuple[str, ...]
    title: ClassVar[str] = "non-centralized distinct l-diversity with public counts"

    @property
    def promise(self) -> str:
        """What it promises, in plain words."""
        return Sentence(
            "Nobody's value can be narrowed to fewer than {l} {l:value|values} by somebody who also"
            " holds the other holders' tables and knows the public counts {known}, and nothing else"
            " of how many people are in the same classes of several tables.",
            l=self.l,
            known=listed(self.known),
        )


def needs_of(criteria: Sequence[Criterion]) -> Need:
    """Return all that the criteria have to know."""
    needs = Need.NOTHING
    for criterion in criteria:
        needs |= criterion.needs
    return needs


def entropies(counts: Integers) -> Floats:
    """Return the entropy of each row of counts in natural units, shape (C,)."""
    shares = counts / counts.sum(axis=1, keepdims=True)
    logs = np.log(shares, out=np.zeros_like(shares), where=shares > 0)
    return -(shares * logs).sum(axis=1)


def narrowed_already(weakest: int) -> DiversityError:
    """Return the error for an l that the others' tables have made impossible already."""
    return DiversityError(
        "The other holders' tables together narrow somebody's value to {weakest}"
        " {weakest:value|values} already, whatever is published beside them.",
        "Choose an l of at most {weakest}, or leave out the table that is the cause.",
        weakest=weakest,
    )


def check_l(l: float, reference: Integers) -> None:  # noqa: E741
    """Refuse an l below 1 or above the number of values that occur."""
    occurring = int(np.count_nonzero(reference))
    if not 1 <= l <= occurring:
        raise DiversityError(
            "l is {l:g}, and {occurring} different sensitive {occurring:value occurs|values occur}"
            " in the table.",
            "Choose an l from 1 to {occurring}.",
            l=l,
            occurring=occurring,
        )
