"""Say whether releases are ready to be made."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import JSON, PROJECT, Command, ExitCode, repeated
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.readiness import Readiness

_WORDS: Final = (Sentence("DANGER"), Sentence("CAUTION"), Sentence("ok"))


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.readiness import examine, looked_at, plain
    from sfumato.project.errors import ReleaseError

    with opened_by_parts(arguments, terminal, 0.4) as (project, table, context):
        known = [recipient.name for recipient in project.document.recipients]
        for name in arguments.recipient:
            if name not in known:
                raise ReleaseError(
                    "The project has no recipient called {name}.",
                    "Its recipients are: {known}.",
                    name=name,
                    known=", ".join(known) or "none",
                )
        document, columns, attributes = looked_at(project, table, Part(context, 0.0, 0.3))
        found = examine(document, columns, attributes, project.releases, Part(context, 0.3, 1.0))
    wanted = arguments.recipient or known
    chosen = [each for each in found if each.recipient in wanted]
    terminal.tell(arguments.json, plain(chosen), _lines(chosen, arguments.project))
    return ExitCode.CHECK_FAILED if any(each.standing for each in chosen) else ExitCode.OK


def _lines(found: Sequence[Readiness], project: Path) -> Iterator[str]:
    for each in found:
        ready = worded("not ready to release") if each.standing else worded("ready to release")
        yield f"{each.recipient}: {ready}"
        for one in each.findings:
            yield f"  {said(_WORDS[one.severity]):<7}  {said(one.check)}: {said(one.sentence)}"
            if one.reason:
                yield worded("           Accepted: {reason}", reason=one.reason)
            for remedy in one.remedies:
                yield f"           - {said(remedy.words)}"
                for part in remedy.parts or (remedy,):
                    if part.recipient:
                        level = f"{part.column}={part.level}"
                        told = shlex.join(
                            ["views", str(project), "--recipient", part.recipient, "--level", level]
                        )
                        yield f"             sfumato {told}"


COMMAND = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "only for this one; may be given several times"),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato check clinic.sfumato",
        'sfumato check clinic.sfumato --recipient "Public file" --json',
    ),
)
