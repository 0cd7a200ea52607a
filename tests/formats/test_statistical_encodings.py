"""Texts of SAS, SPSS and old Stata files that don't say in which encoding they are."""

from __future__ import annotations

import pandas as pd
import pyreadstat
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import WrongEncoding
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import detect_options, first_rows, read_file
from tests.formats.reading import plain, read
from tests.formats.sas_files import SasColumn, write_sas

RUSSIAN = ["Москва", "Казань", "Воронеж", "Ярославль", "Челябинск", "Нижний Новгород"]
GERMAN = ["Müller", "Schröder", "Weiß", "Jäger", "Köhler", "Brühl"]
FORMATS = ("sav", "dta", "sas7bdat", "xpt")
_UNSTATED_CODE_PAGE = (2).to_bytes(4, "little")


def written(folder, kind, texts, encoding, more=0):
    """Write a file of texts in an encoding that it does not state."""
    path = folder / f"t.{kind}"
    widest = max(len(text.encode(encoding)) for text in texts)
    held = [f"{place:03d}".ljust(widest, "x") for place in range(len(texts))]
    table = pd.DataFrame({"n": [1.0] * (len(texts) + more), "TOWN": ["plain"] * more + held})
    if kind == "sas7bdat":
        columns = [SasColumn(name, table[name].tolist()) for name in table]
        content = bytearray(write_sas(path, columns).read_bytes())
        content[70] = 0
    elif kind == "xpt":
        pyreadstat.write_xport(table, path)
        content = bytearray(path.read_bytes())
    elif kind == "dta":
        pyreadstat.write_dta(table, path, version=12)
        content = bytearray(path.read_bytes())
    else:
        pyreadstat.write_sav(table, path)
        content = bytearray(path.read_bytes())
        # The machine's record names the code page; a further one the encoding.
        machine = content.index((7).to_bytes(4, "little") + (3).to_bytes(4, "little"))
        content[machine + 44 : machine + 48] = _UNSTATED_CODE_PAGE
        named = content.index((7).to_bytes(4, "little") + (20).to_bytes(4, "little"))
        content[named + 4 : named + 8] = (99).to_bytes(4, "little")
    changed, fill = bytes(content), b"\0" if kind == "dta" else b" "
    for placeholder, text in zip(held, texts, strict=True):
        assert placeholder.encode() in changed
        changed = changed.replace(placeholder.encode(), text.encode(encoding).ljust(widest, fill))
    path.write_bytes(changed)
    return path


def cautions(found):
    return [note for note in found.notes if note.caution and "encoding" in note.text]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_likely_encoding_is_proposed_and_said(tmp_path, kind):
    path = written(tmp_path, kind, RUSSIAN, "cp1251")
    options = detect_options(path)
    assert options.encoding == "cp1251"
    for found in (read_file(path, options, Silent()), first_rows(path, options)):
        assert plain(found.table.frame["TOWN"]) == RUSSIAN
        (note,) = [n for n in found.notes if "seems to be Windows-1251 (Cyrillic)" in n.text]
        for way in note.ways:
            assert way.options.encoding not in {"", "cp1251"}


@pytest.mark.parametrize("kind", ["sav", "dta", "sas7bdat"])
def test_text_that_is_read_as_usual_and_seems_to_be_another_is_doubted(tmp_path, kind):
    path = written(tmp_path, kind, RUSSIAN, "cp1251")
    (note,) = cautions(read(path, encoding=""))
    assert "does not state the encoding" in note.text
    assert note.ways[0].options.encoding == "cp1251"
    found = read_file(path, note.ways[0].options, Silent())
    assert plain(found.table.frame["TOWN"]) == RUSSIAN


@pytest.mark.parametrize("kind", FORMATS)
def test_text_that_is_not_in_its_encoding_is_refused_with_ways(tmp_path, kind):
    path = written(tmp_path, kind, GERMAN, "cp1252", more=3)
    with pytest.raises(WrongEncoding, match="first in row 4 of column TOWN") as refused:
        read(path, encoding="utf-8")
    assert "cp1252" in [way.options.encoding for way in refused.value.ways]
    found = read_file(path, refused.value.ways[0].options, Silent())
    assert plain(found.table.frame["TOWN"])[3:] == GERMAN


def test_text_that_is_not_in_the_stated_encoding_is_refused_with_ways(tmp_path):
    path = tmp_path / "t.sav"
    pyreadstat.write_sav(pd.DataFrame({"TOWN": ["Mxxller", "Brxxl", "Ulm"]}), path)
    path.write_bytes(path.read_bytes().replace(b"Mxxller", b"M\xfcxller"))
    with pytest.raises(WrongEncoding, match="the encoding that it states: first in row 1") as told:
        read(path)
    assert "Mxx" not in str(told.value)
    assert plain(read_file(path, told.value.ways[0].options, Silent()).table.frame["TOWN"])[1:] == [
        "Brxxl",
        "Ulm",
    ]


def test_a_stated_encoding_that_nobody_knows_is_named_and_another_can_be_read(tmp_path):
    path = written(tmp_path, "sas7bdat", ["Bath", "Hull"], "ascii")
    content = bytearray(path.read_bytes())
    content[70] = 0x46  # Arabic of old Macintoshes
    path.write_bytes(content)
    with pytest.raises(WrongEncoding, match="states an encoding that can't be read") as told:
        read(path)
    table = read_file(path, told.value.ways[0].options, Silent()).table
    assert plain(table.frame["TOWN"]) == ["Bath", "Hull"]


@pytest.mark.parametrize("kind", FORMATS)
def test_english_text_and_text_in_unicode_are_not_in_doubt(tmp_path, kind):
    for texts, encoding in ((["Bath", "Hull", "York"], "ascii"), (RUSSIAN, "utf-8")):
        path = written(tmp_path, kind, texts, encoding)
        found = read(path)
        assert plain(found.table.frame["TOWN"]) == texts
        assert not [note for note in found.notes if "encoding" in note.template]


def test_the_first_version_of_reading_takes_text_as_it_did(tmp_path):
    path = written(tmp_path, "dta", RUSSIAN, "cp1251")
    found = read_file(path, ReadOptions(format="dta", version=1), Silent())
    assert plain(found.table.frame["TOWN"]) == [
        text.encode("cp1251").decode("cp1252") for text in RUSSIAN
    ]
    assert not cautions(found)


@pytest.mark.parametrize("encoding", ["latin-1", "mac-roman"])
def test_encodings_are_called_as_the_library_knows_them(tmp_path, encoding):
    path = written(tmp_path, "dta", GERMAN, encoding)
    assert plain(read(path, encoding=encoding).table.frame["TOWN"]) == GERMAN
