from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.formats import utf8_stream
from sfumato.formats.encodings import detect_encoding
from sfumato.formats.errors import WrongEncoding
from sfumato.formats.options import ENCODINGS, RaggedRows, ReadOptions
from sfumato.formats.records import Records
from sfumato.formats.utf8_stream import Utf8Stream
from tests.formats.reading import frame_of, plain, read, read_text
from tests.thorough import tried

TEXT = "name,town\nZoé,Zürich\nŁukasz,Łódź\n€uro,Ærø\n"
WESTERN = "name,town\nZoé,Zürich\nRené,Orléans\n"


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (TEXT.encode(), "utf-8"),
        (codecs.BOM_UTF8 + TEXT.encode(), "utf-8"),
        (TEXT.encode("utf-16"), "utf-16"),
        (codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"), "utf-16"),
        (TEXT.encode("utf-16-le"), "utf-16-le"),
        (TEXT.encode("utf-16-be"), "utf-16-be"),
        (TEXT.encode("utf-32"), "utf-32"),
        (WESTERN.encode("cp1252"), "cp1252"),
        ((WESTERN + "5 €,“x”\n").encode("cp1252"), "cp1252"),
        ((WESTERN + "\x81,\x9d\n").encode("latin-1"), "latin-1"),
        (b"name,town\nAnn,Ulm\n", "utf-8"),
    ],
)
def test_the_encoding_is_found_and_the_text_read(tmp_path, content, encoding):
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    assert detect_encoding(path) == encoding
    frame = read(path).table.frame
    assert list(frame.columns) == ["name", "town"]
    assert plain(frame["town"])[0] in {"Zürich", "Ulm"}


def test_bytes_far_into_a_file_tell_its_encoding(tmp_path):
    path = tmp_path / "table.csv"
    rows = b"name,town\n" + b"Ann,Ulm\n" * 100_000
    path.write_bytes(rows + "Zoé,Zürich\n".encode("cp1252") * 20_000)
    assert detect_encoding(path) == "cp1252"


@pytest.mark.few(6)
@pytest.mark.parametrize("encoding", [name for name, _ in ENCODINGS])
def test_every_encoding_on_offer_can_be_read(tmp_path, encoding):
    text = "x,y\n" + "1,abc\n" * 30_000
    frame = frame_of(tmp_path, text.encode(encoding), encoding=encoding)
    assert len(frame) == 30_000
    assert plain(frame["y"])[-1] == "abc"


def test_a_byte_order_mark_is_no_part_of_the_first_name(tmp_path):
    for encoding in ("utf-8", "utf-8-sig"):
        frame = frame_of(tmp_path, codecs.BOM_UTF8 + b"a,b\n1,2\n", encoding=encoding)
        assert list(frame.columns) == ["a", "b"]


@pytest.mark.parametrize("rows", [1, 500_000])
def test_bytes_that_are_no_utf_8_are_told_with_their_line(tmp_path, rows):
    content = b"a,b\n" + b"1,2\n" * rows + "3,Zürich\n".encode("cp1252") + b"4,5\n"
    with pytest.raises(WrongEncoding) as caught:
        read_text(tmp_path, content)
    said = f"Line {rows + 2:,} of table.csv is not text in the encoding"
    assert caught.value.what.startswith(said)
    assert "rich" not in str(caught.value) + repr(caught.value.__context__)


def test_bytes_that_are_no_utf_8_in_the_header_are_told(tmp_path):
    with pytest.raises(WrongEncoding, match="Line 1 of"):
        read_text(tmp_path, "größe,b\n1,2\n".encode("cp1252"))


@pytest.mark.parametrize("row", [b"3,\xfc,4", b"\xfc", b"3,Z\xc3"])
@pytest.mark.parametrize("ragged", RaggedRows)
def test_bytes_that_are_no_utf_8_are_told_before_the_number_of_fields(tmp_path, row, ragged):
    with pytest.raises(WrongEncoding, match="Line 3 of"):
        read_text(tmp_path, b"a,b\n1,2\n" + row + b"\n", ragged_rows=ragged)


@pytest.mark.parametrize(
    ("encoding", "content"),
    [
        ("cp1252", b"a,b\n1,2\n3,\x81\n"),
        ("utf-16-le", "a,b\n1,2\n".encode("utf-16-le") + b"\x00\xd8\x00\x00"),
        ("utf-16-le", "a,b\n1,2\n".encode("utf-16-le") + b"3"),
        ("shift-jis", b"a,b\n1,2\n3,\xff\xff\n"),
    ],
)
def test_bytes_that_are_not_in_another_encoding_are_told(tmp_path, encoding, content):
    with pytest.raises(WrongEncoding, match=f"not text in the encoding {encoding}|shift_jis"):
        read_text(tmp_path, content, encoding=encoding)


@given(
    st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    st.sampled_from(["utf-8", "utf-16", "utf-16-be", "utf-32"]),
    st.integers(1, 9),
)
@settings(deadline=None, max_examples=tried(60))
def test_a_stream_gives_the_same_text_in_pieces_of_any_size(tmp_path_factory, text, encoding, size):
    path = tmp_path_factory.mktemp("stream") / "text"
    path.write_bytes(("x" + text).encode(encoding))
    with path.open("rb") as file:
        stream = Utf8Stream(file, encoding, "text")
        pieces = iter(lambda: stream.read(size), b"")
        whole = b"".join(pieces).decode()
    ended = text.endswith(("\n", "\r"))
    assert whole == "x" + text + ("" if ended else "\n")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_letters_of_more_bytes_in_unicode_leave_no_piece_without_a_line_end(
    tmp_path, monkeypatch, end
):
    """Arrow refuses one, and the file would be read once more in blocks 16 times larger."""
    monkeypatch.setattr(utf8_stream, "_PIECE", 64)
    path = tmp_path / "table.csv"
    lines = [f"{row},{'Ulm' if row % 40 else 'Zürich'}" for row in range(2_000)]
    path.write_bytes(end.join(["id,town", *lines, ""]).encode("cp1252"))
    with Records(path, ReadOptions(encoding="cp1252"), 1 << 10) as records:
        assert sum(map(len, records.blocks())) == len(lines)


NATIONAL = [
    ("gb18030", "编号,性别", ["男性居民", "女性居民"]),
    ("cp949", "번호,성별", ["서울특별시", "부산광역시"]),
    ("cp932", "番号,性別", ["東京都の男性", "大阪府の女性"]),
    ("big5", "編號,性別", ["男性居民", "女性居民"]),
    ("cp1250", "nr,płeć", ["mężczyzna", "kobieta"]),
    ("cp1250", "č,pohlaví", ["muž", "žena"]),
    ("iso8859-2", "nr,miasto", ["Gdańsk", "Śląsk"]),
    ("cp1251", "номер,пол", ["муж", "жен"]),
    ("koi8-r", "номер,пол", ["муж", "жен"]),
    ("cp1253", "αριθμός,φύλο", ["άνδρας", "γυναίκα"]),
    ("cp1254", "no,şehir", ["İstanbul", "Eskişehir"]),
    ("cp850", "nr,ort", ["Köln", "Gießen"]),
    ("cp437", "nr,ort", ["Köln", "Gießen"]),
    ("mac-roman", "nr,ort", ["Köln", "Gießen"]),
    ("cp1252", "nr,ort", ["Köln", "Gießen"]),
    ("cp1252", "nr,ort", ["Köln", "Bonn"]),
    ("cp1252", "id,région", ["Île-de-France", "Rhône"]),
    ("cp850", "id,région", ["Île-de-France", "Rhône"]),
    ("cp1252", "id,ciudad", ["Málaga", "Coruña"]),
    ("mac-roman", "id,ciudad", ["Málaga", "Coruña"]),
    ("cp1252", "nr,størrelse", ["København", "Århus"]),
    ("cp1252", "id,price", ["10 €", "12 €"]),
]


@pytest.mark.few(12)
@pytest.mark.parametrize("before", [0, 3_000])
@pytest.mark.parametrize(("encoding", "head", "values"), NATIONAL)
def test_texts_of_many_countries_are_read_as_they_were_written(
    tmp_path, encoding, head, values, before
):
    path = tmp_path / "table.csv"
    name = head.split(",")[1] if not before else "town"
    head = head if not before else "nr,town"
    rows = ["0,x\n"] * before + [f"{i},{values[i % 2]}\n" for i in range(40)]
    path.write_bytes((head + "\n" + "".join(rows)).encode(encoding))
    result = read(path)
    assert plain(result.table.frame[name])[before : before + 2] == values
    assert [note for note in result.notes if "seems to be" in note.template]


def test_doubt_about_an_encoding_is_told_with_the_others(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes("id,ciudad\n1,Málaga\n2,Coruña\n3,Málaga\n".encode("cp1252"))
    (note,) = [note for note in read(path).notes if "seems to be" in note.template]
    assert note.caution
    chosen = {way.options.encoding for way in note.ways}
    assert "cp1250" in chosen
    assert "cp1252" not in chosen
    again = read(path, encoding="cp1250")
    assert not [note for note in again.notes if "seems to be" in note.template]
