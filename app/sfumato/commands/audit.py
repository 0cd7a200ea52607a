"""What is learned from releases: weighing it, and reporting it to the data-protection officer."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

from sfumato.analysis.questions import all_questions
from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Argument,
    Command,
    ExitCode,
    Terminal,
    argument,
    file_argument,
    flag,
    repeated,
)
from sfumato.commands.shared.groups import ATTRIBUTE, KNOWS, recipient_called
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.commands.shared.remarks import lines_of_answers
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.all_rows import AllRows
    from sfumato.analysis.audit_inputs import AuditInputs
    from sfumato.analysis.disclosure.person_found import Knowledge
    from sfumato.analysis.questions.question import AskedNumber, AuditQuestion
    from sfumato.engine.core.progress import Context
    from sfumato.engine.generalization.others import HolderClasses
    from sfumato.engine.table.table import Attribute, Table
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.batched_table import BatchedTable

_MEMBERS: Final = repeated(
    "--with",
    "NAME",
    "a member of the coalition: a recipient, or who holds an adopted release; may be given"
    " several times",
    dest="members",
    required=True,
)
_RELEASED: Final = flag(
    "--released", "weigh what the ledger says was released, instead of what the policy plans"
)
RULES: Final = ("exact", "chernoff", "simplified")
_OPTIONS: Final = {
    "members": _MEMBERS,
    "any_members": repeated(
        "--with",
        "NAME",
        "a member of the coalition, in place of all recipients; may be given several times",
        dest="members",
    ),
    "released": _RELEASED,
    "by": repeated(
        "--by",
        "COLUMN",
        "a column whose values say which rows belong together, in place of those that look so; may"
        " be given several times",
        dest="by",
    ),
    "what_if": argument(
        "--what-if",
        type=float,
        metavar="P",
        help="also weigh one more recipient at this level (for uniform retention, p)",
    ),
    "attribute": ATTRIBUTE,
    "knows": KNOWS,
    "recipient": repeated("--recipient", "NAME", "may be repeated; without it, all"),
    "rule": argument("--rule", choices=RULES, help="the test (default: exact)"),
    "remedies": flag("--remedies", "also say what releasing less would change"),
    "in_class": repeated(
        "--class",
        "HOLDER=LABELS",
        "the person's class in the table of a holder, by what it shows, parted by commas; the"
        " holder of our own table is called ours; once for each table",
        dest="in_class",
        required=True,
    ),
}
"""What questions can be asked about, by the names that they ask for it."""


def _rows(arguments: Namespace, project: ProjectFile, table: BatchedTable) -> AllRows:
    """Return all rows by the policy that is weighed: in force at the last release, or today's."""
    from sfumato.analysis.all_rows import rows_of

    folders = (project.path.parent,)
    return rows_of(_weighed(arguments, project), table, project.keys, folders, project.document)


@contextmanager
def _asked(arguments: Namespace, terminal: Terminal) -> Iterator[tuple[AuditInputs, Context]]:
    """Open what questions are asked of."""
    from sfumato.analysis.audit_inputs import inputs_of
    from sfumato.analysis.coalitions.holdings import ReleaseBasis
    from sfumato.analysis.disclosure.record_losses import losses_by_records
    from sfumato.project.count_tables.held import count_tables_in

    given = vars(arguments)
    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        for name in given.get("recipient") or ():
            recipient_called(project.document, name)
        rows = _rows(arguments, project, table)
        attributes = rows.attributes(Part(context, 0.0, 0.2))
        inputs = inputs_of(rows, table, project.releases, attributes, given.get("by") or ())
        yield (
            replace(
                inputs,
                basis=ReleaseBasis.RELEASED if given.get("released") else ReleaseBasis.PLANNED,
                members=tuple(given.get("members") or ()),
                recipients=tuple(given.get("recipient") or ()),
                attribute=given.get("attribute") or "",
                knows=tuple(given.get("knows") or ()) or None,
                rule=given.get("rule") or "",
                remedies=bool(given.get("remedies")),
                what_if=given.get("what_if"),
                in_class=_classes(given.get("in_class") or ()),
                counts=count_tables_in(project.ledger.entries),
                losses=partial(losses_by_records, project, table),
            ),
            Part(context, 0.2, 1.0),
        )


def _classes(given: Sequence[str]) -> dict[str, str]:
    """Return what ``HOLDER=LABELS`` says of each holder."""
    return {holder: labels for holder, _, labels in (each.partition("=") for each in given)}


def answer_question(question: AuditQuestion, arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Answer one question."""
    given = vars(arguments)
    stated = {spec.name: given[spec.name] for spec in question.settings}
    settings = {name: value for name, value in stated.items() if value is not None}
    for spec in question.settings:
        spec.stated(settings)
    with _asked(arguments, terminal) as (inputs, context):
        found = list(question.answers(replace(inputs, settings=settings), context))
    told = [answer.plain(question.name) for answer in found]
    lines = lines_of_answers(found) if found else [question.nothing]
    alone = told[0] if told else {}
    terminal.tell(arguments.json, alone if question.alone else told, lines)
    return ExitCode.OK


def question_command(question: AuditQuestion, *examples: str) -> Command:
    """Return the command that answers a question."""
    return Command(
        (
            *PROJECT,
            *map(_OPTIONS.__getitem__, question.options),
            *map(_setting, question.settings),
            MEMORY,
            JSON,
        ),
        partial(answer_question, question),
        examples,
    )


def _setting(spec: AskedNumber) -> Argument:
    """Return the option for a number that a question is asked with."""
    told = Sentence("{gloss} (default: {usual:g})", gloss=spec.gloss, usual=spec.usual)
    kind = int if spec.whole else float
    return argument(f"--{spec.name}", dest=spec.name, type=kind, metavar="N", help=told)


def _questions(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.audit_answers import answers, unanswered

    with _asked(arguments, terminal) as (inputs, context):
        found = answers(inputs, context)
        left_out = unanswered(inputs.document, inputs.attributes)
    told = [answer.plain(name) for name, answer in found.items()]
    lines = (
        f"{name}: {'–' if one.verdict is None else said(one.verdict.word)}:"
        f" {' '.join(said(sentence) for sentence in one.sentences if sentence)}"
        for name, one in found.items()
    )
    terminal.tell(arguments.json, told, lines)
    for one in left_out:
        told_of = worded("sfumato: Left out: {name}.", name=one.recipient)
        terminal.note(f"{told_of} {said(one.sentence)}")
    return ExitCode.OK


def _person(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.coalitions.holdings import ReleaseBasis
    from sfumato.analysis.disclosure.find_person import find_person, other_tables
    from sfumato.analysis.disclosure.person_found import answer_of

    basis = ReleaseBasis.RELEASED if arguments.released else ReleaseBasis.PLANNED
    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        rows = _rows(arguments, project, table)
        document, decided = rows.document, rows.document.generalization
        attributes: Mapping[str, Attribute] = {}
        holders: Sequence[HolderClasses] = ()
        if arguments.believes or arguments.in_class:
            attributes = rows.attributes(Part(context, 0.0, 0.1))
        if arguments.in_class and decided is not None:
            holders = other_tables(document, attributes.get(decided.sensitive), context)
        known = _knowledge(arguments, document, rows.maker.table, attributes, holders)
        found = find_person(rows, known, project.releases, basis, Part(context, 0.1, 1.0))
    answer = answer_of(document, found)
    terminal.tell(arguments.json, answer.plain("person"), lines_of_answers([answer]))
    return ExitCode.OK


def _weighed(arguments: Namespace, project: ProjectFile) -> Document:
    """Return the policy that is weighed: the one in force at the last release, or today's."""
    from sfumato.project.release.regenerate import released_last

    document = project.document
    return (
        released_last(document, project.releases) if vars(arguments).get("released") else document
    )


def _knowledge(
    arguments: Namespace,
    document: Document,
    table: Table,
    attributes: Mapping[str, Attribute],
    tables: Sequence[HolderClasses],
) -> Knowledge:
    """Return what the attacker has; of the table, the columns' types count."""
    from sfumato.analysis.disclosure.person_found import Knowledge
    from sfumato.analysis.disclosure.person_rows import fact_of
    from sfumato.analysis.other_holders.class_beliefs import class_called

    known = {column.name: column for column in document.columns}
    facts = tuple(
        fact_of(known[name], table.column(name), text)
        for name, text in _stated(arguments.knows, "--knows", known)
    )
    believed: dict[str, dict[int, float]] = {}
    for name, text in _stated(arguments.believes, "--believes", attributes):
        value, _, share = text.rpartition("=")
        domain = attributes[name].domain
        if domain is None or value not in domain.names or not _is_share(share):
            raise PolicyError(
                "What --believes says of {column} can't be read.",
                "Write --believes COLUMN=VALUE=SHARE, the share from 0 to 1.",
                column=name,
            )
        believed.setdefault(name, {})[domain.names.index(value)] = float(share)
    holders = {each.holder: each for each in tables}
    classes = {
        name: class_called(holders[name], text)
        for name, text in _stated(arguments.in_class, "--class", holders)
    }
    return Knowledge(facts, tuple(arguments.members), believed, classes)


def _stated(
    given: Sequence[str] | None, flag_name: str, known: Collection[str]
) -> Iterator[tuple[str, str]]:
    """Return what ``NAME=TEXT`` says of each name."""
    for each in given or ():
        name = max((name for name in known if each.startswith(f"{name}=")), key=len, default=None)
        if name is None:
            raise PolicyError(
                "What {flag} says is of nothing that is known.",
                "Write NAME=TEXT; known are: {known}.",
                flag=flag_name,
                known=", ".join(known) or "none",
            )
        yield name, each[len(name) + 1 :]


def _is_share(text: str) -> bool:
    try:
        return 0.0 <= float(text) <= 1.0
    except ValueError:
        return False


def _audits() -> dict[str, tuple[str, Command]]:
    """Return what can be audited, with its summary; each is a command of its own."""
    return {
        "questions": (
            "Answer the audit's questions in a sentence or two each.",
            Command((*PROJECT, MEMORY, JSON), _questions),
        ),
        **{
            question.name: (
                question.summary,
                question_command(question),
            )
            for question in all_questions()
        },
        "person": _PERSON,
    }


_PERSON: Final = (
    "Play the attacker: which rows remain for somebody who knows a few things of a person.",
    Command(
        (
            *PROJECT,
            repeated(
                "--knows",
                "COLUMN=TEXT",
                "what is known: a value, several parted by |, 40 ± 2, 38 to 42, or 1980 for a"
                " date; may be given for several columns",
            ),
            _MEMBERS,
            repeated(
                "--believes",
                "COLUMN=VALUE=SHARE",
                "what is believed of a sensitive value beforehand, in place of its share in"
                " the table; may be given several times",
            ),
            repeated(
                "--class",
                "HOLDER=LABELS",
                "the person's class in another holder's table; may be given several times",
                dest="in_class",
            ),
            MEMORY,
            _RELEASED,
            JSON,
        ),
        _person,
    ),
)


class _Audits:
    """The audits, one of which is named."""

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe the audits to a parser."""
        below = parser.add_subparsers(dest="audit", metavar="AUDIT", title="audits", required=True)
        for name, (summary, audit) in _audits().items():
            told = said(summary)
            described = below.add_parser(name, help=told, description=told, allow_abbrev=False)
            audit.add_to(described)


def _run_audit(arguments: Namespace, terminal: Terminal) -> ExitCode:
    return _audits()[arguments.audit][1].run(arguments, terminal)


AUDIT = Command(
    (_Audits(),),
    _run_audit,
    (
        'sfumato audit coalition clinic.sfumato --with "Public file" --with "Study group"',
        'sfumato audit numbers clinic.sfumato --with "Public file" --json',
        "sfumato audit units clinic.sfumato",
        'sfumato audit person clinic.sfumato --with "Public file" --knows "age=40 ± 2"',
        "sfumato audit open clinic.sfumato",
    ),
)


AUDIENCES = ("internal", "outside")
THRESHOLD = 10


def _run_report(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from PySide6.QtGui import QGuiApplication

    from sfumato.project.store.files import utc_now
    from sfumato.report.material import Audience, ReportOptions, collect
    from sfumato.report.sections import compose
    from sfumato.report.writing import draw, picture_kind, write_report
    from sfumato.ui.look.theme import load_fonts

    kind = picture_kind(arguments.out)
    reading = opened_by_parts(arguments, terminal, 0.3)
    with reading as (project, table, context):
        material = collect(project, table, utc_now, Part(context, 0.0, 0.9))
    options = ReportOptions(Audience(arguments.audience), max(1, arguments.threshold))
    report = compose(material, options)
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    application = QGuiApplication.instance() or QGuiApplication(["sfumato"])
    load_fonts()
    write_report(report, [draw(picture, kind) for picture in report.pictures], arguments.out)
    del application  # it had to live as long as Qt laid out the pages
    terminal.say(str(arguments.out))
    return ExitCode.OK


REPORT = Command(
    (
        *PROJECT,
        file_argument("--out", "FILE", "the report: .html or .pdf", required=True),
        argument(
            "--for",
            dest="audience",
            choices=AUDIENCES,
            default=AUDIENCES[0],
            help="who may see it: your own house, or anyone (default: %(default)s)",
        ),
        argument(
            "--threshold",
            type=int,
            default=THRESHOLD,
            metavar="COUNT",
            help="the smallest count of records that outsiders are shown (default: %(default)s)",
        ),
        MEMORY,
    ),
    _run_report,
    (
        "sfumato report clinic.sfumato --out report.pdf",
        "sfumato report clinic.sfumato --out outside.html --for outside --threshold 20",
    ),
)
