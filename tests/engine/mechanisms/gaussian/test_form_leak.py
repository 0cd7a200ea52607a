"""What rounded and bounded numbers give away to a coalition, measured."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.gaussian.mechanism import MECHANISM
from sfumato.engine.mechanisms.postprocessing import (
    FEWEST_ROWS,
    form_leaks_of,
    measure_form_leak,
)
from sfumato.engine.table.table import Attribute
from tests.engine.numbers import stated_settings

LEVELS = (0.25, 0.5, 1.0, 2.0)


def attribute(rows=8000, name="age"):
    at = np.arange(rows)
    numbers = 20.0 + (at * 7919 % 9973) / 9973 * 60.0
    return Attribute(name, Kind.NUMERIC, numbers=numbers)


def measured(attributes, levels=LEVELS, **forms):
    plain = stated_settings(attributes)
    settings = {"formed": {**plain, **forms}, "plain": plain}
    return measure_form_leak(MECHANISM, attributes, settings, levels, Silent())


def test_without_rounding_pooling_gains_nothing_that_can_be_told_from_chance():
    (found,) = measured((attribute(),))
    assert found.alone == pytest.approx(found.plain, abs=1e-12)
    assert found.leak < 0.002
    assert found.plain < 0.2


def test_coarse_rounding_leaks_but_never_more_than_the_best_release_has():
    (found,) = measured((attribute(),), rounding={"age": 40.0})
    assert found.alone > found.plain + 0.05
    assert found.leak > 0.02
    assert found.together > found.plain


def test_every_attribute_is_measured():
    pair = (attribute(), attribute(name="other"))
    pair = (pair[0], Attribute("other", Kind.NUMERIC, numbers=pair[1].numbers[::-1].copy()))
    found = measured(pair, rounding={"other": 50.0})
    assert [each.attribute for each in found] == ["age", "other"]
    assert found[1].alone > found[1].plain


def test_too_few_records_are_not_measured():
    few = FEWEST_ROWS * len(LEVELS) - 1
    assert measured((attribute(rows=few),), rounding={"age": 1.0}) == ()


def test_records_with_something_missing_are_left_out():
    whole = attribute()
    holes = whole.numbers.copy()
    holes[::10] = np.nan
    (found,) = measured((Attribute("age", Kind.NUMERIC, numbers=holes),), rounding={"age": 1.0})
    assert found.rows == 7200


@pytest.mark.slow
def test_both_attackers_are_asked_where_anything_is_formed():
    pair = (attribute(rows=1000), attribute(rows=1000, name="other"))
    pair = (pair[0], Attribute("other", Kind.NUMERIC, numbers=pair[1].numbers[::-1].copy()))
    settings = stated_settings(pair, rounding={"other": 60.0})
    found = MECHANISM.form_leaks(LEVELS, pair, settings, Silent())
    assert [leak.attribute for leak in found.linear] == ["age", "other"]
    assert set(found.bayes) == {"other"}
    assert found.bayes["other"].leak > 0.02
    assert found.bayes["other"].together < found.linear[1].together  # no straight line is as good
    assert MECHANISM.forms(pair, settings)


def test_where_nothing_is_formed_nothing_is_measured():
    alone = (attribute(rows=200),)
    settings = stated_settings(alone)
    assert form_leaks_of(MECHANISM, LEVELS, alone, settings, Silent()) is None
    assert not MECHANISM.forms(alone, settings)
    uniform = mechanism_called("uniform")
    assert form_leaks_of(uniform, LEVELS, alone, {}, Silent()) is None
    assert not uniform.forms(alone, {})


@pytest.mark.slow
def test_measuring_can_be_cancelled():
    alone = (attribute(rows=1000),)
    settings = stated_settings(alone, rounding={"age": 5.0})
    told = []
    stopping = Callback(lambda share, _text: told.append(share), lambda: len(told) > 12)
    with pytest.raises(Cancelled):
        MECHANISM.form_leaks(LEVELS, alone, settings, stopping)
    assert told == sorted(told)
    assert told[-1] < 0.9
