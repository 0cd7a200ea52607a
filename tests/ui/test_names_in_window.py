"""Names of columns are set apart from the sentences in which the window tells of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QLabel, QWidget

from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import know_columns
from sfumato.ui.look.wording import apart as marked_apart
from sfumato.ui.look.wording import filled_in, has_names, spoken
from sfumato.ui.widgets.layout import WrappedLabel
from tests.screenshots.scenes import scenes_of
from tests.screenshots.stage import Stage
from tests.ui.clinic import open_clinic, protected
from tests.ui.untranslated import texts_in

NAMES = {
    "sex": "gender_code",
    "birth_year": "born_when",
    "region": "home_place",
    "occupation": "works_as",
    "admission_date": "came_when",
    "diagnosis": "dx_code",
    "length_of_stay": "days_there",
    "cost": "paid_for",
}
ANY = "|".join(NAMES.values())
BARE = re.compile(rf"(?<![“\w])(?:{ANY})(?![”\w])")
HEADS = re.compile(rf"(?:^|(?<=\n)|(?<=[,:.] ))(?:{ANY})(?: \+ (?:{ANY}))*(?::| \d| =)")
"""Where a name stands alone: at the head of what is told of it, or before its value."""


def in_a_sentence(text: str) -> bool:
    """Return whether a text tells something in words, in which a name is not set apart."""
    rest = HEADS.sub("", text)
    words = re.findall(r"[^\W\d_]+", re.sub(ANY, "", rest))
    return bool(words) and BARE.search(rest) is not None


def bare_names(window: QWidget) -> Iterator[str]:
    """Give each text in which a name is not set apart; another weight is seen in HTML alone."""
    labels = window.findChildren(WrappedLabel)
    weighed = {one.text() for one in labels if "font-weight" in QLabel.text(one)}
    for _place, text in texts_in(window):
        if text not in weighed and in_a_sentence(re.sub("<[^>]+>", "", text)):
            yield text


def arranged(name: str, folder: Path) -> list[str]:
    panel, _, scene = name.partition("-")
    stage = Stage(folder, rows=2_000, names=NAMES)
    try:
        stage.panel(panel)
        next(one for one in scenes_of(panel) if one.name == scene).arrange(stage)
        stage.settle()
        told = [text for _, text in texts_in(stage.window)]
        assert any(one in text for text in told for one in NAMES.values())
        return list(bare_names(stage.window))
    finally:
        stage.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["attributes-filled", "policy-filled"])
def test_what_a_panel_says_sets_every_column_s_name_apart(themed, tmp_path, name):
    assert arranged(name, tmp_path) == []


@pytest.mark.turns(3)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["releases-grave", "audit-planned", "preview-filled"])
def test_what_a_panel_says_elsewhere_sets_every_column_s_name_apart(themed, tmp_path, name):
    assert arranged(name, tmp_path) == []


def test_names_that_are_words_of_sentences_are_told_from_them():
    know_columns({"age", "rate", "income of the household"})
    told = filled_in("The rate at which {columns} age.", columns="rate, income of the household")
    assert told == "The rate at which “rate”, “income of the household” age."
    assert filled_in("Drop {column}", column="age") == "Drop “age”"
    assert spoken(Sentence("{column}: {n:,} values", column="age", n=3)) == "age: 3 values"
    assert filled_in("{name} was removed.", name="ages") == "ages was removed."


def test_a_name_has_one_mark_where_another_weight_can_be_shown():
    know_columns({"age"})
    told = marked_apart(Sentence("Nothing protects {columns} yet.", columns="age"), {"age"})
    assert has_names(told)
    assert "“" not in told


def test_the_names_are_those_of_the_table_that_is_open(session):
    open_clinic(session, protected())
    assert filled_in("Drop {column}", column="ward") == "Drop “ward”"
    session.undo()
    assert filled_in("Drop {column}", column="ward") == "Drop ward"
