"""Each question is asked of one project through the window, the command line and the report.

The project has an adopted release, an attribute whose records are protected in groups, numbers
with noise, and a generalized table beside another holder's: the same figures come out.
"""

from __future__ import annotations

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from PySide6.QtWidgets import QLabel

from sfumato.analysis.questions import question_called
from sfumato.analysis.unperturbed.open_columns import figure_sentences
from sfumato.commands.shared.command import PASSPHRASE_VARIABLE
from sfumato.engine.core.progress import Silent
from sfumato.project.project_file import ProjectFile
from sfumato.project.source import open_source
from sfumato.report.blocks import Paragraph, ReportGrid
from sfumato.report.material import ReportOptions, collect
from sfumato.report.sections import compose
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.audit.pages.answer import page_of
from sfumato.ui.panels.audit.pages.coalition import CoalitionPage
from sfumato.ui.panels.audit.pages.count_queries import CountQueriesPage
from sfumato.ui.panels.audit.pages.diversity import DiversityPage
from sfumato.ui.panels.audit.pages.group_risk import GroupRiskPage
from sfumato.ui.panels.audit.pages.leak import LeakPage
from sfumato.ui.panels.audit.pages.numbers import NumbersPage
from sfumato.ui.panels.releases import PANEL as RELEASES
from sfumato.ui.state.insights import SurveyedTable
from tests.cli.conftest import CommandLine
from tests.in_batches import in_batches
from tests.project.adopting import ILLNESSES, randomized
from tests.project.making import CHEAP, PASSPHRASE, noon
from tests.row_order import in_table_order
from tests.ui.clinic import wait_for_jobs
from tests.ui.hands import choose

ROWS = 600
RECIPIENTS = ("Clinic A", "Institute B")
EVERYBODY = ("Old Clinic", *RECIPIENTS)
RULES = """\
format = 1
title = "Ward 7"
record_key = "person"

[columns.person]
role = "identifying"

[columns.sex]
role = "quasi-identifier"

[columns.town]
role = "quasi-identifier"

[columns.illness]
role = "sensitive"
kind = "categorical"
values = [ILLNESSES]

[columns.therapy]
role = "sensitive"
kind = "categorical"
values = ["drug", "rest", "none"]

[columns.weight]
role = "sensitive"
kind = "numeric"

[hierarchies.sex]
file = "sex.hierarchy.csv"

[hierarchies.town]
file = "town.hierarchy.csv"

[[policy]]
attributes = ["illness"]
mechanism = "uniform"

[[policy]]
attributes = ["therapy"]
mechanism = "reconstruction"
[policy.settings]
epsilon = 0.3
delta = 0.17
sampling = "blind"
retention_probability = 0.5
public = ["sex", "town"]

[[policy]]
attributes = ["weight"]
mechanism = "gaussian"

[generalization]
sensitive = "illness"
quasi_identifiers = ["sex", "town"]
criteria = [{ kind = "distinct-diversity", l = 2 }]

[[recipients]]
name = "Clinic A"
[recipients.levels]
illness = { retention_probability = 0.5 }
therapy = { retention_probability = 0.5 }
weight = { sigma_squared = 0.25 }

[[recipients]]
name = "Institute B"
[recipients.levels]
illness = { retention_probability = 0.2 }
therapy = { retention_probability = 0.2 }
weight = { sigma_squared = 1.0 }
"""


def ward() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    town = rng.choice(["Ayton", "Beeford", "Ceton"], ROWS)
    flu = (town == "Ayton") & (rng.random(ROWS) < 0.7)
    return pd.DataFrame(
        {
            "person": [f"P{place:03d}" for place in range(ROWS)],
            "sex": rng.choice(["f", "m"], ROWS),
            "town": town,
            "illness": np.where(flu, "flu", rng.choice(ILLNESSES, ROWS)),
            "therapy": rng.choice(["drug", "rest", "none"], ROWS, p=[0.6, 0.3, 0.1]),
            "weight": rng.normal(70.0, 12.0, ROWS).round(1),
        }
    )


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    """The command line beside a project from which everything was released."""
    folder = tmp_path_factory.mktemp("three ways")
    made = CommandLine(folder, {PASSPHRASE_VARIABLE: PASSPHRASE})
    frame = ward()
    frame.to_csv(folder / "ward.csv", index=False)
    (folder / "rules.toml").write_text(
        RULES.replace("ILLNESSES", ", ".join(f'"{name}"' for name in ILLNESSES))
    )
    (folder / "sex.hierarchy.csv").write_text("f;*\nm;*")
    towns = ("Ayton;South;*", "Beeford;North;*", "Ceton;North;*")
    (folder / "town.hierarchy.csv").write_text("\n".join(towns))
    earlier = frame[["person"]].assign(illness=randomized(frame["illness"], 0.8, 3))
    earlier.to_csv(folder / "earlier.csv", index=False)
    frame[["sex", "illness"]].to_csv(folder / "registry.csv", index=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(ProjectFile.create.__func__.__kwdefaults__, "cost", CHEAP)
        make(made)
    return made


def make(made):
    folder = made.folder
    for arguments in (
        ("init", made.project, "--table", folder / "ward.csv", "--rules", folder / "rules.toml"),
        (
            *("adopt", made.project, "--attribute", "illness", "--file", folder / "earlier.csv"),
            *("--level", "0.8", "--match", "key", "--holder", "Old Clinic"),
        ),
        ("others", made.project, "--add", folder / "registry.csv", "--holder", "Registry"),
        *(
            (
                *("release", made.project, "--recipient", name, "--out", folder / "out"),
                *("--accept", "a test"),
            )
            for name in RECIPIENTS
        ),
        ("publish", made.project, "--out", folder / "open", "--override", "The same people"),
    ):
        assert made.run(*arguments) == 0, made.remarks


@pytest.fixture(scope="module")
def material(line):
    """What a report of the project tells of."""
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        table, _ = open_source(project.document, Silent(), beside=line.folder)
        return collect(project, in_batches(table), noon, Silent())


@pytest.fixture
def opened(qtbot, session, line):
    """The session that has the project open, and a way to see one of its pages."""
    # A command can't read what a window has open, so this one has a copy beside it.
    copy = line.folder / "window.sfumato"
    shutil.copyfile(line.project, copy)
    project = ProjectFile.open(copy, PASSPHRASE)
    table, document = open_source(project.document, Silent(), beside=line.folder)
    session.set_project(project)
    session.attach_table(SurveyedTable.of(in_batches(table)), document)
    wait_for_jobs(qtbot, session)

    def see(kind):
        page = kind(session)
        qtbot.addWidget(page)
        page.resize(900, 900)
        page.show()
        wait_for_jobs(qtbot, session)
        return page

    return see


def asked(line, *arguments):
    """What a command answers, as plain JSON values."""
    assert line.run(*arguments, "--json") == 0, line.remarks
    return json.loads(line.output)


def members():
    return [part for name in EVERYBODY for part in ("--with", name)]


def section(material, title):
    report = compose(material, ReportOptions())
    return next(each for each in report.sections if title in each.title)


def texts(blocks):
    """Return the paragraphs, without the marks in which the report sets columns' names apart."""
    told = " ".join(block.text for block in blocks if isinstance(block, Paragraph))
    return told.replace("“", "").replace("”", "")


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["illness", "therapy"])
def test_what_a_coalition_learns(qtbot, opened, line, attribute):
    page = opened(CoalitionPage)
    choose(page.entry, attribute)
    wait_for_jobs(qtbot, page.session)
    coalition = [held.recipient for held in page.model.coalition]
    assert coalition == [n for n in EVERYBODY if attribute == "illness" or n in RECIPIENTS]
    window = page.bars.figure.data
    found = asked(line, "audit", "coalition", line.project, *members(), "--released")
    told = next(each for each in found if each["attributes"] == attribute)
    assert told["members"] == coalition
    alone = dict(zip(window["who"], window["restored"], strict=True))
    assert {name: alone[name] for name in coalition} == pytest.approx(told["guessed"]["alone"])
    apart = window.loc[window["noise"] == "independent", "restored"].tolist()
    assert told["guessed"]["independent"] in [pytest.approx(share) for share in apart]


@pytest.mark.slow
def test_what_is_in_the_files_as_released(qtbot, opened, line):
    page = opened(CoalitionPage)
    choose(page.entry, "illness")
    wait_for_jobs(qtbot, page.session)
    wait_for_jobs(qtbot, page.session)
    found = asked(line, "audit", "coalition", line.project, *members(), "--released")
    told = next(each for each in found if each["attributes"] == "illness")["realized"]
    assert told["released"]
    text = page.files.sentence.text()
    for share in ("average", "likely", "certain", "best guess"):
        assert f"{100 * told[share]:.1f}\u202f%" in text
    assert f"{told['compared']} of {told['records']} records" in page.files.agreement.text()


@pytest.mark.slow
def test_how_closely_numbers_can_be_told(opened, line):
    page = opened(NumbersPage)
    [found] = asked(line, "audit", "numbers", line.project, *members()[2:], "--released")
    assert [held.recipient for held in page.model.coalition] == found["members"]
    window = page.copies.figure.data
    for how in ("ladder", "independent"):
        column = next(name for name in window.columns if how in name)
        assert window[column].tolist() == pytest.approx(found["linear"][how])
    bayes = page.bayes.figure.data
    shown = bayes.select_dtypes("number").to_numpy().ravel().tolist()
    for errors in found["bayes"].values():
        for [error] in errors:
            assert any(error == pytest.approx(each) for each in shown)


@pytest.mark.slow
def test_what_open_columns_tell(qtbot, opened, line):
    found = asked(line, "audit", "open", line.project)["figures"]
    assert {each["attribute"] for each in found} == {"illness", "therapy", "weight"}
    page = opened(CoalitionPage)
    choose(page.entry, "illness")
    wait_for_jobs(qtbot, page.session)
    answer = page.session.open_columns()
    assert [figure.plain() for figure in answer.all_figures] == found
    best = page.model.coalition[0].recipient
    noted = answer.beside("illness", best)
    assert page.open_note.text() == " ".join(
        typeset(sentence) for sentence in figure_sentences(noted)
    )
    choose(page.entry, "therapy")
    wait_for_jobs(qtbot, page.session)
    [figure] = answer.beside("therapy", "Clinic A")
    assert typeset(figure.sentence) in page.open_note.text()


@pytest.mark.slow
@pytest.mark.parametrize("attribute", ["illness", "therapy"])
def test_which_small_groups_are_given_away(qtbot, opened, line, material, attribute):
    page = opened(GroupRiskPage)
    choose(page.bar.attribute, attribute)
    found = asked(line, "risk", line.project, "--attribute", attribute)
    grid = next(
        block
        for block in section(material, attribute).blocks
        if isinstance(block, ReportGrid) and "Groups estimated closely" in block.header
    )
    for told, row in zip(found["recipients"], grid.rows, strict=True):
        choose(page.bar.recipient, told["recipient"])
        wait_for_jobs(qtbot, page.session)
        groups = int(told["violating_groups"])
        assert row[:3] == (told["recipient"], str(groups), str(told["groups"]))
        given = re.match(r"In (none|\d+) of", page.sentence.text())
        assert given is not None, page.sentence.text()
        assert given[1] == (str(groups) if groups else "none")
        assert page.shown.tables[0].model().rowCount() == told["groups"]
    limits = {name: field.value for name, field in page.fields.items()}
    assert {**limits, "rule": page.rule.value} == {
        name: found[name] for name in ("epsilon", "delta", "rule")
    }


@pytest.mark.slow
def test_what_count_queries_answer(qtbot, opened, line):
    page = opened(CountQueriesPage)
    choose(page.bar.attribute, "illness")
    wait_for_jobs(qtbot, page.session)
    choose(page.form.conditions["town"], "Ayton")
    choose(page.form.value, ILLNESSES.index("flu"))
    about = ("query", line.project, "--attribute", "illness")
    found = asked(line, *about, "--value", "flu", "--where", "town=Ayton")
    assert page.sentence.text().startswith(f"{found['truth']} of the {found['matching']} records")
    window = page.estimates.figure.data
    numbers = window.select_dtypes("number").to_numpy().ravel().tolist()
    for each in found["answers"]:
        assert each["recipient"] in set(window.iloc[:, 0])
        for figure in ("estimate", "low", "high"):
            assert any(each[figure] == pytest.approx(number) for number in numbers)
    pool = asked(line, *about, "--pool")
    shown = page.errors.figure.data.select_dtypes("number").to_numpy().ravel().tolist()
    for each in pool["errors"]:
        assert any(each["mean"] == pytest.approx(number) for number in shown)


def test_what_is_counted_of_a_release_fitted_to_an_adopted_one_is_in_its_file(line):
    """The estimates rest on the very files, which follow the earlier release."""
    about = ("query", line.project, "--attribute", "illness", "--value", "flu")
    found = asked(line, *about, "--where", "town=Ayton")
    frame = ward()
    here = (frame["town"] == "Ayton").to_numpy()
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        read, _ = open_source(project.document, Silent(), beside=line.folder)
        table = read.in_memory(Silent())
        for each in found["answers"]:
            [path] = [
                path
                for path in (line.folder / "out").iterdir()
                if each["recipient"].split()[0] in path.name
            ]
            shown = in_table_order(project, path, table)["illness"].astype(str).to_numpy()
            assert each["observed"] == (shown[here] == "flu").sum()


@pytest.mark.slow
@pytest.mark.turns(1)
def test_what_other_holders_tables_leave(opened, line, material):
    page = opened(DiversityPage)
    found = asked(line, "others", line.project, "--with-ours")
    assert page.found is not None
    assert page.found.others_leave == found["left"]
    assert page.found.standing.weakest == found["ours"]["left"]
    assert len(page.found.breaches) == found["ours"]["combinations"]
    [registry] = found["others"]
    rows = page.holders.tables[0].model()
    cells = [str(rows.index(0, place).data()) for place in range(6)]
    assert cells[0] == "Registry"
    assert cells[1:4] == [str(registry[n]) for n in ("classes", "l", "left_without")]
    blocks = section(material, "Beside other holders").blocks
    [grid] = [block for block in blocks if isinstance(block, ReportGrid)]
    assert list(grid.rows[0]) == cells
    told = f"{page.sentence.text()} {page.explanation.text()}"
    for sentence in found["answer"]:
        assert sentence in texts(blocks)
        assert typeset(sentence) in told.replace("“", "").replace("”", "")


@pytest.mark.slow
@pytest.mark.turns(1)
def test_how_many_records_are_unique(qtbot, opened, line, material):
    panel = opened(RELEASES)
    wait_for_jobs(qtbot, panel.session)
    found = next(each for each in panel.readiness.found if each.recipient == "Clinic A")
    said = next(str(one.sentence) for one in found.findings if " unique on " in one.sentence)
    assert any(typeset(said) in label.text() for label in panel.readiness.findChildren(QLabel))
    sentence = re.sub(r"\s+", " ", said)
    start = re.match(r"(?:No record is|[\d,]+ of [\d,]+ records (?:is|are)) unique on", sentence)
    assert start is not None, sentence
    [bundle] = [path for path in (line.folder / "out").iterdir() if "Clinic" in path.name]
    readme = re.sub(r"\s+", " ", next(bundle.glob("README*")).read_text(encoding="utf-8"))
    assert start[0] in readme
    assert start[0] in texts(section(material, "The table").blocks)


@pytest.mark.slow
def test_which_leak_it_is(qtbot, opened, line, tmp_path):
    [bundle] = [path for path in (line.folder / "out").iterdir() if "Institute" in path.name]
    leak = tmp_path / "found.csv"
    pd.read_csv(bundle / "data.csv").sample(200, random_state=1).to_csv(leak, index=False)
    page = opened(LeakPage)
    page.trace(leak)
    wait_for_jobs(qtbot, page.session)
    assert line.run("trace", leak, "--project", line.project) == 0, line.remarks
    assert "Institute B" in page.finding.verdict.text()
    assert page.finding.verdict.text() in line.output


@pytest.mark.slow
def test_what_a_single_record_shows_is_in_the_files(qtbot, opened, line):
    page = opened(page_of(question_called("record")))
    choose(page.bar.attribute, "illness")
    page.fields["row"].spin.setValue(17)
    page.fields["row"].spin.editingFinished.emit()
    wait_for_jobs(qtbot, page.session)
    model = page.shown.tables[0].model()
    seen = {model.index(r, 0).data(): model.index(r, 2).data() for r in range(model.rowCount())}
    with ProjectFile.open(line.project, PASSPHRASE, read_only=True) as project:
        read, _ = open_source(project.document, Silent(), beside=line.folder)
        table = read.in_memory(Silent())
        for name in RECIPIENTS:
            [path] = [p for p in (line.folder / "out").iterdir() if name.split()[0] in p.name]
            shown = in_table_order(project, path, table)["illness"]
            assert seen[name] == shown.iloc[16]
