"""The options for reading are described once: commands, rules and help tell the same."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

from sfumato.commands.adopt import ADOPT
from sfumato.commands.init import INIT
from sfumato.commands.shared.opening import READING
from sfumato.formats.options import ReadOptions, settings_of_reading
from sfumato.resources import resource_path

ROW = re.compile(r"^\| `(\w+)` \| (?:`(--[\w-]+)`)? ?\| (.+) \|$", re.MULTILINE)


@pytest.mark.parametrize("page", ["command-line.md", "de/command-line.md"])
def test_the_help_names_every_key_and_its_option(page):
    text = resource_path("help").joinpath(*page.split("/")).read_text(encoding="utf-8")
    told = {key: (option, says) for key, option, says in ROW.findall(text)}
    settings = settings_of_reading()
    assert list(told) == list(settings)
    for name, setting in settings.items():
        assert told[name][0] == setting.option
        assert page.startswith("de/") or told[name][1] == setting.text


def test_every_option_but_the_version_is_described():
    assert settings_of_reading().keys() == {each.name for each in fields(ReadOptions)} - {"version"}


@pytest.mark.parametrize("command", [INIT, ADOPT])
def test_commands_that_read_a_table_take_every_option(command):
    assert READING in command.arguments
    given = {name for argument in READING.arguments for name in argument.names}
    assert given == {each.option for each in settings_of_reading().values() if each.option}
