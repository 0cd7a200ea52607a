"""Reading the files that a command line names."""

from __future__ import annotations

from pathlib import Path

from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Table
from sfumato.formats.errors import WrongEncoding
from sfumato.formats.files import opening
from sfumato.project.project_file import ProjectFile
from sfumato.project.source import open_source


def read_text(path: Path) -> str:
    """Return a text file's contents.

    Raises
    ------
    CannotOpen, WrongEncoding
        If it is not there, may not be read, or is not UTF-8.
    """
    try:
        with opening(path):
            return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise WrongEncoding(
            "{path} is not text in UTF-8.", "Save it as UTF-8.", path=path
        ) from None


def source_of(project: ProjectFile, context: Context) -> Table:
    """Return the project's source table, from its place or from beside the project.

    Raises
    ------
    SourceMissing, SourceChanged
        See `sfumato.project.source.open_source`.
    """
    table, document = open_source(project.document, context, beside=project.path.parent)
    if not project.read_only:
        project.save_document(document)
    return table
