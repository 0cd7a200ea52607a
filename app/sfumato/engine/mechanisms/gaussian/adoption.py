"""How Gaussian noise examines noisy copies that were made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.adoption import Adopting, LevelFound
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.mechanisms.gaussian.adoption_checks import (
    find_noise,
    form_of,
    open_share,
    roundest,
)
from sfumato.engine.mechanisms.gaussian.checks import check_noise, check_noise_between
from sfumato.engine.mechanisms.gaussian.columns import Floats, noisy_of, values_of
from sfumato.engine.mechanisms.gaussian.noise_level import HIGHEST, LOWEST
from sfumato.engine.mechanisms.gaussian.settings import GaussianSettings, settings_of
from sfumato.engine.table.table import EncodedColumn


class GaussianAdopting(Adopting):
    """Examines earlier releases of numeric attributes."""

    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` unless σ² is a noise level; it need not lie on the grid."""
        if not LOWEST <= level <= HIGHEST:
            raise LevelError(
                "The noise level σ² = {level:g} of an adopted release is out of range.",
                "State the variance of its noise, relative to the variance of the data.",
                level=level,
            )

    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate σ² from how far the copy's numbers are from the true ones."""
        read = _read(columns, settings)
        variances = np.diagonal(read.noise_covariance)
        found = find_noise(values_of(columns), noisy_of(release, columns).numbers, variances)
        if found.level < LOWEST:
            finding = "Its numbers are the true ones, or too close to them to be told from them."
        elif not found.usable:
            finding = (
                "Its numbers do not go with the true ones. The file is noise, or its rows belong to"
                " other records than it seems."
            )
        else:
            finding = Sentence(
                "From {numbers:,} records, the noise level σ² is {level:.4g}; with 95 % "
                "confidence it lies between {low:.4g} and {high:.4g}.",
                numbers=found.numbers,
                level=found.level,
                low=found.low,
                high=found.high,
            )
        proposal = roundest(found.low, found.high) if found.usable else found.level
        return LevelFound(found.level, found.low, found.high, proposal, found.usable, finding)

    def check_adopted(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> tuple[Check, ...]:
        """Test whether a copy has Gaussian noise of the settings' covariance at its level."""
        shown = noisy_of(release, columns).numbers
        read = _rounded_as(_read(columns, settings), shown)
        names = [column.attribute.name for column in columns]
        return check_noise(names, values_of(columns), _series(shown), read, release.level)

    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the copy with more noise is the other one with noise added."""
        above, below = (noisy_of(one, columns).numbers for one in (upper, lower))
        read = _rounded_as(_read(columns, settings), np.hstack([above, below]))
        names = [column.attribute.name for column in columns]
        return check_noise_between(
            names, _series(above), upper.level, _series(below), lower.level, read
        )

    def describe_damage(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        releases: Sequence[Adopted],
        context: Context,
    ) -> tuple[str, ...]:
        """Say what the holders of copies that form no ladder already know together."""
        del settings
        true = values_of(columns)
        copies = [noisy_of(release, columns).numbers for release in releases]
        alone = [open_share(true, [copy]) for copy in copies]
        together = open_share(true, copies)
        context.report(1.0, "Comparing the releases")
        if np.isnan(together).any():
            return ("There are too few records to tell what the files give away together.",)
        best = int(np.argmin([share.min() for share in alone]))
        worst = int(np.argmin(together / alone[best]))
        name = columns[worst].attribute.name
        return (
            Sentence(
                "The most trusted of the {releases} files (σ² = {level:.4g}) leaves "
                "{alone:.1%} of the variance of {name} open to its holder. Together they "
                "leave {together:.1%}; on a ladder it would have stayed as it was.",
                releases=len(releases),
                level=releases[best].level,
                alone=alone[best][worst],
                name=name,
                together=together[worst],
            ),
        )


def _read(columns: Sequence[EncodedColumn], settings: Settings) -> GaussianSettings:
    return settings_of([column.attribute for column in columns], settings)


def _rounded_as(read: GaussianSettings, shown: Floats) -> GaussianSettings:
    """Return settings in which numbers look as a copy's seem to."""
    return replace(read, forms=tuple(form_of(numbers) for numbers in shown))


def _series(numbers: Floats) -> list[pd.Series]:
    return [pd.Series(column) for column in numbers]
