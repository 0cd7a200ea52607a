"""Where words too long for a line may be parted: at their joints, or else anywhere."""

from __future__ import annotations

import re
from functools import cache
from typing import Final

from PySide6.QtCore import QCoreApplication

BREAK: Final = "\u200b"
"""A place where a line may end, unseen; for names of columns, which have no hyphens to add."""
HYPHEN: Final = "\u00ad"
"""A place where a line may end with a hyphen."""
_PART: Final = 12
"""So many letters of a long word without known joints stay together."""
_WORD: Final = re.compile(r"\b[^\W\d_]{12,}\b")
_LONG_WORD: Final = re.compile(r"\S{17,}")
_PARTED: Final = re.compile(rf"[^_\-./\\]{{1,{_PART}}}[_\-./\\]*|[_\-./\\]+")


def parted(text: str) -> str:
    """Return a text whose long words may be parted."""
    joints = _joints_of(_joints_told())
    hyphenated = _WORD.sub(lambda word: joints.sub(HYPHEN, word[0]), text)
    return _LONG_WORD.sub(lambda word: _breakable(word[0]), hyphenated)


def parts(text: str) -> list[str]:
    """Return what stays together of a text, each as it ends a line."""
    return parted(text).replace(BREAK, " ").replace(HYPHEN, "- ").split()


def whole(text: str) -> str:
    """Return a text without the places where it may be parted."""
    return text.replace(BREAK, "").replace(HYPHEN, "")


def _joints_told() -> str:
    """Return the joints of the language's long words; a translation lists its own."""
    return QCoreApplication.translate(
        "Hyphenation", "general|iz identifi|cation indistin|guish pseudo|nym recon|struct"
    )


@cache
def _joints_of(told: str) -> re.Pattern[str]:
    """Return what finds the joints in words; ``re|identi`` is one between ``re`` and ``identi``."""
    pairs = [pair.partition("|") for pair in told.split()]
    found = [
        rf"(?<={re.escape(left)})(?={re.escape(right)})"
        for left, _, right in pairs
        if left and right
    ]
    return re.compile("|".join(found) or r"(?!)", re.IGNORECASE)


def _breakable(word: str) -> str:
    """Return a long word that may be parted after its hyphens and the like, or within."""
    if HYPHEN in word and max(map(len, word.split(HYPHEN))) <= _PART + 4:
        return word
    return BREAK.join(_PARTED.findall(whole(word)))
