"""The best matrix within per-value limits, offered in the place of the retention probabilities.

It becomes an entry of any matrix, with a ladder of its own. Both gains are told, records that keep
their value and what shares are worth, for the matrix may keep more and tell less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from sfumato.analysis.utility.mechanism_choice import WeighedColumns, in_records
from sfumato.analysis.utility.worth_figures import RecordsBehind
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.mechanisms.adoption import adopted_in, on_no_ladder
from sfumato.engine.mechanisms.base import Mechanism, Settings, Statement
from sfumato.engine.mechanisms.best_matrix import best_matrix
from sfumato.engine.mechanisms.frequency_source import FrequencySource
from sfumato.engine.mechanisms.promise_words import at_most
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry, Recipient

if TYPE_CHECKING:
    from sfumato.engine.mechanisms.per_value import PerValueLimits

_MOST_NAMED: Final = 5
_MORE: Final = 1.01
"""Odds that grow by less than that are alike."""
_OWN_TERMS: Final = ({"trust_factor"}, {"retention_probability"})
"""Levels that are stated in what means something else for a matrix."""


@dataclass(frozen=True)
class Kept:
    """What the top rung of a ladder keeps.

    Parameters
    ----------
    share
        The expected share of records that keep their value.
    records
        What estimated shares are worth, in true records.
    untold
        The values that estimates can't tell apart.
    odds
        The most by which it multiplies anyone's odds on a value.
    """

    share: float
    records: float
    untold: tuple[str, ...]
    odds: float

    def plain(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        worth = {"records_kept": self.share, "worth": self.records}
        return {**worth, "not_told_apart": list(self.untold), "odds_factor": self.odds}


@dataclass(frozen=True)
class BestMatrixOffer:
    """The best matrix within the limits of an entry, beside what is in force.

    Parameters
    ----------
    document
        With the matrix in the place of the retention probabilities.
    key
        The entry's key.
    before, after
        What the tops of both ladders keep.
    """

    document: Document
    key: str
    before: Kept
    after: Kept

    @property
    def sentence(self) -> Sentence:
        """Both gains, and what speaks against it."""
        told = [
            Sentence(
                "With the retention probabilities in force, {before:.1%} of the records keep their"
                " value (worth {worth_before}); with the best matrix within the limits,"
                " {after:.1%} do (worth {worth_after}).",
                before=self.before.share,
                after=self.after.share,
                worth_before=in_records(self.before.records),
                worth_after=in_records(self.after.records),
            )
        ]
        if untold := self.after.untold:
            more = len(untold) - _MOST_NAMED
            named = [*untold[:_MOST_NAMED], *([Sentence("others")] if more > 0 else [])]
            words = "Estimates from this matrix can't tell these values apart: {named}."
            told.append(Sentence(words, named=listed(named)))
        if self.after.odds > _MORE * self.before.odds:
            words = (
                "In return, anyone's odds on a value are multiplied by up to {after}, as far as no"
                " limit forbids it; with the retention probabilities, by up to {before}."
            )
            after, before = at_most(self.after.odds), at_most(self.before.odds)
            told.append(Sentence(words, after=after, before=before))
        if self.after.records < self.before.records:
            words = "For counting, the retention probabilities in force are the better choice."
            told.append(Sentence(words))
        return joined(*told)

    @property
    def about_levels(self) -> Sentence:
        """What becomes of recipients' levels."""
        return Sentence(
            "The top of the ladder is the matrix itself. Other recipients keep their level or get"
            " the nearest one below it whose largest odds factor is no greater than before."
        )

    def plain(self) -> dict[str, Any]:
        """Return it as plain JSON values."""
        return {"before": self.before.plain(), "after": self.after.plain()}


def offer_best_matrix(
    document: Document, entry: PolicyEntry, attribute: Attribute, behind: RecordsBehind
) -> BestMatrixOffer:
    """Return the best matrix within an entry's limits, as what would take its place.

    Parameters
    ----------
    document, entry
        The policy, and the entry of per-value limits.
    attribute
        What it protects.
    behind
        How many records stand behind estimates.

    Raises
    ------
    PolicyError
        If the entry states no limits of values, an earlier release was adopted for it, or its
        frequencies were measured in the table.
    LevelError
        If there are too many values.
    """
    from sfumato.engine.mechanisms.matrix import MECHANISM as ANY_MATRIX  # noqa: PLC0415

    _refuse(entry)
    attributes, settings = (attribute,), entry.settings
    mechanism = _per_value()
    solved = mechanism.solved(attributes, settings)
    shares = mechanism.frequencies(settings).of(attribute)
    matrix = best_matrix(shares, solved.gammas, solved.mode)
    made = replace(entry, mechanism=ANY_MATRIX.name, settings={"entries": matrix.tolist()})
    weighed = WeighedColumns.of(attributes, behind, document.unit)
    recipients = [
        _restated(recipient, entry.key, attribute, settings, made.settings)
        for recipient in document.recipients
    ]
    policy = tuple(made if each is entry else each for each in document.policy)
    return BestMatrixOffer(
        replace(document, policy=policy, recipients=tuple(recipients)),
        entry.key,
        _kept(mechanism, weighed, mechanism.most_within_limits(attributes, settings), settings),
        _kept(ANY_MATRIX, weighed, 1.0, made.settings),
    )


def _per_value() -> PerValueLimits:
    """Return the mechanism whose limits a matrix is sought within; others do without it."""
    from sfumato.engine.mechanisms.per_value import MECHANISM  # noqa: PLC0415

    return MECHANISM


def _refuse(entry: PolicyEntry) -> None:
    if entry.mechanism != _per_value().name:
        raise PolicyError(
            "{columns} has no limits of single values, within which a matrix could be the best.",
            "Protect it by per-value limits first.",
            columns=entry.key,
        )
    if adopted_in(entry.settings):
        raise on_no_ladder(entry.key)
    source = _per_value().frequencies(entry.settings).source
    if source not in (FrequencySource.EQUAL, FrequencySource.STATED):
        raise PolicyError(
            "The best matrix would give away counts of {columns} that its promise does not"
            " include: the frequencies were measured in the table.",
            "Let all values count the same, or state shares that are known without the table.",
            columns=entry.key,
        )


def _kept(mechanism: Mechanism, weighed: WeighedColumns, level: float, settings: Settings) -> Kept:
    """Return what a level keeps that all rows of a unit share."""
    attributes = weighed.attributes
    own = level
    if weighed.rows > 1:
        own = mechanism.shared(level, weighed.rows, attributes, settings)
    matrix = mechanism.matrix(own, attributes, settings)
    assert matrix is not None
    names = _per_value().domain_of(attributes).names
    return Kept(
        float(attributes[0].frequencies @ matrix.diagonal),
        weighed.worth(mechanism, level, settings),
        tuple(names[place] for place in np.asarray(matrix.untold)),
        float(matrix.gamma),
    )


def _statement(
    stated: Statement, attribute: Attribute, before: Settings, after: Settings
) -> Statement:
    """Return the level of the matrix that is nearest to a level, and not above it.

    Whoever gets all that the limits allow gets the matrix itself. Terms that mean the same of any
    matrix stay.
    """
    from sfumato.engine.mechanisms.matrix import MECHANISM as ANY_MATRIX  # noqa: PLC0415

    if set(stated) not in _OWN_TERMS:
        return stated
    attributes = (attribute,)
    level = _per_value().level(stated, attributes, before)
    most = _per_value().most_within_limits(attributes, before)
    if level >= most:
        return {"trust_factor": 1.0}
    gamma = _per_value().matrix(level, attributes, before).gamma
    factor = min(level / most, ANY_MATRIX.level_within(gamma, attributes, after))
    rounded = round(factor, 3)
    return {"trust_factor": rounded if rounded <= factor else round(rounded - 0.001, 3)}


def _restated(
    recipient: Recipient, key: str, attribute: Attribute, before: Settings, after: Settings
) -> Recipient:
    """Return a recipient whose level, where one is stated, is that of the matrix."""
    if (stated := recipient.statements.get(key)) is None:
        return recipient
    statement = _statement(stated, attribute, before, after)
    return replace(recipient, statements={**recipient.statements, key: statement})
