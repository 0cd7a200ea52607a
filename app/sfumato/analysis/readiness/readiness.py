"""Ready to release? What was checked for each recipient, what was found, and how to mend it.

What endangers people is grave: it is mended, or a reason is given for it. A reason stands for a
finding with these very figures; another finding needs one of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.view_checks import shown_to
from sfumato.analysis.coarsening.views import with_level
from sfumato.analysis.findings import (
    About,
    BesideReleases,
    Decided,
    Examined,
    Finding,
    Remedy,
    RemedyKind,
)
from sfumato.analysis.readiness.readiness_checks import CHECKS, CHECKS_OF_ROWS
from sfumato.analysis.readiness.remedies import with_quasi_identifiers
from sfumato.analysis.readiness.verdicts import Readiness, verdict_of
from sfumato.analysis.readiness.worth_checks import with_levels, with_mechanism, without_released
from sfumato.analysis.shown_columns import CountedColumns, ShownColumns
from sfumato.analysis.unperturbed.open_figures import left_out, made_coarser, protected_too
from sfumato.engine.core.columns import Coding, Kind
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, Silent, one_by_one
from sfumato.engine.core.wording import Sentence, listed
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.noisy_statistics import KeyedNoise
from sfumato.engine.table.table import Attribute, encode_attribute
from sfumato.project.document.entry_plan import check_policy
from sfumato.project.document.model import Document, Recipient, document_to_json
from sfumato.project.errors import ReleaseError
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable, Summary
from sfumato.project.release.leaving_units import leaving_rows
from sfumato.project.release.prepared import known_by, remember_summary
from sfumato.project.release.release_columns import check_columns, material_of, material_with
from sfumato.project.release.release_compatibility import check_source
from sfumato.project.release.table_survey import (
    Survey,
    measured_for_unit,
)
from sfumato.project.release.units import unit_of_columns
from sfumato.project.release.views import quasi_identifiers
from sfumato.project.source_changes import remember_rows
from sfumato.project.store.remembered import Remembered


@dataclass(frozen=True)
class CheckedRows:
    """What the checks find in a table's rows, whatever was released and whatever is accepted.

    Parameters
    ----------
    document
        What is decided, with the domains that all rows tell.
    attributes
        The policy's attributes, by name.
    findings
        By recipient, of those who were asked for, in the order of the checks.
    """

    document: Document
    attributes: Mapping[str, Attribute]
    findings: Mapping[str, tuple[Finding, ...]] = field(repr=False)

    def readiness(
        self, releases: Sequence[ReleaseRecord], accepted: Mapping[str, str]
    ) -> tuple[Readiness, ...]:
        """Return what is found for each recipient, beside what was released, the worst first.

        `accepted` are the reasons that stand for findings, by their keys.
        """
        found, beside = [], BesideReleases.of(self.document, self.attributes, releases)
        for recipient in _among(self.document, self.findings):
            decided = Decided(self.document, recipient, self.attributes, releases, beside)
            others = [one for check in CHECKS for one in check(decided)]
            known = self.findings[recipient.name]
            rows = [without_released(one, self.document, releases) for one in known]
            both = (*rows, *others)
            named = [replace(one, recipient=recipient.name) for one in both]
            findings = [replace(one, reason=accepted.get(one.key, "")) for one in named]
            findings.sort(key=_worst_first)
            found.append(Readiness(recipient.name, tuple(findings)))
        return tuple(sorted(found, key=lambda each: verdict_of(each).rank))


def _among(document: Document, names: Container[str] | None) -> list[Recipient]:
    """Return a document's recipients of these names; all where None are given."""
    return [each for each in document.recipients if names is None or each.name in names]


def _worst_first(finding: Finding) -> tuple[object, ...]:
    """Sort dangers first, then what is worthless, then the rest; what exposes more before less."""
    grave, good = (finding.severity is each for each in (Severity.GRAVE, Severity.GOOD))
    told = (grave, finding.worthless, not good, finding.refuses, not finding.reason)
    return (*(not each for each in told), -finding.exposure)


def check_rows(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    context: Context,
    recipients: Container[str] | None = None,
    checks: Sequence[Callable[[Examined], Iterable[Finding]]] | None = None,
    remedies: bool = True,
) -> CheckedRows:
    """Return what the checks find in a table's rows for each of some recipients, or for all.

    Of some `checks` only, where not all are asked for; without `remedies`, those that take a
    search are left out.

    Raises
    ------
    SfumatoError
        If a row does not fit a column's bins.
    """
    found = {}
    for recipient, part in one_by_one(context, _among(document, recipients)):
        shown, findings = shown_to(document, recipient, columns), list[Finding]()
        for check, step in one_by_one(part, CHECKS_OF_ROWS if checks is None else checks):
            step.report(0.0, Sentence("Checking {name}", name=recipient.name))
            known = (document, recipient, shown, columns, attributes)
            findings += check(Examined(*known, step, remedies=remedies))
        found[recipient.name] = tuple(findings)
    context.report(1.0, "Every recipient is checked")
    return CheckedRows(document, attributes, found)


def examine(
    document: Document,
    columns: ShownColumns,
    attributes: Mapping[str, Attribute],
    releases: Sequence[ReleaseRecord],
    context: Context,
) -> tuple[Readiness, ...]:
    """Return what is found for every recipient, the worst first; raises what `check_rows` does."""
    checked = check_rows(document, columns, attributes, context)
    return checked.readiness(releases, document.accepted)


# ----- what is done about it


def fits(document: Document, remedy: Remedy) -> bool:
    """Return whether the columns, entries and recipients that a remedy is for are there."""
    columns = set(filter(None, (remedy.column, *remedy.columns)))
    return (
        columns <= {each.name for each in document.columns}
        and {remedy.recipient, *remedy.levels} <= {"", *(r.name for r in document.recipients)}
        and remedy.entry in ("", *(each.key for each in document.policy))
        and all(fits(document, part) for part in remedy.parts)
    )


def mended(
    document: Document,
    remedy: Remedy,
    source: Survey | None = None,
    noise: KeyedNoise | None = None,
    context: Context | None = None,
    levels: Callable[[Document, Context], Document] | None = None,
) -> Document:
    """Return the document with a remedy applied.

    Parameters
    ----------
    document, remedy
        What is decided, and what is to be done.
    source, noise
        What is known of the rows, and what draws noise for statistics of them, for a deed that
        needs them.
    context
        Progress and cancelling.
    levels
        Finds the levels of every view anew, where quasi-identifiers are added; without it, that is
        left to who asks.

    Raises
    ------
    SfumatoError
        If a column's values don't fit what is to be done.
    """
    for part in remedy.parts:
        document = mended(document, part, source, noise, context, levels)
    if remedy.parts:
        return document
    if remedy.deed is RemedyKind.RANDOM_ORDER:
        return replace(document, rows_as_in_table="")
    if remedy.deed is RemedyKind.LEVEL:
        return with_levels(document, remedy)
    if remedy.deed is RemedyKind.DROP:
        return left_out(document, remedy.columns or (remedy.column,))
    if remedy.needs_rows:
        assert source is not None
        assert noise is not None
        document = _mended_by_rows(document, remedy, source, noise, context or Silent())
        if remedy.deed is RemedyKind.QUASI_IDENTIFIER and levels is not None:
            document = levels(document, context or Silent())
        return document
    return _mended_in_column(document, remedy)


def _mended_in_column(document: Document, remedy: Remedy) -> Document:
    if remedy.deed is RemedyKind.RAISE:
        return with_level(document, remedy.recipient, remedy.column, remedy.level)[0]
    spec = document.column(remedy.column)
    if remedy.coding is not None:
        before = spec.coding or Coding()
        if remedy.deed is RemedyKind.ROUND:
            coding = replace(before, step=remedy.coding.step)
        else:
            coding = replace(remedy.coding, step=before.step)
        return document.with_column(replace(spec, kind=Kind.NUMERIC, coding=coding))
    banded = replace(spec, kind=Kind.NUMERIC, binning=remedy.binning, domain=None, from_rows=True)
    return document.with_column(banded)


def _mended_by_rows(
    document: Document, remedy: Remedy, source: Survey, noise: KeyedNoise, context: Context
) -> Document:
    if remedy.deed is RemedyKind.PROTECT:
        return protected_too(document, source, remedy.column, remedy.columns, noise)
    if remedy.deed is RemedyKind.COARSEN:
        return made_coarser(document, source, remedy.columns)
    if remedy.deed is RemedyKind.QUASI_IDENTIFIER:
        return with_quasi_identifiers(document, source, remedy.columns)
    if remedy.deed is RemedyKind.MECHANISM:
        return with_mechanism(document, source, remedy, noise)
    unit, _ = unit_of_columns(document, source, (remedy.column,), None, context)
    return measured_for_unit(document.with_unit(unit), source, noise)


def accepting(document: Document, findings: Iterable[Finding], reason: str) -> Document:
    """Return the document with a reason for findings that stay open."""
    accepted = {**document.accepted, **{one.key: reason.strip() for one in findings}}
    return replace(document, accepted=accepted)


def accepted_for(found: Iterable[Readiness], recipient: str) -> tuple[Mapping[str, str], ...]:
    """Return what the ledger keeps of the reasons that a release is made for."""
    return tuple(
        {"check": one.check, "finding": str(one.sentence), "reason": one.reason}
        for each in found
        if each.recipient == recipient
        for one in each.findings
        if one.reason and one.takes_reason
    )


def require_ready(found: Iterable[Readiness], recipients: Sequence[str]) -> None:
    """Refuse releases that something grave speaks against and no reason stands for.

    Raises
    ------
    ReleaseError
        Naming the recipients and what was found.
    """
    waiting = [each for each in found if each.recipient in recipients and each.open]
    if not waiting:
        return
    sentences = dict.fromkeys(str(one.sentence) for each in waiting for one in each.open)
    raise ReleaseError(
        "Not ready to release to {names}. {findings}",
        "Resolve what was found, or give a reason, which the ledger and the report keep.",
        names=listed(tuple(each.recipient for each in waiting)),
        findings=" ".join(sentences),
    )


LookedAt = tuple[Document, CountedColumns, Mapping[str, Attribute]]
"""A document with the domains that all rows tell, the columns that leave, and attributes."""


def looked_at(
    document: Document,
    table: BatchedTable,
    keys: KeyRing,
    context: Context,
    recipients: Container[str] | None = None,
) -> LookedAt:
    """Return what is examined, found in one pass: the document, the columns that leave, attributes.

    The document has the domains that all rows tell. Views are counted for the `recipients` that
    are named, or for all.

    Raises
    ------
    SfumatoError
        If policy and table don't fit together.
    """
    check_policy(document)
    check_columns(document, table.columns)
    viewed = [one for one in _among(document, recipients) if one.view is not None]
    viewed = viewed if quasi_identifiers(document) else []  # else a view shows no column
    part = Part(context, 0.0, 0.5 if viewed else 1.0)
    left = leaving_rows(table, document, keys, Part(part, 0.0, 0.4))
    summary = left.summary(document, Part(part, 0.4, 1.0))
    document, attributes = _attributes(document, left, summary)
    columns = CountedColumns(summary, left, KeyedNoise(keys))
    for place, recipient in enumerate(viewed):
        part = Part(context, 0.5 + 0.5 * place / len(viewed), 1.0)
        with suppress(SfumatoError):  # the check says why a view can't be made
            columns.seen(document, recipient, part)
    return document, columns, attributes


_CHECK: Final = "check"
_UNTOLD: Final[Mapping[str, Any]] = {
    "title": "",
    "rows_as_in_table": "",
    "accepted": {},
    "terms": None,
    "most_epsilon": None,
}
"""What changes nothing of what is found in rows."""


def checked_rows(
    document: Document,
    table: BatchedTable,
    keys: KeyRing,
    remembered: Remembered | None,
    context: Context,
    recipients: Container[str] | None = None,
    looked: LookedAt | None = None,
) -> CheckedRows:
    """Return what the checks find in a table's rows, or found in the same rows before.

    Parameters
    ----------
    document, table, keys
        What is decided, the rows, and what decides which rows leave, of those of a unit.
    remembered
        What this computer remembers about the project; None where there is none yet.
    context
        Progress and cancelling.
    recipients
        Whose releases are examined; None for all. What was found before is told of others, too.
    looked
        What `looked_at` found for all recipients, where somebody has looked already.

    Raises
    ------
    SfumatoError
        If policy and table don't fit together.
    """
    source = document.source
    asked = document_to_json(replace(document, **_UNTOLD, source=None))
    about = known_by(document, f"{table.most_sampled < table.rows} {asked}")
    found: CheckedRows | None = None
    if remembered is not None and about:
        found = remembered.find(_CHECK, about)
    if found is not None:
        untold = {name: getattr(document, name) for name in (*_UNTOLD, "source")}
        found = replace(found, document=replace(found.document, **untold))
    known = {} if found is None else found.findings
    names = {each.name for each in _among(document, recipients)} - known.keys()
    if found is None or names:
        seen = looked or looked_at(document, table, keys, Part(context, 0.0, 0.6), names)
        found = check_rows(*seen, Part(context, 0.6, 0.9), names)
        found = replace(found, findings={**known, **found.findings})
        if remembered is not None and source is not None:
            remembered.keep(_CHECK, about, found)
            remember_summary(remembered, document, table)
            remember_rows(remembered, source, table, Part(context, 0.9, 1.0))
    return found


def _attributes(
    document: Document, table: BatchedTable, summary: Summary
) -> tuple[Document, dict[str, Attribute]]:
    """Return the document with the domains that all rows tell, and the attributes."""
    if summary.every.rows == table.whole.rows:
        material = material_of(document, summary.every)
        return material.document, material.attributes
    document = material_with(document, summary.witnesses, summary.encoded).document
    sampled = [name for name, column in summary.encoded.items() if column.attribute.domain is None]
    numbers = {name: encode_attribute(summary.sample, document.column(name)) for name in sampled}
    encoded = {**summary.encoded, **numbers}
    return document, {name: column.attribute for name, column in encoded.items()}


def attributes_in(
    document: Document, table: BatchedTable, keys: KeyRing, context: Context
) -> Mapping[str, Attribute]:
    """Return what mechanisms know about every attribute of the policy, by name.

    Raises the errors of `leaving_rows` and `BatchedTable.summary`.
    """
    left = leaving_rows(table, document, keys, Part(context, 0.0, 0.4))
    summary = left.summary(document, Part(context, 0.4, 1.0), for_checks=False)
    return _attributes(document, left, summary)[1]


def settle(
    project: ProjectFile,
    table: BatchedTable,
    recipients: Sequence[str],
    reason: str,
    context: Context,
) -> tuple[Readiness, ...]:
    """Examine a project before releases; record a reason for what is open, or refuse.

    Parameters
    ----------
    project, table
        Open for writing, and its table.
    recipients
        Who is to get a release.
    reason
        The custodian's reason for whatever grave is open; may be empty.
    context
        Progress and cancelling.

    Raises
    ------
    ReleaseError
        If something grave is open and no reason is given.
    SourceChanged
        If records are known by position, and the table is another one since the first release.
    SfumatoError
        If policy and table don't fit together.
    """
    if (source := project.document.source) is not None:
        check_source(project.document, source, project.releases)  # before all that follows from it
    document, keys = project.document, project.keys
    rows = checked_rows(document, table, keys, project.remembered, context, recipients)
    found = rows.readiness(project.releases, project.document.accepted)
    if not reason.strip():
        require_ready(found, recipients)
        return found
    chosen = [one for each in found if each.recipient in recipients for one in each.findings]
    named = [
        one
        for one in chosen
        if one.is_open or (one.about is About.READING and one.asks and not one.reason)
    ]
    if not named:
        return found
    project.save_document(accepting(project.document, named, reason))
    return rows.readiness(project.releases, project.document.accepted)


def plain(found: Iterable[Readiness]) -> list[dict[str, Any]]:
    """Return what was found as plain JSON values."""
    return [
        {
            "recipient": each.recipient,
            "ready": not each.standing,
            "verdict": verdict_of(each).standing.name.lower(),
            "sentence": str(verdict_of(each).sentence),
            "findings": [
                {
                    "check": one.check,
                    "severity": one.severity.name.lower(),
                    "worthless": one.worthless,
                    "exposure": round(one.exposure, 4),
                    "finding": str(one.sentence),
                    "columns": list(one.columns),
                    "reason": one.reason,
                    "remedies": [_plain(remedy) for remedy in one.remedies],
                }
                for one in each.findings
            ],
        }
        for each in found
    ]


def _plain(remedy: Remedy) -> dict[str, Any]:
    return {
        "deed": remedy.deed.value,
        "column": remedy.column,
        "columns": list(remedy.columns or filter(None, (remedy.column,))),
        "words": str(remedy.words),
        "unique before": remedy.before,
        "unique after": remedy.after,
        "error": remedy.error,
        "recipient": remedy.recipient,
        "level": remedy.level,
        "edges": None if remedy.binning is None else list(remedy.binning.edges),
        "step": None if remedy.coding is None else remedy.coding.step,
        **({} if not remedy.entry else {"entry": remedy.entry, "levels": dict(remedy.levels)}),
        **({} if not remedy.mechanism else {"mechanism": remedy.mechanism}),
        "parts": [_plain(part) for part in remedy.parts],
        **({} if remedy.reading is None else {"reading": _unsaid(remedy.reading.to_dict())}),
    }


def _unsaid(reading: dict[str, Any]) -> dict[str, Any]:
    """Return reading options without the table's values that they would read as missing."""
    if "column_missing" not in reading:
        return reading
    return {**reading, "column_missing": {name: ["…"] for name in reading["column_missing"]}}
