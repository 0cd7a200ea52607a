"""Whether a new release may stand beside those already made, and what several editions tell.

One attribute, one ladder: a release on another ladder would let recipients who pool theirs
learn more than the most trusted of them. Records that are told apart by position need the
very same table each time.

Of two views one has to be a function of the other: no level of it finer, and nothing shown in it
that the other suppresses. Otherwise whoever holds both knows more than either tells.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import DomainError, LadderError, SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.cells import of_columns
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.adoption import adopted_identity
from sfumato.engine.table.table import Attribute
from sfumato.project.adoption.adopt import rung_holders
from sfumato.project.document.entry_plan import EntryPlan, plan_release, planned_levels
from sfumato.project.document.model import Document, PolicyEntry, TableSource, canonical_json
from sfumato.project.errors import SourceChanged
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.batched_views import suppressed_together
from sfumato.project.release.views import Coarsening, coarsening_of

CONTRADICTED: Final = Sentence(
    "An earlier release of these records contradicts this one: whoever has both can tell more than"
    " is promised here."
)

_OTHER_DOMAIN: Final = Sentence("its domain changed")


def domain_fingerprints(attributes: Mapping[str, Attribute]) -> dict[str, str]:
    """Return the fingerprint of each attribute's domain, where it has one."""
    return {
        name: attribute.domain.fingerprint
        for name, attribute in attributes.items()
        if attribute.domain is not None
    }


def check_source(
    document: Document, source: TableSource, releases: Iterable[ReleaseRecord]
) -> None:
    """Refuse another table where records are told apart by their position.

    Raises
    ------
    SourceChanged
        If the first release was made from other rows.
    """
    if document.record_key is not None:
        return
    first = next((r for r in releases if r.counts and r.record_key is None), None)
    if first is None or rows_of(first.source) == rows_of(source):
        return
    raise SourceChanged(
        "The source table changed since the first release ({date}), and this project tells"
        " records apart by their position in it, which may have shifted: it had {before:,}"
        " {before:row|rows} then and has {now:,} now.",
        "Release from the earlier table, or begin a new project with a record-key column, which"
        " lets later editions of the table follow.",
        date=first.day,
        before=first.source.rows,
        now=source.rows,
    )


def check_ladders(
    document: Document,
    plans: Sequence[EntryPlan],
    domains: Mapping[str, str],
    releases: Iterable[ReleaseRecord],
) -> None:
    """Refuse a release that would leave the ladder of an earlier one.

    Parameters
    ----------
    document
        The columns and the record key.
    plans
        The release to be made.
    domains
        From `domain_fingerprints`.
    releases
        Those already made.

    Raises
    ------
    LadderError
        Naming the attribute, what changed since, and the way forward.
    """
    for release in releases:
        if not release.counts:
            continue
        for plan in plans:
            for attribute in plan.attributes:
                earlier = release.plan_for(attribute)
                if earlier is None or earlier.ladder == plan.ladder:
                    continue
                change = _what_changed(document, attribute, plan, earlier, domains, release)
                raise LadderError(
                    "{attribute} was released to {recipient} on {date}, and since then {change}."
                    " A release now would not sit on the ladder of that one, so the two"
                    " together would tell more than either.",
                    "Restore it as it was then. Give rows that don't fit it one of its values in"
                    " the file, such as the one for all others, or leave them out."
                    if change is _OTHER_DOMAIN
                    else "Restore it as it was then, or begin a new project for another table.",
                    attribute=attribute,
                    recipient=release.recipient,
                    date=release.day,
                    change=change,
                )


def off_ladder(
    document: Document, attributes: Mapping[str, Attribute], releases: Sequence[ReleaseRecord]
) -> LadderError | None:
    """Return why `check_ladders` refuses releases; None where it doesn't, or nothing is planned.

    Parameters are those of `plan_release` and `check_ladders`, with the attributes that are known.
    """
    needed = {name for entry in document.policy for name in entry.attributes}
    for recipient in document.recipients if releases and needed <= set(attributes) else ():
        try:
            plans = plan_release(document, attributes, recipient)
        except SfumatoError:
            continue  # what is not decided yet is said elsewhere
        try:
            check_ladders(document, plans, domain_fingerprints(attributes), releases)
        except LadderError as error:
            return error.with_traceback(None)
        return None  # an entry's ladder is the same for all
    return None


def domain_held(
    spec: ColumnSpec,
    attribute: Attribute | None,
    error: SfumatoError | None,
    releases: Iterable[ReleaseRecord],
) -> SfumatoError | None:
    """Return what is wrong with an attribute's domain, once releases hold it to theirs.

    Parameters
    ----------
    spec, attribute
        The column, and its values as they are encoded; None where they don't fit.
    error
        Why they don't fit.
    releases
        What the ledger tells of.

    Returns
    -------
    SfumatoError or None
        `error` with another way out where the attribute was released; that its domain is another
        one than was released; or `error` as it is.
    """
    made = (each for each in releases if each.counts and spec.name in each.domains)
    record = next(made, None)
    if record is None:
        return error
    if isinstance(error, DomainError) and spec.domain is not None:
        kept = record.domains[spec.name] == spec.domain.fingerprint
        what = error.what_template
    elif attribute is not None and attribute.domain is not None and error is None:
        kept = record.domains[spec.name] == attribute.domain.fingerprint
        what = ""
    else:
        return error
    if kept and not what:
        return None
    details = {**(error.details if error is not None else {}), "column": spec.name}
    if kept:
        return DomainError(
            what,
            "It was released on {date} with the values of this domain, and releases with others"
            " would leave the ladder of that one: give these rows one of its values in the file,"
            " such as the one for all others, or leave them out.",
            **details,
            date=record.day,
        )
    return DomainError(
        "{column} was released on {date} with other possible values than these, and a release with"
        " these would leave the ladder of that one.",
        "Restore the earlier values. Give rows that fit none of them one of these values in the"
        " file, such as the one for all others, or leave these rows out.",
        **details,
        date=record.day,
    )


def exposed_columns(document: Document, releases: Iterable[ReleaseRecord]) -> dict[str, str]:
    """Return the columns whose releases contradict each other, each with the contradiction.

    A column that was perturbed before and would be released as it is now shows its true
    values; one that was released as it is before gains nothing from being perturbed now.
    """
    sensitive = {column.name for column in document.sensitive}
    shown = {
        column.name
        for column in document.columns
        if column.role not in {Role.SENSITIVE, Role.IDENTIFYING}
    }
    hidden = {column.name for column in document.columns if column.as_pseudonym is not None}
    found: dict[str, str] = {}
    for release in releases:
        if not release.counts:
            continue
        perturbed = {name for plan in release.plans for name in plan.attributes}
        before = set(release.open_columns)
        for names, words in (
            (
                shown & perturbed,
                "{name} was perturbed for {recipient} on {day} and would now be released as it is",
            ),
            (
                shown & _pseudonymous_in(release),
                "{name} was shown to {recipient} on {day} as a pseudonym and would now be"
                " released as it is",
            ),
            (
                hidden & before,
                "{name} was released as it is to {recipient} on {day}, so a pseudonym in its place"
                " hides nothing from them",
            ),
            (
                sensitive & before,
                "{name} was published with its true values in a generalized table on {day}, so"
                " whoever has both can tell which perturbed values are true"
                if release.is_publication
                else "{name} was released as it is to {recipient} on {day}, so perturbing it now"
                " hides nothing from them",
            ),
            (
                shown & _generalized_in(release),
                "{name} was generalized in the table published on {day} and would now be"
                " released with its exact values",
            ),
        ):
            then = {"recipient": release.recipient, "day": release.day}
            for name in sorted(names):
                found.setdefault(name, Sentence(words, name=name, **then))
    return found


def _pseudonymous_in(release: ReleaseRecord) -> set[str]:
    """Return the columns that a release shows as pseudonyms."""
    columns = () if release.policy is None or release.is_publication else release.policy.columns
    return {spec.name for spec in columns if spec.as_pseudonym is not None}


def _generalized_in(release: ReleaseRecord) -> set[str]:
    """Return the columns that a published table shows with coarser values."""
    facts = release.details.get("generalization")
    return set() if facts is None else set(facts["quasi_identifiers"])


def check_exposure(contradictions: Mapping[str, str]) -> None:
    """Refuse the first contradiction of `exposed_columns`.

    Raises
    ------
    LadderError
        Naming the column and the way forward.
    """
    for contradiction in contradictions.values():
        raise LadderError(
            "{contradiction}.",
            "Give the column the role it had then, drop it by marking it as identifying, or"
            " release in spite of it by stating a reason, which the ledger keeps.",
            contradiction=contradiction,
        )


def rows_of(source: TableSource) -> tuple[str, int, str]:
    """Return what tells whether two readings of a table have the same rows in the same order."""
    return source.digest, source.rows, source.options.get("sheet", "")


def edition_of(source: TableSource) -> tuple[object, ...]:
    """Return what tells whether two readings of a table have the same values in the same rows."""
    return *rows_of(source), canonical_json(dict(source.options))


def _what_changed(
    document: Document,
    attribute: str,
    plan: EntryPlan,
    earlier: EntryPlan,
    domains: Mapping[str, str],
    release: ReleaseRecord,
) -> str:
    if earlier.mechanism != plan.mechanism:
        return Sentence(
            "its mechanism changed from {before} to {after}",
            before=earlier.mechanism,
            after=plan.mechanism,
        )
    if earlier.attributes != plan.attributes:
        return Sentence(
            "it moved from the policy entry {before} to {after}",
            before=earlier.key,
            after=plan.key,
        )
    if release.record_key != document.record_key:
        return Sentence(
            "records are told apart by {after} instead of {before}",
            after=_telling(document.record_key),
            before=_telling(release.record_key),
        )
    if release.domains.get(attribute) != domains.get(attribute):
        return _OTHER_DOMAIN
    if adopted_identity(plan.settings) != adopted_identity(earlier.settings):
        return Sentence(
            "other releases that were made elsewhere were adopted for it, or adopted no more"
        )
    return Sentence("its bins, the settings of its mechanism or the groups of its records changed")


def _telling(record_key: str | None) -> str:
    if record_key is None:
        return Sentence("their position")
    return Sentence("the record key {record_key}", record_key=record_key)


def edition_sentences(
    document: Document,
    attributes: Mapping[str, Attribute],
    releases: Iterable[ReleaseRecord],
) -> tuple[str, ...]:
    """Say what the editions tell together; most often nothing.

    Policy entries of which the same is to be said are told together.

    Parameters
    ----------
    document
        The policy, its recipients, and the edition that the next release is made from.
    attributes
        What is known of the policy's attributes, by name; entries that lack one are left out.
    releases
        What the ledger tells of.
    """
    made = [record for record in releases if record.counts]
    recipients = [record for record in made if record.policy and not record.is_publication]
    views = [coarsening_at(record) for record in recipients]
    suppresses = any(view is not None and view.suppression for view in views) or any(
        each.view is not None and each.view.suppression for each in document.recipients
    )
    alike: dict[tuple[int, str], list[str]] = {}
    for entry in document.policy:
        if set(entry.attributes) <= set(attributes):
            levels = _levels_by_edition(document, entry, attributes, made)
            if len(levels) > 1:
                told = _sentence(entry, attributes, levels, suppresses)
                alike.setdefault((len(levels), told), []).append(entry.key)
    words = "{key} {keys:is|are} released from {count} editions of the table."
    return tuple(
        joined(Sentence(words, key=listed(keys), keys=len(keys), count=count), told)
        for (count, told), keys in alike.items()
    )


def _levels_by_edition(
    document: Document,
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    made: Sequence[ReleaseRecord],
) -> list[float]:
    """Return the most trusted level at which each edition of an entry is or will be released."""
    found: dict[tuple[object, ...], list[float]] = {}
    for record in made:
        for plan in record.plans:
            if (plan.attributes, plan.mechanism) == (entry.attributes, entry.mechanism):
                found.setdefault(edition_of(record.source), []).append(plan.level)
    if document.source is not None:
        edition = edition_of(document.source)
        # One edition tells nothing beside others, whatever is planned for its recipients.
        planned = planned_levels(document, entry, attributes) if found.keys() - {edition} else ()
        if planned:
            found.setdefault(edition, []).extend(planned)
    trust = mechanism_called(entry.mechanism).trust
    return [max(levels, key=trust) for levels in found.values()]


def _sentence(
    entry: PolicyEntry,
    attributes: Mapping[str, Attribute],
    levels: Sequence[float],
    suppresses: bool,
) -> str:
    mechanism = mechanism_called(entry.mechanism)
    if mechanism.needs_groups:
        proof = Sentence(
            "A record that shows a different value in a later edition, released at the same"
            " level, proves that a true value in its group has changed; a group without a change"
            " shows the same values."
        )
    else:
        proof = Sentence(
            "A record that shows a different value in a later edition, released at the same"
            " level, has certainly changed; a record that has not changed shows the same value."
        )
    chosen = tuple(attributes[name] for name in entry.attributes)
    return joined(
        proof,
        Sentence(
            "Whoever has several editions can find out which records only one of them has, however"
            " many share what is shown of these."
        ),
        Sentence(
            "Of a record in several editions, fewer may share what these show together than what"
            " each of them shows, since * can stand in one where another shows a value."
        )
        if suppresses
        else "",
        Sentence("For a record that has changed, the loss counts once for each value it has had."),
        # The law of what is fitted to an earlier release knows one value of each record.
        "" if rung_holders(entry) else mechanism.lost_by_changing(levels, chosen, entry.settings),
    )


def crossing_views(
    document: Document,
    table: BatchedTable | None,
    source: TableSource | None,
    recipient: str,
    coarsening: Coarsening | None,
    releases: Iterable[ReleaseRecord],
) -> dict[str, str]:
    """Return the releases whose views cross a new one, by what they are called, with the reason.

    Of another edition, levels and what labels are made from are compared, and no suppressed rows.

    Parameters
    ----------
    document, table, source
        What the new release is made by, the rows that leave, and from what. Without rows, what is
        suppressed is not compared.
    recipient, coarsening
        For whom, and by which view; None for quasi-identifiers as they are.
    releases
        Those already made.
    """
    found: dict[str, str] = {}
    earlier = [record for record in releases if record.counts and not record.is_publication]
    for record in earlier:
        then = record.policy
        if then is None:
            continue
        views = (document, coarsening), (then, coarsening_at(record))
        same_table = source is not None and record.source.digest == source.digest
        if _in_one_chain(table if same_table else None, *views):
            continue
        day = record.day
        found[f"view of {record.recipient}, {day}"] = Sentence(
            "The quasi-identifiers were released to {earlier} on {day} by a view that is neither"
            " wholly finer nor wholly coarser than {recipient}'s, so whoever has both can tell"
            " more people apart than either view lets them",
            earlier=record.recipient,
            day=day,
            recipient=recipient,
        )
    return found


_Seen = tuple[Document, Coarsening | None]
"""By what a release shows the quasi-identifiers: the policy in force, and the view."""

_EXACT: Final = (None, None)


def _in_one_chain(table: BatchedTable | None, one: _Seen, other: _Seen) -> bool:
    names = {name for _, view in (one, other) if view is not None for name in view.hierarchies}
    return any(
        all(_refines(name, finer, coarser) for name in names)
        and _suppression_nested(table, finer, coarser)
        for finer, coarser in ((one, other), (other, one))
    )


def _refines(name: str, finer: _Seen, coarser: _Seen) -> bool:
    """Whether what one view shows of a column follows from what the other shows of it."""
    here, there = _shown(name, *finer), _shown(name, *coarser)
    if here is None or there is None:
        return there is None
    (level, ground, made), (above, ground_above, made_above) = here, there
    if not level:
        return ground in (ground_above, _EXACT)
    return level <= above and (ground, made) == (ground_above, made_above)


def _shown(
    name: str, policy: Document, view: Coarsening | None
) -> tuple[int, tuple[object, ...], tuple[object, ...]] | None:
    """Return a column's level, what is below its labels, and what makes them; None if left out."""
    spec = next((column for column in policy.columns if column.name == name), None)
    if spec is None or spec.role in {Role.IDENTIFYING, Role.SENSITIVE}:
        return None
    recipe = None if view is None else view.hierarchies.get(name)
    level = 0 if view is None else view.level(name)
    order: object = None
    if recipe is not None and not recipe.by_value and spec.binning is None:
        # Neighbours are those of the domain, or else those that occur in this edition.
        order = spec.domain or (policy.source and rows_of(policy.source))
    return level, (spec.binning, spec.coded), (recipe, order)


def _ground(spec: ColumnSpec) -> tuple[object, ...]:
    return spec.binning, spec.coded, spec.domain


def _specs(policy: Document, view: Coarsening) -> dict[str, ColumnSpec]:
    return {c.name: c for c in policy.columns if c.name in view.hierarchies}


def _suppression_nested(table: BatchedTable | None, finer: _Seen, coarser: _Seen) -> bool:
    (policy, fine), (other, coarse) = finer, coarser
    if fine is None or table is None or all(step.k == 1 for step in fine.steps):
        return True
    before = _specs(policy, fine)
    after = {} if coarse is None else _specs(other, coarse)
    if any(_ground(before[name]) != _ground(after[name]) for name in before.keys() & after.keys()):
        return False
    # Along one chain the sets are nested by the way they are made.
    same = coarse and (fine.unit, fine.importance) == (coarse.unit, coarse.importance)
    if coarse and same and fine.steps == coarse.steps[: len(fine.steps)]:
        return True
    specs = {**before, **after}
    if not specs.keys() <= set(table.columns):
        return False
    views = (fine,) if coarse is None else (fine, coarse)
    hidden, *above = suppressed_together(table, tuple(specs.values()), views, Silent())
    if coarse is None:
        return not bool(hidden.any())
    both = [axis for axis, name in enumerate(fine.hierarchies) if name in coarse.hierarchies]
    return not bool((of_columns(hidden, both) & ~of_columns(above[0], both)).any())


def check_crossing(found: Mapping[str, str]) -> None:
    """Refuse the first of `crossing_views`.

    Raises
    ------
    LadderError
        Naming the release and the way forward.
    """
    for sentence in found.values():
        raise LadderError(
            "{sentence}.",
            "Choose levels that are all as high as those, or all as low, or state a reason for"
            " releasing anyway, which the ledger keeps.",
            sentence=sentence,
        )


def coarsening_at(record: ReleaseRecord) -> Coarsening | None:
    """Return the view by which a release was made, from the policy that was in force then.

    Raises
    ------
    LedgerTampered
        If what the ledger keeps is no policy.
    """
    policy = record.policy
    if policy is None or "view" not in record.details:
        return None
    recipients = [each for each in policy.recipients if each.name == record.recipient]
    return coarsening_of(policy, recipients[0]) if recipients else None
