"""The project: the document, its file, the ledger, the secret, and making a release."""

from __future__ import annotations

from typing import Final

SUFFIX: Final = ".sfumato"
"""What the name of a project file ends in."""
