"""A source of noise for tests that need settings completed."""

from __future__ import annotations

from app.engine.noisy_statistics import KeyedNoise
from app.engine.randomness import KeyRing

NOISE = KeyedNoise(KeyRing(bytes(range(32))))
