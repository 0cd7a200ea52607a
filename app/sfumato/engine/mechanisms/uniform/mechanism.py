"""The uniform ladder: keep a value with probability p, otherwise replace it by any value.

Xiao, Tao and Chen, "Optimal Random Perturbation at Multiple Privacy Levels", VLDB 2009. The
level is the retention probability p: 1 is the original, 0 is noise.

*Releases that were made elsewhere* are known rungs of the ladder (`release_between`).

Between two adjacent known rungs, the upper one showing `a` at level u and the lower one `b` at
level w, a record's replacements are a Poisson process of rate 1 in ``-ln p`` that is known by
its ends alone. Let r = w/u be the chance that a value survives the whole stretch.

* If a = b, no replacement happened at all with chance ``r / (r + (1 - r)/m)``: by replacements,
  m values can come out evenly, and b is one of them. If a ≠ b, there was one.
* If there was one, the lowest of them put b in. The distance of the lowest point of the process
  from the lower end, given that there is a point, is exponential, cut off at the upper end: it
  lies at level p or above with chance ``t(p) = (w/p - w/u) / (1 - w/u)``.
* Above that point the process knows nothing of b: it is the ordinary ladder that begins with a
  at level u.

So a record shows, at a level p between them, b where its lowest replacement lies at p or above,
and else what the ordinary ladder makes of a at the retention probability p/u. These are exactly
the three faces of the coin that *multi-pert* tosses (Xiao, Tao and Chen, VLDB 2009, equations
3 and 4): for a ≠ b, t(p) is their v and (1 - t(p))·p/u their u. But here all levels of a stretch
share the record's draws, so that a release is a pure function of key, record, true value and
level, whatever was released before it, and no history has to be kept.

Given its neighbours a stretch does not depend on what lies outside it, so every stretch has a
key of its own. The original is the known rung of level 1; below the lowest known rung the
ordinary ladder goes on from what that one shows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import field
from fractions import Fraction
from functools import partial
from typing import Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Words
from sfumato.engine.core.wording import Sentence, formatted, share_in_words
from sfumato.engine.ladders.uniform import check_level, release_codes
from sfumato.engine.ladders.uniform_cells import WORD, RecordDraws
from sfumato.engine.matrices.privacy import check_retention
from sfumato.engine.matrices.retention_matrix import (
    RetentionMatrix,
    uniform_epsilon,
    uniform_matrix,
)
from sfumato.engine.mechanisms.adoption import (
    ADOPTED_SPEC,
    adopted_identity,
    check_adopted_rows,
    check_adopted_settings,
    release_by_coverage,
    rungs_in,
)
from sfumato.engine.mechanisms.base import (
    PromiseFigure,
    PublishedFacts,
    ReleaseRequest,
    Settings,
)
from sfumato.engine.mechanisms.categorical import CategoricalMechanism, domain_parameters
from sfumato.engine.mechanisms.promise_words import all_told, at_most, nothing_told
from sfumato.engine.mechanisms.uniform.adoption import UniformAdopting, check_adopted_retention
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.table import Attributes

TILE: Final = 1 << 16
"""How many records are worked on at once. The release does not depend on it."""

_ENDS: Final = 0
"""The stream that tells whether a stretch holds a replacement, and where the lowest lies."""


@dataclass(frozen=True)
class KnownRung:
    """What the records show at a level, as it was released elsewhere.

    Parameters
    ----------
    level
        Its retention probability, between 0 and 1.
    codes
        What it shows, shape (n,).
    """

    level: float
    codes: Codes = field(repr=False)


@dataclass(frozen=True)
class Thresholds:
    """The words that decide what a record shows between two known rungs, of 2^64.

    Parameters
    ----------
    unmoved
        Where both rungs show one value, a first word below this means that it was never
        replaced between them.
    below
        Where it was replaced, a second word below this means that the lowest replacement lies
        at the level of the release or above it, so that the release shows the lower rung.
    """

    unmoved: int
    below: int


def thresholds_between(level: float, upper: float, lower: float, size: int) -> Thresholds:
    """Return what decides at a level between two known ones.

    Both are within 2^-64 of the exact chance, on the side that shows less: records are never
    left unmoved more often, and show the lower rung never less often, than they should.

    Parameters
    ----------
    level, upper, lower
        Retention probabilities, ``lower < level < upper``.
    size
        The number of values in the domain, m.
    """
    p, u, w = Fraction(level), Fraction(upper), Fraction(lower)
    survival = w / u
    unmoved = survival / (survival + (1 - survival) / size)
    below = (w / p - survival) / (1 - survival)
    return Thresholds(int(unmoved * WORD), -int(-below * WORD // 1))


def relative_level(level: float, upper: float) -> float:
    """Return the retention probability p/u between two levels, rounded down."""
    ratio = level / upper
    if Fraction(ratio) * Fraction(upper) > Fraction(level):
        ratio = float(np.nextafter(ratio, 0.0))
    return ratio


def release_between(
    codes: Codes,
    size: int,
    level: float,
    record_ids: Words,
    key_of: Callable[[str], AttributeKey],
    known: Sequence[KnownRung],
    context: Context,
) -> Codes:
    """Return an attribute's codes as they are released at one level of a ladder with known rungs.

    Parameters
    ----------
    codes
        The true values, shape (n,).
    size
        The number of values in the domain, m.
    level
        The retention probability p, from 0 to 1.
    record_ids
        The records' identifiers, shape (n,).
    key_of
        Returns the key for a purpose; keys of different purposes are independent.
    known
        The adopted releases, in any order, all on one ladder with the true values.
    context
        Told of the progress; may stop the work.

    Raises
    ------
    LevelError
        If a level is not a retention probability, or two known releases of one level differ.
    ValueError
        If shapes do not fit together, or a code lies outside the domain.
    """
    check_level(level)
    rungs = [KnownRung(1.0, codes), *_sorted(codes, size, known)]
    upper = [rung for rung in rungs if rung.level >= level][-1]
    lower = next((rung for rung in rungs if rung.level < level), None)
    if upper.level == level:
        context.report(1.0, "Releasing")
        return upper.codes.copy()
    shown = release_codes(
        codes,
        size,
        relative_level(level, upper.level),
        record_ids,
        key_of(f"below {float(upper.level)!r}"),
        Part(context, 0.0, 0.6 if lower else 1.0),
        top=upper.codes,
    )
    if lower is not None:
        limits = thresholds_between(level, upper.level, lower.level, size)
        key = key_of(f"between {float(upper.level)!r} and {float(lower.level)!r}")
        part = Part(context, 0.6, 1.0)
        _put_lower(shown, codes, record_ids, (upper, lower), limits, key, part)
    return shown


def _sorted(codes: Codes, size: int, known: Sequence[KnownRung]) -> list[KnownRung]:
    """Return the rungs from the highest level down, each level once."""
    rungs: list[KnownRung] = []
    for rung in sorted(known, key=lambda rung: -rung.level):
        check_adopted_retention(rung.level)
        if rung.codes.shape != codes.shape or rung.codes.dtype != codes.dtype:
            raise ValueError("an adopted release does not have the table's rows or type")
        if len(codes) and int(rung.codes.max()) >= size:
            raise ValueError("a code of an adopted release lies outside the domain")
        if rungs and rungs[-1].level == rung.level:
            _refuse_different(rungs[-1], rung)
            continue
        rungs.append(rung)
    return rungs


def _refuse_different(one: KnownRung, other: KnownRung) -> None:
    differing = one.codes != other.codes
    if differing.any():
        raise LevelError(
            "Two adopted releases of the level {level:g} differ in {count:,} {count:row|rows},"
            " first in row {row:,}.",
            "A ladder has one release at a level: correct one of the levels, or adopt one of"
            " them only.",
            level=one.level,
            count=int(differing.sum()),
            row=int(differing.argmax()) + 1,
        )


def _put_lower(
    shown: Codes,
    codes: Codes,
    record_ids: Words,
    ends: tuple[KnownRung, KnownRung],
    limits: Thresholds,
    key: AttributeKey,
    context: Context,
) -> None:
    """Put into `shown` the upper or the lower rung's value where the ends decide."""
    unmoved_below = np.uint64(min(limits.unmoved, WORD - 1))
    lower_below = np.uint64(min(limits.below, WORD - 1))
    for start in range(0, len(codes), TILE):
        context.report(start / len(codes), "Fitting between adopted releases")
        part = slice(start, start + TILE)
        upper, lower, out = ends[0].codes[part], ends[1].codes[part], shown[part]
        first, second = RecordDraws(codes[part], record_ids[part], key).words(_ENDS)
        shows_lower = second < lower_below
        # Never replaced: both ends show the value, and so does every level between them.
        shows_lower |= (upper == lower) & (first < unmoved_below)
        np.copyto(out, lower, where=shows_lower)
    context.report(1.0, "Releasing")


class UniformLadder(CategoricalMechanism, UniformAdopting):
    """Uniform replacement at any retention probability, all levels on one ladder."""

    name = "uniform"
    title = "Uniform retention"
    summary = (
        "Each value is kept with a retention probability; otherwise it is replaced by one drawn"
        " evenly from the whole domain."
    )
    order = 10
    ladder = ("uniform", 1)
    settings = (ADOPTED_SPEC,)

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it where nothing is known of the values but which there are."""
        return Sentence(
            "{count:,} {count:value|values}, and one number says how far a recipient is trusted"
            " with all of them.",
            count=self.domain_of(attributes).size,
        )

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return no settings: the level says everything."""
        self.check_attributes(attributes)
        return {}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` or `LevelError` where a setting is unknown or not valid.

        The only setting there is tells of adopted releases.
        """
        self.check_attributes(attributes)
        self.check_stated(settings)
        check_adopted_settings(settings)
        for rung in rungs_in(settings):
            self.check_adopted_level(rung["level"])

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return what adopted rungs the ladder has; all levels share it."""
        self.check_settings(attributes, settings)
        adopted = adopted_identity(settings)
        return (adopted,) if adopted else ()

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, fitted between earlier releases where some were adopted."""
        self.check_settings(request.attributes, request.settings)
        check_adopted_rows(request.settings, request.adopted)
        if request.adopted:
            ladder = self.ladder_identity(request.attributes, request.settings)
            return release_by_coverage(request, partial(self._between, ladder), context)
        size, key = self.domain_of(request.attributes).size, self.key(request, self.name)
        codes, ids = self.true_codes(request), request.record_ids
        return release_codes(codes, size, request.level, ids, key, context)

    def _between(self, ladder: str, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes of records that all adopted rungs of a ladder have."""

        def key_of(purpose: str) -> AttributeKey:
            return self.key(request, json.dumps([self.name, "adopted", ladder, purpose]))

        codes, name = self.true_codes(request), request.attributes[0].name
        known = [
            KnownRung(one.level, np.asarray(one.values[name]).astype(codes.dtype, copy=False))
            for one in request.adopted
        ]
        size = self.domain_of(request.attributes).size
        return release_between(
            codes, size, request.level, request.record_ids, key_of, known, context
        )

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the perturbation matrix of a level."""
        self.check_settings(attributes, settings)
        return uniform_matrix(check_retention(level), self.domain_of(attributes).size)

    def epsilon_at(self, level: float, attributes: Attributes, settings: Settings) -> float:
        """Return ε of a level; dozens are tried where rows share one, so no matrix is made."""
        return uniform_epsilon(check_retention(level), self.domain_of(attributes).size)

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds on any value."""
        name = attributes[0].name
        if level == 1.0:
            return all_told(name)
        if level == 0.0:
            return nothing_told(name)
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies "
            "the odds by at most {gamma}.",
            name=name,
            gamma=at_most(self.odds_factor(level, attributes, settings)),
        )

    def facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the figures behind the promise, and how many records show their true value."""
        shown = PromiseFigure(
            "Pii",
            "Records that show their true value",
            float(self.matrix(level, attributes, settings).diagonal[0]),
            "Kept on purpose, or replaced by the same value by chance.",
        )
        return (*super().facts(level, attributes, settings), shown)

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, m and the domain, with the guide that estimates from them."""
        domain, gamma = (
            self.domain_of(attributes),
            self.odds_factor(level, attributes, settings),
        )
        return PublishedFacts(
            parameters={"retention_probability": level, **domain_parameters(domain, gamma)},
            guide="uniform" if level > 0.0 else "uniform-noise",
            values={
                "retention": formatted(level, ".6g"),
                "domain_size": formatted(domain.size, ","),
                "own_share": share_in_words(level + (1.0 - level) / domain.size),
                "other_share": share_in_words((1.0 - level) / domain.size),
            },
        )


MECHANISM = UniformLadder()
