"""Every panel drawn in its states."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from sfumato.ui.look.theme import Appearance, themes
from sfumato.ui.panels import all_panels
from sfumato.ui.pictures import LOOKS, USUAL_SIZE, draw
from sfumato.ui.shell.application import make_application
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage


def save_gallery(
    folder: Path,
    looks: Sequence[Appearance] = LOOKS,
    only: Sequence[str] = (),
    size: tuple[int, int] = USUAL_SIZE,
) -> Iterator[Path]:
    """Draw every panel in every of its states, and tell each picture as it is made.

    Parameters
    ----------
    folder
        Where the pictures go, as ``<look>-<place>-<panel>-<scene>.png``.
    looks
        The appearances to draw.
    only
        Names of panels, or ``panel-scene``; all when empty.
    size
        The window's width and height.
    """
    make_application(["sfumato"])
    folder.mkdir(parents=True, exist_ok=True)
    before = themes().appearance
    try:
        for panel in all_panels():
            for scene in scenes_of(panel.name):
                if only and not {panel.name, f"{panel.name}-{scene.name}"} & set(only):
                    continue
                with tempfile.TemporaryDirectory(prefix="sfumato-gallery-") as kept:
                    home = Path(kept) / "Clinic"
                    home.mkdir()
                    stage = Stage(home, size)
                    try:
                        stage.panel(panel.name)
                        scene.arrange(stage)
                        name = f"{panel.order}-{panel.name}-{scene.name}"
                        yield from draw(stage.window, folder, name, looks)
                    finally:
                        stage.close()
    finally:
        themes().set_appearance(before)
