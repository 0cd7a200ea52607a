"""Say what this Sfumato is made of, and what it found in itself."""

from __future__ import annotations

import platform
from argparse import Namespace

from sfumato.commands.shared.command import JSON, Command, ExitCode
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import translated, worded


def _found() -> dict[str, list[str]]:
    """Return the names of all that is found by being there."""
    from sfumato.commands import COMMANDS
    from sfumato.engine.mechanisms import all_mechanisms
    from sfumato.formats.language import languages
    from sfumato.formats.tables import all_formats
    from sfumato.project.store.schema import all_steps
    from sfumato.resources import resource_path
    from sfumato.ui.panels import all_panels
    from sfumato.ui.panels.audit.pages import all_pages
    from sfumato.ui.panels.policy.mechanisms import all_editors

    return {
        "commands": list(COMMANDS),
        "steps": [panel.name for panel in all_panels()],
        "mechanisms": list(all_mechanisms()),
        "editors": list(all_editors()),
        "audit pages": [page.__module__.split(".")[5] for page in all_pages()],
        "formats": list(all_formats()),
        "project formats": [str(number) for number in all_steps()],
        "languages": list(languages()),
        "help pages": sorted(path.stem for path in resource_path("help").glob("*.md")),
    }


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.report.versions import made_of

    parts, found = made_of(), _found()
    lines = [f"{part.name:<20}{part.version:<12}{part.licence}".rstrip() for part in parts]
    lines += [f"{translated('System'):<20}{platform.system()} {platform.release()}", ""]
    lines += [f"{kind.capitalize()}: {', '.join(names)}" for kind, names in found.items()]
    lines += ["", worded("Sfumato connects to no network, unless you open a database.")]
    terminal.tell(
        arguments.json,
        {
            "parts": [
                {"name": part.name, "version": part.version, "licence": part.licence}
                for part in parts
            ],
            "found": found,
        },
        lines,
    )
    return ExitCode.OK


ABOUT = Command((JSON,), _run, ("sfumato about",))
