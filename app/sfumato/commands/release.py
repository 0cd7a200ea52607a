"""Make a recipient's bundle and record it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sfumato.commands.shared.command import (
    ACCEPT,
    PROJECT,
    Command,
    ExitCode,
    argument,
    bundle_arguments,
    flag,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part, one_by_one

if TYPE_CHECKING:
    from sfumato.project.release.workers import ClassFacts


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.analysis.readiness import accepted_for, settle
    from sfumato.commands.shared.engines import lines_of_classes, rows_by
    from sfumato.project.errors import ReleaseError
    from sfumato.project.release.prepared import PreparedTable
    from sfumato.project.release.release import make_release
    from sfumato.project.release.uniqueness import RELEASE_ADVICE, release_sentence

    recipients, engine = arguments.recipient, arguments.engine
    if engine and arguments.format not in ("csv", "parquet"):
        raise ReleaseError(
            "Files of this format are made in memory, which an engine's rows need not fit.",
            "Choose Parquet or CSV, or release without --engine.",
        )
    if arguments.count_classes and not engine:
        raise ReleaseError(
            "Without an engine there is none that counts classes.",
            "Name one: --engine dask. What the project counts itself, sfumato check says.",
        )
    counted_by_engine: list[Mapping[str, ClassFacts]] = []
    with opened_by_parts(arguments, terminal, 0.15, read_only=False) as (project, table, whole):
        cautions = row_order_caution(project.document)
        checked = settle(project, table, recipients, arguments.accept, Part(whole, 0.0, 0.1))
        context = Part(whole, 0.1, 1.0)
        prepared = PreparedTable(project, table)
        made_by = None
        if engine:
            tell = counted_by_engine.append if arguments.count_classes else None
            made_by = rows_by(prepared.table, engine, tell)
        for recipient, part in one_by_one(context, recipients):
            outcome = make_release(
                project,
                table,
                recipient,
                arguments.out,
                arguments.format,
                part,
                as_zip=arguments.zip,
                override=arguments.override,
                escape_formulas=not arguments.keep_formulas,
                dcat=arguments.dcat,
                prepared=prepared,
                accepted=accepted_for(checked, recipient),
                rows_by=made_by,
            )
            terminal.say(str(outcome.path))
            for facts in counted_by_engine:
                for line in lines_of_classes(recipient, engine, facts):
                    terminal.note(line)
            counted_by_engine.clear()
        people = [project.document.recipient(name) for name in dict.fromkeys(recipients)]
        counted = {found for each in people if (found := prepared.alone(context, each)) is not None}
    unique = [release_sentence(found) for found in counted if found.alone]
    if unique:
        cautions = (*sorted(unique), RELEASE_ADVICE, *cautions)
    for caution in cautions:
        terminal.note(caution)
    return ExitCode.OK


COMMAND = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "for whom; may be given several times", required=True),
        *bundle_arguments("release a column otherwise than before"),
        ACCEPT,
        MEMORY,
        argument(
            "--engine",
            choices=("dask", "spark"),
            help="let Dask or Spark make the released rows, the same ones, from the table's Parquet"
            " or CSV files, with a process for each core",
        ),
        flag(
            "--count-classes",
            "let the engine count, before it makes the rows, the smallest class of records that"
            " look alike to the recipient (k), unique records, and l-diversity",
        ),
    ),
    _run,
    (
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles',
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles --format sav --zip',
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles --engine dask'
        " --count-classes",
    ),
)
