"""The policy: what protects each sensitive column, by which settings and levels; a whole plan."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sfumato.commands.shared.command import (
    JSON,
    PROJECT,
    Command,
    ExitCode,
    Terminal,
    flag,
    option,
    repeated,
)
from sfumato.commands.shared.opening import MEMORY, known_source, open_project, opened_by_parts
from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.progress import Context, Part
from sfumato.formats.language import localized, said, worded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sfumato.analysis.planning.plan import SafePlan
    from sfumato.engine.mechanisms.base import Mechanism, Statement
    from sfumato.engine.mechanisms.setting_specs import SettingSpec
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.engine.table.table import Attribute
    from sfumato.project.document.model import Document, PolicyEntry
    from sfumato.project.project_file import ProjectFile
    from sfumato.project.release.table_survey import Survey


def _usage(arguments: Namespace) -> str:
    """Return what is wrong with the arguments together; empty where nothing is."""
    changes = arguments.mechanism or arguments.set or arguments.remove
    if arguments.describe:
        return ""
    if changes and not arguments.column:
        return worded("name the column, or those protected together: --column COLUMN")
    if arguments.remove and (arguments.mechanism or arguments.set or arguments.level):
        return worded("--remove goes with no other statement")
    if arguments.best_matrix and (changes or arguments.level or not arguments.column):
        return worded("--best-matrix goes with --column COLUMN and no other statement")
    if bool(arguments.recipient) is not bool(arguments.level):
        return worded("--recipient NAME goes with --level TERM=NUMBER")
    return ""


def _run_policy(arguments: Namespace, terminal: Terminal) -> ExitCode:
    if wrong := _usage(arguments):
        terminal.note("sfumato: {wrong}", wrong=wrong)
        return ExitCode.USAGE
    if arguments.describe:
        described = list(_described(arguments.mechanism))
        plain = [_plain_mechanism(each) for each in described]
        terminal.tell(arguments.json, plain, _lines_of_settings(described))
        return ExitCode.OK
    if arguments.best_matrix:
        return _run_best_matrix(arguments, terminal)
    changes = bool(arguments.mechanism or arguments.set or arguments.remove or arguments.level)
    keeps = changes and not arguments.dry_run
    with open_project(arguments, terminal, read_only=not keeps) as project:
        document = project.document
        if changes:
            with terminal.working() as context:
                document = _changed(project, arguments, terminal, context)
        if keeps:
            project.save_document(document)
    shown = [_entry_of(document, arguments.column)] if arguments.column else document.policy
    entries = [entry for entry in shown if entry is not None]
    plain = [_plain_entry(document, entry) for entry in entries]
    terminal.tell(arguments.json, plain, _lines_of_entries(document, entries))
    if not document.policy and not arguments.json:
        terminal.note("The policy protects no column yet.")
    if changes and arguments.dry_run:
        terminal.note("Nothing was saved.")
    return ExitCode.OK


def _run_best_matrix(arguments: Namespace, terminal: Terminal) -> ExitCode:
    """Put the best matrix within limits into effect, and say what it keeps and is worth."""
    from sfumato.analysis.utility.best_matrix import offer_best_matrix
    from sfumato.analysis.utility.mechanism_choice import behind_source

    saves = not arguments.dry_run
    with open_project(arguments, terminal, read_only=not saves) as project:
        document = project.document
        entry = _required_entry(document, arguments.column)
        with terminal.working() as context:
            source = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.5))
            attribute = _attributes(document, entry.attributes, source)[0]
            behind = behind_source(document, source, project.keys, Part(context, 0.5, 0.6))
            offer = offer_best_matrix(document, entry, attribute, behind)
        if saves:
            project.save_document(offer.document)
    made = _required_entry(offer.document, arguments.column)
    plain = {**_plain_entry(offer.document, made), "best_matrix": offer.plain()}
    told = [said(offer.sentence), said(offer.about_levels)]
    terminal.tell(arguments.json, [plain], [*told, *_lines_of_entries(offer.document, [made])])
    if not saves:
        terminal.note("Nothing was saved.")
    return ExitCode.OK


# ----- what is changed


def _changed(
    project: ProjectFile, arguments: Namespace, terminal: Terminal, context: Context
) -> Document:
    """Return the document with what the arguments say of an entry and of levels.

    Raises
    ------
    SfumatoError
        If there is no such column, mechanism, setting or recipient, or one can't be met.
    """
    from sfumato.engine.randomness.noisy_statistics import KeyedNoise
    from sfumato.project.document.edits import without_entry

    document = project.document
    if arguments.remove:
        entry = _required_entry(document, arguments.column)
        return without_entry(document, entry.key)
    source = known_source(project, arguments.memory * 1e6, Part(context, 0.0, 0.7))
    noise = KeyedNoise(project.keys)
    if arguments.mechanism or arguments.set:
        document = _with_entry(document, arguments, source, noise)
    if arguments.column:
        concerned = [_required_entry(document, arguments.column)]
    else:
        concerned = list(document.policy)
    # Other sensitive columns may have no mechanism yet: they are set one after the other.
    known = {
        attribute.name: attribute
        for entry in concerned
        for attribute in _attributes(document, entry.attributes, source)
    }
    for name in arguments.recipient:
        document = _with_level(document, name, arguments, known, terminal)
    for entry in concerned:
        _tell_unmet(document, entry, known, terminal)
    return document


def _attributes(document: Document, names: Sequence[str], source: Survey) -> tuple[Attribute, ...]:
    """Return columns as a mechanism is given them."""
    from dataclasses import replace

    found = source.attributes([document.column(name) for name in names], document.unit)
    return tuple(replace(one, hierarchy=document.hierarchies.get(one.name)) for one in found)


def _with_entry(
    document: Document, arguments: Namespace, source: Survey, noise: KeyedNoise
) -> Document:
    """Return the document with another mechanism of an entry, or other settings."""
    from dataclasses import replace

    from sfumato.engine.mechanisms import mechanism_called
    from sfumato.project.document.edits import with_entry, without_entry
    from sfumato.project.document.model import PolicyEntry
    from sfumato.project.release.table_survey import completed_entry

    names = _sensitive(document, arguments.column)
    before = _entry_of(document, arguments.column)
    _refuse_part(document, names, arguments.mechanism)
    if before is None and not arguments.mechanism:
        raise PolicyError(
            "Nothing protects {columns} yet, so there is nothing to set.",
            "Choose a mechanism as well: --mechanism NAME",
            columns=" + ".join(names),
        )
    if arguments.mechanism:
        mechanism = _mechanism(arguments.mechanism)
    else:
        assert before is not None
        mechanism = mechanism_called(before.mechanism)
    same = before is not None and before.mechanism == mechanism.name
    attributes = _attributes(document, names, source)
    mechanism.check_attributes(attributes)
    if before is not None and same:
        settings, kept = dict(before.settings), before
    else:
        settings = dict(mechanism.default_settings(attributes))
        kept = PolicyEntry(names, mechanism.name, {})
    changes = _changes(mechanism, settings, arguments.set)
    wanted = mechanism.changed_settings(settings, changes)
    for name, value in changes.items():
        if value is None:
            wanted.pop(name)
    entry, stated = replace(kept, settings=wanted), wanted if same else changes
    made = completed_entry(document, entry, source, noise, stated)
    _refuse_idle(mechanism, changes, made)
    mechanism.check_settings(attributes, made.settings)
    if same:
        policy = tuple(made if entry is before else entry for entry in document.policy)
        return replace(document, policy=policy)
    for other in document.policy:
        if other is not before and set(other.attributes) <= set(names):
            document = without_entry(document, other.key)
    return with_entry(document, attributes, mechanism.name, made.settings)


def _changes(
    mechanism: Mechanism, settings: Mapping[str, Any], stated: Iterable[str]
) -> dict[str, Any]:
    """Return what ``NAME=VALUE`` and ``NAME.PART=VALUE`` say; None takes a setting away."""
    from sfumato.engine.mechanisms.setting_specs import NOTHING

    changes: dict[str, Any] = {}
    for text in stated:
        head = text.partition("=")[0]
        name, dot, _ = head.partition(".")
        part, mark, value = "", "=", text[len(head) + 1 :].strip()
        if dot:
            part, mark, value = text[len(name) + 1 :].rpartition("=")
        if not mark or "=" not in text or not value.strip():
            raise PolicyError(
                "{stated} is not of the form NAME=VALUE.", "Write, say, lowest=0.", stated=text
            )
        spec = _settable(mechanism, name.strip())
        if part:
            before = changes.get(spec.name, settings.get(spec.name))
            changes[spec.name] = spec.part_typed(part.strip(), value.strip(), before)
        else:
            changes[spec.name] = None if value == NOTHING else spec.typed(value)
    return changes


def _settable(mechanism: Mechanism, name: str) -> SettingSpec:
    """Return the description of a setting that a person may state."""
    from sfumato.project.rules.text import suggestion

    known = [spec.name for spec in mechanism.settings if spec.settable]
    if name not in known:
        made = [spec for spec in mechanism.settings if spec.name == name]
        if made:
            raise PolicyError(
                "The setting {name} can't be stated: {gloss}.",
                "State the settings that it follows from. {known}",
                name=name,
                gloss=said(made[0].gloss),
                known=suggestion(name, known),
            )
        raise PolicyError(
            "{mechanism} has no setting called {name}.",
            suggestion(name, known),
            mechanism=said(mechanism.title),
            name=name,
        )
    return mechanism.setting(name)


def _refuse_idle(mechanism: Mechanism, changes: Mapping[str, Any], made: PolicyEntry) -> None:
    """Refuse a setting that comes to nothing beside the others."""
    for name, value in changes.items():
        kept = mechanism.setting(name).becomes or name
        if value is not None and kept not in made.settings:
            raise PolicyError(
                "The setting {name} means nothing beside the others: {gloss}.",
                "Leave it out, or change the settings that it belongs to.",
                name=name,
                gloss=said(mechanism.setting(name).gloss),
            )


def _sensitive(document: Document, names: Sequence[str]) -> tuple[str, ...]:
    from sfumato.project.rules.text import suggestion

    known = [spec.name for spec in document.sensitive]
    for name in names:
        if name not in known:
            raise PolicyError(
                "{column} is not a sensitive column.", suggestion(name, known), column=name
            )
    return tuple(dict.fromkeys(names))


def _refuse_part(document: Document, names: Sequence[str], mechanism: str | None) -> None:
    """Refuse to protect part of what is protected together, or to lose an adopted release."""
    from sfumato.engine.mechanisms.adoption import adopted_in, on_no_ladder

    for name in names:
        entry = document.entry_for(name)
        if entry is not None and not set(entry.attributes) <= set(names):
            raise PolicyError(
                "{column} is protected together with others, as {entry}.",
                "Name all of them, or take this entry away first: --remove",
                column=name,
                entry=entry.key,
            )
        changes = mechanism not in {None, entry.mechanism} if entry is not None else False
        if entry is not None and changes and adopted_in(entry.settings):
            raise on_no_ladder(entry.key)


def _entry_of(document: Document, names: Sequence[str]) -> PolicyEntry | None:
    """Return the entry that protects just these columns, or the one that a single one is in."""
    for entry in document.policy:
        if set(entry.attributes) == set(names):
            return entry
    return document.entry_for(names[0]) if len(names) == 1 else None


def _required_entry(document: Document, names: Sequence[str]) -> PolicyEntry:
    found = _entry_of(document, _sensitive(document, names))
    if found is None:
        raise PolicyError(
            "Nothing protects {columns} together.",
            "Name the columns of one entry.",
            columns=" + ".join(names),
        )
    return found


def _mechanism(name: str) -> Mechanism:
    from sfumato.engine.mechanisms import all_mechanisms
    from sfumato.project.rules.text import suggestion

    if name not in all_mechanisms():
        raise PolicyError(
            "There is no mechanism {name}.", suggestion(name, all_mechanisms()), name=name
        )
    return all_mechanisms()[name]


def _with_level(
    document: Document,
    recipient: str,
    arguments: Namespace,
    known: Mapping[str, Attribute],
    terminal: Terminal,
) -> Document:
    """Return the document with a recipient's level for the entry, or for all."""
    from sfumato.commands.shared.groups import recipient_called
    from sfumato.project.document.edits import state_level

    name = recipient_called(document, recipient).name
    entry = _required_entry(document, arguments.column) if arguments.column else None
    statement = _statement(arguments.level, entry)
    stated = state_level(document, name, statement, known, [] if entry is None else [entry.key])
    for key, error in stated.refused.items():
        terminal.note("{key} keeps its level. {error}", key=key, error=error)
    return stated.document


def _statement(texts: Sequence[str], entry: PolicyEntry | None) -> Statement:
    """Return a level from ``TERM=NUMBER``, or from a number in the mechanism's first term."""
    from sfumato.commands.recipients import term_and_number
    from sfumato.engine.mechanisms import mechanism_called

    if entry is not None and len(texts) == 1 and "=" not in texts[0]:
        first = mechanism_called(entry.mechanism).terms[0]
        return dict([term_and_number(f"{first.fields[0].name}={texts[0]}")])
    return dict(term_and_number(text) for text in texts)


def _tell_unmet(
    document: Document, entry: PolicyEntry, known: Mapping[str, Attribute], terminal: Terminal
) -> None:
    """Say whose levels can't be met by what protects an entry now."""
    from sfumato.engine.core.errors import SfumatoError
    from sfumato.project.document.entry_plan import level_of

    for recipient in document.recipients:
        statement = recipient.statements.get(entry.key)
        if statement is None:
            continue
        try:
            level_of(document, entry, statement, known)
        except SfumatoError as error:
            terminal.note(
                "The level of {recipient} for {key} can't be met. {error}",
                recipient=recipient.name,
                key=entry.key,
                error=error,
            )


# ----- what is shown


def _described(name: str | None) -> Iterator[Mechanism]:
    from sfumato.engine.mechanisms import all_mechanisms

    yield from all_mechanisms().values() if name is None else (_mechanism(name),)


def _lines_of_settings(described: Iterable[Mechanism]) -> Iterator[str]:
    """Tell what can be set of mechanisms, and by which terms levels are stated."""
    for mechanism in described:
        yield f"{mechanism.name}: {said(mechanism.title)}"
        for spec in mechanism.settings:
            if spec.settable:
                usual = worded("; default: {usual}", usual=spec.told) if spec.told else ""
                yield f"  {spec.name}: {said(spec.expected)}{usual}"
                yield f"    {said(spec.gloss)}"
        for term in mechanism.terms:
            names = ", ".join(field.name for field in term.fields)
            yield worded("  level by {names}: {title}", names=names, title=said(term.title))


def _plain_mechanism(mechanism: Mechanism) -> dict[str, object]:
    """Return what can be set of a mechanism as plain JSON values."""
    return {
        "mechanism": mechanism.name,
        "settings": [
            {
                "name": spec.name,
                "title": spec.title,
                "is": str(spec.expected),
                "gloss": spec.gloss,
                "usual": spec.told or None,
            }
            for spec in mechanism.settings
            if spec.settable
        ],
        "levels": [[field.name for field in term.fields] for term in mechanism.terms],
    }


def _lines_of_entries(document: Document, entries: Iterable[PolicyEntry]) -> Iterator[str]:
    from sfumato.engine.mechanisms import mechanism_called

    for entry in entries:
        mechanism = mechanism_called(entry.mechanism)
        yield f"{entry.key}: {said(mechanism.title)} ({mechanism.name})"
        for spec in mechanism.settings:
            if spec.name in entry.settings:
                yield f"  {spec.name} = {_short(entry.settings[spec.name])}"
        for recipient in document.recipients:
            statement = recipient.statements.get(entry.key)
            levels = ", ".join(
                f"{name} = {localized(f'{value:g}')}" for name, value in (statement or {}).items()
            )
            yield f"  {recipient.name}: {levels or worded('no level yet')}"


def _short(value: Any) -> str:
    """Return a setting as rules have it, long lists cut short."""
    from sfumato.project.rules.text import toml_value

    most = 8
    if isinstance(value, list | tuple) and len(value) > most:
        return worded(
            "{first} and {more:,} more", first=toml_value(value[:most]), more=len(value) - most
        )
    return toml_value(value)


def _plain_entry(document: Document, entry: PolicyEntry) -> dict[str, object]:
    """Return an entry with its settings and everybody's level, as plain JSON values."""
    return {
        "attributes": list(entry.attributes),
        "mechanism": entry.mechanism,
        "settings": dict(entry.settings),
        "levels": {
            recipient.name: dict(statement)
            for recipient in document.recipients
            if (statement := recipient.statements.get(entry.key)) is not None
        },
    }


POLICY = Command(
    (
        *PROJECT,
        repeated(
            "--column",
            "COLUMN",
            "the sensitive column; given several times, columns that are protected together",
        ),
        option("--mechanism", "NAME", "what protects it from now on, such as uniform or laplace"),
        repeated(
            "--set",
            "NAME=VALUE",
            "a setting, written as in rules: lowest=0, rounding.income=100, limits.HIV=0.1,0.3;"
            " none takes it away; may be repeated",
        ),
        flag(
            "--best-matrix",
            "put the best matrix within the column's limits of single values in the place of their"
            " retention probabilities, and say what both keep and are worth",
        ),
        flag("--remove", "take what protects it away, with everybody's levels"),
        repeated("--recipient", "NAME", "whose level it is; may be repeated"),
        repeated(
            "--level",
            "TERM=NUMBER",
            "the level of these recipients: epsilon=2; of a column, a number alone is in its"
            " mechanism's first term",
        ),
        flag("--describe", "say what can be set of the mechanism, or of all of them"),
        flag("--dry-run", "say what would be set, and save nothing"),
        MEMORY,
        JSON,
    ),
    _run_policy,
    (
        "sfumato policy clinic.sfumato",
        "sfumato policy clinic.sfumato --describe --mechanism laplace",
        "sfumato policy clinic.sfumato --column income --mechanism laplace --set lowest=0"
        ' --set highest=100000 --recipient "Public file" --level 0.5',
        "sfumato policy clinic.sfumato --column illness --set theta=5 --set limits.HIV=0.1,0.3",
        "sfumato policy clinic.sfumato --column illness --best-matrix --dry-run",
    ),
)


# ----- a whole plan in one step: what makes every release safe, and worth most


def _run(arguments: Namespace, terminal: Terminal) -> ExitCode:
    from sfumato.analysis.planning.safe_plan import propose_plan

    applies = arguments.apply
    with opened_by_parts(arguments, terminal, 0.2, not applies) as (project, table, context):
        plan = propose_plan(
            project.document, table, project.keys, project.releases, context, arguments.sensitive
        )
        if applies:
            project.save_document(plan.document)
    told = {**plan.plain(), "applied": applies}
    again = ["propose", str(arguments.project)]
    again += [word for name in arguments.sensitive for word in ("--sensitive", name)]
    terminal.tell(arguments.json, told, _lines(plan, again, applies=applies))
    return ExitCode.OK if plan.is_safe else ExitCode.CHECK_FAILED


def _lines(plan: SafePlan, again: Sequence[str], *, applies: bool) -> Iterator[str]:
    """Yield what a plan comes to, and the command that asks for it again."""
    yield said(plan.summary)
    for step in plan.steps:
        yield f"  - {said(step.told)}"
        if step.why:
            yield f"    {said(step.why)}"
    for each in plan.after:
        for one in each.standing:
            yield worded("{name}: left: {finding}", name=each.recipient, finding=one.sentence)
    yield from map(said, plan.outcomes)
    if any(step.left_out for step in plan.steps):
        yield worded(
            "Columns left out that nobody else can know about a person can leave randomised:"
        )
        yield f"  sfumato {shlex.join([*again, '--sensitive', 'COLUMN'])}"
    if not plan.steps:
        return
    if applies:
        yield worded("The project goes by this plan from now on.")
    else:
        yield worded("Nothing is changed yet.")
        yield f"  sfumato {shlex.join([*again, '--apply'])}"


PROPOSE = Command(
    (
        *PROJECT,
        flag("--apply", "let the project go by the plan from now on"),
        repeated(
            "--sensitive",
            "COLUMN",
            "let this column leave randomised, since nobody else can know it about a person; may be"
            " repeated",
        ),
        MEMORY,
        JSON,
    ),
    _run,
    (
        "sfumato propose clinic.sfumato",
        "sfumato propose clinic.sfumato --apply",
        "sfumato propose clinic.sfumato --sensitive anxiety --sensitive sleep --apply",
    ),
)
