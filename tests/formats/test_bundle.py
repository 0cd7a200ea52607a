"""The files of a bundle: what they say, who can read them, and that nothing else is in them."""

from __future__ import annotations

import hashlib
import json
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet
import pyreadstat
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import BundleFiles, write_bundle, write_bundle_zip
from sfumato.formats.files import digest_of_files
from tests.formats.bundles import (
    FORMATS,
    SECRET,
    TRIAGE,
    case,
    perturbed,
    plain_contents,
    specifications,
    truth,
)
from tests.late import LateModule

frictionless = LateModule("frictionless")


def written(contents, folder: Path, format_name: str) -> BundleFiles:
    folder.mkdir(parents=True)
    return write_bundle(contents, folder, format_name, Silent())


def descriptor(folder: Path) -> dict:
    return json.loads((folder / "datapackage.json").read_bytes())


def fields(folder: Path) -> dict[str, dict]:
    return {f["name"]: f for f in descriptor(folder)["resources"][0]["schema"]["fields"]}


@pytest.mark.parametrize("format_name", FORMATS)
def test_a_bundle_has_its_files_whose_digests_are_returned(tmp_path, format_name):
    files = written(case().contents, tmp_path / "b", format_name)
    assert set(files.names) == {
        "README.md",
        "datapackage.json",
        "ddi.xml",
        "perturbed.R",
        "perturbed.py",
        f"data.{format_name}",
    }
    for name, digest in files.files.items():
        assert hashlib.sha256((tmp_path / "b" / name).read_bytes()).hexdigest() == digest
    assert {p.name for p in (tmp_path / "b").iterdir()} == set(files.names)


def test_the_digest_is_that_of_a_listing_that_ordinary_tools_make():
    files = {"b": "22", "a": "11"}
    assert digest_of_files(files) == hashlib.sha256(b"11  a\n22  b\n").hexdigest()


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_same_contents_give_the_same_bytes_in_any_folder(tmp_path, format_name):
    one = written(case().contents, tmp_path / "one", format_name)
    other = written(case().contents, tmp_path / "deeper" / "other", format_name)
    assert one == other
    for name in one.names:
        assert (tmp_path / "one" / name).read_bytes() == (
            tmp_path / "deeper" / "other" / name
        ).read_bytes()


def test_other_contents_have_another_digest(tmp_path):
    contents = case().contents
    digests = {
        written(changed, tmp_path / str(i), "csv").digest
        for i, changed in enumerate(
            [
                contents,
                replace(contents, recipient="Clinic B"),
                replace(contents, release_id="ff"),
                case(level=0.3).contents,
            ]
        )
    }
    assert len(digests) == 4


def test_a_zip_has_the_same_files_and_digest_and_says_nothing_of_when_and_where(tmp_path):
    contents = case().contents
    folder = written(contents, tmp_path / "b", "csv")
    zips = []
    for name in ("one.zip", "other.zip"):
        assert write_bundle_zip(contents, tmp_path / name, "csv", Silent()) == folder
        zips.append((tmp_path / name).read_bytes())
    assert zips[0] == zips[1]
    with zipfile.ZipFile(tmp_path / "one.zip") as archive:
        assert archive.testzip() is None
        assert tuple(archive.namelist()) == folder.names
        for entry in archive.infolist():
            assert entry.date_time == (1980, 1, 1, 0, 0, 0)
            assert archive.read(entry) == (tmp_path / "b" / entry.filename).read_bytes()
    assert {p.name for p in tmp_path.iterdir()} == {"b", "one.zip", "other.zip"}


def test_a_cancelled_zip_leaves_no_folder_behind(tmp_path):
    seen = []

    def note(fraction: float, text: str) -> None:
        seen.append(text)

    context = Callback(note, lambda: any("Packing" in text for text in seen))
    with pytest.raises(Cancelled):
        write_bundle_zip(case().contents, tmp_path / "b.zip", "csv", context)
    assert [p for p in tmp_path.iterdir() if p.is_dir()] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("format_name", FORMATS)
def test_the_frictionless_validator_accepts_a_bundle_and_sees_that_one_was_altered(
    tmp_path, format_name
):
    written(case().contents, tmp_path / "b", format_name)
    report = frictionless.validate(str(tmp_path / "b" / "datapackage.json"))
    assert report.valid, report.flatten(["type", "message"])
    data = tmp_path / "b" / f"data.{format_name}"
    data.write_bytes(data.read_bytes().replace(b"asthma", b"smarts"))
    assert not frictionless.validate(str(tmp_path / "b" / "datapackage.json")).valid


def test_the_frictionless_validator_checks_domains_and_types(tmp_path):
    written(case().contents, tmp_path / "b", "csv")
    package = frictionless.Package(str(tmp_path / "b" / "datapackage.json"))
    resource, readme = package.resources[:2]
    rows = resource.read_rows()
    assert len(rows) == 600
    assert rows[1]["postcode"] == "00001"
    assert rows[1]["smoker"] is False
    assert rows[1]["admitted"].isoformat() == "2024-01-02"
    assert rows[0]["age"] is None
    assert readme.path == "README.md"
    path = tmp_path / "b" / "data.csv"
    path.write_bytes(path.read_bytes().replace(b"asthma", b"plague"))
    types = {
        e[0]
        for e in frictionless.validate(str(resource.basepath) + "/datapackage.json").flatten(
            ["type"]
        )
    }
    assert "constraint-error" in types


def test_the_schema_says_each_type_and_every_domain(tmp_path):
    written(case().contents, tmp_path / "b", "csv")
    found = fields(tmp_path / "b")
    assert {name: field["type"] for name, field in found.items()} == {
        "illness": "string",
        "triage": "integer",
        "postcode": "string",
        "age": "integer",
        "weight": "number",
        "smoker": "boolean",
        "admitted": "date",
        "seen": "datetime",
        "pressure": "string",
        "region": "string",
    }
    assert found["illness"]["constraints"] == {"enum": ["asthma", "cold", "flu", "gout"]}
    assert found["triage"]["constraints"] == {"enum": [1, 2, 3], "required": True}
    assert found["triage"]["categories"] == [
        {"value": value, "label": label} for value, label in TRIAGE.items()
    ]
    assert found["triage"]["title"] == "Urgency on arrival"
    assert found["age"]["sfumato"] == {"labels": [{"value": 99, "label": "unknown"}]}
    assert found["pressure"]["constraints"]["enum"] == ["[80, 120)", "[120, 200]"]
    assert found["pressure"]["categoriesOrdered"] is True
    assert "constraints" not in found["region"]


def test_a_perturbed_column_says_how_it_was_perturbed(tmp_path):
    written(case(level=0.6).contents, tmp_path / "b", "csv")
    found = fields(tmp_path / "b")
    own = found["illness"]["sfumato"]
    assert own["mechanism"] == "uniform"
    assert own["attributes"] == ["illness"]
    assert own["parameters"]["retention_probability"] == 0.6
    assert own["domain"] == ["asthma", "cold", "flu", "gout", None]
    assert "sfumato" not in found["region"]
    package = descriptor(tmp_path / "b")["sfumato"]
    assert package["release"] == "0123456789abcdef"
    assert package["perturbed"] == [["illness"], ["triage"]]


@pytest.mark.parametrize("format_name", FORMATS)
def test_nothing_secret_is_in_a_bundle(tmp_path, format_name):
    this = case()
    written(this.contents, tmp_path / "b", format_name)
    counts = this.truth.frame["illness"].value_counts()
    text = b"".join(path.read_bytes() for path in sorted((tmp_path / "b").iterdir()))
    told = (tmp_path / "b" / "datapackage.json").read_text()
    assert SECRET not in text
    assert SECRET.hex().encode() not in text
    assert str(tmp_path).encode() not in text
    assert not any(f": {count}" in told for count in counts)


def test_only_whole_rows_that_were_released_are_in_the_data(tmp_path):
    this = case()
    written(this.contents, tmp_path / "b", "csv")
    data = pd.read_csv(tmp_path / "b" / "data.csv", dtype={"postcode": str})
    differing = data["triage"] != this.truth.frame["triage"]
    assert 0.15 < differing.mean() < 0.4


def test_csv_opens_in_pandas_without_losing_a_value(tmp_path):
    this = case()
    written(this.contents, tmp_path / "b", "csv")
    data = pd.read_csv(
        tmp_path / "b" / "data.csv",
        dtype={"postcode": str, "age": "Int64", "smoker": "boolean"},
        parse_dates=["admitted", "seen"],
    )
    expected = this.contents.table.frame
    assert np.array_equal(data["weight"], expected["weight"])
    for name in ("age", "smoker", "postcode", "triage"):
        pd.testing.assert_series_equal(
            data[name], expected[name], check_dtype=False, check_categorical=False
        )
    for name in ("admitted", "seen"):
        assert (data[name].isna() == expected[name].isna()).all()
        assert (data[name].dropna() == expected[name].dropna()).all()
    for name in ("illness", "region", "pressure"):
        assert list(data[name].fillna("")) == list(expected[name].astype(object).fillna(""))


def test_parquet_opens_in_pyarrow_with_its_types(tmp_path):
    this = case()
    written(this.contents, tmp_path / "b", "parquet")
    data = pyarrow.parquet.read_table(tmp_path / "b" / "data.parquet").to_pandas()
    expected = this.contents.table.frame
    assert list(data.columns) == list(expected.columns)
    assert list(data["postcode"]) == list(expected["postcode"])
    assert np.array_equal(data["weight"], expected["weight"])
    assert list(data["illness"].astype(object).fillna("")) == list(
        expected["illness"].astype(object).fillna("")
    )
    assert (pd.to_datetime(data["seen"]) == expected["seen"]).all()


@pytest.mark.parametrize(("format_name", "read"), [("sav", "read_sav"), ("dta", "read_dta")])
def test_statistical_files_open_with_their_labels(tmp_path, format_name, read):
    this = case()
    written(this.contents, tmp_path / "b", format_name)
    data, meta = getattr(pyreadstat, read)(str(tmp_path / "b" / f"data.{format_name}"))
    expected = this.contents.table.frame
    assert list(data.columns) == list(expected.columns)
    assert list(data["postcode"]) == list(expected["postcode"])
    assert list(data["triage"]) == list(expected["triage"])
    assert np.array_equal(data["weight"], expected["weight"])
    assert list(data["illness"].fillna("")) == list(expected["illness"].astype(object).fillna(""))
    assert meta.variable_value_labels["triage"] == TRIAGE
    assert meta.column_names_to_labels["age"] == "Age in years"


@pytest.mark.parametrize(("format_name", "read"), [("sav", "read_sav"), ("dta", "read_dta")])
def test_statistical_files_say_nothing_of_when_they_were_made(tmp_path, format_name, read):
    written(case().contents, tmp_path / "b", format_name)
    _, meta = getattr(pyreadstat, read)(str(tmp_path / "b" / f"data.{format_name}"))
    made = meta.creation_time
    assert made is None or made.year < 2000


@pytest.mark.few(3)
@pytest.mark.parametrize("format_name", FORMATS)
@pytest.mark.parametrize("as_zip", [False, True])
def test_a_bundle_is_read_back_as_it_was_written(tmp_path, format_name, as_zip):
    this = case()
    if as_zip:
        path = tmp_path / "b.zip"
        files = write_bundle_zip(this.contents, path, format_name, Silent())
    else:
        path = tmp_path / "b"
        files = written(this.contents, path, format_name)
    bundle = read_bundle(path)
    assert bundle.altered == ()
    assert bundle.files == files.files
    assert bundle.digest == files.digest
    assert bundle.descriptor.recipient == "Clinic A"
    assert bundle.table.value_labels["triage"] == TRIAGE
    assert bundle.table.column_labels == this.contents.table.column_labels
    expected = this.contents.table.frame
    found = bundle.table.frame
    assert list(found.columns) == list(expected.columns)
    for name in expected.columns:
        left = expected[name].astype(object).where(expected[name].notna(), None)
        right = found[name].astype(object).where(found[name].notna(), None)
        assert list(left) == list(right), name
    assert str(found["age"].dtype) == "Int64"
    assert str(found["smoker"].dtype) == "boolean"
    assert found["admitted"].dtype.kind == "M"


@pytest.mark.parametrize("format_name", ["sav", "dta"])
def test_names_that_a_statistical_format_does_not_allow_are_found_again(tmp_path, format_name):
    frame = pd.DataFrame({"Größe (cm)": [1.5, 2.5], "Größe (in)": [3.5, 4.5], "a" * 90: ["x", "y"]})
    contents = plain_contents(frame)
    written(contents, tmp_path / "b", format_name)
    data, _ = (
        pyreadstat.read_sav(str(tmp_path / "b" / "data.sav"))
        if format_name == "sav"
        else (pyreadstat.read_dta(str(tmp_path / "b" / "data.dta")))
    )
    assert list(fields(tmp_path / "b")) == list(data.columns)
    bundle = read_bundle(tmp_path / "b")
    assert bundle.table.columns == contents.table.columns
    assert list(bundle.table.frame["Größe (in)"]) == [3.5, 4.5]


def test_a_domain_of_yes_and_no_or_of_decimals_survives(tmp_path):
    table = Table(pd.DataFrame({"b": [True, False] * 20, "f": [0.5, 1.0, 2.25, 0.5] * 10}))
    specs = (
        ColumnSpec("b", Role.SENSITIVE, domain=Domain((True, False))),
        ColumnSpec("f", Role.SENSITIVE, domain=Domain((0.5, 1.0, 2.25), {0.5: "half"})),
    )
    columns, facts = {}, []
    for spec in specs:
        columns[spec.name], fact, _ = perturbed(table, spec, 0.5)
        facts.append(fact)
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame(columns), {"f": {0.5: "half"}}),
        columns=specs,
        perturbations=tuple(facts),
    )
    for format_name in FORMATS:
        written(contents, tmp_path / format_name, format_name)
        found = read_bundle(tmp_path / format_name).table
        assert list(found.frame["b"]) == list(columns["b"])
        assert list(found.frame["f"]) == list(columns["f"])
        assert found.value_labels["f"] == {0.5: "half"}
    assert frictionless.validate(str(tmp_path / "csv" / "datapackage.json")).valid


def test_a_large_domain_is_written_whole(tmp_path):
    codes = [f"{letter}{i:03d}" for letter in "ABCDEFGH" for i in range(250)]
    table = Table(pd.DataFrame({"icd": codes}))
    spec = ColumnSpec("icd", Role.SENSITIVE, domain=Domain(tuple(codes)))
    released, facts, _ = perturbed(table, spec, 0.3)
    contents = replace(
        case().contents,
        table=Table(pd.DataFrame({"icd": released})),
        columns=(spec,),
        perturbations=(facts,),
    )
    written(contents, tmp_path / "b", "csv")
    assert fields(tmp_path / "b")["icd"]["sfumato"]["domain"] == codes
    assert "A001" not in (tmp_path / "b" / "README.md").read_text()


def test_labels_of_all_values_are_categories_and_of_some_are_not(tmp_path):
    frame = pd.DataFrame({"all": [1, 2], "some": [1, 2], "decimal": [0.5, 1.5]})
    labels = {
        "all": {1.0: "one", 2.0: "two", 3.0: "three"},
        "some": {1: "one"},
        "decimal": {0.5: "half"},
    }
    contents = replace(plain_contents(frame), table=Table(frame, labels))
    written(contents, tmp_path / "b", "csv")
    found = fields(tmp_path / "b")
    assert found["all"]["categories"][2] == {"value": 3, "label": "three"}
    assert "categories" not in found["some"]
    assert found["some"]["sfumato"]["labels"] == [{"value": 1, "label": "one"}]
    assert found["decimal"]["sfumato"]["labels"] == [{"value": 0.5, "label": "half"}]
    assert read_bundle(tmp_path / "b").table.value_labels["all"] == {1: "one", 2: "two", 3: "three"}


def test_the_specifications_cover_every_released_column():
    assert [spec.name for spec in specifications()] == list(truth().columns)
