"""Which release a bundle is: by its digest, by its identifier, or by its values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from app.engine.errors import SfumatoError
from app.engine.progress import Context
from app.formats.bundle_reading import Bundle
from app.project.compare import differing_rows
from app.project.plan import EntryPlan, plan_release
from app.project.records import ReleaseRecord
from app.project.regenerate import Regenerator

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
    """

    how: Known
    record: ReleaseRecord | None = None
    plans: tuple[EntryPlan, ...] = ()
    recipient: str = ""


def find_release(
    bundle: Bundle,
    releases: Sequence[ReleaseRecord],
    regenerator: Regenerator,
    context: Context,
) -> Match:
    """Recognise a bundle.

    Parameters
    ----------
    bundle
        The bundle, altered or not.
    releases
        What the ledger has, oldest first.
    regenerator
        Makes released columns again, to compare values.
    context
        Progress and cancelling.
    """
    for record in reversed(releases):
        if record.digest == bundle.digest:
            return Match(Known.BY_DIGEST, record, record.plans, record.recipient)
    stated = [r for r in releases if r.release_id == bundle.descriptor.release_id]
    if stated:
        alike = [r for r in stated if bundle.descriptor.data_name in r.files]
        record = (alike or stated)[-1]
        return Match(Known.BY_IDENTIFIER, record, record.plans, record.recipient)
    by_values = [Match(Known.BY_VALUES, r, r.plans, r.recipient) for r in reversed(releases)]
    by_key = [
        Match(Known.BY_KEY, None, plans, recipient) for recipient, plans in _possible(regenerator)
    ]
    for candidates in (by_values, by_key):
        shares = [_differing(bundle, match.plans, regenerator, context) for match in candidates]
        if shares and min(shares) <= _ALIKE:
            return candidates[int(np.argmin(shares))]
    return Match(Known.NOT_AT_ALL)


def _possible(regenerator: Regenerator) -> Iterable[tuple[str, tuple[EntryPlan, ...]]]:
    """Yield the releases that the present policy would make."""
    document = regenerator.document
    for recipient in document.recipients:
        try:
            attributes = regenerator.attributes()
            yield recipient.name, plan_release(document, attributes, recipient)
        except SfumatoError:
            continue


def _differing(
    bundle: Bundle, plans: Sequence[EntryPlan], regenerator: Regenerator, context: Context
) -> float:
    """Return the share of rows in which a bundle's perturbed columns are not a release's."""
    names = [name for plan in plans for name in plan.attributes]
    if not names or not set(names) <= set(bundle.table.columns):
        return 1.0
    if any(regenerator.obstacle(plan) for plan in plans):
        return 1.0
    rows = min(bundle.table.rows, regenerator.table.rows)
    differing = np.zeros(rows, dtype=bool)
    for plan in plans:
        for name, made in regenerator.perturbed(plan, context).items():
            differing |= differing_rows(made.iloc[:rows], bundle.table.frame[name].iloc[:rows])
    return float(np.mean(differing))
