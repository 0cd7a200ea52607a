"""What every mechanism offers to the project, the window and the command line."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Codes, Domain, Kind
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Words
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.disclosure.noise_law import NoiseLaw, told_in_table, widths_with
from sfumato.engine.mechanisms.setting_specs import Settled
from sfumato.engine.table.combinations import combined_series
from sfumato.engine.table.table import Attribute, Attributes, EncodedColumn, Rows

if TYPE_CHECKING:
    from sfumato.engine.core.progress import Context
    from sfumato.engine.disclosure.group_risk import ModeCost, QueryPoint, RiskSetting
    from sfumato.engine.disclosure.grouped_values import GroupedValues
    from sfumato.engine.disclosure.resampled_law import Resampling
    from sfumato.engine.matrices.estimate import VarianceLaw
    from sfumato.engine.matrices.matrix import PerturbationMatrix
    from sfumato.engine.randomness.keys import KeyRing
    from sfumato.engine.table.table import GroupAssignment, GroupRows


Settings = Mapping[str, Any]
"""What a custodian has set for a mechanism beside the levels; plain JSON values."""

Statement = Mapping[str, float]
"""A trust level as the custodian states it, e.g. ``{"epsilon": 2.0}`` or
``{"rho1": 0.1, "rho2": 0.5}``; its keys are the fields of one `LevelTerm`."""


@dataclass(frozen=True)
class LevelField:
    """One number by which a level is stated, with its range (both ends allowed or not)."""

    name: str
    title: str
    minimum: float
    maximum: float
    decimals: int = 3
    unit: str = ""


@dataclass(frozen=True)
class LevelTerm:
    """One way to state a trust level: by p, by ε, by (ρ1, ρ2), or by σ².

    Parameters
    ----------
    name
        Its identifier in files.
    title
        Its name in the window.
    explanation
        One sentence in plain words.
    fields
        The numbers it consists of.
    """

    name: str
    title: str
    explanation: str
    fields: tuple[LevelField, ...]


@dataclass(frozen=True)
class PromiseFigure:
    """One number behind a promise, for those who know it by name."""

    symbol: str
    title: str
    value: float
    explanation: str = ""


@dataclass(frozen=True)
class Promise:
    """What one release promises, in words and in figures, computed from what is released.

    Parameters
    ----------
    sentence
        The promise in plain words ("Whatever anyone believed about …").
    facts
        The figures behind it.
    limits
        What is not promised, in plain words.
    """

    sentence: str
    facts: tuple[PromiseFigure, ...]
    limits: tuple[str, ...] = ()


@dataclass(frozen=True)
class Check:
    """One examined promise: what was checked, whether it holds, and what was found."""

    title: str
    holds: bool
    finding: str

    @classmethod
    def passed(cls, title: str, finding: str, /, **details: object) -> Check:
        """Return a promise that holds."""
        return cls(title, True, Sentence(finding, **details))

    @classmethod
    def failed(cls, title: str, finding: str, /, **details: object) -> Check:
        """Return a promise that does not hold."""
        return cls(title, False, Sentence(finding, **details))


def check_rows(expected: int, found: int, whose: str) -> Check:
    """Examine how many records there are."""
    return Check(
        "Number of records",
        expected == found,
        Sentence(
            "{found:,} {found:record|records}; {whose} has {expected:,}.",
            found=found,
            whose=whose,
            expected=expected,
        ),
    )


class Origin(StrEnum):
    """How something in a bundle that follows from the true table was made."""

    EXACT = "exact"
    """From the table as it is: it can tell about single records, and no promise counts it."""
    NOISY = "noisy"
    """From statistics with noise, whose ε0 the promise counts."""


@dataclass(frozen=True)
class Byproduct:
    """Something beside the released values that recipients are told and that follows from them.

    Parameters
    ----------
    name
        What it is, in plain words, for a list ("the retention probabilities of diagnosis").
    origin
        How it was made.
    sentence
        What that means for a person in the table, in one sentence.
    """

    name: str
    origin: Origin
    sentence: str


@dataclass(frozen=True)
class Adopted:
    """An earlier release that was made elsewhere, its rows matched to the table's.

    Parameters
    ----------
    level
        Its trust level, in the mechanism's own unit.
    values
        For each attribute of the policy entry, codes of its domain or numbers, shape (n,).
    covered
        Which records it has, shape (n,); None for all. The values of others mean nothing.
    origin
        The digest of the file that it was read from; empty where it is no file.
    """

    level: float
    values: Mapping[str, Codes | Floats] = field(repr=False)
    covered: Flags | None = field(default=None, repr=False)
    origin: str = ""

    def at(self, rows: Rows) -> Adopted:
        """Return it for some of the rows."""
        known = None if self.covered is None else self.covered[rows]
        return replace(self, values={k: v[rows] for k, v in self.values.items()}, covered=known)


@dataclass(frozen=True)
class ReleaseRequest:
    """All that a release is a function of.

    Parameters
    ----------
    columns
        The policy entry's attributes with their rows, in the entry's order.
    settings
        The mechanism's settings.
    level
        The trust level, in the mechanism's own unit.
    record_ids
        64-bit record identifiers, shape (n,).
    keys
        The source of keyed randomness.
    adopted
        Earlier releases that were made elsewhere and share the ladder; empty for most.
    """

    columns: tuple[EncodedColumn, ...]
    settings: Settings
    level: float
    record_ids: Words
    keys: KeyRing
    adopted: tuple[Adopted, ...] = ()

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes without their rows."""
        return tuple(column.attribute for column in self.columns)

    def at(self, rows: Rows) -> ReleaseRequest:
        """Return it for some records, or all in another order.

        Where groups are needed, only all records have them: their releases hang together.
        """
        return replace(
            self,
            columns=tuple(column.at(rows) for column in self.columns),
            record_ids=self.record_ids[rows],
            adopted=tuple(one.at(rows) for one in self.adopted),
        )


@dataclass(frozen=True)
class Released:
    """A policy entry's columns as they were released, with the level of the release."""

    level: float
    columns: Mapping[str, pd.Series]


@dataclass(frozen=True)
class PublishedFacts:
    """What a recipient is told about an attribute; nothing in it is secret.

    Parameters
    ----------
    parameters
        JSON values for the data package (for the uniform ladder, p and m).
    guide
        The name of the text in ``resources/recipient`` that explains how to estimate.
    """

    parameters: Mapping[str, Any]
    guide: str
    values: Mapping[str, str] = field(default_factory=dict)
    """Texts that the guide's placeholders stand for."""


TYPICAL_BELIEFS: Final[tuple[Statement, ...]] = (
    {"rho1": 0.1, "rho2": 0.75},
    {"rho1": 0.1, "rho2": 0.5},
    {"rho1": 0.1, "rho2": 0.25},
)
"""How far a belief of 10 % can rise at a trusted partner's, at a contract recipient's and in a
public release: the same for two values and for two thousand."""


def ladder_digest(*parts: object) -> str:
    """Return a digest of what makes a ladder, given as plain JSON values."""
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


class Mechanism(Settled, ABC):
    """A way to release one or several sensitive attributes at any trust level.

    Levels are floats in the mechanism's own unit; `trust` maps them to one scale on which
    higher is more trusted. Releases of one ladder must be garblings of one another.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    order: ClassVar[int]
    kinds: ClassVar[frozenset[Kind]]
    terms: ClassVar[tuple[LevelTerm, ...]]
    least_attributes: ClassVar[int] = 1
    most_attributes: ClassVar[int | None] = 1
    """How many attributes it protects together; None for any number."""
    completes_settings: ClassVar[bool] = False
    """Whether `complete_settings` adds anything."""
    adopts: ClassVar[bool] = False
    """Whether `release` inserts levels between `ReleaseRequest.adopted` releases."""
    counts_only: ClassVar[bool] = False
    """Whether its releases serve counting alone: worth doesn't recommend it, it does itself."""
    needs_groups: ClassVar[bool] = False
    """Whether attributes and columns come with the groups of records alike in public."""

    def serves(self, attributes: Attributes) -> bool:
        """Return whether it is for so many attributes of these kinds; see `check_attributes`."""
        most = self.most_attributes or len(attributes)
        kinds = {attribute.kind for attribute in attributes}
        return kinds <= self.kinds and self.least_attributes <= len(attributes) <= most

    @property
    def typical_statements(self) -> tuple[Statement, ...]:
        """The levels of a trusted partner, a contract recipient and the public, if known."""
        believes = any({one.name for one in t.fields} == {"rho1", "rho2"} for t in self.terms)
        return TYPICAL_BELIEFS if believes else ()

    def recommendation(self, attributes: Attributes) -> str:
        """Say why it suits attributes that it serves better than others do; empty where not.

        Of several that say so, the last in order is recommended: it asks more of the table.
        """
        return ""

    @abstractmethod
    def check_attributes(self, attributes: Attributes) -> None:
        """Raise `PolicyError` where the mechanism can't serve these attributes."""

    def only_one(self, attributes: Attributes) -> Attribute:
        """Return the attribute that a mechanism for single ones is given."""
        if len(attributes) != 1:
            raise PolicyError(
                "{mechanism} takes one attribute at a time; {count} were given.",
                "Make a policy entry for each attribute.",
                mechanism=as_sentence(self.title),
                count=len(attributes),
            )
        return attributes[0]

    @staticmethod
    def check_number(attribute: Attribute) -> None:
        """Raise `PolicyError` unless an attribute is of numbers without bins."""
        if attribute.domain is not None or attribute.kind is not Kind.NUMERIC:
            raise PolicyError(
                "Column {column} is not numeric, or its numbers are grouped into bins, so no"
                " noise can be added to it.",
                "Read it as numbers without bins, or choose a mechanism for categories.",
                column=attribute.name,
            )

    def suited(self, attributes: Attributes, settings: Settings, epsilon: float) -> Settings:
        """Return settings as they serve best at an ε; most serve at any."""
        return settings

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0: by-products multiply nobody's odds by more than e^ε0. 0 where none is told."""
        return 0.0

    def outdated(self, attributes: Attributes, settings: Settings) -> bool:
        """Return whether something is to be measured and was not, or in other rows."""
        return False

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return what recipients are told that follows from the true table, and how it was made."""
        return ()

    def resettled(self, attributes: Attributes, settings: Settings) -> Settings:
        """Return the settings of an entry that covers other attributes from now on.

        What the custodian chose stays where it fits any attributes; what the table decides is
        left out, for `complete_settings` to decide anew. Settings that belong to particular
        attributes begin afresh.
        """
        return self.default_settings(attributes)

    @abstractmethod
    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not valid for these attributes."""

    @abstractmethod
    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels for `count` recipients, most trusted first."""

    @abstractmethod
    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the level that a statement means.

        Raises
        ------
        LevelError
            If the statement is incomplete, out of range or can't be met.
        """

    @abstractmethod
    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in each of the mechanism's terms, by the term's name."""

    @abstractmethod
    def trust(self, level: float) -> float:
        """Return the level on a scale from 0 (nothing) to 1 (the original)."""

    def level_at(self, trust: float) -> float:
        """Return the level of a place on the scale of `trust`, above 0."""
        return trust

    def lowered(self, level: float, share: float) -> float:
        """Return a level on the same ladder that is trusted less by a share of itself.

        Parameters
        ----------
        level
            A level, in the mechanism's own unit.
        share
            At least 0 and below 1; at 0 the level stays.
        """
        return level * (1.0 - share)

    def most_within_limits(self, attributes: Attributes, settings: Settings) -> float:
        """Return the highest level that keeps the settings' own limits; infinite without any."""
        return math.inf

    @abstractmethod
    def shared(self, level: float, rows: int, attributes: Attributes, settings: Settings) -> float:
        """Return the level of each of several rows that together tell no more than one at a level.

        The losses of the rows add up.
        """

    @abstractmethod
    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest that two releases share exactly when they sit on one ladder."""

    @abstractmethod
    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released columns by name: a pure function of the request."""

    def shown_domain(self, attributes: Attributes, settings: Settings) -> Domain | None:
        """Return the symbols that a released column shows; None where it shows its own values."""

    def shown_codes(
        self, attributes: Attributes, columns: Mapping[str, pd.Series], settings: Settings
    ) -> Codes:
        """Return the codes of released values, combinations or symbols: rows of the matrix.

        Raises `DomainError` if a value can't have been released, naming the column.
        """
        symbols = self.shown_domain(attributes, settings)
        name = attributes[0].name
        return symbols.encode(columns[name]) if symbols else combined_series(attributes, columns)

    def matrix(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> PerturbationMatrix | None:
        """Return the perturbation matrix, or None where the mechanism has none."""
        return None

    def odds_factor(self, level: float, attributes: Attributes, settings: Settings) -> float | None:
        """Return γ: by how much all that a release tells multiplies anyone's odds at most.

        None where nothing bounds them.
        """
        return None

    def public_columns(self, settings: Settings) -> Sequence[str] | None:
        """Return the columns by which records are grouped; None for all that are released.

        Asked only where the mechanism needs groups.
        """
        return None

    def group_limits(self, settings: Settings) -> tuple[float, float, str] | None:
        """Return the ε, the δ and the test that every group is held to; None where none is."""
        return None

    def estimate_law(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> VarianceLaw | None:
        """Return the variances of the whole table's estimated shares, by the true shares.

        None where rows are perturbed independently, as the matrix says.
        """
        return None

    def resampling(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Resampling | None:
        """Return how a release draws and repeats the records of the attribute's groups.

        None where every record is perturbed by itself, as most mechanisms do.
        """
        return None

    def forms(self, attributes: Attributes, settings: Settings) -> bool:
        """Return whether any released numbers are rounded or bounded: then they are no ladder."""
        return False

    def noise_covariance(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Floats | None:
        """Return the covariance of the noise a level adds to numbers, in the entry's order.

        Returns
        -------
        numpy.ndarray or None
            Shape (N, N) in the attributes' squared units; None where no noise is added.
        """
        return None

    def noise_law(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> NoiseLaw | None:
        """Return the law of the noise a level adds to numbers; None where none is added."""
        covariance = self.noise_covariance(level, attributes, settings)
        return None if covariance is None else NoiseLaw(covariance)

    def shown_moments(
        self, numbers: Floats, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[Floats, Floats] | None:
        """Return the mean and the variance of what is released in place of some numbers.

        Parameters
        ----------
        numbers
            True numbers of the entry's attributes, in its order, shape (N, n).

        Returns
        -------
        tuple or None
            Both of shape (N, n); None where no noise is added to numbers.
        """
        noise = self.noise_covariance(level, attributes, settings)
        if noise is None:
            return None
        return numbers, np.broadcast_to(np.diagonal(noise)[:, np.newaxis], numbers.shape)

    def channel(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Any] | None:
        """Return how single records are perturbed, for recipients' programs; nothing is secret.

        Returns
        -------
        Mapping or None
            JSON values: ``noise_covariance`` (in the entry's order), or ``domains`` and
            ``transition``, a row for each released value or combination of values, the last
            attribute's counted through first. None where records don't stand for themselves, or
            the matrix is large or has no inverse.
        """
        noise = self.noise_covariance(level, attributes, settings)
        if noise is not None:
            return {"noise_covariance": np.asarray(noise).tolist()}
        matrix = None if self.needs_groups else self.matrix(level, attributes, settings)
        rows = None if matrix is None else matrix.told()
        if rows is None:
            return None
        domains = [list(each.domain.values) for each in attributes if each.domain is not None]
        return {"domains": domains, "transition": rows}

    @abstractmethod
    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises."""

    def lost_by_changing(
        self, levels: Sequence[float], attributes: Attributes, settings: Settings
    ) -> str:
        """Say what a record loses at worst whose value was another in each edition.

        Parameters
        ----------
        levels
            The most trusted level at which each edition is released, at least two.

        Returns
        -------
        str
            Empty where no figure bounds the loss.
        """
        return ""

    def in_table(self, level: float, attributes: Attributes, settings: Settings) -> str:
        """Return what somebody can tell of the table in hand at a level; empty for nothing to add.

        It is computed from the exact rows and is for the custodian alone: unlike `promise`, it
        goes into no bundle and no report for outsiders.
        """
        law = self.noise_law(level, attributes, settings)
        known = [attribute.numbers for attribute in attributes if attribute.numbers is not None]
        if law is None or len(known) < len(attributes):
            return ""
        told = told_in_table([attribute.name for attribute in attributes], np.stack(known), law)
        if not told or attributes[0].beyond is None:
            return told
        return Sentence(
            "{told} That is estimated from {rows:,} {rows:row|rows}, drawn evenly.",
            told=told,
            rows=len(known[0]),
        )

    def widths_in_table(
        self, level: float, numbers: Floats, attributes: Attributes, settings: Settings
    ) -> Floats | None:
        """Return half the width to which the best attacker tells 90 % of some numbers.

        Like `in_table`, it is for the custodian alone.

        Parameters
        ----------
        numbers
            What the attacker knows the distribution of: the attributes' numbers, or what is left
            of them once everything known beforehand is taken off, NaN where missing, shape (N, n).

        Returns
        -------
        numpy.ndarray or None
            Shape (N,); None where the mechanism does not protect numbers by noise.
        """
        law = self.noise_law(level, attributes, settings)
        return None if law is None else widths_with(numbers, law)

    @abstractmethod
    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return what the recipient is told."""

    @abstractmethod
    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released file against the true table, independently of the keys."""

    def check_pair(
        self, one: Released, other: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases is a garbling of the other."""
        if self.trust(one.level) < self.trust(other.level):
            one, other = other, one
        return self.check_garbling(one, other, attributes, settings)

    @abstractmethod
    def check_garbling(
        self, upper: Released, lower: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the less trusted of two releases, `lower`, is a garbling of `upper`."""


class GroupProtection(Mechanism):
    """A mechanism that protects small groups of records, at a price for those who count."""

    needs_groups = True

    @abstractmethod
    def rows_to_draw(self, request: ReleaseRequest, context: Context) -> GroupRows:
        """Return the rows of a request whose release is drawn from their whole groups.

        The request may hold any part of the groups.
        """

    @abstractmethod
    def dealt(self, rows: GroupRows, attributes: Attributes, settings: Settings) -> GroupAssignment:
        """Draw from groups, all of whose rows are given, and deal out what is drawn.

        A release of any part of them is made with the outcome (`EncodedColumn.dealt`).
        """

    @abstractmethod
    def count_errors(
        self, grouped: GroupedValues, start: RiskSetting, context: Context
    ) -> tuple[QueryPoint, ...]:
        """Return how far off counts from plain and from protected releases are.

        Parameters
        ----------
        grouped
            The groups with their true values.
        start
            What is asked; p, ε, δ and the number of records are moved one at a time.
        context
            Progress and cancelling.

        Raises
        ------
        EstimationError
            If no query is answered by enough records.
        """

    @abstractmethod
    def mode_costs(
        self, grouped: GroupedValues, settings: Settings, context: Context
    ) -> tuple[ModeCost, ...]:
        """Return how far off counts are without protection, and by each mode of it.

        Raises `EstimationError` if no query is answered by enough records.
        """
