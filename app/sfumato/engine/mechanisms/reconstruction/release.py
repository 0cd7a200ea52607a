"""Sample, perturb, scale: the release that keeps small groups' distributions private.

Algorithm 1 of Wang, Han and Fu (2012), keyed: of a micro group with n records s are drawn, each
drawn value is perturbed once, and the s results are copied until there are n again. It differs
from the paper in one thing: where the paper tosses a coin for each value and each copy, so that
the group's size changes by chance, one shared start decides all of them (systematic sampling).
Each record is still drawn with probability s/n and copied n/s times on average, each value's
count still is what the paper says, rounded up or down; but the totals come out exactly, so a
group keeps its size and estimates stay unbiased to the last digit. The copies are dealt out to
the group's rows by a keyed permutation, so that no row tells which record it came from.

A group's draw needs all of its rows, and no others: a table that is too long for memory is drawn
from group by group, and each row then looks up what was dealt to it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Indices, Integers, Words
from sfumato.engine.disclosure.group_tails import Draw
from sfumato.engine.ladders.base_mechanism import ProfileTop
from sfumato.engine.ladders.uniform_cells import Blocks
from sfumato.engine.mechanisms.reconstruction.limits import Limits
from sfumato.engine.randomness.keys import AttributeKey
from sfumato.engine.table.micro_groups import MicroGroups
from sfumato.engine.table.table import Dealt, GroupRows

_TILE: Final = 1 << 18
"""How many records' words are drawn at once."""

Rows = Indices


def resampled_codes(
    codes: Codes,
    groups: MicroGroups,
    samples: Integers,
    limits: Limits,
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
    dealt: Dealt | None = None,
) -> Codes:
    """Return the most trusted release's codes.

    Parameters
    ----------
    codes
        The true codes, shape (n,).
    groups
        The records' micro groups.
    samples
        How many records of each group are drawn, shape (G,); a group of which all are drawn
        is perturbed row by row.
    limits
        What is asked of every group: it says how records are drawn and perturbed.
    record_ids
        The records' identifiers, shape (n,).
    keys
        The key of the perturbation, and the key of the sampling.
    context
        Progress and cancelling.
    dealt
        What the groups' draws came to; None to draw here, where the rows are whole groups.

    Returns
    -------
    numpy.ndarray
        Shape (n,), a pure function of keys, identifiers, true codes and groups.
    """
    shown, rows, found = rows_to_draw(
        codes, groups, samples, limits, record_ids, keys, Part(context, 0.0, 0.6)
    )
    if not len(rows):
        return shown
    if dealt is None:
        context.report(0.8, "Copying what was drawn")
        dealt = dealt_from(found, groups.sizes, samples, limits)
    out = shown.copy()
    out[rows] = dealt.shown_to(found.members, found.words[3])
    context.report(1.0, "Groups are resampled")
    return out


def rows_to_draw(
    codes: Codes,
    groups: MicroGroups,
    samples: Integers,
    limits: Limits,
    record_ids: Words,
    keys: tuple[AttributeKey, AttributeKey],
    context: Context,
) -> tuple[Codes, Rows, GroupRows]:
    """Return rows perturbed by themselves, and those of groups that are resampled.

    Parameters are those of `resampled_codes`; the rows may be any part of their groups. Returns
    codes of shape (n,), the places of the k rows of resampled groups, and what they are drawn by.
    """
    top = ProfileTop(np.full(limits.size_of_domain, limits.retention))
    shown = top.show(codes, record_ids, keys[0], Part(context, 0.0, 0.7))
    rows = np.flatnonzero((samples < groups.sizes)[groups.codes])
    words = _words(codes[rows], record_ids[rows], keys[1], Part(context, 0.7, 1.0))
    return shown, rows, GroupRows(groups.codes[rows], codes[rows], shown[rows], words)


def dealt_from(rows: GroupRows, sizes: Integers, samples: Integers, limits: Limits) -> Dealt:
    """Draw from whole groups, copy what is drawn, and deal it out to their rows.

    Parameters
    ----------
    rows
        Every row of some resampled groups.
    sizes, samples
        How many records each group has, and how many are drawn, shape (G,).
    limits
        How records are drawn.
    """
    members = _Members(rows.members, sizes, samples)
    values = rows.codes if limits.sampling.draw is Draw.BY_VALUE else None
    drawn = members.draw(values, order=rows.words[0], start=rows.words[1])
    copies = members.copies(drawn, rows.shown[drawn], start=rows.words[2])
    places = members.dealt(order=rows.words[3])
    return Dealt.of(rows.members[places], rows.words[3][places], copies)


class _Members:
    """The rows of the groups that are resampled, sorted and drawn from group by group."""

    def __init__(self, members: Integers, sizes: Integers, samples: Integers) -> None:
        self._members = members
        self._sizes = sizes
        self._samples = samples

    def draw(self, values: Codes | None, order: Words, start: Words) -> Rows:
        """Return the rows drawn, group by group.

        Rows are lined up by keyed words, those of one value side by side where each value has
        to keep its share. A step of n/s records from a random start then hits s of them.
        """
        keys = (order, self._members) if values is None else (order, values, self._members)
        line = np.lexsort(keys)
        member = self._members[line]
        size, sample = self._sizes[member], self._samples[member]
        rank, first = _ranks(member)
        offset = _below(start[line][first], size)
        hit = ((rank + 1) * sample + offset) // size > (rank * sample + offset) // size
        return line[hit]

    def copies(self, drawn: Rows, shown: Codes, start: Words) -> Codes:
        """Return the released codes of every group in turn: what was drawn, copied.

        Equal values stand side by side, so that each keeps its share up to one copy.
        """
        member = self._members[drawn]
        line = np.lexsort((shown, member))
        sorted_member = member[line]
        size, sample = self._sizes[sorted_member], self._samples[sorted_member]
        rank, first = _ranks(sorted_member)
        # The start has to be the same whatever is shown: it hangs on the group's first draw.
        offset = _below(start[drawn][first], sample)
        times = ((rank + 1) * size + offset) // sample - (rank * size + offset) // sample
        return np.repeat(shown[line], times)

    def dealt(self, order: Words) -> Rows:
        """Return the rows that the copies go to, group by group, in keyed order."""
        return np.lexsort((order, self._members))


def _ranks(member: Integers) -> tuple[Integers, Rows]:
    """Return each row's place in its group's stretch, and where that stretch begins."""
    begins = np.flatnonzero(np.diff(member, prepend=-1))
    lengths = np.diff(begins, append=len(member))
    first: Rows = np.repeat(begins, lengths)
    return np.arange(len(member)) - first, first


def _below(words: Words, limit: Integers) -> Integers:
    """Return a number from 0 to limit - 1 for each word; even up to limit/2^53."""
    shares = (words >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return np.minimum((shares * limit).astype(np.int64), limit - 1)


def _words(codes: Codes, record_ids: Words, key: AttributeKey, context: Context) -> Words:
    """Draw four words of 64 bits for each record, shape (4, n)."""
    words = np.empty((4, len(codes)), dtype=np.uint64)
    blocks = Blocks(key.cipher(), max(min(_TILE, len(codes)), 1))
    for start in range(0, len(codes), _TILE):
        context.report(start / len(codes), "Drawing samples")
        part = slice(start, start + _TILE)
        count = len(codes[part])
        blocks.fill(codes[part], record_ids[part])
        for stream in range(2):
            drawn = blocks.draw(count, stream).view("<u8")
            words[2 * stream, part] = drawn[0::2]
            words[2 * stream + 1, part] = drawn[1::2]
    return words
