"""What recipients may do with a release: the custodian's terms, stated once in a project."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from datetime import date
from typing import Final

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence
from sfumato.formats.errors import FileError

TERM_TITLES: Final = {
    "controller": Sentence("Controller"),
    "purpose": Sentence("May be used for"),
    "conditions": Sentence("Conditions"),
    "valid_until": Sentence("Valid until"),
    "contact": Sentence("Contact"),
}
"""What each of the terms is called, in the order in which they are shown."""
MOST_CHARACTERS: Final = 2000


class TermsError(FileError):
    """What was stated as terms can't be."""


@dataclass(frozen=True)
class ReleaseTerms:
    """Until when, for what and under which conditions a release may be used; not secret.

    Parameters
    ----------
    controller
        Who is responsible for the table and decides what is released.
    purpose
        What releases may be used for.
    conditions
        What recipients have to keep to.
    valid_until
        The last day on which a release may be used, ISO 8601; empty for no end.
    contact
        Whom recipients ask.

    Raises
    ------
    TermsError
        If the day is none, or a text is too long.
    """

    controller: str = ""
    purpose: str = ""
    conditions: str = ""
    valid_until: str = ""
    contact: str = ""

    def __post_init__(self) -> None:
        """Refuse a day that is none, and texts that nobody reads; spaces around them go."""
        for one in fields(self):
            object.__setattr__(self, one.name, getattr(self, one.name).strip())
            if len(getattr(self, one.name)) > MOST_CHARACTERS:
                raise TermsError(
                    "The terms' text under {name} is longer than {most:,}"
                    " {most:character|characters}.",
                    "Shorten it, or name the agreement where it stands in full.",
                    name=one.name,
                    most=MOST_CHARACTERS,
                )
        if self.valid_until:
            try:
                known = date.fromisoformat(self.valid_until).isoformat() == self.valid_until
            except ValueError:
                known = False
            if not known:
                raise TermsError(
                    "The last day of the terms is no date.",
                    "Write it as year-month-day, such as 2027-12-31.",
                )

    @property
    def stated(self) -> Iterator[tuple[str, str]]:
        """Yield the name and the text of each that is stated."""
        for name in TERM_TITLES:
            if getattr(self, name):
                yield name, getattr(self, name)

    @property
    def or_none(self) -> ReleaseTerms | None:
        """These, or None where nothing is stated."""
        return self if any(self.stated) else None
