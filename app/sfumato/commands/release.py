"""Releases: whether they are ready, approving and making them, planning one that is made elsewhere.

And checking what was released: bundles and the ledger, and which releases a found file is from.
"""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    ACCEPT,
    APPROVER_VARIABLE,
    BY_PROJECT,
    JSON,
    PASSPHRASE,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    bundle_arguments,
    file_argument,
    flag,
    lines_of_verification,
    one_of,
    option,
    override_for,
    repeated,
    seal_as_check,
)
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import MEMORY, open_project, opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers, read_again
from sfumato.engine.core.wording import Sentence, in_quotes, set_apart
from sfumato.formats.language import day, moment, said, worded
from sfumato.project.errors import LedgerTampered

if TYPE_CHECKING:
    from sfumato.analysis.readiness.verdicts import Readiness
    from sfumato.project.approval import Approval
    from sfumato.project.document.model import TableSource
    from sfumato.project.project_file import ProjectFile
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


def _run_verify(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.verification.found import verify_file

    try:
        with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
            chain = seal_as_check(project.tampering)
            report = verify_file(project, table, arguments.bundle, context)
    except LedgerTampered as tampering:
        checks = [seal_as_check(tampering)]
        added: tuple[str, ...] = ()
        withdrawn = None
    else:
        checks, added = [chain, *report.checks], report.added
        withdrawn = None if report.release is None else report.release.withdrawn
    holds = all(check.holds for check in checks)
    terminal.tell(
        arguments.json,
        {
            "holds": holds,
            "checks": [
                {"title": check.title, "holds": check.holds, "finding": check.finding}
                for check in checks
            ],
            "added_files": list(added),
            "withdrawn": None if withdrawn is None else asdict(withdrawn),
        },
        lines_of_verification(checks),
    )
    return ExitCode.OK if holds else ExitCode.CHECK_FAILED


VERIFY = Command(
    (
        file_argument("bundle", "BUNDLE", "the bundle, folder or zip, or any file of one"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_verify,
    ("sfumato verify bundles/Clinic-Public-file --project clinic.sfumato",),
)


def _run_trace(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.answers import Severity
    from sfumato.analysis.disclosure.traced_files import answer_of_file

    with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
        found = answer_of_file(project, table, arguments.file, context)
    terminal.tell(arguments.json, found.plain("trace"), lines_of_answers([found]))
    return ExitCode.OK if found.verdict is Severity.GRAVE else ExitCode.CHECK_FAILED


TRACE = Command(
    (
        file_argument("file", "FILE", "the file that was found: a table or a bundle, also zipped"),
        BY_PROJECT,
        MEMORY,
        JSON,
        PASSPHRASE,
    ),
    _run_trace,
    ("sfumato trace found.csv --project clinic.sfumato",),
)


_DESCRIPTOR: Final = option(
    "--approver-passphrase-fd",
    "N",
    Sentence(
        "read the passphrase of who approves from file descriptor N (or set {variable})",
        variable=APPROVER_VARIABLE,
    ),
    type=int,
)


def _run_approvers(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.approval import add_approver, approvers, remove_approver

    asks = arguments.require or arguments.no_require
    changes = asks or arguments.add is not None or arguments.remove is not None
    with open_project(arguments, terminal, read_only=not changes) as project:
        if arguments.add is not None:
            given = arguments.approver_passphrase_fd, APPROVER_VARIABLE
            add_approver(project, arguments.add, terminal.new_passphrase(*given))
        if arguments.remove is not None:
            remove_approver(project, arguments.remove)
        if asks:
            needed = True if arguments.require else None
            project.save_document(replace(project.document, needs_approval=needed))
        known = _standing(project)
        names, needed = approvers(project), bool(project.document.needs_approval)
    plain = {
        "required": needed,
        "approvers": list(names),
        "approvals": {
            name: None if found is None else {"name": found.name, "at": found.recorded_at}
            for name, found in known.items()
        },
    }
    terminal.tell(arguments.json, plain, _approver_lines(needed, names, known))
    return ExitCode.OK


def _standing(project: ProjectFile) -> dict[str, Approval | None]:
    from sfumato.analysis.tables.generalized_table import PUBLIC
    from sfumato.project.approval import approvals

    document = project.document
    names = [each.name for each in document.recipients]
    return approvals(project, document, [PUBLIC] if document.is_published_only else names)


def _approver_lines(
    needed: bool, names: tuple[str, ...], known: dict[str, Approval | None]
) -> Iterator[str]:
    from datetime import datetime

    yield worded(
        "A second person approves each release."
        if needed
        else "Releases need no second person's approval."
    )
    yield from (worded("can approve: {name}", name=name) for name in names)
    for recipient, found in known.items() if needed else ():
        if found is None:
            yield worded("{recipient}: not approved", recipient=recipient)
            continue
        yield worded(
            "{recipient}: approved by {name}, {time} UTC",
            recipient=recipient,
            name=found.name,
            time=moment(datetime.fromisoformat(found.recorded_at)),
        )


APPROVERS = Command(
    (
        *PROJECT,
        one_of(
            option("--add", "NAME", "a person who can approve, with a passphrase of their own"),
            option("--remove", "NAME", "who can approve no more; their approvals lapse"),
        ),
        one_of(
            flag("--require", "let no release be made that no second person has approved"),
            flag("--no-require", "ask for no approval any more"),
        ),
        _DESCRIPTOR,
        JSON,
    ),
    _run_approvers,
    (
        "sfumato approvers clinic.sfumato",
        'sfumato approvers clinic.sfumato --add "Grace Hopper" --require',
    ),
)


def _run_approve(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.approval import approve, approve_contents, approvers
    from sfumato.project.count_tables.making import content_of_counts
    from sfumato.project.errors import ReleaseError

    if bool(arguments.column) != (arguments.epsilon is not None):
        terminal.note("A table of counts is approved by --column and --epsilon together.")
        return ExitCode.USAGE
    with open_project(arguments, terminal) as project:
        name, names = arguments.name, approvers(project)
        if name is None and len(names) == 1:
            (name,) = names
        if name is None:
            raise ReleaseError(
                "It is not said who approves.",
                "Say it by --name; sfumato approvers lists who can.",
            )
        passphrase = terminal.approvers_passphrase(name, arguments.approver_passphrase_fd)
        if arguments.column:
            recipient = recipient_called(project.document, arguments.recipient)
            wanted = (arguments.column, recipient, arguments.epsilon)
            approve_contents(project, [content_of_counts(project, *wanted)], name, passphrase)
        else:
            approve(project, [arguments.recipient], name, passphrase)
    terminal.say(
        "{name} approves the release to {recipient} as it would be made now.",
        name=name,
        recipient=arguments.recipient,
    )
    return ExitCode.OK


APPROVE = Command(
    (
        *PROJECT,
        argument("recipient", metavar="RECIPIENT", help="whose release is approved"),
        option("--name", "NAME", "who approves; not needed where only one person can"),
        repeated("--column", "COLUMN", "approve a table of counts by this column, and others"),
        option("--epsilon", "E", "the ε of that table of counts", type=float),
        _DESCRIPTOR,
    ),
    _run_approve,
    (
        'sfumato approve clinic.sfumato "Public file" --name "Grace Hopper"',
        'sfumato approve clinic.sfumato "Public file" --column sex --epsilon 0.5',
    ),
)
