"""What holds of every mechanism for categories: its law, its checks, its levels, its estimates."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Origin, Released, ReleaseRequest
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import EncodedColumn
from tests.engine.categories import KEYS, column_of
from tests.engine.mechanisms.hadamard.test_ladder import law as law_of_symbols
from tests.engine.mechanisms.joint import test_mechanism as joint
from tests.noise import NOISE

COLUMN = column_of([9_000, 3_000, 6_000, 2_000])
EVEN = np.full((4, 4), 1 / 4)
ENTRIES = np.array(
    [
        [0.7, 0.1, 0.0, 0.2],
        [0.1, 0.8, 0.3, 0.0],
        [0.1, 0.1, 0.6, 0.1],
        [0.1, 0.0, 0.1, 0.7],
    ]
)
CHAPTERS = np.array(["infection", "infection", "infection", "tumour"])
STRICT = {
    "mode": "strict",
    "objective": "values",
    "frequencies": "equal",
    "limits": [
        {"value": "SARS", "rho1": 1 / 10, "rho2": 1 / 7},
        {"value": "HIV", "rho1": 1 / 10, "rho2": 1 / 4},
        {"value": "H1N1", "rho1": 1 / 9, "rho2": 19 / 35},
    ],
}


def evenly(share, size):
    """Keeps what was shown with a probability, and else shows any value."""
    return share * np.eye(size) + (1 - share) / size


def in_chapters(value, chapter):
    """Keeps the place in a chapter, and the chapter, with a probability each."""
    same = CHAPTERS[:, None] == CHAPTERS
    inside = value * np.eye(4) + (1 - value) * same / same.sum(axis=0)
    return chapter * inside + (1 - chapter) * EVEN


def by_profile(profile):
    kept = np.array(profile) / max(profile)
    return lambda level: np.diag(level * kept) + (1 - level * kept) / len(kept)


@dataclass(frozen=True)
class Case:
    """A mechanism with settings.

    Parameters
    ----------
    name, settings
        The mechanism's name, and its settings.
    defined
        Pr[released | original] at a level, by the definition.
    other
        Settings of another ladder.
    step
        What makes a release of another, by the ratio of their levels.
    columns
        What is released.
    """

    name: str
    settings: dict[str, Any]
    defined: Callable[[float], np.ndarray]
    other: dict[str, Any]
    step: Callable[[float], np.ndarray] | None = None
    columns: tuple[EncodedColumn, ...] = (COLUMN,)

    @property
    def mechanism(self):
        return mechanism_called(self.name)

    @property
    def attributes(self):
        return tuple(column.attribute for column in self.columns)

    def request(self, level, settings=None):
        chosen = self.settings if settings is None else settings
        ids = record_ids_by_position(len(self.columns[0].values))
        return ReleaseRequest(self.columns, chosen, level, ids, KEYS)

    def released(self, level):
        return Released(level, self.mechanism.release(self.request(level), Silent()))

    def codes(self, released):
        return self.mechanism.shown_codes(self.attributes, released.columns, self.settings)

    def between(self, upper, lower):
        """By the definition, what makes a release at the lower level of one at the upper."""
        ratio = lower / upper
        return self.step(ratio) if self.step else evenly(ratio, len(self.defined(upper)))


DRAWN = {"frequencies": "stated", "shares": [6, 2, 1, 10], "even_share": 0.1}
SHARES = np.array(mechanism_called("distribution").cells((COLUMN.attribute,), DRAWN)) / 65_536
PROFILE = mechanism_called("finegrain").complete_settings((COLUMN.attribute,), STRICT, NOISE)
LIMITED = joint.limited()
CASES = {
    "uniform": Case("uniform", {}, lambda p: evenly(p, 4), {}),
    "distribution": Case(
        "distribution",
        DRAWN,
        lambda p: p * np.eye(4) + (1 - p) * SHARES[:, None],
        {**DRAWN, "shares": [1, 1, 10, 1]},
        lambda p: p * np.eye(4) + (1 - p) * SHARES[:, None],
    ),
    "chapters": Case(
        "hierarchical",
        {"chapters": CHAPTERS.tolist(), "inside_share": 0.5},
        lambda p: in_chapters(p**0.5, p**0.5),
        {"chapters": CHAPTERS[::-1].tolist(), "inside_share": 0.9},
        lambda p: in_chapters(p**0.5, p**0.5),
    ),
    "any matrix": Case(
        "matrix",
        {"entries": ENTRIES.tolist()},
        lambda p: p * ENTRIES + (1 - p) * EVEN,
        {"entries": np.roll(ENTRIES, 1, axis=0).tolist()},
    ),
    "limits": Case(
        "finegrain",
        PROFILE,
        by_profile(PROFILE["profile"]),
        {**PROFILE, "profile": PROFILE["profile"][::-1]},
    ),
    "combinations": Case("joint", {}, lambda p: evenly(p, 6), LIMITED, columns=joint.COLUMNS),
    "limits of combinations": Case(
        "joint", LIMITED, by_profile(LIMITED["profile"]), {}, columns=joint.COLUMNS
    ),
    "symbols": Case(
        "hadamard",
        {"blocks": 2},
        lambda p: np.array(law_of_symbols(4, 2, p)),
        {"blocks": 1},
    ),
}
every = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every
def test_matrices_are_those_of_the_definition_and_of_one_ladder(case):
    """What the lower release shows is the upper one's, garbled: a coalition knows no more."""
    mechanism = case.mechanism
    for level in (0.0, 0.05, 0.4, 0.9):
        matrix = mechanism.matrix(level, case.attributes, case.settings)
        assert matrix.dense() == pytest.approx(case.defined(level), abs=1e-12)
    upper, lower = (mechanism.matrix(p, case.attributes, case.settings) for p in (0.7, 0.2))
    step = case.between(0.7, 0.2)
    assert step @ upper.dense() == pytest.approx(lower.dense())
    assert upper.garbling_to(lower).dense() @ upper.dense() == pytest.approx(lower.dense())
    assert lower.test_garbling_of(upper).holds
    assert not upper.test_garbling_of(lower).holds


@every
def test_released_records_follow_the_law_of_the_chain(case):
    """Counted over true, upper and lower values: Pearson's statistic, false alarm 1e-6."""
    lower, upper = case.released(0.25), case.released(0.6)
    true = case.mechanism.true_codes(case.request(0.6))
    law = np.einsum("yx,zy->xyz", case.defined(0.6), case.between(0.6, 0.25))
    law *= np.bincount(true)[:, None, None]
    seen = np.zeros_like(law)
    np.add.at(seen, (true, case.codes(upper), case.codes(lower)), 1)
    few = law < 5  # pooled
    law, seen = np.append(law[~few], law[few].sum()), np.append(seen[~few], seen[few].sum())
    law, seen = law[law > 0], seen[law > 0]
    statistic, freedom = float(((seen - law) ** 2 / law).sum()), len(law)
    assert statistic < freedom + 4.9 * math.sqrt(2 * freedom) + 12


@pytest.mark.few(3)
@every
def test_sound_releases_and_pairs_pass_their_checks_and_others_do_not(case):
    mechanism = case.mechanism
    made = [case.released(level) for level in (1.0, 0.5, 0.1, 0.0)]
    for each in made:  # each check fails less than once in a million sound releases
        checks = mechanism.check_release(case.request(each.level), each)
        assert all(check.holds for check in checks), checks
    for pair in itertools.product(made, repeat=2):
        checks = mechanism.check_pair(*pair, case.attributes, case.settings)
        assert all(check.holds for check in checks), checks
    lower = Released(0.5, made[2].columns)
    assert not all(check.holds for check in mechanism.check_release(case.request(0.5), lower))
    moved = replace(case.request(0.1), record_ids=case.request(0.1).record_ids + 10**6)
    apart = Released(0.1, mechanism.release(moved, Silent()))
    checks = mechanism.check_pair(made[1], apart, case.attributes, case.settings)
    assert not all(check.holds for check in checks)
    if case.other != case.settings:
        checks = mechanism.check_release(case.request(0.5, case.other), made[1])
        assert not all(check.holds for check in checks)


@every
def test_a_record_shows_the_same_whenever_and_wherever_it_is_released(case):
    request = case.request(0.4)
    whole = case.codes(Released(0.4, case.mechanism.release(request, Silent())))
    order = np.random.default_rng(5).permutation(len(whole))
    moved = case.codes(Released(0.4, case.mechanism.release(request.at(order), Silent())))
    assert np.array_equal(moved, whole[order])
    alone = case.codes(Released(0.4, case.mechanism.release(request.at(slice(7, 8)), Silent())))
    assert alone.tolist() == [whole[7]]


@every
def test_a_recipient_estimates_the_true_shares_within_the_interval(case):
    matrix = case.mechanism.matrix(0.3, case.attributes, case.settings)
    counts = np.bincount(case.codes(case.released(0.3)), minlength=matrix.outcomes)
    found = estimate_frequencies(counts, matrix, 1 - 1e-6)
    true = np.bincount(case.mechanism.true_codes(case.request(0.3)), minlength=matrix.size)
    shares = true / true.sum()
    assert ((found.low <= shares) & (shares <= found.high)).all()


def noisy(name, columns, **settings):
    """Settings whose counts were drawn from the table, which the promise counts."""
    attributes = tuple(column.attribute for column in columns)
    asked = {**settings, "frequencies": "noisy", "frequencies_epsilon": 0.2}
    chosen = mechanism_called(name).complete_settings(attributes, asked, NOISE)
    (told,) = mechanism_called(name).byproducts(attributes, chosen)
    assert told.origin is Origin.NOISY
    return Case(name, chosen, evenly, {}, columns=columns)


WITH_NOISE = {
    "noisy distribution": noisy("distribution", (COLUMN,)),
    "noisy limits": noisy("joint", joint.COLUMNS, **joint.LIMITED),
}


@pytest.mark.parametrize(
    ("statement", "limit"),
    [({"gamma": 5.0}, 5.0), ({"epsilon": 1.5}, math.exp(1.5)), ({"rho1": 0.1, "rho2": 0.4}, 6.0)],
)
@pytest.mark.parametrize("name", [*CASES, *WITH_NOISE])
def test_stated_limits_are_met_by_the_largest_level(name, statement, limit):
    case = (CASES | WITH_NOISE)[name]
    asked = case.attributes, case.settings
    level = case.mechanism.level(statement, *asked)
    assert case.mechanism.odds_factor(level, *asked) <= limit * (1 + 1e-12)
    assert case.mechanism.odds_factor(level + 1e-6, *asked) > limit


@every
def test_what_states_no_level_is_refused(case):
    mechanism = case.mechanism
    own = mechanism.stated_level
    for statement, said in (
        ({"sigma": 1.0}, "can't be stated by sigma"),
        ({}, "can't be stated by nothing"),
        ({"gamma": 0.5}, "γ"),
        ({own: 1.5}, "not between 0 and 1"),
        ({own: -1}, "not between 0 and 1"),
        ({"rho1": 0.5, "rho2": 0.1}, "don't fit together"),
    ):
        with pytest.raises(LevelError, match=said):
            mechanism.level(statement, case.attributes, case.settings)
