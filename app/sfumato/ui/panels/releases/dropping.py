"""Bundles dropped on the panel."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QMimeData

from sfumato.formats.bundles.datapackage import DATAPACKAGE_NAME


def dropped_bundle(mime: QMimeData) -> Path | None:
    """Return the bundle that is being dropped; None for anything else."""
    files = [Path(url.toLocalFile()) for url in mime.urls() if url.isLocalFile()]
    if len(files) != 1:
        return None
    path = files[0]
    is_folder = path.is_dir() and (path / DATAPACKAGE_NAME).is_file()
    is_file = path.is_file() and (path.suffix.lower() == ".zip" or path.name == DATAPACKAGE_NAME)
    return path if is_folder or is_file else None
