"""Two columns released together, beside plain unkeyed numpy for a single level."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import ReleaseRequest, Settings
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Attribute, EncodedColumn
from tests.benchmarks.harness import Case

BASELINE = "np.where over the combinations' codes, taken apart by np.divmod"
SIZES = ((20, 10), (200, 100))
LEVELS = (0.5, 0.05)
MECHANISM = mechanism_called("joint")


def cases(quick: bool) -> Iterator[Case]:
    """Yield a small and the largest number of combinations, alike and with a profile."""
    records = 100_000 if quick else 5_000_000
    for sizes in SIZES:
        rng = np.random.default_rng(1)
        columns = tuple(
            _column(rng, name, size, records) for name, size in zip("ab", sizes, strict=True)
        )
        ids, keys = record_ids_by_position(records), KeyRing(bytes(range(32)))
        profile = {"profile": rng.uniform(0.5, 1.0, sizes[0] * sizes[1]).tolist()}
        for settings, level in [*(({}, level) for level in LEVELS), (profile, 0.5)]:
            request = ReleaseRequest(columns, settings, level, ids, keys)
            kind = "limits" if settings else "alike"
            yield Case(
                f"n={records:,} {sizes[0]} × {sizes[1]} {kind} p={level:g}",
                partial(MECHANISM.release, request, Silent()),
                partial(_plain, rng, columns, settings, level),
            )


def _column(rng: np.random.Generator, name: str, size: int, records: int) -> EncodedColumn:
    domain = Domain(tuple(f"{name}{value}" for value in range(size)))
    codes = rng.integers(0, size, records).astype(np.uint8)
    return EncodedColumn(Attribute(name, Kind.CATEGORICAL, domain), codes)


def _plain(
    rng: np.random.Generator, columns: tuple[EncodedColumn, ...], settings: Settings, level: float
) -> list[object]:
    first, second = columns
    other = len(second.attribute.domain.values) if second.attribute.domain else 0
    size = other * (len(first.attribute.domain.values) if first.attribute.domain else 0)
    codes = first.values.astype(np.uint16) * np.uint16(other) + second.values
    kept: object = level
    if settings:
        profile = np.array(settings["profile"])
        kept = (profile / profile.max() * level)[codes]
    shown = np.where(rng.random(len(codes)) < kept, codes, rng.integers(0, size, len(codes)))
    parts = np.divmod(shown, other)
    return [
        each.attribute.domain.decode(part, each.attribute.name)
        for each, part in zip(columns, parts, strict=True)
        if each.attribute.domain
    ]
