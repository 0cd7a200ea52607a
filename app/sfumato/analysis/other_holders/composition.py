"""What a generalized table and other holders' tables leave of everybody's value together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Any, Final

import numpy as np

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, GivenName, Severity
from sfumato.engine.core.errors import DiversityError, SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.coded import SUPPRESSED
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.grouping import totals
from sfumato.engine.generalization.joint_criteria import SharedName, same_of_a_person
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.generalization.others import (
    Breach,
    HolderClasses,
    HolderStanding,
    RemainingValues,
    breaches,
    standing_of,
    weakest_of,
)
from sfumato.engine.generalization.public_counts import (
    informed_breaches,
    informed_standing,
    remaining,
)
from sfumato.engine.generalization.publication import equivalence_classes
from sfumato.engine.generalization.search import allowed_records
from sfumato.engine.generalization.shared_columns import (
    MeetingClasses,
    TooManyMeetingError,
    some_with_a_value,
)
from sfumato.project.document.model import Document
from sfumato.project.publication.generalization_pipeline import (
    chosen_node,
    prepare,
    search_table,
)
from sfumato.project.publication.joint_search import meeting_at
from sfumato.project.publication.prepared import Prepared, decided_in
from sfumato.project.publication.public_counts import known_to
from sfumato.project.release.batched_table import BatchedTable

MOST_BREACHES: Final = 500
"""Combinations that are listed; the ones that leave fewest values come first among those found."""
MOST_VALUES: Final = 8
"""Values of such a combination that are named."""

UNLESS_KNOWN: Final = Sentence(
    "This holds for whoever knows nothing of how many people are in the same classes of several"
    " tables. Public counts of them, and columns that several tables share, tell something of it."
)
"""For whose knowledge the sets of values say what remains."""


def presumed(known: Sequence[str], shared: Sequence[SharedName] = ()) -> Sentence:
    """Return for whose knowledge it holds what remains.

    Parameters
    ----------
    known
        What public counts are called.
    shared
        The columns that are aligned.
    """
    if not known and shared:
        return joined(
            Sentence(
                "This holds for whoever knows of how many people are in the same classes of several"
                " tables only what the columns tell that they share with this one."
            ),
            same_of_a_person(tuple(shared)),
        )
    if not known:
        return UNLESS_KNOWN
    return Sentence(
        "This holds for whoever knows the public counts {known}, and nothing else of how many"
        " people are in the same classes of several tables.",
        known=listed(known),
    )


@dataclass(frozen=True)
class Beside:
    """Several published tables, and what they leave.

    Parameters
    ----------
    holders
        The others' tables, and ours last where it takes part.
    values
        Our sensitive attribute's domain.
    node
        The levels of ours; None where it takes no part.
    standing
        What each table contributes.
    others_leave
        The fewest values that the others' tables leave without ours: more can't be kept.
    breaches
        Combinations that break l, at most `MOST_BREACHES`.
    problem
        Why ours takes no part, where it was meant to.
    known
        What the public counts are called that are heeded.
    meeting
        Which classes of the others' tables can meet ours; None where ours takes no part or may
        leave records out.
    shared, unaligned
        The columns that are aligned, and why others of the same names are not.
    beliefs
        The largest belief in anybody's value that some way allows in which the tables go together,
        and the largest where what they show is independent given the value; None where they are
        not known.
    """

    holders: tuple[HolderClasses, ...]
    values: tuple[str, ...]
    node: Node | None
    standing: RemainingValues
    others_leave: int
    breaches: tuple[Breach, ...] = field(repr=False)
    problem: SfumatoError | None = None
    known: tuple[str, ...] = ()
    meeting: MeetingClasses | None = None
    shared: tuple[SharedName, ...] = ()
    unaligned: tuple[Sentence, ...] = ()
    beliefs: tuple[float, float] | None = None

    def some_possible(self) -> tuple[int, ...]:
        """Return classes that can be one person's; the first of each table if none can."""
        if self.meeting is not None and self.shared:
            found = self.meeting.some_that_meet()
        else:
            every = [np.arange(holder.classes) for holder in self.holders]
            found = some_with_a_value(self.holders, every)
        return found or (0,) * len(self.holders)

    def within(
        self, classes: Sequence[int]
    ) -> tuple[tuple[HolderClasses, ...], tuple[int, ...]] | None:
        """Return the classes that can meet a person's, and which of these are the person's own.

        None where nobody can be in all of them, by the columns that tables share.
        """
        if self.meeting is None or not self.shared:
            return self.holders, tuple(classes)
        return self.meeting.around(classes, self.holders)


def asked_of(document: Document) -> int | None:
    """Return how many values are asked to remain, the l of distinct diversity; None if nothing."""
    decided = document.generalization
    stated = () if decided is None else decided.criteria
    asked = [choice.numbers["l"] for choice in stated if choice.kind == "distinct-diversity"]
    return int(max(asked)) if asked else None


def beside_others(
    document: Document,
    table: BatchedTable,
    ours: Node | bool,
    l: int,  # noqa: E741 - the field's own name for it
    our_name: str,
    context: Context,
) -> Beside:
    """Find out which combinations of classes narrow somebody's value too far.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    ours
        The levels of our table; True for those that would be published, False to leave it out.
    l
        The values that should remain.
    our_name
        What our table is called among the others.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As `sfumato.project.publication.generalization_pipeline.prepare`.
    """
    table = table.whole
    prepared = prepare(document, table, Part(context, 0.0, 0.3))
    node: Node | None = None
    problem: SfumatoError | None = None
    if ours is True:
        try:
            searched = search_table(document, table, Part(context, 0.3, 0.7))
            node = chosen_node(document, searched)
        except DiversityError as found_out:
            problem = found_out.with_traceback(None)
    elif ours is not False:
        node = ours
    found = _beside(document, prepared, node, l, our_name, Part(context, 0.7, 0.9))
    context.report(0.9, "Comparing beliefs")
    return replace(_with_beliefs(prepared, found), problem=problem)


def _beside(
    document: Document,
    prepared: Prepared,
    node: Node | None,
    l: int,  # noqa: E741
    our_name: str,
    context: Context,
) -> Beside:
    """Find out which combinations break l, by what is known of how tables go together."""
    if prepared.public:
        return _beside_counts(prepared, node, l, our_name, context)
    holders = list(prepared.holders)
    if node is not None:
        holders.append(classes_at(document, prepared, node, our_name))
    size = len(prepared.coded.values)
    context.report(0.0, "Comparing classes")
    others_leave = weakest_of(prepared.holders, size)
    if node is not None and prepared.shared:
        meeting = meeting_at(prepared, node)
        standing = _standing_where_met(meeting, l, our_name, others_leave)
        context.report(0.5, "Listing combinations")
        found = meeting.breaches(l, MOST_BREACHES)
    else:
        standing = standing_of(holders, l, size)
        context.report(0.5, "Listing combinations")
        found = breaches(holders, l, size, MOST_BREACHES)
    values = prepared.coded.values
    return Beside(tuple(holders), values, node, standing, others_leave, tuple(found))


def _standing_where_met(
    meeting: MeetingClasses,
    l: int,  # noqa: E741
    our_name: str,
    others_leave: int,
) -> RemainingValues:
    """Return what tables leave whose classes meet ours only where shared columns agree."""
    weakest = int(meeting.left().min())
    standings = []
    for number, holder in enumerate(meeting.holders):
        without = int(meeting.without(number).left().min())
        cause = weakest < l <= without
        standings.append(
            HolderStanding(holder.holder, holder.classes, holder.diversity, without, cause)
        )
    own, cause = meeting.ours, weakest < l <= others_leave
    standings.append(HolderStanding(our_name, own.classes, own.diversity, others_leave, cause))
    return RemainingValues(l, weakest, tuple(standings))


def _with_beliefs(prepared: Prepared, found: Beside) -> Beside:
    """Return the same with what is believed, and what columns tables share."""
    shared = tuple(each.name for each in prepared.shared)
    unaligned = tuple(each.sentence for each in prepared.unaligned)
    found = replace(found, shared=shared, unaligned=unaligned)
    if found.node is None or prepared.decided.suppression:
        return found
    meeting = meeting_at(prepared, found.node)
    try:
        beliefs = meeting.largest_belief(), meeting.largest_belief(independent=True)
    except TooManyMeetingError:
        return replace(found, meeting=meeting)
    return replace(found, meeting=meeting, beliefs=beliefs)


def _beside_counts(
    prepared: Prepared,
    node: Node | None,
    l: int,  # noqa: E741
    our_name: str,
    context: Context,
) -> Beside:
    """Find out the same for who knows public counts as well."""
    context.report(0.0, "Heeding public counts")
    others, known_of_others = known_to(prepared, None)
    others_leave = remaining(others, known_of_others).weakest
    holders, known = known_to(prepared, node)
    if node is not None:
        holders[-1] = replace(holders[-1], holder=our_name)
    standing, found = informed_standing(holders, l, known)
    return Beside(
        tuple(holders),
        prepared.coded.values,
        node,
        standing,
        others_leave,
        tuple(informed_breaches(found, l, MOST_BREACHES)),
        known=tuple(each.name for each in prepared.public),
    )


def answer_of(found: Beside, document: Document) -> Answer:
    """Return what several published tables leave together, as an answer.

    Parameters
    ----------
    found
        What was found.
    document
        What is decided, by which it was found.
    """
    columns: dict[str, CellKind] = {
        Sentence("Table of"): CellKind.TEXT,
        Sentence("Classes"): CellKind.COUNT,
        Sentence("Own l"): CellKind.COUNT,
        Sentence("Left without it"): CellKind.COUNT,
        Sentence("Cause"): CellKind.TEXT,
        Sentence("Public columns"): CellKind.TEXT,
    }
    rows = [
        (
            one.holder,
            one.classes,
            one.diversity,
            one.without,
            Sentence("the cause") if one.is_cause else None,
            ", ".join(classes.quasi_identifiers) or None,
        )
        for one, classes in zip(found.standing.holders, found.holders, strict=True)
    ]
    return Answer(
        (_verdict(found), *_explained(found), *_believed(found)),
        Severity.GOOD if found.standing.holds else Severity.GRAVE,
        tables=(AnswerTable(columns, rows), *_broken(found)),
        facts=plain(document, found),
    )


def _broken(found: Beside) -> Iterator[AnswerTable]:
    """Yield the combinations of classes that break l, in their order; for the custodian's eyes."""
    columns: dict[str, CellKind] = {
        Sentence("Values left"): CellKind.VALUE,
        Sentence("Left"): CellKind.COUNT,
        **{GivenName(each.holder): CellKind.VALUE for each in found.holders},
        Sentence("Caused by"): CellKind.TEXT,
        Sentence("Alike"): CellKind.COUNT,
    }
    rows = [
        (
            ", ".join(str(found.values[code]) for code in breach.remaining[:MOST_VALUES]) or "–",
            len(breach.remaining),
            *(
                each.describe(number)
                for each, number in zip(found.holders, breach.classes, strict=True)
            ),
            ", ".join(breach.needed) or Sentence("several"),
            breach.combinations,
        )
        for breach in found.breaches
    ]
    if rows:
        yield AnswerTable(columns, rows)


def _verdict(found: Beside) -> Sentence:
    """Return whether every combination keeps l values."""
    standing = found.standing
    if standing.holds:
        words = (
            "Nobody's value is narrowed to fewer than {weakest:,} {weakest:value|values} by all"
            " tables together, as long as nobody knows how many people they share."
        )
        if found.shared and found.node is not None:
            words = (
                "Nobody's value is narrowed to fewer than {weakest:,} {weakest:value|values} by all"
                " tables together, as long as nobody knows more of how many people they share than"
                " their common columns tell."
            )
        if found.known:
            words = (
                "Nobody's value is narrowed to fewer than {weakest:,} {weakest:value|values} by"
                " all tables and public counts together."
            )
    elif standing.weakest == 0:
        words = "Some classes of these tables share no value at all."
    elif standing.weakest == 1:
        words = "All tables together can tell somebody's value exactly."
    else:
        words = (
            "All tables together can narrow somebody's value to {weakest:,}"
            " {weakest:value|values}, fewer than {l:,}."
        )
    return Sentence(words, weakest=standing.weakest, l=standing.l)


def _explained(found: Beside) -> Iterator[Sentence]:
    """Yield whose table is the cause, and what can't be kept any more."""
    standing = found.standing
    if found.problem is not None:
        yield Sentence("Our own table takes no part: {problem}", problem=found.problem.sentence)
    causes = [holder.holder for holder in standing.holders if holder.is_cause]
    for cause in causes:
        yield Sentence(
            "Without the table of {holder}, {l:,} would remain.", holder=cause, l=standing.l
        )
    if not causes and not standing.holds:
        yield Sentence("Removing any single table is not enough.")
    if found.breaches:
        yield Sentence(
            "{more}{count:,} {count:combination|combinations} of classes"
            " {count:leaves|leave} fewer than {l:,}.",
            more=Sentence("At least ") if len(found.breaches) >= MOST_BREACHES else "",
            count=len(found.breaches),
            l=standing.l,
        )
    if standing.weakest == 0:
        yield Sentence(
            "Then nobody can be in these classes at once, or the tables are about others."
        )
    if found.others_leave < standing.l:
        yield Sentence(
            "Whatever is published beside them, {l:,} {l:value|values} can't be kept any more:"
            " the others' tables alone leave only {leave:,}.",
            l=standing.l,
            leave=found.others_leave,
        )
    else:
        yield Sentence(
            "The others' tables alone leave at least {leave:,} of {size:,} {size:value|values}; no"
            " table beside them can keep more.",
            leave=found.others_leave,
            size=len(found.values),
        )


def _believed(found: Beside) -> Iterator[Sentence]:
    """Yield how likely somebody's value becomes, and for whose knowledge all this holds."""
    if found.beliefs is not None:
        worst, independent = found.beliefs
        yield Sentence(
            "With all tables, somebody's value becomes {independent:.1%} likely if these are"
            " independent given the value, and up to {worst:.1%} likely to whoever knows how many"
            " people are in the same classes.",
            independent=independent,
            worst=worst,
        )
    yield presumed(found.known, () if found.node is None else found.shared)
    if found.shared and (found.node is None or found.known):
        yield same_of_a_person(found.shared)
    yield from found.unaligned


def plain(document: Document, found: Beside) -> dict[str, Any]:
    """Return what was found as plain JSON values, without any value of a table."""
    decided, standing = decided_in(document), found.standing
    holders = standing.holders[: len(decided.others)]
    return {
        "sensitive": decided.sensitive,
        "values": len(found.values),
        "asked": standing.l,
        "left": found.others_leave,
        "public_counts": list(found.known),
        "shared": [
            {"holder": holder, "column": theirs, "ours": ours}
            for holder, theirs, ours in found.shared
        ],
        "not_aligned": list(found.unaligned),
        "ours": {
            "levels": None
            if found.node is None
            else dict(zip(decided.quasi_identifiers, map(int, found.node), strict=True)),
            "left": standing.weakest,
            "combinations": len(found.breaches),
            "problem": "" if found.problem is None else str(found.problem),
            "largest_belief": None if found.beliefs is None else found.beliefs[0],
            "largest_belief_if_independent": None if found.beliefs is None else found.beliefs[1],
        },
        "others": [
            {
                "holder": other.holder,
                "file": other.path,
                "quasi_identifiers": list(other.quasi_identifiers),
                "sensitive": other.sensitive,
                "classes": each.classes,
                "l": each.diversity,
                "left_without": each.without,
                "cause": each.is_cause,
            }
            for other, each in zip(decided.others, holders, strict=True)
        ],
    }


def classes_at(document: Document, prepared: Prepared, node: Node, name: str) -> HolderClasses:
    """Return the classes that our table shows at a node, as another holder's are.

    Records that stand out are left out of them where few enough do, or are a class of their own.
    """
    coded, decided = prepared.coded, decided_in(document)
    classes = equivalence_classes(coded, node, prepared.criteria)
    left_out = classes.suppressed <= allowed_records(coded, decided.suppression)
    shown = classes.kept if left_out else np.ones(len(classes.kept), dtype=np.bool_)
    first = np.empty(len(shown), dtype=np.intp)
    first[classes.of_row[::-1]] = np.arange(len(classes.of_row))[::-1]
    labels = tuple(
        tuple(
            quasi.labels[level][quasi.levels[level][quasi.codes[row]]]
            for quasi, level in zip(coded.quasi_identifiers, node, strict=True)
        )
        for row in first[shown]
    )
    counts = np.asarray(classes.counts[shown].todense(), dtype=np.int64)
    if not shown.all() and decided.suppressed is Suppressed.STARRED:
        labels = (*labels, (SUPPRESSED,) * len(decided.quasi_identifiers))
        counts = np.vstack([counts, totals(classes.counts[~shown])])
    return HolderClasses(name, decided.quasi_identifiers, labels, counts)
