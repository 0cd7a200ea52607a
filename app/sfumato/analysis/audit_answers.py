"""The first questions of all, each answered by a sentence or two with its figures and a verdict.

Whoever asks for more gets it from the functions that these answers are made of.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sfumato.analysis.answers import Answer, Severity
from sfumato.analysis.audit_inputs import AuditInputs
from sfumato.analysis.coalitions.coalitions import guess_of
from sfumato.analysis.coalitions.holdings import (
    TIED,
    Holding,
    ReleaseBasis,
    holdings_of,
    told_together,
)
from sfumato.analysis.coarsening.view_checks import broken_views, shown_to
from sfumato.analysis.disclosure.small_groups import (
    RiskAnswer,
    estimated_sentence,
    gain_of,
    person_sentence,
    risk_of_each,
    subjects_of,
)
from sfumato.analysis.findings import Examined, Finding, told_by_open_columns
from sfumato.analysis.questions import all_questions
from sfumato.analysis.readiness.column_checks import linked_units
from sfumato.analysis.readiness.readiness_checks import linked_rows, unique_records
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.record_risk import CERTAIN, LIKELY
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.promise_words import TELL_OF_EACH_OTHER, at_most
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.release.views import coarsening_of, quasi_identifiers


@dataclass(frozen=True)
class Unanswered:
    """Why the questions can't be answered for a recipient, who is left out of the answers.

    Parameters
    ----------
    recipient
        Who it is.
    column
        Which of the policy's columns it is about.
    sentence
        What is missing or wrong.
    """

    recipient: str
    column: str
    sentence: str


def answers(inputs: AuditInputs, context: Context) -> dict[str, Answer]:
    """Return the answers in short, by their questions' names, for all that they can be given for.

    `unanswered` tells who is left out. Where a question can't be answered for anybody, its answer
    has no verdict and says why.
    """
    asked = [question for question in all_questions() if question.in_short]
    found = {}
    for question, part in one_by_one(context, asked):
        try:
            [found[question.name]] = question.answers(inputs, part)
        except SfumatoError as error:
            found[question.name] = Answer((error.sentence,))
    return found


def unanswered(document: Document, attributes: Mapping[str, Attribute]) -> tuple[Unanswered, ...]:
    """Return for whom the questions can't be answered, and why; a reason for each recipient.

    Parameters
    ----------
    document
        What is decided.
    attributes
        The policy's attributes, by name, as far as they are known.
    """
    found = []
    for recipient in document.recipients:
        names = tuple(document.policy[0].attributes) if document.policy else ()
        try:
            for entry in document.policy:
                names = entry.attributes
                if set(names) <= set(attributes):
                    plan_entry(document, entry, attributes, recipient)
            names = quasi_identifiers(document)
            coarsening_of(document, recipient)
        except SfumatoError as error:
            column = error.details.get("column")
            known = str(column) if column in names else names[0]
            found.append(Unanswered(recipient.name, known, error.sentence))
    return tuple(found)


# ----- what do they learn together?


def answer_together(inputs: AuditInputs, context: Context) -> Answer:
    """Return what all who hold releases, or will, learn of the attribute that is told best."""
    document, told = inputs.document, []
    for place, entry in enumerate(document.policy):
        if not set(entry.attributes) <= set(inputs.attributes):
            continue
        chosen = {name: inputs.attributes[name] for name in entry.attributes}
        held = holdings_of(document, entry, chosen, inputs.releases, ReleaseBasis.EITHER)
        if held:
            part = Part(context, place / len(document.policy), (place + 1) / len(document.policy))
            learned = _learned(entry, chosen, held, part, alone=len(document.policy) == 1)
            told.append(replace(learned, best=held[0].recipient))
    if not told:
        said = Sentence("Nobody holds anything yet: give recipients levels of trust.")
        return Answer((said,))
    told.sort(key=lambda each: each.rank)
    worst, alike = told[0], [each.key for each in told[1:] if each.on_ladder]
    others = (
        Sentence(
            "Of {names}, too, they learn no more together than from the most trusted file.",
            names=listed(alike),
        )
        if alike
        else ""
    )
    beside = _told_beside(inputs, dict.fromkeys(each.best for each in told), context)
    answer = (
        *worst.sentences,
        *((others,) if others else ()),
        *_told_of_each_other(told),
        *(one.sentence for one in beside),
    )
    verdicts = [*(each.verdict for each in told), *(one.severity for one in beside)]
    return Answer(answer, min(verdicts))


def _told_of_each_other(told: Sequence[_Learned]) -> tuple[str, ...]:
    """Return what the answers of several entries, each by itself, leave open."""
    if len(told) < 2:
        return ()
    nobody = (
        Sentence(
            "Nobody holds the most trusted file of each: together they may so learn more than"
            " anyone does alone."
        )
        if len({each.best for each in told}) > 1
        else ""
    )
    return (joined(TELL_OF_EACH_OTHER, nobody),)


def _told_beside(inputs: AuditInputs, names: Iterable[str], context: Context) -> list[Finding]:
    """Return what the columns that leave unperturbed tell beside the most trusted releases.

    The figures of a release alone would promise more than whoever holds it beside them is kept
    from; they are those of the check and of the guarantee.
    """
    document, found = inputs.document, dict[str, Finding]()
    columns = inputs.leaving(context)
    known = {each.name: each for each in document.recipients}
    for name in names:
        with suppress(SfumatoError):  # `unanswered` says why
            shown = shown_to(document, known[name], columns) if name in known else ()
            if shown:
                examined = Examined(
                    document, known[name], shown, columns, inputs.attributes, context
                )
                for one in told_by_open_columns(examined):
                    found.setdefault(str(one.facts[0]), one)
    return [one for one in found.values() if one.severity is not Severity.GOOD]


@dataclass(frozen=True)
class _Learned:
    """What is learned of one entry; `rank` sorts by how bad it is.

    Off the ladder, where numbers are rounded or bounded, pooling may tell a little more.
    """

    key: str
    rank: tuple[int, float]
    verdict: Severity
    sentences: tuple[str, ...]
    on_ladder: bool = True
    best: str = ""


def _learned(
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    held: Sequence[Holding],
    context: Context,
    *,
    alone: bool,
) -> _Learned:
    """Return what is learned of one entry, which may be the only one that is released."""
    best = held[0]
    mechanism, chosen = mechanism_called(entry.mechanism), tuple(attributes.values())
    formed = len(held) > 1 and mechanism.forms(chosen, entry.settings)
    together = told_together(entry.key, held, formed)
    if best.trust >= 1.0 - TIED:
        return _Learned(entry.key, (0, 0.0), Severity.GRAVE, (together,))
    guess = guess_of(entry, held, attributes, context)
    if guess is None:
        in_table = mechanism.in_table(best.level, chosen, entry.settings)
        told = tuple(filter(None, (together, in_table)))
        return _Learned(entry.key, (2, 0.0), Severity.GOOD, told, not formed)
    bound = ""
    if best.odds is not None and best.odds < float("inf"):
        odds = at_most(best.odds)
        bound = (
            Sentence(
                "No file changes anyone's odds on a record's value more than {odds}-fold.",
                odds=odds,
            )
            if alone
            else Sentence(
                "What a file shows of {key} changes anyone's odds on its value no more than"
                " {odds}-fold.",
                key=entry.key,
                odds=odds,
            )
        )
    # No danger, which would keep the release back: the check before it has the same to look at.
    gained = any(guess.right >= bar > guess.without for bar in (LIKELY, CERTAIN))
    verdict = Severity.CAUTION if gained else Severity.GOOD
    told = (together, joined(guess.sentence, bound))
    return _Learned(entry.key, (1, guess.without - guess.right), verdict, told)


# ----- who can be found?


def answer_found(inputs: AuditInputs, context: Context) -> Answer:
    """Return how many people are unique on what a recipient sees, for the one who sees most."""
    document, columns = inputs.document, inputs.leaving(context)
    found, known, seen = [], set(), False
    for place, recipient in enumerate(document.recipients):
        context.report(place / len(document.recipients), "Counting unique records")
        try:
            shown = shown_to(document, recipient, columns)
        except SfumatoError:  # `unanswered` says why
            continue
        seen = True
        if frozenset(shown) in known:
            continue
        known.add(frozenset(shown))
        examined = Examined(document, recipient, shown, columns, inputs.attributes, context)
        linked = (*linked_rows(examined), *linked_units(examined))
        told = (*broken_views(examined), *unique_records(examined), *linked)
        found += [(one, recipient.name) for one in told]
    if not found:
        said = (
            Sentence("No column is released unperturbed, so nobody can be looked up.")
            if seen
            else Sentence("No recipient's columns are settled yet.")
            if document.recipients
            else Sentence("Nobody is to receive anything yet.")
        )
        return Answer((said,), Severity.GOOD if seen else None)
    worst, name = min(found, key=lambda one: one[0].severity)
    whom = Sentence("As {recipient} sees the columns:", recipient=name) if len(known) > 1 else ""
    return Answer((joined(whom, worst.sentence),), worst.severity)


# ----- what about small groups?


def answer_groups(inputs: AuditInputs, context: Context) -> Answer:
    """Return how well shares of small groups can be estimated, where that is best."""
    found: list[RiskAnswer] = []
    subjects = subjects_of(inputs.rows, inputs.attributes)
    for subject, part in one_by_one(context, subjects):
        found += risk_of_each(subject, part)
    found = [one for one in found if one.shown.trust < 1.0 - TIED]
    if not found:
        said = Sentence("No attribute with a list of values is to be released yet.")
        return Answer((said,))
    worst = max(found, key=lambda one: one.risk.total.record_share)
    total = worst.risk.total
    if total.all_groups == total.all_records:
        said = Sentence(
            "No two people are alike in what is known, so there are no groups: the person searched"
            " for is found or not; see the question above."
        )
        return Answer((said, person_sentence(worst)))
    sentences, verdict = (estimated_sentence(worst), person_sentence(worst)), Severity.GOOD
    if total.groups:
        gain = gain_of(worst)
        gained = gain is not None and gain.group_guess > gain.table_guess
        verdict = Severity.CAUTION if gained else Severity.GOOD
    return Answer(sentences, verdict)


# ----- whose file is this?


def answer_leak(inputs: AuditInputs, context: Context) -> Answer:
    """Return whether a file that turns up names one recipient."""
    context.report(1.0, "Comparing the recipients' levels")
    document = inputs.document
    counted = [record for record in inputs.releases if record.counts]
    if not counted:
        said = Sentence(
            "Nothing has been released yet. Once it has, a file that turns up can be traced."
        )
        return Answer((said,))
    names = sorted({record.recipient for record in counted})
    said = Sentence(
        "{count:,} {count:release was|releases were} made, to {names}. Bring a file, or a part of"
        " one, to see whose copy it is.",
        count=len(counted),
        names=listed(names),
    )
    alike = _alike(document, inputs, names)
    if alike:
        same = Sentence(
            "{names} hold the same values of every attribute, so a file of theirs names them all.",
            names=listed(alike),
        )
        return Answer((said, same), Severity.CAUTION)
    return Answer((said,))  # a file that can be traced protects nobody


def _alike(document: Document, inputs: AuditInputs, names: Sequence[str]) -> list[str]:
    """Return the first recipients whose levels are the same throughout; nobody where all differ."""
    held: dict[str, list[float]] = {name: [] for name in names}
    for entry in document.policy:
        with suppress(SfumatoError, KeyError):
            chosen = {name: inputs.attributes[name] for name in entry.attributes}
            for one in holdings_of(document, entry, chosen, inputs.releases, ReleaseBasis.RELEASED):
                if one.recipient in held:
                    held[one.recipient].append(one.level)
    by_levels: dict[tuple[float, ...], list[str]] = {}
    for name, levels in held.items():
        by_levels.setdefault(tuple(levels), []).append(name)
    return next((same for levels, same in by_levels.items() if levels and len(same) > 1), [])


ANSWERS: Final[Mapping[str, Callable[[AuditInputs, Context], Answer]]] = {
    "together": answer_together,
    "found": answer_found,
    "groups": answer_groups,
    "leak": answer_leak,
}
