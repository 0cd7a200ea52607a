"""The part of a policy entry's settings that tells of earlier releases made elsewhere.

Settings are plain JSON. Under ``"adopted"`` stands a list with one mapping for each earlier
release; what the engine needs of it is its trust level, the digest of its file, how its rows
and values are matched to the table, and whether it is a rung: further levels are fitted
between rungs. A release that is no rung (it does not fit the others) is kept beside the ladder,
so that nobody forgets who holds it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.base import Adopted, Settings

ADOPTED: Final = "adopted"
"""The setting's name."""

PART: Final = "part"
"""Tells of an earlier release that it has some of the records only."""

_OF_THE_LADDER: Final = ("level", "digest", "columns", "match", "values", "options")
"""What decides about the values of an adopted release. Where its file stands does not."""

_TEXTS: Final = ("digest", "file")


def adopted_in(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """Return what settings tell of adopted releases, rungs and others."""
    return tuple(settings.get(ADOPTED, ()))


def rungs_in(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """Return what settings tell of the adopted releases that further levels are fitted between."""
    return tuple(one for one in adopted_in(settings) if one.get("rung", True))


def adopted_part(settings: Settings) -> Settings:
    """Return what settings tell of adopted releases, without the other settings."""
    return {name: value for name, value in settings.items() if name == ADOPTED}


def without_adopted(settings: Settings) -> Settings:
    """Return the settings without what they tell of adopted releases."""
    return {name: value for name, value in settings.items() if name != ADOPTED}


def adopted_identity(settings: Settings) -> list[str]:
    """Return what a ladder's identity must cover of its adopted rungs, as texts.

    Empty where nothing was adopted, in whatever order the releases were adopted the same, and
    the same wherever their files stand.
    """
    return sorted(
        json.dumps({name: rung[name] for name in _OF_THE_LADDER if name in rung}, sort_keys=True)
        for rung in rungs_in(settings)
    )


def check_adopted_settings(settings: Settings) -> None:
    """Refuse settings that do not tell properly of adopted releases.

    Raises
    ------
    PolicyError
        If something is missing, or two different releases are said to have one level.
    """
    given = settings.get(ADOPTED, ())
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise _not_readable()
    for one in given:
        level = one.get("level")
        if isinstance(level, bool) or not isinstance(level, int | float):
            raise _not_readable()
        if not all(isinstance(one.get(name), str) for name in _TEXTS):
            raise _not_readable()
        if not isinstance(one.get("columns"), Mapping):
            raise _not_readable()
    _check_levels(rungs_in(settings))


def check_adopted_rows(settings: Settings, adopted: Iterable[Adopted]) -> None:
    """Refuse to release beside adopted releases whose rows were not handed over, or other ones.

    Raises
    ------
    ValueError
        If a caller left them out: the release would leave the ladder unseen.
    """
    expected = sorted({float(rung["level"]) for rung in rungs_in(settings)})
    if expected != sorted({one.level for one in adopted}):
        raise ValueError("the adopted releases are not those that the settings tell of")


def _check_levels(rungs: Iterable[Mapping[str, Any]]) -> None:
    seen: dict[float, str] = {}
    for rung in rungs:
        level = float(rung["level"])
        if rung.get(PART) is not None:
            continue  # it may have other records than the others; its rows decide
        if seen.setdefault(level, rung["digest"]) != rung["digest"]:
            raise PolicyError(
                "Two different files were adopted as rungs of the level {level:g}.",
                "A ladder has one release at a level: correct one of the levels, or keep one of"
                " the files beside the ladder.",
                level=level,
            )


def _not_readable() -> PolicyError:
    return PolicyError(
        "What the settings tell of adopted releases can't be read.",
        "Remove the setting {name}, and adopt the releases again.",
        name=ADOPTED,
    )
