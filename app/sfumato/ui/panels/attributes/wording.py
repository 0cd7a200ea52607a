"""The words for roles, kinds and rules, each in one place."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.columns import Kind, MissingRule, Role

ROLE_ICONS = {
    Role.IDENTIFYING: ("person", "caution"),
    Role.QUASI_IDENTIFIER: ("people", "muted"),
    Role.SENSITIVE: ("lock", "accent"),
    Role.INSENSITIVE: ("file", "muted"),
}


def tr(text: str) -> str:
    """Return a text in the person's language."""
    return QCoreApplication.translate("Attributes", text)


def role_name(role: Role) -> str:
    """Return a role's name."""
    return {
        Role.IDENTIFYING: tr("Identifying"),
        Role.QUASI_IDENTIFIER: tr("Quasi-identifier"),
        Role.SENSITIVE: tr("Sensitive"),
        Role.INSENSITIVE: tr("Insensitive"),
    }[role]


def role_meaning(role: Role) -> str:
    """Return what a role does to a column, in a sentence."""
    return {
        Role.IDENTIFYING: tr("Names a person by itself. It is dropped from every release."),
        Role.QUASI_IDENTIFIER: tr(
            "Others can know it; together with more of the kind it can single a person out."
            " It is released as it is."
        ),
        Role.SENSITIVE: tr(
            "What nobody may learn about a person. Every release perturbs it by the policy."
        ),
        Role.INSENSITIVE: tr("Neither known to others nor private. It is released as it is."),
    }[role]


def kind_name(kind: Kind) -> str:
    """Return a kind's name."""
    return {
        Kind.CATEGORICAL: tr("Categories"),
        Kind.NUMERIC: tr("Numbers"),
        Kind.DATE: tr("Dates"),
        Kind.TEXT: tr("Free text"),
    }[kind]


def missing_name(rule: MissingRule, *, numbers: bool = False) -> str:
    """Return the name of what a missing value means, in categories or in numbers."""
    value = tr("stays missing in releases") if numbers else tr("is a value like any other")
    return {MissingRule.VALUE: value, MissingRule.REFUSED: tr("stops a release")}[rule]


def protection_of_numbers(*, binned: bool) -> str:
    """Return what becomes of a sensitive column of numbers, with bins or without."""
    if binned:
        return tr(
            "In bins, a release shows a bin's label, which the policy perturbs like a category."
            " Recipients estimate how many records fall into each bin."
        )
    return tr(
        "Without bins they stay numbers, protected by noise: recipients estimate means, spreads"
        " and how attributes depend on each other."
    )


def role_choices() -> Sequence[tuple[Role, str]]:
    """Return the roles with their names, in the order in which they are offered."""
    return [(role, role_name(role)) for role in Role]


def kinds_for(series: pd.Series) -> tuple[Kind, ...]:
    """Return the kinds that fit how a column is stored."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype) or pd.api.types.is_bool_dtype(dtype):
        return (Kind.CATEGORICAL, Kind.TEXT)
    if pd.api.types.is_numeric_dtype(dtype):
        return (Kind.CATEGORICAL, Kind.NUMERIC)
    if pd.api.types.is_datetime64_any_dtype(dtype):
        return (Kind.DATE, Kind.CATEGORICAL)
    return (Kind.CATEGORICAL, Kind.TEXT)
