"""A reader of text that is in doubt about postcodes, for tests of what is made of remarks."""

from __future__ import annotations

from dataclasses import replace

from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import Way
from sfumato.formats.notes import Note
from sfumato.formats.options import ColumnType
from sfumato.formats.tables import format_called


def doubt_postcodes(monkeypatch):
    """Let text be read with a caution about the column plz, until its type is stated."""
    kind = type(format_called("csv"))
    original = kind.read

    def read(self, path, options, context, rows=None):
        result = original(self, path, options, context, rows)
        notes = (Note("The file has {count:,} rows.", {"count": 3}),)
        if "plz" not in options.column_types:
            seen = options if rows is None else options.tolerant()
            title = Sentence("Read {column} as text", column="plz")
            told = Note(
                "{column} may be a code: {count:,} values end in a zero.",
                {"column": "plz", "count": 2},
                caution=True,
                columns=("plz",),
                count=2,
                rows=(1, 3),
                ways=(Way(title, seen.with_type("plz", ColumnType.TEXT)),),
            )
            notes = (*notes, told)
        return replace(result, notes=(*result.notes, *notes))

    monkeypatch.setattr(kind, "read", read)


def people(folder, more=""):
    """Write a table whose postcodes are in doubt."""
    path = folder / "people.csv"
    path.write_text("id,plz,ill\na,10000,flu\nb,20117,cold\nc,55550,flu\n" + more)
    return path
