"""What an attacker knows about the people of a table, and the groups that makes of them.

An attacker who looks for one person knows some of the columns that are released as they are.
Records that agree on them are a micro group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy

from sfumato.engine.core.columns import Codes
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Integers
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.disclosure.group_tails import effective_draws
from sfumato.engine.disclosure.grouped_values import GroupedValues, grouped_values
from sfumato.engine.disclosure.resampled_law import (
    GroupParts,
    ResampledLaw,
    Resampling,
    Trials,
)
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.micro_groups import MicroGroups, largest_counts, value_counts
from sfumato.engine.table.table import Attribute, EncodedColumn, Table
from sfumato.project.document.entry_plan import plan_entry
from sfumato.project.document.model import Document, PolicyEntry, Recipient
from sfumato.project.release.groups import groups_known_by
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.release.views import Coarsened, coarsened, coarsening_of, finest_of


@dataclass(frozen=True)
class Attacked:
    """A sensitive attribute as the attacker sees it: micro groups with their true values.

    Parameters
    ----------
    column
        The sensitive attribute with its rows, and the groups that its mechanism asks for.
    groups
        The micro groups that the attacker tells apart.
    grouped
        The values in each of these.
    seen
        The quasi-identifiers as the attacker's files show them; None for the values as they are.
    """

    column: EncodedColumn
    groups: MicroGroups
    grouped: GroupedValues
    seen: Coarsened | None = None

    @property
    def looked_up(self) -> str:
        """By which view people are looked up, in a sentence; empty for the values as they are."""
        if self.seen is None:
            return ""
        levels = [
            Sentence("{name} at level {level}", name=name, level=self.seen.coarsening.level(name))
            for name in self.grouped.names
            if name in self.seen.columns
        ]
        if not levels:
            return ""
        return Sentence(
            "People are looked up by what {recipient} sees: {levels}; {suppressed:,}"
            " {suppressed:record shows|records show} * instead.",
            recipient=self.seen.coarsening.own.recipient,
            levels=listed(levels),
            suppressed=self.seen.view.suppressed_rows,
        )

    @property
    def attribute(self) -> Attribute:
        """The sensitive attribute."""
        return self.column.attribute

    @property
    def codes(self) -> Codes:
        """Each record's true value, shape (n,)."""
        return cast("Codes", self.column.values)


@dataclass(frozen=True)
class Exposure:
    """One recipient's release of the attribute, planned or made.

    Parameters
    ----------
    recipient
        The recipient.
    level, trust
        The level in the mechanism's unit, and from 0 to 1.
    matrix
        The perturbation matrix.
    trials
        What the estimates for the attacker's groups rest on where the release repeats records;
        None where every record is perturbed by itself.
    """

    recipient: str
    level: float
    trust: float
    matrix: PerturbationMatrix
    trials: Trials | None = None


def attacked(
    document: Document,
    table: Table,
    column: EncodedColumn,
    names: Sequence[str],
    context: Context,
    recipients: Sequence[str] = (),
) -> Attacked:
    """Return a sensitive attribute as whoever knows some public columns sees it.

    Parameters
    ----------
    document, table
        What is decided, and the rows.
    column
        The sensitive attribute with its rows, and the groups that its mechanism asks for.
    names
        The public columns that the attacker knows.
    context
        Progress and cancelling.
    recipients
        Whose files the attacker has, and so the finest of their views of the quasi-identifiers;
        nobody's for the values as they are.

    Raises
    ------
    PolicyError
        If the attribute has no domain, or a column is not released as it is.
    DomainError
        If a row does not fit a column's bins.
    """
    domain = column.attribute.domain
    if domain is None:
        raise PolicyError(
            "Column {column} is numeric without bins: its values have no shares to estimate.",
            "Choose an attribute with a list of values.",
            column=column.attribute.name,
        )
    finest = finest_of(document, recipients)
    coarsening = None if finest is None else coarsening_of(document, finest)
    seen = None if coarsening is None else coarsened(coarsening, document.columns, table)
    shown = {} if seen is None else seen.columns
    groups = groups_known_by(document, table, names, Part(context, 0.0, 0.8), shown)
    grouped = grouped_values(groups, cast("Codes", column.values), domain.size)
    context.report(1.0, "Groups are ready")
    return Attacked(column, groups, grouped, seen)


def exposure(
    document: Document, entry: PolicyEntry, known: Attacked, recipient: Recipient
) -> Exposure:
    """Return what a recipient's level means for an attribute that is attacked.

    Raises
    ------
    PolicyError
        If the recipient has no level, or the mechanism no matrix.
    LevelError
        If the level can't be met.
    """
    mechanism = mechanism_called(entry.mechanism)
    attribute = known.attribute
    plan = plan_entry(document, entry, {attribute.name: attribute}, recipient)
    matrix = mechanism.matrix(plan.level, (attribute,), plan.settings)
    if matrix is None:
        raise PolicyError(
            "{mechanism} has no perturbation matrix, so shares can't be estimated from it.",
            "Choose another attribute.",
            mechanism=mechanism.title,
        )
    how = mechanism.resampling(plan.level, (attribute,), plan.settings)
    trials = None
    if how is not None and known.column.groups is not None:
        trials = trials_of(known, known.column.groups, how)
    return Exposure(recipient.name, plan.level, mechanism.trust(plan.level), matrix, trials)


def trials_of(known: Attacked, protected: MicroGroups, how: Resampling) -> Trials:
    """Return what estimates for an attacker's groups rest on in a resampled release.

    Parameters
    ----------
    known
        The attribute as the attacker sees it.
    protected
        The groups that the mechanism protects.
    how
        How their records are drawn and repeated.
    """
    parts = GroupParts.of(known.groups, protected, known.codes, how.size_of_domain)
    shares = largest_counts(parts.whole_counts) / protected.sizes
    draws = effective_draws(
        protected.sizes, shares, how.samples, how.retention, how.top, how.size_of_domain
    )
    counts = joined_draws(known.groups, protected, draws)
    return Trials(counts, how.draw, ResampledLaw(parts, how))


def joined_draws(known: MicroGroups, protected: MicroGroups, draws: Integers) -> Integers:
    """Return how many independent records the groups that an attacker knows amount to.

    Parameters
    ----------
    known
        The groups of whoever knows some public columns, G of them.
    protected
        The groups that the mechanism protects.
    draws
        How many independent records each of those amounts to.

    Returns
    -------
    numpy.ndarray
        Shape (G,). Where a group joins parts of several protected ones, the number that gives
        a sum of all its records the same variance (Kish's effective sample size).
    """
    repeats = (protected.sizes / draws)[protected.codes]
    weight = np.bincount(known.codes, weights=repeats, minlength=known.count)
    trials = np.rint(known.sizes.astype(np.float64) ** 2 / weight)
    counted: Integers = np.clip(trials, 1, known.sizes).astype(np.int64)
    return counted


def released_values(
    regenerator: Regenerator,
    entry: PolicyEntry,
    known: Attacked,
    recipient: Recipient,
    context: Context,
) -> scipy.sparse.csr_array:
    """Return how often each value is released in each group, shape (G, m).

    Exactly what a release shows the recipient, also where it is fitted to adopted ones.

    Parameters
    ----------
    regenerator
        Makes released columns; asked for several recipients, it does the rest once.
    entry, known
        The attribute's policy entry, and the attribute as the attacker sees it.
    recipient
        Whose release is counted.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As making the release would.
    """
    name, domain = known.attribute.name, known.attribute.domain
    if domain is None:
        raise TypeError("an attribute that is attacked has a domain")
    plan = plan_entry(regenerator.document, entry, {name: known.attribute}, recipient)
    codes = domain.encode(regenerator.perturbed(plan, context)[name], name)
    regenerator.forget()
    context.report(1.0, "Released values are counted")
    return value_counts(known.groups, codes, domain.size)
