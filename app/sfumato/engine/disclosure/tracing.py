"""Which releases a leaked file comes from: one, or a mixture of several.

A leaked row is taken as drawn from one of the candidate releases, or as altered, or as made
from the table without any release. With c_j(t) the number of times that row t occurs among the
n rows of release j, and w the shares in which all these were mixed, its likelihood is
Σ_j w_j·c_j(t)/n + Σ_i v_i·b_i(t), where b_i are the likelihoods of rows that come from no
release (`sfumato.engine.disclosure.tracing.Unreleased`). A single source is a mixture of one
release and altered rows. The likelihood is concave in the shares; expectation-maximization finds
its maximum.

Every release shows true values, and so does the table: without its rows among the
explanations, the table itself, or a perturbation of it that nobody here made, would be put down
to the most trusted recipients.

A leaked file may be a part of a release, in any order and with columns missing. What is left
to compare are whole rows: how often a row's values occur together in each release.

Whoever has the table can make rows that look like a release's without having one: a release
shows true values, so does the table, and a value drawn by chance is sometimes the same as a
released one. `Unreleased` says how likely each leaked row is in such ways.

Rows of one person or household may show one draw all together. Where several of them leaked, each
counts as the part of a draw that it is, or a household of nine would speak with nine voices.

Rows may also have been copied. How often a release shows a row bounds what it counts; where equal
rows come together more unevenly than draws do, all count less by their dispersion (McCullagh and
Nelder, "Generalized Linear Models", 1989, section 4.5).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Final

import numpy as np
import pandas as pd
import scipy

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Flags, Floats, Integers, distinct

Positions = Integers
Counts = Integers
Likelihoods = Floats

ABSENT = -1
"""The group of a release's row that does not occur in the leaked file."""


@dataclass(frozen=True)
class RowGroups:
    """Rows of a leaked file and of a table, grouped by the values compared so far.

    Parameters
    ----------
    leaked
        The group of each leaked row, shape (k,), from 0.
    table
        The group of each row of the table, shape (n,); `ABSENT` where no leaked row is like it.
    count
        The number of groups.
    """

    leaked: Positions
    table: Positions
    count: int

    @classmethod
    def before_any_column(cls, leaked_rows: int, table_rows: int) -> RowGroups:
        """Return one group that holds every row."""
        return cls(np.zeros(leaked_rows, dtype=np.int64), np.zeros(table_rows, dtype=np.int64), 1)

    @property
    def found(self) -> int:
        """How many leaked rows are like a row of the table."""
        there = np.bincount(self.table + 1, minlength=self.count + 1)[1:] > 0
        return int(there[self.leaked].sum())

    def split_by(self, leaked: Positions, table: Positions) -> RowGroups:
        """Return the groups split by one more column.

        Parameters
        ----------
        leaked, table
            The column's values as positions in a common list; shape (k,) and (n,). Equal
            positions mean equal values.
        """
        values, leaked_places = distinct(leaked)
        table_places = _places(values, table)
        base = len(values)
        keys, groups = distinct(self.leaked * base + leaked_places)
        here = (self.table != ABSENT) & (table_places != ABSENT)
        wanted = np.where(here, self.table * base + table_places, -1)
        return RowGroups(groups.astype(np.int64), _places(keys, wanted), len(keys))


@dataclass(frozen=True)
class RowOrigin:
    """A way in which rows come about without any release: some values from the table.

    Parameters
    ----------
    groups
        The rows of the leaked file and of the table, grouped by the columns whose values are the
        table's own.
    others
        How likely the values of the other columns are, for each leaked row, shape (k,).
    shows_truth
        Whether a column that releases perturb is among those that are the table's own.
    """

    groups: RowGroups
    others: Likelihoods
    shows_truth: bool


@dataclass(frozen=True)
class Unreleased:
    """How likely each distinct leaked row is, where it comes from no release.

    Parameters
    ----------
    altered
        If its perturbed values are drawn by chance, way by way; shape (ways, distinct rows).
    truthful
        If some or all of them are true, shape (ways, distinct rows).
    table
        If it is a row of the table itself, shape (distinct rows,); None where that is unknown.
    """

    altered: Likelihoods
    truthful: Likelihoods
    table: Likelihoods | None = None

    @classmethod
    def unknown(cls, distinct: int) -> Unreleased:
        """Return no way at all."""
        return cls(np.empty((0, distinct)), np.empty((0, distinct)))


@dataclass(frozen=True)
class LeakCounts:
    """How often each distinct leaked row occurs, in the file and in each candidate release.

    Parameters
    ----------
    leaked
        How often it occurs in the leaked file, shape (distinct rows,).
    released
        How often it occurs in each candidate, shape (candidates, distinct rows).
    rows
        How many rows each candidate has, n.
    possible
        How many different rows the compared columns could make, at least 1.
    unreleased
        How likely the rows are if they come from no release; where it is not told, only as rows
        that are put together by chance from the compared columns' values.
    added
        For each candidate, how likely the values are of the compared columns that it does not
        have, shape (candidates,); None where all have all of them.
    draws
        How much of a draw of its own each distinct row shows, above 0 to 1, shape (distinct
        rows,): 1/r where r leaked rows may show one draw. None where every row shows its own.
    most
        How often a release shows each distinct row at most, shape (distinct rows,), where more
        than the candidates were drawn; None otherwise.
    """

    leaked: Counts
    released: Counts
    rows: int
    possible: float
    unreleased: Unreleased | None = field(default=None, repr=False)
    added: Likelihoods | None = field(default=None, repr=False)
    draws: Likelihoods | None = field(default=None, repr=False)
    most: Counts | None = field(default=None, repr=False)

    def beside(self, drawn: Mapping[int, Sequence[Counts]]) -> LeakCounts:
        """Return the counts with what releases would show that were drawn with other keys.

        A file that somebody else perturbed by the same law looks like a release as far as these
        do. The candidate is one of them: so none of them, taken alone, explains such a file better
        than all together, on average, whichever of them left. What a row counts must not depend on
        which of them is the candidate either, so they bound together how often copied rows count.

        Parameters
        ----------
        drawn
            For the places of some candidates, how often each distinct row occurs in every release
            drawn so.
        """
        if not drawn:
            return self
        given = self.unreleased or Unreleased.unknown(len(self.leaked))
        ways, shares, most = [], [], self.released.max(axis=0)
        for place, others in drawn.items():
            every = np.array([self.released[place], *others])
            most = np.maximum(most, every.max(axis=0))
            shares.append(every.mean(axis=0) / self.rows)
            ways.append(shares[-1] * (1.0 if self.added is None else self.added[place]))
        unreleased = replace(given, truthful=np.vstack([*ways, given.truthful]))
        beside = replace(self, unreleased=unreleased, most=most)
        # Rows of a candidate that were copied are uneven beside its own, too.
        own = [self.released[place] / self.rows for place in drawn]
        excess = max(_dispersion(beside.evidence, share) for share in (*shares, *own))
        draws = np.ones(len(self.leaked)) if self.draws is None else self.draws
        return replace(beside, draws=draws / max(excess, 1.0))

    def only(self, rows: Flags) -> LeakCounts:
        """Return what is known of some of the distinct rows."""
        given = self.unreleased
        if given is not None:
            table = None if given.table is None else given.table[rows]
            given = Unreleased(given.altered[:, rows], given.truthful[:, rows], table)
        return replace(
            self,
            leaked=self.leaked[rows],
            released=self.released[:, rows],
            unreleased=given,
            draws=None if self.draws is None else self.draws[rows],
            most=None if self.most is None else self.most[rows],
        )

    @property
    def evidence(self) -> Likelihoods:
        """How many draws each distinct row stands for, shape (distinct rows,).

        A row that was copied tells no more than it does in the releases that show it most often.
        """
        most = self.released.max(axis=0, initial=1) if self.most is None else self.most
        whole: Likelihoods = np.minimum(self.leaked, np.maximum(most, 1)).astype(np.float64)
        return whole if self.draws is None else whole * self.draws

    @property
    def likelihoods(self) -> Likelihoods:
        """How likely each distinct row is in each candidate, shape (candidates, distinct rows)."""
        shares: Likelihoods = self.released / self.rows
        return shares if self.added is None else shares * self.added[:, None]

    @property
    def total(self) -> int:
        """How many rows were leaked, k."""
        return int(self.leaked.sum())


def count_rows(
    groups: Sequence[RowGroups],
    rows: int,
    possible: float,
    ways: Sequence[RowOrigin] = (),
    whole: RowGroups | None = None,
    added: Likelihoods | None = None,
    together: Counts | None = None,
) -> LeakCounts:
    """Count each distinct leaked row in every candidate release.

    Parameters
    ----------
    groups
        For each candidate, the rows of the leaked file and of the candidate grouped by every
        column compared that the candidate has.
    rows
        How many rows each candidate has.
    possible
        How many different rows the compared columns could make.
    ways
        How rows can come about without any release. The last one that shows only true values is
        the table itself.
    whole
        The rows of the leaked file grouped by every column compared; the first candidate's groups
        where that has them all.
    added
        See `LeakCounts`.
    together
        How many leaked rows may show one draw with each of them, at most, shape (k,); the same
        for rows that are alike in every column compared. None where every row shows its own.
    """
    every = groups[0] if whole is None else whole
    first = every.leaked
    leaked = np.bincount(first, minlength=every.count)
    released = np.empty((len(groups), len(leaked)), dtype=np.int64)
    for place, candidate in enumerate(groups):
        released[place] = occurring(candidate, first, len(leaked))
    counts = LeakCounts(leaked.astype(np.int64), released, rows, max(possible, 1.0), added=added)
    if together is not None:
        most = np.ones(len(leaked), dtype=np.int64)
        np.maximum.at(most, first, together)
        counts = replace(counts, draws=1.0 / most)
    if not ways:
        return counts
    return replace(counts, unreleased=_unreleased(ways, first, len(leaked), rows))


def occurring(candidate: RowGroups, first: Positions, distinct: int) -> Counts:
    """Return how often each distinct leaked row occurs in a release, shape (distinct,).

    Parameters
    ----------
    candidate
        The rows of the leaked file and of the release.
    first
        The distinct row that each leaked one is, shape (k,).
    distinct
        How many there are.
    """
    counted = np.bincount(candidate.table + 1, minlength=candidate.count + 1)[1:]
    # Each candidate numbers the same distinct rows in its own way.
    own = np.empty(distinct, dtype=np.int64)
    own[first] = candidate.leaked
    found: Counts = counted[own]
    return found


def _dispersion(evidence: Likelihoods, shares: Likelihoods) -> float:
    """Return how unevenly rows come together: 1 if each was drawn by itself, r if r times.

    Pearson's statistic, each distinct row weighted as it tells one release from another.

    Parameters
    ----------
    evidence
        How many draws each distinct row stands for, shape (distinct rows,).
    shares
        The probability of each of them by a release's law, shape (distinct rows,).
    """
    shown = shares > 0.0
    drawn, likely = evidence[shown], shares[shown]
    if not len(drawn):
        return 1.0
    expected = evidence.sum() * likely
    return float(((drawn - expected) ** 2 / likely).sum() / (drawn / likely).sum())


def _unreleased(
    ways: Sequence[RowOrigin], first: Positions, distinct: int, rows: int
) -> Unreleased:
    """Return each way's likelihoods of the distinct rows."""
    found: dict[bool, list[Likelihoods]] = {False: [], True: []}
    for way in ways:
        counted = np.bincount(way.groups.table + 1, minlength=way.groups.count + 1)[1:]
        likelihood = np.empty(distinct)
        likelihood[first] = counted[way.groups.leaked] / rows * way.others
        found[way.shows_truth].append(likelihood)
    altered, truthful = (np.array(found[kind]).reshape(-1, distinct) for kind in (False, True))
    return Unreleased(altered, truthful, truthful[-1] if len(truthful) else None)


def _places(sorted_values: Positions, wanted: Positions) -> Positions:
    """Return each wanted value's place among sorted ones, `ABSENT` where it is not there."""
    places = np.minimum(np.searchsorted(sorted_values, wanted), len(sorted_values) - 1)
    return np.where(sorted_values[places] == wanted, places, ABSENT).astype(np.int64)


Vector = Floats

FALSE_ALARM: Final = 0.001
"""At most this often any release is named that no row came from, if all of them are examined."""

_STEPS: Final = 2_000
_HALVINGS: Final = 12
_PIECE: Final = 1 << 14
_FIRM: Final = 1e-10
"""So much of its mean bend is added to a quadratic, which ways that look alike leave flat."""
_STILL: Final = 1e-3
"""The search ends when the log-likelihood can't be raised by more."""
DOUBT: Final = 0.01
"""A single source is named where the probability of all others is below this."""
_LEAST_SHARE: Final = 1e-6


@dataclass(frozen=True)
class Suspect:
    """One candidate release, and what speaks for it.

    Parameters
    ----------
    candidates
        The places of the candidates that this file can't tell apart: their compared values
        are the same in every leaked row.
    log_likelihood
        Of the file, if it comes from this release alone.
    posterior
        The probability that the file comes from this release alone, among all candidates and
        none of them, held equally probable beforehand.
    share
        The share of the file's rows that comes from it, if several were mixed.
    chance
        How probable so much evidence is if no row came from it (likelihood-ratio test).
    own_rows
        Leaked rows that occur in no other candidate.
    is_source
        Whether it is named as a source.
    """

    candidates: tuple[int, ...]
    log_likelihood: float
    posterior: float
    share: float
    chance: float
    own_rows: int
    is_source: bool


@dataclass(frozen=True)
class TracedLeak:
    """Where a leaked file comes from.

    Parameters
    ----------
    suspects
        Every candidate, the likeliest first.
    mixed
        Whether more than one release is needed to explain it.
    altered
        The share of rows that come from no candidate, in the likeliest mixture.
    rows
        How many rows were examined.
    of_table
        Where no candidate is named, the share of rows that are the table's own; 0 where that
        could be chance.
    rule
        How cells of the sources were mixed; None where whole rows were.
    """

    suspects: tuple[Suspect, ...]
    mixed: bool
    altered: float
    rows: int
    of_table: float = 0.0
    rule: str | None = None

    @property
    def sources(self) -> tuple[Suspect, ...]:
        """The releases that are named as sources, the largest share first."""
        return tuple(suspect for suspect in self.suspects if suspect.is_source)


def trace_leak(counts: LeakCounts, context: Context) -> TracedLeak:
    """Weigh every candidate release as the source of a leaked file, alone and with others.

    Parameters
    ----------
    counts
        How often each leaked row occurs in each candidate.
    context
        Progress and cancelling.

    Returns
    -------
    TracedLeak
        No candidate is a source where the evidence could be chance (`FALSE_ALARM`).
    """
    merged, leaked, rows, ways = _told_apart(counts)
    released = ways.released
    alone = np.array([_fit(ways.altered, released[[j]], leaked)[0] for j in range(len(merged))])
    nothing, unreleased = _fit(ways.unreleased, released[:0], leaked)
    all_of_them = np.append(alone, nothing)
    posteriors = np.exp(all_of_them - scipy.special.logsumexp(all_of_them))
    together, shares = _fit(ways.unreleased, released, leaked)
    of_releases = shares[len(ways.unreleased) :]
    tests = _tests(ways, leaked, together, of_releases, context)
    enough = _fit(ways.unreleased, released[[int(np.argmax(alone))]], leaked)[0]
    sources = _sources(alone, nothing, enough, together, tests, of_releases)
    own = [int(rows[(released[j] > 0) & _only(released, j)].sum()) for j in range(len(merged))]
    mixed = len(sources) > 1
    suspects = [
        Suspect(
            candidates=merged[j],
            log_likelihood=float(alone[j]),
            posterior=float(posteriors[j]),
            share=float(of_releases[j]) if mixed else float(j in sources),
            chance=float(tests[j]),
            own_rows=own[j],
            is_source=j in sources,
        )
        for j in range(len(merged))
    ]
    suspects.sort(key=lambda s: (not s.is_source, -s.share, -s.log_likelihood))
    altered = max(0.0, 1.0 - float(of_releases.sum()))
    of_table = 0.0 if sources else _share_of_table(ways, leaked, nothing, unreleased)
    return TracedLeak(tuple(suspects), mixed, altered, counts.total, of_table)


@dataclass(frozen=True)
class _Ways:
    """How likely each distinct leaked row is in every way that it can have come about.

    Parameters
    ----------
    released
        From each candidate, shape (candidates, rows).
    altered
        From a release, but altered, shape (ways, rows).
    truthful
        From the table, without any release, shape (ways, rows); the last one is the table itself.
    has_table
        Whether it is, and no candidate shows the very same.
    """

    released: Likelihoods
    altered: Likelihoods
    truthful: Likelihoods
    has_table: bool

    @property
    def unreleased(self) -> Likelihoods:
        """All ways without a release."""
        return np.vstack([self.altered, self.truthful])


def _told_apart(counts: LeakCounts) -> tuple[list[tuple[int, ...]], Vector, Vector, _Ways]:
    """Return the candidates that differ, and the leaked rows that differ in their likelihoods.

    Of these, how many draws they stand for and how many they are.
    """
    likelihoods = counts.likelihoods
    _, first, which = np.unique(likelihoods, axis=0, return_index=True, return_inverse=True)
    order = np.argsort(first)
    merged = [tuple(np.flatnonzero(which.ravel() == place).tolist()) for place in order]
    released = likelihoods[np.sort(first)]
    given = counts.unreleased or Unreleased.unknown(released.shape[1])
    truthful, table = given.truthful, given.table
    if table is not None and (released == table).all(axis=1).any():
        # Somebody was given the table itself: then that release is the explanation.
        truthful, table = truthful[:-1], None
    chance = np.full((1, released.shape[1]), 1.0 / counts.possible)
    sizes = np.cumsum([len(released), 1 + len(given.altered)])
    every = np.vstack([released, chance, given.altered, truthful])
    pattern, at = _alike(every)
    rows = every[:, at]
    leaked, often = np.zeros((2, len(at)))
    np.add.at(leaked, pattern, counts.evidence)
    np.add.at(often, pattern, counts.leaked)
    released, altered, truthful = np.split(rows, sizes)
    return merged, leaked, often, _Ways(released, altered, truthful, has_table=table is not None)


def _alike(likelihoods: Likelihoods) -> tuple[Positions, Positions]:
    """Return which leaked rows are alike in every way, numbered from 0, and a row of each."""
    pattern = np.zeros(likelihoods.shape[1], dtype=np.int64)
    for one in likelihoods:
        codes, values = pd.factorize(one)
        pattern = pd.factorize(pattern * len(values) + codes)[0].astype(np.int64)
    at = np.zeros(pattern.max(initial=-1) + 1, dtype=np.int64)
    at[pattern[::-1]] = np.arange(len(pattern))[::-1]
    return pattern, at


def _only(released: Likelihoods, candidate: int) -> Flags:
    others = np.delete(released, candidate, axis=0)
    return np.asarray(~others.any(axis=0), dtype=np.bool_)


def _fit(unreleased: Likelihoods, released: Likelihoods, leaked: Vector) -> tuple[float, Vector]:
    """Return the highest log-likelihood, and the shares that reach it; without a release first."""
    return likeliest_mixture(np.vstack([unreleased, released]), leaked)


def likeliest_mixture(rows: Likelihoods, leaked: Vector) -> tuple[float, Vector]:
    """Return the highest log-likelihood that a mixture reaches, and its shares.

    The shares' sum is free here, and taken off the mean log-likelihood: at the maximum it is 1. So
    each step looks for the nonnegative shares that are best for a quadratic as bent as the
    log-likelihood is (Kim, Carbonetto, Stephens and Anitescu, "A fast algorithm for maximum
    likelihood estimation of mixture proportions using sequential quadratic programming", 2020), and
    goes as far towards them as leads upwards; where nothing does, it is one of
    expectation-maximization. The gradient bounds how much could still be gained, as the
    log-likelihood is concave.

    Parameters
    ----------
    rows
        How likely each row is in each of the ways that are mixed, shape (ways, rows).
    leaked
        How often each row was seen, shape (rows,), each at least once.
    """
    total = leaked.sum()
    shares = np.full(len(rows), 1.0 / len(rows))
    reached = _log_likelihood(shares, rows, leaked)
    for _ in range(_STEPS):
        gradient, bend = _slope(shares, rows, leaked)
        if (gradient.max() - 1.0) * total < _STILL:
            break
        once, far = shares * gradient, _nearest_best(shares, gradient, bend)
        best = _log_likelihood(once, rows, leaked)
        for _ in range(_HALVINGS):
            found = _log_likelihood(far, rows, leaked)
            if found > best:
                best, once = found, far
                break
            far = (far + shares) / 2.0
        reached, shares = best, once
    return reached, shares


def _log_likelihood(shares: Vector, rows: Likelihoods, leaked: Vector) -> float:
    with np.errstate(divide="ignore"):  # what no share is left for is impossible
        return float(leaked @ np.log(shares @ rows))


def _slope(shares: Vector, rows: Likelihoods, leaked: Vector) -> tuple[Vector, Floats]:
    """Return the mean log-likelihood's gradient in the shares, and minus its second derivatives."""
    weights, likelihood = leaked / leaked.sum(), shares @ rows
    gradient, bend = np.zeros(len(rows)), np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], _PIECE):
        piece = slice(start, start + _PIECE)
        ratios = rows[:, piece] / likelihood[piece]
        weighed = ratios * weights[piece]
        gradient += weighed.sum(axis=1)
        bend += weighed @ ratios.T
    return gradient, bend


def _nearest_best(shares: Vector, gradient: Vector, bend: Floats) -> Vector:
    """Return the shares that are best for a quadratic, of the sum 1."""
    firm = bend + np.eye(len(bend)) * (_FIRM * np.trace(bend))
    root = np.linalg.cholesky(firm)
    wanted = scipy.linalg.solve_triangular(root, firm @ shares + gradient - 1.0, lower=True)
    far, _ = scipy.optimize.nnls(root.T, wanted)
    size = far.sum()
    return np.asarray(far / size if size > 0.0 else shares, dtype=np.float64)


def _tests(
    ways: _Ways, leaked: Vector, together: float, shares: Vector, context: Context
) -> Vector:
    """Return for each candidate how probable its part in the mixture is by chance."""
    found = np.ones(len(ways.released))
    for j in range(len(found)):
        context.report(j / len(found), "Weighing the releases")
        if shares[j] < _LEAST_SHARE:
            continue
        without, _ = _fit(ways.unreleased, np.delete(ways.released, j, axis=0), leaked)
        found[j] = _chance(together - without)
    return found


def _chance(gain: float) -> float:
    """Return how probable it is that one more way gains so much log-likelihood by chance."""
    # A share of 0 lies on the edge of what is possible: half the usual probability.
    return float(0.5 * scipy.special.chdtrc(1, max(0.0, 2.0 * gain)))


def _sources(
    alone: Vector, nothing: float, enough: float, together: float, tests: Vector, shares: Vector
) -> set[int]:
    """Return the candidates that are named: several only where one does not explain it all.

    Parameters
    ----------
    alone
        The log-likelihood of each candidate with altered rows, shape (candidates,).
    nothing, enough, together
        The log-likelihoods of all ways without a release; of these and the likeliest candidate;
        and of these and all candidates.
    tests, shares
        For each candidate, shape (candidates,).
    """
    level = FALSE_ALARM / len(alone)
    best = int(np.argmax(alone))
    beside = np.append(np.delete(alone, best), nothing)
    others = scipy.special.logsumexp(beside)
    doubt = float(np.exp(others - np.logaddexp(others, alone[best])))
    suffices = _chance(together - enough) >= level
    if suffices and doubt < DOUBT and _chance(enough - nothing) < level:
        return {best}
    return {j for j in range(len(alone)) if tests[j] < level and shares[j] >= _LEAST_SHARE}


def _share_of_table(ways: _Ways, leaked: Vector, reached: float, shares: Vector) -> float:
    """Return the share of rows that are the table's own, 0 where that could be chance."""
    if not ways.has_table:
        return 0.0
    without, _ = _fit(ways.unreleased[:-1], ways.released[:0], leaked)
    return float(shares[-1]) if _chance(reached - without) < FALSE_ALARM else 0.0
