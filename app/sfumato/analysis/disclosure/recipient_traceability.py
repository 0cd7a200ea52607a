"""From how many leaked rows on each recipient is named, and what levels a hair apart cost.

Of a long table some rows are compared: all that are alike in what is released unperturbed, or some
of these where they are many, so that what one row tells is the same as in the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.all_rows import AllRows, RowsPart
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.traceability import CONFIDENCE, TableRows, Traceability, traceability
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, Settings
from sfumato.engine.table.combinations import combined, mixed
from sfumato.engine.table.table import Attribute
from sfumato.engine.table.table import Rows as Chosen
from sfumato.formats.comparison import common_positions
from sfumato.project.document.edits import true_together
from sfumato.project.document.entry_plan import level_of, plan_entry, plan_release
from sfumato.project.document.model import Document
from sfumato.project.errors import NotTraceable

_Hashes = npt.NDArray[np.int64]
_Words = npt.NDArray[np.uint64]

_CELLS_AT_ONCE: Final = 2_000_000
"""Rows times releases that are compared at once, to spare memory."""
_FEWEST: Final = 1_000
"""Where fewer rows are alike in what is shown, rows are taken whatever they show."""


@dataclass(frozen=True)
class RecipientTraceability:
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
    compared, records
        On how many of how many records that was found.
    """

    recipients: tuple[str, ...]
    figures: Traceability
    lowered: Mapping[str, float]
    extra_records: float = 0.0
    compared: int = 0
    records: int = 0

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
        told = Sentence(
            "Leaked rows, picked at random, identify their recipient with at least "
            "{confidence:.0%} certainty once there are {most:,.0f} of them.{price}",
            most=most,
            confidence=CONFIDENCE,
            price=price,
        )
        if self.compared >= self.records:
            return told
        return Sentence(
            "{told} That was found on {compared:,} of {records:,} {records:record|records}.",
            told=told,
            compared=self.compared,
            records=self.records,
        )


def recipient_traceability(rows: AllRows, context: Context) -> RecipientTraceability:
    """Compute from how many leaked rows on each recipient is named.

    Parameters
    ----------
    rows
        All rows of the table, by a policy with the recipients' levels and marks, and the spacing:
        the releases are made as they would be.
    context
        Progress and cancelling.

    Raises
    ------
    NotTraceable
        If there are fewer than two recipients.
    SfumatoError
        If the policy is not complete.
    """
    document = rows.document
    if len(document.recipients) < 2:
        raise NotTraceable(
            "With one recipient there is nobody to tell a leaked file from.", "Add another one."
        )
    attributes = rows.attributes(Part(context, 0.0, 0.2))
    plans = [plan_release(document, attributes, each) for each in document.recipients]
    rows.draw(plans[0], Part(context, 0.2, 0.4))
    ways = true_together(list(attributes))
    compared = _some_rows(rows, len(plans) * len(ways), Part(context, 0.4, 0.6))
    from_table = _FromTable(rows, attributes, compared)
    releases = []
    for place, recipient in enumerate(document.recipients):
        count = len(plans)
        part = Part(context, 0.6 + 0.3 * place / count, 0.6 + 0.3 * (place + 1) / count)
        part.report(0.0, Sentence("Making {recipient}'s values", recipient=recipient.name))
        made: dict[str, pd.Series] = {}
        for plan in plans[place]:
            request = compared.part.request(plan, compared.rows)
            made |= mechanism_called(plan.mechanism).release(request, part)
        releases.append(_hashed([compared.shown, *(made[name] for name in attributes)]))
        from_table.compare(made)
    figures = traceability(releases, Part(context, 0.9, 1.0), from_table.ways())
    # Rows of a unit that show one draw count as parts of it, at the least by the largest unit.
    unit = document.unit
    if unit is not None and unit.constant:
        most = rows.most_of_a_unit(Silent())
        figures = replace(figures, rows_needed=figures.rows_needed * most)
    names = tuple(recipient.name for recipient in document.recipients)
    lowered = {r.name: document.level_spacing * r.mark for r in document.recipients}
    extra, some = extra_records(document, attributes), len(compared.shown)
    return RecipientTraceability(names, figures, lowered, extra, some, rows.rows)


@dataclass
class _Some:
    """Some rows of a part, and what is shown unperturbed of each, as one number, shape (k,)."""

    part: RowsPart
    rows: Chosen
    shown: pd.Series


class _RowSample:
    """Keeps rows by numbers drawn for them, as many as there is room for, while all are read."""

    def __init__(self, rows: AllRows, most: int) -> None:
        self._rows, self._most = rows, most
        self._kept: list[tuple[RowsPart, npt.NDArray[np.intp], _Words, _Words]] = []
        self._below = np.uint64(2**64 - 1)

    @property
    def number(self) -> int:
        return sum(len(rows) for _, rows, *_ in self._kept)

    def add(self, part: RowsPart, shown: _Words, chosen: npt.NDArray[np.bool_]) -> None:
        drawn = mixed(part.places.astype(np.uint64))
        self._take(part, np.flatnonzero(chosen), shown[chosen], drawn[chosen])
        while self.number > self._most:
            self._below >>= np.uint64(1)
            kept, self._kept = self._kept, []
            for each in kept:
                self._take(*each)

    def _take(
        self, part: RowsPart, rows: npt.NDArray[np.intp], shown: _Words, drawn: _Words
    ) -> None:
        here = drawn <= self._below
        if here.any():
            part, rows = self._rows.gathered([(part, rows[here])])
            self._kept.append((part, rows, shown[here], drawn[here]))

    def found(self) -> _Some:
        """Return the rows."""
        part, rows = self._rows.gathered([(part, rows) for part, rows, *_ in self._kept])
        shown = np.concatenate([shown for _, _, shown, _ in self._kept])
        return _Some(part, rows, pd.Series(shown, name="shown"))


def _some_rows(rows: AllRows, releases: int, context: Context) -> _Some:
    """Return the rows that are compared: all, or whole groups of rows that show the same."""
    document, most = rows.document, _CELLS_AT_ONCE // releases
    names = [
        spec.name
        for spec in document.columns
        if spec.role not in {Role.SENSITIVE, Role.IDENTIFYING}
    ]
    every = np.uint64(-(-rows.rows * releases // _CELLS_AT_ONCE))
    alike, any_rows = _RowSample(rows, 2 * most), _RowSample(rows, most)
    plans = [plan_release(document, rows.attributes(Silent()), document.recipients[0])]
    read = {*names, *rows.read_for(plans[0])}
    for part in rows.parts(read, "Looking for rows to compare", context):
        with part.naming_rows():
            shown = _shown(rows, part, names)
        alike.add(part, shown, shown % every == 0)
        if every > 1:
            any_rows.add(part, shown, np.ones(len(shown), dtype=np.bool_))
    return any_rows.found() if every > 1 and alike.number <= _FEWEST else alike.found()


class _FromTable:
    """The releases' rows beside the table's, for every choice of columns that show the truth."""

    def __init__(self, rows: AllRows, attributes: Mapping[str, Attribute], compared: _Some) -> None:
        true = rows.shown(compared.part, attributes)
        self._truth = {name: column.iloc[compared.rows] for name, column in true.items()}
        domains = {name: attribute.domain for name, attribute in attributes.items()}
        # Two numbers are hardly ever the same: as many as there are rows.
        self._values = {
            name: rows.rows if domain is None else domain.size for name, domain in domains.items()
        }
        self._shown, self._parts = compared.shown, true_together(list(attributes))
        self._released: dict[tuple[str, ...], list[_Hashes]] = {part: [] for part in self._parts}
        self._table: dict[tuple[str, ...], _Hashes] = {}

    def compare(self, made: Mapping[str, pd.Series]) -> None:
        """Take in the perturbed columns of one more release."""
        places = {name: common_positions(true, made[name]) for name, true in self._truth.items()}
        for part in self._parts:
            own, released = (
                _hashed([self._shown, *(pd.Series(places[name][side]) for name in part)])
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


def _hashed(columns: Sequence[pd.Series]) -> _Hashes:
    """Return what some columns say of each row, as one number."""
    frame = pd.concat([column.reset_index(drop=True) for column in columns], axis=1)
    return pd.util.hash_pandas_object(frame, index=False).to_numpy().view(np.int64)


def _shown(rows: AllRows, part: RowsPart, names: Sequence[str]) -> _Words:
    """Return what the columns that are released as they are say of each row, as one number."""
    if not names:
        return np.zeros(part.table.rows, dtype=np.uint64)
    return _hashed(list(rows.shown(part, names).values())).view(np.uint64)


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
    if matrix is None or whole.counts is None:
        return None
    if matrix.diagonal.min() <= 0.0 and not matrix.shows_symbols:
        return None
    shares = whole.frequencies
    try:
        squares = matrix.apply_squared_inverse(matrix.apply(shares))
    except EstimationError:
        return None  # values that can't be told apart are not estimated at any level
    return np.array([squares.sum() - (shares**2).sum()])
