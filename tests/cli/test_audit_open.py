"""``sfumato audit open``: what columns released unchanged tell, and an attacker who tries."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.samples.tables import companies

ROWS = 2_500
FALSE_ALARM = 4.0
"""An attacker's share is this many standard errors above what was told once in 31,000 times."""

RULES = """\
format = 1
title = "Firms"
record_key = "firm"
other_columns = "insensitive"

[columns.firm]
role = "identifying"

[columns.sector]
role = "quasi-identifier"

[columns.result]
role = "sensitive"
kind = "numeric"

[columns.wages]
role = "sensitive"
kind = "numeric"

[columns.insolvency]
role = "sensitive"
kind = "categorical"
values = ["no", "yes", "pending"]

[[policy]]
attributes = ["result"]
mechanism = "gaussian"

[[policy]]
attributes = ["wages"]
mechanism = "gaussian"

[[policy]]
attributes = ["insolvency"]
mechanism = "uniform"

[[recipients]]
name = "Bank"
[recipients.levels]
result = { sigma_squared = 0.25 }
wages = { sigma_squared = 0.25 }
insolvency = { retention_probability = 0.5 }

[[recipients]]
name = "Public"
[recipients.levels]
result = { sigma_squared = 1 }
wages = { sigma_squared = 1 }
insolvency = { retention_probability = 0.2 }
"""


@pytest.fixture
def books(line):
    companies().to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(RULES)
    assert line.init() == ExitCode.OK, line.remarks
    return line


def audit(line, *more):
    return line.run("audit", "open", line.project, *more)


def figures(line):
    assert audit(line, "--json") == ExitCode.OK, line.remarks
    return {(f["attribute"], f["recipient"]): f for f in json.loads(line.output)["figures"]}


@pytest.mark.slow
def test_the_smaller_figure_is_told_with_its_reason_and_remedy(books):
    assert audit(books) == ExitCode.OK, books.remarks
    assert "“result” = “revenue” − “costs” in every row" in books.output
    placed = r"people's “result” can be placed within ±\s0 without any release"
    assert re.search(placed, books.output)
    assert "Protect “revenue” and “costs” as well, together with “result”" in books.output
    assert "From “sector”, released unperturbed, the best guess of “insolvency”" in books.output
    for name in ("Bank:", "Public:"):
        assert name in books.output


@pytest.mark.slow
def test_only_what_can_be_protected_together_is_said_to_be(books):
    offered = "Protect “staff” together with “wages”"
    assert books.run("check", books.project) in (ExitCode.OK, ExitCode.CHECK_FAILED)
    assert offered in books.output
    noise = """attributes = ["wages"]
mechanism = "laplace"
settings = { lowest = 0, highest = 1000000, step = 1000, bounds = "stated" }"""
    rules = RULES.replace('attributes = ["wages"]\nmechanism = "gaussian"', noise)
    rules = re.sub(r"wages = \{ sigma_squared = .* \}", "wages = { epsilon = 2 }", rules)
    (books.folder / "rules.toml").write_text(rules)
    assert books.run("rules", books.project, "--apply", books.folder / "rules.toml") == ExitCode.OK
    assert books.run("check", books.project) in (ExitCode.OK, ExitCode.CHECK_FAILED)
    assert offered not in books.output
    assert "Mark “staff” as sensitive too" in books.output


@pytest.mark.slow
def test_one_recipient_is_told_of_alone_and_an_unknown_one_is_refused(books):
    assert audit(books, "--recipient", "Bank") == ExitCode.OK
    assert "Public" not in books.output
    assert audit(books, "--recipient", "Nobody") == ExitCode.EXPECTED_ERROR
    assert "There is no recipient Nobody." in books.remarks


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_figures_are_those_of_a_linear_law(books):
    """Wages are 2,000 a head give or take 4,000; noise adds to that by the law of Gauss."""
    found = figures(books)["wages", "Public"]
    spread = companies()["wages"].std()
    normal = 1.6449
    told = found["without any release"]
    assert told["no other column"] == pytest.approx(normal * spread, rel=0.06)
    assert told["linear"] == pytest.approx(normal * 4_000.0, rel=0.05)
    assert told["open columns"] <= told["linear"]
    both = math.sqrt(1.0 / (1.0 / 4_000.0**2 + 1.0 / spread**2))
    assert found["with the release"]["open columns"] == pytest.approx(normal * both, rel=0.06)
    assert found["telling columns"] == ["staff"]


@pytest.mark.slow
def test_coalitions_are_told_the_same_figures(books):
    alone = figures(books)
    for audited, names in (("numbers", ("result", "wages")), ("coalition", ("insolvency",))):
        assert books.run("audit", audited, books.project, "--with", "Bank", "--json") == 0
        for part in json.loads(books.output):
            for figure in part["open columns"]:
                assert figure == alone[figure["attribute"], "Bank"]
                assert figure["attribute"] in names
        assert books.run("audit", audited, books.project, "--with", "Bank") == 0
        assert "released unperturbed" in books.output


def bundle(line, recipient):
    assert line.release(recipient) == ExitCode.OK, line.remarks
    [path] = [path for path in line.bundles() if recipient in path.name]
    with_truth = companies().set_index("firm")
    return pd.read_csv(path / "data.csv"), with_truth


def paired(released, truth):
    """The true rows beside released ones, by the columns that leave as they are."""
    keys = ["sector", "staff", "revenue", "costs"]
    joined = released.merge(truth, on=keys, suffixes=("", "_true"))
    assert len(joined) == len(released) == ROWS
    return joined


@pytest.mark.slow
@pytest.mark.parametrize("recipient", ["Bank", "Public"])
def test_an_attacker_with_the_file_alone_does_no_better_than_told(books, recipient):
    """Reads the exported file and nothing else, and learns all it guesses by from that."""
    told = figures(books)
    rows = paired(*bundle(books, recipient))
    # Wages by least squares on the noisy column, then the average of both by their variances.
    terms = np.column_stack([np.ones(ROWS), rows["staff"]])
    line, *_ = np.linalg.lstsq(terms, rows["wages"], rcond=None)
    guess, shown = terms @ line, rows["wages"]
    noise = companies()["wages"].var() * {"Bank": 0.25, "Public": 1.0}[recipient]
    open_ = max((shown - guess).var() - noise, 1.0)
    best = guess + (shown - guess) * open_ / (open_ + noise)
    off = np.abs(best - rows["wages_true"])
    width = told["wages", recipient]["with the release"]["open columns"]
    slack = FALSE_ALARM * math.sqrt(0.09 / ROWS)
    # That attack is as good as any: what was told is neither exceeded nor far off.
    assert 0.9 - 0.03 < (off <= width).mean() < 0.9 + slack
    # Insolvency by the shares in each sector, corrected for what was replaced, and Bayes' rule.
    kept = {"Bank": 0.5, "Public": 0.2}[recipient]
    values = ["no", "yes", "pending"]
    right = 0
    for _, part in rows.groupby("sector"):
        observed = part["insolvency"].value_counts(normalize=True).reindex(values).fillna(0.0)
        prior = np.clip((observed - (1.0 - kept) / 3.0) / kept, 1e-6, None)
        for value, same in part.groupby("insolvency"):
            likely = np.full(3, (1.0 - kept) / 3.0)
            likely[values.index(value)] += kept
            right += (same["insolvency_true"] == values[int((prior * likely).argmax())]).sum()
    share = told["insolvency", recipient]["with the release"]["open columns"]
    slack = FALSE_ALARM * math.sqrt(share * (1.0 - share) / ROWS)
    assert share - 0.04 < right / ROWS < share + slack
