"""The ladder in chapters: its exact joint law, and that the kernel follows it."""

import itertools
import math

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.hierarchical import ChapterMatrix, release_in_chapters
from sfumato.engine.randomness.keys import KeyRing

CHAPTERS = (0, 0, 1, 1, 1, 2)
LEVELS = ((0.8, 0.9), (0.4, 0.7), (0.1, 0.3))
RING = KeyRing(bytes(range(32)))
KEYS = tuple(RING.for_attribute("illness", "", what) for what in ("inside", "everywhere"))


FEW = (0, 0, 1, 1, 1)
"""So few values, at two levels, that everything can be enumerated."""


def chain(chapters=CHAPTERS, levels=LEVELS):
    """Pr[X, Y1, Y2, …] for an even X, by the matrices of the steps."""
    size = len(chapters)
    joint, before = np.full(size, 1 / size), (1.0, 1.0)
    for level in levels:
        ratios = [now / then for now, then in zip(level, before, strict=True)]
        step = ChapterMatrix(*ratios, chapters).dense()
        joint = np.einsum("...y,zy->...yz", joint, step)
        before = level
    return joint


def enumerated():
    """The same from the construction itself: every pattern of events, values and offsets."""
    size, levels = len(FEW), LEVELS[:2]
    members = [np.flatnonzero(np.array(FEW) == c) for c in range(2)]
    sizes = sorted({len(m) for m in members if len(m) > 1})
    joint = np.zeros((size,) * 3)
    domain_paths = list(_paths([c for _, c in levels], size))
    offset_paths = {s: list(_paths([a for a, _ in levels], s)) for s in sizes}
    for true in range(size):
        for values, chance in domain_paths:
            base = [true if v is None else v for v in values]
            for drawn in itertools.product(*(offset_paths[s] for s in sizes)):
                weight = chance * math.prod(own for _, own in drawn)
                shown = []
                for at, value in enumerate(base):
                    inside = members[FEW[value]]
                    if len(inside) == 1:
                        shown.append(value)
                        continue
                    offset = drawn[sizes.index(len(inside))][0][at] or 0
                    place = (int(np.flatnonzero(inside == value)[0]) + offset) % len(inside)
                    shown.append(int(inside[place]))
                joint[(true, *shown)] += weight / size
    return joint


def _paths(levels, size):
    """What a uniform ladder shows at each level (None for the start), with its probability."""
    before, paths = 1.0, [((), 1.0)]
    for level in levels:
        stays = level / before
        paths = [further for path, chance in paths for further in _next(path, chance, stays, size)]
        before = level
    return paths


def _next(path, chance, stays, size):
    yield (*path, path[-1] if path else None), chance * stays
    for value in range(size):
        yield (*path, value), chance * (1 - stays) / size


def test_every_pattern_of_events_adds_up_to_the_chain():
    assert enumerated() == pytest.approx(chain(FEW, LEVELS[:2]), abs=1e-12)


def test_a_coalition_knows_what_its_most_trusted_member_knows():
    joint = enumerated()
    alone = joint.sum(axis=2, keepdims=True)
    ratio = (joint / joint.sum(axis=0)) / (alone / alone.sum(axis=0))
    assert ratio == pytest.approx(np.ones_like(ratio))


def released(codes, level, ids):
    return release_in_chapters(codes, CHAPTERS, level, ids, KEYS, Silent())


def test_the_kernel_follows_the_joint_law_in_any_order():
    rows = 200_000
    ids = np.arange(rows, dtype=np.uint64)
    codes = (ids % 6).astype(np.uint8)
    shown = {level: released(codes, level, ids) for level in reversed(LEVELS)}
    cells = codes.astype(np.int64)
    for level in LEVELS:
        cells = cells * 6 + shown[level]
    seen, law = np.bincount(cells, minlength=6**4), chain().ravel() * rows
    few = law < 10
    seen, law = np.append(seen[~few], seen[few].sum()), np.append(law[~few], law[few].sum())
    statistic, freedom = ((seen - law) ** 2 / law).sum(), len(law) - 1
    assert abs(statistic - freedom) < 5 * math.sqrt(2 * freedom)
    assert (released(codes[500:700], LEVELS[1], ids[500:700]) == shown[LEVELS[1]][500:700]).all()


def test_a_corrected_value_does_not_keep_its_offset():
    ids = np.arange(60_000, dtype=np.uint64)
    first, second = (
        released(np.full(len(ids), value, np.uint8), (0.1, 1.0), ids) for value in (2, 3)
    )
    together = np.mean((second - 2) % 3 == (first - 2 + 1) % 3)
    law = np.array([0.1 + 0.3, 0.3, 0.3])
    independent = (law**2).sum()
    assert together == pytest.approx(independent, abs=0.01)
