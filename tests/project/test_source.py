from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.engine.core.errors import TableError
from sfumato.engine.core.progress import Silent
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType, ReadOptions
from sfumato.project.document.model import Document
from sfumato.project.errors import SourceChanged, SourceMissing
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.release import make_release
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.release.release_compatibility import edition_sentences
from sfumato.project.source import (
    accept_edition,
    find_source,
    locate_source,
    open_source,
    read_source,
)
from tests.in_batches import in_batches
from tests.project.making import PASSPHRASE, document, new_project, table


def write(path, frame):
    frame.to_csv(path, index=False, lineterminator="\n")
    return path


@pytest.fixture
def file(tmp_path):
    (tmp_path / "data").mkdir()
    return write(tmp_path / "data" / "ward.csv", table().frame)


def settled(file, record_key=None):
    _, source = read_source(file, ReadOptions(), Silent())
    return document(record_key, source=source)


def longer(file, rows=15):
    return write(file, table(rows).frame)


def test_a_table_is_known_by_its_place_digest_and_rows(file):
    read, source = read_source(file, ReadOptions(), Silent())
    assert read.rows == source.rows == 12
    assert source.path == str(file)
    assert len(source.digest) == 64
    assert ReadOptions.from_dict(source.options) == ReadOptions()


def test_an_unchanged_table_opens_again(file):
    known = settled(file)
    opened, same = open_source(known, Silent())
    assert opened.rows == 12
    assert same == known


def test_a_table_that_moved_with_its_project_is_found(file, tmp_path):
    known = settled(file)
    (tmp_path / "moved").mkdir()
    moved = file.rename(tmp_path / "moved" / "ward.csv")
    assert find_source(known, beside=tmp_path / "moved") == moved
    _, found = open_source(known, Silent(), beside=tmp_path / "moved")
    assert found.source.path == str(moved)
    assert found.source.digest == known.source.digest


def test_a_table_that_is_gone_is_its_own_message(file):
    known = settled(file)
    file.unlink()
    for opening in (open_source, lambda doc, context: locate_source(doc, file, context)):
        with pytest.raises(SourceMissing, match="not at") as caught:
            opening(known, Silent())
        assert "Show where" in caught.value.remedy
    with pytest.raises(SourceMissing):
        read_source(file, ReadOptions(), Silent())


def test_a_project_without_a_table_says_so():
    with pytest.raises(SourceMissing, match="no source table yet"):
        open_source(Document(), Silent())


def test_a_table_can_be_shown_in_its_new_place(file, tmp_path):
    known = settled(file)
    moved = file.rename(tmp_path / "renamed.csv")
    assert locate_source(known, moved, Silent()).source.path == str(moved)
    other = longer(tmp_path / "other.csv")
    with pytest.raises(SourceChanged):
        locate_source(known, other, Silent())


@pytest.mark.parametrize(
    ("key", "remedy"), [(None, "record-key column"), ("person", "new edition")]
)
def test_a_changed_table_has_a_way_forward(file, key, remedy):
    known = settled(file, key)
    longer(file)
    with pytest.raises(SourceChanged, match="changed since") as caught:
        open_source(known, Silent())
    assert remedy in caught.value.remedy


def test_a_new_edition_is_accepted_and_recorded(file, tmp_path):
    known = settled(file, "person")
    with new_project(tmp_path, known) as project:
        make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())
        longer(file)
        assert accept_edition(project, file, Silent()).rows == 15
        assert project.document.source.rows == 15
        entry = project.ledger.entries[-1]
        assert entry.kind == "source changed"
        assert entry.details["from"] == {"digest": known.source.digest, "rows": 12}
        assert entry.details["to"]["rows"] == 15
        make_release(project, in_batches(table(15)), "Clinic A", tmp_path / "out", "csv", Silent())


def test_an_edition_is_accepted_before_the_first_release(file, tmp_path):
    with new_project(tmp_path, settled(file)) as project:
        longer(file)
        accept_edition(project, file, Silent())
        assert project.document.source.rows == 15


def test_an_edition_is_refused_once_records_are_told_apart_by_position(file, tmp_path):
    known = settled(file)
    with new_project(tmp_path, known) as project:
        make_release(project, in_batches(table()), "Clinic A", tmp_path / "out", "csv", Silent())
        longer(file)
        with pytest.raises(SourceChanged, match="position"):
            accept_edition(project, file, Silent())
        assert project.document == known


def test_an_edition_with_other_columns_is_refused(file, tmp_path):
    known = settled(file, "person")
    with new_project(tmp_path, known) as project:
        write(file, table().frame.assign(income=1))
        with pytest.raises(TableError, match="income"):
            accept_edition(project, file, Silent())
        assert project.document == known


def test_the_same_table_is_no_new_edition(file, tmp_path):
    with new_project(tmp_path, settled(file)) as project:
        copy = tmp_path / "copy.csv"
        copy.write_bytes(file.read_bytes())
        accept_edition(project, copy, Silent())
        assert project.document.source.path == str(copy)
        assert len(project.ledger.entries) == 1


def numbered(file, version=2):
    """A table whose record keys are numbers, and a project's document about it."""
    frame = table().frame
    write(file, frame.assign(person=range(100, 112)))
    _, source = read_source(file, ReadOptions(version=version), Silent())
    return document("person", source=source)


def test_a_table_read_otherwise_is_an_edition_and_the_guarantee_counts_it(file, tmp_path):
    known = numbered(file, version=1)
    with new_project(tmp_path, known) as project:
        read, _ = open_source(known, Silent())
        make_release(project, read, "Clinic A", tmp_path / "out", "csv", Silent())
        accept_edition(project, file, Silent())
        assert project.document.source.options["version"] == 2
        details = project.ledger.entries[-1].details
        assert details["from"]["digest"] == details["to"]["digest"]
        assert details["to"]["read otherwise"] == ["Read as by version: 2"]
        attributes = attributes_of(project.document, read.in_memory(Silent()))
        told = edition_sentences(project.document, attributes, project.releases)
        assert "from 2 editions" in told[0]


def test_record_keys_are_read_as_they_were_once_a_release_is_made(file, tmp_path):
    known = numbered(file)
    text = {"column_types": {"person": ColumnType.TEXT}}
    with new_project(tmp_path, known) as project:
        read, _ = open_source(known, Silent())
        make_release(project, read, "Clinic A", tmp_path / "out", "csv", Silent())
        with pytest.raises(SourceChanged, match="record key person is read differently"):
            accept_edition(project, file, Silent(), stated=text)
        assert project.document == known
    with new_project(tmp_path / "data", known) as project:
        accept_edition(project, file, Silent(), stated=text)
        assert project.document.source.options["column_types"] == {"person": "text"}


def test_what_was_remarked_is_kept_with_the_project(file, tmp_path):
    known = settled(file)
    note = Note("{count:,} rows are left out.", {"count": 3}, caution=True, count=3, rows=(1, 2, 3))
    source = replace(known.source, notes=(note,), found=ReadOptions(delimiter=";").to_dict())
    with new_project(tmp_path, replace(known, source=source)) as project:
        path = project.path
    with ProjectFile.open(path, PASSPHRASE, read_only=True) as project:
        kept = project.document.source
        assert kept.notes == (note,)
        assert kept.found["delimiter"] == ";"
