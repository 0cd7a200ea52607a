"""Releases that are fitted to earlier ones, made elsewhere, are made in parts as in memory."""

from __future__ import annotations

import errno
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import DiskFull
from sfumato.formats.files import digest_of
from sfumato.formats.options import RaggedRows
from sfumato.formats.reading import detect_options
from sfumato.formats.tables import delimited
from sfumato.project.adoption import rows
from sfumato.project.adoption.adopt import with_files
from sfumato.project.document.adopted_files import BY_KEY, AdoptedFile, RowMatching
from sfumato.project.errors import AdoptionError
from sfumato.project.release import bucket_counts
from sfumato.project.release.release import make_release
from sfumato.project.verification.found import verify_file
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.batched import ILLNESSES
from tests.project.test_long_leak import told
from tests.project.test_long_release import ROWS, frame_of, long_of, whole_of
from tests.row_order import in_table_order

ward, small_parts = test_long_release.ward, test_long_release.small_parts
IN_ORDER, KEYED = RowMatching(), RowMatching(BY_KEY, "person", "id")
LEVELS = {
    "illness": ("retention_probability", (0.9, 0.6, 0.2)),
    "cost + stay": ("sigma_squared", (0.5, 2.0, 8.0)),
}
"""Two earlier releases stand at the first and the last of three levels."""


@pytest.fixture(autouse=True)
def files_in_parts(monkeypatch):
    monkeypatch.setattr(rows, "READ_WHOLE", 0)
    monkeypatch.setattr(rows, "KEPT_IN_MEMORY", 0)
    monkeypatch.setattr(rows, "_FILLED", 7)


def earlier(frame, seed):
    """What a clinic was given of a table: other values, and numbers with noise."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": frame["person"],
            "diagnosis": np.array(ILLNESSES)[rng.integers(0, 4, len(frame))],
            "cost": frame["cost"] + rng.normal(0.0, 60.0, len(frame)),
            "stay": frame["stay"] + rng.normal(0.0, 5.0, len(frame)),
        }
    )


def adopted_as(path, key, level, match=IN_ORDER, **options):
    names = {"illness": "diagnosis"} if key == "illness" else {"cost": "cost", "stay": "stay"}
    chosen = replace(detect_options(path), **options).to_dict()
    digest = digest_of(path, Silent())
    return AdoptedFile(str(path), digest, chosen, names, level, match, holder=path.stem)


def fitted(document, files):
    """The document with earlier releases, and a recipient at each of their levels and between."""
    for key, held in files.items():
        document = with_files(document, key, held)
    usual, people = document.recipients[0], []
    for place in range(3):
        levels = {key: {name: values[place]} for key, (name, values) in LEVELS.items()}
        statements = {**usual.statements, **{k: levels[k] for k in files}}
        people.append(replace(usual, name=f"Clinic {'ABC'[place]}", statements=statements))
    return replace(document, recipients=tuple(people))


SOME = np.random.default_rng(4).permutation(ROWS)[:240]
"""Of an earlier release of some records, which these are, in another order."""
WAYS = {
    "in the table's order": (IN_ORDER, lambda frame: frame),
    "by key": (KEYED, lambda frame: frame.sample(frac=1.0, random_state=3)),
    "some of the records": (KEYED, lambda frame: frame.iloc[SOME]),
    "spaces around keys": (KEYED, lambda frame: frame.assign(id=" " + frame["id"] + "\u00a0")),
    "records that the table lacks": (
        KEYED,
        lambda frame: pd.concat([frame.iloc[5:], frame[:9].assign(id=[*"abcdefghi"])]),
    ),
}


def with_earlier(frame, folder, way, ending):
    """What makes a document one that is fitted to earlier releases of a table."""
    match, change = WAYS[way]

    def changed(document):
        files = {}
        for key, (_, (most, _, least)) in LEVELS.items():
            held = []
            for seed, level in enumerate((most, least)):
                path = folder / f"{key[:4]}-{level}.{ending}"
                shown = change(earlier(frame, seed))
                write = shown.to_csv if ending == "csv" else shown.to_parquet
                write(path, index=False)
                held.append(adopted_as(path, key, level, match))
            files[key] = held
        return fitted(document, files)

    return changed


def released(project, table, name, folder):
    made = make_release(project, in_batches(table), name, folder, "csv", Silent())
    return made.path, {path.name: path.read_bytes() for path in made.path.iterdir()}


@pytest.mark.slow
@pytest.mark.turns(4)
@pytest.mark.parametrize(("way", "ending"), [*zip(WAYS, ["csv", "parquet"] * 3, strict=False)])
def test_a_release_beside_earlier_ones_is_the_same_in_parts(ward, tmp_path, way, ending):
    frame = frame_of()
    with ward(frame, with_earlier(frame, tmp_path, way, ending), ending) as project:
        given = WAYS[way][1](earlier(frame, 0))["id"].str.strip()
        has = frame["person"].isin(given).to_numpy()
        for name in ("Clinic A", "Clinic B"):
            _, whole = released(project, whole_of(project), name, tmp_path / "whole")
            path, parts = released(project, long_of(project), name, tmp_path / "parts")
            assert parts == whole
            told = [
                verify_file(project, in_batches(t(project)), path, Silent())
                for t in (whole_of, long_of)
            ]
            assert told[0] == told[1]
            held = {str(each.title) for each in told[1].checks if each.holds}
            # Nobody's key drew the earlier files, which the statistical checks find.
            assert held >= {"Records", "illness: values", "cost + stay: values"}
            shown = in_table_order(project, path, whole_of(project))["illness"].astype(str)
            same = shown.to_numpy() == earlier(frame, 0)["diagnosis"].to_numpy()
            # Who has the level of an earlier release sees it in all records that it has.
            assert bool(same[has].all()) == (name == "Clinic A")
    assert has.all() == ("records" not in way)


@pytest.mark.slow
@pytest.mark.turns(3)
@pytest.mark.parametrize("size", [7, 299, 5000])
def test_it_does_not_matter_how_many_rows_are_read_at_once(ward, tmp_path, monkeypatch, size):
    frame = frame_of()
    way = "some of the records"
    with ward(frame, with_earlier(frame, tmp_path, way, "csv"), "csv") as project:
        _, whole = released(project, whole_of(project), "Clinic B", tmp_path / "whole")
        monkeypatch.setattr(delimited, "BATCH_ROWS", size)
        monkeypatch.setattr(bucket_counts, "BUCKET_ROWS", size)
        monkeypatch.setattr(bucket_counts, "BUCKET_NUMBERS", size)
        monkeypatch.setattr(bucket_counts, "HELD_NUMBERS", 0)
        _, parts = released(project, long_of(project), "Clinic B", tmp_path / "parts")
    assert parts == whole


@pytest.mark.slow
@pytest.mark.turns(3)
def test_a_leak_of_a_release_beside_earlier_ones_is_traced_in_parts(ward, tmp_path):
    frame = frame_of()
    way = "some of the records"
    with ward(frame, with_earlier(frame, tmp_path, way, "csv")) as project:
        path, _ = released(project, long_of(project), "Clinic B", tmp_path / "out")
        leak = read_leak(path, Silent()).frame
        for found in (leak, leak.iloc[30:120].reset_index(drop=True), earlier(frame, 0)):
            leaked = Table(found.rename(columns={"diagnosis": "illness"}))
            wanted = told(trace_file(project, in_batches(whole_of(project)), leaked, Silent()))
            assert told(trace_file(project, long_of(project), leaked, Silent())) == wanted
            assert any("illn-0.9" in names for names, *_ in wanted[0])
    assert wanted[-1]


def refused(project, document, table):
    """What is said where a release of today's policy is refused."""
    project.save_document(document)
    with pytest.raises(AdoptionError) as error:
        released(project, table, "Clinic B", project.path.parent / "refused")
    return str(error.value)


def twice(frame):
    return frame.assign(id=[*frame["id"][:200], frame["id"][7], *frame["id"][201:]])


BAD = {
    "too few rows": (IN_ORDER, lambda f: f.iloc[:-2], "has 298 rows, and the table has 300"),
    "another edition": (
        RowMatching(source="cd" * 32),
        lambda f: f,
        "the table is another edition now",
    ),
    "no key": (KEYED, lambda f: f.assign(id=f["id"].where(f.index != 212)), r"missing.* row 213"),
    "a key twice": (KEYED, twice, r"there for the second time in 1 row, first in row 201"),
    "no such key": (RowMatching(BY_KEY, "person", "key"), lambda f: f, "has no column key"),
    "other keys": (KEYED, lambda f: f.assign(id="x" + f["id"]), "has no row for any of"),
    "other values": (
        KEYED,
        lambda f: f.assign(diagnosis=f["diagnosis"].mask(f.index > 250, "Secret")),
        r"values that the domain does not have in 49 rows, first in row 252",
    ),
    "no such column": (KEYED, lambda f: f.drop(columns="diagnosis"), "has no column diagnosis"),
}


@pytest.mark.few(1)
@pytest.mark.parametrize("case", BAD)
def test_a_file_that_does_not_fit_is_refused_in_the_same_words_in_parts(ward, tmp_path, case):
    match, change, words = BAD[case]
    frame, path = frame_of(), tmp_path / "earlier.csv"
    change(earlier(frame, 0)).to_csv(path, index=False)
    with ward(frame) as project:
        held = {"illness": [adopted_as(path, "illness", 0.9, match)]}
        document = fitted(project.document, held)
        whole = refused(project, document, whole_of(project))
        assert refused(project, document, long_of(project)) == whole
        assert project.releases == ()
    assert re.search(words, whole)
    assert "Secret" not in whole


@pytest.mark.slow
def test_rows_of_a_file_that_can_not_be_read_are_refused_in_parts(ward, tmp_path):
    frame, path = frame_of(), tmp_path / "earlier.csv"
    earlier(frame, 0).to_csv(path, index=False)
    lines = path.read_text().splitlines()
    lines[77] += ",more,fields"
    path.write_text("\n".join(lines))
    with ward(frame) as project:
        for match, words in (
            (KEYED, "1 row of .* can't be read, and 1 record has no row in it"),
            (IN_ORDER, "has 299 rows, and the table has 300"),
        ):
            file = adopted_as(path, "illness", 0.9, match, ragged_rows=RaggedRows.SKIP)
            document = fitted(project.document, {"illness": [file]})
            whole = refused(project, document, whole_of(project))
            assert refused(project, document, long_of(project)) == whole
            assert re.search(words, whole)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["person", "zip"])
def test_a_table_whose_key_is_missing_or_repeated_is_refused_in_parts(ward, tmp_path, name):
    frame, path = frame_of(), tmp_path / "earlier.csv"
    earlier(frame, 0).to_csv(path, index=False)
    frame.loc[211, "person"] = "P00007é"
    with ward(frame, lambda document: replace(document, record_key=None)) as project:
        match = RowMatching(BY_KEY, name, "id")
        document = fitted(project.document, {"illness": [adopted_as(path, "illness", 0.9, match)]})
        whole = refused(project, document, whole_of(project))
        assert refused(project, document, long_of(project)) == whole
    assert f"The key {name} of the table is" in whole


@pytest.mark.slow
def test_what_becomes_of_a_file_is_said_when_its_release_is_verified(ward, tmp_path):
    frame = frame_of()
    with ward(frame, with_earlier(frame, tmp_path, "by key", "csv")) as project:
        made, _ = released(project, long_of(project), "Clinic B", tmp_path / "out")
        path = tmp_path / "illn-0.9.csv"
        path.write_text(path.read_text() + "\n")
        changed = verify_file(project, long_of(project), made, Silent())
        path.unlink()
        gone = verify_file(project, long_of(project), made, Silent())
    for report, words in ((changed, "its contents changed"), (gone, "any more")):
        [failed] = (each for each in report.failed if str(each.title).endswith(": ladder"))
        assert str(failed.title) == "illness: ladder"
        assert words in str(failed.finding)
        assert any(str(each.title) == "cost + stay: values" for each in report.checks)


@pytest.mark.slow
def test_no_key_of_a_record_lies_on_the_disk_and_a_full_one_is_said(ward, tmp_path, monkeypatch):
    frame, written, put = frame_of(), [], bucket_counts.Buckets._add
    change = with_earlier(frame, tmp_path, "by key", "csv")

    def seen(self, batch, numbers):
        written.append(b"".join(bytes(b) for c in batch.columns for b in c.buffers() if b))
        put(self, batch, numbers)

    with ward(frame, change) as project:
        monkeypatch.setattr(bucket_counts.Buckets, "_add", seen)
        released(project, long_of(project), "Clinic B", tmp_path / "out")
        assert written
        assert not any(b"P000" in content for content in written)
        monkeypatch.setattr(rows.tempfile, "TemporaryFile", full)
        with pytest.raises(DiskFull):
            released(project, long_of(project), "Clinic A", tmp_path / "more")
        assert len(project.releases) == 1
    assert not list(tmp_path.glob("tmp*"))


def full(*_, **__):
    raise OSError(errno.ENOSPC, "No space left on device")
