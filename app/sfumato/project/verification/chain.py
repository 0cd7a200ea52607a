"""The part of a verification that looks at perturbed values, alone and beside other releases."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.columns import Domain
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence, as_sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Adopted, Check, Released
from sfumato.engine.randomness.row_order import Positions
from sfumato.engine.table.table import Attribute
from sfumato.formats.comparison import codes_in, decoded
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.verification.compared import BundleComparison, ExaminedRows, Order
from sfumato.project.verification.recognition import RecognizedRelease


@dataclass(frozen=True)
class _HeldLevel:
    """A level at which others hold a policy entry, and who they are."""

    plan: EntryPlan
    recipients: tuple[str, ...]


def check_entries(
    match: RecognizedRelease,
    releases: Sequence[ReleaseRecord],
    maker: Regenerator,
    part: Regenerator,
    comparison: BundleComparison,
    context: Context,
) -> tuple[Check, ...]:
    """Check every perturbed policy entry of a recognised release.

    Parameters
    ----------
    match
        What the bundle was recognised as; no checks where it was not.
    releases
        Every release of the ledger.
    maker, part
        What tells whether entries can be made again, and what makes the rows again that are
        examined.
    comparison
        The bundle's rows beside those of the release.
    context
        Progress and cancelling.
    """
    checks: list[Check] = []
    for plan, step in one_by_one(context, match.plans):
        checks += _check_entry(plan, releases, maker, part, comparison, step)
    return tuple(checks)


def _check_entry(
    plan: EntryPlan,
    releases: Sequence[ReleaseRecord],
    maker: Regenerator,
    part: Regenerator,
    comparison: BundleComparison,
    context: Context,
) -> list[Check]:
    missing = [name for name in plan.attributes if name not in comparison.columns]
    if missing:
        finding = Sentence("It has no column {names}.", names=", ".join(missing))
        return [Check(Sentence("{key}: values", key=plan.key), False, finding)]
    obstacle = maker.obstacle(plan)
    checks = [_check_ladder(plan, obstacle)]
    if obstacle:
        return checks
    checks.append(_check_values(plan, comparison))
    if comparison.order is Order.OTHER:
        return checks
    examined = comparison.examined
    request = part.request(plan)
    symbols = mechanism_called(plan.mechanism).shown_domain(request.attributes, plan.settings)
    columns, outside = _domain_columns(examined, request.attributes, symbols)
    if outside:
        return [*checks, Check(Sentence("{key}: domain", key=plan.key), False, outside)]
    rows = np.arange(len(examined.rows))
    if plan.by_unit:
        # Rows of a unit are one draw: what is counted below are units.
        checks.append(_check_units(plan, request.record_ids, columns))
        rows = np.unique(request.record_ids, return_index=True)[1]
        columns = {name: column.iloc[rows] for name, column in columns.items()}
        columns = {name: column.reset_index(drop=True) for name, column in columns.items()}
    request = part.request(plan, rows)
    actual = Released(plan.level, columns)
    mechanism = mechanism_called(plan.mechanism)
    context.report(0.1, Sentence("Examining {key}", key=plan.key))
    found = mechanism.check_release(request, actual)
    for check in found:
        title = Sentence("{key}: {title}", key=plan.key, title=as_sentence(check.title))
        checks.append(Check(title, check.holds, check.finding))
    checks += _check_others(plan, actual, releases, part, rows, context)
    return checks


def _check_units(
    plan: EntryPlan, units: npt.NDArray[np.uint64], columns: Mapping[str, pd.Series]
) -> Check:
    """Check that all rows of a unit show the same values."""
    title = Sentence("{key}: units", key=plan.key)
    shown = pd.DataFrame({**columns, "unit": units}).drop_duplicates()
    distinct, several = len(np.unique(units)), int(shown["unit"].duplicated().sum())
    if several:
        return Check.failed(
            title, "Rows of {count:,} {count:unit|units} show several values.", count=several
        )
    finding = Sentence(
        "All rows of each of {units:,} {units:unit|units} show the same value.", units=distinct
    )
    return Check(title, True, finding)


def _check_values(plan: EntryPlan, comparison: BundleComparison) -> Check:
    """Check that the values are, one by one, those that the key gives."""
    title = Sentence("{key}: values", key=plan.key)
    if comparison.order is Order.OTHER:
        finding = "They are those that the key gives, but in other places."
        return Check(title, False, finding)
    if (found := comparison.differing.get(plan.attributes)) is not None:
        said = "They are not those that the key gives: {difference}."
        return Check(title, False, Sentence(said, difference=found.sentence))
    rows = comparison.rows
    return Check(title, True, Sentence("All {rows:,} are those that the key gives.", rows=rows))


def _check_ladder(plan: EntryPlan, obstacle: str) -> Check:
    """Check that a policy entry is on its ladder: nothing keeps it from being made again."""
    title = Sentence("{key}: ladder", key=plan.key)
    if obstacle:
        finding = Sentence("It can't be made again. {obstacle}", obstacle=obstacle)
        return Check(title, False, finding)
    return Check(title, True, "By the policy of its release, it is made again on the same ladder.")


def _domain_columns(
    examined: ExaminedRows, attributes: Iterable[Attribute], symbols: Domain | None
) -> tuple[Mapping[str, pd.Series], str]:
    """Return the examined rows' perturbed columns as values of their domains, or why that fails."""
    columns: dict[str, pd.Series] = {}
    for attribute in attributes:
        column, domain = examined.shown[attribute.name], symbols or attribute.domain
        if domain is None:
            columns[attribute.name] = column
            continue
        codes = codes_in(domain, column)
        outside = codes < 0
        if outside.any():
            return {}, (
                Sentence(
                    "{attribute} has values outside its domain: {outside:,} {outside:row|rows},"
                    " first row {first:,}.",
                    attribute=attribute.name,
                    outside=int(outside.sum()),
                    first=int(examined.rows[outside.argmax()]) + 1,
                )
            )
        columns[attribute.name] = decoded(domain, codes, attribute.name)
    return columns, ""


def _check_others(
    plan: EntryPlan,
    actual: Released,
    releases: Sequence[ReleaseRecord],
    part: Regenerator,
    rows: Positions,
    context: Context,
) -> list[Check]:
    """Check the entry, of some rows of a part, beside every other level that somebody holds."""
    rungs, strangers = _others(plan, releases)
    beside = part.adopted(plan)
    checks = _check_strangers(plan, releases)
    if not rungs and not strangers and not beside:
        return [
            Check(
                Sentence("{key} beside others", key=plan.key),
                True,
                "Nobody holds it at another level so far.",
            )
        ]
    attributes = part.request(plan).attributes
    for other, held in zip(beside, _holders(plan, beside), strict=True):
        earlier = other.at(rows)
        if earlier.covered is not None and not earlier.covered.any():
            continue  # none of the records that are left of a truncated file
        here = Released(actual.level, _at(actual.columns, earlier.covered))
        columns = _at(_decoded(earlier, attributes), earlier.covered)
        checks += _check_pair(plan, here, Released(other.level, columns), held, attributes)
    for rung, step in one_by_one(Part(context, 0.2, 1.0), rungs):
        made = part.perturbed(rung.plan, step)
        columns = {name: column.iloc[rows].reset_index(drop=True) for name, column in made.items()}
        who = ", ".join(rung.recipients)
        checks += _check_pair(plan, actual, Released(rung.plan.level, columns), who, attributes)
    return checks


def _check_strangers(plan: EntryPlan, releases: Sequence[ReleaseRecord]) -> list[Check]:
    """Find the releases of an entry's attributes that sit on another ladder."""
    return [
        Check(
            Sentence("{key} beside {recipient}", key=plan.key, recipient=recipient),
            False,
            "That release sits on another ladder: together the two tell more than either.",
        )
        for recipient in _others(plan, releases)[1]
    ]


def _check_pair(
    plan: EntryPlan,
    actual: Released,
    other: Released,
    who: str,
    attributes: Sequence[Attribute],
) -> list[Check]:
    """Check two releases of an entry as the upper and the lower one."""
    mechanism = mechanism_called(plan.mechanism)
    lower, upper = sorted((actual, other), key=lambda release: mechanism.trust(release.level))
    return [
        Check(
            Sentence(
                "{key} beside {who}: {title}", key=plan.key, who=who, title=as_sentence(c.title)
            ),
            c.holds,
            c.finding,
        )
        for c in mechanism.check_pair(upper, lower, attributes, plan.settings)
    ]


def _holders(plan: EntryPlan, beside: Sequence[Adopted]) -> list[str]:
    """Return who holds each adopted release."""
    rungs = [file for file in adopted_files(plan.settings) if file.rung]
    return [
        ", ".join(dict.fromkeys(file.called for file in rungs if file.level == other.level))
        for other in beside
    ]


def _at(
    columns: Mapping[str, pd.Series], covered: npt.NDArray[np.bool_] | None
) -> Mapping[str, pd.Series]:
    """Return columns for the records that an earlier release has."""
    if covered is None:
        return columns
    return {name: column[covered].reset_index(drop=True) for name, column in columns.items()}


def _decoded(adopted: Adopted, attributes: Iterable[Attribute]) -> Mapping[str, pd.Series]:
    """Return an adopted release's columns as values of their domains, or as numbers."""
    columns: dict[str, pd.Series] = {}
    for attribute in attributes:
        values = adopted.values[attribute.name]
        if attribute.domain is None:
            columns[attribute.name] = pd.Series(values, name=attribute.name)
        else:
            codes = values.astype(np.int64)
            columns[attribute.name] = decoded(attribute.domain, codes, attribute.name)
    return columns


def _others(
    plan: EntryPlan, releases: Sequence[ReleaseRecord]
) -> tuple[tuple[_HeldLevel, ...], tuple[str, ...]]:
    """Return the other levels of the ladder, and who holds the attributes on another ladder."""
    rungs: dict[float, _HeldLevel] = {}
    strangers: dict[str, None] = {}
    for release in releases:
        if not release.counts:
            continue
        for other in release.plans:
            if not set(other.attributes) & set(plan.attributes):
                continue
            if other.ladder != plan.ladder:
                strangers[release.recipient] = None
            elif other.level != plan.level:
                earlier = rungs.get(other.level, _HeldLevel(other, ()))
                names = dict.fromkeys((*earlier.recipients, release.recipient))
                rungs[other.level] = _HeldLevel(other, tuple(names))
    return tuple(rungs.values()), tuple(strangers)
