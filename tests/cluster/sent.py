"""What is sent to a cluster in tests: a table, a plan and its keys; and what must come back."""

from __future__ import annotations

import base64
import math
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet

from sfumato.engine.randomness.keys import DerivedKeys
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document, PolicyEntry, ViewRule
from sfumato.project.release.batches import batch_of
from sfumato.project.release.group_shuffle import mark_of, marks_as_told
from sfumato.project.release.plan import Plan
from sfumato.project.release.workers import plain_schema
from tests.project.batched import KEYS, SECRET, as_batch, hospital, hospital_document, planned
from tests.project.test_long_units import by_house, of_units
from tests.project.whole_table import coarsened, release_whole, rows_of, suppressed_in
from tests.source_code import ROOT

ROWS = 300
QUASI = ("age", "zip", "grade")
RELEASE = "0123456789abcdef"


@dataclass(frozen=True)
class Sent:
    """A folder with ``table.parquet``, ``plan.json`` and ``keys.bin``."""

    folder: Path
    plan: Plan
    keys: DerivedKeys
    released: pa.Table
    """The release that is made here, in its own order, with the types that engines have."""
    classes: pd.DataFrame
    """What the rows that leave show of the quasi-identifiers, and their true values."""

    @property
    def table(self) -> pa.Table:
        return pa.parquet.read_table(self.folder / "table.parquet")

    def as_released(self, made: pa.Table) -> pa.Table:
        """Return what an engine made with the release's own types."""
        return made.cast(self.released.schema).combine_chunks()

    def shown(self, content: bytes) -> list[str]:
        """Return in which forms any key, or the secret, stands in some bytes."""
        body = self.keys.to_bytes()
        body = body[body.index(b"\n") + 1 :]
        parts = [SECRET, *(body[at : at + 32] for at in range(32, len(body), 64))]
        return [form for key in parts for form, text in forms_of(key) if text in content]


def forms_of(key: bytes) -> Iterator[tuple[str, bytes]]:
    yield "raw", key
    yield "hexadecimal", key.hex().encode()
    yield "HEXADECIMAL", key.hex().upper().encode()
    yield "text", repr(key)[2:-1].encode()
    for start in range(3):  # wherever it stands in what is written in base64
        whole = base64.b64encode(bytes(start) + key)
        yield "base64", whole[4 if start else 0 : -4]


LOOSE = ViewRule(1, 0.0, {"age": 1, "zip": 2})
STRICT = ViewRule(4, 0.9, {"age": 2, "zip": 2, "grade": 1})
OF_UNITS = ViewRule(4, 0.9, {"age": 3, "zip": 2, "grade": 1})


DEATHS = {"plain": 2, "groups": 2, "units": 3}
"""How often Dask reads a table until it makes the rows: for the keys and groups, and for the
classes of a view; then for the release."""


def by_groups(document: Document, **settings: object) -> Document:
    """Release two attributes by groups of records, each by groups of its own."""
    public = {"illness": ["grade", "smoker"], "grade_of_pain": ["severity"]}
    stated = {"epsilon": 0.3, "delta": 0.17, **settings}
    policy = tuple(
        PolicyEntry(each.attributes, "reconstruction", {**stated, "public": public[each.key]})
        if each.key in public
        else each
        for each in document.policy
    )
    levels = {"illness": 0.5, "grade_of_pain": 0.2}
    told = {key: {"retention_probability": level} for key, level in levels.items()}
    recipients = tuple(
        replace(each, statements={**each.statements, **told}) for each in document.recipients
    )
    return replace(document, policy=policy, recipients=recipients)


def send(
    folder: Path,
    view: ViewRule | None = LOOSE,
    *,
    of_houses: bool = False,
    grouped: bool = False,
    placed: bool = False,
) -> Sent:
    """Put a table with a column of every sort, a plan and its keys into a folder.

    Its rows may be `of_houses`, of which two each leave, released by groups of records, or `placed`
    as they stand in the table.
    """
    table, document = hospital(ROWS), hospital_document(ROWS, view)
    if of_houses:
        table = Table(of_units(table.frame))
        document = by_house(2, "illness")(document)
    if grouped:
        document = by_groups(document)
    if placed:
        document = replace(document, rows_as_in_table="It is sorted by chance.")
    material, made = planned(document, table)
    rows = rows_of(material, KEYS)
    assert (rows.table.rows < ROWS) == of_houses
    hidden = None
    if made.coarsening is not None:
        seen = coarsened(made.coarsening, made.columns, rows.table)
        assert bool(seen.view.suppressed_rows) == (view is not LOOSE)
        hidden = suppressed_in(seen, rows.table, KEYS) if view is not LOOSE else None
    made = replace(made, release_id=RELEASE, suppressed=hidden)
    marks = marks_as_told(made, mark_of(made, rows.table, KEYS))
    plan, keys = replace(made, group_marks=marks).with_keys(KEYS)
    frame = release_whole(plan, KEYS, rows, None if placed else RELEASE)
    released = pa.Table.from_batches([batch_of(frame, plan.output_schema())])
    pa.parquet.write_table(pa.Table.from_batches([as_batch(table)]), folder / "table.parquet")
    (folder / "plan.json").write_text(plan.to_json())
    (folder / "keys.bin").write_bytes(keys.to_bytes())
    in_table = release_whole(plan, KEYS, rows)
    true = rows.table.frame[["illness", "ward", "grade_of_pain"]]
    classes = in_table[list(QUASI)].reset_index(drop=True).assign(**true)
    return Sent(folder, plan, keys, released.cast(plain_schema(released.schema)), classes)


SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""Java compiles as for a process that ends soon: a test on Spark takes a fifth less time."""


def drive(driver: str, folder: Path, **environment: str) -> None:
    """Run a cluster in a process of its own, which ends it with all its threads and ports."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "app")))
    ran = subprocess.run(
        [sys.executable, "-m", f"tests.cluster.{driver}", str(folder)],
        cwd=ROOT,
        env={**os.environ, **SHORT_LIVED, "PYTHONPATH": path, **environment},
        capture_output=True,
        timeout=600,
        check=False,
    )
    (folder / "said.txt").write_bytes(ran.stdout + ran.stderr)
    assert ran.returncode == 0, ran.stderr.decode(errors="replace")[-4000:]


def dies_once(folder: Path, name: str, at: int) -> None:
    """End this process at once when it is the one that comes here for the n-th time of all."""
    for number in range(1, at + 1):
        try:
            os.close(os.open(folder / f"{name}-{number}", os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            continue
        if number == at:
            os._exit(9)
        return


def facts_by_hand(frame, columns, sensitive):
    """What classes tell, from plain dictionaries of Python."""
    classes = defaultdict(Counter)
    for row in frame.astype(object).where(frame.notna(), None).to_dict("records"):
        classes[tuple(row[name] for name in columns)][row[sensitive]] += 1
    sizes = [each.total() for each in classes.values()]
    shares = [[n / each.total() for n in each.values()] for each in classes.values()]
    return {
        "rows": sum(sizes),
        "classes": len(classes),
        "smallest": min(sizes),
        "unique": sizes.count(1),
        "values": min(map(len, shares)),
        "entropy": min(math.prod(p**-p for p in each) for each in shares),
        "largest_share": max(map(max, shares)),
    }
