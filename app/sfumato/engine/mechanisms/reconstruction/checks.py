"""Examining a resampled release against the true table, without keys.

Whole groups are perturbed row by row and are examined as any such release. In a resampled group
only the totals mean something: how often each value is shown.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from sfumato.engine.core.columns import Codes, Domain
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.goodness_of_fit import FALSE_ALARM
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.mechanisms.reconstruction.sizes import Limits
from sfumato.engine.mechanisms.reconstruction.tails import Floats, Whole
from sfumato.engine.mechanisms.retention_checks import check_against_table
from sfumato.engine.table.micro_groups import MicroGroups, value_counts

_TOTALS: Final = "Resampled groups: totals"
_COPIES: Final = "Resampled groups: copies"


def check_groups(
    domain: Domain,
    codes: Codes,
    groups: MicroGroups | None,
    samples: Whole | None,
    released: pd.Series,
    level: float,
    limits: Limits,
) -> tuple[Check, ...]:
    """Examine one released column.

    Parameters
    ----------
    domain, codes
        The attribute's domain, m values, and the true codes, shape (n,).
    groups, samples
        The records' groups, and how many of each were drawn, shape (G,).
    released
        The released column.
    level
        Its retention probability.
    limits
        What was asked of every group.
    """
    whole_table = groups is not None and len(codes) == int(groups.sizes.sum())
    if groups is None or samples is None or not whole_table or len(released) != len(codes):
        finding = Sentence(
            "{released:,} records; the table has {codes:,}.",
            released=len(released),
            codes=len(codes),
        )
        return (
            Check("Number of records", len(released) == len(codes), finding),
            _check_domain(domain, released),
        )
    inside = _check_domain(domain, released)
    if not inside.holds:
        return (inside,)
    seen = domain.encode(released)
    resampled = samples < groups.sizes
    rows = resampled[groups.codes]
    checks: tuple[Check, ...] = (inside,)
    if not rows.all():
        apart = check_against_table(
            domain,
            codes[~rows],
            released[~rows].reset_index(drop=True),
            np.full(domain.size, level),
        )
        checks = tuple(_about_whole_groups(check) for check in apart)
    if not resampled.any():
        return checks
    members = MicroGroups((np.cumsum(resampled) - 1)[groups.codes[rows]], groups.sizes[resampled])
    true = value_counts(members, codes[rows], domain.size)
    shown = value_counts(members, seen[rows], domain.size)
    drawn = samples[resampled]
    totals = _check_totals(true, shown, members.sizes, drawn, level, limits)
    if level < limits.retention:
        return *checks, totals
    return *checks, totals, _check_copies(shown, members.sizes, drawn)


def _check_domain(domain: Domain, released: pd.Series) -> Check:
    try:
        domain.encode(released)
    except DomainError as error:
        return Check("Released values", False, error.what)
    return Check("Released values", True, "All values are in the domain.")


def _about_whole_groups(check: Check) -> Check:
    return Check(
        Sentence("Whole groups: {lower}", lower=check.title.lower()), check.holds, check.finding
    )


def _check_totals(
    true: sparse.csr_array,
    shown: sparse.csr_array,
    sizes: Whole,
    drawn: Whole,
    level: float,
    limits: Limits,
) -> Check:
    """Examine how often groups show their own values.

    The sum over groups and values of the true share times the released count has a known mean;
    it is a sum of independent bounded draws, so Bernstein's inequality bounds the chance of a
    deviation whatever else their law is.
    """
    shares = sparse.csr_array(
        (true.data / sizes[_rows_of(true)], true.indices, true.indptr), shape=true.shape
    )
    found = float(shares.multiply(shown).sum())
    square, cube = (np.add.reduceat(shares.data**power, true.indptr[:-1]) for power in (2, 3))

    def mean_of(retention: float, kept: Floats, others: Floats | float) -> Floats:
        return retention * kept + (1.0 - retention) / limits.size_of_domain * others

    expected = float((sizes * mean_of(level, square, 1.0)).sum())
    copies = sizes / drawn
    # A draw counts with all its copies; below the top, each row is replaced on its own as well;
    # and copies are rounded, which moves a group by less than one.
    variance = sizes * copies * mean_of(limits.retention, cube, square)
    variance += sizes * mean_of(level, cube, square)
    largest = np.maximum.reduceat(shares.data, true.indptr[:-1]) * copies + 1.0
    chance = _bernstein(
        abs(found - expected), float(((np.sqrt(variance) + 1.0) ** 2).sum()), float(largest.max())
    )
    finding = Sentence(
        "In {sizes:,} resampled groups, released values weigh {found:,.0f} by "
        "their true shares; {expected:,.0f} is expected (chance at most "
        "{chance:.2g}). A sound release fails this less than once in "
        "{times:,.0f} times.",
        sizes=len(sizes),
        found=found,
        expected=expected,
        chance=chance,
        times=1 / FALSE_ALARM,
    )
    return Check(_TOTALS, chance >= FALSE_ALARM, finding)


def _bernstein(distance: float, variance: float, largest: float) -> float:
    """Bound the chance that a sum of independent terms is so far from its mean."""
    exponent = distance**2 / (2.0 * (variance + largest * distance / 3.0))
    return min(1.0, 2.0 * math.exp(-exponent))


def _rows_of(counts: sparse.csr_array) -> npt.NDArray[np.intp]:
    return np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))


def _check_copies(shown: sparse.csr_array, sizes: Whole, drawn: Whole) -> Check:
    """Examine that every count is a number of draws, each copied as often as the others."""
    row = _rows_of(shown)
    n, s = sizes[row], drawn[row]
    # Of k draws, k·n/s copies are shown, rounded down or up: the count O has |O - k·n/s| < 1.
    least = (shown.data - 1) * s // n + 1
    most = -(-(shown.data + 1) * s // n) - 1
    fewest = np.bincount(row, least, len(sizes))
    highest = np.bincount(row, most, len(sizes))
    wrong = (fewest > drawn) | (highest < drawn)
    wrong[row[least > most]] = True
    finding = Sentence(
        "{wrong:,} of {sizes:,} resampled groups show counts that copies of so few "
        "draws can't give.",
        wrong=int(wrong.sum()),
        sizes=len(sizes),
    )
    return Check(_COPIES, not wrong.any(), finding)
