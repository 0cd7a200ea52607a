"""What the panel changes in a document: plain functions from one document to the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pandas as pd

from sfumato.engine.core.columns import Binning, Domain, Kind, MissingRule
from sfumato.engine.core.errors import DomainError
from sfumato.engine.core.values import Value, sort_key
from sfumato.project.document.model import Document


def with_kind(document: Document, name: str, kind: Kind) -> Document:
    """Read a column as another kind; its domain and bins begin anew."""
    column = document.column(name)
    spec = replace(column, kind=kind, domain=None, binning=None, from_rows=False)
    return document.with_column(spec)


def with_domain(document: Document, name: str, domain: Domain) -> Document:
    """Let a column take these values; with others than before, they are the custodian's list."""
    spec = document.column(name)
    same = spec.domain is not None and set(spec.domain.values) == set(domain.values)
    return document.with_column(replace(spec, domain=domain, from_rows=spec.from_rows and same))


def with_binning(
    document: Document, name: str, binning: Binning | None, *, from_rows: bool = False
) -> Document:
    """Divide a column of numbers into bins, or stop doing so.

    Parameters
    ----------
    document, name, binning
        Which column gets which bins.
    from_rows
        Whether the edges were proposed from the rows, not stated by a person.
    """
    spec = document.column(name)
    changed = replace(spec, binning=binning, domain=None, from_rows=from_rows)
    return document.with_column(changed)


def confirmed(document: Document, name: str) -> Document:
    """Take a column's values, or its bins, for what could occur: a person has said so."""
    return document.with_column(replace(document.column(name), from_rows=False))


def with_missing(document: Document, name: str, rule: MissingRule, occurs: bool) -> Document:
    """Say what a missing value means; the domain follows.

    Parameters
    ----------
    document, name
        Which column.
    rule
        What a missing value means from now on.
    occurs
        Whether values are missing in the table.
    """
    spec = replace(document.column(name), missing=rule)
    domain = spec.domain
    if domain is not None:
        values: tuple[Value, ...] = tuple(v for v in domain.values if v is not None)
        if rule is MissingRule.VALUE and (occurs or domain.allows_missing):
            values = (*values, None)
        spec = replace(spec, domain=Domain(values, domain.labels))
    return document.with_column(spec)


# ----- values of a domain


def value_of_text(text: str, values: Iterable[Value], series: pd.Series) -> Value:
    """Return what a person typed as a value of the column's own type.

    Raises
    ------
    DomainError
        If the text is empty or not of the type.
    """
    text = text.strip()
    if not text:
        raise DomainError("The new value is empty.", "Type a value.")
    kinds = {type(value) for value in values if value is not None}
    stored = str(series.dtype).lower()
    try:
        if kinds == {bool} or stored in ("bool", "boolean"):
            return _yes_or_no(text)
        if kinds == {int} or (not kinds and "int" in stored):
            return int(text)
        if kinds and kinds <= {int, float}:
            return float(text.replace(",", "."))
    except ValueError:
        raise DomainError(
            "The new value is not of the type of the others.", "Type a number, or true or false."
        ) from None
    return text


def _yes_or_no(text: str) -> bool:
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}
    if text.lower() not in words:
        raise ValueError(text)
    return words[text.lower()]


def add_value(domain: Domain, value: Value) -> Domain:
    """Add a value at the end, before missing."""
    known = [item for item in domain.values if item is not None]
    tail: list[Value] = [None] if domain.allows_missing else []
    return Domain((*known, value, *tail), domain.labels)


def remove_values(domain: Domain, places: Iterable[int]) -> Domain:
    """Remove the values at these places."""
    gone = set(places)
    values = tuple(value for place, value in enumerate(domain.values) if place not in gone)
    kept = {value: text for value, text in domain.labels.items() if value in values}
    return Domain(values, kept)


def move_value(domain: Domain, place: int, by: int) -> Domain:
    """Move a value up (negative) or down."""
    values = list(domain.values)
    target = min(max(place + by, 0), len(values) - 1)
    values.insert(target, values.pop(place))
    return Domain(tuple(values), domain.labels)


def sorted_domain(domain: Domain) -> Domain:
    """Sort the values by themselves; missing stays last.

    Never by how often they occur: recipients see the order, which would tell that.
    """
    known = sorted((value for value in domain.values if value is not None), key=sort_key)
    tail: list[Value] = [None] if domain.allows_missing else []
    return Domain((*known, *tail), domain.labels)


def with_label(domain: Domain, place: int, text: str) -> Domain:
    """Show a value by another text; an empty one shows the value itself."""
    labels = dict(domain.labels)
    value = domain.values[place]
    if text.strip() and text.strip() != str(value):
        labels[value] = text.strip()
    else:
        labels.pop(value, None)
    return Domain(domain.values, labels)


def relabelled(binning: Binning, place: int, text: str) -> Binning:
    """Give one bin another name; an empty one gives it back the name made from its edges."""
    names = list(binning.names)
    plain = Binning(binning.edges).names
    names[place] = text.strip() or plain[place]
    return Binning(binning.edges, () if tuple(names) == plain else tuple(names))
