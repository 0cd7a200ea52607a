"""Values that spreadsheets run as formulas, from the table to a bundle and back."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.project.release.release import make_release
from sfumato.project.verification.leak import read_leak, trace_file
from sfumato.project.verification.verify import verify_bundle
from tests.in_batches import in_batches
from tests.project.making import document, new_project

RESULTS = ("-", "+", "=?", "clear")
ROWS = 300


def results() -> Table:
    return Table(
        pd.DataFrame(
            {
                "person": [f"P{i:03d}" for i in range(ROWS)],
                "@note": ["=1+1" if i % 5 == 0 else f"room {i % 7}" for i in range(ROWS)],
                "illness": pd.Categorical([RESULTS[i * i % 7 % 4] for i in range(ROWS)]),
            }
        )
    )


@pytest.fixture
def project(tmp_path):
    settled = document(
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("@note", Role.INSENSITIVE, Kind.TEXT),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(RESULTS)),
        )
    )
    source = settled.source.__class__("/data/ward.csv", "ab" * 32, ROWS)
    with new_project(tmp_path, settled.__class__(**{**vars(settled), "source": source})) as made:
        yield made


def release(project, out, recipient="Clinic A", **options):
    return make_release(
        project, in_batches(results()), recipient, out, "csv", Silent(), **options
    ).path


@pytest.mark.few(2)
@pytest.mark.parametrize("escape_formulas", [True, False])
@pytest.mark.parametrize("as_zip", [True, False])
def test_a_release_is_verified_with_its_formulas_escaped_or_not(
    project, tmp_path, escape_formulas, as_zip
):
    path = release(project, tmp_path / "out", as_zip=as_zip, escape_formulas=escape_formulas)
    report = verify_bundle(project, in_batches(results()), path, Silent())
    assert report.holds, [check.finding for check in report.checks if not check.holds]
    assert project.releases[0].details["escape_formulas"] is escape_formulas
    if not as_zip:
        text = (path / "data.csv").read_text(encoding="utf-8")
        assert ('"=1+1"' in text) is not escape_formulas
        assert text.startswith('"\'@note"' if escape_formulas else '"@note"')


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_found_part_of_an_escaped_file_is_traced(project, tmp_path):
    paths = [release(project, tmp_path / "out", name) for name in ("Clinic A", "Institute B")]
    for path, recipient in zip(paths, ("Clinic A", "Institute B"), strict=True):
        found = pd.read_csv(path / "data.csv").sample(200, random_state=3)
        found.to_csv(tmp_path / "found.csv", index=False)
        leak = read_leak(tmp_path / "found.csv", Silent())
        assert leak.columns == ("@note", "illness")
        report = trace_file(project, in_batches(results()), leak, Silent())
        assert [report.name_of(suspect) for suspect in report.traced.sources] == [recipient]
