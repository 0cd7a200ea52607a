"""A level of its own for every recipient, a hair below the one chosen.

Two recipients at the same level get the same values, so a leaked file names them both. With a
spacing s, the recipient with mark k is released to at a level lower by the share k·s: still one
ladder, so that pooling tells no more, and every file has values of its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import EstimationError, LevelError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.traceability import CONFIDENCE, TableRows, Traceability, traceability
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute, Table
from sfumato.formats.comparison import common_positions
from sfumato.project.document.entry_plan import level_of, plan_entry, plan_release
from sfumato.project.document.model import Document, Recipient
from sfumato.project.errors import NotTraceable
from sfumato.project.release.regenerate import Regenerator

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

WIDEST_SPACING: Final = 0.05
"""A wider spacing is no hair any more."""
USUAL_SPACING: Final = 0.01
LOWEST_SHARE: Final = 0.5
"""No mark may take more than half of a level."""
_Hashes = npt.NDArray[np.int64]

_CELLS_AT_ONCE: Final = 8_000_000
"""Rows times releases that are compared at once, to spare memory."""


_MOST_COMBINED: Final = 4
"""Up to so many perturbed columns, each may be true or not in a row that comes from no release."""


def with_spacing(document: Document, spacing: float) -> Document:
    """Return the document with levels that lie apart by a share of themselves.

    Parameters
    ----------
    document
        The recipients; those without a mark of their own get one and keep it.
    spacing
        The share of the level between two marks, 0 (all get the level chosen) to
        `WIDEST_SPACING`.

    Raises
    ------
    LevelError
        If the spacing is out of range, or too wide for so many recipients.
    """
    if not 0.0 <= spacing <= WIDEST_SPACING:
        raise LevelError(
            "The spacing between recipients' levels is out of range.",
            "Give a share from 0 to {widest:g}.",
            widest=WIDEST_SPACING,
        )
    marked = replace(document, level_spacing=spacing)
    if spacing == 0.0:
        return marked
    marked = with_marks(marked)
    most = max((recipient.mark for recipient in marked.recipients), default=0)
    if spacing * most > LOWEST_SHARE:
        raise LevelError(
            "With a spacing of {spacing:g}, the last of {count} recipients would lose more than"
            " half of the level chosen.",
            "Choose a spacing of at most {most:.2g}.",
            spacing=spacing,
            count=len(marked.recipients),
            most=LOWEST_SHARE / most,
        )
    return marked


def with_marks(document: Document) -> Document:
    """Return the document with a mark of its own for each recipient; given ones are kept."""
    taken: set[int] = set()
    recipients: list[Recipient] = []
    for recipient in document.recipients:
        mark = recipient.mark
        if mark in taken:
            mark = 1 + max(*taken, *(r.mark for r in document.recipients))
        taken.add(mark)
        recipients.append(recipient if mark == recipient.mark else replace(recipient, mark=mark))
    return replace(document, recipients=tuple(recipients))


@dataclass(frozen=True)
class TracingPrice:
    """How traceable the recipients' files are, and what that costs.

    Parameters
    ----------
    recipients
        Their names, in the order of the figures.
    figures
        How many leaked rows name each of them.
    lowered
        For each recipient, the largest share by which a level is lower than the one chosen.
    extra_records
        How many more records, as a share, a recipient needs at most to estimate shares or means
        with the same error as at the level chosen.
    """

    recipients: tuple[str, ...]
    figures: Traceability
    lowered: Mapping[str, float]
    extra_records: float = 0.0

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        most = self.figures.most_rows
        cost = max(self.lowered.values(), default=0.0)
        if not np.isfinite(most):
            place = int(np.argmax(self.figures.rows_needed))
            other = self.recipients[int(self.figures.hardest[place])]
            return Sentence(
                "{recipients} and {other} get the same values: nobody can tell from a leaked "
                "file which of them it comes from.",
                recipients=self.recipients[place],
                other=other,
            )
        price = (
            Sentence(
                " Levels are up to {cost:.2%} lower than chosen, so estimating shares or "
                "means with the same error needs up to {extra_records:.2%} more records.",
                cost=cost,
                extra_records=self.extra_records,
            )
            if cost > 0.0
            else ""
        )
        return Sentence(
            "Leaked rows, picked at random, identify their recipient with at least "
            "{confidence:.0%} certainty once there are {most:,.0f} of them.{price}",
            most=most,
            confidence=CONFIDENCE,
            price=price,
        )


def tracing_price(
    document: Document,
    table: Table,
    keys: KeyRing,
    context: Context,
    folders: Sequence[Path] = (),
) -> TracingPrice:
    """Compute from how many leaked rows on each recipient is named.

    Parameters
    ----------
    document
        The recipients with their levels and marks, and the spacing.
    table
        The source table.
    keys
        The project's keys: the releases are made as they would be.
    context
        Progress and cancelling.
    folders
        Where adopted files are looked for that are not in their places.

    Raises
    ------
    NotTraceable
        If there are fewer than two recipients.
    SfumatoError
        If the policy is not complete.
    """
    if len(document.recipients) < 2:
        raise NotTraceable(
            "With one recipient there is nobody to tell a leaked file from.", "Add another one."
        )
    regenerator = Regenerator(document, table, keys, folders)
    attributes = regenerator.attributes()
    shown = _shown(regenerator)
    ways = true_together(list(attributes))
    kept = _kept(shown, table.rows * len(document.recipients) * len(ways))
    from_table = _FromTable(regenerator, attributes, shown, kept)
    releases = []
    for place, recipient in enumerate(document.recipients):
        count = len(document.recipients)
        part = Part(context, 0.8 * place / count, 0.8 * (place + 1) / count)
        part.report(0.0, Sentence("Making {recipient}'s values", recipient=recipient.name))
        made: dict[str, pd.Series] = {}
        for plan in plan_release(document, attributes, recipient):
            made |= regenerator.perturbed(plan, part)
        regenerator.forget()
        columns = [column.reset_index(drop=True).iloc[kept] for column in made.values()]
        releases.append(_hashed([shown.iloc[kept], *columns]))
        from_table.compare(made)
    figures = traceability(releases, Part(context, 0.8, 1.0), from_table.ways())
    # Rows of a unit that show one draw count as parts of it, at the least by the largest unit.
    figures = replace(figures, rows_needed=figures.rows_needed * _rows_of_a_draw(regenerator))
    names = tuple(recipient.name for recipient in document.recipients)
    lowered = {r.name: document.level_spacing * r.mark for r in document.recipients}
    return TracingPrice(names, figures, lowered, extra_records(document, attributes))


def _rows_of_a_draw(regenerator: Regenerator) -> int:
    """Return how many rows that leave show one draw together, at most."""
    unit = regenerator.document.unit
    if unit is None or not unit.constant:
        return 1
    return int(np.bincount(regenerator.units[regenerator.leaving]).max())


class _FromTable:
    """The releases' rows beside the table's, for every choice of columns that show the truth."""

    def __init__(
        self,
        regenerator: Regenerator,
        attributes: Mapping[str, Attribute],
        shown: pd.Series,
        kept: np.ndarray,
    ) -> None:
        found = {name: regenerator.unperturbed(name) for name in attributes}
        self._truth = {name: column for name, column in found.items() if column is not None}
        domains = {name: attribute.domain for name, attribute in attributes.items()}
        # Two numbers are hardly ever the same: as many as there are rows.
        self._values = {
            name: len(shown) if domain is None else domain.size for name, domain in domains.items()
        }
        self._shown, self._kept = shown, kept
        self._parts = true_together(list(attributes)) if len(self._truth) == len(found) else [()]
        self._released: dict[tuple[str, ...], list[_Hashes]] = {part: [] for part in self._parts}
        self._table: dict[tuple[str, ...], _Hashes] = {}

    def compare(self, made: Mapping[str, pd.Series]) -> None:
        """Take in the perturbed columns of one more release."""
        places = {name: common_positions(true, made[name]) for name, true in self._truth.items()}
        for part in self._parts:
            own, released = (
                _hashed(
                    [
                        self._shown.iloc[self._kept],
                        *(pd.Series(places[name][side][self._kept]) for name in part),
                    ]
                )
                for side in (0, 1)
            )
            self._table[part] = own
            self._released[part].append(released)

    def ways(self) -> list[TableRows]:
        """Return how rows like the releases' can come about without them."""
        return [
            TableRows(
                self._released[part],
                self._table[part],
                1.0 / math.prod(float(m) for name, m in self._values.items() if name not in part),
            )
            for part in self._parts
        ]


def true_together(names: Sequence[str]) -> list[tuple[str, ...]]:
    """Return which perturbed columns may be true in a row that comes from no release.

    From none of them to all.
    """
    if len(names) > _MOST_COMBINED:
        return [(), tuple(names)]
    return list(chain.from_iterable(combinations(names, n) for n in range(len(names) + 1)))


def _hashed(columns: Sequence[pd.Series]) -> _Hashes:
    """Return what some columns say of each row, as one number."""
    frame = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    return pd.util.hash_pandas_object(frame, index=False).to_numpy().view(np.int64)


def extra_records(document: Document, attributes: Mapping[str, Attribute]) -> float:
    """Return how many more records, as a share, the spacing makes recipients need at most.

    It is the growth of the variance of estimated shares, summed over the values, or of an
    estimated mean. Mechanisms that have neither a matrix nor noise, or whose rows depend on
    one another, are left out.

    Parameters
    ----------
    document
        The recipients with their marks, and the spacing.
    attributes
        Every attribute of the policy, by name.
    """
    most = 0.0
    for entry in document.policy:
        mechanism = mechanism_called(entry.mechanism)
        if mechanism.needs_groups:
            continue
        chosen = [attributes[name] for name in entry.attributes]
        for recipient in document.recipients:
            lowered = plan_entry(document, entry, attributes, recipient).level
            stated = level_of(document, entry, recipient.statements[entry.key], attributes)
            before = _variance(mechanism, stated, chosen, entry.settings)
            after = _variance(mechanism, lowered, chosen, entry.settings)
            if before is not None and after is not None:
                most = max(most, float(np.max(after / before)) - 1.0)
    return most


def _variance(
    mechanism: Mechanism, level: float, attributes: Sequence[Attribute], settings: Settings
) -> np.ndarray | None:
    """Return what variances of estimates grow in proportion to; None where that is unknown."""
    noise = mechanism.noise_covariance(level, attributes, settings)
    if noise is not None:
        own = [np.nanvar(a.numbers) if a.numbers is not None else 0.0 for a in attributes]
        return np.asarray(own) + np.diag(noise)
    matrix = mechanism.matrix(level, attributes, settings)
    whole = combined(attributes)
    if matrix is None or whole.counts is None or matrix.diagonal.min() <= 0.0:
        return None
    shares = whole.frequencies
    try:
        squares = matrix.apply_squared_inverse(matrix.apply(shares))
    except EstimationError:
        return None  # values that can't be told apart are not estimated at any level
    return np.array([squares.sum() - (shares**2).sum()])


def _shown(regenerator: Regenerator) -> pd.Series:
    """Return what the columns that are released as they are say of each row, as one number."""
    names = [
        spec.name
        for spec in regenerator.document.columns
        if spec.role not in {Role.SENSITIVE, Role.IDENTIFYING}
    ]
    columns = [column for name in names if (column := regenerator.unperturbed(name)) is not None]
    if not columns:
        return pd.Series(np.zeros(regenerator.table.rows, dtype=np.uint64), name="shown")
    frame = pd.concat(columns, axis=1)
    return pd.Series(pd.util.hash_pandas_object(frame, index=False).to_numpy(), name="shown")


def _kept(shown: pd.Series, cells: int) -> np.ndarray:
    """Return the rows that are compared: all, or whole groups of rows that show the same.

    Rows alike in what is shown stay together, so what one row tells is the same as in the
    whole table.
    """
    every = -(-cells // _CELLS_AT_ONCE)
    chosen = np.flatnonzero(shown.to_numpy() % np.uint64(every) == 0)
    return chosen if len(chosen) > 1000 else np.arange(len(shown))
