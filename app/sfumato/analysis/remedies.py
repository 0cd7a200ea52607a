"""What a custodian could release less of so that a recipient learns less about small groups."""

from __future__ import annotations

from dataclasses import replace

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.errors import DomainError, HierarchyError
from sfumato.engine.core.progress import Context
from sfumato.engine.disclosure.group_risk import RiskLimits
from sfumato.engine.disclosure.grouped_values import GroupedValues
from sfumato.engine.disclosure.remedies import (
    Change,
    Remedy,
    RestsOn,
    in_bins,
    left_out,
    level_by_level,
    remedies,
)
from sfumato.engine.generalization.hierarchies import ground_series, hierarchy_of
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.reconstruction.law import Trials
from sfumato.engine.table.binning_proposals import suggest_binning
from sfumato.engine.table.group_counts import GroupCounts
from sfumato.engine.table.micro_groups import regrouped
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.release.attacker import Attacked, Exposure, trials_of

FEW_BINS = 10
"""Into how many bins a numeric column without a hierarchy is put to see what that would save."""


def possible_changes(document: Document, table: Table, known: Attacked) -> tuple[Change, ...]:
    """Return what could be released less of, among what an attacker knows.

    Every column can be left out. One with a hierarchy can be released at its levels, a number
    without one in bins.
    """
    names = known.grouped.names
    found = [left_out(name) for name in names]
    for name in names:
        found += _coarser(document, table, name)
    return tuple(found)


def _coarser(document: Document, table: Table, name: str) -> tuple[Change, ...]:
    spec, recipe = document.column(name), document.hierarchies.get(name)
    if recipe is not None:
        try:
            hierarchy = hierarchy_of(recipe, spec, table.column(name))
            hierarchy.encode(ground_series(spec, table.column(name)))
        except (HierarchyError, DomainError):
            return ()  # the Attributes panel says what is wrong with it
        return level_by_level(name, hierarchy)
    if spec.kind is not Kind.NUMERIC or spec.binning is not None:
        return ()
    try:
        return (in_bins(name, suggest_binning(table.column(name), FEW_BINS)),)
    except DomainError:
        return ()  # the column holds no two different numbers


def examined_remedies(
    document: Document,
    table: Table,
    entry: PolicyEntry,
    known: Attacked,
    shown: Exposure,
    limits: RiskLimits,
    context: Context,
) -> tuple[Remedy, ...]:
    """Return what releasing less of each public column would change for one recipient.

    Where the mechanism protects groups, the release is taken to be made anew for the groups that
    are left. A change that would leave it nothing to group records by is none.

    Parameters
    ----------
    document, table, entry
        What is decided, the rows, and the attribute's policy entry.
    known, shown
        The attribute as the attacker sees it, and the recipient's release.
    limits
        What is asked for.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        As `sfumato.engine.disclosure.group_risk.group_risk` does.
    """
    changes = possible_changes(document, table, known)
    protected = known.column.groups
    if shown.trials is None or protected is None:
        return remedies(known.grouped, changes, shown.matrix, limits, context)
    left = [change for change in changes if change.applied(protected.attributes)]
    rests_on = _made_anew(entry, known, shown)
    return remedies(known.grouped, left, shown.matrix, limits, context, rests_on)


def _made_anew(entry: PolicyEntry, known: Attacked, shown: Exposure) -> RestsOn:
    """Return what estimates rest on when a release is made for changed groups."""
    mechanism = mechanism_called(entry.mechanism)

    def rests_on(change: Change, merged: GroupedValues, context: Context) -> Trials | None:
        context.report(0.0, f"Making groups without part of {change.attribute}")
        before = known.column.groups
        if before is None:
            return None
        protected = regrouped(before, change.applied(before.attributes))
        counts = GroupCounts.of(protected, known.codes, merged.values)
        attribute = replace(known.attribute, groups=counts)
        how = mechanism.resampling(shown.level, (attribute,), entry.settings)
        if how is None:
            return None
        groups = regrouped(known.groups, change.applied(known.groups.attributes))
        return trials_of(replace(known, groups=groups, grouped=merged), protected, how)

    return rests_on
