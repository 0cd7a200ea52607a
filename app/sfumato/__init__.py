"""Sfumato: release one table at many trust levels, and see what every coalition learns."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sfumato.api import Project, ReceivedBundle, create, open, read_bundle, verify
    from sfumato.engine.core.errors import SfumatoError

__all__ = ["Project", "ReceivedBundle", "SfumatoError", "create", "open", "read_bundle", "verify"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Return what programs use: imported when it is needed, since every start imports this."""
    if name not in __all__:
        raise AttributeError(name)
    home = "sfumato.engine.core.errors" if name == "SfumatoError" else "sfumato.api"
    return getattr(import_module(home), name)
