"""The document as plain JSON values, and back without loss.

A domain's values keep their types: JSON tells text, numbers, true/false and null apart, and
whole numbers from those with a point. Numbers that JSON lacks (infinities) are tagged.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from sfumato.engine.core.columns import Binning, ColumnSpec, Domain, Kind, MissingRule, Role, Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import recipe_from_dict
from sfumato.project.document import generalization
from sfumato.project.document.checked_types import check_types
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Source
from sfumato.project.errors import DamagedProject


def canonical_json(value: object) -> str:
    """Return the one JSON text for a value: sorted keys, no spaces, plain ASCII, no NaN.

    Raises
    ------
    ValueError
        If the value holds a number that JSON lacks.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def document_to_json(document: Document) -> str:
    """Return the document as one line of JSON."""
    return canonical_json(document_to_plain(document))


def document_from_json(text: str) -> Document:
    """Return the document that a JSON text describes.

    Raises
    ------
    DamagedProject
        If the text is not a document.
    """
    try:
        document = document_from_plain(json.loads(text))
        check_types(document, Document)
    except (
        *(ValueError, KeyError, TypeError, AttributeError, IndexError),
        *(OverflowError, RecursionError, SfumatoError),
    ) as error:
        raise DamagedProject(
            "The project's document can't be read ({kind}).",
            "The file was damaged or changed; restore an earlier copy.",
            kind=type(error).__name__,
        ) from None
    return document


def document_to_plain(document: Document) -> dict[str, Any]:
    """Return the document as dictionaries, lists, texts and numbers."""
    return {
        "title": document.title,
        "source": None if document.source is None else _source_to_plain(document.source),
        "columns": [_column_to_plain(column) for column in document.columns],
        "record_key": document.record_key,
        "policy": [
            {
                "attributes": list(entry.attributes),
                "mechanism": entry.mechanism,
                "settings": _json_to_plain(entry.settings),
            }
            for entry in document.policy
        ],
        "recipients": [
            {
                "name": recipient.name,
                "note": recipient.note,
                "statements": _json_to_plain(recipient.statements),
                "mark": recipient.mark,
            }
            for recipient in document.recipients
        ],
        "level_spacing": document.level_spacing,
        "hierarchies": {
            column: _json_to_plain(recipe.to_dict())
            for column, recipe in document.hierarchies.items()
        },
        "generalization": None
        if document.generalization is None
        else _json_to_plain(generalization.to_plain(document.generalization)),
        "rows_as_in_table": document.rows_as_in_table,
    }


def document_from_plain(plain: Mapping[str, Any]) -> Document:
    """Return the document that `document_to_plain` made `plain` of."""
    source = plain["source"]
    return Document(
        title=plain["title"],
        source=None if source is None else _source_from_plain(source),
        columns=tuple(_column_from_plain(column) for column in plain["columns"]),
        record_key=plain["record_key"],
        policy=tuple(
            PolicyEntry(
                tuple(entry["attributes"]), entry["mechanism"], _json_from_plain(entry["settings"])
            )
            for entry in plain["policy"]
        ),
        recipients=tuple(
            Recipient(
                recipient["name"],
                _json_from_plain(recipient["statements"]),
                recipient["note"],
                recipient.get("mark", 0),
            )
            for recipient in plain["recipients"]
        ),
        level_spacing=plain.get("level_spacing", 0.0),
        # Projects from before there were hierarchies have none.
        hierarchies={
            column: recipe_from_dict(_json_from_plain(recipe))
            for column, recipe in plain.get("hierarchies", {}).items()
        },
        generalization=None
        if plain.get("generalization") is None
        else generalization.from_plain(_json_from_plain(plain["generalization"])),
        rows_as_in_table=plain.get("rows_as_in_table", ""),
    )


def _source_to_plain(source: Source) -> dict[str, Any]:
    return {
        "path": source.path,
        "digest": source.digest,
        "rows": source.rows,
        "options": _json_to_plain(source.options),
    }


def _source_from_plain(plain: Mapping[str, Any]) -> Source:
    return Source(plain["path"], plain["digest"], plain["rows"], _json_from_plain(plain["options"]))


def _column_to_plain(column: ColumnSpec) -> dict[str, Any]:
    domain, binning = column.domain, column.binning
    return {
        "name": column.name,
        "role": column.role.value,
        "kind": column.kind.value,
        "missing": column.missing.value,
        "from_rows": column.from_rows,
        "domain": None
        if domain is None
        else {
            "values": [_json_to_plain(value) for value in domain.values],
            # Pairs, because JSON's keys are texts and a value may be a number or missing.
            "labels": [[_json_to_plain(value), label] for value, label in domain.labels.items()],
        },
        "binning": None
        if binning is None
        else {"edges": list(binning.edges), "labels": list(binning.labels)},
    }


def _column_from_plain(plain: Mapping[str, Any]) -> ColumnSpec:
    domain, binning = plain["domain"], plain["binning"]
    return ColumnSpec(
        name=plain["name"],
        role=Role(plain["role"]),
        kind=Kind(plain["kind"]),
        missing=MissingRule(plain["missing"]),
        # Nobody has confirmed the values of projects from before this was asked.
        from_rows=plain.get("from_rows", domain is not None or binning is not None),
        domain=None if domain is None else _domain_from_plain(domain),
        binning=None
        if binning is None
        else Binning(tuple(binning["edges"]), tuple(binning["labels"])),
    )


def _domain_from_plain(plain: Mapping[str, Any]) -> Domain:
    values: tuple[Value, ...] = tuple(_json_from_plain(value) for value in plain["values"])
    return Domain(values, {_json_from_plain(value): label for value, label in plain["labels"]})


def _json_to_plain(value: Any) -> Any:
    """Return a JSON value with the numbers that JSON lacks tagged."""
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, Mapping):
        return {str(key): _json_to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_to_plain(inner) for inner in value]
    return value


def _json_from_plain(plain: Any) -> Any:
    if isinstance(plain, dict):
        if plain.keys() == {"float"} and isinstance(plain["float"], str):
            return float(plain["float"])
        return {key: _json_from_plain(inner) for key, inner in plain.items()}
    if isinstance(plain, list):
        return [_json_from_plain(inner) for inner in plain]
    return plain
