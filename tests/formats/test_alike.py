"""Texts that look alike are told, and made the same where somebody says so."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pyarrow as pa
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import first_rows, open_batches
from sfumato.formats.table_format import Batches
from tests.formats.reading import options_for, plain, read

TOWNS = ["München", "Mu\u0308nchen", "München ", "\ufeffMünchen", "Ulm", None, "", " "] * 3
SAME = ["München"] * 4 + ["Ulm", None, "", ""]


def written(folder, kind, towns=TOWNS):
    path = folder / f"t.{kind}"
    frame = pd.DataFrame({"town": towns, "n": range(len(towns))})
    if kind == "csv":
        # A blank by itself and an empty text are others than a missing one in quotes only.
        frame.fillna("\0").to_csv(path, index=False, quoting=2)
        path.write_text(path.read_text(encoding="utf-8").replace('"\0"', ""), encoding="utf-8")
    else:
        frame.to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_texts_that_look_alike_are_told_apart_and_said_with_a_way_to_make_them_the_same(
    tmp_path, kind
):
    path = written(tmp_path, kind)
    found = read(path, quoted_empty_is_text=True)
    assert plain(found.table.frame["town"]) == TOWNS
    [note] = found.notes
    assert (note.columns, note.count, note.rows) == (("town",), 6, (1, 2, 3, 4, 7))
    [way] = note.ways
    again = read(path, **{"same_texts": way.options.same_texts, "quoted_empty_is_text": True})
    assert way.options == replace(options_for(path, quoted_empty_is_text=True), same_texts=True)
    assert again.notes == ()
    assert plain(again.table.frame["town"]) == SAME * 3
    assert again.table.frame["n"].tolist() == [*range(len(TOWNS))]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_texts_are_made_the_same_in_parts_as_in_the_whole_table(tmp_path, kind):
    path = written(tmp_path, kind)
    options = options_for(path, quoted_empty_is_text=True, same_texts=True)
    batches = open_batches(path, options, Silent())
    assert batches is not None
    rows = pa.Table.from_batches(batches.read(["n", "town"]))
    assert rows["town"].to_pylist() == SAME * 3
    parts = [each for part in batches.parts(1) for each in part.read(["town"])]
    assert pa.Table.from_batches(parts)["town"].to_pylist() == SAME * 3


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_texts_that_look_alike_are_said_in_parts(tmp_path, kind, monkeypatch):
    path = written(tmp_path, kind, ["Ulm", "Ulm ", "Bonn"] * 4)
    options = options_for(path)
    (note,) = open_batches(path, options, Silent()).notes
    assert (note.columns, note.count, note.rows) == (("town",), 2, (1, 2))
    assert note.ways[0].options == replace(options, same_texts=True)
    assert note in read(path).notes
    assert open_batches(path, note.ways[0].options, Silent()).notes == ()
    monkeypatch.setattr(Batches, "around", lambda self, _place, _context: (0, first(self)))
    (note,) = open_batches(path, options, Silent()).notes
    assert "among the first 9 rows" in note.text


def first(batches):
    return next(batches.read(tuple(batches.types))).slice(0, 9)


def test_the_first_rows_tell_of_those_that_are_among_them(tmp_path):
    path = written(tmp_path, "parquet", ["Ulm", "Ulm", "Ulm ", "Ulm "] + ["Bonn"] * 9)
    options = options_for(path)
    assert [note.count for note in first_rows(path, options, 4).notes] == [2]
    assert first_rows(path, options, 2).notes == ()


@pytest.mark.parametrize("towns", [["Ulm", "ulm"] * 4, [f"{i} " for i in range(9)]])
def test_nothing_is_said_of_texts_that_look_different(tmp_path, towns):
    assert read(written(tmp_path, "parquet", towns)).notes == ()


def test_a_project_of_the_first_version_is_told_nothing(tmp_path):
    assert read(written(tmp_path, "parquet"), version=1).notes == ()


def test_categories_in_an_order_stay_as_they_are(tmp_path):
    order = pd.CategoricalDtype(["low", "low ", "high"], ordered=True)
    path = tmp_path / "t.parquet"
    frame = pd.DataFrame({"x": pd.Series(["low", "low ", "high"] * 3, dtype=order)})
    frame.to_parquet(path)
    [note] = read(path).notes
    assert (note.count, note.ways) == (2, ())
    pd.testing.assert_frame_equal(read(path, same_texts=True).table.frame, frame)
