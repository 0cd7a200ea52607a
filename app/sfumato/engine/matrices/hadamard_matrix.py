"""The law of Hadamard retention: codes are released as symbols, half of which are a code's own.

Codes are put into B blocks. A block has K symbols, K a power of two above the number of its codes.
The code with number j = 1, 2, … in its block has the set C_j = {y < K: the bits of (j AND y) are
even in number}, K/2 of the block's symbols; two such sets share a quarter of them. A release shows
a symbol drawn evenly from the code's set with probability p, and else one drawn evenly from all
B·K. With s_j(y) = 1 for y in C_j and −1 for the others of the block, a row of a Hadamard matrix,

    Pr[b, y | code j of block a] = (1 − p)/(B·K) + p·(1 + s_j(y))/K where b = a, else (1 − p)/(B·K).

Rows of a Hadamard matrix are orthogonal, so Σ_y s_v(y)·Pr[y | x] is p for x = v and 0 else:
f_v = H_v/(n·p) with H_v the sum of s_v over the released symbols is unbiased. All such sums are one
Walsh-Hadamard transform of the symbols' counts, and so is everything else here: O(B·K·log K).

Acharya, Sun and Zhang, "Hadamard response: estimating distributions privately, efficiently, and
with little communication" (AISTATS 2019); there, levels of trust are not connected.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import EstimationError, LadderError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.values import Flags, Floats, Indices, Integers, smallest_unsigned
from sfumato.engine.matrices.matrix import (
    NEARLY_SINGULAR,
    GarblingTest,
    OddsRatios,
    PerturbationMatrix,
    Square,
    Vector,
)
from sfumato.engine.matrices.privacy import check_retention
from sfumato.engine.matrices.retention_matrix import uniform_matrix

Whole = npt.NDArray[np.integer]


@dataclass(frozen=True)
class SymbolSets:
    """Which symbols belong to each code.

    Parameters
    ----------
    size
        The number of codes, m.
    blocks
        The number of blocks, B.

    Raises
    ------
    PolicyError
        If a block had no two codes to hide among.
    """

    size: int
    blocks: int = 1

    def __post_init__(self) -> None:
        if not 1 <= self.blocks <= max(self.size // 2, 1):
            raise PolicyError(
                "{size:,} {size:code|codes} can't be put into {blocks:,} {blocks:block|blocks}.",
                "Choose from 1 to {most:,}, so that each block has two codes or more.",
                size=self.size,
                blocks=self.blocks,
                most=max(self.size // 2, 1),
            )

    @property
    def in_block(self) -> int:
        """The number of symbols of a block, K."""
        return 1 << (-(-self.size // self.blocks)).bit_length()

    @property
    def symbols(self) -> int:
        """The number of symbols, B·K."""
        return self.blocks * self.in_block

    def block_of(self, codes: Whole) -> Whole:
        """Return the block of each code; neighbours are in different ones."""
        return codes % codes.dtype.type(self.blocks)

    def row_of(self, codes: Whole) -> Whole:
        """Return each code's number in its block, from 1: its row of the Hadamard matrix."""
        return codes // codes.dtype.type(self.blocks) + codes.dtype.type(1)

    def drawn(self, codes: Codes, words: npt.NDArray[np.unsignedinteger]) -> Codes:
        """Return a symbol of each code's set, drawn evenly.

        Parameters
        ----------
        codes
            Codes, shape (n,).
        words
            Fair words of 16 bits or more, shape (n,). Their low bits are any symbol of the block;
            one outside the set is turned into one inside by a bit that the code's row has. That is
            a bijection from one half to the other.
        """
        kind = smallest_unsigned(self.symbols)
        wide = codes.astype(np.uint16 if kind.itemsize < 2 else kind, copy=False)
        rows = self.row_of(wide)
        shown = words.astype(wide.dtype) & wide.dtype.type(self.in_block - 1)
        odd = (np.bitwise_count(rows & shown) & np.uint8(1)).astype(wide.dtype)
        shown ^= (rows & (~rows + wide.dtype.type(1))) * odd
        if self.blocks > 1:
            shown += self.block_of(wide) * wide.dtype.type(self.in_block)
        drawn: Codes = shown.astype(kind, copy=False)
        return drawn

    def holds(self, symbols: Whole, codes: Whole) -> Flags:
        """Return whether symbols belong to codes' sets; the arrays are broadcast."""
        symbols, codes = np.asarray(symbols, np.int64), np.asarray(codes, np.int64)
        same = symbols // self.in_block == self.block_of(codes)
        even = np.bitwise_count(self.row_of(codes) & (symbols % self.in_block)) % 2 == 0
        own: Flags = same & even
        return own

    def laid_out(self, by_code: Floats) -> Floats:
        """Return numbers of the codes where their rows stand, shape (B, K); 0 elsewhere."""
        places = np.arange(self.size)
        table = np.zeros((self.blocks, self.in_block))
        table[self.block_of(places), self.row_of(places)] = by_code
        return table

    def gathered(self, table: Floats) -> Vector:
        """Return the numbers of the codes' rows, the inverse of `laid_out`, shape (m,)."""
        places = np.arange(self.size)
        found: Vector = table[self.block_of(places), self.row_of(places)]
        return found

    def by_block(self, by_symbol: Floats) -> Floats:
        """Return numbers of the symbols, shape (B, K)."""
        return np.asarray(by_symbol, dtype=np.float64).reshape(self.blocks, self.in_block)


def walsh_hadamard(table: Floats) -> Floats:
    """Return Σ_y (−1)^(bits of j AND y)·t_y for each j, along the last axis.

    Parameters
    ----------
    table
        Shape (B, K), K a power of two.
    """
    result = np.array(table, dtype=np.float64)
    blocks, width = result.shape
    half = 1
    while half < width:
        pairs = result.reshape(blocks, width // (2 * half), 2, half)
        result = np.stack(
            [pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2
        )
        result = result.reshape(blocks, width)
        half *= 2
    return result


class HadamardMatrix(PerturbationMatrix):
    """A symbol of the code's set with probability p, else any symbol: B·K rows and m columns.

    Parameters
    ----------
    retention
        p, from 0 to 1.
    sets
        Which symbols belong to each code.

    Raises
    ------
    LevelError
        If p is not in [0, 1].
    """

    def __init__(self, retention: float, sets: SymbolSets) -> None:
        self.retention, self.sets = check_retention(retention), sets
        # Of half a block's symbols together. Powers of two change no digit of a ratio.
        other = (1.0 - self.retention) / (2 * sets.blocks)
        self._least = 2.0 * other / sets.in_block
        self._most = 2.0 * (self.retention + other) / sets.in_block

    @property
    def size(self) -> int:
        """The number of codes, m."""
        return self.sets.size

    @property
    def outcomes(self) -> int:
        """The number of symbols, B·K."""
        return self.sets.symbols

    @property
    def diagonal(self) -> Vector:
        """No code is ever released as itself: 0, shape (m,)."""
        return np.zeros(self.size)

    def row(self, released: int) -> Vector:
        """Return Pr[symbol | code] for every code, shape (m,)."""
        own = self.sets.holds(np.array(released), np.arange(self.size))
        return np.where(own, self._most, self._least)

    def column(self, original: int) -> Vector:
        """Return Pr[symbol | code] for every symbol, shape (B·K,)."""
        own = self.sets.holds(np.arange(self.outcomes), np.array(original))
        return np.where(own, self._most, self._least)

    def block(self, released: Indices, original: Indices) -> Square:
        """Return the entries of some symbols and codes, shape (symbols, codes)."""
        own = self.sets.holds(np.asarray(released)[:, None], np.asarray(original)[None, :])
        return np.where(own, self._most, self._least)

    def apply(self, frequencies: Vector) -> Vector:
        """Return P·f, the expected shares of the symbols, shape (B·K,)."""
        return self._weighted(np.asarray(frequencies, dtype=np.float64), self._least, self._most)

    def _weighted(self, weights: Vector, outside: float, inside: float) -> Vector:
        """Return Σ_v w_v·(inside or outside) by whether a symbol is in v's set, (B·K,)."""
        table = self.sets.laid_out(weights)
        # Of the codes of a symbol's block, half the sum and half the signed sum have it.
        own = (table.sum(axis=1, keepdims=True) + walsh_hadamard(table)) / 2.0
        found: Vector = (outside * weights.sum() + (inside - outside) * own).ravel()
        return found

    def apply_transposed(self, weights: Vector) -> Vector:
        """Return Pᵀ·w, shape (m,)."""
        table = self.sets.by_block(weights)
        own = (table.sum(axis=1, keepdims=True) + walsh_hadamard(table)) / 2.0
        return self._least * float(table.sum()) + (self._most - self._least) * self.sets.gathered(
            own
        )

    def solve(self, observed: Vector) -> Vector:
        """Return H/p, the unbiased estimates; they need not sum to 1, shape (m,)."""
        table = walsh_hadamard(self.sets.by_block(observed))
        return self.sets.gathered(table) / self._told_apart

    def solve_transposed(self, scores: Vector) -> Vector:
        """Return Σ_v s_v(y)·w_v/p for every symbol, shape (B·K,)."""
        table = self.sets.laid_out(np.asarray(scores, dtype=np.float64))
        return walsh_hadamard(table).ravel() / self._told_apart

    def apply_squared_inverse(self, weights: Vector) -> Vector:
        """Return Σ_y (s_v(y)/p)²·w_y: what the symbols of v's block weigh, over p², shape (m,)."""
        of_block = self.sets.by_block(weights).sum(axis=1) / self._told_apart**2
        return of_block[self.sets.block_of(np.arange(self.size))]

    def own_second_moments(self) -> Vector:
        """Return (p + (1 − p)/B)/p², shape (m,)."""
        p = self._told_apart
        return np.full(self.size, (p + (1.0 - p) / self.sets.blocks) / p**2)

    def inverse_ranges(self) -> Vector:
        """Return 2/p, shape (m,)."""
        return np.full(self.size, 2.0 / self._told_apart)

    @property
    def untold(self) -> Indices:
        """All codes where p is so small that a record moves an estimate out of all proportion."""
        told = self.retention * 0.5 >= NEARLY_SINGULAR
        return np.arange(0 if told else self.size)

    @property
    def _told_apart(self) -> float:
        if self.is_singular:
            raise EstimationError(
                "The release can't tell the codes apart: its symbols are drawn whatever they are.",
                "Choose a higher level.",
            )
        return self.retention

    def worst_odds_ratios(self) -> OddsRatios:
        """Return how far a symbol can move the odds on each code: the same for all of them."""
        up = np.inf if self._least == 0.0 else self._most / self._least
        return OddsRatios(np.full(self.size, up), np.full(self.size, self._least / self._most))

    def test_garbling_of(self, upper: PerturbationMatrix) -> GarblingTest:
        """Examine whether this release can be made from `upper`'s alone: M(p)·q = M(p·q)."""
        self._check_same_size(upper)
        if not isinstance(upper, HadamardMatrix) or upper.sets != self.sets:
            raise LadderError(
                "The two releases show symbols of different sets.",
                "Compare releases of one attribute with the same number of blocks.",
            )
        return GarblingTest(self.retention <= upper.retention)

    def _channel_to(self, lower: PerturbationMatrix) -> PerturbationMatrix:
        assert isinstance(lower, HadamardMatrix)
        ratio = lower.retention / self.retention if self.retention else 0.0
        return uniform_matrix(ratio, self.outcomes)

    def released(self, original: Whole, draws: Vector) -> Integers:
        """Return a symbol for each code, by numbers from [0, 1), both of shape (draws,)."""
        sets, kept = self.sets, draws < self.retention
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(kept, draws / self.retention, 0.0)
            other = np.where(kept, 0.0, (draws - self.retention) / (1.0 - self.retention))
        words = np.minimum(inside * sets.in_block, sets.in_block - 1).astype(np.uint32)
        own = sets.drawn(original.astype(np.uint32), words).astype(np.int64)
        any_symbol = np.minimum(other * sets.symbols, sets.symbols - 1).astype(np.int64)
        shown: Integers = np.where(kept, own, any_symbol)
        return shown

    def told(self) -> None:
        """Return None: recipients are told the rule, which is shorter than the entries."""

    def restored(self, frequencies: Vector) -> tuple[float, float]:
        """Return how often the likeliest code is right, and the mean probability of the true one.

        What `sfumato.engine.disclosure.best_guess` finds by going through all entries: the
        likeliest code is the most frequent of those that have the symbol, or of all.

        Parameters
        ----------
        frequencies
            The share of each code, shape (m,), summing to 1.
        """
        shares = np.asarray(frequencies, dtype=np.float64)
        weight = self.apply(shares)
        squares = self._weighted(shares**2, self._least**2, self._most**2)
        best = np.full(self.outcomes, self._least * float(shares.max()))
        left = np.arange(self.outcomes)
        for code in np.argsort(-shares, kind="stable"):
            if not len(left) or self._most * shares[code] <= self._least * shares.max():
                break
            own = self.sets.holds(left, np.array(code))
            best[left[own]] = self._most * shares[code]
            left = left[~own]
        mean = np.divide(squares, weight, out=np.zeros_like(weight), where=weight > 0.0)
        return float(best.sum()), float(mean.sum())
