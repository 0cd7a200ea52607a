"""What a check before a release looks at and finds, and the checks of what weakens a promise.

A promise is weakened from beside it: by other columns, and by rows that are pooled. It is emptied
where somebody knows as much without the release as with it, or where half of what one row leaves
hidden is told by several. Then it is grave. A column that others add up to, or determine, is
protected in vain where these are released.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum, StrEnum
from typing import Any, Final

from sfumato.analysis.holdings import Basis
from sfumato.analysis.open_columns import OpenAnswer, answer_open_columns
from sfumato.analysis.open_figures import BINS, NAMED, OpenFigure, divisible
from sfumato.analysis.pooled_rows import PooledRows, pooled_rows, repeated_units, worst_pooled
from sfumato.analysis.shown_columns import Look, ShownColumns
from sfumato.engine.core.columns import Binning, Coding, Kind, Role
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.table.relations import LinearRelation, Relation
from sfumato.engine.table.repeated_units import RepeatedUnit, may_name_units
from sfumato.engine.table.table import Attribute
from sfumato.project.document.model import Document, Recipient, canonical_json
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.long_table import LongTable


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
    ROUND = "round"
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
        The column, and the bins, the ends or the rounding it gets.
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
    """What the checks of a table's rows look at, for one recipient.

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
    context
        Progress and cancelling, for checks that take a while.
    """

    document: Document
    recipient: Recipient
    shown: tuple[Look, ...]
    columns: ShownColumns
    attributes: Mapping[str, Attribute]
    context: Context = field(repr=False, default_factory=Silent)


@dataclass(frozen=True)
class Decided:
    """What the checks look at that read no rows, for one recipient.

    Parameters
    ----------
    document, recipient, attributes
        What is decided, whose release it is, and the policy's attributes, by name.
    releases
        What the ledger tells of.
    """

    document: Document
    recipient: Recipient
    attributes: Mapping[str, Attribute]
    releases: Sequence[ReleaseRecord] = field(repr=False)


_NOTICED: Final = 0.05
"""Of what one row hides, a part that is worth telling."""


def telling_columns(examined: Examined) -> Iterator[Finding]:
    """Tell what the columns that leave unperturbed say of the sensitive ones."""
    document = examined.document
    if not document.policy or not examined.shown:
        return
    answer = answer_open_columns(
        document, examined.columns.whole, examined.attributes, Part(examined.context, 0.0, 0.9)
    )
    figures = answer.for_recipient(examined.recipient.name)
    for figure in figures:
        shown = figure.told
        if figure.empties or (figure.matters and shown["both"] != shown["released"]):
            yield _told_by_columns(document, answer, figure)
    quiet = tuple(figure.attribute for figure in figures if not figure.matters)
    if quiet:
        yield Finding(
            "Open columns",
            Severity.GOOD,
            Sentence(
                "The columns released unperturbed tell little of {names}.", names=listed(quiet)
            ),
        )
    for relation in answer.findings.relations_hidden:
        if not _protected_together(document, relation):
            yield _told_by_each_other(document, relation)


def _told_by_columns(document: Document, answer: OpenAnswer, figure: OpenFigure) -> Finding:
    columns, findings = figure.telling[:NAMED], answer.findings
    sampled = ""
    if findings.sampled < findings.records:
        sampled = Sentence(
            "Estimated on {sampled:,} of {records:,} {records:record|records}: within {error:.1f}"
            " in 100.",
            sampled=findings.sampled,
            records=findings.records,
            error=100.0 / math.sqrt(findings.sampled),
        )
    shown = figure.told
    return Finding(
        "Open columns",
        Severity.GRAVE if figure.empties else Severity.CAUTION,
        joined(figure.sentence, sampled),
        (figure.attribute, list(columns), shown["alone"], shown["open"], shown["both"]),
        columns,
        tuple(_less_told(document, figure)),
    )


def _less_told(document: Document, figure: OpenFigure) -> Iterator[Remedy]:
    """Return what keeps columns from telling an attribute: protecting, coarsening, dropping."""
    columns = figure.telling[:NAMED]
    specs = [document.column(name) for name in columns]
    numbers = all(spec.kind is Kind.NUMERIC and spec.binning is None for spec in specs)
    categories = all(spec.kind is not Kind.NUMERIC or spec.binning is not None for spec in specs)
    words = Sentence("Mark {columns} as sensitive too", columns=listed(columns))
    if numbers if figure.numeric else categories:
        words = Sentence(
            "Protect {columns} together with {name}",
            columns=listed(columns),
            name=figure.attribute,
        )
    yield Remedy(Deed.PROTECT, words, figure.attribute, columns=columns)
    if coarser := divisible(document, columns):
        words = Sentence("Band {columns} in {bins}", columns=listed(coarser), bins=BINS)
        yield Remedy(Deed.COARSEN, words, coarser[0], columns=coarser)
    words = Sentence("Drop {column}", column=listed(columns))
    yield Remedy(Deed.DROP, words, columns[0], columns=columns)


def _protected_together(document: Document, relation: Relation) -> bool:
    """Whether all sensitive columns of a relation are drawn together, or there is only one."""
    told = {relation.name, *relation.columns}
    sensitive = {spec.name for spec in document.sensitive} & told
    return len(sensitive) < 2 or any(sensitive <= set(e.attributes) for e in document.policy)


def _told_by_each_other(document: Document, relation: Relation) -> Finding:
    names = (relation.name, *relation.columns)
    sensitive = {spec.name for spec in document.sensitive}
    inside = tuple(name for name in names if name in sensitive)
    others = tuple(name for name in names if name != inside[0])
    return Finding(
        "Dependent columns",
        Severity.CAUTION,
        joined(
            relation.sentence,
            Sentence(
                "{columns} are protected apart: what is told of one is told of the others.",
                columns=listed(inside),
            ),
        ),
        (list(names),),
        names,
        (
            Remedy(
                Deed.PROTECT,
                Sentence("Protect {columns} together", columns=listed(names)),
                inside[0],
                columns=others,
            ),
            *(
                Remedy(Deed.DROP, Sentence("Drop {column}", column=name), name)
                for name in inside[: NAMED - 1]
            ),
        ),
    )


# ----- rows that belong together


def pooled_units(examined: Examined) -> Iterator[Finding]:
    """Tell what a recipient restores by pooling the rows of a person or household."""
    found = [one for one in _pooled(examined) if one.recipient == examined.recipient.name]
    told = [one for one in worst_pooled(found) if _worth_telling(one)]
    for one in told:
        severity = Severity.GRAVE if one.empties else Severity.CAUTION
        facts = (one.column, one.attribute, *one.told)
        yield Finding(
            "Pooled rows",
            severity,
            one.sentence,
            facts,
            (one.column, one.attribute),
            _by_unit(examined.document, one.column),
        )
    if found and not told:
        yield Finding(
            "Pooled rows",
            Severity.GOOD,
            Sentence("Pooling the rows that belong together restores hardly more than one row."),
        )


def _worth_telling(found: PooledRows) -> bool:
    if found.restored is None:
        return found.gain > _NOTICED
    return found.gain > _NOTICED * (1.0 - found.restored.one_row)


def _by_unit(document: Document, column: str) -> tuple[Remedy, ...]:
    if document.unit is not None:
        return ()  # another one is the custodian's to choose
    words = Sentence("Protect rows with the same {column} together", column=column)
    return (Remedy(Deed.UNIT, words, column),)


def _pooled(examined: Examined) -> Sequence[PooledRows]:
    """Return what everybody restores by pooling, found once for all recipients."""
    document, columns = examined.document, examined.columns.whole
    source = examined.columns.source

    def find() -> tuple[RepeatedUnit, ...]:
        among = None
        if isinstance(source, LongTable):
            names = [name for name in source.columns if name != document.record_key]
            among = [name for name in names if may_name_units(columns.table.column(name))]
        return repeated_units(source, Part(examined.context, 0.0, 0.5), among=among)

    units = columns.keep("repeated units", find)
    if not units or not document.policy:
        return ()
    # Titles, notes and the like change no figure.
    asked = replace(document, title="", hierarchies={}, rows_as_in_table="", accepted={})

    def pool() -> tuple[PooledRows, ...]:
        context = Part(examined.context, 0.5, 1.0)
        return pooled_rows(document, examined.attributes, units, (), Basis.PLANNED, context)

    return columns.latest("pooled rows", asked, pool)


def released_relations(document: Document, relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the relations whose columns are all released, perturbed or not."""
    released = {spec.name for spec in document.columns if spec.role is not Role.IDENTIFYING}
    return tuple(each for each in relations if {each.name, *each.columns} <= released)


def endangering(document: Document, relations: Iterable[Relation]) -> tuple[Relation, ...]:
    """Return the relations by which others tell a sensitive column that is protected apart."""
    sensitive = {spec.name for spec in document.sensitive}
    found = []
    for relation in released_relations(document, relations):
        columns = {relation.name, *relation.columns}
        told = columns if isinstance(relation, LinearRelation) else {relation.name}
        together = any(columns <= set(entry.attributes) for entry in document.policy)
        if told & sensitive and not together:
            found.append(relation)
    return tuple(found)
