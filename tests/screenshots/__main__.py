"""``python -m tests.screenshots --out DIR``: every panel in its states, light and dark.

Scale is a matter of the whole process, so each scale is drawn by a process of its own.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

SCALES = (1, 2)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="where the pictures go")
    parser.add_argument("--only", nargs="*", default=[], help="panels, or panel-scene")
    parser.add_argument("--scale", type=int, choices=SCALES, help="one scale only")
    parser.add_argument("--size", default="1366x768", help="the window's width and height")
    parser.add_argument("--language", default="en", help="what the window speaks, such as de")
    parser.add_argument("--drawing", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drawing:
        return draw(arguments)
    scales = (arguments.scale,) if arguments.scale else SCALES
    return max(draw_apart(arguments, scale) for scale in scales)


def draw_apart(arguments: argparse.Namespace, scale: int) -> int:
    """Draw one scale in a process of its own."""
    command = [sys.executable, "-m", "tests.screenshots", "--drawing"]
    command += ["--out", str(arguments.out / f"{scale}x"), "--size", arguments.size]
    command += ["--language", arguments.language]
    command += ["--only", *arguments.only] if arguments.only else []
    environment = {
        **os.environ,
        "QT_QPA_PLATFORM": "offscreen",
        "QT_SCALE_FACTOR": str(scale),
    }
    return subprocess.run(command, env=environment, check=False).returncode


def draw(arguments: argparse.Namespace) -> int:
    from sfumato.ui.shell.application import make_application  # noqa: PLC0415
    from sfumato.ui.state.settings import speak  # noqa: PLC0415
    from tests.screenshots.gallery import save_gallery  # noqa: PLC0415 (Qt reads the environment once)

    speak(make_application(["sfumato"]), arguments.language)
    width, height = (int(part) for part in arguments.size.split("x"))
    for path in save_gallery(arguments.out, only=arguments.only, size=(width, height)):
        sys.stdout.write(f"{path}\n")
        sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
