"""An awkward table from every kind of source, released in every format, as other programs read it.

Cell for cell, with types, labels, the order of categories and missing values. Each source is
written by a program of others, and each release is read by others.
"""

from __future__ import annotations

import datetime as dt
import importlib.util
import json
import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pyreadstat
import pytest

from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.periods import Period
from sfumato.engine.core.progress import Silent
from sfumato.formats.options import ReasonsKept
from sfumato.formats.reading import detect_options
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.release import make_release
from sfumato.project.source import read_source
from tests.formats.awkward import (
    ANSWERS,
    CELLS,
    LABELS,
    LAYOUT,
    OF_REASONS,
    ORDER,
    REASONS,
    SOURCES,
    TITLE,
    N,
    cells_seen_in,
    ending_of,
)
from tests.formats.haven import read_by_haven
from tests.formats.reading import read
from tests.formats.test_periods import SHOWN, sas, spss, stata
from tests.in_batches import in_batches
from tests.project.making import new_project

LABELLED = {"sav", "zsav", "dta"}
"""Sources that hold labels of values."""
TITLED = LABELLED | {"por", "sas7bdat", "xpt", "xpt8"}
"""Sources that hold labels of columns."""
IN_ORDER = {"parquet", "duckdb"}
"""Sources that hold categories in an order."""
WITHOUT_TRUTH = {"por", "sas7bdat", "xpt", "xpt8"}
"""Sources that hold yes and no as numbers."""
FORMATS = ("csv", "parquet", "sav", "dta")


def cell(value):
    """A cell as a plain value, whatever a program holds it as."""
    if value is None or value is pd.NaT or value == "" or (value != value):
        return None
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, pd.Timestamp):
        value = value.to_pydatetime()
    if isinstance(value, dt.datetime):
        return value.isoformat().removesuffix("T00:00:00")
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, int | float | Decimal):
        number = float(value)
        return "-0" if number == 0 and math.copysign(1, number) < 0 else number
    return str(value)


def cells_of(columns):
    """The cells of some columns by name, rows by their number."""
    plain = {name.lower(): [cell(each) for each in values] for name, values in columns.items()}
    order = sorted(range(len(N)), key=plain["n"].__getitem__)
    return {name: [values[place] for place in order] for name, values in plain.items()}


NUMBERS = {"n", "sex", "amount", "single", "large", "zero"}


def seen(column, value):
    """A cell of a file of texts as the number, date or yes/no that it is written as."""
    if value in (None, ""):
        return None
    if column.lower() == "flag":
        return {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}[value]
    if column.lower() in NUMBERS:
        return float(value)
    return value.removesuffix("T00:00:00")


def by_pandas(path, form):
    if form == "csv":
        texts = pd.read_csv(path, dtype=str, keep_default_na=False)
        return {name: [seen(name, each) for each in texts[name]] for name in texts}
    if form == "parquet":
        return pd.read_parquet(path).astype(object).to_dict("list")
    if form == "dta":
        return pd.read_stata(path, convert_categoricals=False).astype(object).to_dict("list")
    return pd.read_spss(path, convert_categoricals=False).astype(object).to_dict("list")


def by_pyreadstat(path, form):
    found, _ = getattr(pyreadstat, f"read_{form}")(path)
    return found.astype(object).to_dict("list")


def by_duckdb(path, form):
    duckdb = pytest.importorskip("duckdb")
    table = f"read_csv('{path}', all_varchar = true)" if form == "csv" else f"'{path}'"
    with duckdb.connect() as driver:
        found = driver.sql(f"SELECT * FROM {table}").to_arrow_table().to_pydict()
    if form == "parquet":
        return found
    return {name: [seen(name, each) for each in values] for name, values in found.items()}


def by_polars(path, form):
    import polars  # noqa: PLC0415

    if form == "parquet":
        return polars.read_parquet(path).to_dict(as_series=False)
    found = polars.read_csv(path, infer_schema=False).to_dict(as_series=False)
    return {name: [seen(name, each) for each in values] for name, values in found.items()}


READERS = {
    "csv": (by_pandas, by_duckdb, by_polars),
    "parquet": (by_pandas, by_duckdb, by_polars),
    "sav": (by_pandas, by_pyreadstat),
    "dta": (by_pandas, by_pyreadstat),
}


def readers_of(form):
    """The programs that read a format, of those that are installed."""
    missing = set() if importlib.util.find_spec("polars") else {by_polars}
    return [program for program in READERS[form] if program not in missing]


def source_of(folder, source, sources=SOURCES):
    path = folder / f"source.{ending_of(source)}"
    sources[source](path)
    return path


def release_of(path, form, **changes):
    """Release the table of a source, read with some options, in a format; return the data file."""
    folder = path.parent
    layout = {"layout": LAYOUT} if path.suffix == ".dat" else {}
    options = replace(detect_options(path, layout), **changes)
    table, known = read_source(path, options, Silent())
    made = Document(
        title="Awkward",
        source=known,
        record_key=table.columns[0],
        columns=tuple(ColumnSpec(name, Role.INSENSITIVE) for name in table.columns),
        recipients=(Recipient("Public"),),
    )
    with new_project(folder, made) as project:
        out = folder / "out"
        release = make_release(
            project, in_batches(table), "Public", out, form, Silent(), escape_formulas=False
        )
    return release.path / f"data.{form}"


def wanted_of(source):
    """What every program is to see of a source's table: a zero has no sign."""
    found = cells_of(cells_seen_in(source))
    return {
        name: [0.0 if each == "-0" else each for each in cells] for name, cells in found.items()
    }


QUICK = {"csv", "dat", "xlsx", "parquet", "sqlite", "sav"}
"""Sources that are released as CSV each time; the others are left to CI."""
COMBINATIONS = [
    pytest.param(source, form, marks=[] if quick else [pytest.mark.slow])
    for source in SOURCES
    for form in FORMATS
    for quick in [source == "parquet" or (form == "csv" and source in QUICK)]
]


@pytest.mark.few(2)
@pytest.mark.turns(4)
@pytest.mark.parametrize(("source", "form"), COMBINATIONS)
def test_every_cell_of_every_source_is_in_every_release_as_other_programs_read_it(
    tmp_path, source, form
):
    data = release_of(source_of(tmp_path, source), form)
    for program in readers_of(form):
        assert cells_of(program(data, form)) == wanted_of(source), program.__name__
    CHECKS[form](data, source)


def parquet_types(data, source):
    """Types, and the order of categories."""
    schema = pq.read_schema(data)
    kinds = {field.name.lower(): str(field.type) for field in schema}
    text, whole, number = "string", "int64", "double"
    grade = "dictionary<values=string, indices=int32, ordered=1>"
    assert kinds == {
        **dict.fromkeys(("code", "words"), text),
        **dict.fromkeys(("n", "sex", "large"), whole),
        **dict.fromkeys(("amount", "single", "zero"), number),
        "flag": whole if source in WITHOUT_TRUTH else "bool",
        "day": "date32[day]",
        "moment": kinds["moment"],
        "grade": grade if source in IN_ORDER else text,
    }
    assert kinds["moment"].startswith("timestamp[")
    if source in IN_ORDER:
        assert pd.read_parquet(data)["grade"].cat.categories.tolist() == ORDER
    if source in TITLED:
        labels = json.loads(schema.metadata[b"sfumato"])
        assert {n.lower(): text for n, text in labels["column_labels"].items()} == {"sex": TITLE}
    if source in LABELLED:
        assert dict(labels["value_labels"]["sex"]) == LABELS


def csv_types(data, source):
    """What the data package says of the columns."""
    package = json.loads((data.parent / "datapackage.json").read_text(encoding="utf-8"))
    fields = {each["name"].lower(): each for each in package["resources"][0]["schema"]["fields"]}
    assert {name: each["type"] for name, each in fields.items()} == {
        **dict.fromkeys(("code", "words", "grade"), "string"),
        **dict.fromkeys(("n", "sex", "large"), "integer"),
        **dict.fromkeys(("amount", "single", "zero"), "number"),
        "flag": "integer" if source in WITHOUT_TRUTH else "boolean",
        "day": "date",
        "moment": "datetime",
    }
    if source in LABELLED:
        listed = fields["sex"]["categories"]
        assert {each["value"]: each["label"] for each in listed} == LABELS
    if source in TITLED:
        assert fields["sex"]["title"] == TITLE
    if source in IN_ORDER:
        assert [each["value"] for each in fields["grade"]["categories"]] == ORDER
        assert fields["grade"]["categoriesOrdered"] is True


def statistical_types(data, source):
    """Types and labels of SPSS and Stata."""
    form = data.suffix[1:]
    _, meta = getattr(pyreadstat, f"read_{form}")(data, disable_datetime_conversion=True)
    kinds = meta.readstat_variable_types
    assert {name.lower() for name, kind in kinds.items() if kind == "string"} == {
        *("code", "words", "grade")
    }
    shown = {name.lower(): kind.upper() for name, kind in meta.original_variable_types.items()}
    days = {"sav": ("DATE11", "DATETIME23.2"), "dta": ("%TD", "%TC")}
    assert (shown["day"], shown["moment"]) == days[form]
    labels = {name.lower(): texts for name, texts in meta.variable_value_labels.items()}
    truth = {} if source in WITHOUT_TRUTH else {"flag": {0: "false", 1: "true"}}
    assert labels == {**truth, **({"sex": LABELS} if source in LABELLED else {})}
    if source in TITLED:
        titles = {name.lower(): text for name, text in meta.column_names_to_labels.items()}
        assert titles["sex"] == TITLE


CHECKS = {
    "csv": csv_types,
    "parquet": parquet_types,
    "sav": statistical_types,
    "dta": statistical_types,
}


@pytest.mark.slow
@pytest.mark.parametrize("form", ["sav", "dta"])
@pytest.mark.parametrize("source", ["parquet", "sav", "dta", "sas7bdat"])
def test_r_reads_every_cell_type_and_label(tmp_path, source, form):
    found = read_by_haven(release_of(source_of(tmp_path, source), form))
    cells = {name: column.cells for name, column in found.items()}
    cells["moment"] = [seen("moment", each) for each in cells["moment"]]
    assert cells_of(cells) == wanted_of(source)
    classes = {name: column.classes[-1] for name, column in found.items()}
    assert classes == {
        **dict.fromkeys(CELLS, "double"),
        **dict.fromkeys(("code", "words", "grade"), "character"),
        **{name: kind for name, kind in classes.items() if kind == "numeric"},
        **{"day": "Date", "moment": "POSIXt"},
    }
    assert found["day"].format == {"sav": "DATE11", "dta": "%td"}[form]
    assert found["sex"].label == (TITLE if source in TITLED else None)
    # In the order of their values.
    assert list(found["sex"].labels.items()) == (list(LABELS.items()) if source in LABELLED else [])
    if source not in WITHOUT_TRUTH:
        assert list(found["flag"].labels.items()) == [(0, "false"), (1, "true")]


def reasons_by_haven(column):
    """Why values are missing, as haven tells it: by declared codes, or by letters."""
    letters = (each and column.labels.get(each, f".{each}") for each in column.letters)
    codes = (column.labels[each] if each in column.codes else None for each in column.cells)
    return [letter or code for letter, code in zip(letters, codes, strict=True)]


TELLS_REASONS = {("sav", "sav"), ("sav", "dta"), ("dta", "dta"), ("sas7bdat", "dta")}
"""Sources whose reasons a program has values for; elsewhere a column of texts alone tells them."""


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("source", OF_REASONS)
def test_every_program_sees_why_values_are_missing(tmp_path, source, form):
    path = source_of(tmp_path, source, OF_REASONS)
    data = release_of(path, form, missing_reasons=ReasonsKept.COLUMN)
    reasons = REASONS
    if source == "sas7bdat":
        reasons = [{None: None, "refused": ".A", "does not know": ".B"}[each] for each in REASONS]
    answers = [1.0, None, None, 2.0, None, None]
    for program in readers_of(form):
        found = cells_of(program(data, form))
        assert [each and float(each) for each in found["answer"]] == answers, program.__name__
        assert found["answer_missing"] == reasons, program.__name__
    if form not in ("sav", "dta"):
        return
    found = read_by_haven(data)
    order = np.argsort(found["n"].cells)
    assert [found["answer_missing"].cells[place] for place in order] == reasons
    told = [reasons_by_haven(found["answer"])[place] for place in order]
    known = (source, form) in TELLS_REASONS
    assert told == ([each and each.lower() for each in reasons] if known else [None] * len(N))
    if source == "sav":
        ward = found["ward"]
        assert ward.codes == (("RF",) if form == "sav" else ())
        shown = [None if each in ward.codes else each for each in ward.cells]
        assert [shown[place] for place in order] == ["A", None, None, "B", "A", None]
    if form == "sav" and source == "sav":
        assert found["answer"].codes == (98, 99)
        assert list(found["answer"].labels.items()) == [(1, "yes"), (2, "no"), *ANSWERS.items()]


@pytest.mark.turns(4)
@pytest.mark.slow
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("writer", [spss, stata, sas])
def test_every_period_leaves_as_it_is_shown_in_every_format(tmp_path, writer, form):
    cases = [case[1:] for case in SHOWN if case[0] is writer]
    columns = ((shown, [number, math.nan, number]) for shown, number, *_ in cases)
    key = {spss: "F8.0", stata: "%8.0g", sas: "BEST8"}[writer]
    data = release_of(writer(tmp_path, (key, [1.0, 2.0, 3.0]), *columns), form)
    again = read(data).table
    order = again.frame["x"].argsort()
    wrong = {}
    for place, (shown, _, value, period) in enumerate(cases, 1):
        values = again.frame[f"x{place}"].iloc[order].tolist()
        wanted = pd.Timestamp(value) if period is None else value
        if not pd.isna(values[1]) or values[::2] != [wanted, wanted]:
            wrong[shown] = values
    assert wrong == {}
    if form in ("sav", "dta"):
        found = read_by_haven(data)
        # A time of day of Stata is one of 1 January 1960.
        periods = {f"x{place}": each[-1] for place, each in enumerate(cases, 1)}
        dated = {
            name
            for name, column in found.items()
            if periods.get(name) not in (None, Period.TIME)
            and {"Date", "POSIXct"} & {*column.classes}
        }
        assert dated == set()
