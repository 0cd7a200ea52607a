"""Releases: whether they are ready, making them, and planning one that is made elsewhere."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Container, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    ACCEPT,
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    bundle_arguments,
    file_argument,
    flag,
    option,
    override_for,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, open_project, opened_by_parts
from sfumato.commands.shared.remarks import read_again
from sfumato.engine.core.wording import Sentence, in_quotes, set_apart
from sfumato.formats.language import day, said, worded

if TYPE_CHECKING:
    from sfumato.analysis.readiness.verdicts import Readiness
    from sfumato.project.document.model import TableSource
    from sfumato.project.release.workers import ClassFacts

_WORTHLESS: Final = Sentence("WORTHLESS")


def _run_check(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.readiness.readiness import plain
    from sfumato.analysis.releasing import check_project
    from sfumato.commands.shared.groups import names_of_recipients

    with opened_by_parts(arguments, terminal, 0.4) as (project, table, context):
        document = project.document
        named = names_of_recipients(project, arguments.recipient)
        found = check_project(project, table, context, named)
    chosen = [each for each in found if document.is_published_only or each.recipient in named]
    source = document.source
    lines = _lines_of_check(chosen, arguments.project, source, document.column_names)
    terminal.tell(arguments.json, plain(chosen), lines)
    if not chosen and not arguments.json:
        terminal.note("The project has no recipients yet.")
    return ExitCode.CHECK_FAILED if any(each.standing for each in chosen) else ExitCode.OK


def _lines_of_check(
    found: Sequence[Readiness],
    project: Path,
    source: TableSource | None,
    columns: Container[str],
) -> Iterator[str]:
    for each in found:
        ready = worded("not ready to release") if each.standing else worded("ready to release")
        if each.worthless:
            worthless = dict.fromkeys(one.columns[0] for one in each.worthless)
            names = ", ".join(said(in_quotes(name)) for name in worthless)
            ready = worded(
                "{ready}, and {columns} would be worthless"
                if each.standing
                else "{ready}, but {columns} would be worthless",
                ready=ready,
                columns=names,
            )
        yield f"{each.recipient}: {ready}"
        for one in each.findings:
            word = said(_WORTHLESS) if one.worthless else said(one.severity.word).upper()
            yield f"  {word:<9}  {said(one.check)}: {said(set_apart(one.sentence, columns))}"
            if one.reason:
                yield worded("             Accepted: {reason}", reason=one.reason)
            for remedy in one.remedies:
                yield f"             - {said(set_apart(remedy.words, columns))}"
                if remedy.reading is not None and source is not None:
                    yield f"               {read_again(project, source, remedy.reading)}"
                for part in remedy.parts or (remedy,):
                    if part.recipient:
                        level = f"{part.column}={part.level}"
                        told = shlex.join(
                            ["views", str(project), "--recipient", part.recipient, "--level", level]
                        )
                        yield f"               sfumato {told}"


CHECK = Command(
    (
        *PROJECT,
        repeated("--recipient", "NAME", "only for this one; may be given several times"),
        MEMORY,
        JSON,
    ),
    _run_check,
    (
        "sfumato check clinic.sfumato",
        'sfumato check clinic.sfumato --recipient "Public file" --json',
    ),
)


def _run_release(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.analysis.releasing import ReleaseOrder, make_releases
    from sfumato.commands.shared.engines import facts_here, lines_of_classes, rows_by
    from sfumato.project.errors import ReleaseError
    from sfumato.project.release.prepared import PreparedTable
    from sfumato.project.release.release import plan_of, sent_plan
    from sfumato.project.release.uniqueness import RELEASE_ADVICE, release_sentence

    recipients, engine = arguments.recipient, arguments.engine
    if engine and arguments.format not in ("csv", "parquet"):
        raise ReleaseError(
            "Files of this format are made in memory, which an engine's rows need not fit.",
            "Choose Parquet or CSV, or release without --engine.",
        )
    counted_here: dict[str, Mapping[str, ClassFacts]] = {}
    counted_by_engine: list[Mapping[str, ClassFacts]] = []
    with opened_by_parts(arguments, terminal, 0.15, read_only=False) as (project, table, whole):
        cautions = row_order_caution(project.document)
        prepared = PreparedTable(project, table)
        made_by = None
        if engine:
            tell = counted_by_engine.append if arguments.count_classes else None
            made_by = rows_by(prepared.table, engine, tell)
        elif arguments.count_classes:
            for name in dict.fromkeys(recipients):
                plan = plan_of(project, prepared, name, arguments.override, whole)
                counted_here[name] = facts_here(*sent_plan(project, plan, prepared), prepared.table)
        order = ReleaseOrder(
            tuple(recipients),
            arguments.out,
            arguments.format,
            as_zip=arguments.zip,
            override=arguments.override,
            escape_formulas=not arguments.keep_formulas,
            dcat=arguments.dcat,
        )
        releases = make_releases(project, prepared, order, arguments.accept, whole, made_by)
        for recipient, outcome in zip(recipients, releases, strict=True):
            terminal.say(str(outcome.path))
            for facts in (*counted_by_engine, counted_here.get(recipient, {})):
                for line in lines_of_classes(recipient, engine or "Sfumato", facts):
                    terminal.note(line)
            counted_by_engine.clear()
        people = [project.document.recipient(name) for name in dict.fromkeys(recipients)]
        counted = {found for each in people if (found := prepared.alone(whole, each)) is not None}
    unique = [release_sentence(found) for found in counted if found.alone]
    if unique:
        cautions = (*sorted(unique), RELEASE_ADVICE, *cautions)
    for caution in cautions:
        terminal.note(caution)
    return ExitCode.OK


RELEASE = Command(
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
            "count, before the rows are made, the smallest class of records that look alike to"
            " the recipient (k), unique records, and l-diversity; by the engine, if one is named",
        ),
    ),
    _run_release,
    (
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles',
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles --format sav --zip',
        'sfumato release clinic.sfumato --recipient "Public file" --out bundles --engine dask'
        " --count-classes",
    ),
)


def _run_withdraw(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.count_tables.making import count_table_called, withdraw_counts
    from sfumato.project.withdrawal import entry_that_prepared, release_called, withdraw

    with open_project(arguments, terminal) as project:
        counts = count_table_called(project, arguments.release)
        if counts is not None:
            withdraw_counts(project, counts.number, arguments.reason)
            recipient, recorded_at = counts.recipient, counts.recorded_at
        else:
            name = entry_that_prepared(project.ledger.entries, arguments.release)
            meant = release_called(project.releases, name)
            withdraw(project, meant, arguments.reason)
            recipient, recorded_at = meant.recipient, meant.recorded_at
    terminal.say(
        "The release to {recipient} of {day} is withdrawn.",
        recipient=recipient,
        day=day(datetime.fromisoformat(recorded_at)),
    )
    terminal.note(
        "Ask the recipient to delete it: nobody can take back what they know, so it goes on"
        " counting."
    )
    return ExitCode.OK


WITHDRAW = Command(
    (
        *PROJECT,
        argument(
            "release",
            metavar="RELEASE",
            help="the number of its ledger entry, or the beginning of its identifier",
        ),
        option(
            "--reason",
            "REASON",
            "what was wrong with it; the ledger and the report keep that",
            required=True,
        ),
    ),
    _run_withdraw,
    ('sfumato withdraw clinic.sfumato 12 --reason "Made from the wrong extract"',),
)


def _run_plan(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.analysis.releasing import release_as_plan

    with opened_by_parts(arguments, terminal, 0.3, read_only=False) as (project, table, whole):
        cautions = row_order_caution(project.document)
        name, reason = arguments.recipient, arguments.accept
        files = arguments.out, arguments.keys
        record = release_as_plan(project, table, name, files, reason, whole, arguments.override)
    terminal.say(str(record.target))
    terminal.say(str(arguments.keys.absolute()))
    for caution in cautions:
        terminal.note(caution)
    terminal.note(
        "Whoever holds the key file can tell which released values are true: treat it like the"
        " data. The ledger counts the two files as a release."
    )
    return ExitCode.OK


PLAN = Command(
    (
        *PROJECT,
        argument("--recipient", metavar="NAME", required=True, help="for whom"),
        file_argument("--out", "FILE", "the plan, which holds no secret", required=True),
        file_argument(
            "--keys",
            "FILE",
            "the keys of this plan alone; only you can read the file",
            required=True,
        ),
        override_for("release a column otherwise than before"),
        ACCEPT,
        MEMORY,
    ),
    _run_plan,
    ('sfumato plan clinic.sfumato --recipient "Public file" --out plan.json --keys keys.bin',),
)
