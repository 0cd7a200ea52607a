"""``sfumato diversity``, ``publish`` and ``others``, with the tables of Cheong et al. 2012."""

from __future__ import annotations

import html
import json
import re

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from tests.cli.holders import paper_holder
from tests.engine.generalization.paper import published

AGE, ZIP, SALARY = "Age", "ZIP Code", "Salary Class"


@pytest.fixture
def revenue(line):
    return paper_holder(line, "Revenue", [AGE])


@pytest.fixture
def census(line):
    return paper_holder(line, "Census", [ZIP])


def figures(holder, *more):
    code = holder.run("diversity", "--json", *more)
    found = json.loads(holder.line.output)
    assert code == (ExitCode.OK if found["safe"] else ExitCode.EXPECTED_ERROR)
    return found


def beside_revenue(revenue, census):
    """Let Revenue publish, and Census know of it."""
    assert revenue.publish() == ExitCode.OK, revenue.line.remarks
    code = census.run("others", "--add", revenue.data(), "--holder", "Revenue")
    assert code == ExitCode.OK, census.line.remarks


@pytest.mark.parametrize(("name", "column"), [("Revenue", AGE), ("Census", ZIP)])
def test_each_holder_by_itself_publishes_its_table_of_table_2(line, name, column):
    holder = paper_holder(line, name, [column])
    assert figures(holder)["best"]["levels"] == {column: 1}
    assert holder.publish() == ExitCode.OK, line.remarks
    shown = holder.published()
    expected = published(column, name).frame
    assert list(shown.columns) == [column, SALARY]
    assert sorted(map(tuple, shown.to_numpy())) == sorted(map(tuple, expected.to_numpy()))
    assert line.run("verify", holder.data().parent, "--project", holder.project) == ExitCode.OK


def test_a_project_that_only_publishes_is_checked_and_asked_like_any_other(revenue):
    line = revenue.line
    assert revenue.run("check") == ExitCode.OK, line.remarks
    assert "public: ready to release" in line.output
    assert "Nobody's value can be narrowed to fewer than 2 values." in line.output
    assert line.run("audit", "questions", revenue.project) == ExitCode.OK, line.remarks
    report = line.folder / "report.html"
    assert line.run("report", revenue.project, "--out", report) == ExitCode.OK
    text = " ".join(re.sub(r"<[^>]+>", " ", report.read_text()).split())
    assert f"{AGE} quasi-identifier generalized" in text
    assert f"{SALARY} sensitive released as it is" in text
    assert "What the published table promises" in text


def test_what_no_table_can_keep_is_asked_and_not_promised(revenue):
    line, rules = revenue.line, revenue.line.folder / "more.toml"
    assert line.run("rules", revenue.project) == ExitCode.OK
    rules.write_text(re.sub(r"l = \d", "l = 4", line.output))
    assert line.run("rules", revenue.project, "--apply", rules) == ExitCode.OK, line.remarks
    assert revenue.run("check") == ExitCode.CHECK_FAILED
    assert "DANGER" in line.output
    report = line.folder / "report.html"
    assert line.run("report", revenue.project, "--out", report) == ExitCode.OK
    text = html.unescape(report.read_text())
    assert "What is asked of the published table" in text
    assert "What the published table promises" not in text


def tables_of(holder):
    """Return the lines of the last output's table, cell by cell."""
    lines = holder.line.output.splitlines()
    [head] = [place for place, line in enumerate(lines) if line.startswith("Table of")]
    return [re.split(r"\s{2,}", line) for line in lines[head + 1 :]]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_two_tables_of_table_2_together_give_a_salary_away(revenue, census):
    assert revenue.publish() == ExitCode.OK
    assert census.publish() == ExitCode.OK
    for holder in (revenue, census):
        assert revenue.run("others", "--add", holder.data(), "--holder", holder.name) == ExitCode.OK
    assert tables_of(revenue) == [
        ["Revenue", "2", "2", "2", "the cause", "Age"],
        ["Census", "2", "2", "2", "the cause", "ZIP Code"],
    ]
    assert "All tables together can tell somebody's value exactly." in revenue.line.output
    assert "the others' tables alone leave only 1." in revenue.line.output
    assert "Without the table of Census, 2 would remain." in revenue.line.output


@pytest.mark.slow
@pytest.mark.turns(1)
def test_beside_the_first_table_the_second_holder_publishes_one_that_keeps_l(revenue, census):
    beside_revenue(revenue, census)
    assert "The others' tables alone leave at least 2 of 3 values" in census.line.output
    found = figures(census, "--all")
    assert found["beside"] == ["Revenue"]
    assert (found["safe"], found["nodes"]) == (1, 3)
    assert found["best"]["levels"] == {ZIP: 2}
    assert census.publish() == ExitCode.OK, census.line.remarks
    shown = census.published()
    assert set(shown[ZIP]) == {"*"}
    assert sorted(shown[SALARY]) == sorted(pd.read_csv(revenue.data())[SALARY])
    readme = (census.data().parent / "README.md").read_text()
    assert "holds the other holders' tables and knows nothing of how many people" in readme
    for first in (set(group) for _, group in pd.read_csv(revenue.data()).groupby(AGE)[SALARY]):
        for second in (set(group) for _, group in shown.groupby(ZIP)[SALARY]):
            assert len(first & second) >= 2


@pytest.mark.slow
@pytest.mark.turns(1)
def test_levels_that_keep_l_alone_are_refused_beside_the_first_table(revenue, census):
    beside_revenue(revenue, census)
    rules = census.line.folder / "again.toml"
    assert census.run("rules") == ExitCode.OK
    text = census.line.output.replace(
        "\n[[generalization.others]]",
        f'\n[generalization.levels]\n"{ZIP}" = 1\n\n[[generalization.others]]',
    )
    rules.write_text(text, encoding="utf-8")
    assert census.run("rules", "--apply", rules) == ExitCode.OK, census.line.remarks
    assert census.document().generalization.node == (1,)
    assert census.publish() == ExitCode.EXPECTED_ERROR
    assert "don't satisfy the criteria" in census.line.remarks
    assert not census.out.exists()


def test_the_central_table_of_table_4_is_not_diverse(line):
    more = f'[generalization.levels]\n"{AGE}" = 1\n"{ZIP}" = 1\n'
    holder = paper_holder(line, "Both", [AGE, ZIP], more=more)
    assert holder.publish() == ExitCode.EXPECTED_ERROR
    assert "don't satisfy the criteria" in line.remarks
    found = figures(holder, "--all")
    levels = [tuple(each["levels"].values()) for each in found["candidates"]]
    assert sorted(levels) == [(1, 2), (2, 1), (2, 2)]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_an_l_that_the_first_table_made_impossible_is_refused_with_advice(revenue, census):
    beside_revenue(revenue, census)
    assert census.run("rules") == ExitCode.OK
    census.rules.write_text(census.line.output, encoding="utf-8")
    assert census.change("l = 2", "l = 3") == ExitCode.OK, census.line.remarks
    assert census.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "narrow somebody's value to 2 values already" in census.line.output
    assert "Choose an l of at most 2" in census.line.output
    assert "Without the table of Revenue there is a solution." in census.line.output
    assert census.publish() == ExitCode.EXPECTED_ERROR
    assert "Choose an l of at most 2" in census.line.remarks
    assert not census.out.exists()
    assert census.run("others", "--remove", "Revenue") == ExitCode.OK
    assert census.publish() == ExitCode.OK, census.line.remarks


def test_an_l_above_the_number_of_values_is_refused(line):
    holder = paper_holder(line, "Revenue", [AGE], least=4)
    assert holder.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "Choose an l from 1 to 3" in line.output
    assert holder.publish() == ExitCode.EXPECTED_ERROR
    assert "Choose an l from 1 to 3" in line.remarks


def test_where_no_level_is_safe_what_would_help_is_said(revenue):
    file = revenue.line.folder / f"{AGE}.hierarchy.csv"
    file.write_text(file.read_text(encoding="utf-8").replace(";*", ""), encoding="utf-8")
    assert revenue.change("l = 2", "l = 3") == ExitCode.OK, revenue.line.remarks
    assert revenue.run("diversity") == ExitCode.EXPECTED_ERROR
    assert "None of the 2 combinations of levels is safe." in revenue.line.output
    advice = "Give “Age” one more level with a single group, or leave it out."
    assert advice in revenue.line.output
    assert "Let 4 records be left out; now it is 0." in revenue.line.output
    assert revenue.publish() == ExitCode.EXPECTED_ERROR
    assert "No generalization satisfies the criteria." in revenue.line.remarks
    assert "Give Age one more level" in revenue.line.remarks
    assert not revenue.out.exists()


def test_candidates_are_listed_with_what_they_lose(revenue):
    assert revenue.run("diversity") == ExitCode.OK
    lines = revenue.line.output.splitlines()
    assert lines[0] == "Salary Class: distinct l-diversity (l = 2)"
    assert lines[1].startswith("2 of 3 combinations of levels are safe; the best has an average")
    assert lines[2].startswith("1 safe combination is minimal")
    assert lines[3] == "Best: Age 1"
    assert lines[-2].split("  ")[0].strip() == AGE
    assert lines[-1].split() == ["1", "1", f"{52 / 108:.4f}", "2", "0"]
    assert revenue.run("diversity", "--all") == ExitCode.OK
    assert len(revenue.line.output.splitlines()) == len(lines) + 1


def test_without_a_decision_the_proposed_one_is_searched(made):
    assert made.run("diversity", made.project) == ExitCode.EXPECTED_ERROR
    assert "nothing to generalize" in made.remarks
    assert made.run("publish", made.project, "--out", made.folder / "out") == (
        ExitCode.EXPECTED_ERROR
    )
    assert "Nothing is decided" in made.remarks
    assert made.run("hierarchy", made.project, "--column", "sex", "--propose") == ExitCode.OK
    assert made.run("diversity", made.project) == ExitCode.EXPECTED_ERROR
    assert "this is what is proposed" in made.remarks
    assert "illness: k-anonymity (k = 5); distinct l-diversity (l = 3)" in made.output
    assert "Choose an l from 1 to 2" in made.output


def test_publishing_beside_a_perturbed_release_needs_a_reason(released):
    assert released.run("hierarchy", released.project, "--column", "sex", "--propose") == 0
    rules = released.folder / "more.toml"
    assert released.run("rules", released.project) == ExitCode.OK
    section = '[generalization]\nsensitive = "illness"\nquasi_identifiers = ["sex"]\n'
    more = 'criteria = [{ kind = "distinct-diversity", l = 2 }]\n'
    rules.write_text(released.output + section + more)
    assert released.run("rules", released.project, "--apply", rules) == 0, released.remarks
    before = released.bundles()
    publish = ("publish", released.project, "--out", released.folder / "out")
    assert released.run(*publish) == ExitCode.EXPECTED_ERROR
    assert "perturbed for Clinic A" in released.remarks
    assert released.bundles() == before
    assert released.run(*publish, "--zip", "--override", "Clinic A gave it back") == 0
    assert released.output.strip().endswith(".zip")
    assert released.run("ledger", released.project) == ExitCode.OK


# ----- other holders' tables


def spelled(line, **spelling):
    """A table of Revenue in which salaries are spelled differently."""
    frame = published(AGE, "Revenue").frame.replace({SALARY: spelling})
    path = line.folder / "spelled.csv"
    frame.assign(number=range(12)).rename(columns={SALARY: "Salary"}).to_csv(path, index=False)
    return path


def test_values_that_differ_in_case_only_are_mapped_and_said(census):
    path = spelled(census.line, High="HIGH", Low=" low")
    add = ("others", "--add", path, "--holder", "Revenue", "--sensitive", "Salary")
    assert census.run(*add, "--quasi", "Age") == ExitCode.OK, census.line.remarks
    assert "There HIGH is here High." in census.line.remarks
    [other] = census.document().generalization.others
    assert dict(other.spelling)["HIGH"] == "High"
    assert other.quasi_identifiers == (AGE,)
    assert figures(census)["best"]["levels"] == {ZIP: 2}


def test_values_that_nobody_knows_are_asked_for(census):
    path = spelled(census.line, High="top", Middle="so=so")
    add = ("others", "--add", path, "--sensitive", "Salary", "--quasi", "Age")
    assert census.run(*add) == ExitCode.EXPECTED_ERROR
    assert "Not known here: so=so; top." in census.line.remarks
    assert "Ours are: High; Middle; Low." in census.line.remarks
    assert census.document().generalization.others == ()
    assert census.run(*add, "--value", "top=Highest") == ExitCode.EXPECTED_ERROR
    assert "--value number 1" in census.line.remarks
    known = ("--value", "top=High", "--value", "so=so=Middle")
    assert census.run(*add, *known) == ExitCode.OK, census.line.remarks
    [other] = census.document().generalization.others
    assert set(other.spelling) == {("top", "High"), ("so=so", "Middle")}
    assert other.holder == "spelled"


def test_a_table_without_the_sensitive_attribute_is_refused(census):
    path = spelled(census.line)
    assert census.run("others", "--add", path) == ExitCode.EXPECTED_ERROR
    assert "no column “Salary Class”" in census.line.remarks
    assert "--sensitive COLUMN" in census.line.remarks
    code = census.run("others", "--add", path, "--sensitive", "Salary", "--quasi", "Agee")
    assert code == ExitCode.EXPECTED_ERROR
    assert "no column Agee" in census.line.remarks
    gone = census.line.folder / "gone.csv"
    assert census.run("others", "--add", gone) == ExitCode.EXPECTED_ERROR
    assert census.document().generalization.others == ()


def test_the_list_of_holders_is_json_too_and_can_be_emptied(revenue, census):
    assert census.run("others") == ExitCode.OK
    assert "no tables of other holders" in census.line.remarks
    beside_revenue(revenue, census)
    assert census.run("others", "--json") == ExitCode.OK
    found = json.loads(census.line.output)
    assert (found["left"], found["values"], found["asked"]) == (2, 3, 2)
    [other] = found["others"]
    assert other["classes"] == other["l"] == 2
    assert census.run("others", "--remove", "Revenu") == ExitCode.EXPECTED_ERROR
    assert "Did you mean Revenue" in census.line.remarks
    assert census.run("others", "--remove", "Revenue") == ExitCode.OK
    assert census.document().generalization.others == ()
    assert census.run("others", "--holder", "Revenue") == ExitCode.USAGE


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_table_that_changed_or_went_is_told(revenue, census):
    beside_revenue(revenue, census)
    file = revenue.data()
    text = file.read_bytes()
    file.write_bytes(text + b"<40,Low\n")
    for command in (("diversity",), ("others",), ("publish", "--out", census.out)):
        assert census.run(*command) == ExitCode.EXPECTED_ERROR
        assert "table of Revenue changed" in census.line.remarks
    file.unlink()
    assert census.publish() == ExitCode.EXPECTED_ERROR
    assert "table of Revenue is not at" in census.line.remarks
    assert census.run("others", "--remove", "Revenue") == ExitCode.OK
    assert census.publish() == ExitCode.OK


# ----- the population


def register(line, ages, name="register.csv"):
    path = line.folder / name
    pd.DataFrame({AGE: ages}).to_csv(path, index=False)
    return path


def test_the_risk_is_told_and_counted_in_a_population_that_the_project_remembers(revenue):
    risk = figures(revenue)["risk"]
    assert risk["basis"] == "table"
    assert (risk["after"]["prosecutor"], risk["after"]["journalist"]) == (1 / 4, 1 / 4)
    own = [60, 50, 55, 50, 48, 43, 25, 37, 57, 57, 18, 22]
    path = register(revenue.line, [*own, *[60] * 8, *[20] * 6, "young"])
    assert revenue.run("diversity", "--population", path) == ExitCode.OK
    assert "anybody at all (journalist), at most: 1, then 0.25" in revenue.line.output
    assert "Column “Age”: its hierarchy does not know 7 cells" in revenue.line.remarks
    assert "first in row 21;" in revenue.line.remarks
    assert "young" not in revenue.line.output + revenue.line.remarks
    found = figures(revenue)["risk"]
    assert (found["basis"], found["people"]) == ("counted", 27)
    assert found["after"]["marketer"] == pytest.approx((8 / 16 + 4 / 4) / 12)
    assert revenue.document().generalization.population.path == str(path)
    assert revenue.run("diversity", "--no-population") == ExitCode.OK
    assert "Nothing is known of the population" in revenue.line.output


def test_a_publication_keeps_the_risk_and_the_report_tells_it(revenue):
    assert revenue.publish("--sampling-fraction", "0.1") == ExitCode.OK, revenue.line.remarks
    assert revenue.document().generalization.sampling_fraction == 0.1
    out = revenue.line.folder / "report.html"
    assert revenue.run("report", "--out", out) == ExitCode.OK, revenue.line.remarks
    text = out.read_text(encoding="utf-8")
    assert "The risk of being found" in text
    assert "a sample of 10 % of the population" in text
    assert line_of(text, "Prosecutor") == ["100 %", "25 %"]
    assert revenue.run("report", "--for", "outside", "--out", out) == ExitCode.OK
    assert line_of(out.read_text(encoding="utf-8"), "Prosecutor") == ["25 %"]


def line_of(page, name):
    """The numbers beside a name in a table of a page."""
    row = next(row for row in re.findall(r"<tr>.*?</tr>", page, re.S) if name in row)
    cells = [html.unescape(re.sub(r"<.*?>", "", cell)) for cell in re.findall(r"<td.*?</td>", row)]
    return [re.sub(r"\s", " ", cell) for cell in cells[1:]]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--sampling-fraction", "1.5"), "The sampling fraction is 1.5."),
        (("--population", "table.csv"), "The population has no column “Age”."),
        (("--population", "nowhere.csv"), "There is no file"),
    ],
)
def test_a_population_that_does_not_fit_is_refused(revenue, arguments, said):
    option, value = arguments
    if option == "--population":
        (revenue.line.folder / "table.csv").write_text("years,sex\n1,f\n", encoding="utf-8")
        value = revenue.line.folder / value
    assert revenue.run("diversity", option, value) == ExitCode.EXPECTED_ERROR
    assert said in revenue.line.remarks
    assert revenue.document().generalization.population is None


# ----- bundles of others


@pytest.mark.few(1)
@pytest.mark.parametrize("packed", [(), ("--zip",)])
def test_a_bundle_is_taken_as_it_was_published(revenue, census, packed):
    assert revenue.publish(*packed) == ExitCode.OK, revenue.line.remarks
    [bundle] = revenue.out.iterdir()
    code = census.run("others", "--add", bundle, "--holder", "Revenue")
    assert code == ExitCode.OK, census.line.remarks
    assert [(*row[:3], row[-1]) for row in tables_of(census)] == [("Revenue", "2", "2", "Age")]
    [other] = census.document().generalization.others
    assert other.quasi_identifiers == (AGE,)
    assert other.path == str(bundle if packed else bundle / "data.csv")
    assert figures(census)["best"]["levels"] == {ZIP: 2}
    assert census.publish() == ExitCode.OK, census.line.remarks
