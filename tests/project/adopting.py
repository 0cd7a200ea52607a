"""Tables and earlier releases that another tool made of them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table, encode_column
from sfumato.formats.reading import detect_options
from sfumato.project.adoption.examination import Claim, Examination, adopt, examine
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile, RowMatching, adopted_files
from sfumato.project.document.model import Document, PolicyEntry, Recipient, TableSource
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from tests.in_batches import in_batches
from tests.row_order import in_table_order

ILLNESSES = ("asthma", "cold", "flu", "gout", "measles")
ROWS = 3_000


def ward(rows: int = ROWS) -> Table:
    rng = np.random.default_rng(11)
    codes = rng.integers(0, 5, rows)
    return Table(
        pd.DataFrame(
            {
                "person": [f"P{i:05d}" for i in range(rows)],
                "illness": pd.Categorical.from_codes(codes, list(ILLNESSES)),
            }
        )
    )


def settled(rows: int = ROWS, record_key: str | None = None) -> Document:
    return Document(
        title="Ward 7",
        source=TableSource("/data/ward.csv", "ab" * 32, rows, {"delimiter": ","}),
        columns=(
            ColumnSpec("person", Role.IDENTIFYING, Kind.TEXT),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(ILLNESSES)),
        ),
        record_key=record_key,
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=(
            Recipient("Clinic A", {"illness": {"retention_probability": 0.6}}),
            Recipient("Institute B", {"illness": {"retention_probability": 0.3}}),
        ),
    )


def randomized(values: pd.Series, p: float, seed: int) -> pd.Series:
    """Plain randomized response with numpy, as many have made it."""
    rng = np.random.default_rng([5, seed])
    kept = rng.random(len(values)) < p
    other = np.array(ILLNESSES)[rng.integers(0, 5, len(values))]
    return pd.Series(np.where(kept, values.astype(str), other), name=values.name)


def write_release(path: Path, table: Table, shown: pd.Series, **columns: object) -> Path:
    frame = pd.DataFrame({"person": table.frame["person"], "illness": shown, **columns})
    frame.to_csv(path, index=False)
    return path


def claim(path: Path, level: float | None = None, **changes: object) -> Claim:
    made = Claim(path, detect_options(path), {"illness": "illness"}, level)
    return replace(made, **changes)


def by_key(table_column: str = "person", file_column: str = "person") -> RowMatching:
    return RowMatching(BY_KEY, table_column, file_column)


def examined(document: Document, table: Table, told: Claim, **how: object) -> Examination:
    columns = (encode_column(table, document.column("illness")),)
    return examine(document, "illness", told, columns, RowsToMatch.of(table), Silent(), **how)


def fits(examination: Examination) -> bool:
    return all(one.holds for one in (*examination.checks, *examination.pairs))


def adopted(document: Document, table: Table, *told: Claim) -> Document:
    for one in told:
        document = adopt(document, "illness", examined(document, table, one))
    return document


def ladder_files(folder: Path, table: Table, *levels: float) -> list[Path]:
    """Write releases each of which was made from the one before."""
    above, before, paths = table.frame["illness"], 1.0, []
    for seed, level in enumerate(levels):
        above = randomized(above, level / before, seed)
        paths.append(write_release(folder / f"at-{level}.csv", table, above))
        before = level
    return paths


def independent_files(folder: Path, table: Table, *levels: float) -> list[Path]:
    """Write releases each of which was made from the original."""
    return [
        write_release(
            folder / f"alone-{level}.csv", table, randomized(table.frame["illness"], level, seed)
        )
        for seed, level in enumerate(levels, start=40)
    ]


def entry(document: Document) -> PolicyEntry:
    return document.policy[0]


def files(document: Document) -> tuple[AdoptedFile, ...]:
    return adopted_files(entry(document).settings)


def codes(column: pd.Series) -> np.ndarray:
    names = list(ILLNESSES)
    return np.array([names.index(value) for value in column.astype(str)], dtype=np.uint8)


def released(
    project: ProjectFile, table: Table, folder: Path, *recipients: str
) -> dict[float, np.ndarray]:
    shown = {}
    for name in recipients:
        outcome = make_release(project, in_batches(table), name, folder, "csv", Silent())
        column = in_table_order(project, outcome.path, table)["illness"]
        shown[outcome.record.plans[0].level] = codes(column)
    return shown
