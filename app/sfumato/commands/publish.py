"""Publish the generalized table and record it."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import PROJECT, Command, ExitCode, Terminal, bundle_arguments
from sfumato.commands.shared.groups import POPULATION, changes_population, with_population
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.engine.core.progress import Part


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.project.publication.publish import publish_table
    from sfumato.project.release.uniqueness import alone_from, publication_limits

    with opened_by_parts(arguments, terminal, 0.2, read_only=False) as (project, table, context):
        cautions = row_order_caution(project.document)
        if changes_population(arguments):
            known = with_population(project.document, arguments, Part(context, 0.0, 0.0))
            project.save_document(known)
        outcome = publish_table(
            project,
            table,
            arguments.out,
            arguments.format,
            context,
            as_zip=arguments.zip,
            override=arguments.override,
            escape_formulas=not arguments.keep_formulas,
            dcat=arguments.dcat,
        )
        told = outcome.record.details["alone"]
        limits = publication_limits(
            project.document, alone_from(told) if told else None, advice=True
        )
    terminal.say(str(outcome.path))
    for remark in (*limits, *cautions):
        terminal.note(remark)
    return ExitCode.OK


PUBLISH = Command(
    (
        *PROJECT,
        *bundle_arguments("publish beside releases that it contradicts"),
        POPULATION,
        MEMORY,
    ),
    _run,
    ("sfumato publish clinic.sfumato --out public",),
)
