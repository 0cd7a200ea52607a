"""What the audit says, in plain words computed from what is held."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from app.plots.collusion_bars import CollusionData
from app.plots.figure import percent
from app.ui.panels.audit.holdings import Holding

TIED = 1e-12
"""Levels whose trust differs by less are the same."""
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
