"""Identifiers of records and of units, and the keyed hash beside the library's own CBC."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.randomness import record_ids
from sfumato.engine.randomness.keys import AttributeKey, KeyRing
from sfumato.engine.randomness.record_ids import (
    are_apart,
    canonical_text,
    canonical_texts,
    keyed_hash,
    record_ids_by_key,
    record_ids_by_position,
    unit_ids,
)
from tests.keyed_hash import cbc_mac, message
from tests.thorough import tried

KEYS = KeyRing(bytes(range(32)))


def ids_of(values, keys: KeyRing = KEYS) -> list[int]:
    return record_ids_by_key(pd.Series(values, name="patient"), keys, Silent()).tolist()


def first_word(key: bytes, *texts: str) -> int:
    return int.from_bytes(cbc_mac(key, *(text.encode() for text in texts))[:8], "little")


def test_identifiers_are_the_same_in_every_version():
    """A change here would throw every project off its ladders."""
    assert ids_of([1, "two"]) == [13045008046792632156, 13778873053393637461]


def test_identifiers_are_the_keyed_hash_of_what_names_record_and_unit():
    names = ["1", "two", "a longer key than a block", ""]
    key = KEYS.for_record_keys()._key
    assert ids_of(names) == [first_word(key, name) for name in names]
    unit = KEYS.for_units()._key
    towns = pd.Series(["Ulm", "Bonn", "Ulm", "Jena"])
    found = unit_ids([pd.Series(names), towns], KEYS).tolist()
    assert found == [first_word(unit, *each) for each in zip(names, towns, strict=True)]


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


def test_two_keys_may_share_half_a_hash(monkeypatch):
    def half_alike(parts, key, context):
        found = keyed_hash(parts, key, context)
        found[:, 0] = 5
        return found

    monkeypatch.setattr(record_ids, "keyed_hash", half_alike)
    assert ids_of(["a", "b"]) == [5, 5]
    with pytest.raises(TableError, match="rows 1 and 3"):
        ids_of(["a", "b", "a"])


def test_hashing_reports_and_stops_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(record_ids, "_ROWS", 10)
    column, seen = pd.Series(range(95)), []
    record_ids_by_key(column, KEYS, Callback(lambda share, _: seen.append(share), lambda: False))
    assert seen == sorted(seen)
    assert len(set(seen)) == 11
    assert seen[-1] == 1.0
    with pytest.raises(Cancelled):
        record_ids_by_key(column, KEYS, Callback(lambda share, _: None, lambda: True))


def test_a_column_hashed_in_parts_has_the_same_identifiers(monkeypatch):
    whole = ids_of(range(40))
    monkeypatch.setattr(record_ids, "_ROWS", 7)
    assert ids_of(range(40)) == whole


def test_no_rows_have_no_identifiers():
    assert ids_of([]) == []


KEY = bytes(range(32))
TEXTS = st.text(max_size=60)


def bytes_of(hashes):
    return [row.tobytes() for row in hashes]


def hashed(*columns, key=KEY):
    parts = [canonical_texts(pd.Series(values)) for values in columns]
    return bytes_of(keyed_hash(parts, AttributeKey(key), Silent()))


@pytest.mark.parametrize("length", [*range(42), 1000])
def test_a_text_of_any_length_has_the_cbc_mac_of_the_library(length):
    text = "abcdefghij"[: length % 10] + "xyzwvutsrq" * (length // 10)
    assert hashed([text]) == [cbc_mac(KEY, text.encode())]


def test_hashes_are_the_same_in_every_version():
    """A change here would give every record other draws and every person another pseudonym."""
    assert hashed(["two"])[0].hex() == "ecb06cfadc029d90267388df3017c4ef"


@settings(max_examples=tried(60), deadline=None)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20), st.binary(min_size=32, max_size=32)
)
def test_rows_of_two_texts_have_the_cbc_mac_of_both(rows, key):
    one, other = zip(*rows, strict=True)
    expected = [cbc_mac(key, *(canonical_text(t).encode() for t in row)) for row in rows]
    assert hashed(list(one), list(other), key=key) == expected


@settings(max_examples=tried(300), deadline=None)
@given(st.lists(st.binary(max_size=40), min_size=1, max_size=3), st.data())
def test_no_message_is_the_beginning_of_another(texts, data):
    other = data.draw(
        st.lists(st.binary(max_size=40), min_size=1, max_size=3)
        | st.just([*texts, b""])
        | st.just([*texts[:-1], texts[-1] + b"\0"])
        | st.just([b"".join(texts)])
    )
    if other != texts:
        assert not message(*other).startswith(message(*texts))
        assert not message(*texts).startswith(message(*other))


def test_texts_that_only_look_alike_have_hashes_of_their_own():
    """Zeros at the end, a text that holds another's message, and texts cut at another place."""
    inner = message(b"a").decode("latin-1")
    alike = ["", "\0", "\0\0", "a", "a\0", "a" + "\0" * 15, "a" + "\0" * 16, inner, inner + "a"]
    assert len(set(hashed(alike))) == len(alike)
    assert len(set(hashed(["ab", "a", ""], ["c", "bc", "abc"]))) == 3
    assert hashed(["a"])[0] not in hashed(["a", "a"], ["", "a"])


def test_a_hash_depends_on_its_text_and_key_alone(monkeypatch):
    values = [f"{place}" * (place % 7) for place in range(100)]
    whole = hashed(values)
    monkeypatch.setattr(record_ids, "_TILE", 7)
    assert hashed(values) == whole
    assert hashed(values[::-1]) == whole[::-1]
    assert not set(hashed(values, key=KEY[::-1])) & set(whole)


def test_every_bit_of_hashes_is_set_in_half_of_them():
    """Each of 128 shares lies within 5 standard errors: a false alarm in 14,000 keys."""
    words = np.array([list(one) for one in hashed(range(20_000))], dtype=np.uint8)
    shares = np.unpackbits(words, axis=1).mean(axis=0)
    assert np.abs(shares - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)


def test_hashing_texts_reports_and_stops_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(record_ids, "_TILE", 10)
    texts, seen = canonical_texts(pd.Series(range(95))), []
    key = AttributeKey(KEY)
    keyed_hash([texts], key, Callback(lambda share, _: seen.append(share), lambda: False))
    assert seen == sorted(seen)
    assert len(seen) == 11
    assert seen[-1] == 1.0
    with pytest.raises(Cancelled):
        keyed_hash([texts], key, Callback(lambda share, _: None, lambda: True))


def test_no_texts_have_no_hashes():
    assert keyed_hash(
        [canonical_texts(pd.Series([], dtype="str"))], AttributeKey(KEY), Silent()
    ).shape == (0, 2)


COLUMNS = {
    "whole numbers": pd.Series([12, -7, 0]),
    "unsigned": pd.Series([2**64 - 1, 7], dtype="uint64"),
    "nullable": pd.Series([12, 7], dtype="Int64"),
    "floats that are whole": pd.Series([12.0, -0.0, 2.0**53, -(2.0**53)]),
    "huge floats": pd.Series([1e22, 2.0**60]),
    "floats": pd.Series([12.25, 7.0, 1e-300]),
    "yes and no": pd.Series([True, False]),
    "texts": pd.Series(["12", "", "\u00fc", "u\u0308"]),
    "part of texts": pd.Series(["12", "ab", "c"])[1:],
    "python texts": pd.Series(["12", "b"], dtype=pd.StringDtype("python")),
    "categories": pd.Series(["b", "a", "b"], dtype="category"),
    "numbered categories": pd.Series([3, 1, 3], dtype="category"),
    "mixed": pd.Series([12, "7", 1.5], dtype=object),
    "moments": pd.Series([pd.Timestamp("2026-11-20"), pd.Timestamp("2026-11-20 13:00")]),
    "broken texts": pd.Series(["\udc80", "a"], dtype=object),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_has_the_canonical_text_of_each_value(name):
    column = COLUMNS[name]
    texts = canonical_texts(column)
    found = [texts.data[a:b].tobytes() for a, b in zip(texts.ends, texts.ends[1:], strict=False)]
    expected = [canonical_text(value).encode(errors="surrogatepass") for value in column]
    assert found == expected


@settings(max_examples=tried(100), deadline=None)
@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_has_one_text(number):
    assert canonical_text(number) == canonical_text(float(number)) == canonical_text(str(number))


def test_whole_numbers_alone_are_told_apart_by_counting_them():
    assert are_apart(pd.Series([3, 1, 2]))
    assert not are_apart(pd.Series([3, 1, 3]))
    # Two texts of one name, written in two ways of Unicode, are one key.
    assert not are_apart(pd.Series(["\u00e9", "e\u0301"]))
    assert not are_apart(pd.Series([1, None], dtype="Int64"))
