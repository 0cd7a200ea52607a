"""A text that is refused or left midway leaves no thread that reads on when the process ends."""

from __future__ import annotations

import subprocess
import sys

import pytest

from sfumato.formats.utf8_stream import Utf8Stream

OPENING = """
import sys
from pathlib import Path
from sfumato.formats.tables import delimited
from sfumato.formats import records
from sfumato.formats.options import ReadOptions
from sfumato.formats.errors import FileError
delimited._LONGEST_UNASKED = 1 << 17
delimited.BLOCK_SIZES = records.BLOCK_SIZES = (1 << 16, 1 << 17)
path, options = Path(sys.argv[1]), ReadOptions(format="csv", delimiter=",")
"""
ENDS = {
    "refused": """
from sfumato.engine.core.progress import Silent
from sfumato.formats.reading import open_batches
try:
    open_batches(path, options, Silent())
except FileError as error:
    print(error.what)
""",
    "left midway": """
with records.Records(path, options, 1 << 16) as text:
    blocks = text.blocks()
    print(next(blocks).num_rows > 0)
    blocks.close()
""",
    "refused at its first record": """
from sfumato.formats.reading import preview
try:
    preview(path, options, 5)
except FileError as error:
    print(error.what)
""",
}
TEXTS = {
    "refused": (b"a,b\n1,2\n3," + b"x" * (24 << 20), "longer than 0 MB"),
    "left midway": (b"a,b\n" + b"1,2\n" * (6 << 20), "True"),
    "refused at its first record": (b"x" * (24 << 20), "too long to hold names"),
}


@pytest.mark.slow
@pytest.mark.turns(3)
@pytest.mark.parametrize("how", TEXTS)
def test_a_process_ends_well_after_a_text_was_left(tmp_path, how):
    text, said = TEXTS[how]
    (tmp_path / "long.csv").write_bytes(text)
    for _ in range(3):
        ran = subprocess.run(
            [sys.executable, "-c", OPENING + ENDS[how], str(tmp_path / "long.csv")],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert (ran.returncode, ran.stderr) == (0, "")
        assert said in ran.stdout


def test_an_abandoned_text_is_at_its_end_and_goes_on_after_a_jump(tmp_path):
    path = tmp_path / "a.csv"
    path.write_bytes(b"a,b\n1,2\n")
    with path.open("rb") as file:
        stream = Utf8Stream(file, "utf-8", path.name)
        assert stream.read(4) == b"a,b\n"
        stream.abandon()
        assert stream.read(4) == b""
        stream.jump(4)
        assert stream.read(4) == b"1,2\n"


@pytest.mark.parametrize("size", range(4, 12))
def test_a_text_ends_in_a_whole_letter_wherever_it_is_abandoned(tmp_path, size):
    path = tmp_path / "a.csv"
    path.write_text("\u00e9\u20ac\U0001f600,x\n" * 9, encoding="utf-8")
    with path.open("rb") as file:
        stream = Utf8Stream(file, "utf-8", path.name)
        pieces = list(iter(lambda: stream.read(size), b""))
    assert all(piece.decode() for piece in pieces)
    assert b"".join(pieces) == path.read_bytes()
