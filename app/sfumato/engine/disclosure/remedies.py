"""What would give fewer groups away: releasing less of one public attribute.

An attribute can be left out, or released more coarsely: in bins, or one of the levels of its
hierarchy. Groups merge then. Larger groups can be estimated better, so less is not always safer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Binning
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.disclosure.group_risk import RiskLimits, Violations, group_risk
from sfumato.engine.disclosure.grouped_values import GroupedValues
from sfumato.engine.generalization.hierarchies import Hierarchy
from sfumato.engine.matrices.matrix import PerturbationMatrix
from sfumato.engine.mechanisms.reconstruction.law import Trials
from sfumato.engine.table.micro_groups import PublicAttribute


@dataclass(frozen=True)
class Change:
    """Less of one public attribute.

    Parameters
    ----------
    attribute
        The public attribute.
    coarsen
        What makes it coarser; None where it is left out.
    bins
        In how many bins it would be released, where in bins.
    level, classes
        At which level of its hierarchy it would be released, and in how many classes, where at
        one.
    """

    attribute: str
    coarsen: Callable[[PublicAttribute], PublicAttribute] | None = field(default=None, repr=False)
    bins: int | None = None
    level: int | None = None
    classes: int | None = None

    def applied(self, attributes: Sequence[PublicAttribute]) -> tuple[PublicAttribute, ...]:
        """Return what is left of some public attributes."""
        if self.coarsen is None:
            return tuple(each for each in attributes if each.name != self.attribute)
        return tuple(
            self.coarsen(each) if each.name == self.attribute else each for each in attributes
        )


@dataclass(frozen=True)
class Remedy:
    """What a change comes to.

    Parameters
    ----------
    change
        What recipients would see less of.
    total
        The groups and records that violate then.
    """

    change: Change
    total: Violations


RestsOn = Callable[[Change, GroupedValues, Context], Trials | None]
"""What the estimates for the merged groups rest on once a change is made; see `group_risk`."""


def left_out(name: str) -> Change:
    """Return that recipients don't see an attribute."""
    return Change(name)


def in_bins(name: str, binning: Binning) -> Change:
    """Return that recipients see a numeric attribute in bins; missing stays missing."""

    def coarsen(attribute: PublicAttribute) -> PublicAttribute:
        return _relabelled(attribute, binning.apply(_values_of(attribute)))

    return Change(name, coarsen, bins=len(binning.names))


def at_level(name: str, hierarchy: Hierarchy, level: int) -> Change:
    """Return that recipients see an attribute at a level of its hierarchy."""

    def coarsen(attribute: PublicAttribute) -> PublicAttribute:
        return _relabelled(attribute, hierarchy.generalize(_values_of(attribute), level))

    return Change(name, coarsen, level=level, classes=hierarchy.classes(level))


def level_by_level(name: str, hierarchy: Hierarchy) -> tuple[Change, ...]:
    """Return a change for each level that joins classes and leaves more than one."""
    return tuple(
        at_level(name, hierarchy, level)
        for level in range(1, hierarchy.height)
        if 1 < hierarchy.classes(level) < hierarchy.classes(level - 1)
    )


def remedies(
    grouped: GroupedValues,
    changes: Sequence[Change],
    matrix: PerturbationMatrix,
    limits: RiskLimits,
    context: Context,
    rests_on: RestsOn | None = None,
) -> tuple[Remedy, ...]:
    """Return what each change would do.

    Parameters
    ----------
    grouped
        The groups with their true values.
    changes
        What could be released less of.
    matrix, limits
        As for `sfumato.engine.disclosure.group_risk.group_risk`.
    context
        Progress and cancelling.
    rests_on
        What estimates rest on after a change, where the release repeats records; None where
        every record is perturbed by itself.
    """
    found = []
    for done, change in enumerate(changes):
        part = Part(context, done / len(changes), (done + 1) / len(changes))
        merged = grouped.merged(change.applied(grouped.attributes))
        trials = None if rests_on is None else rests_on(change, merged, Part(part, 0.0, 0.5))
        risk = group_risk(merged, matrix, limits, Part(part, 0.5, 1.0), trials)
        found.append(Remedy(change, risk.total))
    return tuple(found)


def _values_of(attribute: PublicAttribute) -> pd.Series:
    """Return an attribute's values, and a missing one last where it has any."""
    values = attribute.values.to_series(name=attribute.name).reset_index(drop=True)
    missing = bool((attribute.codes == len(attribute.values)).any())
    return values.reindex(range(len(values) + 1)) if missing else values


def _relabelled(attribute: PublicAttribute, labels: pd.Series) -> PublicAttribute:
    """Return an attribute with the labels of its values, categories, in their place."""
    places = labels.astype("category").cat
    codes = places.codes.to_numpy().astype(np.int64)
    codes[codes < 0] = len(places.categories)
    return replace(attribute, values=places.categories, codes=codes[attribute.codes])
