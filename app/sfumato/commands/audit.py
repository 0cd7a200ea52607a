"""What is learned from releases: weighing it, and reporting it to the data-protection officer."""

from __future__ import annotations

import os
from argparse import ArgumentParser, Namespace
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    argument,
    file_argument,
    flag,
    part_of,
    repeated,
)
from sfumato.commands.shared.groups import recipient_called
from sfumato.commands.shared.opening import MEMORY, opened_by_parts
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Part
from sfumato.formats.language import said, worded

if TYPE_CHECKING:
    from sfumato.analysis.all_rows import AllRows
    from sfumato.analysis.open_figures import OpenFigure
    from sfumato.analysis.person_found import Knowledge
    from sfumato.analysis.shown_columns import ShownColumns
    from sfumato.engine.core.progress import Context
    from sfumato.engine.generalization.others import HolderClasses
    from sfumato.engine.table.table import Attribute, Table
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.long_table import LongTable

_COALITION: Final = (
    repeated(
        "--with",
        "NAME",
        "a member of the coalition: a recipient, or who holds an adopted release; may be given"
        " several times",
        dest="members",
        required=True,
    ),
    flag("--released", "weigh what the ledger says was released, instead of what the policy plans"),
    JSON,
)
_BY: Final = repeated(
    "--by",
    "COLUMN",
    "a column whose values say which rows belong together, in place of those that look so; may be"
    " given several times",
    dest="columns",
)
_WHAT_IF: Final = argument(
    "--what-if",
    type=float,
    metavar="P",
    help="also weigh one more recipient at this level (for uniform retention, p)",
)


def _rows(arguments: Namespace, project: ProjectFile, table: Table | LongTable) -> AllRows:
    """Return all rows by the policy that is weighed: in force at the last release, or today's."""
    from sfumato.analysis.all_rows import rows_of

    folders = (project.path.parent,)
    return rows_of(_weighed(arguments, project), table, project.keys, folders, project.document)


def _columns(rows: AllRows, table: Table | LongTable, context: Context) -> ShownColumns:
    """Return what is known of the columns."""
    from sfumato.analysis.readiness import looked_through
    from sfumato.analysis.shown_columns import ShownColumns
    from sfumato.engine.table.table import Table

    if isinstance(table, Table):
        return ShownColumns(table)
    return looked_through(rows.document, table, rows.keys, context)[1]


def _coalition(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.coalitions import (
        plain,
        realized_plain,
        realized_sentences,
        report_coalition,
        sentences,
        weigh_held,
    )
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.open_columns import figures_beside, weigh_open_columns

    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        rows = _rows(arguments, project, table)
        columns = _columns(rows, table, Part(context, 0.0, 0.1))
        attributes = rows.attributes(Part(context, 0.1, 0.2))
        reports = report_coalition(
            rows.document,
            attributes,
            arguments.members,
            arguments.what_if,
            Part(context, 0.2, 0.5),
            project.releases,
            Basis.RELEASED if arguments.released else Basis.PLANNED,
        )
        findings = weigh_open_columns(rows.document, columns, Part(context, 0.5, 0.7))
        rest = Part(context, 0.7, 1.0)
        found = [
            (
                report,
                figures_beside(findings, report.answer.members[0], attributes),
                weigh_held(rows, report.answer.members, part_of(rest, at, len(reports))),
            )
            for at, report in enumerate(reports)
        ]
    terminal.tell(
        arguments.json,
        [
            plain(report) | {"realized": realized_plain(one)} | _figures(beside)
            for report, beside, one in found
        ],
        (
            line
            for report, beside, one in found
            for line in (*sentences(report), *_lines(beside), *realized_sentences(one))
        ),
    )
    return ExitCode.OK


def _numbers(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.open_columns import figures_beside, weigh_open_columns
    from sfumato.analysis.pooled_numbers import plain, pool_numbers, sentences

    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        rows = _rows(arguments, project, table)
        columns = _columns(rows, table, Part(context, 0.0, 0.1))
        attributes = rows.attributes(Part(context, 0.1, 0.2))
        found = pool_numbers(
            rows.document,
            attributes,
            arguments.members,
            Part(context, 0.2, 0.7),
            project.releases,
            Basis.RELEASED if arguments.released else Basis.PLANNED,
        )
        findings = weigh_open_columns(rows.document, columns, Part(context, 0.7, 1.0))
        told = [
            (pooled, figures_beside(findings, pooled.coalition.members[0], attributes))
            for pooled in found
        ]
    terminal.tell(
        arguments.json,
        [plain(pooled) | _figures(beside) for pooled, beside in told],
        (line for pooled, beside in told for line in (*sentences(pooled), *_lines(beside))),
    )
    return ExitCode.OK


def _units(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.all_rows import rows_of
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.pooled_rows import pooled_rows, repeated_units

    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        document = project.document
        units = repeated_units(table, Part(context, 0.0, 0.4), arguments.columns or ())
        rows = rows_of(document, table, project.keys, (project.path.parent,))
        attributes = rows.attributes(Part(context, 0.4, 0.7))
        basis = Basis.RELEASED if arguments.released else Basis.PLANNED
        pooling = Part(context, 0.7, 1.0)
        found = pooled_rows(document, attributes, units, project.releases, basis, pooling)
    lines = [one.sentence for one in found] or [
        worded(
            "No sensitive attribute of the policy is the same in all rows that share a value of"
            " another column."
        )
    ]
    terminal.tell(arguments.json, [one.plain() for one in found], lines)
    return ExitCode.OK


def _open(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.open_columns import answer_open_columns, plain, sentences
    from sfumato.analysis.readiness import looked_through
    from sfumato.analysis.shown_columns import ShownColumns
    from sfumato.engine.table.table import Table
    from sfumato.project.release.release_columns import attributes_of

    names = tuple(arguments.recipient or ())
    with opened_by_parts(arguments, terminal, 0.3) as (project, table, context):
        document, looking = project.document, Part(context, 0.0, 0.4)
        for name in names:
            recipient_called(document, name)
        columns: ShownColumns
        attributes: Mapping[str, Attribute]
        if isinstance(table, Table):
            columns, attributes = ShownColumns(table), attributes_of(document, table)
        else:
            _, columns, attributes = looked_through(document, table, project.keys, looking)
        answer = answer_open_columns(document, columns, attributes, Part(context, 0.4, 1.0))
    terminal.tell(arguments.json, plain(answer, names), sentences(answer, names))
    return ExitCode.OK


def _questions(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.all_rows import rows_of
    from sfumato.analysis.audit_answers import Asked, answers, subjects_of
    from sfumato.analysis.readiness import looked_at

    reading = opened_by_parts(arguments, terminal, 0.4)
    with reading as (project, table, context):
        looking = Part(context, 0.0, 0.3)
        seen = looked_at(project.document, table, project.keys, looking)
        document, columns, attributes = seen
        rows = rows_of(document, table, project.keys, (project.path.parent,))
        subjects = subjects_of(rows, attributes)
        asked = Asked(document, columns, attributes, project.releases, subjects)
        found = answers(asked, Part(context, 0.3, 1.0))
    told = [each.plain() for each in found]
    lines = (
        f"{one['question']}: {one['verdict'] or '–'}: {' '.join(filter(None, one['answer']))}"
        for one in told
    )
    terminal.tell(arguments.json, told, lines)
    return ExitCode.OK


def _person(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.find_person import find_person, other_tables
    from sfumato.analysis.holdings import Basis
    from sfumato.analysis.person_found import (
        found_sentence,
        meaning_sentences,
        plain,
        reasons_of,
    )

    basis = Basis.RELEASED if arguments.released else Basis.PLANNED
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
    lines = [
        found_sentence(found),
        *(f"  {said(each.sentence)}" for each in found.beliefs),
        *(f"  {said(sentence)}" for sentence in meaning_sentences(found)),
        *(reason.sentence for reason in reasons_of(document, found)),
    ]
    terminal.tell(arguments.json, plain(found), lines)
    return ExitCode.OK


def _weighed(arguments: Namespace, project: ProjectFile) -> Document:
    """Return the policy that is weighed: the one in force at the last release, or today's."""
    from sfumato.project.release.regenerate import released_last

    document = project.document
    return released_last(document, project.releases) if arguments.released else document


def _knowledge(
    arguments: Namespace,
    document: Document,
    table: Table,
    attributes: Mapping[str, Attribute],
    tables: Sequence[HolderClasses],
) -> Knowledge:
    """Return what the attacker has; of the table, the columns' types count."""
    from sfumato.analysis.person_found import Knowledge
    from sfumato.analysis.person_rows import fact_of

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
        name: _class_of(holders[name], text)
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


def _class_of(holder: HolderClasses, text: str) -> int:
    """Return which class of another holder's table shows these labels, parted by commas."""
    wanted = tuple(part.strip() for part in text.split(","))
    if wanted not in holder.labels:
        raise PolicyError(
            "The table of {holder} has no such class.",
            "Give what it shows of {columns}, parted by commas.",
            holder=holder.holder,
            columns=", ".join(holder.quasi_identifiers),
        )
    return holder.labels.index(wanted)


def _figures(beside: Sequence[OpenFigure]) -> dict[str, Any]:
    """Return what the most trusted member learns with the open columns, as JSON values."""
    return {"open columns": [figure.plain() for figure in beside]}


def _lines(beside: Sequence[OpenFigure]) -> Iterator[str]:
    """Return the same as lines below a coalition's."""
    from sfumato.analysis.open_columns import figure_sentences

    for sentence in figure_sentences(beside):
        yield f"  {said(sentence)}"


AUDITS: Final = {
    "questions": (
        "Answer the audit's questions in a sentence or two each.",
        Command((*PROJECT, MEMORY, JSON), _questions),
    ),
    "coalition": (
        "Weigh what recipients learn by pooling releases.",
        Command((*PROJECT, _COALITION[0], _WHAT_IF, *_COALITION[1:], MEMORY), _coalition),
    ),
    "numbers": (
        "Weigh how closely pooled releases tell numbers.",
        Command((*PROJECT, *_COALITION, MEMORY), _numbers),
    ),
    "units": (
        "Weigh what pooling the rows of one person or household restores.",
        Command((*PROJECT, _BY, *_COALITION[1:-1], MEMORY, JSON), _units),
    ),
    "person": (
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
                _COALITION[0],
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
                *_COALITION[1:],
            ),
            _person,
        ),
    ),
    "open": (
        "Weigh what the columns released unchanged tell of the sensitive ones.",
        Command(
            (
                *PROJECT,
                repeated("--recipient", "NAME", "may be repeated; without it, all"),
                MEMORY,
                JSON,
            ),
            _open,
        ),
    ),
}
"""What can be audited, with its summary; each is a command of its own."""


class _Audits:
    """The audits, one of which is named."""

    def add_to(self, parser: ArgumentParser) -> None:
        """Describe the audits to a parser."""
        below = parser.add_subparsers(dest="audit", metavar="AUDIT", title="audits", required=True)
        for name, (summary, audit) in AUDITS.items():
            described = below.add_parser(
                name, help=summary, description=summary, allow_abbrev=False
            )
            audit.add_to(described)


def _run_audit(arguments: Namespace, terminal: Terminal) -> ExitCode:
    return AUDITS[arguments.audit][1].run(arguments, terminal)


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
