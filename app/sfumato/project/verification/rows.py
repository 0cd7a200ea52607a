"""The part of a verification that looks at rows and columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import Role
from sfumato.engine.core.progress import Context
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.repeated_units import count_units, units_of
from sfumato.formats.bundles.reading import Bundle
from sfumato.formats.comparison import Rows, all_within, differing_places
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.verification.recognition import Known, Match, order_of


class Order(Enum):
    """How a bundle's records stand to those of the release."""

    SAME = "same"
    """Record by record in the same place, as far as there are as many."""
    OTHER = "other"
    """Records of the release, but in other places."""


@dataclass(frozen=True)
class Comparison:
    """A bundle's columns beside those that the release must have.

    Parameters
    ----------
    rows
        How many records were compared, from the first on: those that both have.
    places
        The table's row that each of them should show, shape (rows,).
    order
        How the bundle's records stand to those of the release.
    differing
        For each column that could be compared, the rows that differ, shape (rows,).
    """

    rows: int
    places: Positions
    order: Order
    differing: Mapping[str, Rows]

    def describe(self, differing: Rows) -> str:
        """Say how many rows differ, and which row of the file, and of the table, is the first."""
        return describe_difference(differing, self.places)

    @property
    def all_alike(self) -> bool:
        """Whether no compared value differs."""
        return not any(bool(rows.any()) for rows in self.differing.values())


def compare(bundle: Bundle, match: Match, regenerator: Regenerator, context: Context) -> Comparison:
    """Compare every column of a bundle that has a counterpart, value by value."""
    expected = _expected(bundle, match, regenerator, context)
    leaving = regenerator.leaving
    rows = min(bundle.table.rows, len(leaving))
    places = order_of(match, regenerator, leaving)[:rows]
    if regenerator.document.unit is not None:  # else every row leaves
        places = leaving[places]
    differing = {
        name: differing_places(column, places, bundle.table.frame[name])
        for name, column in expected.items()
    }
    comparison = Comparison(rows, places, Order.SAME, differing)
    if comparison.all_alike or match.how is Known.NOT_AT_ALL:
        return comparison
    whole = pd.DataFrame(expected, copy=False)
    if len(leaving) < regenerator.table.rows:
        whole = whole.iloc[leaving]
    if all_within(whole, bundle.table.frame[list(expected)]):
        return replace(comparison, order=Order.OTHER)
    return comparison


def check_rows(
    bundle: Bundle, match: Match, regenerator: Regenerator, comparison: Comparison
) -> tuple[Check, ...]:
    """Check the number and order of the records, and every column that is not perturbed."""
    perturbed = {name for plan in match.plans for name in plan.attributes}
    return (
        _check_records(bundle, regenerator, comparison),
        *check_shown_columns(bundle, match, regenerator),
        _check_unperturbed(bundle, regenerator, comparison, perturbed, match.view is not None),
        *_check_view(bundle, match, regenerator, comparison),
    )


def check_shown_columns(
    bundle: Bundle, match: Match, regenerator: Regenerator
) -> tuple[Check, ...]:
    """Check which columns there are, and that none is identifying; no row is looked at."""
    perturbed = {name for plan in match.plans for name in plan.attributes}
    return (
        _check_columns(bundle, match, regenerator, perturbed),
        _check_identifying(bundle, regenerator),
    )


def _check_view(
    bundle: Bundle, match: Match, regenerator: Regenerator, comparison: Comparison
) -> tuple[Check, ...]:
    """Check from the bundle's own rows that its view keeps the k it promises.

    Whose rows they are is known where they stand in the release's order; else rows are counted.
    """
    if match.view is None:
        return ()
    k = match.view.own.k
    names = [name for name in match.view.hierarchies if name in bundle.table.columns]
    if not names:
        return ()
    shown = bundle.table.frame[names]
    together = shown.groupby(names, dropna=False, observed=True, sort=False)
    units = None
    if match.view.unit and comparison.order is Order.SAME and comparison.rows == len(shown):
        units = units_of(regenerator.table, match.view.unit)[comparison.places]
    sizes = count_units(together.ngroup().to_numpy().astype(np.int64), units, together.ngroups)
    what = Sentence("records") if units is None else Sentence("units")
    return (check_smallest(names, int(sizes.min()), k, what),)


def check_smallest(names: Sequence[str], smallest: int, k: int, what: Sentence) -> Check:
    """Check that the smallest class on columns has as many records or units as was promised."""
    title = "Quasi-identifiers"
    detail = {"names": ", ".join(names), "smallest": smallest, "what": what, "k": k}
    if smallest < k:
        said = "The smallest class on {names} has {smallest:,} {what}; k = {k} was promised."
        return Check(title, False, Sentence(said, **detail))
    said = "The smallest class on {names} has {smallest:,} {what}, and k = {k} was promised."
    return Check(title, True, Sentence(said, **detail))


def differing_rows(count: int, rows: int, first: int) -> Sentence:
    """Say how many of so many rows differ, and which is the first, from 1."""
    return Sentence(
        "{count:,} of {rows:,} {rows:row|rows} {count:differs|differ}, first in row {first:,}",
        count=count,
        rows=rows,
        first=first,
    )


def describe_difference(differing: Rows, places: Positions) -> str:
    """Say how many rows differ and which is the first; never a value.

    Parameters
    ----------
    differing
        The rows of the file that differ, shape (n,).
    places
        The table's row that each of them should show, shape (n,).
    """
    at = int(differing.argmax())
    words = differing_rows(int(differing.sum()), len(differing), at + 1)
    if places[at] == at:
        return words
    return Sentence(
        "{words}, which is row {record:,} of the source table",
        words=words,
        record=int(places[at]) + 1,
    )


def _expected(
    bundle: Bundle, match: Match, regenerator: Regenerator, context: Context
) -> dict[str, pd.Series]:
    """Return, in the bundle's order, the columns that the release must have."""
    expected: dict[str, pd.Series] = {}
    for plan in match.plans:
        if not regenerator.obstacle(plan):
            expected.update(regenerator.perturbed(plan, context))
    perturbed = {name for plan in match.plans for name in plan.attributes}
    for name in bundle.table.columns:
        if name not in perturbed and not _is_secret(regenerator, name):
            spec = regenerator.specification(name)
            if spec is not None and spec.as_pseudonym is not None:
                column = regenerator.pseudonyms(name, match.recipient)
            else:
                column = regenerator.unperturbed(name, match.view)
            if column is not None:
                expected[name] = column
    return {name: expected[name] for name in bundle.table.columns if name in expected}


def _is_secret(regenerator: Regenerator, name: str) -> bool:
    spec = regenerator.specification(name)
    return spec is not None and (spec.role is Role.SENSITIVE or spec.is_dropped)


def _check_records(bundle: Bundle, regenerator: Regenerator, comparison: Comparison) -> Check:
    found, source = bundle.table.rows, len(regenerator.leaving)
    by_unit, ordered = regenerator.document.unit is not None, comparison.order is Order.SAME
    if found >= source:
        return records_check(found, source, by_unit, ordered)
    if not ordered:
        return records_check(found, source, by_unit, told="{missing}, and not only at the end.")
    if comparison.all_alike:
        return records_check(found, source, by_unit, told="{missing} at the end.")
    return records_check(found, source, by_unit, told="{missing}, and others were altered.")


def records_check(
    found: int, source: int, by_unit: bool, ordered: bool = True, told: str = ""
) -> Check:
    """Check that a bundle has all records.

    Parameters
    ----------
    found, source
        How many it has, and how many the release has.
    by_unit
        Whether some rows of the table don't leave.
    ordered
        Whether they stand in the release's order.
    told
        Where records are missing, a template that says more than how many ``{missing}`` are.
    """
    where = Sentence("the source table that may leave" if by_unit else "the source table")
    said = "It has all {found:,} {found:record|records} of {where}."
    if not ordered:
        said = (
            "It has all {found:,} {found:record|records}, but in another order than was released."
        )
    if found > source:
        said = "It has {found:,} {found:record|records}, {more:,} more than {where}."
    if found < source:
        said = (
            "It has {found:,} {found:record|records} of {source:,}: {lost:,} {lost:is|are} missing"
        )
    detail = {"found": found, "source": source, "more": found - source, "lost": source - found}
    finding = Sentence(said, where=where, **detail)
    if told:
        finding = Sentence(told, missing=finding)
    return Check("Records", found == source and ordered, finding)


def _check_columns(
    bundle: Bundle, match: Match, regenerator: Regenerator, perturbed: set[str]
) -> Check:
    """Check which columns the bundle has, and their order."""
    title = "Columns"
    released = (
        {
            *match.record.open_columns,
            *perturbed,
            *(s.name for s in regenerator.document.columns if s.as_pseudonym is not None),
        }
        if match.record is not None
        else {
            name
            for name in regenerator.table.columns
            if (spec := regenerator.specification(name)) is not None and not spec.is_dropped
        }
    )
    wanted = [name for name in regenerator.table.columns if name in released]
    found = list(bundle.table.columns)
    missing = [name for name in wanted if name not in found]
    strange = [name for name in found if name not in wanted]
    findings = []
    if missing:
        findings.append(Sentence("missing: {names}", names=", ".join(missing)))
    if strange:
        findings.append(Sentence("not in the release: {names}", names=", ".join(strange)))
    if findings:
        return Check(
            title,
            False,
            Sentence("Its columns are not those released ({names}).", names="; ".join(findings)),
        )
    if found != wanted:
        return Check(title, False, "Its columns are in another order than was released.")
    return Check(
        title,
        True,
        Sentence("It has the {found} {found:column|columns} that were released.", found=len(found)),
    )


def _check_identifying(bundle: Bundle, regenerator: Regenerator) -> Check:
    identifying = [spec.name for spec in regenerator.document.columns if spec.is_dropped]
    shown = [name for name in identifying if name in bundle.table.columns]
    title = "Identifying columns"
    if shown:
        return Check(
            title,
            False,
            Sentence("It has columns that identify a person: {names}.", names=", ".join(shown)),
        )
    if not identifying:
        return Check(title, True, "No column of the project is identifying.")
    return Check(
        title,
        True,
        Sentence(
            "{identifying:The identifying column is not|None of the identifying columns is} in it.",
            identifying=len(identifying),
        ),
    )


def _check_unperturbed(
    bundle: Bundle,
    regenerator: Regenerator,
    comparison: Comparison,
    perturbed: Iterable[str],
    coarser: bool,
) -> Check:
    names = [
        name
        for name in bundle.table.columns
        if name not in perturbed and not _is_secret(regenerator, name)
    ]
    if comparison.order is Order.OTHER:
        finding = "They have the source table's values, in other places."
        return Check("Unperturbed columns", True, finding)
    known = {name: comparison.differing[name] for name in names if name in comparison.differing}
    findings = [f"{n}: {comparison.describe(rows)}" for n, rows in known.items() if rows.any()]
    findings += [
        Sentence("{name}: it can't be compared with the source table", name=name)
        for name in names
        if name not in known
    ]
    return unperturbed_check(len(names), findings, coarser)


def unperturbed_check(names: int, findings: Sequence[str], coarser: bool) -> Check:
    """Check so many columns that no release perturbs by what was found of them.

    `coarser` says whether the recipient sees them by a view.
    """
    title, listed = "Unperturbed columns", "; ".join(findings)
    if findings and coarser:
        return Check(title, False, Sentence("They are not as released ({names}).", names=listed))
    if findings:
        said = Sentence("They are not as in the source table ({names}).", names=listed)
        return Check(title, False, said)
    if not names:
        return Check(title, True, "It has none.")
    said = Sentence("All {names} are as in the source table.", names=names)
    if coarser:
        said = Sentence("All {names} are as the recipient's view shows them.", names=names)
    return Check(title, True, said)


def any_rows(rows: Iterable[Rows], length: int) -> Rows:
    """Return the rows that are in any of several selections, shape (length,)."""
    found: Rows = np.zeros(length, dtype=bool)
    for selection in rows:
        found |= selection
    return found
