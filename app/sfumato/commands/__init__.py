"""The commands of the command line, and what each of them does in a sentence.

A module of this package holds a command, or several that belong together: ``row-order`` is
``ROW_ORDER`` in its module, a `Command`. No module is imported to list them, so that no command
costs the start of another. What commands share is in `sfumato.commands.shared`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from sfumato.engine.core.wording import Sentence

if TYPE_CHECKING:
    from sfumato.commands.shared.command import Command

COMMANDS: Final = {
    "open": ("program", Sentence("Open the window, with a project or a table where one is named.")),
    "demo": ("demo", Sentence("Do the whole work on the sample.")),
    "init": (
        "init",
        Sentence(
            "Make a project from a table and a rules file, or with the roles that are proposed."
        ),
    ),
    "check": ("release", Sentence("Say whether releases are ready to be made.")),
    "propose": ("policy", Sentence("Propose a plan by which every release is safe.")),
    "worth": ("worth", Sentence("Say how many true records each recipient's columns are worth.")),
    "release": ("release", Sentence("Make a recipient's bundle and record it.")),
    "plan": (
        "release",
        Sentence(
            "Write a recipient's plan and its keys, for a cluster that never sees the project."
        ),
    ),
    "approvers": (
        "approval",
        Sentence("List or change who approves releases, and whether somebody has to."),
    ),
    "approve": ("approval", Sentence("Approve a recipient's release, as a second person.")),
    "withdraw": (
        "release",
        Sentence("Say that a release was wrong; the ledger keeps it, with the reason."),
    ),
    "publish": ("diversity", Sentence("Publish the generalized table and record it.")),
    "table": (
        "table",
        Sentence("List the released tables of counts, or make one for a recipient."),
    ),
    "verify": (
        "verify",
        Sentence("Examine a bundle, or one of its files, against its project, ledger and table."),
    ),
    "trace": ("verify", Sentence("Say which releases a found file comes from.")),
    "rules": ("project", Sentence("Print a project's rules, or apply others.")),
    "audit": (
        "audit",
        Sentence("Weigh what is learned by pooling releases or rows, and from open columns."),
    ),
    "hierarchy": ("columns", Sentence("List, export, import or propose hierarchies.")),
    "report": ("audit", Sentence("Write a report for the data-protection officer.")),
    "diversity": ("diversity", Sentence("Search for safe generalizations of the table.")),
    "others": ("others", Sentence("List or change other holders' tables about the same people.")),
    "attributes": (
        "columns",
        Sentence("List the columns, or say what they are for and how they leave."),
    ),
    "recipients": (
        "recipients",
        Sentence(
            "List the recipients, their levels and what changed since their releases, or state"
            " levels."
        ),
    ),
    "policy": (
        "policy",
        Sentence("Show what protects each sensitive column, or set mechanisms and settings."),
    ),
    "views": (
        "recipients",
        Sentence("Show, find or choose how coarsely each recipient sees the quasi-identifiers."),
    ),
    "risk": ("groups", Sentence("Examine which small groups a release gives away.")),
    "query": ("groups", Sentence("Answer count queries from each release, with the truth.")),
    "adopt": ("adopt", Sentence("Take a release made elsewhere onto the ladder.")),
    "terms": (
        "project",
        Sentence("Show or state for what, until when and how recipients may use releases."),
    ),
    "row-order": ("project", Sentence("Show or choose the row order of releases.")),
    "noisy-counts": (
        "groups",
        Sentence("Examine what counts with Laplace noise give away about small groups."),
    ),
    "ledger": ("project", Sentence("List the ledger and check its chain.")),
    "source": ("project", Sentence("Show the source table, or say where it is now.")),
    "next": (
        "project",
        Sentence("Say what the next edition of the table changes, and go on with it."),
    ),
    "seal": (
        "project",
        Sentence("Say whether a project was changed outside Sfumato; accept it as it stands."),
    ),
    "passphrase": (
        "project",
        Sentence("Change a project's passphrase, also by its recovery sheet."),
    ),
    "recovery-sheet": (
        "project",
        Sentence("Make a sheet to print, by whose code a lost passphrase is replaced."),
    ),
    "about": (
        "program",
        Sentence("Say what this Sfumato is made of, and what it found in itself."),
    ),
}
"""Every command's module and summary, in the order in which help shows them."""


def command_called(name: str) -> Command:
    """Import a command's module and return the command."""
    module = importlib.import_module(f"{__name__}.{COMMANDS[name][0]}")
    command: Command = getattr(module, name.replace("-", "_").upper())
    return command
