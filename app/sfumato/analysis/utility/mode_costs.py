"""What each mode of protecting groups costs those who count, told where it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from sfumato.analysis.disclosure.small_groups import RiskSubject
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined
from sfumato.engine.disclosure.group_risk import ModeCost
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.mechanisms.base import GroupProtection
from sfumato.project.release.groups import public_columns

_RULES: Final = {
    "exact": Sentence("Exact test"),
    "chernoff": Sentence("Chernoff's test"),
    "simplified": Sentence("Simplified test"),
}
_SAMPLINGS: Final = {
    "blind": Sentence("drawn blindly"),
    "published": Sentence("drawn as published"),
}
_SHARES: Final = {
    "noisy": Sentence("drawn blindly with largest shares measured"),
    "stated": Sentence("drawn blindly with a largest share stated"),
}


def costs_of_modes(subject: RiskSubject, context: Context) -> tuple[ModeCost, ...]:
    """Return how far off count queries about an attribute are, by each mode of protecting groups.

    Groups are formed by the public columns of the attribute's entry, as in a release. Of an
    attribute that another mechanism protects, by what is known, and by the usual limits.

    Raises
    ------
    SfumatoError
        If no query is answered by enough records, or the groups can't be formed.
    """
    mechanism, settings = mechanism_called(subject.entry.mechanism), subject.entry.settings
    if not isinstance(mechanism, GroupProtection):
        found = [one for one in all_mechanisms().values() if isinstance(one, GroupProtection)]
        mechanism, settings = found[0], {}
    else:
        names = public_columns(subject.document, settings, mechanism.name)
        subject = replace(subject, knowledge=names)
    grouped = subject.known(Part(context, 0.0, 0.3)).grouped
    return mechanism.mode_costs(grouped, settings, Part(context, 0.3, 1.0))


def sentence_of_costs(costs: Sequence[ModeCost]) -> Sentence:
    """Return all errors in words, that of the mode that is set first."""
    first = sorted(costs, key=lambda one: not one.chosen)
    words = "Mean error of count queries that 1 % of the records or more answer:"
    return Sentence("{told}", told=joined(Sentence(words), *map(_told, first)))


def _told(cost: ModeCost) -> Sentence:
    if not cost.rule:
        words = "Every record simply perturbed: {error:.0f} %."
        return Sentence(words, error=100.0 * (cost.error or 0.0))
    rule, sampling = _RULES[cost.rule], _SAMPLINGS[cost.sampling]
    sampling = _SHARES.get(cost.shares, sampling)
    if cost.error is None:
        words = "{rule}, {sampling}: these limits can't be kept."
        return Sentence(words, rule=rule, sampling=sampling)
    words = "{rule}, {sampling}: {error:.0f} %."
    if cost.chosen:
        words = "{rule}, {sampling} (as it is set): {error:.0f} %."
    return Sentence(words, rule=rule, sampling=sampling, error=100.0 * cost.error)


def plain_costs(costs: Sequence[ModeCost]) -> list[dict[str, Any]]:
    """Return them as JSON values."""
    return [
        {
            "rule": one.rule or None,
            "sampling": one.sampling or None,
            "shares": one.shares or None,
            "mean_relative_error": None if one.error is None else round(one.error, 4),
            "chosen": one.chosen,
        }
        for one in costs
    ]
