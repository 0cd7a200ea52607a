"""Print a project's rules, or apply others."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, file_argument
from sfumato.commands.shared.opening import MEMORY, known_source, open_project, read_text
from sfumato.commands.shared.terminal import Terminal
from sfumato.formats.language import worded


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.project.rules.rules import apply_rules, rules_of

    if arguments.apply is None:
        with open_project(arguments, terminal, read_only=True) as project:
            terminal.say(rules_of(project.document).removesuffix("\n"))
        return ExitCode.OK
    rules = read_text(arguments.apply)
    with open_project(arguments, terminal) as project:
        with terminal.working() as context:
            table = known_source(project, arguments.memory * 1e6, context)
        noise = KeyedNoise(project.keys)
        folder = arguments.apply.parent
        project.save_document(apply_rules(rules, table, project.document, folder, noise))
    terminal.note(worded("The rules are applied."))
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        file_argument("--apply", "RULES", "apply a rules file in place of printing them"),
        MEMORY,
    ),
    _run,
    (
        "sfumato rules clinic.sfumato > clinic.toml",
        "sfumato rules clinic.sfumato --apply clinic.toml",
    ),
)
