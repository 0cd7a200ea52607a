"""What open columns tell of a sensitive one: known answers, closed forms, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
import scipy
from scipy import stats

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.disclosure.boosted_trees import TRIED
from sfumato.engine.disclosure.open_columns import (
    _MANY_TERMS,
    ValueEstimate,
    _least_squares,
    estimate_numbers,
    estimate_values,
    guessed_with,
)
from sfumato.engine.disclosure.open_features import UnperturbedColumn
from sfumato.engine.matrices.matrix import DenseMatrix
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, uniform_matrix
from sfumato.engine.randomness.keys import sample_rows
from tests.late import LateModule

sklearn = LateModule("sklearn")

ROWS = 3_000
WITHIN_90 = stats.norm.ppf(0.95)


@pytest.fixture(scope="module")
def rng():
    return np.random.default_rng(41)


@pytest.fixture(scope="module")
def shown(rng):
    """Columns that every recipient sees: numbers, categories, groups of four rows."""
    return {
        "x": rng.normal(size=ROWS),
        "y": rng.lognormal(8.0, 0.7, ROWS),
        "z": rng.lognormal(7.0, 0.7, ROWS),
        "kind": rng.integers(0, 5, ROWS),
        "home": rng.integers(0, ROWS // 4, ROWS),
    }


def columns(shown, *names):
    found = []
    for name in names or shown:
        if name in ("kind", "home"):
            found.append(UnperturbedColumn(name, None, shown[name]))
        else:
            found.append(UnperturbedColumn(name, shown[name].astype(float)))
    return found


def numbers(values, *open_columns):
    everything = np.arange(len(values))
    return estimate_numbers("told", values, open_columns, everything, Silent())


def values(codes, size, *open_columns):
    everything = np.arange(len(codes))
    return estimate_values("told", codes, size, open_columns, everything, Silent())


def right_within(off, width):
    """The largest share of numbers that some interval of twice the width holds."""
    ordered = np.sort(off)
    ends = np.searchsorted(ordered, ordered + 2.0 * width * (1 + 1e-12), side="right")
    return (ends - np.arange(len(off))).max() / len(off)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_sum_of_open_columns_is_told_exactly(shown):
    found = numbers(shown["y"] - 2.0 * shown["z"], *columns(shown))
    assert found.linear < 1e-9 * found.without
    assert found.explained[0] == pytest.approx(1.0)
    assert {name for name, _ in found.telling} == {"y", "z"}


@pytest.mark.slow
def test_a_household_number_tells_nothing_of_households_that_were_never_seen(shown, rng):
    home = shown["home"]
    everything = np.arange(ROWS)
    of_home = rng.integers(0, 4, ROWS)[home]
    rent_of_home = rng.normal(size=ROWS)[home]
    told_by_rows = values(of_home, 4, *columns(shown, "home"))
    told_by_units = estimate_values(
        "told", of_home, 4, columns(shown, "home"), everything, Silent(), home
    )
    assert told_by_rows.guessed > 0.9
    assert told_by_units.guessed < told_by_units.without + 0.03
    numbers_by_rows = numbers(rent_of_home, *columns(shown, "home"))
    numbers_by_units = estimate_numbers(
        "told", rent_of_home, columns(shown, "home"), everything, Silent(), home
    )
    assert numbers_by_rows.best < 0.5 * numbers_by_rows.without
    assert numbers_by_units.best > 0.9 * numbers_by_units.without


def test_a_product_of_open_columns_is_told_exactly_though_no_line_tells_it(shown):
    found = numbers(shown["y"] * shown["z"], *columns(shown))
    assert found.other < 1e-9 * found.without < found.linear


def test_a_linear_law_leaves_the_width_of_its_noise(shown, rng):
    found = numbers(3.0 * shown["x"] + rng.normal(0.0, 1.0, ROWS), *columns(shown))
    assert found.linear == pytest.approx(WITHIN_90, rel=0.06)
    assert found.best == pytest.approx(WITHIN_90, rel=0.06)
    assert found.without == pytest.approx(WITHIN_90 * np.sqrt(10.0), rel=0.06)
    assert found.explained[0] == pytest.approx(0.9, abs=0.02)
    assert [name for name, _ in found.telling] == ["x"]


def test_columns_that_tell_nothing_are_not_said_to_tell(shown, rng):
    found = numbers(rng.normal(size=ROWS), *columns(shown))
    assert found.best == pytest.approx(found.without, rel=0.03)
    assert found.explained == pytest.approx((0.0, 0.0), abs=0.02)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_width_holds_90_in_100_of_what_the_estimate_leaves(shown, rng):
    found = numbers(np.sin(2.0 * shown["x"]) + rng.normal(0.0, 0.2, ROWS), *columns(shown))
    assert right_within(found.left, found.best) >= 0.9
    assert right_within(found.left, 0.999 * found.best) < 0.9
    assert right_within(found.numbers, found.without) >= 0.9


@pytest.mark.slow
def test_a_curve_is_told_as_well_as_a_forest_tells_it(shown, rng):
    target = 5.0 * np.sin(2.0 * shown["x"]) + shown["kind"] % 3 + rng.normal(0.0, 0.5, ROWS)
    found = numbers(target, *columns(shown, "x", "kind", "y"))
    table = np.column_stack([shown["x"], shown["kind"], shown["y"]])
    forest = sklearn.ensemble.RandomForestRegressor(
        40, min_samples_leaf=5, random_state=0, n_jobs=1
    )
    theirs = sklearn.model_selection.cross_val_predict(forest, table, target, cv=3)
    for share in (0.85, 0.9, 0.95):
        ours = np.quantile(np.abs(found.left), share)
        assert ours < 1.1 * np.quantile(np.abs(target - theirs), share)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_linear_estimate_is_that_of_least_squares(shown, rng):
    target = 2.0 * shown["x"] + 0.001 * shown["y"] + rng.normal(size=ROWS)
    found = numbers(target, *columns(shown, "x", "y"))
    table = np.column_stack([shown["x"], shown["y"]])
    off = target - sklearn.model_selection.cross_val_predict(
        sklearn.linear_model.LinearRegression(), table, target, cv=3
    )
    assert found.explained[0] == pytest.approx(1.0 - off.var() / target.var(), abs=0.005)
    assert right_within(off, found.linear) == pytest.approx(0.9, abs=0.01)


def test_what_is_constant_within_groups_is_told_by_the_others_in_the_group(shown, rng):
    constant = rng.normal(size=ROWS // 4)[shown["home"]]
    found = numbers(constant, *columns(shown))
    assert found.best < 0.3 * found.without
    assert found.telling[0][0] == "home"


def test_missing_numbers_are_left_out_and_missing_features_tell_too(shown, rng):
    x = shown["x"].copy()
    hidden = rng.random(ROWS) < 0.3
    x[hidden] = np.nan
    target = np.where(hidden, 10.0, 0.0) + rng.normal(0.0, 1.0, ROWS)
    target[:50] = np.nan
    found = numbers(target, UnperturbedColumn("x", x))
    assert len(found.sample) == ROWS - 50
    assert found.linear == pytest.approx(WITHIN_90, rel=0.08)


def test_too_few_records_are_not_estimated(shown):
    assert numbers(shown["x"][:20], UnperturbedColumn("x", shown["x"][:20])) is None
    assert numbers(shown["x"]) is None
    assert values(shown["kind"][:20], 5, UnperturbedColumn("x", shown["x"][:20])) is None


@pytest.fixture(scope="module")
def banded(shown, rng):
    """Codes of four bands of x with noise, whose best guess is known."""
    return np.digitize(shown["x"] + rng.normal(0.0, 0.3, ROWS), [-1.0, 0.0, 1.0])


@pytest.mark.slow
@pytest.mark.turns(1)
def test_guesses_come_near_the_best_there_is(shown, banded):
    found = values(banded, 4, *columns(shown))
    edges = np.array([-np.inf, -1.0, 0.0, 1.0, np.inf])
    chances = np.diff(stats.norm.cdf((edges - shown["x"][:, np.newaxis]) / 0.3), axis=1)
    best = chances.max(axis=1).mean()
    error = 2.0 * np.sqrt(found.best * (1.0 - found.best) / len(found.sample))
    assert best - 0.03 < found.guessed < best + error
    assert found.without == pytest.approx(np.bincount(banded).max() / ROWS)
    assert [name for name, _ in found.telling] == ["x"]
    forest = sklearn.ensemble.RandomForestClassifier(
        40, min_samples_leaf=5, random_state=0, n_jobs=1
    )
    theirs = sklearn.model_selection.cross_val_predict(
        forest, shown["x"][:, np.newaxis], banded, cv=3
    )
    assert found.guessed > (theirs == banded).mean() - 0.01


@pytest.mark.slow
@pytest.mark.turns(1)
def test_chances_are_true_on_average(shown, banded):
    found = values(banded, 4, *columns(shown))
    assert found.chances.sum(axis=1) == pytest.approx(1.0)
    believed = found.chances.max(axis=1).mean()
    assert believed == pytest.approx(found.guessed, abs=0.03)


@pytest.mark.slow
def test_a_value_that_another_column_names_is_guessed_whatever_its_number(shown, rng):
    district = rng.integers(0, 150, ROWS)
    found = values(district, 150, UnperturbedColumn("code", None, (district * 7) % 150))
    assert found.guessed > 0.95


def test_values_that_nothing_tells_are_guessed_by_the_most_common(shown, rng):
    codes = rng.choice(3, ROWS, p=[0.6, 0.3, 0.1])
    found = values(codes, 3, *columns(shown))
    assert found.guessed == pytest.approx(found.without, abs=0.02)


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize(
    "matrix",
    [
        uniform_matrix(0.4, 4),
        DenseMatrix(np.array([[7, 1, 1, 1], [1, 6, 2, 0], [1, 2, 5, 2], [1, 1, 2, 7]]) / 10.0),
    ],
)
def test_a_release_is_weighed_by_bayes_rule_record_by_record(shown, banded, matrix):
    found = values(banded, 4, *columns(shown))
    right = 0.0
    entries = matrix.dense()
    for belief, true in zip(found.chances[:, :4], banded, strict=True):
        for released in range(4):
            posterior = belief * entries[released] / (belief @ entries[released])
            right += entries[released, true] * (int(posterior.argmax()) == true)
    assert guessed_with(found, matrix) == pytest.approx(right / ROWS)
    assert guessed_with(found, uniform_matrix(1.0, 4)) == pytest.approx(1.0)


@pytest.mark.parametrize("kept", [(0.4, 0.4, 0.4, 0.4), (0.7, 0.0, 0.2, 1.0)])
def test_of_values_as_likely_the_first_is_guessed_whatever_kind_of_matrix_it_is(rng, kept):
    chances = rng.integers(0, 3, (ROWS, 5)) / 4.0
    codes, rows = rng.integers(0, 4, ROWS), np.arange(ROWS)
    tied = ValueEstimate("kind", 0.0, 0.0, (), rows, chances, np.arange(4), codes)
    matrix = RetentionMatrix(np.array(kept))
    assert guessed_with(tied, matrix) == guessed_with(tied, DenseMatrix(matrix.dense()))


def test_large_domains_are_weighed_on_drawn_releases(rng):
    codes = rng.integers(0, 400, ROWS)
    found = values(codes, 400, UnperturbedColumn("code", None, codes // 4))
    told = guessed_with(found, uniform_matrix(0.5, 400))
    assert found.best < told <= 1.0


@pytest.mark.parametrize("size", [12_001, 17_000, 30_000, 1_000_000])
def test_samples_are_spread_over_the_table_without_repeating(size):
    rows = sample_rows(size, 12_000)
    assert len(rows) == 12_000
    assert (np.diff(rows) > 0).all()
    assert 0 <= rows[0] < size / 10_000
    assert size * 0.9999 - 1 <= rows[-1] < size
    assert sample_rows(50, 100).tolist() == list(range(50))


def test_the_work_stops_when_asked(shown):
    with pytest.raises(Cancelled):
        estimate_numbers(
            "told",
            shown["x"],
            columns(shown, "y"),
            np.arange(ROWS),
            Callback(lambda *_: None, lambda: True),
        )


@pytest.mark.slow
def test_of_many_columns_those_that_tell_are_named(rng):
    rows = 2_000
    noise = [UnperturbedColumn(f"n{i}", None, rng.integers(0, 60, rows)) for i in range(30)]
    town, x, kind = rng.integers(0, 60, rows), rng.normal(size=rows), rng.integers(0, 3, rows)
    told = [
        UnperturbedColumn("town", None, town),
        UnperturbedColumn("x", x),
        UnperturbedColumn("kind", None, kind),
    ]
    shown = [*noise[:20], *told, *noise[20:]]
    assert len(shown) * 4 > TRIED
    of_town = rng.integers(0, 4, 60)[town]
    codes = np.where(kind == 0, of_town, np.digitize(x, [-0.7, 0.0, 0.7]))
    found = values(codes, 4, *shown)
    assert {name for name, _ in found.telling} == {"town", "x", "kind"}
    alone = values(codes, 4, *told)
    assert found.guessed > alone.guessed - 0.1
    assert alone.guessed > 0.75


@pytest.mark.parametrize("nearly", [0.0, 1e-7, 1e-3])
def test_estimates_of_many_terms_are_those_of_least_squares(nearly):
    # Some terms follow from others, exactly or nearly; what depends on the difference is found.
    rng = np.random.default_rng(2)
    terms = rng.normal(size=(3_000, _MANY_TERMS + 20))
    terms[:, 0] = 1.0
    terms[:, 7] = terms[:, 3] + terms[:, 5] + nearly * terms[:, 6]
    outcome = 4.0 + terms @ rng.normal(size=terms.shape[1]) + rng.normal(size=3_000)
    expected = terms @ scipy.linalg.lstsq(terms, outcome, cond=1e-10)[0]
    np.testing.assert_allclose(terms @ _least_squares(terms, outcome), expected, atol=1e-8)


def test_parts_that_hold_much_take_turns_with_the_same_result(monkeypatch):
    rng = np.random.default_rng(3)
    column = UnperturbedColumn("open", rng.normal(size=900))
    numbers = column.numbers + rng.normal(size=900)
    asked = "sensitive", numbers, [column], np.arange(900), Silent()
    beside = estimate_numbers(*asked)
    monkeypatch.setattr("sfumato.engine.disclosure.open_columns._MOST_BESIDE", 0)
    in_turn = estimate_numbers(*asked)
    np.testing.assert_array_equal(in_turn.guesses, beside.guesses)
