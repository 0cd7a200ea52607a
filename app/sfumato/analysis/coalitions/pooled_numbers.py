"""What a coalition of recipients learns of numbers, also from how they are rounded and bounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, Final

import numpy as np

from sfumato.analysis.answers import Answer, AnswerFigure, AnswerTable, CellKind
from sfumato.analysis.coalitions.coalitions import ROUNDING, difference_told
from sfumato.analysis.coalitions.holdings import (
    Holding,
    ReleaseBasis,
    called,
    members_of,
    told_together,
)
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Floats
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import (
    Attacker,
    BayesExperiment,
    Experiment,
    FormLeak,
    FormLeaks,
    Pool,
    RoundingLeak,
    bayes_experiment,
    expected_by_copies,
    form_leaks_of,
    guesses,
    make_experiment,
)
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord

MOST_ROWS: Final = 5_000
"""Records whose copies are made to see how far off single guesses are."""
BAYES_ROWS: Final = 1_500
"""Records that somebody guesses who knows the distribution: each is compared with all others."""
SAMPLES: Final = (100, 200, 300)
"""Released records for each pair of attributes from which an attacker learns the distribution."""
NOTICED: Final = 0.0005
"""A smaller share of the variance drowns in what the measurement itself is off by."""
ROUNDING_OF_GUESSES: Final = 1e6 * ROUNDING
"""A guess is a sum over thousands of records, of exponentials of large numbers."""

_BOUND: Final = (
    "Pooling never tells more than the most trusted release alone would tell without rounding and"
    " bounds."
)
_CHANCE: Final = " What pooling gains can't be told from chance."


@dataclass(frozen=True)
class NumbersCoalition:
    """Who pools what.

    Parameters
    ----------
    entry
        The policy entry.
    attributes
        Its N attributes, with their numbers.
    members
        What the members hold, the most trusted first; at least one.
    """

    entry: PolicyEntry
    attributes: tuple[Attribute, ...]
    members: tuple[Holding, ...]

    @cached_property
    def pool(self) -> Pool:
        """What the engine needs to know of it."""
        mechanism = mechanism_called(self.entry.mechanism)
        levels = tuple(holding.level for holding in self.members)
        return Pool(mechanism, self.entry.settings, self.attributes, levels)

    @property
    def formed(self) -> bool:
        """Whether released numbers are rounded or bounded, and so no ladder any more."""
        mechanism = mechanism_called(self.entry.mechanism)
        return mechanism.forms(self.attributes, self.entry.settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The members, the most trusted first."""
        return tuple(holding.recipient for holding in self.members)


@dataclass(frozen=True, eq=False)
class PooledNumbers:
    """What a coalition learns about one policy entry of numbers.

    Parameters
    ----------
    coalition
        Who pools what; it has M members.
    expected
        For each way in which noises depend on each other, the share of the best-told attribute's
        variance that the best linear estimate leaves open, shape (M,).
    experiment
        Copies of at most `MOST_ROWS` records.
    bayes
        What is open to somebody who knows the distribution, measured.
    learned
        What linear estimates leave open to who knows means and covariance exactly (0), or learns
        them from so many released records for each pair of attributes (`SAMPLES`).
    forms
        What rounding and bounds give away; None where there are none.
    in_table
        How closely the most trusted member alone tells 90 of 100 of the table's numbers.
    """

    coalition: NumbersCoalition
    expected: Mapping[Dependence, Floats]
    experiment: Experiment
    bayes: BayesExperiment
    learned: Mapping[int, LearnedGrowth]
    forms: FormLeaks | None
    in_table: str


@dataclass(frozen=True, eq=False)
class LearnedGrowth:
    """What linear estimates leave open as copies are pooled, measured on copies of true records.

    Parameters
    ----------
    records
        From how many released records means and covariance are learned; 0 where they are known.
    errors
        For the ladder and for noise of its own, the share of each attribute's variance that is
        left open with the first copy, the first two, and so on, shape (M, N).
    """

    records: int
    errors: Mapping[Dependence, Floats]

    @property
    def knowledge(self) -> Sentence:
        """What the attacker knows of the distribution, as an object."""
        if not self.records:
            return Sentence("the means and the covariance exactly")
        return Sentence(
            "what {count:,} released {count:record tells|records tell}", count=self.records
        )


def numbers_coalition(
    entry: PolicyEntry, members: Sequence[Holding], attributes: Mapping[str, Attribute]
) -> NumbersCoalition | None:
    """Return who pools numbers of an entry; None where its attributes are none, or nobody holds it.

    Releases by another mechanism than the entry's present one are left out.
    """
    chosen = tuple(attributes[name] for name in entry.attributes)
    same = tuple(held for held in members if held.plan.mechanism == entry.mechanism)
    if not same or any(attribute.numbers is None for attribute in chosen):
        return None
    return NumbersCoalition(entry, chosen, same)


def linear_errors(coalition: NumbersCoalition) -> Mapping[Dependence, Floats]:
    """Return the error of the best linear estimate as members join one by one, shape (M,) each.

    Raises
    ------
    SfumatoError
        If nothing is known of the noise, or the numbers' spread can't be measured.
    """
    return expected_by_copies(coalition.pool)


def weigh_numbers(coalition: NumbersCoalition, context: Context) -> PooledNumbers:
    """Weigh what a coalition learns of numbers, on average and record by record.

    Raises the errors of `linear_errors`.
    """
    pool = coalition.pool
    expected = linear_errors(coalition)
    experiment = make_experiment(pool, MOST_ROWS, Part(context, 0.0, 0.3))
    bayes = bayes_experiment(experiment, BAYES_ROWS, Part(context, 0.3, 0.6))
    context.report(0.6, "Guessing every record")
    learned = {samples: learned_growth(experiment, samples) for samples in (0, *SAMPLES)}
    forms = form_leaks_of(
        pool.mechanism, pool.levels, pool.attributes, pool.settings, Part(context, 0.7, 1.0)
    )
    here = pool.mechanism.in_table(
        max(pool.levels, key=pool.mechanism.trust), pool.attributes, pool.settings
    )
    return PooledNumbers(coalition, expected, experiment, bayes, learned, forms, here)


def guesses_off(experiment: Experiment, samples: int) -> Mapping[Dependence, Floats]:
    """Return how far off the joint linear guess of every record is, shape (N, n).

    Parameters
    ----------
    experiment
        The copies.
    samples
        From how many released records for each pair of attributes the attacker learns the
        distribution; 0 for one who knows it.
    """
    attacker = Attacker(_records(experiment, samples) or None)
    return {
        dependence: np.abs(guesses(experiment, dependence, attacker) - experiment.true)
        for dependence in experiment.copies
    }


def learned_growth(experiment: Experiment, samples: int) -> LearnedGrowth:
    """Return what linear estimates leave open as copies are pooled one by one.

    Parameters
    ----------
    experiment, samples
        As for `guesses_off`. Li et al. 2012, Fig. 2, and its attacker of Fig. 3 who learns.
    """
    records, variance = _records(experiment, samples), experiment.true.var(axis=1)
    attacker, copies = Attacker(records or None), len(experiment.pool.levels)
    errors = {
        dependence: np.array(
            [
                ((guesses(experiment, dependence, attacker, count) - experiment.true) ** 2).mean(1)
                / variance
                for count in range(1, copies + 1)
            ]
        )
        for dependence in experiment.copies
    }
    return LearnedGrowth(records, errors)


def _records(experiment: Experiment, samples: int) -> int:
    """Return how many released records an attacker learns from."""
    return samples * len(experiment.pool.attributes) ** 2


def pool_numbers(
    document: Document,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    context: Context,
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
) -> tuple[PooledNumbers, ...]:
    """Weigh a coalition for every policy entry whose attributes stay numbers.

    Parameters are those of `sfumato.analysis.coalitions.coalitions.report_coalition`.

    Raises
    ------
    PolicyError
        If a member is not known or holds nothing, or no entry is one of numbers.
    LevelError
        If a level can't be met.
    """
    asked = []
    for entry in document.policy:
        if any(attributes[name].numbers is None for name in entry.attributes):
            continue
        members = members_of(document, entry, attributes, releases, basis, names)
        coalition = numbers_coalition(entry, members, attributes)
        if coalition is not None:
            asked.append(coalition)
    if not asked:
        raise PolicyError(
            "None of these recipients holds numbers with noise.",
            "Name recipients of a project whose policy protects numbers by noise.",
        )
    return tuple(
        weigh_numbers(each, Part(context, place / len(asked), (place + 1) / len(asked)))
        for place, each in enumerate(asked)
    )


def answer_of(pooled: PooledNumbers) -> Answer:
    """Return what was found, in plain sentences without any number of the table, and in figures."""
    best = Sentence(
        "Who knows which numbers occur and how often guesses the mean of what is possible: no"
        " estimate has a smaller mean square error."
    )
    what = Sentence("What stays open as releases are put together.")
    copies = pooled.coalition, pooled.expected
    return Answer(
        tuple(_told(pooled)),
        notes=(best,),
        about=Sentence(
            "{entry}: {names}",
            entry=pooled.coalition.entry.key,
            names=", ".join(pooled.coalition.names),
        ),
        entry=pooled.coalition.entry.key,
        tables=(_learned_table(pooled),),
        figures=(AnswerFigure("pooled_numbers.build_error_by_copies", copies, what),),
        facts=_plain(pooled),
    )


def _told(pooled: PooledNumbers) -> Iterator[str]:
    """Yield who learns from whom, what is left open to whom, and what rounding gives away."""
    names = pooled.coalition.names
    last = {how: 100.0 * float(errors[-1]) for how, errors in pooled.expected.items()}
    members = pooled.coalition.members
    yield told_together(pooled.coalition.entry.key, members, pooled.coalition.formed)
    yield Sentence(
        "Variance that the best linear estimate leaves unexplained: {ladder:.1f} % together,"
        " {alone:.1f} % by {best} alone; if each release had noise of its own,"
        " {independent:.1f} %.",
        ladder=last[Dependence.LADDER],
        alone=100.0 * float(pooled.expected[Dependence.LADDER][0]),
        best=names[0],
        independent=last[Dependence.INDEPENDENT],
    )
    growth = pooled.bayes.growth
    for place, name in enumerate(pooled.coalition.entry.attributes):
        yield Sentence(
            "{name}, for somebody who knows how it is distributed: {ladder:.1f} %, with"
            " noise of its own for each {independent:.1f} %, measured on {records:,}"
            " {records:record|records}.",
            name=name,
            ladder=100.0 * float(growth[Dependence.LADDER].errors[-1, place]),
            independent=100.0 * float(growth[Dependence.INDEPENDENT].errors[-1, place]),
            records=pooled.bayes.records,
        )
    if len(names) > 1 and not pooled.coalition.formed:
        yield Sentence(
            "On the ladder, the largest difference between a guess of {names} together and"
            " {best}'s own, as a share of the spread, is {apart}.",
            names=called(names),
            best=names[0],
            apart=difference_told(growth[Dependence.LADDER].apart, ROUNDING_OF_GUESSES),
        )
    if pooled.in_table:
        yield pooled.in_table
    yield Sentence(
        "Who makes linear estimates and learns means and covariance from released records comes"
        " as far as the table says, measured on {records:,} {records:record|records}.",
        records=pooled.experiment.true.shape[1],
    )
    if pooled.forms is not None:
        yield Sentence(
            "Numbers are rounded or bounded after the noise, which the figures above leave"
            " out of account:"
        )
        yield from form_leak_sentences(pooled.forms)


def _learned_table(pooled: PooledNumbers) -> AnswerTable:
    """Return what all members together leave open of each attribute, by what they know."""
    columns: dict[str, CellKind] = {
        Sentence("Attribute"): CellKind.TEXT,
        Sentence("Known of the distribution"): CellKind.TEXT,
        Sentence("Left open on the ladder"): CellKind.SHARE,
        Sentence("With noise of its own for each"): CellKind.SHARE,
    }
    rows = [
        (
            name,
            growth.knowledge,
            float(growth.errors[Dependence.LADDER][-1, place]),
            float(growth.errors[Dependence.INDEPENDENT][-1, place]),
        )
        for place, name in enumerate(pooled.coalition.entry.attributes)
        for growth in pooled.learned.values()
    ]
    return AnswerTable(columns, rows)


def _plain(pooled: PooledNumbers) -> dict[str, Any]:
    """Return the figures as plain JSON values: shares of the variance left open, by members."""
    return {
        "attributes": list(pooled.coalition.entry.attributes),
        "members": list(pooled.coalition.names),
        "levels": [held.level for held in pooled.coalition.members],
        "linear": {how.value: errors.tolist() for how, errors in pooled.expected.items()},
        "bayes": {how.value: one.errors.tolist() for how, one in pooled.bayes.growth.items()},
        "learned": [
            {
                "from_records": growth.records or None,
                **{how.value: errors.tolist() for how, errors in growth.errors.items()},
            }
            for growth in pooled.learned.values()
        ],
        "records": pooled.bayes.records,
        "rounding": None if pooled.forms is None else form_leaks_plain(pooled.forms),
    }


def form_leak_sentences(leaks: FormLeaks) -> tuple[str, ...]:
    """Return what was measured, for the attributes that lose most, and what can't be exceeded."""
    return (*_linear(leaks.linear), *_bayes(leaks.bayes), Sentence(_BOUND))


def _linear(leaks: tuple[FormLeak, ...]) -> tuple[str, ...]:
    if not leaks:
        return (Sentence("There are too few records to measure what linear estimates tell."),)
    worst = max(leaks, key=lambda found: found.leak)
    gain = Sentence(_CHANCE)
    if worst.leak >= NOTICED:
        gain = Sentence(" Pooling gains {leak:.2f} %.", leak=100.0 * worst.leak)
    told = Sentence(
        "Measured on {rows:,} {rows:record|records}: the best linear estimate from the most"
        " trusted release leaves {alone:.1f} % of the variance of {name} open, from all releases"
        " together {together:.1f} %; without rounding and bounds it would be {plain:.1f} %.{gain}",
        rows=worst.rows,
        name=worst.attribute,
        alone=100.0 * worst.alone,
        together=100.0 * worst.together,
        plain=100.0 * worst.plain,
        gain=gain,
    )
    return (told,)


def _bayes(leaks: Mapping[str, RoundingLeak]) -> tuple[str, ...]:
    if not leaks:
        return ()
    name = max(leaks, key=lambda each: leaks[each].leak)
    worst = leaks[name]
    gain = Sentence(_CHANCE)
    if worst.leak >= max(NOTICED, 2.0 * worst.error):
        gain = Sentence(
            " Pooling gains {leak:.2f} ± {error:.2f} %.",
            leak=100.0 * worst.leak,
            error=200.0 * worst.error,
        )
    told = Sentence(
        "By Bayes' rule, for somebody who knows how {name} is distributed and how it was rounded,"
        " on {records:,} {records:record|records}: {best:.1f} %, from all together {together:.1f}"
        " %; without rounding and bounds it would be {plain:.1f} %.{gain} On the numbers of {name}"
        " alone, no attack is stronger.",
        name=name,
        records=worst.records,
        best=100.0 * worst.best,
        together=100.0 * worst.together,
        plain=100.0 * worst.plain,
        gain=gain,
    )
    return (told,)


def form_leaks_plain(leaks: FormLeaks) -> dict[str, Any]:
    """Return what was measured as plain JSON values: shares of each attribute's variance."""
    return {
        "linear": [
            {
                "attribute": leak.attribute,
                "records": leak.rows,
                "without rounding": leak.plain,
                "alone": leak.alone,
                "together": leak.together,
            }
            for leak in leaks.linear
        ],
        "bayes": [
            {
                "attribute": name,
                "records": leak.records,
                "without rounding": leak.plain,
                "alone": leak.best,
                "together": leak.together,
                "gain ±": leak.error,
            }
            for name, leak in leaks.bayes.items()
        ],
    }
