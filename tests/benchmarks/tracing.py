"""``python -m tests.benchmarks.tracing``: how often a leaked file names the right recipient.

Ten recipients of the sample, at clearly different levels and at levels a hair apart, and
mixtures of two: the share of right answers beside what was computed beforehand.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.traceability import TableRows, traceability
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.formats.reading import detect_options
from sfumato.project.document.edits import with_spacing
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.rules.rules import apply_rules
from sfumato.project.source import read_source
from sfumato.resources import resource_path
from tests.engine.disclosure.leak_trials import LeakTrials
from tests.project.whole_table import released_columns

TRIALS = 1_000
SHOWN = ("sex", "region", "ward", "diagnosis")
"""Few public columns: with all of the sample's, a handful of rows would do."""
KEYS = KeyRing(b"t" * 32)
HEADING = (
    "| ten recipients at | leaked rows | computed: at least | named rightly | trials |\n"
    "|---|---|---|---|---|\n"
)

Rows = npt.NDArray[np.int64]


def documents() -> dict[str, tuple[Document, Table]]:
    path = Path(resource_path("samples", "clinic.csv"))
    read, source = read_source(path, detect_options(path), Silent())
    table = read.in_memory(Silent())
    text = resource_path("samples", "clinic.toml").read_text(encoding="utf-8")
    document = apply_rules(text, MemorySurvey(table), Document(source=source))
    found = {}
    for name, levels, spacing in (
        ("clearly different levels, 0.9 to 0.09", np.linspace(0.9, 0.09, 10), 0.0),
        ("level 0.5, 5 % apart", np.full(10, 0.5), 0.05),
        ("level 0.5, 1 % apart", np.full(10, 0.5), 0.01),
    ):
        recipients = tuple(
            Recipient(f"R{i}", {e.key: {"retention_probability": p} for e in document.policy})
            for i, p in enumerate(levels)
        )
        settled = replace(document, recipients=recipients, level_spacing=0.0)
        found[name] = (with_spacing(settled, spacing), table)
    return found


def rows_of(frame: pd.DataFrame) -> Rows:
    return pd.util.hash_pandas_object(frame, index=False).to_numpy().view(np.int64)


def trials_of(document: Document, table: Table) -> tuple[list[Rows], list[TableRows], LeakTrials]:
    """Return the releases' rows, how the table explains them, and the trials of leaks."""
    made = []
    for recipient in document.recipients:
        frame = released_columns(document, table, recipient, KEYS, Silent())
        made.append(frame[[name for name in SHOWN if name in frame.columns]])
    attributes = [name for entry in document.policy for name in entry.attributes if name in SHOWN]
    true = made[0].assign(**{name: table.column(name) for name in attributes})
    true = true.astype(made[0].dtypes.to_dict())
    public = made[0].drop(columns=attributes)
    values = int(np.prod([document.column(name).domain.size for name in attributes]))
    releases = [rows_of(frame) for frame in made]
    every = [rows_of(public)] * len(releases)
    ways = [
        TableRows(every, rows_of(public), 1.0 / values),
        TableRows(releases, rows_of(true), 1.0),
    ]
    return releases, ways, LeakTrials(releases, rows_of(true), rows_of(public), values)


def mixtures(
    trials: LeakTrials, releases: list[Rows], each: int, generator: np.random.Generator
) -> float:
    """Return how often both sources of a mixture are named, and no other."""
    rows, right = len(releases[0]), 0
    for _ in range(TRIALS):
        pair = generator.permutation(len(releases))[:2].tolist()
        leaked = {source: generator.choice(rows, size=each, replace=False) for source in pair}
        right += trials.named(leaked) == sorted((source,) for source in pair)
    return right / TRIALS


def main() -> int:
    generator = np.random.default_rng(20_261_120)
    sys.stdout.write(HEADING)
    for name, (document, table) in documents().items():
        releases, ways, trials = trials_of(document, table)
        needed = traceability(releases, Silent(), ways).most_rows
        sizes = [int(min(needed, len(releases[0])))]
        if name.startswith("clearly"):
            sizes.insert(0, 200)
        for size in dict.fromkeys(sizes):
            leaks = [generator.choice(len(releases[0]), size, replace=False) for _ in range(TRIALS)]
            success = trials.success(leaks)
            computed = "99 %" if size >= needed else "(not enough rows)"
            sys.stdout.write(f"| {name} | {size:,} | {computed} | {success:.1%} | {TRIALS:,} |\n")
            sys.stdout.flush()
        if name.startswith("clearly"):
            both = mixtures(trials, releases, 1_000, generator)
            sys.stdout.write(
                f"| {name}, two mixed | 1,000 of each | | both {both:.1%} | {TRIALS:,} |\n"
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
