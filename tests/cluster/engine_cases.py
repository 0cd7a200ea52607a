"""What every engine is asked: releases, what classes of views tell, and tables that are refused."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from sfumato.project.release.engine import EngineRows, class_facts, released, view_facts
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import KeySource, read_plan
from tests.cluster.sent import OF_UNITS, STRICT

CASES: dict[str, dict[str, Any]] = {
    "plain": {},
    "as in the table": {"placed": True},
    "strict": {"view": STRICT},
    "units": {"view": OF_UNITS, "of_houses": True},
    "units as in the table": {"view": OF_UNITS, "of_houses": True, "placed": True},
    "groups": {"grouped": True},
    "groups as in the table": {"view": STRICT, "grouped": True, "placed": True},
}
"""What is sent, by the arguments of `send`."""


def _row_apart(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(age=frame["age"].where(frame.index != 5, 200))


def _unfit(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(illness=frame["illness"].astype(str).where(frame["age"] != 30, "Secret"))


def _moved(frame: pd.DataFrame) -> pd.DataFrame:
    other = "gout" if frame["illness"][7] != "gout" else "flu"
    return frame.assign(illness=frame["illness"].where(frame.index != 7, other))


def _repeated(frame: pd.DataFrame) -> pd.DataFrame:
    return pd.concat([frame, frame.iloc[[4, 9, 9]]], ignore_index=True)


def _varying(frame: pd.DataFrame) -> pd.DataFrame:
    first = frame.index[frame["house"] == frame["house"][0]][0]
    other = "gout" if frame["illness"][0] != "gout" else "flu"
    return frame.assign(illness=frame["illness"].where(frame.index != first, other))


REFUSED: dict[str, tuple[str, Callable[[pd.DataFrame], pd.DataFrame], str]] = {
    "a class below k": ("strict", _row_apart, "has 1, and k is 4"),
    "a value outside the domain": (
        "plain",
        _unfit,
        "Column illness has values outside its domain",
    ),
    "other groups": ("groups", _moved, "illness is released by groups of records, and these"),
    "repeated keys": ("plain", _repeated, "person is not unique: 2 keys"),
    "units that differ": ("units", _varying, "differs between the rows of 1 group: illness"),
    "no column": ("plain", lambda frame: frame.drop(columns="zip"), "The table has no column zip"),
    "no rows": ("plain", lambda frame: frame.iloc[:0], "The table has no rows"),
}
"""Of which case a table is refused, how it is spoilt, and what is said."""


@dataclass(frozen=True)
class AskedEngine:
    """An engine, which puts its answers into a folder, where a folder for each case was sent to."""

    folder: Path
    rows_of: Callable[[pa.Table], EngineRows]
    table_of: Callable[[EngineRows], pa.Table]

    def answer(self) -> None:
        """Put all answers there."""
        for case in CASES:
            self.answer_case(case)
        self.answer_texts()
        self.answer_classes()
        for name in REFUSED:
            self.answer_refused(name)

    def answer_case(self, case: str) -> None:
        """Make a release, and tell what its views tell."""
        table, plan, source = self._sent(case)
        rows = self.rows_of(table)
        self._write(released(rows, plan, source), f"{case}/made.parquet")
        told = {name: asdict(each) for name, each in view_facts(rows, plan, source).items()}
        (self.folder / case / "facts.json").write_text(json.dumps(told))

    def answer_texts(self) -> None:
        """Release a table of texts."""
        table, plan, source = self._sent("plain")
        written = io.StringIO(table.to_pandas().to_csv(index=False))
        texts = pd.read_csv(written, dtype="str", keep_default_na=False, na_values=[""])
        self._write(released(self.rows_of(_of(texts)), plan, source), "texts.parquet")

    def answer_classes(self) -> None:
        """Tell what classes of a table tell that is no release."""
        table, _, _ = self._sent("plain")
        told = asdict(class_facts(self.rows_of(table), ["age", "zip"], "illness"))
        (self.folder / "facts.json").write_text(json.dumps(told))

    def answer_refused(self, name: str) -> None:
        """Tell what is said of a table that is refused."""
        case, spoil, _ = REFUSED[name]
        table, plan, source = self._sent(case)
        said = "nothing"
        try:
            rows = self.rows_of(_of(spoil(table.to_pandas())))
            view_facts(rows, plan, source)
            self.table_of(released(rows, plan, source))
        except Exception as error:  # Spark's own quote Sfumato's
            said = f"{type(error).__name__}: {error}"
        (self.folder / f"{name}.txt").write_text(said)

    def _sent(self, case: str) -> tuple[pa.Table, Plan, KeySource]:
        place = self.folder / case
        plan, source = read_plan(place / "plan.json"), KeySource.in_file(place / "keys.bin")
        return pa.parquet.read_table(place / "table.parquet"), plan, source

    def _write(self, rows: EngineRows, name: str) -> None:
        pa.parquet.write_table(self.table_of(rows), self.folder / name)


def _of(frame: pd.DataFrame) -> pa.Table:
    return pa.Table.from_pandas(frame, preserve_index=False)


def in_parts(table: pa.Table) -> list[pa.Table]:
    """The rows in three parts, and one without any."""
    third = len(table) // 3
    return [table.slice(*each) for each in ((0, third), (0, 0), (third, third + 1))] + [
        table.slice(2 * third + 1)
    ]
