"""What takes long and follows from its arguments alone is computed once in a process.

The same few tables are weighed by test after test, none of which is about the trees that this
grows, and the same few projects are opened. The tests of the engine see none of this.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

import numpy as np
import pytest

from sfumato.engine.disclosure.boosted_trees import Ensemble, TrainingRows
from sfumato.engine.disclosure.open_columns import boost
from sfumato.project.store.secret import Argon2Cost, ScryptCost

_MOST = 300
_Found = TypeVar("_Found")


class _Remembered(dict[object, _Found]):
    """The last of what was found, by what it follows from."""

    def of(self, key: object, find: Callable[[], _Found]) -> _Found:
        found = self.get(key)
        if found is None:
            found = find()
            if len(self) >= _MOST:
                self.pop(next(iter(self)), None)
            self[key] = found
        return found


def remember(patch: pytest.MonkeyPatch) -> None:
    """Let the trees by which open columns are weighed be grown once for the same rows."""
    trees = _Remembered[Ensemble]()

    def boost_once(
        learn: TrainingRows, watch: TrainingRows, levels: np.ndarray, **how: object
    ) -> Ensemble:
        given = [each for rows in (learn, watch) for each in (rows.start, rows.outcomes)]
        bins = [rows.bins.matrix(range(len(rows.bins))) for rows in (learn, watch)]
        key = how["shares"], _digest(*bins, *given, levels)
        return trees.of(key, lambda: boost(learn, watch, levels, **how))

    patch.setattr("sfumato.engine.disclosure.open_columns.boost", boost_once)
    # The samples that are kept took their passphrases at the price that guessing is to have.
    for cost in (ScryptCost, Argon2Cost):
        patch.setattr(cost, "key_from", lru_cache(_MOST)(cost.key_from))


def _digest(*arrays: np.ndarray) -> bytes:
    found = hashlib.blake2b()
    for each in arrays:
        found.update(f"{each.shape} {each.dtype} ".encode())
        found.update(each.tobytes())
    return found.digest()
