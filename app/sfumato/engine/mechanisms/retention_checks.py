"""Examining released columns that keep or replace against what they should be, without keys."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.values import Codes
from sfumato.engine.core.wording import Sentence
from sfumato.engine.matrices.goodness_of_fit import (
    FALSE_ALARM,
    Retention,
    SpreadTest,
    examine_kept,
    examine_matrix,
    examine_spread,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms.base import Check

_ALARM = Sentence(
    "A sound release fails this less than once in {times:,.0f} times.", times=1 / FALSE_ALARM
)


def check_against_table(
    domain: Domain, codes: Codes, released: pd.Series, retention: Retention
) -> tuple[Check, ...]:
    """Examine one released column against the true codes.

    Parameters
    ----------
    domain
        The attribute's domain, m values.
    codes
        The true codes, shape (n,).
    released
        The released column.
    retention
        Each value's retention probability, shape (m,).
    """
    rows = _check_rows(len(codes), len(released), "the table")
    seen, values = _encoded(domain, released, "Released values")
    if seen is None or not rows.holds:
        return rows, values
    if (retention == 1.0).all():
        return rows, values, _check_same(codes, seen, "the table")
    return rows, values, *_statistical(codes, seen, retention, "their true value")


def check_against_matrix(
    domain: Domain, codes: Codes, released: pd.Series, matrix: PerturbationMatrix
) -> tuple[Check, ...]:
    """Examine one released column against the true codes and any matrix.

    Parameters
    ----------
    domain
        The attribute's domain, m values.
    codes
        The true codes, shape (n,).
    released
        The released column.
    matrix
        What the release was made by.
    """
    rows = _check_rows(len(codes), len(released), "the table")
    seen, values = _encoded(domain, released, "Released values")
    if seen is None or not rows.holds:
        return rows, values
    found = examine_matrix(codes, seen, matrix.dense())
    possible = Check(
        "Possible values",
        found.impossible == 0,
        Sentence(
            "{impossible:,} records show a value that the matrix never releases for theirs.",
            impossible=found.impossible,
        ),
    )
    return rows, values, possible, _spread_check(found.spread)


def check_between_releases(
    domain: Domain, upper: pd.Series, upper_level: float, lower: pd.Series, lower_level: float
) -> tuple[Check, ...]:
    """Examine whether the lower of two released columns is a garbling of the upper one.

    On the ladder the lower release keeps what the upper one shows with probability
    p_lower/p_upper and otherwise replaces it uniformly (Xiao et al. 2009, equation 10).

    Parameters
    ----------
    domain
        The attribute's domain.
    upper, lower
        The released columns.
    upper_level, lower_level
        Their retention probabilities, the lower one not above the upper one.
    """
    rows = _check_rows(len(upper), len(lower), "the more trusted release")
    above, above_values = _encoded(domain, upper, "Values of the more trusted release")
    below, below_values = _encoded(domain, lower, "Values of the less trusted release")
    checks = (rows, above_values, below_values)
    if above is None or below is None or not rows.holds:
        return checks
    if upper_level == lower_level:
        return *checks, _check_same(above, below, "the other release of this level")
    retention = np.full(domain.size, lower_level / upper_level)
    found = _statistical(above, below, retention, "what the more trusted one shows")
    return *checks, *found


def _check_rows(expected: int, found: int, whose: str) -> Check:
    return Check(
        "Number of records",
        expected == found,
        Sentence(
            "{found:,} records; {whose} has {expected:,}.",
            found=found,
            whose=whose,
            expected=expected,
        ),
    )


def _encoded(domain: Domain, column: pd.Series, title: str) -> tuple[Codes | None, Check]:
    try:
        codes = domain.encode(column)
    except DomainError as error:
        return None, Check(title, False, error.what)
    return codes, Check(title, True, "All values are in the domain.")


def _check_same(expected: npt.NDArray[np.generic], seen: Codes, whose: str) -> Check:
    differing = np.flatnonzero(expected != seen)
    if len(differing):
        finding = Sentence(
            "{differing:,} records differ from {whose}, first in row {first:,}.",
            differing=len(differing),
            whose=whose,
            first=differing[0] + 1,
        )
    else:
        finding = Sentence("Every record shows the same value as {whose}.", whose=whose)
    return Check("Equal values", len(differing) == 0, finding)


def _statistical(
    origin: Codes, seen: Codes, retention: Retention, what: str
) -> tuple[Check, Check]:
    kept = examine_kept(origin, seen, retention)
    spread = examine_spread(origin, seen, retention)
    share = kept.kept / kept.records
    kept_check = Check(
        "Retained values",
        kept.holds,
        Sentence(
            "{kept:,} of {records:,} records ({share:.2%}) show {what}; "
            "{expected_share:.2%} are expected (chance {chance:.2g}). {alarm}",
            kept=kept.kept,
            records=kept.records,
            share=share,
            what=what,
            expected_share=kept.expected_share,
            chance=kept.chance,
            alarm=_ALARM,
        ),
    )
    return kept_check, _spread_check(spread)


def _spread_check(spread: SpreadTest) -> Check:
    if spread.freedom == 0:
        finding = "There are too few records to examine how replaced values spread."
    else:
        finding = Sentence(
            "Released values spread over the domain with chi-square {statistic:,.1f}; "
            "about {freedom:,} is expected (chance {chance:.2g}). {alarm}",
            statistic=spread.statistic,
            freedom=spread.freedom,
            chance=spread.chance,
            alarm=_ALARM,
        )
    return Check("Spread of released values", spread.holds, finding)
