"""Keys, blocks and record identifiers."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from sfumato.engine.randomness.keys import BlockCipher, KeyRing

SECRET = bytes(range(32))
KEYS = KeyRing(SECRET)


def first_block(keys: KeyRing, *names: str) -> bytes:
    out = np.zeros(31, dtype=np.uint8)
    keys.for_attribute(*names).cipher().encrypt(np.zeros(16, dtype=np.uint8), out)
    return out[:16].tobytes()


def test_the_cipher_is_aes_256_as_the_standard_tests_it():
    """FIPS 197, appendix C.3."""
    plain = np.frombuffer(bytes.fromhex("00112233445566778899aabbccddeeff") * 2, dtype=np.uint8)
    out = np.zeros(47, dtype=np.uint8)
    BlockCipher(SECRET).encrypt(plain, out)
    assert out[:32].tobytes().hex() == "8ea2b7ca516745bfeafc49904b496089" * 2


def test_a_cipher_can_be_used_again_and_again():
    cipher, out = BlockCipher(SECRET), np.zeros(31, dtype=np.uint8)
    blocks = np.arange(16, dtype=np.uint8)
    cipher.encrypt(blocks, out)
    first = out.copy()
    cipher.encrypt(np.zeros(16, dtype=np.uint8), out)
    cipher.encrypt(blocks, out)
    assert (out[:16] == first[:16]).all()


@pytest.mark.parametrize(
    "holder",
    [KEYS, KEYS.for_attribute("a", "b", "c"), KEYS.for_record_keys(), BlockCipher(SECRET)],
)
def test_no_text_shows_a_secret(holder):
    shown = f"{holder!r} {holder}"
    assert "hidden" in shown
    for form in (SECRET.hex(), repr(SECRET), repr(SECRET)[2:-1]):
        assert form not in shown


@pytest.mark.parametrize("holder", [KEYS, KEYS.for_attribute("a", "b", "c")])
def test_a_key_is_neither_pickled_nor_copied(holder):
    with pytest.raises(TypeError):
        pickle.dumps(holder)
    with pytest.raises(TypeError):
        copy.deepcopy(holder)


@pytest.mark.parametrize("length", [0, 16, 31, 33])
def test_a_secret_of_another_length_is_refused(length):
    with pytest.raises(ValueError, match="32 bytes") as caught:
        KeyRing(b"\x07" * length)
    assert "\\x07" not in str(caught.value)


def test_every_attribute_domain_and_purpose_has_a_key_of_its_own():
    names = [
        ("disease", "d1", "uniform"),
        ("disease", "d1", "gaussian"),
        ("disease", "d2", "uniform"),
        ("salary", "d1", "uniform"),
        ("diseased", "1", "uniform"),
        ("disease", "d1uniform", ""),
        ('disease", "d1', "", "uniform"),
    ]
    assert len({first_block(KEYS, *name) for name in names}) == len(names)
    assert first_block(KEYS, *names[0]) == first_block(KeyRing(SECRET), *names[0])
    assert first_block(KEYS, *names[0]) != first_block(KeyRing(SECRET[::-1]), *names[0])


def test_keys_are_the_same_in_every_version():
    """A change here would throw every project off its ladders."""
    assert first_block(KEYS, "disease", "d1", "uniform").hex() == "fec05aa2b8cd7a48f56b2656a8b3ad7a"
