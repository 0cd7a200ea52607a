"""The rules' parts about hierarchies and a generalized table, and other holders' tables."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from sfumato.engine.core.columns import ColumnSpec, Role, find_column
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.values import Value
from sfumato.engine.generalization.criteria import Suppressed
from sfumato.engine.generalization.hierarchies import (
    Recipe,
    Taxonomy,
    ground_values,
    recipe_from_dict,
)
from sfumato.engine.generalization.lattice import Node
from sfumato.engine.table.table import Table
from sfumato.formats.files import digest_of
from sfumato.formats.hierarchies import read_hierarchy, usable_table
from sfumato.formats.options import ReadOptions, typed_options
from sfumato.formats.reading import detect_options
from sfumato.project.document.generalization import (
    CriterionChoice,
    Generalization,
    OtherTableFile,
    PopulationFile,
    PublicCountsFile,
)
from sfumato.project.document.model import ViewRule
from sfumato.project.release.table_survey import Survey
from sfumato.project.rules.text import RulesSection


def hierarchies_in(
    listed: RulesSection,
    columns: Sequence[ColumnSpec],
    table: Table | Survey,
    folder: Path | None,
) -> dict[str, Recipe]:
    """Return the hierarchies that rules list, by column.

    Parameters
    ----------
    listed
        The section ``hierarchies``.
    columns
        The table's columns as the rules have them.
    table
        Whose values a table in a file is checked against. A value that the file does not list
        is no error here: the next table may have new values, and Attributes names them.
    folder
        Where files are looked for; without it, they are refused.

    Raises
    ------
    RulesError
        Naming the line and the key.
    """
    names = [column.name for column in columns]
    found: dict[str, Recipe] = {}
    for name in list(listed.names()):
        listed.refuse_unknown(name, name, names, "the table has no such column.")
        section = listed.section(name)
        spec = find_column(columns, name)
        try:
            if section.take("file") is None:
                found[name] = recipe_from_dict(section.plain())
            else:
                found[name] = _from_file(section, spec, table, folder)
        except SfumatoError as error:
            if hasattr(error, "line"):
                raise
            raise section.explained("", error) from None
    return found


def _from_file(
    section: RulesSection, spec: ColumnSpec, table: Table | Survey, folder: Path | None
) -> Taxonomy:
    name = section.required_text("file")
    section.finish()
    read = read_hierarchy(_path(section, name, folder))
    return usable_table(read.rows, ground_values(spec, table.column(spec.name)), spec.name)


def _path(section: RulesSection, name: str, folder: Path | None) -> Path:
    """Return where a file that rules name is; their folder may not be known."""
    if folder is None and not Path(name).is_absolute():
        raise section.error(
            "file",
            "the folder of the rules is not known.",
            "Write the file with its whole path.",
        )
    return (folder or Path()) / name


def generalization_in(
    section: RulesSection,
    columns: Sequence[ColumnSpec],
    hierarchies: Collection[str],
    folder: Path | None,
) -> Generalization | None:
    """Return what rules decide about a generalized table; None where they say nothing of one.

    Parameters
    ----------
    section
        The section ``generalization``.
    columns
        The table's columns as the rules have them.
    hierarchies
        The columns that have a hierarchy.
    folder
        Where other holders' files are looked for; without it, only whole paths are understood.

    Raises
    ------
    RulesError
        Naming the line and the key.
    """
    if not list(section.names()):
        return None
    sensitive = section.required_text("sensitive")
    known = [column.name for column in columns if column.role is Role.SENSITIVE]
    what = "{column} is not a sensitive column."
    section.refuse_unknown("sensitive", sensitive, known, what, column=sensitive)
    names = _quasi_identifiers(section, columns, hierarchies)
    usual = Generalization(sensitive, names)
    found = Generalization(
        sensitive=sensitive,
        quasi_identifiers=names,
        criteria=_criteria(section, usual.criteria),
        suppression=_suppression(section),
        suppressed=section.choice("suppressed", Suppressed) or usual.suppressed,
        node=_node(section.section("levels"), names),
        pinned=tuple(
            node for each in section.sections("pinned") if (node := _node(each, names)) is not None
        ),
        others=_others(section, folder),
        public_counts=_public_counts(section, folder),
        population=_population(section.section("population"), names, folder),
        sampling_fraction=_fraction(section),
    )
    section.finish()
    return found


def _quasi_identifiers(
    section: RulesSection, columns: Sequence[ColumnSpec], hierarchies: Collection[str]
) -> tuple[str, ...]:
    key = "quasi_identifiers"
    names = section.texts(key) or ()
    if not names:
        raise section.rules.error(
            section.keys, "the key {key} is missing or empty.", "List the columns.", key=key
        )
    known = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
    for name in names:
        section.refuse_unknown(key, name, known, "{column} is not a quasi-identifier.", column=name)
        if name not in hierarchies:
            raise section.error(
                key,
                "{column} has no hierarchy.",
                "Add a section [hierarchies.{column}], or leave the column out.",
                column=name,
            )
    section.refuse_repeated(key, names)
    return names


def _criteria(
    section: RulesSection, usual: tuple[CriterionChoice, ...]
) -> tuple[CriterionChoice, ...]:
    if "criteria" not in section.names():
        section.take("criteria")
        return usual
    found = []
    for each in section.sections("criteria"):
        kind = each.required_text("kind")
        numbers = {name: value for name, value in each.plain().items() if name != "kind"}
        try:
            found.append(CriterionChoice(kind, numbers))
        except SfumatoError as error:
            raise each.explained("", error) from None
    return tuple(found)


def _suppression(section: RulesSection) -> float:
    share = section.number("suppression") or 0.0
    if not 0 <= share < 1:
        raise section.error(
            "suppression",
            "the number is out of range.",
            "Give the share of the records that may be left out, from 0 to below 1.",
        )
    return float(share)


def _fraction(section: RulesSection) -> float | None:
    share = section.number("sampling_fraction")
    if share is not None and not 0 < share <= 1:
        raise section.error(
            "sampling_fraction",
            "the number is out of range.",
            "Give the share of the population that is in the table, above 0 and at most 1.",
        )
    return None if share is None else float(share)


def _population(
    section: RulesSection, quasi_identifiers: tuple[str, ...], folder: Path | None
) -> PopulationFile | None:
    """Return the population that rules name; None where they name none."""
    if not list(section.names()):
        return None
    name = section.required_text("file")
    columns = section.section("columns").plain()
    reading = section.section("reading").plain()
    section.finish()
    path, options, digest = _opened(section, name, reading, folder)
    pairs = tuple((ours, str(columns.get(ours, ours))) for ours in quasi_identifiers)
    return PopulationFile(str(path), digest, options.to_dict(), pairs)


def _node(levels: RulesSection, names: tuple[str, ...]) -> Node | None:
    """Return the level of each quasi-identifier; None where none is stated."""
    stated = levels.plain()
    for name, level in stated.items():
        levels.refuse_unknown(name, name, names, "it is not one of the quasi_identifiers.")
        if isinstance(level, bool) or not isinstance(level, int) or level < 0:
            raise levels.error(
                name, "a level was expected.", "Give a whole number from 0, without quotes."
            )
    if not stated:
        return None
    missing = [name for name in names if name not in stated]
    if missing:
        raise levels.rules.error(
            levels.keys,
            "the level of {column} is missing.",
            "State a level for each of the quasi_identifiers, or for none.",
            column=missing[0],
        )
    return tuple(stated[name] for name in names)


def _others(section: RulesSection, folder: Path | None) -> tuple[OtherTableFile, ...]:
    found = tuple(_other(each, folder) for each in section.sections("others"))
    section.refuse_repeated("others", [other.holder for other in found])
    return found


def _public_counts(section: RulesSection, folder: Path | None) -> tuple[PublicCountsFile, ...]:
    found = tuple(_counts(each, folder) for each in section.sections("public_counts"))
    section.refuse_repeated("public_counts", [counts.name for counts in found])
    return found


def _counts(section: RulesSection, folder: Path | None) -> PublicCountsFile:
    name, file = section.required_text("name"), section.required_text("file")
    count = section.required_text("count")
    columns = tuple(_counts_column(each) for each in section.sections("columns"))
    reading = section.section("reading").plain()
    section.finish()
    path, options, digest = _opened(section, file, reading, folder)
    return PublicCountsFile(name, str(path), digest, options.to_dict(), count, columns)


def _counts_column(section: RulesSection) -> tuple[str, str, str]:
    column = section.required_text("column")
    holder = "" if "ours" in section.names() else section.required_text("holder")
    there = section.required_text("ours" if not holder else "theirs")
    section.finish()
    return column, holder, there


def _other(section: RulesSection, folder: Path | None) -> OtherTableFile:
    holder, name = section.required_text("holder"), section.required_text("file")
    sensitive = section.required_text("sensitive")
    names = section.texts("quasi_identifiers") or ()
    spelling = tuple(_spelling(each) for each in section.sections("spelling"))
    reading = section.section("reading").plain()
    section.finish()
    path, options, digest = _opened(section, name, reading, folder)
    return OtherTableFile(holder, str(path), digest, options.to_dict(), names, sensitive, spelling)


def _opened(
    section: RulesSection, name: str, reading: dict[str, Any], folder: Path | None
) -> tuple[Path, ReadOptions, str]:
    """Return where a file that rules name is, how it is read, and its digest."""
    path = _path(section, name, folder).absolute()
    try:
        options = detect_options(path, typed_options(reading))
        return path, options, digest_of(path, Silent())
    except SfumatoError as error:
        raise section.explained("file", error) from None


def _spelling(section: RulesSection) -> tuple[Value, Value]:
    pair = _meant(section, "there"), _meant(section, "here")
    section.finish()
    return pair


def _meant(section: RulesSection, key: str) -> Value:
    value: Any = section.take(key)
    if value == {"missing": True}:
        return None
    if not isinstance(value, str | int | float | bool):
        raise section.rules.error(
            section.keys,
            "the key {key} is missing, or not a text, a number or true/false.",
            'Write {{ there = "…", here = "…" }}, with {{ missing = true }} for missing.',
            key=key,
        )
    return value


def view_in(section: RulesSection, columns: Sequence[ColumnSpec]) -> ViewRule | None:
    """Return how coarsely a recipient sees the quasi-identifiers; None where nothing is said.

    Parameters
    ----------
    section
        The recipient's section ``view``.
    columns
        The table's columns as the rules have them.

    Raises
    ------
    RulesError
        Naming the line and the key.
    """
    if not list(section.names()):
        return None
    k = section.number("k")
    if k is None or k < 1 or k != int(k):
        raise section.error("k", "a whole number from 1 was expected.", "Write, say: k = 5")
    suppression = _suppression(section)
    known = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
    listed = section.section("levels")
    levels: dict[str, int] = {}
    for name in list(listed.names()):
        listed.refuse_unknown(name, name, known, "it is not a quasi-identifier.")
        level = listed.number(name)
        if level is None or level < 0 or level != int(level):
            raise listed.error(name, "a whole number from 0 was expected.", "Correct it.")
        levels[name] = int(level)
    cells = section.flag("cells") or None
    section.finish()
    return ViewRule(int(k), suppression, levels, cells)


def importance_in(rules: RulesSection, columns: Sequence[ColumnSpec]) -> tuple[str, ...] | None:
    """Return the quasi-identifiers whose cells are suppressed last, the most important first.

    Raises
    ------
    RulesError
        If one is no quasi-identifier, or is listed twice.
    """
    key = "importance"
    known = [column.name for column in columns if column.role is Role.QUASI_IDENTIFIER]
    names = rules.texts(key) or ()
    for name in names:
        rules.refuse_unknown(key, name, known, "{column} is not a quasi-identifier.", column=name)
    rules.refuse_repeated(key, names)
    return names or None
