"""Two-way tables of perturbed columns: recomputed by hand, and what their intervals hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.previews.previewed_values import PreviewQuestion
from sfumato.analysis.previews.two_way import TwoWayTables
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Intervals, Suppression
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.document.model import (
    Document,
    PolicyEntry,
    Recipient,
    TableSource,
    Unit,
    ViewRule,
)
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import material_of
from tests.in_batches import in_batches
from tests.project.making import new_project

ILLNESSES, WARDS, SEXES = ("asthma", "cancer", "flu"), ("north", "south"), ("f", "m")
KEPT, KEPT_WARD = 0.6, 0.7


def patients(rows=500):
    rng = np.random.default_rng(11)
    sex = rng.choice(SEXES, rows)
    illness = np.where(sex == "f", rng.choice(ILLNESSES, rows), rng.choice(ILLNESSES[1:], rows))
    ward = np.where(illness == "flu", "north", rng.choice(WARDS, rows))
    return pd.DataFrame({"illness": illness, "ward": ward, "sex": sex})


def document(**changes):
    columns = (
        ColumnSpec("illness", Role.SENSITIVE, Kind.CATEGORICAL, Domain(ILLNESSES)),
        ColumnSpec("ward", Role.SENSITIVE, Kind.CATEGORICAL, Domain(WARDS)),
        ColumnSpec("sex", Role.QUASI_IDENTIFIER, Kind.CATEGORICAL),
    )
    policy = (PolicyEntry(("illness",), "uniform"), PolicyEntry(("ward",), "uniform"))
    levels = {
        "illness": {"retention_probability": KEPT},
        "ward": {"retention_probability": KEPT_WARD},
    }
    recipients = (Recipient("Institute", levels),)
    source = TableSource("/data/table.csv", "ab" * 32, 500)
    made = Document("ward", source, columns=columns, policy=policy, recipients=recipients)
    return replace(made, **changes)


def tables(made, table, keys):
    encoded = material_of(made, table).encoded
    columns = {"illness": encoded["illness"]}
    return TwoWayTables.of(PreviewQuestion(made, table, keys, made.policy[0], columns, "Institute"))


def replacing(kept, size):
    """Pr[released | true], written out."""
    return np.eye(size) * kept + (1.0 - kept) / size


def test_the_columns_offered_are_those_that_can_be_counted_with(tmp_path):
    made, table = document(), Table(patients())
    assert tables(made, table, KeyRing(bytes(32))).beside == ("ward", "sex")


@pytest.mark.parametrize(
    ("other", "values", "kept"), [("ward", WARDS, KEPT_WARD), ("sex", SEXES, 1.0)]
)
def test_a_table_is_what_inverting_both_matrices_gives_on_the_released_file(
    tmp_path, other, values, kept
):
    frame = patients()
    project = new_project(tmp_path, document())
    found = tables(project.document, Table(frame), project.keys).table(other, Silent())
    made = make_release(
        project, in_batches(Table(frame)), "Institute", tmp_path / "out", "csv", Silent()
    )
    data = pd.read_csv(made.path / "data.csv", dtype=str)
    seen = pd.crosstab(data["illness"], data[other], normalize=True)
    seen = seen.reindex(index=ILLNESSES, columns=values, fill_value=0.0).to_numpy()
    first, second = replacing(KEPT, len(ILLNESSES)), replacing(kept, len(values))
    estimated = np.linalg.inv(first) @ seen @ np.linalg.inv(second).T
    assert np.allclose(found.estimated, estimated.ravel())
    true = pd.crosstab(frame["illness"], frame[other], normalize=True)
    assert np.allclose(found.true, true.loc[list(ILLNESSES), list(values)].to_numpy().ravel())
    assert found.names[:2] == (f"asthma · {values[0]}", f"asthma · {values[1]}")


def simulated_errors(other, times=1500):
    """Draw both columns and invert both matrices many times; return the estimates' spread."""
    rng, frame = np.random.default_rng(5), patients()
    values, kept = (WARDS, KEPT_WARD) if other == "ward" else (SEXES, 1.0)
    codes = [
        pd.Categorical(frame["illness"], ILLNESSES).codes,
        pd.Categorical(frame[other], values).codes,
    ]
    sizes, found = (len(ILLNESSES), len(values)), []
    inverses = [np.linalg.inv(replacing(p, m)) for p, m in zip((KEPT, kept), sizes, strict=True)]
    for _ in range(times):
        seen = np.zeros(sizes)
        shown = [
            np.where(rng.random(len(own)) < p, own, rng.integers(0, m, len(own)))
            for own, p, m in zip(codes, (KEPT, kept), sizes, strict=True)
        ]
        np.add.at(seen, tuple(shown), 1.0 / len(frame))
        found.append((inverses[0] @ seen @ inverses[1].T).ravel())
    return np.std(found, axis=0)


@pytest.mark.slow
@pytest.mark.parametrize("other", ["ward", "sex"])
def test_intervals_hold_the_true_shares_as_often_as_they_say(other):
    made, table = document(), Table(patients())
    held, spread, half = [], [], []
    for place in range(150):
        secret = place.to_bytes(2, "big") * 16
        found = tables(made, table, KeyRing(secret)).table(other, Silent())
        held.append((found.low <= found.true) & (found.true <= found.high))
        spread.append(found.estimated)
        half.append((found.high - found.low) / 2)
    assert 0.94 <= np.mean(held) <= 0.99
    # Nor are they wider than what estimates do in a simulation that shares no code with them.
    large = np.mean(spread, axis=0) > 0.1
    ratio = np.mean(half, axis=0)[large] / (1.96 * simulated_errors(other)[large])
    assert 0.9 < ratio.min() <= ratio.max() < 1.15


@pytest.mark.slow
def test_intervals_hold_the_true_shares_where_two_rows_show_one_draw():
    frame = patients(250)
    twice = pd.concat([frame, frame], ignore_index=True)
    twice["person"] = np.tile(np.arange(250), 2)
    person = ColumnSpec("person", Role.IDENTIFYING, Kind.CATEGORICAL)
    made = document(unit=Unit(("person",), 2, ("illness", "ward")))
    made = replace(made, columns=(*made.columns, person))
    held = []
    for place in range(100):
        secret = place.to_bytes(2, "big") * 16
        found = tables(made, Table(twice), KeyRing(secret)).table("sex", Silent())
        held.append((found.low <= found.true) & (found.true <= found.high))
    assert np.mean(held) >= 0.94


def test_a_coarsened_column_counts_as_the_recipient_sees_it():
    frame = patients(200)
    frame["age"] = 20 + np.arange(200) % 40
    made = document()
    view = ViewRule(k=1, suppression=0.0, levels={"sex": 1, "age": 1})
    made = replace(
        made,
        columns=(*made.columns, ColumnSpec("age", Role.QUASI_IDENTIFIER, Kind.NUMERIC)),
        hierarchies={"sex": Suppression(), "age": Intervals(20.0)},
        recipients=(replace(made.recipients[0], view=view),),
    )
    offered = tables(made, Table(frame), KeyRing(bytes(32)))
    assert offered.beside == ("ward", "sex", "age")
    found = offered.table("age", Silent())
    assert len(found.names) == 2 * len(ILLNESSES)
    young = (frame["age"] < 40) & (frame["illness"] == "asthma")
    assert found.true[0] == pytest.approx(young.mean())
    # A column of which the recipient sees nothing has one value, and adds nothing.
    assert len(offered.table("sex", Silent()).names) == len(ILLNESSES)


def test_with_sampling_weights_the_population_s_table_is_estimated(tmp_path):
    frame = patients().assign(weight=np.linspace(10.0, 50.0, 500).round())
    made = document()
    weight = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC)
    project = new_project(tmp_path, replace(made, columns=(*made.columns, weight)))
    found = tables(project.document, Table(frame), project.keys).table("sex", Silent())
    made = make_release(
        project, in_batches(Table(frame)), "Institute", tmp_path / "out", "csv", Silent()
    )
    data = pd.read_csv(made.path / "data.csv")
    seen = data.pivot_table("weight", "illness", "sex", "sum", fill_value=0.0)
    seen = seen.loc[list(ILLNESSES), list(SEXES)].to_numpy()
    estimated = np.linalg.inv(replacing(KEPT, 3)) @ (seen / seen.sum())
    assert found.weight == "weight"
    assert np.allclose(found.estimated, estimated.ravel())
    flu = frame["weight"][(frame["illness"] == "flu") & (frame["sex"] == "m")].sum()
    assert found.true[-1] == pytest.approx(flu / frame["weight"].sum())
    assert np.all((found.low <= found.estimated) & (found.estimated <= found.high))


def test_too_many_combinations_are_refused_with_what_to_do():
    frame = patients(500)
    frame["town"] = [f"town {place % 250}" for place in range(500)]
    made = document()
    town = ColumnSpec("town", Role.INSENSITIVE, Kind.CATEGORICAL)
    made = replace(made, columns=(*made.columns, town))
    with pytest.raises(EstimationError, match="750 combinations"):
        tables(made, Table(frame), KeyRing(bytes(32))).table("town", Silent())
