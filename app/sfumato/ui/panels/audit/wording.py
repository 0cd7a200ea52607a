"""What the audit says, in plain words computed from what is held."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import joined
from sfumato.engine.disclosure.coalition_risk import CoalitionRisk
from sfumato.plots.collusion_bars import CollusionData
from sfumato.plots.figure import percent
from sfumato.project.adoption.holders import beside_sentence, part_sentence
from sfumato.project.document.model import PolicyEntry
from sfumato.ui.look.wording import spoken
from sfumato.ui.panels.audit.holdings import Holding

TIED = 1e-12
"""Levels whose trust differs by less are the same."""
ROUNDING = 1e-12
"""Beliefs that differ by no more differ by rounding."""
MOST_NAMED = 3


def tr(template: str, **details: object) -> str:
    """Return a sentence of the audit in the person's language, filled in."""
    return QCoreApplication.translate("Audit", template).format(**details)


def listed(names: Sequence[str]) -> str:
    """Return names as a list in a sentence; many are counted."""
    if len(names) > MOST_NAMED:
        return tr("These {count} recipients", count=len(names))
    *others, last = names
    return tr("{others} and {last}", others=", ".join(others), last=last) if others else last


def adopted_beside(entry: PolicyEntry) -> str:
    """Return where the coalitions in sight and adopted releases are not alike.

    Some releases are no rungs and are left out; others have some of the records only.
    """
    try:
        return spoken(joined(part_sentence([entry]), beside_sentence([entry])))
    except SfumatoError:
        return ""  # the policy says what is wrong with the entry's settings


def coalition_sentence(
    attribute: str, coalition: Sequence[Holding], data: CollusionData | None = None
) -> str:
    """Return what a coalition learns.

    Parameters
    ----------
    attribute
        The policy entry's attributes.
    coalition
        What its members hold, the most trusted first.
    data
        What they restore, once that is computed.
    """
    if not coalition:
        return tr("Tick recipients to see what they learn together.")
    names = [holding.recipient for holding in coalition]
    best = coalition[0]
    if best.trust >= 1.0 - TIED:
        return tr("{best} holds the true {attribute}.", best=best.recipient, attribute=attribute)
    if len(coalition) == 1:
        sentence = tr(
            "{best} alone knows {attribute} at {level}.",
            best=names[0],
            level=best.text,
            attribute=attribute,
        )
    elif coalition[-1].trust >= best.trust - TIED:
        sentence = tr(
            "{names} hold the same values of {attribute}: together they learn no more than each"
            " alone.",
            names=listed(names),
            attribute=attribute,
        )
    else:
        sentence = tr(
            "{names} together learn no more about {attribute} than {best} alone.",
            names=listed(names),
            attribute=attribute,
            best=best.recipient,
        )
    if data is None:
        return sentence
    return (
        sentence
        + " "
        + tr(
            "The best guess is right for {share} of the records; without any release, for"
            " {without}.",
            share=percent(data.on_ladder),
            without=percent(data.without),
        )
    )


def agreement_sentence(names: Sequence[str], risk: CoalitionRisk) -> str:
    """Return that the ladder gives a coalition what its most trusted member has, and how surely.

    Parameters
    ----------
    names
        The members, the most trusted first.
    risk
        What they restore.
    """
    if len(names) == 1:
        return tr(
            "{best} alone gives a record's true value a probability of {share} on average; the"
            " frequencies alone give it {without}.",
            best=names[0],
            share=percent(risk.alone.average, 1),
            without=percent(risk.without, 1),
        )
    sentence = tr(
        "{names} give a record's true value, as released, a probability of {together} on average;"
        " {best} alone, {alone}. Over all outcomes and values, the largest difference between the"
        " two is {difference}",
        names=listed(names),
        best=names[0],
        together=percent(risk.on_ladder.average, 1),
        alone=percent(risk.alone.average, 1),
        difference=tiny(risk.largest_difference),
    )
    if risk.largest_difference <= ROUNDING:
        sentence += " " + tr("(rounding): they are the same")
    independent = percent(risk.independent.average, 1)
    if not risk.independent.exact:
        independent += f" ± {percent(risk.independent.average_error, 1)}"
    return tr(
        "{sentence}. With noise of its own in each release it would be {independent}.",
        sentence=sentence,
        independent=independent,
    )


def tiny(difference: float) -> str:
    """Return a small number in words that a person can read: ``0`` or ``2·10⁻¹⁶``."""
    if difference == 0.0:
        return "0"
    mantissa, exponent = f"{difference:.0e}".split("e")
    raised = str(int(exponent)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{mantissa}·10{raised}"
