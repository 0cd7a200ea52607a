"""The keyed hash beside the library's own CBC, and the texts that are hashed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.randomness import keyed_hash as module
from sfumato.engine.randomness.keyed_hash import canonical_text, canonical_texts, keyed_hash
from sfumato.engine.randomness.keys import AttributeKey
from tests.keyed_hash import cbc_mac, message

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


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=20), st.binary(min_size=32, max_size=32)
)
def test_rows_of_two_texts_have_the_cbc_mac_of_both(rows, key):
    one, other = zip(*rows, strict=True)
    expected = [cbc_mac(key, *(canonical_text(t).encode() for t in row)) for row in rows]
    assert hashed(list(one), list(other), key=key) == expected


@settings(max_examples=300, deadline=None)
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
    monkeypatch.setattr(module, "_TILE", 7)
    assert hashed(values) == whole
    assert hashed(values[::-1]) == whole[::-1]
    assert not set(hashed(values, key=KEY[::-1])) & set(whole)


def test_every_bit_of_hashes_is_set_in_half_of_them():
    """Each of 128 shares lies within 5 standard errors: a false alarm in 14,000 keys."""
    words = np.array([list(one) for one in hashed(range(20_000))], dtype=np.uint8)
    shares = np.unpackbits(words, axis=1).mean(axis=0)
    assert np.abs(shares - 0.5).max() < 5 * 0.5 / np.sqrt(20_000)


def test_hashing_reports_and_stops_when_it_is_told_to(monkeypatch):
    monkeypatch.setattr(module, "_TILE", 10)
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


@settings(max_examples=100, deadline=None)
@given(st.integers(-(2**53), 2**53))
def test_a_whole_number_has_one_text(number):
    assert canonical_text(number) == canonical_text(float(number)) == canonical_text(str(number))
