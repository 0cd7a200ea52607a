"""Reconstruction privacy: perturb few records of each group, so that it can't be estimated well.

Wang, Han and Fu, "Randomization Resilient To Sensitive Reconstruction" (2012). The most trusted
release samples, perturbs and scales every group of records alike in public
(`sfumato.engine.mechanisms.reconstruction.release`); less trusted ones are that release, passed
down the uniform ladder row by row. The level is the retention probability p, at most that of the
top.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Floats, Integers
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.disclosure.group_risk import ModeCost, QueryPoint, RiskSetting
from sfumato.engine.disclosure.grouped_values import GroupedValues
from sfumato.engine.disclosure.resampled_law import Resampling, row_variance
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.matrices.estimate import VarianceLaw
from sfumato.engine.matrices.privacy import check_retention, whole_odds
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.mechanisms.base import (
    Byproduct,
    Check,
    GroupProtection,
    LevelField,
    LevelTerm,
    Origin,
    PromiseFigure,
    PublishedFacts,
    Released,
    ReleaseRequest,
    Settings,
    Statement,
)
from sfumato.engine.mechanisms.categorical import (
    PROBABILITY,
    CategoricalMechanism,
    falling_retentions,
    numbers_of,
    unknown_statement,
)
from sfumato.engine.mechanisms.reconstruction.limits import (
    SETTINGS,
    USUAL_RETENTION,
    GroupLimits,
    GroupSampling,
    default_limits,
    limits_of,
    public_of,
    sample_sizes,
    uses_bounds,
)
from sfumato.engine.mechanisms.reconstruction.promise import (
    check_groups,
    facts_of,
    not_promised,
    sentence_of,
    shares_measured,
)
from sfumato.engine.mechanisms.reconstruction.release import (
    dealt_from,
    mode_costs,
    query_curves,
    resampled_codes,
    rows_to_draw,
)
from sfumato.engine.mechanisms.reconstruction.share_bounds import (
    SHARES,
    SHARES_EPSILON,
    ShareSource,
    check_stated_shares,
    is_outdated,
    measured_shares,
    share_source,
    spent_on_shares,
)
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.micro_groups import MicroGroups
from sfumato.engine.table.table import Attributes, GroupAssignment, GroupRows

_LOWEST = 0.01
"""The last level that is proposed."""

_TERMS = (
    LevelTerm(
        "retention",
        "Retention probability",
        "The share of values that are kept on purpose; at most that of the most trusted release.",
        (LevelField("retention_probability", "p", *PROBABILITY),),
    ),
)


class ReconstructionPrivacy(CategoricalMechanism, GroupProtection):
    """Sample, perturb and scale every group, then go down the uniform ladder."""

    name = "reconstruction"
    title = "Reconstruction privacy"
    summary = (
        "Values are kept with a retention probability and otherwise replaced evenly; of a group of"
        " records alike in public only some are perturbed and then copied, so that the group's"
        " distribution can't be estimated well."
    )
    order = 40
    ladder = ("reconstruction", 2)
    settings = SETTINGS
    terms = _TERMS
    completes_settings = True

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return "off by more than 30 % at least one time in three", by the exact test.

        The groups' largest shares are measured with noise, so that more records can be drawn.
        """
        self.check_attributes(attributes)
        noisy = {SHARES.name: ShareSource.NOISY.value, SHARES_EPSILON.name: SHARES_EPSILON.usual}
        return {**default_limits(), **noisy}

    def complete_settings(
        self, attributes: Attributes, settings: Settings, noise: KeyedNoise
    ) -> Settings:
        """Return the settings with the groups' largest shares, where the groups are known."""
        stated = {**default_limits(), **settings}
        groups = attributes[0].groups
        idle = not uses_bounds(stated["rule"], stated["sampling"])
        if groups is None or idle or share_source(settings) is not ShareSource.NOISY:
            return settings
        return measured_shares(settings, attributes[0].name, groups, noise)

    def outdated(self, attributes: Attributes, settings: Settings) -> bool:
        """Return whether shares are to be measured and were not, or of other groups."""
        groups = attributes[0].groups
        stated = {**default_limits(), **settings}
        used = uses_bounds(stated["rule"], stated["sampling"])
        return groups is not None and used and is_outdated(settings, groups)

    def byproduct_epsilon(self, settings: Settings) -> float:
        """Return ε0 of the largest shares, which show in how many records are drawn."""
        stated = {**default_limits(), **settings}
        if not uses_bounds(stated["rule"], stated["sampling"]):
            return 0.0
        return spent_on_shares(settings)

    def byproducts(self, attributes: Attributes, settings: Settings) -> tuple[Byproduct, ...]:
        """Return the bounds on the groups' largest shares, unless they are not measured."""
        cost, name = self.byproduct_epsilon(settings), attributes[0].name
        if cost == 0.0:
            return ()
        what = Sentence("the bounds on shares of {name} in groups", name=name)
        return (Byproduct(what, Origin.NOISY, shares_measured(name, cost)),)

    def resettled(self, attributes: Attributes, settings: Settings) -> Settings:
        """Return the settings as they are where they hold for the attributes, else new ones."""
        try:
            self.check_settings(attributes, settings)
        except (PolicyError, LevelError):
            return self.default_settings(attributes)
        return settings

    def group_limits(self, settings: Settings) -> tuple[float, float, str]:
        """Return the ε, the δ and the test that every group is held to."""
        stated = {**default_limits(), **settings}
        return stated["epsilon"], stated["delta"], stated["rule"]

    def public_columns(self, settings: Settings) -> Sequence[str] | None:
        """Return the columns by which records are grouped; None for all that are released."""
        return public_of(settings)

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` or `LevelError` where the promise can't be kept."""
        limits = self.limits(attributes, settings)
        groups = attributes[0].groups
        named = public_of(settings)
        if (groups is not None and not groups.names) or (named is not None and not named):
            raise PolicyError(
                "There is no public column to group records by, so the whole table would be one"
                " group and its distribution hidden.",
                "Release at least one more column, or choose uniform retention, whose releases"
                " are made to estimate that distribution.",
            )
        if groups is not None:
            check_stated_shares(limits.bounds, groups)
        # Blindly, groups are prepared for whatever they could hold.
        if groups is None or limits.sampling is GroupSampling.BLIND:
            limits.check()
        elif groups.count:
            limits.check(float(groups.largest_shares.max()))

    def limits(self, attributes: Attributes, settings: Settings) -> GroupLimits:
        """Return what is asked of every group.

        Raises
        ------
        PolicyError
            If a setting is unknown, missing or of the wrong type.
        """
        domain = self.domain_of(attributes)
        self.check_stated(settings)
        return limits_of(settings, domain.size, attributes[0].groups)

    def sample_sizes(
        self, attributes: Attributes, settings: Settings, context: Context
    ) -> Integers | None:
        """Return how many records of each group are drawn, shape (G,).

        Worked out once for the same groups and limits; None where the groups are not known.

        Raises
        ------
        PolicyError, LevelError
            If the promise can't be kept.
        """
        groups = attributes[0].groups
        if groups is None:
            return None
        limits = self.limits(attributes, settings)
        known = groups.kept.get(limits)
        if known is None:
            known = sample_sizes(limits, groups.counts, context)
            groups.kept[limits] = known
        return known

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose levels that fall by halves, or more slowly where there are many."""
        return falling_retentions(USUAL_RETENTION, _LOWEST, count)

    def level(self, statement: Statement, attributes: Attributes, settings: Settings) -> float:
        """Return the retention probability that a statement means.

        Raises
        ------
        LevelError
            If the statement is none of the mechanism's terms, or above the most trusted release.
        """
        top = self.limits(attributes, settings).retention
        numbers = numbers_of(statement)
        if numbers.keys() != {"retention_probability"}:
            raise unknown_statement(self, statement)
        level = check_retention(numbers["retention_probability"])
        if level > top:
            raise LevelError(
                "The retention probability {level:g} is above {top:g}, with which the groups are"
                " protected: of a group's records only those drawn for that release are"
                " perturbed, and a better one would have to draw more.",
                "Choose at most {top:g}, or raise the retention probability of the most trusted"
                " release before anything is released.",
                level=level,
                top=top,
            )
        return level

    def restate(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Mapping[str, Statement]:
        """Return the level in the mechanism's one term."""
        self.limits(attributes, settings)
        return {"retention": {"retention_probability": check_retention(level)}}

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return the limits and the groups; all levels below the top share them."""
        limits = self.limits(attributes, settings)
        groups = attributes[0].groups
        asked = [limits.epsilon, limits.delta, limits.rule, limits.sampling, limits.retention]
        digest = groups.digest if groups is not None else None
        if limits.bounds is None:  # a ladder from before there were bounds stays the same
            return asked, digest
        return asked, digest, [list(map(list, limits.bounds.shares)), limits.bounds.failing]

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, shape (n,).

        The request's rows are whole groups, unless it knows what was dealt to them.

        Raises
        ------
        PolicyError, LevelError
            If the promise can't be kept.
        """
        self.check_settings(request.attributes, request.settings)
        limits = self.limits(request.attributes, request.settings)
        codes, keys = self.true_codes(request), self._keys(request)
        shown = resampled_codes(
            codes,
            *self._groups(request, Part(context, 0.0, 0.4)),
            limits,
            request.record_ids,
            keys,
            Part(context, 0.4, 0.7),
            request.columns[0].dealt,
        )
        return release_codes(
            codes,
            limits.size_of_domain,
            share_of_top(request.level, limits.retention),
            request.record_ids,
            keys[0],
            Part(context, 0.7, 1.0),
            top=shown,
        )

    def rows_to_draw(self, request: ReleaseRequest, context: Context) -> GroupRows:
        """Return the request's rows whose groups are resampled."""
        limits = self.limits(request.attributes, request.settings)
        groups = self._groups(request, Part(context, 0.0, 0.5))
        keys, rest = self._keys(request), Part(context, 0.5, 1.0)
        return rows_to_draw(
            self.true_codes(request), *groups, limits, request.record_ids, keys, rest
        )[2]

    def dealt(self, rows: GroupRows, attributes: Attributes, settings: Settings) -> GroupAssignment:
        """Draw from whole groups, see `GroupProtection.dealt`."""
        groups, samples = (
            attributes[0].groups,
            self.sample_sizes(attributes, settings, Silent()),
        )
        assert groups is not None
        assert samples is not None
        return dealt_from(rows, groups.sizes, samples, self.limits(attributes, settings))

    def _keys(self, request: ReleaseRequest) -> tuple[AttributeKey, AttributeKey]:
        """Return the key of the perturbation and the ladder, and that of the sampling."""
        return self.key(request, self.name), self.key(request, f"{self.name} sample")

    def _groups(self, request: ReleaseRequest, context: Context) -> tuple[MicroGroups, Integers]:
        """Return the records' groups and how many records of each are drawn."""
        samples = self.sample_sizes(request.attributes, request.settings, context)
        groups = request.columns[0].groups
        if groups is None or samples is None:
            raise PolicyError(
                "The groups of records alike in public are not known for {column}.",
                "Check the public columns of its policy.",
                column=request.attributes[0].name,
            )
        if groups.records != len(request.record_ids):
            raise ValueError("the request does not hold whole groups")
        return groups, samples

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> RetentionMatrix:
        """Return the matrix of a level: what is released is expected to be P·f all the same."""
        self.limits(attributes, settings)
        return uniform_matrix(check_retention(level), self.domain_of(attributes).size)

    def resampling(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> Resampling | None:
        """Return how groups are drawn from; None without groups, or where nothing is told."""
        samples = self.sample_sizes(attributes, settings, Silent())
        if samples is None or level == 0.0:
            return None
        limits = self.limits(attributes, settings)
        return Resampling(
            samples, limits.sampling.draw, limits.retention, level, limits.size_of_domain
        )

    def estimate_law(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> VarianceLaw | None:
        """Return the variances of the whole table's estimated shares, by the true shares.

        A group of n records of which s are drawn counts n²/s·w·(1 - w), with w the chance that
        a draw shows the value, instead of what perturbing each of its records would. w is taken
        from the whole table.
        """
        groups = attributes[0].groups
        samples = self.sample_sizes(attributes, settings, Silent())
        if groups is None or samples is None or level == 0.0:
            return None
        limits = self.limits(attributes, settings)
        share = level / limits.retention
        resampled = samples < groups.sizes
        rows = float(groups.sizes[resampled].sum())
        copies = float((groups.sizes[resampled].astype(np.float64) ** 2 / samples[resampled]).sum())
        records = groups.records

        def variances(shares: Floats) -> Floats:
            at_top = row_variance(limits.retention, limits.size_of_domain, shares)
            drawn = (1.0 - limits.retention) / limits.size_of_domain + limits.retention * shares
            added = copies * drawn * (1.0 - drawn) - rows * at_top
            alone = records * row_variance(level, limits.size_of_domain, shares)
            total: Floats = alone + share**2 * added
            return total / (records * level) ** 2

        return variances

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> str:
        """Say what a release promises about groups and about single records."""
        self.check_settings(attributes, settings)
        limits, spent = self.limits(attributes, settings), self.spent(level, settings)
        return sentence_of(check_retention(level), attributes[0], limits, spent)

    def facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return the figures behind the promise."""
        limits = self.limits(attributes, settings)
        return facts_of(level, limits, self.spent(level, settings))

    def not_promised(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[str, ...]:
        """Say what is not promised about groups and about single records."""
        return not_promised(level, self.limits(attributes, settings))

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return p, m, the domain and how groups were resampled, with the guide for it.

        How many records were drawn is told where it follows from a group's size alone.
        """
        domain = self.domain_of(attributes)
        limits = self.limits(attributes, settings)
        groups = attributes[0].groups
        samples = self.sample_sizes(attributes, settings, Silent())
        draws: dict[int, int] = {}
        if groups is not None and samples is not None and limits.sampling is GroupSampling.BLIND:
            few = samples < groups.sizes
            draws = dict(
                sorted(zip(groups.sizes[few].tolist(), samples[few].tolist(), strict=True))
            )
        return PublishedFacts(
            parameters={
                "retention_probability": level,
                "top_retention_probability": limits.retention,
                "domain_size": domain.size,
                "domain": list(domain.values),
                "odds_factor": whole_odds(
                    uniform_matrix(limits.retention, domain.size).gamma,
                    self.spent(level, settings),
                ),
                "relative_error": limits.epsilon,
                "error_probability": limits.delta,
                "rule": limits.rule.value,
                "sampling": limits.sampling.value,
                "public_columns": list(groups.names) if groups is not None else [],
                "draws_by_group_size": [[size, drawn] for size, drawn in draws.items()],
                **self._told_of_shares(limits, settings),
            },
            guide=_guide(level, limits.sampling),
            values={
                "retention": formatted(level, ".6g"),
                "domain_size": formatted(domain.size, ","),
                "public": ", ".join(groups.names) if groups else Sentence("the public columns"),
            },
        )

    def _told_of_shares(self, limits: GroupLimits, settings: Settings) -> dict[str, Any]:
        """Return what recipients are told of the bounds on shares; nothing where there are none."""
        if limits.bounds is None:
            return {}
        return {
            "largest_shares": [list(each) for each in limits.bounds.shares],
            "largest_shares_from": share_source(settings).value,
            "largest_shares_epsilon": self.byproduct_epsilon(settings),
            "largest_shares_fail": limits.bounds.failing,
        }

    def check_release(self, request: ReleaseRequest, released: Released) -> tuple[Check, ...]:
        """Examine a released column: whole groups row by row, resampled ones by their totals."""
        samples = self.sample_sizes(request.attributes, request.settings, Silent())
        return check_groups(
            self.domain_of(request.attributes),
            self.true_codes(request),
            request.columns[0].groups,
            samples,
            released.columns[request.attributes[0].name],
            released.level,
            self.limits(request.attributes, request.settings),
        )

    def count_errors(
        self, grouped: GroupedValues, start: RiskSetting, context: Context
    ) -> tuple[QueryPoint, ...]:
        """Return how far off counts from plain and from protected releases are."""
        return query_curves(grouped, start, context)

    def mode_costs(
        self, grouped: GroupedValues, settings: Settings, context: Context
    ) -> tuple[ModeCost, ...]:
        """Return how far off counts are without protection, and by each test and way to draw."""
        stated = {**default_limits(), **settings}
        limits = limits_of(stated, grouped.values)
        return mode_costs(grouped, replace(limits, bounds=None), stated, context)


def _guide(level: float, sampling: GroupSampling) -> str:
    """Return the recipient's guide; how many records were drawn is told only of blind draws."""
    if level == 0.0:
        return "uniform-noise"
    return "reconstruction" if sampling is GroupSampling.BLIND else "reconstruction-published"


MECHANISM = ReconstructionPrivacy()


def share_of_top(level: float, top: float) -> float:
    """Return the share of rows that show what the top shows, so that p is not above `level`."""
    if level >= top:
        return 1.0
    share = level / top
    while share > 0.0 and share * top > level:
        share = float(np.nextafter(share, 0.0))
    return share
