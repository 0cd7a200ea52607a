"""The sections of a report: each says one thing, from the material alone."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version as version_of

import numpy as np

from sfumato import __version__
from sfumato.analysis.coalitions import ROWS_CHANGE_PLACES
from sfumato.analysis.guarantee import asked_instead, in_table, row_order_caution
from sfumato.analysis.open_columns import sampling_sentence
from sfumato.analysis.pooled_numbers import form_leak_sentences
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.values import rounded_down
from sfumato.engine.core.wording import Sentence
from sfumato.engine.disclosure.gaussian_attack import Dependence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Fact, Promise
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import ENGLISH, localized, said, spoken, worded
from sfumato.plots.axes import percent, whole
from sfumato.plots.coalitions import build_collusion_bars
from sfumato.plots.ladders import LadderData, Rung, build_trust_ladder
from sfumato.plots.pooled_numbers import build_error_by_copies
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.publication.publish import LIMITS
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.uniqueness import release_sentence
from sfumato.report.history import being_found, heads, ledger, level_text, releases, time_text
from sfumato.report.material import EarlierPolicy, ReportMaterial, ReportOptions
from sfumato.report.writing import Block, Bullets, Grid, Paragraph, Picture, Report, Section

_TREATMENTS = {
    Role.IDENTIFYING: Sentence("dropped"),
    Role.QUASI_IDENTIFIER: "released as it is",
    Role.SENSITIVE: Sentence("perturbed"),
    Role.INSENSITIVE: "released as it is",
    Role.WEIGHT: "released as a sampling weight",
}
_ROLES = {
    Role.IDENTIFYING: Sentence("identifying"),
    Role.QUASI_IDENTIFIER: Sentence("quasi-identifier"),
    Role.SENSITIVE: Sentence("sensitive"),
    Role.INSENSITIVE: Sentence("insensitive"),
    Role.WEIGHT: Sentence("weight"),
}
_LIBRARIES = ("numpy", "scipy", "pandas", "cryptography", "pyarrow")


def compose(material: ReportMaterial, options: ReportOptions) -> Report:
    """Return a project's report.

    Parameters
    ----------
    material
        What it tells of.
    options
        Who it is for.
    """
    document = material.document
    notice = (
        worded(
            "Internal. It holds counts of the table; keep it as carefully as the table's own"
            " documentation."
        )
        if options.internal
        else worded(
            "For outsiders. It holds nothing secret, no count of values, and no count below"
            " {threshold}.",
            threshold=options.threshold,
        )
    )
    sections = [
        _promises(material, options),
        _table(material, options),
        *(_entry(material, entry, options) for entry in document.policy),
        *(_earlier(earlier) for earlier in material.earlier.values()),
        *(_beside(material) if options.internal else ()),
        releases(material, options),
        *being_found(material.releases, options.internal),
        ledger(material, options),
        _about(material),
    ]
    title = document.title or worded("Untitled table")
    return Report(
        title=worded("Disclosure report: {title}", title=title),
        subtitle=worded(
            "Made with Sfumato {version} on {made_at}",
            version=__version__,
            made_at=time_text(material.made_at),
        ),
        notice=notice,
        sections=tuple(sections),
        footer=f"{title} · {time_text(material.made_at)}",
    )


def _promises(material: ReportMaterial, options: ReportOptions) -> Section:
    if instead := asked_instead(material.document):
        return _published_promises(instead, row_order_caution(material.document))
    guarantee = material.guarantee
    trusted = {promise.entry.key: promise for promise in reversed(guarantee.promises)}
    told = [
        worded(
            "To {recipient}, trusted most with {key}: {sentence}",
            recipient=trusted[key].recipient,
            key=key,
            sentence=said(trusted[key].promise.sentence),
        )
        for key in dict.fromkeys(promise.entry.key for promise in guarantee.promises)
    ]
    if options.internal:
        told += filter(
            None,
            (in_table(promise, material.attributes, material.open) for promise in trusted.values()),
        )
    for_each = (*guarantee.totals, *guarantee.views)
    told += [
        worded("To {recipient}: {promise}", recipient=recipient, promise=promise)
        for recipient, promise in for_each
    ]
    told += [guarantee.coalition] if guarantee.coalition else []
    blocks: list[Block] = [
        Paragraph(sentence, "lead" if place == 0 else "") for place, sentence in enumerate(told)
    ]
    if guarantee.editions:
        blocks += [
            Paragraph("What several editions of the table tell together:"),
            Bullets(guarantee.editions),
        ]
    in_house = (*guarantee.in_house, *(material.open.cautions if material.open else ()))
    cautions = (*guarantee.cautions, *(in_house if options.internal else ()))
    if cautions:
        blocks += [Paragraph("What weakens the promises:"), Bullets(cautions)]
    if not guarantee.complete:
        blocks.append(Paragraph("The settings are not complete, so no release can be made yet:"))
        blocks.append(Bullets(guarantee.next_steps))
    limits = dict.fromkeys(text for p in guarantee.promises for text in p.promise.limits)
    if material.document.policy:
        document = material.document
        limits |= dict.fromkeys(byproducts_that_remain(document, document.recipients))
    if limits:
        blocks += [Paragraph("What is not promised:"), Bullets(tuple(limits))]
    return Section("What the releases promise", tuple(blocks))


def _published_promises(asked: tuple[str, ...], cautions: tuple[str, ...]) -> Section:
    """Return what is asked of a generalized table that takes the place of releases."""
    return Section(
        "What the published table promises",
        (
            Paragraph("It shows true sensitive values. Every class of people alike keeps:", "lead"),
            Bullets(asked),
            *([Paragraph("What weakens the promises:"), Bullets(cautions)] if cautions else ()),
            Paragraph("What is not promised:"),
            Bullets(LIMITS),
        ),
    )


def _table(material: ReportMaterial, options: ReportOptions) -> Section:
    document, source = material.document, material.document.source
    records = (
        worded("The table has {rows} {rows:record|records}.", rows=whole(material.rows))
        if options.internal or material.rows >= options.threshold
        else worded(
            "The table has fewer than {threshold} {threshold:record|records}.",
            threshold=options.threshold,
        )
    )
    told = (
        worded("Records are told apart by their position in it.")
        if document.record_key is None
        else worded(
            "Records are told apart by the record key {record_key}.", record_key=document.record_key
        )
    )
    blocks: list[Block] = [Paragraph(f"{records} {told} {_row_order(material, options)}")]
    if material.sampled and any(each.domain is None for each in material.attributes.values()):
        blocks.append(
            Paragraph(
                worded(
                    "The table was read in parts: its numbers are known from {some:,} of its"
                    " {rows:,} {rows:record|records}, drawn evenly.",
                    some=material.sampled,
                    rows=material.rows,
                )
            )
        )
    if options.internal:
        blocks += [Paragraph(release_sentence(found)) for found in material.unique]
    if source is not None and options.internal:
        blocks.append(
            Paragraph(
                worded("Source: {path}. SHA-256 {digest}.", path=source.path, digest=source.digest),
                "note",
            )
        )
    entries = {name: entry for entry in document.policy for name in entry.attributes}
    made = [record for record in material.releases if record.counts]
    rows = tuple(
        (
            column.name,
            said(_ROLES[column.role]),
            _treatment(column, document)
            if column.name not in entries
            else _lowered(said(mechanism_called(entries[column.name].mechanism).title)),
            *((_as_released(column.name, made),) if made else ()),
        )
        for column in document.columns
    )
    columns = heads("Column", "Role", "In a release")
    blocks.append(Grid((*columns, *heads("In the releases made")) if made else columns, rows))
    return Section("The table", tuple(blocks))


def _treatment(column: ColumnSpec, document: Document) -> str:
    """Say how a column that no mechanism protects leaves."""
    if column.as_pseudonym is not None:
        return worded("shown as a pseudonym")
    views = [each.view for each in document.recipients if each.view is not None]
    if column.role is Role.QUASI_IDENTIFIER and views:
        return worded("released as coarsely as each recipient's view has it")
    if column.binning is not None and column.role in {Role.QUASI_IDENTIFIER, Role.INSENSITIVE}:
        return worded("released in bins")
    told = () if column.coded is None else column.coded.sentences
    return ", ".join(map(said, (_TREATMENTS[column.role], *told)))


def _as_released(name: str, made: Sequence[ReleaseRecord]) -> str:
    """Say how a column left in the releases made, by what the ledger keeps of each."""
    return "; ".join(
        how
        if count == len(made)
        else worded("{how} in {count} of {made}", how=how, count=count, made=len(made))
        for how, count in Counter(_shown_in(name, record) for record in made).items()
    )


def _shown_in(name: str, record: ReleaseRecord) -> str:
    if record.plan_for(name) is not None:
        return said("perturbed")
    if name not in record.open_columns:
        known = () if record.policy is None or record.is_publication else record.policy.columns
        shown = any(spec.name == name and spec.as_pseudonym is not None for spec in known)
        return said("as a pseudonym" if shown else "dropped")
    if record.is_publication:
        generalized = record.details["generalization"]["quasi_identifiers"]
        return said("generalized" if name in generalized else "as it is")
    spec = None if record.policy is None else record.policy.column(name)
    view = coarsening_at(record)
    level = 0 if view is None else view.level(name)
    hidden = view is not None and name in view.hierarchies and record.details["view"]["suppressed"]
    if level or hidden:
        return said("generalized")
    if spec is None or (spec.binning is None and spec.coded is None):
        return worded("as it is")
    return worded("in bins") if spec.binning is not None else worded("coded")


def _row_order(material: ReportMaterial, options: ReportOptions) -> str:
    """Say in which order rows leave, and for those in the house why."""
    reason = material.document.rows_as_in_table
    if not reason:
        return worded("Every release has a random row order of its own.")
    why = worded("The custodian's reason: {reason}", reason=reason) if options.internal else ""
    return f"{said('Releases leave in its order.')} {why}".strip()


def _entry(material: ReportMaterial, entry: PolicyEntry, options: ReportOptions) -> Section:
    """Tell of one policy entry: mechanism, levels, figures, and what a coalition learns."""
    mechanism = mechanism_called(entry.mechanism)
    blocks: list[Block] = [Paragraph(f"{said(mechanism.title)}. {said(mechanism.summary)}")]
    held = material.findings[entry.key].held
    if held:
        rungs = tuple(
            Rung(each.recipient, each.trust, level_text(material.attributes, each.plan))
            for each in held
        )
        build = partial(build_trust_ladder, LadderData(entry.key, rungs))
        blocks.append(
            Picture(build, worded("The ladder of {key}, recipient by recipient.", key=entry.key))
        )
        blocks += _levels(material, entry)
    if options.internal:
        # Figures of this very table; outsiders have the promise, which holds for any.
        blocks += _restored(material, entry)
        blocks += _pooled(material, entry)
        blocks += _open(material, entry)
        blocks += _small_groups(material, entry)
    for name in entry.attributes if options.internal else ():
        blocks += _values(material.attributes[name])
    return Section(worded("Sensitive attribute: {key}", key=entry.key), tuple(blocks))


def _earlier(earlier: EarlierPolicy) -> Section:
    """Tell of releases on a ladder that today's policy has no more, by the policy in force then."""
    (_, plan), chosen = earlier.held[0], earlier.attributes
    mechanism = mechanism_called(plan.mechanism)
    known = {attribute.name: attribute for attribute in chosen}
    rows = tuple(
        (time_text(record.recorded_at), record.recipient, level_text(known, plan))
        for record, plan in earlier.held
    )
    blocks: list[Block] = [
        Paragraph(
            worded(
                "The policy has changed since these releases. They are told of by the policy that"
                " was in force, which the ledger keeps. {title}. {summary}",
                title=said(mechanism.title),
                summary=said(mechanism.summary),
            )
        ),
        Grid(heads("Recorded", "Recipient", "Level"), rows),
    ]
    if chosen:
        held = [plan for _, plan in earlier.held]
        most = max(held, key=lambda plan: mechanism.trust(plan.level))
        blocks.append(Paragraph(mechanism.promise(most.level, chosen, most.settings).sentence))
    return Section(worded("Released by an earlier policy: {key}", key=plan.key), tuple(blocks))


def _restored(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell how many records everybody together guesses right, in this very table."""
    found = material.findings[entry.key]
    if found.problem:
        yield Paragraph(
            worded("What is held can't be weighed together. {problem}", problem=said(found.problem))
        )
    answer = found.coalition
    if answer is None or len(answer.members) < 2:
        return
    yield Paragraph(
        worded(
            "All {members} together restore {alone} of the records, as {names} does alone. Had"
            " every release noise of its own, they would restore {guessed_apart}. Without any"
            " release, {without} are guessed right.",
            members=len(answer.members),
            alone=percent(answer.alone[0]),
            names=answer.names[0],
            guessed_apart=percent(answer.guessed_apart),
            without=percent(answer.without),
        )
    )
    if answer.rows_change_places:
        yield Paragraph(ROWS_CHANGE_PLACES)
    yield Picture(
        partial(build_collusion_bars, answer),
        worded("What members restore, alone and together."),
    )


def _pooled(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell what everybody together leaves open of numbers."""
    pooled = material.findings[entry.key].numbers
    if pooled is None or len(pooled.coalition.members) < 2:
        return
    names, expected = pooled.coalition.names, pooled.expected
    yield Paragraph(
        worded(
            "All {names} together leave {ladder} of the numbers' variance open to the best linear"
            " estimate, as {names_2} does alone. Had every release noise of its own, they would"
            " leave {independent}.",
            names=len(names),
            ladder=percent(float(expected[Dependence.LADDER][-1])),
            names_2=names[0],
            independent=percent(float(expected[Dependence.INDEPENDENT][-1])),
        )
    )
    yield Picture(
        partial(build_error_by_copies, pooled.coalition, expected),
        worded("What stays open as releases are put together."),
    )
    if pooled.forms is not None:
        yield Paragraph(
            worded(
                "Numbers are rounded or bounded after the noise, and such releases are no ladder:"
                " what pooling them gains was measured. {form_leak_sentences}",
                form_leak_sentences=" ".join(map(said, form_leak_sentences(pooled.forms))),
            )
        )


def _open(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell what the columns released unchanged tell, without each release and with it."""
    if material.open is None:
        return
    recipients = [recipient.name for recipient in material.document.recipients]
    figures = [f for name in recipients for f in material.open.beside(entry.key, name)]
    if not figures:
        return
    yield Paragraph(
        worded(
            "What the columns released unchanged tell, by estimates that were tried on this table;"
            " somebody may know a better one."
        )
        + " "
        + (
            worded("Half-widths that hold 90 in 100 people:")
            if figures[0].numeric
            else worded("Shares of the people whose value is guessed right:")
        )
    )
    show = _half_width if figures[0].numeric else percent
    rows = tuple(
        (f.attribute, f.recipient, *(show(x) for x in (f.alone, f.open, f.released, f.both)))
        for f in figures
    )
    header = heads("Attribute", "Recipient", "Nothing known", "Open columns", "Release", "Both")
    yield Grid(header, rows, (2, 3, 4, 5))
    first = {figure.attribute: figure for figure in reversed(figures)}
    if told := tuple(f"{f.attribute}: {said(f.remedy)}" for f in first.values() if f.matters):
        yield Bullets(told)
    if sampled := sampling_sentence(material.open.findings):
        yield Paragraph(sampled, "note")


def _half_width(width: float) -> str:
    return f"\u00b1\u202f{localized(str(rounded_down(width)))}"


def _small_groups(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell which groups of people alike each release gives away."""
    answers = material.findings[entry.key].small_groups
    if not answers:
        return
    limits, grouped = answers[0].risk.limits, answers[0].known.grouped
    names = ", ".join(grouped.names) or worded("no public column")
    yield Paragraph(
        worded(
            "Whoever knows {names} of a person tells groups of people alike apart, by what the"
            " recipient sees of these. Asked of each: an estimate of a value's share in it is too"
            " high by more than {epsilon} at least {delta} of the time, and too low as often. Where"
            " that fails, the group can be estimated closely: that is about what people alike have"
            " in common, not about what one person's row tells, which the promise bounds.",
            names=names,
            epsilon=percent(limits.epsilon),
            delta=percent(limits.delta),
        )
    )
    rows = tuple(
        (
            answer.shown.recipient,
            whole(answer.risk.total.groups),
            whole(answer.risk.total.all_groups),
            whole(answer.risk.total.records),
            percent(answer.risk.total.record_share),
        )
        for answer in answers
    )
    columns = ("Recipient", "Groups estimated closely", "Of groups", "Records", "Share")
    yield Grid(heads(*columns), rows, (1, 2, 3, 4))
    if told := tuple(dict.fromkeys(a.known.looked_up for a in answers if a.known.looked_up)):
        yield Bullets(told)


def _beside(material: ReportMaterial) -> Iterator[Section]:
    """Tell what our table and other holders' leave of everybody's value."""
    found = material.beside
    if found is None:
        return
    theirs = worded(
        "The other holders' tables leave at least {others_leave} of {values} {values:value|values}"
        " to everybody.",
        others_leave=found.others_leave,
        values=len(found.values),
    )
    ours = (
        worded("Our own takes no part.")
        if found.node is None
        else worded("Together with our own, at least {weakest}.", weakest=found.standing.weakest)
    )
    blocks: list[Block] = [
        Paragraph(f"{theirs} {ours}"),
        Grid(
            heads("Table of", "Classes", "Own l", "Left without it"),
            tuple(
                (each.holder, whole(each.classes), str(each.diversity), str(each.without))
                for each in found.standing.holders
            ),
            (1, 2, 3),
        ),
    ]
    if found.problem is not None:
        blocks.append(Paragraph(found.problem.sentence, "note"))
    yield Section("Beside other holders' tables", tuple(blocks))


def _levels(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Grid]:
    """Return what each recipient's release promises, in figures.

    Figures that every release has once are columns; those of single attributes are lines, with
    a column for each recipient.
    """
    promises = [p for p in material.guarantee.promises if p.entry.key == entry.key]
    if not promises:
        return
    facts = promises[0].promise.facts
    symbols = [fact.symbol for fact in facts]
    once = [fact for fact in facts if symbols.count(fact.symbol) == 1][:7]
    yield Grid(
        (said("Recipient"), *(f"{said(fact.title)} ({fact.symbol})" for fact in once)),
        tuple((p.recipient, *(_cell(p.promise, fact) for fact in once)) for p in promises),
        tuple(range(1, len(once) + 1)),
    )
    several = [fact for fact in facts if symbols.count(fact.symbol) > 1]
    for start in range(0, len(promises) if several else 0, _MOST_ACROSS):
        across = promises[start : start + _MOST_ACROSS]
        yield Grid(
            (worded("In the column's unit"), *(p.recipient for p in across)),
            tuple((said(f.title), *(_cell(p.promise, f) for p in across)) for f in several),
            tuple(range(1, len(across) + 1)),
        )


def _cell(promise: Promise, wanted: Fact) -> str:
    """Return a promise's figure of the same name as another's."""
    told = (wanted.symbol, wanted.title)
    return next((_figure(f.value) for f in promise.facts if (f.symbol, f.title) == told), "")


_MOST_ACROSS = 5
"""Recipients side by side on a page."""


def _values(attribute: Attribute) -> Iterator[Block]:
    """Tell how often values occur: exact counts, which stay in the house."""
    if attribute.domain is None or attribute.counts is None:
        return
    names, counts = attribute.domain.names, attribute.counts
    total = int(counts.sum())
    order = np.argsort(-counts, kind="stable")
    rows = [
        (names[int(code)], whole(int(counts[code])), percent(counts[code] / total))
        for code in order[:_MOST_VALUES]
    ]
    beyond = int(counts[order[_MOST_VALUES:]].sum())
    if beyond:
        rows.append((worded("other values"), whole(beyond), percent(beyond / total)))
    yield Paragraph(worded("Values of {name} in the table:", name=attribute.name))
    yield Grid(heads("Value", "Records", "Share"), tuple(rows), (1, 2))


_MOST_VALUES = 40


def _about(material: ReportMaterial) -> Section:
    del material
    versions = ", ".join(f"{name} {version_of(name)}" for name in _LIBRARIES)
    return Section(
        "How to check this report",
        (
            Paragraph(
                "Every figure is computed from the matrices and files in hand. Whoever has a"
                " bundle compares its files' SHA-256 with the digests above; whoever has the"
                " project and its table verifies a bundle with “sfumato verify”."
            ),
            Paragraph(
                worded(
                    "Sfumato {version}, Python {python_version}, {versions}.",
                    version=__version__,
                    python_version=platform.python_version(),
                    versions=versions,
                ),
                "note",
            ),
        ),
    )


def _lowered(title: str) -> str:
    """Return a title as it stands within a sentence; German nouns keep their capitals."""
    return title.lower() if spoken() == ENGLISH else title


def _figure(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return whole(round(value)) if 1000 <= value < 1e15 else localized(f"{value:.4g}")
