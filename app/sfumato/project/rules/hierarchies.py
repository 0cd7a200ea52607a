"""The rules' part about hierarchies: recipes, and tables in files of their own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sfumato.engine.core.columns import ColumnSpec, find_column
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.generalization.hierarchies import (
    Recipe,
    Taxonomy,
    ground_values,
    recipe_from_dict,
)
from sfumato.engine.table.table import Table
from sfumato.formats.hierarchies import read_hierarchy, usable_table
from sfumato.project.rules.reading import Section, suggestion


def hierarchies_in(
    listed: Section, columns: Sequence[ColumnSpec], table: Table, folder: Path | None
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
        if name not in names:
            raise listed.error(name, "the table has no such column.", suggestion(name, names))
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


def _from_file(section: Section, spec: ColumnSpec, table: Table, folder: Path | None) -> Taxonomy:
    name = section.required_text("file")
    section.finish()
    if folder is None and not Path(name).is_absolute():
        raise section.error(
            "file",
            "the folder of the rules is not known.",
            "Write the file with its whole path.",
        )
    read = read_hierarchy((folder or Path()) / name)
    return usable_table(read.rows, ground_values(spec, table.column(spec.name)), spec.name)
