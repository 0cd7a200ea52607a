"""What the page on numbers says of a coalition."""

from __future__ import annotations

from typing import Final

from sfumato.analysis.postprocessing_leakage import form_leak_sentences
from sfumato.engine.mechanisms.postprocessing_leakage import FormLeaks
from sfumato.plots.bayes_by_copies import BayesData
from sfumato.ui.look.wording import typeset
from sfumato.ui.panels.audit.numbers_weighing import NumbersCoalition
from sfumato.ui.panels.audit.wording import ROUNDING, coalition_sentence, listed, tiny, tr


def knowledge_words(samples: int, size: int) -> str:
    """Return what somebody knows of the distribution, in words."""
    if samples == 0:
        return tr("the means and the covariance exactly")
    return tr("what {count} released records tell", count=samples * size**2)


def numbers_sentence(coalition: NumbersCoalition) -> str:
    """Return what a coalition learns; where numbers are rounded, that it may be more."""
    if len(coalition.holdings) < 2 or not coalition.formed:
        return coalition_sentence(coalition.entry.key, coalition.holdings)
    return tr(
        "{names} together can learn a little more about {attribute} than {best} alone, because"
        " released numbers are rounded or bounded. How much is measured under “Numbers”.",
        names=listed(coalition.names),
        attribute=coalition.entry.key,
        best=coalition.names[0],
    )


def forms_text(leaks: FormLeaks | None) -> str:
    """Return what rounding and bounds give away; empty where there are none."""
    if leaks is None:
        return ""
    return "\n".join(typeset(sentence) for sentence in form_leak_sentences(leaks))


def bayes_sentence(data: BayesData, *, formed: bool = False) -> str:
    """Return that pooling changes no guess on the ladder, and by how much it was checked.

    Parameters
    ----------
    data
        What was measured.
    formed
        Whether numbers are rounded or bounded, which these guesses do not exploit.
    """
    if formed:
        return tr(
            "This attacker knows which numbers occur and how often, and takes the released numbers"
            " as if they were not rounded or bounded. What can be made of that as well is told"
            " below."
        )
    known = tr(
        "This attacker knows which numbers occur and how often, and guesses the mean of what is"
        " possible: no estimate has a smaller mean square error."
    )
    if len(data.names) == 1:
        return known
    details = {"known": known, "names": listed(data.names), "best": data.names[0]}
    if data.apart == 0.0:
        return tr(
            "{known} On the ladder, {names} together guess exactly what {best} guesses alone.",
            **details,
        )
    told = tr(
        "{known} On the ladder, the largest difference between a guess of {names} together and"
        " {best}'s own is {apart} of the spread",
        apart=tiny(data.apart),
        **details,
    )
    if data.apart <= ROUNDING_OF_GUESSES:
        told += " " + tr("(rounding): they are the same")
    return told + "."


ROUNDING_OF_GUESSES: Final = 1e6 * ROUNDING
"""A guess is a sum over thousands of records, of exponentials of large numbers."""
