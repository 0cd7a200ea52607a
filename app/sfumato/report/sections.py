"""The sections of a report: each says one thing, from the material alone."""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version as version_of

import numpy as np

from sfumato import __version__
from sfumato.analysis.guarantee import asked_instead, in_table, row_order_caution
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.wording import Sentence, as_sentence, joined
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.mechanisms.base import Promise, PromiseFigure
from sfumato.engine.table.table import Attribute
from sfumato.formats.choices import (
    cautions_first,
    choice_sentence,
    choices_between,
    rows_sentence,
)
from sfumato.formats.language import four_digits, said, worded
from sfumato.formats.options import ReadOptions
from sfumato.plots.axes import percent, whole
from sfumato.plots.ladders import LadderData, LadderRung, build_trust_ladder
from sfumato.project.document.model import Document, PolicyEntry, TableSource
from sfumato.project.ledger import ReleaseRecord
from sfumato.project.publication.publish import LIMITS
from sfumato.project.release.byproducts import byproducts_that_remain
from sfumato.project.release.release_compatibility import coarsening_at
from sfumato.project.release.uniqueness import release_sentence
from sfumato.report.blocks import (
    Block,
    Bullets,
    Paragraph,
    Picture,
    Report,
    ReportGrid,
    ReportSection,
    blocks_of,
)
from sfumato.report.decision import decision
from sfumato.report.history import (
    being_found,
    count_tables,
    digests,
    heads,
    ledger,
    level_text,
    releases,
    time_text,
)
from sfumato.report.material import EarlierPolicy, ReportMaterial, ReportOptions

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
        decision(material, options),
        _promises(material, options),
        _table(material, options),
        *(_entry(material, entry, options) for entry in document.policy),
        *(_earlier(earlier) for earlier in material.earlier.values()),
        *(_asked(material) if options.internal else ()),
        releases(material, options),
        *count_tables(material),
        *being_found(material.releases, options.internal),
        ledger(material, options),
        _about(material, options),
    ]
    title = document.title or worded("Untitled table")
    columns = document.column_names
    return Report(
        title=worded("Disclosure report: {title}", title=title),
        subtitle=worded(
            "Made with Sfumato {version} on {made_at}",
            version=__version__,
            made_at=time_text(material.made_at),
        ),
        notice=notice,
        sections=tuple(each.with_names_apart(columns) for each in sections),
        footer=f"{title} · {time_text(material.made_at)}",
    )


def _promises(material: ReportMaterial, options: ReportOptions) -> ReportSection:
    if instead := asked_instead(material.document):
        return _published_promises(material, instead, row_order_caution(material.document))
    guarantee = material.guarantee
    trusted = {promise.entry.key: promise for promise in reversed(guarantee.promises)}
    told: list[str] = [
        Sentence(
            "To {recipient}, trusted most with {key}: {sentence}",
            recipient=trusted[key].recipient,
            key=key,
            sentence=as_sentence(trusted[key].promise.sentence),
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
        Sentence("To {recipient}: {promise}", recipient=recipient, promise=as_sentence(promise))
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
    return ReportSection("What the releases promise", tuple(blocks))


def _published_promises(
    material: ReportMaterial, asked: tuple[str, ...], cautions: tuple[str, ...]
) -> ReportSection:
    """Return what is asked of a generalized table that takes the place of releases, or kept."""
    found = () if material.publication is None else material.publication.standing
    blocks: list[Block] = [Paragraph("It shows true sensitive values.", "lead")]
    if found:
        blocks.append(Paragraph("What is asked of every class of people alike is not kept:"))
        blocks.append(Bullets(tuple(said(one.sentence) for one in found)))
        blocks += [Paragraph("This is asked:"), Bullets(asked)]
    else:
        blocks += [Paragraph("Every class of people alike keeps:"), Bullets(asked)]
    if cautions:
        blocks += [Paragraph("What weakens the promises:"), Bullets(cautions)]
    blocks += [Paragraph("What is not promised:"), Bullets(LIMITS)]
    title = "What is asked of the published table" if found else "What the published table promises"
    return ReportSection(title, tuple(blocks))


def _reading(source: TableSource) -> list[Block]:
    """Return what was remarked when the table was read, and what was chosen of how."""
    options = ReadOptions.from_dict(dict(source.options))
    found = ReadOptions.from_dict(dict(source.found)) if source.found else options
    told = []
    for note in cautions_first(source.notes or ()):
        words = "Caution: {text}" if note.caution else "{text}"
        told.append(worded(words, text=joined(note.sentence, rows_sentence(note))))
    told += [
        worded("Chosen: {text}", text=choice_sentence(choice, kept=True))
        for choice in choices_between(found, options)
    ]
    return [Paragraph("How the table was read:"), Bullets(tuple(told))] if told else []


def _table(material: ReportMaterial, options: ReportOptions) -> ReportSection:
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
        blocks += _reading(source)
    entries = {name: entry for entry in document.policy for name in entry.attributes}
    made = [record for record in material.releases if record.counts]
    rows = tuple(
        (
            column.name,
            said(_ROLES[column.role]),
            _treatment(column, document)
            if column.name not in entries
            else said(mechanism_called(entries[column.name].mechanism).title),
            *((_as_released(column.name, made),) if made else ()),
        )
        for column in document.columns
    )
    columns = heads("Column", "Role", "In a release")
    blocks.append(ReportGrid((*columns, *heads("In the releases made")) if made else columns, rows))
    return ReportSection("The table", tuple(blocks))


def _treatment(column: ColumnSpec, document: Document) -> str:
    """Say how a column that no mechanism protects leaves."""
    if column.as_pseudonym is not None:
        return worded("shown as a pseudonym")
    decided = document.generalization
    if document.is_published_only and decided is not None:
        if column.name in decided.quasi_identifiers:
            return worded("generalized")
        if column.role is Role.SENSITIVE:
            return said("released as it is" if column.name == decided.sensitive else "dropped")
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
    told = record.details.get("view") or {}
    some = told.get("suppressed") or told.get("suppressed_cells")
    hidden = view is not None and name in view.hierarchies and some
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


def _entry(material: ReportMaterial, entry: PolicyEntry, options: ReportOptions) -> ReportSection:
    """Tell of one policy entry: mechanism, levels, figures, and what a coalition learns."""
    mechanism = mechanism_called(entry.mechanism)
    blocks: list[Block] = [Paragraph(f"{said(mechanism.title)}. {said(mechanism.summary)}")]
    held = material.findings[entry.key].held
    if held:
        rungs = tuple(
            LadderRung(each.recipient, each.trust, level_text(material.attributes, each.plan))
            for each in held
        )
        build = partial(build_trust_ladder, LadderData(entry.key, rungs))
        blocks.append(
            Picture(build, worded("The ladder of {key}, recipient by recipient.", key=entry.key))
        )
        blocks += _levels(material, entry)
    if options.internal:
        # Figures of this very table; outsiders have the promise, which holds for any.
        for answer in material.findings[entry.key].answers:
            blocks += blocks_of(answer)
    for name in entry.attributes if options.internal else ():
        blocks += _values(material.attributes[name])
    return ReportSection(worded("Sensitive attribute: {key}", key=entry.key), tuple(blocks))


def _earlier(earlier: EarlierPolicy) -> ReportSection:
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
                "The policy has changed since these releases. They are described by the policy"
                " then in force, which the ledger keeps. {title}. {summary}",
                title=said(mechanism.title),
                summary=said(mechanism.summary),
            )
        ),
        ReportGrid(heads("Recorded", "Recipient", "Level"), rows),
    ]
    if chosen:
        held = [plan for _, plan in earlier.held]
        most = max(held, key=lambda plan: mechanism.trust(plan.level))
        blocks.append(Paragraph(mechanism.promise(most.level, chosen, most.settings).sentence))
    return ReportSection(
        worded("Released by an earlier policy: {key}", key=plan.key), tuple(blocks)
    )


def _asked(material: ReportMaterial) -> Iterator[ReportSection]:
    """Yield the answers to the questions that have a section of their own."""
    for question, answers in material.sections.items():
        blocks = tuple(block for answer in answers for block in blocks_of(answer, answer.about))
        if blocks:
            yield ReportSection(said(question.title), blocks)


def _levels(material: ReportMaterial, entry: PolicyEntry) -> Iterator[ReportGrid]:
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
    yield ReportGrid(
        (said("Recipient"), *(f"{said(fact.title)} ({fact.symbol})" for fact in once)),
        tuple((p.recipient, *(_cell(p.promise, fact) for fact in once)) for p in promises),
        tuple(range(1, len(once) + 1)),
    )
    several = [fact for fact in facts if symbols.count(fact.symbol) > 1]
    for start in range(0, len(promises) if several else 0, _MOST_ACROSS):
        across = promises[start : start + _MOST_ACROSS]
        yield ReportGrid(
            (worded("In the column's unit"), *(p.recipient for p in across)),
            tuple((said(f.title), *(_cell(p.promise, f) for p in across)) for f in several),
            tuple(range(1, len(across) + 1)),
        )


def _cell(promise: Promise, wanted: PromiseFigure) -> str:
    """Return a promise's figure of the same name as another's."""
    told = (wanted.symbol, wanted.title)
    return next((four_digits(f.value) for f in promise.facts if (f.symbol, f.title) == told), "")


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
    yield ReportGrid(heads("Value", "Records", "Share"), tuple(rows), (1, 2))


_MOST_VALUES = 40


def _about(material: ReportMaterial, options: ReportOptions) -> ReportSection:
    versions = ", ".join(f"{name} {version_of(name)}" for name in _LIBRARIES)
    return ReportSection(
        "How to check this report",
        (
            Paragraph(
                "Every figure is computed from the matrices and files in hand. Whoever has a"
                " bundle compares its files' SHA-256 with the digests below; whoever has the"
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
            *digests(material, options),
        ),
    )
