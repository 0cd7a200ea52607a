"""A source of noise for tests that need settings completed."""

from __future__ import annotations

from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise

NOISE = KeyedNoise(KeyRing(bytes(range(32))))
