"""A small picture of a column: a histogram of measures, a bar for each value of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from sfumato.engine.core.values import Value
from sfumato.engine.table.profile import MOST_TOP, ColumnProfile

Labels = Mapping[Value, str]


def are_codes(profile: ColumnProfile, labels: Labels) -> bool:
    """Return whether numbers stand for something else: each frequent one has a label.

    Of a measure only what stands for a missing value has one.
    """
    top = profile.top
    return profile.numbers is not None and bool(top) and all(each.value in labels for each in top)


def bars_of(profile: ColumnProfile, labels: Labels) -> tuple[float, ...]:
    """Return the shares that a small picture of a column shows, at most `MOST_BARS`.

    A histogram of codes would set 1 and 2 far apart from 9, and show most of its width empty. So
    few different numbers have a bar each, by size, since many codes are a scale; of many labelled
    codes the most frequent have one, as texts have.
    """
    if profile.numbers is None:
        return profile.distribution
    present = max(profile.present, 1)
    if profile.distinct == len(profile.top) <= MOST_TOP:
        ordered = sorted(profile.top, key=lambda each: cast(float, each.value))
        return tuple(each.count / present for each in ordered)
    if are_codes(profile, labels):
        return tuple(each.count / present for each in profile.top)
    return profile.distribution
