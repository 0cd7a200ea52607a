"""What is said of rounding and bounds."""

from __future__ import annotations

import pytest

from sfumato.analysis.coalitions.pooled_numbers import form_leak_sentences, form_leaks_plain
from sfumato.engine.mechanisms.postprocessing import FormLeak, FormLeaks, RoundingLeak

LINEAR = FormLeak("age", 0.2, 0.3, 0.27, 5000)
BAYES = RoundingLeak(0.19, 0.28, 0.2, 0.01, 2000)


def test_both_attackers_and_the_bound_are_told():
    linear, bayes, bound = form_leak_sentences(FormLeaks((LINEAR,), {"age": BAYES}))
    assert "5,000 records" in linear
    assert "30.0 % of the variance of age open, from all releases together 27.0 %" in linear
    assert linear.endswith("Pooling gains 3.00 %.")
    assert "28.0 %, from all together 20.0 %" in bayes
    assert "Pooling gains 8.00 ± 2.00 %." in bayes
    assert bound.startswith("Pooling never tells more than the most trusted release alone")


def test_what_can_t_be_told_from_chance_is_said_to_be_so():
    quiet = FormLeak("age", 0.2, 0.3, 0.2999, 5000)
    uncertain = RoundingLeak(0.19, 0.28, 0.27, 0.01, 2000)
    for sentence in form_leak_sentences(FormLeaks((quiet,), {"age": uncertain}))[:2]:
        assert "What pooling gains can't be told from chance." in sentence


def test_the_attribute_that_loses_most_is_told():
    other = RoundingLeak(0.19, 0.28, 0.27, 0.001, 2000)
    told = form_leak_sentences(FormLeaks((LINEAR,), {"other": other, "age": BAYES}))[1]
    assert "how age is distributed" in told


def test_too_few_records_for_straight_lines_can_be_enough_for_bayes():
    few, bayes, _bound = form_leak_sentences(FormLeaks((), {"age": BAYES}))
    assert "too few records" in few
    assert "Bayes" in bayes


def test_figures_are_told_as_plain_values():
    found = form_leaks_plain(FormLeaks((LINEAR,), {"age": BAYES}))
    assert found["linear"][0]["together"] == pytest.approx(0.27)
    assert found["bayes"][0] == {
        "attribute": "age",
        "records": 2000,
        "without rounding": 0.19,
        "alone": 0.28,
        "together": 0.2,
        "gain ±": 0.01,
    }
