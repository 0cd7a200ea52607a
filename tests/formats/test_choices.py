"""What is chosen of how a file is read: differences of options, in words, and back again."""

from __future__ import annotations

import pytest

from sfumato.engine.core.wording import Sentence
from sfumato.formats.choices import (
    cautions_first,
    choice_sentence,
    choices_between,
    choices_of,
    marks_of,
    rows_sentence,
    taken_back,
    with_choices,
)
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import BadValues, ColumnType, DateOrder, ReadOptions

OPTIONS = ReadOptions(column_types={"age": ColumnType.INTEGER})


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (OPTIONS.with_type("plz", ColumnType.TEXT), "plz is read as text."),
        (OPTIONS.with_type("age", None), "The type of age is found out from its values."),
        (
            OPTIONS.with_bad_values("age", BadValues.SKIP),
            "age: Values of another type: leave the row out",
        ),
        (ReadOptions(encoding="cp1250"), "Encoding: Windows-1250 (Central European)"),
        (ReadOptions(encoding="cp866"), "Encoding: cp866"),
        (ReadOptions(delimiter="\t"), "Between columns: tab"),
        (ReadOptions(header=False), "The first row holds the names: no"),
        (ReadOptions(skip_lines=3), "Lines to leave out above: 3"),
        (ReadOptions(missing=("", "NA", "?")), "Texts that mean missing: “NA” and “?”"),
        (ReadOptions(missing=()), "Texts that mean missing: nothing"),
        (ReadOptions(thousands=","), "Between groups of digits: ,"),
        (
            ReadOptions(layout=("id 1 6", "age 8 3")),
            "The layout of a text of fixed width has 2 columns.",
        ),
        (ReadOptions(date_order=DateOrder.DAY_FIRST), "Dates are written: day-month-year"),
        (ReadOptions(version=1), "Read as by version: 1"),
    ],
)
def test_a_choice_is_said_and_can_be_taken_back(after, said):
    before = OPTIONS if after.column_types else ReadOptions()
    if "found out" in said:
        before = OPTIONS
    [choice] = choices_between(before, after)
    assert str(choice_sentence(choice)) == said
    assert with_choices(before, [choice]) == after
    assert with_choices(after, [taken_back(choice, before)]) == before


def test_what_ledgers_keep_of_a_choice_holds_no_text_that_means_missing():
    [choice] = choices_between(ReadOptions(), ReadOptions(missing=("", "-9", "refused")))
    assert str(choice_sentence(choice, kept=True)) == "Texts that mean missing: 2"


def test_choices_of_several_columns_stand_beside_each_other():
    after = OPTIONS.with_type("plz", ColumnType.TEXT).with_type("age", ColumnType.TEXT)
    first, second = choices_between(OPTIONS, after)
    assert with_choices(with_choices(OPTIONS, [first]), [second]) == after
    assert with_choices(after, [taken_back(first, OPTIONS)]) == with_choices(OPTIONS, [second])


def test_which_table_is_read_is_no_choice_of_how():
    assert not choices_between(ReadOptions(), ReadOptions(sheet="second", query="SELECT 1"))


def test_a_way_of_first_rows_takes_over_nothing_of_their_tolerance():
    way = Way("Read as text", OPTIONS.tolerant().with_type("plz", ColumnType.TEXT))
    assert with_choices(OPTIONS, choices_of(way, OPTIONS)) == OPTIONS.with_type(
        "plz", ColumnType.TEXT
    )


def test_an_option_without_words_is_told_as_commands_tell_it(monkeypatch):
    monkeypatch.setattr("sfumato.formats.choices._TITLES", {})
    [choice] = choices_between(ReadOptions(), ReadOptions(skip_lines=2))
    assert str(choice_sentence(choice)) == "how many lines above the table are left out: 2"


@pytest.mark.parametrize(
    ("note", "said"),
    [
        (Note("x"), ""),
        (Note("x", rows=(1204,)), "In row 1,204."),
        (Note("x in row {row}", {"row": "1,204"}, rows=(1204,)), ""),
        (Note("x in row {row}", {"row": "3"}, rows=(3, 9), count=2), "In rows 3 and 9."),
        (Note("x", rows=(3, 9), count=2), "In rows 3 and 9."),
        (Note("x", rows=(3, 9), count=4000), "4,000 in all, first in rows 3 and 9."),
        (Note("{n:,} rows", {"n": 4000}, rows=(3,), count=4000), "First in row 3."),
    ],
)
def test_the_rows_of_a_remark_are_named(note, said):
    assert str(rows_sentence(note)) == said


def test_cautions_come_first_and_each_remark_once():
    plain, caution = Note("plain", columns=("a",)), Note("caution", caution=True, columns=("a",))
    assert cautions_first([plain, caution, plain]) == [caution, plain]
    assert marks_of([plain, caution]) == {"a": (True, (caution, plain))}


def test_a_remark_is_kept_whole():
    note = Note(
        "{column} is {kind}, in row {row:,}, {share:.1%}",
        {"column": "plz", "kind": Sentence("{a} text", a="a"), "row": 1204, "share": 0.5},
        caution=True,
        columns=("plz",),
        count=3,
        rows=(1, 2),
        ways=(Way(Sentence("Read {name} so", name="plz"), OPTIONS), Way("No", ReadOptions())),
    )
    again = Note.from_dict(note.to_dict())
    assert again == note
    assert again.text == note.text
    assert isinstance(again.ways[0].title, Sentence)
    assert isinstance(again.details["kind"], Sentence)
