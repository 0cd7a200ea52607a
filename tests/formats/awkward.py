"""A deliberately awkward table, and every kind of source that others' programs write it into."""

from __future__ import annotations

import datetime as dt
import sqlite3
from decimal import Decimal
from xml.sax.saxutils import escape

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import xlwt

from tests.formats import test_other_workbooks
from tests.formats.sas_files import SasColumn, Tag, write_sas
from tests.formats.workbooks import save

N = [1, 2, 3, 4, 5, 6]
CELLS = {
    "n": N,
    "code": ["007", "100", "010", "0000", "12", "12.0"],
    "words": ["plain", 'Ä "ü", ß', "two\nlines", "=1+1", None, "mañana"],
    "grade": ["low", "high", "mid", "low", None, "high"],
    "sex": [1, 2, 1, 2, None, 1],
    "amount": [1004.81, -0.25, 1000.0, 0.1, None, 99_999_999.99],
    "single": [0.8, 0.1, 1004.81, None, -3.3, 16_777_216.0],
    "large": [2**53 - 1, -1, 0, 10**12, None, 5],
    "zero": [-0.0, 0.0, -0.5, None, -0.0, 0.5],
    "flag": [True, False, None, True, True, False],
    "day": [
        *(dt.date(1910, 2, 28), dt.date(2024, 2, 29), None),
        *(dt.date(1969, 12, 31), dt.date(2100, 1, 1), dt.date(1999, 12, 31)),
    ],
    "moment": [
        *(dt.datetime(2024, 2, 29, 10, 30), dt.datetime(1969, 12, 31, 23, 59, 59), None),
        *(dt.datetime(2000, 1, 1), dt.datetime(1910, 6, 7, 8, 9, 10), dt.datetime(2099, 12, 31)),
    ],
}
"""What the custodian sees."""
LABELS = {1: "female", 2: "männlich"}
TITLE = "Sex at birth"
ORDER = ["low", "mid", "high"]


def frame():
    """The table as pandas holds it; categories have one more, which no row has."""
    grade = pd.CategoricalDtype([*ORDER, "worst"], ordered=True)
    moments = [None if each is None else pd.Timestamp(each) for each in CELLS["moment"]]
    return pd.DataFrame(
        {
            "n": N,
            "code": CELLS["code"],
            "words": pd.Series(CELLS["words"], dtype="str"),
            "grade": pd.Series(CELLS["grade"], dtype=grade),
            "sex": pd.array(CELLS["sex"], "Int64"),
            "amount": CELLS["amount"],
            "single": np.array(CELLS["single"], dtype=np.float32),
            "large": pd.array(CELLS["large"], "Int64"),
            "zero": CELLS["zero"],
            "flag": pd.array(CELLS["flag"], "boolean"),
            "day": CELLS["day"],
            "moment": pd.Series(moments, dtype="datetime64[us]"),
        }
    )


def as_parquet(path):
    table = pa.Table.from_pandas(frame(), preserve_index=False)
    exact = [None if each is None else Decimal(repr(each)) for each in CELLS["amount"]]
    place = table.schema.get_field_index("amount")
    pq.write_table(table.set_column(place, "amount", pa.array(exact, pa.decimal128(18, 2))), path)


def as_csv(path):
    frame().to_csv(path, index=False)


def as_xlsx(path):
    with pd.ExcelWriter(path, engine="openpyxl") as book:
        frame().assign(single=CELLS["single"]).to_excel(book, index=False)
        formula = book.sheets["Sheet1"].cell(5, 3)
        formula.value, formula.data_type = CELLS["words"][3], "s"


def as_sqlite(path):
    kinds = {"n": "INTEGER PRIMARY KEY", "flag": "BOOLEAN", "day": "DATE", "moment": "TIMESTAMP"}
    columns = ", ".join(f"{name} {kinds.get(name, '')}" for name in CELLS)
    cells = [
        [each.isoformat() if isinstance(each, dt.date) else each for each in row]
        for row in zip(*CELLS.values(), strict=True)
    ]
    with sqlite3.connect(path) as driver:
        driver.execute(f"CREATE TABLE t ({columns})")
        driver.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(CELLS))})", cells)
    driver.close()


def as_duckdb(path):
    duckdb = pytest.importorskip("duckdb")
    as_parquet(path.with_suffix(".parquet"))
    with duckdb.connect(str(path)) as driver:
        driver.execute(
            "CREATE TABLE t AS SELECT * REPLACE (CAST(grade AS ENUM ('low', 'mid', 'high')) AS"
            f" grade) FROM '{path.with_suffix('.parquet')}'"
        )


def as_sav(path, *, compress=False):
    pyreadstat.write_sav(
        frame().assign(
            grade=CELLS["grade"],
            flag=frame()["flag"].astype("Float64"),
            single=CELLS["single"],
        ),
        path,
        compress=compress,
        column_labels={"sex": TITLE},
        variable_value_labels={"sex": LABELS, "flag": {0: "false", 1: "true"}},
    )


def as_zsav(path):
    as_sav(path, compress=True)


def as_dta(path):
    days = pd.to_datetime(pd.Series(CELLS["day"])).astype("datetime64[ns]")
    changed = frame().assign(
        grade=CELLS["grade"],
        day=days,
        sex=frame()["sex"].astype("Int8"),
        large=frame()["large"].astype("float64"),
        flag=frame()["flag"].astype("Int8"),
    )
    changed["words"] = changed["words"].fillna("")
    changed["grade"] = changed["grade"].fillna("")
    changed.to_stata(
        path,
        write_index=False,
        version=118,
        convert_dates={"day": "td", "moment": "tc"},
        variable_labels={"sex": TITLE},
        value_labels={"sex": LABELS, "flag": {0: "false", 1: "true"}},
    )


def numbers():
    """The table as SAS and portable files of SPSS hold it: texts, and numbers alone."""
    origin = pd.Timestamp("1960-01-01")
    made = {name: list(values) for name, values in CELLS.items()}
    made["flag"] = [None if each is None else float(each) for each in CELLS["flag"]]
    for name, unit in (("day", "D"), ("moment", "s")):
        made[name] = [
            None if each is None else (pd.Timestamp(each) - origin) / pd.Timedelta(1, unit)
            for each in CELLS[name]
        ]
    return made


SAS_FORMATS = {"day": "DATE9", "moment": "DATETIME19"}


def as_sas7bdat(path):
    write_sas(
        path,
        [
            SasColumn(name, values, SAS_FORMATS.get(name, ""), TITLE if name == "sex" else "")
            for name, values in numbers().items()
        ],
    )


def as_xpt(path, version=5):
    pyreadstat.write_xport(
        pd.DataFrame(numbers()),
        path,
        file_format_version=version,
        column_labels={"sex": TITLE},
        variable_format=SAS_FORMATS,
    )


def as_xpt8(path):
    as_xpt(path, 8)


def as_por(path):
    since = (pd.Timestamp("1960-01-01") - pd.Timestamp("1582-10-14")) / pd.Timedelta(1, "s")
    made = pd.DataFrame({**numbers(), "words": cells_seen_in("por")["words"]})
    made["day"] = made["day"] * 86_400 + since
    made["moment"] += since
    pyreadstat.write_por(
        made.rename(columns=str.upper),
        path,
        column_labels=[TITLE if name == "sex" else "" for name in CELLS],
        variable_format={"DAY": "DATE11", "MOMENT": "DATETIME20"},
    )


def as_xls(path):
    book = xlwt.Workbook()
    sheet = book.add_sheet("people")
    styles = {
        "day": xlwt.easyxf(num_format_str="yyyy-mm-dd"),
        "moment": xlwt.easyxf(num_format_str="yyyy-mm-dd hh:mm:ss"),
    }
    for place, (name, values) in enumerate(CELLS.items()):
        sheet.write(0, place, name)
        for row, value in enumerate(values, 1):
            if value is not None:
                sheet.write(row, place, value, styles.get(name, xlwt.Style.default_style))
    book.save(str(path))


def as_ods(path):
    def cell(name, value):
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, bool):
            return test_other_workbooks.cell("boolean", str(value).lower(), "")
        if isinstance(value, dt.date):
            more = f'table:style-name="{name}"'
            return test_other_workbooks.cell("date", value.isoformat(), "", more)
        if not isinstance(value, str):
            return test_other_workbooks.cell("float", repr(value), "")
        lines = "</text:p><text:p>".join(map(escape, value.split("\n")))
        return (
            '<table:table-cell office:value-type="string"><text:p>'
            f"{lines}</text:p></table:table-cell>"
        )

    heads = "".join(cell(name, name) for name in CELLS)
    rows = [
        "".join(cell(name, value) for name, value in zip(CELLS, row, strict=True))
        for row in zip(*CELLS.values(), strict=True)
    ]
    lines = "".join(f"<table:table-row>{each}</table:table-row>" for each in [heads, *rows])
    save(path, test_other_workbooks.ods(lines, styles=ODS_STYLES))


ODS_STYLES = """
<number:date-style style:name="N1"><number:year/><number:month/><number:day/></number:date-style>
<number:date-style style:name="N2"><number:year/><number:month/><number:day/>
<number:hours/><number:minutes/><number:seconds/></number:date-style>
<style:style style:name="day" style:family="table-cell" style:data-style-name="N1"/>
<style:style style:name="moment" style:family="table-cell" style:data-style-name="N2"/>
"""
WIDTH = 24


def as_dat(path):
    """A text of fixed width."""
    rows = zip(*cells_seen_in("dat").values(), strict=True)
    lines = ["".join(f"{_shown(value):<{WIDTH}}" for value in row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _shown(value):
    if value is None:
        return ""
    return value.isoformat() if isinstance(value, dt.date) else str(value)


LAYOUT = tuple(f"{name} {1 + WIDTH * place} {WIDTH}" for place, name in enumerate(CELLS))
SOURCES = {
    "csv": as_csv,
    "dat": as_dat,
    "xlsx": as_xlsx,
    "xls": as_xls,
    "ods": as_ods,
    "parquet": as_parquet,
    "sqlite": as_sqlite,
    "duckdb": as_duckdb,
    "sav": as_sav,
    "zsav": as_zsav,
    "por": as_por,
    "dta": as_dta,
    "sas7bdat": as_sas7bdat,
    "xpt": as_xpt,
    "xpt8": as_xpt8,
}


ANSWERS = {98: "refused", 99: "does not know"}
REASONS = [None, "refused", "does not know", None, None, "refused"]


def reasons_in_sav(path):
    """Answers of which two codes are declared missing, and wards of which a text is."""
    answers = {
        "n": N,
        "answer": [1.0, 98, 99, 2, None, 98],
        "ward": ["A", "RF", "", "B", "A", "RF"],
    }
    pyreadstat.write_sav(
        pd.DataFrame(answers),
        path,
        variable_value_labels={"answer": {1: "yes", 2: "no", **ANSWERS}, "ward": {"RF": "refused"}},
        missing_ranges={"answer": [98, 99], "ward": ["RF"]},
    )


def reasons_in_dta(path):
    answers = pd.Series([1.0, "a", "b", 2.0, None, "a"], dtype=object)
    labels = {1: "yes", 2: "no", "a": "refused", "b": "does not know"}
    pyreadstat.write_dta(
        pd.DataFrame({"n": N, "answer": answers}),
        path,
        version=15,
        variable_value_labels={"answer": labels},
        missing_user_values={"answer": ["a", "b"]},
    )


def reasons_in_sas7bdat(path):
    """The letters of SAS, whose labels stand in a catalog."""
    a, b = Tag("A"), Tag("B")
    write_sas(path, [SasColumn("n", N), SasColumn("answer", [1.0, a, b, 2.0, None, a])])


OF_REASONS = {"sav": reasons_in_sav, "dta": reasons_in_dta, "sas7bdat": reasons_in_sas7bdat}


def ending_of(source):
    """How the name of a source's file ends."""
    return "xpt" if source == "xpt8" else source


def cells_seen_in(source):
    """What the custodian sees in a source: all that its form can hold."""
    words = CELLS["words"]
    if source in ("dat", "por"):  # a record is one line, or the library writes no other
        words = [text and text.replace("\n", " ") for text in words]
    if source == "por":
        words = [text and text.encode("ascii", "ignore").decode().strip() for text in words]
    return {**CELLS, "words": words}
