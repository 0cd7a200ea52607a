"""SPSS and Stata files: codes in the rows, labels beside them, nothing lost unsaid."""

from __future__ import annotations

import datetime as dt
import json
import os
import struct
import subprocess
import sys

import numpy as np
import pandas as pd
import pyreadstat
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Silent
from sfumato.engine.table.table import Table
from sfumato.formats.errors import BeyondFormat, DamagedFile, UnknownFormat, UnsupportedColumn
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.formats.reading import names_in_file, preview, write_table
from sfumato.formats.statistical import child
from sfumato.formats.statistical.reading import LibraryProcess
from sfumato.formats.tables.statistical import SPSS, STATA
from tests.formats.reading import Watch, plain, read, write
from tests.thorough import tried

BOTH = pytest.mark.parametrize("ending", ["sav", "dta"])


def back(folder, ending, series, labels=None, name="x"):
    """Write one column and read it again."""
    table = Table(pd.DataFrame({name: series}), {name: labels} if labels else {})
    return read(write(table, folder / f"table.{ending}")).table


@BOTH
def test_columns_come_back_with_their_types_and_values(tmp_path, ending):
    columns = [
        pd.Series([1, -2, 2**31, -(2**53)]),
        pd.Series([1, None, 3], dtype="Int64"),
        pd.Series([2_147_483_620, 1]),
        pd.Series([1.0, 2.0, 3.0]),
        pd.Series([0.1, np.nan, -1e300, 1 / 3]),
        pd.Series([True, False]),
        pd.Series([True, None, False], dtype="boolean"),
        pd.Series(["a", None, "ü" * 900, "007"], dtype="str"),
        pd.Series(["a", "b", "a", None], dtype="category"),
        pd.Series(pd.array(["2024-02-29", None, "1583-01-01"], dtype="datetime64[us]")),
        pd.Series(pd.array(["2024-02-29T10:30:00.123", "1850-01-01"], dtype="datetime64[us]")),
    ]
    rows = max(map(len, columns))
    # Each is repeated to one length: without a missing value it stays so.
    wanted = {
        f"x{place}": each.iloc[np.arange(rows) % len(each)].reset_index(drop=True)
        for place, each in enumerate(columns)
    }
    found = read(write(pd.DataFrame(wanted), tmp_path / f"table.{ending}")).table.frame
    for name, series in wanted.items():
        pd.testing.assert_series_equal(found[name], series, check_names=False)


@BOTH
def test_categories_of_numbers_come_back_as_numbers(tmp_path, ending):
    found = back(tmp_path, ending, pd.Series(pd.Categorical([3, 1, None]))).frame["x"]
    assert plain(found) == [3, 1, None]


@BOTH
def test_whole_numbers_keep_their_labels_and_stay_codes(tmp_path, ending):
    labels = {1: "männlich", 2: "weiblich", 9: "unbekannt"}
    table = back(tmp_path, ending, pd.Series([1, 2, 1]), labels)
    assert plain(table.frame["x"]) == [1, 2, 1]
    assert table.value_labels == {"x": labels}


@pytest.mark.slow
@pytest.mark.turns(1)
def test_texts_and_fractions_keep_their_labels_in_spss_only(tmp_path):
    for series, labels, kept in (
        (pd.Series(["m", "f"]), {"m": "male", "f": "female"}, {}),
        (pd.Series([0.5, 1.0]), {0.5: "half", 1.0: "whole"}, {1: "whole"}),
        (pd.Series([0.5, 1.0]), {0.5: "half", 1e12: "never"}, {}),
        (pd.Series([2**40, 1]), {2**40: "many", 1: "one"}, {1: "one"}),
    ):
        table = Table(pd.DataFrame({"x": series}), {"x": labels})
        write_table(table, tmp_path / "t.sav", "sav", Silent())
        assert read(tmp_path / "t.sav").table.value_labels == {"x": labels}
        written = write_table(table, tmp_path / "t.dta", "dta", Silent())
        assert read(tmp_path / "t.dta").table.value_labels.get("x", {}) == kept
        gone = len(labels) - len(kept)
        said = f"{gone} labels of x are" if gone > 1 else "1 label of x is"
        assert written.losses == (f"{said} left out: Stata labels whole numbers only.",)


def test_whole_numbers_among_decimals_keep_their_labels_in_stata(tmp_path):
    table = Table(pd.DataFrame({"x": [0.5, 1.0]}), {"x": {1: "one", 2.0: "two"}})
    written = write_table(table, tmp_path / "t.dta", "dta", Silent())
    assert read(tmp_path / "t.dta").table.value_labels == {"x": {1: "one", 2: "two"}}
    assert written.losses == ()


def test_an_encrypted_spss_file_is_refused_by_name(tmp_path):
    for name in ("t.sav", "t"):
        (tmp_path / name).write_bytes(b"\x1c" + bytes(7) + b"ENCRYPTEDSAV\x15" + bytes(99))
        with pytest.raises(UnknownFormat, match="encrypted"):
            read(tmp_path / name)


@BOTH
def test_labels_of_columns_are_kept_and_cut_where_too_long(tmp_path, ending):
    table = Table(pd.DataFrame({"a": [1], "b": [2]}), {}, {"a": "Größe in cm", "b": "é" * 300})
    written = write_table(table, tmp_path / f"t.{ending}", ending, Silent())
    labels = read(tmp_path / f"t.{ending}").table.column_labels
    assert labels["a"] == "Größe in cm"
    assert ("é" * 300).startswith(labels["b"])
    assert len(labels["b"]) >= 40
    [told] = written.losses
    assert told.startswith("Labels of b are cut to the ")


@BOTH
def test_names_that_are_not_allowed_are_changed(tmp_path, ending):
    frame = pd.DataFrame([[1, 2, 3, 4, 5]], columns=["marital-status", "2nd", "größe", "if", "by"])
    write_table(Table(frame), tmp_path / f"t.{ending}", ending, Silent())
    table, names = read(tmp_path / f"t.{ending}").table, names_in_file(tuple(frame), ending)
    assert tuple(names.values()) == table.columns
    assert names["marital-status"] == "marital_status"
    assert names["größe"] == "größe"
    assert table.column_labels["marital_status"] == "marital-status"


@pytest.mark.parametrize("chosen", [SPSS, STATA], ids=["sav", "dta"])
@given(names=st.lists(st.text(min_size=1, max_size=80), min_size=1, max_size=6, unique=True))
@settings(deadline=None, max_examples=tried(80))
def test_names_in_a_file_are_allowed_and_distinct(chosen, names):
    fitted = chosen.names_in_file(tuple(names))
    assert list(fitted) == names
    new = list(fitted.values())
    assert len({name.lower() if chosen is SPSS else name for name in new}) == len(new)
    for name in new:
        assert name[0].isalpha()
        assert all(character.isalnum() or character in "._" for character in name)
        assert len(name.encode()) <= (64 if chosen is SPSS else 32)
    assert set(chosen.names_in_file(tuple(new)).values()) == set(new)


@BOTH
@given(
    names=st.lists(
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40),
        min_size=1,
        max_size=30,
        unique=True,
    )
)
@settings(deadline=None, max_examples=4)
def test_the_library_takes_every_name_made(tmp_path_factory, ending, names):
    path = tmp_path_factory.mktemp("names") / f"t.{ending}"
    frame = pd.DataFrame([range(len(names))], columns=names)
    write_table(Table(frame), path, ending, Silent())
    assert read(path).table.columns == tuple(names_in_file(tuple(names), ending).values())


@BOTH
@pytest.mark.parametrize(
    ("series", "words"),
    [
        (pd.Series([2**53 + 1]), "whole numbers beyond"),
        (pd.Series([-(2**60), 1]), "whole numbers beyond"),
        (pd.Series([1.0, np.inf]), "infinite"),
        (pd.Series([1.7e308, 1.0]), "very large numbers"),
        (pd.Series(["a\0Quicksilver"]), "NUL"),
        (pd.Series(["Quicksilver" * 9000]), "texts of more than"),
        (pd.Series(pd.array(["2024-01-01T10:00:00.0005"], dtype="datetime64[us]")), "finer than"),
    ],
)
def test_what_would_be_lost_is_refused_by_its_column(tmp_path, ending, series, words):
    with pytest.raises(BeyondFormat, match=f"Column x holds .*{words}") as caught:
        back(tmp_path, ending, series)
    assert "Quicksilver" not in str(caught.value) + repr(caught.value.details)
    assert list(tmp_path.iterdir()) == []


def test_blanks_at_the_end_of_a_text_are_refused_by_spss_and_kept_by_stata(tmp_path):
    series = pd.Series(["a ", " b"])
    with pytest.raises(BeyondFormat, match="texts that end in blanks, which SPSS"):
        back(tmp_path, "sav", series)
    assert plain(back(tmp_path, "dta", series).frame["x"]) == ["a ", " b"]


@BOTH
def test_empty_texts_become_missing_and_it_is_said(tmp_path, ending):
    table = Table(pd.DataFrame({"x": ["a", "", "b"]}))
    [told] = write_table(table, tmp_path / f"t.{ending}", ending, Silent()).losses
    assert told.startswith("Empty texts of x are missing values here: ")
    assert plain(read(tmp_path / f"t.{ending}").table.frame["x"]) == ["a", None, "b"]


@BOTH
def test_a_column_without_any_value_comes_back_missing(tmp_path, ending):
    series = pd.Series([None, None], dtype="str")
    assert plain(back(tmp_path, ending, series).frame["x"]) == [None, None]
    numbers = pd.Series([None, None], dtype="Int64")
    assert plain(back(tmp_path, ending, numbers).frame["x"]) == [None, None]


@BOTH
def test_a_fixed_type_is_used(tmp_path, ending):
    path = write(pd.DataFrame({"code": [7, 8]}), tmp_path / f"t.{ending}")
    frame = read(path, column_types={"code": ColumnType.TEXT}).table.frame
    assert plain(frame["code"]) == ["7", "8"]


def spss_with_missing_codes(folder):
    path = folder / "t.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"income": [10.0, 97.0, 99.0, None], "ward": ["A", "X", "B", ""]}),
        path,
        variable_value_labels={"income": {10.0: "ten", 97.0: "refused", 99.0: "unknown"}},
        missing_ranges={"income": [{"lo": 98, "hi": 99}, 97], "ward": ["X"]},
        variable_format={"income": "F8.0"},
    )
    return path


def test_codes_that_spss_declares_missing_are_missing_and_their_labels_go(tmp_path):
    table = read(spss_with_missing_codes(tmp_path)).table
    assert plain(table.frame["income"]) == [10, None, None, None]
    assert plain(table.frame["ward"]) == ["A", None, "B", None]
    assert table.value_labels == {"income": {10: "ten"}}


def test_codes_that_spss_declares_missing_can_be_kept(tmp_path):
    table = read(spss_with_missing_codes(tmp_path), keep_user_missing=True).table
    assert plain(table.frame["income"]) == [10, 97, 99, None]
    assert plain(table.frame["ward"]) == ["A", "X", "B", None]
    assert table.value_labels == {"income": {10: "ten", 97: "refused", 99: "unknown"}}


@pytest.mark.parametrize("compress", [False, True])
def test_the_weight_that_an_spss_file_states_is_told_by_its_name(tmp_path, compress):
    path = tmp_path / "t.sav"
    columns = {
        "code": ["a" * 20],
        "words": ["b" * 300],
        "age": [30],
        "design_weight_of_2024": [2.5],
    }
    pyreadstat.write_sav(pd.DataFrame(columns), path, compress=compress)
    assert not read(path).notes
    with path.open("r+b") as file:
        file.seek(76)
        # Texts take 8 bytes a place, in parts of 255 bytes: 3 and 32 + 6 places before the numbers.
        file.write(struct.pack("<i", 43))
    (note,) = read(path).notes
    assert note.caution
    assert note.columns == ("design_weight_of_2024",)


@pytest.mark.parametrize("place", [-1, 1, 40, 44])
def test_an_spss_file_whose_weight_is_no_number_of_it_is_read_without_one(tmp_path, place):
    path = tmp_path / "t.sav"
    columns = {"code": ["a" * 20], "words": ["b" * 300], "age": [30], "weight": [2.5]}
    pyreadstat.write_sav(pd.DataFrame(columns), path)
    with path.open("r+b") as file:
        file.seek(76)
        file.write(struct.pack("<i", place))
    assert not read(path).notes


@pytest.mark.parametrize("ending", ["sav", "dta"])
@pytest.mark.parametrize("number", [1, 10**15, 2**53, 10**18 - 1])
def test_whole_numbers_that_were_written_as_decimals_are_told(tmp_path, ending, number):
    path = tmp_path / f"t.{ending}"
    spoilt = np.array([number, 0, number], dtype=np.int64).view(np.float64)
    columns = {"id": [*spoilt, np.nan], "small": [1e-99, 0, 0, 0], "zero": [0.0] * 4}
    getattr(pyreadstat, f"write_{ending}")(pd.DataFrame({**columns, "none": [np.nan] * 4}), path)
    (note,) = read(path).notes
    assert note.caution
    assert note.columns == ("id",)
    assert not read(path, version=1).notes


def test_tagged_missing_values_of_stata_are_missing(tmp_path):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"x": [1, "a", 2], "y": [1, 2, 3]}),
        path,
        missing_user_values={"x": ["a"]},
        variable_value_labels={"x": {1: "one", "a": "refused"}},
    )
    table = read(path).table
    assert plain(table.frame["x"]) == [1, None, 2]
    assert table.value_labels == {"x": {1: "one"}}


@pytest.mark.parametrize(
    ("shown", "dtype"),
    [("F8.2", "int64"), ("F8.0", "int64"), ("F8.1", "float64"), ("F12.2", "float64")],
)
def test_whole_numbers_in_spss_are_whole_where_nothing_says_otherwise(tmp_path, shown, dtype):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pd.DataFrame({"x": [1.0, 2.0]}), path, variable_format={"x": shown})
    assert str(read(path).table.frame["x"].dtype) == dtype


@pytest.mark.parametrize(
    ("shown", "number", "moment"),
    [
        ("ADATE10", 13_928_544_000.0, "2024-02-29"),
        ("EDATE10", 13_928_544_000.0, "2024-02-29"),
        ("SDATE10", 13_928_544_000.0, "2024-02-29"),
        ("DATETIME20", 13_928_544_000.0 + 37_800.25, "2024-02-29T10:30:00.25"),
        ("YMDHMS16", -1.0, "1582-10-13T23:59"),
    ],
)
def test_dates_of_spss_are_dates_in_every_format(tmp_path, shown, number, moment):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"x": [number, np.nan, 1e300]}), path, variable_format={"x": shown}
    )
    series = read(path).table.frame["x"]
    assert series[0] == pd.Timestamp(moment)
    assert series[1:].isna().all()


@pytest.mark.parametrize(
    ("shown", "number", "moment"),
    [
        ("%td", 23435, "2024-02-29"),
        ("%d", -1, "1959-12-31"),
        ("%tdCCYY-NN-DD", 0, "1960-01-01"),
        ("%tc", 2_024_821_800_123, "2024-02-29T10:30:00.123"),
        ("%tcDDmonCCYY_HH:MM", -1, "1959-12-31T23:59"),
    ],
)
def test_dates_of_stata_are_dates_in_every_format(tmp_path, shown, number, moment):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"x": [float(number), np.nan]}), path, variable_format={"x": shown}
    )
    assert read(path).table.frame["x"][0] == pd.Timestamp(moment)


@pytest.mark.parametrize(
    ("ending", "formats"),
    [(".sav", {"d": "DATE11", "m": "DATETIME23.2"}), (".dta", {"d": "%td", "m": "%tc"})],
)
def test_days_and_moments_are_written_so_that_the_library_itself_knows_them(
    tmp_path, ending, formats
):
    """The SPSS formats are of those that pyreadstat has known in every version."""
    frame = pd.DataFrame(
        {
            "d": pd.to_datetime(["2024-02-29", "1950-01-01"]),
            "m": pd.to_datetime(["2024-02-29T10:30:15.250", "1950-01-01T23:59:59.000"]),
        }
    )
    path = write(frame, tmp_path / f"t{ending}")
    load = pyreadstat.read_sav if ending == ".sav" else pyreadstat.read_dta
    found, described = load(path)
    assert described.original_variable_types == formats
    assert found["d"].tolist() == [dt.date(2024, 2, 29), dt.date(1950, 1, 1)]
    assert found["m"].tolist() == frame["m"].tolist()


@pytest.mark.parametrize("width", [255, 0x20000000, -1, 256])
def test_an_spss_file_without_the_room_that_it_states_is_refused(tmp_path, width):
    """The library would crash: a text of 255 bytes takes 31 further records of variables."""
    path = write(pd.DataFrame({"number": [1.0, 2.0]}), tmp_path / "t.sav")
    whole = path.read_bytes()
    assert struct.unpack_from("<2i", whole, 176) == (2, 0)
    path.write_bytes(whole[:180] + struct.pack("<i", width) + whole[184:])
    for act in (read, lambda path: preview(path, ReadOptions("sav"))):
        with pytest.raises(DamagedFile, match="not a whole SPSS file"):
            act(path)


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_a_column_without_a_name_is_damage(tmp_path, ending):
    """The library calls it None."""
    path = write(pd.DataFrame({"ONE": [1.0], "XANTHIC": [2.0]}), tmp_path / f"t.{ending}")
    whole, name = path.read_bytes(), "XANTHIC".encode("ascii")
    path.write_bytes(whole.replace(name, b"\0" + name[1:], 1))
    for act in (read, lambda path: preview(path, ReadOptions(ending))):
        with pytest.raises(DamagedFile, match="not a whole"):
            act(path)


def with_labels_of_no_variable(folder):
    """Return an SPSS file at which the library crashes."""
    path = folder / "t.sav"
    frame = pd.DataFrame({"code": [1.0, 2.0]})
    pyreadstat.write_sav(frame, path, variable_value_labels={"code": {1: "one"}})
    whole = path.read_bytes()
    labelled = struct.pack("<3i", 4, 1, 1)
    assert whole.count(labelled) == 1
    path.write_bytes(whole.replace(labelled, struct.pack("<3i", 4, 1, 2)))
    return path


def test_an_spss_file_with_labels_of_a_variable_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DamagedFile, match="not a whole SPSS file"):
        read(with_labels_of_no_variable(tmp_path))


@pytest.fixture
def cold(monkeypatch):
    """The library in a process that is started as users' are (see `tests.warm`)."""
    monkeypatch.setattr("sfumato.formats.statistical.reading.subprocess", subprocess)


@pytest.mark.slow
def test_a_process_of_the_library_starts_by_itself(tmp_path, cold):
    path = write(pd.DataFrame({"x": [1, 2]}), tmp_path / "t.sav")
    assert plain(read(path).table.frame["x"]) == [1, 2]


def test_a_process_of_the_library_does_without_pandas(tmp_path):
    path = write(pd.DataFrame({"x": [1, 2], "y": ["a", "b"]}), tmp_path / "t.sav")
    request = json.dumps({"path": str(path), "reader": "read_sav", "wanted": {}})
    command = [sys.executable, "-X", "importtime", "-m", child.__name__]
    done = subprocess.run(command, input=request.encode(), capture_output=True, check=True)
    assert done.stdout.startswith(child.PROGRESS)
    assert b"described" in done.stdout
    imported = done.stderr.decode()
    assert "pyarrow" in imported
    assert "pandas.core" not in imported


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_crash_of_the_library_is_an_error(tmp_path, monkeypatch, cold):
    path = with_labels_of_no_variable(tmp_path)
    monkeypatch.setattr("sfumato.formats.tables.statistical.is_sound", lambda _: True)
    with pytest.raises(DamagedFile, match="library that reads SPSS files crashed"):
        read(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_reading_that_hangs_in_the_library_can_be_stopped(tmp_path, cold):
    """A pipe without a writer stands for a file at which the library never ends."""
    path = tmp_path / "t.sav"
    os.mkfifo(path)
    watch = Watch(stop_at=2)
    library = LibraryProcess(path, "read_sav", "SPSS")
    with pytest.raises(Cancelled), library:
        library.call(watch)
    assert not library.runs


@pytest.mark.parametrize("version", [8, 10, 12, 13, 14, 15])
def test_every_version_of_stata_files_is_read(tmp_path, version):
    path = tmp_path / "t.dta"
    pyreadstat.write_dta(pd.DataFrame({"x": [1, 2], "t": ["a", "b"]}), path, version=version)
    assert plain(read(path).table.frame["t"]) == ["a", "b"]


def test_pandas_reads_what_is_written_for_stata(tmp_path):
    frame = pd.DataFrame({"n": [1, 2], "f": [0.5, np.nan], "t": ["ü", "x"]})
    frame["d"] = pd.Series(pd.array(["2024-02-29", None], dtype="datetime64[us]"))
    found = pd.read_stata(write(frame, tmp_path / "t.dta"))
    assert found["n"].tolist() == [1, 2]
    assert found["t"].tolist() == ["ü", "x"]
    assert found["d"][0] == pd.Timestamp("2024-02-29")


def test_compressed_spss_files_are_read(tmp_path):
    path = tmp_path / "t.zsav"
    pyreadstat.write_sav(pd.DataFrame({"x": [1.0, 2.0]}), path, compress=True)
    assert plain(read(path).table.frame["x"]) == [1, 2]


@BOTH
def test_a_file_is_read_in_pieces_as_in_one(tmp_path, ending, monkeypatch):
    rows = 1000
    frame = pd.DataFrame({"i": np.arange(rows), "t": [f"t{i % 7}" for i in range(rows)]})
    path = write(frame, tmp_path / f"t.{ending}")
    whole = read(path).table.frame
    monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 70)
    pd.testing.assert_frame_equal(read(path).table.frame, whole)
    assert plain(whole["i"]) == list(range(rows))


def test_a_file_that_does_not_say_how_many_rows_it_has_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 40)
    path = tmp_path / "t.sav"
    for rows in (100, 120):
        pyreadstat.write_sav(pd.DataFrame({"x": np.arange(float(rows))}), path)
        content = bytearray(path.read_bytes())
        content[80:84] = (-1).to_bytes(4, "little", signed=True)
        path.write_bytes(content)
        assert plain(read(path).table.frame["x"]) == list(range(rows))
        assert len(preview(path, ReadOptions(format="sav"), 7).frame) == 7
        assert len(preview(path, ReadOptions(format="sav"), 500).frame) == rows


@pytest.mark.parametrize("version", [117, 118, 119])
def test_bytes_that_are_no_text_are_refused_where_a_stata_file_states_them(tmp_path, version):
    path = tmp_path / "table.dta"
    frame = pd.DataFrame({"a": [1, 2], "text": ["x" * 3_000, "y"]})
    frame.to_stata(path, version=version, write_index=False, convert_strl=["text"])
    assert plain(read(path).table.frame["text"]) == ["x" * 3_000, "y"]
    content = bytearray(path.read_bytes())
    kind_at = content.rindex(b"GSO") + 3 + (8 if version == 117 else 12)
    content[kind_at] = 129
    path.write_bytes(content)
    with pytest.raises(UnsupportedColumn, match="column number 2, row 2"):
        read(path)
