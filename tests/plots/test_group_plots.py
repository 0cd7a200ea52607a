"""The plots about small groups and count queries."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sfumato.analysis.previews.count_answers import Answered, PoolErrors, PoolResult, QueryResult
from sfumato.analysis.tables.noisy_counts import NoisyAnswer, NoisyQuestion
from sfumato.engine.disclosure.count_queries import CountAnswer, RatioTails
from sfumato.engine.disclosure.group_privacy import PrivacyTest
from sfumato.engine.disclosure.group_risk import (
    Change,
    CurvePoint,
    Parameter,
    QueryPoint,
    RiskChange,
    RiskLimits,
    RiskSetting,
    Violations,
)
from sfumato.engine.disclosure.grouped_values import GroupView
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.plots.estimates import build_query_errors, build_query_estimates
from sfumato.plots.figure import register_fonts
from sfumato.plots.groups import (
    build_group_reconstruction,
    build_group_sizes,
    build_query_error_curves,
    build_ratio_tails,
    build_remedy_bars,
    build_risk_curves,
)
from sfumato.plots.style import dark_style, light_style
from sfumato.resources import resource_path

FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}


def found(**parts: object) -> SimpleNamespace:
    """Return what an analysis finds, as far as a plot reads it."""
    domain = SimpleNamespace(names=("flu", "asthma", "cancer $1 and $2", "none"))
    attribute = SimpleNamespace(name="disease", domain=domain)
    groups = SimpleNamespace(
        sizes=np.array([1, 1, 5, 120]), shares=np.array([1.0, 1.0, 0.4, 0.7]), values=4
    )
    known = SimpleNamespace(attribute=attribute, grouped=groups)
    shown = SimpleNamespace(recipient="Clinic A", matrix=uniform_matrix(0.5, 4))
    return SimpleNamespace(**{"known": known, "shown": shown, **parts})


def sizes(violating: bool = True) -> SimpleNamespace:
    flags = np.array([False, False, False, violating])
    limits = RiskLimits(rule=PrivacyTest.SIMPLIFIED)
    return found(risk=SimpleNamespace(violating=flags, limits=limits, allowed=np.ones(4)))


def curves(share: float = 0.4) -> list[CurvePoint]:
    start = RiskSetting(0.5, RiskLimits(), 10_000)
    return [
        CurvePoint(
            parameter,
            value,
            start,
            {start.limits.rule: Violations(place, round(100 * share * place / 4), 40, 100)},
        )
        for parameter, values in (
            (Parameter.RETENTION, (0.1, 0.3, 0.5, 0.7, 0.9)),
            (Parameter.EPSILON, (0.1, 0.3, 0.5, 0.7, 0.9)),
            (Parameter.DELTA, (0.14, 0.22, 0.3, 0.38, 0.46)),
            (Parameter.RECORDS, (2_000.0, 4_000.0, 6_000.0, 8_000.0, 10_000.0)),
        )
        for place, value in enumerate(values)
    ]


WITHOUT_AGE = RiskChange(Change("age"), Violations(4, 60, 20, 100))


def remedies(now: int = 40, *listed: RiskChange) -> SimpleNamespace:
    total = Violations(now, now, 100, 100)
    return found(risk=SimpleNamespace(total=total), remedies=listed)


def both_remedies() -> SimpleNamespace:
    return remedies(40, WITHOUT_AGE, RiskChange(Change("age", bins=5), Violations(9, 20, 80, 100)))


def group(estimated: bool = True) -> SimpleNamespace:
    true = np.array([0.7, 0.2, 0.1, 0.0])
    view = GroupView(
        40,
        np.array([2, 0, 1, 3]),
        true,
        true + np.array([0.05, -0.1, 0.0, 0.05]) if estimated else None,
        np.full(4, 0.1),
    )
    tails = SimpleNamespace(within=np.array([0.9]))
    answer = found(
        view=lambda _group: view, risk=SimpleNamespace(tails=tails, limits=RiskLimits(0.3, 0.3))
    )
    answer.known.grouped.sizes = np.array([view.size])
    return answer


def queries() -> QueryResult:
    answers = (
        Answered("Clinic A", 0.6, CountAnswer(117.2, 90.0, 140.0, 116, 1_204)),
        Answered("Public", 0.1, CountAnswer(-4.0, 0.0, 260.0, 97, 1_204)),
        Answered("Institute", 0.3, CountAnswer(130.0, 80.0, 190.0, 119, 1_204)),
    )
    return QueryResult(112, 1_204, answers)


def errors() -> PoolResult:
    rows = tuple(
        PoolErrors(name, trust, 0.05 / trust, (0.02, 0.04, 0.1))
        for name, trust in (("Clinic A", 0.6), ("Institute", 0.3), ("Public", 0.1))
    )
    return PoolResult(5_000, rows)


def ratios() -> NoisyAnswer:
    known = found().known
    known.grouped.sizes, known.grouped.shares = (
        np.array([102, 89, 74]),
        np.array([0.72, 0.87, 0.77]),
    )
    tails = RatioTails(np.array([0.12, 0.1, 0.2]), np.array([0.1, 0.09, 0.19]))
    question = NoisyQuestion(0.1, 0.3, 0.3, 70, 3)
    return NoisyAnswer(known, question, np.arange(3), tails, np.full(3, 0.025))


def error_curves(exact: float | None = 0.4) -> tuple[str, RiskSetting, list[QueryPoint]]:
    settings = [
        QueryPoint(point.parameter, point.value, 0.05 + place / 100, 0.1, exact)
        for place, point in enumerate(curves())
    ]
    return "disease", RiskSetting(0.5, RiskLimits(), 10_000), settings


PLOTS = {
    "error curves": lambda style: build_query_error_curves(*error_curves(), style),
    "sizes": lambda style: build_group_sizes(sizes(), style),
    "curves": lambda style: build_risk_curves("disease", "exact test", curves(), style),
    "remedies": lambda style: build_remedy_bars(both_remedies(), style),
    "group": lambda style: build_group_reconstruction(group(), 0, style),
    "query": lambda style: build_query_estimates(queries(), style),
    "errors": lambda style: build_query_errors("disease", errors(), style),
    "ratios": lambda style: build_ratio_tails(ratios(), style),
}


@pytest.mark.few(2)
@pytest.mark.parametrize("look", STYLES)
@pytest.mark.parametrize("name", PLOTS)
def test_every_plot_is_a_sentence_with_data_and_answers_the_pointer(name, look):
    figure = PLOTS[name](STYLES[look])
    FigureCanvasAgg(figure).draw()
    assert len(figure.headline.split()) >= 4
    assert "{" not in figure.headline + figure.subtitle
    assert len(figure.to_csv().splitlines()) == len(figure.data) + 1 > 2
    assert figure.hover
    for region in figure.hover:
        left, bottom, right, top = region.box()
        assert figure.region_at((left + right) / 2, (bottom + top) / 2).text


def headline(build, *data):
    return build(*data, STYLES["light"]).headline.replace("\u202f", " ")


def test_sizes_say_how_many_groups_are_given_away():
    assert headline(build_group_sizes, sizes()) == (
        "In 25 % of the groups, the smallest with 120 records, the shares of disease can be"
        " estimated closely"
    )
    assert headline(build_group_sizes, sizes(violating=False)).endswith("in no group")


def test_curves_say_what_a_larger_table_does():
    assert headline(build_risk_curves, "disease", "exact test", curves()) == (
        "In a larger table more groups' shares of disease can be estimated closely: 0 % of the"
        " records at 2,000, 40 % at 10,000"
    )
    nowhere = headline(build_risk_curves, "disease", "exact test", curves(0.0))
    assert nowhere.startswith("Nowhere near this setting")


def test_remedies_say_what_helps_most():
    assert headline(build_remedy_bars, both_remedies()) == (
        "With age in 5 bins: 20 % instead of 40 % of the records would be in groups that can be"
        " estimated closely"
    )
    worse = headline(build_remedy_bars, remedies(40, WITHOUT_AGE))
    assert "protects no record" in worse
    assert headline(build_remedy_bars, remedies(0, WITHOUT_AGE)).endswith("without age, 60 %")
    assert "no public column" in headline(build_remedy_bars, remedies())


def test_a_group_says_how_sure_the_recipient_is():
    assert headline(build_group_reconstruction, group(), 0) == (
        "Clinic A estimates this group of 40 within 30 % of the truth with a confidence of 90 %"
    )
    figure = build_group_reconstruction(group(estimated=False), 0, STYLES["light"])
    assert figure.data["reconstructed"].isna().all()
    assert figure.data["value"].tolist() == ["cancer $1 and $2", "flu", "asthma", "none"]


def test_queries_compare_with_the_truth():
    assert headline(build_query_estimates, queries()) == (
        "Clinic A counts 90 to 140 (95 %) where the truth is 112"
    )
    nobody = QueryResult(112, 1_204, ())
    assert headline(build_query_estimates, nobody).endswith("nobody can estimate it")


def test_errors_compare_the_best_with_the_worst():
    assert headline(build_query_errors, "disease", errors()) == (
        "When counting disease, Clinic A is off by 8.3 % on average, Public by 50 %"
    )
    one = PoolResult(5_000, errors().recipients[:1])
    assert headline(build_query_errors, "disease", one).startswith("Clinic A is off by 8.3 %")
    nobody = headline(build_query_errors, "disease", PoolResult(5_000, ()))
    assert nobody.startswith("Nobody")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_error_curves_say_what_protection_costs():
    assert headline(build_query_error_curves, *error_curves()) == (
        "Counts of disease are off by 24 % on average; with groups protected as published, by"
        " 10 %, by the exact test, 40 %"
    )
    gap = error_curves(None)
    assert headline(build_query_error_curves, *gap).endswith("as published, by 10 %")
    assert "exact –" in build_query_error_curves(*gap, STYLES["light"]).hover[0].text


def test_ratios_name_the_group_that_is_known_best():
    assert headline(build_ratio_tails, ratios()) == (
        "Two noisy answers estimate the disease of 89 people within 30 % with a confidence of 81 %"
    )
