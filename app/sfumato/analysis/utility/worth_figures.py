"""How many true records the columns of a policy entry are worth, at any level.

From counts and, of numbers, from the numbers themselves; quickly enough to follow a slider. Figures
count the *effective* number of records: see `sfumato.engine.matrices.worth`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Floats
from sfumato.engine.matrices.worth import (
    SharesWorth,
    design_effect,
    effective_records,
    variance_between_units,
    worth_of_mean,
    worth_of_member,
    worth_of_shares,
)
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.table.combinations import combined, members, sizes_of
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Attribute, Table, measured_rows
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.byproducts import weights_of

Codes = npt.NDArray[np.int64]


# ----- how many records stand behind what is estimated


@dataclass(frozen=True, eq=False)
class RecordsBehind:
    """How many records stand behind figures that are estimated from a release.

    Parameters
    ----------
    of
        The table's records.
    leave
        Those that leave: at most K of a unit.
    apart, by_unit
        The effective numbers of records drawn by themselves, and of those drawn once for a unit.
    rows, units
        Which rows leave, and the unit of each, where records belong to units; None where they
        don't, or where it is not known row by row.
    alike
        By what the variance of a mean is larger where all rows of a unit are alike: the most that
        it can be where `units` are not known.
    chances
        How likely each of the table's rows leaves, shape (of,), where only K of a unit's do; None
        where all leave, or where it is not known row by row.
    """

    of: int
    leave: int
    apart: float
    by_unit: float
    rows: npt.NDArray[np.intp] | None = field(default=None, repr=False)
    units: Codes | None = field(default=None, repr=False)
    alike: float = 1.0
    chances: Floats | None = field(default=None, repr=False)
    _between: dict[int, tuple[Attribute, Floats]] = field(default_factory=dict, repr=False)

    @classmethod
    def of_rows(cls, rows: int) -> RecordsBehind:
        """Return that of records which stand alone and have no weights."""
        return cls(rows, rows, float(rows), float(rows))


def records_behind(document: Document, table: Table) -> RecordsBehind:
    """Return how many records stand behind what is estimated from releases of a table.

    Raises
    ------
    TableError
        If a row's unit is missing, or weights say nothing.
    """
    weights, unit = weights_of(document, table), document.unit
    if unit is None:
        apart = float(table.rows) if weights is None else effective_records(weights)
        return RecordsBehind(table.rows, table.rows, apart, apart)
    codes = units_of(table, unit.columns)
    rank = pd.Series(codes).groupby(codes).cumcount().to_numpy()
    rows = np.flatnonzero(rank < unit.most_rows)
    own = np.ones(len(rows)) if weights is None else weights[rows]
    left = pd.factorize(codes[rows])[0].astype(np.int64)
    sizes = np.bincount(left).astype(np.float64)
    whole = np.bincount(codes)[codes]
    chances = np.minimum(unit.most_rows / whole, 1.0) if len(rows) < table.rows else None
    return RecordsBehind(
        table.rows,
        len(rows),
        effective_records(own),
        effective_records(np.bincount(left, own).astype(np.float64)),
        rows,
        left,
        len(rows) / effective_records(sizes),
        chances,
    )


def records_behind_parts(document: Document, table: BatchedTable, sample: Table) -> RecordsBehind:
    """Return it of rows of which only a sample is at hand: no row's unit is known.

    The sizes of units are; weights count as unequal as those of the sample.

    Raises
    ------
    TableError
        If weights say nothing.
    """
    rows, found = table.whole.rows, table.units
    behind = RecordsBehind.of_rows(rows)
    if found is not None:
        squares = sum(float(size) ** 2 * count for size, count in found.sizes.items())
        by_unit = float(found.rows) ** 2 / squares if squares else 0.0
        alike = found.rows / by_unit if by_unit else 1.0
        behind = RecordsBehind(rows, found.rows, float(found.rows), by_unit, alike=alike)
    weights = weights_of(document, sample)
    if weights is None:
        return behind
    share = effective_records(weights) / sample.rows
    return replace(behind, apart=behind.apart * share, by_unit=behind.by_unit * share)


# ----- what an entry is worth


@dataclass(frozen=True)
class ColumnFigures:
    """What one column of a policy entry is worth at a level.

    Parameters
    ----------
    records
        N, in true records.
    shares
        The figures of single values; None for numbers.
    shift
        By how many standard deviations clipping, and a bound on a unit's rows, move a mean; 0 for
        categories.
    """

    records: float
    shares: SharesWorth | None = None
    shift: float = 0.0


def worth_at_level(
    mechanism: Mechanism,
    level: float,
    attributes: Sequence[Attribute],
    settings: Settings,
    behind: RecordsBehind,
    *,
    once: bool = False,
) -> tuple[ColumnFigures, ...] | None:
    """Return what each attribute of an entry is worth at a row's level; None where nothing tells.

    Parameters
    ----------
    mechanism, level, attributes, settings
        Whose release it is, as for `Mechanism.matrix`.
    behind
        How many records stand behind it.
    once
        Whether the attributes are drawn once for a unit.

    Raises
    ------
    SfumatoError
        If the settings don't fit the attributes.
    """
    records = behind.by_unit if once else behind.apart
    if attributes[0].domain is None:
        return _of_numbers(mechanism, level, attributes, settings, behind, once)
    whole = combined(attributes)
    matrix = mechanism.matrix(level, attributes, settings)
    if matrix is None or whole.counts is None or matrix.size != len(whole.counts):
        return None
    shares = whole.frequencies
    if len(attributes) == 1:
        law = mechanism.estimate_law(level, attributes, settings)
        between = None if once else _between(attributes[0], behind)
        moved = None if once else _moved(attributes[0], behind)
        found = worth_of_shares(shares, matrix, records, between, law, moved)
        return (ColumnFigures(found.records, found),)
    sizes, told = sizes_of(attributes), []
    for place, attribute in enumerate(attributes):
        between = None if once else _between(attribute, behind)
        moved = None if once else _moved(attribute, behind)
        one = worth_of_member(shares, matrix, members(sizes, place), records, between, moved)
        told.append(ColumnFigures(one.records, one))
    return tuple(told)


def _between(attribute: Attribute, behind: RecordsBehind) -> Floats | None:
    """Return the variance of true shares, for each record, where rows belong to units."""
    domain = attribute.domain
    assert domain is not None
    if behind.rows is None or behind.units is None or attribute.codes is None:
        if behind.alike <= 1.0 or attribute.counts is None:
            return None
        shares = attribute.frequencies
        return behind.alike * shares * (1.0 - shares)
    known = behind._between.get(id(attribute))  # asked for at each place of a slider
    if known is None or known[0] is not attribute:
        codes = attribute.codes[behind.rows]
        known = attribute, variance_between_units(codes, behind.units, domain.size)
        behind._between[id(attribute)] = known
    return known[1]


def _moved(attribute: Attribute, behind: RecordsBehind) -> Floats | None:
    """Return how far shares are moved since large units lose rows, shape (m,); None where not."""
    chances, codes = behind.chances, attribute.codes
    if chances is None or codes is None or len(codes) != len(chances):
        return None
    left = np.bincount(codes, chances, minlength=len(attribute.frequencies))
    moved: Floats = left / left.sum() - attribute.frequencies
    return moved


def _of_numbers(
    mechanism: Mechanism,
    level: float,
    attributes: Sequence[Attribute],
    settings: Settings,
    behind: RecordsBehind,
    once: bool,
) -> tuple[ColumnFigures, ...] | None:
    rows, units = behind.rows, behind.units
    if once:  # in all rows of a unit the same: one of each tells it
        attributes, unit = measured_rows(attributes)
        rows, units = (rows, units) if unit is None else (None, None)
    columns = [each.numbers for each in attributes if each.numbers is not None]
    if len(columns) < len(attributes):
        return None
    numbers = np.stack(columns)
    lost = [None if once else _left_out(one, behind) for one in columns]
    numbers = numbers if rows is None or attributes[0].beyond is not None else numbers[:, rows]
    moments = mechanism.shown_moments(numbers, level, attributes, settings)
    if moments is None:
        return None
    return tuple(
        _of_mean(true, means, variances, behind, once, units, left)
        for true, means, variances, left in zip(numbers, *moments, lost, strict=True)
    )


def _left_out(numbers: Floats, behind: RecordsBehind) -> tuple[float, float] | None:
    """Return how far a mean is moved since large units lose rows, and all numbers' variance."""
    chances = behind.chances
    if chances is None or len(numbers) != len(chances):
        return None
    known = np.isfinite(numbers)
    true, left = numbers[known], chances[known]
    return (float(left @ true / left.sum() - true.mean()), float(true.var())) if len(true) else None


def _of_mean(
    true: Floats,
    means: Floats,
    variances: Floats,
    behind: RecordsBehind,
    once: bool,
    units: Codes | None,
    lost: tuple[float, float] | None,
) -> ColumnFigures:
    known = np.isfinite(true)
    present = float(known.mean()) if len(known) else 0.0
    if not present:
        return ColumnFigures(0.0)
    if present < 1.0:
        true, means, variances = true[known], means[known], variances[known]
    design = 1.0
    if not once:
        whose = None if units is None or len(units) != len(known) else units[known]
        design = behind.alike if whose is None else design_effect(means, whose)
    records = present * (behind.by_unit if once else behind.apart)
    moved, variance = (0.0, float(true.var())) if lost is None else lost
    spread = math.sqrt(variance)
    shift = (float(means.mean()) - float(true.mean()) + moved) / spread if spread else 0.0
    worth = worth_of_mean(true, means, variances, records, design, moved, variance)
    return ColumnFigures(worth, None, shift)
