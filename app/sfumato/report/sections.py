"""The sections of a report: each says one thing, from the material alone."""

from __future__ import annotations

import math
import platform
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from importlib.metadata import version as version_of
from typing import Any

import numpy as np

from sfumato import __version__
from sfumato.analysis.coalitions import ROWS_CHANGE_PLACES
from sfumato.analysis.guarantee import asked_instead, in_table, row_order_caution
from sfumato.analysis.open_columns import sampling_sentence
from sfumato.analysis.pooled_numbers import form_leak_sentences
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.values import rounded_down
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Fact, Promise
from sfumato.engine.table.table import Attribute
from sfumato.plots.axes import percent, whole
from sfumato.plots.coalitions import build_collusion_bars, collusion_data
from sfumato.plots.ladders import LadderData, Rung, build_trust_ladder
from sfumato.plots.pooled_numbers import build_error_by_copies, copies_data
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import PolicyEntry
from sfumato.project.ledger.ledger import EntryKind
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.publication.population import basis_text
from sfumato.project.publication.publish import LIMITS
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.project.release.uniqueness import release_sentence
from sfumato.report.blocks import Block, Bullets, Grid, Paragraph, Picture, Report, Section
from sfumato.report.material import EarlierPolicy, ReportMaterial, ReportOptions

_TREATMENTS = {
    Role.IDENTIFYING: "dropped",
    Role.QUASI_IDENTIFIER: "released as it is",
    Role.SENSITIVE: "perturbed",
    Role.INSENSITIVE: "released as it is",
    Role.WEIGHT: "released as a sampling weight",
}
_ATTACKERS = {
    "prosecutor": "Prosecutor: one certain person, at most",
    "journalist": "Journalist: anybody at all, at most",
    "marketer": "Marketer: as many as possible, on average",
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
        "Internal. It holds counts of the table; keep it as carefully as the table's own"
        " documentation."
        if options.internal
        else "For outsiders. It holds nothing secret, no count of values, and no count below"
        f" {options.threshold}."
    )
    sections = [
        _promises(material, options),
        _table(material, options),
        *(_entry(material, entry, options) for entry in document.policy),
        *(_earlier(earlier) for earlier in material.earlier.values()),
        *(_beside(material) if options.internal else ()),
        _releases(material, options),
        *_being_found(material.releases, options.internal),
        _ledger(material, options),
        _about(material),
    ]
    title = document.title or "Untitled table"
    return Report(
        title=f"Disclosure report: {title}",
        subtitle=f"Made with Sfumato {__version__} on {_time(material.made_at)}",
        notice=notice,
        sections=tuple(sections),
        footer=f"{title} · {_time(material.made_at)}",
    )


def _promises(material: ReportMaterial, options: ReportOptions) -> Section:
    if instead := asked_instead(material.document):
        return _published_promises(instead, row_order_caution(material.document))
    guarantee = material.guarantee
    trusted = {promise.entry.key: promise for promise in reversed(guarantee.promises)}
    told = [
        f"To {trusted[key].recipient}, trusted most with {key}: {trusted[key].promise.sentence}"
        for key in dict.fromkeys(promise.entry.key for promise in guarantee.promises)
    ]
    if options.internal:
        told += filter(
            None,
            (in_table(promise, material.attributes, material.open) for promise in trusted.values()),
        )
    for_each = (*guarantee.totals, *guarantee.views)
    told += [f"To {recipient}: {promise}" for recipient, promise in for_each]
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
        limits |= dict.fromkeys(byproducts_that_remain(material.document))
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


def _being_found(releases: Iterable[ReleaseRecord], internal: bool) -> tuple[Section, ...]:
    """Return a section about the published tables whose risk the ledger has; none without any.

    Parameters
    ----------
    releases
        What the ledger has of releases.
    internal
        Whether the report stays in the house: how many people were unique in the table as it was
        is for nobody else.
    """
    blocks: list[Block] = []
    for record in releases:
        risk = record.details.get("risk")
        if record.counts and record.is_publication and risk:
            blocks += _risk_blocks(record, risk, internal)
    if not blocks:
        return ()
    said = Paragraph(
        "How likely somebody is found in a published table by the columns that were made coarser.",
        "lead",
    )
    return (Section("The risk of being found", (said, *blocks)),)


def _risk_blocks(record: ReleaseRecord, risk: dict[str, Any], internal: bool) -> list[Block]:
    times = ("before", "after") if internal else ("after",)
    rows = [
        (title, *(percent(risk[time][name]) for time in times))
        for name, title in _ATTACKERS.items()
    ]
    if internal:
        alone = "Units alone in their class" if risk.get("unit") else "Records alone in their class"
        rows.append((alone, *(str(risk[t]["uniques"]) for t in times)))
    heads = {"before": "As it is", "after": "As published"}
    numeric = tuple(range(1, len(times) + 1))
    blocks: list[Block] = [
        Paragraph(f"Published on {record.recorded_at[:10]}. {basis_text(risk)}"),
        Grid(("Attacker", *(heads[time] for time in times)), tuple(rows), numeric),
    ]
    lost = sum(each["cells"] for each in risk.get("unknown", ()))
    if lost:
        blocks.append(
            Paragraph(
                f"{lost:,} cells of the population are not known to the hierarchies; these people"
                " are counted in no class.",
                "note",
            )
        )
    return blocks


def _table(material: ReportMaterial, options: ReportOptions) -> Section:
    document, source = material.document, material.document.source
    records = (
        f"The table has {whole(material.rows)} records."
        if options.internal or material.rows >= options.threshold
        else f"The table has fewer than {options.threshold} records."
    )
    told = (
        "Records are told apart by their position in it."
        if document.record_key is None
        else f"Records are told apart by the record key {document.record_key}."
    )
    blocks: list[Block] = [Paragraph(f"{records} {told} {_row_order(material, options)}")]
    if options.internal:
        blocks += [Paragraph(release_sentence(found)) for found in material.unique]
    if source is not None and options.internal:
        blocks.append(Paragraph(f"Source: {source.path}. SHA-256 {source.digest}.", "note"))
    entries = {name: entry for entry in document.policy for name in entry.attributes}
    made = [record for record in material.releases if record.counts]
    rows = tuple(
        (
            column.name,
            column.role.value,
            _treatment(column)
            if column.name not in entries
            else mechanism_called(entries[column.name].mechanism).title.lower(),
            *((_as_released(column.name, made),) if made else ()),
        )
        for column in document.columns
    )
    heads = ("Column", "Role", "In a release", *(("In the releases made",) if made else ()))
    blocks.append(Grid(heads, rows))
    return Section("The table", tuple(blocks))


def _treatment(column: ColumnSpec) -> str:
    """Say how a column that no mechanism protects leaves."""
    if column.as_pseudonym is not None:
        return "shown as a pseudonym"
    told = () if column.coded is None else column.coded.sentences
    return ", ".join((_TREATMENTS[column.role], *told))


def _as_released(name: str, made: Sequence[ReleaseRecord]) -> str:
    """Say how a column left in the releases made, by what the ledger keeps of each."""
    return "; ".join(
        how if count == len(made) else f"{how} in {count} of {len(made)}"
        for how, count in Counter(_shown_in(name, record) for record in made).items()
    )


def _shown_in(name: str, record: ReleaseRecord) -> str:
    if record.plan_for(name) is not None:
        return "perturbed"
    if name not in record.open_columns:
        known = () if record.policy is None or record.is_publication else record.policy.columns
        shown = any(spec.name == name and spec.as_pseudonym is not None for spec in known)
        return "as a pseudonym" if shown else "dropped"
    if record.is_publication:
        generalized = record.details["generalization"]["quasi_identifiers"]
        return "generalized" if name in generalized else "as it is"
    spec = None if record.policy is None else record.policy.column(name)
    return "as it is" if spec is None or spec.binning is None else "in bins"


def _row_order(material: ReportMaterial, options: ReportOptions) -> str:
    """Say in which order rows leave, and for those in the house why."""
    reason = material.document.rows_as_in_table
    if not reason:
        return "Every release has a random row order of its own."
    why = f" The custodian's reason: {reason}" if options.internal else ""
    return f"Releases leave in its order.{why}"


def _entry(material: ReportMaterial, entry: PolicyEntry, options: ReportOptions) -> Section:
    """Tell of one policy entry: mechanism, levels, figures, and what a coalition learns."""
    mechanism = mechanism_called(entry.mechanism)
    blocks: list[Block] = [Paragraph(f"{mechanism.title}. {mechanism.summary}")]
    held = material.findings[entry.key].held
    if held:
        rungs = tuple(
            Rung(each.recipient, each.trust, _level_text(material.attributes, each.plan))
            for each in held
        )
        build = partial(build_trust_ladder, LadderData(entry.key, rungs))
        blocks.append(Picture(build, f"The ladder of {entry.key}, recipient by recipient."))
        blocks += _levels(material, entry)
    if options.internal:
        # Figures of this very table; outsiders have the promise, which holds for any.
        blocks += _restored(material, entry)
        blocks += _pooled(material, entry)
        blocks += _open(material, entry)
        blocks += _small_groups(material, entry)
    for name in entry.attributes if options.internal else ():
        blocks += _values(material.attributes[name])
    return Section(f"Sensitive attribute: {entry.key}", tuple(blocks))


def _earlier(earlier: EarlierPolicy) -> Section:
    """Tell of releases on a ladder that today's policy has no more, by the policy in force then."""
    (_, plan), chosen = earlier.held[0], earlier.attributes
    mechanism = mechanism_called(plan.mechanism)
    known = {attribute.name: attribute for attribute in chosen}
    rows = tuple(
        (_time(record.recorded_at), record.recipient, _level_text(known, plan))
        for record, plan in earlier.held
    )
    blocks: list[Block] = [
        Paragraph(
            "The policy has changed since these releases. They are told of by the policy that was"
            f" in force, which the ledger keeps. {mechanism.title}. {mechanism.summary}"
        ),
        Grid(("Recorded", "Recipient", "Level"), rows),
    ]
    if chosen:
        held = [plan for _, plan in earlier.held]
        most = max(held, key=lambda plan: mechanism.trust(plan.level))
        blocks.append(Paragraph(mechanism.promise(most.level, chosen, most.settings).sentence))
    return Section(f"Released by an earlier policy: {plan.key}", tuple(blocks))


def _restored(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell how many records everybody together guesses right, in this very table."""
    found = material.findings[entry.key]
    if found.problem:
        yield Paragraph(f"What is held can't be weighed together. {found.problem}")
    answer = found.coalition
    if answer is None or len(answer.members) < 2:
        return
    yield Paragraph(
        f"All {len(answer.members)} together restore {percent(answer.alone[0])} of"
        f" the records, as {answer.names[0]} does alone. Had every release noise of its own,"
        f" they would restore {percent(answer.guessed_apart)}. Without any release,"
        f" {percent(answer.without)} are guessed right."
    )
    if answer.rows_change_places:
        yield Paragraph(ROWS_CHANGE_PLACES)
    yield Picture(
        partial(build_collusion_bars, collusion_data(answer)),
        "What members restore, alone and together.",
    )


def _pooled(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell what everybody together leaves open of numbers."""
    pooled = material.findings[entry.key].numbers
    if pooled is None or len(pooled.coalition.members) < 2:
        return
    data = copies_data(pooled.coalition, pooled.expected)
    yield Paragraph(
        f"All {len(data.names)} together leave {percent(float(data.ladder[-1]))} of the numbers'"
        f" variance open to the best linear estimate, as {data.names[0]} does alone. Had every"
        f" release noise of its own, they would leave {percent(float(data.independent[-1]))}."
    )
    yield Picture(
        partial(build_error_by_copies, data), "What stays open as releases are put together."
    )
    if pooled.forms is not None:
        yield Paragraph(
            "Numbers are rounded or bounded after the noise, and such releases are no ladder: what"
            f" pooling them gains was measured. {' '.join(form_leak_sentences(pooled.forms))}"
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
        "What the columns released unchanged tell, by estimates that were tried on this table;"
        " somebody may know a better one. "
        + (
            "Half-widths that hold 90 in 100 people:"
            if figures[0].numeric
            else "Shares of the people whose value is guessed right:"
        )
    )
    show = _half_width if figures[0].numeric else percent
    rows = tuple(
        (f.attribute, f.recipient, *(show(x) for x in (f.alone, f.open, f.released, f.both)))
        for f in figures
    )
    header = ("Attribute", "Recipient", "Nothing known", "Open columns", "Release", "Both")
    yield Grid(header, rows, (2, 3, 4, 5))
    first = {figure.attribute: figure for figure in reversed(figures)}
    if told := tuple(f"{f.attribute}: {f.remedy}" for f in first.values() if f.matters):
        yield Bullets(told)
    if sampled := sampling_sentence(material.open.findings):
        yield Paragraph(sampled, "note")


def _half_width(width: float) -> str:
    return f"\u00b1\u202f{rounded_down(width)}"


def _small_groups(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell which groups of people alike each release gives away."""
    answers = material.findings[entry.key].small_groups
    if not answers:
        return
    limits, grouped = answers[0].risk.limits, answers[0].known.grouped
    names = ", ".join(grouped.names) or "no public column"
    yield Paragraph(
        f"Whoever knows {names} of a person tells groups of people alike apart, by what the"
        " recipient sees of these. Asked of each: an estimate of a value's share in it is too"
        f" high by more than {percent(limits.epsilon)} at least {percent(limits.delta)} of the"
        " time, and too low as often. Where that fails, the group can be estimated closely: that"
        " is about what people alike have in common, not about what one person's row tells,"
        " which the promise bounds."
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
    heads = ("Recipient", "Groups estimated closely", "Of groups", "Records", "Share")
    yield Grid(heads, rows, (1, 2, 3, 4))
    if said := tuple(dict.fromkeys(a.known.looked_up for a in answers if a.known.looked_up)):
        yield Bullets(said)


def _beside(material: ReportMaterial) -> Iterator[Section]:
    """Tell what our table and other holders' leave of everybody's value."""
    found = material.beside
    if found is None:
        return
    theirs = (
        f"The other holders' tables leave at least {found.others_leave} of {len(found.values)}"
        " values to everybody"
    )
    ours = (
        ". Our own takes no part."
        if found.node is None
        else f"; together with our own, at least {found.standing.weakest}."
    )
    blocks: list[Block] = [
        Paragraph(theirs + ours),
        Grid(
            ("Table of", "Classes", "Own l", "Left without it"),
            tuple(
                (each.holder, whole(each.classes), str(each.diversity), str(each.without))
                for each in found.standing.holders
            ),
            (1, 2, 3),
        ),
    ]
    if found.problem is not None:
        blocks.append(Paragraph(str(found.problem), "note"))
    yield Section("Beside other holders' tables", tuple(blocks))


def _level_text(known: Mapping[str, Attribute], plan: EntryPlan) -> str:
    """Return a level with its symbol, as ``σ² = 0.25``; a bare number where it has none."""
    mechanism = mechanism_called(plan.mechanism)
    try:
        chosen = [known[name] for name in plan.attributes]
        stated = mechanism.restate(plan.level, chosen, plan.settings)
    except (SfumatoError, KeyError):
        return f"{plan.level:.4g}"  # of columns or settings that are no longer there
    term = next(term for term in mechanism.terms if len(term.fields) == 1)
    (number,) = stated[term.name].values()
    return f"{term.fields[0].title} = {number:.4g}"


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
        ("Recipient", *(f"{fact.title} ({fact.symbol})" for fact in once)),
        tuple((p.recipient, *(_cell(p.promise, fact) for fact in once)) for p in promises),
        tuple(range(1, len(once) + 1)),
    )
    several = [fact for fact in facts if symbols.count(fact.symbol) > 1]
    for start in range(0, len(promises) if several else 0, _MOST_ACROSS):
        across = promises[start : start + _MOST_ACROSS]
        yield Grid(
            ("In the column's unit", *(p.recipient for p in across)),
            tuple((f.title, *(_cell(p.promise, f) for p in across)) for f in several),
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
        rows.append(("other values", whole(beyond), percent(beyond / total)))
    yield Paragraph(f"Values of {attribute.name} in the table:")
    yield Grid(("Value", "Records", "Share"), tuple(rows), (1, 2))


_MOST_VALUES = 40


def _releases(material: ReportMaterial, options: ReportOptions) -> Section:
    counted = [r for r in material.releases if r.counts]
    if not counted:
        return Section("Releases", (Paragraph("No release was made yet."),))
    rows = tuple(
        (
            _time(record.recorded_at),
            record.recipient,
            record.format_name,
            _levels_of(material, record),
            "as in the table" if record.rows_as_in_table else "its own",
            record.state.value,
        )
        for record in counted
    )
    blocks: list[Block] = [
        Grid(("Recorded", "Recipient", "Format", "Levels", "Order of rows", "State"), rows),
        Paragraph("Digests of the files (SHA-256):"),
        Grid(("Recipient", "File", "SHA-256"), tuple(_files(counted, options))),
    ]
    return Section("Releases", tuple(blocks))


def _levels_of(material: ReportMaterial, record: ReleaseRecord) -> str:
    if record.is_publication:
        facts = record.details["generalization"]
        pairs = zip(facts["quasi_identifiers"], facts["levels"], strict=True)
        return "generalized; " + ", ".join(f"{name}: level {level}" for name, level in pairs)
    told = []
    for plan in record.plans:
        earlier = material.earlier.get(plan.ladder)
        known = material.attributes
        if earlier is not None:
            known = {attribute.name: attribute for attribute in earlier.attributes}
        told.append(f"{plan.key}: {_level_text(known, plan)}")
    return "; ".join(told)


def _files(records: list[ReleaseRecord], options: ReportOptions) -> Iterator[tuple[str, str, str]]:
    for record in records:
        if options.internal:
            yield record.recipient, str(record.target), record.digest
        for name, digest in record.files.items():
            yield record.recipient, name, digest


def _ledger(material: ReportMaterial, options: ReportOptions) -> Section:
    if material.tampering:
        return Section("Ledger", (Paragraph(material.tampering, "lead"),))
    blocks: list[Block] = [
        Paragraph(
            f"The ledger has {whole(len(material.entries))} entries, each sealed to the one"
            " before; none was changed or cut off."
        )
    ]
    if material.entries:
        last = material.entries[-1]
        # The digest covers the source's, by which whoever guesses the table could check the guess.
        named, seal = ("Digest", last.digest) if options.internal else ("Seal", last.seal)
        blocks.append(Paragraph(f"{named} of entry {last.number}: {seal}", "note"))
    blocks += _accepted(material, options)
    overrides = [e for e in material.entries if e.kind == EntryKind.OVERRIDE]
    if overrides:
        rows = tuple(
            (_time(e.recorded_at), str(e.details.get("reason", "")) if options.internal else "yes")
            for e in overrides
        )
        blocks += [
            Paragraph("Releases made in spite of a contradiction:"),
            Grid(("Recorded", "Reason" if options.internal else "Overridden"), rows),
        ]
    return Section("Ledger", tuple(blocks))


def _accepted(material: ReportMaterial, options: ReportOptions) -> Iterator[Block]:
    """Tell of what stayed open when releases were made, and why."""
    rows = tuple(
        (
            record.recipient,
            str(each.get("check", "")),
            *((str(each.get("finding", "")),) if options.internal else ()),
            str(each.get("reason", "")) if options.internal else "yes",
        )
        for record in material.releases
        if record.counts
        for each in record.details.get("accepted", ())
    )
    if rows:
        yield Paragraph("What was found before releases, and released for a reason:")
        found = ("Finding",) if options.internal else ()
        reason = "Reason" if options.internal else "Reason given"
        yield Grid(("Recipient", "Check", *found, reason), tuple(dict.fromkeys(rows)))


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
                f"Sfumato {__version__}, Python {platform.python_version()}, {versions}.", "note"
            ),
        ),
    )


def _figure(value: float) -> str:
    if math.isinf(value):
        return "∞"
    return whole(round(value)) if 1000 <= value < 1e15 else f"{value:.4g}"


def _time(recorded_at: str) -> str:
    return f"{recorded_at[:10]} {recorded_at[11:16]} UTC"
