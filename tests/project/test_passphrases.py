"""The hint on a passphrase's strength errs on the careful side."""

from __future__ import annotations

import pytest

from sfumato.project.store.secret import Strength, guessing_bits, strength_of


@pytest.mark.parametrize(
    ("passphrase", "strength"),
    [
        ("", Strength.EMPTY),
        ("secret", Strength.WEAK),
        ("password1", Strength.WEAK),
        ("Passwort2024!", Strength.WEAK),
        ("aaaaaaaaaaaaaaaaaaaaaaaa", Strength.WEAK),
        ("abcdefghijklmnopqrstuvwxyz", Strength.WEAK),
        ("123456789012345678901234", Strength.WEAK),
        ("the the the the the the", Strength.WEAK),
        ("two words", Strength.WEAK),
        ("pear glass tower", Strength.FAIR),
        ("pear glass tower violin", Strength.STRONG),
        ("pear-glass-tower-violin-moss", Strength.STRONG),
        ("kR7#vq9!Lz2@wX5", Strength.STRONG),
    ],
)
def test_strength_in_words(passphrase, strength):
    assert strength_of(passphrase) is strength


def test_a_longer_passphrase_is_never_weaker():
    text = "pear glass tower violin moss"
    bits = [guessing_bits(text[:length]) for length in range(0, len(text) + 1)]
    words = [guessing_bits(" ".join(text.split()[:count])) for count in range(6)]
    assert bits[0] == 0
    assert words == sorted(words)
