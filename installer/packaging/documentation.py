"""The man page and the completion of shells, made from the parsers of the command line."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path


def man_page(parser: argparse.ArgumentParser, version: str, date: str) -> str:
    """Return the man page, in roff.

    Parameters
    ----------
    parser
        With all commands.
    version
        Sfumato's.
    date
        Of that version, as YYYY-MM-DD.
    """
    lines = [
        f'.TH SFUMATO 1 "{date}" "Sfumato {version}" "User commands"',
        ".SH NAME",
        "sfumato \\- release one table at many trust levels",
        ".SH SYNOPSIS",
        *_synopsis(parser),
        ".SH OPTIONS",
        *_options(parser),
        ".SH COMMANDS",
    ]
    for command in _commands(parser):
        lines += [f'.SS "{_plain(command.prog)}"', *_synopsis(command)]
        lines += [".PP", _plain(command.description or ""), *_options(command)]
        if command.epilog and _commands_of(command) is None:
            lines += [".PP", ".nf", *map(_plain, command.epilog.splitlines()), ".fi"]
    before, _, codes = (parser.epilog or "").partition("exit codes:\n")
    lines += [".SH DESCRIPTION", *_paragraphs(before)]
    lines += [".SH EXIT STATUS", ".nf", *map(_plain, codes.splitlines()), ".fi"]
    return "\n".join(line for line in lines if line) + "\n"


def completion(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script that completes the command in a shell (bash or zsh)."""
    import shtab  # what the application's tests go without

    for command in (parser, *_commands(parser)):
        for action in command._actions:
            if action.type is Path:
                folder = action.metavar in {"DIR", "FOLDER"}
                action.complete = shtab.DIRECTORY if folder else shtab.FILE  # type: ignore[attr-defined]
    return str(shtab.complete(parser, shell=shell))


def _commands_of(parser: argparse.ArgumentParser) -> argparse._SubParsersAction | None:
    found = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    return next(found, None)


def _commands(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the commands of a parser and those below them."""
    below = _commands_of(parser)
    for command in below.choices.values() if below else ():
        yield command
        yield from _commands(command)


def _synopsis(parser: argparse.ArgumentParser) -> list[str]:
    usage = " ".join(parser.format_usage().removeprefix("usage:").split())
    name, _, rest = usage.partition(f"{parser.prog} ")
    return [f".B {_plain(parser.prog)}", _plain(f"{name}{rest}")]


def _options(parser: argparse.ArgumentParser) -> list[str]:
    formatter = parser._get_formatter()
    lines = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        said = formatter._expand_help(action) if action.help else ""
        called = formatter._format_action_invocation(action)
        lines += [".TP", f".B {_plain(called)}", _plain(said)]
    return lines


def _paragraphs(text: str) -> Iterator[str]:
    for paragraph in filter(None, text.split("\n\n")):
        yield ".PP"
        yield _plain(" ".join(paragraph.split()))


def _plain(text: str) -> str:
    """Return a text as roff shows it literally."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
