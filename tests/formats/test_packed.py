"""Packed files are refused by what they are, with what to do, whatever their name."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile

import pytest

from sfumato.formats.errors import UnknownFormat
from sfumato.formats.reading import detect_options

TEXT = b"sex,age\nm,20\nf,21\n"


@pytest.mark.parametrize(
    ("pack", "name"), [(gzip.compress, "gzip"), (bz2.compress, "bzip2"), (lzma.compress, "xz")]
)
@pytest.mark.parametrize("ending", ["csv", "csv.gz", "dat"])
def test_a_packed_table_is_refused_by_its_packing(tmp_path, pack, name, ending):
    path = tmp_path / f"table.{ending}"
    path.write_bytes(pack(TEXT))
    with pytest.raises(UnknownFormat, match=name) as caught:
        detect_options(path)
    assert "Unpack it" in caught.value.remedy


def test_a_text_that_begins_alike_is_read(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"BZh1,age\nm,20\nf,21\n")
    assert detect_options(path).format == "csv"


def test_a_zip_of_a_table_is_refused(tmp_path):
    path = tmp_path / "table.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("table.csv", TEXT)
    with pytest.raises(UnknownFormat, match="zip"):
        detect_options(path)
