"""The description of a bundle: a Frictionless Data Package with a Table Schema.

Follows https://datapackage.org (version 2). What is Sfumato's own is in ``sfumato`` objects,
which other tools pass over: one for the package, one for each perturbed column. It is read back
here too, and checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Role
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.periods import Period, begins_of
from sfumato.engine.core.values import Value, plain
from sfumato.engine.core.wording import Sentence
from sfumato.formats.bundles.contents import (
    KEYED_ORDER,
    TABLE_ORDER,
    BundleContents,
    Generalized,
    Perturbation,
    SeenView,
    UnitTold,
)
from sfumato.formats.bundles.metadata import DCAT_NAME, DCAT_RESOURCE, DDI_NAME, DDI_RESOURCE
from sfumato.formats.bundles.readme import PROGRAM_RESOURCES, README_NAME
from sfumato.formats.columns.arrays import is_ordered
from sfumato.formats.formulas import ESCAPED, escaped_value, is_escaped, unescaped
from sfumato.formats.language import worded

DATA_RESOURCE: Final = "data"
README_RESOURCE: Final = "readme"

_PACKAGE_PROFILE: Final = "https://datapackage.org/profiles/2.0/datapackage.json"
_SCHEMA_PROFILE: Final = "https://datapackage.org/profiles/2.0/tableschema.json"
_MEDIA_TYPES: Final = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "sav": "application/x-spss-sav",
    "dta": "application/x-stata-dta",
}
_OBJECT_TYPES: Final = {
    "boolean": "boolean",
    "integer": "integer",
    "floating": "number",
    "mixed-integer-float": "number",
    "decimal": "number",
    "date": "date",
    "datetime": "datetime",
    "datetime64": "datetime",
    "time": "time",
}
_PERIOD_TYPES: Final = {Period.YEAR: "year", Period.MONTH: "yearmonth", Period.TIME: "time"}
"""What the schema calls periods; for others it has no name."""
_MINUTES: Final = len("13:45")
_SECONDS: Final = len("13:45:07")
_TRUE: Final = ["true", "True", "TRUE", "1"]
_FALSE: Final = ["false", "False", "FALSE", "0"]


@dataclass(frozen=True)
class FileFacts:
    """What is known of a written file: its name, its size in bytes and its SHA-256."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class WrittenFiles:
    """The files that a descriptor vouches for.

    Parameters
    ----------
    data, readme
        In every bundle.
    hierarchies
        Those of a generalized table, by the columns' names.
    """

    data: FileFacts
    readme: FileFacts
    hierarchies: Mapping[str, FileFacts] = field(default_factory=dict)


def describe(
    contents: BundleContents,
    names: Mapping[str, str],
    format_name: str,
    files: WrittenFiles,
    escapes: bool = False,
) -> dict[str, Any]:
    """Return the data package's descriptor.

    Parameters
    ----------
    contents
        The bundle's contents.
    names
        What each column is called in the data file, by its name.
    format_name
        The data file's format.
    files
        What the descriptor vouches for.
    escapes
        Whether texts are escaped in the data file, see `sfumato.formats.formulas`.
    """
    coarser = contents.generalized is not None
    package: dict[str, Any] = {
        "$schema": _PACKAGE_PROFILE,
        "name": package_name(contents),
        "title": contents.title or worded("A released table"),
        "description": worded(
            "Released to {recipient}. Columns were made coarser. {readme} tells how to use the"
            " table."
            if coarser
            else "Released to {recipient}. Perturbed columns can't be read as they stand. {readme}"
            " tells how to use the table.",
            recipient=Sentence("the public") if coarser else contents.recipient,
            readme=files.readme.name,
        ),
        "sfumato": {
            "version": contents.version,
            "release": contents.release_id,
            "recipient": contents.recipient,
            "rows": contents.rows,
            "row_order": TABLE_ORDER if contents.rows_as_in_table else KEYED_ORDER,
            "perturbed": [[names[a] for a in p.attributes] for p in contents.perturbations],
        },
        "resources": [
            _data_resource(contents, names, format_name, files.data, escapes),
            beside(README_RESOURCE, files.readme, "text/markdown"),
            *(_hierarchy(names[column], facts) for column, facts in files.hierarchies.items()),
        ],
    }
    if contents.unit is not None:
        package["sfumato"]["unit"] = _unit(contents.unit, names)
    if contents.generalized is not None:
        package["sfumato"]["generalized"] = _generalized(contents.generalized, names)
    if contents.view is not None:
        package["sfumato"]["view"] = _view(contents.view, names)
    return package


def beside(name: str, facts: FileFacts, media_type: str, title: str = "") -> dict[str, Any]:
    """Return the description of a file that lies beside the data."""
    return {
        "name": name,
        "type": "file",
        "path": facts.name,
        **({"title": title} if title else {}),
        "format": facts.name.rpartition(".")[2],
        "mediatype": media_type,
        "encoding": "utf-8",
        "bytes": facts.size,
        "hash": f"sha256:{facts.sha256}",
    }


def _hierarchy(column: str, facts: FileFacts) -> dict[str, Any]:
    title = worded("How the labels of {column} become coarser still", column=column)
    return beside(facts.name.removesuffix(".csv"), facts, "text/csv", title)


def _unit(unit: UnitTold, names: Mapping[str, str]) -> dict[str, Any]:
    """Return what is told of rows that belong together, for tools."""
    return {
        "most_rows": unit.most_rows,
        "drawn_once": [names[name] for name in unit.once],
        "drawn_by_row": [names[name] for name in unit.apart],
    }


def _generalized(generalized: Generalized, names: Mapping[str, str]) -> dict[str, Any]:
    """Return how a table was generalized, for tools."""
    return {
        "sensitive": names[generalized.sensitive],
        "levels": {
            names[name]: {"level": level, "highest": highest}
            for name, (level, highest) in generalized.levels.items()
        },
        "requirements": dict(generalized.parameters),
    }


def _view(view: SeenView, names: Mapping[str, str]) -> dict[str, Any]:
    """Return how coarsely quasi-identifiers are shown, for tools."""
    cells = view.shown_cells
    return {
        "k": view.k,
        **({"k_counts_distinct": view.unit} if view.unit else {}),
        "suppressed": view.suppressed,
        **(
            {}
            if cells is None
            else {"suppressed_cells": {names[name]: count for name, count in cells.items()}}
        ),
        "levels": {
            names[name]: {"level": level, "highest": highest}
            for name, (level, highest) in view.levels.items()
        },
    }


def package_name(contents: BundleContents) -> str:
    """Return the package's name: lower-case letters, digits, dots and hyphens."""
    name = re.sub(r"[^a-z0-9.]+", "-", f"{contents.title} {contents.release_id}".lower())
    return name.strip("-.") or "release"


def encode(descriptor: Mapping[str, Any]) -> bytes:
    """Return a descriptor as the bytes of a JSON file; the same for the same descriptor."""
    return (json.dumps(descriptor, ensure_ascii=False, indent=2) + "\n").encode()


def _data_resource(
    contents: BundleContents,
    names: Mapping[str, str],
    format_name: str,
    data: FileFacts,
    escapes: bool,
) -> dict[str, Any]:
    resource: dict[str, Any] = {
        "name": DATA_RESOURCE,
        # General tools read CSV by the schema; they check the other formats' digests only.
        "type": "table" if format_name == "csv" else "file",
        "path": data.name,
        "format": format_name,
        "mediatype": _MEDIA_TYPES.get(format_name, "application/octet-stream"),
    }
    if format_name == "csv":
        resource["encoding"] = "utf-8"
        resource["dialect"] = {"delimiter": ",", "quoteChar": '"', "doubleQuote": True}
    if escapes:
        resource["sfumato"] = {"escaped": ESCAPED}
    return {
        **resource,
        "bytes": data.size,
        "hash": f"sha256:{data.sha256}",
        "schema": {
            "$schema": _SCHEMA_PROFILE,
            "fields": [_field(contents, name, names, escapes) for name in contents.table.columns],
            "missingValues": [""],
        },
    }


def _field(
    contents: BundleContents, name: str, names: Mapping[str, str], escapes: bool
) -> dict[str, Any]:
    """Return the schema of one column.

    What the schema says of values holds for the file as it stands, escapes included; what is
    Sfumato's own speaks of them as they are.
    """
    spec = contents.column(name)
    series = contents.table.frame[name]
    perturbation = contents.perturbation_of(name)
    domain = _known_domain(spec, perturbation)
    period = contents.table.periods.get(name)
    described: dict[str, Any] = {"name": names[name], "type": schema_type(series)}
    described |= _period_type(series, period)
    if name in contents.table.column_labels:
        described["title"] = contents.table.column_labels[name]
    if described["type"] == "boolean":
        described |= {"trueValues": _TRUE, "falseValues": _FALSE}
    in_file = escaped_value if escapes else _as_it_is
    if domain is not None:
        described["constraints"] = _possible(domain, perturbation, in_file)
        if not domain.allows_missing and not bool(series.isna().any()):
            described["constraints"]["required"] = True
    labels = contents.table.value_labels.get(name, {})
    # Files other than Parquet hold the categories as texts; a file's rows have each of them.
    ordered = domain is None and described["type"] == "string" and is_ordered(series)
    listed = Domain(tuple(map(plain, series.cat.categories))) if ordered else domain
    symbols = perturbation is not None and perturbation.symbols is not None
    categories, partial = (
        ([], []) if symbols else _labels(described["type"], series, listed, labels)
    )
    if categories:
        described["categories"] = [{**item, "value": in_file(item["value"])} for item in categories]
    if spec.binning is not None or ordered:
        described["categoriesOrdered"] = True
    own = _own(contents, name, names, partial)
    if own:
        described["sfumato"] = own
    return described


def _possible(
    domain: Domain, perturbation: Perturbation | None, in_file: Callable[[Value], Value]
) -> dict[str, Any]:
    """Return which values a column can have; symbols are whole numbers from 0."""
    if perturbation is not None and perturbation.symbols is not None:
        return {"minimum": 0, "maximum": domain.size - 1}
    return {"enum": [in_file(value) for value in domain.values if value is not None]}


def _period_type(series: pd.Series, period: Period | None) -> dict[str, str]:
    """Return what the schema says of a column of periods, if it has a name for them."""
    values = distinct_of(series) if period in _PERIOD_TYPES else []
    if period is None or not values or begins_of(values, period) is None:
        return {}
    lengths = {len(str(value)) for value in values}
    if period is Period.TIME and lengths != {_SECONDS}:
        return {"type": "time", "format": "%H:%M"} if lengths == {_MINUTES} else {}
    return {"type": _PERIOD_TYPES[period]}


def _own(
    contents: BundleContents,
    name: str,
    names: Mapping[str, str],
    labels: Sequence[Mapping[str, Value]],
) -> dict[str, Any]:
    """Return what is Sfumato's own in the schema of one column."""
    spec = contents.column(name)
    own: dict[str, Any] = {"labels": labels} if labels else {}
    period = contents.table.periods.get(name)
    if period is not None:
        own["period"] = period.value
    if names[name] != name:
        own["column"] = name
    if spec.role is Role.WEIGHT:
        own["role"] = spec.role.value
    if spec.as_pseudonym is not None:
        own["pseudonym"] = True
    if spec.coded is not None:
        own["coded"] = {
            end: number
            for end in ("bottom", "top", "step")
            if (number := getattr(spec.coded, end)) is not None
        }
    perturbation = contents.perturbation_of(name)
    if perturbation is not None:
        own |= _extension(perturbation, names, _known_domain(spec, perturbation))
    return own


def _as_it_is(value: Value) -> Value:
    return value


def _known_domain(spec: ColumnSpec, perturbation: Perturbation | None) -> Domain | None:
    """Return the values a released column can have, where they are fixed beforehand."""
    if perturbation is not None:
        return perturbation.symbols or spec.domain
    return Domain((*spec.binning.names, None)) if spec.binning is not None else None


def _labels(
    field_type: str, series: pd.Series, domain: Domain | None, labels: Mapping[Value, str]
) -> tuple[list[dict[str, Value]], list[dict[str, Value]]]:
    """Return a column's value labels as the schema's ``categories``, or else as our own.

    The ``categories`` list every value a column can have and exist for text and whole numbers
    only; labels of other columns, or of some values only, are Sfumato's own.
    """
    texts = {_of_type(value, field_type): text for value, text in labels.items()}
    values = texts if domain is None else (v for v in domain.values if v is not None)
    listed: list[dict[str, Value]] = [
        {"value": value, "label": texts[value]} if value in texts else {"value": value}
        for value in (_of_type(value, field_type) for value in values)
    ]
    whole = domain is not None or (bool(texts) and _all_in(series, field_type, set(texts)))
    if whole and field_type in ("string", "integer"):
        return listed, []
    return [], [item for item in listed if "label" in item]


def _of_type(value: Value, field_type: str) -> Value:
    """Return a whole number that a statistical file stores as a fraction as what it is."""
    if field_type == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _all_in(series: pd.Series, field_type: str, known: set[Value]) -> bool:
    return all(_of_type(value, field_type) in known for value in distinct_of(series))


def distinct_of(series: pd.Series) -> list[Value]:
    """Return the distinct values of a column, and the categories that no row has."""
    occurring = series.cat.categories if hasattr(series, "cat") else series.dropna().unique()
    return [plain(value) for value in occurring]


def _extension(
    perturbation: Perturbation, names: Mapping[str, str], domain: Domain | None
) -> dict[str, Any]:
    """Return what is told about a perturbed column; nothing in it is secret."""
    extension: dict[str, Any] = {
        "mechanism": perturbation.mechanism,
        "attributes": [names[name] for name in perturbation.attributes],
        "parameters": dict(perturbation.published.parameters),
    }
    if perturbation.channel is not None:
        extension["channel"] = dict(perturbation.channel)
    if domain is not None and perturbation.symbols is None:
        extension["domain"] = list(domain.values)
    return extension


def schema_type(series: pd.Series) -> str:
    """Return a column's type in the Table Schema's terms, from how it is stored.

    Text that looks like a number stays text: a postcode keeps its zeros.
    """
    values = (
        pd.Series(series.cat.categories)
        if isinstance(series.dtype, pd.CategoricalDtype)
        else series
    )
    dtype = values.dtype
    if pd.api.types.is_bool_dtype(dtype):
        return "boolean"
    if pd.api.types.is_integer_dtype(dtype):
        return "integer"
    if pd.api.types.is_numeric_dtype(dtype):
        return "number"
    if pd.api.types.is_datetime64_any_dtype(dtype):
        known = values.dropna()
        whole_days = known.dt.tz is None and bool((known == known.dt.normalize()).all())
        return "date" if whole_days else "datetime"
    return _OBJECT_TYPES.get(pd.api.types.infer_dtype(values, skipna=True), "string")


_DATA_NAME: Final = re.compile(r"data\.([a-z0-9]{1,12})")
_HIERARCHY: Final = re.compile(r"hierarchy-([0-9]{1,4})")
_BESIDE: Final = {DDI_RESOURCE: DDI_NAME, DCAT_RESOURCE: DCAT_NAME, **PROGRAM_RESOURCES}
"""What else may lie beside the data, by the names of the resources."""
_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")
_TYPES: Final = frozenset(
    (
        *("string", "integer", "number", "boolean", "date", "datetime"),
        *("time", "year", "yearmonth"),
    )
)


@dataclass(frozen=True)
class SchemaField:
    """One column as the schema describes it.

    Parameters
    ----------
    name, type
        Its name in the data file, and its type in the Table Schema's terms.
    column
        Its name in the released table; a statistical format may not allow that one.
    title
        The sentence that describes it; may be empty.
    labels
        The texts for its values.
    """

    name: str
    type: str
    column: str
    title: str
    labels: Mapping[Value, str]


@dataclass(frozen=True)
class Descriptor:
    """What ``datapackage.json`` says.

    Parameters
    ----------
    content
        All of it.
    data_name, format_name
        The data file's name and format.
    fields
        The columns, in order.
    hashes
        The stated SHA-256 of every other file, by name: data, README, descriptions for archives
        and catalogues, and the hierarchies of a generalized table.
    escaped
        Whether texts of the data file are escaped, see `sfumato.formats.formulas`.
    release_id, recipient
        The release's identifier and whom it was made for.
    """

    content: Mapping[str, Any]
    data_name: str
    format_name: str
    fields: tuple[SchemaField, ...]
    hashes: Mapping[str, str]
    release_id: str
    recipient: str
    escaped: bool = False


def descriptor_from(content: object) -> Descriptor | None:
    """Return a descriptor from the JSON of ``datapackage.json``, or None if it is not one."""
    try:
        return _descriptor(content)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _descriptor(content: Any) -> Descriptor:
    resources = {resource["name"]: resource for resource in content["resources"]}
    data = resources[DATA_RESOURCE]
    name = _DATA_NAME.fullmatch(data["path"])
    if name is None:
        raise ValueError
    escapes = is_escaped(data)
    fields = tuple(_field_from(plain, escapes) for plain in data["schema"]["fields"])
    if not fields or any(
        len(set(names)) != len(fields)
        for names in ([field.name for field in fields], [field.column for field in fields])
    ):
        raise ValueError
    own = content["sfumato"]
    others = {
        _BESIDE.get(called, f"{called}.csv"): _hash(resource)
        for called, resource in resources.items()
        if called in _BESIDE or _HIERARCHY.fullmatch(called)
    }
    return Descriptor(
        content=content,
        data_name=name[0],
        format_name=name[1],
        fields=fields,
        hashes={
            name[0]: _hash(data),
            README_NAME: _hash(resources[README_RESOURCE]),
            **others,
        },
        release_id=str(own["release"]),
        recipient=str(own["recipient"]),
        escaped=escapes,
    )


def _field_from(plain: Any, escapes: bool) -> SchemaField:
    if plain["type"] not in _TYPES:
        raise ValueError
    own = plain.get("sfumato", {})
    labels: dict[Value, str] = {
        item["value"]: str(item["label"]) for item in own.get("labels", ()) if "label" in item
    }
    for item in plain.get("categories", ()):
        if "label" in item:
            value = item["value"]
            in_table = unescaped(value) if escapes and isinstance(value, str) else value
            labels[in_table] = str(item["label"])
    name = str(plain["name"])
    return SchemaField(
        name=name,
        type=plain["type"],
        column=str(own.get("column", name)),
        title=str(plain.get("title", "")),
        labels=labels,
    )


def _hash(resource: Mapping[str, Any]) -> str:
    found = _HASH.fullmatch(resource["hash"])
    if found is None:
        raise ValueError
    return found[1]
