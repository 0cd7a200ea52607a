"""Commands set the names of columns apart from the sentences that tell of them."""

from __future__ import annotations

import re

import pytest

from sfumato.formats.language import columns_known, know_columns, speaking, worded
from tests.cli.conftest import RULES
from tests.project.making import table

RENAMED = {"person": "pat_no", "sex": "sex_code", "illness": "dx_code"}
BARE = re.compile(rf"(?<![“„\w])(?:{'|'.join(RENAMED.values())})(?![”“\w])")
COMMANDS = (
    ("check",),
    ("propose",),
    ("worth",),
    ("risk",),
    ("audit", "questions"),
    ("audit", "open"),
    ("audit", "units", "--by", "sex_code"),
    ("audit", "person", "--with", "Clinic A", "--knows", "sex_code=f"),
    ("query", "--value", "flu", "--where", "dx_code=flu"),
    ("views", "--recipient", "Clinic A", "--level", "sex_code=9"),
    ("policy", "--column", "dx_code", "--set", "nothing=1"),
    ("policy", "--column", "sex_code", "--mechanism", "gaussian"),
    ("attributes", "--role", "sex_code=nothing"),
    ("attributes", "--round", "sex_code=3"),
    ("hierarchy", "--column", "sex_code"),
    ("recipients",),
    ("ledger",),
)


@pytest.fixture
def renamed(line):
    rules = RULES
    for before, after in RENAMED.items():
        rules = re.sub(rf"\b{before}\b", after, rules)
    (line.folder / "rules.toml").write_text(rules)
    frame = table().frame.rename(columns=RENAMED)
    frame.to_csv(line.folder / "ward.csv", index=False, lineterminator="\n")
    assert line.init() == 0, line.remarks
    return line


def sentences(text: str) -> list[str]:
    """The lines that are sentences: without the heads of lists, and what is to be typed."""
    told = (
        re.sub(r"^\W*\w+: |Did you mean \S+|--\S+( \S+)?|`[^`]*`", "", each)
        for each in text.splitlines()
    )
    return [each for each in told if re.search(r"\w[.:?]($|\s)", each) and len(each.split()) > 3]


@pytest.mark.slow
def test_what_commands_say_sets_every_column_s_name_apart(renamed):
    told = []
    for command in COMMANDS:
        words = 2 if command[0] == "audit" else 1
        assert renamed.run(*command[:words], renamed.project, *command[words:]) != 70
        told += sentences(renamed.output + renamed.remarks)
    assert any("“dx_code”" in each for each in told)
    assert [each for each in told if BARE.search(each)] == []


def test_names_are_known_for_one_command_and_not_in_what_others_read(renamed):
    renamed.run("check", renamed.project)
    assert "dx_code" in columns_known()
    with speaking("en"):
        assert worded("Column {column} is empty.", column="dx_code") == "Column dx_code is empty."
    renamed.run("--version")
    assert columns_known() == ()


def test_a_list_s_head_and_what_is_typed_stay_as_they_are():
    know_columns({"age"})
    assert worded("{column}: {n:,} values", column="age", n=3) == "age: 3 values"
    assert worded("Say --round {column}=5.", column="age") == "Say --round age=5."
    assert worded("{column} follows from {others}.", column="age", others="age, x") == (
        "“age” follows from age, x."
    )
