"""Reading bundles that were cut, altered, packed anew, or never were bundles."""

from __future__ import annotations

import contextlib
import hashlib
import json
import stat
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sfumato.engine.core.errors import Cancelled
from sfumato.engine.core.progress import Callback, Silent
from sfumato.formats.bundles import reading as bundle_reading
from sfumato.formats.bundles.contents import BundleError
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.bundles.writing import write_bundle, write_bundle_zip
from sfumato.formats.errors import FileError
from tests.formats.bundles import FORMATS, case
from tests.thorough import tried

TELLTALE = "xanthic"
"""A value that must not be in any message."""


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "bundle"
    path.mkdir()
    write_bundle(case().contents, path, "csv", Silent())
    return path


@pytest.fixture
def packed(tmp_path):
    path = tmp_path / "bundle.zip"
    write_bundle_zip(case().contents, path, "csv", Silent())
    return path


def refusal(path: Path, **options: bool) -> str:
    with pytest.raises(FileError) as caught:
        read_bundle(path, **options)
    assert caught.value.remedy
    assert TELLTALE not in str(caught.value)
    assert caught.value.__cause__ is None or TELLTALE not in str(caught.value.__cause__)
    return str(caught.value)


def change(folder: Path, edit, vouch: bool = False) -> None:
    """Edit data.csv as text; with `vouch`, let datapackage.json agree with it."""
    path = folder / "data.csv"
    path.write_bytes(edit(path.read_bytes().decode()).encode())
    if vouch:
        edit_description(folder, lambda package: package["resources"][0].update(facts(path)))


def facts(path: Path) -> dict:
    return {
        "bytes": path.stat().st_size,
        "hash": f"sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}",
    }


def edit_description(folder: Path, edit) -> None:
    path = folder / "datapackage.json"
    package = json.loads(path.read_bytes())
    edit(package)
    path.write_text(json.dumps(package))


def repacked(folder: Path, target: Path, prefix: str = "") -> zipfile.ZipFile:
    """Pack a bundle's folder as somebody might, and leave the zip open."""
    archive = zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED)
    for path in sorted(folder.iterdir()):
        archive.write(path, prefix + path.name)
    return archive


def test_a_file_that_is_no_zip_is_no_bundle(tmp_path):
    path = tmp_path / "data.csv"
    path.write_text("a\n1\n")
    assert "is not a bundle" in refusal(path)


def test_a_zip_of_something_else_is_no_bundle(tmp_path):
    path = tmp_path / "other.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("letter.txt", "Dear Sir")
    assert "is not a bundle" in refusal(path)


def test_a_data_file_with_a_column_without_a_name_is_refused(tmp_path):
    path = tmp_path / "bundle"
    path.mkdir()
    write_bundle(case().contents, path, "sav", Silent())
    whole = (path / "data.sav").read_bytes()
    assert b"WEIGHT" in whole
    (path / "data.sav").write_bytes(whole.replace(b"WEIGHT", b"\0EIGHT", 1))
    assert "data.sav can't be read" in refusal(path, accept_altered=True)


@pytest.mark.parametrize("name", ["data.csv", "README.md"])
def test_a_missing_file_is_named(folder, name):
    (folder / name).unlink()
    assert f"{name} is missing in" in refusal(folder)


@pytest.mark.parametrize("name", ["data.csv", "README.md"])
def test_an_altered_file_is_named(folder, name):
    path = folder / name
    path.write_bytes(path.read_bytes() + b"\r\n")
    assert f"{name} in" in refusal(folder)
    assert "was altered" in refusal(folder)


def test_an_altered_bundle_can_be_looked_at_all_the_same(folder):
    change(folder, lambda text: text.replace("asthma", TELLTALE))
    bundle = read_bundle(folder, accept_altered=True)
    assert bundle.altered == ("data.csv",)
    assert TELLTALE in set(bundle.table.frame["illness"])


def test_a_bundle_that_was_zipped_as_a_folder_is_read(folder, tmp_path):
    repacked(folder, tmp_path / "again.zip", "bundle/").close()
    assert read_bundle(tmp_path / "again.zip").digest == read_bundle(folder).digest


def test_other_files_in_the_folder_are_passed_over(folder):
    before = read_bundle(folder).digest
    (folder / ".DS_Store").write_bytes(b"\0")
    (folder / "analysis").mkdir()
    assert read_bundle(folder).digest == before


def test_names_that_point_elsewhere_are_passed_over(folder, tmp_path):
    target = tmp_path / "sub" / "evil.zip"
    target.parent.mkdir()
    with repacked(folder, target) as archive:
        for name in ("../escaped.txt", "/absolute.txt", "a/../../escaped.txt", "..\\escaped.txt"):
            archive.writestr(name, "gotcha")
    assert read_bundle(target).digest == read_bundle(folder).digest
    assert not list(tmp_path.rglob("escaped*"))
    assert not Path("/absolute.txt").exists()


@pytest.mark.parametrize(
    "name", ["../data.csv", "/etc/passwd", "data.exe.txt", "DATA.csv", "data."]
)
def test_a_description_that_points_elsewhere_is_refused(folder, name):
    edit_description(folder, lambda package: package["resources"][0].update(path=name))
    assert "was not written by Sfumato" in refusal(folder)


def test_a_link_instead_of_a_file_is_refused(folder, tmp_path):
    (folder / "data.csv").rename(tmp_path / "elsewhere.csv")
    (folder / "data.csv").symlink_to(tmp_path / "elsewhere.csv")
    assert "data.csv in" in refusal(folder)
    assert "is a link to another place" in refusal(folder)


def test_a_description_that_is_a_link_is_refused(folder, tmp_path):
    (folder / "datapackage.json").rename(tmp_path / "elsewhere.json")
    (folder / "datapackage.json").symlink_to(tmp_path / "elsewhere.json")
    assert "is a link to another place" in refusal(folder)


def test_a_link_in_a_zip_is_refused(folder, tmp_path):
    target = tmp_path / "link.zip"
    (folder / "data.csv").unlink()
    with repacked(folder, target) as archive:
        entry = zipfile.ZipInfo("data.csv")
        entry.create_system = 3
        entry.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    assert "is a link, encrypted or packed" in refusal(target)


def test_two_files_of_one_name_are_refused(folder, tmp_path):
    target = tmp_path / "twice.zip"
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        repacked(folder, target) as archive,
    ):
        archive.writestr("data.csv", "other")
    assert "two files of the same name" in refusal(target)


def test_a_zip_that_would_unpack_to_more_than_there_is_room_for_is_refused(packed, monkeypatch):
    monkeypatch.setattr(bundle_reading, "LARGEST_PACKED_DATA", 1000)
    assert "would unpack to" in refusal(packed)


def test_a_description_of_absurd_size_is_refused(folder, monkeypatch):
    monkeypatch.setattr(bundle_reading, "_LARGEST_TEXT", 100)
    assert "is not a bundle" in refusal(folder)


def test_a_zip_that_unpacks_to_more_than_it_states_is_refused(folder, tmp_path):
    target = tmp_path / "bomb.zip"
    (folder / "data.csv").write_bytes(b"0" * 5_000_000)
    repacked(folder, target).close()
    whole = target.read_bytes()
    lying = whole.replace((5_000_000).to_bytes(4, "little"), (1000).to_bytes(4, "little"))
    assert lying != whole
    target.write_bytes(lying)
    assert "is damaged" in refusal(target)


def test_a_damaged_zip_is_told(packed):
    whole = bytearray(packed.read_bytes())
    with zipfile.ZipFile(packed) as archive:
        entry = max(archive.infolist(), key=lambda one: one.compress_size)
    name_length = int.from_bytes(
        whole[entry.header_offset + 26 : entry.header_offset + 28], "little"
    )
    whole[entry.header_offset + 30 + name_length + entry.compress_size // 2] ^= 0xFF
    packed.write_bytes(bytes(whole))
    assert "is damaged" in refusal(packed)


def test_a_zip_that_was_cut_is_told(packed):
    whole = packed.read_bytes()
    packed.write_bytes(whole[: len(whole) // 2])
    assert "is not a bundle" in refusal(packed)


@pytest.mark.slow
@pytest.mark.turns(1)
@settings(
    deadline=None,
    max_examples=tried(40),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.data())
def test_a_zip_with_any_byte_altered_is_refused_or_known_for_altered(packed, data):
    whole = bytearray(packed.read_bytes())
    original = read_bundle(packed).digest
    at = data.draw(st.integers(0, len(whole) - 1))
    whole[at] ^= data.draw(st.integers(1, 255))
    altered = packed.with_name("altered.zip")
    altered.write_bytes(bytes(whole))
    with contextlib.suppress(FileError):
        assert read_bundle(altered).digest == original


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a": ' * 50_000,
    ],
)
def test_a_description_that_is_no_json_is_told(folder, content):
    (folder / "datapackage.json").write_bytes(content)
    assert "is not valid JSON" in refusal(folder)


def without(*path):
    def edit(package):
        *parents, last = path
        for step in parents:
            package = package[step]
        del package[last]

    return edit


@pytest.mark.parametrize(
    "edit",
    [
        without("resources"),
        without("sfumato"),
        without("resources", 0),
        without("resources", 1),
        without("resources", 0, "hash"),
        without("resources", 0, "schema", "fields", 0, "type"),
        lambda package: package["resources"][0].update(hash="md5:0"),
        lambda package: package["resources"][0]["schema"].update(fields=[]),
        lambda package: package["resources"][0]["schema"]["fields"][0].update(type="geopoint"),
        lambda package: package["resources"][0]["schema"]["fields"][0].update(name="triage"),
        lambda package: package.update(resources={"a": 1}),
        lambda package: package.update(sfumato=[1]),
    ],
)
def test_a_description_that_lacks_what_a_bundle_needs_is_told(folder, edit):
    edit_description(folder, edit)
    assert "was not written by Sfumato, or was altered" in refusal(folder)


@pytest.mark.parametrize("content", [b"[]", b"1", b"null", b'"text"'])
def test_json_that_describes_nothing_is_told(folder, content):
    (folder / "datapackage.json").write_bytes(content)
    assert "was not written by Sfumato" in refusal(folder)


def test_a_value_of_the_wrong_type_is_named_by_its_row(folder):
    def edit(text: str) -> str:
        lines = text.split("\r\n")
        cells = lines[6].split(",")
        cells[1] = TELLTALE
        lines[6] = ",".join(cells)
        return "\r\n".join(lines)

    change(folder, edit, vouch=True)
    assert "Column triage should hold values of the type integer, but row 6 does not" in refusal(
        folder
    )


def test_moments_of_several_time_zones_are_told_by_their_column(folder):
    def edit(text: str) -> str:
        lines = text.split("\r\n")
        at = lines[0].split(",").index('"seen"')
        for number, zone in ((1, "+02:00"), (2, "-05:00")):
            cells = lines[number].split(",")
            cells[at] = f"2024-02-29T10:30:00{zone}"
            lines[number] = ",".join(cells)
        return "\r\n".join(lines)

    change(folder, edit, vouch=True)
    assert "Column seen should hold values of the type datetime" in refusal(folder)


@pytest.mark.parametrize(
    "edit",
    [
        lambda text: text.replace("\r\n", f",{TELLTALE}\r\n", 3),
        lambda text: text + f"{TELLTALE},1\r\n",
        lambda text: text.replace("asthma", TELLTALE + '"', 1),
    ],
)
def test_a_broken_csv_file_is_told(folder, edit):
    change(folder, edit, vouch=True)
    assert refusal(folder)


def test_text_in_another_encoding_is_told(folder):
    path = folder / "data.csv"
    path.write_bytes(path.read_bytes().decode().encode("latin-1"))
    assert "is not text in the encoding utf-8" in refusal(folder, accept_altered=True)


def test_a_file_without_rows_is_told(folder):
    change(folder, lambda text: text.split("\r\n")[0] + "\r\n")
    assert "data.csv can't be read" in refusal(folder, accept_altered=True)


def test_an_empty_file_is_told(folder):
    (folder / "data.csv").write_bytes(b"")
    assert refusal(folder, accept_altered=True)


def test_columns_that_are_not_those_described_are_told(folder):
    change(folder, lambda text: text.replace("triage", TELLTALE, 1))
    assert "Column 2 of data.csv is not the one that datapackage.json describes" in refusal(
        folder, accept_altered=True
    )


def test_a_column_too_many_is_told(folder):
    edit_description(folder, without("resources", 0, "schema", "fields", -1))
    assert "has 10 columns, but datapackage.json describes 9" in refusal(
        folder, accept_altered=True
    )


@pytest.mark.parametrize("format_name", [name for name in FORMATS if name != "csv"])
def test_a_damaged_data_file_of_any_format_is_told(tmp_path, format_name):
    write_bundle(case().contents, tmp_path, format_name, Silent())
    path = tmp_path / f"data.{format_name}"
    path.write_bytes(path.read_bytes()[:100])
    assert refusal(tmp_path, accept_altered=True)


def test_reading_can_be_cancelled(packed):
    seen = []
    context = Callback(lambda fraction, text: seen.append(text), lambda: len(seen) > 2)
    with pytest.raises(Cancelled):
        read_bundle(packed, context)


def test_progress_goes_up_to_the_end(packed):
    seen = []
    read_bundle(packed, Callback(lambda fraction, text: seen.append(fraction), lambda: False))
    assert all(0 <= fraction <= 1 for fraction in seen)
    assert seen[-1] > seen[0]


def test_the_message_of_an_altered_bundle_says_what_to_do(folder):
    change(folder, lambda text: text + "\r\n")
    with pytest.raises(BundleError) as caught:
        read_bundle(folder)
    assert "verify it against the project" in caught.value.remedy


def test_other_contents_are_another_bundle(tmp_path, folder):
    other = tmp_path / "other"
    other.mkdir()
    write_bundle(replace(case().contents, title="Other"), other, "csv", Silent())
    assert read_bundle(other).digest != read_bundle(folder).digest
