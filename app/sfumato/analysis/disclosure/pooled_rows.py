"""What pooling the rows of one person or household restores, where rows are drawn one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.analysis.coalitions.holdings import Holding, ReleaseBasis, holdings_of
from sfumato.engine.core.columns import Role
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, one_by_one
from sfumato.engine.core.wording import Sentence, formatted, joined, listed
from sfumato.engine.disclosure.pooled_rows import (
    PooledRestoration,
    pooled_restoration,
    units_by_size,
)
from sfumato.engine.matrices.retention_matrix import RetentionMatrix, matrix_of_member
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.combinations import combined, members, sizes_of
from sfumato.engine.table.proposals import Proposal
from sfumato.engine.table.repeated_units import (
    RepeatedUnit,
    RowsOfUnits,
    varying_units,
)
from sfumato.engine.table.table import Attribute, Table, encode_column, no_column
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.release.bucket_counts import series_of


@dataclass(frozen=True)
class PooledRows:
    """What one recipient's release of an attribute restores once rows are pooled by a column.

    Parameters
    ----------
    column
        The column that says which rows belong together.
    shown
        Whether it is in the released files itself.
    attribute
        The sensitive attribute that is the same in all rows of a unit.
    recipient
        Who holds the release. A coalition pools what its most trusted member holds.
    units, varying
        How many units there are, and in how many of them the attribute is not the same; these are
        left out.
    rows
        The average number of rows in a unit, over the rows.
    restored
        For categories, the shares that are restored; None for numbers.
    spread
        For numbers, the half width of the 95 % interval around one row's value, and around the
        mean of the average unit's rows; None for categories.
    sampled
        How many rows it is estimated from, those of some units; 0 where from all.
    """

    column: str
    shown: bool
    attribute: str
    recipient: str
    units: int
    varying: int
    rows: float
    restored: PooledRestoration | None = None
    spread: tuple[float, float] | None = None
    sampled: int = 0

    @property
    def gain(self) -> float:
        """How much pooling helps: the share of rows restored beyond one row's, or of the width."""
        if self.restored is not None:
            return self.restored.rows - self.restored.one_row
        assert self.spread is not None
        return 1.0 - self.spread[1] / self.spread[0]

    @property
    def empties(self) -> bool:
        """Whether pooling tells half of what one row leaves hidden, or numbers twice as closely."""
        if self.restored is not None:
            return self.gain >= (1.0 - self.restored.one_row) / 2.0
        return self.gain >= 0.5

    @property
    def exposure(self) -> float:
        """In what share of the rows whoever pools them is right; intervals of numbers hold 95 %."""
        return 0.95 if self.restored is None else self.restored.rows

    @property
    def told(self) -> tuple[Sentence, Sentence]:
        """What pooled rows tell, and what one row does, as they are shown."""
        if self.restored is not None:
            return formatted(self.restored.rows, ".1%"), formatted(self.restored.one_row, ".1%")
        assert self.spread is not None
        return formatted(self.spread[1], ".4g"), formatted(self.spread[0], ".4g")

    @property
    def sentence(self) -> str:
        """What was found, in plain words."""
        who = Sentence(
            "Rows with the same {column} show the same true {attribute}, and {recipient}'s release"
            " draws each of them by itself.",
            column=self.column,
            attribute=self.attribute,
            recipient=self.recipient,
        )
        how = (
            Sentence("The file itself shows {column}.", column=self.column)
            if self.shown
            else Sentence("Whoever knows which rows belong together can pool them.")
        )
        if self.restored is not None:
            told = Sentence(
                "Pooled, they give away the true value of {pooled:.1%} of the rows, where one row"
                " alone gives away {alone:.1%}.",
                pooled=self.restored.rows,
                alone=self.restored.one_row,
            )
        else:
            assert self.spread is not None
            told = Sentence(
                "Pooled, they tell a number within ± {pooled:.4g} (95 %), where one row alone"
                " tells it within ± {alone:.4g}.",
                pooled=self.spread[1],
                alone=self.spread[0],
            )
        return joined(who, how, told, self.estimated)

    @property
    def estimated(self) -> str:
        """From how many rows it is estimated; empty where from all."""
        if not self.sampled:
            return ""
        return Sentence(
            "That is estimated from all rows of some units, {sampled:,} {sampled:row|rows} drawn"
            " evenly.",
            sampled=self.sampled,
        )

    def plain(self) -> dict[str, Any]:
        """Return the figures as plain JSON values."""
        found: dict[str, Any] = {
            "column": self.column,
            "column released": self.shown,
            "attribute": self.attribute,
            "recipient": self.recipient,
            "units": self.units,
            "units that vary": self.varying,
            "rows in a unit": self.rows,
        }
        if self.restored is not None:
            found["rows restored"] = {
                "pooled": self.restored.rows,
                "pooled ±": self.restored.error,
                "one row": self.restored.one_row,
                "units": self.restored.units,
            }
        if self.spread is not None:
            found["half width"] = {"one row": self.spread[0], "pooled": self.spread[1]}
        if self.sampled:
            found["rows looked at"] = self.sampled
        return found


def pooled_rows(
    document: Document,
    attributes: Mapping[str, Attribute],
    units: Sequence[RepeatedUnit],
    releases: Sequence[ReleaseRecord],
    basis: ReleaseBasis,
    context: Context,
) -> tuple[PooledRows, ...]:
    """Return what pooling restores, for each sensitive attribute, column and recipient.

    Parameters
    ----------
    document
        The policy and the recipients.
    attributes
        The policy's attributes, by name, as far as they are known.
    units
        The columns by which rows are pooled, with the rows that were looked at.
    releases, basis
        What the ledger tells of, and which releases are weighed.
    context
        Progress and cancelling.

    Returns
    -------
    tuple
        Entry by entry; for each column, the most trusted recipient first. Attributes that vary
        within units are left out, and so are mechanisms whose rows depend on each other.
    """
    known = [
        entry
        for entry in document.policy
        if set(entry.attributes) <= set(attributes)
        and not mechanism_called(entry.mechanism).needs_groups
        and (document.unit is None or not document.unit.draws_once(entry.attributes))
    ]
    sensitive = {column.name for column in document.sensitive}
    usable = [unit for unit in units if unit.column not in sensitive]
    found: list[PooledRows] = []
    for entry, part in one_by_one(context, known):
        held = holdings_of(document, entry, attributes, releases, basis)
        for unit in usable:
            for name in entry.attributes:
                if name in unit.constant:
                    found += _pooled(document, entry, name, unit, held, attributes, part)
    return tuple(found)


def worst_pooled(found: Sequence[PooledRows]) -> tuple[PooledRows, ...]:
    """Return for each attribute what tells most; a column that the files show goes first."""
    worst: dict[str, PooledRows] = {}
    for one in found:
        before = worst.get(one.attribute)
        if one.gain > 0.0 and (
            before is None or (one.shown, one.gain) > (before.shown, before.gain)
        ):
            worst[one.attribute] = one
    return tuple(worst.values())


def found_unit(document: Document, unit: RepeatedUnit) -> str:
    """Say that rows seem to belong together by a column; empty where nothing sensitive shows it."""
    once = () if document.unit is None else document.unit.constant
    shared = [
        column.name
        for column in document.sensitive
        if column.name in unit.constant and column.name not in once
    ]
    if not shared or unit.column in {column.name for column in document.sensitive}:
        return ""
    share = min(unit.constant[name] for name in shared)
    how = (
        Sentence("the same in all of them")
        if share == 1.0
        else Sentence("the same in {share:.1%} of the groups", share=share)
    )
    return Sentence(
        "Rows with the same {column} seem to belong to one person or household: {names} is {how}"
        " ({units:,} {units:group|groups}, at most {largest:,} {largest:row|rows} each).",
        column=unit.column,
        names=listed(shared),
        how=how,
        units=unit.units,
        largest=unit.largest,
    )


def proposed_unit(
    document: Document, repeated: Sequence[RepeatedUnit], known: Sequence[Proposal]
) -> tuple[str, str] | None:
    """Return the column by which rows seem to belong together, and why.

    Parameters
    ----------
    document
        What is decided; nothing is proposed where it states a unit.
    repeated
        The columns that several rows share, with what is the same in these.
    known
        What each column is proposed to be.
    """
    if document.unit is not None:
        return None
    for unit in repeated:
        if told := found_unit(document, unit):
            return unit.column, told
    taken = {column.name for column in document.sensitive} | {document.record_key}
    names = [each.spec.name for each in known if each.is_unit and each.spec.name not in taken]
    if not names:
        return None
    told = Sentence(
        "{column} looks like a number or a name for each person, household or company: a few rows"
        " share each of its values. If these rows belong together, protect them together.",
        column=names[0],
    )
    return names[0], told


def proposed_key(document: Document, known: Sequence[Proposal]) -> tuple[str, str] | None:
    """Return the column by which records can be known, and why; None where one is stated."""
    names = [each.spec.name for each in known if each.is_key]
    if document.record_key is not None or not names:
        return None
    told = Sentence(
        "{column} looks like a number for each record: every row has a different one. With it as"
        " the record key, rows can be sorted, added and removed between releases.",
        column=names[0],
    )
    return names[0], told


def repeated_units(
    table: BatchedTable,
    context: Context,
    asked: Sequence[str] = (),
    among: Callable[[], Sequence[str]] | None = None,
) -> tuple[RepeatedUnit, ...]:
    """Return the columns by which rows may belong together, or those that are asked for.

    All rows are read, unless it is found `among` which columns these can be, and there is none.

    Raises
    ------
    TableError
        If a column that is asked for is not there or brings no rows together.
    """
    whole = table.whole
    for name in asked:
        if name not in whole.columns:
            raise no_column(name)

    def find() -> tuple[RepeatedUnit, ...]:
        named = None if asked or among is None else among()
        if named is not None and not named:
            return ()
        room = whole.most_held(0)
        found = RowsOfUnits(whole.columns, tuple(dict.fromkeys(asked)), named, room)
        for batch, _ in whole.read(whole.columns, "Looking for rows that belong together", context):
            frame = {name: series_of(batch[name], name) for name in whole.columns}
            found.add(Table(pd.DataFrame(frame, copy=False), whole.batches.value_labels, {}, True))
        return found.found()

    return whole.keep(("repeated units", *asked), find)


def _values(
    document: Document, attribute: Attribute, unit: RepeatedUnit
) -> npt.NDArray[np.generic]:
    """Return an attribute's codes or numbers in the rows that were looked at, shape (n,)."""
    spec = replace(document.column(attribute.name), domain=attribute.domain)
    return encode_column(unit.rows, spec).values


def _pooled(
    document: Document,
    entry: PolicyEntry,
    name: str,
    unit: RepeatedUnit,
    held: Sequence[Holding],
    attributes: Mapping[str, Attribute],
    context: Context,
) -> list[PooledRows]:
    """Return what everyone who holds an entry restores of one attribute."""
    attribute, here = attributes[name], np.flatnonzero(unit.codes >= 0)
    codes, values = unit.codes[here], _values(document, attribute, unit)[here]
    varying = varying_units(codes, values)
    same = ~varying[codes]
    codes, values = codes[same], values[same]
    if not len(codes):
        return []
    sizes = np.bincount(codes)
    facts = PooledRows(
        column=unit.column,
        shown=document.column(unit.column).role is not Role.IDENTIFYING,
        attribute=name,
        recipient="",
        units=unit.units,
        varying=int(varying.sum()) * unit.every,
        rows=float((sizes.astype(np.float64) ** 2).sum() / sizes.sum()),
        sampled=len(unit.codes) if unit.every > 1 else 0,
    )
    made = []
    for holding, part in one_by_one(context, held):
        if attribute.domain is not None and holding.matrix is not None:
            size = attribute.domain.size
            by_size = units_by_size(codes, values.astype(np.int64), size)
            matrix = holding.matrix
            if len(entry.attributes) > 1 and isinstance(matrix, RetentionMatrix):
                whole = [attributes[each] for each in entry.attributes]
                member = members(sizes_of(whole), entry.attributes.index(name))
                matrix = matrix_of_member(matrix, combined(whole).frequencies, member)
            restored = pooled_restoration(matrix, by_size, part)
            made.append(replace(facts, recipient=holding.recipient, restored=restored))
            continue
        chosen = [attributes[each] for each in entry.attributes]
        mechanism = mechanism_called(entry.mechanism)
        law = mechanism.noise_law(holding.level, chosen, holding.plan.settings)
        if law is not None:
            at = entry.attributes.index(name)
            together = law.pooled_half_widths(0.95, facts.rows)
            spread = (float(law.half_widths(0.95)[at]), float(together[at]))
            made.append(replace(facts, recipient=holding.recipient, spread=spread))
    return made
