"""Keys, blocks and record identifiers."""

from __future__ import annotations

import copy
import pickle
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import Cancelled, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.randomness import keys as randomness
from sfumato.engine.randomness.keys import (
    BlockCipher,
    KeyRing,
    record_ids_by_key,
    record_ids_by_position,
)

SECRET = bytes(range(32))
KEYS = KeyRing(SECRET)


def first_block(keys: KeyRing, *names: str) -> bytes:
    out = np.zeros(31, dtype=np.uint8)
    keys.for_attribute(*names).cipher().encrypt(np.zeros(16, dtype=np.uint8), out)
    return out[:16].tobytes()


def ids_of(values, keys: KeyRing = KEYS) -> list[int]:
    return record_ids_by_key(pd.Series(values, name="patient"), keys, Silent()).tolist()


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
    assert ids_of([1, "two"]) == [1479422674181646975, 4350003455083543788]


def test_positions_are_counted_from_zero():
    ids = record_ids_by_position(3)
    assert ids.tolist() == [0, 1, 2]
    assert ids.dtype == np.uint64


def test_an_identifier_depends_on_the_key_alone_and_not_on_the_other_rows():
    values = [f"patient {i}" for i in range(50)]
    by_value = dict(zip(values, ids_of(values), strict=True))
    assert len(set(by_value.values())) == 50
    shuffled = [*values[::-1][:20], "a new one"]
    assert ids_of(shuffled)[:20] == [by_value[value] for value in shuffled[:20]]


def test_another_project_gives_other_identifiers():
    assert ids_of(["a", "b"]) != ids_of(["a", "b"], KeyRing(b"\x01" * 32))


@pytest.mark.parametrize(
    "typed",
    [
        pd.Series([12, 7]),
        pd.Series([12, 7], dtype="uint8"),
        pd.Series([12.0, 7.0]),
        pd.Series([12, 7], dtype="Int64"),
        pd.Series([Decimal("12"), Decimal("7.0")]),
        pd.Series([np.int16(12), "7"], dtype=object),
        pd.Series(["12", "7"], dtype="category"),
        pd.Series(["12", "7"], dtype="string"),
    ],
)
def test_numbers_and_their_texts_are_one_key(typed):
    assert record_ids_by_key(typed, KEYS, Silent()).tolist() == ids_of(["12", "7"])


def test_what_looks_alike_is_not_one_key():
    assert len(set(ids_of(["12", "012", "12 ", "12.5", 12.25, "１２"]))) == 6


def test_accents_are_one_key_however_they_are_written():
    assert ids_of(["Zo\u00eb"]) == ids_of(["Zoe\u0308"])


def test_dates_are_their_iso_texts():
    expected = ids_of(["2026-11-20"])
    assert ids_of([pd.Timestamp("2026-11-20")]) == expected
    assert ids_of([date(2026, 11, 20)]) == expected
    assert ids_of([pd.Timestamp("2026-11-20 13:00")]) == ids_of(["2026-11-20T13:00:00"])


def test_text_that_utf_8_can_not_hold_is_a_key_too():
    column = pd.Series(["\udc80", "\udc81"], dtype=object)
    assert len(set(record_ids_by_key(column, KEYS, Silent()).tolist())) == 2


def test_equal_keys_are_named_by_their_rows_and_never_by_value():
    values = ["secret-a", "b", "secret-a", 7, "7"]
    with pytest.raises(TableError) as caught:
        ids_of(values)
    assert "rows 1 and 3, rows 4 and 5" in caught.value.what
    assert "patient" in caught.value.what
    assert "secret" not in str(caught.value) + repr(caught.value.details)


def test_of_many_equal_keys_a_few_are_named():
    with pytest.raises(TableError, match="and there are more") as caught:
        ids_of([0] * 100)
    assert caught.value.what.count("and") < 10


def test_a_missing_key_is_named_by_its_row():
    with pytest.raises(TableError, match="missing in 2 rows, first in row 2"):
        ids_of(["a", None, "b", pd.NA])


def test_two_keys_may_share_a_hash(monkeypatch):
    monkeypatch.setattr(
        randomness, "_digests", lambda texts, hasher: (b"\x05" + bytes(7) for _ in texts)
    )
    assert ids_of(["a", "b"]) == [5, 5]
    with pytest.raises(TableError, match="rows 1 and 3"):
        ids_of(["a", "b", "a"])


def test_hashing_reports_and_stops_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(randomness, "_HASH_ROWS", 10)
    column, seen = pd.Series(range(95)), []
    record_ids_by_key(column, KEYS, Callback(lambda share, _: seen.append(share), lambda: False))
    assert seen == sorted(seen)
    assert len(seen) == 11
    assert seen[-1] == 1.0
    with pytest.raises(Cancelled):
        record_ids_by_key(column, KEYS, Callback(lambda share, _: None, lambda: True))


def test_a_column_hashed_in_parts_has_the_same_identifiers(monkeypatch):
    whole = ids_of(range(40))
    monkeypatch.setattr(randomness, "_HASH_ROWS", 7)
    assert ids_of(range(40)) == whole


def test_no_rows_have_no_identifiers():
    assert ids_of([]) == []
