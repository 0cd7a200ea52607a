"""What the commands about small groups share: the attribute, and what an attacker knows."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import dataclass

from sfumato.commands.shared.files import source_of
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import EncodedColumn
from sfumato.project.document.model import PolicyEntry, Recipient
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.attacker import usual_knowledge
from sfumato.project.release.release_columns import Material, material_of


@dataclass(frozen=True)
class Asked:
    """One attribute of a project, and what an attacker knows.

    Parameters
    ----------
    material
        The project's document and table, with every attribute encoded.
    entry
        The attribute's policy entry.
    column
        The attribute with its rows.
    knows
        The public columns by which the attacker looks people up.
    """

    material: Material
    entry: PolicyEntry
    column: EncodedColumn
    knows: tuple[str, ...]


def add_attribute(parser: ArgumentParser) -> None:
    """Describe the arguments that name the attribute and what the attacker knows."""
    parser.add_argument(
        "--attribute", metavar="COLUMN", help="the sensitive attribute; needed where several are"
    )
    parser.add_argument(
        "--knows",
        action="append",
        metavar="COLUMN",
        help="a public column by which an attacker looks people up; may be repeated."
        " Without it, all quasi-identifiers",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")


def read_question(arguments: Namespace, project: ProjectFile, context: Context) -> Asked:
    """Return the attribute that the arguments name, with the project's table.

    Raises
    ------
    PolicyError
        If no attribute is named where there are several, or it has no list of values.
    SfumatoError
        If the table can't be read.
    """
    table = source_of(project, Part(context, 0.0, 0.8))
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
    knows = arguments.knows
    chosen = usual_knowledge(material.document) if knows is None else tuple(knows)
    context.report(1.0, "The table is read")
    return Asked(material, fitting[name], material.encoded[name], chosen)


def recipient_called(asked: Asked, name: str) -> Recipient:
    """Return a recipient by name.

    Raises
    ------
    PolicyError
        If there is none of that name.
    """
    for recipient in asked.material.document.recipients:
        if recipient.name == name:
            return recipient
    raise PolicyError(
        "There is no recipient {recipient}.",
        "Known are: {known}.",
        recipient=name,
        known=", ".join(each.name for each in asked.material.document.recipients) or "none",
    )
