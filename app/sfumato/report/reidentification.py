"""The report's part about generalized tables: what they promise, and the risk of being found."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sfumato.plots.figure import percent
from sfumato.project.ledger.records import ReleaseRecord
from sfumato.project.publication.population import basis_text
from sfumato.project.publication.publish import LIMITS
from sfumato.report.blocks import Block, Bullets, Grid, Paragraph, Section

_ATTACKERS = {
    "prosecutor": "Prosecutor: one certain person, at most",
    "journalist": "Journalist: anybody at all, at most",
    "marketer": "Marketer: as many as possible, on average",
}


def published_promises(asked: tuple[str, ...], cautions: tuple[str, ...]) -> Section:
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


def being_found(releases: Iterable[ReleaseRecord], internal: bool) -> tuple[Section, ...]:
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
            blocks += _blocks(record, risk, internal)
    if not blocks:
        return ()
    said = Paragraph(
        "How likely somebody is found in a published table by the columns that were made coarser.",
        "lead",
    )
    return (Section("The risk of being found", (said, *blocks)),)


def _blocks(record: ReleaseRecord, risk: dict[str, Any], internal: bool) -> list[Block]:
    times = ("before", "after") if internal else ("after",)
    rows = [
        (title, *(percent(risk[time][name]) for time in times))
        for name, title in _ATTACKERS.items()
    ]
    if internal:
        rows.append(("Records alone in their class", *(str(risk[t]["uniques"]) for t in times)))
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
