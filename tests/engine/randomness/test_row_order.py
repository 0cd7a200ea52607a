"""The keyed order of rows: right to the last record, and unrelated to anything without the key."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness import row_order
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.row_order import release_order
from tests.row_order import order_by_hand

SECRET = bytes(range(32))
FALSE_ALARM = 1e-9
"""How often each statistical test here fails on a secret for which all is well."""


def ordered(ids, release_id="one", secret=SECRET):
    key = KeyRing(secret).for_row_order(release_id)
    return release_order(np.asarray(ids, dtype=np.uint64), key, Silent())


@pytest.mark.parametrize("rows", [0, 1, 2, 1_000])
def test_records_are_sorted_by_aes_of_their_identifiers(rows):
    assert ordered(np.arange(rows)).tolist() == order_by_hand(SECRET, "one", range(rows)).tolist()


def test_tiles_do_not_show(monkeypatch):
    ids = np.random.default_rng(1).integers(0, 2**64, 1_000, dtype=np.uint64)
    whole = ordered(ids)
    monkeypatch.setattr(row_order, "_TILE", 7)
    assert ordered(ids).tolist() == whole.tolist()


def test_buckets_that_are_sorted_one_by_one_give_the_same_order():
    ids = np.arange(5_000, dtype=np.uint64)
    key = KeyRing(SECRET).for_row_order("one")
    hashes = np.concatenate([words.copy() for _, words in row_order._hashed(ids, key)])
    buckets = hashes[:, 0] >> np.uint64(61)
    pieces = []
    for bucket in range(8):
        inside = np.flatnonzero(buckets == bucket)
        pieces.append(inside[np.lexsort((hashes[inside, 1], hashes[inside, 0]))])
    assert np.concatenate(pieces).tolist() == ordered(ids).tolist()


def test_records_that_share_half_a_hash_are_told_apart_by_the_other_half(monkeypatch):
    def few(record_ids, key):
        for part, words in hashed(record_ids, key):
            words[:, 0] %= 3
            yield part, words

    hashed = row_order._hashed
    monkeypatch.setattr(row_order, "_TILE", 64)
    monkeypatch.setattr(row_order, "_hashed", few)
    ids = np.arange(500, dtype=np.uint64)
    turned = np.random.default_rng(2).permutation(500)
    assert turned[ordered(ids[turned])].tolist() == ordered(ids).tolist()


def test_the_order_follows_the_records_and_not_where_they_stand():
    ids = np.random.default_rng(3).integers(0, 2**64, 2_000, dtype=np.uint64)
    turned = np.random.default_rng(4).permutation(2_000)
    assert ids[turned][ordered(ids[turned])].tolist() == ids[ordered(ids)].tolist()


@pytest.mark.parametrize(
    ("release_id", "secret"), [("two", SECRET), ("one", bytes(32))], ids=["release", "secret"]
)
def test_another_release_or_secret_has_an_unrelated_order(release_id, secret):
    one, other = ordered(np.arange(20_000)), ordered(np.arange(20_000), release_id, secret)
    places = np.argsort(one), np.argsort(other)
    assert stats.spearmanr(*places).pvalue > FALSE_ALARM
    # Two unrelated orders have one record in the same place, give or take one (Poisson).
    assert (one == other).sum() <= stats.poisson(1).isf(FALSE_ALARM)


@pytest.mark.parametrize("kind", ["position", "key"])
def test_the_order_says_nothing_of_the_table_s(kind):
    ids = np.arange(20_000, dtype=np.uint64)
    if kind == "key":
        ids = np.random.default_rng(5).integers(0, 2**64, 20_000, dtype=np.uint64)
    order = ordered(ids)
    assert sorted(order.tolist()) == list(range(20_000))
    assert stats.spearmanr(order, np.arange(20_000)).pvalue > FALSE_ALARM
    # By chance two pairs of neighbours stay neighbours, and one row stays in its place.
    neighbours = int((np.abs(np.diff(order)) == 1).sum())
    assert neighbours <= stats.poisson(2).isf(FALSE_ALARM)
    assert (order == np.arange(20_000)).sum() <= stats.poisson(1).isf(FALSE_ALARM)
    # Every quarter of the table is spread evenly over the quarters of the release.
    counts = np.histogram2d(order, np.arange(20_000), bins=4)[0]
    assert stats.chi2_contingency(counts).pvalue > FALSE_ALARM
