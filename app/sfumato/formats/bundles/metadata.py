"""A bundle described for archives and data catalogues: DDI-Codebook 2.5 and DCAT 3 as JSON-LD.

Both are written from the bundle's data package and from the sentences of its README, so that they
hold nothing that these do not. Neither states counts of values: counts of a perturbed column
are not those of the table.

DDI-Codebook: https://ddialliance.org/Specification/DDI-Codebook/2.5/; DCAT:
https://www.w3.org/TR/vocab-dcat-3/.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE, BundleContents
from sfumato.formats.language import said, worded

DDI_NAME: Final = "ddi.xml"
DDI_RESOURCE: Final = "ddi-codebook"
DCAT_NAME: Final = "dcat.jsonld"
DCAT_RESOURCE: Final = "dcat"

_DDI: Final = "ddi:codebook:2_5"
_SCHEMA_AT: Final = "https://ddialliance.org/Specification/DDI-Codebook/2.5/XMLSchema/codebook.xsd"
_XML: Final = "{http://www.w3.org/XML/1998/namespace}lang"
_XSI: Final = "{http://www.w3.org/2001/XMLSchema-instance}schemaLocation"
_NOT_IN_XML: Final = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_FILE: Final = "F1"
_CONTINUOUS: Final = frozenset({"number", "date", "datetime", "time", "year", "yearmonth"})
_DATES: Final = ("date", "datetime", "year", "yearmonth")
_NUMERIC: Final = frozenset({"number", "integer", "boolean", "year"})
_MEDIA: Final = "https://www.iana.org/assignments/media-types/"
_CONTEXT: Final = {
    "dcat": "http://www.w3.org/ns/dcat#",
    "dcterms": "http://purl.org/dc/terms/",
    "spdx": "http://spdx.org/rdf/terms#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}


def codebook(contents: BundleContents, package: Mapping[str, Any]) -> bytes:
    """Return the bundle's DDI-Codebook 2.5 document, the same for the same bundle.

    Parameters
    ----------
    contents
        The bundle's contents.
    package
        Its data package, see `sfumato.formats.bundles.datapackage.describe`.
    """
    root = ET.Element("codeBook", {"xmlns": _DDI, "version": "2.5"})
    root.set(_XSI, f"{_DDI} {_SCHEMA_AT}")
    root.set(_XML, contents.language)
    _citation(_in(root, "docDscr"), package)
    study = _in(root, "stdyDscr")
    _citation(study, package)
    _in(_in(study, "stdyInfo"), "abstract", package["description"])
    method = _in(study, "method")
    for kind, text in _processing(contents):
        _in(method, "dataProcessing", text, type=kind)
    limits = _limits(contents)
    if limits:
        use = _in(_in(study, "dataAccs"), "useStmt")
        for limit in limits:
            _in(use, "disclaimer", said(limit))
    data, *others = package["resources"]
    fields = data["schema"]["fields"]
    _file(root, data, package["sfumato"]["rows"], len(fields))
    variables = _in(root, "dataDscr")
    for number, field in enumerate(fields, start=1):
        _variable(variables, number, field, contents)
    for resource in others:
        _labelled(_in(root, "otherMat", level="study", URI=resource["path"]), resource)
    ET.indent(root)
    written: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return written + b"\n"


def _in(parent: ET.Element, tag: str, text: str = "", /, **attributes: str) -> ET.Element:
    """Put an element at the end of another one; what XML can't hold is replaced in its text."""
    allowed = {key: _NOT_IN_XML.sub("\ufffd", value) for key, value in attributes.items()}
    element = ET.SubElement(parent, tag, allowed)
    element.text = _NOT_IN_XML.sub("\ufffd", text) or None
    return element


def _citation(parent: ET.Element, package: Mapping[str, Any]) -> None:
    citation = _in(parent, "citation")
    title = _in(citation, "titlStmt")
    _in(title, "titl", package["title"])
    _in(title, "IDNo", package["sfumato"]["release"], agency="Sfumato")
    made = _in(citation, "prodStmt")
    _in(made, "software", "Sfumato", version=package["sfumato"]["version"])


def _processing(contents: BundleContents) -> Iterable[tuple[str, str]]:
    """Yield what was done to the table, and what that promises: kind and text."""
    if contents.generalized is not None:
        made = contents.generalized
        for promise in (*made.promises, *filter(None, [made.suppression])):
            yield "generalization", said(promise)
    if contents.view is not None:
        columns = ", ".join(contents.view.levels)
        yield "generalization", f"{columns}: {said(contents.view.promise)}"
    for perturbation in contents.perturbations:
        columns = ", ".join(perturbation.attributes)
        told = f"{said(perturbation.summary)} {said(perturbation.promise.sentence)}"
        yield "perturbation", f"{columns}: {told}"
    if contents.unit is not None:
        for text in contents.unit.texts:
            yield "sampling", said(text)


def _limits(contents: BundleContents) -> list[str]:
    """Return what is not promised, each once."""
    own = () if contents.generalized is None else contents.generalized.limits
    order = [ROWS_AS_IN_TABLE] if contents.rows_as_in_table else []
    of_promises = [limit for each in contents.perturbations for limit in each.promise.limits]
    return list(dict.fromkeys((*order, *own, *contents.limits, *of_promises)))


def _file(root: ET.Element, data: Mapping[str, Any], rows: int, columns: int) -> None:
    text = _in(_in(root, "fileDscr", ID=_FILE, URI=data["path"]), "fileTxt")
    _in(text, "fileName", data["path"])
    digest = _in(text, "dataFingerprint", type="dataFile")
    _in(digest, "digitalFingerprintValue", data["hash"].partition(":")[2])
    _in(digest, "algorithmSpecification", "SHA-256")
    size = _in(text, "dimensns")
    _in(size, "caseQnty", str(rows))
    _in(size, "varQnty", str(columns))
    charset = {"charset": data["encoding"]} if "encoding" in data else {}
    _in(text, "fileType", data["mediatype"], **charset)


def _variable(
    parent: ET.Element, number: int, field: Mapping[str, Any], contents: BundleContents
) -> None:
    """Describe one column; it is in the data file under the field's name."""
    own = field.get("sfumato", {})
    column = own.get("column", field["name"])
    listed = field.get("categories") or [
        {"value": value} for value in field.get("constraints", {}).get("enum", ())
    ]
    listed = [*listed, *own.get("labels", ())]
    perturbation = contents.perturbation_of(str(column))
    symbols = perturbation is not None and perturbation.symbols is not None
    continuous = field["type"] in _CONTINUOUS and not listed and not symbols
    variable = _in(
        parent,
        "var",
        ID=f"V{number}",
        name=field["name"],
        files=_FILE,
        intrvl="contin" if continuous else "discrete",
        **({"wgt": "wgt"} if own.get("role") == "weight" else {}),
    )
    _in(variable, "labl", field.get("title") or str(column))
    for item in listed:
        category = _in(variable, "catgry")
        _in(category, "catValu", _told(item["value"]))
        if "label" in item:
            _in(category, "labl", str(item["label"]))
    if None in own.get("domain", ()):
        _in(_in(variable, "catgry", missing="Y"), "labl", worded("missing"))
    category_of_format = {"time": "time", **dict.fromkeys(_DATES, "date")}
    _in(
        variable,
        "varFormat",
        type="numeric" if field["type"] in _NUMERIC else "character",
        category=category_of_format.get(field["type"], "other"),
        schema="other",
        formatname=field["type"],
    )
    if perturbation is not None:
        told = said(perturbation.summary)
        _in(variable, "notes", told, type="perturbation", subject=perturbation.mechanism)


def _told(value: object) -> str:
    """Return a value as the data file writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _labelled(parent: ET.Element, resource: Mapping[str, Any]) -> None:
    _in(parent, "labl", resource.get("title", resource["path"]))


def catalogue(contents: BundleContents, package: Mapping[str, Any]) -> bytes:
    """Return the bundle's description as a DCAT dataset in JSON-LD.

    Its terms are explained in the file itself: nothing has to be fetched to read it. Parameters
    are those of `codebook`.
    """
    release, language = package["sfumato"]["release"], contents.language
    distributions = [_distribution(resource, language) for resource in package["resources"]]
    done = [{"@value": text, "@language": language} for _, text in _processing(contents)]
    dataset: dict[str, Any] = {
        "@context": _CONTEXT,
        "@id": f"urn:sfumato:release:{release}",
        "@type": "dcat:Dataset",
        "dcterms:identifier": release,
        "dcterms:title": {"@value": package["title"], "@language": language},
        "dcterms:description": {"@value": package["description"], "@language": language},
        "dcat:distribution": distributions,
    }
    if done:
        dataset["dcterms:provenance"] = {
            "@type": "dcterms:ProvenanceStatement",
            "dcterms:description": done,
        }
    return (json.dumps(dataset, ensure_ascii=False, indent=2) + "\n").encode()


def _distribution(resource: Mapping[str, Any], language: str) -> dict[str, Any]:
    """Return one of the bundle's files; where it lies beside the description, by its name."""
    title = resource.get("title", resource["path"])
    described: dict[str, Any] = {
        "@type": "dcat:Distribution",
        "dcterms:title": {"@value": title, "@language": language},
        "dcat:accessURL": {"@id": resource["path"]},
        "dcat:downloadURL": {"@id": resource["path"]},
        "dcat:mediaType": {"@id": _MEDIA + resource["mediatype"]},
        "dcat:byteSize": {"@value": str(resource["bytes"]), "@type": "xsd:nonNegativeInteger"},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": {"@id": "spdx:checksumAlgorithm_sha256"},
            "spdx:checksumValue": {
                "@value": resource["hash"].partition(":")[2],
                "@type": "xsd:hexBinary",
            },
        },
    }
    if resource["name"] == DDI_RESOURCE:
        described["dcterms:conformsTo"] = {
            "@id": _SCHEMA_AT.removesuffix("XMLSchema/codebook.xsd"),
            "@type": "dcterms:Standard",
        }
    return described
