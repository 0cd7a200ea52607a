"""The errors a custodian can cause and mend.

Every error says what happened, where, and what to do. Texts are templates with named
details, so that the window can translate a template before it is filled in. Details never
hold cell values: the values of the table are the secret.
"""

from __future__ import annotations

from sfumato.engine.core.wording import Sentence, filled, joined


class Cancelled(Exception):
    """Raised by a progress context once the person asked to stop; it is not a failure."""


class SfumatoError(Exception):
    """An expected error: bad input or a state that the custodian can mend.

    Parameters
    ----------
    what
        What happened and where, as a template (``"Column {column} is empty."``).
    remedy
        What to do about it, as a template.
    **details
        The values for both templates. Never cell values of the table.
    """

    def __init__(self, what: str, remedy: str = "", **details: object) -> None:
        self.what_template = what
        self.remedy_template = remedy
        self.details = details
        super().__init__(self.what, self.remedy)

    @property
    def what(self) -> str:
        """What happened, filled in."""
        return filled(self.what_template, self.details)

    @property
    def remedy(self) -> str:
        """What to do, filled in; empty where nothing can be done."""
        return filled(self.remedy_template, self.details)

    @property
    def sentence(self) -> Sentence:
        """What happened and what to do, for a text that says it among others."""
        parts = (self.what_template, self.remedy_template)
        return joined(*(Sentence(part, **self.details) for part in parts))

    def __str__(self) -> str:
        return f"{self.what} {self.remedy}".strip()


class TableError(SfumatoError):
    """The table, one of its columns or its record key can't be used as asked."""


class DomainError(SfumatoError):
    """A domain or a binning is not valid, or does not fit its column."""


class HierarchyError(SfumatoError):
    """A generalization hierarchy is not a tree, or does not fit its column."""


class LevelError(SfumatoError):
    """A trust level, or the privacy limits it is stated by, is out of range."""


class PolicyError(SfumatoError):
    """A mechanism can't be applied to the attributes chosen for it."""


class LadderError(SfumatoError):
    """A release would not sit on the ladder of the releases already made."""


class EstimationError(SfumatoError):
    """What is asked can't be estimated from the release."""


class DiversityError(SfumatoError):
    """A generalized table can't be searched for, published or checked as asked."""


class LatticeSizeError(DiversityError):
    """Levels have more combinations than can be searched."""
