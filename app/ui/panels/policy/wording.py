"""What a level means, in plain words computed from what will be released."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PySide6.QtCore import QCoreApplication

from app.engine.errors import SfumatoError
from app.engine.estimate import Target, expected_standard_errors, record_utility
from app.engine.matrix import PerturbationMatrix
from app.engine.mechanisms.base import LevelTerm, Mechanism, Statement
from app.engine.table import Attribute
from app.plots.figure import percent
from app.project.model import PolicyEntry

HUNCH = 0.1
"""The belief before that examples start from."""

NORMAL_95 = 1.96


def tr(template: str, **details: object) -> str:
    """Return a sentence of the policy panel in the person's language, filled in."""
    return QCoreApplication.translate("Policy", template).format(**details)


def number(value: float, digits: int = 3) -> str:
    """Return a number with so many significant digits and no noise; infinity as a sign."""
    if math.isinf(value):
        return "∞"
    if value == 0:
        return "0"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 0)
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def statement_text(mechanism: Mechanism, statement: Statement) -> str:
    """Return a statement as ``p = 0.6`` or ``ρ 0.1 → 0.5``, by its fields' names."""
    term = term_of(mechanism, statement)
    return tr("not known to this version") if term is None else term_text(term, statement)


def term_text(term: LevelTerm, statement: Statement) -> str:
    """Return the numbers of a statement in one of its mechanism's terms, with their names."""
    numbers = [number(statement[field.name]) for field in term.fields]
    if len(numbers) == 1:
        return f"{tr(term.fields[0].title)} = {numbers[0]}"
    letters = {tr(field.title)[:1] for field in term.fields}
    shared = letters.pop() if len(letters) == 1 else ""
    return f"{shared} {' → '.join(numbers)}".strip()


def term_of(mechanism: Mechanism, statement: Statement) -> LevelTerm | None:
    """Return the term that a statement uses; None where the mechanism has no such term."""
    return next(
        (
            term
            for term in mechanism.terms
            if {field.name for field in term.fields} == set(statement)
        ),
        None,
    )


def kept(matrix: PerturbationMatrix, attributes: Sequence[Attribute]) -> str:
    """Return how many records show their true value."""
    share = record_utility(attributes[0].frequencies, matrix)
    return tr(
        "{share} of records show their true value, and nobody can tell which.",
        share=percent(share, 0 if 0.01 < share < 0.99 else 1),
    )


def suspicion(matrix: PerturbationMatrix) -> str:
    """Return how far a hunch about a person can rise."""
    return tr(
        "A hunch of {before} about someone can rise to {after} at most.",
        before=percent(HUNCH, 0),
        after=percent(math.floor(matrix.rho2_for(HUNCH) * 1000 + 0.999) / 1000, 0),
    )


def usefulness(matrix: PerturbationMatrix, attributes: Sequence[Attribute]) -> str:
    """Return how well a recipient can estimate the shares of the values."""
    counts = attributes[0].counts
    if counts is None:
        return ""
    rows = int(counts.sum())
    try:
        errors = expected_standard_errors(attributes[0].frequencies, matrix, rows, Target.TABLE)
    except SfumatoError:
        return tr("Nothing can be estimated from it.")
    worst = NORMAL_95 * float(errors.max())
    if worst >= 0.5:
        return tr("Shares can hardly be estimated from it.")
    return tr(
        "From {rows} records, each value's share can be estimated to within ±{points} percentage"
        " points (95\u202f%).",
        rows=grouped(rows),
        points=number(worst * 100, 2),
    )


def grouped(count: int) -> str:
    """Return a count with a thin space between thousands."""
    return f"{count:,}".replace(",", "\u202f")


def attributes_named(
    entry: PolicyEntry, known: Mapping[str, Attribute]
) -> tuple[Attribute, ...] | None:
    """Return an entry's attributes, or None while one of them is not known."""
    if any(name not in known for name in entry.attributes):
        return None
    return tuple(known[name] for name in entry.attributes)
