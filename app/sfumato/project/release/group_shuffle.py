"""Rows that an engine brings together: those of a unit, and those of a group that is drawn from.

Engines know whose a row is, and which group it is in, by keyed hashes alone. Nothing of the groups
stands in a plan but a keyed mark of all of them: how many records a group has is seen by whoever
is given the public columns unperturbed, and a plan may be seen by others; how often each value
occurs in it is what is to be hidden. So a group's records are counted where they have been brought
together. A true value travels under a pad that is made of its record's identifier and a key.

What is shown of a group follows from its own rows and from no others, so it is the same for any
partitioning, and the same as in the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.values import Words, count_codes, smallest_unsigned
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import key_hashes
from sfumato.engine.randomness.row_order import Hashes, order_words
from sfumato.engine.table.micro_groups import MicroGroups, PublicAttribute
from sfumato.engine.table.table import Attribute, EncodedColumn, Table, encode_attribute
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.release.batches import batch_of
from sfumato.project.release.plan import Plan, Releaser
from sfumato.project.release.units import unit_ids_of
from sfumato.project.release.views import keyed_rows


def shown_alone_by(plan: Plan) -> Plan:
    """Return the plan of what each row shows by itself: without what is drawn from groups."""
    together = grouped_entries(plan)
    names = {name for entry in together for name in entry.attributes}
    return replace(
        plan,
        entries=tuple(entry for entry in plan.entries if entry not in together),
        released=tuple(name for name in plan.released if name not in names),
        groups={},
    )


def grouped_entries(plan: Plan) -> tuple[EntryPlan, ...]:
    """Return the entries whose rows are drawn from groups."""
    return tuple(entry for entry in plan.entries if entry.key in plan.groups)


def group_columns(plan: Plan) -> tuple[str, ...]:
    """Return what `mark_of` reads of all entries."""
    entries = grouped_entries(plan)
    names = [name for each in entries for name in (*plan.groups[each.key], *each.attributes)]
    return tuple(dict.fromkeys(names))


def unit_words(releaser: Releaser, batch: pa.RecordBatch) -> Hashes:
    """Return each row's unit, and by what the rows of one are ranked, shape (n, 2).

    Those leave whose rank is lowest. Errors are those of `Releaser.record_hashes`.
    """
    plan, keys = releaser.plan, releaser.keys
    assert plan.unit is not None
    assert plan.record_key is not None
    table = _some(plan, batch, (plan.record_key, *plan.unit.columns))
    records = key_hashes(table.column(plan.record_key), keys, Silent())[:, 0].copy()
    return _by_units(releaser, table, order_words(records, keys.for_unit_rows())[:, 0])


def unit_values(releaser: Releaser, batch: pa.RecordBatch) -> Hashes:
    """Return each row's unit, and a keyed hash of what is drawn once for it, shape (n, 2)."""
    plan = releaser.plan
    assert plan.unit is not None
    once = plan.once_drawn
    table = _some(plan, batch, (*plan.unit.columns, *once))
    binned = {name: plan.column(name).binning for name in once}
    columns = {
        name: table.column(name) if binning is None else binning.apply(table.column(name))
        for name, binning in binned.items()
    }
    shown = Table(pd.DataFrame(columns, copy=False), is_part=True)
    hashes = keyed_rows(shown, list(once), releaser.keys.for_unit_rows()).view(np.uint64)
    return _by_units(releaser, table, hashes.reshape(-1, 2)[:, 0])


def _by_units(releaser: Releaser, table: Table, words: Words) -> Hashes:
    units = unit_ids_of(releaser.plan.unit, table, releaser.keys)
    assert units is not None
    return np.stack([units, words], axis=1)


def group_words(releaser: Releaser, entry: EntryPlan, batch: pa.RecordBatch) -> Hashes:
    """Return the keyed hash of each row's group, shape (n, 2).

    Raises
    ------
    SfumatoError
        If a column is missing, or a row does not fit the plan.
    """
    names = releaser.plan.groups[entry.key]
    shown = _public(releaser.plan, names, _some(releaser.plan, batch, names))
    return _hashed(shown, releaser.keys, entry)


def value_words(releaser: Releaser, entry: EntryPlan, batch: pa.RecordBatch, ids: Words) -> Words:
    """Return each row's true value under a pad of its record's identifier, shape (n,)."""
    [name] = entry.attributes
    table = _some(releaser.plan, batch, (name,))
    codes = encode_attribute(table, releaser.plan.column(name)).values
    return codes.astype(np.uint64) ^ _pads(releaser.keys, entry, ids)


def shown_of_groups(
    releaser: Releaser, entry: EntryPlan, groups: Hashes, values: Words, ids: Words
) -> pa.Array:
    """Return what rows show that are whole groups: as the project makes it.

    Parameters
    ----------
    releaser, entry
        The plan with its keys, and one of `grouped_entries`.
    groups, values
        From `group_words` and `value_words`, shape (n, 2) and (n,).
    ids
        The records' identifiers, shape (n,).
    """
    plan, keys = releaser.plan, releaser.keys
    [name] = entry.attributes
    schema = pa.schema([releaser.output_schema.field(name)])
    if not len(ids):
        return pa.array([], schema.field(name).type)
    domain = plan.column(name).domain
    assert domain is not None
    codes = (values ^ _pads(keys, entry, ids)).astype(smallest_unsigned(domain.size))
    attribute = Attribute(name, Kind.CATEGORICAL, domain, count_codes(codes, domain.size))
    column = EncodedColumn(attribute, codes).grouped(_grouped(groups, plan.groups[entry.key]))
    request = ReleaseRequest((column,), entry.settings, entry.level, ids, keys)
    shown = mechanism_called(entry.mechanism).release(request, Silent())[name]
    return batch_of(shown.to_frame(name), schema).column(0)


def mark_of(plan: Plan, table: Table, keys: KeyRing) -> Words:
    """Return what marks of groups are the sums of over all parts of a table, shape (k, 2).

    For each of the k `grouped_entries`, it is the sum of keyed hashes of each row's group and
    value: two tables with the same mark have the same groups, as hashes of 128 bits tell.
    """
    found = np.zeros((len(grouped_entries(plan)), 2), dtype=np.uint64)
    for place, entry in enumerate(grouped_entries(plan)):
        shown = _public(plan, plan.groups[entry.key], table)
        own = [encode_attribute(table, plan.column(name)).values for name in entry.attributes]
        found[place] = _hashed([*shown, *map(pd.Series, own)], keys, entry).sum(axis=0)
    return found


def marks_as_told(plan: Plan, marks: Words) -> dict[str, str]:
    """Return what a plan holds of its groups' marks, by the entries' keys."""
    entries = grouped_entries(plan)
    return {
        each.key: words.astype(">u8").tobytes().hex()
        for each, words in zip(entries, marks, strict=True)
    }


def _some(plan: Plan, batch: pa.RecordBatch, names: Sequence[str]) -> Table:
    return plan.table_of(batch, names)


def _public(plan: Plan, names: Sequence[str], table: Table) -> list[pd.Series]:
    return [plan.column(name).shown(table.column(name)) for name in names]


def _hashed(columns: Sequence[pd.Series], keys: KeyRing, entry: EntryPlan) -> Hashes:
    named = {str(place): column for place, column in enumerate(columns)}
    table = Table(pd.DataFrame(named, copy=False), is_part=True)
    found = keyed_rows(table, list(named), keys.for_groups(entry.key))
    return found.view(np.uint64).reshape(-1, 2)


def _pads(keys: KeyRing, entry: EntryPlan, ids: Words) -> Words:
    return order_words(ids, keys.for_groups(entry.key))[:, 0].copy()


def _grouped(words: Hashes, names: Sequence[str]) -> MicroGroups:
    """Return the groups of rows by their hashes; which values these are nobody needs to know."""
    order = np.lexsort((words[:, 1], words[:, 0]))
    ordered = words[order]
    begins = np.ones(len(words), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    members = np.empty(len(words), dtype=np.int64)
    members[order] = np.cumsum(begins) - 1
    sizes = np.bincount(members).astype(np.int64)
    unknown = np.zeros(len(sizes), dtype=np.int64)
    public = tuple(PublicAttribute(name, pd.Index([]), unknown) for name in names)
    return MicroGroups(members, sizes, public)
