"""A screen reader of a few lines: what the window tells over AT-SPI while keys are pressed.

Run by the system's Python, which has PyGObject, on a screen and in a D-Bus session of its own::

    dbus-run-session -- /usr/bin/python3 screen_reader.py COMMAND…

where COMMAND opens the window. It prints JSON, on a line by itself.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import gi

gi.require_version("Atspi", "2.0")
from gi.repository import Atspi, GLib  # noqa: E402

PATIENCE = 60.0
EVENTS = ("object:state-changed:focused", "object:announcement")
DEEPEST = 40
MOST_TABS = 60

heard: list[tuple[str, str]] = []


def hear(event) -> None:
    """Note what is focused, and what is announced."""
    if event.type.startswith("object:announcement"):
        heard.append(("announced", str(event.any_data)))
    elif event.detail1 and event.source is not None:
        heard.append(("focused", f"{event.source.get_role_name()}: {event.source.get_name()}"))


def wait(found, what: str):
    """Go on listening until something is there; return it."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        while GLib.MainContext.default().iteration(False):
            pass
        if answer := found():
            return answer
        time.sleep(0.02)
    raise SystemExit(f"waited in vain for {what}; heard {heard}")


def told(thing, deep: int = 0) -> list[tuple[str, str]]:
    """Return role and name of everything in sight, from the outside in."""
    try:
        if deep > 1 and not thing.get_state_set().contains(Atspi.StateType.SHOWING):
            return []
        found = [(thing.get_role_name(), thing.get_name() or "")]
        if deep < DEEPEST and thing.get_role() != Atspi.Role.TABLE:
            for place in range(thing.get_child_count()):
                child = thing.get_child_at_index(place)
                found += told(child, deep + 1) if child is not None else []
        return found
    except GLib.Error:  # it went while it was looked at
        return []


def press(*keys: str) -> None:
    """Press keys, one after another."""
    subprocess.run(["xdotool", "key", "--delay", "60", *keys], check=True)


def press_until(key: str, what: tuple[str, str]) -> None:
    """Press a key again and again, until something is heard; what is announced is no answer."""
    for _ in range(MOST_TABS):
        before = len(heard)
        press(key)
        wait(
            lambda before=before: any(kind == "focused" for kind, _ in heard[before:]),
            f"a move of the focus after {key}",
        )
        if what in heard[before:]:
            return
    raise SystemExit(f"{key} never led to {what}; heard {heard}")


def window():
    """Return the application that has a window, once it is there."""
    desktop = Atspi.get_desktop(0)
    found = (desktop.get_child_at_index(place) for place in range(desktop.get_child_count()))
    return next((each for each in found if each is not None and each.get_child_count()), None)


def tables(thing, deep: int = 0):
    """Yield the tables in sight."""
    if thing is None or (deep > 1 and not thing.get_state_set().contains(Atspi.StateType.SHOWING)):
        return
    if thing.get_role() == Atspi.Role.TABLE:
        yield thing
    elif deep < DEEPEST:
        for place in range(thing.get_child_count()):
            yield from tables(thing.get_child_at_index(place), deep + 1)


def cells(application) -> list[str]:
    """Return what is heard of the cells of the first table in sight, row by row."""
    try:
        table = next(tables(application), None)
        if table is None:
            return []
        places = range(table.get_child_count())
        children = (table.get_child_at_index(place) for place in places)
        found = [each for each in children if each is not None]
        return [each.get_name() for each in found if each.get_role() == Atspi.Role.TABLE_CELL]
    except GLib.Error:  # it went while it was looked at
        return []


def whole_board(application) -> list[str]:
    """Return what the cells of the board say, once none is still being filled."""
    found = cells(application)
    coarsened = [each for each in found if ": coarsened" in each]
    randomised = [each for each in found if ": randomised" in each]
    told = all(" becomes " in each or " stays " in each for each in coarsened)
    told = told and all(" in " in each for each in randomised)  # in how many of the records
    return found if coarsened and randomised and told else []


def board() -> list[str]:
    """Open the finished sample in another window, and return what its board's cells say."""
    heard.clear()
    process = subprocess.Popen(sys.argv[1:])
    try:
        application = wait(window, "another window")
        wait(lambda: ("focused", "push button: Open a table…") in heard, "the keyboard again")
        press_until("Tab", ("focused", "push button: Try the sample"))
        press("space")
        press("ctrl+3")
        return wait(lambda: whole_board(application), "the board")
    finally:
        process.kill()
        process.wait(10)


def main() -> None:
    """Open the window, turn to the second panel, load the sample, and print what was told."""
    os.environ["QT_LINUX_ACCESSIBILITY_ALWAYS_ON"] = "1"
    Atspi.init()
    listener = Atspi.EventListener.new(hear)
    for name in EVENTS:
        listener.register(name)
    process = subprocess.Popen(sys.argv[1:])
    try:
        application = wait(window, "a window")
        wait(lambda: ("focused", "push button: Open a table…") in heard, "the keyboard")
        first = told(application)
        heard.clear()
        press("ctrl+2")
        wait(lambda: any(kind == "announced" for kind, _ in heard), "the second panel")
        by_keys, second = list(heard), told(application)
        press("ctrl+1")
        wait(lambda: ("announced", "Data") in heard, "the first panel")
        press_until("Tab", ("focused", "push button: Blank sample"))
        press("space")
        wait(lambda: ("focused", "push button: Load table") in heard, "the sample's preview")
        press("space")
        loaded = ("push button", "Choose attributes")
        wait(lambda: loaded in told(application), "the loaded sample")
        found = {"first": first, "keys": by_keys, "second": second, "sample": told(application)}
    finally:
        process.kill()
        process.wait(10)
    sys.stdout.write(json.dumps(found | {"board": board()}) + "\n")


if __name__ == "__main__":
    main()
