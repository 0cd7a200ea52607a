"""The order of a release's rows, worked out a record at a time without the product's code."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from tests.keyed_hash import cbc_mac, key_of

if TYPE_CHECKING:  # The engine's tests run where Arrow is not installed.
    from sfumato.project.project_file import ProjectFile


def order_by_hand(secret: bytes, release_id: str, record_ids: Sequence[int]) -> np.ndarray:
    """The place of the record in each row of a release: records sorted by AES of their number."""
    key = algorithms.AES(key_of(secret, "row order", release_id))

    def hashed(place: int) -> tuple[int, int]:
        encryptor = Cipher(key, modes.ECB()).encryptor()
        block = encryptor.update(record_ids[place].to_bytes(8, "little") + bytes(8))
        return int.from_bytes(block[:8], "little"), int.from_bytes(block[8:], "little")

    return np.array(sorted(range(len(record_ids)), key=hashed), dtype=np.int64)


def record_ids_by_hand(secret: bytes, keys: pd.Series | None, rows: int) -> list[int]:
    """Positions, or keyed hashes of texts."""
    if keys is None:
        return list(range(rows))
    key = key_of(secret, "record ids")
    return [int.from_bytes(cbc_mac(key, text.encode())[:8], "little") for text in keys]


def order_of(project: ProjectFile, path: Path, table: Table) -> np.ndarray:
    """The table's row that stands in each row of a bundle of the project."""
    secret, name = project.secret.reveal(), project.document.record_key
    keys = None if name is None else table.frame[name].astype(str)
    release_id = json.loads((path / "datapackage.json").read_bytes())["sfumato"]["release"]
    return order_by_hand(secret, release_id, record_ids_by_hand(secret, keys, table.rows))


def in_table_order(project: ProjectFile, path: Path, table: Table) -> pd.DataFrame:
    """A bundle's records in the order in which the table has them."""
    from sfumato.formats.bundles.reading import read_bundle  # noqa: PLC0415 - needs Arrow

    return sorted_back(read_bundle(path, Silent()).table.frame, order_of(project, path, table))


def sorted_back(frame: pd.DataFrame, order: np.ndarray) -> pd.DataFrame:
    """Records in the table's order, from rows that show the table's rows in `order`."""
    return frame.iloc[np.argsort(order)].reset_index(drop=True)
