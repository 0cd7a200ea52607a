"""The report on numbers with noise: levels, figures by attribute, and what everybody pools."""

from __future__ import annotations

import math

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.language import four_digits
from sfumato.report.blocks import Paragraph, ReportGrid
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.report.writing import draw, to_html
from tests.in_batches import in_batches
from tests.project.making import noon
from tests.project.numbers import KEY, a_document, a_table, new_project, release

TABLE = a_table()


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    folder = tmp_path_factory.mktemp("numbers")
    with new_project(folder, a_document(TABLE)) as project:
        release(project, TABLE, folder / "out", "Institute B")
        return collect(project, in_batches(TABLE), noon, Silent())


def section(material, options=None):
    report = compose(material, options or ReportOptions())
    return next(s for s in report.sections if KEY in s.title)


def grids(section):
    return [block for block in section.blocks if isinstance(block, ReportGrid)]


@pytest.mark.slow
def test_each_attribute_has_its_own_figures(material):
    shared, own, learned, beside = grids(section(material))
    assert learned.header[1] == "Known of the distribution"
    assert beside.header[:2] == ("Attribute", "Recipient")
    assert [row[:2] for row in beside.rows[:2]] == [("age", "Clinic A"), ("income", "Clinic A")]
    assert shared.header == (
        "Recipient",
        "Noise level (σ²)",
        "Normalized error at the published variance (D)",
        "Chance to tell two values apart (Φ)",
    )
    assert [row[:3] for row in shared.rows] == [
        ("Clinic A", "0.25", "0.2"),
        ("Institute B", "1", "0.5"),
        ("Public C", "4", "0.8"),
    ]
    assert own.header == ("In the column's unit", "Clinic A", "Institute B", "Public C")
    lines = {row[0]: [float(cell.replace(",", "")) for cell in row[1:]] for row in own.rows}
    assert len(lines) == 4
    noise = lines["Noise added to age"]
    assert noise == pytest.approx([noise[0], 2 * noise[0], 4 * noise[0]], rel=1e-3)
    assert "e+" not in "".join(cell for row in own.rows for cell in row)
    apart = lines["Told apart 3 times in 4: income"]
    assert apart == sorted(apart)


def test_large_noise_is_told_on_the_first_page_as_among_the_figures(material):
    rows = {row[0]: row[1:] for row in grids(section(material))[1].rows}
    page = compose(material, ReportOptions()).sections[0]
    told = " ".join(str(cell) for one in grids(page) for row in one.rows for cell in row)
    noise = rows["Noise added to income"]
    assert any(len(each.replace(",", "")) > 4 for each in noise), "no noise is large"
    assert all(f"= {each}" in told for each in noise)


@pytest.mark.parametrize(
    ("value", "words"),
    [(14630.2, "14,630"), (5_107_000.4, "5,107,000"), (0.94117, "0.9412"), (math.inf, "∞")],
)
def test_a_figure_is_written_as_people_read_it(value, words):
    assert four_digits(value) == words


def test_every_table_has_lines_and_every_line_its_cells(material):
    for options in (ReportOptions(), ReportOptions(Audience.OUTSIDE, 10)):
        report = compose(material, options)
        for part in report.sections:
            for block in grids(part):
                assert block.rows
                assert all(len(row) == len(block.header) for row in block.rows)
                assert all(cell for row in block.rows for cell in row)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_everybody_pools_and_the_levels_are_told_in_words(material):
    report = compose(material, ReportOptions())
    page = to_html(report, [draw(picture, "svg") for picture in report.pictures])
    for said in (
        "leaves unexplained: 20.0 % together, 20.0 % by Clinic A alone",
        "age + income: σ² = 1",
        "sex: p = 0.5",
        "Any group of recipients learns no more than Clinic A alone",
        "Gaussian noise",
        "nobody can tell from this release which is a person&#x27;s",
        "The columns released unperturbed tell little of “income”",
        "somebody may know a better one",
    ):
        assert said in page


def test_numbers_of_a_release_under_another_grouping_do_not_count_among_these(material):
    assert [held.recipient for held in material.findings[KEY].held] == [
        "Clinic A",
        "Institute B",
        "Public C",
    ]
    pooled = [
        key
        for key, found in material.findings.items()
        if any("linear" in answer.facts for answer in found.answers)
    ]
    assert pooled == [KEY]


@pytest.mark.slow
def test_what_rounding_gives_away_is_told_where_numbers_are_rounded(tmp_path, material):
    assert not any("rounded or bounded" in text for text in paragraphs(material))
    document = a_document(TABLE, {"rounding": {"age": 10.0}})
    with new_project(tmp_path, document) as project:
        rounded = collect(project, in_batches(TABLE), noon, Silent())
    (told,) = [text for text in paragraphs(rounded) if "rounded or bounded" in text]
    assert "By Bayes' rule, for somebody who knows how “age” is distributed" in told
    assert "Pooling never tells more than the most trusted release alone" in told


def paragraphs(material):
    return [block.text for block in section(material).blocks if isinstance(block, Paragraph)]


def test_outsiders_are_not_told_what_follows_from_the_exact_table(material):
    report = compose(material, ReportOptions(Audience.OUTSIDE, 10))
    page = to_html(report, [draw(picture, "svg") for picture in report.pictures])
    assert "nobody can tell from this release" in page
    assert "In this table" not in page
    assert "tell little of" not in page
    assert "Open columns" not in page
