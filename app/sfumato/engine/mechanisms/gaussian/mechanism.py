"""Gaussian noise: numbers with noise that varies as they do, at any level, on one ladder.

Li, Chen, Li and Zhang, "Enabling Multilevel Trust in Privacy Preserving Data Mining", TKDE 2012.
The level is σ², the variance of the noise relative to that of the data: more of it means less
trust.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.brownian import HIGHEST, LOWEST, check_noise_level, on_grid
from sfumato.engine.mechanisms.adoption import (
    adopted_identity,
    check_adopted_rows,
    check_adopted_settings,
    release_by_coverage,
    rungs_in,
)
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Check,
    LevelField,
    LevelTerm,
    Origin,
    Promise,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
    ladder_digest,
)
from sfumato.engine.mechanisms.categorical import numbers_of, unknown_statement
from sfumato.engine.mechanisms.gaussian.checks import check_noise, check_noise_between
from sfumato.engine.mechanisms.gaussian.promise import (
    Uncertainty,
    measured_sentence,
    promise_of,
    told_apart_over_editions,
)
from sfumato.engine.mechanisms.gaussian.release import (
    GaussianAdopting,
    NoiseRecipe,
    noisy_of,
    release_numbers,
    series_of,
    values_of,
)
from sfumato.engine.mechanisms.gaussian.rounding_leakage import GaussianForming
from sfumato.engine.mechanisms.gaussian.settings import (
    FORM_SETTINGS,
    SETTINGS,
    CovarianceSource,
    GaussianSettings,
    NoiseDependence,
    chosen,
    completed,
    origin_of,
    settings_of,
)
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attributes

_FIRST, _LAST = 0.25, 64.0
"""The most and the least trusted level that are proposed."""

_TYPICAL_ERRORS = (0.2, 0.5, 0.8)

_FINE_BITS = 20
"""Significant bits of levels that differ by a hair."""

_FOR_ALL = ("noise",)
"""The settings that a custodian chooses for the whole entry."""

_TERMS = (
    LevelTerm(
        "sigma_squared",
        "Noise level",
        "The variance of the noise, relative to the published one, which is measured with noise or"
        " stated: at 1 the noise varies as much as that.",
        (LevelField("sigma_squared", "σ²", LOWEST, HIGHEST, decimals=4),),
    ),
    LevelTerm(
        "normalized_error",
        "Normalized error",
        "The share of the variance that the best linear estimate leaves unexplained, for numbers"
        " that vary as is published: 0 is the original, 1 tells nothing.",
        (LevelField("normalized_error", Sentence("error"), 1e-6, 0.999999, decimals=4),),
    ),
    LevelTerm(
        "half_width",
        "Uncertainty if normal",
        "How far off the best estimate of the first attribute is at most for 90 % of the people, if"
        " numbers are normally distributed; where they are not, it can be closer.",
        (LevelField("half_width", "±", 1e-9, 1e12, decimals=4),),
    ),
)


class GaussianNoise(GaussianAdopting, GaussianForming):
    """Gaussian noise at any level, for one numeric attribute or several jointly."""

    name = "gaussian"
    title = "Gaussian noise"
    summary = (
        "Normally distributed noise is added to each number. Its size is stated relative to how the"
        " columns vary together, which is measured with noise, or stated, and published."
    )
    order = 30
    kinds = frozenset({Kind.NUMERIC})
    terms = _TERMS
    completes_settings = True
    settings = SETTINGS
    most_attributes = None

    @property
    def typical_statements(self) -> tuple[Statement, ...]:
        """The shares of the variance that typical recipients' releases leave open."""
        return tuple({"normalized_error": share} for share in _TYPICAL_ERRORS)

    def recommendation(self, attributes: Attributes) -> str:
        """Recommend it for numbers with far extremes."""
        if not np.isfinite(attributes[0].reach):
            return ""
        return Sentence(
            "The range is {reach:.0f} standard deviations: noise in proportion to it would be"
            " large, noise relative to a measured spread need not be.",
            reach=attributes[0].reach,
        )

    def check_attributes(self, attributes: Attributes) -> None:
        """Raise `PolicyError` unless there are numeric attributes without bins."""
        if not attributes:
            raise PolicyError("Gaussian noise covers no attribute.", "Choose one or several.")
        for attribute in attributes:
            self.check_number(attribute)

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return proportional noise, nothing rounded."""
        self.check_attributes(attributes)
        return chosen({})

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the covariance that noise is made from.

        One that is there already stays: releases of one ladder share it, and next month's
        numbers must not change the noise.

        Raises
        ------
        PolicyError
            If a column's spread can't be measured; the column is named.
        """
        self.check_attributes(attributes)
        self.check_stated(settings)
        return completed(attributes, settings, noise)

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the covariance, which recipients are told."""
        return origin_of(settings)[1]

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the covariance, unless it is stated."""
        read = self.read(attributes, settings)
        names = [attribute.name for attribute in attributes]
        if read.measured is CovarianceSource.STATED:
            return ()
        what = Sentence("how large the noise on {names} is", names=listed(names))
        origin = Origin.EXACT if read.measured is CovarianceSource.EXACT else Origin.NOISY
        return (Byproduct(what, origin, measured_sentence(names, read)),)

    def resettled(self, attributes: Attributes, settings: Settings) -> Settings:
        """Return the settings of an entry that covers other attributes from now on."""
        names = {attribute.name for attribute in attributes}
        kept = {name: settings[name] for name in _FOR_ALL if name in settings}
        for part in FORM_SETTINGS:
            fitting = {name: n for name, n in settings.get(part, {}).items() if name in names}
            if fitting:
                kept[part] = fitting
        return kept

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings are not valid for these attributes."""
        self.read(attributes, settings)

    def read(self, attributes: Attributes, settings: Settings) -> GaussianSettings:
        """Return the settings, checked.

        Raises
        ------
        PolicyError, LevelError
            If they are not valid for these attributes.
        """
        self.check_attributes(attributes)
        self.check_stated(settings)
        check_adopted_settings(settings)
        for rung in rungs_in(settings):
            self.check_adopted_level(float(rung["level"]))
        return settings_of(attributes, settings)

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that double, or grow more slowly where there are many."""
        factor = min(2.0, (_LAST / _FIRST) ** (1.0 / max(count - 1, 1)))
        levels = (float(f"{_FIRST * factor**place:.3g}") for place in range(count))
        return tuple({"sigma_squared": level} for level in levels)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the noise level σ² that a statement means, rounded up.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or out of range.
        """
        uncertainty = Uncertainty(self.read(attributes, settings))
        match numbers_of(statement):
            case {"sigma_squared": level, **rest} if not rest:
                return on_grid(level)
            case {"normalized_error": error, **rest} if not rest:
                return uncertainty.level_for_error(error)
            case {"half_width": width, **rest} if not rest:
                return uncertainty.level_for_half_width(width)
        raise unknown_statement(self, statement)

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level as σ², as the normalized error, and as a width."""
        check_noise_level(level)
        uncertainty = Uncertainty(self.read(attributes, settings))
        return {
            "sigma_squared": {"sigma_squared": level},
            "normalized_error": {"normalized_error": uncertainty.normalized_error(level)},
            "half_width": {"half_width": float(uncertainty.half_widths(level)[0])},
        }

    def trust(self, level: float) -> float:
        """Return 1/(1 + σ²): the share of the variance that an estimate recovers."""
        return 1.0 / (1.0 + check_noise_level(level))

    def level_at(self, trust: float) -> float:
        """Return the level of the grid whose trust is next below a place on that scale."""
        return on_grid(min(max(1.0 / trust - 1.0, LOWEST), HIGHEST))

    def lowered(self, level: float, share: float) -> float:
        """Return a level with more noise: less of it is trusted by a share of itself.

        It lies on a finer grid than stated levels, so that two shares rarely meet.
        """
        if share == 0.0:
            return level
        return on_grid(min(level / (1.0 - share), HIGHEST), _FINE_BITS)

    def shared(self, level: float, rows: int, attributes: Attributes, settings: Settings) -> float:
        """Return rows·σ²: the mean of so many rows has noise of σ², and nothing tells more.

        Raises
        ------
        LevelError
            If that is more noise than can be added.
        """
        if level * rows > HIGHEST >= level:
            raise LevelError(
                "Noise of σ² = {level} for up to {rows} {rows:row|rows} that belong together takes"
                " σ² = {each} for each of them, more than can be added.",
                "Give at most σ² = {most}, or let fewer rows of a unit leave.",
                level=formatted(level, ".4g"),
                rows=rows,
                each=formatted(level * rows, ".4g"),
                most=formatted(HIGHEST / rows, ".4g"),
            )
        return level if rows == 1 else on_grid(level * rows)

    def ladder_identity(self, attributes: Attributes, settings: Settings) -> str:
        """Return a digest of the attributes' names, the noise's covariance and adopted rungs.

        Rounding and clipping come after the ladder and do not count.
        """
        read = self.read(attributes, settings)
        names = [attribute.name for attribute in attributes]
        factor = [[entry.hex() for entry in row] for row in read.factor.tolist()]
        parts: list[object] = ["gaussian ladder", 1, names, factor]
        if adopted := adopted_identity(settings):
            parts.append(adopted)
        return ladder_digest(*parts)

    def release(self, request: ReleaseRequest, context: Context) -> Mapping[str, pd.Series]:
        """Return the released columns: a pure function of the request.

        Missing numbers stay missing. Where earlier releases were adopted, the new one is fitted
        between them; at a level of one of them it shows what that one shows.
        """
        check_adopted_rows(request.settings, request.adopted)
        read = self.read(request.attributes, request.settings)
        shown = release_by_coverage(request, self._between, context)
        return series_of(request.columns, shown, NoiseRecipe(read.factor, read.forms).whole)

    def _between(self, request: ReleaseRequest, context: Context) -> Floats:
        """Return the released numbers of records that all adopted copies have, shape (N, n)."""
        read = self.read(request.attributes, request.settings)
        values = values_of(request.columns)
        # Copies of one level that have a record in common show the same of it.
        adopted = {one.level: noisy_of(one, request.columns) for one in request.adopted}
        if request.level in adopted:
            context.report(1.0, "Adding the noise")
            return adopted[request.level].numbers
        names = json.dumps([attribute.name for attribute in request.attributes])
        identity = self.ladder_identity(request.attributes, request.settings)
        return release_numbers(
            values,
            NoiseRecipe(read.factor, read.forms),
            [check_noise_level(request.level)],
            request.record_ids,
            request.keys.for_attribute(names, identity, self.name),
            context,
            tuple(adopted.values()),
        )[0]

    def noise_covariance(self, level: float, attributes: Attributes, settings: Settings) -> Floats:
        """Return σ² times the covariance that the noise is made from, shape (N, N)."""
        return check_noise_level(level) * self.read(attributes, settings).noise_covariance

    def channel(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Any] | None:
        """Return the covariance of noise and rounding; None where numbers are cut off after it."""
        forms = self.read(attributes, settings).forms
        if any(form.lowest is not None or form.highest is not None for form in forms):
            return None
        rounding = np.diag([(form.step or 0.0) ** 2 / 12.0 for form in forms])
        noise = self.noise_covariance(level, attributes, settings) + rounding
        return {"noise_covariance": noise.tolist()}

    def promise(self, level: float, attributes: Attributes, settings: Settings) -> Promise:
        """Return what a release at this level promises, computed from the covariance."""
        names = [attribute.name for attribute in attributes]
        return promise_of(names, self.read(attributes, settings), check_noise_level(level))

    def lost_by_changing(
        self, levels: Sequence[float], attributes: Attributes, settings: Settings
    ) -> str:
        """Say how well two histories of values can be told apart, from noise in each edition."""
        read = self.read(attributes, settings)
        return told_apart_over_editions(read, [check_noise_level(level) for level in levels])

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return σ² and K, without which nobody could use the numbers, and a guide to estimate."""
        read = self.read(attributes, settings)
        return PublishedFacts(
            parameters={
                "sigma_squared": check_noise_level(level),
                "noise": read.noise.value,
                "attributes": [attribute.name for attribute in attributes],
                "covariance": read.covariance.tolist(),
                "covariance_measured": read.measured.value,
                "covariance_epsilon": read.epsilon if math.isfinite(read.epsilon) else None,
                "rounding": [form.step for form in read.forms],
                "lowest": [form.lowest for form in read.forms],
                "highest": [form.highest for form in read.forms],
            },
            guide="gaussian",
            values={
                "sigma_squared": formatted(level, ".6g"),
                "kept_share": formatted(1.0 / (1.0 + level), ".4g"),
                "noise_words": _noise_words(read),
                "form_words": _form_words(attributes, read),
            },
        )

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine released numbers against the true ones: rows, form, and the noise's law."""
        read = self.read(request.attributes, request.settings)
        names = [attribute.name for attribute in request.attributes]
        columns = [released.columns[name] for name in names]
        return check_noise(names, values_of(request.columns), columns, read, released.level)

    def check_garbling(
        self, upper: Released, lower: Released, attributes: Attributes, settings: Settings
    ) -> tuple[Check, ...]:
        """Examine whether the release with more noise is the other one with noise added."""
        read = self.read(attributes, settings)
        names = [attribute.name for attribute in attributes]
        return check_noise_between(
            names,
            [upper.columns[name] for name in names],
            upper.level,
            [lower.columns[name] for name in names],
            lower.level,
            read,
        )


MECHANISM = GaussianNoise()


def _noise_words(settings: GaussianSettings) -> str:
    """Return how the noise of several columns hangs together, as a sentence; empty for one."""
    if settings.size == 1:
        return ""
    if settings.noise is NoiseDependence.SEPARATE:
        return Sentence("Each column has noise of its own: only the diagonal of K counts.")
    return Sentence("It varies together as K says.")


def _form_words(attributes: Attributes, settings: GaussianSettings) -> str:
    """Return which columns were rounded or clipped, as a sentence; empty if none were."""
    changed = [
        attribute.name
        for attribute, form in zip(attributes, settings.forms, strict=True)
        if form.changes
    ]
    if not changed:
        return ""
    return Sentence(
        " Afterwards numbers were rounded or clipped, as `rounding`, `lowest` and `highest` in"
        " `datapackage.json` say; where many of them are clipped, estimates are biased."
    )
