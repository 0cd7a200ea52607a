"""Projects that adopt noisy numbers which another tool released."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.reading import detect_options
from sfumato.project.adoption.examination import Claim, adopt, examine
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.adopted_files import adopted_files
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.errors import AdoptionError
from sfumato.project.release.release import make_release
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project.adopting import fits
from tests.project.making import new_project

ROWS = 3000
GAUSSIAN = mechanism_called("gaussian")


def staff() -> Table:
    draw = np.random.default_rng(8)
    age = draw.normal(40, 12, ROWS).round()
    pay = 20 + 0.5 * age + draw.normal(0, 5, ROWS)
    pay[::40] = np.nan
    return Table(pd.DataFrame({"age": age, "pay": pay}))


TABLE = staff()
COLUMNS = tuple(ColumnSpec(name, Role.SENSITIVE, Kind.NUMERIC) for name in ("age", "pay"))
ENCODED = tuple(encode_column(TABLE, spec) for spec in COLUMNS)
SETTINGS = GAUSSIAN.first_settings(tuple(column.attribute for column in ENCODED), NOISE)


def settled() -> Document:
    return Document(
        title="Staff",
        source=TableSource("/data/staff.csv", "ab" * 32, ROWS, {"delimiter": ","}),
        columns=COLUMNS,
        policy=(PolicyEntry(("age", "pay"), GAUSSIAN.name, SETTINGS),),
        recipients=(Recipient("Clinic A", {"age + pay": {"sigma_squared": 1.0}}),),
    )


def noisy_files(folder, *levels, ladder=True):
    """Write copies as another tool made them: each from the one before, or from the original."""
    draw = np.random.default_rng(4)
    factor = np.linalg.cholesky(SETTINGS["covariance"])
    noise, before, paths = np.zeros((2, ROWS)), 0.0, []
    for level in levels:
        fresh = factor @ draw.normal(size=(2, ROWS))
        noise = noise + math.sqrt(level - before) * fresh if ladder else math.sqrt(level) * fresh
        before = level
        path = folder / f"at-{level}-{ladder}.csv"
        (TABLE.frame + noise.T).to_csv(path, index=False)
        paths.append(path)
    return paths


def examined(document, path, level=None):
    names = {"age": "age", "pay": "pay"}
    claim = Claim(path, detect_options(path), names, level, holder=path.stem)
    return examine(document, "age + pay", claim, ENCODED, RowsToMatch.of(TABLE), Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_release_is_fitted_between_adopted_copies_and_verifies(tmp_path):
    document = settled()
    for path, level in zip(noisy_files(tmp_path, 0.5, 2.0), (0.5, None), strict=True):
        found = examined(document, path, level)
        assert fits(found)
        document = adopt(document, "age + pay", found)
    assert sorted(file.level for file in adopted_files(document.policy[0].settings)) == [0.5, 2.0]
    with new_project(tmp_path, document) as project:
        outcome = make_release(
            project, in_batches(TABLE), "Clinic A", tmp_path / "out", "csv", Silent()
        )
        report = verify_bundle(project, in_batches(TABLE), outcome.path, Silent())
    assert [check.finding for check in report.failed] == []
    titles = [check.title for check in report.checks]
    assert any("beside at-2.0-True" in title for title in titles)


def test_copies_that_form_no_ladder_are_told_with_what_they_give_away(tmp_path):
    one, other = noisy_files(tmp_path, 1.0, 1.5, ladder=False)
    document = adopt(settled(), "age + pay", examined(settled(), one, 1.0))
    found = examined(document, other, 1.5)
    assert not fits(found)
    assert "Together they leave" in found.damage[0]


def test_a_file_that_shows_other_rows_is_refused(tmp_path):
    (path,) = noisy_files(tmp_path, 0.5)
    turned = pd.read_csv(path)
    pd.concat([turned[40:], turned[:40]]).to_csv(path, index=False)
    with pytest.raises(AdoptionError, match="do not go with the true ones"):
        examined(settled(), path)
