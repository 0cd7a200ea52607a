"""Bundles that were altered, cut, moved or made elsewhere: the finding says which."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release import batches, bucket_counts
from sfumato.project.verification import verify as verification
from tests.project.verifying import (
    a_table,
    edit,
    failed,
    new_project,
    other_illness,
    release,
    swap,
    verify,
)
from tests.row_order import order_of


@pytest.fixture
def project(tmp_path):
    with new_project(tmp_path) as made:
        yield made


def test_one_altered_value_is_found_by_its_row(project, tmp_path):
    path = release(project, tmp_path / "out")
    edit(path, lambda rows: swap(rows, 8, *other_illness(rows[7])))
    report = verify(project, path)
    found = failed(report)
    assert set(found) == {"Files", "Ledger", "illness: values"}
    assert "Not as datapackage.json states: data.csv" in found["Files"]
    assert "not as released: data.csv" in found["Ledger"]
    record = order_of(project, path, a_table())[7] + 1
    assert found["illness: values"] == (
        "They are not those that the key gives: 1 of 900 rows differs, first in row 8, which is"
        f" row {record} of the source table."
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


def zipped(path, inside=""):
    """Return a bundle as a zip of it, in a folder of its own or at the top."""
    packed = path.with_name("bundle.zip")
    with zipfile.ZipFile(packed, "w") as archive:
        for file in sorted(path.rglob("*")):
            if file.is_file():
                archive.write(file, inside + file.relative_to(path).as_posix())
    return packed


@pytest.mark.parametrize("packed", [None, "", "in one folder/"])
def test_files_that_were_added_to_a_bundle_are_counted_and_named(project, tmp_path, packed):
    path = release(project, tmp_path / "out")
    (path / "originals").mkdir()
    (path / "originals" / "rows.csv").write_text("1")
    (path / "macro\n.xlsm").write_text("x")
    report = verify(project, path if packed is None else zipped(path, packed))
    assert report.added == ("macro\n.xlsm", "originals/rows.csv")
    assert failed(report) == {
        "Added files": "The bundle has 2 files that were not released: macro\\n.xlsm,"
        " originals/rows.csv. Nothing is known of them: remove them, or ask who added them."
    }


def test_many_added_files_are_counted_and_the_first_ones_named(project, tmp_path):
    path = release(project, tmp_path / "out")
    for number in range(13):
        (path / f"{number:02d}.txt").touch()
    (path / "elsewhere").symlink_to(tmp_path)
    (finding,) = failed(verify(project, path)).values()
    assert "has 14 files" in finding
    assert "00.txt, 01.txt" in finding
    assert "09.txt and 4 more" in finding


def test_what_a_desktop_puts_into_a_bundle_is_told_and_no_fault(project, tmp_path):
    path = release(project, tmp_path / "out")
    (path / ".DS_Store").touch()
    (path / "__MACOSX").mkdir()
    (path / "__MACOSX" / "._data.csv").touch()
    report = verify(project, path)
    assert report.holds
    (told,) = (check.finding for check in report.checks if check.title == "Added files")
    assert ".DS_Store, __MACOSX/._data.csv" in told


def test_an_altered_unperturbed_column_is_named(project, tmp_path):
    path = release(project, tmp_path / "out")
    order = order_of(project, path, a_table())
    third, ninth = (a_table().frame["zip"].iloc[order[row]] for row in (2, 8))
    edit(path, lambda rows: swap(swap(rows, 3, third, "99999"), 9, ninth, ""))
    found = failed(verify(project, path))
    assert set(found) == {"Files", "Ledger", "Unperturbed columns"}
    assert "zip: 2 of 900 rows differ, first in row 3" in found["Unperturbed columns"]


def test_true_values_instead_of_released_ones_are_found(project, tmp_path):
    path = release(project, tmp_path / "out")
    truth = a_table().frame["illness"].astype(str).iloc[order_of(project, path, a_table())]

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
        "illness has values outside its domain: 1 row, first row 5."
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


def test_the_table_s_order_is_told_as_another_one(project, tmp_path):
    path = release(project, tmp_path / "out")
    order = order_of(project, path, a_table())
    edit(path, lambda rows: [rows[place] for place in np.argsort(order)], vouch=True)
    found = failed(verify(project, path))
    assert set(found) == {"Ledger", "Records", "illness: values", "work: values"}
    assert "in another order" in found["Records"]


@pytest.mark.slow
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
        source=TableSource("/data/x.csv", "cd" * 32, 80),
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


def test_an_identifying_column_is_found(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    # Judged by today's policy, as releases are of versions that kept none.
    monkeypatch.setattr(ReleaseRecord, "policy", None)
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


def in_other_order(path):
    edit(path, lambda rows: rows[::-1], vouch=True)


def altered(path):
    edit(path, lambda rows: swap(rows, 8, *other_illness(rows[7])))


def described_otherwise(path):
    package = json.loads((path / "datapackage.json").read_bytes())
    package["sfumato"]["release"] = "ff" * 8
    (path / "datapackage.json").write_text(json.dumps(package))


@pytest.mark.few(1)
@pytest.mark.parametrize("change", [in_other_order, altered, described_otherwise, zipped])
def test_a_table_read_in_parts_tells_the_same_as_one_in_memory(
    project, tmp_path, monkeypatch, change
):
    path = release(project, tmp_path / "out")
    release(project, tmp_path / "out", "Institute B")
    bundle = change(path) or path
    told = [verify(project, bundle)]
    for name in ("BUCKET_ROWS", "BUCKET_NUMBERS"):
        monkeypatch.setattr(bucket_counts, name, 100)
    monkeypatch.setattr(batches, "BATCH_ROWS", 110)
    told.append(verify(project, bundle))
    assert told[0] == told[1]
    assert any("Retained values" in str(c.title) for c in told[0].checks) != (
        change is in_other_order
    )


def test_of_many_rows_some_are_looked_at_more_closely(project, tmp_path, monkeypatch):
    path = release(project, tmp_path / "out")
    monkeypatch.setattr(verification, "EXAMINED", 500)
    found = {str(check.title): str(check.finding) for check in verify(project, path).checks}
    assert found["illness: values"] == "All 900 are those that the key gives."
    assert " of 500 records " in found["illness: Retained values"]
