"""What a spreadsheet's clipboard means to the grid of limits: a list by name, or a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sfumato.ui.panels.policy.mechanisms.per_value.draft import (
    EMPTY,
    RHO1,
    RHO2,
    SEPARATOR,
    LimitsDraft,
    Pair,
    numbers_in,
)


@dataclass(frozen=True)
class Pasted:
    """A draft after pasting, and what there is to say about it.

    Parameters
    ----------
    draft
        The draft.
    taken
        How many values got limits.
    missing
        How many values of the domain the list does not name; 0 for a block.
    left_over
        How many cells of a block did not fit.
    """

    draft: LimitsDraft
    taken: int
    missing: int = 0
    left_over: int = 0


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of tab- or semicolon-separated lines."""
    lines = [line for line in text.splitlines() if line.strip()]
    separator = "\t" if any("\t" in line for line in lines) else ";"
    return [[cell.strip().strip('"') for cell in line.split(separator)] for line in lines]


def is_list(rows: Sequence[Sequence[str]], names: Sequence[str]) -> bool:
    """Return whether the rows name values: (value, ρ1, ρ2), rather than fill cells."""
    known = set(names)
    named = [row for row in rows if len(row) >= 3]
    if not named:
        return False
    return any(row[0] in known or not numbers_in(row[:1]) for row in named)


def paste_list(draft: LimitsDraft, rows: Sequence[Sequence[str]]) -> Pasted:
    """Return the draft with the limits of a list; a value that stands there twice gets both.

    A first line of headings is passed over. Rows for values that the domain does not have are
    kept as strays.
    """
    places = {name: place for place, name in enumerate(draft.names)}
    if rows and rows[0][0] not in places and not numbers_in(rows[0][1:3]):
        rows = rows[1:]
    own: dict[int, Pair] = {}
    strays = list(draft.strays)
    for row in rows:
        value, low, high = (*row, "", "")[:3]
        place = places.get(value)
        if place is None:
            strays.append((value, low, high))
        elif place in own:
            before = own[place]
            own[place] = (before[0] + SEPARATOR + low, before[1] + SEPARATOR + high)
        else:
            own[place] = (low, high)
    kept = {place: pair for place, pair in {**draft.own, **own}.items() if pair != EMPTY}
    return Pasted(
        replace(draft, own=kept, strays=tuple(dict.fromkeys(strays))),
        taken=len(own),
        missing=len(draft.names) - len(own),
    )


def paste_block(
    draft: LimitsDraft, rows: Sequence[Sequence[str]], places: Sequence[int], first_column: int
) -> Pasted:
    """Return the draft with a block of cells filled.

    Parameters
    ----------
    rows
        The cells' texts.
    places
        The positions of the values from the block's first row on, in the order in sight.
    first_column
        `RHO1` or `RHO2`: where the block's first column goes.
    """
    changes: dict[tuple[int, int], str] = {}
    left_over = 0
    for offset, row in enumerate(rows):
        for across, text in enumerate(row):
            column = first_column + across
            if offset < len(places) and column in (RHO1, RHO2):
                changes[places[offset], column] = text
            else:
                left_over += 1
    return Pasted(draft.with_texts(changes), len({p for p, _ in changes}), left_over=left_over)
