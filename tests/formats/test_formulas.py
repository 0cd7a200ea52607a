"""Texts that spreadsheets run as formulas: escaped in bundles, and read back as they were."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import BundleContents
from sfumato.formats.bundles.packages import package_at
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle, write_bundle_zip
from sfumato.formats.formulas import ESCAPED, escaped, undone_if_escaped, unescaped, with_escapes
from sfumato.formats.reading import detect_options, preview, read_table
from tests.formats.bundles import FORMATS, case, code_blocks, perturbed
from tests.late import LateModule

frictionless = LateModule("frictionless")

RUN = ("=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", "＝1+1", "＋1", "－1", "＠x")
HARMLESS = ("", "a=1", "1-2", " =1", "'", "'a", '"=1"', "a\n=1", "−1")
TEXTS = (*RUN, *HARMLESS, "'=1", "''-1")


@pytest.mark.parametrize("text", RUN)
def test_what_a_spreadsheet_runs_gets_an_apostrophe(text):
    assert escaped(text) == f"'{text}"


@pytest.mark.parametrize("text", HARMLESS)
def test_what_no_spreadsheet_runs_stays(text):
    assert escaped(text) == text


@given(st.text(st.sampled_from("'=+-@\t\r\n＝a1 "), max_size=6))
def test_every_text_comes_back_and_none_is_run(text):
    assert unescaped(escaped(text)) == text
    assert not escaped(text).startswith(tuple("=+-@\t\r\n＝＋－＠"))


def contents(name="remark", **changes) -> BundleContents:
    """A release with a text column of every beginning, a number and a perturbed column."""
    values = ("-", "+", "none")
    truth = Table(pd.DataFrame({"result": pd.Categorical([values[i % 3] for i in range(60)])}))
    spec = ColumnSpec("result", Role.SENSITIVE, domain=Domain(values, {"-": "negative"}))
    released, facts, _ = perturbed(truth, spec, 0.6)
    frame = pd.DataFrame(
        {
            name: [TEXTS[i % len(TEXTS)] for i in range(60)],
            "balance": [-5 if i % 2 else 5 for i in range(60)],
            "share": [float("-inf") if i == 3 else -0.5 for i in range(60)],
            "result": released,
        }
    )
    specs = (
        ColumnSpec(name, Role.INSENSITIVE, Kind.TEXT),
        ColumnSpec("balance", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("share", Role.INSENSITIVE, Kind.NUMERIC),
        spec,
    )
    given = replace(
        case().contents,
        table=Table(frame, {"result": {"-": "negative"}}),
        columns=specs,
        perturbations=(facts,),
        limits=(),
    )
    return replace(given, **changes)


def cells(folder):
    """Read the data file's rows without anything of Sfumato."""
    text = (folder / "data.csv").read_bytes().decode()
    return list(csv.reader(io.StringIO(text, newline="")))


def test_no_text_of_a_bundle_is_run_and_numbers_stay(tmp_path):
    write_bundle(contents(), tmp_path, "csv", Silent())
    header, *rows = cells(tmp_path)
    assert header == ["remark", "balance", "share", "result"]
    for remark, balance, share, result in rows:
        assert not remark.startswith(tuple("=+-@\t\r\n＝＋－＠"))
        assert balance in {"-5", "5"}
        assert share in {"-0.5", "-INF"}
        assert result in {"'-", "'+", "none"}


@pytest.mark.parametrize("write", [write_bundle, write_bundle_zip])
def test_a_bundle_is_read_back_as_it_was(tmp_path, write):
    made = contents(name="=remark")
    path = tmp_path / "bundle"
    if write is write_bundle:
        path.mkdir()
    write(made, path, "csv", Silent())
    bundle = read_bundle(path)
    assert bundle.table.columns == made.table.columns
    for name in bundle.table.columns:
        # An empty text can't be told from a missing one when CSV is read.
        read = bundle.table.frame[name].astype(object).fillna("").tolist()
        assert read == made.table.frame[name].tolist()
    assert bundle.table.value_labels == {"result": {"-": "negative"}}


def test_a_column_whose_name_is_run_gets_another_in_the_file(tmp_path):
    write_bundle(contents(name="=remark"), tmp_path, "csv", Silent())
    assert cells(tmp_path)[0][0] == "'=remark"
    assert "| '=remark | =remark |" in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_description_holds_for_the_file_as_it_stands(tmp_path):
    write_bundle(contents(name="=remark"), tmp_path, "csv", Silent())
    report = frictionless.validate(str(tmp_path / "datapackage.json"))
    assert report.valid, report.flatten(["type", "fieldName"])
    package = json.loads((tmp_path / "datapackage.json").read_text(encoding="utf-8"))
    field = package["resources"][0]["schema"]["fields"][-1]
    assert field["constraints"]["enum"] == ["'-", "'+", "none"]
    assert field["sfumato"]["domain"] == ["-", "+", "none"]


def test_texts_can_be_left_as_they_are(tmp_path):
    made = contents(escape_formulas=False)
    write_bundle(made, tmp_path, "csv", Silent())
    assert {row[0] for row in cells(tmp_path)[1:]} >= {"=1+1", "@SUM(A1)"}
    assert "apostrophe" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "escaped" not in (tmp_path / "datapackage.json").read_text(encoding="utf-8")
    read = read_bundle(tmp_path).table.frame["remark"]
    assert read.astype(object).fillna("").tolist() == made.table.frame["remark"].tolist()


def test_nothing_is_said_where_nothing_would_be_run(tmp_path):
    write_bundle(case().contents, tmp_path, "csv", Silent())
    assert "apostrophe" not in (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "escaped" not in (tmp_path / "datapackage.json").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.turns(1)
@pytest.mark.parametrize("format_name", [name for name in FORMATS if name != "csv"])
def test_other_formats_hold_texts_as_they_are(tmp_path, format_name):
    made = contents()
    if format_name != "parquet":  # statistical packages know no infinity
        frame = made.table.frame.drop(columns="share")
        specs = tuple(spec for spec in made.columns if spec.name != "share")
        made = replace(made, table=Table(frame, made.table.value_labels), columns=specs)
    write_bundle(made, tmp_path, format_name, Silent())
    assert read_bundle(tmp_path).table.frame["result"].tolist() == (
        made.table.frame["result"].tolist()
    )
    assert "apostrophe" not in (tmp_path / "README.md").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_recipients_python_takes_the_apostrophes_away(tmp_path):
    made = contents()
    write_bundle(made, tmp_path, "csv", Silent())
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    assert "spreadsheets treat as formulas" in " ".join(readme.split())
    code = "".join(code_blocks(readme, "python")[:2])
    code += "read = data[['remark', 'result', 'balance']].astype(object).fillna('')\n"
    code += "open('read.json', 'w').write(json.dumps(read.to_dict(orient='list')))\n"
    done = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-"],
        input=code,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        env={"PYTHONIOENCODING": "utf-8"},
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    data = json.loads((tmp_path / "read.json").read_text(encoding="utf-8"))
    assert data["remark"] == made.table.frame["remark"].tolist()
    assert data["result"] == made.table.frame["result"].tolist()
    assert data["balance"] == made.table.frame["balance"].tolist()


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_the_recipients_r_takes_the_apostrophes_away(tmp_path):
    made = contents()
    write_bundle(made, tmp_path, "csv", Silent())
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    code = "\n".join(code_blocks(readme, "r")[:2]) + "\ncat(data$result, sep = '\\n')\n"
    (tmp_path / "run.R").write_text(code, encoding="utf-8")
    done = subprocess.run(
        ["Rscript", "run.R"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    if "jsonlite" in done.stderr:
        pytest.skip("R has no jsonlite")
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == made.table.frame["result"].tolist()


def test_a_data_file_is_read_as_its_description_beside_it_says(tmp_path):
    made = contents()
    frame = made.table.frame.drop(columns="share")
    specs = tuple(spec for spec in made.columns if spec.name != "share")
    write_bundle(replace(made, table=Table(frame), columns=specs), tmp_path, "csv", Silent())
    file = tmp_path / "data.csv"
    options = detect_options(file)
    assert options.escaped_formulas
    assert set(read_table(file, options, Silent()).frame["result"]) == {"-", "+", "none"}
    assert set(preview(file, options, 60).frame["result"]) == {"-", "+", "none"}
    assert package_at(tmp_path).options.escaped_formulas
    (tmp_path / "datapackage.json").write_text('{"resources": [3, {"path": "data.csv"}]}')
    assert not detect_options(file).escaped_formulas


def test_rows_of_an_escaped_file_are_known_without_its_description():
    frame = pd.DataFrame({"=result": ["-", "+", "none"], "count": [1, -2, 3]})
    assert undone_if_escaped(with_escapes(Table(frame))).frame.equals(frame)
    ours = Table(pd.DataFrame({"remark": ["'=1", "=2"]}))
    assert undone_if_escaped(ours) is ours


def test_texts_that_become_one_in_an_altered_file_are_read_all_the_same(tmp_path):
    write_bundle(contents(), tmp_path, "csv", Silent())
    file = tmp_path / "data.csv"
    file.write_bytes(file.read_bytes().replace(b'"\'-"', b'"-"', 1))
    table = read_bundle(tmp_path, accept_altered=True).table
    assert set(table.frame["result"]) == {"-", "+", "none"}


def test_the_pattern_needs_nothing_that_only_some_tools_know():
    assert not re.search(r"\(\?|\\[a-z]", ESCAPED)
