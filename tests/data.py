"""Where the tables are that are not part of the project."""

from __future__ import annotations

from pathlib import Path

import pytest


def shared_data(name: str) -> Path:
    """Return a file of the data folder that lies beside the project; skip where it is not there."""
    path = Path(__file__).resolve().parents[2] / "shared" / "data" / name
    if not path.is_file():
        pytest.skip(f"{name} lies beside the project on some machines only")
    return path
