"""What a level means, in plain words computed from what will be released."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.matrices.estimate import Target, expected_standard_errors
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.table.combinations import combined
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import grouped
from sfumato.ui.look.wording import filled_in, number

NORMAL_95 = 1.96


def tr(template: str, **details: object) -> str:
    """Return a sentence of the policy panel in the person's language, filled in."""
    return filled_in(QCoreApplication.translate("Policy", template), **details)


def some_rows(attribute: Attribute) -> str:
    """Return what is told of numbers that are those of some rows only; empty where of all."""
    if attribute.numbers is None or attribute.beyond is None:
        return ""
    return tr(
        "The table is read in parts: what is measured, and what is said of its numbers, comes from"
        " {rows} {rows:row|rows}, drawn evenly.",
        rows=grouped(len(attribute.numbers)),
    )


def mean_known(attribute: Attribute, means: str) -> str:
    """Return how closely a recipient can estimate the means of numbers with noise."""
    return tr(
        "From {rows} {rows:record|records}, the mean can be estimated to within {means}"
        " (95\u202f%).",
        rows=grouped(attribute.present),
        means=means,
    )


def usefulness(matrix: PerturbationMatrix, attributes: Sequence[Attribute]) -> str:
    """Return how well a recipient can estimate the shares of the values."""
    whole = combined(attributes)
    counts = whole.counts
    if counts is None:
        return ""
    rows = int(counts.sum())
    try:
        errors = expected_standard_errors(whole.frequencies, matrix, rows, Target.TABLE)
    except SfumatoError:
        return tr("Nothing can be estimated from it.")
    worst = NORMAL_95 * float(errors.max())
    if worst >= 0.5:
        return tr("Shares can hardly be estimated from it.")
    return tr(
        "From {rows} {rows:record|records}, each value's share can be estimated to within"
        " ±\u202f{points} percentage {points:point|points} (95\u202f%).",
        rows=grouped(rows),
        points=number(worst * 100, 2),
    )
