"""What a person changes in a document's columns: functions from one document to the next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from sfumato.engine.core.coding import Coding
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Pseudonym, Role
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, Table, with_proposed_domain
from sfumato.project.document.model import Document, without_stray_attributes


def with_roles(
    document: Document,
    names: Iterable[str],
    role: Role,
    known: Mapping[str, Attribute],
    noise: KeyedNoise,
) -> Document:
    """Give columns a role; a policy for what is not sensitive any more goes.

    Attributes that were protected together with one of them stay protected.

    Parameters
    ----------
    document, names, role
        Which columns get which role.
    known
        The policy's attributes, by name, as far as they are known.
    noise
        Draws noise for statistics of the table.
    """
    for name in names:
        document = document.with_column(replace(document.column(name), role=role))
    return without_stray_attributes(document, known, noise)


def needs_domain(spec: ColumnSpec) -> bool:
    """Return whether a column's values must be fixed: it is sensitive and categorical."""
    by_values = spec.kind is not Kind.NUMERIC or spec.binning is not None
    return spec.role is Role.SENSITIVE and by_values and spec.domain is None


def with_fixed_domains(
    document: Document, table: Table, known: Mapping[str, Domain] | None = None
) -> Document:
    """Fix the domain of each sensitive attribute that has none yet.

    Parameters
    ----------
    document
        What is to be completed.
    table
        Where the values are looked up, which takes a while where there are many rows.
    known
        Domains that need no looking up.
    """
    for spec in document.sensitive:
        if needs_domain(spec) and spec.name in table.columns:
            suggested = (known or {}).get(spec.name)
            document = document.with_column(with_proposed_domain(table, spec, suggested))
    return document


def with_coding(document: Document, name: str, coding: Coding | None) -> Document:
    """Round a column of numbers and cut it off at its ends, or leave it as it is."""
    return document.with_column(replace(document.column(name), coding=coding))


def with_pseudonym(document: Document, name: str, pseudonym: Pseudonym | None) -> Document:
    """Show pseudonyms in the place of an identifying column, or drop it."""
    return document.with_column(replace(document.column(name), pseudonym=pseudonym))
