"""Missing values with a reason: counted as missing, said, kept by choice, and released as such."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from sfumato.engine.table.profile import profile_columns
from sfumato.engine.table.table import Table
from sfumato.formats.options import ReadOptions, ReasonsKept
from sfumato.formats.reading import preview
from tests.formats.reading import options_for, plain, read, write
from tests.formats.sas_files import SasColumn, Tag, write_portable, write_sas

LABELS = {99998: "refused", 99999: "does not know"}


def spss(folder):
    path = folder / "t.sav"
    frame = pd.DataFrame(
        {
            "income": [1200.0, 1800.0, None, 99998.0, 99999.0, -3.0, 99998.0],
            "ward": ["A", "B", "RF", "", "A", "B", "A"],
            "sex": [1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0],
        }
    )
    pyreadstat.write_sav(
        frame,
        path,
        variable_value_labels={"income": {1200: "low", **LABELS}, "ward": {"RF": "refused"}},
        missing_ranges={"income": [{"lo": -math.inf, "hi": -1}, 99998], "ward": ["RF"]},
        variable_format={"income": "F8.0", "sex": "F8.0"},
    )
    return path


def stata(folder):
    path = folder / "t.dta"
    pyreadstat.write_dta(
        pd.DataFrame({"q": pd.Series([1, "a", 2, None, "c", 0, "a"], dtype=object)}),
        path,
        version=14,
        variable_value_labels={"q": {0: "no", 1: "yes", "a": "refused", "c": "not asked"}},
        missing_user_values={"q": ["a", "c"]},
    )
    return path


def sas(folder):
    values = [1.0, Tag("A"), 2.0, None, Tag("_"), 0.0, Tag("A")]
    return write_sas(folder / "t.sas7bdat", [SasColumn("q", values)])


def test_values_declared_missing_in_spss_count_as_missing_and_are_said_with_their_reasons(tmp_path):
    found = read(spss(tmp_path))
    assert plain(found.table.frame["income"]) == [1200, 1800, None, None, 99999, None, None]
    assert plain(found.table.frame["ward"]) == ["A", "B", None, None, "A", "B", "A"]
    assert found.table.value_labels["income"] == {1200: "low", 99999: "does not know"}
    [note] = found.notes
    assert note.caution
    assert (note.columns, note.count, note.rows) == (("income", "ward"), 4, (3, 4, 6, 7))
    assert note.text == (
        "4 values are missing with a reason, which is left out:"
        " income (refused: 2 and without a label: 1) and ward (refused: 1)."
    )
    assert [way.options.missing_reasons for way in note.ways] == ["column", "values"]


def test_a_code_that_only_a_range_declares_is_not_in_a_message(tmp_path):
    [note] = read(spss(tmp_path)).notes
    assert "-3" not in note.text


def test_profiles_tell_reasons_with_their_counts(tmp_path):
    income, ward, sex = profile_columns(read(spss(tmp_path)).table)
    assert [(each.value, each.count) for each in income.reasons] == [("refused", 2), ("-3", 1)]
    assert [(each.value, each.count) for each in ward.reasons] == [("refused", 1)]
    assert sex.reasons == ()


def test_reasons_are_kept_in_a_column_of_their_own(tmp_path):
    found = read(spss(tmp_path), missing_reasons=ReasonsKept.COLUMN)
    frame = found.table.frame
    assert list(frame) == ["income", "income_missing", "ward", "ward_missing", "sex"]
    assert plain(frame["income"]) == [1200, 1800, None, None, 99999, None, None]
    assert plain(frame["income_missing"]) == [None, None, None, "refused", None, "-3", "refused"]
    assert plain(frame["ward_missing"]) == [None, None, "refused", None, None, None, None]
    assert found.table.column_labels["income_missing"] == "Why income is missing"
    [note] = found.notes
    assert not note.caution
    assert "income_missing and ward_missing" in note.text


def test_the_column_of_reasons_takes_no_name_that_is_there(tmp_path):
    path = tmp_path / "t.sav"
    frame = pd.DataFrame({"x": [1.0, 9.0], "x_missing": [1.0, 2.0]})
    pyreadstat.write_sav(frame, path, missing_ranges={"x": [9]})
    found = read(path, missing_reasons=ReasonsKept.COLUMN)
    assert list(found.table.frame) == ["x", "x_missing_2", "x_missing"]


def test_codes_read_as_values_are_said_to_count(tmp_path):
    found = read(spss(tmp_path), missing_reasons=ReasonsKept.VALUES)
    assert plain(found.table.frame["income"]) == [1200, 1800, None, 99998, 99999, -3, 99998]
    [note] = found.notes
    assert note.caution
    assert "count in every figure" in note.text


@pytest.mark.parametrize(
    ("made", "reasons"),
    [
        (stata, [None, "refused", None, None, "not asked", None, "refused"]),
        (sas, [None, ".A", None, None, "._", None, ".A"]),
    ],
)
def test_letters_of_stata_and_sas_are_missing_and_say_why(tmp_path, made, reasons):
    path = made(tmp_path)
    dropped = read(path)
    assert plain(dropped.table.frame["q"]) == [1, None, 2, None, None, 0, None]
    [note] = dropped.notes
    assert (note.caution, note.count, note.rows) == (True, 3, (2, 5, 7))
    assert [way.options.missing_reasons for way in note.ways] == ["column"]
    kept = read(path, missing_reasons=ReasonsKept.COLUMN).table
    assert plain(kept.frame["q"]) == [1, None, 2, None, None, 0, None]
    assert plain(kept.frame["q_missing"]) == reasons
    # Letters are no numbers, so they can't be read as such.
    values = read(path, missing_reasons=ReasonsKept.VALUES)
    assert plain(values.table.frame["q"]) == [1, None, 2, None, None, 0, None]
    assert "left out" in values.notes[0].text


def test_reasons_in_pieces_of_a_file_are_those_of_their_rows(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 2)
    monkeypatch.setattr("sfumato.formats.statistical.reading._PIECES", 4)
    for path in (spss(tmp_path), stata(tmp_path)):
        whole = read(path, missing_reasons=ReasonsKept.COLUMN).table.frame
        monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 50_000)
        pd.testing.assert_frame_equal(
            whole, read(path, missing_reasons=ReasonsKept.COLUMN).table.frame
        )
        monkeypatch.setattr("sfumato.formats.statistical.reading._FEWEST", 2)


def test_kept_reasons_are_declared_again_in_spss(tmp_path):
    table = read(spss(tmp_path), missing_reasons=ReasonsKept.COLUMN).table
    (tmp_path / "out").mkdir()
    path = write(table, tmp_path / "out" / "t.sav")
    frame, meta = pyreadstat.read_sav(path, user_missing=True)
    assert frame["income"].tolist()[3:] == [99998, 99999, -3, 99998]
    assert math.isnan(frame["income"][2])
    assert frame["ward"].tolist() == ["A", "B", "RF", "", "A", "B", "A"]
    assert meta.missing_ranges == {
        "income": [{"lo": -math.inf, "hi": -1}, {"lo": 99998, "hi": 99998}],
        "ward": [{"lo": "RF", "hi": "RF"}],
    }
    assert meta.variable_value_labels["income"][99998] == "refused"
    plainly, _ = pyreadstat.read_sav(path)
    assert plainly["income"].mean() == np.mean([1200, 1800, 99999])
    # As it is read again, it is the table that was written.
    again = read(path).table.frame
    assert again.astype(object).equals(table.frame[list(again)].astype(object))


@pytest.mark.parametrize("made", [stata, spss, sas])
def test_kept_reasons_are_letters_with_labels_in_stata(tmp_path, made):
    table = read(made(tmp_path), missing_reasons=ReasonsKept.COLUMN).table
    (tmp_path / "out").mkdir()
    path = write(table, tmp_path / "out" / "t.dta")
    name = table.columns[0]
    values = pyreadstat.read_dta(path, user_missing=True, output_format="dict")[0][name]
    meta = pyreadstat.read_dta(path, user_missing=True)[1]
    shown = [value if isinstance(value, str) else None for value in values]
    labels = meta.variable_value_labels.get(name, {})
    reasons = plain(table.frame[f"{name}_missing"])
    assert [reason is None for reason in reasons] == [letter is None for letter in shown]
    if made is stata:
        assert shown == [None, "a", None, None, "c", None, "a"]
        assert labels == {0: "no", 1: "yes", "a": "refused", "c": "not asked"}
    elif made is spss:
        assert {labels.get(letter) for letter in shown if letter} == {"refused", None}
    again = read(path).table.frame
    assert plain(again[name]) == plain(table.frame[name])


def test_a_reason_that_only_rows_have_that_stay_behind_changes_no_letter(tmp_path):
    known = read(spss(tmp_path), missing_reasons=ReasonsKept.COLUMN).table
    income = known.missing_reasons["income"]
    more = replace(income, codes={"-10": -10.0, "-1": -1.0, **income.codes})
    written = []
    for number, reasons in enumerate((income, more)):
        table = Table(known.frame, missing_reasons={"income": reasons})
        written.append(write(table, tmp_path / f"{number}.dta").read_bytes())
    assert written[0] == written[1]


def test_a_number_that_would_pass_for_a_code_keeps_a_column_from_being_declared(tmp_path):
    """Noise may give a person a number that the source file declares missing."""
    known = read(spss(tmp_path), missing_reasons=ReasonsKept.COLUMN).table
    frame = known.frame.copy()
    frame["income"] = [1200.5, -7.25, None, None, 99999.0, None, None]
    released = Table(frame, missing_reasons=known.missing_reasons)
    (tmp_path / "out").mkdir()
    path = write(released, tmp_path / "out" / "t.sav")
    again, meta = pyreadstat.read_sav(path)
    assert again["income"].tolist()[:2] == [1200.5, -7.25]
    assert "income" not in meta.missing_ranges
    assert again["income_missing"].tolist()[3] == "refused"


def test_other_formats_have_the_reasons_in_their_column(tmp_path):
    table = read(spss(tmp_path), missing_reasons=ReasonsKept.COLUMN).table
    (tmp_path / "out").mkdir()
    for ending in ("csv", "parquet"):
        again = read(write(table, tmp_path / "out" / f"t.{ending}")).table.frame
        assert plain(again["income_missing"])[3:] == ["refused", None, "-3", "refused"]
        assert plain(again["income"])[3] is None


@pytest.mark.parametrize("kept", [False, True])
def test_a_project_of_the_first_version_reads_as_it_did(tmp_path, kept):
    options = options_for(spss(tmp_path), version=1, keep_user_missing=kept)
    table = preview(spss(tmp_path), options)
    codes = [99998, 99999, -3, 99998] if kept else [None, 99999, None, None]
    assert plain(table.frame["income"]) == [1200, 1800, None, *codes]
    assert list(table.frame) == ["income", "ward", "sex"]


def test_the_old_option_still_means_that_codes_are_values():
    options = ReadOptions.from_dict({"format": "sav", "keep_user_missing": True}, 2)
    assert options.reasons is ReasonsKept.VALUES


def test_that_reasons_are_not_read_from_a_portable_file_is_said(tmp_path):
    found = read(write_portable(tmp_path / "t.por", "INCOME", [1.0, 99.0, 3.0, None], 99))
    assert plain(found.table.frame["INCOME"]) == [1, None, 3, None]
    [note] = found.notes
    assert (note.columns, note.count) == (("INCOME",), 2)
    assert "to keep reasons, save the table as .sav" in note.text
    whole = write_portable(tmp_path / "w.por", "INCOME", [1.0, 2.0], 99)
    assert read(whole).notes == ()


def test_dates_that_are_declared_missing_are_read_and_declared_again(tmp_path):
    path = tmp_path / "d.sav"
    pyreadstat.write_sav(
        pd.DataFrame({"born": [13_000_003_200.0, 99.0, None]}),
        path,
        variable_format={"born": "DATE11"},
        missing_ranges={"born": [99]},
        variable_value_labels={"born": {99: "unknown"}},
    )
    table = read(path, missing_reasons=ReasonsKept.COLUMN).table
    assert table.frame["born"].isna().tolist() == [False, True, True]
    assert plain(table.frame["born_missing"]) == [None, "unknown", None]
    (tmp_path / "out").mkdir()
    out = write(table, tmp_path / "out" / "d.sav")
    again = pyreadstat.read_sav(out, user_missing=True, disable_datetime_conversion=True)
    assert again[0]["born"].tolist()[1] == 99
    assert again[1].missing_ranges == {"born": [{"lo": 99, "hi": 99}]}
