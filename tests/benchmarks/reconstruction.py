"""Small groups of 500,000 records: grouping, the three tests, resampling and count queries."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.count_queries import query_pool
from sfumato.engine.disclosure.group_privacy import PrivacyTest, private_groups
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.mechanisms.reconstruction.limits import GroupLimits, GroupSampling, sample_sizes
from sfumato.engine.mechanisms.reconstruction.release import resampled_codes
from sfumato.engine.randomness.keys import SECRET_BYTES, KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups, value_counts
from tests.benchmarks.harness import Case

BASELINE = "pandas groupby, or plain numpy perturbation"

DOMAINS = {
    "age": 77,
    "gender": 2,
    "education": 14,
    "marital": 6,
    "race": 9,
    "work-class": 7,
    "occupation": 50,
}
"""Wang, Han and Fu (2012), Table 2."""

RETENTION, EPSILON, DELTA = 0.5, 0.3, 0.3


def census(rows: int, seed: int = 9) -> dict[str, np.ndarray]:
    """Return made-up people with the paper's domain sizes, shape (rows,) a column.

    Everyone belongs to one of 40 walks of life, each with distributions of its own, so that
    columns depend on one another and groups are skewed, as among real people.
    """
    generator = np.random.default_rng(seed)
    walk = generator.choice(40, rows, p=generator.dirichlet(np.full(40, 0.7)))
    columns = {}
    for name, size in DOMAINS.items():
        shape = 0.05 if size < 20 else 0.02
        shares = generator.dirichlet(np.full(size, shape), 40) * 0.9 + 0.1 / size
        steps = np.cumsum(shares, axis=1)
        steps /= steps[:, -1:]
        draws = generator.random(rows)
        codes = np.empty(rows, dtype=np.uint8)
        for kind in range(40):
            here = walk == kind
            codes[here] = np.searchsorted(steps[kind], draws[here], side="right")
        columns[name] = np.minimum(codes, size - 1)
    return columns


def table(rows: int, sensitive: str) -> tuple[pd.DataFrame, Codes, int]:
    """Return the public columns as categoricals, the sensitive codes and their domain's size."""
    columns = census(rows)
    public = {
        name: pd.Categorical.from_codes(codes, [f"{name} {i}" for i in range(DOMAINS[name])])
        for name, codes in columns.items()
        if name != sensitive
    }
    return pd.DataFrame(public), columns[sensitive], DOMAINS[sensitive]


def cases(quick: bool) -> Iterator[Case]:
    """Yield each step, then all of them in a row, for education and occupation."""
    rows = 20_000 if quick else 500_000
    for sensitive in ("education", "occupation"):
        frame, codes, size = table(rows, sensitive)
        names = list(frame.columns)
        groups = micro_groups(frame, names, Silent())
        counts = value_counts(groups, codes, size)
        named = f"{sensitive[:3]} {rows:,} rows"
        yield Case(
            f"{named} groups",
            partial(micro_groups, frame, names, Silent()),
            partial(_by_pandas, frame, names),
            facts=partial(_facts, groups),
        )
        for rule in PrivacyTest:
            yield Case(
                f"{named} test {rule}",
                partial(private_groups, rule, counts, RETENTION, size, EPSILON, DELTA),
                partial(_test_by_pandas, frame, names, codes, size),
                baseline_name="pandas: group, count, equation 10",
            )
        for sampling, rule in (
            (GroupSampling.PUBLISHED, PrivacyTest.SIMPLIFIED),
            (GroupSampling.BLIND, PrivacyTest.EXACT),
        ):
            yield Case(
                f"{named} resample {sampling}",
                partial(_resampled, groups, codes, size, sampling, rule),
                partial(_perturbed, codes, size),
                baseline_name="plain numpy perturbation",
            )
        yield Case(
            f"{named} all",
            partial(_everything, frame, names, codes, size),
            partial(_test_by_pandas, frame, names, codes, size),
            baseline_name="pandas: group, count, equation 10",
        )
        yield Case(
            f"{named} 5,000 queries",
            partial(_queries, groups, codes, size),
            partial(_by_pandas, frame, names),
        )


def _facts(groups: MicroGroups) -> dict[str, object]:
    return {"groups": groups.count, "largest": int(groups.sizes.max())}


def _by_pandas(frame: pd.DataFrame, names: list[str]) -> pd.Series:
    return frame.groupby(names, observed=True, sort=False, dropna=False).ngroup()


def _test_by_pandas(frame: pd.DataFrame, names: list[str], codes: Codes, size: int) -> int:
    """Return how many groups violate, by equation 10."""
    whole = frame.assign(value=codes)
    counts = whole.groupby([*names, "value"], observed=True, sort=False).size()
    groups = counts.groupby(level=names, observed=True, sort=False)
    sizes, largest = groups.sum(), groups.max()
    share = largest / sizes
    shown = share * RETENTION + (1 - RETENTION) / size
    theta = EPSILON * RETENTION * share / shown
    return int((sizes > -2 * np.log(DELTA) / (shown * theta**2)).sum())


def _resampled(
    groups: MicroGroups, codes: Codes, size: int, sampling: GroupSampling, rule: PrivacyTest
) -> Codes:
    limits = GroupLimits(
        EPSILON, DELTA if rule is not PrivacyTest.EXACT else 0.17, rule, sampling, 0.5, size
    )
    samples = sample_sizes(limits, value_counts(groups, codes, size), Silent())
    ring = KeyRing(bytes(SECRET_BYTES))
    keys = (ring.for_attribute("a", "", "b"), ring.for_attribute("a", "", "c"))
    ids = record_ids_by_position(len(codes))
    return resampled_codes(codes, groups, samples, limits, ids, keys, Silent())


def _perturbed(codes: Codes, size: int) -> np.ndarray:
    generator = np.random.default_rng(1)
    rows = len(codes)
    return np.where(generator.random(rows) < RETENTION, codes, generator.integers(0, size, rows))


def _everything(frame: pd.DataFrame, names: list[str], codes: Codes, size: int) -> Codes:
    """Group the rows, run all three tests, and make the resampled release."""
    groups = micro_groups(frame, names, Silent())
    counts = value_counts(groups, codes, size)
    for rule in PrivacyTest:
        private_groups(rule, counts, RETENTION, size, EPSILON, DELTA)
    return _resampled(groups, codes, size, GroupSampling.PUBLISHED, PrivacyTest.SIMPLIFIED)


def _queries(groups: MicroGroups, codes: Codes, size: int) -> np.ndarray:
    """Draw a pool of 5,000 queries and answer it from one release."""
    pool = query_pool(grouped_values(groups, codes, size), Silent())
    released = _perturbed(codes, size).astype(codes.dtype)
    counts = value_counts(groups, released, size)
    return pool.relative_errors(counts, uniform_matrix(RETENTION, size))
