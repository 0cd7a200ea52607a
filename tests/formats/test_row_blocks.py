"""Rows of a workbook that are read together mean what they mean one by one."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import DamagedFile, FileError
from sfumato.formats.options import ErrorCells
from sfumato.formats.reading import detect_options, read_file
from sfumato.formats.workbooks import sheet_text
from sfumato.formats.workbooks.columns import SheetColumn
from tests.formats.workbooks import parts, save, sheet

STYLES = ["General", "yyyy-mm-dd", "00000", "[h]:mm:ss", "mmm yyyy", "0.00", ";;;", "hh:mm"]
STRINGS = ["a", "b &amp; c", "NA", "", "_x0041_", "ä", "7"]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(sheet_text, "_PIECE", 1 << 13)


def whole(random):
    return f"<v>{random.choice([0, 7, 12, 345, 12345])}</v>"


def decimal(random):
    return f"<v>{random.choice([0, 1.5, '-0', '-0.0', 1e-7, 12.25, '1E+3'])}</v>"


def large(random):
    return f"<v>{random.choice([1 << 53, (1 << 53) + 1, 5])}</v>"


def day(random):
    return f"<v>{random.choice([31000, 32000, 32001.5, 60, 3])}</v>"


def shared(random):
    return f"<v>{random.randrange(len(STRINGS))}</v>"


def inline(random):
    return f"<is><t>{random.choice(['x', 'y', 'NA', 'z &lt; y', ''])}</t></is>"


def formula(random):
    return f"<f>A1+1</f><v>{random.randrange(9)}</v>"


KINDS = {
    "whole": ("", 0, whole),
    "decimal": ("", 5, decimal),
    "typed": (' t="n"', 0, decimal),
    "large": ("", 0, large),
    "day": ("", 1, day),
    "code": ("", 2, whole),
    "span": ("", 3, decimal),
    "month": ("", 4, day),
    "veiled": ("", 6, whole),
    "veiled text": (' t="s"', 6, shared),
    "clock": ("", 7, decimal),
    "shared": (' t="s"', 0, shared),
    "inline": (' t="inlineStr"', 0, inline),
    "formula": ("", 0, formula),
    "text of a formula": (' t="str"', 0, lambda random: f"<f>A1</f><v>{random.choice('pq')}</v>"),
    "truth": (' t="b"', 0, lambda random: f"<v>{random.randrange(2)}</v>"),
    "error": (' t="e"', 0, lambda random: "<v>#N/A</v>"),
    "stated date": (' t="d"', 0, lambda random: "<v>2024-02-03</v>"),
    "not computed": ("", 0, lambda random: "<f>A1</f>"),
}


def cell(place, kind, random):
    kind, style, value = KINDS[kind]
    stated = f' s="{style}"' if style or random.random() < 0.5 else ""
    return f'<c r="{place}"{stated}{kind}>{value(random)}</c>'


def styles(*codes):
    named = "".join(
        f'<numFmt numFmtId="{200 + n}" formatCode="{code}"/>' for n, code in enumerate(codes)
    )
    formats = "".join(f'<xf numFmtId="{200 + n}"/>' for n in range(len(codes)))
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return (
        f'<styleSheet xmlns="{main}"><numFmts>{named}</numFmts><cellXfs>{formats}</cellXfs>'
        "</styleSheet>"
    ).encode()


def workbook(path, seed, rows=500):
    """Write a sheet of columns of all kinds, with what real ones have in places."""
    source = random.Random(seed)
    kinds = [*source.choices(list(KINDS)[:-4], k=5), source.choice(list(KINDS))]
    sparse = source.choice([0, 0, 0.1])
    awkward = source.choice([0, 0, 0.002])
    texts = ['<row r="1">']
    texts += [f'<c r="{"ABCDEFG"[n]}1" t="inlineStr"><is><t>c{n}</t></is></c>' for n in range(7)]
    texts.append("</row>")
    number = 1
    for _ in range(rows):
        number += 1 + (source.random() < awkward)
        head = ' hidden="1"' if source.random() < awkward else ' spans="1:7"'
        cells = [f'<c r="A{number}"><v>{number}</v></c>']
        for letter, kind in zip("BCDEFG", kinds, strict=True):
            other = source.choice(list(KINDS)) if source.random() < awkward else kind
            chosen = source.random()
            if chosen < sparse:
                cells.append(f'<c r="{letter}{number}" s="3"/>' if chosen < sparse / 2 else "")
            else:
                cells.append(cell(f"{letter}{number}", other, source))
        texts.append(f'<row r="{number}"{head}>{"".join(cells)}</row>')
    made = parts(
        sheet("".join(texts)), strings="".join(f"<si><t>{text}</t></si>" for text in STRINGS)
    )
    made["xl/styles.xml"] = styles(*STYLES)
    return save(path, made)


def told(path, options):
    try:
        result = read_file(path, options, Silent())
    except FileError as error:
        return type(error), str(error)
    frame = result.table.frame
    return frame.to_csv(), frame.dtypes.to_dict(), result.table.periods, result.notes


@pytest.mark.few(3)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("version", [1, 2])
def test_rows_read_together_mean_what_they_mean_one_by_one(tmp_path, monkeypatch, seed, version):
    path = workbook(tmp_path / "table.xlsx", seed)
    options = replace(detect_options(path), version=version, missing=("NA", "7")[: 1 + seed % 2])
    together = told(path, options)
    monkeypatch.setattr(sheet_text, "_MOST_UNLIKE", 0)
    assert together == told(path, options)


def test_columns_that_are_written_alike_are_never_taken_cell_by_cell(tmp_path, monkeypatch):
    rows = [
        f'<row r="{n}"><c r="A{n}"><v>{n / 8}</v></c><c r="B{n}"><v>{n}</v></c></row>'
        for n in range(1, 6_001)
    ]
    path = save(tmp_path / "table.xlsx", parts(sheet("".join(rows))))
    added = []
    add = SheetColumn.add

    def counted(self, cells):
        added.append(len(cells))
        add(self, cells)

    monkeypatch.setattr(SheetColumn, "add", counted)
    options = replace(detect_options(path), header=False)
    frame = read_file(path, options, Silent()).table.frame
    assert 0 < sum(added) < 3_000 * len(frame.columns)
    assert frame["column_1"].tolist() == [n / 8 for n in range(1, 6_001)]
    assert frame["column_2"].tolist() == list(range(1, 6_001))


@pytest.mark.parametrize(
    "wrong", ['<c r="B900"><v>1e</v></c>', '<c r="B900" t="s"><v>99</v></c>', '<c r="B7"><v>1</v>']
)
def test_a_damaged_cell_far_below_is_refused(tmp_path, wrong):
    rows = [f'<row r="{n}"><c r="A{n}"><v>1</v></c></row>' for n in range(2, 1_500)]
    rows[898] = f'<row r="900"><c r="A900"><v>1</v></c>{wrong}</row>'
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    path = save(tmp_path / "table.xlsx", parts(sheet(header + "".join(rows))))
    with pytest.raises(DamagedFile):
        read_file(path, detect_options(path), Silent())


def test_durations_with_errors_that_are_read_as_texts_are_texts(tmp_path):
    rows = ['<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>']
    rows += [f'<row r="{n}"><c r="A{n}" s="1"><v>2</v></c></row>' for n in range(2, 5)]
    rows.append('<row r="5"><c r="A5" t="e"><v>#N/A</v></c></row>')
    made = parts(sheet("".join(rows)))
    made["xl/styles.xml"] = styles("General", "[h]:mm:ss")
    path = save(tmp_path / "table.xlsx", made)
    options = replace(detect_options(path), error_cells=ErrorCells.TEXT)
    frame = read_file(path, options, Silent()).table.frame
    assert frame["a"].tolist() == ["48:00:00", "48:00:00", "48:00:00", "#N/A"]
