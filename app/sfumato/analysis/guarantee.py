"""What the present settings promise, in plain words: the content of the guarantee card.

Everything is computed from the document, the attributes and the ledger's releases; nothing is
read, released or kept, so that it can be asked for at each edit.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sfumato.analysis.disclosure.pooled_rows import PooledRows, worst_pooled
from sfumato.analysis.unperturbed.open_columns import OpenAnswer
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Promise, Settings
from sfumato.engine.mechanisms.promise_words import TELL_OF_EACH_OTHER, told_by_all
from sfumato.engine.table.covariance import correlation
from sfumato.engine.table.table import Attribute
from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.project.adoption.adopt import beside_sentence, part_sentence, rung_holders
from sfumato.project.document.entry_plan import check_policy, plan_entry
from sfumato.project.document.generalization import criteria_asked
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.byproducts import (
    from_rows_sentence,
    linking_cautions,
    seen_labels_sentence,
)
from sfumato.project.release.release_compatibility import edition_sentences
from sfumato.project.release.units import loss_by_unit, promise_by_unit, whose_rows
from sfumato.project.release.views import coarsening_of, in_chain, promise_of

_TIED = 1e-12
"""Levels whose trust differs by less are the same."""
_CERTAIN: Final = 1.0 - 1e-12
STRONG: Final = 0.3
"""A correlation from which on numbers that are protected apart are worth a caution."""
MOST_CAUTIONS: Final = 3
WITHIN_EDITION: Final = Sentence("This holds within each edition of the table.")


@dataclass(frozen=True)
class EntryPromise:
    """What one recipient's release promises about one policy entry.

    Parameters
    ----------
    recipient
        The recipient's name.
    entry
        The policy entry.
    level
        The level in the mechanism's unit.
    trust
        The level on a scale from 0 (nothing) to 1 (the original).
    promise
        The promise, in words and in figures.
    loss
        ε of all rows of a unit, or of a row that stands alone; None where no odds are bounded.
    """

    recipient: str
    entry: PolicyEntry
    level: float
    trust: float
    promise: Promise
    loss: float | None = None


@dataclass(frozen=True)
class AllTogether:
    """The virtual recipient: knows of the whole row what all recipients know together.

    It is somebody only where one order of trust holds for everything.

    Parameters
    ----------
    finest
        Who sees the quasi-identifiers most finely: several where their views are the same.
    tops
        For each policy entry, by its key, who is trusted most with it.
    gets
        What it gets of each entry, in a sentence.
    sentence
        Whose parts make it up.
    """

    finest: tuple[str, ...]
    tops: Mapping[str, tuple[str, ...]]
    gets: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class Guarantee:
    """What the present settings promise, and what they still lack.

    Parameters
    ----------
    promises
        For each policy entry, in order, the recipients from the most to the least trusted.
    coalition
        What a group of recipients can learn together; empty where there is nobody to pool.
    next_steps
        What is missing before a release can be made, most urgent first.
    cautions
        What makes the promises weaker than they could be, the worst first.
    instead
        What is asked of a generalized table that takes the place of releases.
    editions
        What several editions of the table tell together about a record that changed.
    in_house
        Cautions that hold figures of the very table, for nobody but the custodian.
    views
        For each recipient who sees the quasi-identifiers coarsely, in order of trust, the name
        and what that promises.
    together
        The virtual recipient; None where nobody has a view, or one recipient is trusted most with
        everything.
    totals
        For each recipient of several policy entries, the name and what the release of all of them
        tells of one person or unit.
    """

    promises: tuple[EntryPromise, ...]
    coalition: str
    next_steps: tuple[str, ...]
    cautions: tuple[str, ...] = ()
    instead: tuple[str, ...] = ()
    editions: tuple[str, ...] = ()
    in_house: tuple[str, ...] = ()
    views: tuple[tuple[str, str], ...] = ()
    together: AllTogether | None = None
    totals: tuple[tuple[str, str], ...] = ()

    @property
    def complete(self) -> bool:
        """Whether a release can be made by these settings."""
        return not self.next_steps

    def for_recipient(self, name: str) -> tuple[EntryPromise, ...]:
        """Return what one recipient's release promises, entry by entry."""
        return tuple(promise for promise in self.promises if promise.recipient == name)


def asked_instead(document: Document) -> tuple[str, ...]:
    """Return what is asked of a generalized table; empty unless it takes the place of releases."""
    decided = document.generalization
    if decided is None or document.policy:
        return ()
    unit = "" if document.unit is None else document.unit.name
    return tuple(criterion.promise for criterion in criteria_asked(decided, unit))


def guarantee_of(
    document: Document,
    attributes: Mapping[str, Attribute],
    releases: Iterable[ReleaseRecord] = (),
    pooled: Sequence[PooledRows] = (),
) -> Guarantee:
    """Compute what a document promises beside the releases that were made.

    Parameters
    ----------
    document
        The columns, the policy and the recipients, finished or not.
    attributes
        What is known of the policy's attributes, by name
        (`sfumato.project.release.release_columns.attributes_of`); entries whose attributes are not
        in it are left out.
    releases
        What the ledger tells of; needed wherever the promise is shown to somebody.
    pooled
        What pooling rows restores, see `pooled_rows`; needed wherever cautions are shown.

    Returns
    -------
    Guarantee
        Never raises for an unfinished document: what is missing is among the next steps.
    """
    promises, problems = _promises(document, attributes)
    views, crossed = _views(document)
    problems += crossed
    steps = tuple(dict.fromkeys([*_missing(document, attributes), *problems]))
    editions = edition_sentences(document, attributes, releases)
    coalition, together = "", None
    if not steps:
        together = _together(document, promises)
        coalition = joined(
            _coalition(document, promises, together),
            _formed(document, attributes),
            WITHIN_EDITION if editions else "",
        )
    return Guarantee(
        tuple(promises),
        coalition,
        steps,
        _cautions(document),
        editions=editions,
        in_house=(*(p.sentence for p in worst_pooled(pooled)), *_depending(document, attributes)),
        views=views,
        together=together,
        totals=_totals(document, promises),
    )


def in_table(
    promise: EntryPromise, attributes: Mapping[str, Attribute], beside: OpenAnswer | None = None
) -> str:
    """Return what a promised release tells of the very table in hand, for the custodian alone.

    It takes longer than the promise, so it is asked for where it is shown. Empty where the
    promise says all there is to say. With what the open columns tell (`beside`) it counts them;
    without, it says that no other column is counted.
    """
    if beside is not None:
        figures = beside.beside(promise.entry.key, promise.recipient, promise.level)
        if figures:
            return joined(*(figure.sentence for figure in figures))
    chosen = [attributes[name] for name in promise.entry.attributes if name in attributes]
    if len(chosen) < len(promise.entry.attributes):
        return ""
    mechanism = mechanism_called(promise.entry.mechanism)
    try:
        return mechanism.in_table(promise.level, chosen, promise.entry.settings)
    except SfumatoError:
        return ""  # the next steps say what is wrong with these settings


def together_of(document: Document, attributes: Mapping[str, Attribute]) -> AllTogether | None:
    """Return the virtual recipient alone, as `guarantee_of` does; it is quick."""
    promises, problems = _promises(document, attributes)
    views_problems = _views(document)[1]
    if problems or views_problems or _missing(document, attributes):
        return None
    return _together(document, promises)


def _promises(
    document: Document, attributes: Mapping[str, Attribute]
) -> tuple[list[EntryPromise], list[str]]:
    """Return what is promised, entry by entry, and why no more is."""
    promises: list[EntryPromise] = []
    problems: list[str] = []
    for entry in document.policy:
        if not set(entry.attributes) <= set(attributes):
            continue
        made = []
        for recipient in document.recipients:
            try:
                made.append(_promise(document, entry, attributes, recipient))
            except SfumatoError as error:
                problems.append(error.sentence)
        promises += sorted(made, key=lambda promise: -promise.trust)
    return promises, problems


def _promise(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    recipient: Recipient,
) -> EntryPromise:
    plan = plan_entry(document, entry, attributes, recipient)
    mechanism = mechanism_called(entry.mechanism)
    chosen = tuple(attributes[name] for name in entry.attributes)
    return EntryPromise(
        recipient=recipient.name,
        entry=entry,
        level=plan.level,
        trust=mechanism.trust(plan.level),
        promise=promise_by_unit(document, plan, chosen),
        loss=loss_by_unit(document, plan, chosen),
    )


def _totals(document: Document, promises: Sequence[EntryPromise]) -> tuple[tuple[str, str], ...]:
    """Return by recipient what the release of several entries tells of one person or unit."""
    told = []
    for recipient in document.recipients:
        theirs = [each for each in promises if each.recipient == recipient.name]
        if said := _total(document, theirs):
            told.append((recipient.name, said))
    return tuple(told)


def _total(document: Document, promises: Sequence[EntryPromise]) -> str:
    """Say what the promised releases, one of each entry, tell together; empty for fewer than two.

    Entries are drawn independently of each other, so all that they tell multiplies anyone's odds
    by the product of their factors at most: ε is the sum.
    """
    return told_by_all({each.entry.key: each.loss for each in promises}, whose_rows(document))


def _total_of_all(
    document: Document, promises: Sequence[EntryPromise], tops: Mapping[str, Sequence[str]]
) -> str:
    """Say what all recipients' releases tell together; empty where adopted ones tell more."""
    by = {(each.entry.key, each.recipient): each for each in promises}
    highest = [by.get((key, names[0])) for key, names in tops.items()]
    told = _total(document, [each for each in highest if each is not None])
    if not told or None in highest:
        return ""
    return Sentence("What all recipients hold: {told}", told=told)


def _missing(document: Document, attributes: Mapping[str, Attribute]) -> list[str]:
    """Return what is missing, apart from levels."""
    if not document.columns:
        return [Sentence("Open a table.")]
    if not document.sensitive:
        return [Sentence("Mark at least one column as sensitive.")]
    steps: list[str] = [
        Sentence("Choose a mechanism for {column}.", column=column.name)
        for column in document.sensitive
        if document.entry_for(column.name) is None
    ]
    if not steps:
        try:
            check_policy(document)
        except SfumatoError as error:
            steps.append(error.sentence)
    if not document.recipients:
        steps.append("Add a recipient.")
    unread = [
        name for entry in document.policy for name in entry.attributes if name not in attributes
    ]
    if unread and not steps:
        steps.append(
            Sentence(
                "Correct the domain of {columns}: it does not fit the table yet.",
                columns=listed(unread),
            )
        )
    return steps


def _cautions(document: Document) -> tuple[str, ...]:
    """Return what the settings give away beside released values."""
    told = (from_rows_sentence(document), seen_labels_sentence(document, document.recipients))
    return (*row_order_caution(document), *filter(None, told), *linking_cautions(document))


IN_PARTS: Final = Sentence(
    "The table is read in parts, and whether rows seem to belong to one person has not been"
    " checked yet. Audit does so under Pooled rows, and so does the check before a release."
)
"""What the card of a table that is too long for memory does not tell at first."""


def row_order_caution(document: Document) -> tuple[str, ...]:
    """Return what the table's order of rows gives away; empty where releases have their own."""
    return (ROWS_AS_IN_TABLE,) if document.rows_as_in_table else ()


def _depending(document: Document, attributes: Mapping[str, Attribute]) -> tuple[str, ...]:
    """Return which numbers depend on each other although they are protected apart."""
    found: list[tuple[float, str]] = []
    for one, other in itertools.combinations(document.policy, 2):
        for first, second in itertools.product(one.attributes, other.attributes):
            if first not in attributes or second not in attributes:
                continue
            value = correlation(attributes[first], attributes[second])
            if abs(value) >= STRONG:
                written = formatted(value, ".2f")
                found.append(
                    (
                        abs(value),
                        Sentence(
                            "{first} and {second} depend on each other (correlation {written}),"
                            " but are protected separately: whoever holds both learns more about"
                            " each than its own promise says. Tick them under “Protect together”"
                            " in the policy.",
                            first=first,
                            second=second,
                            written=written,
                        ),
                    )
                )
    return tuple(words for _, words in sorted(found, key=lambda pair: -pair[0])[:MOST_CAUTIONS])


def _coalition(
    document: Document, promises: Sequence[EntryPromise], together: AllTogether | None
) -> str:
    """Say what any group of recipients can learn together."""
    if not document.recipients:
        return ""
    beside = joined(part_sentence(document.policy), beside_sentence(document.policy))
    told = TELL_OF_EACH_OTHER if len(document.policy) > 1 else ""
    everybody = _everybody(document)
    if len(everybody) == 1:
        alone = Sentence(
            "{name} is the only recipient, so there is nobody to pool releases with.",
            name=everybody[0],
        )
        return joined(alone, told, beside)
    tops = _tops(document, promises)
    shared = _trusted_with_all(document, tops)
    if shared:
        return joined(_one_top(shared, everybody), told, beside)
    return joined(
        _several_tops(tops),
        "" if together is None else together.sentence,
        _total_of_all(document, promises, tops),
        beside,
    )


def _everybody(document: Document) -> list[str]:
    """Return the recipients, and the holders of adopted releases."""
    holders = [holder.name for entry in document.policy for holder in rung_holders(entry)]
    return list(dict.fromkeys([*(r.name for r in document.recipients), *holders]))


def _tops(document: Document, promises: Sequence[EntryPromise]) -> dict[str, tuple[str, ...]]:
    return {entry.key: _most_trusted(entry, promises) for entry in document.policy}


def _trusted_with_all(document: Document, tops: Mapping[str, Sequence[str]]) -> list[str]:
    """Return who is trusted most with every entry and every quasi-identifier."""
    everybody = _everybody(document)
    seen = _finest(document) or everybody
    return [n for n in everybody if n in seen and all(n in top for top in tops.values())]


def _together(document: Document, promises: Sequence[EntryPromise]) -> AllTogether | None:
    """Return the virtual recipient, where it is nobody."""
    finest, tops = _finest(document), _tops(document, promises)
    if not finest or _trusted_with_all(document, tops):
        return None
    said = {(each.entry.key, each.recipient): each.promise.sentence for each in promises}
    gets = [
        Sentence("{key}: {promise}", key=key, promise=said[key, name])
        for key, (name, *_) in tops.items()
        if (key, name) in said
    ]
    return AllTogether(finest, tops, tuple(gets), _finest_view(finest, tops))


def _views(document: Document) -> tuple[tuple[tuple[str, str], ...], list[str]]:
    """Return what each recipient's view promises, by name, and what is wrong with the others."""
    views: list[tuple[str, str]] = []
    problems: list[str] = []
    for recipient in in_chain(document):
        try:
            coarsening = coarsening_of(document, recipient)
        except SfumatoError as error:
            problems.append(error.sentence)
        else:
            if coarsening is not None:
                views.append((recipient.name, promise_of(coarsening)))
    return tuple(views), problems


def _finest(document: Document) -> tuple[str, ...]:
    """Return who sees the quasi-identifiers most finely; nobody where all see them as they are."""
    chain = in_chain(document)
    if not chain:
        return ()
    as_they_are = tuple(each.name for each in document.recipients if each.view is None)
    return as_they_are or tuple(each.name for each in chain if each.view == chain[0].view)


def _finest_view(finest: Sequence[str], tops: Mapping[str, Sequence[str]]) -> str:
    """Say what a group knows of the whole row where nobody is trusted most with all of it."""
    most = Counter(name for names in tops.values() for name in names)
    seer = max(finest, key=lambda name: most[name])
    held = _by_holder(tops, seer)
    own = held.pop(seer, "")
    levels = [Sentence("{name}'s level of {key}", name=name, key=key) for name, key in held.items()]
    words = "{name}'s level of {key} and view of the quasi-identifiers"
    last = Sentence(words if own else "{name}'s view of the quasi-identifiers", name=seer, key=own)
    return Sentence(
        "Of the whole row, all recipients together know what one recipient would who has {levels}.",
        levels=Sentence("{first}, and {rest}", first=listed(levels), rest=last) if levels else last,
    )


def _by_holder(tops: Mapping[str, Sequence[str]], first: str = "") -> dict[str, str]:
    """Return for as few of the most trusted as can be what they are trusted most with.

    Their names may be long, so each is said once; `first` comes before all others.
    """
    most = Counter(name for names in tops.values() for name in names)
    most[first] += len(tops)
    keys: dict[str, list[str]] = {}
    for key, names in tops.items():
        keys.setdefault(max(names, key=lambda name: most[name]), []).append(key)
    return {name: listed(tuple(held)) for name, held in keys.items()}


def _formed(document: Document, attributes: Mapping[str, Attribute]) -> str:
    """Say where a group can learn a little more, because released numbers are rounded."""
    if len(document.recipients) < 2:
        return ""
    formed = []
    for entry in document.policy:
        chosen = [attributes[name] for name in entry.attributes]
        if mechanism_called(entry.mechanism).forms(chosen, entry.settings):
            formed.append(entry.key)
    if not formed:
        return ""
    return Sentence(
        "Because numbers of {names} are rounded or bounded, a group can learn a little more about"
        " them; the audit measures how much.",
        names=listed(formed),
    )


def _most_trusted(entry: PolicyEntry, promises: Sequence[EntryPromise]) -> tuple[str, ...]:
    """Return who is trusted most with an entry: several where their levels are the same.

    The holders of earlier releases that were adopted as rungs are among them.
    """
    here = [(promise.recipient, promise.trust) for promise in promises if promise.entry is entry]
    here += [(holder.name, holder.trust) for holder in rung_holders(entry)]
    highest = max(trust for _, trust in here)
    return tuple(dict.fromkeys(name for name, trust in here if trust >= highest - _TIED))


def _one_top(shared: Sequence[str], everybody: Sequence[str]) -> str:
    first, *others = shared
    if len(shared) == len(everybody):
        return Sentence(
            "All recipients get the same values, so any group of them learns no more than each "
            "of them alone."
        )
    sentence = Sentence("Any group of recipients learns no more than {first} alone.", first=first)
    if not others:
        return sentence
    said = "{names} {count:gets|get} the same values as {first}."
    same = Sentence(said, names=listed(others), count=len(others), first=first)
    return joined(sentence, same)


def _several_tops(tops: Mapping[str, Sequence[str]]) -> str:
    """Say it entry by entry, and what that does not cover."""
    parts = [
        Sentence(
            "From the releases of {key}, any group of recipients learns no more than "
            "from {name}'s alone.",
            key=key,
            name=name,
        )
        for name, key in _by_holder(tops).items()
    ]
    together = Sentence(
        "Attributes that depend on each other tell about each other: a group that holds "
        "all of these learns what somebody with all of them would, and no more."
    )
    return joined(*parts, together)


def promise_is_empty(
    mechanism: str,
    level: float,
    settings: Settings,
    attributes: Sequence[Attribute],
    key: str,
) -> str:
    """Say why a release at a level promises nothing of an entry; empty where it does."""
    known = mechanism_called(mechanism)
    odds = known.odds_factor(level, attributes, settings)
    if odds is not None and math.isfinite(odds):
        return ""  # at full trust too, as a matrix that is shown as it stands
    matrix = known.matrix(level, attributes, settings)
    true = matrix is None or bool((matrix.diagonal == 1.0).all())
    if true and known.trust(level) >= _CERTAIN:
        return Sentence("{key} is released with its true values: nothing hides them.", key=key)
    if odds is not None:
        return Sentence(
            "For some values of {key} an attacker can be certain: the odds have no limit"
            " (γ is infinite).",
            key=key,
        )
    return ""
