"""The paper's utility experiment: its tendencies, and theory beside repetition."""

import numpy as np
import pytest

from sfumato.engine.core.errors import LevelError
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.per_value import utility_curve
from sfumato.engine.mechanisms.retention_solver import BreachMode


def zipf(size, records):
    shares = 1 / np.arange(1, size + 1)
    return np.round(records * shares / shares.sum()).astype(np.int64)


def test_fine_grain_keeps_more_records_and_both_grow_with_the_tolerance():
    points = utility_curve(zipf(12, 20_000), [2.0, 4.0, 8.0], BreachMode.PUBLISHED, 4, Silent())
    fine = [point.fine_grain.record for point in points]
    uniform = [point.uniform.record for point in points]
    assert all(f >= u - 1e-12 for f, u in zip(fine, uniform, strict=True))
    assert fine[-1] > uniform[-1]
    assert sorted(fine) == fine
    assert sorted(uniform) == uniform


@pytest.mark.slow
def test_errors_from_theory_agree_with_repetition():
    # The ratio of the observed to the expected error over 40 draws of 12 frequencies is within
    # 1 ± 0.25 but for a chance below 1e-4 (a chi-square with about 200 degrees of freedom).
    (point,) = utility_curve(zipf(12, 20_000), [6.0], BreachMode.STRICT, 40, Silent())
    for utility in (point.fine_grain, point.uniform):
        assert utility.error_observed / utility.error_expected == pytest.approx(1, abs=0.25)


def test_the_same_question_has_the_same_answer():
    first = utility_curve(zipf(5, 1000), [3.0], BreachMode.STRICT, 2, Silent())
    assert utility_curve(zipf(5, 1000), [3.0], BreachMode.STRICT, 2, Silent()) == first


def test_a_tolerance_of_one_is_refused():
    with pytest.raises(LevelError, match="θ"):
        utility_curve(zipf(5, 1000), [1.0], BreachMode.STRICT, 2, Silent())
