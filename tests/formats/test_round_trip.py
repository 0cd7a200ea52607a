"""What is written comes back: every value, and every type that the format has."""

from __future__ import annotations

import datetime as dt

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import detect_options, read_file, write_table
from tests.formats.reading import plain
from tests.thorough import tried

characters = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
anything = st.text(characters, max_size=12)
unpadded = anything.filter(lambda text: text and not text.endswith(" "))
dates = st.dates(dt.date(1600, 1, 1), dt.date(9999, 12, 31))
milliseconds = st.builds(
    lambda seconds, rest: dt.datetime(1600, 1, 1) + dt.timedelta(0, seconds, 0, rest),
    st.integers(0, 200 * 10**9),
    st.integers(0, 999),
)
microseconds = st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(9999, 1, 1))


def kinds(wide):
    """The types of columns with their values: all, or those that statistical files can hold."""
    largest = 2**63 - 1 if wide else 2**53
    limit = None if wide else 8e307
    return {
        "Int64": st.integers(-largest, largest),
        "float64": st.floats(
            -limit if limit else None, limit, allow_nan=False, allow_infinity=wide
        ),
        "boolean": st.booleans(),
        "str": anything if wide else unpadded,
        "category": anything if wide else unpadded,
        "datetime64[us]": st.one_of(dates, microseconds if wide else milliseconds),
    }


@st.composite
def frames(draw, wide, most=(5, 12)):
    rows = draw(st.integers(1, most[1]))
    columns = {}
    for position in range(draw(st.integers(most[0] // 5, most[0]))):
        dtype, values = draw(st.sampled_from(sorted(kinds(wide).items())))
        cells = draw(st.lists(st.none() | values, min_size=rows, max_size=rows))
        if dtype == "datetime64[us]":
            cells = [None if cell is None else pd.Timestamp(cell).as_unit("us") for cell in cells]
        columns[f"c{position}"] = pd.Series(cells, dtype=dtype)
    return pd.DataFrame(columns)


def schema(frame):
    """The types that a data package states."""
    types = {
        "I": ColumnType.INTEGER,
        "i": ColumnType.INTEGER,
        "f": ColumnType.NUMBER,
        "b": ColumnType.BOOLEAN,
        "M": ColumnType.DATE,
    }
    return {name: types.get(frame[name].dtype.kind, ColumnType.TEXT) for name in frame}


def same(found, wanted):
    """Whether two columns have the same values; a zero's sign is no part of it."""
    texts = [[repr(_unsigned(value)) for value in plain(column)] for column in (found, wanted)]
    return texts[0] == texts[1]


def _unsigned(value):
    return 0.0 if isinstance(value, float) and value == 0.0 else value


def round_trip(folder, frame, name, **options):
    path = folder / f"table.{name}"
    write_table(Table(frame), path, name, Silent())
    chosen = ReadOptions(**options) if options else detect_options(path)
    return read_file(path, chosen, Silent()).table.frame


def family(series):
    """A column's type, whether or not a value is missing and texts repeat."""
    dtype = series.dtype
    if isinstance(dtype, pd.CategoricalDtype | pd.StringDtype):
        return "text"
    return {"i": "integer", "f": "number", "b": "boolean", "M": "date"}[dtype.kind]


@pytest.mark.slow
@pytest.mark.turns(1)
@given(frames(wide=True))
@settings(deadline=None, max_examples=tried(60))
def test_csv_with_its_schema_loses_nothing(tmp_path_factory, frame):
    folder = tmp_path_factory.mktemp("csv")
    options = {"column_types": schema(frame), "quoted_empty_is_text": len(frame.columns) > 1}
    options["keep_blank_rows"] = True
    if len(frame.columns) == 1:  # A missing value alone in its line is an empty text in quotes.
        frame = frame.replace("", None)
    back = round_trip(folder, frame, "csv", **options)
    for name in frame:
        assert same(back[name], frame[name])
        assert family(back[name]) == family(frame[name])


@given(frames(wide=True))
@settings(deadline=None, max_examples=tried(35))
def test_csv_without_a_schema_alters_no_text(tmp_path_factory, frame):
    texts = frame.select_dtypes(["str", "category"])
    if texts.empty:
        return
    back = round_trip(tmp_path_factory.mktemp("csv"), texts, "csv", keep_blank_rows=True)
    for name in texts:
        if family(back[name]) == "text":
            wanted = [value or None for value in plain(texts[name])]
            assert plain(back[name]) == wanted
    assert len(back) == len(frame)


@given(frames(wide=True))
@settings(deadline=None, max_examples=tried(35))
def test_parquet_loses_nothing(tmp_path_factory, frame):
    back = round_trip(tmp_path_factory.mktemp("parquet"), frame, "parquet")
    for name in frame:
        assert same(back[name], frame[name])
        if frame[name].notna().any():
            assert family(back[name]) == family(frame[name])


# Each takes processes of its own, so there are fewer and larger ones.
@pytest.mark.slow
@pytest.mark.parametrize("name", ["sav", "dta"])
@given(frame=frames(wide=False, most=(20, 20)))
@settings(deadline=None, max_examples=8)
def test_statistical_files_lose_nothing(tmp_path_factory, frame, name):
    back = round_trip(tmp_path_factory.mktemp(name), frame, name)
    for column in frame:
        assert same(back[column], frame[column])
        if frame[column].notna().any():
            assert family(back[column]) == family(frame[column])
