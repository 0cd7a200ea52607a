"""Bundles held against their project: sound ones, and each way in which one can be off."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.engine.columns import Binning, ColumnSpec, Domain, Kind, Role
from app.engine.errors import Cancelled
from app.engine.progress import Callback, Silent
from app.engine.table import Table
from app.project.model import Document, PolicyEntry, Recipient, Source
from app.project.records import ReleaseState
from app.project.release import make_release
from app.project.store import ProjectFile
from app.project.verify import VerificationReport, verify_bundle
from tests.project.making import CHEAP, PASSPHRASE, noon

ROWS = 900
ILLNESSES = ("asthma", "cold", "flu", "gout")
WORK = ("mine", "mill", "none")
SECRETS = (*ILLNESSES, *WORK, "P0007")
"""Values of the table: none of them may be in a finding."""


def a_table(rows: int = ROWS) -> Table:
    at = np.arange(rows)
    frame = pd.DataFrame(
        {
            "person": [f"P{i:04d}" for i in at],
            "age": 20 + at % 61,
            "illness": pd.Categorical([ILLNESSES[(i % 13) % 4] for i in at]),
            "zip": [f"{i % 97:05d}" for i in at],
            "work": pd.Categorical([WORK[(i % 5) % 3] if i % 7 else None for i in at]),
            "income": 1000.0 + (at * 37 % 501) / 3,
        }
    )
    return Table(frame)


def levels(illness: float, work: float = 0.5) -> dict[str, dict[str, float]]:
    return {
        "illness": {"retention_probability": illness},
        "work": {"retention_probability": work},
    }


def a_document(**changes: object) -> Document:
    document = Document(
        title="Ward 7",
        source=Source("/data/ward.csv", "ab" * 32, ROWS),
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec(
                "age",
                Role.QUASI_IDENTIFIER,
                Kind.NUMERIC,
                binning=Binning((20.0, 40.0, 60.0, 81.0)),
            ),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
            ColumnSpec("zip", Role.QUASI_IDENTIFIER, Kind.TEXT),
            ColumnSpec("work", Role.SENSITIVE, domain=Domain((*WORK, None))),
            ColumnSpec("income", Role.INSENSITIVE, Kind.NUMERIC),
        ),
        policy=(PolicyEntry(("illness",), "uniform"), PolicyEntry(("work",), "uniform")),
        recipients=(
            Recipient("Clinic A", levels(0.6)),
            Recipient("Institute B", levels(0.3)),
            Recipient("Public C", levels(0.1)),
            Recipient("Clinic D", levels(0.6)),
        ),
    )
    return replace(document, **changes)


def new_project(folder: Path, document: Document | None = None, name: str = "ward") -> ProjectFile:
    path = folder / f"{name}.sfumato"
    return ProjectFile.create(path, PASSPHRASE, document or a_document(), cost=CHEAP, clock=noon)


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def release(
    project: ProjectFile,
    folder: Path,
    recipient: str = "Clinic A",
    format_name: str = "csv",
    table: Table | None = None,
    as_zip: bool = False,
) -> Path:
    outcome = make_release(
        project, table or a_table(), recipient, folder, format_name, Silent(), as_zip=as_zip
    )
    return outcome.path


def verify(project: ProjectFile, path: Path, table: Table | None = None) -> VerificationReport:
    report = verify_bundle(project, table or a_table(), path, Silent())
    for check in report.checks:
        assert check.finding
        assert not any(secret in check.finding for secret in SECRETS), check
    return report


def failed(report: VerificationReport) -> dict[str, str]:
    return {check.title: check.finding for check in report.failed}


def edit(bundle: Path, change, vouch: bool = False) -> None:
    """Change data.csv, line by line; with `vouch`, let datapackage.json agree with it."""
    path = bundle / "data.csv"
    header, *rows = path.read_bytes().decode().removesuffix("\r\n").split("\r\n")
    path.write_bytes("".join(line + "\r\n" for line in [header, *change(rows)]).encode())
    if vouch:
        description = bundle / "datapackage.json"
        package = json.loads(description.read_bytes())
        facts = package["resources"][0]
        facts["bytes"] = path.stat().st_size
        facts["hash"] = f"sha256:{sha256(path.read_bytes()).hexdigest()}"
        description.write_text(json.dumps(package))


def swap(rows: list[str], number: int, old: str, new: str) -> list[str]:
    """Replace a value in one row (counted from 1)."""
    assert old in rows[number - 1]
    return [
        row.replace(old, new, 1) if at == number else row for at, row in enumerate(rows, start=1)
    ]


def other_illness(row: str) -> tuple[str, str]:
    """The illness in a row, and another one."""
    old = next(name for name in ILLNESSES if f'"{name}"' in row)
    return f'"{old}"', f'"{ILLNESSES[ILLNESSES.index(old) - 1]}"'


@pytest.mark.parametrize("format_name", ["csv", "parquet", "sav", "dta"])
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_sound_release_holds_in_every_format(project, tmp_path, format_name, as_zip):
    path = release(project, tmp_path / "out", format_name=format_name, as_zip=as_zip)
    report = verify(project, path)
    assert failed(report) == {}
    assert report.holds
    assert report.recipient == "Clinic A"
    assert report.release == project.releases[0]


def test_every_part_of_the_promise_is_examined(project, tmp_path):
    path = release(project, tmp_path / "out")
    release(project, tmp_path / "out", "Institute B")
    release(project, tmp_path / "out", "Public C")
    release(project, tmp_path / "out", "Clinic D")
    report = verify(project, path)
    assert report.holds
    found = {check.title: check.finding for check in report.checks}
    assert list(found)[:8] == [
        "Files",
        "Ledger",
        "Source table",
        "Records",
        "Columns",
        "Identifying columns",
        "Unperturbed columns",
        "illness: ladder",
    ]
    assert "to Clinic A, recorded on 2026-11-20" in found["Ledger"]
    assert found["Records"] == "It has all 900 records of the source table."
    assert found["Columns"] == "It has the 5 columns that were released."
    assert found["Identifying columns"] == "None of the 1 identifying columns is in it."
    assert found["Unperturbed columns"] == "All 3 are as in the source table."
    assert found["illness: values"] == "All 900 are those that the key gives."
    assert "illness: Retained values" in found
    assert "illness beside Institute B: Retained values" in found
    assert "illness beside Public C: Spread of released values" in found
    assert not any("beside Clinic D" in title for title in found), "the same level, the same values"
    assert "work beside others" in found


def test_every_release_of_a_project_holds_beside_the_others(project, tmp_path):
    names = ("Public C", "Clinic A", "Institute B", "Clinic D")
    paths = [release(project, tmp_path / "out", name) for name in names]
    for path, name in zip(paths, names, strict=True):
        report = verify(project, path)
        assert failed(report) == {}
        assert report.recipient == name


def test_an_unpacked_zip_is_known(project, tmp_path):
    path = release(project, tmp_path / "out", as_zip=True)
    shutil.unpack_archive(path, tmp_path / "unpacked")
    assert verify(project, tmp_path / "unpacked").holds


def test_a_project_that_is_open_for_reading_verifies(project, tmp_path):
    path = release(project, tmp_path / "out")
    project.close()
    with ProjectFile.open(project.path, PASSPHRASE, read_only=True, clock=noon) as again:
        assert verify(again, path).holds


def test_what_is_no_bundle_is_told(project, tmp_path):
    report = verify(project, tmp_path)
    assert not report.holds
    assert report.release is None
    assert "is not a bundle" in failed(report)["Files"]


def test_one_altered_value_is_found_by_its_row(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(rows, 8, *other_illness(rows[7])))
    report = verify(project, path)
    found = failed(report)
    assert set(found) == {"Files", "Ledger", "illness: values"}
    assert "Not as datapackage.json states: data.csv" in found["Files"]
    assert "not as released: data.csv" in found["Ledger"]
    assert found["illness: values"] == (
        "They are not those that the key gives: 1 of 900 rows differs, first in row 8."
    )
    assert report.recipient == "Clinic A"


def test_an_alteration_that_the_description_vouches_for_is_found_all_the_same(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(rows, 8, *other_illness(rows[7])), vouch=True)
    found = failed(verify(project, path))
    assert "Files" not in found
    assert "not as released: data.csv, datapackage.json" in found["Ledger"]
    assert "first in row 8" in found["illness: values"]


def test_an_altered_readme_is_named_and_the_values_still_hold(project, tmp_path):
    path = release(project, tmp_path / "out")
    with (path / "README.md").open("a", encoding="utf-8") as file:
        file.write("more")
    found = failed(verify(project, path))
    assert set(found) == {"Files", "Ledger"}
    assert "README.md" in found["Ledger"]


def test_an_altered_unperturbed_column_is_named(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(swap(rows, 3, "00002", "99999"), 9, "00008", ""))
    found = failed(verify(project, path))
    assert set(found) == {"Files", "Ledger", "Unperturbed columns"}
    assert "zip: 2 of 900 rows differ, first in row 3" in found["Unperturbed columns"]


def test_true_values_instead_of_released_ones_are_found(project, tmp_path):
    path = release(project, tmp_path / "out")
    truth = a_table().frame["illness"].astype(str)

    def restore(rows: list[str]) -> list[str]:
        return [
            row.replace(other_illness(row)[0], f'"{true}"')
            for row, true in zip(rows, truth, strict=True)
        ]

    edit(path, restore, vouch=True)
    found = failed(verify(project, path))
    assert "illness: Retained values" in found
    assert "illness: values" in found


def test_a_value_outside_the_domain_is_found(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(rows, 5, other_illness(rows[4])[0], '"plague"'))
    found = failed(verify(project, path))
    assert found["illness: domain"] == (
        "illness has values outside its domain: 1 rows, first row 5."
    )


def test_records_cut_off_the_end_are_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: rows[:850])
    report = verify(project, path)
    found = failed(report)
    assert set(found) == {"Files", "Ledger", "Records"}
    assert found["Records"] == "It has 850 records of 900: 50 are missing at the end."
    values = next(check for check in report.checks if check.title == "illness: values")
    assert values.finding == "All 850 are those that the key gives."


def test_records_taken_out_of_the_middle_are_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: rows[:100] + rows[110:])
    found = failed(verify(project, path))
    assert found["Records"] == (
        "It has 890 records of 900: 10 are missing, and not only at the end."
    )
    assert found["illness: values"] == "They are those that the key gives, but in other places."


def test_records_cut_off_and_altered_are_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(rows, 8, *other_illness(rows[7]))[:850])
    found = failed(verify(project, path))
    assert found["Records"] == (
        "It has 850 records of 900: 50 are missing, and others were altered."
    )
    assert "1 of 850 rows differs, first in row 8" in found["illness: values"]


def test_a_record_that_was_added_is_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: [*rows, rows[0]])
    found = failed(verify(project, path))
    assert found["Records"] == "It has 901 records, 1 more than the source table."


def test_another_order_is_told_as_such(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: rows[::-1], vouch=True)
    found = failed(verify(project, path))
    assert set(found) == {"Ledger", "Records", "illness: values", "work: values"}
    assert "in another order" in found["Records"]
    assert "in other places" in found["illness: values"]


def test_a_bundle_of_another_project_is_told(project, tmp_path):
    with new_project(tmp_path, name="other") as other:
        path = release(other, tmp_path / "out")
    report = verify(project, path)
    found = failed(report)
    assert "made from another project" in found["Ledger"]
    assert report.release is None
    assert report.recipient == ""
    release(project, tmp_path / "out", "Institute B")
    assert "made from another project" in failed(verify(project, path))["Ledger"]


def test_a_bundle_of_another_table_is_told(project, tmp_path):
    frame = pd.DataFrame({"colour": ["red", "blue"] * 40})
    document = Document(
        source=Source("/data/x.csv", "cd" * 32, 80),
        columns=(ColumnSpec("colour", Role.SENSITIVE, domain=Domain(("red", "blue"))),),
        policy=(PolicyEntry(("colour",), "uniform"),),
        recipients=(Recipient("X", {"colour": {"retention_probability": 0.5}}),),
    )
    with new_project(tmp_path, document, "other") as other:
        path = release(other, tmp_path / "out", "X", table=Table(frame))
    found = failed(verify(project, path))
    assert "made from another project" in found["Ledger"]
    assert "not in the release: colour" in found["Columns"]
    assert "missing: age, illness, zip, work, income" in found["Columns"]


def test_a_release_that_only_a_copy_of_the_project_made_is_traced_by_the_key(project, tmp_path):
    project.close()
    shutil.copy(project.path, tmp_path / "copy.sfumato")
    with ProjectFile.open(tmp_path / "copy.sfumato", PASSPHRASE, clock=noon) as copy:
        path = release(copy, tmp_path / "out", "Institute B")
    with ProjectFile.open(project.path, PASSPHRASE, clock=noon) as again:
        report = verify(again, path)
    found = failed(report)
    assert set(found) == {"Ledger"}
    assert "those that Institute B would get" in found["Ledger"]
    assert report.recipient == "Institute B"


def test_data_in_a_foreign_description_is_traced_by_its_values(project, tmp_path):
    path = release(project, tmp_path / "out", "Institute B")
    release(project, tmp_path / "out", "Clinic A")
    description = path / "datapackage.json"
    package = json.loads(description.read_bytes())
    package["sfumato"]["release"] = "ff" * 8
    description.write_text(json.dumps(package))
    edit(path, lambda rows: swap(rows, 2, *other_illness(rows[1])), vouch=True)
    report = verify(project, path)
    assert "Its values are those of the release" in failed(report)["Ledger"]
    assert report.recipient == "Institute B"


def test_an_identifying_column_is_found(project, tmp_path):
    path = release(project, tmp_path / "out")
    columns = tuple(
        replace(spec, role=Role.IDENTIFYING) if spec.name == "zip" else spec
        for spec in project.document.columns
    )
    project.save_document(replace(project.document, columns=columns))
    found = failed(verify(project, path))
    assert found["Identifying columns"] == "It has columns that identify a person: zip."


def test_a_column_that_was_taken_out_is_named(project, tmp_path):
    path = release(project, tmp_path / "out")
    data = pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False)
    data.drop(columns="illness").to_csv(path / "data.csv", index=False)
    description = path / "datapackage.json"
    package = json.loads(description.read_bytes())
    schema = package["resources"][0]["schema"]
    schema["fields"] = [field for field in schema["fields"] if field["name"] != "illness"]
    description.write_text(json.dumps(package))
    found = failed(verify(project, path))
    assert "missing: illness" in found["Columns"]
    assert found["illness: values"] == "It has no column illness."


def test_columns_in_another_order_are_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    data = pd.read_csv(path / "data.csv", dtype=str, keep_default_na=False)
    data[data.columns[::-1]].to_csv(path / "data.csv", index=False)
    description = path / "datapackage.json"
    package = json.loads(description.read_bytes())
    package["resources"][0]["schema"]["fields"].reverse()
    description.write_text(json.dumps(package))
    found = failed(verify(project, path))
    assert set(found) == {"Files", "Ledger", "Columns"}
    assert "in another order" in found["Columns"]


def test_a_changed_domain_is_told_because_nothing_can_be_made_again(project, tmp_path):
    path = release(project, tmp_path / "out")
    wider = ColumnSpec("illness", Role.SENSITIVE, domain=Domain((*ILLNESSES, "measles")))
    project.save_document(project.document.with_column(wider))
    found = failed(verify(project, path))
    assert set(found) == {"illness: ladder"}
    assert "not what they were" in found["illness: ladder"]


def test_a_changed_source_table_is_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    frame = a_table().frame.copy()
    frame.loc[4, "illness"] = next(name for name in ILLNESSES if name != frame.loc[4, "illness"])
    changed = replace(project.document, source=Source("/data/ward.csv", "cd" * 32, ROWS))
    project.save_document(changed)
    found = failed(verify(project, path, Table(frame)))
    assert "changed since the release was made" in found["Source table"]


def test_a_shorter_source_table_is_told(project, tmp_path):
    path = release(project, tmp_path / "out")
    found = failed(verify(project, path, a_table(850)))
    assert "It has 850 records, but the release was made from 900" in found["Source table"]
    assert "50 more than the source table" in found["Records"]


def test_a_release_that_was_abandoned_is_told(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    (abandoned,) = project.releases
    monkeypatch.setattr(
        ProjectFile,
        "releases",
        property(lambda self: (replace(abandoned, state=ReleaseState.ABANDONED),)),
    )
    found = failed(verify(project, path))
    assert "which was abandoned" in found["Ledger"]


def test_a_release_on_another_ladder_is_told(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    (mine,) = project.releases
    strange = tuple(replace(plan, ladder="00" * 32) for plan in mine.plans)
    other = replace(mine, recipient="Stranger", plans=strange, digest="1", release_id="1")
    monkeypatch.setattr(ProjectFile, "releases", property(lambda self: (mine, other)))
    found = failed(verify(project, path))
    assert set(found) == {"illness beside Stranger", "work beside Stranger"}
    assert "on another ladder" in found["illness beside Stranger"]


def test_records_that_are_told_apart_by_a_key_verify(tmp_path):
    with new_project(tmp_path, a_document(record_key="person")) as keyed:
        path = release(keyed, tmp_path / "out")
        release(keyed, tmp_path / "out", "Institute B")
        assert verify(keyed, path).holds


def test_a_numeric_source_in_decimals_of_any_precision_verifies(tmp_path):
    table = a_table()
    frame = table.frame.assign(income=(np.arange(ROWS) / 7).astype(np.float32))
    with new_project(tmp_path) as made:
        for format_name in ("csv", "parquet", "sav", "dta"):
            path = release(made, tmp_path / "out", "Clinic A", format_name, Table(frame))
            assert failed(verify(made, path, Table(frame))) == {}


def test_verifying_writes_nothing(project, tmp_path):
    path = release(project, tmp_path / "out")
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    entries = project.ledger.entries
    verify(project, path)
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before
    assert project.ledger.entries == entries


def test_verifying_can_be_cancelled(project, tmp_path):
    path = release(project, tmp_path / "out")
    seen = []
    context = Callback(lambda fraction, text: seen.append(text), lambda: len(seen) > 5)
    with pytest.raises(Cancelled):
        verify_bundle(project, a_table(), path, context)


def test_progress_goes_from_start_to_end(project, tmp_path):
    path = release(project, tmp_path / "out")
    seen: list[float] = []
    context = Callback(lambda fraction, text: seen.append(fraction), lambda: False)
    verify_bundle(project, a_table(), path, context)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0
