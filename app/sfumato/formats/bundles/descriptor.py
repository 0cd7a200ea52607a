"""The description of a bundle, read back and checked."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sfumato.engine.core.values import Value
from sfumato.formats.bundles.datapackage import DATA_RESOURCE, DATAPACKAGE_NAME, README_RESOURCE
from sfumato.formats.bundles.readme import README_NAME
from sfumato.formats.formulas import ESCAPED, unescaped

_DATA_NAME: Final = re.compile(r"data\.([a-z0-9]{1,12})")
_HIERARCHY: Final = re.compile(r"hierarchy-([0-9]{1,4})")
_HASH: Final = re.compile(r"sha256:([0-9a-f]{64})")
_LARGEST_BESIDE: Final = 64 << 20
"""More than a description can need, in bytes."""
_TYPES: Final = frozenset({"string", "integer", "number", "boolean", "date", "datetime", "time"})


@dataclass(frozen=True)
class Field:
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
        The stated SHA-256 of every other file, by name: data, README, and the hierarchies of a
        generalized table.
    escaped
        Whether texts of the data file are escaped, see `sfumato.formats.formulas`.
    release_id, recipient
        The release's identifier and whom it was made for.
    """

    content: Mapping[str, Any]
    data_name: str
    format_name: str
    fields: tuple[Field, ...]
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
    fields = tuple(_field(plain, escapes) for plain in data["schema"]["fields"])
    if not fields or any(
        len(set(names)) != len(fields)
        for names in ([field.name for field in fields], [field.column for field in fields])
    ):
        raise ValueError
    own = content["sfumato"]
    hierarchies = {
        f"{called}.csv": _hash(resource)
        for called, resource in resources.items()
        if _HIERARCHY.fullmatch(called)
    }
    return Descriptor(
        content=content,
        data_name=name[0],
        format_name=name[1],
        fields=fields,
        hashes={
            name[0]: _hash(data),
            README_NAME: _hash(resources[README_RESOURCE]),
            **hierarchies,
        },
        release_id=str(own["release"]),
        recipient=str(own["recipient"]),
        escaped=escapes,
    )


def is_escaped(resource: Any) -> bool:
    """Return whether a resource's description says that its texts are escaped, as ours are."""
    own = resource.get("sfumato")
    return isinstance(own, Mapping) and own.get("escaped") == ESCAPED


def described_as_escaped(path: Path) -> bool:
    """Return whether a description beside a file says that the file's texts are escaped."""
    beside = path.with_name(DATAPACKAGE_NAME)
    try:
        if not beside.is_file() or beside.stat().st_size > _LARGEST_BESIDE:
            return False
        content = json.loads(beside.read_bytes())
        return any(
            resource["path"] == path.name and is_escaped(resource)
            for resource in content["resources"]
            if "path" in resource
        )
    except (OSError, ValueError, RecursionError, KeyError, TypeError, AttributeError):
        return False  # what is no description of ours says nothing


def _field(plain: Any, escapes: bool) -> Field:
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
    return Field(
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
