"""A bundle's descriptions for archives and catalogues: DDI-Codebook 2.5 and DCAT.

The schema of DDI-Codebook is not among this project's files. What it says of the elements that
bundles use (their order, how often, and their attributes) is written down in `SCHEMA`; with
``SFUMATO_DDI_SCHEMA=…/codebook.xsd`` and lxml installed, documents are held against the schema
itself (version 2.5.1) as well.
"""

from __future__ import annotations

import json
import os
import xml.etree.ElementTree as ET
from dataclasses import replace

import pandas as pd
import pytest

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.contents import Generalized
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle
from tests.formats.bundles import FORMATS, ROWS, case, plain_contents

NAMESPACE = "{ddi:codebook:2_5}"
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"
SCHEMA_AT = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
TEXT = ("", frozenset())
SCHEMA = {
    "codeBook": ("docDscr* stdyDscr+ fileDscr* dataDscr* otherMat*", {"version"}),
    "docDscr": ("citation?", ()),
    "stdyDscr": ("citation+ stdyInfo* method* dataAccs*", ()),
    "citation": ("titlStmt prodStmt?", ()),
    "titlStmt": ("titl IDNo*", ()),
    "IDNo": ("", {"agency"}),
    "prodStmt": ("software*", ()),
    "software": ("", {"version"}),
    "stdyInfo": ("abstract*", ()),
    "method": ("dataProcessing*", ()),
    "dataProcessing": ("", {"type"}),
    "dataAccs": ("useStmt*", ()),
    "useStmt": ("disclaimer*", ()),
    "fileDscr": ("fileTxt*", {"ID", "URI"}),
    "fileTxt": ("fileName* dataFingerprint* dimensns? fileType*", ()),
    "dataFingerprint": ("digitalFingerprintValue algorithmSpecification?", {"type"}),
    "dimensns": ("caseQnty* varQnty*", ()),
    "fileType": ("", {"charset"}),
    "dataDscr": ("var*", ()),
    "var": ("labl* catgry* varFormat? notes*", {"ID", "name", "files", "intrvl", "wgt"}),
    "catgry": ("catValu? labl*", {"missing"}),
    "varFormat": ("", {"type", "category", "schema", "formatname"}),
    "notes": ("", {"type", "subject"}),
    "otherMat": ("labl*", {"level", "URI"}),
}
"""For each element its children in their order, ? + * as in patterns, and its attributes."""
WORDS = {
    ("codeBook", "version"): {"2.5"},
    ("dataFingerprint", "type"): {"data", "dataFile"},
    ("var", "intrvl"): {"contin", "discrete"},
    ("var", "wgt"): {"wgt", "not-wgt"},
    ("catgry", "missing"): {"Y", "N"},
    ("varFormat", "type"): {"character", "numeric"},
    ("varFormat", "category"): {"date", "time", "currency", "other"},
    ("varFormat", "schema"): {"SAS", "SPSS", "IBM", "ANSI", "ISO", "XML-Data", "other"},
}


def problems(element):
    """What an element and those inside it have that the schema does not allow."""
    name = element.tag.removeprefix(NAMESPACE)
    children, attributes = SCHEMA.get(name, TEXT)
    rest = [child.tag.removeprefix(NAMESPACE) for child in element]
    for part in children.split():
        wanted = part.rstrip("?+*")
        most = len(rest) if part[-1] in "+*" else 1
        count = 0
        while rest[:1] == [wanted] and count < most:
            count, rest = count + 1, rest[1:]
        if count == 0 and part[-1] not in "?*":
            yield f"{name} lacks {wanted}"
    if rest:
        yield f"{name}: {rest[0]} is out of place"
    allowed = {*attributes, *([LANGUAGE, SCHEMA_AT] if name == "codeBook" else [])}
    yield from (f"{name}: {each}" for each in set(element.keys()) - allowed)
    for key, value in element.items():
        if value not in WORDS.get((name, key), {value}):
            yield f"{name} {key}"
    if children and (element.text or "").strip():
        yield f"{name} has text"
    for child in element:
        yield from problems(child)


def described(folder, contents, format_name="csv"):
    """Write a bundle; return its DDI document, valid, and its data package."""
    folder.mkdir(parents=True, exist_ok=True)
    write_bundle(contents, folder, format_name, Silent())
    root = ET.parse(folder / "ddi.xml").getroot()
    assert list(problems(root)) == []
    identifiers = [each.get("ID") for each in root.iter() if each.get("ID")]
    assert len(set(identifiers)) == len(identifiers)
    if schema := os.environ.get("SFUMATO_DDI_SCHEMA"):
        etree = pytest.importorskip("lxml.etree")
        etree.XMLSchema(etree.parse(schema)).assertValid(etree.parse(folder / "ddi.xml"))
    return root, json.loads((folder / "datapackage.json").read_bytes())


def texts(root, path):
    return [each.text for each in root.findall(path.replace("/", f"/{NAMESPACE}"))]


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_codebook_of_every_format_is_valid_and_describes_its_columns(tmp_path, format_name):
    root, package = described(tmp_path, case().contents, format_name)
    fields = package["resources"][0]["schema"]["fields"]
    variables = root.findall(f"{NAMESPACE}dataDscr/{NAMESPACE}var")
    assert [each.get("name") for each in variables] == [field["name"] for field in fields]
    assert texts(root, "./fileDscr/fileTxt/fileName") == [f"data.{format_name}"]
    assert texts(root, "./fileDscr/fileTxt/dimensns/caseQnty") == [str(ROWS)]
    hashed = package["resources"][0]["hash"].removeprefix("sha256:")
    assert texts(root, "./fileDscr/fileTxt/dataFingerprint/digitalFingerprintValue") == [hashed]
    triage = variables[1]
    labels = [each.text for each in triage.iter(f"{NAMESPACE}labl")]
    assert labels == ["Urgency on arrival", "now", "soon", "later"]
    assert [each.get("type") for each in triage.iter(f"{NAMESPACE}notes")] == ["perturbation"]
    told = " ".join(texts(root, "./stdyDscr/method/dataProcessing"))
    assert "illness" in told
    assert "triage" in told


def test_the_codebook_has_no_word_that_the_data_package_and_the_readme_lack(tmp_path):
    root, package = described(tmp_path, case().contents)
    readme = (tmp_path / "README.md").read_text(encoding="utf-8")
    plain = readme.replace("\\", "").replace("“", "").replace("”", "")  # names are set apart
    known = readme.replace("\\", "") + plain + json.dumps(package, ensure_ascii=False)
    fixed = {"Sfumato", "SHA-256", "missing", "10"}
    processing = texts(root, "./stdyDscr/method/dataProcessing")
    said = [each.text for each in root.iter() if (each.text or "").strip()]
    for text in set(said) - fixed - set(processing):
        assert text in known or json.dumps(text, ensure_ascii=False)[1:-1] in known, text
    for text in processing:
        columns, _, sentences = text.partition(": ")
        assert columns in known
        assert all(part.strip(". ") in known for part in sentences.split(". ")), text


def test_texts_that_xml_can_not_hold_or_would_read_as_markup_are_written_safely(tmp_path):
    values = ["a<b>&\"'", "bell\x07", "tab\tand\nline", "\ufffe", "𝔘"]
    name = "c<d>&\x01"
    frame = pd.DataFrame({name: pd.Series(values, dtype="str")})
    labelled = Table(frame, value_labels={name: dict.fromkeys(values, "<&\x02>")})
    contents = replace(plain_contents(frame), table=labelled, title="A & <B>\x00")
    root, _ = described(tmp_path, contents, "csv")
    listed = [each.text for each in root.iter(f"{NAMESPACE}catValu")]
    assert listed == ["a<b>&\"'", "bell\ufffd", "tab\tand\nline", "\ufffd", "𝔘"]
    labels = [each[1].text for each in root.iter(f"{NAMESPACE}catgry")]
    assert labels == ["<&\ufffd>"] * len(values)
    assert next(root.iter(f"{NAMESPACE}var")).get("name") == "c<d>&\ufffd"
    assert texts(root, "./stdyDscr/citation/titlStmt/titl") == ["A & <B>\ufffd"]


def test_weights_missing_values_and_languages_are_told(tmp_path):
    contents = case().contents
    weighted = tuple(
        replace(spec, role=Role.WEIGHT) if spec.name == "weight" else spec
        for spec in contents.columns
    )
    root, _ = described(tmp_path, replace(contents, columns=weighted, language="de"))
    assert root.get(LANGUAGE) == "de"
    variables = {each.get("name"): each for each in root.iter(f"{NAMESPACE}var")}
    assert variables["weight"].get("wgt") == "wgt"
    assert variables["weight"].get("intrvl") == "contin"
    listed = variables["illness"].iter(f"{NAMESPACE}catgry")
    assert [each[0].text for each in listed if each.get("missing")] == ["fehlt"]


def test_a_generalized_table_tells_its_promises_and_its_hierarchies(tmp_path):
    frame = pd.DataFrame({"age": ["20-39", "40-59"], "illness": ["flu", "gout"]})
    made = Generalized(
        sensitive="illness",
        levels={"age": (1, 2)},
        promises=("Each class has 2 values.",),
        parameters={"l": 2},
        suppression="",
        limits=("It shows true values.",),
        hierarchies={"age": (("20-39", "*"), ("40-59", "*"))},
    )
    root, _ = described(tmp_path, replace(plain_contents(frame), generalized=made))
    assert texts(root, "./stdyDscr/method/dataProcessing") == ["Each class has 2 values."]
    assert texts(root, "./stdyDscr/dataAccs/useStmt/disclaimer") == ["It shows true values."]
    others = [each.get("URI") for each in root.iter(f"{NAMESPACE}otherMat")]
    assert others == ["README.md", "hierarchy-1.csv"]


def test_a_description_for_catalogues_is_there_on_request_and_explains_its_terms(tmp_path):
    described(tmp_path / "without", case().contents)
    assert not (tmp_path / "without" / "dcat.jsonld").exists()
    _, package = described(tmp_path / "with", case(dcat=True).contents)
    dataset = json.loads((tmp_path / "with" / "dcat.jsonld").read_bytes())
    assert dataset["@type"] == "dcat:Dataset"

    def terms(value):
        if isinstance(value, dict):
            for key, inner in value.items():
                yield key if not key.startswith("@") else ""
                yield inner if key == "@type" else ""
                yield from terms(inner)
        elif isinstance(value, list):
            for each in value:
                yield from terms(each)

    context = dataset.pop("@context")
    assert {term.partition(":")[0] for term in terms(dataset) if term} == set(context)
    files = {each["dcat:downloadURL"]["@id"]: each for each in dataset["dcat:distribution"]}
    vouched = {each["path"]: each for each in package["resources"]}
    assert set(vouched) - set(files) == {"dcat.jsonld"}
    for name, each in files.items():
        assert each["dcat:byteSize"]["@value"] == str(vouched[name]["bytes"])
        digest = each["spdx:checksum"]["spdx:checksumValue"]["@value"]
        assert vouched[name]["hash"] == f"sha256:{digest}"
        assert each["dcat:mediaType"]["@id"].endswith(vouched[name]["mediatype"])
    assert "dcat.jsonld" in (tmp_path / "with" / "README.md").read_text(encoding="utf-8")


def test_altered_descriptions_are_noticed(tmp_path):
    described(tmp_path, case(dcat=True).contents)
    for name in ("ddi.xml", "dcat.jsonld"):
        file = tmp_path / name
        kept = file.read_bytes()
        file.write_bytes(kept + b" ")
        assert read_bundle(tmp_path, accept_altered=True).altered == (name,)
        file.write_bytes(kept)
    assert read_bundle(tmp_path).table.rows == ROWS
