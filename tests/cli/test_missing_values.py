"""Tables with missing values that have a reason, from the file to the release."""

from __future__ import annotations

import re

import pandas as pd
import pyreadstat
import pytest

from tests.cli.conftest import REASON

RULES = """
format = 1
other_columns = "insensitive"
[reading]
format = "{ending}"
missing_reasons = "{kept}"
[[recipients]]
name = "R"
"""
ROWS = 40
NUMBERS = (1200.0, 1800.0, 2500.0)
MEAN = sum(NUMBERS) / 3


def spss(folder):
    codes = [*NUMBERS, 99998.0, 99999.0]
    pyreadstat.write_sav(
        pd.DataFrame(
            {
                "sex": [float(row % 2 + 1) for row in range(ROWS)],
                "income": [codes[row % 5] for row in range(ROWS)],
            }
        ),
        folder / "t.sav",
        variable_value_labels={"income": {99998: "refused", 99999: "does not know"}},
        missing_ranges={"income": [{"lo": 99998, "hi": 99999}]},
    )


def stata(folder):
    codes = [*NUMBERS, "a", "b"]
    pyreadstat.write_dta(
        pd.DataFrame(
            {
                "sex": [row % 2 + 1 for row in range(ROWS)],
                "income": pd.Series([codes[row % 5] for row in range(ROWS)], dtype=object),
            }
        ),
        folder / "t.dta",
        version=15,
        variable_value_labels={"income": {"a": "refused", "b": "does not know"}},
        missing_user_values={"income": ["a", "b"]},
    )


def released(line, ending, out, kept):
    """Make a project of the table, release it in a format, and return the data's path."""
    (spss if ending == "sav" else stata)(line.folder)
    rules = line.folder / "rules.toml"
    rules.write_text(RULES.format(ending=ending, kept=kept))
    project = line.folder / "p.sfumato"
    table = line.folder / f"t.{ending}"
    assert line.run("init", project, "--table", table, "--rules", rules) == 0, line.remarks
    said = line.remarks
    arguments = ("--recipient", "R", "--out", line.folder / "out", "--format", out)
    assert line.run("release", project, *arguments, "--accept", REASON) == 0, line.remarks
    [bundle] = line.bundles()
    assert line.run("verify", "--project", project, bundle) == 0, line.remarks
    return bundle / f"data.{out}", said


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_declared_missing_values_leave_as_missing_and_it_is_said_when_a_project_is_made(
    line, ending
):
    path, said = released(line, ending, "csv", "dropped")
    assert "16 values are missing with a reason" in said
    assert "refused: 8" in said
    frame = pd.read_csv(path)
    assert list(frame) == ["sex", "income"]
    assert frame["income"].mean() == MEAN
    assert frame["income"].isna().sum() == 16


@pytest.mark.slow
@pytest.mark.turns(1)
def test_kept_reasons_leave_for_spss_as_declared_missing_values(line):
    path, said = released(line, "sav", "sav", "column")
    assert "income_missing" in said
    frame, meta = pyreadstat.read_sav(path)
    assert frame["income"].mean() == MEAN
    coded, meta = pyreadstat.read_sav(path, user_missing=True)
    assert coded["income"].value_counts().to_dict()[99998] == 8
    assert meta.missing_ranges == {"income": [{"lo": 99998, "hi": 99999}]}
    assert meta.variable_value_labels["income"] == {99998: "refused", 99999: "does not know"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_kept_reasons_leave_for_stata_as_labelled_letters(line):
    path, _ = released(line, "dta", "dta", "column")
    frame, meta = pyreadstat.read_dta(path, user_missing=True)
    assert frame["income"].value_counts().to_dict() == {
        **dict.fromkeys(NUMBERS, 8),
        "a": 8,
        "b": 8,
    }
    assert meta.variable_value_labels["income"] == {"a": "refused", "b": "does not know"}
    assert pyreadstat.read_dta(path)[0]["income"].mean() == MEAN


READERS = {"csv": pd.read_csv, "parquet": pd.read_parquet}
CODED_MISSING = {**dict.fromkeys(NUMBERS, 8), 99998: 8, 99999: 8}


@pytest.mark.few(1)
@pytest.mark.parametrize("out", ["csv", "parquet", "dta", "sav"])
def test_reasons_kept_as_values_leave_as_values_with_their_labels(line, out):
    path, _ = released(line, "sav", out, "values")
    if out in READERS:
        assert READERS[out](path)["income"].value_counts().to_dict() == CODED_MISSING
        return
    frame, meta = getattr(pyreadstat, f"read_{out}")(path, user_missing=True)
    assert frame["income"].value_counts().to_dict() == CODED_MISSING
    assert meta.variable_value_labels["income"] == {99998: "refused", 99999: "does not know"}
    assert not meta.missing_ranges


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("kept", ["column", "values"])
def test_kept_reasons_of_spss_leave_for_stata_as_letters(line, kept):
    path, _ = released(line, "sav", "dta", kept)
    coded, meta = pyreadstat.read_dta(path, user_missing=True)
    labels = meta.variable_value_labels["income"]
    assert coded["income"].map(labels).value_counts().to_dict() == {
        "refused": 8,
        "does not know": 8,
    }
    if kept == "column":
        assert pyreadstat.read_dta(path)[0]["income"].mean() == MEAN
        assert set(labels) == {"a", "b"}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_kept_reasons_of_stata_leave_for_spss_in_a_column_of_their_own(line):
    path, _ = released(line, "dta", "sav", "column")
    frame, _ = pyreadstat.read_sav(path, apply_value_formats=True)
    assert frame["income"].mean() == MEAN
    assert frame["income_missing"].value_counts().to_dict() == {
        "": 24,
        "refused": 8,
        "does not know": 8,
    }


@pytest.mark.few(2)
@pytest.mark.parametrize("out", ["csv", "parquet"])
@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_kept_reasons_leave_elsewhere_in_a_column_of_their_own(line, ending, out):
    path, _ = released(line, ending, out, "column")
    frame = READERS[out](path)
    assert frame["income_missing"].value_counts().to_dict() == {"refused": 8, "does not know": 8}
    assert frame.loc[frame["income_missing"].notna(), "income"].isna().all()


CODED = """
format = 1
record_key = "id"
other_columns = "quasi-identifier"
[columns.id]
role = "identifying"
[columns.income]
role = "sensitive"
kind = "numeric"
[[policy]]
attributes = ["income"]
mechanism = "gaussian"
[[recipients]]
name = "R"
[recipients.levels]
income = { sigma_squared = 1 }
"""


def coded(line, *more):
    """Make a project of a table with codes for no answer among its incomes."""
    rows, incomes = 400, []
    for row in range(rows):
        income = (-7, -8, -9)[row // 10 % 3] if row % 10 == 0 else 900 + row * 7919 % 3100
        incomes.append(99999 if row % 25 == 1 else income)
    frame = pd.DataFrame({"id": range(rows), "sex": ["m", "f"] * (rows // 2), "income": incomes})
    frame.to_csv(line.folder / "t.csv", index=False)
    rules = line.folder / "rules.toml"
    rules.write_text(CODED)
    table = ("--table", line.folder / "t.csv", "--rules", rules)
    assert line.run("init", line.folder / "p.sfumato", *table, *more) == 0, line.remarks
    true = frame["income"].where(frame["income"].between(0, 99998))
    return line.remarks, true


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", [(), ("--memory", "0.001")])
def test_codes_among_numbers_are_asked_about_before_noise_is_measured_on_them(line, memory):
    said, _ = coded(line, *memory)
    assert "56 numbers of “income” look like codes for missing values" in said
    assert "--column-missing 'income=…'" in said
    assert line.run("check", line.folder / "p.sfumato", "--json", *memory) in (0, 1)
    told = line.output
    assert line.run("check", line.folder / "p.sfumato", *memory) in (0, 1)
    assert "56 numbers of “income” look like codes for missing values" in line.output
    every = (said + told + line.output + line.remarks).replace(str(line.folder), "")
    for code in ("99999", "-9"):
        assert code not in every


@pytest.mark.few(1)
@pytest.mark.parametrize("memory", [(), ("--memory", "0.001")])
def test_codes_that_are_stated_are_missing_and_noise_is_measured_without_them(line, memory):
    stated = [f"--column-missing=income={code}" for code in (-7, -8, -9, 99999)]
    said, true = coded(line, *stated, *memory)
    assert "look like codes" not in said
    arguments = ("--recipient", "R", "--out", line.folder / "out", "--accept", REASON)
    project = line.folder / "p.sfumato"
    assert line.run("release", project, *arguments, *memory) == 0, line.remarks
    [bundle] = line.bundles()
    released = pd.read_csv(bundle / "data.csv")["income"]
    assert released.isna().sum() == true.isna().sum() == 56
    # Noise of one standard deviation: about 1.4 times the true one, and not 20 times.
    assert 1.1 < released.std() / true.std() < 1.8
    assert line.run("verify", "--project", project, bundle, *memory) == 0, line.remarks


CODES = (-77777, -88888, 999999)


def said_and_published(line, memory):
    """Make a project with codes among its incomes, and yield all that is said or published."""
    incomes = [900 + row * 7919 % 3100 for row in range(400)]
    incomes[::10] = [CODES[row % 3] for row in range(40)]
    frame = pd.DataFrame({"id": range(400), "sex": ["m", "f"] * 200, "income": incomes})
    project, table = line.folder / "p.sfumato", line.folder / "t.csv"
    frame.to_csv(table, index=False)
    (line.folder / "rules.toml").write_text(CODED)

    def run(command, *arguments):
        in_parts = memory if command in {"init", "check", "release", "verify", "report"} else ()
        line.run(command, *arguments, *in_parts)
        assert "unrecognized" not in line.remarks
        yield line.output + line.remarks

    yield from run("init", project, "--table", table, "--rules", line.folder / "rules.toml")
    assert "look like codes" in line.remarks
    stated = [f"--column-missing=income={code}" for code in CODES]
    for number in range(2):
        if number:
            yield from run("source", project, "--new-edition", table, *stated, "--missing", "f")
        out = line.folder / str(number)
        yield from run("check", project, "--json")
        yield from run("check", project)
        yield from run("release", project, "--recipient", "R", "--out", out, "--accept", REASON)
        [bundle] = out.iterdir()
        for path in bundle.rglob("*"):
            # Without a choice, the codes are released with noise, as numbers like others.
            yield path.read_text(encoding="utf-8") if path.is_file() else ""
        yield from run("verify", "--project", project, bundle, "--json")
        for readers in ("internal", "outside"):
            report = line.folder / f"{readers}.html"
            yield from run("report", project, "--out", report, "--for", readers)
            yield report.read_text(encoding="utf-8")
        yield from run("ledger", project, *([] if number else ["--json"]))


@pytest.mark.slow
@pytest.mark.parametrize("memory", [(), ("--memory", "0.001")])
def test_codes_that_a_remark_offers_or_somebody_states_are_quoted_nowhere(line, themed, memory):
    for text in said_and_published(line, memory):
        for code in CODES:
            # Digits of longer numbers, and of digests, are none of it.
            written = rf"(?<![0-9a-f.])({abs(code)}|{abs(code):,})(?![0-9a-f.])"
            assert re.search(written, text) is None
