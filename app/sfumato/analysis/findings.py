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
from dataclasses import field, replace
from enum import StrEnum
from typing import Any, Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.coalitions.holdings import ReleaseBasis
from sfumato.analysis.disclosure.pooled_rows import (
    PooledRows,
    pooled_rows,
    repeated_units,
    worst_pooled,
)
from sfumato.analysis.shown_columns import ColumnView, ShownColumns
from sfumato.analysis.unperturbed.open_columns import OpenAnswer, answer_open_columns
from sfumato.analysis.unperturbed.open_figures import BINS, NAMED, OpenFigure, divisible
from sfumato.engine.core.columns import Binning, Coding, Kind, Role
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Statement
from sfumato.engine.table.relations import LinearRelation, Relation
from sfumato.engine.table.repeated_units import RepeatedUnit, may_name_units
from sfumato.engine.table.table import Attribute, encode_attribute
from sfumato.formats.options import ReadOptions
from sfumato.project.document.model import Document, Recipient, canonical_json
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.release.release_compatibility import (
    edition_sentences,
    exposed_columns,
    off_ladder,
)

WORTH: Final = "Worth"
"""The check of what a release tells."""
APPROVAL: Final = "Approval"
"""The check of whether a second person approved a release."""
TOTAL_EPSILON: Final = "ε in all"
"""The check of what a record loses by released records and tables of counts together."""
OPEN_COLUMNS: Final = "Open columns"
"""The check of what the columns that leave unperturbed tell."""


class About(StrEnum):
    """What is changed to mend a finding."""

    COLUMNS = "columns"
    POLICY = "policy"
    RELEASE = "release"
    READING = "reading"
    """How the table is read."""


class RemedyKind(StrEnum):
    """What a remedy does."""

    DROP = "drop"
    BAND = "band"
    CUT = "cut off"
    ROUND = "round"
    RANDOM_ORDER = "random order"
    PROTECT = "protect"
    COARSEN = "coarsen"
    QUASI_IDENTIFIER = "treat as quasi-identifier"
    """Columns become quasi-identifiers, and all levels are found anew."""
    UNIT = "protect by unit"
    RAISE = "raise level"
    TOGETHER = "together"
    LEVEL = "state level"
    MECHANISM = "other mechanism"
    READ = "read otherwise"
    """The table is read again, by other options; earlier decisions are kept."""


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
    reading
        The options that the table is read by then.
    entry, mechanism, levels
        The policy entry that gets another mechanism, or other levels, by the recipients' names.
    """

    deed: RemedyKind
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
    reading: ReadOptions | None = None
    entry: str = ""
    mechanism: str = ""
    levels: Mapping[str, Statement] = field(default_factory=dict, hash=False)

    @property
    def needs_rows(self) -> bool:
        """Whether the table is read for it."""
        reads = (
            RemedyKind.PROTECT,
            RemedyKind.COARSEN,
            RemedyKind.QUASI_IDENTIFIER,
            RemedyKind.UNIT,
            RemedyKind.MECHANISM,
        )
        return self.deed in reads or any(part.needs_rows for part in self.parts)


def dropping(name: str) -> Remedy:
    """Return the remedy that a column does not leave."""
    return Remedy(RemedyKind.DROP, Sentence("Drop {column}", column=name), name)


def drops_only(remedy: Remedy) -> bool:
    """Whether a remedy does nothing but leave columns out."""
    if remedy.deed is RemedyKind.TOGETHER and remedy.parts:
        return all(map(drops_only, remedy.parts))
    return remedy.deed is RemedyKind.DROP


def unique_then(before: int, after: int, error: int = 0) -> Sentence:
    """Say how many are unique today, and would be; `error` is that of an estimate."""
    words, about = "{before:,} → {about}{after:,} unique", "≈ " if error else ""
    return Sentence(words, before=before, about=about, after=after)


def said_together(remedies: Sequence[Remedy]) -> str:
    """Say what is done to several columns, as one deed."""
    said: list[str] = []
    if dropped := tuple(one.column for one in remedies if one.deed is RemedyKind.DROP):
        said.append(Sentence("Drop {column}", column=listed(dropped)))
    for one in remedies:
        if one.deed is RemedyKind.BAND:
            bins = 0 if one.binning is None else len(one.binning.edges) - 1
            words = "band {column} in {bins}" if said else "Band {column} in {bins}"
            said.append(Sentence(words, column=one.column, bins=bins))
        elif one.deed is RemedyKind.ROUND and one.coding is not None:
            words = "round {column} to multiples of {step:g}"
            if not said:
                words = "Round {column} to multiples of {step:g}"
            said.append(Sentence(words, column=one.column, step=one.coding.step))
        elif one.deed is RemedyKind.RAISE:
            words = "show {column} at level {level} to {names}"
            if not said:
                words = "Show {column} at level {level} to {names}"
            names = listed((one.recipient, *one.followed))
            said.append(Sentence(words, column=one.column, level=one.level, names=names))
    return listed(said)


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
    worthless
        Whether it says that a release tells next to nothing: that endangers nobody and keeps
        nothing back, but it is told in the place of a danger.
    exposure
        Of what share of the people something is learned, or in what share of the cases an
        attacker is right, from 0 to 1; 0 where it counts neither.
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
    worthless: bool = False
    exposure: float = 0.0
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

    @property
    def takes_reason(self) -> bool:
        """Whether a reason for it is kept: for what is grave, and for a remark on the reading."""
        return self.severity is Severity.GRAVE or self.about is About.READING


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
    remedies
        Whether what mends a finding is searched for, which takes longer than to find it.
    """

    document: Document
    recipient: Recipient
    shown: tuple[ColumnView, ...]
    columns: ShownColumns
    attributes: Mapping[str, Attribute]
    context: Context = field(repr=False, default_factory=Silent)
    remedies: bool = True


@dataclass(frozen=True)
class Decided:
    """What the checks look at that read no rows, for one recipient.

    Parameters
    ----------
    document, recipient, attributes
        What is decided, whose release it is, and the policy's attributes, by name.
    releases
        What the ledger tells of.
    beside
        What these tell of every recipient's release alike, found once for all.
    """

    document: Document
    recipient: Recipient
    attributes: Mapping[str, Attribute]
    releases: Sequence[ReleaseRecord] = field(repr=False)
    beside: BesideReleases


@dataclass(frozen=True)
class BesideReleases:
    """What earlier releases tell of a release, whoever it is for.

    Parameters
    ----------
    editions
        See `edition_sentences`.
    exposed
        See `exposed_columns`.
    off_ladder
        Why releases would be refused beside those made; see `off_ladder`.
    """

    editions: tuple[str, ...]
    exposed: Mapping[str, str]
    off_ladder: Sentence | None = None

    @classmethod
    def of(
        cls,
        document: Document,
        attributes: Mapping[str, Attribute],
        releases: Sequence[ReleaseRecord],
    ) -> BesideReleases:
        """Return what releases tell of a document's next one."""
        refused = off_ladder(document, attributes, releases)
        return cls(
            edition_sentences(document, attributes, releases),
            exposed_columns(document, releases),
            None if refused is None else refused.sentence,
        )


_NOTICED: Final = 0.05
"""Of what one row hides, a part that is worth telling."""


def told_by_open_columns(examined: Examined) -> Iterator[Finding]:
    """Tell which sensitive columns those that leave unperturbed say more of than the release."""
    yield from _told_by(examined, _open_columns(examined))


def _told_by(examined: Examined, answer: OpenAnswer) -> Iterator[Finding]:
    for figure in answer.for_recipient(examined.recipient.name):
        if figure.empties or (figure.matters and figure.adds):
            yield _told_by_columns(examined.document, answer, figure)


def _open_columns(examined: Examined) -> OpenAnswer:
    part = Part(examined.context, 0.0, 0.9)
    seen = examined.document, examined.columns, examined.attributes
    return open_columns_of(*seen, (examined.recipient,), part)


def open_columns_of(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    recipients: Sequence[Recipient],
    context: Context,
) -> OpenAnswer:
    """Return what the open columns of rows that are examined tell, beside some releases."""
    whole, known = columns.whole, dict(attributes)
    for name, attribute in attributes.items():
        # Of a table in parts, numbers are known of rows that leave, and open columns of any.
        if attribute.numbers is not None and len(attribute.numbers) != whole.table.rows:
            column = encode_attribute(whole.table, document.column(name))
            known[name] = replace(attribute, numbers=column.attribute.numbers)
    return answer_open_columns(document, whole, known, context, recipients)


def telling_columns(examined: Examined) -> Iterator[Finding]:
    """Tell what the columns that leave unperturbed say of the sensitive ones."""
    document = examined.document
    if not document.policy or not examined.shown:
        return
    answer = _open_columns(examined)
    yield from _told_by(examined, answer)
    figures = answer.for_recipient(examined.recipient.name)
    quiet = tuple(figure.attribute for figure in figures if not figure.matters)
    if quiet:
        yield Finding(
            OPEN_COLUMNS,
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
        OPEN_COLUMNS,
        Severity.GRAVE if figure.empties else Severity.CAUTION,
        joined(figure.sentence, sampled),
        (figure.attribute, list(columns), shown["alone"], shown["open"], shown["both"]),
        columns,
        tuple(_less_told(document, figure)),
        exposure=figure.exposure,
    )


def _less_told(document: Document, figure: OpenFigure) -> Iterator[Remedy]:
    """Return what keeps columns from telling an attribute: protecting, coarsening, dropping."""
    columns = figure.telling[:NAMED]
    specs = [document.column(name) for name in columns]
    entry = document.entry_for(figure.attribute)
    several = entry is None or mechanism_called(entry.mechanism).most_attributes is None
    numbers = several and all(s.kind is Kind.NUMERIC and s.binning is None for s in specs)
    categories = all(spec.kind is not Kind.NUMERIC or spec.binning is not None for spec in specs)
    words = Sentence("Mark {columns} as sensitive too", columns=listed(columns))
    if numbers if figure.numeric else categories:
        words = Sentence(
            "Protect {columns} together with {name}",
            columns=listed(columns),
            name=figure.attribute,
        )
    yield Remedy(RemedyKind.PROTECT, words, figure.attribute, columns=columns)
    if coarser := divisible(document, columns):
        words = Sentence("Band {columns} in {bins}", columns=listed(coarser), bins=BINS)
        yield Remedy(RemedyKind.COARSEN, words, coarser[0], columns=coarser)
    words = Sentence("Drop {column}", column=listed(columns))
    yield Remedy(RemedyKind.DROP, words, columns[0], columns=columns)


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
                "{columns} are protected separately: what is revealed about one is revealed about"
                " the others.",
                columns=listed(inside),
            ),
        ),
        (list(names),),
        names,
        (
            Remedy(
                RemedyKind.PROTECT,
                Sentence("Protect {columns} together", columns=listed(names)),
                inside[0],
                columns=others,
            ),
            *(
                Remedy(RemedyKind.DROP, Sentence("Drop {column}", column=name), name)
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
            exposure=one.exposure,
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
    return (Remedy(RemedyKind.UNIT, words, column),)


def _pooled(examined: Examined) -> Sequence[PooledRows]:
    """Return what the recipient restores by pooling; rows that repeat are found once for all."""
    document, columns = examined.document, examined.columns.whole
    source = examined.columns.source

    def find() -> tuple[RepeatedUnit, ...]:
        return repeated_units(source, Part(examined.context, 0.0, 0.5), among=among)

    def among() -> Sequence[str]:
        names = [name for name in source.columns if name != document.record_key]
        shown = columns.table
        return [name for name in names if may_name_units(shown.column(name), source.rows)]

    units = columns.keep("repeated units", find)
    if not units or not document.policy:
        return ()
    alone = replace(document, recipients=(examined.recipient,))
    context = Part(examined.context, 0.5, 1.0)
    return pooled_rows(alone, examined.attributes, units, (), ReleaseBasis.PLANNED, context)


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
