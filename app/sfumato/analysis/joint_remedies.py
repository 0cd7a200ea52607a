"""What several columns changed together leave unique, where no single one is enough."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Final

from sfumato.analysis.findings import Deed, Examined, Remedy
from sfumato.analysis.shown_columns import Classes, look_of
from sfumato.analysis.view_checks import counted_with, raised_view
from sfumato.engine.core.columns import Kind
from sfumato.engine.core.wording import Sentence, listed

_MOST: Final = 3
"""So many columns are changed together at most."""
_TRIED: Final = 4
"""Among so many columns, those that leave fewest unique on their own, the best are searched."""
_ROUGHLY: Final = 8
"""While they are searched, this much smaller a part of a long table's classes is counted."""


def joint_remedy(examined: Examined, single: Sequence[Remedy], before: int) -> Remedy | None:
    """Return two or three columns whose change leaves fewest unique, found greedily, if any.

    Parameters
    ----------
    examined
        For whom.
    single
        What can be done to one column, and what it reaches, the best first.
    before
        How many are unique today.
    """
    of_column = {remedy.column: remedy for remedy in reversed(single)}
    best_first = list(dict.fromkeys(remedy.column for remedy in single))[:_TRIED]
    left = [of_column[name] for name in best_first]
    if len(left) < 2 or not left[0].after:
        return None
    chosen = [left.pop(0)]
    least = before
    while left and len(chosen) < _MOST:
        tried = [(_reached(examined, [*chosen, one], _ROUGHLY).unique, one) for one in left]
        unique, best = min(tried, key=lambda each: each[0])
        if len(chosen) > 1 and unique >= least:
            break
        least = unique
        chosen.append(best)
        left.remove(best)
        if not least:
            break
    after = _reached(examined, chosen)
    if after.unique >= min(before, single[0].after or 0):
        return None
    figures = Sentence(
        "{before:,} → {about}{after:,} unique",
        before=before,
        about="≈ " if after.error else "",
        after=after.unique,
    )
    return Remedy(
        Deed.TOGETHER,
        Sentence("{deeds}, together: {figures}", deeds=_said(chosen), figures=figures),
        chosen[0].column,
        before=before,
        after=after.unique,
        error=after.error,
        columns=tuple(one.column for one in chosen),
        parts=tuple(chosen),
    )


def _reached(examined: Examined, remedies: Sequence[Remedy], roughly: int = 1) -> Classes:
    """Count the classes of what leaves once several columns are changed."""
    looks = {look.name: look for look in examined.shown}
    levels: dict[str, int] = {}
    for one in remedies:
        if one.deed is Deed.DROP:
            del looks[one.column]
        elif one.deed is Deed.RAISE:
            levels[one.column] = one.level
        else:
            spec = replace(looks[one.column].spec, kind=Kind.NUMERIC, binning=one.binning)
            looks[one.column] = look_of(spec)
    if levels:
        return counted_with(examined, raised_view(examined, levels), looks, roughly)
    key = ("together", frozenset(look.bare for look in looks.values()), roughly)
    find = partial(examined.columns.passing, tuple(looks.values()), None, roughly)
    return examined.columns.keep(key, find)


def _said(remedies: Sequence[Remedy]) -> str:
    """Say what is done to several columns, as one deed."""
    said: list[str] = []
    if dropped := tuple(one.column for one in remedies if one.deed is Deed.DROP):
        said.append(Sentence("Drop {column}", column=listed(dropped)))
    for one in remedies:
        if one.deed is Deed.BAND:
            bins = 0 if one.binning is None else len(one.binning.edges) - 1
            words = "band {column} in {bins}" if said else "Band {column} in {bins}"
            said.append(Sentence(words, column=one.column, bins=bins))
        elif one.deed is Deed.RAISE:
            words = "show {column} at level {level} to {names}"
            if not said:
                words = "Show {column} at level {level} to {names}"
            names = listed((one.recipient, *one.followed))
            said.append(Sentence(words, column=one.column, level=one.level, names=names))
    return listed(said)
