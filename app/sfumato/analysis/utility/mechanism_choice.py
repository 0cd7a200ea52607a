"""Which mechanism is worth most to a recipient, of those that keep what is stated.

Mechanisms are compared at one ε, that of the unit of protection: what the recipient's level for
the entry comes to, or another entry's where this one has none, or else a typical recipient's.
Where a mechanism promises something else (Gaussian noise bounds nobody's odds), its typical level
is compared, and both promises stand beside both figures. A limit that is stated for the columns
is kept: then only mechanisms that keep it are recommended.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from sfumato.analysis.utility.worth_figures import (
    RecordsBehind,
    records_behind,
    records_behind_parts,
    worth_at_level,
)
from sfumato.engine.core.errors import LevelError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.matrices.worth import USEFUL, design_effect
from sfumato.engine.mechanisms import (
    all_mechanisms,
    mechanism_called,
    recommended,
)
from sfumato.engine.mechanisms.base import Mechanism, Settings, Statement
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute, measured_rows
from sfumato.project.document.edits import needs_domain
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from sfumato.project.document.promised import epsilon_for, least_promised, place_of, typical_epsilon
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.table_survey import Survey

LARGEST_SOLVED: Final = 1_000
"""Of larger domains mechanisms are not compared: some solve a program for their settings."""
MANY_NUMBERS: Final = 50_000
"""Of more numbers, as many are looked at, evenly spaced, where many levels are tried."""
_NOTICEABLE: Final = 1.01
"""What is worth hardly more is not preferred to a mechanism that comes before it."""


def in_records(records: float) -> Sentence:
    """Return a number of true records, rounded down."""
    if records < 1.0:
        return Sentence("less than one true record")
    return Sentence("{count:,} true {count:record|records}", count=whole_records(records))


def whole_records(records: float) -> int:
    """Round a number of true records down, as it is told everywhere."""
    return math.floor(records * (1.0 + 1e-9))


@dataclass(frozen=True)
class WeighedColumns:
    """The attributes of an entry, with what is needed to weigh them at any level.

    Parameters
    ----------
    attributes, behind, once
        As for `worth_at_level`.
    rows
        How many rows share the level that is stated.
    bears
        The least ε that anyone is promised, of which what is measured takes a part.
    """

    attributes: tuple[Attribute, ...]
    behind: RecordsBehind
    once: bool = False
    rows: int = 1
    bears: float = math.inf
    _first: dict[tuple[str, bool], Settings] = field(
        default_factory=dict, compare=False, repr=False
    )

    @classmethod
    def of(
        cls, attributes: Sequence[Attribute], behind: RecordsBehind, unit: Unit | None
    ) -> WeighedColumns:
        """Return them as they are drawn where rows belong to units, or stand alone."""
        names = [one.name for one in attributes]
        once = unit is not None and unit.draws_once(names)
        return cls(tuple(attributes), behind, once, 1 if unit is None else unit.sharing(names))

    def worth(self, mechanism: Mechanism, stated: float, settings: Settings) -> float:
        """Return what the least of the columns is worth at a level that all rows share."""
        level = stated
        if self.rows > 1:
            level = mechanism.shared(stated, self.rows, self.attributes, settings)
        found = worth_at_level(
            mechanism, level, self.attributes, settings, self.behind, once=self.once
        )
        return 0.0 if found is None else min(each.records for each in found)

    def first_settings(self, mechanism: Mechanism, noise: KeyedNoise | None) -> Settings:
        """Return what a mechanism would begin with; measured once, however often it is asked."""
        asked = mechanism.name, noise is not None
        known = self._first.get(asked)
        if known is None:
            known = mechanism.default_settings(self.attributes)
            if mechanism.completes_settings and noise is not None:
                known = mechanism.first_settings(self.attributes, noise, self.bears)
            mechanism.check_settings(self.attributes, known)
            self._first[asked] = known
        return known

    def thinned(self) -> WeighedColumns:
        """Return the same with fewer numbers, evenly spaced: many levels are tried."""
        numbers, attributes, behind = self.attributes[0].numbers, self.attributes, self.behind
        if numbers is None or len(numbers) <= MANY_NUMBERS:
            return self
        every = slice(None, None, 1 + len(numbers) // MANY_NUMBERS)
        if self.once:  # one row tells all of a unit
            attributes = tuple(measured_rows(attributes)[0])
            behind = replace(behind, rows=None, units=None)
        elif behind.rows is not None and behind.units is not None:
            true = numbers[behind.rows]
            known = np.isfinite(true)
            alike = design_effect(true[known], behind.units[known])
            behind = replace(behind, rows=None, units=None, alike=alike)
        # What is measured is of all rows that may be measured: those of units stay, and are asked
        # once. Without them settings would be bounded for single rows alone.
        some = tuple(
            replace(one, numbers=None if one.numbers is None else one.numbers[every])
            for one in attributes
        )
        return WeighedColumns(some, behind, self.once, self.rows)


@dataclass(frozen=True)
class MechanismOption:
    """What one mechanism would be worth.

    Parameters
    ----------
    mechanism
        Its name.
    statement
        The level it is compared at.
    records
        What the least of the columns is worth to the recipient then, N.
    keeps
        Whether it keeps the ε at which mechanisms are compared.
    settings
        What it would begin with.
    problem
        Why it can't be stated at this level; empty where it can.
    """

    mechanism: str
    statement: Mapping[str, float]
    records: float
    keeps: bool
    settings: Settings = field(repr=False)
    problem: str = ""

    @property
    def title(self) -> Sentence:
        """The mechanism's name, as people read it."""
        return Sentence(mechanism_called(self.mechanism).title)

    @property
    def counts_only(self) -> bool:
        """Whether nothing but counting can be done with its release."""
        return mechanism_called(self.mechanism).counts_only

    @property
    def sentence(self) -> Sentence:
        """What it would be worth, with what it promises."""
        if self.problem:
            return Sentence("{mechanism}: {why}", mechanism=self.title, why=self.problem)
        words = "{mechanism} ({promise}): worth {records}."
        return Sentence(
            words, mechanism=self.title, promise=self.promise, records=in_records(self.records)
        )

    @property
    def promise(self) -> Sentence:
        """The level it is compared at, in words."""
        name, value = next(iter(self.statement.items()))
        title = name
        for term in mechanism_called(self.mechanism).terms:
            title = next((one.title for one in term.fields if one.name == name), title)
        words = "{name} = {value:.3g}" if self.keeps else "{name} = {value:.3g}, bounding no odds"
        return Sentence(words, name=Sentence(title), value=value)


@dataclass(frozen=True)
class MechanismChoice:
    """What each mechanism would be worth to a recipient, and which is recommended.

    Parameters
    ----------
    columns
        The entry's columns, or the column that has none.
    recipient
        To whom; empty where a typical one was taken.
    epsilon
        The ε that all keep which bound anyone's odds.
    stated
        Whether it was stated for the columns; else it is what the recipient is trusted with
        elsewhere, or a typical recipient's.
    unit
        What the ε is of: the unit's name, or empty for a row.
    options
        Those that serve the columns, in the order in which mechanisms are offered.
    fallback
        What is recommended where nothing could be weighed, and why.
    """

    columns: tuple[str, ...]
    recipient: str
    epsilon: float
    stated: bool
    unit: str = ""
    options: tuple[MechanismOption, ...] = ()
    fallback: tuple[str, str] = ("", "")

    @cached_property
    def best(self) -> MechanismOption | None:
        """The one worth most; where a limit is stated, of those that keep it.

        One that serves counting alone only where it recommends itself: figures are all about it.
        """
        possible = [
            one
            for one in self.options
            if not one.problem and (not one.counts_only or self.fallback[0] == one.mechanism)
        ]
        best = most_worth([one for one in possible if one.keeps])
        if self.stated and best is not None:
            return best
        other = most_worth([one for one in possible if not one.keeps])
        if best is None or other is None:
            return best or other
        # A bound on anyone's odds is given up only where nothing useful keeps one.
        return other if best.records < USEFUL <= other.records else best

    def option(self, mechanism: str) -> MechanismOption | None:
        """Return what a mechanism would be worth; None where it was not weighed."""
        return next((one for one in self.options if one.mechanism == mechanism), None)

    @property
    def recommended(self) -> tuple[str, str]:
        """The mechanism that is recommended, and why, in a sentence; both empty without one."""
        best = self.best
        if best is None:
            return self.fallback
        why = joined(self.fallback[1], self.sentence) if best.counts_only else self.sentence
        return best.mechanism, why

    @property
    def sentence(self) -> Sentence:
        """Every figure in true records, beside what is promised for it."""
        if len(self.options) < 2:
            return Sentence("{told}", told=joined(*(one.sentence for one in self.options)))
        head = Sentence("With ε = {epsilon:.3g} for a row, in true records:", epsilon=self.epsilon)
        if self.unit:
            words = "With ε = {epsilon:.3g} for all rows with the same {unit}, in true records:"
            head = Sentence(words, epsilon=self.epsilon, unit=self.unit)
        told: list[str] = [head, *(self._figure(one) for one in _best_first(self.options))]
        if len({one.keeps for one in self.options}) > 1:
            words = "They promise different things, so the figures are not of one price."
            told.append(Sentence(words))
        return Sentence("{told}", told=joined(*told))

    def _figure(self, option: MechanismOption) -> Sentence:
        """Return what one mechanism is worth, with its promise where that is another one."""
        if option.problem:
            return option.sentence
        own = option.statement.get("epsilon") != self.epsilon
        words = "{mechanism} ({promise}): worth {records:,.0f}." if own else ""
        return Sentence(
            words or "{mechanism}: worth {records:,.0f}.",
            mechanism=option.title,
            promise=option.promise,
            records=math.floor(option.records * (1.0 + 1e-9)),
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        name, why = self.recommended
        return {
            "columns": list(self.columns),
            "recipient": self.recipient,
            "epsilon": self.epsilon,
            "stated": self.stated,
            "unit": self.unit,
            "recommended": name,
            "words": str(why),
            "mechanisms": [
                {
                    "mechanism": one.mechanism,
                    "level": dict(one.statement),
                    "worth": round(one.records, 3),
                    "keeps_epsilon": one.keeps,
                    "problem": str(one.problem),
                    "words": str(one.sentence),
                }
                for one in _best_first(self.options)
            ],
        }


def most_worth(options: Sequence[MechanismOption]) -> MechanismOption | None:
    """Return the one worth most; of those that are worth about the same, the first."""
    most = max((one.records for one in options), default=0.0)
    return next((one for one in options if one.records * _NOTICEABLE >= most), None)


def _best_first(options: Sequence[MechanismOption]) -> list[MechanismOption]:
    return sorted(options, key=lambda one: -one.records)


def compare_mechanisms(
    document: Document,
    attributes: Sequence[Attribute],
    recipient: Recipient | None,
    behind: RecordsBehind,
    noise: KeyedNoise | None,
    known: Mapping[str, Attribute] | None = None,
    only: str = "",
) -> MechanismChoice:
    """Return what each mechanism that serves some columns would be worth to a recipient.

    Parameters
    ----------
    document
        What is decided.
    attributes
        The columns that are protected together, with their hierarchies.
    recipient
        To whom; None for a typical trusted partner.
    behind
        How many records stand behind what is estimated.
    noise
        What mechanisms measure their settings with; None where those that need some are left out.
    known
        The policy's attributes by name, whose levels say how far the recipient is trusted.
    only
        The mechanism that is weighed, where others are not asked for.
    """
    names = tuple(one.name for one in attributes)
    entry = next((one for one in document.policy if set(one.attributes) == set(names)), None)
    epsilon, stated = epsilon_for(document, entry, recipient, known or {}, attributes)
    unit = document.unit
    weighed = WeighedColumns.of(attributes, behind, unit).thinned()
    weighed = replace(weighed, bears=least_promised(document, attributes, known or {}))
    place = 0 if recipient is None else place_of(document, recipient)
    options = tuple(options_for(weighed, epsilon, noise, entry, place, only))
    return MechanismChoice(
        names,
        "" if recipient is None else recipient.name,
        epsilon,
        stated,
        "" if unit is None else unit.name,
        options,
        recommended(tuple(attributes)),
    )


def options_for(
    weighed: WeighedColumns,
    epsilon: float,
    noise: KeyedNoise | None,
    entry: PolicyEntry | None = None,
    place: int = 0,
    only: str = "",
) -> Iterator[MechanismOption]:
    """Yield what each mechanism is worth at an ε, or at what is typical where it bounds none.

    Parameters
    ----------
    weighed, noise
        The columns, and what settings are measured with.
    epsilon
        The unit's ε.
    entry
        What protects them now, with its settings; None where nothing does.
    place
        Of the recipient among all, the most trusted being 0.
    only
        The mechanism that is weighed, where others are not asked for.
    """
    domain = combined(weighed.attributes).domain
    if domain is not None and domain.size > LARGEST_SOLVED:
        return
    for mechanism in all_mechanisms().values():
        if only not in ("", mechanism.name):
            continue
        if mechanism.needs_groups or not mechanism.serves(weighed.attributes):
            continue
        keeps = any(term.name == "epsilon" for term in mechanism.terms)
        typical = mechanism.typical_statements
        if not keeps and not typical:
            continue
        statement = {"epsilon": epsilon} if keeps else typical[min(place, len(typical) - 1)]
        with suppress(SfumatoError):  # it can't serve these columns
            if entry is not None and entry.mechanism == mechanism.name:
                settings = entry.settings
            else:
                settings = weighed.first_settings(mechanism, noise)
                settings = mechanism.suited(weighed.attributes, settings, epsilon)
            yield _option(weighed, mechanism, statement, settings, keeps)


def _option(
    weighed: WeighedColumns,
    mechanism: Mechanism,
    statement: Statement,
    settings: Settings,
    keeps: bool,
) -> MechanismOption:
    """Return what a mechanism is worth at a level, or no more than its own limits allow."""
    chosen = weighed.attributes
    try:
        level = mechanism.level(statement, chosen, settings)
        if (most := mechanism.most_within_limits(chosen, settings)) < level:
            level = most
            statement = mechanism.restate(level, chosen, settings)["epsilon"]
        records = weighed.worth(mechanism, level, settings)
    except LevelError as error:
        return MechanismOption(mechanism.name, statement, 0.0, keeps, settings, error.sentence)
    return MechanismOption(mechanism.name, statement, records, keeps, settings)


def statements_like(
    document: Document,
    attributes: Sequence[Attribute],
    option: MechanismOption,
    known: Mapping[str, Attribute] | None = None,
) -> dict[str, Statement]:
    """Return every recipient's level for columns that nothing protects yet, as it was compared.

    Parameters
    ----------
    document, attributes, known
        As for `compare_mechanisms`.
    option
        The mechanism that is chosen.
    """
    found: dict[str, Statement] = {}
    typical = mechanism_called(option.mechanism).typical_statements
    for place, recipient in enumerate(document.recipients):
        epsilon, _ = epsilon_for(document, None, recipient, known or {}, attributes)
        if option.keeps and (epsilon != typical_epsilon(place) or not typical):
            found[recipient.name] = {"epsilon": epsilon}
        elif typical:
            found[recipient.name] = dict(typical[min(place, len(typical) - 1)])
    return found


def behind_source(
    document: Document, source: Survey, keys: KeyRing, context: Context
) -> RecordsBehind:
    """Return how many records stand behind estimates from releases of a source.

    Raises
    ------
    SfumatoError
        If a row's unit is missing, or weights say nothing.
    """
    if source.sample.rows == source.rows:
        return records_behind(document, source.sample)
    rows = leaving_rows(source.table, document, keys, context)
    return records_behind_parts(document, rows, source.sample)


def choices_of(
    document: Document,
    source: Survey,
    keys: KeyRing,
    recipients: Sequence[Recipient],
    context: Context,
    columns: Container[str] | None = None,
) -> Iterator[MechanismChoice]:
    """Yield what mechanisms would be worth for all that is protected, and all that is not yet.

    Parameters
    ----------
    document, source, keys
        What is decided, the rows, and what decides which rows of a unit leave.
    recipients
        To whom; none for a typical one.
    context
        Progress and cancelling.
    columns
        Which are asked about; None for all.

    Raises
    ------
    SfumatoError
        If a column's values don't fit.
    """
    known: dict[str, Attribute] = {}
    protected = {name for one in document.policy for name in one.attributes}
    entries = [one.attributes for one in document.policy]
    entries += [(one.name,) for one in document.sensitive if one.name not in protected]
    for name in (name for names in entries for name in names):
        spec = document.column(name)
        spec = source.with_domain(spec) if needs_domain(spec) else spec
        known[name] = source.attribute(spec, document.unit, Part(context, 0.0, 0.3))
    behind = behind_source(document, source, keys, Part(context, 0.3, 0.5))
    noise, whom = KeyedNoise(keys), list[Recipient | None](recipients) or [None]
    recipes = document.hierarchies
    asked = [names for names in entries if columns is None or names[0] in columns]
    for names, part in one_by_one(Part(context, 0.5, 1.0), asked):
        part.report(0.0, Sentence("Comparing what protects {names}", names=listed(names)))
        chosen = [replace(known[name], hierarchy=recipes.get(name)) for name in names]
        for recipient in whom:
            yield compare_mechanisms(document, chosen, recipient, behind, noise, known)
