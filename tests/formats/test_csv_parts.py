"""A delimited text that is read in parts gives the rows, the types and the errors of the whole."""

from __future__ import annotations

import codecs
import pickle
import tempfile
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled, TableError
from sfumato.engine.core.progress import Silent
from sfumato.formats import delimited_parts, records
from sfumato.formats.errors import BadValue, EmptyFile, FileError, OpenQuote, RaggedRow
from sfumato.formats.files import digest_of
from sfumato.formats.options import BadValues, ColumnType, DateOrder, RaggedRows, ReadOptions
from sfumato.formats.reading import KnownFile, open_batches, read_file
from sfumato.formats.tables import delimited
from sfumato.project.release.witnesses import frame_of
from tests.formats.reading import Watch
from tests.thorough import tried

PLAIN = ReadOptions()
MISSING, SKIP, TEXT = BadValues.MISSING, BadValues.SKIP, BadValues.TEXT
MOMENTS = "datetime64[us]"
FAR = 600
"""Rows that take many blocks to read."""


def outcome(path, options, block, part):
    """Return what a file is read as in parts: its columns and notes, or what is wrong with it."""
    with pytest.MonkeyPatch.context() as patch:
        for each in (delimited, delimited_parts, records):
            patch.setattr(each, "BLOCK_SIZES", (block, 32 << 20))
        patch.setattr(records, "_PIECES_APART", 1)
        patch.setattr(delimited_parts, "_HELD", block)
        patch.setattr(delimited, "BATCH_ROWS", part)
        patch.setattr(delimited_parts, "BATCH_ROWS", part)
        try:
            if not part:
                read = read_file(path, options, Silent())
                return read.table.frame, told_of_all(read.notes)
            batches = open_batches(path, options, Silent())
            assert batches is not None
            parts = list(batches.read(tuple(batches.types)))
            known = KnownFile(batches.types, batches.rows, batches.digest)
            reopened = open_batches(path, options, Silent(), known=known)
            assert reopened is not None
            again = list(reopened.read(tuple(known.types))) if batches.types_suffice else []
            stretches = [rows_of_stretches(batches, part)]
            if batches.types_suffice:
                stretches.append(rows_of_stretches(reopened, part))
        except FileError as error:
            return type(error), str(error)
    assert [len(each) for each in parts[:-1]] == [part] * (len(parts) - 1)
    assert sum(map(len, parts)) == batches.rows
    for rows in stretches:
        assert rows.equals(pa.Table.from_batches(parts).select(rows.column_names))
    assert batches.digest == digest_of(path, Silent())
    frame = frame_of(parts, batches.types, batches.rows)
    if batches.types_suffice:
        assert frame_of(again, batches.types, batches.rows).to_csv() == frame.to_csv()
    return frame, told_of_all(batches.notes)


def told_of_all(notes):
    """What is said of all rows: texts that look alike are told of the first part alone."""
    return [note.text for note in notes if "look like" not in note.text]


def rows_of_stretches(batches, rows):
    """The rows of the stretches of about so many rows that other processes read."""
    names = tuple(batches.types)
    stretches = pickle.loads(pickle.dumps(batches.parts(rows)))
    batches.check()
    return pa.Table.from_batches([each for part in stretches for each in part.read(names)])


def sorted_categories(frame):
    """Return a frame whose categories are sorted: no decision rests on their order."""

    def in_order(column):
        return column.cat.reorder_categories(sorted(column.cat.categories))

    categorical = frame.select_dtypes("category")
    return frame.assign(**{name: in_order(column) for name, column in categorical.items()})


def assert_same(content, options, block=1 << 10, parts=(1 << 18,)):
    """Hold a text in parts of several sizes against the whole; return what it is read as."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes(content)
        whole, told = outcome(path, options, block, 0)
        for part in parts:
            found, notes = outcome(path, options, block, part)
            if isinstance(whole, type):
                assert found is whole
            else:
                pd.testing.assert_frame_equal(sorted_categories(found), sorted_categories(whole))
                assert found.to_csv() == whole.to_csv()  # -0 is not 0
            assert notes == told
    return whole, told


def lines(*values, then=(), end="\n"):
    rows = [f"{i},{value}" for i, value in enumerate([*values * (FAR // len(values)), *then])]
    return end.join(["id,x", *rows, ""])


CASES = {
    "a text in the last row": (lines("1", "2", then=["Ulm"]), PLAIN, BadValue),
    "… is missing": (lines("1", "2", then=["Ulm"]), ReadOptions(bad_values=MISSING), "Int64"),
    "… is skipped": (lines("1", "2", then=["Ulm", "3"]), ReadOptions(bad_values=SKIP), "int64"),
    "… makes a text": (lines("1", "2", then=["Ulm"]), ReadOptions(bad_values=TEXT), "category"),
    "many texts at last": (lines("1", "2", then=["Ulm"] * 700), PLAIN, "category"),
    "a decimal at last": (lines("1", "-0", then=["2.5"]), PLAIN, "float64"),
    "a leading zero at last": (lines("1", "2", then=["007"]), PLAIN, "category"),
    "a long number, then a decimal": (lines(f"{2**53 + 1}", then=["2.5"]), PLAIN, "category"),
    "a finer moment at last": (
        lines("2024-02-03", then=["2024-02-03T04:05:06.123456789"]),
        PLAIN,
        "datetime64[ns]",
    ),
    "missing values first": (lines("", then=["2.5"]), PLAIN, "float64"),
    "nothing but missing values": (lines(""), PLAIN, "str"),
    "codes for missing values": (lines("1", "n/a"), ReadOptions(missing=("", "n/a")), "Int64"),
    "yes and no": (lines("true", "", "false"), PLAIN, "boolean"),
    "decimal commas": (
        lines("1,5", "2").replace("id,", "id;").replace(",1,", ";1,").replace(",2\n", ";2\n"),
        ReadOptions(delimiter=";", decimal=","),
        "float64",
    ),
    "days first": (lines("3.2.2024"), ReadOptions(date_order=DateOrder.DAY_FIRST), MOMENTS),
    "a type that is fixed": (
        lines("1", "inf"),
        ReadOptions(column_types={"x": ColumnType.NUMBER}),
        "float64",
    ),
    "fields on several lines": (lines('"a\nb"', '"c, ""d"""'), PLAIN, "category"),
    "CR LF": (lines('"a\r\nb"', "c", end="\r\n"), PLAIN, "category"),
    "characters of several bytes": (lines("é", "漢字", "😀"), PLAIN, "category"),
    "ragged rows": (lines("1", then=["2,3", "4"]), PLAIN, RaggedRow),
    "ragged rows skipped": (
        lines("1", then=["2,3", "4"]),
        ReadOptions(ragged_rows=RaggedRows.SKIP),
        "int64",
    ),
    "escaped formulas": (lines("'=1", "a"), ReadOptions(escaped_formulas=True), "category"),
    "no end of a quotation": (lines("a", then=['"b']), PLAIN, OpenQuote),
    "no rows": ("id,x\n", PLAIN, EmptyFile),
    "no rows left": ("x\n1\n", ReadOptions(column_types={"x": "date"}, bad_values=SKIP), EmptyFile),
}


@pytest.mark.turns(4)
@pytest.mark.few(2)
@pytest.mark.parametrize("case", CASES)
def test_parts_are_read_as_the_whole(case):
    text, options, wanted = CASES[case]
    read, _ = assert_same(text.encode(), options, parts=(7, 1_000, 1 << 18))
    if isinstance(wanted, type):
        assert read is wanted
    else:
        assert str(read["x"].dtype) == wanted


@pytest.mark.few(2)
@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-be"])
def test_parts_are_read_in_any_encoding(encoding):
    text = lines("é", "ü", then=["1"])
    read, _ = assert_same(text.encode(encoding), ReadOptions(encoding=encoding), parts=(9,))
    assert list(read.columns) == ["id", "x"]
    assert read["x"].tolist()[:2] == ["é", "ü"]


NUMBERS = ("1", "-2", "-0", "30", "+4", " 5", "2.5", "1e-3", "9007199254740993", "1,5")
DATES = ("2024-02-03", "2024-02-30", "2024-02-03T04:05", "2024-02-03 04:05:06.123456789")
WORDS = ("Ulm", "é€漢😀", 'a "b"', "c,d", "e\nf", "g\r\nh", " ", "'=1", "''-2", "007", "NA", "")
POOLS = st.sampled_from(
    [NUMBERS, NUMBERS[:5], DATES, DATES[:1], WORDS, WORDS[:2], ("true", "False", "")]
)
"""What most values of a column are; strange ones are put among them."""
READINGS = st.builds(
    ReadOptions,
    missing=st.sampled_from([("",), ("", "NA")]),
    decimal=st.sampled_from([".", "."]),
    quoted_empty_is_text=st.booleans(),
    escaped_formulas=st.booleans(),
    ragged_rows=st.sampled_from(RaggedRows),
    bad_values=st.sampled_from(BadValues),
    column_types=st.sampled_from([{}, {}, {"b": "number"}, {"a": "date", "b": "text"}]),
)


def field(value, in_quotes):
    if in_quotes or set(value) & set('",\r\n'):
        return '"' + value.replace('"', '""') + '"'
    return value


@st.composite
def texts(draw):
    """Return the bytes of a delimited text, and the encoding that it is in."""
    rows = draw(st.integers(1, 60))
    pools = [draw(POOLS) for _ in "abc"]
    table = [[draw(st.sampled_from(pool)) for pool in pools] for _ in range(rows)]
    for strange in draw(st.lists(st.sampled_from((*WORDS, *NUMBERS, *DATES)), max_size=2)):
        table[draw(st.integers(0, rows - 1))][draw(st.integers(0, 2))] = strange
    end = draw(st.sampled_from(["\n", "\r\n"]))
    records = [",".join(field(value, draw(st.booleans())) for value in row) for row in table]
    if draw(st.booleans()):
        records[draw(st.integers(0, rows - 1))] += ",more"
    text = end.join(["a,b,c", *records]) + draw(st.sampled_from(["", end]))
    encoding = draw(st.sampled_from(["utf-8", "utf-8", "latin-1", "utf-16"]))
    mark = codecs.BOM_UTF8 if encoding == "utf-8" and draw(st.booleans()) else b""
    return mark + text.encode(encoding, errors="replace"), encoding


@pytest.mark.slow
@settings(max_examples=tried(60), deadline=None)
@given(
    texts(),
    READINGS,
    st.integers(40, 400),
    st.lists(st.integers(1, 90), min_size=1, max_size=2),
)
@example((b"a,b,c\n-0,1,1\n-0,1,1\n0.5,1,1", "utf-8"), PLAIN, 20, [1, 2])
# A text that is left midway ends within a letter, unless its pieces do not.
@example((("a,b,c\n" + '"é€漢😀",é€漢😀,Ulm\n' * 100).encode(), "utf-8"), PLAIN, 40, [2, 1])
def test_how_long_parts_are_never_changes_what_is_read(text, options, block, parts):
    content, encoding = text
    read, _ = assert_same(content, replace(options, encoding=encoding), block, parts)
    assert isinstance(read, type) or len(read)


@pytest.fixture
def batches(tmp_path):
    (tmp_path / "table.csv").write_text(lines("1", "2.5"))
    found = open_batches(tmp_path / "table.csv", PLAIN, Silent())
    assert found is not None
    return found


def test_single_columns_are_read_in_any_order(batches):
    [part] = batches.read(["x", "id"])
    assert part.schema.names == ["x", "id"]
    assert part["x"].to_pylist()[:3] == [1.0, 2.5, 1.0]


CHANGES = {
    "a value": lambda text: text.replace("\n7,2.5", "\n7,2.6"),
    "a text": lambda text: text.replace("\n7,2.5", "\n7,Secret"),
    "a row more": lambda text: text + "1,1\n",
    "a row less": lambda text: text[: text.rindex("\n", 0, -1)],
    "a name": lambda text: text.replace("x", "y", 1),
    "rows in another order": lambda text: text.replace("\n7,2.5\n8,1", "\n8,1\n7,2.5"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_file_that_changed_since_its_types_were_found_is_refused(batches, tmp_path, change):
    path = tmp_path / "table.csv"
    path.write_text(CHANGES[change](path.read_text()))
    with pytest.raises(TableError, match="changed while it was read") as refused:
        list(batches.read(("id", "x")))
    assert "Secret" not in str(refused.value)


def test_few_values_are_left_to_be_read_at_once(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(lines("1", "2"))
    assert open_batches(path, PLAIN, Silent(), 1.2 * 2 * FAR) is None
    assert open_batches(path, PLAIN, Silent(), 0.8 * 2 * FAR).rows == FAR


def test_finding_the_types_can_be_cancelled(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(lines("1", "2"))
    with pytest.raises(Cancelled):
        open_batches(path, PLAIN, Watch(stop_at=2))


@pytest.mark.slow
@pytest.mark.parametrize("part", [0, 7])
def test_a_line_end_within_a_value_stays_whole_wherever_a_block_ends(tmp_path, part):
    path = tmp_path / "table.csv"
    told = []
    for length in range(990, 1030):
        path.write_bytes(b"a,b\r\n" + b"x" * length + b',"p\r\nq"\r\n' + b"y,z\r\n" * 99)
        frame, _ = outcome(path, PLAIN, 1 << 10, part)
        told.append((frame["a"].iloc[0], frame["b"].iloc[0], len(frame)))
    assert told == [("x" * length, "p\r\nq", 100) for length in range(990, 1030)]


def text_of(rows, end="\n", strange=""):
    """A text whose rows hold quoted line ends, commas and quotation marks, some strangely."""
    shown = ("plain", f'"two{end}lines"', '"a ""word"", quoted"', strange or "plain", '""')
    return end.join(["id,note,last", *(f"{i},{shown[i % 5]},x{i}" for i in range(rows)), ""])


@pytest.mark.slow
@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_rows_around_a_place_are_read_from_an_indexed_row_before_it(
    tmp_path, monkeypatch, end, mark, again
):
    monkeypatch.setattr(delimited, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(delimited_parts, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(records, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(records, "_PIECES_APART", 3)
    monkeypatch.setattr(delimited_parts, "SHOWN_ROWS", 16)
    path = tmp_path / "table.csv"
    path.write_bytes(mark + text_of(FAR, end).encode())
    batches = open_batches(path, PLAIN, Silent())
    if again:
        known = KnownFile(batches.types, batches.rows, batches.digest)
        batches = open_batches(path, PLAIN, Silent(), known=known)
        assert batches.near(FAR - 1) is None  # as long as nobody read all rows
        list(batches.read(["id"]))
        assert batches.near(FAR - 1) is None
    whole = pa.Table.from_batches(batches.read(tuple(batches.types)))
    found = [batches.near(place) for place in range(FAR)]
    for place, (first, rows) in enumerate(found):
        assert first <= place < first + len(rows)
        assert rows.to_pydict() == whole.slice(first, len(rows)).to_pydict()


@pytest.fixture
def indexed(monkeypatch):
    """Let rows be indexed in a short file."""
    monkeypatch.setattr(delimited, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(delimited_parts, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(records, "BLOCK_SIZES", (1 << 10, 32 << 20))
    monkeypatch.setattr(records, "_PIECES_APART", 1)


@pytest.mark.few(3)
@pytest.mark.usefixtures("indexed")
@pytest.mark.parametrize(
    ("encoding", "more"),
    [("utf-8", 1), ("utf-8-sig", 1), ("cp1252", 1), ("utf-16-le", 1), ("utf-16", 0)],
)
@pytest.mark.parametrize("strange", ["é€", '5" pipe'])
def test_other_processes_read_stretches_of_a_text(tmp_path, encoding, more, strange):
    path = tmp_path / "table.csv"
    path.write_bytes(text_of(FAR, strange=strange).encode(encoding))
    batches = open_batches(path, ReadOptions(encoding=encoding), Silent())
    whole = pa.Table.from_batches(batches.read(tuple(batches.types)))
    assert rows_of_stretches(batches, 30).equals(whole)
    assert (len(batches.parts(30)) > 1) == bool(more)
    assert len(batches.parts(FAR)) == 1
    [stretch, *_] = batches.parts(30)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(TableError, match="changed"):
        list(stretch.read(["id"]))
    with pytest.raises(TableError, match="changed"):
        batches.check()


@pytest.mark.slow
@pytest.mark.usefixtures("indexed")
def test_a_quotation_mark_within_a_text_leads_to_no_wrong_rows(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text_of(FAR, strange='5" pipe'))
    batches = open_batches(path, PLAIN, Silent())
    whole = pa.Table.from_batches(batches.read(tuple(batches.types)))
    for place in range(FAR):
        first, rows = batches.around(place, Silent())
        assert rows.to_pydict() == whole.slice(first, len(rows)).to_pydict()


@pytest.mark.usefixtures("indexed")
def test_a_file_that_changed_since_its_rows_were_indexed_is_refused(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text(text_of(FAR))
    batches = open_batches(path, PLAIN, Silent())
    path.write_text(text_of(FAR + 1))
    with pytest.raises(TableError, match="changed"):
        batches.around(FAR - 1, Silent())
