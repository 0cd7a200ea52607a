"""The checks before a release, each one function from what is examined to its findings.

Whoever adds a check adds it to `CHECKS_OF_ROWS`, or to `CHECKS` where it reads no rows but perhaps
the ledger: what rows told is remembered while more is released. Window, command line, ledger and
report have it then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

import numpy as np

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.undone_views import undone_views
from sfumato.analysis.coarsening.view_checks import (
    broken_views,
    counted_with,
    is_broken,
    raised_levels,
    raised_view,
)
from sfumato.analysis.findings import (
    About,
    Decided,
    Examined,
    Finding,
    Remedy,
    RemedyKind,
    dropping,
    drops_only,
    pooled_units,
    said_together,
    telling_columns,
    unique_then,
)
from sfumato.analysis.guarantee import promise_is_empty
from sfumato.analysis.readiness.column_checks import (
    codes_among_numbers,
    linked_units,
    outdated_measurements,
    telling_gaps,
    told_reasons,
    unmet_levels,
)
from sfumato.analysis.readiness.remedies import (
    as_coarse_as_released,
    made_quasi_identifiers,
    randomised,
    sufficing_drop,
)
from sfumato.analysis.readiness.worth_checks import worth_of_columns
from sfumato.analysis.shown_columns import SMALL, ClassCounts, ColumnView, look_of
from sfumato.analysis.unperturbed.open_figures import in_views
from sfumato.engine.core.columns import Binning, Coding, Kind, Role
from sfumato.engine.core.errors import PolicyError, SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.best_guess import restored_alone
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.proposals import propose
from sfumato.engine.table.table import Attribute
from sfumato.formats.bundles.contents import ROWS_AS_IN_TABLE
from sfumato.formats.choices import cautions_first, rows_sentence
from sfumato.formats.notes import WEIGHTED
from sfumato.project.document.entry_plan import EntryPlan, plan_entry
from sfumato.project.errors import SourceChanged
from sfumato.project.release.byproducts import (
    columns_from_rows,
    exact_byproducts,
    from_rows_sentence,
    pseudonymous,
    seen_labels_sentence,
    weight_column,
    within_sentence,
)
from sfumato.project.release.release_compatibility import check_source, crossing_views
from sfumato.project.release.uniqueness import population_sentence
from sfumato.project.release.views import coarsening_of

_RARE: Final = 3
"""A label of fewer records is rare."""
_MANY_LABELS: Final = 1_000
"""A column of more different texts has no labels."""
_EXACT_DATES: Final = 12
"""A column with more different dates holds exact ones."""
_LONG_TEXT: Final = 60.0
_BANDED: Final = 4
"""Bands are tried of so many columns, those that tell most."""
_REMEDIES: Final = 3
"""So many remedies of a finding are offered, the best first."""
READING: Final = "How it is read"
UNIQUE_RECORDS: Final = "Unique records"
SMALL_CLASSES: Final = "Small classes"
CLASS_SIZES: Final = (UNIQUE_RECORDS, SMALL_CLASSES)
"""The checks of how many records are alike in what leaves: a view with a k answers them."""


_MOST: Final = 3
"""So many columns are changed together at most."""
_TRIED: Final = 4
"""Among so many columns, those that leave fewest unique on their own, the best are searched."""
_ROUGHLY: Final = 8
"""While they are searched, this much smaller a part of a long table's classes is counted."""


def joint_remedy(examined: Examined, single: Sequence[Remedy], before: int) -> Remedy | None:
    """Return two or three columns whose change leaves fewest unique, found greedily, if any.

    Parameters
    ----------
    examined
        For whom.
    single
        What can be done to one column, and what it reaches, the best first.
    before
        How many are unique today.
    """
    of_column = {remedy.column: remedy for remedy in reversed(single)}
    best_first = list(dict.fromkeys(remedy.column for remedy in single))[:_TRIED]
    left = [of_column[name] for name in best_first]
    if len(left) < 2 or not left[0].after:
        return None
    chosen = [left.pop(0)]
    least = before
    while left and len(chosen) < _MOST:
        tried = [(_reached(examined, [*chosen, one], _ROUGHLY).unique, one) for one in left]
        unique, best = min(tried, key=lambda each: each[0])
        if len(chosen) > 1 and unique >= least:
            break
        least = unique
        chosen.append(best)
        left.remove(best)
        if not least:
            break
    after = _reached(examined, chosen)
    if after.unique >= min(before, single[0].after or 0):
        return None
    figures = unique_then(before, after.unique, after.error)
    return Remedy(
        RemedyKind.TOGETHER,
        Sentence("{deeds}, together: {figures}", deeds=said_together(chosen), figures=figures),
        chosen[0].column,
        before=before,
        after=after.unique,
        error=after.error,
        columns=tuple(one.column for one in chosen),
        parts=tuple(chosen),
    )


def _reached(examined: Examined, remedies: Sequence[Remedy], roughly: int = 1) -> ClassCounts:
    """Count the classes of what leaves once several columns are changed."""
    looks = {look.name: look for look in examined.shown}
    levels: dict[str, int] = {}
    for one in remedies:
        if one.deed is RemedyKind.DROP:
            del looks[one.column]
        elif one.deed is RemedyKind.RAISE:
            levels[one.column] = one.level
        else:
            spec = replace(looks[one.column].spec, kind=Kind.NUMERIC)
            rounded = one.coding is not None
            looks[one.column] = look_of(
                replace(spec, coding=one.coding) if rounded else replace(spec, binning=one.binning)
            )
    if levels:
        return counted_with(examined, raised_view(examined, levels), looks, roughly)
    key = ("together", frozenset(look.bare for look in looks.values()), roughly)
    find = partial(examined.columns.passing, tuple(looks.values()), None, roughly)
    return examined.columns.keep(key, find)


def unique_records(examined: Examined) -> Iterator[Finding]:
    """Count the records that are unique on the columns that leave, and the small classes."""
    shown, known = examined.shown, examined.columns
    if not shown:
        return
    classes = known.classes(shown)
    names = tuple(look.name for look in shown)
    rows, unit = known.rows, examined.document.unit
    facts = (list(names), [_coarsened_by(look) for look in shown], *([unit.name] if unit else []))
    if classes.unique:
        remedies = _fewer_unique(examined, classes)
        yield Finding(
            UNIQUE_RECORDS,
            Severity.GRAVE,
            joined(_unique(examined, classes), _in_population(examined)),
            (*facts, classes.unique),
            tuple(dict.fromkeys([*(r.column for r in remedies), *names])),
            remedies,
            exposure=classes.unique / known.number_of_units,
        )
    elif classes.smallest < SMALL:
        yield Finding(
            SMALL_CLASSES,
            Severity.CAUTION,
            Sentence(
                "No record is unique on the columns released unperturbed, but {small:,} of"
                " {rows:,} {small:shares its|share their} values with fewer than {most}"
                " {most:other|others}."
                if unit is None
                else (
                    "No unit is unique on the columns released unperturbed, but {small:,} of"
                    " {rows:,} {rows:record|records} {small:shares its|share their} values with"
                    " records of fewer than {most} other {most:unit|units}."
                ),
                small=classes.small,
                rows=rows,
                most=SMALL - 1,
            ),
            (*facts, classes.small),
            names,
            _fewer_unique(examined, classes),
            exposure=classes.small / rows,
        )
    elif not is_broken(examined):  # what a view would hide is released to nobody
        yield Finding(
            UNIQUE_RECORDS,
            Severity.GOOD,
            Sentence(
                "No record is unique on the columns released unperturbed; the smallest class has"
                " {smallest:,} {smallest:record|records}."
                if unit is None
                else (
                    "No unit is unique on the columns released unperturbed; the smallest class"
                    " has records of {smallest:,} {smallest:unit|units}."
                ),
                smallest=classes.smallest,
            ),
        )


def linked_rows(examined: Examined) -> Iterator[Finding]:
    """Count what rows with one pseudonym show together: no class of single rows tells of it."""
    shown, known = examined.shown, examined.columns
    in_memory, names = known.table.rows == known.rows, [look.name for look in shown]
    for spec in pseudonymous(examined.document) if shown else ():
        unique, exposure = None, 0.0
        if in_memory:
            found = known.linked(shown, spec.name)
            if found is None or not found.unique:
                continue
            unique, exposure = found.unique, found.unique / found.values
            sentence: str = Sentence(
                "Rows with the same pseudonym of {column} can be linked. What they show together is"
                " unique for {unique:,} of {values:,} {values:value|values} of {column}: whoever"
                " knows that much finds these rows, however many records are alike one by one.",
                column=spec.name,
                unique=unique,
                values=found.values,
            )
        elif spec.name == examined.document.record_key:
            continue  # names each row, so links none
        else:
            sentence = within_sentence(spec)
        facts = (spec.name, names, unique)
        told = Severity.CAUTION
        yield Finding("Linked rows", told, sentence, facts, (spec.name,), exposure=exposure)


def _unique(examined: Examined, classes: ClassCounts) -> Sentence:
    """Say how many records are unique, or units where they are stated."""
    known, unit = examined.columns, examined.document.unit
    figures = {
        "unique": classes.unique,
        "rows": known.rows,
        "count": len(examined.shown),
    }
    if unit is None or known.units is None:
        return Sentence(
            "{unique:,} of {rows:,} {rows:record|records} {unique:is|are} unique on the {count}"
            " {count:column|columns} released unperturbed: anyone who knows these values of a"
            " person finds the row.",
            **figures,
        )
    return Sentence(
        "{unique:,} of {units:,} {units:unit|units} (records with the same {unit}) {unique:is|are}"
        " unique on the {count} {count:column|columns} released unperturbed, by {alone:,} of"
        " {rows:,} {rows:record|records}: anyone who knows these values of such a unit finds its"
        " rows.",
        unit=unit.name,
        units=known.number_of_units,
        alone=classes.rows,
        **figures,
    )


def _in_population(examined: Examined) -> str:
    """Say how many are expected to be unique in the population; empty without weights."""
    document, known = examined.document, examined.columns
    weight, expected = weight_column(document), known.expected_unique(document, examined.shown)
    if weight is None or expected is None:
        return ""
    return population_sentence(weight.name, expected, by_unit=document.unit is not None)


def _coarsened_by(look: ColumnView) -> list[float | str | None]:
    """Return what coarsens a column where it leaves."""
    if look.view:
        return [look.view]
    if look.spec.binning is not None:
        return list(look.spec.binning.edges)
    coded = look.spec.coded
    return [] if coded is None else [coded.bottom, coded.top, coded.step]


def _fewer_unique(examined: Examined, classes: ClassCounts) -> tuple[Remedy, ...]:
    """Return what leaves fewer records unique, the most effective first.

    Where none of them suffices, one that does stands in place of what leaves columns out in vain.
    """
    before = classes.unique
    if not before or not examined.remedies:
        return ()
    if examined.columns.table.rows < examined.columns.rows:
        return ()  # rows of a sample don't tell what is unique
    raised = raised_levels(examined, before)
    options = _options(examined)
    fewer = [each for each in options if each[3].unique < before]
    found = [_remedy(each, before) for each in _of_different_columns(fewer)]
    offered = (*raised, *found[: _REMEDIES - len(raised)])
    # Also what does little on its own: several columns may each tell what the others do.
    single = sorted(
        (*raised, *(_remedy(each, before) for each in options)), key=lambda one: one.after or 0
    )
    together = joint_remedy(examined, single, before)
    if together is not None:
        offered = (*offered, together)
    if all(one.after for one in offered):
        enough = sufficing_drop(examined, before)
        if enough is not None:
            left = (RemedyKind.DROP, RemedyKind.TOGETHER)
            offered = (enough, *(one for one in offered if one.deed not in left))
    dropped = [one for one in offered if drops_only(one) and not one.after]
    names = (dropped[0].columns or (dropped[0].column,)) if dropped else ()
    kept = (randomised(examined, names, before), made_quasi_identifiers(examined, names))
    return (*(one for one in kept if one is not None), *offered)


def _options(examined: Examined) -> list[_Option]:
    """Return what a column dropped, in bands or rounded leaves unique, the most effective first."""
    known, shown = examined.columns, examined.shown
    found: list[_Option] = []
    # What a view coarsens is mended in the view, for all its columns together.
    own = [look for look in shown if not look.view]
    telling = known.telling_apart(shown)

    def without(name: str) -> ClassCounts:
        by_others = (counted for names, counted in telling if name not in names)
        return next(by_others, None) or known.without(shown, name)

    found += [
        (RemedyKind.DROP, look.name, None, without(look.name)) for look in own if len(shown) > 1
    ]
    found.sort(key=lambda each: (each[3].unique, -known.profile(each[1]).distinct))
    leveled = in_views(examined.document)  # other bins would unsettle the levels of everybody
    own = [look for look in own if look.name not in leveled]
    mattering = [each[1] for each in found[:_BANDED]] or [look.name for look in own[:1]]
    for look in own:
        spec = replace(look.spec, kind=Kind.NUMERIC)
        if examined.document.column(look.name).role is Role.WEIGHT:  # which counts as a number
            if (rounding := known.rounding(look.name, spec.coding)) is not None:
                rounded = look_of(replace(spec, coding=rounding))
                found.append(
                    (RemedyKind.ROUND, look.name, rounding, known.with_other(shown, rounded))
                )
        elif look.name in mattering and (bands := known.bands(look.name, spec.binning)) is not None:
            banded = look_of(replace(spec, binning=bands))
            found.append((RemedyKind.BAND, look.name, bands, known.with_other(shown, banded)))
    return sorted(found, key=lambda each: (each[3].unique, each[0] is RemedyKind.DROP))


def _remedy(option: _Option, before: int) -> Remedy:
    deed, name, how, after = option
    words = _reaches(deed, name, how, before, after)
    return Remedy(
        deed,
        words,
        name,
        how if isinstance(how, Binning) else None,
        how if isinstance(how, Coding) else None,
        before=before,
        after=after.unique,
        error=after.error,
    )


_Option = tuple[RemedyKind, str, Binning | Coding | None, ClassCounts]


def _of_different_columns(options: Sequence[_Option]) -> list[_Option]:
    """Return the best options: of one column both ways of mending it, of others the better."""
    first = [option for option in options if option[1] == options[0][1]]
    others = {option[1]: option for option in reversed(options) if option not in first}
    return [*first, *sorted(others.values(), key=lambda each: each[3].unique)][:_REMEDIES]


def _reaches(
    deed: RemedyKind, column: str, how: Binning | Coding | None, before: int, after: ClassCounts
) -> str:
    figures = unique_then(before, after.unique, after.error)
    if deed is RemedyKind.DROP:
        return Sentence("Drop {column}: {figures}", column=column, figures=figures)
    if isinstance(how, Coding):
        words = "Round {column} to multiples of {step:g}: {figures}"
        return Sentence(words, column=column, step=how.step, figures=figures)
    bins = 0 if how is None else len(how.edges) - 1
    return Sentence("Band {column} in {bins}: {figures}", column=column, bins=bins, figures=figures)


def revealing_columns(examined: Examined) -> Iterator[Finding]:
    """Name identifiers, exact dates and free texts among the columns that leave."""
    named: dict[str, list[str]] = {"identifier": [], "date": [], "text": []}
    for look in examined.shown:
        if look.view or look.spec.binning is not None:
            continue
        spec, profile = look.spec, examined.columns.profile(look.name)
        if profile.earliest is not None and profile.distinct > _EXACT_DATES:
            named["date"].append(spec.name)
        elif profile.mean_length is not None and profile.mean_length > _LONG_TEXT:
            named["text"].append(spec.name)
        elif propose(profile).spec.role is Role.IDENTIFYING:
            named["identifier"].append(spec.name)
    for kind, title, words in (
        (
            "identifier",
            "Identifiers",
            "These columns look as if they identify a person or a household, and leave: {columns}.",
        ),
        ("date", "Exact dates", "These columns leave with exact dates: {columns}."),
        (
            "text",
            "Free text",
            "These columns leave with free text, which may name people: {columns}.",
        ),
    ):
        if columns := tuple(named[kind]):
            severity = Severity.GRAVE if kind == "identifier" else Severity.CAUTION
            sentence = Sentence(words, columns=listed(columns))
            yield Finding(
                title,
                severity,
                sentence,
                (list(columns),),
                columns,
                _drops(columns),
                exposure=max(
                    _named(examined, look) for look in examined.shown if look.name in columns
                ),
            )


def _named(examined: Examined, look: ColumnView) -> float:
    """Return what share of the records, or units, a column's value names at least; see `counts`."""
    counts = examined.columns.counts(look)
    return int(np.count_nonzero(counts == 1)) / max(int(counts.sum()), 1)


def rare_labels(examined: Examined) -> Iterator[Finding]:
    """Name the columns that leave with labels of very few records."""
    rare: dict[str, int] = {}
    exposure = 0.0
    for look in examined.shown:
        spec, profile = look.spec, examined.columns.profile(look.name)
        by_values = spec.kind is not Kind.NUMERIC and profile.earliest is None
        labels = by_values and spec.binning is None and profile.distinct <= _MANY_LABELS
        if labels and not look.view:
            counts = examined.columns.counts(look)
            few = counts[(counts > 0) & (counts < _RARE)]
            rare[spec.name] = len(few)
            exposure = max(exposure, int(few.sum()) / max(int(counts.sum()), 1))
    found = {name: count for name, count in rare.items() if count}
    if found:
        yield Finding(
            "Rare labels",
            Severity.CAUTION,
            Sentence(
                "{count} {count:label|labels} of {columns} {count:has|have} fewer than {least}"
                " {least:record|records}{count:| each}."
                if examined.document.unit is None
                else (
                    "{count} {count:label|labels} of {columns} {count:has|have} records of fewer"
                    " than {least} {least:unit|units}{count:| each}."
                ),
                count=sum(found.values()),
                columns=listed(tuple(found)),
                least=_RARE,
            ),
            (sorted(found.items()),),
            tuple(found),
            _drops(tuple(found)),
            exposure=exposure,
        )


def extreme_numbers(examined: Examined) -> Iterator[Finding]:
    """Name the columns whose largest or smallest number is a single record's."""
    found = []
    for look in examined.shown:
        profile = examined.columns.profile(look.name)
        as_numbers = not look.view and look.spec.binning is None and profile.numbers is not None
        if as_numbers and profile.distinct > 2 and examined.columns.ends_alone(look):
            found.append(look.name)
    if found:
        columns = tuple(found)
        ends = [
            Remedy(RemedyKind.CUT, Sentence("Cut off {column}", column=name), name, coding=coding)
            for name in columns[:_REMEDIES]
            if (coding := examined.columns.ends(name)) is not None
        ]
        yield Finding(
            "Extreme numbers",
            Severity.CAUTION,
            Sentence(
                "The largest or smallest numbers of {columns} are rare: they tell whose record it"
                " is.",
                columns=listed(columns),
            ),
            (list(columns),),
            columns,
            tuple(ends),
            exposure=1.0 / examined.columns.number_of_units,
        )


def empty_promises(examined: Examined) -> Iterator[Finding]:
    """Find the attributes that leave as they are, or about which an attacker may be certain."""
    kept = []
    for entry in examined.document.policy:
        try:
            plan = plan_entry(examined.document, entry, examined.attributes, examined.recipient)
        except (SfumatoError, KeyError):
            continue  # a release says what is wrong with it
        chosen = tuple(examined.attributes[name] for name in entry.attributes)
        sentence = promise_is_empty(entry.mechanism, plan.level, entry.settings, chosen, entry.key)
        if sentence:
            yield Finding(
                "Empty promise",
                Severity.GRAVE,
                sentence,
                (entry.key, plan.level),
                entry.attributes,
                about=About.POLICY,
                exposure=_guessed(plan, chosen),
            )
        else:
            kept.append(entry.key)
    if kept:
        yield Finding(
            "Promises",
            Severity.GOOD,
            Sentence("What is promised of {names} has a limit.", names=listed(tuple(kept))),
        )


def _guessed(plan: EntryPlan, attributes: Sequence[Attribute]) -> float:
    """Return in what share of the records the best guess from a release is right.

    1 where values leave as they are.
    """
    mechanism = mechanism_called(plan.mechanism)
    with suppress(SfumatoError):
        matrix = mechanism.matrix(plan.level, attributes, plan.settings)
        if matrix is not None and len(attributes) == 1:
            return restored_alone(matrix, attributes[0].frequencies, Silent()).guessed
    return 1.0


def contradictions(decided: Decided) -> Iterator[Finding]:
    """Tell what contradicts earlier releases, or is told from the exact table."""
    document, recipient, releases = decided.document, decided.recipient, decided.releases
    if (refused := decided.beside.off_ladder) is not None:
        yield Finding("Released before", Severity.GRAVE, refused, asks=False, refuses=True)
    with suppress(PolicyError):  # another check says what is wrong with the views
        coarsening = coarsening_of(document, recipient)
        given = document.source, recipient.name, coarsening, releases
        crossing = crossing_views(document, None, *given)
        remedies = as_coarse_as_released(decided, coarsening) if crossing else ()
        for sentence in crossing.values():
            words, facts = Sentence("{sentence}.", sentence=sentence), (sentence,)
            told = ("Released before", Severity.GRAVE, words, facts)
            yield Finding(*told, remedies=remedies, asks=False)
    for title, found in (
        ("Released before", decided.beside.exposed),
        ("Exact by-products", exact_byproducts(document)),
    ):
        for name, sentence in found.items():
            yield Finding(
                title,
                Severity.GRAVE,
                Sentence("{sentence}.", sentence=sentence),
                (name,),
                (name,),
                about=About.POLICY if title.startswith("Exact") else About.COLUMNS,
                asks=False,
            )


def doubtful_reading(decided: Decided) -> Iterator[Finding]:
    """Tell what the readers cautioned of, in columns that leave: it may disclose or falsify."""
    document, source = decided.document, decided.document.source
    notes = (source.notes if source else None) or ()
    dropped = {spec.name for spec in document.columns if spec.role is Role.IDENTIFYING}
    weights = {spec.name for spec in document.columns if spec.role is Role.WEIGHT}
    known = {spec.name for spec in document.columns}
    for note in cautions_first(notes):
        settled = dropped | weights if note.template == WEIGHTED else dropped
        if not note.caution or (note.columns and set(note.columns) <= settled):
            continue
        yield Finding(
            READING,
            Severity.CAUTION,
            joined(note.sentence, rows_sentence(note)),
            (note.text, note.count),
            tuple(name for name in note.columns if name in known),
            tuple(Remedy(RemedyKind.READ, way.title, reading=way.options) for way in note.ways),
            about=About.READING,
        )


def moved_records(decided: Decided) -> Iterator[Finding]:
    """Tell first that records known by position are others since the first release."""
    document = decided.document
    if document.source is None:
        return
    try:
        check_source(document, document.source, decided.releases)
    except SourceChanged as error:
        words = Sentence(error.what_template, **error.details)
        yield Finding(
            "Positions", Severity.GRAVE, words, asks=False, refuses=True, about=About.READING
        )


def told_beside(decided: Decided) -> Iterator[Finding]:
    """Tell of editions, of values taken from the rows, and of rows in the table's order."""
    document = decided.document
    if editions := decided.beside.editions:
        yield Finding("Editions", Severity.CAUTION, joined(*editions), about=About.POLICY)
    names = columns_from_rows(document)
    if names:
        sentence = from_rows_sentence(document)
        yield Finding("By-products", Severity.CAUTION, sentence, (list(names),), names)
    if sentence := seen_labels_sentence(document, (decided.recipient,)):
        yield Finding("By-products", Severity.CAUTION, sentence, ("labels", sentence))
    if document.rows_as_in_table:
        yield Finding(
            "Order of rows",
            Severity.CAUTION,
            ROWS_AS_IN_TABLE,
            (),
            remedies=(Remedy(RemedyKind.RANDOM_ORDER, "Release in random order"),),
            about=About.RELEASE,
        )


def _drops(columns: Sequence[str]) -> tuple[Remedy, ...]:
    return tuple(dropping(name) for name in columns[:_REMEDIES])


CHECKS_OF_ROWS: Final[tuple[Callable[[Examined], Iterable[Finding]], ...]] = (
    broken_views,
    unique_records,
    linked_rows,
    linked_units,
    undone_views,
    worth_of_columns,
    empty_promises,
    telling_columns,
    told_reasons,
    telling_gaps,
    pooled_units,
    revealing_columns,
    rare_labels,
    extreme_numbers,
    codes_among_numbers,
)
"""Every check of a table's rows, in the order in which findings of one severity are told."""
CHECKS: Final[tuple[Callable[[Decided], Iterable[Finding]], ...]] = (
    moved_records,
    unmet_levels,
    outdated_measurements,
    contradictions,
    doubtful_reading,
    told_beside,
)
"""Every other check, in that order, after those."""
