"""A second person's approval: who approves, and approving what would be released."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    APPROVER_VARIABLE,
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    flag,
    one_of,
    option,
    repeated,
)
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import open_project
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import moment, worded

if TYPE_CHECKING:
    from sfumato.project.approval import Approval
    from sfumato.project.project_file import ProjectFile


_DESCRIPTOR: Final = option(
    "--approver-passphrase-fd",
    "N",
    Sentence(
        "read the passphrase of who approves from file descriptor N (or set {variable})",
        variable=APPROVER_VARIABLE,
    ),
    type=int,
)


def _run_approvers(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.approval import add_approver, approvers, remove_approver

    asks = arguments.require or arguments.no_require
    changes = asks or arguments.add is not None or arguments.remove is not None
    with open_project(arguments, terminal, read_only=not changes) as project:
        if arguments.add is not None:
            given = arguments.approver_passphrase_fd, APPROVER_VARIABLE
            add_approver(project, arguments.add, terminal.new_passphrase(*given))
        if arguments.remove is not None:
            remove_approver(project, arguments.remove)
        if asks:
            needed = True if arguments.require else None
            project.save_document(replace(project.document, needs_approval=needed))
        known = _standing(project)
        names, needed = approvers(project), bool(project.document.needs_approval)
    plain = {
        "required": needed,
        "approvers": list(names),
        "approvals": {
            name: None if found is None else {"name": found.name, "at": found.recorded_at}
            for name, found in known.items()
        },
    }
    terminal.tell(arguments.json, plain, _lines(needed, names, known))
    return ExitCode.OK


def _standing(project: ProjectFile) -> dict[str, Approval | None]:
    from sfumato.analysis.tables.generalized_table import PUBLIC
    from sfumato.project.approval import approvals

    document = project.document
    names = [each.name for each in document.recipients]
    return approvals(project, document, [PUBLIC] if document.is_published_only else names)


def _lines(
    needed: bool, names: tuple[str, ...], known: dict[str, Approval | None]
) -> Iterator[str]:
    from datetime import datetime

    yield worded(
        "A second person approves each release."
        if needed
        else "Releases need no second person's approval."
    )
    yield from (worded("can approve: {name}", name=name) for name in names)
    for recipient, found in known.items() if needed else ():
        if found is None:
            yield worded("{recipient}: not approved", recipient=recipient)
            continue
        yield worded(
            "{recipient}: approved by {name}, {time} UTC",
            recipient=recipient,
            name=found.name,
            time=moment(datetime.fromisoformat(found.recorded_at)),
        )


APPROVERS = Command(
    (
        *PROJECT,
        one_of(
            option("--add", "NAME", "a person who can approve, with a passphrase of their own"),
            option("--remove", "NAME", "who can approve no more; their approvals lapse"),
        ),
        one_of(
            flag("--require", "let no release be made that no second person has approved"),
            flag("--no-require", "ask for no approval any more"),
        ),
        _DESCRIPTOR,
        JSON,
    ),
    _run_approvers,
    (
        "sfumato approvers clinic.sfumato",
        'sfumato approvers clinic.sfumato --add "Grace Hopper" --require',
    ),
)


def _run_approve(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.approval import approve, approve_contents, approvers
    from sfumato.project.count_tables.making import content_of_counts
    from sfumato.project.errors import ReleaseError

    if bool(arguments.column) != (arguments.epsilon is not None):
        terminal.note("A table of counts is approved by --column and --epsilon together.")
        return ExitCode.USAGE
    with open_project(arguments, terminal) as project:
        name, names = arguments.name, approvers(project)
        if name is None and len(names) == 1:
            (name,) = names
        if name is None:
            raise ReleaseError(
                "It is not said who approves.",
                "Say it by --name; sfumato approvers lists who can.",
            )
        passphrase = terminal.approvers_passphrase(name, arguments.approver_passphrase_fd)
        if arguments.column:
            recipient = recipient_called(project.document, arguments.recipient)
            wanted = (arguments.column, recipient, arguments.epsilon)
            approve_contents(project, [content_of_counts(project, *wanted)], name, passphrase)
        else:
            approve(project, [arguments.recipient], name, passphrase)
    terminal.say(
        "{name} approves the release to {recipient} as it would be made now.",
        name=name,
        recipient=arguments.recipient,
    )
    return ExitCode.OK


APPROVE = Command(
    (
        *PROJECT,
        argument("recipient", metavar="RECIPIENT", help="whose release is approved"),
        option("--name", "NAME", "who approves; not needed where only one person can"),
        repeated("--column", "COLUMN", "approve a table of counts by this column, and others"),
        option("--epsilon", "E", "the ε of that table of counts", type=float),
        _DESCRIPTOR,
    ),
    _run_approve,
    (
        'sfumato approve clinic.sfumato "Public file" --name "Grace Hopper"',
        'sfumato approve clinic.sfumato "Public file" --column sex --epsilon 0.5',
    ),
)
