"""What the columns released unchanged tell of a sensitive attribute, without its release.

Whoever knows how the columns hang together (from a similar table, a survey, a textbook) estimates
the sensitive attribute of each record from its open columns. Here the table teaches them: rows
are split into three parts, and each part is estimated by what the other two tell, so that nobody
is credited with having learned a record's value from the record itself (cross-fitting).

For numbers the best linear estimate (least squares) stands beside two that are not linear: least
squares of logarithms, for products and ratios, and boosted trees on top of the best of these. For
categories boosted trees estimate the chances of each value. Columns of many values (a household's
number, a postcode) are known by the averages of the attribute within them, from other parts.

These are attacks that were carried out, not bounds: somebody may do better. With a release the
estimate is the attacker's prior: what is left of a number after it takes the number's place in
the mechanism's own law, and the chances of values meet the transition matrix by Bayes' rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Final, TypeVar

import numpy as np
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.parallel import side_by_side
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.values import Flags, Floats, Indices, Integers
from sfumato.engine.disclosure.best_guess import best_guess, guesses_at_each, guesses_at_released
from sfumato.engine.disclosure.boosted_trees import (
    Ensemble,
    TrainingRows,
    boost,
    shares_of,
)
from sfumato.engine.disclosure.open_features import (
    PARTS,
    ColumnKnowledge,
    Design,
    Features,
    GroupOutcome,
    Sought,
    UnperturbedColumn,
    features_of,
    known_of,
    parts_of,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, likelihood_of_member
from sfumato.engine.randomness.keys import draw_released, sample_rows, uniforms

SHARE: Final = 0.9
"""Half-widths hold this share of the records."""
LEAST_ROWS: Final = 30
"""Fewer records teach nothing."""
MOST_VALUES: Final = 200
"""Rarer values of larger domains are guessed as one."""

_SHARES: Final = 8
"""Of the most frequent values, the shares within the groups of a column are known."""
_MOST_CELLS: Final = 2_000_000
_MOST_STEPS: Final = 200_000_000
_MOST_BESIDE: Final = 1_000_000
_STREAM: Final = 0x0C10


@dataclass(frozen=True, eq=False)
class NumberEstimate:
    """What open columns tell of a sensitive number, without any release.

    Parameters
    ----------
    name
        The attribute.
    without
        The half-width that holds 90 % of the records for somebody who knows no other column.
    linear
        The same by the best linear estimate from the open columns.
    other
        The same by the best estimate that is not linear.
    explained
        The share of the variance that the linear and the other estimate explain.
    telling
        The columns that the best estimate rests on, the most telling first, each with the
        half-width once its values are shuffled.
    sample
        The rows that were estimated, ascending.
    guesses
        The best estimate of these, shape of `sample`.
    numbers
        Their true numbers.
    """

    name: str
    without: float
    linear: float
    other: float
    explained: tuple[float, float]
    telling: tuple[tuple[str, float], ...]
    sample: Indices = field(repr=False)
    guesses: Floats = field(repr=False)
    numbers: Floats = field(repr=False)

    @property
    def best(self) -> float:
        """The smallest half-width."""
        return min(self.without, self.linear, self.other)

    @property
    def left(self) -> Floats:
        """What the best estimate leaves of each number of the sample."""
        return self.numbers - self.guesses


@dataclass(frozen=True, eq=False)
class ValueEstimate:
    """What open columns tell of a sensitive value, without any release.

    Parameters
    ----------
    name
        The attribute.
    without
        The share of the records guessed right by always naming the most common value.
    guessed
        The share guessed right from the open columns.
    telling
        The columns that the guesses rest on, each with the share that is guessed right once its
        values are shuffled.
    sample
        The rows that were guessed, ascending.
    chances
        What is believed of each, shape (sample, kept values and, last, all others).
    kept
        The values that have a column in `chances`, by their codes.
    codes
        The true values' codes.
    """

    name: str
    without: float
    guessed: float
    telling: tuple[tuple[str, float], ...]
    sample: Indices = field(repr=False)
    chances: Floats = field(repr=False)
    kept: Indices = field(repr=False)
    codes: Integers = field(repr=False)

    @property
    def best(self) -> float:
        """The larger share."""
        return max(self.without, self.guessed)


def half_width(off: Floats) -> float:
    """Return half the length of the shortest interval that holds 90 % of some numbers."""
    known = np.sort(off)
    inside = math.ceil(SHARE * len(known))
    return float((known[inside - 1 :] - known[: len(known) - inside + 1]).min()) / 2.0


Look = Callable[[UnperturbedColumn, Sought], ColumnKnowledge]
"""Looks at a whole column; whoever keeps what it finds need not look again."""


def estimate_numbers(
    name: str,
    numbers: Floats,
    columns: Sequence[UnperturbedColumn],
    rows: Indices,
    context: Context,
    units: Integers | None = None,
    look: Look = known_of,
) -> NumberEstimate | None:
    """Estimate a sensitive number from the open columns.

    Parameters
    ----------
    name
        The attribute's name.
    numbers
        Its numbers, NaN where missing, shape (n,).
    columns
        The open columns, whole.
    rows
        The rows that are estimated; the groups of columns with many values know all rows.
    context
        Progress and cancelling.
    units
        Each row's unit of protection, shape (n,); None where every row stands alone.
    look
        Finds what is known of a column.

    Returns None where there are fewer than `LEAST_ROWS` known numbers or no columns.
    """
    sample = rows[np.isfinite(numbers[rows])]
    if len(sample) < LEAST_ROWS or not columns:
        return None
    true = numbers[sample]
    parts = parts_of(len(numbers), units)
    fits = _number_fits(numbers, columns, sample, context, parts, look)
    found = {how: _joined(fits, sample, how) for how in ("linear", "logarithms", "trees")}
    widths = {how: half_width(true - guess) for how, guess in found.items()}
    best = min(widths, key=lambda how: widths[how])
    others = min(("logarithms", "trees"), key=lambda how: widths[how])
    without = half_width(true)
    guesses = found[best] if widths[best] < without else np.full(len(true), np.median(true))
    gained = max(without - widths[best], 0.0)
    telling = [
        (column.name, lost)
        for place, column in enumerate(columns if gained > 0.0 else ())
        if (lost := _width_shuffled(fits, best, place, true)) - widths[best] > _TELLING * gained
    ]
    return NumberEstimate(
        name,
        without,
        widths["linear"],
        widths[others],
        (_explained(true, found["linear"]), _explained(true, found[others])),
        tuple(sorted(telling, key=lambda each: -each[1])),
        sample,
        guesses,
        true,
    )


def _explained(true: Floats, guess: Floats) -> float:
    """Return the share of the variance that guesses explain, from 0 to 1."""
    spread = float(np.square(true - true.mean()).sum()) or 1.0
    return max(0.0, 1.0 - float(np.square(true - guess).sum()) / spread)


_TELLING: Final = 0.05
"""A column is named if without it this share of what is gained would be lost."""


def _number_fits(
    numbers: Floats,
    columns: Sequence[UnperturbedColumn],
    sample: Indices,
    context: Context,
    parts: Integers,
    look: Look,
) -> list[_NumberFit]:
    """Learn each part's numbers from the others."""
    finite = np.isfinite(numbers)
    known = slice(None) if finite.all() else np.flatnonzero(finite)
    sought = Sought(sample, parts, known, (GroupOutcome(known, numbers[known]),))
    seen = _looked_at(columns, sought, look, context)

    def fit(part: int, share: Context) -> _NumberFit:
        there = parts[sample] == part
        features = features_of(seen, part, np.flatnonzero(~there))
        return _NumberFit(numbers[sample], features, there, share)

    return _each_part(fit, context, len(sample) * len(columns))


_Fit = TypeVar("_Fit")


def _each_part(fit: Callable[[int, Context], _Fit], context: Context, cells: int = 0) -> list[_Fit]:
    """Learn each part from the others: the first in this thread, which reports, others beside.

    Where each holds so many numbers, they take turns.
    """
    if cells > _MOST_BESIDE:
        shares = [Part(context, (1 + n) / (1 + PARTS), (2 + n) / (1 + PARTS)) for n in range(PARTS)]
        return [fit(part, share) for part, share in enumerate(shares)]
    with side_by_side(PARTS - 1) as beside:
        others = beside(lambda part: fit(part, Silent()), range(1, PARTS))
        return [fit(0, Part(context, 1 / (1 + PARTS), 1.0)), *others]


def _looked_at(
    columns: Sequence[UnperturbedColumn], sought: Sought, look: Look, context: Context
) -> list[ColumnKnowledge]:
    found = []
    for place, column in enumerate(columns):
        share = place / len(columns) / (1 + PARTS)
        context.report(share, "Weighing the columns released unchanged")
        found.append(look(column, sought))
    return found


def estimate_values(
    name: str,
    codes: Integers,
    size: int,
    columns: Sequence[UnperturbedColumn],
    rows: Indices,
    context: Context,
    units: Integers | None = None,
    look: Look = known_of,
) -> ValueEstimate | None:
    """Estimate the chances of a sensitive attribute's values from the open columns.

    Parameters
    ----------
    name
        The attribute's name.
    codes
        Its values' codes, shape (n,).
    size
        The number of values in its domain, m.
    columns, rows, context, units, look
        As for `estimate_numbers`, and so is what is returned.
    """
    counts = np.bincount(codes, minlength=size)
    order = np.argsort(-counts, kind="stable")
    kept = np.sort(order[: min(MOST_VALUES, int((counts > 0).sum()))])
    width = len(kept) + 1
    sample = rows[sample_rows(len(rows), max(_MOST_CELLS // width, LEAST_ROWS))]
    if len(sample) < LEAST_ROWS or not columns:
        return None
    place_of = np.full(size + 1, width - 1)
    place_of[kept] = np.arange(width - 1)
    frequent = order[: min(_SHARES, len(kept))]
    outcomes = tuple(GroupOutcome(np.flatnonzero(codes == value)) for value in frequent.tolist())
    places, parts = place_of[codes], parts_of(len(codes), units)
    sought = Sought(sample, parts, slice(None), outcomes, places, width)
    fits = _value_fits(sought, _looked_at(columns, sought, look, context), context)
    true, chances = places[sample], np.empty((len(sample), width))
    for fit in fits:
        chances[fit.there] = fit.chances()
    # Who names one of the rarest values names nobody's in particular.
    guessed = float((best_guess(chances[:, :-1]) == true).mean())
    without = float(counts.max() / counts.sum())
    gained = max(guessed - without, 0.0)
    # What no estimate rests on changes none.
    used = [at for at in range(len(columns)) if gained and any(fit.rests_on(at) for fit in fits)]
    left = {columns[at].name: _right_shuffled(fits, at, true) for at in used}
    telling = [(told, share) for told, share in left.items() if guessed - share > _TELLING * gained]
    return ValueEstimate(
        name,
        without,
        guessed,
        tuple(sorted(telling, key=lambda each: each[1])),
        sample,
        chances,
        kept,
        codes[sample].astype(np.int64),
    )


def _value_fits(
    sought: Sought, seen: Sequence[ColumnKnowledge], context: Context
) -> list[_ValueFit]:
    """Learn each part's chances from the others."""
    assert sought.places is not None
    true, parts = sought.places[sought.sample], sought.parts[sought.sample]

    def fit(part: int, share: Context) -> _ValueFit:
        there = parts == part
        start = _beliefs(seen, part, true, ~there, sought.width)
        features = features_of(seen, part, np.flatnonzero(~there))
        return _ValueFit(true, start, features, there, share)

    return _each_part(fit, context)


def guessed_with(found: ValueEstimate, matrix: PerturbationMatrix) -> float:
    """Return the share of the records guessed right from open columns and a release together.

    The attacker's belief about each record is that of the open columns; a released value turns
    it into the posterior by Bayes' rule, whose most probable value is named. The average is over
    everything that can be released, or over one draw for each record where that is too much.

    Parameters
    ----------
    found
        What the open columns tell.
    matrix
        The recipient's transition matrix, of the attribute's whole domain.
    """
    size, rows = matrix.size, len(found.sample)
    most = max(_MOST_STEPS // size**2, LEAST_ROWS)
    if size <= MOST_VALUES:
        chosen = sample_rows(rows, most)
        belief, true = _belief(found, size, chosen), found.codes[chosen]
        guess = guesses_at_each(belief, matrix)
        right = 0.0
        for released in range(matrix.outcomes):
            row = matrix.row(released)
            right += float(row[true][guess(released) == true].sum())
        return right / len(true)
    chosen = sample_rows(rows, max(_MOST_CELLS * 10 // size, LEAST_ROWS))
    true = found.codes[chosen]
    shown = draw_released(matrix, true, uniforms(len(true), _STREAM + 2))
    right, step = 0, max(_MOST_CELLS // size, 1)
    for some in (slice(start, start + step) for start in range(0, len(true), step)):
        belief = _belief(found, size, chosen[some])
        right += int((guesses_at_released(belief, matrix, shown[some]) == true[some]).sum())
    return right / len(true)


def guessed_member_with(
    found: ValueEstimate, matrix: RetentionMatrix, shares: Floats, member: Indices, codes: Codes
) -> float:
    """Return what `guessed_with` does for an attribute that is released in combination with others.

    What the released combination tells of the attribute through the others counts, as they depend
    on one another in the table. One release is drawn for each record.

    Parameters
    ----------
    found
        What the open columns tell of the attribute.
    matrix
        The recipient's transition matrix of the combinations, m of them.
    shares, member
        The share of each combination, and its value of the attribute, shape (m,).
    codes
        Every row's combination, shape (n,).
    """
    everybody, own = likelihood_of_member(matrix, shares, member)
    chosen = sample_rows(len(found.sample), max(_MOST_CELLS * 10 // len(everybody), LEAST_ROWS))
    belief = _belief(found, len(everybody), chosen)
    true = codes[found.sample[chosen]].astype(np.int64)
    shown = draw_released(matrix, true, uniforms(len(true), _STREAM + 2))
    after = belief * everybody
    at = np.arange(len(true))
    after[at, member[shown]] += belief[at, member[shown]] * own[shown]
    return float((best_guess(after) == found.codes[chosen]).mean())


def _belief(found: ValueEstimate, size: int, chosen: Indices) -> Floats:
    """Return what open columns let believe of some records of the sample, shape (chosen, m)."""
    belief, others = np.empty((len(chosen), size)), size - len(found.kept)
    if others:
        belief[:] = found.chances[chosen, -1:] / others
    belief[:, found.kept] = found.chances[chosen, :-1]
    return belief


# ----- fits


class _NumberFit:
    """The estimates of one part's numbers, learned from the other parts."""

    def __init__(self, true: Floats, features: Features, there: Flags, context: Context) -> None:
        self.there, self._features = there, features
        here, watched = np.flatnonzero(~there), np.flatnonzero(there)
        learn, self._watch = features.values(here), features.values(watched)
        self._bins = features.bins.among(watched)
        self._design = Design(learn, features.levels)
        terms = self._design.apply(learn)
        self._lines = {"linear": _least_squares(terms, true[here])}
        fitted = {"linear": terms @ self._lines["linear"]}
        if (true > 0.0).all():
            terms = self._design.apply(learn, logarithms=True)
            self._lines["logarithms"] = _least_squares(terms, np.log(true[here]))
            fitted["logarithms"] = _exponential(terms @ self._lines["logarithms"])
        self._constant = float(np.median(true[here]))
        fitted["constant"] = np.full(len(learn), self._constant)
        self._start = min(fitted, key=lambda how: half_width(true[here] - fitted[how]))
        self._sums = {how: self._sum(how) for how in self._lines}
        self._trees: Ensemble = boost(
            TrainingRows(features.bins.among(here), fitted[self._start][:, np.newaxis], true[here]),
            TrainingRows(self._bins, self._before(self._start)[:, np.newaxis], true[there]),
            features.levels,
            shares=False,
            context=context,
        )
        self._boosted = self._trees.predict(self._bins)[:, 0]

    def _sum(self, how: str) -> Floats:
        terms = self._design.apply(self._watch, logarithms=how == "logarithms")
        found: Floats = terms @ self._lines[how]
        return found

    def _before(self, how: str, column: int | None = None) -> Floats:
        """Return the estimates before any trees, perhaps with a column's values shuffled."""
        if how == "constant":
            return np.full(len(self._watch), self._constant)
        if how not in self._lines:
            how = "linear"
        total, order = self._sums[how], _shuffling(len(self._watch))
        for feature in () if column is None else sorted(self._features.of(column)):
            share = self._design.share_of(
                feature, self._watch, self._lines[how], logarithms=how == "logarithms"
            )
            total = total + (share[order] - share)
        return _exponential(total) if how == "logarithms" else total

    def guess(self, how: str) -> Floats:
        """Return the estimates of one kind."""
        return self._before(self._start) + self._boosted if how == "trees" else self._before(how)

    def shuffled(self, how: str, column: int) -> Floats:
        """Return the estimates once a column's values are shuffled."""
        if how != "trees":
            return self._before(how, column)
        features, order = self._features.of(column), _shuffling(len(self._watch))
        moved = self._trees.moved(self._bins, order, features)[:, 0]
        return self._before(self._start, column) + (self._boosted + moved)


class _ValueFit:
    """The chances of one part's values, learned from the other parts."""

    def __init__(
        self,
        true: Indices,
        start: tuple[Floats, int],
        features: Features,
        there: Flags,
        context: Context,
    ) -> None:
        self.there = there
        self._features, here = features, np.flatnonzero(~there)
        before, self._owner = start
        everybody = self._owner < 0  # who all start alike
        self._before = before[: int(there.sum())] if everybody else before[there]
        self._bins = features.bins.among(np.flatnonzero(there))
        learn = before[: len(here)] if everybody else before[here]
        self._trees = boost(
            TrainingRows(features.bins.among(here), learn, true[here]),
            TrainingRows(self._bins, self._before, true[there]),
            features.levels,
            shares=True,
            context=context,
        )
        self._found = self._before + self._trees.predict(self._bins)

    def chances(self) -> Floats:
        """Return the chances of each value, shape (rows, width)."""
        return shares_of(self._found)

    def rests_on(self, column: int) -> bool:
        """Whether the chances could be others if a column's values were."""
        return column == self._owner or self._trees.rests_on(self._features.of(column))

    def shuffled(self, column: int) -> Indices:
        """Return the guesses once a column's values are shuffled."""
        if not self.rests_on(column):
            return best_guess(self._found[:, :-1])
        order = _shuffling(len(self._before))
        found = self._found + self._trees.moved(self._bins, order, self._features.of(column))
        if column == self._owner:
            found += self._before[order] - self._before
        return best_guess(found[:, :-1])


def _beliefs(
    seen: Sequence[ColumnKnowledge], part: int, true: Indices, here: Flags, width: int
) -> tuple[Floats, int]:
    """Return logarithms of chances before any trees, and by which column's groups they are.

    The groups of the column whose shares foretell other records best are taken; none (−1) where
    the shares of the whole table do as well.
    """
    counts = np.bincount(true[here], minlength=width)
    prior = (counts + 0.5 / width) / (counts.sum() + 0.5)
    mine = prior[true[here]]
    chosen, weight = -1, 0.0
    least = -float(np.log(mine).mean())
    for owner, column in enumerate(seen):
        if column.shares is None:
            continue
        known, total = (each[here] for each in column.shares.of_values(part, true))
        for strength in _STRENGTHS:
            loss = -float(np.log((known + strength * mine) / (total + strength)).mean())
            if loss < least:
                least, chosen, weight = loss, owner, strength
    if chosen < 0:
        return np.broadcast_to(np.log(prior), (len(true), width)), chosen
    shares = seen[chosen].shares
    assert shares is not None
    counts_within = shares.without(part)
    total = counts_within.sum(axis=1, keepdims=True)
    return np.log((counts_within + weight * prior) / (total + weight)), chosen


_STRENGTHS: Final = (0.03, 0.3, 3.0, 30.0)
"""Of how many records' weight the whole table's shares are within a group, tried in turn."""


def _width_shuffled(fits: Sequence[_NumberFit], how: str, column: int, true: Floats) -> float:
    shuffled = np.empty_like(true)
    for fit in fits:
        shuffled[fit.there] = fit.shuffled(how, column)
    return half_width(true - shuffled)


def _right_shuffled(fits: Sequence[_ValueFit], column: int, true: Indices) -> float:
    return sum(int((fit.shuffled(column) == true[fit.there]).sum()) for fit in fits) / len(true)


def _shuffling(count: int) -> Indices:
    return np.argsort(uniforms(count, _STREAM + 3))


def _exponential(logarithms: Floats) -> Floats:
    return np.exp(np.clip(logarithms, -700.0, 700.0))


def _joined(fits: Sequence[_NumberFit], sample: Indices, how: str) -> Floats:
    found = np.empty(len(sample))
    for fit in fits:
        found[fit.there] = fit.guess(how)
    return found


def _least_squares(terms: Floats, outcome: Floats) -> Floats:
    # Terms that follow from others (a category's last value) share the weight.
    middle = outcome.mean()
    found = _by_products(terms, outcome - middle) if terms.shape[1] >= _MANY_TERMS else None
    if found is None:
        found = scipy.linalg.lstsq(terms, outcome - middle, cond=1e-10)[0]
    found[0] += middle
    return found


_MANY_TERMS: Final = 100
"""Of so many terms, the normal equations are solved: a tenth of the work."""
_SAME_AS_OTHERS, _APART = 1e-13, 1e-9
"""Directions of less than this share of the largest one's square are rounding, of more are not."""


def _by_products(terms: Floats, outcome: Floats) -> Floats | None:
    """Return the least squares solution by the terms' products with one another.

    None where some combination of terms varies so little that its square can't be told from
    rounding. What squaring loses of the rest is made good by solving for what is left once more.
    """
    squares, directions = scipy.linalg.eigh(terms.T @ terms)
    shares = squares / squares[-1]
    if bool(((shares > _SAME_AS_OTHERS) & (shares < _APART)).any()):
        return None
    kept = shares >= _APART
    squares, directions = squares[kept], directions[:, kept]
    found: Floats = np.zeros(terms.shape[1])
    for _ in range(2):
        left = terms.T @ (outcome - terms @ found)
        found += directions @ ((directions.T @ left) / squares)
    return found
