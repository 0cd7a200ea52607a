"""How far each step of the work is: done when what it is for is done and still holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

from sfumato.analysis.editions.since_release import SinceRelease, since_releases
from sfumato.analysis.guarantee import Guarantee, promise_is_empty
from sfumato.analysis.readiness.verdicts import Readiness
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.table.table import Attribute
from sfumato.project.document.entry_plan import unit_refusal
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord, ReleaseState


class StepState(StrEnum):
    """How far a step of the work is."""

    NONE = "none"
    """The step is for looking; there is nothing to finish."""
    EMPTY = "empty"
    IN_PROGRESS = "in progress"
    DONE = "done"
    ATTENTION = "needs attention"


@dataclass(frozen=True)
class Step:
    """A step's state, and why it is in it, in words."""

    state: StepState
    words: str


@dataclass(frozen=True)
class Work:
    """What is known of the work so far.

    Parameters
    ----------
    document
        What is decided.
    rows
        The records of the open table; None while none is open.
    attributes
        The sensitive attributes and the policy's that fit the table, by name.
    errors
        Why the others don't, by name; one in neither is being read.
    guarantee
        From `sfumato.analysis.guarantee.guarantee_of`.
    found
        What the check before a release found for the document as it is; None while that is not
        known.
    releases
        What the ledger tells of, oldest first.
    tampered
        Whether the ledger is not as it was written.
    refusal
        Why the check before a release can't be made; None where it can.
    """

    document: Document
    rows: int | None
    attributes: Mapping[str, Attribute]
    errors: Mapping[str, SfumatoError]
    guarantee: Guarantee
    found: tuple[Readiness, ...] | None = None
    releases: Sequence[ReleaseRecord] = ()
    tampered: bool = False
    refusal: SfumatoError | None = None


def steps_of(work: Work) -> dict[str, Step]:
    """Return how far each step is, by its name."""
    looking = Step(StepState.NONE, Sentence("For looking at; there is nothing to finish here."))
    return {
        "data": _data(work),
        "attributes": _attributes(work),
        "policy": _policy(work),
        "preview": looking,
        "releases": _releases(work),
        "audit": looking,
    }


# ----- what is missing in a policy


def stale_entries(document: Document) -> tuple[PolicyEntry, ...]:
    """Return the entries that cover a column which is not sensitive (any more)."""
    sensitive = {column.name for column in document.sensitive}
    return tuple(entry for entry in document.policy if not sensitive.issuperset(entry.attributes))


def unprotected(document: Document) -> tuple[str, ...]:
    """Return the sensitive attributes that no entry covers."""
    covered = {name for entry in document.policy for name in entry.attributes}
    return tuple(column.name for column in document.sensitive if column.name not in covered)


def without_level(document: Document) -> tuple[tuple[str, str], ...]:
    """Return each (recipient, entry key) for which no level is stated."""
    return tuple(
        (recipient.name, entry.key)
        for recipient in document.recipients
        for entry in document.policy
        if entry.key not in recipient.statements
    )


# ----- the steps


def _data(work: Work) -> Step:
    if work.rows is not None:
        told = Sentence(
            "{rows:,} {rows:record|records} of {columns:,} {columns:column|columns} {rows:is|are}"
            " open.",
            rows=work.rows,
            columns=len(work.document.columns),
        )
        return Step(StepState.DONE, told)
    if work.document.source is None:
        return Step(StepState.EMPTY, Sentence("Open a table."))
    return Step(StepState.ATTENTION, Sentence("The project's table is not open."))


def _attributes(work: Work) -> Step:
    sensitive = [column.name for column in work.document.sensitive]
    if not work.document.columns:
        return Step(StepState.EMPTY, Sentence("Open a table first."))
    if not sensitive:
        return Step(StepState.IN_PROGRESS, Sentence("No column is sensitive yet."))
    wrong = [work.errors[name] for name in sensitive if name in work.errors]
    if wrong:
        return Step(StepState.ATTENTION, wrong[0].sentence)
    if unread := _unread(work, sensitive):
        return Step(StepState.IN_PROGRESS, unread)
    told = Sentence(
        "Every column has a role, and the values of {columns} fit.", columns=listed(sensitive)
    )
    return Step(StepState.DONE, told)


def _policy(work: Work) -> Step:
    if not work.document.sensitive and not work.document.policy:
        return Step(StepState.EMPTY, Sentence("Mark a column as sensitive first."))
    done = Sentence(
        "Every sensitive attribute is protected, every recipient has a level, and no danger is"
        " unresolved."
    )
    return _first(
        (StepState.ATTENTION, _wrong(work)),
        (StepState.IN_PROGRESS, _missing(work)),
        (StepState.ATTENTION, next(iter(work.guarantee.next_steps), "") or _empty(work)),
        (StepState.ATTENTION, _grave(work)),
        (
            StepState.IN_PROGRESS if work.found is None else StepState.DONE,
            Sentence("Everything is stated; whether it is ready to release is being checked.")
            if work.found is None
            else done,
        ),
    )


def _first(*told: tuple[StepState, str]) -> Step:
    """Return the first state that there are words for."""
    return next(Step(state, words) for state, words in told if words)


def _wrong(work: Work) -> str:
    """Say what contradicts the columns or the table; empty where nothing does."""
    document = work.document
    for entry in stale_entries(document):
        return Sentence("{key} is protected, but not sensitive any more.", key=entry.key)
    for entry in document.policy:
        for name in entry.attributes:
            if name in work.errors:
                return work.errors[name].sentence
        if work.rows is not None and (refusal := unit_refusal(document, entry)) is not None:
            return refusal.sentence
    return ""


def _missing(work: Work) -> str:
    """Say what is yet to be stated or read; empty where everything is."""
    document = work.document
    if names := unprotected(document):
        return Sentence("Nothing protects {columns} yet.", columns=listed(names))
    if not document.recipients:
        return Sentence("There is no recipient yet.")
    for recipient, key in without_level(document):
        return Sentence("{recipient} has no level for {key} yet.", recipient=recipient, key=key)
    return _unread(work, sorted({name for each in document.policy for name in each.attributes}))


def _unread(work: Work, names: Sequence[str]) -> str:
    """Say which columns' values are not known yet; empty where all are."""
    if work.rows is None:
        return Sentence("Open the table, to see whether its values fit.")
    if unread := [name for name in names if name not in work.attributes]:
        return Sentence("The values of {columns} are being read.", columns=listed(unread))
    return ""


def _empty(work: Work) -> str:
    """Say which promise hides nothing; empty where all hide something."""
    for made in work.guarantee.promises:
        entry = made.entry
        if not set(entry.attributes) <= set(work.attributes):
            continue  # their values are being read
        chosen = [work.attributes[name] for name in entry.attributes]
        told = promise_is_empty(entry.mechanism, made.level, entry.settings, chosen, entry.key)
        if told:
            return told
    return ""


def _grave(work: Work) -> str:
    """Return why nothing can be released, or the first grave finding that no reason stands for."""
    if work.refusal is not None:
        return work.refusal.sentence
    return next((one.sentence for each in work.found or () for one in each.standing), "")


def _releases(work: Work) -> Step:
    document = work.document
    if document.generalization is not None and not document.policy:
        return _publication(work)
    possible = work.rows is not None and work.guarantee.complete
    since = since_releases(document, work.attributes, work.releases)
    current = bool(since) and all(each.current for each in since)
    return _first(
        (StepState.ATTENTION, _unsettled(work)),
        (
            StepState.EMPTY,
            "" if work.releases or possible else Sentence("Nothing can be released yet."),
        ),
        (StepState.ATTENTION, _grave(work)),
        (StepState.IN_PROGRESS, "" if current else _still_to_release(since)),
        (StepState.DONE, Sentence("Every recipient has a release by the present settings.")),
    )


def _unsettled(work: Work) -> str:
    """Say what is wrong with the ledger, or unfinished in it; empty where nothing is."""
    if work.tampered:
        return Sentence("The ledger is not as it was written.")
    pending = (ReleaseState.UNTRACED, ReleaseState.PREPARED)
    names = (record.recipient for record in work.releases if record.state in pending)
    name = next(names, None)
    return "" if name is None else Sentence("The release to {name} is unfinished.", name=name)


def _still_to_release(since: Iterable[SinceRelease]) -> str:
    known = tuple(since)
    never = [each.recipient for each in known if each.record is None]
    changed = [each.recipient for each in known if each.changes]
    if changed:
        return Sentence("Changed since the last release to {names}.", names=listed(changed))
    if never:
        return Sentence("No release to {names} yet.", names=listed(never))
    return Sentence("There is no recipient any more.")


def _publication(work: Work) -> Step:
    """Return how far the table is that is published instead of releases."""
    made = [r for r in work.releases if r.is_publication and r.state is ReleaseState.COMPLETED]
    if not made:
        told = Sentence("The generalized table is not published yet.")
        return Step(StepState.EMPTY if work.rows is None else StepState.IN_PROGRESS, told)
    last, document = made[-1].policy, work.document
    same = last is not None and (last.generalization, last.columns) == (
        document.generalization,
        document.columns,
    )
    if same:
        told = Sentence("The generalized table is published by the present settings.")
        return Step(StepState.DONE, told)
    return Step(StepState.IN_PROGRESS, Sentence("Changed since the table was published."))
