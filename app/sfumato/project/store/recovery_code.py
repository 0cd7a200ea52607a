"""A recovery code: a second key that is written on paper, and typed again by hand.

It has 160 random bits in eight groups of four letters, each followed by a letter that checks it.
The letters are Crockford's 32, among which none looks like another; small letters, O, I and L are
understood. The check is a sum over the field of 32 elements in which every letter of a group has
another factor, and every group another constant: so a single wrong letter, two letters that changed
places, and groups that did are always noticed, and the group is named.
"""

from __future__ import annotations

import re
import secrets
import unicodedata
from collections.abc import Sequence
from typing import Final

from sfumato.engine.core.wording import Sentence, listed
from sfumato.project.errors import WrongRecoveryCode

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
GROUPS: Final = 8
LETTERS: Final = 5
"""Of a group, the one that checks it being the last."""
_READ_AS: Final = str.maketrans({"O": "0", "I": "1", "L": "1"})
_APART: Final = re.compile(r"[\s\-\u2010-\u2015\u2212.,:_/|\u00b7]+")
_MOST: Final = 1000
"""More letters than anybody types are not looked at."""


class RecoveryCode:
    """A code that was typed rightly, or made. Its text form shows nothing of it.

    Parameters
    ----------
    text
        As it was typed, with or without marks between the groups.

    Raises
    ------
    WrongRecoveryCode
        Naming the groups that are not as they were printed.
    """

    __slots__ = ("_letters",)

    def __init__(self, text: str) -> None:
        groups = _groups_of(text)
        _check_lengths(groups)
        for number, group in enumerate(groups, start=1):
            for place, letter in enumerate(group, start=1):
                if letter not in ALPHABET:
                    raise _wrong(
                        "Character {place} of group {number} occurs in no recovery code.",
                        place=place,
                        number=number,
                    )
        wrong = [
            str(at + 1) for at, group in enumerate(groups) if _check_of(at, group) != group[-1]
        ]
        if len(wrong) == 1:
            raise _wrong("Group {number} is not as it was printed.", number=wrong[0])
        if wrong:
            raise _wrong(
                "Groups {numbers} are not as they were printed, or not in this order.",
                numbers=listed(wrong),
            )
        self._letters = "".join(groups)

    @classmethod
    def generate(cls) -> RecoveryCode:
        """Return a new code from the operating system's random source."""
        groups = []
        for at in range(GROUPS):
            group = "".join(secrets.choice(ALPHABET) for _ in range(LETTERS - 1))
            groups.append(group + _check_of(at, group))
        return cls("-".join(groups))

    def reveal(self) -> str:
        """Return the letters, to derive a key from."""
        return self._letters

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups, to be printed."""
        return tuple(_cut(self._letters))

    def __repr__(self) -> str:
        return "RecoveryCode(hidden)"

    def __reduce__(self) -> str | tuple[object, ...]:
        raise TypeError("A recovery code is never pickled.")


def mistyped(text: str) -> Sentence | None:
    """Return which whole group is not as it was printed, while a code is typed; None for none."""
    for at, group in enumerate(_groups_of(text)[:GROUPS]):
        known = set(group) <= set(ALPHABET)
        if not known or (len(group) == LETTERS and _check_of(at, group) != group[-1]):
            return Sentence("Group {number} is not as it was printed.", number=str(at + 1))
    return None


def _groups_of(text: str) -> list[str]:
    """Return what was typed as groups: as it is set apart, or else five letters each."""
    plain = unicodedata.normalize("NFKC", text[:_MOST]).upper().translate(_READ_AS)
    pieces = [piece for piece in _APART.split(plain) if piece]
    apart = len(pieces) == GROUPS or all(len(piece) == LETTERS for piece in pieces[:-1])
    return pieces if apart and len(pieces) > 1 else _cut("".join(pieces))


def _cut(letters: str) -> list[str]:
    return [letters[at : at + LETTERS] for at in range(0, len(letters), LETTERS)]


def _check_lengths(groups: Sequence[str]) -> None:
    found, whole = sum(map(len, groups)), GROUPS * LETTERS
    if len(groups) == GROUPS:
        for number, group in enumerate(groups, start=1):
            if len(group) != LETTERS:
                raise _wrong(
                    "Group {number} has {found} {found:character|characters} instead of {whole}.",
                    number=number,
                    found=len(group),
                    whole=LETTERS,
                )
    if found != whole or len(groups) != GROUPS:
        raise _wrong(
            "The recovery code has {found} {found:character|characters} instead of {whole}.",
            found=found,
            whole=whole,
        )


def _wrong(what: str, **details: object) -> WrongRecoveryCode:
    return WrongRecoveryCode(
        what, "Compare what you typed with the sheet, group by group, and try again.", **details
    )


def _times_two(value: int) -> int:
    """Multiply by x in the field of 32 elements, modulo x^5 + x^2 + 1."""
    value <<= 1
    return value ^ 0b100101 if value & 0b100000 else value


def _check_of(at: int, group: str) -> str:
    """Return the letter that checks a group's first four, at its place from 0."""
    total = 0
    for letter in group[: LETTERS - 1]:
        total = _times_two(total ^ ALPHABET.index(letter))
    return ALPHABET[total ^ (at + 1)]
