"""List the recipients, their levels and what changed since their releases, or state levels."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, known_source, open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import ENGLISH, day, languages, localized, said, worded

if TYPE_CHECKING:
    from sfumato.analysis.since_release import SinceRelease
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    stated = bool(arguments.level or arguments.tell_in)
    changes = arguments.of is not None or stated
    if changes and not (arguments.of and stated):
        terminal.note(worded("sfumato: --of NAME goes with --level TERM=NUMBER or --tell-in"))
        return ExitCode.USAGE
    with open_project(arguments, terminal, read_only=not changes) as project:
        if changes:
            if arguments.tell_in:
                _tell_in(arguments.of, arguments.tell_in, project)
            if arguments.level:
                _state(arguments, terminal, project)
        document, since = project.document, _since(project)
    terminal.tell(arguments.json, _plain(document, since), _lines(document, since))
    if not document.recipients and not arguments.json:
        terminal.note(worded("The project has no recipients yet."))
    return ExitCode.OK


def _state(arguments: Namespace, terminal: Terminal, project: ProjectFile) -> None:
    """State a recipient's level, for all attributes or for those that are named.

    Raises
    ------
    SfumatoError
        If there is no such recipient or attribute, or the level can't be met.
    """
    from sfumato.commands.shared.groups import recipient_called
    from sfumato.project.document.edits import state_level
    from sfumato.project.release.long_survey import LongSurvey
    from sfumato.project.release.release_columns import attributes_of

    document = project.document
    recipient = recipient_called(document, arguments.of)
    keys = [_entry_key(document, name) for name in arguments.attribute]
    statement = dict(_number(text) for text in arguments.level)
    with terminal.working() as context:
        table = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.8))
        if isinstance(table, LongSurvey):
            table.check_weights(document, Part(context, 0.8, 0.9))
            attributes = table.attributes_of(document, Part(context, 0.9, 1.0))
        else:
            attributes = attributes_of(document, table)
    stated = state_level(project.document, recipient.name, statement, attributes, keys)
    project.save_document(stated.document)
    for key, error in stated.refused.items():
        terminal.note(worded("{key} keeps its level. {error}", key=key, error=error))


def _tell_in(name: str, language: str, project: ProjectFile) -> None:
    """State the language of what bundles tell a recipient."""
    from dataclasses import replace

    from sfumato.commands.shared.groups import recipient_called

    chosen = recipient_called(project.document, name)
    stated = replace(chosen, language=None if language == ENGLISH else language)
    recipients = tuple(stated if one == chosen else one for one in project.document.recipients)
    project.save_document(replace(project.document, recipients=recipients))


def _entry_key(document: Document, name: str) -> str:
    """Return the key of the policy entry that protects an attribute, or has this key."""
    entry = document.entry_for(name)
    keys = [each.key for each in document.policy]
    if entry is None and name not in keys:
        from sfumato.project.rules.reading import suggestion

        raise PolicyError("The policy protects no {name}.", suggestion(name, keys), name=name)
    return name if entry is None else entry.key


def _number(text: str) -> tuple[str, float]:
    """Return a term and its number from ``epsilon=2``."""
    name, _, number = text.partition("=")
    try:
        return name.strip(), float(number)
    except ValueError:
        raise LevelError(
            "{text} is not a level.", "Write, for instance: --level epsilon=2", text=text
        ) from None


def _since(project: ProjectFile) -> tuple[SinceRelease, ...]:
    """Return what has changed since everybody's last release, as far as no row is needed."""
    from sfumato.analysis.since_release import since_releases

    return since_releases(project.document, {}, project.releases)


def _lines(document: Document, since: Sequence[SinceRelease]) -> Iterator[str]:
    for recipient, last in zip(document.recipients, since, strict=True):
        yield recipient.name + (f"  ({recipient.note})" if recipient.note else "")
        for entry in document.policy:
            statement = recipient.statements.get(entry.key)
            levels = ", ".join(
                f"{name} = {localized(f'{value:g}')}" for name, value in (statement or {}).items()
            )
            stated = worded("no level yet") if statement is None else levels
            yield f"  {entry.key} [{entry.mechanism}]: {stated}"
        if last.record is not None:
            yield worded(
                "  last release: {day}, nothing changed since"
                if last.current
                else "  last release: {day}, changed since:",
                day=day(datetime.fromisoformat(last.record.recorded_at)),
            )
            yield from (
                f"    {name}: {said(told)}" if name else f"    {said(told)}"
                for name, told in last.changes
            )


def _plain(document: Document, since: Sequence[SinceRelease]) -> list[dict[str, object]]:
    """Return every recipient with what was stated for each entry, as plain JSON values."""
    return [
        {
            "name": recipient.name,
            "note": recipient.note,
            "language": recipient.language or ENGLISH,
            "levels": {
                entry.key: dict(statement)
                for entry in document.policy
                if (statement := recipient.statements.get(entry.key)) is not None
            },
            "last_release": None if last.record is None else last.record.recorded_at,
            "changed_since": [
                {"attribute": name, "change": str(told)} for name, told in last.changes
            ],
        }
        for recipient, last in zip(document.recipients, since, strict=True)
    ]


COMMAND = Command(
    (
        *PROJECT,
        option("--of", "NAME", "the recipient of whom something is stated"),
        option(
            "--tell-in",
            "LANGUAGE",
            "the language of what bundles tell the recipient, such as de",
            choices=languages(),
        ),
        repeated(
            "--level",
            "TERM=NUMBER",
            "the recipient's level from now on, for all attributes: epsilon=2; a mechanism without"
            " this term gets the same trust",
        ),
        repeated("--attribute", "COLUMN", "only for this attribute; may be given several times"),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato recipients clinic.sfumato",
        'sfumato recipients clinic.sfumato --of "Institute" --level epsilon=2',
    ),
)
