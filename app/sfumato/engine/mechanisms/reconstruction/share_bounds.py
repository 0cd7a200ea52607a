"""A bound on the largest share of a value in a group, so that more of its records can be drawn.

Drawn blindly, a group of n records is prepared for any number c of them sharing a value. The more
do, the better their share is estimated: with p = 0.5, ε = 0.3, δ = 0.17 and m = 14, four draws are
all that a group may give in which one value holds everybody, and about 30 if none holds more than
40 %. Who knows a bound b on the largest share prepares a group for c = 1, …, ⌊b·n⌋ alone.

*Stated*: b is known without the table, for groups of at least so many records. A table that breaks
it is not released, so for every composition that keeps it the promise is that of blind draws.

*Measured with noise*: groups are put into classes by their size, [a, 2a) for powers of two a; group
sizes are public. With c_max the largest count of a group's values, each class has

    X = max over its groups of ⌈c_max·a/n⌉.

A record with another value moves c_max of its group, which is in one class, by at most 1, and
a/n ≤ 1, so it moves one X by at most 1: X + Z with Z of the discrete Laplace law of scale 1/ε0 is
ε0-differentially private for all classes together. With t the least whole number at which
Pr[Z < -t] ≤ β, the bound b = (X + Z + t)/a is below c_max/n with probability β at most, whatever
the groups hold. How many records are drawn follows from n and b, and which ones from chance, so
the release multiplies anyone's odds by e^ε0·γ at most (composition: Z is independent of draws).
Classes begin where a ≥ 2t: in smaller groups noise is as large as what is measured.

The failing of a bound is counted in δ. Let δ' = δ/(1 - β). A value that one draw shows with a
probability w = p·c/n + (1 - p)/m below δ' is below every bound, since none is let below that share:
for each number of draws that a bound can lead to, it keeps the promise of blind draws by itself.
For all others the sample has to keep *both* tails at δ' up to the bound, and so has the sample
that is drawn where the bound comes to 1; one draw has tails w and 1 - w. Then for every
composition each side has a probability of at least Pr[b·n ≥ c]·δ' ≥ (1 - β)·δ' = δ. A group size
for which no sample does this is drawn from as if nothing were known.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.setting_specs import (
    ChoiceSpec,
    NumberSpec,
    SettingSource,
    UncheckedSpec,
    epsilon_spec,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise, check_epsilon
from sfumato.engine.table.micro_groups import GroupCounts

FAILING: Final = 0.001
"""β: how often a measured bound may be too low."""
LEAST_MEASURED: Final = 32
"""No class of group sizes begins below."""
_HAIR: Final = 1e-9


class ShareSource(StrEnum):
    """What is known of the largest share of a value in a group."""

    NOISY = "noisy"
    """What was measured in the table, with noise whose ε0 the promise counts."""
    ANY = "any"
    """Nothing: groups are prepared for any."""
    STATED = "stated"
    """What the custodian knows without the table."""


@dataclass(frozen=True)
class ShareBounds:
    """Bounds on the largest share of a value in a group, by the group's size.

    Parameters
    ----------
    shares
        From how many records on which share bounds it, ascending; smaller groups have no bound.
    failing
        β, how often a bound may be too low; 0 where they are stated.
    """

    shares: tuple[tuple[int, float], ...]
    failing: float = 0.0

    @property
    def measured(self) -> bool:
        """Whether they may be too low."""
        return self.failing > 0.0

    def most(self, sizes: Integers) -> Integers:
        """Return how many records can share a value, for each group size."""
        least = np.array([size for size, _ in self.shares], dtype=np.int64)
        shares = np.array([1.0, *(share for _, share in self.shares)])
        found = shares[np.searchsorted(least, sizes, "right")]
        most = np.floor(found * sizes + _HAIR).astype(np.int64)
        return np.clip(most, 1, sizes)

    def helped(self, sizes: Integers) -> Integers:
        """Return the places of the group sizes that have a bound."""
        return np.flatnonzero(sizes >= self.shares[0][0]) if self.shares else np.zeros(0, np.int64)


SHARES: Final = ChoiceSpec(
    name="shares",
    title="Largest share of a value",
    gloss="what is known of the largest share of a value in a group drawn from blindly: nothing"
    " (any), a bound that is stated, or one that is measured with noise (noisy)",
    usual=ShareSource.ANY,
    titles={
        ShareSource.NOISY: "Measured with noise",
        ShareSource.ANY: Sentence("Any"),
        ShareSource.STATED: Sentence("Stated"),
    },
)
SHARES_EPSILON: Final = epsilon_spec(
    name="shares_epsilon",
    title="ε0 of the largest shares",
    gloss="how much measured bounds on shares may disclose of one record, as a privacy loss",
    hint="How much the bounds may disclose of one record. It multiplies anyone's odds by at most"
    " e^ε0; with a smaller ε0 fewer records are drawn.",
    usual=0.1,
)
LARGEST_SHARE: Final = NumberSpec(
    name="largest_share",
    title="Nobody's value is shared by more than",
    gloss="the largest share that a value has in any group of some size, known without this table",
    usual=0.5,
    least=0.0,
    most=1.0,
    above=True,
    decimals=1,
    unit="%",
    scale=100,
    step=1.0,
)
LEAST_RECORDS: Final = NumberSpec(
    name="least_records",
    title="In groups of at least",
    gloss="from how many records on the stated share holds in a group",
    usual=100,
    least=2,
    most=1e9,
    whole=True,
)
MEASURED_SHARES: Final = UncheckedSpec(
    name="measured_shares",
    title="Measured shares",
    gloss="what was measured of the groups' largest shares; rules don't hold it",
    source=SettingSource.KEPT,
    follows=("shares", "shares_epsilon", "public"),
)
SHARE_SETTINGS: Final = (SHARES, SHARES_EPSILON, LARGEST_SHARE, LEAST_RECORDS, MEASURED_SHARES)


def share_source(settings: Mapping[str, Any]) -> ShareSource:
    """Return what settings say is known of shares; raises `PolicyError` where it is no choice."""
    source: ShareSource = SHARES.stated(settings)
    return source


def bounds_in(settings: Mapping[str, Any], groups: GroupCounts | None) -> ShareBounds | None:
    """Return the bounds that settings state, or that were measured of these groups.

    Parameters
    ----------
    settings
        The mechanism's.
    groups
        The table's groups; None where they are not known, so that what was measured is believed.

    Returns
    -------
    ShareBounds or None
        None where nothing is known: also where what was measured is of other groups.

    Raises
    ------
    PolicyError, LevelError
        If a setting can't have its value.
    """
    source = share_source(settings)
    if source is ShareSource.STATED:
        share = float(LARGEST_SHARE.stated(settings))
        return ShareBounds(((int(LEAST_RECORDS.stated(settings)), share),))
    counts = _measured_in(settings, groups) if source is ShareSource.NOISY else None
    if not counts:
        return None
    added = _added(epsilon_of(settings))
    bounds = tuple(
        (least, min(max((count + added) / least, 0.0), 1.0))
        for least, count in zip(_classes(len(counts), added), counts, strict=True)
    )
    return ShareBounds(bounds, FAILING)


def epsilon_of(settings: Mapping[str, Any]) -> float:
    """Return ε0 that shares are measured with; raises `LevelError` out of range."""
    return check_epsilon(SHARES_EPSILON.stated(settings))


def spent_on_shares(settings: Mapping[str, Any]) -> float:
    """Return ε0 of what was measured; 0 where nothing was."""
    if share_source(settings) is not ShareSource.NOISY or not _measured_in(settings, None):
        return 0.0
    return epsilon_of(settings)


def is_outdated(settings: Mapping[str, Any], groups: GroupCounts) -> bool:
    """Return whether shares are to be measured and were not, or of other groups."""
    return share_source(settings) is ShareSource.NOISY and _measured_in(settings, groups) is None


def measured_shares(
    settings: Mapping[str, Any], name: str, groups: GroupCounts, noise: KeyedNoise
) -> dict[str, Any]:
    """Return settings with shares measured in groups, unless they were measured in these."""
    if not is_outdated(settings, groups):
        return dict(settings)
    epsilon = epsilon_of(settings)
    exact = largest_by_class(groups, epsilon)
    shown = noise.integers(f"largest shares of {name}", exact, 1, epsilon) if exact else ()
    made = {"groups": groups.digest, "counts": list(shown)}
    return {**settings, SHARES_EPSILON.name: epsilon, MEASURED_SHARES.name: made}


def largest_by_class(groups: GroupCounts, epsilon: float) -> list[int]:
    """Return X for each class of group sizes up to the largest group; 0 where it has no groups."""
    added = _added(epsilon)
    [first] = _classes(1, added)
    sizes = groups.sizes
    largest = np.maximum.reduceat(groups.counts.data, groups.counts.indptr[:-1])
    place = np.frexp(sizes / first)[1] - 1
    found = []
    for number, least in enumerate(_classes(int(place.max(initial=-1)) + 1, added)):
        here = place == number
        found.append(int(np.max(-(-largest[here] * least // sizes[here]), initial=0)))
    return found


def check_stated_shares(bounds: ShareBounds | None, groups: GroupCounts) -> None:
    """Refuse a stated bound that groups break.

    Raises
    ------
    PolicyError
        Naming how many break it, and not by how much: a bound is no figure to read from the table.
    """
    if bounds is None or bounds.measured:
        return
    broken = groups.largest_shares * groups.sizes > bounds.most(groups.sizes) + 0.5
    if not broken.any():
        return
    [(least, share)] = bounds.shares
    raise PolicyError(
        "The stated bound does not hold: in {count} {count:group|groups} of at least {least:,}"
        " {least:record|records} one value has more than {share:.3g} %.",
        "State a larger share, or more records, as they are known without this table; or let the"
        " share be measured with noise.",
        count=int(broken.sum()),
        least=least,
        share=100.0 * share,
    )


def _classes(count: int, added: int) -> list[int]:
    """Return the least sizes of the first classes, by what is added to noisy counts."""
    first = LEAST_MEASURED
    while first < 2 * added:
        first *= 2
    return [first << number for number in range(count)]


def _added(epsilon: float) -> int:
    """Return t: what is added to a noisy count so that it is too low with probability β at most.

    Of the discrete Laplace law, Pr[Z < -t] = r^(t + 1)/(1 + r) with r = e^(-ε0).
    """
    ratio = math.exp(-epsilon)
    return max(math.ceil(-math.log(FAILING * (1.0 + ratio)) / epsilon - 1.0 + 1e-9), 0)


def _measured_in(settings: Mapping[str, Any], groups: GroupCounts | None) -> list[int] | None:
    """Return the noisy counts by class; None where there are none, or they are of other groups."""
    known = settings.get(MEASURED_SHARES.name)
    if known is None:
        return None
    counts = known.get("counts") if isinstance(known, Mapping) else None
    if not isinstance(counts, list | tuple) or any(type(one) is not int for one in counts):
        raise PolicyError(
            "The setting {name} doesn't say what was measured of the groups.",
            "Measure again.",
            name=MEASURED_SHARES.name,
        )
    if groups is not None and known.get("groups") != groups.digest:
        return None
    return list(counts)
