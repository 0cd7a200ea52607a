"""Which column a hierarchy's file is for, and what becomes of several at once."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from sfumato.engine.core.columns import ColumnSpec, Kind, Role
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.generalization.hierarchies import Suppression
from sfumato.engine.table.table import Table
from sfumato.project.document.model import Document
from sfumato.project.publication.hierarchy_files import (
    column_for,
    files_in,
    read_files,
    read_for,
    with_hierarchies,
)

NAMES = ("age", "status", "marital-status", "Zip code")


def a_table():
    return Table(pd.DataFrame({name: ["a", "b"] for name in (*NAMES, "illness")}))


def a_document():
    known = [ColumnSpec(name, Role.QUASI_IDENTIFIER, Kind.CATEGORICAL) for name in NAMES]
    sensitive = ColumnSpec("illness", Role.SENSITIVE, Kind.CATEGORICAL)
    return Document(columns=(*known, sensitive))


@pytest.mark.parametrize(
    ("file", "column"),
    [
        ("adult_hierarchy_age.csv", "age"),
        ("adult_hierarchy_marital-status.csv", "marital-status"),
        ("status.csv", "status"),
        ("AGE.hierarchy.csv", "age"),
        ("zip_code-levels.csv", "Zip code"),
        ("village.csv", None),
        ("adult_hierarchy_illness.csv", None),
    ],
)
def test_a_file_is_for_the_column_that_it_is_named_after(file, column):
    assert column_for(Path(file), a_document()) == column


def write(folder, **texts):
    for name, text in texts.items():
        (folder / f"h_{name}.csv").write_text(text, encoding="utf-8")
    return files_in([folder])


def test_each_file_is_read_and_its_problem_told(tmp_path):
    paths = write(tmp_path, age="a;x;*\nb;y;*\n", status="a;*\n", other="a;*\n")
    found = {f.path.stem: f for f in read_files(paths, a_document(), a_table(), Silent())}
    assert (found["h_age"].column, found["h_age"].levels) == ("age", 3)
    assert "that no row lists" in str(found["h_status"].problem)
    assert (found["h_other"].column, found["h_other"].problem) == (None, None)
    start = a_document().with_hierarchy("status", Suppression())
    document = with_hierarchies(start, found.values())
    assert document.hierarchies["age"] == found["h_age"].recipe
    assert document.hierarchies["status"] == Suppression()


def test_headings_are_no_values(tmp_path):
    [path] = write(tmp_path, age="age;level 1;level 2\na;x;*\nb;y;*\n")
    assert read_for(path, "age", a_document(), a_table()).levels == 3


def test_two_files_are_not_for_one_column(tmp_path):
    paths = write(tmp_path, age="a;*\nb;*\n", again_age="a;*\nb;*\n")
    found = read_files(paths, a_document(), a_table(), Silent())
    assert [file.column for file in found] == ["age", None]
    both = [read_for(path, "age", a_document(), a_table()) for path in paths]
    with pytest.raises(HierarchyError, match="Two files are for the column age"):
        with_hierarchies(a_document(), both)


def test_a_file_that_is_not_there_says_so(tmp_path):
    found = read_for(tmp_path / "age.csv", "age", a_document(), a_table())
    assert "There is no file" in str(found.problem)
