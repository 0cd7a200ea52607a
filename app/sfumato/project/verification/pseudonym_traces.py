"""Pseudonyms in a file that was found: to whom they were given, whatever else the file shows.

A pseudonym of 128 bits can't be guessed, so each one that a file shows was given to whoever has
the pseudonyms of its scope, and pseudonyms made by others are nobody's here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.record_ids import LETTERS
from sfumato.engine.table.table import Table
from sfumato.formats.comparison import is_number
from sfumato.project.document.model import Document
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.pseudonyms import pseudonym_column, scopes_for
from sfumato.project.release.regenerate import PoliciesInForce

if TYPE_CHECKING:
    from sfumato.engine.randomness.keys import KeyRing

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
    today = policies.today.document
    yield from ((today, recipient.name) for recipient in today.recipients)
    for record in releases:
        if record.counts and record.plans:
            yield policies.at(record).document, record.recipient
