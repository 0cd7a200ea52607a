"""What is released in place of a number, on average: by the law, and by releases."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Attribute, EncodedColumn

ROWS = 60_000
PAY = np.repeat([0.0, 30.0, 55.0, 140.0], ROWS // 4)
STATED = {"noise": "separate", "measured": "stated", "covariance": [[400.0]]}
CASES = {
    "gaussian": ("gaussian", 0.5, STATED),
    "gaussian, rounded": ("gaussian", 0.5, {**STATED, "rounding": {"pay": 10.0}}),
    "gaussian, cut off below": ("gaussian", 0.5, {**STATED, "lowest": {"pay": 0.0}}),
    "gaussian, cut off": (
        "gaussian", 2.0, {**STATED, "lowest": {"pay": 0.0}, "highest": {"pay": 100.0}},
    ),
    "laplace": (
        "laplace", 2.0, {"bounds": "stated", "lowest": 10.0, "highest": 100.0, "step": 2.0},
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_released_numbers_have_the_moments_that_are_said(case):
    name, level, stated = CASES[case]
    mechanism = mechanism_called(name)
    attribute = Attribute("pay", Kind.NUMERIC, numbers=PAY)
    means, variances = mechanism.shown_moments(PAY[np.newaxis], level, (attribute,), stated)
    column = EncodedColumn(attribute, PAY)
    ids = np.arange(ROWS, dtype=np.uint64)
    request = ReleaseRequest((column,), stated, level, ids, KeyRing(b"7" * 32))
    shown = mechanism.release(request, Silent())["pay"].to_numpy(dtype=np.float64)
    for value in np.unique(PAY):
        rows = shown[value == PAY]
        mean, variance = (moments[0][value == PAY][0] for moments in (means, variances))
        assert abs(rows.mean() - mean) < 5 * np.sqrt(variance / len(rows)) + 1e-9
        squares = (rows - rows.mean()) ** 2
        assert abs(rows.var() - variance) < 5 * squares.std() / np.sqrt(len(rows)) + 1e-9
