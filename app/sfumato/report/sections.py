"""The sections of a report: each says one thing, from the material alone."""

from __future__ import annotations

import math
import platform
from collections.abc import Iterator
from functools import partial
from importlib.metadata import version as version_of

import numpy as np

from sfumato import __version__
from sfumato.analysis.guarantee import asked_instead, in_table, row_order_caution
from sfumato.analysis.postprocessing_leakage import form_leak_sentences
from sfumato.engine.core.columns import Role
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Fact, Promise
from sfumato.engine.table.table import Attribute
from sfumato.plots.collusion_bars import build_collusion_bars
from sfumato.plots.error_by_copies import build_error_by_copies
from sfumato.plots.figure import percent
from sfumato.plots.trust_ladder import LadderData, Rung, build_trust_ladder
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.document.model import PolicyEntry
from sfumato.project.ledger.ledger import EntryKind
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.report.blocks import Block, Bullets, Grid, Paragraph, Picture, Report, Section
from sfumato.report.material import ReportMaterial, ReportOptions
from sfumato.report.reidentification import being_found, published_promises

_TREATMENTS = {
    Role.IDENTIFYING: "dropped from every release",
    Role.QUASI_IDENTIFIER: "released as it is",
    Role.SENSITIVE: "perturbed",
    Role.INSENSITIVE: "released as it is",
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
        _releases(material, options),
        *being_found(material.releases, options.internal),
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
        return published_promises(instead, row_order_caution(material.document))
    guarantee = material.guarantee
    trusted = {promise.entry.key: promise for promise in reversed(guarantee.promises)}
    told = [
        f"To {trusted[key].recipient}, trusted most with {key}: {trusted[key].promise.sentence}"
        for key in dict.fromkeys(promise.entry.key for promise in guarantee.promises)
    ]
    if options.internal:
        told += filter(
            None, (in_table(promise, material.attributes) for promise in trusted.values())
        )
    told += [guarantee.coalition] if guarantee.coalition else []
    blocks: list[Block] = [
        Paragraph(sentence, "lead" if place == 0 else "") for place, sentence in enumerate(told)
    ]
    if guarantee.editions:
        blocks += [
            Paragraph("What several editions of the table tell together:"),
            Bullets(guarantee.editions),
        ]
    cautions = (*guarantee.cautions, *(guarantee.in_house if options.internal else ()))
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


def _table(material: ReportMaterial, options: ReportOptions) -> Section:
    document, source = material.document, material.document.source
    records = (
        f"The table has {_count(material.rows)} records."
        if options.internal or material.rows >= options.threshold
        else f"The table has fewer than {options.threshold} records."
    )
    told = (
        "Records are told apart by their position in it."
        if document.record_key is None
        else f"Records are told apart by the record key {document.record_key}."
    )
    blocks: list[Block] = [Paragraph(f"{records} {told} {_row_order(material, options)}")]
    if source is not None and options.internal:
        blocks.append(Paragraph(f"Source: {source.path}. SHA-256 {source.digest}.", "note"))
    entries = {name: entry for entry in document.policy for name in entry.attributes}
    rows = tuple(
        (
            column.name,
            column.role.value,
            _TREATMENTS[column.role]
            if column.name not in entries
            else mechanism_called(entries[column.name].mechanism).title.lower(),
        )
        for column in document.columns
    )
    blocks.append(Grid(("Column", "Role", "In a release"), rows))
    return Section("The table", tuple(blocks))


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
    held = material.plans[entry.key]
    if held:
        rungs = tuple(
            Rung(name, mechanism.trust(plan.level), _level_text(material, plan))
            for name, plan in held
        )
        build = partial(build_trust_ladder, LadderData(entry.key, rungs))
        blocks.append(Picture(build, f"The ladder of {entry.key}, recipient by recipient."))
        blocks += _levels(material, entry)
    if options.internal:
        # Figures of this very table; outsiders have the promise, which holds for any.
        blocks += _restored(material, entry)
        blocks += _pooled(material, entry)
    for name in entry.attributes if options.internal else ():
        blocks += _values(material.attributes[name])
    return Section(f"Sensitive attribute: {entry.key}", tuple(blocks))


def _restored(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell how many records all recipients together guess right, in this very table."""
    coalition = material.coalitions.get(entry.key)
    if coalition is None or len(coalition.members) < 2:
        return
    best = coalition.members[0]
    yield Paragraph(
        f"All {len(coalition.members)} together restore {percent(coalition.on_ladder)} of"
        f" the records, as {best.name} does alone. Had every release noise of its own,"
        f" they would restore {percent(coalition.independent)}. Without any release,"
        f" {percent(coalition.without)} are guessed right."
    )
    yield Picture(
        partial(build_collusion_bars, coalition), "What members restore, alone and together."
    )


def _pooled(material: ReportMaterial, entry: PolicyEntry) -> Iterator[Block]:
    """Tell what everybody together leaves open of numbers."""
    data = material.copies.get(entry.key)
    if data is None or len(data.names) < 2:
        return
    yield Paragraph(
        f"All {len(data.names)} together leave {percent(float(data.ladder[-1]))} of the numbers'"
        f" variance open to the best linear estimate, as {data.names[0]} does alone. Had every"
        f" release noise of its own, they would leave {percent(float(data.independent[-1]))}."
    )
    yield Picture(
        partial(build_error_by_copies, data), "What stays open as releases are put together."
    )
    leaks = material.forms.get(entry.key)
    if leaks is not None:
        yield Paragraph(
            "Numbers are rounded or bounded after the noise, and such releases are no ladder:"
            f" what pooling them gains was measured. {' '.join(form_leak_sentences(leaks))}"
        )


def _level_text(material: ReportMaterial, plan: EntryPlan) -> str:
    """Return a level with its symbol, as ``σ² = 0.25``; a bare number where it has none."""
    mechanism = mechanism_called(plan.mechanism)
    try:
        chosen = [material.attributes[name] for name in plan.attributes]
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
        (names[int(code)], _count(int(counts[code])), percent(counts[code] / total))
        for code in order[:_MOST_VALUES]
    ]
    beyond = int(counts[order[_MOST_VALUES:]].sum())
    if beyond:
        rows.append(("other values", _count(beyond), percent(beyond / total)))
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
    return "; ".join(f"{plan.key}: {_level_text(material, plan)}" for plan in record.plans)


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
            f"The ledger has {_count(len(material.entries))} entries, each sealed to the one"
            " before; none was changed or cut off."
        )
    ]
    if material.entries:
        last = material.entries[-1]
        # The digest covers the source's, by which whoever guesses the table could check the guess.
        named, seal = ("Digest", last.digest) if options.internal else ("Seal", last.seal)
        blocks.append(Paragraph(f"{named} of entry {last.number}: {seal}", "note"))
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
    return _count(round(value)) if 1000 <= value < 1e15 else f"{value:.4g}"


def _count(count: int) -> str:
    return f"{count:,}".replace(",", "\u202f")


def _time(recorded_at: str) -> str:
    return f"{recorded_at[:10]} {recorded_at[11:16]} UTC"
