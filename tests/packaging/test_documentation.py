"""The man page says what the parsers know."""

from __future__ import annotations

import argparse

import pytest

from sfumato.cli import parser_of_all
from sfumato.commands import COMMANDS
from tests.packaging import script

documentation = script("documentation")


@pytest.fixture(scope="module")
def page():
    return documentation.man_page(parser_of_all(), "1.2.3", "2026-01-31")


def test_the_heading_names_the_version_and_its_date(page):
    assert page.splitlines()[0] == ('.TH SFUMATO 1 "2026-01-31" "Sfumato 1.2.3" "User commands"')


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_section_with_its_summary(page, name):
    section = page.partition(f'.SS "sfumato {name}"\n'.replace("-", "\\-"))[2]
    assert str(COMMANDS[name][1]).replace("-", "\\-") in section.partition(".SS")[0]


def test_every_option_of_every_command_is_there(page):
    [commands] = [
        action
        for action in parser_of_all()._actions
        if isinstance(action, argparse._SubParsersAction)
    ]
    options = {
        option
        for parser in commands.choices.values()
        for action in parser._actions
        for option in action.option_strings
    }
    options -= {"--help"}  # of any program
    assert {each for each in options if each.replace("-", "\\-") not in page} == set()


def test_every_exit_code_is_there(page):
    codes = page.partition(".SH EXIT STATUS")[2]
    assert all(f"\n  {code} " in codes for code in (0, 1, 2, 3, 4, 70, 130))


def test_no_line_is_taken_for_a_request_that_is_none():
    parser = argparse.ArgumentParser(prog="sfumato", epilog=".hidden files and back\\slashes")
    page = documentation.man_page(parser, "1", "2026-01-31")
    assert "\\&.hidden files and back\\eslashes" in page
