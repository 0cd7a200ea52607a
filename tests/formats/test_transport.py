"""SPSS portable and SAS transport files are read; those of PROC CPORT are refused by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadOptions, DamagedFile, EmptyFile
from sfumato.formats.reading import detect_options, preview, read_file, sheets_of
from tests.formats.reading import options_for, plain, read


def frame(**dates):
    return pd.DataFrame({"SEX": [1.0, 2.0, 2.0], "NAME": ["Zoe", "", "Bo"], **dates})


def portable(folder, name="t.por"):
    table = frame(DAY=[1.2e10, np.nan, 1.3e10], MON=[1.2e10, np.nan, 1.3e10])
    pyreadstat.write_por(
        table,
        folder / name,
        column_labels=["Sex of the person", "", "", ""],
        variable_format={"DAY": "DATE11", "MON": "MOYR8"},
    )
    return folder / name


def transport(folder, version, name="t.xpt"):
    table = frame(DAY=[3000, np.nan, -1.0], MON=[3000, np.nan, -1.0])
    pyreadstat.write_xport(
        table,
        folder / name,
        file_format_version=version,
        variable_format={"DAY": "DATE9", "MON": "MONYY7"},
    )
    return folder / name


def test_a_portable_file_is_read_as_a_sav_file_is(tmp_path):
    path = portable(tmp_path)
    assert detect_options(path).format == "por"
    table = read(path).table
    assert plain(table.frame["SEX"]) == [1, 2, 2]
    assert plain(table.frame["NAME"]) == ["Zoe", None, "Bo"]
    assert plain(table.frame["DAY"].dt.strftime("%Y-%m-%d")) == ["1963-01-18", None, "1994-09-26"]
    assert plain(table.frame["MON"]) == ["1963-01", None, "1994-09"]
    assert table.periods == {"MON": Period.MONTH}
    assert table.column_labels["SEX"] == "Sex of the person"
    assert len(preview(path, detect_options(path), 2).frame) == 2


@pytest.mark.parametrize("version", [5, 8])
def test_a_transport_file_is_read(tmp_path, version):
    path = transport(tmp_path, version)
    assert detect_options(path).format == "xpt"
    table = read(path).table
    assert plain(table.frame["SEX"]) == [1, 2, 2]
    assert plain(table.frame["NAME"]) == ["Zoe", None, "Bo"]
    assert plain(table.frame["DAY"].dt.strftime("%Y-%m-%d")) == ["1968-03-19", None, "1959-12-31"]
    assert plain(table.frame["MON"]) == ["1968-03", None, "1959-12"]
    assert len(preview(path, detect_options(path), 1).frame) == 1


def test_these_files_are_known_by_their_bytes_whatever_their_names(tmp_path):
    assert detect_options(portable(tmp_path, "a.dat")).format == "por"
    assert detect_options(transport(tmp_path, 5, "b.dat")).format == "xpt"


def several_tables(folder, version):
    """Write a file of two tables, which has the library's three records once."""
    content = transport(folder, version, "first.xpt").read_bytes()
    other = folder / "other.xpt"
    table = pd.DataFrame({"TOWN": ["Ulm", "Bonn"], "AGE": [31.0, 44.0]})
    pyreadstat.write_xport(table, other, file_format_version=version, table_name="PLACES")
    path = folder / "t.xpt"
    path.write_bytes(content + other.read_bytes()[3 * 80 :])
    return path


@pytest.mark.parametrize("version", [5, 8])
def test_of_several_tables_of_a_transport_file_one_is_chosen(tmp_path, version):
    path = several_tables(tmp_path, version)
    assert sheets_of(path) == ("DATASET", "PLACES")
    assert detect_options(path).sheet == "DATASET"
    found = read(path)
    [note] = [note for note in found.notes if note.caution]
    assert note.text == (
        "The file holds 2 tables: DATASET is read. Another can be chosen as its sheet: PLACES."
    )
    assert plain(found.table.frame["SEX"]) == [1, 2, 2]
    other = read(path, sheet="PLACES")
    assert plain(other.table.frame["TOWN"]) == ["Ulm", "Bonn"]
    assert plain(other.table.frame["AGE"]) == [31, 44]
    assert len(preview(path, options_for(path, sheet="PLACES"), 1).frame) == 1
    with pytest.raises(BadOptions, match="no table called SEX"):
        read(path, sheet="SEX")


def test_tables_of_one_name_are_told_apart(tmp_path):
    path = transport(tmp_path, 5)
    assert sheets_of(path) == ()
    content = path.read_bytes()
    path.write_bytes(content + content[3 * 80 :])
    assert sheets_of(path) == ("DATASET", "DATASET (2)")
    assert read(path, sheet="DATASET (2)").table.rows == 3


def test_files_cut_short_are_refused(tmp_path):
    for path in (portable(tmp_path), transport(tmp_path, 8)):
        path.write_bytes(path.read_bytes()[:600])
        with pytest.raises(DamagedFile, match=r"is not a whole|is damaged"):
            read(path)


def test_an_empty_table_is_refused_with_the_names_of_the_others(tmp_path):
    empty, full, path = (tmp_path / f"{name}.xpt" for name in ("empty", "full", "t"))
    pyreadstat.write_xport(pd.DataFrame({"A": pd.Series([], dtype=float)}), empty, table_name="NO")
    pyreadstat.write_xport(pd.DataFrame({"B": [1.0, 2.0]}), full, table_name="YES")
    path.write_bytes(empty.read_bytes() + full.read_bytes()[3 * 80 :])
    with pytest.raises(EmptyFile, match=r"table NO of t\.xpt .* of its tables: YES") as refusal:
        read(path)
    [way] = refusal.value.ways
    assert plain(read_file(path, way.options, Silent()).table.frame["B"]) == [1, 2]


def test_formats_of_the_owner_are_told_since_their_labels_are_not_there(tmp_path):
    path = tmp_path / "t.xpt"
    formats = {"SEX": "SEXF1", "AGE": "BEST12", "DAY": "DATE9", "PAY": "DOLLAR8"}
    table = pd.DataFrame({"SEX": [1.0, 2.0], "AGE": [31.0, 44.0], "DAY": [1.0, 2.0], "PAY": 1.5})
    pyreadstat.write_xport(table, path, variable_format=formats)
    [note] = read(path).notes
    assert note.columns == ("SEX",)
    assert "by formats of its owner (SEXF), whose labels are not with the file: SEX" in note.text
    assert not read(path, version=1).notes
