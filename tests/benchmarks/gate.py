"""The check before a release, for the first time and after an edit, beside grouping by pandas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.analysis.readiness.readiness import examine
from sfumato.analysis.shown_columns import LeavingColumns
from sfumato.engine.core.columns import ColumnSpec, Domain, Kind, Role
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Attribute, Table, encode_column
from sfumato.project.document.model import Document, PolicyEntry, Recipient, Unit
from sfumato.project.release.release_columns import attributes_of, leaving_table
from tests.benchmarks.harness import Case
from tests.engine.numbers import stated_settings
from tests.in_batches import in_batches

BASELINE = "frame.duplicated(keep=False) on the columns that leave"
NUMBERS = (90, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
LABELS = 8
ILLNESSES = 10
OPEN = (Role.QUASI_IDENTIFIER, Role.INSENSITIVE)
MOST_ROWS = 4
"""Of some households not all rows leave, so that the key has to choose them."""


def cases(quick: bool) -> Iterator[Case]:
    """Yield the first check of a table, and the check after a column was dropped."""
    rows = 20_000 if quick else 1_000_000
    rng = np.random.default_rng(1)
    numbers = {f"number {i}": rng.integers(0, top, rows) for i, top in enumerate(NUMBERS)}
    texts = np.array(list("abcdefghijklmnop"))
    labels = {f"label {i}": pd.Categorical(rng.choice(texts, rows)) for i in range(LABELS)}
    illness = rng.choice(texts[:3], rows)
    household = rng.integers(0, rows // 3, rows)
    columns = {**numbers, **labels, "illness": illness, "household": household}
    table = Table(pd.DataFrame(columns))
    document = _document([*numbers], [*labels])
    attributes = attributes_of(document, table)
    shown = table.frame[[*numbers, *labels]]
    keys = KeyRing(bytes(32))

    def check(columns: LeavingColumns, decided: Document) -> object:
        return examine(decided, columns.of(decided), attributes, (), Silent())

    of_units = document.with_unit(Unit(("household",), MOST_ROWS))
    for what, decided in (("", document), (f" by units, K = {MOST_ROWS}", of_units)):
        yield Case(
            f"n={rows:,} 15 columns{what}, first",
            partial(lambda decided: check(LeavingColumns(table, keys), decided), decided),
            partial(shown.duplicated, keep=False),
        )
        known = LeavingColumns(table, keys)
        check(known, decided)
        edits = _edits(decided, [*numbers, *labels])
        yield Case(
            f"n={rows:,} 15 columns{what}, after an edit",
            partial(lambda known, edits: check(known, next(edits)), known, edits),
            partial(shown.duplicated, keep=False),
        )

    yield from _told(rows)
    yield from _views(rows)


def _told(rows: int) -> Iterator[Case]:
    """Yield checks of a table whose open columns tell, and whose rows can be pooled."""
    table = _told_table(rows)
    document = _told_document(table)
    attributes = attributes_of(document, table)
    shown = table.frame[[spec.name for spec in document.columns if spec.role in OPEN]]
    beside = partial(shown.duplicated, keep=False)
    keys = KeyRing(bytes(32))

    def check(columns: LeavingColumns, decided: Document) -> object:
        return examine(decided, columns.of(decided), attributes, (), Silent())

    what = f"n={rows:,} 6 open columns, 2 sensitive, households"
    yield Case(f"{what}, first", lambda: check(LeavingColumns(table, keys), document), beside)
    for edit, edits in (
        ("a column was dropped", _edits(document, ["age", "region", "town", "sex", "job"])),
        ("a level was changed", _levels(document)),
    ):
        known = LeavingColumns(table, keys)
        check(known, document)
        yield Case(
            f"{what}, after {edit}",
            partial(lambda known, edits: check(known, next(edits)), known, edits),
            beside,
        )


def _views(rows: int) -> Iterator[Case]:
    """Yield checks of three recipients' views over four quasi-identifiers."""
    rng = np.random.default_rng(5)
    texts = np.array(list("abcdefghijklmnop"))
    table = Table(
        pd.DataFrame(
            {
                "age": rng.integers(0, 90, rows),
                "town": rng.integers(0, 3_000, rows),
                "job": pd.Categorical(texts[rng.integers(0, len(texts), rows)]),
                "sex": rng.choice(["f", "m"], rows),
                "income": np.exp(rng.normal(9, 1, rows)).round(-2),
                "household": np.sort(rng.integers(0, rows // 4, rows)),
                "illness": rng.choice(texts[:3], rows),
            }
        )
    )
    known = ("age", "town", "job", "sex")
    document = _document(["age", "town"], ["job", "sex"])
    income = ColumnSpec("income", Role.INSENSITIVE, Kind.NUMERIC)
    level = document.recipients[0].statements
    document = replace(
        document,
        columns=(*document.columns, income),
        recipients=tuple(Recipient(name, level) for name in ("Institute", "Press", "Public")),
    )
    document, _ = with_proposed_hierarchies(document, table)
    keys = KeyRing(bytes(32))
    for what, unit in (
        ("", None),
        (f" by units, K = {MOST_ROWS}", Unit(("household",), MOST_ROWS)),
    ):
        decided = document if unit is None else document.with_unit(unit)
        for name, k in (("Institute", 3), ("Press", 5), ("Public", 20)):
            decided = with_statement(decided, name, k, 0.01)
        decided = find_views(decided, in_batches(leaving_table(decided, table, keys)), Silent())
        attributes = attributes_of(decided, table)

        def check(
            columns: LeavingColumns,
            decided: Document,
            attributes: dict[str, Attribute] = attributes,
        ) -> object:
            return examine(decided, columns.of(decided), attributes, (), Silent())

        beside = partial(table.frame[[*known, "income"]].duplicated, keep=False)
        name = f"n={rows:,} 3 views of 4 quasi-identifiers{what}"
        run = partial(lambda check, decided: check(LeavingColumns(table, keys), decided), check)
        yield Case(f"{name}, first", partial(run, decided), beside)
        columns = LeavingColumns(table, keys)
        check(columns, decided)
        edits = _fewer(decided, known)
        yield Case(
            f"{name}, after quasi-identifiers were dropped",
            partial(
                lambda check, columns, edits: check(columns, next(edits)), check, columns, edits
            ),
            beside,
        )


def _fewer(document: Document, names: tuple[str, ...]) -> Iterator[Document]:
    """Yield documents with one, two or three of some columns dropped, each once."""
    for count in range(1, len(names)):
        for dropped in itertools.combinations(names, count):
            changed = document
            for name in dropped:
                spec = document.column(name)
                changed = changed.with_column(replace(spec, role=Role.IDENTIFYING))
            yield changed


def _told_table(rows: int) -> Table:
    rng = np.random.default_rng(4)
    texts = np.array(list("abcdefghijklmnop"))
    age, region = rng.integers(0, 90, rows), rng.integers(0, len(texts), rows)
    income = np.exp(9.0 + 0.02 * age + 0.3 * rng.normal(size=rows)).round(-1)
    household = np.sort(rng.integers(0, rows // 4, rows))
    illness = rng.integers(0, ILLNESSES, rows // 4)[household]
    return Table(
        pd.DataFrame(
            {
                "age": age,
                "region": pd.Categorical(texts[region]),
                "town": rng.integers(0, 3_000, rows),
                "sex": rng.choice(["f", "m"], rows),
                "income": income,
                "job": pd.Categorical(texts[(income / 20_000).astype(int).clip(0, 15)]),
                "household": household,
                "savings": (income * rng.lognormal(0, 0.3, rows)).round(),
                "illness": texts[illness],
            }
        )
    )


def _told_document(table: Table) -> Document:
    columns = [
        *(ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.NUMERIC) for name in ("age", "town")),
        *(ColumnSpec(name, Role.QUASI_IDENTIFIER) for name in ("region", "sex", "job")),
        ColumnSpec("income", Role.INSENSITIVE, Kind.NUMERIC),
        ColumnSpec("household", Role.IDENTIFYING, Kind.NUMERIC),
        ColumnSpec("savings", Role.SENSITIVE, Kind.NUMERIC),
        ColumnSpec("illness", Role.SENSITIVE, domain=Domain(tuple("abcdefghij"))),
    ]
    numbers = encode_column(table, columns[-2]).attribute
    return Document(
        columns=tuple(columns),
        policy=(
            PolicyEntry(("illness",), "uniform"),
            PolicyEntry(("savings",), "gaussian", stated_settings([numbers])),
        ),
        recipients=tuple(
            Recipient(
                name,
                {
                    "illness": {"retention_probability": share},
                    "savings": {"sigma_squared": noise},
                },
            )
            for name, share, noise in (("Institute", 0.4, 0.25), ("Public", 0.2, 1.0))
        ),
    )


def _levels(document: Document) -> Iterator[Document]:
    """Yield documents that were not checked yet: with another level for one recipient."""
    institute, public = document.recipients
    for step in range(1, 1_000):
        level = {"retention_probability": 0.2 + step / 5_000}
        changed = replace(public, statements={**public.statements, "illness": level})
        yield replace(document, recipients=(institute, changed))


def _document(numbers: list[str], labels: list[str]) -> Document:
    level = {"illness": {"retention_probability": 0.4}}
    return Document(
        columns=(
            *(ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.NUMERIC) for name in numbers),
            *(ColumnSpec(name, Role.QUASI_IDENTIFIER) for name in labels),
            ColumnSpec("household", Role.IDENTIFYING, Kind.NUMERIC),
            ColumnSpec("illness", Role.SENSITIVE, domain=Domain(("a", "b", "c"))),
        ),
        policy=(PolicyEntry(("illness",), "uniform"),),
        recipients=tuple(Recipient(name, level) for name in ("Institute", "Public")),
    )


def _edits(document: Document, names: list[str]) -> Iterator[Document]:
    """Yield documents that were not checked yet: sets of columns with one more dropped."""
    rng = np.random.default_rng(2)
    while True:
        dropped = rng.choice(names, size=rng.integers(1, 4), replace=False)
        changed = document
        for name in dropped:
            spec = document.column(str(name))
            changed = changed.with_column(replace(spec, role=Role.IDENTIFYING))
        yield changed
