"""The mechanisms' editors: a module or a package each, found by being here.

One that defines ``EDITOR``, a subclass of
`sfumato.ui.panels.policy.mechanisms.base.LevelEditor`, is the editor of the mechanism it names; of
a package, its module ``editor`` does.
"""

from __future__ import annotations

from functools import cache

from sfumato.engine.core.discovery import found_in
from sfumato.ui.panels.policy.mechanisms.base import LevelEditor


@cache
def all_editors() -> dict[str, type[LevelEditor]]:
    """Return every editor by the name of its mechanism."""
    editors: list[type[LevelEditor]] = found_in(__name__, "EDITOR", main="editor")
    return {editor.mechanism: editor for editor in editors}
