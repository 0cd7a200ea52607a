"""What a recipient reads, and whether the code in it gives the numbers that it should."""

from __future__ import annotations

import contextlib
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import set_apart
from sfumato.engine.matrices.estimate import estimate_frequencies
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.mechanisms.base import Promise, PromiseFigure, PublishedFacts
from sfumato.engine.table.table import Attribute, Table
from sfumato.formats.bundles.readme import readme_of
from sfumato.formats.bundles.writing import BundleContents, write_bundle
from sfumato.resources import resource_path
from tests.formats.bundles import FORMATS, ILLNESSES, case, code_blocks, perturbed, plain_contents
from tests.formats.r_syntax import r_problems
from tests.noise import NOISE

RSCRIPT = shutil.which("Rscript")
NAMES_OF_ESTIMATES = ["count", "standard_error", "low", "high"]


def readme(contents: BundleContents, format_name: str = "csv") -> str:
    names = {name: name for name in contents.table.columns}
    return readme_of(contents, names, format_name)


def run_python(folder: Path, *, afresh: bool = False) -> list[pd.DataFrame]:
    """Run all Python of a bundle's README; return the tables it prints.

    It runs in a namespace of its own or, where it is to start afresh, in a process of its own.
    """
    blocks = code_blocks((folder / "README.md").read_text(encoding="utf-8"), "python")
    script = "\nprint('----')\n".join(blocks)
    said = io.StringIO()
    if afresh:
        said.write(_said_afresh(script, folder))
    else:
        with contextlib.chdir(folder), contextlib.redirect_stdout(said):
            exec(compile(script, "README.md", "exec"), {"__name__": "__main__"})
    _, *tables = said.getvalue().split("----\n")
    return [pd.read_fwf(io.StringIO(table)) for table in tables]


def _said_afresh(script: str, folder: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-"],
        input=script,
        cwd=folder,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={k: v for k, v in os.environ.items() if not k.startswith("PYTHON")},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def run_r(folder: Path, last: str = "") -> list[pd.DataFrame]:
    """Run all R of a bundle's README in a clean process; return what its estimates are.

    Skipped where R is not installed (`CI=true installer/test` installs it on Debian).
    """
    blocks = code_blocks((folder / "README.md").read_text(encoding="utf-8"), "r")
    needed = sorted({"jsonlite", *re.findall(r"(\w+)::", "".join(blocks))})
    if not has_r_packages(*needed):
        pytest.skip(f"R with {' and '.join(needed)} is not installed")
    written = [
        f'{block}\n{last}\nwrite.csv(estimate(data), "out{place}.csv", row.names = FALSE)\n'
        for place, block in enumerate(blocks[1:])
    ]
    script = "options(warn = 2)\n" + blocks[0] + "".join(written)
    (folder / "code.R").write_text(script, encoding="utf-8")
    done = subprocess.run(
        [str(RSCRIPT), "--vanilla", "code.R"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [pd.read_csv(folder / f"out{place}.csv") for place in range(len(written))]


def expected(column: pd.Series, domain: Domain, level: float) -> np.ndarray:
    """What the engine estimates, as counts: one row a value."""
    codes = domain.encode(column)
    attribute = (Attribute(str(column.name), "categorical", domain),)
    matrix = mechanism_called("uniform").matrix(level, attribute, {})
    estimate = estimate_frequencies(np.bincount(codes, minlength=domain.size), matrix)
    parts = (estimate.frequencies, estimate.standard_errors, estimate.low, estimate.high)
    return len(column) * np.column_stack(parts)


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", FORMATS)
def test_the_python_code_gives_the_numbers_that_the_engine_gives(tmp_path, format_name):
    contents = case().contents
    write_bundle(contents, tmp_path, format_name, Silent())
    illness, triage = run_python(tmp_path, afresh=True)
    assert list(illness["value"]) == ["asthma", "cold", "flu", "gout", "(missing)"]
    for printed, name in ((illness, "illness"), (triage, "triage")):
        domain = contents.column(name).domain
        wanted = expected(contents.table.frame[name], domain, 0.6)
        found = printed[NAMES_OF_ESTIMATES].to_numpy()
        assert np.abs(found - wanted).max() < 0.06  # It prints one decimal.


def test_a_release_of_noise_tells_that_there_is_nothing_to_estimate(tmp_path):
    contents = case(level=0.0).contents
    write_bundle(contents, tmp_path, "csv", Silent())
    assert run_python(tmp_path) == []
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "nothing can be estimated" in " ".join(text.split())


def test_names_and_values_with_quotes_and_dollars_do_no_harm(tmp_path):
    name = 'what\'s "$it" \\ called | <b>'
    values = ('a "quoted" one', "$dollar", "back\\slash", "ünï")
    table = Table(pd.DataFrame({name: [values[i % 4] for i in range(200)]}))
    spec = ColumnSpec(name, Role.SENSITIVE, domain=Domain(values))
    released, facts, _ = perturbed(table, spec, 0.7)
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({name: released})),
        columns=(spec,),
        perturbations=(facts,),
        recipient="A $recipient | `code`\n# no heading",
        title="$title\n\n```python\nraise SystemExit\n```",
    )
    write_bundle(contents, tmp_path, "csv", Silent())
    (printed,) = run_python(tmp_path)
    wanted = expected(released, spec.domain, 0.7)
    assert np.abs(printed["count"].to_numpy() - wanted[:, 0]).max() < 0.06
    text = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert not re.search(r"^# no heading", text, re.M)
    for block in code_blocks(text, "r"):
        assert r_problems(block) == []


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_readme_names_who_what_and_how(tmp_path, format_name):
    contents = case().contents
    text = readme(contents, format_name)
    assert text.startswith("# Ward 7\n")
    for told in (
        "Clinic A",
        contents.release_id,
        "600 records",
        f"data.{format_name}",
        set_apart(contents.perturbations[0].promise.sentence, {"illness"}),
        "| illness |  | **perturbed**: Uniform retention |",
        "| age | Age in years | as in the source |",
        "| pressure |  | grouped into bins |",
        "Sfumato 1.2.3",
    ):
        assert told in text


def test_headings_go_down_in_order():
    text = readme(case().contents)
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    levels = [len(mark) for mark in re.findall(r"^(#+) ", outside, re.M)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_a_table_without_perturbed_columns_says_so():
    text = readme(plain_contents(pd.DataFrame({"a": [1, 2]})))
    assert text.startswith("# A released table\n")
    assert "count as you would in any table" in text


def test_what_a_file_cannot_hold_is_said_where_it_is_read(tmp_path):
    contents = plain_contents(pd.DataFrame({"word": ["a", "", "b"]}))
    said = {}
    for name in FORMATS:
        (tmp_path / name).mkdir()
        write_bundle(contents, tmp_path / name, name, Silent())
        text = (tmp_path / name / "README.md").read_text(encoding="utf-8")
        said[name] = (
            "- Empty texts of “word” are missing values here: " in text.split("## Read the data")[1]
        )
    assert said == {name: name in {"sav", "dta"} for name in FORMATS}


def test_a_weight_that_an_spss_file_does_not_state_is_said_where_it_is_read(tmp_path):
    contents = plain_contents(pd.DataFrame({"2 w": [1.5, 2.5], "age": [3, 4]}))
    weight = ColumnSpec("2 w", Role.WEIGHT, Kind.NUMERIC)
    said = {}
    for name in FORMATS:
        (tmp_path / name).mkdir()
        weighted = replace(contents, columns=(weight, ColumnSpec("age")))
        write_bundle(weighted, tmp_path / name, name, Silent())
        text = (tmp_path / name / "README.md").read_text(encoding="utf-8")
        said[name] = "“2 w” weights the records" in text and "run `WEIGHT BY v2_w.` there" in text
    assert said == {name: name == "sav" for name in FORMATS}
    assert "WEIGHT BY" not in readme(contents, "sav")


def test_an_unbounded_figure_is_shown_as_such():
    this = case().contents
    promise = Promise("It promises nothing.", (PromiseFigure("ε", "Privacy loss", float("inf")),))
    facts = replace(this.perturbations[0], promise=promise)
    text = readme(replace(this, perturbations=(facts,)))
    assert "| ε | Privacy loss | ∞ |" in text


def test_headings_of_a_guide_are_put_below_the_column_they_are_about(tmp_path, monkeypatch):
    guide = tmp_path / "guide.md"
    guide.write_text("# Top\n\n## Below\n\n```python\n# a comment\n```\n", encoding="utf-8")
    monkeypatch.setattr(
        "sfumato.formats.language.resource_path",
        lambda *parts: guide if parts[-1] == "guide.md" else resource_path(*parts),
    )
    this = case().contents
    facts = replace(this.perturbations[0], published=PublishedFacts({}, "guide"))
    text = readme(replace(this, perturbations=(facts,)))
    assert "### illness\n\n#### Top\n\n##### Below\n\n```python\n# a comment\n" in text


@pytest.mark.parametrize("name", sorted(all_mechanisms()))
def test_every_mechanism_has_a_guide_that_can_be_filled_in(name):
    mechanism = mechanism_called(name)
    table = case().truth
    attribute = perturbed(table, case().contents.columns[0], 0.5)[2]
    chosen = (attribute,)
    try:
        mechanism.check_attributes(chosen)
    except Exception:
        pytest.skip("another kind of attribute")
    settings = mechanism.first_settings(chosen, NOISE)
    (statement,) = mechanism.default_statements(1)
    level = mechanism.level(statement, chosen, settings)
    contents = case().contents
    facts = replace(
        contents.perturbations[0],
        published=mechanism.published(level, chosen, settings),
        mechanism=name,
    )
    text = readme(replace(contents, perturbations=(facts,)))
    assert "### illness" in text
    json.dumps(dict(facts.published.parameters), allow_nan=False)


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_r_code_is_well_formed(format_name):
    """Without R, a strict look at its brackets and quotes is what can be had."""
    for level in (0.0, 0.6):
        blocks = code_blocks(readme(case(level=level).contents, format_name), "r")
        assert len(blocks) == (1 if level == 0.0 else 3)
        for block in blocks:
            assert r_problems(block) == []


@pytest.mark.few(2)
@pytest.mark.skipif(RSCRIPT is None, reason="R is not installed")
@pytest.mark.parametrize("format_name", FORMATS)
def test_r_parses_the_code(tmp_path, format_name):
    code = "\n".join(code_blocks(readme(case().contents, format_name), "r"))
    (tmp_path / "code.R").write_text(code, encoding="utf-8")
    check = 'stopifnot(length(parse("code.R", encoding = "UTF-8")) > 5)'
    (tmp_path / "check.R").write_text(check, encoding="utf-8")
    done = subprocess.run(
        [RSCRIPT, "check.R"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr


@cache
def has_r_packages(*packages: str) -> bool:
    if RSCRIPT is None:
        return False
    code = " && ".join(f'requireNamespace("{name}", quietly = TRUE)' for name in packages)
    done = subprocess.run(
        [RSCRIPT, "-e", f"quit(status = if ({code}) 0 else 1)"],
        capture_output=True,
        timeout=60,
        check=False,
    )
    return done.returncode == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", FORMATS)
def test_the_r_code_gives_the_numbers_that_the_engine_gives(tmp_path, format_name):
    contents = case().contents
    write_bundle(contents, tmp_path, format_name, Silent())
    illness, triage = run_r(tmp_path)
    for found, name in ((illness, "illness"), (triage, "triage")):
        wanted = expected(contents.table.frame[name], contents.column(name).domain, 0.6)
        assert np.abs(found[NAMES_OF_ESTIMATES].to_numpy() - wanted).max() < 0.05


def test_the_look_at_r_code_sees_what_is_wrong():
    assert r_problems('x <- f(a[[1]], "text)", c(1, 2)) # it\'s (fine') == []
    assert r_problems("x <- `odd name`$y") == []
    for wrong in ("x <- f(1", "x <- f(1]]", 'x <- "open', "x <- 1)", "x <- ${p}", "x <- [1}", "`a"):
        assert r_problems(wrong), wrong


def test_the_illnesses_are_those_of_the_case():
    assert case().contents.column("illness").domain.values == ILLNESSES
