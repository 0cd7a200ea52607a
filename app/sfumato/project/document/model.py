"""The document: everything a custodian decides, as immutable values.

An edit makes a new `Document`; undo is keeping the old one. Nothing here holds source rows
or secrets.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import field, fields, is_dataclass, replace
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin, get_type_hints

from sfumato.engine.core.columns import ColumnSpec, Domain, Role, Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.generalization.hierarchies import Recipe, recipe_from_dict
from sfumato.engine.mechanisms.base import Settings, Statement
from sfumato.formats.databases import Place, place_of
from sfumato.formats.notes import Note
from sfumato.formats.terms import ReleaseTerms
from sfumato.project.document.generalization import CriterionChoice, Generalization
from sfumato.project.errors import DamagedProject

_LATER: Final = frozenset(
    (
        *("level_spacing", "hierarchies", "generalization", "rows_as_in_table", "mark"),
        *("accepted", "cells", "importance", "needs_approval"),
        *("node", "suppression", "suppressed", "pinned", "others", "spelling", "options"),
        *("population", "sampling_fraction", "part", "coding", "pseudonym", "view"),
        *("unit", "by_unit", "language", "read_as", "notes", "found", "public_counts"),
        *("terms", "most_epsilon"),
    )
)
"""The fields that files from earlier versions lack."""
_ONLY_IF_STATED: Final = frozenset(
    {"population", "sampling_fraction", "part", "coding", "pseudonym", "view", "unit"}
    | {"language", "read_as", "notes", "found", "public_counts"}
    | {"cells", "importance", "needs_approval", "terms", "most_epsilon"}
)
_TAG: Final = "float"


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
    return canonical_json(to_plain(document))


def document_from_json(text: str) -> Document:
    """Return the document that a JSON text describes.

    Raises
    ------
    DamagedProject
        If the text is not a document.
    """
    try:
        document: Document = from_plain(Document, json.loads(text))
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


def to_plain(value: Any) -> Any:  # noqa: PLR0911 (one for each sort of value)
    """Return a value of the document as dictionaries, lists, texts and numbers."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float):
        return value if math.isfinite(value) else {_TAG: repr(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    if isinstance(value, Recipe):
        return to_plain(value.to_dict())
    if isinstance(value, Note):
        return to_plain(value.to_dict())
    if isinstance(value, CriterionChoice):
        return {"kind": value.kind, **to_plain(value.numbers)}
    if isinstance(value, Domain):
        # Pairs, because JSON's keys are texts and a value may be a number or missing.
        return {"values": to_plain(value.values), "labels": to_plain(tuple(value.labels.items()))}
    if is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in fields(value)}
        return {
            name: to_plain(inner)
            for name, inner in found.items()
            if inner is not None or name not in _ONLY_IF_STATED
        }
    return value


def from_plain(kind: Any, plain: Any) -> Any:  # noqa: PLR0911 (one for each sort of type)
    """Return the value of a type that `to_plain` made `plain` of.

    Raises
    ------
    TypeError, ValueError, KeyError
        If it is something else; the message names types and fields, never a value.
    SfumatoError
        If it can't be: a criterion that nobody knows, a domain with a value twice.
    """
    if kind is Any:
        return _untagged(plain)
    origin, parts = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _one_of(parts, plain)
    if origin is tuple:
        _check(plain, list | tuple)
        kinds = parts[:1] * len(plain) if parts[1:] == (...,) else parts
        return tuple(from_plain(one, inner) for one, inner in zip(kinds, plain, strict=True))
    if origin is not None and issubclass(origin, Mapping):
        _check(plain, Mapping)
        return {from_plain(parts[0], k): from_plain(parts[1], v) for k, v in plain.items()}
    if kind is Recipe:
        return recipe_from_dict(_untagged(plain))
    if kind is Note:
        return Note.from_dict(_untagged(plain))
    if kind is CriterionChoice:
        numbers = {name: number for name, number in plain.items() if name != "kind"}
        return CriterionChoice(from_plain(str, plain["kind"]), _untagged(numbers))
    if kind is Domain:
        pairs = from_plain(tuple[tuple[Value, str], ...], plain["labels"])
        return Domain(from_plain(tuple[Value, ...], plain["values"]), dict(pairs))
    if is_dataclass(kind):
        return _from_fields(kind, plain)
    if issubclass(kind, Enum):
        return kind(plain)
    return _scalar(kind, plain)


def _from_fields(kind: Any, plain: Any) -> Any:
    _check(plain, Mapping)
    if kind is ColumnSpec and "from_rows" not in plain:
        # Nobody has confirmed the values of projects from before this was asked.
        stated = (plain["domain"], plain["binning"])
        plain = {**plain, "from_rows": stated != (None, None)}
    return kind(
        **{
            name: from_plain(wanted, plain[name])
            for name, wanted in _types_of(kind).items()
            if name in plain or name not in _LATER
        }
    )


def _one_of(kinds: tuple[Any, ...], plain: Any) -> Any:
    if type(plain) in kinds:
        return plain
    for kind in kinds:
        with suppress(TypeError):
            return from_plain(kind, plain)
    raise TypeError(f"{kinds} are expected, and there is {type(plain).__name__}")


def _scalar(kind: type, plain: Any) -> Any:
    """Return a number, a text or a truth value; JSON writes whole numbers without a point."""
    value = _untagged(plain)
    _check(value, float | int if kind is float else kind)
    if isinstance(value, bool) and kind is not bool:
        raise TypeError(f"{kind} is expected, and there is a truth value")
    return value


def _check(plain: Any, kind: Any) -> None:
    if not isinstance(plain, kind):
        raise TypeError(f"{kind} is expected, and there is {type(plain).__name__}")


@cache
def _types_of(kind: type) -> dict[str, Any]:
    """Return the type of each field of a dataclass."""
    hints = get_type_hints(kind)
    return {field.name: hints[field.name] for field in fields(kind)}


def _untagged(plain: Any) -> Any:
    """Return any JSON value with its tagged numbers as numbers."""
    if isinstance(plain, dict):
        if plain.keys() == {_TAG} and isinstance(plain[_TAG], str):
            return float(plain[_TAG])
        return {key: _untagged(inner) for key, inner in plain.items()}
    if isinstance(plain, list):
        return [_untagged(inner) for inner in plain]
    return plain


@dataclass(frozen=True)
class TableSource:
    """Where the table is, and how to know it again.

    Parameters
    ----------
    path
        The file or folder, absolute; or a database's address, without a password.
    digest
        SHA-256 of the file, or of a database's rows as they are read, in hexadecimal.
    rows
        The number of records that were read.
    options
        How it was read (`sfumato.formats.reading.ReadOptions` as plain values).
    read_as
        The Arrow type of each column where these alone say how the file of this digest is read
        again; None where they don't, or nobody found out.
    notes
        The remarks of the reading that the document knows the table by; None where nobody kept
        them, as in earlier projects.
    found
        The options by which the file seemed to be meant, where it is read by others.
    """

    path: str
    digest: str
    rows: int
    options: Mapping[str, Any] = field(default_factory=dict)
    read_as: Mapping[str, str] | None = field(default=None, compare=False)
    notes: tuple[Note, ...] | None = field(default=None, compare=False)
    found: Mapping[str, Any] | None = field(default=None, compare=False)

    @property
    def place(self) -> Place:
        """Where it is."""
        return place_of(self.path)

    @property
    def unread(self) -> TableSource:
        """The same without what depends on where and how well it was read, not on its rows."""
        return replace(self, path="", read_as=None, notes=None, found=None)

    @property
    def without_offers(self) -> TableSource:
        """The same without what its remarks offer to choose."""
        if self.notes is None:
            return self
        return replace(self, notes=tuple(replace(note, ways=()) for note in self.notes))

    @property
    def reading(self) -> int:
        """The version of reading (`sfumato.formats.options.READING_VERSION`)."""
        return int(self.options.get("version", 1))

    @property
    def folder(self) -> Path | None:
        """The folder that the file lies in; None for a database on a server."""
        return self.place.parent if isinstance(self.place, Path) else None


@dataclass(frozen=True)
class Unit:
    """Whose rows belong together: a person's visits, a household's members, a company's sites.

    Parameters
    ----------
    columns
        The columns that name the unit together; they are identifying.
    most_rows
        K: at most this many rows of a unit are released.
    constant
        The sensitive attributes that are the same in all rows of a unit, and drawn once for it.
    """

    columns: tuple[str, ...]
    most_rows: int
    constant: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the unit is called: its columns."""
        return " + ".join(self.columns)

    def draws_once(self, attributes: Sequence[str]) -> bool:
        """Whether a policy entry's attributes are drawn once for a unit."""
        return set(attributes) <= set(self.constant)

    def sharing(self, attributes: Sequence[str]) -> int:
        """Return how many rows share the level that is stated for these attributes."""
        return 1 if self.draws_once(attributes) else self.most_rows


@dataclass(frozen=True)
class PolicyEntry:
    """One mechanism for one sensitive attribute, or for several jointly."""

    attributes: tuple[str, ...]
    mechanism: str
    settings: Settings = field(default_factory=dict)

    @property
    def key(self) -> str:
        """What recipients' levels are listed under."""
        return " + ".join(self.attributes)


@dataclass(frozen=True)
class ViewRule:
    """How coarsely a recipient sees the quasi-identifiers.

    Parameters
    ----------
    k
        The records of the smallest class that the recipient may see.
    suppression
        The largest share of the records that may show "*" for all quasi-identifiers.
    levels
        The level of each quasi-identifier in its hierarchy; those not named are shown as they
        are.
    cells
        Whether single cells are suppressed, `suppression` being the largest share of the
        quasi-identifiers' cells; None for whole rows.
    """

    k: int = 1
    suppression: float = 0.0
    levels: Mapping[str, int] = field(default_factory=dict)
    cells: bool | None = None


MOST_RECIPIENTS: Final = 3_000
"""With more, what is told of all of them takes minutes to find out."""
MOST_SHOWN: Final = 1_000
"""With more, the window would stand still while it tells what is promised to each."""


@dataclass(frozen=True)
class Recipient:
    """Someone who gets a release, and how far each policy entry trusts them.

    Parameters
    ----------
    name
        Unique within the document.
    statements
        For each policy entry's key, the level as the custodian stated it.
    note
        The custodian's remark.
    mark
        Tells recipients apart where levels are spaced, see `Document.level_spacing`.
    view
        How coarsely the recipient sees the quasi-identifiers; None for as they are.
    language
        What bundles tell the recipient in, such as ``de``; None for English.
    """

    name: str
    statements: Mapping[str, Statement] = field(default_factory=dict)
    note: str = ""
    mark: int = 0
    view: ViewRule | None = None
    language: str | None = None


@dataclass(frozen=True)
class Document:
    """What is decided about one table: columns, policy, recipients and hierarchies.

    Hierarchies are kept as their recipes, by column; a recipe of a column that is no longer a
    quasi-identifier, or no longer in the table, waits until it is again.

    Every release leaves in a keyed random order of its own (`sfumato.engine.randomness.row_order`).
    Where `rows_as_in_table` holds the custodian's reason for it, rows stay as they are in the
    table. Where rows belong to a `unit`, the unit is protected as a whole
    (`sfumato.project.release.units`).

    With a `level_spacing` above 0, a recipient's levels are lower than those chosen by that
    share times the recipient's mark, so that every file can be traced
    (`sfumato.project.document.edits`).

    `importance` names the quasi-identifiers whose cells are suppressed last, the most important
    first; those not named come after them, all alike.

    With `needs_approval`, a second person approves each release
    (`sfumato.project.approval`); None where nobody does.

    `most_epsilon` is the largest ε that a record may lose in all by what one recipient, or all of
    them together, hold once a table of counts is made; None where none is stated.

    `accepted` holds the custodian's reasons for what stays open when a release is checked, by
    what each was given for (`Finding.key` in `sfumato.analysis.findings`). `terms` says what
    recipients may do with releases.
    """

    title: str = ""
    source: TableSource | None = None
    columns: tuple[ColumnSpec, ...] = ()
    record_key: str | None = None
    policy: tuple[PolicyEntry, ...] = ()
    recipients: tuple[Recipient, ...] = ()
    level_spacing: float = 0.0
    hierarchies: Mapping[str, Recipe] = field(default_factory=dict)
    generalization: Generalization | None = None
    rows_as_in_table: str = ""
    accepted: Mapping[str, str] = field(default_factory=dict)
    unit: Unit | None = None
    importance: tuple[str, ...] | None = None
    needs_approval: bool | None = None
    terms: ReleaseTerms | None = None
    most_epsilon: float | None = None

    @property
    def column_names(self) -> frozenset[str]:
        """What the columns are called."""
        return frozenset(spec.name for spec in self.columns)

    def column(self, name: str) -> ColumnSpec:
        """Return the specification of the column called `name`; `KeyError` where absent."""
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, ColumnSpec]:
        """The columns by their names: a wide table's are looked up for each of them."""
        return {spec.name: spec for spec in reversed(self.columns)}

    def with_column(self, changed: ColumnSpec) -> Document:
        """Return a document in which one column's specification is another."""
        columns = tuple(changed if c.name == changed.name else c for c in self.columns)
        return replace(self, columns=columns)

    def with_unit(self, unit: Unit | None) -> Document:
        """Return a document that protects by a unit, whose columns are dropped from releases."""
        document = self
        for name in () if unit is None else unit.columns:
            document = document.with_column(replace(document.column(name), role=Role.IDENTIFYING))
        return replace(document, unit=unit)

    def with_hierarchy(self, name: str, recipe: Recipe | None) -> Document:
        """Return a document in which a column's hierarchy is another, or none."""
        others = {column: kept for column, kept in self.hierarchies.items() if column != name}
        changed = {**others, name: recipe} if recipe is not None else others
        return replace(self, hierarchies=changed)

    def entry_for(self, attribute: str) -> PolicyEntry | None:
        """Return the policy entry that covers an attribute, if any."""
        return next((entry for entry in self.policy if attribute in entry.attributes), None)

    def recipient(self, name: str) -> Recipient:
        """Return the recipient called `name`; `KeyError` where absent."""
        for recipient in self.recipients:
            if recipient.name == name:
                return recipient
        raise KeyError(name)

    @property
    def is_published_only(self) -> bool:
        """Whether a generalized table takes the place of releases to recipients."""
        return self.generalization is not None and not self.policy and not self.recipients

    @property
    def sensitive(self) -> tuple[ColumnSpec, ...]:
        """The sensitive attributes, in the table's order."""
        return tuple(column for column in self.columns if column.role is Role.SENSITIVE)
