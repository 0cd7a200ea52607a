"""Records that are alone in what goes out as it is: how many, and what that means.

Whoever knows the values of some columns about a person finds the person's row wherever no other
row agrees on them. A promise about a sensitive column says nothing about that, so the custodian is
told beside it. Rows that agree are a micro group (Wang, Han and Fu 2012, definition 1); a record
is alone in a group of one. Where several rows belong to one person, household or company, such a
unit is alone where all rows of a group are its own: five rows that are alike tell of nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Role
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.table.repeated_units import Codes
from sfumato.project.document.model import Document
from sfumato.project.release.groups import (
    public_names,
)

_MOST_NAMED: Final = 6
"""A sentence names so many columns; the others are counted."""

RELEASE_ADVICE: Final = (
    "Under Attributes, mark columns that nobody needs as identifying, so that they are left out, "
    "or group their values into bins; under Policy, show the quasi-identifiers more coarsely."
)


@dataclass(frozen=True)
class SampleUniques:
    """How many records are alone in the columns that every recipient sees as they are.

    Parameters
    ----------
    columns
        These columns, in the table's order; at least one.
    records
        The number of records, n.
    alone
        How many of them agree with no other on all of these columns, 0 to n; or how many units
        with no other.
    smallest
        The records, or units, of the smallest group that agrees on them, at least 1.
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
    unit, units, rows
        What the units are called that were counted, how many there are, and how many records the
        ones that are alone are found by; where records were counted, empty and 0.
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
    unit: str = ""
    units: int = 0
    rows: int = 0


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
    unit, units
        What the units are called that `alone`, `before` and `smallest` count in place of records,
        and how many are published; where records were counted, empty and 0.
    """

    exact: tuple[str, ...]
    sensitive: str
    records: int
    alone: int
    before: int
    smallest: int
    unit: str = ""
    units: int = 0


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


def one_of_each(rows: npt.NDArray[np.bool_], units: Codes) -> npt.NDArray[np.bool_]:
    """Return the first of each unit's rows among some: it stands for the unit."""
    places = np.flatnonzero(rows)
    chosen = np.zeros_like(rows)
    chosen[places[np.unique(units[places], return_index=True)[1]]] = True
    return chosen


def release_sentence(found: SampleUniques) -> str:
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
    said = _unique_units(found, shown) if found.unit else _unique_records(found, shown)
    if not found.alone:
        return said
    by_marked = by_weights = ""
    if found.marked:
        by_marked = Sentence(
            "Unique on the quasi-identifiers only ({columns}): {alone:,}.",
            columns=_named(found.marked),
            alone=found.marked_alone,
        )
    if found.weight:
        by_weights = population_sentence(found.weight, found.expected, by_unit=bool(found.unit))
    return joined(said, by_marked, by_weights) if by_marked or by_weights else said


def population_sentence(weight: str, expected: float, *, by_unit: bool) -> Sentence:
    """Say how many unique records, or units, are expected to be unique in the population."""
    return Sentence(
        "By the sampling weights ({column}), about {expected:,.1f} of the unique units are"
        " expected to be unique in the whole population."
        if by_unit
        else "By the sampling weights ({column}), about {expected:,.1f} of the unique records are"
        " expected to be unique in the whole population.",
        column=weight,
        expected=expected,
    )


def _unique_units(found: SampleUniques, shown: str) -> str:
    """Say how many units are unique."""
    named = {"shown": shown, "unit": found.unit, "units": found.units}
    if found.alone == 0:
        return Sentence(
            "No unit (records with the same {unit}) is unique on {shown}; the smallest group with"
            " the same values has records of {smallest:,} of {units:,} {units:unit|units}.",
            smallest=found.smallest,
            **named,
        )
    return Sentence(
        "{alone:,} of {units:,} {units:unit|units} (records with the same {unit}) {alone:is|are}"
        " unique on {shown}, by {rows:,} of {records:,} {records:record|records}: anyone who knows"
        " these values of such a unit can find its rows.",
        alone=found.alone,
        rows=found.rows,
        records=found.records,
        **named,
    )


def _unique_records(found: SampleUniques, shown: str) -> str:
    """Say how many records are unique."""
    named = {"shown": shown, "records": found.records}
    if found.alone == 0:
        return Sentence(
            "No record is unique on {shown}; the smallest group with the same values has"
            " {smallest:,} of {records:,} {records:record|records}.",
            smallest=found.smallest,
            **named,
        )
    return Sentence(
        "{alone:,} of {records:,} {records:record|records} {alone:is|are} unique on {shown}:"
        " anyone who knows these values of {alone:a|such a} person can find the person's row.",
        alone=found.alone,
        **named,
    )


def exact_sentence(exact: Sequence[str]) -> str:
    """Say that columns are published as they are; empty where there are none."""
    if not exact:
        return ""
    return Sentence(
        "{columns} {count:is|are} published unchanged: nothing promised here protects a person from"
        " someone who knows {count:that value|these values} of theirs.",
        columns=_named(exact),
        count=len(exact),
    )


def publication_sentence(found: AloneInPublication) -> str:
    """Say how many records are alone by the columns that are published as they are."""
    if found.unit:
        return _published_units(found)
    named = {"columns": _named(found.exact), "records": found.records}
    if found.alone == 0:
        return Sentence(
            "No record is unique on {columns} and the generalized columns together; the smallest"
            " group with the same values has {smallest:,} of {records:,} {records:record|records}.",
            smallest=found.smallest,
            **named,
        )
    return Sentence(
        "On {columns} and the generalized columns together, {alone:,} of {records:,}"
        " {records:record|records} {alone:is|are} unique: anyone who knows these values of"
        " {alone:a|such a} person finds the row, and {sensitive} in it.",
        alone=found.alone,
        sensitive=found.sensitive,
        **named,
    )


def _published_units(found: AloneInPublication) -> str:
    """Say how many units are alone by the columns that are published as they are."""
    named = {"columns": _named(found.exact), "unit": found.unit, "units": found.units}
    if found.alone == 0:
        return Sentence(
            "No unit (records with the same {unit}) is unique on {columns} and the generalized"
            " columns together; the smallest group with the same values has records of"
            " {smallest:,} of {units:,} {units:unit|units}.",
            smallest=found.smallest,
            **named,
        )
    return Sentence(
        "On {columns} and the generalized columns together, {alone:,} of {units:,}"
        " {units:unit|units} (records with the same {unit}) {alone:is|are} unique: anyone who"
        " knows these values of such a unit finds its rows, and {sensitive} in them.",
        alone=found.alone,
        sensitive=found.sensitive,
        **named,
    )


def publication_advice(exact: Sequence[str]) -> str:
    """Say what can be done about columns that are published as they are; empty without any."""
    if not exact:
        return ""
    return Sentence(
        "Make {count:it a quasi-identifier with a hierarchy and tick it|them quasi-identifiers with"
        " hierarchies and tick them}, or mark {count:it|them} as identifying, so that"
        " {count:it is|they are} left out.",
        count=len(exact),
    )


def left_out_sentence(document: Document) -> str:
    """Say which other sensitive columns are left out, and why; empty where there are none."""
    names = left_out_as_sensitive(document)
    if not names or document.generalization is None:
        return ""
    shown = document.generalization.sensitive
    return Sentence(
        "{columns} {count:is|are} also sensitive and {count:is|are} left out: the condition on each"
        " class covers {shown} only.",
        columns=_named(names),
        count=len(names),
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
    return tuple(filter(None, (*said, _missing_sentence(document), _by_record_sentence(document))))


def _missing_sentence(document: Document) -> str:
    """Say that missing sensitive values count as one; empty where none can be missing."""
    if document.generalization is None:
        return ""
    name = document.generalization.sensitive
    domain = document.column(name).domain
    if domain is None or not domain.allows_missing:
        return ""
    return Sentence(
        "A missing {sensitive} counts as a value of its own: whoever knows that a person's is not"
        " missing can rule it out.",
        sensitive=name,
    )


def _by_record_sentence(document: Document) -> str:
    """Say what goes by record in a generalized table; empty where rows stand alone."""
    if document.unit is None or document.generalization is None:
        return ""
    return Sentence(
        "All records of a unit (with the same {unit}) are in the table, however many. Conditions on"
        " {sensitive} count records: several of one unit in a class count each.",
        unit=document.unit.name,
        sensitive=document.generalization.sensitive,
    )


def told_alone(found: AloneInPublication | None) -> dict[str, Any] | None:
    """Return what the ledger keeps of the records that are alone; None where nothing is exact."""
    if found is None:
        return None
    kept = (found.records, found.alone, found.before, found.smallest)
    numbers = dict(zip(("records", "alone", "before", "smallest"), kept, strict=True))
    units = {"unit": found.unit, "units": found.units} if found.unit else {}
    return {"columns": list(found.exact), "sensitive": found.sensitive, **numbers, **units}


def alone_from(told: dict[str, Any]) -> AloneInPublication:
    """Return what `told_alone` made `told` of."""
    numbers = (told["records"], told["alone"], told["before"], told["smallest"])
    units = (told.get("unit", ""), told.get("units", 0))
    return AloneInPublication(tuple(told["columns"]), told["sensitive"], *numbers, *units)


def _named(columns: Sequence[str]) -> str:
    """Return columns for a sentence; of many, the first, and how many more there are."""
    if len(columns) <= _MOST_NAMED + 1:
        return listed(tuple(columns))
    return Sentence(
        "{columns} and {more} more",
        columns=", ".join(columns[:_MOST_NAMED]),
        more=len(columns) - _MOST_NAMED,
    )
