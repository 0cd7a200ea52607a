"""Publish the generalized table and record it."""

from __future__ import annotations

from argparse import Namespace

from sfumato.commands.shared.command import (
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    bundle_arguments,
    file_argument,
    flag,
)
from sfumato.commands.shared.groups import POPULATION, changes_population, with_population
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.engine.core.progress import Part


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.project.publication.continued import publish_further
    from sfumato.project.publication.followed import edition_told
    from sfumato.project.publication.publish import publish_table
    from sfumato.project.release.uniqueness import alone_from, publication_limits

    with opened_by_parts(arguments, terminal, 0.2, read_only=False) as (project, table, context):
        cautions = row_order_caution(project.document)
        if changes_population(arguments):
            known = with_population(project.document, arguments, Part(context, 0.0, 0.0))
            project.save_document(known)
        given = (project, table, arguments.out, arguments.format, context, arguments.zip)
        options = {
            "override": arguments.override,
            "escape_formulas": not arguments.keep_formulas,
            "dcat": arguments.dcat,
        }
        if arguments.counterfeits:
            outcome = publish_further(*given, **options)
        else:
            outcome = publish_table(*given, earlier=arguments.earlier, **options)
        told = outcome.record.details["alone"]
        limits = publication_limits(
            project.document, alone_from(told) if told else None, advice=True
        )
    terminal.say(str(outcome.path))
    edition = edition_told(outcome.record)
    for remark in (*([] if edition is None else [edition]), *limits, *cautions):
        terminal.note(remark)
    return ExitCode.OK


PUBLISH = Command(
    (
        *PROJECT,
        *bundle_arguments("publish beside releases that it contradicts"),
        file_argument(
            "--earlier",
            "BUNDLE",
            "the bundle of the earlier edition: this one may follow if both together leave enough",
        ),
        flag(
            "--counterfeits",
            "follow the earlier editions at their levels: who came enters in groups, the records"
            " of who left stay as counterfeits, and are counted",
        ),
        POPULATION,
        MEMORY,
    ),
    _run,
    (
        "sfumato publish clinic.sfumato --out public",
        "sfumato publish clinic.sfumato --out public --earlier public/generalized-1a2b3c4d-csv",
        "sfumato publish clinic.sfumato --out public --counterfeits",
    ),
)
