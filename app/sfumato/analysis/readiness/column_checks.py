"""The checks before a release of columns: missing values, levels, and shares that were measured."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import pandas as pd

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import (
    About,
    Decided,
    Examined,
    Finding,
    Remedy,
    RemedyKind,
    dropping,
)
from sfumato.engine.core.columns import Kind, Role
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.wording import Sentence, formatted, listed
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.missing_codes import suspected_codes
from sfumato.engine.table.table import companions
from sfumato.project.document.entry_plan import least_loss, plan_entry
from sfumato.project.document.model import PolicyEntry
from sfumato.project.release.byproducts import drawn_once_sentence, numbers_drawn_once

_TELLING: Final = 0.05
"""So many more records are guessed right by what tells of a column."""


def codes_among_numbers(examined: Examined) -> Iterator[Finding]:
    """Name columns of numbers in which some look like codes for missing values.

    They count where noise and its bounds are measured, and wherever a recipient computes a mean.
    """
    known, document = examined.columns, examined.document
    source = document.source
    # What was asked about where the table was opened is a finding already.
    asked = {
        name
        for note in (source.notes if source else None) or ()
        for way in note.ways
        for name in way.options.column_missing
    }
    leaving = {look.name for look in examined.shown if look.spec.binning is None and not look.view}
    concerned = leaving | {
        name for name, attribute in examined.attributes.items() if attribute.numbers is not None
    }
    found = [
        each
        for each in known.keep("suspected codes", lambda: tuple(suspected_codes(known.table)))
        if not each.dates
        and each.column in concerned - asked
        and document.column(each.column).kind is Kind.NUMERIC
    ]
    if not found:
        return
    names = tuple(each.column for each in found)
    count = sum(each.count for each in found)
    words = (
        "{count} {count:number|numbers} of {columns} {count:looks|look} like codes for missing"
        " values. Every figure counts them, and noise is measured by them: state them as missing"
        " where the table is opened, if they are."
    )
    if known.table.rows < known.rows:
        words = (
            "In {sampled} of {rows} {rows:row|rows}, {count} {count:number|numbers} of {columns}"
            " {count:looks|look} like codes for missing values. Every figure counts them, and noise"
            " is measured by them: state them as missing where the table is opened, if they are."
        )
    details = {"count": count, "columns": listed(names), "rows": known.rows}
    yield Finding(
        "Codes among numbers",
        Severity.CAUTION,
        Sentence(words, **details, sampled=known.table.rows),
        (list(names), count),
        names,
    )


def linked_units(examined: Examined) -> Iterator[Finding]:
    """Count what rows of a unit show together that show one noisy number, drawn once for all."""
    known, document, shown = examined.columns, examined.document, examined.shown
    sentence, names, unit = (
        drawn_once_sentence(document),
        numbers_drawn_once(document),
        document.unit,
    )
    if not sentence or not shown or unit is None:
        return
    unique, exposure = None, 0.0
    if known.table.rows == known.rows and len(unit.columns) == 1:
        found = known.linked(shown, unit.columns[0])
        if found is None or not found.unique:
            return
        unique, exposure = found.unique, found.unique / found.values
        sentence = Sentence(
            "Rows with the same {unit} show the same {columns}, by which they can be put together."
            " What they show together is unique for {unique:,} of {values:,}"
            " {values:unit|units}: whoever knows that much of one finds its rows, however many"
            " records are alike one by one.",
            unit=unit.name,
            columns=listed(names),
            unique=unique,
            values=found.values,
        )
    facts = (list(names), [look.name for look in shown], unique)
    yield Finding("Linked rows", Severity.CAUTION, sentence, facts, names, exposure=exposure)


def telling_gaps(examined: Examined) -> Iterator[Finding]:
    """Name categories that missing numbers tell: noise leaves a missing number missing."""
    known, drawn = examined.columns, examined.attributes
    table = known.table
    words = (
        "Which numbers of {column} are missing stays visible and tells about {other}:"
        " by that alone the best guess is right for {right:.0%} of the records, and for"
        " {without:.0%} without it. What is promised of {other} does not include that."
    )
    if table.rows < known.rows:
        words = (
            "Which numbers of {column} are missing stays visible and tells about {other}:"
            " by that alone the best guess is right for {right:.0%} of {sampled:,} of {rows:,}"
            " {rows:record|records}, and for {without:.0%} without it. What is promised of"
            " {other} does not include that."
        )
    specs = {name: examined.document.column(name) for name in drawn}
    explained = companions(table.missing_reasons)  # `told_reasons` tells of these
    for name, attribute in drawn.items():
        gaps = table.column(name).isna().to_numpy()
        if attribute.numbers is None or not gaps.any():
            continue
        for other in (one for one, each in drawn.items() if each.numbers is None):
            if explained.get(other) == name:
                continue
            shown = specs[other].shown(table.column(other))
            codes = pd.factorize(shown, use_na_sentinel=False)[0]
            counts = np.zeros((2, int(codes.max()) + 1), np.int64)
            np.add.at(counts, (gaps.astype(np.int64), codes), 1)
            right = float(counts.max(axis=1).sum() / len(gaps))
            without = float(counts.sum(axis=0).max() / len(gaps))
            if right - without < _TELLING:
                continue
            yield Finding(
                "Reasons of missing values",
                Severity.CAUTION,
                Sentence(
                    words,
                    column=name,
                    other=other,
                    right=right,
                    without=without,
                    sampled=table.rows,
                    rows=known.rows,
                ),
                (name, other, round(right, 3)),
                (name, other),
                (dropping(name),),
                exposure=right,
            )


def told_reasons(examined: Examined) -> Iterator[Finding]:
    """Name columns that leave unperturbed and say why values of protected ones are missing.

    Noise leaves a missing number missing, so such a column adds the reason. Where missing is one of
    the values that are drawn, it tells the true value of every record that has it.
    """
    explained = companions(examined.columns.table.missing_reasons)
    leaving = {look.name for look in examined.shown}
    for companion, name in explained.items():
        attribute = examined.attributes.get(name)
        shows_gaps = name in leaving or (attribute is not None and attribute.numbers is not None)
        if companion in examined.attributes and shows_gaps:
            yield Finding(
                "Reasons of missing values",
                Severity.CAUTION,
                Sentence(
                    "{column} leaves with its missing values, so of {companion} only which reason"
                    " it is stays protected, and not whether there is one.",
                    companion=companion,
                    column=name,
                ),
                (companion, name, "gaps"),
                (companion, name),
                (dropping(companion),),
                exposure=_missing(examined, name),
            )
        if companion not in leaving or name not in examined.attributes:
            continue
        if examined.document.column(name).role is not Role.SENSITIVE:
            continue
        domain = examined.attributes[name].domain
        drawn = domain is not None and domain.allows_missing
        words = (
            "{companion} leaves unperturbed and tells in which records {column} is missing, and"
            " why: that {column} is missing is protected in vain."
            if drawn
            else "{companion} leaves unperturbed and tells why {column} is missing, such as who"
            " refused to answer."
        )
        yield Finding(
            "Reasons of missing values",
            Severity.GRAVE if drawn else Severity.CAUTION,
            Sentence(words, companion=companion, column=name),
            (companion, name, drawn),
            (companion, name),
            (
                Remedy(
                    RemedyKind.PROTECT,
                    Sentence("Protect {columns} together with {name}", columns=companion, name=name)
                    if drawn
                    else Sentence("Mark {columns} as sensitive too", columns=companion),
                    name,
                    columns=(companion,),
                ),
                dropping(companion),
            ),
            exposure=_missing(examined, name),
        )


def _missing(examined: Examined, name: str) -> float:
    """Return in what share of the records a column has no value."""
    profile = examined.columns.profile(name)
    return profile.missing / profile.count if profile.count else 0.0


# ----- the checks of what an entry states: levels that can be met, and shares that were measured


def unmet_levels(decided: Decided) -> Iterator[Finding]:
    """Tell of levels that are missing or can't be met, and of the least ε that could be."""
    document, recipient = decided.document, decided.recipient
    for entry in () if document.is_published_only else document.policy:
        statement = recipient.statements.get(entry.key)
        remedies: tuple[Remedy, ...] = ()
        try:
            plan_entry(document, entry, decided.attributes, recipient)
            continue
        except LevelError as error:
            sentence = error.sentence
            found = least_loss(document, entry, statement or {}, decided.attributes)
            if found is not None:
                remedies = (_stated(entry, recipient.name, found["epsilon"]),)
        except PolicyError as error:
            sentence = error.sentence
        yield Finding(
            "Levels",
            Severity.GRAVE,
            Sentence("{name}: {problem}", name=entry.key, problem=sentence),
            (entry.key, statement),
            entry.attributes,
            remedies,
            about=About.POLICY,
            asks=False,
            refuses=True,
        )


def outdated_measurements(decided: Decided) -> Iterator[Finding]:
    """Tell of measured shares that are not of the groups that leave: fewer records are drawn."""
    document, known = decided.document, decided.attributes
    for entry in () if document.is_published_only else document.policy:
        chosen = [known[name] for name in entry.attributes if name in known]
        if len(chosen) < len(entry.attributes):
            continue
        if mechanism_called(entry.mechanism).outdated(chosen, entry.settings):
            words = (
                "{name}: the largest shares were not measured in the groups of this table, so"
                " fewer records are drawn. Measure them again under Policy."
            )
            yield Finding(
                "Measured shares",
                Severity.CAUTION,
                Sentence(words, name=entry.key),
                (entry.key,),
                entry.attributes,
                about=About.POLICY,
            )


def _stated(entry: PolicyEntry, recipient: str, loss: float) -> Remedy:
    words = Sentence("State ε = {loss} for {name}", loss=formatted(loss, ".4g"), name=entry.key)
    levels = {recipient: {"epsilon": loss}}
    return Remedy(RemedyKind.LEVEL, words, entry.attributes[0], entry=entry.key, levels=levels)
