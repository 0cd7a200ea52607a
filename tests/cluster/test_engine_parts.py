"""A release whose rows an engine makes has the bytes of the one that is made here."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from sfumato.commands.shared import engines
from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.formats import records
from sfumato.formats.tables import delimited
from sfumato.project.document.model import ViewRule
from sfumato.project.errors import SourceChanged
from sfumato.project.release.prepared import PreparedTable
from sfumato.project.release.release import make_release, plan_of, sent_plan
from sfumato.project.release.workers import KeySource
from tests.cluster.sent import by_groups, forms_of
from tests.in_batches import in_batches
from tests.late import LateModule
from tests.project.test_long_release import (
    VIEWS,
    bundle,
    frame_of,
    long_of,
    seen_coarsely,
    ward,
    whole_of,
    with_orders,
)
from tests.project.test_long_units import by_house, of_units

__all__ = ["ward"]

# Dask's reader of Parquet uses what pandas 3.1 no longer likes.
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

dask = LateModule("dask")
cloudpickle = LateModule("cloudpickle")
dd = LateModule("dask.dataframe")
adapter = LateModule("sfumato.dask")


@pytest.fixture(autouse=True)
def here(monkeypatch):
    """Dask works in this process."""

    def made(table, *given):
        assert len(table.parts) > 1
        with dask.config.set(scheduler="sync"):
            engines.write_by_dask(table, *given)

    monkeypatch.setattr(engines, "_FEWEST_ROWS", 60)
    monkeypatch.setattr(engines, "_MOST_ROWS", 60)
    monkeypatch.setattr(records, "_PIECES_APART", 1)
    for each in (records, delimited):
        monkeypatch.setattr(each, "BLOCK_SIZES", (1 << 13, 1 << 15, 1 << 20))
    monkeypatch.setitem(engines.MAKERS, "dask", made)


def by_engine(project, folder, format_name="parquet"):
    engines.check_engine(project.document, "dask")
    table = long_of(project)
    rows_by = engines.rows_by(table, "dask")
    made = make_release(
        project, in_batches(table), "Clinic A", folder, format_name, Silent(), rows_by=rows_by
    )
    return {path.name: path.read_bytes() for path in made.path.iterdir()}


def of_houses():
    return of_units(frame_of())


def as_in_table(change):
    return lambda document: replace(change(document), rows_as_in_table="Sorted by chance.")


def units_in_views(document):
    view = ViewRule(4, 0.9, {"age": 3, "zip": 2, "grade": 1})
    return by_house(2, "illness")(seen_coarsely(view)(document))


def known_from_all():
    return with_orders(frame_of())


CASES = {
    "known from all rows only": (known_from_all, lambda document: document),
    "rows alone": (frame_of, lambda document: document),
    "a view": (frame_of, seen_coarsely(*VIEWS["a chain"])),
    "two rows of a unit": (of_houses, by_house(2, "illness")),
    "all rows of a unit": (of_houses, by_house(99, "illness")),
    "units as in the table": (of_houses, as_in_table(by_house(2, "illness"))),
    "units that a view counts": (of_houses, units_in_views),
    "groups": (frame_of, by_groups),
    "groups as published": (frame_of, lambda found: by_groups(found, sampling="published")),
    "groups as in the table": (frame_of, as_in_table(by_groups)),
}


IN_TEXTS = {"rows alone", "two rows of a unit", "units as in the table", "groups"}


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize(
    ("case", "ending"),
    [*((case, "parquet") for case in CASES), *((case, "csv") for case in sorted(IN_TEXTS))],
)
def test_an_engines_rows_make_the_bundle_that_is_made_here(ward, tmp_path, case, ending):
    frame, change = CASES[case]
    with ward(frame(), change, ending) as project:
        format_name = "csv" if case == "rows alone" else "parquet"
        whole, _ = bundle(project, whole_of(project), tmp_path / "whole", format_name)
        assert by_engine(project, tmp_path / "made", format_name) == whole


def sent_units(project, folder):
    """Put a plan's keys into a folder; return the plan and all its keys."""
    table = long_of(project)
    prepared = PreparedTable(project, in_batches(table))
    plan, keys = sent_plan(project, plan_of(project, prepared, "Clinic A", "", Silent()), prepared)
    (folder / "keys.bin").write_bytes(keys.to_bytes())
    return plan, keys.to_bytes(), KeySource.in_file(folder / "keys.bin")


@pytest.mark.slow
def test_no_key_is_in_the_graph_of_a_release_of_units(ward, tmp_path):
    with ward(of_units(frame_of()), by_house(2, "illness")) as project:
        plan, content, source = sent_units(project, tmp_path)
        table = dd.from_pandas(of_units(frame_of()), npartitions=3)
        with dask.config.set(scheduler="sync"):
            made = adapter.release(table, plan, source)
        graph = cloudpickle.dumps(made.expr) + pickle.dumps(dict(made.optimize().dask))
        graph += plan.to_json().encode()
        secrets = [project.secret.reveal()]
    body = content[content.index(b"\n") + 1 :]
    secrets += [body[at : at + 32] for at in range(32, len(body), 64)]
    assert len(secrets) > 5
    assert len(graph) > 1000
    assert [form for key in secrets for form, text in forms_of(key) if text in graph] == []


@pytest.mark.few(1)
@pytest.mark.parametrize("rows", [299, 300])
def test_a_table_that_changes_while_the_engine_works_is_refused(ward, tmp_path, monkeypatch, rows):
    made_by = engines.MAKERS["dask"]

    def swapped(table, *given):
        frame = pd.read_parquet(table.parts[0].part.path).iloc[:rows]
        pa.parquet.write_table(pa.Table.from_pandas(frame), table.parts[0].part.path)
        made_by(table, *given)

    monkeypatch.setitem(engines.MAKERS, "dask", swapped)
    with ward(frame_of()) as project:
        with pytest.raises((TableError, SourceChanged), match="changed"):
            by_engine(project, tmp_path / "made")
        assert not project.releases
        assert not (tmp_path / "made").exists()
