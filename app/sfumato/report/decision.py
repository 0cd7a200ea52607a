"""The first page of a report: what is to be decided, in tables that can be signed and filed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from sfumato.analysis.guarantee import EntryPromise
from sfumato.analysis.planning.board import recipients_in_order
from sfumato.analysis.readiness.verdicts import verdict_of
from sfumato.engine.core.columns import Leaves
from sfumato.engine.core.wording import Sentence, as_sentence, joined
from sfumato.engine.mechanisms.base import Promise, PromiseFigure
from sfumato.engine.mechanisms.promise_words import at_most
from sfumato.formats.language import four_digits, said, worded
from sfumato.formats.terms import TERM_TITLES, ReleaseTerms
from sfumato.plots.axes import whole
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.report.blocks import (
    Block,
    Bullets,
    Paragraph,
    ReportGrid,
    ReportSection,
    SignatureLines,
)
from sfumato.report.history import heads
from sfumato.report.material import ReportMaterial, ReportOptions

_WAYS = (
    Leaves.EXACT,
    Leaves.COARSENED,
    Leaves.RANDOMISED,
    Leaves.PSEUDONYM,
    Leaves.LEFT_OUT,
    Leaves.UNDECIDED,
)
"""How columns leave, in the order in which they are told."""
_MOST_FIGURES = 2
_MOST_LEFT_OUT = 8
"""Up to so many columns that are left out are named; the page has room for a signature, too."""
_IN_UNITS = frozenset({"σ", "d"})
"""What is told in a column's own units."""
_SETTINGS = frozenset({"p", "m", "σ²"})
"""What was set, and promises nothing by itself."""
_MOST_REMAINING = 4


def decision(material: ReportMaterial, options: ReportOptions) -> ReportSection:
    """Return what is decided: for what, by whom, who gets what, what is promised and what remains.

    Parameters
    ----------
    material
        What the report tells of.
    options
        Who it is for.
    """
    rows = tuple(_stated(material, options))
    blocks: list[Block] = [ReportGrid(heads("To be decided", "Stated"), rows, row_heads=True)]
    people = tuple(_people(material, options))
    if people:
        found = heads("What was found") if options.internal else ()  # it counts the true table
        head = (*heads("Recipient", "What they get", "What is promised"), *found)
        blocks.append(ReportGrid(head, people, row_heads=True))
    blocks += _remaining(material)
    blocks.append(SignatureLines(("Decided by (name, role)", "Date", "Signature")))
    return ReportSection("Decision", tuple(blocks))


def _stated(material: ReportMaterial, options: ReportOptions) -> Iterator[tuple[str, str]]:
    """Yield the terms of the project, stated or not, and how large the table is."""
    document = material.document
    terms = document.terms or ReleaseTerms()
    nothing = worded("not stated")
    for name, title in TERM_TITLES.items():
        yield said(title), getattr(terms, name) or nothing
    known = options.internal or material.rows >= options.threshold
    records = (
        worded("{rows} {rows:record|records}", rows=whole(material.rows))
        if known
        else worded(
            "fewer than {threshold} {threshold:record|records}", threshold=options.threshold
        )
    )
    columns = len(document.columns)
    yield (
        worded("Table"),
        f"{document.title or worded('Untitled table')}: {records}, "
        + worded("{columns} {columns:column|columns}", columns=columns),
    )
    names = [recipient.name for recipient in document.recipients]
    public = worded("the public") if document.is_published_only else worded("nobody yet")
    yield worded("Recipients"), ", ".join(names) or public


def _people(material: ReportMaterial, options: ReportOptions) -> Iterator[tuple[str, ...]]:
    """Yield for each recipient how the columns leave, the promises' figures, and the verdict."""
    document = material.document
    verdicts = {each.recipient: verdict_of(each) for each in material.found}
    for recipient in recipients_in_order(document, material.attributes):
        by_way: dict[Leaves, list[str]] = {}
        for column, way in material.ways.get(recipient.name, {}).items():
            by_way.setdefault(way, []).append(column)
        gets = [f"{said(way.word)}: {_named(way, by_way[way])}" for way in _WAYS if way in by_way]
        view = recipient.view
        if view is not None and view.suppression > 0.0:
            gets.append(
                worded("suppressed: single cells that stand out")
                if view.cells
                else worded("suppressed: rows that stand out")
            )
        promised = _promised(material.guarantee.for_recipient(recipient.name))
        line = (recipient.name, "; ".join(gets), promised or worded("nothing"))
        verdict = verdicts.get(recipient.name)
        if not options.internal:
            yield line
        elif verdict is None:
            yield *line, worded("not checked")
        else:
            stands = Sentence("{word}.", word=as_sentence(verdict.word))
            yield *line, joined(stands, verdict.sentence)


def _promised(promises: Sequence[EntryPromise]) -> str:
    """Return what is promised; what is alike is told once, so that there is room to sign."""
    alike: dict[str, list[str]] = {}
    for told in promises:
        odds = _odds_of(told.promise)
        if odds is None:
            words = ", ".join(_figures(told.promise.facts))
        else:
            words = worded("anyone's odds multiplied by at most {factor}", factor=_rounded_up(odds))
        alike.setdefault(words, []).append(told.entry.key)
    return "; ".join(f"{', '.join(keys)}: {words}" for words, keys in alike.items())


def _odds_of(promise: Promise) -> float | None:
    """Return by what odds on a person's value are multiplied at most; None where nothing is."""
    return next((fact.value for fact in promise.facts if fact.symbol == "γ"), None)


def _rounded_up(odds: float) -> str:
    return "∞" if math.isinf(odds) else at_most(odds)


def _named(way: Leaves, columns: Sequence[str]) -> str:
    """Return columns by their names; of many that are left out, how many there are."""
    if way is Leaves.LEFT_OUT and len(columns) > _MOST_LEFT_OUT:
        return worded("{columns} {columns:column|columns}", columns=len(columns))
    return ", ".join(columns)


def _figures(facts: tuple[PromiseFigure, ...]) -> Iterator[str]:
    """Yield the figures that say most: by how much columns are off, and what nobody tells apart."""
    in_units = [fact for fact in facts if fact.symbol in _IN_UNITS]
    told = in_units or [fact for fact in facts if fact.symbol not in _SETTINGS][:_MOST_FIGURES]
    for fact in told:
        yield f"{said(fact.title)} {fact.symbol} = {_figure(fact)}"


def _figure(fact: PromiseFigure) -> str:
    if not math.isfinite(fact.value) or fact.value == 0.0 or fact.symbol != "d":
        return four_digits(fact.value)
    digits = 10.0 ** (math.floor(math.log10(fact.value)) - 3)  # no two that are told apart
    return four_digits(math.floor(fact.value / digits) * digits)


def _remaining(material: ReportMaterial) -> Iterator[Block]:
    """Yield what nobody is promised; the whole list is told of the promises."""
    guarantee, document = material.guarantee, material.document
    found = dict.fromkeys(
        (
            *guarantee.cautions,
            *(byproducts_that_remain(document, document.recipients) if document.policy else ()),
            *(limit for told in guarantee.promises for limit in told.promise.limits),
        )
    )
    if found:
        yield Paragraph("What remains:")
        yield Bullets(tuple(found)[:_MOST_REMAINING])
        if len(found) > _MOST_REMAINING:
            yield Paragraph("The rest stands below, with the promises.", "note")
