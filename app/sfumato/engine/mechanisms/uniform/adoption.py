"""How uniform retention examines releases that were made elsewhere.

At which level they are, whether uniform, and whether on one ladder: everything is found by
comparing a file with the true values and with the other files, without any key. An estimate of the
level is the maximum-likelihood one: given the true values, the number of records that show theirs
is binomial with chance p + (1 - p)/m. The tests of one file are those for releases of the
product's own (`sfumato.engine.mechanisms.categorical`).

Whether two files form a ladder is the question whether the lower one is a garbling of the upper
one: given what the upper one shows, the lower one must know nothing of the true value. Two
tests need not know any level. Where the upper file shows another value than the true one, the
lower file may show the true one no more often than any other third value; and it keeps what the
upper file shows as often where that is true as where it is not. Files that were perturbed
independently fail both.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Flags, count_codes
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.disclosure.best_guess import Restoration, restored_alone, restored_of_counts
from sfumato.engine.disclosure.coalition_risk import restored_together
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.goodness_of_fit import ALARM, FALSE_ALARM, examine_kept, examine_spread
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.adoption import Adopting, LevelFound
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.randomness.keys import SECRET_BYTES, AttributeKey
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import EncodedColumn

CONFIDENCE: Final = 0.95

_RELATED: Final = 3.3
"""By how many standard deviations more records show their true value than unrelated rows would,
where a file is believed to belong to the table."""

_SMALLEST: Final = 1e-99


@dataclass(frozen=True)
class LevelEstimate:
    """The retention probability that a file seems to have.

    Parameters
    ----------
    level
        The maximum-likelihood estimate, from 0 to 1.
    low, high
        A 95 % interval (Clopper and Pearson 1934).
    proposal
        The roundest number within the interval: people choose round levels.
    kept, records
        How many records show their true value, and of how many.
    unrelated
        The share that would if the file's rows belonged to other records.
    """

    level: float
    low: float
    high: float
    proposal: float
    kept: int
    records: int
    unrelated: float

    @property
    def usable(self) -> bool:
        """Whether the file is neither the original nor unrelated, as far as can be told."""
        spread = (self.unrelated * (1.0 - self.unrelated) / self.records) ** 0.5
        related = self.kept / self.records > self.unrelated + _RELATED * spread
        return related and self.kept < self.records


@dataclass(frozen=True)
class Damage:
    """What the holders of earlier releases already know together.

    A restoration's `guessed` is the share of records whose true value is the likeliest one, and
    its `posterior` the average probability of the true value.

    Parameters
    ----------
    best
        What is restored from the most trusted of the releases alone.
    independent
        What all of them together restore had each been perturbed independently.
    observed
        What all of them together restore as the files are: the true values are counted for
        each combination of released ones.
    fitting
        What counting would find if the releases formed a ladder; a little more than `best`,
        because counting in a table also finds what is there by chance.
    agreeing
        The share of records in which all releases show one value.
    true_agreeing
        The share of these in which it is the true one; on a ladder, as often as in the most
        trusted release alone.
    true_best
        The share of all records in which the most trusted release shows the true value.
    """

    best: Restoration
    independent: Restoration
    observed: Restoration
    fitting: Restoration
    agreeing: float
    true_agreeing: float
    true_best: float


def estimate_level(true: Codes, shown: Codes, size: int) -> LevelEstimate:
    """Estimate at which retention probability a file was perturbed.

    Parameters
    ----------
    true, shown
        The true codes and the file's, row by row, both of shape (n,), n > 0.
    size
        The number of values in the domain, m.
    """
    records, kept = len(true), int(np.count_nonzero(true == shown))
    tail = (1.0 - CONFIDENCE) / 2.0
    low = float(scipy.special.betaincinv(kept, records - kept + 1, tail)) if kept else 0.0
    high = (
        float(scipy.special.betaincinv(kept + 1, records - kept, 1.0 - tail))
        if kept < records
        else 1.0
    )
    level, low, high = (_retention(share, size) for share in (kept / records, low, high))
    shares = (count_codes(codes, size) / records for codes in (true, shown))
    unrelated = float(np.multiply(*shares).sum())
    return LevelEstimate(level, low, high, _roundest(level, low, high), kept, records, unrelated)


def check_uniform(true: Codes, shown: Codes, size: int, level: float) -> tuple[Check, ...]:
    """Test whether a file is uniform perturbation of the true values at a level.

    Parameters
    ----------
    true, shown
        The true codes and the file's, row by row, both of shape (n,).
    size
        The number of values in the domain, m.
    level
        The retention probability that is claimed.
    """
    retention = np.full(size, level)
    kept = examine_kept(true, shown, retention)
    spread = examine_spread(true, shown, retention)
    finding = Sentence(
        "{kept:,} of {records:,} {records:record|records} ({kept_2:.2%})"
        " {kept:shows its|show their} true value; at {level:.6g}, {expected_share:.2%} are"
        " expected (chance {shown}). {alarm}",
        kept=kept.kept,
        records=kept.records,
        kept_2=kept.kept / max(kept.records, 1),
        level=level,
        expected_share=kept.expected_share,
        shown=_shown(kept.chance),
        alarm=ALARM,
    )
    spreading = "There are too few records to examine how replaced values spread."
    if spread.freedom:
        spreading = Sentence(
            "Values spread over the domain with chi-square {statistic:,.1f}; about "
            "{freedom:,} is expected (chance {shown}). {alarm}",
            statistic=spread.statistic,
            freedom=spread.freedom,
            shown=_shown(spread.chance),
            alarm=ALARM,
        )
    return (
        Check("Level", kept.holds, finding),
        Check("Even replacement", spread.holds, spreading),
    )


def check_ladder(true: Codes, upper: Codes, lower: Codes, size: int) -> tuple[Check, ...]:
    """Test whether the lower of two files is a garbling of the upper one.

    Parameters
    ----------
    true, upper, lower
        The true codes, and those of the more and of the less trusted file, shape (n,).
    size
        The number of values in the domain, m.
    """
    kept = lower == upper
    truthful = upper == true
    return (
        _check_homogeneous(kept, truthful),
        _check_returns((lower == true)[~truthful & ~kept], size),
    )


def damage_of(
    true: Codes,
    releases: tuple[tuple[float, Codes], ...],
    size: int,
    context: Context,
) -> Damage:
    """Return what the holders of releases restore together.

    Parameters
    ----------
    true
        The true codes, shape (n,), n > 0.
    releases
        The retention probability and the codes of each release, at least one.
    size
        The number of values in the domain, m.
    context
        Progress and cancelling.
    """
    frequencies = count_codes(true, size) / len(true)
    falling = sorted(releases, key=lambda release: -release[0])
    matrices = [uniform_matrix(level, size) for level, _ in falling]
    columns = [codes for _, codes in falling]
    alone = restored_alone(matrices[0], frequencies, Part(context, 0.0, 0.1))
    together = restored_together(matrices, frequencies, Part(context, 0.1, 0.6))
    context.report(0.6, "Counting what the files show together")
    observed = restored_of_counts(true, columns, size)
    context.report(0.8, "Counting what a ladder would show")
    fitting = restored_of_counts(true, [columns[0], *_ladder_below(falling, size)], size)
    agree = np.logical_and.reduce([codes == columns[0] for codes in columns])
    right = columns[0] == true
    return Damage(
        alone,
        together,
        observed,
        fitting,
        agreeing=float(agree.mean()),
        true_agreeing=float(right[agree].mean()) if agree.any() else 0.0,
        true_best=float(right.mean()),
    )


def _shown(chance: float) -> str:
    """Return a chance to two digits; what floats can hardly tell from 0 as a bound."""
    return (
        formatted(chance, ".2g")
        if chance >= _SMALLEST
        else Sentence("below {smallest:g}", smallest=_SMALLEST)
    )


def _retention(share: float, size: int) -> float:
    """Return the retention probability at which this share of records shows the true value."""
    return min(max((share - 1.0 / size) / (1.0 - 1.0 / size), 0.0), 1.0)


def _roundest(level: float, low: float, high: float) -> float:
    """Return the number with the fewest digits within an interval, the nearest to `level`."""
    for digits in range(1, 7):
        rounded = round(level, digits)
        if low <= rounded <= high and 0.0 < rounded < 1.0:
            return rounded
    return level


def _check_homogeneous(kept: Flags, truthful: Flags) -> Check:
    """Test that the lower file keeps true and replaced values of the upper one alike."""
    title = "Kept alike"
    records = np.array([np.count_nonzero(truthful), np.count_nonzero(~truthful)])
    counts = np.array([np.count_nonzero(kept & truthful), np.count_nonzero(kept & ~truthful)])
    if not records.all():
        return Check(title, True, "There are too few records to examine it.")
    share, pooled = counts / records, counts.sum() / records.sum()
    deviation = (pooled * (1.0 - pooled) * (1.0 / records).sum()) ** 0.5
    # Half a record towards no difference: the normal tail then errs on the side of believing.
    distance = max(abs(share[0] - share[1]) - 0.5 * (1.0 / records).sum(), 0.0)
    chance = float(scipy.special.erfc(distance / deviation / 2**0.5)) if deviation else 1.0
    return Check(
        title,
        chance >= FALSE_ALARM,
        Sentence(
            "The less trusted file keeps {share:.2%} of the true and {share_2:.2%} of "
            "the replaced values of the more trusted one (chance {shown}); on a ladder "
            "it can't tell them apart.",
            share=share[0],
            share_2=share[1],
            shown=_shown(chance),
        ),
    )


def _check_returns(returned: Flags, size: int) -> Check:
    """Test that values that were replaced twice are true no more often than by chance."""
    title = "No way back"
    records, count = len(returned), int(np.count_nonzero(returned))
    if size < 3 or not records:
        return Check(title, True, "There are too few records or values to examine it.")
    expected = 1.0 / (size - 1)
    below = float(scipy.special.bdtr(count, records, expected))
    above = float(scipy.special.bdtrc(count - 1, records, expected)) if count else 1.0
    chance = min(1.0, 2.0 * min(below, above))
    return Check(
        title,
        chance >= FALSE_ALARM,
        Sentence(
            "Where both files show different values and the more trusted one a replaced value, the"
            " less trusted one shows the true value in {count:,} of {records:,}"
            " {records:record|records} ({count_2:.2%}); on a ladder, {expected:.2%} are expected"
            " (chance {shown}).",
            count=count,
            records=records,
            count_2=count / records,
            expected=expected,
            shown=_shown(chance),
        ),
    )


def _ladder_below(falling: list[tuple[float, Codes]], size: int) -> list[Codes]:
    """Return releases of the same levels that go down from the first by garbling.

    They are compared with the files by one number and shown to nobody; the same files give
    the same number.
    """
    level, top = falling[0]
    ids, key = record_ids_by_position(len(top)), AttributeKey(bytes(SECRET_BYTES))
    return [
        release_codes(top, size, min(lower / level, 1.0), ids, key, Silent())
        for lower, _ in falling[1:]
    ]


def check_adopted_retention(level: float) -> None:
    """Raise `LevelError` unless an adopted release's level lies between 0 and 1."""
    if not 0.0 < level < 1.0:
        raise LevelError(
            "The retention probability {level} of an adopted release is not between 0 and 1.",
            "State the level at which it was released: above 0 and below 1.",
            level=level,
        )


class UniformAdopting(Adopting):
    """Examines earlier releases of one categorical attribute."""

    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` unless the retention probability lies between 0 and 1."""
        check_adopted_retention(level)

    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate the retention probability from the records that show their true value."""
        true, shown, size = _codes(columns, release)
        found = estimate_level(true, shown, size)
        share = Sentence(
            "{kept:,} of {records:,} {records:record|records} {kept:shows its|show their} true"
            " value",
            kept=found.kept,
            records=found.records,
        )
        if found.kept == found.records:
            finding = Sentence(
                "{share}: that is the original, or a level too near to 1 to be estimated.",
                share=share,
            )
        elif not found.usable:
            finding = Sentence(
                "{share}, no more than rows of other records would. The file is noise, or "
                "it is not matched to the table as it should be.",
                share=share,
            )
        else:
            finding = Sentence(
                "{share}. The retention probability is {level:.4f}; with 95 % confidence "
                "it lies between {low:.4f} and {high:.4f}.",
                share=share,
                level=found.level,
                low=found.low,
                high=found.high,
            )
        return LevelFound(found.level, found.low, found.high, found.proposal, found.usable, finding)

    def check_adopted(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> tuple[Check, ...]:
        """Test whether a release is uniform perturbation at its level."""
        return check_uniform(*_codes(columns, release), release.level)

    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the less trusted of two releases is a garbling of the other."""
        true, above, size = _codes(columns, upper)
        return check_ladder(true, above, _codes(columns, lower)[1], size)

    def describe_damage(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        releases: Sequence[Adopted],
        context: Context,
    ) -> tuple[str, ...]:
        """Say what the holders of releases that form no ladder already know together."""
        true, _, size = _codes(columns, releases[0])
        known = tuple((release.level, _codes(columns, release)[1]) for release in releases)
        damage = damage_of(true, known, size, context)
        best = max(release.level for release in releases)
        return (
            Sentence(
                "The {releases} files show one and the same value in {agreeing:.1%} of the "
                "records, and there it is the true one in {true_agreeing:.1%}; the most "
                "trusted file (p = {best:.4g}) alone is right in {true_best:.1%}.",
                releases=len(releases),
                agreeing=damage.agreeing,
                true_agreeing=damage.true_agreeing,
                best=best,
                true_best=damage.true_best,
            ),
            Sentence(
                "Who holds them all gives the true value a probability of {found:.1%} "
                "on average; with a ladder of the same levels it would be "
                "{fitting:.1%}.",
                found=damage.observed.posterior,
                fitting=damage.fitting.posterior,
            ),
        )


def _codes(columns: Sequence[EncodedColumn], release: Adopted) -> tuple[Codes, Codes, int]:
    """Return the true codes, the released ones and the size of the domain."""
    attribute = columns[0].attribute
    if attribute.domain is None:
        raise TypeError(f"{attribute.name} is not categorical")
    true: Codes = np.asarray(columns[0].values)
    shown = np.asarray(release.values[attribute.name]).astype(true.dtype, copy=False)
    return true, shown, attribute.domain.size
