"""What a report tells of the releases made: each of them, their risk, and the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Attribute
from sfumato.formats.language import day, four_digits, moment, said, worded
from sfumato.plots.axes import percent, whole
from sfumato.project.count_tables.held import count_tables_in
from sfumato.project.document.entry_plan import EntryPlan
from sfumato.project.ledger import EntryKind, ReleaseRecord, ReleaseState
from sfumato.project.publication.followed import edition_told
from sfumato.project.publication.population import basis_text
from sfumato.report.blocks import Block, Paragraph, ReportGrid, ReportSection
from sfumato.report.material import ReportMaterial, ReportOptions

_STATES = {
    ReleaseState.PREPARED: Sentence("prepared"),
    ReleaseState.COMPLETED: Sentence("completed"),
    ReleaseState.ABANDONED: Sentence("abandoned"),
    ReleaseState.UNTRACED: Sentence("untraced"),
}
_ATTACKERS = {
    "prosecutor": "Prosecutor: one certain person, at most",
    "journalist": "Journalist: anybody at all, at most",
    "marketer": "Marketer: as many as possible, on average",
}


def heads(*names: str) -> tuple[str, ...]:
    """Return the names of a grid's columns in the language of the report."""
    return tuple(map(said, names))


def time_text(recorded_at: str) -> str:
    """Return a recorded time (ISO 8601, UTC) as the report's language writes it."""
    return f"{moment(datetime.fromisoformat(recorded_at))} UTC"


def level_text(known: Mapping[str, Attribute], plan: EntryPlan) -> str:
    """Return a level with its symbol, as ``σ² = 0.25``; a bare number where it has none."""
    mechanism = mechanism_called(plan.mechanism)
    try:
        chosen = [known[name] for name in plan.attributes]
        stated = mechanism.restate(plan.level, chosen, plan.settings)
    except (SfumatoError, KeyError):
        return four_digits(plan.level)  # of columns or settings that are no longer there
    term = next(term for term in mechanism.terms if len(term.fields) == 1)
    (number,) = stated[term.name].values()
    return f"{said(term.fields[0].title)} = {four_digits(number)}"


def releases(material: ReportMaterial, options: ReportOptions) -> ReportSection:
    """Tell who got what, when and at which levels."""
    counted = [r for r in material.releases if r.counts]
    if not counted:
        return ReportSection("Releases", (Paragraph("No release was made yet."),))
    rows = tuple(
        (
            time_text(record.recorded_at),
            record.recipient,
            record.format_name,
            _levels_of(material, record),
            worded("as in the table") if record.rows_as_in_table else worded("its own"),
            _state_of(record),
        )
        for record in counted
    )
    blocks: list[Block] = [
        ReportGrid(
            heads("Recorded", "Recipient", "Format", "Levels", "Order of rows", "State"), rows
        ),
        *_withdrawn(counted, options),
        *_approved(counted, options),
    ]
    return ReportSection("Releases", tuple(blocks))


def count_tables(material: ReportMaterial) -> Iterator[ReportSection]:
    """Tell which tables of counts left, and what is promised of each; nothing without any."""
    records = count_tables_in(material.entries)
    if not records:
        return
    names = heads("Recorded", "Recipient", "Counted by", "ε", "Rows of a unit", "State")
    rows = tuple(
        (
            time_text(one.recorded_at),
            one.recipient,
            ", ".join(one.columns),
            four_digits(one.epsilon),
            whole(one.most_rows),
            said(_STATES[ReleaseState.COMPLETED]) if one.withdrawn is None else said("withdrawn"),
        )
        for one in records
    )
    promised = (
        "Every count has whole-number noise. For somebody who sees a table, the odds on what is"
        " true of one record, or of all rows of one unit, change by a factor of at most e^ε. Of"
        " tables with the same noise the largest ε counts for whoever pools them; the ε of other"
        " tables, and of other editions, are added."
    )
    yield ReportSection("Tables of counts", (Paragraph(promised), ReportGrid(names, rows)))


def _state_of(record: ReleaseRecord) -> str:
    state = said(_STATES[record.state])
    if record.withdrawn is None:
        return state
    return worded(
        "{state}, withdrawn on {day}",
        state=state,
        day=day(datetime.fromisoformat(record.withdrawn.recorded_at)),
    )


def _approved(counted: list[ReleaseRecord], options: ReportOptions) -> Iterator[Block]:
    """Tell which second person approved which releases; to outsiders, only that somebody did."""
    rows = []
    for record in counted:
        approval = record.details.get("approval")
        if isinstance(approval, dict):
            name = str(approval.get("name", "")) if options.internal else said("yes")
            rows.append((time_text(record.recorded_at), record.recipient, name))
    if rows:
        yield Paragraph("Releases that a second person approved:")
        head = "Approved by" if options.internal else "Approved"
        yield ReportGrid(heads("Recorded", "Recipient", head), tuple(rows))


def _withdrawn(counted: list[ReleaseRecord], options: ReportOptions) -> Iterator[Block]:
    """Tell which releases were wrong, and why; the reason stays in the house."""
    rows = tuple(
        (
            time_text(record.withdrawn.recorded_at),
            record.recipient,
            record.withdrawn.reason if options.internal else said("yes"),
        )
        for record in counted
        if record.withdrawn is not None
    )
    if rows:
        yield Paragraph(
            "Withdrawn releases, which should no longer be used. Whoever has one knows what it"
            " tells, so this report goes on counting it:"
        )
        reason = "Reason" if options.internal else "Reason given"
        yield ReportGrid(heads("Withdrawn", "Recipient", reason), rows)


def digests(material: ReportMaterial, options: ReportOptions) -> Iterator[Block]:
    """Yield the digests of the released files; nothing where no release was made."""
    counted = [record for record in material.releases if record.counts]
    if counted:
        yield Paragraph("Digests of the files (SHA-256):")
        yield ReportGrid(heads("Recipient", "File", "SHA-256"), tuple(_files(counted, options)))


def _levels_of(material: ReportMaterial, record: ReleaseRecord) -> str:
    if record.is_publication:
        facts = record.details["generalization"]
        pairs = zip(facts["quasi_identifiers"], facts["levels"], strict=True)
        levels = ", ".join(
            worded("{name}: level {level}", name=name, level=level) for name, level in pairs
        )
        edition = edition_told(record)
        return "; ".join(
            [said("generalized"), levels, *([] if edition is None else [said(edition)])]
        )
    lines = []
    for plan in record.plans:
        earlier = material.earlier.get(plan.ladder)
        known = material.attributes
        if earlier is not None:
            known = {attribute.name: attribute for attribute in earlier.attributes}
        lines.append(f"{plan.key}: {level_text(known, plan)}")
    return "; ".join(lines)


def _files(records: list[ReleaseRecord], options: ReportOptions) -> Iterator[tuple[str, str, str]]:
    for record in records:
        if options.internal:
            yield record.recipient, str(record.target), record.digest
        for name, digest in record.files.items():
            yield record.recipient, name, digest


def being_found(releases: Iterable[ReleaseRecord], internal: bool) -> tuple[ReportSection, ...]:
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
    return (ReportSection("The risk of being found", (said, *blocks)),)


def _risk_blocks(record: ReleaseRecord, risk: dict[str, Any], internal: bool) -> list[Block]:
    times = ("before", "after") if internal else ("after",)
    rows = [
        (said(title), *(percent(risk[time][name]) for time in times))
        for name, title in _ATTACKERS.items()
    ]
    if internal:
        alone = (
            worded("Units alone in their class")
            if risk.get("unit")
            else worded("Records alone in their class")
        )
        rows.append((alone, *(str(risk[t]["uniques"]) for t in times)))
    heads = {"before": worded("As it is"), "after": worded("As published")}
    numeric = tuple(range(1, len(times) + 1))
    blocks: list[Block] = [
        Paragraph(
            worded(
                "Published on {recorded_at}. {basis_text}",
                recorded_at=day(datetime.fromisoformat(record.recorded_at)),
                basis_text=basis_text(risk),
            )
        ),
        ReportGrid((said("Attacker"), *(heads[time] for time in times)), tuple(rows), numeric),
    ]
    lost = sum(each["cells"] for each in risk.get("unknown", ()))
    if lost:
        blocks.append(
            Paragraph(
                worded(
                    "{lost:,} {lost:cell|cells} of the population {lost:is|are} not known to the"
                    " hierarchies; {lost:this person is|these people are} counted in no class.",
                    lost=lost,
                ),
                "note",
            )
        )
    return blocks


def ledger(material: ReportMaterial, options: ReportOptions) -> ReportSection:
    """Tell whether the ledger is whole, and what was released in spite of something."""
    if material.tampering:
        return ReportSection("Ledger", (Paragraph(material.tampering, "lead"),))
    blocks: list[Block] = [
        Paragraph(
            worded(
                "The ledger has {entries} {entries:entry|entries}, each sealed to the one before;"
                " none was changed or cut off.",
                entries=whole(len(material.entries)),
            )
        )
    ]
    if material.entries:
        last = material.entries[-1]
        # The digest covers the source's, by which whoever guesses the table could check the guess.
        what = last.digest if options.internal else last.seal
        blocks.append(
            Paragraph(
                worded(
                    "Digest of entry {number}: {digest}"
                    if options.internal
                    else "Seal of entry {number}: {digest}",
                    number=last.number,
                    digest=what,
                ),
                "note",
            )
        )
    blocks += _accepted(material, options)
    internal = options.internal
    overrides = [e for e in material.entries if e.kind == EntryKind.OVERRIDE]
    if overrides:
        rows = tuple(
            (
                time_text(e.recorded_at),
                str(e.details.get("reason", "")) if internal else said("yes"),
            )
            for e in overrides
        )
        blocks += [
            Paragraph("Releases made in spite of a contradiction:"),
            ReportGrid(heads("Recorded", "Reason" if options.internal else "Overridden"), rows),
        ]
    return ReportSection("Ledger", tuple(blocks))


def _accepted(material: ReportMaterial, options: ReportOptions) -> Iterator[Block]:
    """Tell of what stayed open when releases were made, and why."""
    rows = tuple(
        (
            record.recipient,
            said(each.get("check", "")),
            *((str(each.get("finding", "")),) if options.internal else ()),
            str(each.get("reason", "")) if options.internal else said("yes"),
        )
        for record in material.releases
        if record.counts
        for each in record.details.get("accepted", ())
    )
    if rows:
        yield Paragraph("What was found before releases, and released for a reason:")
        found = ("Finding",) if options.internal else ()
        reason = "Reason" if options.internal else "Reason given"
        yield ReportGrid(heads("Recipient", "Check", *found, reason), tuple(dict.fromkeys(rows)))
