"""The reader on a table that the world knows."""

from __future__ import annotations

import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import detect_options, names_in_file, preview, read_file, write_table
from tests.data import shared_data
from tests.formats.reading import plain


def test_the_adult_table_is_read_as_it_is_meant():
    path = shared_data("adult/adult.csv")
    options = detect_options(path)
    assert (options.delimiter, options.header, options.encoding) == (";", True, "utf-8")
    result = read_file(path, options, Silent())
    frame = result.table.frame
    assert frame.shape == (30162, 9)
    assert result.notes == ()
    assert str(frame["age"].dtype) == "int64"
    assert (frame["age"].min(), frame["age"].max()) == (17, 90)
    others = [name for name in frame if name != "age"]
    assert all(isinstance(frame[name].dtype, pd.CategoricalDtype) for name in others)
    assert frame["occupation"].nunique() == 14
    reference = pd.read_csv(path, sep=";")
    for name in others:
        assert (frame[name].astype(str) == reference[name]).all()
    assert list(preview(path, options, 5).frame["age"]) == list(reference["age"][:5])


def test_the_adult_table_comes_back_from_every_format(tmp_path):
    path = shared_data("adult/adult.csv")
    table = read_file(path, detect_options(path), Silent()).table
    for name_of_format in ("csv", "parquet", "sav", "dta"):
        path = tmp_path / f"adult.{name_of_format}"
        write_table(table, path, name_of_format, Silent())
        names = names_in_file(table.columns, name_of_format)
        back = read_file(path, detect_options(path), Silent())
        for name in table.columns:
            assert plain(back.table.frame[names[name]]) == plain(table.frame[name])
            assert back.table.frame[names[name]].dtype == table.frame[name].dtype
