"""The program itself: opening its window, and what it is made of.

Which of the system's libraries the window misses is said before Qt is imported, which gives up
without any.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from sfumato.commands.shared.command import JSON, Command, ExitCode, Terminal, file_argument
from sfumato.engine.core.errors import SfumatoError
from sfumato.formats.files import refusal_to_read
from sfumato.formats.language import translated, worded
from sfumato.project import SUFFIX
from sfumato.project.errors import ProjectMissing


def _run_open(arguments: Namespace, _terminal: Terminal) -> ExitCode:
    path: Path | None = arguments.project
    if path is not None and not path.is_file():
        if path.suffix == SUFFIX:
            raise ProjectMissing("There is no project at {path}.", "Check the name.", path=path)
        raise refusal_to_read(FileNotFoundError(), path)

    require_libraries()
    from sfumato.ui.shell.application import run_window

    return ExitCode.OK if run_window(path) == 0 else ExitCode.FAULT


OPEN = Command(
    (
        file_argument(
            "project",
            "FILE",
            "the project's file, or a table; without it the window opens empty",
            nargs="?",
        ),
    ),
    _run_open,
    ("sfumato open clinic.sfumato", "sfumato open patients.csv", "sfumato open"),
)


ALWAYS: Final = {
    "libEGL.so.1": ("libegl1", "libglvnd-egl"),
    "libGL.so.1": ("libgl1", "libglvnd-glx"),
    "libX11.so.6": ("libx11-6", "libX11"),
    "libdbus-1.so.3": ("libdbus-1-3", "dbus-libs"),
    "libfontconfig.so.1": ("libfontconfig1", "fontconfig"),
    "libfreetype.so.6": ("libfreetype6", "freetype"),
    "libglib-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libgthread-2.0.so.0": ("libglib2.0-0", "glib2"),
    "libxkbcommon.so.0": ("libxkbcommon0", "libxkbcommon"),
}
"""What Qt's windows are linked with, and the packages of Debian and of Fedora that it is in."""

ON_X: Final = {
    "libX11-xcb.so.1": ("libx11-xcb1", "libX11-xcb"),
    "libxcb.so.1": ("libxcb1", "libxcb"),
    "libxcb-cursor.so.0": ("libxcb-cursor0", "xcb-util-cursor"),
    "libxcb-icccm.so.4": ("libxcb-icccm4", "xcb-util-wm"),
    "libxcb-image.so.0": ("libxcb-image0", "xcb-util-image"),
    "libxcb-keysyms.so.1": ("libxcb-keysyms1", "xcb-util-keysyms"),
    "libxcb-randr.so.0": ("libxcb-randr0", "libxcb"),
    "libxcb-render.so.0": ("libxcb-render0", "libxcb"),
    "libxcb-render-util.so.0": ("libxcb-render-util0", "xcb-util-renderutil"),
    "libxcb-shape.so.0": ("libxcb-shape0", "libxcb"),
    "libxcb-shm.so.0": ("libxcb-shm0", "libxcb"),
    "libxcb-sync.so.1": ("libxcb-sync1", "libxcb"),
    "libxcb-util.so.1": ("libxcb-util1", "xcb-util"),
    "libxcb-xfixes.so.0": ("libxcb-xfixes0", "libxcb"),
    "libxcb-xkb.so.1": ("libxcb-xkb1", "libxcb"),
    "libxkbcommon-x11.so.0": ("libxkbcommon-x11-0", "libxkbcommon-x11"),
}
"""What Qt loads besides on a screen of X."""


class NoWindow(SfumatoError):
    """The system lacks what the window needs."""


def require_libraries(
    system: str = sys.platform,
    environment: Mapping[str, str] | None = None,
    load: Callable[[str], object] = ctypes.CDLL,
) -> None:
    """Refuse to open the window where Qt would end the process for want of a library or a screen.

    Parameters
    ----------
    system
        Nothing is looked for except on Linux: elsewhere Qt brings what it needs.
    environment
        Says which screen there is; the process's own where it is None.
    load
        Loads a library by its name; `OSError` where it can't.

    Raises
    ------
    NoWindow
        Naming what is missing, and what to install.
    """
    if system != "linux":
        return
    known = os.environ if environment is None else environment
    chosen = known.get("QT_QPA_PLATFORM", "")
    if not (chosen or known.get("DISPLAY") or known.get("WAYLAND_DISPLAY")):
        raise NoWindow(
            "There is no screen to open the window on.",
            "Start Sfumato in a graphical session, or use its commands: sfumato --help",
        )
    on_x = chosen.startswith("xcb") or not (chosen or known.get("WAYLAND_DISPLAY"))
    wanted = {**ALWAYS, **ON_X} if on_x else ALWAYS
    missing = [name for name in wanted if not _loads(name, load)]
    if missing:
        raise NoWindow(
            "The window can't open: this system lacks {libraries}.",
            "On Debian or Ubuntu: sudo apt install {debian}\n  On Fedora: sudo dnf install"
            " {fedora}\n  The commands work without them: sfumato --help",
            libraries=", ".join(missing),
            debian=_packages(wanted[name][0] for name in missing),
            fedora=_packages(wanted[name][1] for name in missing),
        )


def _loads(name: str, load: Callable[[str], object]) -> bool:
    try:
        load(name)
    except OSError:
        return False
    return True


def _packages(names: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(names))


def _found() -> dict[str, list[str]]:
    """Return the names of all that is found by being there."""
    from sfumato.analysis.questions import all_questions
    from sfumato.commands import COMMANDS
    from sfumato.engine.mechanisms import all_mechanisms
    from sfumato.formats.language import languages
    from sfumato.formats.tables import all_formats
    from sfumato.project.store.schema import all_steps
    from sfumato.resources import resource_path
    from sfumato.ui.panels import all_panels
    from sfumato.ui.panels.audit.pages import own_pages
    from sfumato.ui.panels.policy.mechanisms import all_editors

    return {
        "commands": list(COMMANDS),
        "steps": [panel.name for panel in all_panels()],
        "mechanisms": list(all_mechanisms()),
        "editors": list(all_editors()),
        "questions": [question.name for question in all_questions()],
        "audit pages": [page.__module__.split(".")[5] for page in own_pages()],
        "formats": list(all_formats()),
        "project formats": [str(number) for number in all_steps()],
        "languages": list(languages()),
        "help pages": sorted(path.stem for path in resource_path("help").glob("*.md")),
    }


def _run_about(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.report.versions import made_of

    parts, found = made_of(), _found()
    lines = [f"{part.name:<20}{part.version:<12}{part.licence}".rstrip() for part in parts]
    lines += [f"{translated('System'):<20}{platform.system()} {platform.release()}", ""]
    lines += [f"{kind.capitalize()}: {', '.join(names)}" for kind, names in found.items()]
    lines += ["", worded("Sfumato connects to no network, unless you open a database.")]
    terminal.tell(
        arguments.json,
        {
            "parts": [
                {"name": part.name, "version": part.version, "licence": part.licence}
                for part in parts
            ],
            "found": found,
        },
        lines,
    )
    return ExitCode.OK


ABOUT = Command((JSON,), _run_about, ("sfumato about",))
