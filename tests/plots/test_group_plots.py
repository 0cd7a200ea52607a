"""The plots about small groups and count queries."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from sfumato.engine.disclosure.grouped_values import GroupView
from sfumato.plots.figure import register_fonts
from sfumato.plots.group_curves import (
    ErrorCurveData,
    ErrorPoint,
    RiskCurveData,
    RiskPoint,
    build_query_error_curves,
    build_risk_curves,
)
from sfumato.plots.groups import (
    RatioData,
    RatioRow,
    ReconstructionData,
    RemedyData,
    RemedyRow,
    SizesData,
    build_group_reconstruction,
    build_group_sizes,
    build_ratio_tails,
    build_remedy_bars,
)
from sfumato.plots.queries import (
    ErrorRow,
    ErrorsData,
    EstimateRow,
    EstimatesData,
    build_query_errors,
    build_query_estimates,
)
from sfumato.plots.style import dark_style, light_style
from sfumato.resources import resource_path

FAMILY = register_fonts(resource_path("fonts"))
STYLES = {"light": light_style(FAMILY), "dark": dark_style(FAMILY)}


def sizes(violating: bool = True) -> SizesData:
    shares = np.linspace(0.1, 1.0, 20)
    return SizesData(
        "disease",
        "Clinic A",
        np.array([1, 1, 5, 120]),
        np.array([1.0, 1.0, 0.4, 0.7]),
        np.array([False, False, False, violating]),
        shares,
        60.0 / shares,
        0.3,
        0.3,
    )


def curves(share: float = 0.4) -> RiskCurveData:
    points = tuple(
        RiskPoint(parameter, value, share * place / 8, share * place / 4)
        for parameter, values in (
            ("p", (0.1, 0.3, 0.5, 0.7, 0.9)),
            ("ε", (0.1, 0.3, 0.5, 0.7, 0.9)),
            ("δ", (0.14, 0.22, 0.3, 0.38, 0.46)),
            ("records", (2_000.0, 4_000.0, 6_000.0, 8_000.0, 10_000.0)),
        )
        for place, value in enumerate(values)
    )
    return RiskCurveData("disease", 0.5, 0.3, 0.3, 10_000, "exact test", points)


def remedies(now: float = 0.4) -> RemedyData:
    return RemedyData(
        "disease",
        now,
        (RemedyRow("age", None, 20, 4, 0.6), RemedyRow("age", 5, 80, 9, now / 2)),
    )


def group(estimated: bool = True) -> ReconstructionData:
    true = np.array([0.7, 0.2, 0.1, 0.0])
    view = GroupView(
        40,
        np.array([2, 0, 1, 3]),
        true,
        true + np.array([0.05, -0.1, 0.0, 0.05]) if estimated else None,
        np.full(4, 0.1),
    )
    names = ("flu", "asthma", "cancer $1 and $2", "none")
    return ReconstructionData("disease", "Clinic A", names, view, 0.9, 0.3)


def queries() -> EstimatesData:
    rows = (
        EstimateRow("Clinic A", 0.6, 117.2, 90.0, 140.0),
        EstimateRow("Public", 0.1, -4.0, 0.0, 260.0),
        EstimateRow("Institute", 0.3, 130.0, 80.0, 190.0),
    )
    return EstimatesData(112, 1_204, 0.95, rows)


def errors() -> ErrorsData:
    rows = tuple(
        ErrorRow(name, trust, 0.05 / trust, (0.02, 0.04, 0.1))
        for name, trust in (("Clinic A", 0.6), ("Institute", 0.3), ("Public", 0.1))
    )
    return ErrorsData("disease", 5_000, rows)


def ratios() -> RatioData:
    rows = (
        RatioRow(102, 0.72, 0.025, 0.12, 0.1),
        RatioRow(89, 0.87, 0.025, 0.1, 0.09),
        RatioRow(74, 0.77, 0.025, 0.2, 0.19),
    )
    return RatioData("disease", 0.1, 0.3, 0.3, rows)


def error_curves(exact: float = 0.4) -> ErrorCurveData:
    points = tuple(
        ErrorPoint(point.parameter, point.value, 0.05 + place / 100, 0.1, exact)
        for place, point in enumerate(curves().points)
    )
    return ErrorCurveData("disease", 0.5, 0.3, 0.3, 10_000, points)


PLOTS = {
    "error curves": lambda style: build_query_error_curves(error_curves(), style),
    "sizes": lambda style: build_group_sizes(sizes(), style),
    "curves": lambda style: build_risk_curves(curves(), style),
    "remedies": lambda style: build_remedy_bars(remedies(), style),
    "group": lambda style: build_group_reconstruction(group(), style),
    "query": lambda style: build_query_estimates(queries(), style),
    "errors": lambda style: build_query_errors(errors(), style),
    "ratios": lambda style: build_ratio_tails(ratios(), style),
}


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
        assert figure.text_at((left + right) / 2, (bottom + top) / 2)


def headline(build, data):
    return build(data, STYLES["light"]).headline.replace("\u202f", " ")


def test_sizes_say_how_many_groups_are_given_away():
    assert headline(build_group_sizes, sizes()) == (
        "In 25 % of the groups, the smallest with 120 records, the shares of disease can be"
        " estimated closely"
    )
    assert headline(build_group_sizes, sizes(violating=False)).endswith("in no group")


def test_curves_say_what_a_larger_table_does():
    assert headline(build_risk_curves, curves()) == (
        "In a larger table more groups' shares of disease can be estimated closely: 0 % of the"
        " records at 2,000, 40 % at 10,000"
    )
    assert headline(build_risk_curves, curves(0.0)).startswith("Nowhere near this setting")


def test_remedies_say_what_helps_most():
    assert headline(build_remedy_bars, remedies()) == (
        "With age in 5 bins: 20 % instead of 40 % of the records would be in groups that can be"
        " estimated closely"
    )
    worse = RemedyData("disease", 0.4, (RemedyRow("age", None, 20, 4, 0.6),))
    assert "protects no record" in headline(build_remedy_bars, worse)
    none = RemedyData("disease", 0.0, (RemedyRow("age", None, 20, 4, 0.6),))
    assert headline(build_remedy_bars, none).endswith("without age, 60 %")
    assert "no public column" in headline(build_remedy_bars, RemedyData("disease", 0.4, ()))


def test_a_group_says_how_sure_the_recipient_is():
    assert headline(build_group_reconstruction, group()) == (
        "Clinic A estimates this group of 40 within 30 % of the truth with a confidence of 90 %"
    )
    figure = build_group_reconstruction(group(estimated=False), STYLES["light"])
    assert figure.data["reconstructed"].isna().all()
    assert figure.data["value"].tolist() == ["cancer $1 and $2", "flu", "asthma", "none"]


def test_queries_compare_with_the_truth():
    assert headline(build_query_estimates, queries()) == (
        "Clinic A counts 117 where the truth is 112"
    )
    nobody = EstimatesData(112, 1_204, 0.95, ())
    assert headline(build_query_estimates, nobody).endswith("nobody can estimate it")


def test_errors_compare_the_best_with_the_worst():
    assert headline(build_query_errors, errors()) == (
        "When counting disease, Clinic A is off by 8.3 % on average, Public by 50 %"
    )
    one = ErrorsData("disease", 5_000, errors().rows[:1])
    assert headline(build_query_errors, one).startswith("Clinic A is off by 8.3 %")
    assert headline(build_query_errors, ErrorsData("disease", 5_000, ())).startswith("Nobody")


def test_error_curves_say_what_protection_costs():
    assert headline(build_query_error_curves, error_curves()) == (
        "Counts of disease are off by 24 % on average; with groups protected as published, by"
        " 10 %, by the exact test, 40 %"
    )
    gap = error_curves(float("nan"))
    assert headline(build_query_error_curves, gap).endswith("as published, by 10 %")
    assert "exact –" in build_query_error_curves(gap, STYLES["light"]).hover[0].text


def test_ratios_name_the_group_that_is_known_best():
    assert headline(build_ratio_tails, ratios()) == (
        "Two noisy answers estimate the disease of 89 people within 30 % with a confidence of 81 %"
    )
