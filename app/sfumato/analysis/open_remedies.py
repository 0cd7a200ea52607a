"""What can be done about columns that tell a sensitive attribute: the document as it would be."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.profile import suggest_binning
from sfumato.engine.table.table import Table, encode_column, with_proposed_domain
from sfumato.project.document.model import Document, with_members

BINS: Final = 5
"""So many bins make a column of numbers coarse."""


def protected_too(
    document: Document, table: Table, attribute: str, columns: Sequence[str], noise: KeyedNoise
) -> Document:
    """Mark columns as sensitive, and protect them together with an attribute where that can be.

    What can't be protected together with it, such as numbers beside categories, is sensitive and
    waits for a mechanism of its own.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    attribute
        The sensitive attribute that the columns tell.
    columns
        These.
    noise
        Draws noise for statistics of the table.

    Raises
    ------
    DomainError
        If a column's values don't fit.
    """
    for name in columns:
        spec = replace(document.column(name), role=Role.SENSITIVE)
        if spec.kind is not Kind.NUMERIC or spec.binning is not None:
            spec = with_proposed_domain(table, spec)
        document = document.with_column(spec)
    if document.entry_for(attribute) is None:
        return document
    involved = {name for one in document.policy for name in one.attributes} | set(columns)
    known = {
        name: encode_column(table, document.column(name)).attribute for name in sorted(involved)
    }
    for name in columns:
        entry = document.entry_for(attribute)
        if entry is not None:
            with suppress(SfumatoError):
                members = (*entry.attributes, name)
                document = with_members(document, entry.key, members, known, noise)
    return document


def left_out(document: Document, columns: Sequence[str]) -> Document:
    """Leave columns out of every release."""
    for name in columns:
        spec = replace(document.column(name), role=Role.IDENTIFYING, binning=None)
        document = document.with_column(spec)
    return document


def divisible(document: Document, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that hold numbers and are not divided into few bins yet."""
    return tuple(name for name in columns if _divisible(document.column(name)))


def _divisible(spec: ColumnSpec) -> bool:
    fine = spec.binning is None or len(spec.binning.edges) > BINS + 1
    return spec.kind is Kind.NUMERIC and fine


def made_coarser(document: Document, table: Table, columns: Sequence[str]) -> Document:
    """Divide columns of numbers into a few bins.

    Raises
    ------
    PolicyError
        If none of them holds numbers that are not binned so coarsely yet.
    DomainError
        If their numbers can't be divided.
    """
    changed = document
    for name in columns:
        spec = document.column(name)
        if not _divisible(spec):
            continue
        binning = suggest_binning(table.column(name), BINS)
        # They follow from the rows until somebody confirms them.
        spec = replace(spec, binning=binning, coding=None, domain=None, from_rows=True)
        changed = changed.with_column(spec)
    if changed == document:
        raise PolicyError(
            "{columns} can't be made coarser by bins.",
            "Give them a hierarchy, protect them too, or leave them out.",
            columns=", ".join(columns),
        )
    return changed
