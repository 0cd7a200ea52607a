"""A folder of Parquet files that are parts of one table."""

from __future__ import annotations

import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.formats.errors import BadOptions, CannotOpen, DamagedFile
from sfumato.formats.reading import detect_options, first_rows, read_known
from tests.formats.reading import read

FRAME = pd.DataFrame({"id": range(7), "ward": list("ABCABCA")})


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "visits"
    made.mkdir()
    FRAME[:3].to_parquet(made / "part-00000.parquet", index=False)
    FRAME[3:].to_parquet(made / "part-00001.parquet", index=False)
    (made / "_SUCCESS").touch()
    (made / ".part-00000.parquet.crc").write_bytes(b"crc")
    return made


def digest_of(folder):
    return read_known(folder, detect_options(folder), Silent())[1]


def test_the_parts_are_one_table_in_the_order_of_their_names(folder):
    assert detect_options(folder).format == "parquet"
    frame = read(folder).table.frame
    assert list(frame["id"]) == list(range(7))
    assert list(frame["ward"].astype(str)) == list("ABCABCA")
    assert list(first_rows(folder, detect_options(folder), 4).table.frame["id"]) == [0, 1, 2, 3]
    assert first_rows(folder, detect_options(folder), 2).table.rows == 2


def test_a_folder_is_known_again_by_its_parts_wherever_it_is(folder, tmp_path):
    before = digest_of(folder)
    (folder / "_SUCCESS").write_text("again")
    moved = folder.rename(tmp_path / "elsewhere")
    assert digest_of(moved) == before
    (moved / "part-00001.parquet").rename(moved / "part-0.parquet")
    assert digest_of(moved) != before


def test_a_part_with_other_columns_is_named(folder):
    FRAME.rename(columns={"ward": "unit"}).to_parquet(folder / "part-00002.parquet", index=False)
    with pytest.raises(BadOptions, match=r"part-00002.parquet has other columns than part-00000"):
        read(folder)


def test_a_damaged_part_is_named(folder):
    (folder / "part-00001.parquet").write_bytes(b"Quicksilver")
    with pytest.raises(DamagedFile, match=r"part-00001.parquet is not a whole") as caught:
        read(folder)
    assert "Quicksilver" not in str(caught.value)


def test_folders_whose_names_are_values_are_refused(folder):
    (folder / "year=2026").mkdir()
    with pytest.raises(BadOptions, match="further folders"):
        read(folder)


def test_a_folder_without_parquet_files_is_no_table(tmp_path):
    with pytest.raises(CannotOpen, match="is a folder"):
        detect_options(tmp_path)
