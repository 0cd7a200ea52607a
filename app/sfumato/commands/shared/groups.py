"""What the commands about small groups share: the attribute, and what an attacker knows."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import JSON, argument, repeated
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context

if TYPE_CHECKING:
    from sfumato.analysis.small_groups import Subject
    from sfumato.engine.table.table import Table
    from sfumato.project.document.model import Document, Recipient
    from sfumato.project.project_file import ProjectFile

EPSILON: Final = 0.3
DELTA: Final = 0.3

LIMITS: Final = (
    argument("--epsilon", type=float, default=EPSILON, help="relative error, default %(default)s"),
    argument(
        "--delta",
        type=float,
        default=DELTA,
        help="how often it should be exceeded on either side, default %(default)s",
    ),
)
"""How far off an estimate of a group should be, and how often."""

ATTRIBUTE: Final = (
    argument(
        "--attribute", metavar="COLUMN", help="the sensitive attribute; needed where several are"
    ),
    repeated(
        "--knows",
        "COLUMN",
        "a public column by which an attacker looks people up; may be repeated."
        " Without it, all quasi-identifiers",
    ),
    JSON,
)
"""The attribute, and what the attacker knows."""


def read_question(
    arguments: Namespace, project: ProjectFile, table: Table, context: Context
) -> Subject:
    """Return the attribute that the arguments name, with the project's encoded table.

    Raises
    ------
    PolicyError
        If no attribute is named where there are several, or it has no list of values.
    """
    from sfumato.analysis.small_groups import Subject
    from sfumato.project.release.groups import usual_knowledge
    from sfumato.project.release.release_columns import material_of

    material = material_of(project.document, table)
    fitting = {
        entry.attributes[0]: entry
        for entry in material.document.policy
        if len(entry.attributes) == 1
        and material.encoded[entry.attributes[0]].attribute.domain is not None
    }
    name = arguments.attribute
    if name is None and len(fitting) == 1:
        name = next(iter(fitting))
    if name not in fitting:
        raise PolicyError(
            "Which sensitive attribute is meant is not clear."
            if name is None
            else "{column} is not a sensitive attribute with a list of values.",
            "Name one with --attribute: {known}.",
            column=name,
            known=", ".join(fitting) or "there is none",
        )
    document = material.document
    knows = usual_knowledge(document) if arguments.knows is None else tuple(arguments.knows)
    context.report(1.0, "The table is encoded")
    folders = (project.path.parent,)
    return Subject(document, table, fitting[name], material.encoded[name], knows, folders)


def recipient_called(document: Document, name: str) -> Recipient:
    """Return a recipient by name.

    Raises
    ------
    PolicyError
        If there is none of that name.
    """
    for recipient in document.recipients:
        if recipient.name == name:
            return recipient
    raise PolicyError(
        "There is no recipient {recipient}.",
        "Known are: {known}.",
        recipient=name,
        known=", ".join(each.name for each in document.recipients) or "none",
    )
