"""Run a figure of the paper on multi-level releases."""

from __future__ import annotations

import json
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from sfumato.analysis.experiments import (
    BELL,
    EVEN,
    Figure,
    Outcome,
    Prior,
    Sizes,
    findings,
    run_experiment,
    summary_of,
    table_of,
)
from sfumato.commands.shared.command import Command, ExitCode, add_passphrase, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.table.table import encode_column
from sfumato.formats.files import refusal_to_write, write_whole
from sfumato.plots.experiment import build_experiment
from sfumato.plots.export import exported
from sfumato.plots.fonts import register_fonts
from sfumato.plots.style import light_style
from sfumato.resources import resource_path

SHAPES = {"even": EVEN, "bell": BELL}


def _add_arguments(parser: ArgumentParser) -> None:
    usual = Sizes()
    parser.add_argument("figure", choices=[figure.value for figure in Figure], help="the figure")
    parser.add_argument(
        "--values", choices=list(SHAPES), default="even", help="made-up true values (usual: even)"
    )
    parser.add_argument(
        "--project", type=Path, metavar="PROJECT", help="take true values from a project's table"
    )
    parser.add_argument("--column", metavar="COLUMN", help="a categorical column of the project")
    for name, number, text in (
        ("simulations", usual.simulations, "fig5 and fig6: how many (the paper: 1e10)"),
        ("recipients", usual.recipients, "fig7: how many recipients"),
        ("releases", usual.releases, "fig8: how many releases"),
        ("records", usual.records, "fig8: of how many records"),
    ):
        parser.add_argument(f"--{name}", type=_count, default=number, metavar="N", help=text)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="also write the figure, its values and the findings"
    )
    add_passphrase(parser)


def _count(text: str) -> int:
    """Read a count, also one like 1e8."""
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1.0 <= number <= 1e12 or number != int(number):
        raise ArgumentTypeError("a whole number from 1 is needed")
    return int(number)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    sizes = Sizes(
        arguments.simulations, arguments.recipients, arguments.releases, arguments.records
    )
    with terminal.working() as context:
        prior = _prior(arguments, terminal, Part(context, 0.0, 0.1))
        outcome = run_experiment(Figure(arguments.figure), prior, sizes, Part(context, 0.1, 1.0))
    if arguments.json:
        terminal.say(json.dumps(summary_of(outcome), ensure_ascii=False))
    else:
        for sentence in findings(outcome):
            terminal.say(sentence)
    if arguments.out is not None:
        for path in write_outcome(outcome, arguments.out):
            terminal.note(str(path))
    return ExitCode.OK


def _prior(arguments: Namespace, terminal: Terminal, context: Context) -> Prior:
    if arguments.project is None:
        if arguments.column is not None:
            raise PolicyError(
                "A column was named, but no project.", "Name the project by --project."
            )
        return SHAPES[arguments.values]
    if arguments.column is None:
        raise PolicyError(
            "A project was named, but no column.", "Name one of its columns by --column."
        )
    with open_project(arguments, terminal, read_only=True) as project:
        table = source_of(project, context)
        known = {spec.name: spec for spec in project.document.columns}
    if arguments.column not in known:
        raise PolicyError(
            "The project has no column {column}.",
            "Its columns are: {known}.",
            column=arguments.column,
            known=", ".join(known),
        )
    attribute = encode_column(table, known[arguments.column]).attribute
    if attribute.counts is None:
        raise PolicyError(
            "Column {column} is numeric without bins, so it has no frequencies to begin with.",
            "Choose a categorical column.",
            column=arguments.column,
        )
    return Prior(arguments.column, attribute.frequencies)


def write_outcome(outcome: Outcome, folder: Path) -> tuple[Path, ...]:
    """Write the figure (PNG and SVG), its values (CSV) and the findings (JSON).

    Raises
    ------
    CannotWrite, DiskFull
        If a file can't be written.
    """
    style = light_style(register_fonts(resource_path("fonts")))
    contents = {
        "csv": table_of(outcome).to_csv(index=False, lineterminator="\n").encode(),
        "json": json.dumps(summary_of(outcome), ensure_ascii=False, indent=2).encode(),
    }
    for kind in ("png", "svg"):
        contents[kind] = exported(build_experiment(outcome, style), kind)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise refusal_to_write(error, folder) from None
    written = []
    for kind, content in contents.items():
        path = folder / f"{outcome.figure.value}.{kind}"
        write_whole(path, content)
        written.append(path)
    return tuple(written)


COMMAND = Command(_add_arguments, _run)
