"""The preview beside the release it foretells: the rows that leave, by cluster, with weights."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.previews.number_estimates import Figure
from sfumato.analysis.previews.previewed_numbers import compute_numbers
from sfumato.analysis.previews.previewed_values import PreviewQuestion, compute_preview
from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table, encode_column
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import leaving_rows, material_of
from tests.engine.numbers import stated_settings
from tests.in_batches import in_batches
from tests.project.making import new_project
from tests.project.test_units import protected
from tests.samples.make_households import households

K = 3


def with_rents(frame, constant=True):
    """Rents leave as noisy numbers: one of a household, or one of a row."""
    document = protected(frame, K)
    spec = ColumnSpec("rent", Role.SENSITIVE, Kind.NUMERIC)
    unit = replace(document.unit, constant=("water", "rent") if constant else ("water",))
    level = {"rent": {"sigma_squared": 0.5}}
    settings = stated_settings([encode_column(Table(frame), spec).attribute])
    return replace(
        document.with_column(spec),
        unit=unit,
        policy=(*document.policy, PolicyEntry(("rent",), "gaussian", settings)),
        recipients=(Recipient("Public", {**document.recipient("Public").statements, **level}),),
    )


def asked(project, table, key, recipient="Public"):
    document = project.document
    encoded = material_of(document, table).encoded
    (entry,) = [each for each in document.policy if each.key == key]
    columns = {name: encoded[name] for name in entry.attributes}
    return PreviewQuestion(document, table, project.keys, entry, columns, recipient)


def test_numbers_are_previewed_on_the_rows_that_leave_with_errors_by_cluster(tmp_path):
    frame = households(150)
    frame["rent"] = frame["rent"] + 0.5
    table = Table(frame)
    project = new_project(tmp_path, with_rents(frame))
    found = compute_numbers(asked(project, table, "rent"), Silent())
    made = make_release(project, in_batches(table), "Public", tmp_path / "out", "csv", Silent())
    released = pd.read_csv(made.path / "data.csv")["rent"]
    left = leaving_rows(project.document, table, project.keys)
    (mean,) = [e for e in found.estimates.estimates if e.figure is Figure.MEAN]
    assert found.estimates.records == len(released) == len(left)
    assert mean.estimated == pytest.approx(released.mean())
    assert mean.true == pytest.approx(frame["rent"].iloc[left].mean())
    variance = found.sample.seen[0].noise[0, 0]
    assert mean.error == pytest.approx(math.sqrt(K * variance / len(released)), rel=1e-3)
    assert {row - 1 for row in found.sample.rows} <= set(left.tolist())
    # Of one household one draw: its rows show the same number.
    shown = pd.Series(found.sample.seen[0].values[:, 0])
    whose = frame["household"].iloc[[row - 1 for row in found.sample.rows]].to_numpy()
    assert shown.groupby(whose).nunique().max() == 1
    project.close()


@pytest.mark.slow
def test_the_previewed_error_holds_for_draws_of_households(tmp_path):
    frame = households(80)
    frame["rent"] = frame["rent"] + 0.5
    off = []
    for number in range(60):
        folder = tmp_path / str(number)
        folder.mkdir()
        project = new_project(folder, with_rents(frame))
        found = compute_numbers(asked(project, Table(frame), "rent"), Silent())
        (mean,) = [e for e in found.estimates.estimates if e.figure is Figure.MEAN]
        off.append((mean.estimated - mean.true) / mean.error)
        project.close()
    # By rows, the error would be too small by up to the root of K.
    assert np.std(off) < 1.1
    assert np.std(off) * math.sqrt(K) > 1.1


@pytest.mark.slow
@pytest.mark.turns(1)
def test_shares_are_previewed_with_weights_as_the_recipient_s_guide_makes_them(tmp_path):
    frame = households(400)
    frame["weight"] = np.random.default_rng(4).integers(5, 80, len(frame)).astype(float)
    document = protected(frame, K)
    spec = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC)
    project = new_project(tmp_path, replace(document, columns=(*document.columns, spec)))
    table = Table(frame)
    made = make_release(project, in_batches(table), "Public", tmp_path / "out", "csv", Silent())
    rows = pd.read_csv(made.path / "data.csv", keep_default_na=False)
    package = json.loads((made.path / "datapackage.json").read_text())
    fields = {
        f["name"]: f["sfumato"]
        for f in package["resources"][0]["schema"]["fields"]
        if "sfumato" in f
    }
    for column, draws in (("illness", 1), ("water", K)):
        found = compute_preview(asked(project, table, column), Silent()).utility
        told = fields[column]
        m, p = len(told["domain"]), told["parameters"]["retention_probability"]
        chance = np.eye(m) * p + (1 - p) / m
        shown = np.column_stack([rows[column] == value for value in told["domain"]]).astype(float)
        scores, weight = shown @ np.linalg.inv(chance).T, rows["weight"].to_numpy()
        share = weight @ scores / weight.sum()
        spread = weight[:, None] * (scores - share) / weight.sum()
        error = np.sqrt((spread**2).sum(axis=0) * len(rows) / (len(rows) - 1))
        assert list(found.names) == told["domain"]
        assert found.weight == "weight"
        assert found.estimated == pytest.approx(share)
        assert found.high - found.estimated == pytest.approx(1.96 * error * math.sqrt(draws))
        true = frame.groupby(column)["weight"].sum().reindex(told["domain"]) / frame["weight"].sum()
        assert found.true == pytest.approx(true.to_numpy())
    project.close()


@pytest.mark.parametrize("constant", [True, False])
def test_numbers_are_previewed_with_weights_for_the_population(tmp_path, constant):
    frame = households(300)
    frame["rent"] = frame["rent"] + 0.5
    frame["weight"] = np.random.default_rng(4).integers(5, 80, len(frame)).astype(float)
    document = with_rents(frame, constant)
    spec = ColumnSpec("weight", Role.WEIGHT, Kind.NUMERIC)
    project = new_project(tmp_path, replace(document, columns=(*document.columns, spec)))
    table = Table(frame)
    found = compute_numbers(asked(project, table, "rent"), Silent())
    made = make_release(project, in_batches(table), "Public", tmp_path / "out", "csv", Silent())
    rows = pd.read_csv(made.path / "data.csv")
    left = frame.iloc[leaving_rows(project.document, table, project.keys)]
    share = rows["weight"] / rows["weight"].sum()
    mean, spread = found.estimates.estimates
    assert found.estimates.weight == "weight"
    assert mean.estimated == pytest.approx(np.average(rows["rent"], weights=rows["weight"]))
    assert mean.true == pytest.approx(np.average(left["rent"], weights=left["weight"]))
    off = share * (rows["rent"] - mean.estimated)
    draws = K if constant else 1
    error = np.sqrt((off**2).sum() * draws * len(rows) / (len(rows) - 1))
    assert mean.error == pytest.approx(error, rel=1e-6)
    noise = found.sample.seen[0].noise[0, 0]
    variance = np.cov(rows["rent"], aweights=rows["weight"], ddof=0) - noise
    assert spread.estimated == pytest.approx(np.sqrt(variance), rel=1e-3)
    (quantiles,) = found.quantiles
    assert quantiles.weight == "weight"
    assert quantiles.estimates[2].true == pytest.approx(
        np.quantile(left["rent"], 0.5, weights=left["weight"], method="inverted_cdf")
    )
    project.close()
