"""Any matrix: post-randomisation (PRAM) by a transition matrix that the custodian gives.

The matrix is the top rung of a ladder of its own: a recipient who is trusted less gets what it
shows, kept with probability s and otherwise replaced uniformly. The level is s, from 0 (noise)
to 1 (the matrix itself).

While it is typed, pasted or imported a matrix may be wrong in any of its cells: the `problems` of
a `TransitionMatrix` name each of them, so that the window can mark the cell, and nothing is
released by it before it is right. Column = original value, row = released value, as everywhere in
the product.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import numpy as np

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Codes, Floats, is_number
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.ladders.alias_sampling import MatrixTop, release_below
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.privacy import check_retention
from sfumato.engine.mechanisms.base import (
    LevelField,
    LevelTerm,
    PromiseFigure,
    PublishedFacts,
    ReleaseRequest,
    Settings,
    Statement,
)
from sfumato.engine.mechanisms.categorical import (
    BELIEF_TERM,
    LOSS_TERM,
    ODDS_TERM,
    CategoricalMechanism,
    domain_parameters,
    falling_factors,
)
from sfumato.engine.mechanisms.promise_words import at_most, nothing_told
from sfumato.engine.mechanisms.setting_specs import MatrixSpec
from sfumato.engine.table.table import Attributes

_NO_NUMBER: Final = "The chance that {value} is released as {seen} is not a number."
_NEGATIVE: Final = "The chance that {value} is released as {seen} is negative."
_ABOVE_ONE: Final = "The chance that {value} is released as {seen} is above 1."

ENTRIES: Final = MatrixSpec(
    name="entries",
    title="Transition matrix",
    gloss="the matrix: a row for each released value and in it a number for each original one, in"
    " the order of the domain; the numbers below one another sum to 1",
)

Square = Floats

TOLERANCE = 1e-9
"""How far a column's sum may be from 1 by rounding."""


@dataclass(frozen=True)
class MatrixProblem:
    """One thing that is wrong with a matrix, and where.

    Parameters
    ----------
    what, remedy
        In words.
    released, original
        The cell's row and column; None where a whole column (or row) is meant.
    """

    what: str
    remedy: str
    released: int | None = None
    original: int | None = None


@dataclass(frozen=True)
class TransitionMatrix:
    """Pr[released | original], as it stands.

    Parameters
    ----------
    names
        The values' names, m of them.
    entries
        Shape (m, m), rows = released; a cell that is not a number is NaN.
    """

    names: tuple[str, ...]
    entries: Square

    @classmethod
    def from_lists(cls, names: Sequence[str], rows: Sequence[Sequence[float]]) -> TransitionMatrix:
        """Return a matrix from rows of numbers.

        Raises
        ------
        PolicyError
            If there are not m rows of m numbers.
        """
        size = len(names)
        lengths = [len(row) for row in rows]
        if len(lengths) != size or any(length != size for length in lengths):
            wrong = next((i for i, n in enumerate(lengths) if n != size), None)
            found = (
                Sentence(
                    "row {row:,} has {entries:,} {entries:entry|entries}",
                    row=wrong + 1,
                    entries=lengths[wrong],
                )
                if wrong is not None
                else Sentence("{rows:,} {rows:row is|rows are} there", rows=len(lengths))
            )
            raise PolicyError(
                "The matrix does not fit the {size} {size:value|values} of the domain: {found}.",
                "Give one row and one column for each value.",
                size=size,
                found=found,
            )
        # Looking at each entry by itself takes a tenth of a second for 200 values.
        plain = all(set(map(type, row)) <= {float} for row in rows)
        numbers = rows if plain else [[_number(entry) for entry in row] for row in rows]
        return cls(tuple(names), np.array(numbers, dtype=np.float64).reshape(size, size))

    @property
    def column_sums(self) -> Floats:
        """What each original value's chances sum to, shape (m,); NaN where one is no number."""
        return self.entries.sum(axis=0)

    def problems(self) -> tuple[MatrixProblem, ...]:
        """Return everything that is wrong, cells first."""
        found = []
        with np.errstate(invalid="ignore"):
            negative, above = self.entries < 0, self.entries > 1 + TOLERANCE
        for wrong, what, remedy in (
            (~np.isfinite(self.entries), _NO_NUMBER, "Type a chance."),
            (negative, _NEGATIVE, "A chance is 0 or more."),
            (above, _ABOVE_ONE, "A chance is at most 1."),
        ):
            for released, original in np.argwhere(wrong):
                told = Sentence(what, value=self.names[original], seen=self.names[released])
                found.append(MatrixProblem(told, remedy, int(released), int(original)))
        for original, total in enumerate(self.column_sums):
            if np.isfinite(total) and abs(total - 1) > TOLERANCE:
                found.append(
                    MatrixProblem(
                        Sentence(
                            "The chances of {value} sum to {total:.6g}, which is {off:.3g} too"
                            " much."
                            if total > 1
                            else "The chances of {value} sum to {total:.6g}, which is {off:.3g} too"
                            " little.",
                            value=self.names[original],
                            total=total,
                            off=abs(total - 1),
                        ),
                        "Normalise the matrix, or correct one of its probabilities.",
                        original=original,
                    )
                )
        return tuple(found)

    def normalised(self) -> TransitionMatrix:
        """Return the matrix with every column divided by its sum; zeros stay zeros.

        Raises
        ------
        PolicyError
            If a cell is negative or no number, or a column holds nothing but zeros.
        """
        cells = [problem for problem in self.problems() if problem.released is not None]
        wrong = [problem for problem in cells if "above" not in problem.what]
        if wrong:
            raise PolicyError(wrong[0].what, wrong[0].remedy)
        sums = self.column_sums
        if not (sums > 0).all():
            raise PolicyError(
                "All chances of {value} are 0, so they can't be normalised.",
                "Give at least one of them a chance.",
                value=self.names[int((sums > 0).argmin())],
            )
        return TransitionMatrix(self.names, self.entries / sums)

    def transposed(self) -> TransitionMatrix:
        """Return the matrix with rows and columns exchanged."""
        return TransitionMatrix(self.names, self.entries.T.copy())

    @property
    def looks_transposed(self) -> bool:
        """Whether the rows sum to 1 and the columns don't: rows = original, as sdcMicro has it."""
        rows, columns = self.entries.sum(axis=1), self.column_sums
        rows_fit = bool((np.abs(rows - 1) <= 1e-6).all())
        return rows_fit and not bool((np.abs(columns - 1) <= 1e-6).all())


def read_matrix(text: str, names: Sequence[str]) -> tuple[TransitionMatrix, bool]:
    """Read a matrix from pasted or imported text, and tell whether it was transposed.

    Rows on lines; cells separated by tabs, semicolons, commas or spaces. A first line and a
    first column of labels are recognised and brought into the domain's order; so is a matrix
    whose rows are the original values (R's sdcMicro), which is transposed.

    Raises
    ------
    PolicyError
        If labels are unknown, missing or there twice, or the matrix does not fit the domain.
    """
    rows = [_cells(line) for line in text.splitlines() if line.strip()]
    if not rows:
        raise PolicyError("There is no matrix in the text.", "Paste rows of numbers.")
    known = set(names)
    has_header = not _all_numbers(rows[0][1:]) or (len(rows) == len(names) + 1)
    has_labels = any(not _all_numbers(row[:1]) for row in rows[1 if has_header else 0 :])
    columns: list[int] | None = None
    if has_header:
        header = rows.pop(0)
        labels = header[1:] if len(header) > len(names) or header[0] not in known else header
        columns = _order(labels, names, "column")
    order = None
    if has_labels:
        order = _order([row[0] for row in rows], names, "row")
        rows = [row[1:] for row in rows]
    matrix = TransitionMatrix.from_lists(names, [[_parsed(cell) for cell in row] for row in rows])
    entries = matrix.entries
    if order is not None:
        entries = entries[np.argsort(order)]
    if columns is not None:
        entries = entries[:, np.argsort(columns)]
    read = TransitionMatrix(tuple(names), entries)
    turned = read.looks_transposed
    return read.transposed() if turned else read, turned


def _cells(line: str) -> list[str]:
    for separator in ("\t", ";"):
        if separator in line:
            return [cell.strip().strip('"') for cell in line.split(separator)]
    if "," in line:
        return [cell.strip().strip('"') for cell in line.split(",")]
    return [cell.strip('"') for cell in line.split()]


def _order(labels: Sequence[str], names: Sequence[str], side: str) -> list[int]:
    positions = {name: place for place, name in enumerate(names)}
    for place, label in enumerate(labels):
        if label not in positions:
            raise PolicyError(
                "The label of {side} {number} is not a value of the domain.",
                "Use the domain's values as labels, or paste the matrix without labels.",
                side=side,
                number=place + 1,
            )
        if label in labels[:place]:
            raise PolicyError(
                "The label of {side} {number} stands there twice.",
                "Give each value one {side}.",
                side=side,
                number=place + 1,
            )
    return [positions[label] for label in labels]


def _all_numbers(cells: Sequence[str]) -> bool:
    return all(np.isfinite(_parsed(cell)) for cell in cells)


def _parsed(cell: str) -> float:
    """Return a cell's number, NaN where it is none; a decimal comma is read as a point."""
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return float("nan")


def _number(entry: object) -> float:
    return float(entry) if is_number(entry) else float("nan")


_TERMS = (
    LevelTerm(
        "trust_factor",
        "Trust factor",
        "The share of records that show what the matrix shows; the others are replaced evenly.",
        (LevelField("trust_factor", "s", 0.0, 1.0),),
    ),
    ODDS_TERM,
    LOSS_TERM,
    BELIEF_TERM,
)

_FIRST_RETENTION = 0.5
"""The retention probability of the uniform matrix that a new policy starts with."""


_TOPS_KEPT, _LEVELS_KEPT = 4, 8
"""An edit in the window asks some twenty times for the same matrices; what follows from their
entries is kept with them."""


class AnyMatrix(CategoricalMechanism):
    """Release by a transition matrix, and down the uniform ladder from it."""

    name = "matrix"
    title = "Any matrix (PRAM)"
    summary = (
        "A transition matrix states the probability with which each value is released as each"
        " other one."
    )
    order = 30
    ladder = ("matrix", 1)
    terms = _TERMS
    stated_level = "trust_factor"
    settings = (ENTRIES,)
    # A matrix is stored entry by entry; of more values, it would be none that a person gives.
    most_values = 1_000

    def __init__(self) -> None:
        super().__init__()
        self._tops: tuple[tuple[tuple[str, ...], list[list[float]], DenseMatrix], ...] = ()

    def default_settings(self, attributes: Attributes) -> Settings:
        """Return the matrix that keeps half of the values and replaces the others evenly."""
        size = self.domain_of(attributes).size
        entries = np.full((size, size), (1 - _FIRST_RETENTION) / size)
        entries[np.diag_indices(size)] += _FIRST_RETENTION
        return {"entries": entries.tolist()}

    def check_settings(self, attributes: Attributes, settings: Settings) -> None:
        """Raise `PolicyError` where the settings hold no matrix for the domain."""
        self.top(attributes, settings)

    def top(self, attributes: Attributes, settings: Settings) -> DenseMatrix:
        """Return the matrix itself.

        Raises
        ------
        PolicyError
            If it does not fit the domain, or a column (an original value) is no distribution.
        """
        names, rows = self.domain_of(attributes).names, settings.get("entries", ())
        for known, entries, top in self._tops:
            if known == names and entries == rows:
                return top
        matrix = TransitionMatrix.from_lists(names, rows)
        problems = matrix.problems()
        if problems:
            raise PolicyError(problems[0].what, problems[0].remedy)
        top = DenseMatrix(matrix.entries)
        kept = (names, [list(row) for row in rows], top)
        self._tops = (kept, *self._tops[: _TOPS_KEPT - 1])
        return top

    def default_statements(self, count: int) -> tuple[Statement, ...]:
        """Propose trust factors that fall by halves from 1."""
        return falling_factors(count)

    def level_within(self, gamma: float, attributes: Attributes, settings: Settings) -> float:
        """Return the largest level that moves no odds by more than γ.

        Two entries a ≥ b of a row become s·a + (1 − s)/m and s·b + (1 − s)/m; their ratio
        reaches γ at (1 − s)·(γ − 1)/m = s·(a − γ·b), and the worst pair is the row's extremes.
        """
        entries = self.top(attributes, settings).dense()
        size = len(entries)
        excess = float((entries.max(axis=1) - gamma * entries.min(axis=1)).max())
        if excess <= 0:
            return 1.0
        level = (gamma - 1) / (gamma - 1 + size * excess)
        while level > 0 and self.matrix(level, attributes, settings).gamma > gamma:
            level = float(np.nextafter(level, 0.0))
        return level

    def ladder_parts(self, attributes: Attributes, settings: Settings) -> tuple[object, ...]:
        """Return a digest of the matrix."""
        entries = self.top(attributes, settings).dense()
        return (hashlib.sha256(np.ascontiguousarray(entries, dtype="<f8").tobytes()).hexdigest(),)

    def released_codes(self, request: ReleaseRequest, context: Context) -> Codes:
        """Return the released codes, shape (n,)."""
        top = MatrixTop(self.top(request.attributes, request.settings).dense())
        codes, key = self.true_codes(request), self.key(request, self.name)
        return release_below(top, request.level, codes, request.record_ids, key, context)

    def matrix(self, level: float, attributes: Attributes, settings: Settings) -> DenseMatrix:
        """Return the matrix of a level: s·M + (1 − s)/m."""
        return _at_level(self.top(attributes, settings), check_retention(level))

    def own_facts(
        self, level: float, attributes: Attributes, settings: Settings
    ) -> tuple[PromiseFigure, ...]:
        """Return none: the matrix says everything."""
        return ()

    def promised(self, level: float, attributes: Attributes, settings: Settings) -> Sentence:
        """Say by how much a release multiplies the odds, or for which values there is no bound."""
        matrix = self.matrix(level, attributes, settings)
        name, names = attributes[0].name, self.domain_of(attributes).names
        exposed = [
            names[place] for place in np.flatnonzero(np.isinf(matrix.worst_odds_ratios().up))
        ]
        if level == 0.0:
            return nothing_told(name)
        if exposed:
            return Sentence(
                "This release can rule out everything but one value of somebody's {name}: "
                "it promises nothing for {shown}, because zeros of the matrix leave no "
                "doubt.",
                name=name,
                shown=listed(exposed[:3] + [Sentence("others")] * (len(exposed) > 3)),
            )
        return Sentence(
            "Whatever anyone believed about a person's {name}, this release multiplies "
            "the odds on any value by at most {gamma}.",
            name=name,
            gamma=at_most(matrix.gamma),
        )

    def published(self, level: float, attributes: Attributes, settings: Settings) -> PublishedFacts:
        """Return the matrix and the domain, with the guide that estimates from them."""
        domain = self.domain_of(attributes)
        matrix = self.matrix(level, attributes, settings)
        return PublishedFacts(
            parameters={
                "matrix": matrix.dense().tolist(),
                **domain_parameters(domain, matrix.gamma),
            },
            guide="matrix-singular" if matrix.is_singular else "matrix",
            values={"domain_size": formatted(domain.size, ",")},
        )


@lru_cache(maxsize=_LEVELS_KEPT)
def _at_level(top: DenseMatrix, level: float) -> DenseMatrix:
    return top.mixed(level)


MECHANISM = AnyMatrix()
