"""Texts that a spreadsheet would run as a formula, made harmless in a way that can be undone.

Excel, LibreOffice and Google Sheets run a cell of a CSV file that begins with one of a few
characters, in quotes or not; a record can thus carry a command to whoever opens the release. As
OWASP advises ("CSV Injection", owasp.org), such a text gets an apostrophe before it. So that this
can be undone, a text that begins with apostrophes before such a character gets one more: of a text
in an escaped file, one apostrophe before such a beginning is always ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.values import Value
from sfumato.engine.table.table import Table
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.table_format import MakesRows, RowStream

_CHARACTERS: Final = "[-=+@\t\r\n＝＋－＠]"
"""The beginnings that OWASP names; the wide forms are taken for the narrow ones in East Asia."""

ESCAPED: Final = f"^'('*{_CHARACTERS})"
"""The pattern of an escaped text's beginning: its first group is what it was before.

It means the same to Python, to R (with ``perl = TRUE``) and to Arrow.
"""
_BEGINS: Final = f"^'*{_CHARACTERS}"
_CAUGHT: Final = f"^('*{_CHARACTERS})"


def escaped(text: str) -> str:
    """Return a text as it stands in an escaped file."""
    return f"'{text}" if re.match(_BEGINS, text) else text


def escaped_value(value: Value) -> Value:
    """Return a value as it stands in an escaped file: only texts are ever changed."""
    return escaped(value) if isinstance(value, str) else value


def unescaped(text: str) -> str:
    """Return the text that `escaped` was given."""
    return re.sub(ESCAPED, r"\1", text)


def begin_formulas(texts: pa.Array) -> pa.Array:
    """Return which texts would have to be escaped; null where there is none."""
    if pa.types.is_dictionary(texts.type):
        return begin_formulas(texts.dictionary).take(texts.indices)
    return pc.match_substring_regex(texts, _BEGINS)


def needs_escape(table: Table, domains: Iterable[Domain]) -> bool:
    """Return whether a text, a column's name or a value of a domain begins as a formula does."""
    known = (value for domain in domains for value in domain.values if isinstance(value, str))
    return any(re.match(_BEGINS, text) for text in known) or _any_begins(table, _BEGINS)


def with_escapes(table: Table) -> Table:
    """Return a table's rows as they stand in an escaped file; it has no labels any more."""
    columns = {
        escaped(name): _replaced(table.frame[name], _CAUGHT, r"'\1") for name in table.columns
    }
    return Table(pd.DataFrame(columns, index=table.frame.index, copy=False))


def rows_with_escapes(rows: RowStream) -> RowStream:
    """Return rows that are made while they are written as they stand in an escaped file."""

    def marked(texts: pa.Array) -> pa.Array:
        return pc.replace_substring_regex(texts, _CAUGHT, r"'\1")

    def in_file(values: pa.Array) -> pa.Array:
        if pa.types.is_dictionary(values.type):
            texts = marked(values.dictionary)
            ordered = values.type.ordered
            return pa.DictionaryArray.from_arrays(values.indices, texts, ordered=ordered)
        return marked(values) if pa.types.is_string(values.type) else values

    def with_marks(batch: pa.RecordBatch) -> pa.RecordBatch:
        names = [escaped(name) for name in batch.schema.names]
        return pa.record_batch([in_file(values) for values in batch.columns], names=names)

    def all_with_marks(made: MakesRows) -> MakesRows:
        return lambda *given: map(with_marks, made(*given))

    shared = rows.shared
    if shared is not None:
        shared = replace(
            shared,
            names=tuple(map(escaped, shared.names)),
            in_table=all_with_marks(shared.in_table),
            others=all_with_marks(shared.others),
        )
    return replace(rows, made=all_with_marks(rows.made), shared=shared)


def without_escapes(table: Table) -> Table:
    """Return a table that was read from an escaped file with its texts as they were.

    Its columns keep the names that they have in the file.
    """
    columns = {name: _replaced(table.frame[name], ESCAPED, r"\1") for name in table.columns}
    frame = pd.DataFrame(columns, index=table.frame.index, copy=False)
    return Table(frame, table.value_labels, table.column_labels, periods=table.periods)


def without_escaped_texts(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows that were read from an escaped file as `without_escapes` does."""
    columns = [
        pc.replace_substring_regex(values, ESCAPED, r"\1")
        if pa.types.is_string(values.type)
        else values
        for values in batch.columns
    ]
    return pa.record_batch(columns, schema=batch.schema)


def undone_if_escaped(table: Table) -> Table:
    """Return a table without escapes where it looks like the rows of an escaped file."""
    if not look_escaped((table,)):
        return table
    names = unescaped_names(table.columns)
    return Table(without_escapes(table).frame.rename(columns=names))


def look_escaped(parts: Iterable[Table]) -> bool:
    """Return whether rows, which come in parts, look like those of an escaped file.

    Such a file has texts or names that begin with an apostrophe before what begins a formula,
    and none that begin with a formula.
    """
    found = False
    for part in parts:
        if _any_begins(part, f"^{_CHARACTERS}"):
            return False
        found = found or _any_begins(part, f"^'+{_CHARACTERS}")
    return found


def unescaped_names(columns: Sequence[str]) -> dict[str, str]:
    """Return what columns were called before they were escaped, or as they are if two are alike."""
    names = [unescaped(name) for name in columns]
    return dict(zip(columns, columns if len(set(names)) < len(names) else names, strict=True))


def _any_begins(table: Table, pattern: str) -> bool:
    return any(re.match(pattern, name) for name in table.columns) or any(
        _begins(table.frame[name], pattern) for name in table.columns
    )


def _begins(column: pd.Series, pattern: str) -> bool:
    texts = _texts_of(column)
    return texts is not None and bool(texts.str.contains(pattern, regex=True, na=False).any())


def _replaced(column: pd.Series, pattern: str, replacement: str) -> pd.Series:
    """Return a column with a pattern replaced in its texts; other columns as they are."""
    texts = _texts_of(column)
    if texts is None:
        return column
    changed = texts.str.replace(pattern, replacement, regex=True)
    if not isinstance(column.dtype, pd.CategoricalDtype):
        return changed
    if changed.is_unique:
        return column.cat.rename_categories(changed.tolist())
    # Only a file that was altered has two texts that become one.
    return column.astype(object).map(dict(zip(texts, changed, strict=True))).astype("category")


def _texts_of(column: pd.Series) -> pd.Series | None:
    """Return a column's texts, the distinct ones of a categorical column; None without any."""
    categorical = isinstance(column.dtype, pd.CategoricalDtype)
    values = pd.Series(column.cat.categories) if categorical else column
    if isinstance(values.dtype, pd.StringDtype):
        return values
    if values.dtype != object or pd.api.types.infer_dtype(values, skipna=True) != "string":
        return None
    return values


_LARGEST_BESIDE: Final = 64 << 20
"""More than a description can need, in bytes."""


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
