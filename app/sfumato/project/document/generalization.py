"""What is decided about a generalized table: immutable values, kept in the document.

A generalized table shows the true sensitive values; what protects them is that a person can't
be told from others by the public columns (`sfumato.engine.generalization`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Value
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.generalization.criteria import (
    Closeness,
    Criterion,
    DistinctDiversity,
    EntropyDiversity,
    InformedDiversity,
    KAnonymity,
    NonCentralizedDiversity,
    RecursiveDiversity,
    Suppressed,
)
from sfumato.engine.generalization.joint_criteria import LargestBelief


@dataclass(frozen=True)
class CriterionKind:
    """A criterion that can be asked of a generalized table.

    Parameters
    ----------
    name
        Its identifier in files.
    title
        Its name.
    numbers
        Its parameters with the values a custodian starts with.
    whole
        Which of them are whole numbers.
    build
        Makes the criterion from its parameters.
    """

    name: str
    title: str
    numbers: Mapping[str, float]
    whole: frozenset[str]
    build: Callable[[Mapping[str, float]], Criterion]


CRITERION_KINDS: Final = {
    kind.name: kind
    for kind in (
        CriterionKind(
            "k-anonymity",
            KAnonymity.title,
            {"k": 5},
            frozenset({"k"}),
            lambda n: KAnonymity(int(n["k"])),
        ),
        CriterionKind(
            "distinct-diversity",
            DistinctDiversity.title,
            {"l": 3},
            frozenset({"l"}),
            lambda n: DistinctDiversity(int(n["l"])),
        ),
        CriterionKind(
            "entropy-diversity",
            EntropyDiversity.title,
            {"l": 2.0},
            frozenset(),
            lambda n: EntropyDiversity(n["l"]),
        ),
        CriterionKind(
            "recursive-diversity",
            RecursiveDiversity.title,
            {"c": 3.0, "l": 2},
            frozenset({"l"}),
            lambda n: RecursiveDiversity(n["c"], int(n["l"])),
        ),
        CriterionKind(
            "closeness",
            Closeness.title,
            {"t": 0.3},
            frozenset(),
            lambda n: Closeness(n["t"]),
        ),
        CriterionKind(
            "ordered-closeness",
            f"{Closeness.title}, ordered values",
            {"t": 0.3},
            frozenset(),
            lambda n: Closeness(n["t"], ordered=True),
        ),
        CriterionKind(
            "belief", LargestBelief.title, {"x": 80.0}, frozenset(), lambda n: LargestBelief(n["x"])
        ),
        CriterionKind(
            "independent-belief",
            f"{LargestBelief.title}, independent tables",
            {"x": 80.0},
            frozenset(),
            lambda n: LargestBelief(n["x"], independent=True),
        ),
    )
}
"""Every criterion by its name. Beside other holders' tables, distinct diversity counts what
remains beside them."""


@dataclass(frozen=True)
class CriterionChoice:
    """A criterion with its parameters.

    Raises
    ------
    PolicyError
        If there is no such criterion, or its parameters are not the ones it has.
    """

    kind: str
    numbers: Mapping[str, float]

    def __post_init__(self) -> None:
        known = CRITERION_KINDS.get(self.kind)
        if known is None:
            raise PolicyError(
                "There is no criterion {kind}.",
                "Choose one of: {known}.",
                kind=self.kind,
                known=", ".join(CRITERION_KINDS),
            )
        if set(self.numbers) != set(known.numbers):
            raise PolicyError(
                "The criterion {kind} has the parameters {known}.",
                "State each of them, and no other.",
                kind=self.kind,
                known=", ".join(known.numbers),
            )
        for name, number in self.numbers.items():
            fits = isinstance(number, int | float) and not isinstance(number, bool)
            if not fits or (name in known.whole and number != int(number)):
                raise PolicyError(
                    "The parameter {name} of {kind} is not a {expected}.",
                    "Correct it.",
                    name=name,
                    kind=self.kind,
                    expected="whole number" if name in known.whole else "number",
                )

    def build(self, unit: str = "") -> Criterion:
        """Return the criterion; k counts units where their name is given."""
        built = CRITERION_KINDS[self.kind].build(self.numbers)
        return replace(built, unit=unit) if isinstance(built, KAnonymity) else built

    @property
    def text(self) -> Sentence:
        """The criterion with its parameters, as it is shown."""
        stated = ", ".join(f"{name} = {{{name}:g}}" for name in self.numbers)
        title = as_sentence(CRITERION_KINDS[self.kind].title)
        return Sentence(f"{{title}} ({stated})", title=title, **self.numbers)


def criteria_asked(decided: Generalization, unit: str = "") -> tuple[Criterion, ...]:
    """Return what is asked, before any other holder's table is read.

    Beside other tables, distinct diversity counts what remains, and a largest belief is that of who
    holds them all; k counts units where their name is given.
    """
    built = (choice.build(unit) for choice in decided.criteria)
    if not decided.others:
        return tuple(built)
    unread, known = np.zeros((0, 1), dtype=np.uint64), decided.public_counts
    holders = tuple(other.holder for other in decided.others)
    found: list[Criterion] = []
    for criterion in built:
        if isinstance(criterion, LargestBelief):
            found.append(replace(criterion, beside=holders))
        elif not isinstance(criterion, DistinctDiversity):
            found.append(criterion)
        elif known:
            found.append(InformedDiversity(criterion.l, tuple(each.name for each in known)))
        else:
            found.append(NonCentralizedDiversity(criterion.l, unread))
    return tuple(found)


@dataclass(frozen=True)
class OtherTableFile:
    """Where another holder's published table is, and how it is read.

    Parameters
    ----------
    holder
        Who published it; tells the tables apart.
    path
        The file, absolute.
    digest
        SHA-256 of the file.
    options
        How it is read (`sfumato.formats.reading.ReadOptions` as plain values).
    quasi_identifiers
        Its public columns.
    sensitive
        Its column with the attribute that all tables share.
    spelling
        Pairs: a value as it is spelled there, and as it is spelled here.
    """

    holder: str
    path: str
    digest: str
    options: Mapping[str, Any] = field(default_factory=dict)
    quasi_identifiers: tuple[str, ...] = ()
    sensitive: str = ""
    spelling: tuple[tuple[Value, Value], ...] = field(default=(), repr=False)


@dataclass(frozen=True)
class PublicCountsFile:
    """Where public counts of people by several tables' columns are, and how they are read.

    Parameters
    ----------
    name
        What they are called; tells them apart.
    path
        The file, absolute.
    digest
        SHA-256 of the file.
    options
        How it is read (`sfumato.formats.reading.ReadOptions` as plain values).
    count
        Its column with the number of people.
    columns
        For each other column that is used: its name, whose table it is a column of (empty for
        ours), and what it is called there.
    """

    name: str
    path: str
    digest: str
    options: Mapping[str, Any] = field(default_factory=dict)
    count: str = ""
    columns: tuple[tuple[str, str, str], ...] = ()


@dataclass(frozen=True)
class PopulationFile:
    """Where a list of the population is that the table's people belong to, and how it is read.

    Parameters
    ----------
    path
        The file, absolute.
    digest
        SHA-256 of the file.
    options
        How it is read (`sfumato.formats.reading.ReadOptions` as plain values).
    columns
        Pairs: a quasi-identifier, and what its column is called there.
    """

    path: str
    digest: str
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Generalization:
    """What is decided about a generalized table.

    Parameters
    ----------
    sensitive
        The attribute whose true values it shows.
    quasi_identifiers
        The columns that are generalized, in the order of a node's levels.
    criteria
        What every equivalence class has to satisfy.
    suppression
        The share of the records that may be left out, 0 to below 1.
    suppressed
        What becomes of them.
    node
        The level of each quasi-identifier; None for the best safe node.
    pinned
        Candidates to compare.
    others
        The tables that other holders published about the same people.
    population
        A list of the population that the table's people belong to; it tells how likely they are
        found, and changes nothing about the table.
    sampling_fraction
        Where there is no such list: the share of the population that is in the table.
    public_counts
        What is publicly known of how many people several of the tables share.
    """

    sensitive: str
    quasi_identifiers: tuple[str, ...]
    criteria: tuple[CriterionChoice, ...] = (
        CriterionChoice("k-anonymity", {"k": 5}),
        CriterionChoice("distinct-diversity", {"l": 3}),
    )
    suppression: float = 0.0
    suppressed: Suppressed = Suppressed.DROPPED
    node: tuple[int, ...] | None = None
    pinned: tuple[tuple[int, ...], ...] = ()
    others: tuple[OtherTableFile, ...] = ()
    population: PopulationFile | None = None
    sampling_fraction: float | None = None
    public_counts: tuple[PublicCountsFile, ...] = ()
