"""Identifiers of records and of units."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.errors import Cancelled, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.randomness import record_ids
from sfumato.engine.randomness.keyed_hash import keyed_hash
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import (
    record_ids_by_key,
    record_ids_by_position,
    unit_ids,
)
from tests.keyed_hash import cbc_mac

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
