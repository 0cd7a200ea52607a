"""The mechanisms' editors: a module or a package each, found by being here.

One that defines ``EDITOR``, a subclass of
`sfumato.ui.panels.policy.mechanisms.base.LevelEditor`, is the editor of the mechanism it names; of
a package, its module ``editor`` does.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from sfumato.ui.panels.policy.mechanisms.base import LevelEditor


@cache
def all_editors() -> dict[str, type[LevelEditor]]:
    """Return every editor by the name of its mechanism."""
    found: dict[str, type[LevelEditor]] = {}
    for info in pkgutil.iter_modules(__path__):
        place = f"{__name__}.{info.name}{'.editor' if info.ispkg else ''}"
        editor = getattr(importlib.import_module(place), "EDITOR", None)
        if isinstance(editor, type) and issubclass(editor, LevelEditor):
            found[editor.mechanism] = editor
    return found
