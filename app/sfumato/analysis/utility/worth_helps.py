"""What would make a column worth more: another level, or another mechanism at the same ε."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from sfumato.analysis.utility.mechanism_choice import (
    MechanismOption,
    WeighedColumns,
    in_records,
    most_worth,
    options_for,
)
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.worth import USEFUL, least_reaching
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, Settings, Statement
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import PolicyEntry

_LEAST_TRUST: Final = 1e-6
_HALVINGS: Final = 40


@dataclass(frozen=True)
class Help:
    """What would make a column worth more.

    Parameters
    ----------
    mechanism
        Whose release it would be.
    level
        How the level is stated at which it would be; empty where there is none.
    records
        What it would be worth.
    sentence
        Both, in words.
    """

    mechanism: str
    level: Mapping[str, float]
    records: float
    sentence: str


def helps_for(
    weighed: WeighedColumns,
    entry: PolicyEntry,
    statement: Statement,
    records: float,
    noise: KeyedNoise | None,
) -> Iterator[Help]:
    """Yield the level that would be worth enough, and a mechanism that is worth more.

    Parameters
    ----------
    weighed, entry
        The columns, thinned, and what protects them.
    statement, records
        How the level is stated now, and what the least of the columns is worth.
    noise
        What other mechanisms measure their settings with; None where those that need some are
        not tried.
    """
    with suppress(SfumatoError):
        yield _level(weighed, entry, statement)
    best = most_worth(tuple(_rivals(weighed, entry, statement, noise)))
    if best is not None and best.records > max(1.0, 1.1 * records):
        words = "{mechanism} with the same ε would be worth {records}."
        told = Sentence(words, mechanism=best.title, records=in_records(best.records))
        yield Help(best.mechanism, best.statement, best.records, told)


def _level(weighed: WeighedColumns, entry: PolicyEntry, statement: Statement) -> Help:
    """Return the least trusted level at which the columns are worth 100 records."""
    mechanism, settings = mechanism_called(entry.mechanism), entry.settings

    def worth_at(trust: float) -> float:
        try:
            return weighed.worth(mechanism, mechanism.level_at(trust), settings)
        except SfumatoError:
            return 0.0  # beyond the levels that there are

    def worth_stated(one: Statement) -> float:
        with suppress(SfumatoError):
            return weighed.worth(
                mechanism, mechanism.level(one, weighed.attributes, settings), settings
            )
        return 0.0

    most = _most_trust(weighed, mechanism, settings, statement)
    found = least_reaching(USEFUL, lambda part: worth_at(part * most), _LEAST_TRUST)
    if found is None:
        words = "At no level would it be worth {wanted:.0f}."
        return Help(mechanism.name, {}, worth_at(most), Sentence(words, wanted=USEFUL))
    level = mechanism.level_at(found * most)
    stated = _stated(mechanism, level, weighed.attributes, settings, statement)
    stated = _rounded(stated, lambda one: worth_stated(one) >= USEFUL)
    name, value = list(stated.items())[-1]
    words = "At {name} = {value:.3g} it would be worth about {wanted:.0f}."
    title = next(
        each.title for term in mechanism.terms for each in term.fields if each.name == name
    )
    told = Sentence(words, name=Sentence(title), value=value, wanted=USEFUL)
    return Help(mechanism.name, stated, USEFUL, told)


def _rounded(statement: Statement, enough: Callable[[Statement], bool]) -> Statement:
    """Return a level in three digits that is still enough; as it is where there is none."""
    name, value = list(statement.items())[-1]
    if not value:
        return statement
    digit = 10.0 ** (math.floor(math.log10(abs(value))) - 2)
    for places in (0, 1, -1):
        rounded = {**statement, name: float(f"{value + places * digit:.3g}")}
        if enough(rounded):
            return rounded
    return statement


def _most_trust(
    weighed: WeighedColumns, mechanism: Mechanism, settings: Settings, like: Statement
) -> float:
    """Return the highest trust, up to 1, whose level can be stated with these settings.

    Levels that promise nothing are none: true values would be worth as much. Settings can allow
    less than that, as those of groups that are protected up to a level do.
    """

    def holds(trust: float) -> bool:
        with suppress(SfumatoError):
            level = mechanism.level_at(trust)
            stated = _stated(mechanism, level, weighed.attributes, settings, like)
            mechanism.level(stated, weighed.attributes, settings)
            weighed.worth(mechanism, level, settings)
            odds = mechanism.odds_factor(level, weighed.attributes, settings)
            return odds is None or math.isfinite(odds)
        return False

    for most in (1.0, 1.0 - 1e-15, 1.0 - 1e-9, 0.999, 0.99):
        if holds(most):
            return most
    low, high = _LEAST_TRUST, 0.99
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low


def _rivals(
    weighed: WeighedColumns, entry: PolicyEntry, statement: Statement, noise: KeyedNoise | None
) -> Iterator[MechanismOption]:
    """Yield what other mechanisms are worth at the same ε."""
    own = mechanism_called(entry.mechanism)
    level = own.level(statement, weighed.attributes, entry.settings)
    told = own.restate(level, weighed.attributes, entry.settings).get("epsilon")
    if told is None or not math.isfinite(told["epsilon"]) or own.needs_groups:
        return
    for option in options_for(weighed, told["epsilon"], noise):
        if option.keeps and not option.problem and option.mechanism != own.name:
            yield option


def _stated(
    mechanism: Mechanism,
    level: float,
    attributes: Sequence[Attribute],
    settings: Settings,
    like: Statement,
) -> Statement:
    """Return a level as ε where the mechanism knows it, else as the recipient's is stated."""
    restated = mechanism.restate(level, attributes, settings)
    if "epsilon" in restated and math.isfinite(restated["epsilon"].get("epsilon", math.inf)):
        return restated["epsilon"]
    for statement in restated.values():
        if set(statement) == set(like):
            return statement
    return next(iter(restated.values()))
