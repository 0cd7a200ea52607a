"""What protecting small groups costs those who count: relative errors over p, ε, δ and size.

What Wang, Han and Fu (2012) show in Figs. 3 and 5: the error of a pool of random count queries
from a plain perturbed release, and from one whose groups were sampled, perturbed and scaled, by
the published way and by the exact test with blind draws. All releases of one setting share
their keyed draws, so what differs is the protection and not chance.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.grouped_values import (
    GroupedValues,
    grouped_values,
    sampled_records,
)
from sfumato.engine.disclosure.query_pool import QUERIES, SELECTIVITY, QueryPool, query_pool
from sfumato.engine.disclosure.risk_curves import Parameter, Setting, settings_of
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.privacy import Rule
from sfumato.engine.mechanisms.reconstruction.release import resampled_codes
from sfumato.engine.mechanisms.reconstruction.sizes import Limits, Sampling, sample_sizes
from sfumato.engine.mechanisms.reconstruction.tails import Whole
from sfumato.engine.randomness.keys import (
    SECRET_BYTES,
    AttributeKey,
    KeyRing,
    record_ids_by_position,
)
from sfumato.engine.table.micro_groups import MicroGroups, value_counts

PROTECTIONS = ((Rule.SIMPLIFIED, Sampling.PUBLISHED), (Rule.EXACT, Sampling.BLIND))
"""The two ways to protect groups that are compared with none."""


@dataclass(frozen=True)
class QueryPoint:
    """One setting and the mean relative errors under it.

    Parameters
    ----------
    parameter
        What was moved.
    value
        To where.
    plain
        The mean relative error from a plain perturbed release.
    published
        That of the algorithm as it was published, by the simplified test.
    exact
        That of blind draws by the exact test; None where these limits can't be kept.
    """

    parameter: Parameter
    value: float
    plain: float
    published: float | None
    exact: float | None


def query_curves(
    groups: MicroGroups,
    codes: Codes,
    size: int,
    start: Setting,
    context: Context,
    queries: int = QUERIES,
    selectivity: float = SELECTIVITY,
    seed: int = 1,
) -> tuple[QueryPoint, ...]:
    """Return mean relative errors as p, ε, δ and the number of records move, one at a time.

    Parameters
    ----------
    groups
        The micro groups of n records.
    codes
        Each record's sensitive value, shape (n,).
    size
        The number of values in its domain, m.
    start
        What the questions start from; its test is not used.
    context
        Progress and cancelling.
    queries, selectivity
        As for `query_pool`.
    seed
        The same seed draws the same smaller tables and the same queries.

    Raises
    ------
    EstimationError
        If no query is answered by enough records.
    """
    desks: dict[int, _Desk] = {}
    points = []
    settings = list(settings_of(start))
    for done, (parameter, value, setting) in enumerate(settings):
        part = Part(context, done / len(settings), (done + 1) / len(settings))
        part.report(0.0, Sentence("Moving {parameter}", parameter=parameter))
        if setting.records not in desks:
            table, own = groups, codes
            if setting.records < groups.records:
                table, own = sampled_records(groups, codes, setting.records, seed)
            desks[setting.records] = _Desk.of(table, own, size, queries, selectivity, seed)
        points.append(desks[setting.records].answer(parameter, value, setting, part))
    context.report(1.0, "Curves are ready")
    return tuple(points)


@dataclass(frozen=True)
class _Desk:
    """One table with its pool of queries."""

    groups: MicroGroups
    codes: Codes
    grouped: GroupedValues
    pool: QueryPool

    @classmethod
    def of(
        cls,
        groups: MicroGroups,
        codes: Codes,
        size: int,
        queries: int,
        selectivity: float,
        seed: int,
    ) -> _Desk:
        grouped = grouped_values(groups, codes, size)
        pool = query_pool(grouped, Silent(), queries, selectivity, seed=seed)
        return cls(groups, codes, grouped, pool)

    def answer(
        self, parameter: Parameter, value: float, setting: Setting, context: Context
    ) -> QueryPoint:
        plain = self._error(self._limits(setting, *PROTECTIONS[0]), None, Part(context, 0.0, 0.3))
        protected: list[float | None] = []
        for place, (rule, sampling) in enumerate(PROTECTIONS):
            part = Part(context, 0.3 + 0.35 * place, 0.65 + 0.35 * place)
            limits = self._limits(setting, rule, sampling)
            try:
                samples = sample_sizes(limits, self.grouped.counts, part)
            except (LevelError, PolicyError):
                protected.append(None)  # not even a single draw keeps these limits
                continue
            protected.append(self._error(limits, samples, part))
        return QueryPoint(parameter, value, plain, *protected)

    def _limits(self, setting: Setting, rule: Rule, sampling: Sampling) -> Limits:
        asked = setting.limits
        size = self.grouped.values
        return Limits(asked.epsilon, asked.delta, rule, sampling, setting.retention, size)

    def _error(self, limits: Limits, samples: Whole | None, context: Context) -> float:
        drawn = self.groups.sizes if samples is None else samples
        released = resampled_codes(
            self.codes,
            self.groups,
            drawn,
            limits,
            record_ids_by_position(len(self.codes)),
            _known_keys(),
            context,
        )
        counts = value_counts(self.groups, released, limits.size_of_domain)
        matrix = uniform_matrix(limits.retention, limits.size_of_domain)
        return float(self.pool.relative_errors(counts, matrix).mean())


def _known_keys() -> tuple[AttributeKey, AttributeKey]:
    """Return keys that everyone knows: nothing made with them is released."""
    ring = KeyRing(bytes(SECRET_BYTES))
    return (
        ring.for_attribute("query curves", "", "perturbation"),
        ring.for_attribute("query curves", "", "sample"),
    )
