"""Which groups one release gives away, computed in a job; no widgets here."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

from sfumato.analysis.remedies import examined_remedies
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.estimate_tails import retention_of
from sfumato.engine.disclosure.group_risk import GroupRisk, RiskLimits, group_risk
from sfumato.engine.disclosure.group_view import GroupView, group_view
from sfumato.engine.disclosure.remedies import Remedy
from sfumato.engine.disclosure.risk_curves import CurvePoint, Setting, risk_curves
from sfumato.engine.mechanisms.reconstruction.privacy import Rule
from sfumato.engine.randomness.keys import KeyRing
from sfumato.project.release.attacker import (
    Attacked,
    Exposure,
    attacked,
    exposure,
    released_values,
)
from sfumato.ui.panels.audit.groups.page import Subject

MOST_LISTED = 1_000
"""Groups in the list, the riskiest first."""

USUAL_RETENTION = 0.5
"""What the curves start from where a release has no retention probability of its own."""


@dataclass(frozen=True)
class RiskAnswer:
    """What the page about small groups shows.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    shown
        The recipient's release.
    risk
        What violates.
    remedies
        What releasing less of public columns would change.
    listed
        The groups in the list, the riskiest first.
    released
        How often each value is released in each group; None where nothing can be estimated.
    """

    known: Attacked
    shown: Exposure
    risk: GroupRisk
    remedies: tuple[Remedy, ...]
    listed: tuple[int, ...]
    released: sparse.csr_array | None

    def view(self, group: int) -> GroupView:
        """Return one group's true distribution beside its reconstruction."""
        released = None
        if self.released is not None:
            released = np.asarray(self.released[[group]].todense(), dtype=np.int64).ravel()
        law = None if self.shown.trials is None else self.shown.trials.law
        return group_view(self.known.grouped, group, self.shown.matrix, released, law)


def answer_risk(
    subject: Subject, limits: RiskLimits, keys: KeyRing, context: Context
) -> RiskAnswer:
    """Examine the groups of one recipient's release.

    Raises
    ------
    SfumatoError
        If the release can't be examined.
    """
    document, table = subject.document, subject.table
    known = attacked(document, table, subject.column, subject.knowledge, Part(context, 0.0, 0.1))
    recipient = document.recipient(subject.recipient)
    shown = exposure(document, subject.entry, known, recipient)
    risk = group_risk(known.grouped, shown.matrix, limits, Part(context, 0.2, 0.4), shown.trials)
    fixes = examined_remedies(
        document, table, subject.entry, known, shown, limits, Part(context, 0.4, 0.8)
    )
    released = None
    if shown.trust > 0.0:
        released = released_values(
            document, table, subject.entry, known, recipient, keys, Part(context, 0.8, 1.0)
        )
    return RiskAnswer(known, shown, risk, fixes, riskiest(known, risk), released)


def riskiest(known: Attacked, risk: GroupRisk) -> tuple[int, ...]:
    """Return groups, violating ones first, and the largest of them first."""
    order = np.lexsort((-known.grouped.sizes, ~risk.violating))
    return tuple(int(group) for group in order[:MOST_LISTED])


def answer_curves(subject: Subject, limits: RiskLimits, context: Context) -> tuple[CurvePoint, ...]:
    """Return how the violating shares move with p, ε, δ and size, around a release.

    Raises
    ------
    SfumatoError
        If the groups can't be formed.
    """
    document = subject.document
    known = attacked(
        document, subject.table, subject.column, subject.knowledge, Part(context, 0.0, 0.1)
    )
    recipient = document.recipient(subject.recipient)
    shown = exposure(document, subject.entry, known, recipient)
    retention = retention_of(shown.matrix)
    if retention is None or not 0.0 < retention < 1.0:
        retention = USUAL_RETENTION
    start = Setting(retention, limits, known.groups.records)
    return risk_curves(
        known.groups,
        known.codes,
        known.grouped.values,
        start,
        Part(context, 0.2, 1.0),
        rules=[limits.rule],
    )


@dataclass(frozen=True)
class Gain:
    """How often a guess is right for the people of the groups that are given away.

    Parameters
    ----------
    group_guess
        By guessing each group's most frequent value.
    highest
        The same in the group where it is right most often.
    table_guess
        By guessing the whole table's most frequent value.
    """

    group_guess: float
    highest: float
    table_guess: float


def gain_of(answer: RiskAnswer) -> Gain | None:
    """Return what an attacker gains who knows the shares in the violating groups; else None."""
    grouped, violating = answer.known.grouped, answer.risk.violating
    if not violating.any():
        return None
    people = int(grouped.sizes[violating].sum())
    commonest = int(np.asarray(grouped.counts.sum(axis=0)).argmax())
    in_table = np.asarray(grouped.counts[np.flatnonzero(violating)].sum(axis=0))
    return Gain(
        float(grouped.largest[violating].sum()) / people,
        float(grouped.shares[violating].max()),
        float(in_table[commonest]) / people,
    )


def passed_by_published_rule(answer: RiskAnswer) -> npt.NDArray[np.bool_]:
    """Return which groups the simplified published test lets pass, shape (G,).

    Raises
    ------
    EstimationError
        If the release has no retention probability that all values share.
    """
    if answer.risk.allowed is None:
        raise EstimationError("There is no published test for this release.")
    passed: npt.NDArray[np.bool_] = answer.known.grouped.sizes <= answer.risk.allowed
    return passed


def as_frame(answer: RiskAnswer, names: dict[str, str]) -> pd.DataFrame:
    """Return the listed groups as a table. For the custodian's eyes only.

    Parameters
    ----------
    answer
        What was found.
    names
        The columns' headings: size, value, share, within, allowed, violates.
    """
    grouped, risk = answer.known.grouped, answer.risk
    rows = np.array(answer.listed, dtype=np.int64)
    domain = answer.known.attribute.domain
    labels = domain.names if domain is not None else ()
    columns: dict[str, object] = {
        names["size"]: grouped.sizes[rows],
        names["value"]: [labels[int(code)] for code in grouped.commonest[rows]],
        names["share"]: np.round(100.0 * grouped.shares[rows], 1),
        names["within"]: np.round(100.0 * risk.tails.within[rows], 1),
    }
    if risk.allowed is not None:
        columns[names["allowed"]] = np.round(risk.allowed[rows], 1)
    columns[names["violates"]] = np.where(risk.violating[rows], names["yes"], names["no"])
    for attribute in grouped.attributes:
        shown = [attribute.value(int(code)) for code in attribute.codes[rows]]
        heading = attribute.name if attribute.name not in columns else f"{attribute.name} "
        columns[heading] = pd.Series(shown, dtype=object)
    return pd.DataFrame(columns)


def rule_of(value: object) -> Rule:
    """Return the test that a field's value stands for."""
    return Rule(str(value))
