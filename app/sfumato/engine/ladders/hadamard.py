"""The ladder of Hadamard retention: a symbol of the code's set, then the uniform ladder.

The top rung is a symbol drawn evenly from the set of the record's true code. Below it the uniform
ladder runs over all symbols, with a key of its own: at a level p the top rung's symbol is still
there with probability p, and else an even draw from all symbols. So every level is M(p), M(p)
followed by retention q is M(p·q), and the levels are a Markov chain whatever order they are made
in.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Words, smallest_unsigned
from sfumato.engine.ladders.uniform import release_codes
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.matrices.hadamard_matrix import SymbolSets
from sfumato.engine.randomness.keys import AttributeKey

TILE: Final = 1 << 15
"""How many records' symbols are drawn at once. The release does not depend on it."""

_SYMBOL: Final = 0
"""The stream of the top rung's symbol; its key is used for nothing else."""


def release_symbols(
    codes: Codes,
    sets: SymbolSets,
    level: float,
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
) -> Codes:
    """Return the symbols that stand for an attribute's codes at one level.

    Parameters
    ----------
    codes
        The true codes, shape (n,).
    sets
        Which symbols belong to each code.
    level
        The retention probability p, from 0 to 1.
    record_ids
        The records' identifiers, shape (n,).
    keys
        The keys of the top rung and of the ladder below it.
    context
        Told of the progress; may stop the work.

    Returns
    -------
    numpy.ndarray
        Symbols, shape (n,), in the smallest unsigned type.
    """
    wide = codes.astype(smallest_unsigned(sets.symbols), copy=False)
    top = np.empty_like(wide) if level > 0.0 else wide
    if level > 0.0:
        blocks = Blocks(keys[0].cipher(), max(min(TILE, len(codes)), 1))
        for start in range(0, len(codes), TILE):
            part = slice(start, start + TILE)
            blocks.fill(wide[part], record_ids[part])
            words = blocks.draw(len(wide[part]), _SYMBOL).view("<u4")[0::4]
            top[part] = sets.drawn(wide[part], words)
    return release_codes(wide, sets.symbols, level, record_ids, keys[1], context, top=top)
