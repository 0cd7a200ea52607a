"""What a Parquet file says about its columns in metadata of its own: pandas' types, and labels."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Value
from sfumato.engine.table.table import Table

_LABELS: Final = b"sfumato"
"""Where labels stand in the file's own metadata, which other tools pass over."""


def metadata_of(table: Table, schema: pa.Schema) -> dict[bytes, bytes]:
    """Return the file's metadata: what pandas needs to give back the types, and the labels."""
    as_written: dict[Any, Any] = {}
    for name, series in table.frame.items():
        dtype = series.dtype
        if isinstance(dtype, pd.CategoricalDtype) and not dtype.ordered:
            as_written[name] = dtype.categories.dtype
        elif dtype.kind == "u" and schema.field(str(name)).type == pa.int64():
            as_written[name] = np.int64 if isinstance(dtype, np.dtype) else pd.Int64Dtype()
    frame = table.frame.iloc[:0].astype(as_written)
    known = pa.Schema.from_pandas(frame, preserve_index=False).metadata or {}
    metadata = {key: value for key, value in known.items() if key == b"pandas"}
    labels = {
        "column_labels": dict(table.column_labels),
        "value_labels": {
            name: [[value, text] for value, text in texts.items()]
            for name, texts in table.value_labels.items()
        },
    }
    if any(labels.values()):
        metadata[_LABELS] = json.dumps(labels, ensure_ascii=False).encode()
    return metadata


def labels_in(
    metadata: Mapping[bytes, bytes],
) -> tuple[dict[str, dict[Value, str]], dict[str, str]]:
    """Return the labels of values and of columns that the file's metadata hold."""
    try:
        labels: dict[str, Any] = json.loads(metadata.get(_LABELS, b"{}"))
        values = {
            str(name): {value: str(text) for value, text in texts}
            for name, texts in labels.get("value_labels", {}).items()
        }
        columns = {str(n): str(text) for n, text in labels.get("column_labels", {}).items()}
    except (ValueError, TypeError, AttributeError):
        return {}, {}
    return values, columns
