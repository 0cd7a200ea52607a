"""Coarse dates of SPSS, Stata and SAS: read as the periods that are shown, never finer."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from sfumato.engine.core.periods import Period
from sfumato.engine.table.table import Table
from sfumato.formats.options import ColumnType
from tests.formats.reading import plain, read, write
from tests.formats.sas_files import SasColumn, write_sas

DAY = pd.Timestamp("1968-02-15")
MOMENT = pd.Timestamp("2005-01-01T14:05:09.25")
"""1 January 2005 was a Saturday: of week 53 of ISO's 2004, and of week 0 from Sunday or Monday."""


def since(moment, origin, unit="s"):
    return (moment - pd.Timestamp(origin)) / pd.Timedelta(1, unit)


def spss(folder, *columns):
    """Write columns, given as formats with their values, which are called x, x1 and so on."""
    return _by_library(pyreadstat.write_sav, folder / "t.sav", columns)


def stata(folder, *columns):
    return _by_library(pyreadstat.write_dta, folder / "t.dta", columns)


def _by_library(write, path, columns):
    names = ["x", *(f"x{place}" for place in range(1, len(columns)))]
    frame = {
        name: [float(value) for value in values]
        for name, (_, values) in zip(names, columns, strict=True)
    }
    formats = {name: shown for name, (shown, _) in zip(names, columns, strict=True)}
    write(pd.DataFrame(frame), path, variable_format=formats)
    return path


def sas(folder, *columns):
    names = ["x", *(f"x{place}" for place in range(1, len(columns)))]
    made = [
        SasColumn(name, list(values), shown)
        for name, (shown, values) in zip(names, columns, strict=True)
    ]
    return write_sas(folder / "t.sas7bdat", made)


def spss_seconds(moment):
    return since(moment, "1582-10-14")


def months(moment):
    return (moment.year - 1960) * 12 + moment.month - 1


SHOWN = [
    # What the program shows is in the manuals: SPSS "Date and time formats", Stata "Datetime
    # display formats" and SAS "Formats by category".
    (spss, "MOYR8", spss_seconds(DAY), "1968-02", Period.MONTH),  # FEB 1968
    (spss, "MOYR6", spss_seconds(DAY), "1968-02", Period.MONTH),  # FEB 68
    (spss, "QYR8", spss_seconds(DAY), "1968 Q1", Period.QUARTER),  # 1 Q 1968
    (spss, "WKYR10", spss_seconds(DAY), "1968w07", Period.WEEK),  # 7 WK 1968
    (spss, "WKYR10", spss_seconds(pd.Timestamp("1967-12-31")), "1967w53", Period.WEEK),
    (spss, "TIME5", 49_500, "13:45", Period.TIME),
    (spss, "TIME5", 49_559, "13:45", Period.TIME),
    (spss, "TIME8", 49_507, "13:45:07", Period.TIME),
    (spss, "TIME11.2", 49_507.29, "13:45:07.29", Period.TIME),
    (spss, "TIME8", 90_061, 90_061, Period.SECONDS),  # 25:01:01
    (spss, "TIME5", 90_061, 1501, Period.MINUTES),  # 25:01
    (spss, "DTIME10", 3_661, 61, Period.MINUTES),  # 0 01:01
    (spss, "DTIME13", 90_061, 90_061, Period.SECONDS),  # 1 01:01:01
    (spss, "MTIME5", 125, 125, Period.SECONDS),  # 02:05
    (spss, "MONTH9", 2, 2, Period.MONTH_OF_YEAR),  # FEBRUARY
    (spss, "WKDAY9", 1, 1, Period.WEEKDAY),  # SUNDAY
    (spss, "DATETIME17", spss_seconds(MOMENT), "2005-01-01 14:05:00", None),
    (spss, "YMDHMS16", spss_seconds(MOMENT), "2005-01-01 14:05:00", None),
    (
        spss,
        "YMDHMS19",
        spss_seconds(pd.Timestamp("2005-01-01T14:05:09")),
        "2005-01-01 14:05:09",
        None,
    ),
    (stata, "%tm", 97, "1968-02", Period.MONTH),  # 1968m2
    (stata, "%tm", -1, "1959-12", Period.MONTH),  # 1959m12
    (stata, "%tmMon_CCYY", 97, "1968-02", Period.MONTH),  # Feb 1968
    (stata, "%tmCCYY", 97, 1968, Period.YEAR),  # 1968
    (stata, "%tq", 32, "1968 Q1", Period.QUARTER),  # 1968q1
    (stata, "%th", 17, "1968 H2", Period.HALF_YEAR),  # 1968h2
    (stata, "%ty", 1968, 1968, Period.YEAR),
    (stata, "%tw", 8 * 52 + 51, "1968w52", Period.WEEK),  # 1968w52
    (stata, "%tw", -1, "1959w52", Period.WEEK),
    (stata, "%tdMon_CCYY", since(DAY, "1960", "D"), "1968-02", Period.MONTH),
    (stata, "%tdCCYY", since(DAY, "1960", "D"), 1968, Period.YEAR),
    (stata, "%tdCCYY!qq", since(DAY, "1960", "D"), "1968 Q1", Period.QUARTER),
    (stata, "%tdCCYY!www", since(pd.Timestamp("1967-12-31"), "1960", "D"), "1967w52", Period.WEEK),
    (stata, "%tdmon_DD", since(DAY, "1960", "D"), "02-15", Period.DAY_OF_YEAR),
    (stata, "%tdDayname", since(DAY, "1960", "D"), 5, Period.WEEKDAY),  # Thursday
    (stata, "%tdD_m_Y", since(DAY, "1960", "D"), "1968-02-15", None),
    (stata, "%tdJJJ_CCYY", since(DAY, "1960", "D"), "1968-02-15", None),
    (stata, "%tcHH:MM", since(MOMENT, "1960", "ms"), "14:05", Period.TIME),
    (stata, "%tcDDmonCCYY_HH:MM", since(MOMENT, "1960", "ms"), "2005-01-01 14:05:00", None),
    (stata, "%tcCCYY", since(MOMENT, "1960", "ms"), 2005, Period.YEAR),
    # By 2005 there had been 22 leap seconds; the first came at the end of June 1972.
    (stata, "%tC", since(MOMENT, "1960", "ms") + 22_000, "2005-01-01 14:05:09.250", None),
    (stata, "%tC", since(pd.Timestamp("1972-07-01"), "1960", "ms"), "1972-06-30 23:59:59", None),
    (
        stata,
        "%tC",
        since(pd.Timestamp("1972-07-01"), "1960", "ms") - 1,
        "1972-06-30 23:59:59.999",
        None,
    ),
    (stata, "%tC", since(pd.Timestamp("1972-07-01"), "1960", "ms") + 1000, "1972-07-01", None),
    (sas, "MONYY7", since(DAY, "1960", "D"), "1968-02", Period.MONTH),  # FEB1968
    (sas, "YYMM7", since(DAY, "1960", "D"), "1968-02", Period.MONTH),  # 1968M02
    (sas, "YYMMD7", since(DAY, "1960", "D"), "1968-02", Period.MONTH),  # 1968-02
    (sas, "MMYYS7", since(DAY, "1960", "D"), "1968-02", Period.MONTH),  # 02/1968
    (sas, "NLDATEYM20", since(DAY, "1960", "D"), "1968-02", Period.MONTH),
    (sas, "YEAR4", since(DAY, "1960", "D"), 1968, Period.YEAR),
    (sas, "YYQ6", since(DAY, "1960", "D"), "1968 Q1", Period.QUARTER),  # 1968Q1
    (sas, "YYQR8", since(DAY, "1960", "D"), "1968 Q1", Period.QUARTER),  # 1968QI
    (sas, "QTR1", since(DAY, "1960", "D"), 1, Period.QUARTER_OF_YEAR),
    (sas, "QTRR3", since(DAY, "1960", "D"), 1, Period.QUARTER_OF_YEAR),  # I
    (sas, "MONTH2", since(DAY, "1960", "D"), 2, Period.MONTH_OF_YEAR),
    (sas, "MONNAME9", since(DAY, "1960", "D"), 2, Period.MONTH_OF_YEAR),  # February
    (sas, "DOWNAME9", since(DAY, "1960", "D"), 5, Period.WEEKDAY),  # Thursday
    (sas, "DAY2", since(DAY, "1960", "D"), 15, Period.DAY_OF_MONTH),
    (sas, "JULDAY3", since(DAY, "1960", "D"), 46, Period.DAY_NUMBER),
    (sas, "JULIAN7", since(DAY, "1960", "D"), "1968-02-15", None),  # 1968046
    (sas, "WORDDATE18", since(DAY, "1960", "D"), "1968-02-15", None),  # February 15, 1968
    (sas, "WORDDATX18", since(DAY, "1960", "D"), "1968-02-15", None),
    (sas, "WEEKDATE29", since(DAY, "1960", "D"), "1968-02-15", None),
    (sas, "WEEKDATE3", since(DAY, "1960", "D"), 5, Period.WEEKDAY),  # Thu
    (sas, "YYMMDD4", since(DAY, "1960", "D"), "1968-02", Period.MONTH),  # 6802
    (sas, "WEEKU11", since(MOMENT, "1960", "D"), "2005-01-01", None),  # 2005-W00-07
    (sas, "WEEKU7", since(MOMENT, "1960", "D"), "2005-U00", Period.SUNDAY_WEEK),  # 2005W00
    (sas, "WEEKV7", since(MOMENT, "1960", "D"), "2004-W53", Period.ISO_WEEK),  # 2004W53
    (sas, "WEEKW7", since(MOMENT, "1960", "D"), "2005-M00", Period.MONDAY_WEEK),  # 2005W00
    (sas, "DATETIME18", since(MOMENT, "1960"), "2005-01-01 14:05:09.250", None),
    (sas, "DATETIME13", since(MOMENT, "1960"), "2005-01-01 14:05:00", None),  # 01JAN05:14:05
    (sas, "DATETIME9", since(MOMENT, "1960"), "2005-01-01", None),  # 01JAN2005
    (sas, "DTDATE9", since(MOMENT, "1960"), "2005-01-01", None),
    (sas, "E8601DN10", since(MOMENT, "1960"), "2005-01-01", None),
    (sas, "B8601DN8", since(MOMENT, "1960"), "2005-01-01", None),
    (sas, "DTWKDATX29", since(MOMENT, "1960"), "2005-01-01", None),
    (sas, "DTMONYY7", since(MOMENT, "1960"), "2005-01", Period.MONTH),  # JAN2005
    (sas, "DTYEAR4", since(MOMENT, "1960"), 2005, Period.YEAR),
    (sas, "DTYYQC6", since(MOMENT, "1960"), "2005 Q1", Period.QUARTER),  # 2005:1
    (sas, "TIME8", 49_507, "13:45:07", Period.TIME),
    (sas, "TIME5", 49_507, "13:45", Period.TIME),
    (sas, "TIMEAMPM11", 49_507, "13:45:07", Period.TIME),  # 1:45:07 PM
    (sas, "TOD8", since(MOMENT, "1960"), "14:05:09", Period.TIME),
    (sas, "HHMM5", 49_507, "13:45", Period.TIME),
    (sas, "HOUR2", 49_507, 13, Period.HOUR),
    (sas, "MMSS5", 125, 125, Period.SECONDS),  # 2:05
    (sas, "E8601TM8", 49_507, "13:45:07", Period.TIME),
]


@pytest.mark.parametrize("writer", [spss, stata, sas])
def test_columns_are_read_as_their_formats_show_them(tmp_path, writer):
    cases = [case[1:] for case in SHOWN if case[0] is writer]
    path = writer(tmp_path, *((shown, [number, np.nan, number]) for shown, number, *_ in cases))
    found = read(path)
    wrong = {}
    for name, (shown, _, value, period) in zip(found.table.columns, cases, strict=True):
        series = found.table.frame[name]
        wanted = [pd.Timestamp(value) if period is None else value] * 2
        read_as = series.dropna().tolist(), found.table.periods.get(name), pd.isna(series[1])
        if read_as != (wanted, period, True):
            wrong[shown] = read_as
    assert wrong == {}
    told = {name: note for note in found.notes for name in note.columns}
    assert set(told) == set(found.table.periods)
    text = "read as coarsely as the file shows"
    told = [note for note in found.notes if note.columns]
    assert all(text in note.text and note.count == len(note.columns) for note in told)


def test_months_and_weekdays_have_their_names_as_labels(tmp_path):
    table = read(sas(tmp_path, ("DOWNAME9", [since(DAY, "1960", "D")]))).table
    assert table.value_labels["x"][5] == "Thursday"
    assert read(spss(tmp_path, ("MONTH9", [2]))).table.value_labels["x"][2] == "February"


def test_a_number_that_is_no_month_is_missing_and_it_is_said(tmp_path):
    found = read(spss(tmp_path, ("MONTH9", [2, 13, 0])))
    assert plain(found.table.frame["x"]) == [2, None, None]
    note = found.notes[0]
    assert (note.count, note.rows, note.columns, note.caution) == (2, (2, 3), ("x",), True)


def test_a_project_of_version_1_reads_what_it_read(tmp_path):
    path = spss(tmp_path, ("MOYR8", [spss_seconds(DAY)]))
    assert plain(read(path, version=1).table.frame["x"]) == [spss_seconds(DAY)]
    path = stata(tmp_path, ("%tcDDmonCCYY_HH:MM", [since(MOMENT, "1960", "ms")]))
    assert read(path, version=1).table.frame["x"][0] == MOMENT
    assert read(path, version=1).table.periods == {}


def test_the_exact_dates_behind_periods_are_read_by_choice_only(tmp_path):
    path = spss(tmp_path, ("MOYR8", [spss_seconds(DAY), spss_seconds(DAY) + 86_400]))
    found = read(path)
    assert plain(found.table.frame["x"]) == ["1968-02", "1968-02"]
    (way,) = found.notes[0].ways
    exact = read(path, column_types=way.options.column_types).table
    assert exact.frame["x"].tolist() == [DAY, DAY + pd.Timedelta(1, "D")]
    assert exact.periods == {}


def test_the_days_behind_times_of_day_are_read_by_choice_only(tmp_path):
    path = stata(tmp_path, ("%tcHH:MM", [since(MOMENT, "1960", "ms")]))
    found = read(path)
    assert plain(found.table.frame["x"]) == ["14:05"]
    (way,) = found.notes[0].ways
    exact = read(path, column_types=way.options.column_types).table
    assert exact.frame["x"][0] == MOMENT


@pytest.mark.parametrize(
    ("writer", "shown", "near", "far"),
    [
        (spss, "DATE11", spss_seconds(DAY), 4e11),
        (spss, "MOYR8", spss_seconds(DAY), -1e12),
        (stata, "%td", 2967, 4e6),
        (stata, "%tm", 97, 1e9),
        (stata, "%tc", 1e12, 1e15),
        (sas, "DATE9", 2967, 4e6),
        (sas, "DATETIME20", 1e9, 1e12),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_dates_outside_the_years_1_to_9999_are_missing_and_named(
    tmp_path, writer, shown, near, far, version
):
    if version == 1 and shown in ("MOYR8", "%tm"):
        pytest.skip("They were numbers then")
    found = read(writer(tmp_path, (shown, [near, far, near, far])), version=version)
    assert found.table.frame["x"].isna().tolist() == [False, True, False, True]
    note = found.notes[0]
    assert note.text.startswith(
        "Column x has 2 dates outside the years 1 to 9999: they are read as"
    )
    assert note.text.endswith("first in row 2.")
    assert (note.count, note.rows, note.columns, note.caution) == (2, (2, 4), ("x",), True)
    bare = read(tmp_path / found_name(tmp_path), column_types=note.ways[0].options.column_types)
    assert plain(bare.table.frame["x"])[1] == far


def found_name(folder):
    return next(path.name for path in folder.iterdir())


@pytest.mark.parametrize(
    ("writer", "shown", "number", "scale", "other"),
    [
        (sas, "DATE9", since(MOMENT, "1960"), "days", "seconds"),
        (stata, "%td", since(MOMENT, "1960", "ms"), "days", "milliseconds"),
    ],
)
def test_numbers_of_another_unit_are_named_and_can_be_read_by_it(
    tmp_path, writer, shown, number, scale, other
):
    path = writer(tmp_path, (shown, [number, np.nan, number + 1000]))
    found = read(path)
    assert found.table.frame["x"].isna().all()
    note = found.notes[0]
    assert f"which counts {scale}, but its numbers seem to count {other}: 2 values" in note.text
    assert note.rows == (1, 3)
    bare, dates = note.ways
    kept = read(path, column_types=bare.options.column_types).table.frame["x"]
    assert kept[0] == number
    series = read(path, column_types=dates.options.column_types).table.frame["x"]
    assert series[0] == MOMENT


@pytest.mark.parametrize(
    ("writer", "shown", "scale"),
    [(sas, "DATETIME20", "seconds"), (stata, "%tc", "milliseconds"), (stata, "%tm", "months")],
)
def test_days_under_a_format_of_another_unit_are_read_as_shown_with_a_caution(
    tmp_path, writer, shown, scale
):
    days = [since(DAY, "1960", "D"), since(MOMENT, "1960", "D") // 1]
    path = writer(tmp_path, (shown, days))
    note = read(path).notes[0]
    assert note.caution
    assert f"which counts {scale}, but its numbers seem to count days" in note.text
    series = read(path, column_types=note.ways[1].options.column_types).table.frame["x"]
    assert series.tolist() == [DAY, MOMENT.normalize()]


def test_business_days_are_numbers_with_a_caution(tmp_path):
    found = read(stata(tmp_path, ("%tbcalendar", [5, 6])))
    assert plain(found.table.frame["x"]) == [5, 6]
    assert "counts business days by a calendar that is not in the file" in found.notes[0].text


def test_a_fixed_type_of_text_keeps_the_periods_as_texts(tmp_path):
    table = read(
        spss(tmp_path, ("MOYR8", [spss_seconds(DAY)])), column_types={"x": ColumnType.TEXT}
    )
    assert plain(table.table.frame["x"]) == ["1968-02"]


def period_table():
    values = {
        "year": ([1968, 2001, 1968], Period.YEAR),
        "half": (["1968 H1", "2001 H2", None], Period.HALF_YEAR),
        "quarter": (["1968 Q1", "2001 Q4", None], Period.QUARTER),
        "month": (["1968-02", None, "2001-12"], Period.MONTH),
        "week": (["1968w01", "2001w52", None], Period.WEEK),
        "iso": (["1968-W01", "2004-W53", None], Period.ISO_WEEK),
        "clock": (["13:45", None, "00:00"], Period.TIME),
        "second": (["13:45:07", None, "00:00:59"], Period.TIME),
        "hundredth": (["13:45:07.29", None, "00:00:59.00"], Period.TIME),
        "stay": ([1501, 3, 20], Period.MINUTES),
    }
    frame = pd.DataFrame({name: pd.Series(series) for name, (series, _) in values.items()})
    return Table(frame, periods={name: period for name, (_, period) in values.items()})


@pytest.mark.parametrize(
    ("ending", "formats", "first"),
    [
        (
            "sav",
            {"quarter": "QYR8", "month": "MOYR8", "week": "WKYR10", "clock": "TIME5"},
            {"month": "1968-02-01", "quarter": "1968-01-01", "week": "1968-01-01"},
        ),
        (
            "dta",
            {"year": "%ty", "half": "%th", "quarter": "%tq", "month": "%tm", "week": "%tw"},
            {"year": 1968, "half": 16, "quarter": 32, "month": 97, "week": 8 * 52},
        ),
    ],
)
def test_periods_are_written_in_the_packages_own_formats_and_come_back(
    tmp_path, ending, formats, first
):
    table = period_table()
    path = write(table, tmp_path / f"t.{ending}")
    again = read(path).table
    for name in table.columns:
        assert plain(again.frame[name]) == plain(table.frame[name]), name
    reader = pyreadstat.read_sav if ending == "sav" else pyreadstat.read_dta
    frame, found = reader(path, disable_datetime_conversion=True)
    assert {name: found.original_variable_types[name] for name in formats} == formats
    for name, value in first.items():
        wanted = spss_seconds(pd.Timestamp(value)) if isinstance(value, str) else value
        assert frame[name][0] == wanted


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_what_is_no_period_among_them_is_written_as_text(tmp_path, ending):
    table = Table(pd.DataFrame({"x": ["1968-02", "*"]}), periods={"x": Period.MONTH})
    assert plain(read(write(table, tmp_path / f"t.{ending}")).table.frame["x"]) == ["1968-02", "*"]


def test_a_week_that_stata_does_not_know_is_written_as_text(tmp_path):
    table = Table(pd.DataFrame({"x": ["1968w53"]}), periods={"x": Period.WEEK})
    assert plain(read(write(table, tmp_path / "t.dta")).table.frame["x"]) == ["1968w53"]
    assert plain(read(write(table, tmp_path / "t.sav")).table.frame["x"]) == ["1968w53"]
