from __future__ import annotations

import codecs

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.formats.errors import WrongEncoding
from sfumato.formats.options import ENCODINGS
from sfumato.formats.records import Utf8Stream, detect_encoding
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
