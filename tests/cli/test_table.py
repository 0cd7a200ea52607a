"""Tables of counts by the command line, looked at from the exported files by other means."""

from __future__ import annotations

import csv
import hashlib
import itertools
import json
import math
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest

from sfumato.commands.shared.command import APPROVER_VARIABLE, ExitCode
from tests.cli.conftest import RULES

SEX = '[columns.sex]\nrole = "quasi-identifier"'
STATED = f'{SEX}\nkind = "categorical"\nvalues = ["m", "f", "x"]'


def made_with(line, rules):
    (line.folder / "rules.toml").write_text(rules)
    assert line.init() == ExitCode.OK, line.remarks
    return line


@pytest.fixture
def counted(line):
    """The command line with a project of which sex and illness can be counted."""
    return made_with(line, RULES.replace(SEX, STATED))


def table(line, columns, recipient="Clinic A", epsilon=1.0, out="tables"):
    named = [word for column in columns for word in ("--column", column)]
    code = line.run(
        *("table", line.project, *named, "--recipient", recipient, "--epsilon", epsilon),
        *("--out", line.folder / out, "--json"),
    )
    return code, json.loads(line.output) if code == ExitCode.OK else None


def made_table(line, *given, **options):
    code, told = table(line, *given, **options)
    assert code == ExitCode.OK, line.remarks
    return told


def read(path):
    with Path(path).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def cells_of(told):
    rows = read(f"{told['path']}/counts.csv")
    names = told["columns"]
    return {tuple(row[name] for name in names): int(row["count"]) for row in rows}


def within(rate, cells, width):
    """How often the sum of so many discrete Laplace numbers is at most so far from 0."""
    step, law = math.exp(-rate), {0: 1.0}
    one = {z: (1 - step) / (1 + step) * step ** abs(z) for z in range(-60, 61)}
    for _ in range(cells):
        summed = {}
        for (a, p), (b, q) in itertools.product(law.items(), one.items()):
            summed[a + b] = summed.get(a + b, 0.0) + p * q
        law = summed
    return sum(p for z, p in law.items() if abs(z) <= width)


def test_the_exported_files_are_what_they_say_by_a_checker_of_their_own(counted):
    told = made_table(counted, ["sex", "illness"])
    folder = counted.folder / "tables" / told["path"].rpartition("/")[2]
    package = json.loads((folder / "datapackage.json").read_text())
    for resource in package["resources"]:
        content = (folder / resource["path"]).read_bytes()
        assert resource["hash"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        assert resource["bytes"] == len(content)
    facts = package["sfumato"]["count_table"]
    rows, margins = read(folder / "counts.csv"), read(folder / "margins.csv")
    assert len(rows) == 4 * 3
    assert [field["name"] for field in package["resources"][0]["schema"]["fields"]] == list(rows[0])
    assert facts["rate"] * 2 < facts["epsilon"] == 1.0
    for margin in margins:
        kept = [name for name in margin["margin"].split(" × ") if name]
        alike = [row for row in rows if all(row[name] == margin[name] for name in kept)]
        assert int(margin["count"]) == sum(int(row["count"]) for row in alike)
        adjusted = sum(float(row["adjusted"]) for row in alike)
        assert float(margin["adjusted"]) == pytest.approx(adjusted, abs=1e-4)
        width = int(margin["high"]) - int(margin["count"])
        if int(margin["high"]) and len(kept) == 1 and len(alike) == 3:
            assert within(facts["rate"], 3, width) >= 0.95 > within(facts["rate"], 3, width - 1)
    assert {row["margin"] for row in margins} == {"illness", "sex", ""}
    assert min(float(row["adjusted"]) for row in rows) >= 0
    assert sum(float(row["adjusted"]) for row in rows) == pytest.approx(12, abs=1e-4)
    assert all(isinstance(int(row["count"]), int) and int(row["low"]) >= 0 for row in rows)
    readme = (folder / "README.md").read_text()
    assert "ε = 1," in readme
    assert "95 times in 100" in readme


def test_the_sdmx_file_has_each_count_under_its_key_and_sums_under_totals(counted):
    told = made_table(counted, ["sex", "illness"])
    path = Path(told["path"])
    rows = read(path / "sdmx.csv")
    fixed = ["STRUCTURE", "STRUCTURE_ID", "ACTION", "ILLNESS: illness", "SEX: sex"]
    figures = ["OBS_VALUE", "INTERVAL_LOW", "INTERVAL_HIGH", "ADJUSTED"]
    assert [name.partition(": ")[0] for name in rows[0]] == [
        *(name.partition(": ")[0] for name in fixed),
        *figures,
    ]
    assert re.fullmatch(r"SFUMATO:COUNTS_[0-9A-F]{12}\(1\.0\.0\): .*", rows[0]["STRUCTURE_ID"])
    seen = {}
    for row in rows:
        keys = tuple(row[name].partition(": ") for name in fixed[3:])
        assert all(re.fullmatch("[A-Za-z0-9_@$-]+", code) for code, _, _ in keys)
        kept = tuple("" if code == "_T" else name for code, _, name in keys)
        assert kept not in seen, "a key stands twice"
        seen[kept] = [value for name, value in row.items() if name.partition(": ")[0] in figures]
    known = {}
    for row in (*read(path / "counts.csv"), *read(path / "margins.csv")):
        keys = (row["illness"], row["sex"])
        known[keys] = [row[name] for name in ("count", "low", "high", "adjusted")]
    assert seen == known


def test_columns_in_another_order_are_the_same_table_and_cost_nothing_more(counted):
    one = made_table(counted, ["sex", "illness"])
    other = made_table(counted, ["illness", "sex"], "Institute B")
    assert one["noise"] == other["noise"]
    assert cells_of(one) == cells_of(other)
    lower = made_table(counted, ["illness", "sex"], "Institute B", 0.25)
    assert lower["noise"] == one["noise"]
    assert lower["epsilon_together"] == 1.0
    assert lower["epsilon_of_recipient"] == 1.0


def test_the_order_of_requests_does_not_matter(counted, line):
    low = made_table(counted, ["sex"], epsilon=0.2)
    high = made_table(counted, ["sex"], "Institute B", epsilon=3.0)
    again = made_table(counted, ["sex"], epsilon=0.2, out="again")
    assert cells_of(low) == cells_of(again)
    assert cells_of(low) != cells_of(high)
    assert again["epsilon_together"] == 3.0


def test_a_coarser_table_is_added_from_the_noisy_finer_one(counted):
    finer = made_table(counted, ["sex", "illness"])
    coarser = made_table(counted, ["illness"])
    assert coarser["added_from"] == ["illness", "sex"]
    added = {}
    for (illness, _), count in cells_of(finer).items():
        added[illness,] = added.get((illness,), 0) + count
    assert cells_of(coarser) == added
    assert coarser["epsilon_together"] == 1.0
    assert "tells nothing more" in counted.remarks


def test_a_finer_table_after_a_coarser_one_has_noise_of_its_own_and_is_added(counted):
    first = made_table(counted, ["illness"])
    finer = made_table(counted, ["illness", "sex"], epsilon=0.5)
    assert finer["noise"] != first["noise"]
    assert finer["epsilon_together"] == 1.5
    again = made_table(counted, ["illness"], "Institute B", epsilon=2.0)
    assert again["noise"] == first["noise"]
    assert again["epsilon_together"] == 2.5
    assert counted.run("table", counted.project) == ExitCode.OK
    assert "All recipients together have ε = 2.5" in counted.output
    assert "Clinic A has ε = 1.5" in counted.output


def test_verify_tells_a_table_from_an_altered_one(counted):
    told = made_table(counted, ["sex"])
    options = ("verify", told["path"], "--project", counted.project)
    assert counted.run(*options) == ExitCode.OK
    assert "Made again from the table and the key, the counts are the same." in counted.output
    lone = counted.folder / "lone.csv"
    path = counted.folder / "tables" / told["path"].rpartition("/")[2] / "counts.csv"
    lone.write_bytes(path.read_bytes())
    assert counted.run("verify", lone, "--project", counted.project) == ExitCode.OK
    assert "It is counts.csv of a table of counts that was released." in counted.output
    path.write_text(path.read_text().replace("f,", "f,9", 1))
    assert counted.run(*options) == ExitCode.CHECK_FAILED
    assert "Altered or missing since it was released: counts.csv." in counted.output
    (path.parent / "margins.csv").unlink()
    assert counted.run(*options) == ExitCode.CHECK_FAILED
    assert "The ledger has no table of counts with these files." in counted.output


def test_the_ledger_tells_of_it_and_nothing_is_overwritten(counted):
    told = made_table(counted, ["sex"])
    code, _ = table(counted, ["sex"])
    assert code == ExitCode.EXPECTED_ERROR
    assert "exists already" in counted.remarks
    assert counted.run("ledger", counted.project) == ExitCode.OK
    lines = [row for row in counted.output.splitlines() if "table of counts released" in row]
    assert len(lines) == 1
    assert told["target"] in lines[0]
    assert [one.name for one in (counted.folder / "tables").iterdir()] == [
        told["path"].rpartition("/")[2]
    ]


def test_what_can_not_be_counted_is_named(counted):
    for columns, epsilon, said in (
        (["person"], 1.0, "“person” is identifying"),
        (["sex", "sex"], 1.0, "A column is named twice"),
        (["nothing"], 1.0, "nothing"),
        (["sex", "illness", "a", "b", "c"], 1.0, "has 5 columns"),
        (["sex"], 0.001, "out of range"),
    ):
        code, _ = table(counted, columns, epsilon=epsilon)
        assert code == ExitCode.EXPECTED_ERROR
        assert said in counted.remarks
    assert table(counted, ["sex"], "Nobody")[0] == ExitCode.EXPECTED_ERROR
    assert counted.run("table", counted.project, "--column", "sex") == ExitCode.USAGE
    assert not (counted.folder / "tables").exists()


def test_a_column_without_stated_values_is_refused(line):
    made_with(line, RULES)
    assert table(line, ["sex"])[0] == ExitCode.EXPECTED_ERROR
    assert "Column “sex” has no stated values" in line.remarks


def test_a_value_outside_the_domain_is_refused_without_telling_it(line):
    made_with(line, RULES.replace(SEX, STATED.replace('"m", ', "")))
    assert table(line, ["sex"])[0] == ExitCode.EXPECTED_ERROR
    assert "Column “sex” has values outside its domain" in line.remarks


def test_another_edition_of_the_table_has_noise_of_its_own_and_is_added(counted):
    first = made_table(counted, ["sex"])
    path = counted.folder / "ward.csv"
    path.write_text(path.read_text().replace("P011,m", "P011,f"))
    assert counted.run("source", counted.project, "--new-edition", path) == ExitCode.OK
    second = made_table(counted, ["sex"])
    assert second["noise"] != first["noise"]
    assert second["edition"] != first["edition"]
    assert second["epsilon_together"] == 2.0
    verified = ("verify", first["path"], "--project", counted.project)
    assert counted.run(*verified) == ExitCode.OK
    assert "Not recomputed: the table of that edition is not at hand." in counted.output


def test_units_have_more_noise_and_those_with_too_many_rows_are_refused(line):
    rows = ["person,home,sex,illness"]
    rows += [f"P{i:03d},H{i // 3},{'fm'[i % 2]},cold" for i in range(12)]
    (line.folder / "ward.csv").write_text("\n".join(rows) + "\n")
    home = '[columns.home]\nrole = "identifying"\n'
    rules = RULES.replace(SEX, f"{home}{STATED}")
    made_with(line, f'{rules}\n[unit]\ncolumns = ["home"]\nmost_rows = 3\n')
    told = made_table(line, ["sex"])
    assert told["rows_per_unit"] == 3
    folder = line.folder / "tables" / told["path"].rpartition("/")[2]
    facts = json.loads((folder / "datapackage.json").read_text())["sfumato"]["count_table"]
    assert 2 * 3 * facts["rate"] == pytest.approx(1.0, rel=0.01)
    assert facts["total"] is None
    assert "one unit, with its up to 3 rows" in (folder / "README.md").read_text()


@pytest.fixture
def guarded(counted):
    """Such a project in which a second person has to approve."""
    rules = counted.folder / "rules.toml"
    asking = rules.read_text().replace("format = 1", "format = 1\nneeds_approval = true")
    rules.write_text(asking)
    assert counted.run("rules", counted.project, "--apply", rules) == ExitCode.OK, counted.remarks
    counted.environment[APPROVER_VARIABLE] = "nanoseconds of wire"
    assert counted.run("approvers", counted.project, "--add", "Grace Hopper") == ExitCode.OK
    return counted


def test_a_table_of_counts_needs_an_approval_of_just_this_table(guarded):
    line = guarded
    asked = ("approve", line.project, "Clinic A")
    assert line.run(*asked) == ExitCode.OK  # of records, not of counts
    assert table(line, ["sex"])[0] == ExitCode.EXPECTED_ERROR
    assert "No second person has approved a table of counts by “sex”" in line.remarks
    assert not (line.folder / "tables").exists()
    approved = ("--column", "illness", "--column", "sex", "--epsilon", 0.5)
    assert line.run(*asked, *approved) == ExitCode.OK, line.remarks
    for other in ({"columns": ["sex"], "epsilon": 0.5}, {"columns": ["sex", "illness"]}):
        assert table(line, **other)[0] == ExitCode.EXPECTED_ERROR
    assert "is not what would be released now" in line.remarks
    told = made_table(line, ["sex", "illness"], epsilon=0.5)
    assert line.run("ledger", line.project, "--json") == ExitCode.OK
    made, _completed = json.loads(line.output)["entries"][-2:]
    assert made["details"]["approval"]["name"] == "Grace Hopper"
    assert line.run(*asked, "--column", "sex") == ExitCode.USAGE
    # A finer table whose noise it would get was released since: that was not approved.
    assert line.run(*asked, "--column", "sex", "--epsilon", 2.0) == ExitCode.OK
    assert made_table(line, ["sex"], epsilon=2.0)["added_from"] == ["illness", "sex"]
    withdrawn = ("withdraw", line.project, told["entry"], "--reason", "An old extract")
    assert line.run(*withdrawn) == ExitCode.OK, line.remarks
    assert table(line, ["sex", "illness"], epsilon=0.5, out="again")[0] == ExitCode.EXPECTED_ERROR


def test_a_withdrawn_table_of_counts_is_told_and_goes_on_counting(counted):
    told = made_table(counted, ["sex"])
    asked = ("withdraw", counted.project, told["entry"], "--reason")
    assert counted.run(*asked, " ") == ExitCode.EXPECTED_ERROR
    assert counted.run(*asked, "An old extract") == ExitCode.OK, counted.remarks
    assert "The release to Clinic A of" in counted.output
    assert counted.run(*asked, "Again") == ExitCode.EXPECTED_ERROR
    assert "already" in counted.remarks
    assert counted.run("table", counted.project) == ExitCode.OK
    assert "“An old extract”; it goes on counting" in counted.output
    assert "Clinic A has ε = 1 of a record in all." in counted.output
    for path in (told["path"], f"{told['path']}/counts.csv"):
        assert counted.run("verify", path, "--project", counted.project) == ExitCode.CHECK_FAILED
        assert "should no longer be used" in counted.output


def test_the_readme_says_that_the_number_of_records_is_exact(counted):
    told = made_table(counted, ["sex"])
    text = (Path(told["path"]) / "README.md").read_text(encoding="utf-8")
    with (counted.folder / "ward.csv").open(newline="", encoding="utf-8") as file:
        rows = sum(1 for _ in csv.DictReader(file))
    assert f"The number of records is exact: {rows}." in text


def stated_limit(line, most):
    rules = line.folder / "rules.toml"
    rules.write_text(rules.read_text().replace("format = 1", f"format = 1\nmost_epsilon = {most}"))
    assert line.run("rules", line.project, "--apply", rules) == ExitCode.OK, line.remarks


def checked(line, columns, recipient="Clinic A", epsilon=1.0):
    named = [word for column in columns for word in ("--column", column)]
    asked = ("table", line.project, *named, "--recipient", recipient, "--epsilon", epsilon)
    code = line.run(*asked, "--check", "--json")
    return code, json.loads(line.output)


@pytest.mark.slow
def test_before_a_table_is_made_epsilon_is_summed_over_records_and_tables_that_left(counted):
    out = counted.folder / "bundles"
    for name in ("Clinic A", "Institute B"):
        asked = ("release", counted.project, "--recipient", name, "--out", out)
        assert counted.run(*asked, "--accept", "A test") == ExitCode.OK, counted.remarks
    # A retention of 0.6 among 4 values: γ = 1 + 4 · 0.6 / 0.4; the other is at ε = 1.
    clinic, institute = math.log(7.0), 1.0
    code, told = checked(counted, ["sex"])
    (total,) = (one for one in told["findings"] if one["check"] == "ε in all")
    assert code == ExitCode.OK
    assert told["verdict"] == "good"
    said = "With this table Clinic A has ε = {} of one record in all: {} by released records and 1"
    assert said.format(f"{clinic + 1:.4g}", f"{clinic:.4g}") in total["finding"]
    assert f"All recipients together have {clinic + 1:.4g}" in total["finding"]
    assert not (counted.folder / "tables").exists()
    made_table(counted, ["sex"], "Institute B", 0.5)
    (total,) = checked(counted, ["illness"], "Institute B", 2.0)[1]["findings"]
    assert f"Institute B has ε = {institute + 2.5:.4g} of one record" in total["finding"]
    assert f"together have {clinic + 2.5:.4g}" in total["finding"]


def test_above_the_project_s_limit_a_table_needs_a_reason_which_the_ledger_keeps(counted):
    stated_limit(counted, 1.5)
    made_table(counted, ["sex"])
    code, told = checked(counted, ["illness"], "Institute B")
    assert (code, told["verdict"]) == (ExitCode.CHECK_FAILED, "danger")
    assert "together have 2" in told["findings"][0]["finding"]
    assert "The project allows 1.5." in told["findings"][0]["finding"]
    assert table(counted, ["illness"], "Institute B")[0] == ExitCode.EXPECTED_ERROR
    assert "Not ready to release to Institute B. With this table" in counted.remarks
    assert len(list((counted.folder / "tables").iterdir())) == 1
    # The same table again, and at a lower ε for another recipient, add nothing.
    assert checked(counted, ["sex"])[0] == ExitCode.OK
    assert "adds nothing" in checked(counted, ["sex"])[1]["findings"][0]["finding"]
    asked = ("--column", "illness", "--recipient", "Institute B", "--epsilon", 1.0)
    out = ("--out", counted.folder / "tables", "--accept", "The ministry asks for it")
    assert counted.run("table", counted.project, *asked, *out) == ExitCode.OK, counted.remarks
    assert counted.run("ledger", counted.project, "--json") == ExitCode.OK
    entries = json.loads(counted.output)["entries"]
    (kept,) = (one["details"]["accepted"] for one in entries if one["details"].get("accepted"))
    assert kept[0]["reason"] == "The ministry asks for it"


def test_tables_made_before_rows_belonged_together_count_once_for_each_row(line):
    rows = ["person,home,sex,illness"]
    rows += [f"P{i:03d},H{i // 3},{'fm'[i % 2]},cold" for i in range(12)]
    (line.folder / "ward.csv").write_text("\n".join(rows) + "\n")
    home = '[columns.home]\nrole = "identifying"\n'
    made_with(line, RULES.replace(SEX, f"{home}{STATED}"))
    made_table(line, ["sex"], epsilon=0.5)
    rules = line.folder / "rules.toml"
    rules.write_text(f'{rules.read_text()}\n[unit]\ncolumns = ["home"]\nmost_rows = 3\n')
    assert line.run("rules", line.project, "--apply", rules) == ExitCode.OK, line.remarks
    told = made_table(line, ["sex"], "Institute B")
    assert told["epsilon_together"] == pytest.approx(3 * 0.5 + 1.0)
    assert "all rows with the same home" in told["readiness"]["findings"][0]["finding"]


@pytest.mark.parametrize("most", ["0", "-1", "inf", '"much"'])
def test_a_limit_that_is_none_is_refused_by_its_key(line, most):
    (line.folder / "rules.toml").write_text(
        RULES.replace("format = 1", f"format = 1\nmost_epsilon = {most}")
    )
    assert line.init() == ExitCode.EXPECTED_ERROR
    assert "most_epsilon" in line.remarks


def test_the_workbook_read_back_has_counts_margins_table_and_how_to_read_them(counted):
    told = made_table(counted, ["sex", "illness"])
    path = Path(told["path"])
    book = openpyxl.load_workbook(path / "counts.xlsx")
    assert book.sheetnames == ["How to read it", "Table", "Counts", "Margins"]
    for sheet, file in (("Counts", "counts.csv"), ("Margins", "margins.csv")):
        head, *rows = ([*row] for row in book[sheet].iter_rows(values_only=True))
        known = read(path / file)
        assert head == list(known[0])
        said = [["" if cell is None else str(cell) for cell in row] for row in rows]
        assert [[*map(_plainly, row)] for row in said] == [
            [*map(_plainly, row.values())] for row in known
        ]
    head, *rows = ([*row] for row in book["Table"].iter_rows(values_only=True))
    assert head == ["illness", "sex: f", "sex: m", "sex: x", "Total"]
    cells = cells_of(told)
    for name, *counts, total in rows[:-1]:
        assert counts == [cells[name, sex] for sex in "fmx"]
        assert total == sum(counts)
    assert rows[-1][1:] == [
        sum(column) for column in zip(*(row[1:] for row in rows[:-1]), strict=True)
    ]
    assert "ε = 1," in " ".join(str(row[0].value) for row in book["How to read it"])


def _plainly(text):
    try:
        return float(text)
    except ValueError:
        return text


def test_a_zip_holds_the_same_files_and_is_verified_and_known(counted):
    told = made_table(counted, ["sex"])
    named = ("--column", "sex", "--recipient", "Clinic A", "--epsilon", 1.0, "--zip", "--json")
    out = ("--out", counted.folder / "zips")
    assert counted.run("table", counted.project, *named, *out) == ExitCode.OK, counted.remarks
    zipped = Path(json.loads(counted.output)["path"])
    assert zipped.suffix == ".zip"
    with zipfile.ZipFile(zipped) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    assert packed == {one.name: one.read_bytes() for one in Path(told["path"]).iterdir()}
    asked = ("verify", zipped, "--project", counted.project)
    assert counted.run(*asked) == ExitCode.OK, counted.output
    assert "Made again from the table and the key, the counts are the same." in counted.output
    assert traced(counted, zipped)[1]["recipients"] == ["Clinic A"]
    packed["counts.csv"] = packed["counts.csv"].replace(b"f,", b"f,9", 1)
    with zipfile.ZipFile(zipped, "w") as archive:
        for name, content in packed.items():
            archive.writestr(name, content)
    assert counted.run(*asked) == ExitCode.CHECK_FAILED
    assert "Altered or missing since it was released: counts.csv." in counted.output


def traced(line, path):
    code = line.run("trace", path, "--project", line.project, "--json")
    return code, json.loads(line.output)["count_table"]


def test_a_table_is_traced_by_its_counts_unless_two_recipients_hold_the_same(counted):
    theirs = made_table(counted, ["illness", "sex"], "Clinic A", 0.7)
    other = made_table(counted, ["sex", "illness"], "Institute B", 0.3)
    assert traced(counted, theirs["path"])[1]["recipients"] == ["Clinic A"]
    lines = (Path(other["path"]) / "counts.csv").read_text().splitlines()
    found = counted.folder / "found.csv"  # in another order, one cell missing and one altered
    altered = re.sub(r",(-?\d+),", lambda one: f",{int(one[1]) + 9},", lines[3], count=1)
    found.write_text("\n".join([lines[0], altered, *reversed(lines[5:])]) + "\n")
    code, told = traced(counted, found)
    assert (code, told["recipients"]) == (ExitCode.OK, ["Institute B"])
    assert 0.5 < told["share"] < 1.0
    made_table(counted, ["sex", "illness"], "Institute B", 0.7, out="again")
    code, told = traced(counted, Path(theirs["path"]) / "counts.csv")
    assert code == ExitCode.CHECK_FAILED
    assert told["recipients"] == ["Clinic A", "Institute B"]
    assert "don't tell them apart" in told["verdict"]


@pytest.mark.slow
def test_the_audit_and_the_report_tell_what_tables_of_counts_come_to(counted):
    assert counted.run("audit", "counts", counted.project) == ExitCode.OK, counted.remarks
    assert "No table of counts was released." in counted.output
    made_table(counted, ["sex"], "Clinic A", 0.7)
    made_table(counted, ["illness"], "Institute B", 0.4)
    asked = ("audit", "counts", counted.project, "--json")
    assert counted.run(*asked, "--with", "Institute B") == ExitCode.OK, counted.remarks
    (told,) = json.loads(counted.output)
    assert told["epsilon"] == pytest.approx(0.4)
    assert counted.run(*asked) == ExitCode.OK, counted.remarks
    (told,) = json.loads(counted.output)
    assert told["epsilon"] == pytest.approx(1.1)
    assert told["right_at_most"] == pytest.approx(math.exp(1.1) / (1 + math.exp(1.1)))
    assert counted.run(*asked, "--with", "Nobody") == ExitCode.EXPECTED_ERROR
    out = counted.folder / "report.html"
    assert counted.run("report", counted.project, "--out", out) == ExitCode.OK, counted.remarks
    text = out.read_text(encoding="utf-8")
    assert "Tables of counts" in text
    assert "Tables of counts pooled" in text
    assert "ε = 1.1" in text
