"""Releases: whether they are ready, making them, and planning one that is made elsewhere."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
    override_for,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.engine.core.progress import Part, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.readiness import Readiness
    from sfumato.project.release.workers import ClassFacts

_WORDS: Final = (Sentence("DANGER"), Sentence("CAUTION"), Sentence("ok"))


def _run_check(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.findings import Finding, Severity
    from sfumato.analysis.readiness import checked_rows, plain
    from sfumato.project.errors import ReleaseError

    with opened_by_parts(arguments, terminal, 0.4) as (project, table, context):
        known = [recipient.name for recipient in project.document.recipients]
        for name in arguments.recipient:
            if name not in known:
                raise ReleaseError(
                    "The project has no recipient called {name}.",
                    "Its recipients are: {known}.",
                    name=name,
                    known=", ".join(known) or "none",
                )
        document = project.document
        rows = checked_rows(document, table, project.keys, project.remembered, context)
        found = rows.readiness(project.releases, document.accepted)
        if (changed := project.tampering) is not None:
            seal = Finding("Seal and ledger", Severity.GRAVE, changed.sentence, refuses=True)
            found = tuple(replace(each, findings=(seal, *each.findings)) for each in found)
    wanted = arguments.recipient or known
    chosen = [each for each in found if each.recipient in wanted]
    terminal.tell(arguments.json, plain(chosen), _lines_of_check(chosen, arguments.project))
    return ExitCode.CHECK_FAILED if any(each.standing for each in chosen) else ExitCode.OK


def _lines_of_check(found: Sequence[Readiness], project: Path) -> Iterator[str]:
    for each in found:
        ready = worded("not ready to release") if each.standing else worded("ready to release")
        yield f"{each.recipient}: {ready}"
        for one in each.findings:
            yield f"  {said(_WORDS[one.severity]):<7}  {said(one.check)}: {said(one.sentence)}"
            if one.reason:
                yield worded("           Accepted: {reason}", reason=one.reason)
            for remedy in one.remedies:
                yield f"           - {said(remedy.words)}"
                for part in remedy.parts or (remedy,):
                    if part.recipient:
                        level = f"{part.column}={part.level}"
                        told = shlex.join(
                            ["views", str(project), "--recipient", part.recipient, "--level", level]
                        )
                        yield f"             sfumato {told}"


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
            "let the engine count, before it makes the rows, the smallest class of records that"
            " look alike to the recipient (k), unique records, and l-diversity",
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


def _run_plan(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.guarantee import row_order_caution
    from sfumato.analysis.readiness import accepted_for, settle
    from sfumato.project.release.release import make_plan

    name = arguments.recipient
    with opened_by_parts(arguments, terminal, 0.3, read_only=False) as (project, table, whole):
        cautions = row_order_caution(project.document)
        checked = settle(project, table, [name], arguments.accept, Part(whole, 0.0, 0.6))
        record = make_plan(
            project,
            table,
            name,
            arguments.out,
            arguments.keys,
            Part(whole, 0.6, 1.0),
            override=arguments.override,
            accepted=accepted_for(checked, name),
        )
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
