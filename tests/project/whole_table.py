"""Releases of whole tables at once, which those made in parts are compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pandas as pd

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.generalization.cells import of_columns
from sfumato.engine.generalization.coded import generalized_column
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.row_order import release_order
from sfumato.engine.table.repeated_units import units_of
from sfumato.engine.table.table import Table
from sfumato.project.document.entry_plan import plan_release
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.byproducts import pseudonym_column
from sfumato.project.release.plan import Plan, Rows, open_column, record_ids_of, release_entry
from sfumato.project.release.release_columns import EncodedTable, material_of, plan_for
from sfumato.project.release.units import rows_that_leave, unit_ids_of
from sfumato.project.release.views import (
    Coarsened,
    Coarsening,
    check_view,
    coarsening_of,
    coded,
    listed_rows,
    own_view,
)


def coarsened(coarsening: Coarsening, columns: Sequence[ColumnSpec], table: Table) -> Coarsened:
    """Return what a view makes of a table, with the columns that it shows."""
    quasi = coded(columns, coarsening.hierarchies, table)
    units = units_of(table, coarsening.unit) if coarsening.unit else None
    view = own_view(coarsening, quasi, units)
    specs, shown, changed = {spec.name: spec for spec in columns}, {}, set()
    for axis, each in enumerate(quasi):
        level, kept = coarsening.level(each.name), ~view.hides_in(axis)
        if level or not kept.all():
            shown[each.name] = generalized_column(each, level, kept, table.frame.index)
            changed.add(each.name)
        else:
            shown[each.name] = specs[each.name].shown(table.column(each.name))
    highest = {each.name: each.height for each in quasi}
    counted = table.rows if units is None else int(units.max(initial=-1)) + 1
    return Coarsened(coarsening, shown, frozenset(changed), view, highest, counted)


def rows_of(material: EncodedTable, keys: KeyRing) -> Rows:
    """Return the rows that leave, as releases with a project's keys are made from them."""
    document, table = material.document, material.table
    ids = record_ids_of(document.record_key, table, keys, Silent())
    units = unit_ids_of(document.unit, table, keys)
    leaving = rows_that_leave(document.unit, units, ids, keys)
    if len(leaving) == table.rows:
        return Rows(table, material.encoded, ids, {}, units)
    left = replace(table, frame=table.frame.iloc[leaving].reset_index(drop=True))
    encoded = {name: column.at(leaving) for name, column in material.encoded.items()}
    return Rows(left, encoded, ids[leaving], {}, None if units is None else units[leaving])


def release_whole(
    plan: Plan, keys: KeyRing, rows: Rows, ordered_for: str | None = None
) -> pd.DataFrame:
    """Return the frame that a plan's recipient is given: every column made at once.

    Its rows stand in the keyed order of a release, where one is named; else as in the table.
    """
    table, shown, made = rows.table, {}, {}
    if plan.coarsening is not None:
        seen = coarsened(plan.coarsening, plan.columns, table)
        check_view(seen)
        shown = seen.columns
    for entry in plan.entries:
        made |= release_entry(entry, rows, keys, Silent())
    for name, scope in plan.pseudonyms.items():
        made[name] = pseudonym_column(table, name, scope, keys, Silent())
    columns = {
        name: made[name].set_axis(table.frame.index)
        if name in made
        else shown[name]
        if name in shown
        else open_column(table, plan.column(name))
        for name in plan.released
    }
    frame = pd.DataFrame(columns, index=table.frame.index)
    if ordered_for is None:
        return frame
    order = release_order(rows.record_ids, keys.for_row_order(ordered_for), Silent())
    return frame.take(order).reset_index(drop=True)


def released_columns(
    document: Document, table: Table, recipient: Recipient, keys: KeyRing, context: Context
) -> pd.DataFrame:
    """Return the frame that a recipient is given, in the table's order of rows."""
    material = material_of(document, table)
    entries = plan_release(document, material.attributes, recipient)
    plan = plan_for(material, entries, recipient.name, coarsening_of(document, recipient))
    return release_whole(plan, keys, rows_of(material, keys))


def suppressed_in(seen: Coarsened, table: Table, keys: KeyRing) -> tuple[str, ...]:
    """Return what a plan lists of the rows that a view suppresses."""
    names = sorted(seen.coarsening.hierarchies)
    order = [list(seen.coarsening.hierarchies).index(name) for name in names]
    hidden = of_columns(seen.view.hidden, order)
    some = (hidden != 0) & ~table.frame[names].duplicated().to_numpy()
    return tuple(sorted(listed_rows(table.frame.loc[some, names], hidden[some], keys)))
