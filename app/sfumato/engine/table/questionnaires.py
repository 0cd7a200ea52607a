"""Which columns look like answers to one questionnaire, by their names and by what was answered."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from sfumato.engine.core.values import Value
from sfumato.engine.table.profile import ColumnProfile

MOST_ANSWERS: Final = 11
"""A question with more answers is none with a scale, which has at most those from 0 to 10."""

LEAST_QUESTIONS: Final = 3
"""Fewer columns that are alike are not taken for questions."""

_NUMBER: Final = re.compile(r"\d+")
_SCALES: Final = ("whole number", "text", "yes/no")


def questions(profiles: Sequence[ColumnProfile]) -> frozenset[str]:
    """Return the columns that look like questions that were asked one after another.

    Their names are alike but for a number (phq9_1, phq9_2, phq9_3), and so are their answers, of
    which there are few.

    Parameters
    ----------
    profiles
        What the columns of a table look like.
    """
    batteries: defaultdict[tuple[str, str], dict[int, list[ColumnProfile]]]
    batteries = defaultdict(lambda: defaultdict(list))
    for profile in profiles:
        if profile.type_name in _SCALES and 1 < profile.distinct <= MOST_ANSWERS:
            for number in _NUMBER.finditer(profile.name):
                stem = profile.name[: number.start()].casefold()
                if stem:
                    batteries[stem, profile.type_name][int(number[0])].append(profile)
    return frozenset(name for asked in batteries.values() for name in _answered_alike(asked))


def _answered_alike(asked: dict[int, list[ColumnProfile]]) -> Sequence[str]:
    """Return the columns, by their numbers, that share at least half of their answers."""
    answers = {one.name: _answers(one) for several in asked.values() for one in several}
    times = Counter(value for each in answers.values() for value in each)
    usual = {value for value, count in times.items() if 2 * count >= len(answers)}
    alike = {
        name for name, own in answers.items() if 2 * len(own & usual) >= len(own | usual) and usual
    }
    numbers = [number for number, several in asked.items() if any(p.name in alike for p in several)]
    return sorted(alike) if len(numbers) >= LEAST_QUESTIONS else ()


def _answers(profile: ColumnProfile) -> frozenset[Value]:
    return frozenset(one.value for one in profile.top)
