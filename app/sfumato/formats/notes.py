"""Remarks on what was read or written, which know no table."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import field
from numbers import Integral, Real
from typing import Any, Final, cast

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, filled
from sfumato.formats.errors import Way
from sfumato.formats.options import ReadOptions

WEIGHTED: Final = (
    "In {title} this file is weighted by {column}; here each record counts once. Give the column"
    " the role of a weight, and recipients are told how to use it."
)
"""What is said of the weight that a file states, until its column has that role."""

ENCODING_GUESSED: Final = (
    "The text seems to be {encoding}. Look at names with letters that are not English."
)
ENCODING_DOUBTED: Final = (
    "The text seems to be {encoding}, but it may be another encoding. Look at names with"
    " letters that are not English."
)
NAMES_DOUBTED: Final = (
    "The first row is taken for the columns' names, but nothing tells it from the rows below."
)
_ANSWERED_BY: Final = {
    ENCODING_GUESSED: "encoding",
    ENCODING_DOUBTED: "encoding",
    NAMES_DOUBTED: "header",
}
"""The option that answers a remark on a guess, by the remark's template."""


@dataclass(frozen=True)
class Note:
    """A remark on what was read or written, as a template with named details.

    Like an error, it never holds a cell value.

    Parameters
    ----------
    template, details
        See `SfumatoError`.
    caution
        Whether the table may be another one than the file was meant to hold.
    columns
        The columns that it is about; none for the whole table.
    count
        How many rows, cells or columns it is about, where it is about some of them.
    rows
        The first of these rows, counted from 1 as in the file.
    ways
        What the custodian can choose in place of what was done: reading options, ready to be used.
    """

    template: str
    details: Mapping[str, object] = field(default_factory=dict)
    caution: bool = False
    columns: tuple[str, ...] = ()
    count: int | None = None
    rows: tuple[int, ...] = ()
    ways: tuple[Way, ...] = ()

    @property
    def text(self) -> str:
        """The remark, filled in."""
        return filled(self.template, self.details)

    @property
    def sentence(self) -> Sentence:
        """The remark, to be translated later."""
        return Sentence(self.template, **self.details)

    def to_dict(self) -> dict[str, Any]:
        """Return the remark as plain JSON values."""
        return {
            "template": self.template,
            "details": {name: _plain_detail(one) for name, one in self.details.items()},
            "caution": self.caution,
            "columns": list(self.columns),
            "count": self.count,
            "rows": list(self.rows),
            "ways": [
                {"title": _plain_detail(way.title), "options": way.options.to_dict()}
                for way in self.ways
            ],
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Note:
        """Return the remark that `to_dict` made plain values of.

        Raises
        ------
        KeyError, TypeError, ValueError, AttributeError
            If it is something else.
        """
        ways = (
            Way(cast(str, _detail(way["title"])), ReadOptions.from_dict(way["options"]))
            for way in plain["ways"]
        )
        count = plain["count"]
        return cls(
            str(plain["template"]),
            {str(name): _detail(one) for name, one in plain["details"].items()},
            bool(plain["caution"]),
            tuple(map(str, plain["columns"])),
            None if count is None else int(count),
            tuple(map(int, plain["rows"])),
            tuple(ways),
        )


def unanswered(notes: Iterable[Note], stated: Container[str]) -> tuple[Note, ...]:
    """Return remarks without those on guesses at options that somebody stated, by their names."""
    return tuple(note for note in notes if _ANSWERED_BY.get(note.template, "") not in stated)


def _plain_detail(detail: object) -> object:
    """Return a detail as JSON has it: a sentence as its template and details."""
    if isinstance(detail, Sentence):
        inner = {name: _plain_detail(one) for name, one in detail.details.items()}
        return {"template": detail.template, "details": inner}
    if isinstance(detail, Integral) and not isinstance(detail, bool):
        return int(detail)
    if isinstance(detail, Real) and not isinstance(detail, bool):
        return float(detail)
    return str(detail)


def _detail(plain: Any) -> object:
    return _sentence(plain) if isinstance(plain, dict) else plain


def _sentence(plain: Mapping[str, Any]) -> Sentence:
    inner = {str(name): _detail(one) for name, one in plain["details"].items()}
    return Sentence(str(plain["template"]), **inner)
