"""``sfumato trace``."""

from __future__ import annotations

import json
import zipfile

import pandas as pd
import pytest

from sfumato.commands.shared.command import ExitCode
from sfumato.project.ledger import EntryKind
from tests.formats.workbooks import hiding
from tests.project.making import table


@pytest.fixture
def large(line):
    """The command line with a project of 480 rows: enough to tell one release from another.

    Of rows that are known by the sex alone they would not be: a perturbation with any other key has
    as many of each illness.
    """
    frame = pd.concat([table().frame] * 40, ignore_index=True)
    frame["sex"] = frame["sex"].astype(str) + (frame.index // 4 % 60).astype(str)
    frame["person"] = [f"p{row}" for row in range(len(frame))]
    frame.to_csv(line.folder / "ward.csv", index=False, lineterminator="\n")
    assert line.init() == ExitCode.OK, line.remarks
    return line


@pytest.mark.few(1)
@pytest.mark.parametrize("recipient", ["Clinic A", "Institute B"])
def test_a_bundle_is_traced_to_its_recipient(large, recipient):
    assert large.release(recipient) == ExitCode.OK
    (bundle,) = large.bundles()
    assert large.run("trace", bundle, "--project", large.project) == ExitCode.OK
    assert "480 rows" in large.output
    named = [text for text in large.output.splitlines() if text.startswith("source")]
    assert [recipient in text for text in named] == [True]
    assert "withdrawn" not in large.output
    assert large.run("ledger", large.project, "--json") == ExitCode.OK
    [number] = [
        each["number"]
        for each in json.loads(large.output)["entries"]
        if each["kind"] == EntryKind.RELEASE_PREPARED
    ]
    assert large.run("withdraw", large.project, str(number), "--reason", "Wrong") == ExitCode.OK
    assert large.run("trace", bundle, "--project", large.project) == ExitCode.OK
    told = f"Still counted: the release to {recipient}, withdrawn on"
    assert told in large.output
    code = large.run("audit", "coalition", large.project, "--with", recipient)
    assert code == ExitCode.OK, large.remarks
    assert told in large.output


def test_too_few_rows_name_nobody(made):
    assert made.release("Clinic A") == ExitCode.OK
    (bundle,) = made.bundles()
    code = made.run("trace", bundle, "--project", made.project)
    assert code == ExitCode.CHECK_FAILED
    assert "12 rows" in made.output
    assert "\nsource" not in made.output


def test_figures_are_printed_as_json(made):
    made.release("Clinic A")
    (bundle,) = made.bundles()
    made.run("trace", bundle, "--project", made.project, "--json")
    found = json.loads(made.output)
    assert found["mixed_by"] is None
    assert found["rows"] == 12
    assert {release["recipients"] for release in found["releases"]} == {"Clinic A", "Institute B"}


def test_a_file_without_the_perturbed_columns_is_refused(made):
    found = made.folder / "found.csv"
    pd.DataFrame({"sex": ["f"], "city": ["X"]}).to_csv(found, index=False)
    assert made.run("trace", found, "--project", made.project) not in {0, ExitCode.CHECK_FAILED}
    assert "none of the perturbed columns (“illness”)" in made.remarks


@pytest.mark.few(1)
@pytest.mark.parametrize("part", ["data.csv", "datapackage.json"])
def test_a_bundle_is_verified_by_a_file_in_it(released, part):
    (bundle,) = released.bundles()
    path = bundle / part
    assert released.run("verify", path, "--project", released.project) == ExitCode.OK
    assert "ok    Source table" in released.output


def test_a_lone_file_is_verified_by_its_bytes(released):
    (bundle,) = released.bundles()
    lone = released.folder / "found.csv"
    lone.write_bytes((bundle / "data.csv").read_bytes())
    assert released.run("verify", lone, "--project", released.project) == ExitCode.OK
    assert "to Clinic A" in released.output
    lone.write_bytes(lone.read_bytes()[:-20])
    code = released.run("verify", lone, "--project", released.project)
    assert code == ExitCode.CHECK_FAILED
    assert "Trace it" in released.output


@pytest.mark.slow
def test_a_zipped_lone_file_is_verified_and_traced(released):
    (bundle,) = released.bundles()
    path = released.folder / "found.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.write(bundle / "data.csv", "found.csv")
    assert released.run("verify", path, "--project", released.project) == ExitCode.OK
    released.run("trace", path, "--project", released.project)
    assert "12 rows" in released.output


@pytest.mark.slow
def test_pseudonyms_are_told_with_their_share(line):
    rules = line.folder / "rules.toml"
    marked = 'role = "identifying"\npseudonym = "each"'
    rules.write_text(rules.read_text().replace('role = "identifying"', marked))
    assert line.init() == ExitCode.OK, line.remarks
    assert line.release("Clinic A") == ExitCode.OK, line.remarks
    (bundle,) = line.bundles()
    found = line.folder / "found.csv"
    few = pd.read_csv(bundle / "data.csv")[["person"]][:4]
    pd.concat([few, pd.DataFrame({"person": ["unknown"]})]).to_csv(found, index=False)
    assert line.run("trace", found, "--project", line.project) == ExitCode.OK, line.remarks
    given = "Pseudonyms of “person” that Clinic A alone is given stand in 4 of the 5 rows (80 %)"
    assert given in line.output
    line.run("trace", found, "--project", line.project, "--json")
    (match,) = json.loads(line.output)["pseudonyms"]
    assert match == {
        "column": "person",
        "of": "person",
        "recipients": ["Clinic A"],
        "rows": 4,
        "share": 0.8,
    }


@pytest.mark.slow
def test_what_is_left_out_of_a_found_workbook_is_told(large):
    assert large.release("Clinic A") == ExitCode.OK
    (bundle,) = large.bundles()
    found = hiding(large.folder / "found.xlsx", pd.read_csv(bundle / "data.csv"), 5)
    assert large.run("trace", found, "--project", large.project) == ExitCode.OK
    assert "Caution: The sheet hides 5 rows" in large.output
    assert large.run("trace", found, "--project", large.project, "--json") == ExitCode.OK
    [remark] = json.loads(large.output)["remarks"]
    assert remark.startswith("The sheet hides 5 rows")


@pytest.mark.slow
def test_columns_that_a_part_of_a_release_does_not_tell_are_not_said_to_be_in_none(large):
    """Six rows whose columns have other names are a release's all the same."""
    assert large.release("Clinic A") == ExitCode.OK
    (bundle,) = large.bundles()
    part = pd.read_csv(bundle / "data.csv").head(6).assign(other="x")
    part.to_csv(large.folder / "part.csv", index=False)
    large.run("trace", large.folder / "part.csv", "--project", large.project)
    assert "Not recognized, so not compared: other." in large.output
    assert "Not in any release" not in large.output
