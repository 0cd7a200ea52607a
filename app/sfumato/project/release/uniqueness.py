"""Records that are alone in what goes out as it is: how many, and what that means.

Whoever knows the values of some columns about a person finds the person's row wherever no other
row agrees on them. A promise about a sensitive column says nothing about that, so the custodian is
told beside it. Rows that agree are a micro group (Wang, Han and Fu 2012, definition 1); a record
is alone in a group of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.generalization.publication import Publication
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups, without
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.release.groups import (
    groups_known_by,
    is_known_to_others,
    public_names,
)
from sfumato.project.release.plan import open_column
from sfumato.project.release.views import Coarsened
from sfumato.project.release.weights import population_uniques, weight_column, weights_of

_MOST_NAMED: Final = 6
"""A sentence names so many columns; the others are counted."""

RELEASE_ADVICE: Final = (
    "Under Attributes, mark columns that nobody needs as identifying, so that they are left out, "
    "or group their values into bins; under Policy, show the quasi-identifiers more coarsely."
)


@dataclass(frozen=True)
class AloneInRelease:
    """How many records are alone in the columns that every recipient sees as they are.

    Parameters
    ----------
    columns
        These columns, in the table's order; at least one.
    records
        The number of records, n.
    alone
        How many of them agree with no other on all of these columns, 0 to n.
    smallest
        The records of the smallest group that agrees on them, at least 1.
    marked
        The quasi-identifiers among the columns, where there are others too; else none.
    marked_alone
        How many records are alone in these by themselves, 0 to n.
    weight
        The column of sampling weights; empty where there is none.
    expected
        How many of the records that are alone are expected to be so in the population, too, by
        their weights.
    recipient
        Whose view was counted, where quasi-identifiers are coarsened; else empty.
    """

    columns: tuple[str, ...]
    records: int
    alone: int
    smallest: int
    marked: tuple[str, ...] = ()
    marked_alone: int = 0
    weight: str = ""
    expected: float = 0.0
    recipient: str = ""


@dataclass(frozen=True)
class AloneInPublication:
    """How many records are alone in a generalized table, by columns that it shows exactly.

    Parameters
    ----------
    exact
        The columns that are published as they are, in the table's order; at least one.
    sensitive
        The attribute whose true values the table shows.
    records
        The number of records that are published.
    alone, before
        How many agree with no other record on these columns and the generalized ones, as they
        are published, and in the table as it is.
    smallest
        The records of the smallest published group that agrees on all of them, at least 1.
    """

    exact: tuple[str, ...]
    sensitive: str
    records: int
    alone: int
    before: int
    smallest: int


def published_as_they_are(document: Document) -> tuple[str, ...]:
    """Return the columns that a generalized table shows exactly, beside the sensitive one.

    In the table's order; none where nothing is decided about such a table.
    """
    decided = document.generalization
    if decided is None:
        return ()
    return tuple(
        name
        for name in public_names(document)
        if name not in decided.quasi_identifiers and name != decided.sensitive
    )


def left_out_as_sensitive(document: Document) -> tuple[str, ...]:
    """Return the sensitive columns that a generalized table leaves out, in the table's order.

    Its criteria weigh the values of one attribute; those of another could be the same in a whole
    class, so that everybody in it would be known to have them.
    """
    decided = document.generalization
    if decided is None:
        return ()
    return tuple(
        column.name
        for column in document.columns
        if column.role is Role.SENSITIVE and column.name != decided.sensitive
    )


def alone_in_release(
    document: Document, table: Table, context: Context, seen: Coarsened | None = None
) -> AloneInRelease | None:
    """Count the records that are alone in what perturbed releases show unperturbed.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    context
        Progress and cancelling.
    seen
        How coarsely the quasi-identifiers are shown to a recipient; None for as they are.

    Returns
    -------
    AloneInRelease or None
        None where every column is perturbed or left out.

    Raises
    ------
    TableError
        If the table lacks such a column, or has no rows.
    DomainError
        If a row does not fit a column's bins.
    """
    names = public_names(document)
    if not names:
        return None
    if seen is None:
        groups = groups_known_by(document, table, names, context)
    else:
        shown = {
            n: seen.columns[n] if n in seen.columns else open_column(table, document.column(n))
            for n in names
        }
        groups = micro_groups(pd.DataFrame(shown, copy=False), names, context)
    recipient = "" if seen is None else seen.coarsening.own.recipient
    smallest = int(groups.sizes.min())
    found = AloneInRelease(names, groups.records, _alone(groups), smallest, recipient=recipient)
    marked = tuple(n for n in names if is_known_to_others(document.column(n)))
    if len(marked) not in (0, len(names)):
        known = without(groups, [name for name in names if name not in marked])
        found = replace(found, marked=marked, marked_alone=_alone(known))
    weight, weights = weight_column(document), weights_of(document, table)
    if weight is not None and weights is not None:
        expected = population_uniques(groups.sizes[groups.codes] == 1, weights)
        found = replace(found, weight=weight.name, expected=expected)
    return found


def alone_in_publication(
    document: Document, table: Table, publication: Publication, context: Context
) -> AloneInPublication | None:
    """Count the records of a generalized table that are alone by columns it shows exactly.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    publication
        The generalized table; records that were left out are not counted.
    context
        Progress and cancelling.

    Returns
    -------
    AloneInPublication or None
        None where every column but the sensitive one is generalized or left out.
    """
    decided, exact = document.generalization, published_as_they_are(document)
    if decided is None or not exact:
        return None
    names = (*decided.quasi_identifiers, *exact)
    after = micro_groups(publication.frame, names, Part(context, 0.0, 0.5))
    before = micro_groups(table.frame, names, Part(context, 0.5, 1.0))
    smallest = int(after.sizes.min())
    found = (after.records, _alone(after), _alone(before), smallest)
    return AloneInPublication(exact, decided.sensitive, *found)


def _alone(groups: MicroGroups) -> int:
    return int(np.count_nonzero(groups.sizes == 1))


def release_sentence(found: AloneInRelease) -> str:
    """Say how many records are alone in what is released unperturbed."""
    columns = _named(found.columns)
    shown = (
        Sentence(
            "what {recipient} sees unperturbed ({columns})",
            recipient=found.recipient,
            columns=columns,
        )
        if found.recipient
        else Sentence("the columns released unchanged ({columns})", columns=columns)
    )
    named = {"shown": shown, "records": found.records}
    if found.alone == 0:
        return Sentence(
            "No record is unique on {shown}; the smallest group with the same values has"
            " {smallest:,} of {records:,} records.",
            smallest=found.smallest,
            **named,
        )
    if found.alone == 1:
        said = Sentence(
            "1 of {records:,} records is unique on {shown}: anyone who knows these values of a"
            " person can find the person's row.",
            **named,
        )
    else:
        said = Sentence(
            "{alone:,} of {records:,} records are unique on {shown}: anyone who knows these values"
            " of such a person can find the person's row.",
            alone=found.alone,
            **named,
        )
    by_marked = by_weights = ""
    if found.marked:
        by_marked = Sentence(
            "Unique on the quasi-identifiers only ({columns}): {alone:,}.",
            columns=_named(found.marked),
            alone=found.marked_alone,
        )
    if found.weight:
        by_weights = Sentence(
            "By the sampling weights ({column}), about {expected:,.1f} of the unique records are"
            " expected to be unique in the whole population.",
            column=found.weight,
            expected=found.expected,
        )
    return joined(said, by_marked, by_weights) if by_marked or by_weights else said


def exact_sentence(exact: Sequence[str]) -> str:
    """Say that columns are published as they are; empty where there are none."""
    if not exact:
        return ""
    if len(exact) == 1:
        return Sentence(
            "{column} is published unchanged: nothing promised here protects a person from"
            " someone who knows that value of theirs.",
            column=exact[0],
        )
    return Sentence(
        "{columns} are published unchanged: nothing promised here protects a person from someone"
        " who knows these values of theirs.",
        columns=_named(exact),
    )


def publication_sentence(found: AloneInPublication) -> str:
    """Say how many records are alone by the columns that are published as they are."""
    named = {"columns": _named(found.exact), "records": found.records}
    if found.alone == 0:
        return Sentence(
            "No record is unique on {columns} and the generalized columns together; the smallest"
            " group with the same values has {smallest:,} of {records:,} records.",
            smallest=found.smallest,
            **named,
        )
    if found.alone == 1:
        return Sentence(
            "On {columns} and the generalized columns together, 1 of {records:,} records is"
            " unique: anyone who knows these values of a person finds the row, and {sensitive}"
            " in it.",
            sensitive=found.sensitive,
            **named,
        )
    return Sentence(
        "On {columns} and the generalized columns together, {alone:,} of {records:,} records are"
        " unique: anyone who knows these values of such a person finds the row, and {sensitive}"
        " in it.",
        alone=found.alone,
        sensitive=found.sensitive,
        **named,
    )


def publication_advice(exact: Sequence[str]) -> str:
    """Say what can be done about columns that are published as they are; empty without any."""
    if not exact:
        return ""
    if len(exact) == 1:
        return Sentence(
            "Make it a quasi-identifier with a hierarchy and tick it, or mark it as identifying,"
            " so that it is left out."
        )
    return Sentence(
        "Make them quasi-identifiers with hierarchies and tick them, or mark them as identifying,"
        " so that they are left out."
    )


def left_out_sentence(document: Document) -> str:
    """Say which other sensitive columns are left out, and why; empty where there are none."""
    names = left_out_as_sensitive(document)
    if not names or document.generalization is None:
        return ""
    shown = document.generalization.sensitive
    if len(names) == 1:
        return Sentence(
            "{column} is also sensitive and is left out: the condition on each class covers"
            " {shown} only.",
            column=names[0],
            shown=shown,
        )
    return Sentence(
        "{columns} are also sensitive and are left out: the condition on each class covers"
        " {shown} only.",
        columns=_named(names),
        shown=shown,
    )


def publication_limits(
    document: Document, found: AloneInPublication | None, *, advice: bool
) -> tuple[str, ...]:
    """Return what a generalized table does not promise because of what it shows exactly.

    Parameters
    ----------
    document
        What is decided.
    found
        The records that are alone; None where they are not counted yet.
    advice
        Whether the reader can change the table.
    """
    exact = published_as_they_are(document)
    counted = publication_sentence(found) if found is not None and found.exact == exact else ""
    said = (exact_sentence(exact), counted, publication_advice(exact) if advice else "")
    return tuple(filter(None, said))


def told_alone(found: AloneInPublication | None) -> dict[str, Any] | None:
    """Return what the ledger keeps of the records that are alone; None where nothing is exact."""
    if found is None:
        return None
    kept = (found.records, found.alone, found.before, found.smallest)
    numbers = dict(zip(("records", "alone", "before", "smallest"), kept, strict=True))
    return {"columns": list(found.exact), "sensitive": found.sensitive, **numbers}


def alone_from(told: dict[str, Any]) -> AloneInPublication:
    """Return what `told_alone` made `told` of."""
    numbers = (told["records"], told["alone"], told["before"], told["smallest"])
    return AloneInPublication(tuple(told["columns"]), told["sensitive"], *numbers)


def _named(columns: Sequence[str]) -> str:
    """Return columns for a sentence; of many, the first, and how many more there are."""
    if len(columns) <= _MOST_NAMED + 1:
        return listed(tuple(columns))
    return Sentence(
        "{columns} and {more} more",
        columns=", ".join(columns[:_MOST_NAMED]),
        more=len(columns) - _MOST_NAMED,
    )
