"""The part of a verification that looks at rows and columns."""

from __future__ import annotations

from collections.abc import Collection

from sfumato.engine.core.columns import Role
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.base import Check
from sfumato.formats.bundles.reading import Bundle
from sfumato.project.release.regenerate import Regenerator
from sfumato.project.verification.compared import BundleComparison, Order
from sfumato.project.verification.recognition import RecognizedRelease


def check_rows(
    bundle: Bundle, match: RecognizedRelease, maker: Regenerator, comparison: BundleComparison
) -> tuple[Check, ...]:
    """Check the number and order of the records, and every column that is not perturbed."""
    perturbed = {name for plan in match.plans for name in plan.attributes}
    return (
        _check_records(comparison, maker.document.unit is not None),
        _check_columns(bundle, match, maker, perturbed),
        _check_identifying(bundle, maker),
        _check_unperturbed(bundle, maker, comparison, perturbed, match.view is not None),
    )


def _is_secret(maker: Regenerator, name: str) -> bool:
    spec = maker.specification(name)
    return spec is not None and (spec.role is Role.SENSITIVE or spec.is_dropped)


def _check_records(comparison: BundleComparison, by_unit: bool) -> Check:
    """Check that a bundle has all records; `by_unit`, some rows of the table don't leave."""
    found, source = comparison.found, comparison.leaving
    ordered = comparison.order is Order.SAME
    where = Sentence("the source table that may leave" if by_unit else "the source table")
    said = "It has all {found:,} {found:record|records} of {where}."
    if not ordered:
        said = (
            "It has all {found:,} {found:record|records}, but in another order than was released."
        )
    if found > source:
        said = "It has {found:,} {found:record|records}, {more:,} more than {where}."
    if found < source:
        said = (
            "It has {found:,} {found:record|records} of {source:,}: {lost:,} {lost:is|are} missing"
        )
    detail = {"found": found, "source": source, "more": found - source, "lost": source - found}
    finding = Sentence(said, where=where, **detail)
    if found < source:
        told = "{missing}, and others were altered."
        if not ordered:
            told = "{missing}, and not only at the end."
        elif comparison.all_alike:
            told = "{missing} at the end."
        finding = Sentence(told, missing=finding)
    return Check("Records", found == source and ordered, finding)


def _check_columns(
    bundle: Bundle, match: RecognizedRelease, maker: Regenerator, perturbed: set[str]
) -> Check:
    """Check which columns the bundle has, and their order."""
    title = "Columns"
    released = (
        {
            *match.record.open_columns,
            *perturbed,
            *(s.name for s in maker.document.columns if s.as_pseudonym is not None),
        }
        if match.record is not None
        else {
            name
            for name in maker.table.columns
            if (spec := maker.specification(name)) is not None and not spec.is_dropped
        }
    )
    wanted = [name for name in maker.table.columns if name in released]
    found = list(bundle.table.columns)
    missing = [name for name in wanted if name not in found]
    strange = [name for name in found if name not in wanted]
    findings = []
    if missing:
        findings.append(Sentence("missing: {names}", names=", ".join(missing)))
    if strange:
        findings.append(Sentence("not in the release: {names}", names=", ".join(strange)))
    if findings:
        return Check(
            title,
            False,
            Sentence("Its columns are not those released ({names}).", names="; ".join(findings)),
        )
    if found != wanted:
        return Check(title, False, "Its columns are in another order than was released.")
    return Check(
        title,
        True,
        Sentence("It has the {found} {found:column|columns} that were released.", found=len(found)),
    )


def _check_identifying(bundle: Bundle, maker: Regenerator) -> Check:
    identifying = [spec.name for spec in maker.document.columns if spec.is_dropped]
    shown = [name for name in identifying if name in bundle.table.columns]
    title = "Identifying columns"
    if shown:
        return Check(
            title,
            False,
            Sentence("It has columns that identify a person: {names}.", names=", ".join(shown)),
        )
    if not identifying:
        return Check(title, True, "No column of the project is identifying.")
    return Check(
        title,
        True,
        Sentence(
            "{identifying:The identifying column is not|None of the identifying columns is} in it.",
            identifying=len(identifying),
        ),
    )


def _check_unperturbed(
    bundle: Bundle,
    maker: Regenerator,
    comparison: BundleComparison,
    perturbed: Collection[str],
    coarser: bool,
) -> Check:
    """Check the columns that no release perturbs; `coarser`, the recipient has a view of them."""
    title = "Unperturbed columns"
    if comparison.order is Order.OTHER:
        return Check(title, True, "They have the source table's values, in other places.")
    names = [
        name
        for name in bundle.table.columns
        if name not in perturbed and not _is_secret(maker, name)
    ]
    differing = comparison.differing
    findings = [f"{n}: {differing[(n,)].sentence}" for n in names if (n,) in differing]
    findings += [
        Sentence("{name}: it can't be compared with the source table", name=name)
        for name in names
        if name not in comparison.known
    ]
    listed = "; ".join(findings)
    if findings and coarser:
        return Check(title, False, Sentence("They are not as released ({names}).", names=listed))
    if findings:
        said = Sentence("They are not as in the source table ({names}).", names=listed)
        return Check(title, False, said)
    if not names:
        return Check(title, True, "It has none.")
    said = Sentence("All {names} are as in the source table.", names=len(names))
    if coarser:
        said = Sentence("All {names} are as the recipient's view shows them.", names=len(names))
    return Check(title, True, said)
