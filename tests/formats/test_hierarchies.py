"""Hierarchies as text: read, written, and with what other tools leave in it."""

from __future__ import annotations

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import ColumnSpec
from sfumato.engine.core.errors import HierarchyError
from sfumato.engine.generalization.hierarchies import (
    Intervals,
    ProblemKind,
    Rename,
    Taxonomy,
    find_problems,
    ground_values,
    hierarchy_of,
)
from sfumato.formats.errors import CannotOpen, CannotWrite, DamagedFile, EmptyFile
from sfumato.formats.hierarchies import (
    hierarchy_text,
    parse_hierarchy,
    read_hierarchy,
    rows_of,
    usable_table,
    write_hierarchy,
)
from tests.data import shared_data
from tests.thorough import tried

ADULT = {
    "age": [72, 15, 8, 5, 1],
    "education": [16, 5, 3, 1],
    "marital-status": [7, 2, 1],
    "native-country": None,
    "occupation": None,
    "race": [5, 1],
    "salary-class": [2, 1],
    "sex": [2, 1],
    "workclass": [7, 3, 1],
}


@pytest.mark.parametrize("column", sorted(ADULT))
def test_adult_s_hierarchies_fit_their_columns_and_are_written_as_they_were(column, tmp_path):
    path = shared_data(f"adult/adult_hierarchy_{column}.csv")
    series = pd.read_csv(shared_data("adult/adult.csv"), sep=";")[column]
    spec, read = ColumnSpec(column), read_hierarchy(path)
    problems = find_problems(read.rows, ground_values(spec, series), column)
    assert {problem.kind for problem in problems} <= {ProblemKind.EXTRA}
    recipe = Taxonomy(read.rows)
    made = hierarchy_of(recipe, spec, series)
    classes = [made.classes(level) for level in range(made.height)]
    assert classes == (ADULT[column] or classes)
    assert classes[0] == series.nunique()
    assert classes[-1] == 1
    write_hierarchy(tmp_path / "again.csv", rows_of(recipe, made))
    # One of the files lacks the last line's end.
    assert (tmp_path / "again.csv").read_bytes().rstrip() == path.read_bytes().rstrip()


@pytest.mark.parametrize("separator", [";", ",", "\t", "|"])
def test_the_separator_is_found_out(separator):
    lines = ["a, b;x", "37;[35, 40);*", "40;[40, 45);*"] if separator == ";" else ["a;b", "c;d"]
    text = "\n".join(line.replace(";", separator) for line in lines)
    assert parse_hierarchy(text).rows[-1] == tuple(lines[-1].split(";"))


CELLS = st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=8).map(str.strip)


@settings(deadline=None, max_examples=tried(120))
@given(
    st.integers(2, 4).flatmap(
        lambda width: st.lists(st.tuples(*[CELLS.filter(bool)] * width), min_size=1, max_size=8)
    )
)
def test_what_is_written_is_read_again(rows):
    assert parse_hierarchy(hierarchy_text(rows)).rows == tuple(rows)


def test_blank_lines_blanks_and_a_mark_at_the_start_are_passed_over():
    read = parse_hierarchy("\ufeff a ; x ;*\n\n;;\nb;x;*\n")
    assert read.rows == (("a", "x", "*"), ("b", "x", "*"))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_any_encoding_is_read(tmp_path, encoding):
    path = tmp_path / "towns.csv"
    path.write_bytes("Köln;Süd;*\nLübeck;Nord;*\n".encode(encoding))
    assert read_hierarchy(path).rows[1] == ("Lübeck", "Nord", "*")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", EmptyFile),
        (b"\n;;\n", EmptyFile),
        (b'"a;b\n', DamagedFile),
        (b"a;b;*\n" * 9 + b"\0", DamagedFile),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, content, error):
    path = tmp_path / "broken.csv"
    path.write_bytes(content)
    with pytest.raises(error, match=r"broken\.csv"):
        read_hierarchy(path)


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(CannotOpen):
        read_hierarchy(tmp_path / "nothing.csv")
    with pytest.raises(CannotWrite):
        write_hierarchy(tmp_path / "nowhere" / "age.csv", (("a", "*"),))


def test_a_recipe_is_written_as_the_table_it_makes_and_read_as_the_same_hierarchy():
    spec, column = ColumnSpec("age"), pd.Series([3, 17, None, 64])
    recipe = Intervals(10.0, steps=2)
    made = hierarchy_of(recipe, spec, column)
    rows = rows_of(recipe, made)
    assert rows[-1] == ("", "missing", "missing", "*")
    again = hierarchy_of(Taxonomy(rows), spec, column)
    for level in range(made.height):
        assert again.codes(level).tolist() == made.codes(level).tolist()


def test_a_table_is_written_with_values_that_do_not_occur_and_with_new_names():
    recipe = Taxonomy((("a", "x", "*"), ("z", "y", "*")), renames=(Rename(1, "x", "first"),))
    made = recipe.build("letter", ("a",))
    assert rows_of(recipe, made) == (("a", "first", "*"), ("z", "y", "*"))


def test_a_usable_table_loses_its_headings_and_may_leave_values_out():
    rows = (("letter", "group"), ("a", "x"))
    assert usable_table(rows, ("a", "b"), "letter").rows == (("a", "x"),)
    with pytest.raises(HierarchyError, match="Row 2 repeats row 1"):
        usable_table((("a", "x"), ("a", "x")), ("a",), "letter")


def test_a_table_read_shows_no_value_in_its_text_form():
    assert "Bonn" not in repr(parse_hierarchy("Bonn;DE;*"))
