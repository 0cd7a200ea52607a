"""Which quasi-identifiers the views keep, which tell nobody anything, and what each would cost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from sfumato.analysis.coarsening.views import QuasiRows
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.generalization.distinct_rows import DistinctRows
from sfumato.project.document.model import Document
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.views import in_chain, quasi_identifiers


@dataclass(frozen=True)
class FurtherColumn:
    """A column that is shown to nobody, and what it would cost to show it.

    Parameters
    ----------
    name
        The column.
    level
        The highest level at which it tells anything.
    suppressed
        How many records whoever is trusted most would see suppressed if it were shown at it.
    """

    name: str
    level: int
    suppressed: int


@dataclass(frozen=True)
class KeptColumns:
    """What views keep of the quasi-identifiers.

    Parameters
    ----------
    recipient
        Whose view is the finest.
    kept
        The columns that somebody sees something of.
    left
        The others, those that cost least first.
    suppressed, allowed, records
        How many records are suppressed in that view, how many may be, and how many there are.
    """

    recipient: str
    kept: tuple[str, ...]
    left: tuple[FurtherColumn, ...]
    suppressed: int
    allowed: int
    records: int

    @property
    def sentences(self) -> Iterator[Sentence]:
        """What is kept, what is left, and what each further column costs."""
        names = [one.name for one in self.left]
        if self.kept:
            words = "Kept: {kept}. Shown as * to everybody, so best left out: {left}."
            yield Sentence(words, kept=listed(self.kept), left=listed(names))
        else:
            words = "Nothing is kept. Shown as * to everybody, so best left out: {left}."
            yield Sentence(words, left=listed(names))
        yield self.cost

    @property
    def cost(self) -> Sentence:
        """What each further column costs."""
        words = (
            "What each further column costs: {count:,} of {records:,}"
            " {records:record|records} {count:is|are} suppressed for {recipient} today, and"
            " {allowed:,} may be; with one column more it would be {costs}."
        )
        costs = [
            Sentence("{column} {count:,}", column=one.name, count=one.suppressed)
            for one in self.left
        ]
        return Sentence(
            words,
            count=self.suppressed,
            records=self.records,
            allowed=self.allowed,
            recipient=self.recipient,
            costs=listed(costs),
        )

    def plain(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "kept": list(self.kept),
            "left": [
                {"column": one.name, "level": one.level, "suppressed": one.suppressed}
                for one in self.left
            ],
            "suppressed": self.suppressed,
            "allowed": self.allowed,
            "records": self.records,
        }


def kept_columns(document: Document, table: BatchedTable, context: Context) -> KeptColumns | None:
    """Return what the views keep of the quasi-identifiers; None where they keep something of each.

    Parameters
    ----------
    document, table
        What is decided, and the rows that leave (`released_rows`).
    context
        Progress and cancelling.
    """
    names, chain = quasi_identifiers(document), in_chain(document)
    if not chain or len(chain) < len(document.recipients):
        return None
    if any(name not in document.hierarchies for name in names):
        return None
    first = chain[0]
    rule = first.view
    assert rule is not None
    recipes = {name: document.hierarchies[name] for name in names}
    with suppress(SfumatoError):  # the counts of the views say what is wrong
        given = QuasiRows.of(document, table, recipes, Part(context, 0.0, 0.5))
        quasi = tuple(each.with_one_group_on_top() for each in given.quasi)
        node = tuple(rule.levels.get(each.name, 0) for each in quasi)
        left = [axis for axis, each in enumerate(quasi) if each.sizes[node[axis]] == 1]
        if not left or any(at > each.height for at, each in zip(node, quasi, strict=True)):
            return None
        rows = DistinctRows.of(quasi, (0,) * len(node), given.units, given.weights)
        found = []
        for place, axis in enumerate(left):
            each = quasi[axis]
            context.report(0.5 + 0.5 * place / len(left), "Counting what further columns cost")
            telling = [at for at in range(node[axis]) if each.sizes[at] > 1]
            if telling:
                finer = (*node[:axis], telling[-1], *node[axis + 1 :])
                found.append(
                    FurtherColumn(each.name, telling[-1], _suppressed(rows, finer, rule.k))
                )
        found.sort(key=lambda one: (one.suppressed, one.name))
        if not found:
            return None
        dropped = {quasi[axis].name for axis in left}
        return KeptColumns(
            first.name,
            tuple(name for name in names if name not in dropped),
            tuple(found),
            _suppressed(rows, node, rule.k),
            int(rule.suppression * rows.rows + 1e-9),
            rows.rows,
        )
    return None


def _suppressed(rows: DistinctRows, node: tuple[int, ...], k: int) -> int:
    joined = rows.joined(node)
    return int(joined.counts[joined.shown(node, k).suppressed].sum())
