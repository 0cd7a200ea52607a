"""How uniform retention examines releases that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.adoption import Adopting, LevelFound
from sfumato.engine.mechanisms.adoption_checks import (
    check_ladder,
    check_uniform,
    damage_of,
    estimate_level,
)
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.table.table import EncodedColumn


class UniformAdopting(Adopting):
    """Examines earlier releases of one categorical attribute."""

    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` unless the retention probability lies between 0 and 1."""
        if not 0.0 < level < 1.0:
            raise LevelError(
                "The retention probability {level} of an adopted release is not between 0 and 1.",
                "State the level at which it was released: above 0 and below 1.",
                level=level,
            )

    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate the retention probability from the records that show their true value."""
        del settings
        true, shown, size = _codes(columns, release)
        found = estimate_level(true, shown, size)
        share = Sentence(
            "{kept:,} of {records:,} records show their true value",
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
        del settings
        return check_uniform(*_codes(columns, release), release.level)

    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the less trusted of two releases is a garbling of the other."""
        del settings
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
        del settings
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
