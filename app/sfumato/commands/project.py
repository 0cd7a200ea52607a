"""What a project holds: rules, source table, its next edition, order, terms, ledger, passphrase."""

from __future__ import annotations

import math
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    JSON,
    NEW_PASSPHRASE_VARIABLE,
    PROJECT,
    RECOVERY_VARIABLE,
    Command,
    ExitCode,
    Terminal,
    argument,
    file_argument,
    flag,
    one_of,
    option,
    seal_as_check,
)
from sfumato.commands.shared.opening import (
    MEMORY,
    READING,
    known_source,
    open_project,
    read_text,
    stated_reading,
    tell_versions,
)
from sfumato.commands.shared.remarks import lines_of
from sfumato.engine.core.progress import Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, worded
from sfumato.project.errors import LedgerTampered

if TYPE_CHECKING:
    from sfumato.project.ledger import Entry


def _run_rules(arguments: Namespace, terminal: Terminal) -> ExitCode:
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
    terminal.note("The rules are applied.")
    return ExitCode.OK


RULES = Command(
    (
        *PROJECT,
        file_argument("--apply", "RULES", "apply a rules file in place of printing them"),
        MEMORY,
    ),
    _run_rules,
    (
        "sfumato rules clinic.sfumato > clinic.toml",
        "sfumato rules clinic.sfumato --apply clinic.toml",
    ),
)


def _run_source(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.reading import Note, place_of
    from sfumato.project.source import accept_edition, locate_source, open_table

    read_only = arguments.moved_to is None and arguments.new_edition is None
    if arguments.new_edition is None and stated_reading(arguments):
        terminal.note("How a table is read is stated with --new-edition.")
        return ExitCode.USAGE
    notes: list[Note] = []
    with open_project(arguments, terminal, read_only) as project:
        with terminal.working() as context:
            if arguments.moved_to is not None:
                place = place_of(arguments.moved_to)
                remembered = project.remembered
                document = locate_source(project.document, place, context, remembered)
                project.save_document(document)
            elif arguments.new_edition is not None:
                edition = place_of(arguments.new_edition)
                stated = stated_reading(arguments)
                accept_edition(project, edition, context, notes.append, stated=stated)
            else:
                table = open_table(project, math.inf, context)
                tell_versions(project, table, terminal, context)
        source = project.document.source
    for line in lines_of(notes, source.options if source else {}):
        terminal.note(line)
    if source is not None:
        terminal.say(
            worded(
                "{path}\n{rows:,} {rows:record|records}, SHA-256 {digest}",
                path=source.path,
                rows=source.rows,
                digest=source.digest,
            )
        )
    return ExitCode.OK


SOURCE = Command(
    (
        *PROJECT,
        one_of(
            option("--moved-to", "FILE", "the same table stands there now"),
            option(
                "--new-edition",
                "FILE",
                "this edition takes the table's place; it may be the same file or database,"
                " changed, or the same table read otherwise by the options below",
            ),
        ),
        READING,
    ),
    _run_source,
    (
        "sfumato source clinic.sfumato",
        "sfumato source clinic.sfumato --new-edition clinic-december.csv",
        "sfumato source clinic.sfumato --new-edition clinic.csv --column-type postcode=text",
    ),
    reads=lambda arguments: arguments.new_edition is not None,
)


def _run_row_order(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE

    reason = arguments.as_in_table
    if reason is not None and not reason.strip():
        terminal.note("sfumato: --as-in-table needs a reason")
        return ExitCode.USAGE
    changes = reason is not None or arguments.random
    with open_project(arguments, terminal, read_only=not changes) as project:
        document = project.document
        if changes:
            document = replace(document, rows_as_in_table=(reason or "").strip())
            project.save_document(document)
    if document.rows_as_in_table:
        terminal.say(
            "Rows are released in the table's order: {rows_as_in_table}",
            rows_as_in_table=document.rows_as_in_table,
        )
        terminal.note(ROWS_AS_IN_TABLE)
    else:
        terminal.say("Every release has a random row order of its own.")
    return ExitCode.OK


ROW_ORDER = Command(
    (
        *PROJECT,
        one_of(
            option(
                "--as-in-table",
                "REASON",
                "keep the rows in the table's order; the ledger keeps the reason",
            ),
            flag("--random", "give every release a random row order of its own (the default)"),
        ),
    ),
    _run_row_order,
    (
        "sfumato row-order clinic.sfumato",
        'sfumato row-order clinic.sfumato --as-in-table "The registry joins by row number"',
    ),
)


def _run_ledger(arguments: Namespace, terminal: Terminal) -> ExitCode:
    with open_project(arguments, terminal, read_only=True) as project:
        tampering = project.tampering
        try:
            entries = project.ledger.entries
            withdrawn = {r.number: r.withdrawn.number for r in project.releases if r.withdrawn}
        except LedgerTampered:
            entries, withdrawn = (), {}
    chain = seal_as_check(tampering)
    plain = {
        "holds": chain.holds,
        "entries": [
            {
                "number": entry.number,
                "recorded_at": entry.recorded_at,
                "kind": str(entry.kind),
                "details": dict(entry.details),
                **_withdrawn_by(entry, withdrawn),
            }
            for entry in entries
        ],
    }
    lines = (_line_of(entry, withdrawn.get(entry.number)) for entry in entries)
    terminal.tell(arguments.json, plain, lines)
    terminal.note(chain.finding)
    return ExitCode.OK if chain.holds else ExitCode.CHECK_FAILED


def _withdrawn_by(entry: Entry, withdrawn: Mapping[int, int]) -> dict[str, int]:
    """Return by which entry a release was withdrawn; nothing where it was not."""
    return {"withdrawn_by": withdrawn[entry.number]} if entry.number in withdrawn else {}


_TOLD: Final = ("recipient", "approver", "holder", "target", "reason")


def _line_of(entry: Entry, withdrawn: int | None) -> str:
    """Return an entry as one line: number, time, kind, what it is about, whether withdrawn."""
    about = [entry.details.get(key) for key in _TOLD]
    state = "" if withdrawn is None else worded("(withdrawn by entry {number})", number=withdrawn)
    shown = "  ".join(str(part) for part in (*about, *_adopted(entry), state) if part)
    return f"{entry.number:>4}  {entry.recorded_at}  {entry.kind:<18}  {shown}".rstrip()


def _adopted(entry: Entry) -> list[str]:
    """Return what an adoption is of: attribute, level, place on the ladder, and file."""
    from sfumato.project.document.adopted_files import AdoptedFile
    from sfumato.project.ledger import EntryKind

    if entry.kind != EntryKind.ADOPTED:
        return []
    try:
        file = AdoptedFile.from_dict(entry.details["release"])
    except (KeyError, TypeError, ValueError, AttributeError):
        return []  # written by another version
    place = worded("on the ladder") if file.rung else worded("beside the ladder")
    return [
        worded(
            "{get} at {level:g}, {place}",
            get=entry.details.get("attribute", ""),
            level=file.level,
            place=place,
        ),
        file.file,
    ]


LEDGER = Command((*PROJECT, JSON), _run_ledger, ("sfumato ledger clinic.sfumato",))


_SEALED: Final = "The project matches its seal."
_ADVICE: Final = (
    "Inspect it first with sfumato rules, recipients and ledger. If you have a copy from before"
    " the change, use that; --accept REASON accepts the project as it stands."
)


def _run_seal(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.project_file import ProjectFile

    passphrase = terminal.passphrase(arguments.passphrase_fd)
    reason = arguments.accept.strip()
    with ProjectFile.open(arguments.project, passphrase, read_only=True) as project:
        tampering = project.tampering
    if not reason or tampering is None:
        for finding in () if tampering is None else tampering.findings:
            terminal.say(f"{finding.part.value}: {said(finding.what)}")
        terminal.note(_SEALED if tampering is None else _ADVICE)
        return ExitCode.OK if tampering is None else ExitCode.CHECK_FAILED
    with ProjectFile.open(arguments.project, passphrase, accepting=reason) as project:
        for finding in project.accepted:
            terminal.say("accepted: {what}", what=said(finding.what))
    terminal.note("The project is sealed as it stands, and its ledger says so.")
    return ExitCode.OK


SEAL = Command(
    (
        *PROJECT,
        option(
            "--accept",
            "REASON",
            "accept the project as it stands although it does not match its seal; the ledger"
            " keeps the reason and the findings",
            default="",
        ),
    ),
    _run_seal,
    (
        "sfumato seal clinic.sfumato",
        'sfumato seal clinic.sfumato --accept "Restored from the backup of 3 March"',
    ),
)


def _run_passphrase(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.recovery_sheet import recover
    from sfumato.project.store.recovery_code import RecoveryCode

    given = arguments.new_passphrase_fd, NEW_PASSPHRASE_VARIABLE
    if arguments.recovery or arguments.recovery_fd is not None:
        code = terminal.recovery_code(arguments.recovery_fd)
        RecoveryCode(code)  # before anything else is asked
        new = terminal.new_passphrase(*given)
        recover(arguments.project, code, new).close()
        terminal.note("The passphrase has been reset. The recovery sheet stays valid.")
    else:
        old = terminal.passphrase(arguments.passphrase_fd)
        with ProjectFile.open(arguments.project, old) as project:
            new = terminal.new_passphrase(*given)
            project.change_passphrase(old, new)
        terminal.note("The passphrase is changed. Copies of the project keep the old one.")
    terminal.remark_on(new)
    return ExitCode.OK


PASSPHRASE = Command(
    (
        *PROJECT,
        option(
            "--new-passphrase-fd",
            "N",
            Sentence(
                "read the new passphrase from file descriptor N (or set {NEW_PASSPHRASE_VARIABLE})",
                NEW_PASSPHRASE_VARIABLE=NEW_PASSPHRASE_VARIABLE,
            ),
            type=int,
        ),
        flag("--recovery", "open the project by the code of its recovery sheet"),
        option(
            "--recovery-fd",
            "N",
            Sentence(
                "read that code from file descriptor N (or set {variable})",
                variable=RECOVERY_VARIABLE,
            ),
            type=int,
        ),
    ),
    _run_passphrase,
    ("sfumato passphrase clinic.sfumato", "sfumato passphrase clinic.sfumato --recovery"),
)


def _run_recovery_sheet(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.project_file import ProjectFile
    from sfumato.report.recovery_page import check_ending, save_sheet

    path = arguments.out
    check_ending(path)
    passphrase = terminal.passphrase(arguments.passphrase_fd)
    with ProjectFile.open(arguments.project, passphrase) as project:
        save_sheet(project, passphrase, path)
    terminal.say(str(path.absolute()))
    terminal.note(
        "Print it, lock it away, and delete the file: whoever has it and the project can tell which"
        " released values are true. Earlier sheets no longer open the project."
    )
    return ExitCode.OK


RECOVERY_SHEET = Command(
    (
        *PROJECT,
        file_argument("--out", "FILE", "the sheet, a new file: .html or .txt", required=True),
    ),
    _run_recovery_sheet,
    ("sfumato recovery-sheet clinic.sfumato --out sheet.html",),
)


# ----- what recipients may do with releases: shown, or stated for every release to come


def _run_terms(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.formats.language import said, worded
    from sfumato.formats.terms import TERM_TITLES, ReleaseTerms

    stated = {name: getattr(arguments, name) for name in TERM_TITLES}
    given = {name: text.strip() for name, text in stated.items() if text is not None}
    with open_project(arguments, terminal, read_only=not given) as project:
        terms = project.document.terms or ReleaseTerms()
        if given:
            terms = replace(terms, **given)
            project.save_document(replace(project.document, terms=terms.or_none))
    plain = dict(terms.stated)
    lines = [f"{said(TERM_TITLES[name])}: {text}" for name, text in plain.items()]
    nothing = worded("No terms are stated: the README tells recipients to ask you.")
    terminal.tell(arguments.json, plain, iter(lines or [nothing]))
    return ExitCode.OK


TERMS = Command(
    (
        *PROJECT,
        option("--controller", "NAME", "who is responsible for the table"),
        option("--purpose", "TEXT", "what releases may be used for"),
        option("--conditions", "TEXT", "what recipients have to keep to"),
        option("--valid-until", "DAY", "the last day on which releases may be used, as 2027-12-31"),
        option("--contact", "TEXT", "whom recipients ask"),
        JSON,
    ),
    _run_terms,
    (
        "sfumato terms clinic.sfumato",
        'sfumato terms clinic.sfumato --purpose "Research on housing" --valid-until 2027-12-31',
        'sfumato terms clinic.sfumato --valid-until ""',
    ),
)


# ----- the next edition of a project's table: what it changes, and taking it


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.editions.next_edition import edition_answer
    from sfumato.commands.shared.remarks import lines_of_answers
    from sfumato.formats.reading import Note, place_of
    from sfumato.project.next_edition import look_at_edition, take_edition

    place, stated = place_of(arguments.table), stated_reading(arguments)
    before = None if arguments.before is None else place_of(arguments.before)
    looking = arguments.dry_run
    notes: list[Note] = []
    with open_project(arguments, terminal, read_only=looking) as project:
        with terminal.working() as context:
            part = Part(context, 0.0, 0.6)
            changes = look_at_edition(project, place, part, stated, before)
            answer = edition_answer(project.document, project.releases, changes)
            if not looking:
                memory, rest = arguments.memory * 1e6, Part(context, 0.6, 1.0)
                take_edition(project, place, changes, rest, notes.append, memory, stated)
        source = project.document.source
    plain = {**answer.plain("next edition"), "taken": not looking}
    terminal.tell(arguments.json, plain, lines_of_answers([answer]))
    for line in lines_of(notes, source.options if source else {}):
        terminal.note(line)
    terminal.note(
        worded("Nothing is saved.")
        if looking
        else worded("It has taken the table's place, and all that was decided goes on.")
    )
    return ExitCode.OK


NEXT = Command(
    (
        *PROJECT,
        argument("table", metavar="TABLE", help="the next edition: a file, or a database"),
        option(
            "--before",
            "FILE",
            "where the table of before is now, if neither at its place nor beside the project",
        ),
        flag("--dry-run", "say what it changes and take nothing"),
        READING,
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato next clinic.sfumato clinic-december.csv --dry-run",
        "sfumato next clinic.sfumato clinic-december.csv",
    ),
    reads=lambda _arguments: True,
)
