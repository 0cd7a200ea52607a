"""``python -m tests.screenshots.help_pictures``: the help's pictures, in both looks and languages.

Each is a part of a scene, so that it shows what the window shows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from tests.source_code import ROOT

LANGUAGES = ("en", "de")
SIZE = (1240, 768)
DRAWN = (1000, 560)
WIDEST = 640
"""What is wider is drawn smaller."""
COLOURS = 96
FOLDER = ROOT / "resources" / "help"


@dataclass(frozen=True)
class HelpPicture:
    """A picture of the help.

    Parameters
    ----------
    name
        What its files begin with.
    scene
        The scene that it is a part of, as ``panel-scene``.
    part
        Returns the widget that is drawn.
    """

    name: str
    scene: str
    part: Callable[[Any], Any]


def _inside(module: str, kind: str) -> Callable[[Any], Any]:
    """Return how a widget in sight is found by its class."""

    def part(stage: Any) -> Any:
        made = getattr(__import__(module, fromlist=[kind]), kind)
        return next(one for one in stage.window.findChildren(made) if one.isVisible())

    return part


def _tab(stage: Any) -> Any:
    return stage.window.panels["preview"].tabs.currentWidget()


_POLICY = "sfumato.ui.panels.policy"
PICTURES = (
    HelpPicture("board", "policy-board", _inside(f"{_POLICY}.board.view", "BoardView")),
    HelpPicture("ladder", "policy-filled", _inside(f"{_POLICY}.ladder_view", "LadderView")),
    HelpPicture(
        "lattice",
        "policy-generalized-lattice",
        _inside(f"{_POLICY}.generalized.lattice_view", "LatticeView"),
    ),
    HelpPicture("preview", "preview-filled", _tab),
    HelpPicture(
        "readiness",
        "releases-grave",
        _inside("sfumato.ui.panels.releases.readiness_card", "ReadinessGrid"),
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots.help_pictures")
    parser.add_argument("--only", nargs="*", default=[], help="names of pictures")
    parser.add_argument("--language", choices=LANGUAGES, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.language:
        return draw(arguments.language, arguments.only)
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "QT_SCALE_FACTOR": "1"}
    command = [sys.executable, "-m", "tests.screenshots.help_pictures"]
    only = ["--only", *arguments.only] if arguments.only else []
    runs = [[*command, "--language", language, *only] for language in LANGUAGES]
    return max(subprocess.run(run, env=environment, check=False).returncode for run in runs)


def draw(language: str, only: list[str]) -> int:
    """Draw all pictures in a language."""
    # Qt reads the environment once, so its modules come after it is set.
    from PySide6.QtCore import QBuffer, QCoreApplication, QIODevice, QSize  # noqa: PLC0415
    from PySide6.QtGui import QColor, QPixmap  # noqa: PLC0415
    from PySide6.QtWidgets import QWidget  # noqa: PLC0415

    from sfumato.ui.look.theme import current_theme, themes  # noqa: PLC0415
    from sfumato.ui.pictures import LOOKS  # noqa: PLC0415
    from sfumato.ui.shell.application import make_application  # noqa: PLC0415
    from sfumato.ui.state.settings import speak  # noqa: PLC0415
    from tests.screenshots.scenes import scenes_of  # noqa: PLC0415
    from tests.screenshots.stage import Stage  # noqa: PLC0415

    speak(make_application(["sfumato"]), language)
    folder = FOLDER / ("" if language == "en" else language) / "pictures"
    folder.mkdir(parents=True, exist_ok=True)
    for picture in PICTURES:
        if only and picture.name not in only:
            continue
        panel, _, name = picture.scene.partition("-")
        scene = next(each for each in scenes_of(panel) if each.name == name)
        with tempfile.TemporaryDirectory(prefix="sfumato-help-") as kept:
            stage = Stage(Path(kept), SIZE)
            try:
                stage.window.guarantee.set_compact(True)
                stage.panel(panel)
                scene.arrange(stage)
                for look in LOOKS:
                    themes().set_appearance(look)
                    for _ in range(12):  # layouts settle from the inside out
                        QCoreApplication.processEvents()
                    part = picture.part(stage)
                    made = QPixmap(part.size().boundedTo(QSize(*DRAWN)))
                    made.fill(QColor(current_theme().style.background))
                    QWidget.render(part, made)
                    content = QBuffer()
                    content.open(QIODevice.OpenModeFlag.WriteOnly)
                    made.save(content, "PNG")
                    path = folder / f"{picture.name}-{look.value}.png"
                    path.write_bytes(smaller(bytes(content.data().data())))
                    sys.stdout.write(f"{path}\n")
            finally:
                stage.close()
    themes().set_appearance(LOOKS[0])
    return 0


def smaller(png: bytes) -> bytes:
    """Return a picture in a few colours."""
    from PIL import Image  # noqa: PLC0415

    made = BytesIO()
    whole = Image.open(BytesIO(png)).convert("RGB")
    if whole.width > WIDEST:
        whole = whole.resize(
            (WIDEST, whole.height * WIDEST // whole.width), Image.Resampling.LANCZOS
        )
    few = whole.quantize(COLOURS, dither=Image.Dither.NONE)
    few.save(made, "PNG", optimize=True)
    return made.getvalue()


if __name__ == "__main__":
    sys.exit(main())
