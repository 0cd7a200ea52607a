"""The ladder's law is multi-pert's law, whatever the order in which recipients arrive."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations

import pytest

from tests.engine.ladders.multi_pert import chain_law, coin, joint_law, new_value

LEVELS = (Fraction(9, 10), Fraction(1, 2), Fraction(3, 10), Fraction(1, 20))


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("arrivals", list(permutations(LEVELS)))
def test_every_order_of_arrival_gives_the_law_of_the_chain(arrivals, size):
    assert joint_law(arrivals, 0, size) == chain_law(LEVELS, 0, size)


def test_example_1_bob_gets_the_true_value_with_probability_28_percent():
    law = joint_law([Fraction(2, 5), Fraction(1, 5)], 0, 10)
    assert sum(chance for (_, bob), chance in law.items() if bob == 0) == Fraction(28, 100)


def test_example_2_tosses_the_coin_of_the_paper():
    head, tail = coin(Fraction(4, 5), Fraction(1), Fraction(2, 5), same=True, size=10)
    assert head == Fraction(4, 5)
    assert round(float(tail), 3) == 0.178
    shown = new_value(Fraction(4, 5), {Fraction(2, 5): 0}, 0, 10)
    assert sum(shown) == 1
    assert round(float(head + tail), 3) == 0.978


@pytest.mark.parametrize("level", range(len(LEVELS)))
def test_each_release_alone_is_plain_uniform_perturbation(level):
    law = chain_law(LEVELS, 1, 3)
    for value in range(3):
        chance = sum(share for values, share in law.items() if values[level] == value)
        assert chance == (1 - LEVELS[level]) / 3 + (LEVELS[level] if value == 1 else 0)


@pytest.mark.parametrize("members", [c for k in (2, 3, 4) for c in combinations(range(4), k)])
def test_a_coalition_knows_what_its_best_member_knows(members):
    prior = [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    laws = [chain_law(LEVELS, original, 3) for original in range(3)]

    def belief(kept: tuple[int, ...], held: tuple[int, ...]) -> list[Fraction]:
        weights = [
            prior[original]
            * sum(
                chance
                for values, chance in laws[original].items()
                if tuple(values[i] for i in kept) == held
            )
            for original in range(3)
        ]
        return [weight / sum(weights) for weight in weights]

    for held in {tuple(values[i] for i in members) for values in laws[0]}:
        assert belief(members, held) == belief(members[:1], held[:1])
