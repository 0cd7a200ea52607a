"""Codes among numbers are asked about in every format, and stated ones are missing."""

from __future__ import annotations

from datetime import date

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyreadstat
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadOptions
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import first_rows, open_batches, read_file
from tests.formats.reading import options_for, plain, read, read_text
from tests.late import LateModule

duckdb = LateModule("duckdb")

ROWS = 60
INCOME = [99999 if row % 10 == 1 else -9 if row % 10 == 2 else 900 + row * 7 for row in range(ROWS)]
LEFT = [None if code in {99999, -9} else code for code in INCOME]
STATED = {"income": ("-9", "99999")}


def a_frame():
    return pd.DataFrame({"income": INCOME, "sex": ["f", "m"] * (ROWS // 2)})


def csv(folder):
    path = folder / "t.csv"
    a_frame().to_csv(path, index=False)
    return path


def parquet(folder):
    path = folder / "t.parquet"
    a_frame().to_parquet(path)
    return path


def excel(folder):
    path, book = folder / "t.xlsx", openpyxl.Workbook()
    book.active.append(["income", "sex"])
    for row in a_frame().itertuples(index=False):
        book.active.append([int(row.income), row.sex])
    book.save(path)
    return path


def spss(folder):
    path = folder / "t.sav"
    pyreadstat.write_sav(a_frame(), path, variable_value_labels={"income": {-9: "minus nine"}})
    return path


def database(folder):
    path = folder / "t.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.sql("CREATE TABLE t (income INTEGER, sex VARCHAR)")
        connection.executemany(
            "INSERT INTO t VALUES (?, ?)", [[int(i), s] for i, s in a_frame().to_numpy()]
        )
    return path


FORMATS = pytest.mark.parametrize("made", [csv, parquet, excel, spss, database])


@pytest.mark.few(2)
@FORMATS
def test_codes_are_asked_about_without_naming_one_and_missing_by_choice(tmp_path, made):
    path = made(tmp_path)
    for found in (read(path), first_rows(path, options_for(path))):
        [note] = found.notes
        assert note.caution
        assert (note.columns, note.count) == (("income",), 12)
        assert "12 numbers of income look like codes for missing values" in note.text
        assert not {"99999", "-9"} & set(str(note.details).replace("'", " ").split())
        [way] = note.ways
        assert way.options.column_missing == STATED
        kept = read_file(path, way.options, Silent())
        assert sorted(plain(kept.table.frame["income"]), key=str) == sorted(LEFT, key=str)
        assert kept.notes == ()
        assert -9 not in kept.table.value_labels.get("income", {})


@pytest.mark.parametrize("made", [csv, parquet])
def test_rows_that_are_read_in_parts_are_asked_about_and_missing_too(tmp_path, made):
    path = made(tmp_path)
    batches = open_batches(path, options_for(path), Silent())
    [note] = batches.notes
    assert (note.columns, note.count) == (("income",), 12)
    again = open_batches(path, note.ways[0].options, Silent())
    assert again.notes == ()
    names = list(again.types)
    whole = pd.concat([batch.to_pandas() for batch in again.read(names)])
    assert plain(whole["income"]) == LEFT
    parts = [batch for part in again.parts(10) for batch in part.read(["income"])]
    if parts:
        assert [one for batch in parts for one in batch["income"].to_pylist()] == LEFT
    if again.near is not None and (found := again.near(5)) is not None:
        assert found[1]["income"].to_pylist() == LEFT[found[0] :][: len(found[1])]


@pytest.mark.few(3)
@FORMATS
@pytest.mark.parametrize("texts", [("", "99999", "-9", "m"), ("m", "99999", "-9")])
def test_texts_and_numbers_can_mean_missing_in_every_column(tmp_path, made, texts):
    path = made(tmp_path)
    table = read(path, missing=texts).table
    assert sorted(plain(table.frame["income"]), key=str) == sorted(LEFT, key=str)
    assert plain(table.frame["sex"]).count(None) == ROWS // 2
    assert set(table.frame["sex"].dropna()) == {"f"}
    shown = first_rows(path, options_for(path, missing=texts)).table.frame
    assert set(shown["sex"].dropna()) == {"f"}


@pytest.mark.parametrize("made", [csv, parquet])
def test_texts_mean_missing_in_every_column_of_rows_in_parts(tmp_path, made):
    path = made(tmp_path)
    batches = open_batches(path, options_for(path, missing=("", "m", "-9", "99999")), Silent())
    whole = pd.concat([batch.to_pandas() for batch in batches.read(["income", "sex"])])
    assert plain(whole["income"]) == LEFT
    assert set(whole["sex"].dropna()) == {"f"}
    assert plain(whole["sex"]).count(None) == ROWS // 2


def test_version_1_heeded_them_in_texts_and_workbooks_alone(tmp_path):
    frame = read(parquet(tmp_path), missing=("m",), version=1).table.frame
    assert set(frame["sex"]) == {"f", "m"}


def test_a_text_of_one_column_can_mean_missing_and_its_numbers_are_numbers(tmp_path):
    content = "income,code\n" + "".join(f"{n if n % 3 else 'refused'},refused\n" for n in range(90))
    texts = read_text(tmp_path, content).table.frame
    assert texts["income"].dtype.kind not in "if"
    stated = {"income": ("refused",)}
    frame = read_text(tmp_path, content, column_missing=stated).table.frame
    assert plain(frame["income"]) == [n if n % 3 else None for n in range(90)]
    assert set(frame["code"]) == {"refused"}


def test_a_stated_number_is_found_however_it_is_written(tmp_path):
    content = "x;y\n1,5;1.000\n99999,00;99.999\n2,5;2.000\n"
    options = {"delimiter": ";", "decimal": ",", "thousands": "."}
    stated = {"x": ("99999",), "y": ("99999",)}
    frame = read_text(tmp_path, content, column_missing=stated, **options).table.frame
    assert plain(frame["x"]) == [1.5, None, 2.5]
    assert plain(frame["y"]) == [1000, None, 2000]


@pytest.mark.parametrize(
    ("series", "texts", "left"),
    [
        (pd.Series([1.5, 99.0, 2.0]), ("99",), [1.5, None, 2.0]),
        (pd.Series([1, 99, None], dtype="Int64"), ("99.0",), [1, None, None]),
        (pd.Series(["a", "x", "b"], dtype="str"), ("x",), ["a", None, "b"]),
        (pd.Series(["a", "x", "a", "x"], dtype="category"), ("x",), ["a", None, "a", None]),
        (pd.Series([True, False, True]), ("false",), [True, None, True]),
        (pd.Series(pd.to_datetime(["2000-01-01", "9999-12-31"])), ("9999-12-31",), ["2000", None]),
    ],
)
def test_values_of_every_type_can_be_stated_as_missing(tmp_path, series, texts, left):
    path = tmp_path / "t.parquet"
    pd.DataFrame({"x": series}).to_parquet(path)
    frame = read(path, column_missing={"x": texts}).table.frame
    assert [
        None if v is None else str(v)[: len(str(e))]
        for v, e in zip(plain(frame["x"]), left, strict=True)
    ] == [None if each is None else str(each) for each in left]


def test_a_stated_column_that_is_not_there_is_refused_by_its_name(tmp_path):
    with pytest.raises(BadOptions, match="column incom are stated") as caught:
        read(csv(tmp_path), column_missing={"incom": ("-9",)})
    assert caught.value.ways[0].options.column_missing == {}


def test_many_columns_are_asked_about_together(tmp_path):
    path = tmp_path / "t.parquet"
    pd.DataFrame({f"c{place}": INCOME for place in range(20)}).to_parquet(path)
    [note] = read(path).notes
    assert note.count == 240
    assert "c0, c1, c2, c3 and 16 more columns" in note.text
    assert len(note.ways[0].options.column_missing) == 20


BORN = [f"19{50 + row % 40}-0{row % 9 + 1}-15" for row in range(ROWS)]
CODED = [*BORN[:20], "9999-12-31", "9999-12-31", *BORN[22:40], "1900-01-01", "1900-01-01"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "sav"])
def test_codes_among_dates_are_asked_about_and_missing_by_choice(tmp_path, kind):
    path = tmp_path / f"t.{kind}"
    frame = pd.DataFrame({"born": CODED, "sex": ["f", "m"] * (len(CODED) // 2)})
    if kind == "csv":
        frame.to_csv(path, index=False)
    else:
        days = [date.fromisoformat(text) for text in CODED]
        frame["born"] = days
        if kind == "parquet":
            frame.to_parquet(path)
        else:
            pyreadstat.write_sav(frame, path, variable_format={"born": "DATE11"})
    options = options_for(path)
    results = [read_file(path, options, Silent()), first_rows(path, options)]
    if kind != "sav":
        results.append(open_batches(path, options, Silent()))
    for result in results:
        (note,) = [note for note in result.notes if "like codes" in note.text]
        assert note.count == 4
        assert "9999" not in note.text
    found = read_file(path, note.ways[0].options, Silent())
    years = found.table.frame["born"].dt.year
    assert plain(years)[20:22] == [None, None]
    assert int(years.max()) == 1989
    batches = open_batches(path, note.ways[0].options, Silent())
    if batches is not None:
        read_in_parts = pa.Table.from_batches(list(batches.read(("born",))))
        assert read_in_parts["born"].null_count == 4


def test_dates_that_go_on_to_a_code_are_dates(tmp_path):
    lines = "".join(f"{1900 + row % 60}-01-01\n" for row in range(80))
    assert not [n for n in read_text(tmp_path, "born\n" + lines).notes if "like codes" in n.text]


def test_nines_amid_incomes_are_asked_about_and_missing_by_choice(tmp_path):
    rng = np.random.default_rng(5)
    incomes = [*rng.lognormal(8.5, 0.6, 900).round().astype(int), *[9999] * 40]
    text = "income\n" + "".join(f"{income}\n" for income in incomes)
    [note] = [one for one in read_text(tmp_path, text).notes if "like codes" in one.text]
    assert note.text.startswith("40 numbers of income look like codes for missing values: all")
    assert "9999" not in note.text
    assert note.ways[0].options.column_missing == {"income": ("9999",)}


def test_among_first_rows_no_more_is_counted_than_is_there(tmp_path):
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "".join(f"{999 if at % 20 == 0 else at % 90}\n" for at in range(500)))
    for rows, told in ((100, "Among the first 100 rows, 5 numbers"), (600, "25 numbers of age")):
        [note] = first_rows(path, options_for(path), rows).notes
        assert note.text.startswith(told)


def test_a_project_of_the_first_version_is_not_asked(tmp_path):
    assert read(csv(tmp_path), version=1).notes == ()


def test_stated_codes_come_back_from_json():
    options = ReadOptions(column_missing=STATED)
    assert options.to_dict()["column_missing"] == {"income": ["-9", "99999"]}
    assert ReadOptions.from_dict(options.to_dict()) == options
    with pytest.raises(BadOptions, match="column_missing"):
        ReadOptions.from_dict({"column_missing": {"income": "-9"}})


def test_order_of_categories_stays_without_a_stated_text(tmp_path):
    path = tmp_path / "t.parquet"
    kind = pd.CategoricalDtype(["low", "unknown", "high"], ordered=True)
    values = pd.Series(["high", "unknown", "low", "low"] * 3, dtype=kind)
    pd.DataFrame({"x": values}).to_parquet(path)
    series = read(path, column_missing={"x": ("unknown",)}).table.frame["x"]
    assert list(series.cat.categories) == ["low", "high"]
    assert series.cat.ordered
    assert plain(series) == ["high", None, "low", "low"] * 3
