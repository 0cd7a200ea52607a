"""Which release a bundle is: by its digest, by its identifier, or by its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Context
from sfumato.engine.randomness.row_order import Positions
from sfumato.formats.bundles.reading import Bundle
from sfumato.formats.comparison import differing_places
from sfumato.project.document.entry_plan import EntryPlan, plan_release
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.regenerate import PoliciesInForce, Regenerator
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.views import Coarsening, coarsening_of

_ALIKE: Final = 0.1
"""A release has a bundle's values if at most this share of the rows differs."""


class Known(Enum):
    """How a bundle was recognised."""

    BY_DIGEST = "digest"
    BY_IDENTIFIER = "identifier"
    BY_VALUES = "values"
    BY_KEY = "key"
    """Its values are those of a release that the ledger does not have."""
    NOT_AT_ALL = "not at all"


@dataclass(frozen=True)
class Match:
    """The release that a bundle was recognised as.

    Parameters
    ----------
    how
        How it was recognised.
    record
        The ledger's release, where it has one.
    plans
        The policy entries at the levels of that release; none where nothing was recognised.
    recipient
        Whom that release was made for.
    ordered_for
        The release whose keyed order its rows should stand in; None for the table's order.
    view
        How coarsely it shows the quasi-identifiers; None for as they are.
    """

    how: Known
    record: ReleaseRecord | None = None
    plans: tuple[EntryPlan, ...] = ()
    recipient: str = ""
    ordered_for: str | None = None
    view: Coarsening | None = None

    @classmethod
    def of(cls, how: Known, record: ReleaseRecord) -> Match:
        """Return a match with a release of the ledger."""
        ordered_for = None if record.rows_as_in_table else record.release_id
        view = coarsening_at(record)
        return cls(how, record, record.plans, record.recipient, ordered_for, view)


def find_release(
    bundle: Bundle,
    releases: Sequence[ReleaseRecord],
    policies: PoliciesInForce,
    context: Context,
) -> Match:
    """Recognise a bundle.

    Parameters
    ----------
    bundle
        The bundle, altered or not.
    releases
        What the ledger has, oldest first.
    policies
        Make released columns again, to compare values.
    context
        Progress and cancelling.
    """
    known = known_release(bundle, releases)
    if known.record is not None:
        return known
    by_values = [Match.of(Known.BY_VALUES, record) for record in reversed(releases)]
    by_key = [
        Match(Known.BY_KEY, None, plans, recipient, ordered_for, view)
        for recipient, plans, view in _possible(policies.today)
        for ordered_for in (bundle.descriptor.release_id, None)
    ]
    for candidates in (by_values, by_key):
        shares = [
            _differing(bundle, match, policies.at(match.record), context) for match in candidates
        ]
        if shares and min(shares) <= _ALIKE:
            return candidates[int(np.argmin(shares))]
    return Match(Known.NOT_AT_ALL)


def known_release(bundle: Bundle, releases: Sequence[ReleaseRecord]) -> Match:
    """Recognise a bundle by its digest or its identifier alone."""
    for record in reversed(releases):
        if record.digest == bundle.digest:
            return Match.of(Known.BY_DIGEST, record)
    stated = [r for r in releases if r.release_id == bundle.descriptor.release_id]
    if stated:
        alike = [r for r in stated if bundle.descriptor.data_name in r.files]
        return Match.of(Known.BY_IDENTIFIER, (alike or stated)[-1])
    return Match(Known.NOT_AT_ALL)


def _possible(
    regenerator: Regenerator,
) -> Iterable[tuple[str, tuple[EntryPlan, ...], Coarsening | None]]:
    """Yield the releases that the present policy would make."""
    document = regenerator.document
    for recipient in document.recipients:
        try:
            attributes = regenerator.attributes()
            plans = plan_release(document, attributes, recipient)
            yield recipient.name, plans, coarsening_of(document, recipient)
        except SfumatoError:
            continue


def order_of(match: Match, regenerator: Regenerator, rows: Positions) -> Positions:
    """Return the order in which rows of the table stand in a release, as places in `rows`.

    Raises
    ------
    TableError
        If the record key of then, which decides it, is not in the table.
    """
    if match.ordered_for is None:
        return np.arange(len(rows))
    known = match.record if match.record is not None else regenerator.document
    return regenerator.order(match.ordered_for, known.record_key, rows)


def _differing(bundle: Bundle, match: Match, regenerator: Regenerator, context: Context) -> float:
    """Return the share of rows in which a bundle's perturbed columns are not a release's."""
    plans = match.plans
    names = [name for plan in plans for name in plan.attributes]
    if not names or not set(names) <= set(bundle.table.columns):
        return 1.0
    if any(regenerator.obstacle(plan) for plan in plans):
        return 1.0
    leaving = regenerator.leaving
    rows = min(bundle.table.rows, len(leaving))
    places = leaving[order_of(match, regenerator, leaving)][:rows]
    differing = np.zeros(rows, dtype=bool)
    for plan in plans:
        for name, made in regenerator.perturbed(plan, context).items():
            differing |= differing_places(made, places, bundle.table.frame[name])
    return float(np.mean(differing))
