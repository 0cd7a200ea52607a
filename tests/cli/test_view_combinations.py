"""Views beside everything else a release can have, on a household survey, by the command line.

Each combination is released to all recipients, verified, traced, audited, reported, and comes back
from its own rules; or it is refused by name.
"""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.project_file import ProjectFile
from tests.cli.conftest import REASON
from tests.project.making import PASSPHRASE

ROWS = 400
ILLNESSES = ("asthma", "cold", "flu", "gout")
QUASI = ("tenure", "age", "moved_in", "postcode")
LEVELS = {"Clinic A": 0.7, "Institute B": 0.4, "Public C": 0.2}
SIGMAS = {"Clinic A": 0.5, "Institute B": 1.0, "Public C": 2.0}
ASKED = {"Institute B": (3, 0.02), "Public C": (8, 0.05)}


def survey(rows: int = ROWS) -> pd.DataFrame:
    """A household survey: categories, numbers, dates, and codes that are texts."""
    rng = np.random.default_rng(17)
    age = rng.integers(16, 95, rows)
    days = pd.to_timedelta(rng.integers(0, 20_000, rows), "D")
    return pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in range(rows)],
            "tenure": rng.choice(["owner", "tenant", "free"], rows, p=(0.5, 0.45, 0.05)),
            "age": age,
            "moved_in": (pd.to_datetime("1965-01-01") + days).strftime("%Y-%m-%d"),
            "postcode": [f"{code:05d}" for code in rng.integers(1_000, 9_999, rows)],
            "w": np.round(rng.gamma(4.0, 25.0, rows) + 20.0, 0),
            "illness": rng.choice(ILLNESSES, rows),
            "rent": np.round(400 + 5.0 * age + rng.normal(0, 90, rows), 0),
            "earned": np.round(900 + 30.0 * age + rng.normal(0, 400, rows), 0),
        }
    )


def rules(kinds: frozenset[str]) -> str:
    """Return the rules of a combination."""
    numbers = "joint numbers" in kinds
    pseudonym = '\npseudonym = "each"' if "pseudonyms" in kinds else ""
    role = "sensitive" if numbers else "identifying"
    limits = "per-value limits" in kinds
    policy = '[[policy]]\nattributes = ["illness"]\nmechanism = "uniform"\n'
    if limits:
        policy = policy.replace('"uniform"', '"finegrain"') + (
            'settings = { theta = 3.0, frequencies = "noisy", frequencies_epsilon = 0.25 }\n'
        )
    if numbers:
        policy += '[[policy]]\nattributes = ["rent", "earned"]\nmechanism = "gaussian"\n'
    columns = {
        "person": f'role = "identifying"\nkind = "text"{pseudonym}',
        "tenure": 'role = "quasi-identifier"\nkind = "categorical"',
        "age": 'role = "quasi-identifier"\nkind = "numeric"',
        "moved_in": 'role = "quasi-identifier"\nkind = "date"',
        "postcode": 'role = "quasi-identifier"\nkind = "text"',
        "w": 'role = "weight"\nkind = "numeric"\nround_to = 25.0'
        if "weights" in kinds
        else 'role = "identifying"\nkind = "numeric"',
        "illness": 'role = "sensitive"\nkind = "categorical"\nvalues = '
        + json.dumps(list(ILLNESSES)),
        "rent": f'role = "{role}"\nkind = "numeric"',
        "earned": f'role = "{role}"\nkind = "numeric"',
    }
    text = 'format = 1\ntitle = "Survey"\nrecord_key = "person"\n'
    text += "".join(f"[columns.{name}]\n{said}\n" for name, said in columns.items()) + policy
    for place, (name, level) in enumerate(LEVELS.items()):
        stated = f"{{ retention_probability = {level} }}"
        if limits:
            stated = f"{{ trust_factor = {1.0 - 0.3 * place} }}"
        text += f'[[recipients]]\nname = "{name}"\n[recipients.levels]\nillness = {stated}\n'
        if numbers:
            text += f'"rent + earned" = {{ sigma_squared = {SIGMAS[name]} }}\n'
    return text


def made(line, kinds=frozenset()):
    """Make a project of a combination, with the views found for what is asked."""
    survey().to_csv(line.folder / "ward.csv", index=False)
    (line.folder / "rules.toml").write_text(rules(kinds))
    ok(line, line.init())
    for name, (k, share) in ASKED.items():
        asked = ("--recipient", name, "--k", k, "--suppress", share)
        ok(line, line.run("views", line.project, *asked, "--propose", "--find"))
    return line


def ok(line, code):
    assert code == ExitCode.OK, line.remarks + line.output


COMBINATIONS = (
    frozenset({"joint numbers", "per-value limits", "pseudonyms", "weights"}),
    frozenset({"adopted", "pseudonyms", "weights"}),
)
OTHERS = (
    frozenset(),
    frozenset({"joint numbers", "pseudonyms"}),
    frozenset({"per-value limits", "weights"}),
    frozenset({"adopted", "joint numbers"}),
)
"""What else is combined by two, or not at all, tried where there is time."""


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [*COMBINATIONS, *(pytest.param(kinds, marks=pytest.mark.slow) for kinds in OTHERS)],
    ids=lambda kinds: " + ".join(sorted(kinds)) or "-",
)
def test_a_combination_is_released_verified_traced_audited_reported_and_ruled(line, themed, kinds):
    made(line, kinds)
    if "adopted" in kinds:
        adopt(line)
    for name, (k, share) in ASKED.items():
        out = line.folder / name
        given = ("--recipient", name, "--out", out, "--accept", REASON)
        ok(line, line.run("release", line.project, *given))
        (bundle,) = out.iterdir()
        frame = pd.read_csv(bundle / "data.csv", dtype=str, keep_default_na=False)
        assert frame.value_counts(list(QUASI)).min() >= k
        assert (frame[list(QUASI)] == "*").all(axis=1).sum() <= share * ROWS
        ok(line, line.run("verify", bundle, "--project", line.project))
        assert f"k = {k} was promised" in line.output
        ok(line, line.run("trace", bundle / "data.csv", "--project", line.project))
        (source,) = (text for text in line.output.splitlines() if text.startswith("source"))
        assert name in source
    ok(line, line.run("audit", "coalition", line.project, *EVERYBODY))
    report = line.folder / "report.html"
    ok(line, line.run("report", line.project, "--out", report))
    assert "with at least 7 others" in report.read_text(encoding="utf-8")
    ok(line, line.run("rules", line.project))
    comes_back(line, line.output)


EVERYBODY = tuple(word for name in ASKED for word in ("--with", name))


def comes_back(line, written):
    """Apply a project's own rules to it: nothing changes."""
    path = line.folder / "again.toml"
    path.write_text(written)
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        before = project.document
    ok(line, line.run("rules", line.project, "--apply", path))
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        after = project.document
    assert after.recipients == before.recipients
    assert after.policy == before.policy
    assert after.columns == before.columns
    assert after.hierarchies == before.hierarchies


def adopt(line):
    """Adopt an earlier release of the illness, made by plain randomized response."""
    frame, rng = survey(), np.random.default_rng(23)
    other = np.array(ILLNESSES)[rng.integers(0, 4, ROWS)]
    shown = np.where(rng.random(ROWS) < 0.85, frame["illness"], other)
    path = line.folder / "earlier.csv"
    frame[["person"]].assign(illness=shown).to_csv(path, index=False)
    asked = ("--attribute", "illness", "--file", path, "--level", "0.85", "--match", "key")
    ok(line, line.run("adopt", line.project, *asked, "--holder", "Old Clinic"))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_hierarchies_are_proposed_for_categories_numbers_dates_and_texts_at_once(line):
    made(line)
    ok(line, line.run("views", line.project, "--json"))
    found = json.loads(line.output)
    for told in found[:2]:
        assert all(told["highest"][name] >= 1 for name in QUASI)
        assert not told["problem"]
    finer, coarser = (told["levels"] for told in found[:2])
    assert all(finer[name] <= coarser[name] for name in QUASI)


@pytest.mark.slow
def test_what_can_not_be_kept_is_said_by_name_and_changes_nothing(line):
    made(line)
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        before = project.document
    asked = ("views", line.project, "--recipient", "Public C")
    assert line.run(*asked, "--k", ROWS + 1, "--find") == ExitCode.EXPECTED_ERROR
    assert f"Public C's k is {ROWS + 1}, and the table has {ROWS} records" in line.remarks
    short = line.folder / "tenure.csv"
    short.write_text("owner,housed\ntenant,housed\n")
    asked = ("hierarchy", line.project, "--column", "tenure", "--import", short)
    assert line.run(*asked) == ExitCode.EXPECTED_ERROR
    assert "a value that no row lists" in line.remarks
    assert "free" not in line.remarks  # no cell of the table is told
    with ProjectFile.open(line.project, PASSPHRASE) as project:
        assert project.document == before
