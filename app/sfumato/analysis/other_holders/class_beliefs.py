"""What somebody who holds several tables believes of a person whose class in each is known."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Final

import numpy as np

from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind
from sfumato.analysis.other_holders.composition import Beside
from sfumato.engine.core.errors import DiversityError, PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence, about_number, formatted
from sfumato.engine.generalization.beliefs import (
    ImaginaryTables,
    cell_bounds,
    imaginary_tables,
    probabilistic_table,
)
from sfumato.engine.generalization.others import HolderClasses

LARGEST_COUNT: Final = 20_000_000
"""Beyond so many steps the ways to spread people over values are not counted."""
MOST_WAYS: Final = 200
MOST_NAMED: Final = 6
"""Values that a sentence names, the likeliest first."""


@dataclass(frozen=True)
class ClassBelief:
    """What somebody who holds all tables believes about a person in certain classes.

    Parameters
    ----------
    prior
        The share of each value in the first table, shape (m,).
    probabilities
        The belief by equation (5), shape (m,); None where nobody can be in these classes.
    least, most
        The least and the greatest belief that any way in which the tables go together allows,
        shape (m,): who knows how many people are in these classes may come as far.
    """

    prior: Floats = field(repr=False)
    probabilities: Floats | None = field(repr=False)
    least: Floats = field(repr=False)
    most: Floats = field(repr=False)


def belief_in(holders: Sequence[HolderClasses], classes: Sequence[int]) -> ClassBelief:
    """Return what is believed about somebody in one class of each table, by equation (5).

    Only what is inside and outside the chosen class of each table counts for it, so that no
    table of all combinations is made.
    """
    table = probabilistic_table(
        [_inside_or_not(h, number) for h, number in zip(holders, classes, strict=True)]
    )
    found = table.probabilities[(0,) * len(holders)]
    least, most = cell_bounds(holders, classes).beliefs()
    return ClassBelief(table.prior, None if np.isnan(found).any() else found, least, most)


def known_correlation(
    holders: Sequence[HolderClasses],
    classes: Sequence[int],
    share: float,
    of: int,
    context: Context,
) -> ImaginaryTables:
    """Return what is believed where it is known how many people the classes share.

    Parameters
    ----------
    holders, classes
        The tables, and the class of each.
    share
        Of the people in the class of table `of`, the share that is in all the others as well.
    of
        The position of that table.
    context
        Progress and cancelling.

    Raises
    ------
    DiversityError
        If the share does not fit the classes, or there are too many people to count their ways.
    """
    context.report(0.0, "Counting the ways")
    counts = holders[of].counts[classes[of]]
    if share * int(counts.sum()) * len(counts) ** 2 > LARGEST_COUNT:
        raise DiversityError(
            "The class of {holder} has too many people to count the ways they can be spread.",
            "Choose a smaller class or a smaller share.",
            holder=holders[of].holder,
        )
    return imaginary_tables(holders, classes, share, of)


def _inside_or_not(holder: HolderClasses, number: int) -> HolderClasses:
    inside = holder.counts[number]
    rest = holder.counts.sum(axis=0) - inside
    labels = (holder.labels[number], ("",) * len(holder.quasi_identifiers))
    return HolderClasses(holder.holder, holder.quasi_identifiers, labels, np.stack([inside, rest]))


@dataclass(frozen=True)
class BeliefData:
    """Beliefs about a person whose class in each table is known, as they are drawn.

    Parameters
    ----------
    names
        The sensitive values, shape (m,).
    prior, belief
        Belief before, and with all tables at hand, shape (m,).
    correlated
        Belief where it is known as well how many people the classes share, shape (m,); None
        where nothing is known of that.
    """

    names: tuple[str, ...]
    prior: Floats = field(repr=False)
    belief: Floats = field(repr=False)
    correlated: Floats | None = field(default=None, repr=False)


@dataclass(frozen=True)
class BeliefGrowth:
    """The belief in the likeliest value as tables are put together, as it is drawn.

    Parameters
    ----------
    holders
        Whose table comes next, shape (h,).
    belief, most
        The belief in the likeliest value with so many tables, and the greatest that any way
        allows in which they go together, shape (h,).
    """

    holders: tuple[str, ...]
    belief: Floats = field(repr=False)
    most: Floats = field(repr=False)


@dataclass(frozen=True)
class ClassAnswer:
    """What is believed of a person in one class of each table.

    Parameters
    ----------
    found
        The tables.
    classes
        The person's class in each.
    belief
        What is believed; None where nobody can be in these classes, by the columns that tables
        share or by the values that they show.
    growth
        What is believed with the first table, the first two, and so on.
    """

    found: Beside
    classes: tuple[int, ...]
    belief: ClassBelief | None
    growth: tuple[ClassBelief, ...] = field(repr=False)

    @property
    def reason(self) -> Sentence | None:
        """Why nobody can be in these classes; None where somebody can."""
        if self.belief is not None:
            return None
        if self.found.within(self.classes) is None:
            return Sentence("Nobody can be in these classes at once: their common columns differ.")
        return Sentence("Nobody can be in these classes at once: they share no value.")

    @property
    def ranges(self) -> Sentence:
        """How far beliefs can go, the likeliest values first."""
        assert self.belief is not None
        most, least = self.belief.most, self.belief.least
        order = [code for code in np.argsort(-most, kind="stable") if most[code] > 0]
        told = [
            Sentence(
                "{value} {least} to {most}",
                value=self.found.values[code],
                least=formatted(least[code], ".2%"),
                most=formatted(most[code], ".2%"),
            )
            for code in order[:MOST_NAMED]
        ]
        return Sentence(
            "The bars take the tables to be independent. Who knows how many people they share can"
            " believe anything from the least to the most that any way allows: {ranges}",
            ranges=_ended(told, len(order)),
        )

    @property
    def likeliest(self) -> Sentence:
        """How strongly the likeliest value is believed."""
        shown = self.drawn()
        best = int(np.argmax(shown.belief))
        return Sentence(
            "{count} {count:value|values} remain possible; the likeliest is believed to {belief},"
            " before {before}.",
            count=int((shown.belief > 0).sum()),
            belief=formatted(shown.belief[best], ".1%"),
            before=formatted(shown.prior[best], ".1%"),
        )

    def drawn(self, known: ImaginaryTables | None = None) -> BeliefData:
        """Return the beliefs as they are drawn, also where a correlation is known."""
        assert self.belief is not None
        assert self.belief.probabilities is not None
        correlated = None
        if known is not None:
            correlated = np.array([float(share) for share in known.probabilities])
        names = tuple(map(str, self.found.values))
        return BeliefData(names, self.belief.prior, self.belief.probabilities, correlated)

    @property
    def growth_drawn(self) -> BeliefGrowth:
        """The growth of the strongest belief, as it is drawn."""
        beliefs = [b.probabilities for b in self.growth if b.probabilities is not None]
        return BeliefGrowth(
            tuple(holder.holder for holder in self.found.holders),
            np.array([float(each.max()) for each in beliefs]),
            np.array([float(each.most.max()) for each in self.growth]),
        )

    def answer(self, known: ImaginaryTables | None = None) -> Answer:
        """Return it as an answer, with what is believed where a correlation is known."""
        pairs = zip(self.found.holders, self.classes, strict=True)
        where = [f"{holder.holder}: {holder.describe(number)}" for holder, number in pairs]
        about, facts = "; ".join(where), self._plain(known)
        if self.reason is not None:
            return Answer((self.reason,), about=about, facts=facts)
        told = [self.likeliest, self.ranges]
        if known is not None:
            told.append(ways_sentence(known, self.found.values))
        before_and_after, growing = self.drawn(known), self.growth_drawn
        return Answer(
            told,
            about=about,
            tables=(_growth_table(growing), *_ways_table(known, self.found.values)),
            figures=(
                AnswerFigure("beliefs.build_beliefs", (before_and_after,), self.likeliest),
                AnswerFigure("beliefs.build_belief_growth", (growing,), self.likeliest),
            ),
            facts=facts,
        )

    def _plain(self, known: ImaginaryTables | None) -> dict[str, Any]:
        """Return the figures as JSON values, a place for each value of the domain."""
        belief = self.belief
        return {
            "classes": {
                holder.holder: list(holder.labels[number])
                for holder, number in zip(self.found.holders, self.classes, strict=True)
            },
            "values": list(map(str, self.found.values)),
            "before": None if belief is None else belief.prior.tolist(),
            "belief": None if belief is None else self.drawn().belief.tolist(),
            "least": None if belief is None else belief.least.tolist(),
            "most": None if belief is None else belief.most.tolist(),
            "growth": [] if belief is None else self.growth_drawn.belief.tolist(),
            "growth_most": [] if belief is None else self.growth_drawn.most.tolist(),
            "known_correlation": None
            if known is None
            else {
                "people": known.records,
                "ways": known.instances,
                "belief": [float(share) for share in known.probabilities],
            },
        }


def class_answer(found: Beside, classes: Sequence[int]) -> ClassAnswer:
    """Return what is believed of a person in one class of each table."""
    within = found.within(classes)
    if within is None:
        return ClassAnswer(found, tuple(classes), None, ())
    holders, own = within
    growth = tuple(belief_in(holders[:n], own[:n]) for n in range(1, len(holders) + 1))
    held = growth[-1] if growth and growth[-1].probabilities is not None else None
    return ClassAnswer(found, tuple(classes), held, growth if held is not None else ())


def ways_sentence(known: ImaginaryTables, values: Sequence[object]) -> Sentence:
    """Return in how many ways the people can have the values, and the chances by these."""
    possible = [code for code, most in enumerate(known.most) if most > 0]
    chances = [
        Sentence(
            "{value} {chance}",
            value=values[code],
            chance=str(known.probabilities[code].limit_denominator(1000)),
        )
        for code in possible[:MOST_NAMED]
    ]
    return Sentence(
        "{records:,} {records:person|people}, {instances} {ways:way|ways}. Then the chances are:"
        " {chances}",
        records=known.records,
        instances=about_number(known.instances),
        ways=known.instances,
        chances=_ended(chances, len(possible)),
    )


def classes_called(found: Beside, stated: Mapping[str, str]) -> tuple[int, ...]:
    """Return the class of each table that labels name, parted by commas.

    Parameters
    ----------
    found
        The tables.
    stated
        The labels of the person's class, by the holder of the table.

    Raises
    ------
    PolicyError
        If a table has no such class, or none is stated for it.
    """
    return tuple(class_called(holder, stated.get(holder.holder, "")) for holder in found.holders)


def class_called(holder: HolderClasses, text: str) -> int:
    """Return which class of a holder's table shows these labels, parted by commas.

    Raises
    ------
    PolicyError
        If it has no such class.
    """
    wanted = tuple(part.strip() for part in text.split(","))
    if wanted not in holder.labels:
        raise PolicyError(
            "The table of {holder} has no such class.",
            "Give what it shows of {columns}, parted by commas.",
            holder=holder.holder,
            columns=", ".join(holder.quasi_identifiers),
        )
    return holder.labels.index(wanted)


def _growth_table(growing: BeliefGrowth) -> AnswerTable:
    """Return the strongest belief with the first table, the first two, and so on."""
    columns: dict[str, CellKind] = {
        Sentence("With the table of"): CellKind.TEXT,
        Sentence("Likeliest value"): CellKind.SHARE,
        Sentence("At most"): CellKind.SHARE,
    }
    rows = zip(growing.holders, growing.belief, growing.most, strict=True)
    return AnswerTable(columns, [(name, float(at), float(most)) for name, at, most in rows])


def _ways_table(known: ImaginaryTables | None, values: Sequence[object]) -> Iterator[AnswerTable]:
    """Yield some ways in which the people have the values, which name the columns."""
    if known is not None and (listed := known.listed(MOST_WAYS)):
        shown = [code for code, most in enumerate(known.most) if most > 0]
        columns = dict.fromkeys((str(values[code]) for code in shown), CellKind.VALUE)
        yield AnswerTable(columns, [tuple(way[code] for code in shown) for way in listed])


def _ended(told: Sequence[str], of: int) -> Sentence:
    """Return texts as a list that ends, or goes on where these are not all."""
    listed = ", ".join(f"{{part_{place}}}" for place in range(len(told)))
    parts = {f"part_{place}": one for place, one in enumerate(told)}
    return Sentence(listed + ("…" if of > len(told) else "."), **parts)
