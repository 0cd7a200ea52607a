"""The ladder of symbols: its law by exact enumeration, and that releases follow it."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import scipy

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.best_guess import restored_alone
from sfumato.engine.disclosure.coalition_risk import coalition_risk
from sfumato.engine.disclosure.pooled_rows import chances
from sfumato.engine.ladders.hadamard import release_symbols
from sfumato.engine.matrices.hadamard_matrix import HadamardMatrix, SymbolSets
from sfumato.engine.randomness.keys import KeyRing

RING = KeyRing(bytes(range(32)))
KEYS = tuple(RING.for_attribute("code", "", what) for what in ("symbol", "below"))
LEVELS = (Fraction(3, 4), Fraction(2, 5), Fraction(1, 10))
CASES = [(3, 1), (7, 1), (7, 2), (6, 3)]


def sets_of(size, blocks):
    """Each code's symbols by the definition, with nothing of the product's."""
    count = -(-size // blocks)
    width = 1
    while width <= count:
        width *= 2
    found = []
    for code in range(size):
        block, row = code % blocks, code // blocks + 1
        own = {y for y in range(width) if bin(row & y).count("1") % 2 == 0}
        found.append({block * width + y for y in own})
    return found, blocks * width


def law(size, blocks, level):
    """Pr[symbol | code] as exact fractions: a row for each symbol."""
    sets, symbols = sets_of(size, blocks)
    return [
        [(1 - level) / symbols + (level / len(own) if symbol in own else 0) for own in sets]
        for symbol in range(symbols)
    ]


def retained(matrix, share):
    """The law after each symbol is kept with a probability, and else any of them is drawn."""
    symbols = len(matrix)
    return [[share * entry + (1 - share) / symbols for entry in row] for row in matrix]


@pytest.mark.parametrize(("size", "blocks"), CASES)
def test_the_matrix_is_that_of_the_definition_and_levels_follow_by_retention(size, blocks):
    sets = SymbolSets(size, blocks)
    for level in (Fraction(0), *LEVELS, Fraction(1)):
        exact = law(size, blocks, level)
        dense = HadamardMatrix(float(level), sets).dense()
        assert dense == pytest.approx(np.array(exact, dtype=float), abs=1e-15)
        for share in LEVELS:  # whatever level comes first, exactly
            assert retained(exact, share) == law(size, blocks, level * share)


@pytest.mark.parametrize(("size", "blocks"), CASES)
def test_a_coalition_believes_what_its_most_trusted_member_does(size, blocks):
    """Over all codes and symbols at three levels, by the joint law of the chain, in fractions."""
    levels = LEVELS[:2] if size * blocks > 10 else LEVELS
    top = law(size, blocks, levels[0])
    symbols, prior = len(top), [Fraction(1 + code, size) for code in range(size)]
    steps = [b / a for a, b in itertools.pairwise(levels)]

    def step(share, before, after):
        return share * (before == after) + (1 - share) / symbols

    below = [0] * symbols
    for shown in itertools.product(range(symbols), repeat=len(levels)):
        chance = Fraction(1)
        for share, (before, after) in zip(steps, itertools.pairwise(shown), strict=True):
            chance *= step(share, before, after)
        together = [prior[code] * top[shown[0]][code] * chance for code in range(size)]
        alone = [prior[code] * top[shown[0]][code] for code in range(size)]
        assert [w * sum(alone) for w in together] == [w * sum(together) for w in alone]
        below[shown[-1]] += sum(together)
    lowest = law(size, blocks, levels[-1])
    assert below == [sum(p * e for p, e in zip(prior, row, strict=True)) for row in lowest]


@pytest.mark.parametrize(("size", "blocks"), CASES)
def test_the_products_own_figures_of_a_coalition_are_those_of_its_best_member(size, blocks):
    sets, shares = SymbolSets(size, blocks), np.arange(1, size + 1) / sum(range(1, size + 1))
    matrices = [HadamardMatrix(float(level), sets) for level in LEVELS[:2]]
    risk = coalition_risk(matrices, shares, Silent())
    assert risk.largest_difference < 1e-12
    best = restored_alone(matrices[0], shares, Silent())
    joint = np.array(law(size, blocks, LEVELS[0]), dtype=float) * shares
    guessed = joint.max(axis=1).sum()
    assert best.guessed == pytest.approx(guessed)
    assert risk.on_ladder.guessed == pytest.approx(guessed)
    pooled, _ = chances(matrices[0], shares, 1)
    assert pooled @ shares == pytest.approx(guessed, abs=0.02)


@pytest.mark.parametrize(("size", "blocks"), CASES)
def test_each_symbol_of_a_codes_set_is_drawn_by_equally_many_words(size, blocks):
    sets, (own, symbols) = SymbolSets(size, blocks), sets_of(size, blocks)
    assert sets.symbols == symbols
    words = np.arange(sets.in_block, dtype=np.uint32)
    for code in range(size):
        drawn = sets.drawn(np.full(len(words), code, dtype=np.uint8), words)
        found, counts = np.unique(drawn, return_counts=True)
        assert set(found.tolist()) == own[code]
        assert set(counts.tolist()) == {2}


@pytest.mark.parametrize(("size", "blocks"), [(3, 1), (7, 2)])
def test_releases_in_any_order_follow_the_joint_law_of_the_chain(size, blocks):
    """Codes and symbols at two levels of many records, against the law by chi-square."""
    sets, records = SymbolSets(size, blocks), 60_000
    rng = np.random.default_rng(5)
    codes = rng.integers(0, size, records).astype(np.uint8)
    ids = rng.integers(0, 2**63, records).astype(np.uint64)

    def made(level):
        return release_symbols(codes, sets, float(level), ids, KEYS, Silent())

    lower, upper = made(LEVELS[1]), made(LEVELS[0])
    assert np.array_equal(made(LEVELS[1]), lower)
    assert np.array_equal(made(1), sets.drawn(codes, _top_words(codes, ids, sets)))
    parts = slice(100, 4000), slice(50_000, records)
    for part in parts:
        again = release_symbols(codes[part], sets, float(LEVELS[0]), ids[part], KEYS, Silent())
        assert np.array_equal(again, upper[part])
    symbols, share = sets.symbols, float(LEVELS[1] / LEVELS[0])
    first = np.array(law(size, blocks, LEVELS[0]), dtype=float)
    step = share * np.eye(symbols) + (1 - share) / symbols
    expected = np.einsum("yx,zy->xyz", first, step) / size * records
    place = (codes.astype(int) * symbols + upper) * symbols + lower
    seen = np.bincount(place, minlength=expected.size).reshape(expected.shape)
    statistic = ((seen - expected) ** 2 / expected).sum()
    assert scipy.stats.chi2.sf(statistic, expected.size - 1) > 1e-4


def _top_words(codes, ids, sets):
    """The words behind the top rung, block by block, as AES gives them."""
    plain = np.zeros((len(codes), 16), dtype=np.uint8)
    plain.view("<u8")[:, 0] = ids
    plain.view("<u4")[:, 2] = codes
    drawn = np.empty(plain.size + 15, dtype=np.uint8)
    KEYS[0].cipher().encrypt(plain.reshape(-1), drawn)
    return drawn[: plain.size].view("<u4")[0::4]
