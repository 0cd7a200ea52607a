"""The rules file: a document's decisions without its table, as TOML without secrets.

It makes next month's table one step, lets two custodians compare what they decided, and is
what the command line starts a project from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from sfumato.engine.core.columns import (
    Binning,
    Coding,
    ColumnSpec,
    Domain,
    Kind,
    MissingRule,
    Pseudonym,
    Role,
)
from sfumato.engine.core.errors import DomainError, PolicyError, SfumatoError
from sfumato.engine.core.values import Value
from sfumato.engine.mechanisms import all_mechanisms, mechanism_called
from sfumato.engine.mechanisms.base import Mechanism, Statement
from sfumato.engine.mechanisms.setting_specs import SettingSource
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Table
from sfumato.formats.language import ENGLISH, languages
from sfumato.formats.options import ReadOptions
from sfumato.formats.terms import MOST_CHARACTERS, TERM_TITLES, ReleaseTerms, TermsError
from sfumato.project.document.edits import needs_domain, with_spacing
from sfumato.project.document.model import MOST_RECIPIENTS, Document, PolicyEntry, Recipient, Unit
from sfumato.project.errors import RulesError
from sfumato.project.release.table_survey import Survey, completed_entry
from sfumato.project.rules.generalization import (
    generalization_in,
    hierarchies_in,
    importance_in,
    view_in,
)
from sfumato.project.rules.text import (
    CODING_KEYS,
    FORMAT,
    PSEUDONYM_FOR_ALL,
    PSEUDONYM_FOR_EACH,
    RulesSection,
    RulesText,
    rules_of,
    suggestion,
)

__all__ = ["apply_rules", "categories_in", "reading_options_in", "record_key_in", "rules_of"]


def reading_options_in(text: str) -> dict[str, Any]:
    """Return what the rules say of how the file is read; the rest is found out.

    Raises
    ------
    RulesError
        If the text is not TOML.
    """
    rules = RulesText(text).parse()
    return rules.section("reading").plain()


def categories_in(text: str) -> frozenset[str]:
    """Return the columns that the rules say hold categories.

    Raises
    ------
    RulesError
        If the text is not TOML.
    """
    columns = RulesText(text).parse().section("columns").plain()
    return frozenset(
        name
        for name, stated in columns.items()
        if isinstance(stated, Mapping) and stated.get("kind") == Kind.CATEGORICAL
    )


def record_key_in(text: str) -> str | None:
    """Return which column the rules say tells records apart; None where they don't.

    Raises
    ------
    RulesError
        If the text is not TOML, or says something else there.
    """
    return RulesText(text).parse().text("record_key")


def apply_rules(
    text: str,
    table: Survey,
    document: Document,
    folder: Path | None = None,
    noise: KeyedNoise | None = None,
) -> Document:
    """Return the document with what the rules decide.

    Every column needs a role: in the rules, or by their ``other_columns``. A sensitive
    categorical column without a list of values gets those that occur, so that its domain is
    fixed from here on. Title and source stay where the rules say nothing of them; how the
    table is read is up to the caller (`reading_options_in`).

    Parameters
    ----------
    text
        The rules, TOML.
    table
        The table that they are applied to, or what is known of one too long for memory.
    document
        What is decided so far.
    folder
        Where the files that the rules name are looked for.
    noise
        Draws noise for statistics of the table, kept in the document; a passing one where absent.

    Raises
    ------
    RulesError
        Naming the line and the key, and the nearest name where one is unknown.
    """
    rules = RulesText(text).parse()
    _check_format(rules)
    title = rules.text("title")
    _check_reading(rules.section("reading"))
    columns = _columns(rules, table)
    hierarchies = hierarchies_in(rules.section("hierarchies"), columns, table, folder)
    sections = rules.sections("policy")
    policy = tuple(_entry(each, columns) for each in sections)
    rules.refuse_repeated("policy", [name for entry in policy for name in entry.attributes])
    settled = replace(
        document,
        columns=columns,
        hierarchies=hierarchies,
        unit=_unit(rules.section("unit"), columns),
        title=document.title if title is None else title,
        record_key=_record_key(rules, table),
        policy=policy,
        recipients=_recipients(rules, policy, columns),
        generalization=generalization_in(
            rules.section("generalization"), columns, hierarchies, folder
        ),
        rows_as_in_table=_reason(rules),
        importance=importance_in(rules, columns),
        needs_approval=rules.flag("needs_approval") or None,
        terms=_terms(rules, document),
        most_epsilon=_most_epsilon(rules),
    )
    return _spaced(_completed(settled, sections, table, noise), rules)


def _spaced(document: Document, rules: RulesSection) -> Document:
    """Return the document with the spacing of levels, the last key of the rules."""
    spacing = rules.number("level_spacing") or 0.0
    rules.finish()
    try:
        return with_spacing(document, spacing)
    except SfumatoError as error:
        raise rules.explained("level_spacing", error) from None


def _record_key(rules: RulesSection, table: Table | Survey) -> str | None:
    name = rules.text("record_key")
    if name is not None:
        what = "the table has no column {column}."
        rules.refuse_unknown("record_key", name, table.columns, what, column=name)
    return name


def _unit(section: RulesSection, columns: tuple[ColumnSpec, ...]) -> Unit | None:
    """Return which rows belong together; None where nothing is said of it."""
    named = section.texts("columns")
    constant = section.texts("constant") or ()
    most = section.number("most_rows")
    section.finish()
    if named is None and most is None and not constant:
        return None
    if not named:
        raise section.error("columns", "it is missing.", "Name the columns that rows share.")
    known = [column.name for column in columns]
    for key, names in (("columns", named), ("constant", constant)):
        for name in names:
            section.refuse_unknown(key, name, known, "the table has no column {name}.", name=name)
    if not isinstance(most, int) or most < 1:
        raise section.error(
            "most_rows", "a whole number from 1 on was expected.", "Say how many rows may leave."
        )
    return Unit(named, most, constant)


def _most_epsilon(rules: RulesSection) -> float | None:
    """Return the largest ε in all; None where nothing is said of it."""
    stated = rules.number("most_epsilon")
    if stated is not None and not 0.0 < stated < math.inf:
        raise rules.error(
            "most_epsilon",
            "a number above 0 was expected.",
            "State the largest ε in all, or remove the line.",
        )
    return None if stated is None else float(stated)


def _reason(rules: RulesSection) -> str:
    """Return why rows stay in the table's order; empty where nothing is said of it."""
    reason = rules.text("rows_as_in_table")
    if reason is not None and not reason.strip():
        raise rules.error(
            "rows_as_in_table",
            "the reason is empty.",
            "Say why rows have to stay in the table's order, or remove the line.",
        )
    return (reason or "").strip()


def _terms(rules: RulesSection, document: Document) -> ReleaseTerms | None:
    """Return what recipients may do with releases; what there is where nothing is said of it."""
    section = rules.section("terms")
    if not list(section.names()):
        return document.terms
    stated = {name: (section.text(name) or "").strip() for name in TERM_TITLES}
    section.finish()
    try:
        return ReleaseTerms(**stated).or_none
    except TermsError as error:
        wrong = max(stated, key=lambda name: len(stated[name]))
        name = wrong if len(stated[wrong]) > MOST_CHARACTERS else "valid_until"
        raise section.explained(name, error) from None


def _check_format(rules: RulesSection) -> None:
    found = rules.take("format")
    if found != FORMAT:
        what = "it has to be {known}." if found is None else "this version reads format {known}."
        raise rules.error("format", what, "Write: format = {known}", known=FORMAT)


def _check_reading(reading: RulesSection) -> None:
    known = [option.name for option in fields(ReadOptions)]
    for name in reading.names():
        reading.refuse_unknown(name, name, known, "there is no such option.")
    try:
        ReadOptions.from_dict(reading.plain())
    except SfumatoError as error:
        raise reading.explained("", error) from None


def _columns(rules: RulesSection, table: Survey) -> tuple[ColumnSpec, ...]:
    others = rules.choice("other_columns", Role)
    listed, there = rules.section("columns"), dict.fromkeys(table.columns)
    for name in listed.names():
        listed.refuse_unknown(name, name, there, "the table has no such column.")
    given = set(listed.names())
    for name in table.columns:
        if name not in given and others is None:
            raise rules.rules.error(
                ("columns",),
                "the table's column {column} has no rules.",
                "Add a section for it, or a line that says what all others are:"
                ' other_columns = "identifying"',
                column=name,
            )
    proposed: dict[str, Kind] = {}

    def kind_of(name: str) -> Kind:
        """Return what kind a column probably is; looked at when first asked for."""
        if not proposed:
            proposed.update((each.spec.name, each.spec.kind) for each in table.proposals())
        return proposed[name]

    return tuple(
        _column(listed.section(name), name, table, kind_of)
        if name in given
        else _with_domain(ColumnSpec(name, others or Role.IDENTIFYING, kind_of(name)), table)
        for name in table.columns
    )


def _column(
    section: RulesSection, name: str, table: Survey, kind_of: Callable[[str], Kind]
) -> ColumnSpec:
    role = section.choice("role", Role)
    if role is None:
        raise section.rules.error(
            section.keys,
            "the key role is missing.",
            "Add one of: {known}.",
            known=", ".join(member.value for member in Role),
        )
    spec = ColumnSpec(
        name=name,
        role=role,
        kind=section.choice("kind", Kind) or kind_of(name),
        missing=section.choice("missing", MissingRule) or MissingRule.VALUE,
        binning=_binning(section),
        domain=_domain(section),
        from_rows=section.flag("from_rows"),
        coding=_coding(section),
        pseudonym=_pseudonym(section),
    )
    section.finish()
    try:
        return _with_domain(spec, table)
    except SfumatoError as error:
        raise section.explained("", error) from None


def _with_domain(spec: ColumnSpec, table: Survey) -> ColumnSpec:
    """Fix the domain of a sensitive attribute that is released as categories."""
    return table.with_domain(spec) if needs_domain(spec) else spec


def _binning(section: RulesSection) -> Binning | None:
    edges, labels = section.numbers("bin_edges"), section.texts("bin_labels")
    if edges is None:
        if labels is not None:
            raise section.error("bin_labels", "there are no bin_edges.", "Add them.")
        return None
    try:
        return Binning(edges, labels or ())
    except DomainError as error:
        raise section.explained("bin_edges", error) from None


def _coding(section: RulesSection) -> Coding | None:
    stated = [section.number(key) for key in CODING_KEYS]
    if stated == [None, None, None]:
        return None
    try:
        return Coding(*(None if number is None else float(number) for number in stated))
    except DomainError as error:
        key = next(k for k, number in zip(CODING_KEYS, stated, strict=True) if number is not None)
        raise section.explained(key, error) from None


def _pseudonym(section: RulesSection) -> Pseudonym | None:
    stated = section.take("pseudonym")
    if stated is None:
        return None
    if stated in (PSEUDONYM_FOR_EACH, PSEUDONYM_FOR_ALL):
        return Pseudonym(None if stated == PSEUDONYM_FOR_ALL else ())
    if isinstance(stated, list) and stated and all(isinstance(name, str) for name in stated):
        return Pseudonym(tuple(stated))
    raise section.error(
        "pseudonym",
        "it says for whom pseudonyms are the same.",
        'Write "each", "shared", or a list of recipients.',
    )


def _check_sharing(rules: RulesSection, columns: tuple[ColumnSpec, ...], known: list[str]) -> None:
    """Refuse pseudonyms that are shared by somebody who is no recipient."""
    for column in columns:
        for name in (column.pseudonym.shared_by or ()) if column.pseudonym is not None else ():
            if name not in known:
                raise rules.rules.error(
                    ("columns", column.name, "pseudonym"),
                    "there is no recipient {name}.",
                    suggestion(name, known),
                    name=name,
                )


def _domain(section: RulesSection) -> Domain | None:
    given = section.listed("values")
    if given is None:
        return None
    values: list[Value] = []
    labels: dict[Value, str] = {}
    for position, item in enumerate(given):
        value, label = _domain_value(section, position, item)
        values.append(value)
        if label is not None:
            labels[value] = label
    try:
        return Domain(tuple(values), labels)
    except DomainError as error:
        raise section.explained("values", error) from None


def _domain_value(section: RulesSection, position: int, item: Any) -> tuple[Value, str | None]:
    if isinstance(item, dict):
        inner = RulesSection(section.rules, (*section.keys, "values", position), item)
        value, missing = inner.take("value"), inner.take("missing")
        label = inner.text("label")
        inner.finish()
        if (value is None) == (missing is not True):
            raise section.error(
                "values",
                "item {item} has to be either a value or missing.",
                'Write {{ value = 1, label = "…" }} or {{ missing = true }}.',
                item=position + 1,
            )
        item = value
        if missing:
            return None, label
    else:
        label = None
    if not isinstance(item, str | int | float | bool):
        raise section.error(
            "values",
            "item {item} is not a text, a number or true/false.",
            "Put it in quotes; so are dates.",
            item=position + 1,
        )
    return item, label


def _entry(section: RulesSection, columns: tuple[ColumnSpec, ...]) -> PolicyEntry:
    """Return an entry as it is stated, see `_completed`."""
    sensitive = [column.name for column in columns if column.role is Role.SENSITIVE]
    attributes = section.texts("attributes") or ()
    if not attributes:
        raise section.rules.error(
            section.keys, "the key attributes is missing or empty.", "List the columns."
        )
    for name in attributes:
        what = "{column} is not a sensitive column."
        section.refuse_unknown("attributes", name, sensitive, what, column=name)
    name = section.required_text("mechanism")
    try:
        mechanism = mechanism_called(name)
    except PolicyError:
        raise section.error(
            "mechanism",
            "there is no mechanism {found}.",
            suggestion(name, all_mechanisms()),
            found=name,
        ) from None
    settings = section.section("settings")
    section.finish()
    return PolicyEntry(attributes, name, _settings(settings, mechanism))


def _completed(
    document: Document, sections: Sequence[RulesSection], table: Survey, noise: KeyedNoise | None
) -> Document:
    """Return a document whose entries hold what the table decides, within what is promised."""
    policy, noise = [], noise or KeyedNoise.passing()
    for section, entry in zip(sections, document.policy, strict=True):
        try:
            policy.append(completed_entry(document, entry, table, noise))
        except SfumatoError as error:
            raise section.explained("settings", error) from None
    return replace(document, policy=tuple(policy))


def _settings(section: RulesSection, mechanism: Mechanism) -> dict[str, Any]:
    """Return the settings of a mechanism, each of which has a value that it can have."""
    told = [spec for spec in mechanism.settings if spec.source is not SettingSource.KEPT]
    known = {spec.name for spec in told}
    stated = section.plain()
    for name, value in stated.items():
        if name not in known:
            settable = [spec.name for spec in mechanism.settings if spec.settable]
            raise section.error(name, "there is no such setting.", suggestion(name, settable))
        try:
            mechanism.setting(name).check(value)
        except SfumatoError as error:
            raise section.explained(name, error) from None
    return stated


def _recipients(
    rules: RulesSection, policy: tuple[PolicyEntry, ...], columns: tuple[ColumnSpec, ...]
) -> tuple[Recipient, ...]:
    sections = rules.sections("recipients")
    if len(sections) > MOST_RECIPIENTS:
        raise RulesError(  # to find the line of one takes minutes in so long a text
            "The rules have {count:,} {count:recipient|recipients}, and a project has {most:,} at"
            " most.",
            "Name those who are trusted alike as one recipient, or share them among several"
            " projects' rules.",
            count=len(sections),
            most=MOST_RECIPIENTS,
        )
    recipients = tuple(_recipient(section, policy, columns) for section in sections)
    names = [recipient.name for recipient in recipients]
    rules.refuse_repeated("recipients", names)
    _check_sharing(rules, columns, names)
    return recipients


def _recipient(
    section: RulesSection, policy: tuple[PolicyEntry, ...], columns: tuple[ColumnSpec, ...]
) -> Recipient:
    name = section.required_text("name")
    note = section.text("note") or ""
    language = _language(section)
    entries = {entry.key: entry for entry in policy}
    levels = section.section("levels")
    statements: dict[str, Statement] = {}
    for key in levels.names():
        levels.refuse_unknown(key, key, entries, "the policy has no such entry.")
        mechanism = mechanism_called(entries[key].mechanism)
        statements[key] = _statement(levels.section(key), mechanism)
    mark = section.number("mark") or 0
    if mark < 0 or mark != int(mark):
        raise section.error("mark", "a whole number from 0 was expected.", "Correct it.")
    view = view_in(section.section("view"), columns)
    section.finish()
    return Recipient(name, statements, note, int(mark), view, language)


def _language(section: RulesSection) -> str | None:
    """Return the language that a recipient's bundles are written in; None for English."""
    stated, there = section.text("language"), languages()
    if stated is not None:
        section.refuse_unknown("language", stated, there, "there is no such language.")
    return None if stated == ENGLISH else stated


def _statement(section: RulesSection, mechanism: Mechanism) -> Statement:
    """Return a stated level, which has to be in one of the mechanism's terms."""
    known = {field.name: field for term in mechanism.terms for field in term.fields}
    stated = section.plain()
    for name, value in stated.items():
        section.refuse_unknown(name, name, known, "there is no such key.")
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise section.error(name, "a number was expected.", "Write it without quotes.")
        low, high = known[name].minimum, known[name].maximum
        if not low <= value <= high:
            raise section.error(
                name,
                "the number is out of range.",
                "Give a number from {low:g} to {high:g}.",
                low=low,
                high=high,
            )
    terms = [{field.name for field in term.fields} for term in mechanism.terms]
    if stated.keys() not in terms:
        raise section.rules.error(
            section.keys,
            "the level is not complete, or stated twice.",
            "State it by one of: {terms}.",
            terms="; ".join(" and ".join(sorted(term)) for term in terms),
        )
    return {name: float(value) for name, value in stated.items()}
