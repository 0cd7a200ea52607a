"""The checks of what an entry states: levels that can be met, and shares that were measured."""

from __future__ import annotations

from collections.abc import Iterator

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import About, Decided, Finding, Remedy, RemedyKind
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.wording import Sentence, formatted
from sfumato.engine.mechanisms import mechanism_called
from sfumato.project.document.entry_plan import least_loss, plan_entry
from sfumato.project.document.model import PolicyEntry


def unmet_levels(decided: Decided) -> Iterator[Finding]:
    """Tell of levels that are missing or can't be met, and of the least ε that could be."""
    document, recipient = decided.document, decided.recipient
    for entry in () if document.is_published_only else document.policy:
        statement = recipient.statements.get(entry.key)
        remedies: tuple[Remedy, ...] = ()
        try:
            plan_entry(document, entry, decided.attributes, recipient)
            continue
        except LevelError as error:
            sentence = error.sentence
            found = least_loss(document, entry, statement or {}, decided.attributes)
            if found is not None:
                remedies = (_stated(entry, recipient.name, found["epsilon"]),)
        except PolicyError as error:
            sentence = error.sentence
        yield Finding(
            "Levels",
            Severity.GRAVE,
            Sentence("{name}: {problem}", name=entry.key, problem=sentence),
            (entry.key, statement),
            entry.attributes,
            remedies,
            about=About.POLICY,
            asks=False,
            refuses=True,
        )


def outdated_measurements(decided: Decided) -> Iterator[Finding]:
    """Tell of measured shares that are not of the groups that leave: fewer records are drawn."""
    document, known = decided.document, decided.attributes
    for entry in () if document.is_published_only else document.policy:
        chosen = [known[name] for name in entry.attributes if name in known]
        if len(chosen) < len(entry.attributes):
            continue
        if mechanism_called(entry.mechanism).outdated(chosen, entry.settings):
            words = (
                "{name}: the largest shares were not measured in the groups of this table, so"
                " fewer records are drawn. Measure them again under Policy."
            )
            yield Finding(
                "Measured shares",
                Severity.CAUTION,
                Sentence(words, name=entry.key),
                (entry.key,),
                entry.attributes,
                about=About.POLICY,
            )


def _stated(entry: PolicyEntry, recipient: str, loss: float) -> Remedy:
    words = Sentence("State ε = {loss} for {name}", loss=formatted(loss, ".4g"), name=entry.key)
    levels = {recipient: {"epsilon": loss}}
    return Remedy(RemedyKind.LEVEL, words, entry.attributes[0], entry=entry.key, levels=levels)
