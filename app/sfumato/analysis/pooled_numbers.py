"""What a coalition of recipients learns of numbers: as the policy plans, or as released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.analysis.postprocessing_leakage import form_leak_sentences, form_leaks_plain
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.disclosure.gaussian_experiment import (
    BayesExperiment,
    Pool,
    bayes_experiment,
    expected_by_copies,
    make_experiment,
)
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.postprocessing import form_leaks_of
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.holdings import held_planned, held_released

Floats = npt.NDArray[np.float64]

_RECORDS = 1_500
"""Records that somebody guesses who knows the distribution: each is compared with all others."""


@dataclass(frozen=True, eq=False)
class PooledNumbers:
    """What a coalition learns about one policy entry of numbers.

    Parameters
    ----------
    entry
        The policy entry's attributes, joined.
    attributes
        Their names, N of them.
    members
        The coalition's names, the most trusted first.
    levels
        σ² of what each holds.
    expected
        For each way in which noises hang together, the share of the best-told attribute's
        variance that the best linear estimate leaves open, shape (M,).
    bayes
        The same for somebody who knows the distribution, measured.
    forms
        What rounding and bounds give away; None where there are none.
    """

    entry: str
    attributes: tuple[str, ...]
    members: tuple[str, ...]
    levels: tuple[float, ...]
    expected: Mapping[Dependence, Floats]
    bayes: BayesExperiment
    forms: FormLeaks | None


def pool_numbers(
    document: Document,
    attributes: Mapping[str, Attribute],
    names: Sequence[str],
    context: Context,
    releases: Sequence[ReleaseRecord] | None = None,
) -> tuple[PooledNumbers, ...]:
    """Weigh a coalition for every policy entry whose attributes stay numbers.

    Parameters
    ----------
    document
        The policy and the recipients.
    attributes
        Every attribute of the policy, by name.
    names
        The members; at least one.
    context
        Progress and cancelling.
    releases
        What the ledger tells of: then everybody's most telling release counts, and who holds
        none is left out. None weighs what the policy plans.

    Raises
    ------
    PolicyError
        If a recipient is not known, no entry is one of numbers, or nobody holds any.
    LevelError
        If a level can't be met.
    """
    found = []
    entries = [entry for entry in document.policy if _numeric(entry, attributes)]
    for place, entry in enumerate(entries):
        if releases is None:
            held = held_planned(document, entry, attributes, names)
        else:
            held = held_released(releases, entry, names)
        held = tuple(each for each in held if each.plan.mechanism == entry.mechanism)
        if not held:
            continue
        pool = Pool(
            mechanism_called(entry.mechanism),
            entry.settings,
            tuple(attributes[name] for name in entry.attributes),
            tuple(each.plan.level for each in held),
        )
        part = Part(context, place / len(entries), (place + 1) / len(entries))
        found.append(_pooled(entry, tuple(each.holder for each in held), pool, part))
    if not found:
        raise PolicyError(
            "None of these recipients holds numbers with noise.",
            "Name recipients of a project whose policy protects numbers by noise.",
        )
    return tuple(found)


def _pooled(
    entry: PolicyEntry, members: tuple[str, ...], pool: Pool, context: Context
) -> PooledNumbers:
    expected = expected_by_copies(pool)
    experiment = make_experiment(pool, _RECORDS, Part(context, 0.0, 0.2))
    bayes = bayes_experiment(experiment, _RECORDS, Part(context, 0.2, 0.6))
    forms = form_leaks_of(
        pool.mechanism, pool.levels, pool.attributes, pool.settings, Part(context, 0.6, 1.0)
    )
    return PooledNumbers(entry.key, entry.attributes, members, pool.levels, expected, bayes, forms)


def _numeric(entry: PolicyEntry, attributes: Mapping[str, Attribute]) -> bool:
    return all(attributes[name].numbers is not None for name in entry.attributes)


def sentences(pooled: PooledNumbers) -> tuple[str, ...]:
    """Return what was found, in plain sentences without any number of the table."""
    last = {how: 100.0 * float(errors[-1]) for how, errors in pooled.expected.items()}
    told: list[str] = [
        Sentence("{entry}: {names}", entry=pooled.entry, names=", ".join(pooled.members)),
        Sentence(
            "  Left open of the variance by the best linear estimate: {ladder:.1f} % together,"
            " {alone:.1f} % by {best} alone; if each release had noise of its own,"
            " {independent:.1f} %.",
            ladder=last[Dependence.LADDER],
            alone=100.0 * float(pooled.expected[Dependence.LADDER][0]),
            best=pooled.members[0],
            independent=last[Dependence.INDEPENDENT],
        ),
    ]
    growth = pooled.bayes.growth
    for place, name in enumerate(pooled.attributes):
        told.append(
            Sentence(
                "  {name}, for somebody who knows how it is distributed: {ladder:.1f} %, with"
                " noise of its own for each {independent:.1f} %, measured on {records:,} records.",
                name=name,
                ladder=100.0 * float(growth[Dependence.LADDER].errors[-1, place]),
                independent=100.0 * float(growth[Dependence.INDEPENDENT].errors[-1, place]),
                records=pooled.bayes.records,
            )
        )
    if pooled.forms is not None:
        told.append(
            Sentence(
                "  Numbers are rounded or bounded after the noise, which the figures above leave"
                " out of account:"
            )
        )
        told += [f"  {sentence}" for sentence in form_leak_sentences(pooled.forms)]
    return tuple(told)


def plain(pooled: PooledNumbers) -> dict[str, Any]:
    """Return the figures as plain JSON values: shares of the variance left open, by members."""
    return {
        "attributes": list(pooled.attributes),
        "members": list(pooled.members),
        "levels": list(pooled.levels),
        "linear": {how.value: errors.tolist() for how, errors in pooled.expected.items()},
        "bayes": {how.value: one.errors.tolist() for how, one in pooled.bayes.growth.items()},
        "records": pooled.bayes.records,
        "rounding": None if pooled.forms is None else form_leaks_plain(pooled.forms),
    }
