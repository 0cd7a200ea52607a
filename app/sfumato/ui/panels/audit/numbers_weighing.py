"""What a coalition learns of numbers, as the page shows it; computed in a job, no widgets here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.disclosure.gaussian_experiment import (
    Attacker,
    BayesExperiment,
    Experiment,
    Pool,
    bayes_experiment,
    expected_by_copies,
    guesses,
    make_experiment,
)
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import form_leaks_of, is_formed
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.engine.table.table import Attribute
from sfumato.plots.bayes_by_copies import BayesData
from sfumato.plots.error_by_copies import CopiesData
from sfumato.plots.error_histogram import ErrorsData
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.panels.audit.holdings import Holding

MOST_ROWS: Final = 5_000
BAYES_ROWS: Final = 1_500
"""Records that somebody guesses who knows the distribution: each is compared with all others."""
SAMPLES: Final = (100, 200, 300)
"""Records per squared attribute from which an attacker learns the distribution."""


@dataclass(frozen=True)
class NumbersCoalition:
    """Who pools what.

    Parameters
    ----------
    entry
        The policy entry.
    attributes
        Its N attributes, with their numbers.
    holdings
        What the members hold, the most trusted first; at least one.
    """

    entry: PolicyEntry
    attributes: tuple[Attribute, ...]
    holdings: tuple[Holding, ...]

    @cached_property
    def pool(self) -> Pool:
        """What the engine needs to know of it."""
        mechanism = mechanism_called(self.entry.mechanism)
        levels = tuple(holding.level for holding in self.holdings)
        return Pool(mechanism, self.entry.settings, self.attributes, levels)

    @property
    def formed(self) -> bool:
        """Whether released numbers are rounded or bounded, and so no ladder any more."""
        pool = self.pool
        return is_formed(pool.mechanism, pool.attributes, pool.settings)

    @property
    def names(self) -> tuple[str, ...]:
        """The members, the most trusted first."""
        return tuple(holding.recipient for holding in self.holdings)


@dataclass(frozen=True)
class WeighedNumbers:
    """What a coalition learns.

    Parameters
    ----------
    copies
        The error by the number of copies.
    errors
        For each knowledge, by its samples per squared attribute (0 for perfect knowledge), and
        each attribute's place, how far off single guesses are.
    bayes
        For each attribute, what is open to somebody who knows how the numbers are distributed.
    forms
        What rounding and bounds give away; None where there are none.
    in_table
        How closely the most trusted member alone tells 90 of 100 of the table's numbers.
    """

    copies: CopiesData
    errors: Mapping[tuple[int, int], ErrorsData]
    bayes: tuple[BayesData, ...]
    forms: FormLeaks | None
    in_table: str


def weigh_copies(coalition: NumbersCoalition) -> CopiesData:
    """Return the error of the best linear estimate as members join one by one.

    Raises
    ------
    SfumatoError
        If nothing is known of the noise, or the numbers' spread can't be measured.
    """
    errors = expected_by_copies(coalition.pool)
    return CopiesData(
        coalition.entry.key,
        coalition.names,
        errors[Dependence.LADDER],
        errors[Dependence.INDEPENDENT],
        errors[Dependence.LINEAR],
    )


def weigh_numbers(
    coalition: NumbersCoalition, knowledge_words: Sequence[str], context: Context
) -> WeighedNumbers:
    """Return what a coalition learns, on average and record by record.

    Parameters
    ----------
    coalition
        Who pools what.
    knowledge_words
        What the attacker knows, in words: first for perfect knowledge, then for `SAMPLES`.
    context
        Progress and cancelling.
    """
    copies, pool = weigh_copies(coalition), coalition.pool
    experiment = make_experiment(pool, MOST_ROWS, Part(context, 0.0, 0.2))
    errors: dict[tuple[int, int], ErrorsData] = {}
    for place, (samples, words) in enumerate(zip((0, *SAMPLES), knowledge_words, strict=True)):
        context.report(0.2 + 0.05 * place, "Guessing every record")
        found = _errors(experiment, samples, words)
        errors |= {(samples, column): data for column, data in enumerate(found)}
    bayes = bayes_experiment(experiment, BAYES_ROWS, Part(context, 0.4, 0.7))
    forms = form_leaks_of(
        pool.mechanism, pool.levels, pool.attributes, pool.settings, Part(context, 0.7, 1.0)
    )
    here = pool.mechanism.in_table(min(pool.levels), pool.attributes, pool.settings)
    return WeighedNumbers(copies, errors, _bayes(coalition, bayes), forms, here)


def _errors(experiment: Experiment, samples: int, words: str) -> tuple[ErrorsData, ...]:
    """Return for each attribute how far off guesses are that were learned from so many records."""
    attributes = experiment.pool.attributes
    attacker = Attacker(samples * len(attributes) ** 2 if samples else None)
    off = {
        dependence: np.abs(guesses(experiment, dependence, attacker) - experiment.true)
        for dependence in experiment.copies
    }
    return tuple(
        ErrorsData(
            attribute.name,
            len(experiment.pool.levels),
            words,
            float(experiment.true[column].std()),
            off[Dependence.LADDER][column],
            off[Dependence.INDEPENDENT][column],
        )
        for column, attribute in enumerate(attributes)
    )


def _bayes(coalition: NumbersCoalition, found: BayesExperiment) -> tuple[BayesData, ...]:
    ladder, apart = (
        found.growth[dependence] for dependence in (Dependence.LADDER, Dependence.INDEPENDENT)
    )
    return tuple(
        BayesData(
            attribute.name,
            coalition.names,
            ladder.errors[:, place],
            apart.errors[:, place],
            found.linear[:, place],
            ladder.apart,
            found.records,
        )
        for place, attribute in enumerate(coalition.attributes)
    )
