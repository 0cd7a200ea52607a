"""What a check before a release looks at, and what it finds: the material of readiness."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any

from sfumato.analysis.shown_columns import Look, ShownColumns
from sfumato.engine.core.columns import Binning, Coding
from sfumato.engine.core.progress import Context, Silent
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, Recipient
from sfumato.project.document.serialise import canonical_json
from sfumato.project.ledger import ReleaseRecord


class Severity(IntEnum):
    """How much a finding matters; sorted, the worst first."""

    GRAVE = 0
    """A person can be found, or a promise is empty: mended, or released for a reason only."""
    CAUTION = 1
    """To be looked at."""
    GOOD = 2
    """Checked, and nothing was found."""


class About(StrEnum):
    """What is changed to mend a finding."""

    COLUMNS = "columns"
    POLICY = "policy"
    RELEASE = "release"


class Deed(StrEnum):
    """What a remedy does."""

    DROP = "drop"
    BAND = "band"
    CUT = "cut off"
    RANDOM_ORDER = "random order"
    PROTECT = "protect"
    COARSEN = "coarsen"
    UNIT = "protect by unit"
    RAISE = "raise level"
    TOGETHER = "together"

    @property
    def needs_rows(self) -> bool:
        """Whether the table is read for it."""
        return self in (Deed.PROTECT, Deed.COARSEN, Deed.UNIT)


@dataclass(frozen=True)
class Remedy:
    """What mends a finding, or part of it, at once.

    Parameters
    ----------
    deed
        What it does.
    words
        What it does and reaches, as a person reads it.
    column, binning, coding
        The column, and the bins or the ends it gets.
    before, after
        The records that are unique today, and would be; None where that is not the point.
    error
        Twice the standard error of `after`, where it is estimated.
    columns
        All columns it is done to, where they are several; to be protected, those beside `column`.
    recipient, level, followed
        In whose view the column is shown at which level, and whose views follow.
    parts
        What is done together.
    """

    deed: Deed
    words: str
    column: str = ""
    binning: Binning | None = None
    coding: Coding | None = None
    before: int | None = None
    after: int | None = None
    error: int = 0
    columns: tuple[str, ...] = ()
    recipient: str = ""
    level: int = 0
    followed: tuple[str, ...] = ()
    parts: tuple[Remedy, ...] = ()


@dataclass(frozen=True)
class Finding:
    """What one check found for one recipient.

    Parameters
    ----------
    check
        The check's name.
    severity
        How much it matters.
    sentence
        What was found, without any value of the table.
    facts
        The figures that a reason is given for, as plain values: with others it stands no more.
    columns
        The columns it is about, the one to go to first.
    remedies
        What mends it at once.
    about
        Where it is mended otherwise.
    asks
        Whether a reason for it is asked here; a contradiction of earlier releases has its own.
    refuses
        Whether no release can be made while it stands, whatever the reason.
    recipient, reason
        Whom it concerns, and the reason that stands for it; empty where none does.
    """

    check: str
    severity: Severity
    sentence: str
    facts: tuple[Any, ...] = ()
    columns: tuple[str, ...] = ()
    remedies: tuple[Remedy, ...] = ()
    about: About = About.COLUMNS
    asks: bool = True
    refuses: bool = False
    recipient: str = ""
    reason: str = ""

    @property
    def key(self) -> str:
        """What a reason for it is kept under."""
        told = canonical_json([self.check, self.recipient, *self.facts])
        return hashlib.sha256(told.encode()).hexdigest()

    @property
    def is_open(self) -> bool:
        """Whether it keeps the release from being made."""
        return self.severity is Severity.GRAVE and self.asks and not self.reason


@dataclass(frozen=True)
class Examined:
    """What the checks look at, for one recipient.

    Parameters
    ----------
    document
        What is decided.
    recipient
        Whose release it is.
    shown
        The columns that leave unperturbed, as the recipient sees them.
    columns
        What is known of the table's columns.
    attributes
        The policy's attributes, by name.
    releases
        What the ledger tells of.
    context
        Progress and cancelling, for checks that take a while.
    """

    document: Document
    recipient: Recipient
    shown: tuple[Look, ...]
    columns: ShownColumns
    attributes: Mapping[str, Attribute]
    releases: Sequence[ReleaseRecord] = field(repr=False, default=())
    context: Context = field(repr=False, default_factory=Silent)
