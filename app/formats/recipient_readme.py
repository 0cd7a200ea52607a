"""The README of a bundle: what a recipient needs to know to use a release.

The frame is ``resources/recipient/README.md``; how to estimate from a mechanism's releases is
in one guide per mechanism, ``resources/recipient/<guide>.md``. Both are `string.Template`
texts: a literal dollar sign is written ``$$``. A guide can use, beside the mechanism's own
`PublishedFacts.values`, these placeholders:

``$attribute``
    the first perturbed column's name, for a sentence;
``$attributes``
    all of them, for a sentence;
``$attribute_code``
    the first one's name as a quoted string, valid in Python and R;
``$data_file``
    the name of the data file;
``$rows``
    the number of records.

A guide's code runs after the code that reads the data: in Python and R, ``data`` is the table
and ``fields`` maps a column's name to its description in ``datapackage.json``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from string import Template

from app.engine.mechanisms.base import Fact
from app.formats.contents import BundleContents, Perturbation
from resources import resource_path

README_NAME = "README.md"

_PYTHON_FIELDS = """\
import json

import pandas as pd

with open("datapackage.json", encoding="utf-8") as file:
    package = json.load(file)
fields = {field["name"]: field for field in package["resources"][0]["schema"]["fields"]}
"""
_PYTHON_READ = {
    "csv": """\
text = {name: str for name, field in fields.items() if field["type"] == "string"}
data = pd.read_csv("data.csv", dtype=text, keep_default_na=False, na_values=[""])
""",
    "parquet": 'data = pd.read_parquet("data.parquet")\n',
    "sav": 'data = pd.read_spss("data.sav", convert_categoricals=False).replace("", None)\n',
    "dta": 'data = pd.read_stata("data.dta", convert_categoricals=False).replace("", None)\n',
}
_R_FIELDS = """\
library(jsonlite)

package <- fromJSON("datapackage.json", simplifyVector = FALSE)
fields <- package$resources[[1]]$schema$fields
names(fields) <- vapply(fields, function(field) field$name, "")
"""
_R_READ = {
    "csv": """\
text <- names(Filter(function(field) field$type == "string", fields))
types <- setNames(rep("character", length(text)), text)
data <- read.csv("data.csv", colClasses = types, na.strings = "", check.names = FALSE,
                 encoding = "UTF-8")
""",
    "parquet": 'data <- as.data.frame(arrow::read_parquet("data.parquet"))\n',
    "sav": """\
data <- as.data.frame(haven::zap_labels(haven::read_sav("data.sav")))
data[data == ""] <- NA
""",
    "dta": """\
data <- as.data.frame(haven::zap_labels(haven::read_dta("data.dta")))
data[data == ""] <- NA
""",
}
_R_PACKAGES = {
    "csv": "`jsonlite`",
    "parquet": "`jsonlite` and `arrow`",
    "sav": "`jsonlite` and `haven`",
    "dta": "`jsonlite` and `haven`",
}
_FORMAT_TITLES = {
    "csv": "CSV, UTF-8, comma-separated, missing values are empty",
    "parquet": "Parquet",
    "sav": "SPSS",
    "dta": "Stata",
}


def readme_of(contents: BundleContents, format_name: str) -> str:
    """Return the README's text, in Markdown.

    Parameters
    ----------
    contents
        The bundle's contents.
    format_name
        The format of the data file: ``csv``, ``parquet``, ``sav`` or ``dta``.
    """
    data_file = f"data.{format_name}"
    return _template("README").substitute(
        heading=_plain(contents.title) or "A released table",
        recipient=_plain(contents.recipient),
        release_id=contents.release_id,
        version=contents.version,
        rows=f"{contents.table.rows:,}",
        data_file=data_file,
        data_format=_FORMAT_TITLES[format_name],
        columns=_columns(contents),
        promises="\n\n".join(map(_promise, contents.perturbations)) or _NOTHING_PERTURBED,
        read_python=_PYTHON_FIELDS + _PYTHON_READ[format_name].rstrip(),
        read_r=_R_FIELDS + _R_READ[format_name].rstrip(),
        r_packages=_R_PACKAGES[format_name],
        guides="\n\n".join(_guide(contents, p, data_file) for p in contents.perturbations)
        or _NOTHING_PERTURBED,
    )


_NOTHING_PERTURBED = "No column of this table was perturbed: count as you would in any table."


def _template(name: str) -> Template:
    return Template(resource_path("recipient", f"{name}.md").read_text(encoding="utf-8"))


def _columns(contents: BundleContents) -> str:
    """Return a Markdown table of the columns and what was done to each."""
    lines = ["| column | what was done |", "|---|---|"]
    for spec in contents.columns:
        perturbation = contents.perturbation_of(spec.name)
        done = []
        if spec.binning is not None:
            done.append("grouped into bins")
        if perturbation is not None:
            done.append(f"**perturbed**: {_plain(perturbation.title)}")
        cell = f"{_plain(spec.name)}"
        label = contents.table.column_labels.get(spec.name)
        if label:
            cell += f" ({_plain(label)})"
        lines.append(f"| {cell} | {', '.join(done) or 'as in the source'} |")
    return "\n".join(lines)


def _promise(perturbation: Perturbation) -> str:
    """Return one perturbation's promise: sentence, figures and what it does not cover."""
    promise = perturbation.promise
    parts = [
        f"### {_listed(perturbation.attributes)}",
        _plain(perturbation.summary, cell=False),
        _plain(promise.sentence, cell=False),
    ]
    if promise.facts:
        parts.append(_facts(promise.facts))
    if promise.limits:
        limits = "\n".join(f"- {_plain(limit, cell=False)}" for limit in promise.limits)
        parts.append(f"What this does not promise:\n\n{limits}")
    return "\n\n".join(parts)


def _facts(facts: Iterable[Fact]) -> str:
    lines = ["| figure | | value |", "|---|---|---|"]
    lines += [
        f"| {_plain(fact.symbol)} | {_plain(fact.title)} | {fact.value:.6g} |" for fact in facts
    ]
    return "\n".join(lines)


def _guide(contents: BundleContents, perturbation: Perturbation, data_file: str) -> str:
    """Return one mechanism's guide, filled in for one perturbation."""
    first = perturbation.attributes[0]
    values = {
        "attribute": _plain(first),
        "attributes": _listed(perturbation.attributes),
        "attribute_code": json.dumps(first, ensure_ascii=False),
        "data_file": data_file,
        "rows": f"{contents.table.rows:,}",
        **perturbation.published.values,
    }
    text = _template(perturbation.published.guide).substitute(values).strip()
    return f"### {_listed(perturbation.attributes)}\n\n{_below(text, level=4)}"


def _below(markdown: str, level: int) -> str:
    """Move a text's headings down so that its highest one is at `level`."""
    lines = markdown.splitlines()
    in_code = False
    headings: dict[int, int] = {}
    for number, line in enumerate(lines):
        if line.lstrip().startswith("```"):
            in_code = not in_code
        elif not in_code and (found := re.match(r"(#+) ", line)):
            headings[number] = len(found[1])
    shift = level - min(headings.values(), default=level)
    for number, depth in headings.items():
        lines[number] = "#" * min(6, depth + shift) + lines[number][depth:]
    return "\n".join(lines)


def _listed(names: Iterable[str]) -> str:
    """Return names for a sentence: "a", "a and b", "a, b and c"."""
    *others, last = map(_plain, names)
    return f"{', '.join(others)} and {last}" if others else last


def _plain(text: str, cell: bool = True) -> str:
    """Return a text on one line, in which Markdown sees no markup that would hide it.

    With `cell`, every character that starts markup is escaped; without, only what would begin
    an HTML tag.
    """
    line = " ".join(text.split())
    return re.sub(r"([\\`*_|<>\[\]#])" if cell else r"([<])", r"\\\1", line)
