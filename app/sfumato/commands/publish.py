"""Publish the generalized table and record it."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from sfumato.analysis.guarantee import row_order_caution
from sfumato.commands.shared.command import Command, ExitCode, add_bundle, add_project, open_project
from sfumato.commands.shared.files import source_of
from sfumato.commands.shared.population import add_population, changes_population, with_population
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.progress import Part
from sfumato.project.publication.publish import publish_table
from sfumato.project.release.uniqueness import alone_from, publication_limits


def _add_arguments(parser: ArgumentParser) -> None:
    add_project(parser)
    add_bundle(parser, "publish beside releases that it contradicts")
    add_population(parser)


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal) as project, terminal.working() as context:
        cautions = row_order_caution(project.document)
        table = source_of(project, Part(context, 0.0, 0.2))
        if changes_population(arguments):
            known = with_population(project.document, arguments, Part(context, 0.2, 0.2))
            project.save_document(known)
        outcome = publish_table(
            project,
            table,
            arguments.out,
            arguments.format,
            Part(context, 0.2, 1.0),
            as_zip=arguments.zip,
            override=arguments.override,
            escape_formulas=not arguments.keep_formulas,
        )
        told = outcome.record.details["alone"]
        limits = publication_limits(
            project.document, alone_from(told) if told else None, advice=True
        )
    terminal.say(str(outcome.path))
    for limit in limits:
        terminal.note(limit)
    for caution in cautions:
        terminal.note(caution)
    return ExitCode.OK


COMMAND = Command(_add_arguments, _run, ("sfumato publish clinic.sfumato --out public",))
