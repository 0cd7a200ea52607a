"""Where a file comes from: which release a bundle is, and to whom its pseudonyms were given.

A bundle is known by its digest, by its identifier, or by its values. A pseudonym of 128 bits can't
be guessed, so each one that a file shows was given to whoever has the pseudonyms of its scope, and
pseudonyms made by others are nobody's here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING, Final

import numpy as np

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.record_ids import LETTERS
from sfumato.engine.table.table import Table
from sfumato.formats.bundles.reading import Bundle
from sfumato.formats.comparison import is_number
from sfumato.project.document.entry_plan import EntryPlan, plan_release
from sfumato.project.document.model import Document
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.byproducts import pseudonym_column, scopes_for
from sfumato.project.release.regenerate import PoliciesInForce
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.views import Coarsening, coarsening_of

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

_ALIKE: Final = 0.1
"""A release has a bundle's values if at most this share of the rows differs."""


class RecognizedBy(Enum):
    """How a bundle was recognised."""

    BY_DIGEST = "digest"
    BY_IDENTIFIER = "identifier"
    BY_VALUES = "values"
    BY_KEY = "key"
    """Its values are those of a release that the ledger does not have."""
    NOT_AT_ALL = "not at all"


@dataclass(frozen=True)
class RecognizedRelease:
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

    how: RecognizedBy
    record: ReleaseRecord | None = None
    plans: tuple[EntryPlan, ...] = ()
    recipient: str = ""
    ordered_for: str | None = None
    view: Coarsening | None = None

    @classmethod
    def of(cls, how: RecognizedBy, record: ReleaseRecord) -> RecognizedRelease:
        """Return a match with a release of the ledger."""
        ordered_for = None if record.rows_as_in_table else record.release_id
        view = coarsening_at(record)
        return cls(how, record, record.plans, record.recipient, ordered_for, view)


def find_release(
    bundle: Bundle,
    releases: Sequence[ReleaseRecord],
    policies: PoliciesInForce,
    differing: Callable[[RecognizedRelease], float],
) -> RecognizedRelease:
    """Recognise a bundle by its values.

    Parameters
    ----------
    bundle
        The bundle, altered or not.
    releases
        What the ledger has, oldest first.
    policies
        Know which releases the present policy would make.
    differing
        Returns the share of rows in which a bundle's perturbed columns are not a release's.
    """
    by_values = [
        RecognizedRelease.of(RecognizedBy.BY_VALUES, record) for record in reversed(releases)
    ]
    by_key = (
        RecognizedRelease(RecognizedBy.BY_KEY, None, plans, recipient, ordered_for, view)
        for recipient, plans, view in _possible(policies)
        for ordered_for in (bundle.descriptor.release_id, None)
    )
    for candidates in (by_values, by_key):
        shares = [(differing(match), match) for match in candidates]
        share, match = min(shares, key=lambda each: each[0], default=(1.0, None))
        if match is not None and share <= _ALIKE:
            return match
    return RecognizedRelease(RecognizedBy.NOT_AT_ALL)


def known_release(bundle: Bundle, releases: Sequence[ReleaseRecord]) -> RecognizedRelease:
    """Recognise a bundle by its digest or its identifier alone."""
    for record in reversed(releases):
        if record.digest == bundle.digest:
            return RecognizedRelease.of(RecognizedBy.BY_DIGEST, record)
    stated = [r for r in releases if r.release_id == bundle.descriptor.release_id]
    if stated:
        alike = [r for r in stated if bundle.descriptor.data_name in r.files]
        return RecognizedRelease.of(RecognizedBy.BY_IDENTIFIER, (alike or stated)[-1])
    return RecognizedRelease(RecognizedBy.NOT_AT_ALL)


def _possible(
    policies: PoliciesInForce,
) -> Iterator[tuple[str, tuple[EntryPlan, ...], Coarsening | None]]:
    """Yield the releases that the present policy would make."""
    document = policies.document
    for recipient in document.recipients:
        try:
            attributes = policies.today.attributes()
            plans = plan_release(document, attributes, recipient)
            yield recipient.name, plans, coarsening_of(document, recipient)
        except SfumatoError:
            continue


_LIKE_ONE: Final = f"[A-Z2-7]{{{LETTERS}}}"


@dataclass(frozen=True)
class PseudonymMatch:
    """Pseudonyms of one scope that stand in a column of a leaked file.

    Parameters
    ----------
    column
        The file's column.
    of
        The identifying column of the table whose pseudonyms they are.
    recipients
        Everybody who was given these pseudonyms, or would be by the present policy.
    rows, all_rows
        How many of the file's rows show one.
    """

    column: str
    of: str
    recipients: tuple[str, ...]
    rows: int
    all_rows: int

    @property
    def sentence(self) -> str:
        """Whose they are."""
        return Sentence(
            "Pseudonyms of {column} that {names} alone is given stand in {rows:,} of the"
            " {all_rows:,} {all_rows:row|rows} ({share:.0%})."
            if len(self.recipients) == 1
            else "The pseudonyms of {column} that {names} share stand in {rows:,} of the"
            " {all_rows:,} {all_rows:row|rows} ({share:.0%}): which of them had the file,"
            " pseudonyms don't tell.",
            rows=self.rows,
            all_rows=self.all_rows,
            share=self.rows / self.all_rows,
            column=self.of,
            names=listed(self.recipients),
        )


def pseudonym_matches(
    leak: Table,
    parts: Callable[[Sequence[str], Context], Iterator[Table]],
    releases: Sequence[ReleaseRecord],
    policies: PoliciesInForce,
    keys: KeyRing,
    context: Context,
) -> tuple[PseudonymMatch, ...]:
    """Find this project's pseudonyms in a leaked table, under whatever name its columns have.

    Parameters
    ----------
    leak
        The table that was found.
    parts
        Yields the source table's rows with some columns, those that it has.
    releases
        The ledger's releases.
    policies, keys
        The policies in force, and the project's keys.
    context
        Progress and cancelling.

    Returns
    -------
    tuple of PseudonymMatch
        The most rows first.
    """
    looked_at = {}
    for name in leak.columns:
        if not is_number(leak.column(name)):
            texts = leak.column(name).astype("str").str.strip()
            if texts.str.fullmatch(_LIKE_ONE).any():
                looked_at[name] = texts
    if not looked_at:
        return ()
    holders: dict[tuple[str, str], dict[str, None]] = defaultdict(dict)
    for document, recipient in _given(releases, policies):
        for name, scope in scopes_for(document, recipient).items():
            holders[name, scope][recipient] = None
    shown = {(name, *held): np.zeros(leak.rows, np.bool_) for held in holders for name in looked_at}
    for table in parts(list(dict.fromkeys(of for of, _ in holders)), context):
        for of, scope in holders:
            if of in table.columns:
                made = pseudonym_column(table, of, scope, keys, Silent())
                for name, texts in looked_at.items():
                    shown[name, of, scope] |= (texts.notna() & texts.isin(made)).to_numpy()
    found = [
        PseudonymMatch(name, of, tuple(holders[of, scope]), int(rows.sum()), leak.rows)
        for (name, of, scope), rows in shown.items()
        if rows.any()
    ]
    return tuple(sorted(found, key=lambda match: -match.rows))


def _given(
    releases: Sequence[ReleaseRecord], policies: PoliciesInForce
) -> Iterator[tuple[Document, str]]:
    """Yield whom pseudonyms were given, or would be today, with the policy that says which."""
    today = policies.document
    yield from ((today, recipient.name) for recipient in today.recipients)
    for record in releases:
        if record.counts and record.plans:
            yield policies.at(record).document, record.recipient
