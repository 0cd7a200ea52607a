"""The first page of a README: terms, how columns leave, examples and worth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.wording import share_in_words
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.bundles.contents import Generalized, SeenView
from sfumato.formats.bundles.first_page import column_worth
from sfumato.formats.bundles.readme import readme_of
from sfumato.formats.terms import MOST_CHARACTERS, ReleaseTerms, TermsError
from tests.formats.bundles import case, facts_of, perturbed, plain_contents

TERMS = ReleaseTerms(
    "Office for Statistics",
    "Research | housing",
    "Pass nothing on",
    "2027-12-31",
    "a@office.example",
)


def first_page(contents):
    names = {name: name for name in contents.table.columns}
    text = readme_of(contents, names, "csv")
    assert text.index("## The files") < text.index("## What was done to each column")
    return text[: text.index("## The files")]


def test_the_custodian_s_terms_stand_first():
    page = first_page(replace(case(60).contents, terms=TERMS))
    for told in (
        "| Controller | Office for Statistics |",
        "| May be used for | Research \\| housing |",
        "| Valid until | 2027-12-31 |",
        "| Contact | a@office.example |",
    ):
        assert told in page, told
    assert page.index("Controller") < page.index("## What each column shows")


def test_where_no_terms_are_stated_the_recipient_is_told_to_ask():
    assert "Nothing is stated about what it may be used for" in first_page(case(60).contents)


def test_examples_come_from_no_row():
    made = case(400).contents
    other = replace(made, table=replace(made.table, frame=made.table.frame.iloc[::-1].shift(7)))
    assert not other.table.frame.equals(made.table.frame)
    assert first_page(other) == first_page(made)


def test_a_coarse_column_s_example_is_a_label_that_is_shown():
    made = Generalized(
        sensitive="illness",
        levels={"age": (2, 3)},
        promises=("Each class has 2 values.",),
        parameters={"l": 2},
        suppression="",
        limits=(),
        hierarchies={"age": (("20-39", "*"), ("40-59", "*"))},
    )
    frame = pd.DataFrame({"age": ["20-39", "40-59"], "illness": ["flu", "gout"]})
    contents = replace(plain_contents(frame), generalized=made)
    text = readme_of(contents, {name: name for name in frame}, "csv")
    assert "such as “20-39”: level 2 of 3" in text


@pytest.mark.parametrize(("level", "told"), [(1, False), (2, True)])
def test_the_legend_tells_of_columns_that_are_left_out_where_there_is_one(level, told):
    contents = case(60).contents
    name = next(s.name for s in contents.columns if contents.perturbation_of(s.name) is None)
    seen = SeenView({name: (level, 2)}, k=2, suppressed=0, promise="")
    page = first_page(replace(contents, view=seen))
    assert ("Left out: `*` in every row." in page) == told


def test_an_example_is_the_published_chance():
    page = first_page(case(400, level=0.6).contents)
    # p + (1 - p)/m for p = 0.6 and the values that are published
    perturbation = case(400, level=0.6).contents.perturbations[0]
    size = len(perturbation.channel["domains"][0])
    assert f"stays so in {round(100 * (0.6 + 0.4 / size))} of 100 rows" in page


def test_noise_is_as_large_in_the_example_as_in_the_promise():
    frame = pd.DataFrame({"age": np.arange(60.0)})
    spec = ColumnSpec("age", Role.SENSITIVE, Kind.NUMERIC)
    column = encode_column(Table(frame), spec)
    settings = {"covariance": [[8.747**2]], "measured": "stated"}
    gaussian = mechanism_called("gaussian")
    facts = facts_of(gaussian, [column.attribute], 1.0, settings)
    told = replace(case(60).contents, table=Table(frame), columns=(spec,), perturbations=(facts,))
    text = readme_of(told, {"age": "age"}, "csv").replace("\u202f", " ")
    assert "the true number ± 8.74 " in text
    assert "standard deviation of 8.74 for" in text
    assert "8.75" not in text


def test_yes_and_no_are_written_as_in_the_file():
    truth = Table(pd.DataFrame({"ill": [True, False] * 20}))
    spec = ColumnSpec("ill", Role.SENSITIVE, domain=Domain((False, True)))
    released, facts, _ = perturbed(truth, spec, 0.5)
    contents = plain_contents(pd.DataFrame({"ill": released}))
    page = first_page(replace(contents, columns=(spec,), perturbations=(facts,)))
    assert "“false” stays so in 75 of 100 rows" in page


@pytest.mark.parametrize("level", [0.3, 0.8])
def test_worth_is_that_of_a_sample_with_the_same_errors(level):
    contents = case(400, level=level).contents
    perturbation = contents.perturbations[1]
    told = column_worth(contents, perturbation, "triage")
    # Draw true values and what is released of them many times, and estimate by p and m alone.
    size = len(perturbation.channel["domains"][0])
    draw = np.random.default_rng(7)
    true = draw.integers(0, size, (8000, contents.rows))
    kept = draw.random(true.shape) < level
    released = np.where(kept, true, draw.integers(0, size, true.shape))
    shares = np.stack([(released == value).mean(axis=1) for value in range(size)])
    errors = ((shares - (1 - level) / size) / level).var(axis=1).sum()
    assert told == pytest.approx((1 - 1 / size) / errors, rel=0.05)


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.65, "65%"), (0.0875, "8.75%"), (1 / 3, "33.3%"), (0.99985, "99.985%"), (1e-6, "0.0001%")],
)
def test_shares_have_the_digits_that_they_mean(share, text):
    assert "".join(share_in_words(share).split()) == text


@pytest.mark.parametrize("day", ["31.12.2027", "20271231", "2027-02-30", "soon"])
def test_a_last_day_that_is_none_is_refused_by_name(day):
    with pytest.raises(TermsError, match="no date") as refused:
        ReleaseTerms(valid_until=day)
    assert day not in str(refused.value)


def test_terms_that_nobody_reads_are_refused():
    with pytest.raises(TermsError, match="conditions is longer than 2,000"):
        ReleaseTerms(conditions="x" * (MOST_CHARACTERS + 1))
