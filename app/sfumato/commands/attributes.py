"""List the columns, or say what they are for and how they leave."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    flag,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, known_source, open_project
from sfumato.commands.shared.terminal import Terminal
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.language import said, translated, worded

if TYPE_CHECKING:
    from sfumato.engine.core.columns import Coding, ColumnSpec, Role
    from sfumato.project.document.model import Document
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.long_survey import Survey

_CODING: Final = {"bottom_code": "bottom", "top_code": "top", "round": "step"}
_AS_IT_IS: Final = "none"


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.project.release.long_survey import surveyed

    changes = any(getattr(arguments, name) for name in ("role", "pseudonym", "drop", *_CODING))
    if (arguments.shared or arguments.shared_by) and not arguments.pseudonym:
        terminal.note(worded("sfumato: --shared and --shared-by go with --pseudonym COLUMN"))
        return ExitCode.USAGE
    if changes:
        with open_project(arguments, terminal) as project, terminal.working() as context:
            found = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.8))
            document = _changed(project, surveyed(found), arguments, Part(context, 0.8, 1.0))
            project.save_document(document)
    else:
        with open_project(arguments, terminal, read_only=True) as project:
            document = project.document
    terminal.tell(arguments.json, [_plain(each) for each in document.columns], _lines(document))
    return ExitCode.OK


def _changed(
    project: ProjectFile, source: Survey, arguments: Namespace, context: Context
) -> Document:
    """Return the document with what the arguments say of its columns.

    Raises
    ------
    SfumatoError
        If there is no such column, role or recipient, or a column can't be what is said of it.
    """
    from sfumato.project.document.edits import with_coding, with_pseudonym

    document = _with_roles(project, source, arguments.role, Part(context, 0.0, 0.8))
    for name in arguments.drop:
        document = with_pseudonym(document, _identifying(document, name), None)
    for name in arguments.pseudonym:
        document = _with_pseudonym(document, name, arguments)
    coded: dict[str, dict[str, float | None]] = {}
    for option, setting in _CODING.items():
        for name, text in map(_pair, getattr(arguments, option)):
            coded.setdefault(name, {})[setting] = _number(name, text)
    for name, settings in coded.items():
        document = with_coding(document, name, _coding(_column(document, name), settings, source))
    source.check_weights(document, Part(context, 0.8, 1.0))
    return document


def _with_roles(
    project: ProjectFile, source: Survey, given: list[str], context: Context
) -> Document:
    """Return the document with the roles that were given, and the domains that these ask for."""
    from sfumato.engine.core.errors import SfumatoError
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.project.document.edits import needs_domain, with_roles

    document = project.document
    roles = [(_column(document, name).name, _role(name, role)) for name, role in map(_pair, given)]
    if not roles:
        return document
    try:
        known = source.attributes_of(document, Part(context, 0.0, 0.5))
    except SfumatoError:
        known = {}  # the policy says what is wrong with its settings
    for name, role in roles:
        document = with_roles(document, [name], role, known, KeyedNoise(project.keys))
    for spec in document.sensitive:
        if needs_domain(spec) and spec.name in source.columns:
            document = document.with_column(source.with_domain(spec))
    return source.with_once_drawn(document, project.document, Part(context, 0.5, 1.0))


def _with_pseudonym(document: Document, name: str, arguments: Namespace) -> Document:
    """Return the document with an identifying column that leaves as a pseudonym."""
    from sfumato.commands.shared.groups import recipient_called
    from sfumato.engine.core.columns import Pseudonym
    from sfumato.project.document.edits import with_pseudonym

    sharing = tuple(recipient_called(document, each).name for each in arguments.shared_by)
    pseudonym = Pseudonym(None if arguments.shared else sharing)
    return with_pseudonym(document, _identifying(document, name), pseudonym)


def _identifying(document: Document, name: str) -> str:
    """Return the name of a column; refuse one that does not identify."""
    from sfumato.engine.core.columns import Role

    role = _column(document, name).role
    if role is not Role.IDENTIFYING:
        raise PolicyError(
            "Column {column} has the role {role}: only what identifies is dropped, or leaves as a"
            " pseudonym.",
            "Give it that role as well: --role {column}=identifying",
            column=name,
            role=role.value,
        )
    return name


def _coding(spec: ColumnSpec, settings: dict[str, float | None], source: Survey) -> Coding | None:
    """Return how a column is coded from now on; what nothing was said of stays."""
    from sfumato.engine.core.columns import Coding

    wanted = replace(spec.coding or Coding(), **settings)
    coding = None if wanted == Coding() else wanted
    changed = replace(spec, coding=coding)
    if coding is not None and changed.coded is None:
        raise PolicyError(
            "Column {column} does not leave as numbers that are released unperturbed, so there is"
            " nothing to round or to cut off.",
            "Choose a numeric column without bins that is not sensitive.",
            column=spec.name,
        )
    changed.shown(source.column(spec.name))
    return coding


def _column(document: Document, name: str) -> ColumnSpec:
    names = [spec.name for spec in document.columns]
    if name in names:
        return document.column(name)
    from sfumato.project.rules.text import suggestion

    raise PolicyError("The project has no column {column}.", suggestion(name, names), column=name)


def _role(name: str, text: str) -> Role:
    from sfumato.engine.core.columns import Role

    try:
        return Role(text)
    except ValueError:
        raise PolicyError(
            "{role} is no role that column {column} can have.",
            "Choose one of: {known}.",
            role=text,
            column=name,
            known=", ".join(Role),
        ) from None


def _pair(text: str) -> tuple[str, str]:
    """Return a column and what is said of it from ``COLUMN=WHAT``."""
    name, _, said = text.rpartition("=")
    if not name or not said.strip():
        raise PolicyError(
            "{stated} is not of the form COLUMN=WHAT.", "Write, say, income=100000.", stated=text
        )
    return name, said.strip()


def _number(name: str, text: str) -> float | None:
    try:
        return None if text == _AS_IT_IS else float(text)
    except ValueError:
        raise PolicyError(
            "{text} is not a number to round column {column} or to cut it off by.",
            "Write a number, or none to leave the column as it is.",
            text=text,
            column=name,
        ) from None


def _lines(document: Document) -> Iterator[str]:
    for spec in document.columns:
        yield f"{spec.name}: {', '.join((spec.role, spec.kind, *map(said, _told(spec))))}"


def _told(spec: ColumnSpec) -> Iterator[str]:
    """Yield how a column leaves, where that is not as it is."""
    from sfumato.engine.core.wording import listed

    if spec.is_dropped:
        yield "dropped"
    if spec.as_pseudonym is not None:
        names = spec.as_pseudonym.shared_by
        shared = (
            translated("all") if names is None else listed(names) if names else translated("nobody")
        )
        yield worded("leaves as a pseudonym, shared by {shared}", shared=shared)
    if spec.binning is not None:
        yield worded("{names} bins", names=len(spec.binning.names))
    if spec.coded is not None:
        yield from spec.coded.sentences


def _plain(spec: ColumnSpec) -> dict[str, object]:
    """Return what is said of a column as plain JSON values."""
    from sfumato.project.rules.text import sharing

    return {
        "name": spec.name,
        "role": spec.role.value,
        "kind": spec.kind.value,
        "dropped": spec.is_dropped,
        "pseudonym": None if spec.as_pseudonym is None else sharing(spec.as_pseudonym),
        **{name: getattr(spec.coded, name, None) for name in _CODING.values()},
    }


ATTRIBUTES = Command(
    (
        *PROJECT,
        repeated(
            "--role",
            "COLUMN=ROLE",
            "what a column is for: identifying, quasi-identifier, sensitive, insensitive or weight;"
            " may be repeated, like all that name a column",
            default=[],
        ),
        repeated(
            "--pseudonym",
            "COLUMN",
            "let an identifying column leave as a pseudonym, each recipient's own",
            default=[],
        ),
        flag("--shared", "all recipients get the same pseudonyms"),
        repeated(
            "--shared-by",
            "NAME",
            "this recipient gets the same pseudonyms as the others named so",
            default=[],
        ),
        repeated("--drop", "COLUMN", "drop an identifying column again", default=[]),
        repeated(
            "--top-code",
            "COLUMN=NUMBER",
            "show larger numbers as this one; none shows them as they are",
            default=[],
        ),
        repeated(
            "--bottom-code",
            "COLUMN=NUMBER",
            "show smaller numbers as this one; none shows them as they are",
            default=[],
        ),
        repeated("--round", "COLUMN=STEP", "round to multiples of this; none does not", default=[]),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato attributes clinic.sfumato",
        "sfumato attributes clinic.sfumato --role w=weight --round w=1",
        'sfumato attributes clinic.sfumato --pseudonym id --shared-by "Clinic A" --shared-by "B"',
        "sfumato attributes clinic.sfumato --top-code income=100000 --round income=100",
    ),
)
