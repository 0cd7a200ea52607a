"""Libraries of the system that are missing are named in words, before Qt ends the process."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest

from sfumato.commands.program import ALWAYS, ON_X, NoWindow, require_libraries

X = {"DISPLAY": ":0"}


def lacking(*names):
    def load(name):
        if name in names:
            raise OSError(name)

    return load


def test_what_is_missing_is_named_with_what_to_install():
    load = lacking("libxcb-cursor.so.0", "libxkbcommon-x11.so.0", "libEGL.so.1")
    with pytest.raises(NoWindow) as refused:
        require_libraries("linux", X, load)
    assert "libxcb-cursor.so.0" in refused.value.what
    assert "apt install libegl1 libxcb-cursor0 libxkbcommon-x11-0" in refused.value.remedy
    assert "dnf install libglvnd-egl xcb-util-cursor libxkbcommon-x11" in refused.value.remedy


@pytest.mark.parametrize(
    "environment", [{"WAYLAND_DISPLAY": "wayland-0"}, {**X, "QT_QPA_PLATFORM": "offscreen"}]
)
def test_what_only_x_needs_is_needed_on_x_alone(environment):
    load = lacking("libxcb-cursor.so.0")
    require_libraries("linux", environment, load)
    with pytest.raises(NoWindow, match="libxcb-cursor"):
        require_libraries("linux", X, load)


def test_a_system_without_a_screen_is_told_that_the_commands_work():
    with pytest.raises(NoWindow) as refused:
        require_libraries("linux", {})
    assert "sfumato --help" in refused.value.remedy


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_other_systems_bring_their_own(system):
    asked = []
    require_libraries(system, {}, asked.append)
    assert asked == []


@pytest.mark.skipif(not shutil.which("readelf"), reason="needs readelf")
@pytest.mark.skipif(sys.platform != "linux", reason="needs the libraries of Linux")
def test_the_list_names_what_qt_is_linked_with():
    qt = Path(PySide6.__file__).parent / "Qt"
    files = [qt / "lib" / f"libQt6{name}.so.6" for name in ("Gui", "Widgets", "DBus", "XcbQpa")]
    files.append(qt / "plugins" / "platforms" / "libqxcb.so")
    told = subprocess.run(
        ["readelf", "-d", *map(str, files)], capture_output=True, text=True, check=True
    ).stdout
    needed = set(re.findall(r"NEEDED.*\[(lib[^]]+)\]", told))
    everywhere = r"libQt6|libicu|lib(c|m|z|dl|rt|pthread|stdc\+\+|gcc_s)[.-]"
    assert {name for name in needed if not re.match(everywhere, name)} == {*ALWAYS, *ON_X}


def test_the_command_line_says_it_in_words(monkeypatch, capsys):
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    told = subprocess.run(
        [sys.executable, "-m", "sfumato"], capture_output=True, text=True, check=False
    )
    assert told.returncode == 3
    assert "no screen" in told.stderr
    assert "Traceback" not in told.stderr
