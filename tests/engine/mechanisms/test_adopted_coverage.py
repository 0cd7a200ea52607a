"""Earlier releases that have some of the records only: each record's ladder has its own rungs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import covered_by_all, release_by_coverage
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Attribute, EncodedColumn
from tests.engine.ladders.adopted_law import adopted_law
from tests.engine.ladders.multi_pert import chain_law
from tests.noise import NOISE

UNIFORM = mechanism_called("uniform")
GAUSSIAN = mechanism_called("gaussian")
LEVELS = (Fraction(9, 10), Fraction(1, 2), Fraction(3, 10), Fraction(1, 20))
HAVING = [pick for count in range(5) for pick in combinations(LEVELS, count)]
SIZE = 3
PRIOR = (Fraction(1, 2), Fraction(1, 3), Fraction(1, 6))


@pytest.mark.turns(4)
@pytest.mark.few(1)
@pytest.mark.parametrize("having", HAVING)
def test_equation_2_holds_for_a_record_whichever_earlier_releases_have_it(having):
    """Exactly, for every coalition and all that it can see.

    There are earlier releases at all four levels, of which `having` have the record; at the
    others' levels it is released anew, because somebody may be given that level.
    """
    fresh = [level for level in LEVELS if level not in having]
    laws = [adopted_law(fresh, having, true, SIZE) for true in range(SIZE)]
    for count in range(1, 5):
        for coalition in combinations(range(4), count):
            for seen in product(range(SIZE), repeat=count):
                assert posterior(laws, coalition, seen) == posterior(laws, coalition[:1], seen[:1])


def posterior(laws, members, seen):
    """Return Pr[X | what the members at these levels see], exactly; the highest level first."""
    joint = [
        prior
        * sum(
            chance
            for values, chance in law.items()
            if all(values[member] == value for member, value in zip(members, seen, strict=True))
        )
        for prior, law in zip(PRIOR, laws, strict=True)
    ]
    return [share / sum(joint) for share in joint]


# ----- the mechanisms


def rung(level: float, digest: str, **more) -> dict[str, object]:
    columns = {"disease": "disease"}
    return {"level": level, "digest": digest, "file": "/r.csv", "columns": columns, **more}


def uniform_request(true, level, adopted):
    domain = Domain(tuple("abcdef"[:SIZE]))
    column = EncodedColumn(Attribute("disease", Kind.CATEGORICAL, domain), true)
    told = [rung(one.level, f"{one.level}", part=[1, 2]) for one in adopted]
    ids = record_ids_by_position(len(true))
    return ReleaseRequest(
        (column,), {"adopted": told}, level, ids, KeyRing(bytes(range(32))), tuple(adopted)
    )


def uniform_codes(true, level, adopted):
    request = uniform_request(true, level, adopted)
    shown = UNIFORM.release(request, Silent())["disease"]
    return request.columns[0].attribute.domain.encode(shown, "disease")


def garbled(rng, codes, kept):
    other = rng.integers(0, SIZE, len(codes))
    return np.where(rng.random(len(codes)) < kept, codes, other).astype(np.uint8)


def two_files(true):
    """Two earlier releases on one ladder, each with some of the records, in four patterns."""
    rng = np.random.default_rng(6)
    upper = garbled(rng, true, 0.6)
    lower = garbled(rng, upper, 0.2 / 0.6)
    has_upper, has_lower = (rng.random(len(true)) < share for share in (0.7, 0.4))
    return (
        Adopted(0.6, {"disease": np.where(has_upper, upper, 0).astype(np.uint8)}, has_upper),
        Adopted(0.2, {"disease": np.where(has_lower, lower, 0).astype(np.uint8)}, has_lower),
    )


@pytest.mark.parametrize("level", [0.8, 0.6, 0.4, 0.2, 0.1])
def test_what_a_file_would_hold_of_records_that_it_lacks_is_of_no_account(level):
    true = np.random.default_rng(1).integers(0, SIZE, 2_000).astype(np.uint8)
    files = two_files(true)
    first = uniform_codes(true, level, files)
    changed = [
        Adopted(
            one.level, {"disease": np.where(one.covered, shown, 2).astype(np.uint8)}, one.covered
        )
        for one in files
        for shown in one.values.values()
    ]
    assert (uniform_codes(true, level, changed) == first).all()


def test_records_show_at_the_level_of_a_file_what_it_shows_and_else_something_new():
    true = np.zeros(20_000, dtype=np.uint8)
    upper, _ = two_files(true)
    shown = uniform_codes(true, 0.6, two_files(true))
    has = upper.covered
    assert (shown[has] == upper.values["disease"][has]).all()
    assert abs((shown[~has] == 0).mean() - (0.6 + 0.4 / SIZE)) < 0.02


@pytest.mark.few(1)
@pytest.mark.parametrize("pattern", list(product([False, True], repeat=2)))
def test_every_part_of_the_records_has_the_law_of_one_ladder(pattern):
    """Joint counts of five levels among the records that the same files have: a chi-square test."""
    true = np.zeros(300_000, dtype=np.uint8)
    files, levels = two_files(true), (0.8, 0.6, 0.45, 0.2, 0.1)
    here = (files[0].covered == pattern[0]) & (files[1].covered == pattern[1])
    seen = [uniform_codes(true, level, files)[here].astype(np.int64) for level in levels]
    place = sum(codes * SIZE**at for at, codes in enumerate(seen))
    counts = np.bincount(place, minlength=SIZE ** len(levels))
    expected = np.zeros(SIZE ** len(levels))
    for values, chance in chain_law([Fraction(level) for level in levels], 0, SIZE).items():
        at = sum(value * SIZE**place for place, value in enumerate(values))
        expected[at] = float(chance) * here.sum()
    enough = expected >= 5
    freedom = int(enough.sum()) - 1
    statistic = float(((counts - expected) ** 2 / expected)[enough].sum())
    assert abs(statistic - freedom) < 5 * (2 * freedom) ** 0.5


def test_one_record_alone_shows_what_it_shows_among_the_others():
    true = np.random.default_rng(1).integers(0, SIZE, 50).astype(np.uint8)
    request = uniform_request(true, 0.4, two_files(true))
    whole = UNIFORM.release(request, Silent())["disease"].astype(str).tolist()
    alone = [
        str(UNIFORM.release(request.at(slice(place, place + 1)), Silent())["disease"].iloc[0])
        for place in range(len(true))
    ]
    assert alone == whole


def test_two_files_of_one_level_may_have_different_records():
    true = np.random.default_rng(1).integers(0, SIZE, 400).astype(np.uint8)
    shown = garbled(np.random.default_rng(2), true, 0.5)
    first = np.arange(400) < 150
    files = [Adopted(0.5, {"disease": shown}, has) for has in (first, ~first)]
    assert (uniform_codes(true, 0.5, files) == shown).all()


def test_numbers_are_fitted_record_by_record_too():
    rng = np.random.default_rng(5)
    true = rng.normal(40, 10, 40_000)
    columns = (EncodedColumn(Attribute("pay", Kind.NUMERIC, numbers=true), true),)
    settings = dict(GAUSSIAN.first_settings(tuple(column.attribute for column in columns), NOISE))
    has = np.arange(len(true)) % 2 == 0
    copy = true + rng.normal(0, settings["covariance"][0][0] ** 0.5, len(true))
    told = {**rung(1.0, "d", part=[1, 2]), "columns": {"pay": "pay"}}

    def released(level):
        request = ReleaseRequest(
            columns,
            {**settings, "adopted": [told]},
            level,
            record_ids_by_position(len(true)),
            KeyRing(bytes(range(32))),
            (Adopted(1.0, {"pay": np.where(has, copy, np.nan)}, has),),
        )
        return GAUSSIAN.release(request, Silent())["pay"].to_numpy()

    assert (released(1.0)[has] == copy[has]).all()
    for level, other in ((1.0, 0.5), (2.0, 1.0), (2.0, 0.5)):
        one, two = (released(at)[~has] - true[~has] for at in (level, other))
        variance = settings["covariance"][0][0]
        assert np.var(one) == pytest.approx(level * variance, rel=0.05)
        assert np.mean(one * two) == pytest.approx(min(level, other) * variance, rel=0.05)


# ----- the parts


def test_the_records_that_all_files_have_are_those_that_every_file_has():
    some = np.array([True, True, False])
    others = np.array([False, True, True])
    files = [Adopted(0.5, {}, some), Adopted(0.4, {}, None), Adopted(0.3, {}, others)]
    assert covered_by_all(files).tolist() == [False, True, False]
    assert covered_by_all(files[1:2]) is None


def test_a_table_without_records_is_released_without_records():
    true = np.empty(0, dtype=np.uint8)
    none = np.empty(0, dtype=np.bool_)
    request = uniform_request(true, 0.4, (Adopted(0.6, {"disease": true}, none),))
    shown = release_by_coverage(request, lambda part, _: part.columns[0].values, Silent())
    assert shown.shape == (0,)
