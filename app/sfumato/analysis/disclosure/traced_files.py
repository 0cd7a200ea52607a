"""Whose copy a file is that was found: the answer, of a table's rows or of a table of counts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from sfumato.analysis.answers import Answer, AnswerTable, CellKind, Severity
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence
from sfumato.formats.notes import Note
from sfumato.project.count_tables.tracing import TracedCounts, trace_counts
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.verification.leak import LeakReport, read_leak, trace_file

_NOTICED: Final = 0.001
"""From this share on it is told that rows come from none of the releases."""


def answer_of_file(
    project: ProjectFile, table: BatchedTable, path: Path, context: Context
) -> Answer:
    """Return whose copy a file is; grave where it names anyone, since nobody should have it.

    Parameters
    ----------
    project, table
        What it is held against.
    path
        The file: a table, a bundle, either of them zipped, or a part of one.
    context
        Progress and cancelling.

    Raises
    ------
    SfumatoError
        If it can't be compared.
    """
    counts = trace_counts(project, table, path, Part(context, 0.0, 0.1))
    if counts is not None:
        return _of_counts(path.name, counts)
    notes: list[Note] = []
    leak = read_leak(path, Part(context, 0.1, 0.3), notes.append)
    report = trace_file(project, table, leak, Part(context, 0.3, 1.0)).beside(notes)
    return Answer(
        (report.verdict, *_sentences(path.name, report)),
        Severity.GRAVE if report.is_traced else Severity.CAUTION,
        tables=(_suspects(report),) if report.traced.suspects else (),
        facts=_figures(report),
    )


def _of_counts(name: str, traced: TracedCounts) -> Answer:
    return Answer(
        (traced.verdict, Sentence("{name}, compared by its counts.", name=name)),
        Severity.GRAVE if traced.is_traced else Severity.CAUTION,
        facts={
            "count_table": {
                "recipients": list(traced.recipients),
                "share": traced.share,
                "verdict": str(traced.verdict),
            }
        },
    )


def _sentences(name: str, report: LeakReport) -> Iterator[str]:
    """Yield what the verdict rests on."""
    if report.withdrawn:
        yield report.withdrawn
    for remark in report.remarks:
        yield Sentence("Caution: {remark}", remark=remark)
    columns = ", ".join(report.compared)
    yield Sentence("{name}, compared by {columns}.", name=name, columns=columns)
    if report.matches:
        yield report.matches
    if report.ignored:
        columns = ", ".join(report.ignored)
        yield Sentence("Not recognized, so not compared: {columns}.", columns=columns)
    if report.traced.sources and report.traced.altered >= _NOTICED:
        yield Sentence(
            "The likeliest share of its rows that come from none of these: {share:.1%}.",
            share=report.traced.altered,
        )


def _suspects(report: LeakReport) -> AnswerTable:
    """Return what speaks for each release."""
    mixed = report.traced.mixed
    columns: dict[str, CellKind] = {
        Sentence("Source"): CellKind.TEXT,
        Sentence("Release to"): CellKind.TEXT,
        Sentence("Share") if mixed else Sentence("Probability"): CellKind.SHARE,
        Sentence("Rows only here"): CellKind.COUNT,
    }
    rows = [
        (
            Sentence("source") if suspect.is_source else "",
            report.name_of(suspect),
            suspect.share if mixed else suspect.posterior,
            suspect.own_rows,
        )
        for suspect in report.traced.suspects
    ]
    return AnswerTable(columns, rows)


def _figures(report: LeakReport) -> dict[str, Any]:
    """Return what was found as plain JSON values."""
    return {
        "rows": report.traced.rows,
        "mixed": report.traced.mixed,
        "mixed_by": report.traced.rule,
        "altered_share": report.traced.altered,
        "table_share": report.traced.of_table,
        "compared_columns": list(report.compared),
        "ignored_columns": list(report.ignored),
        "matched_columns": dict(report.matched),
        "withdrawn": str(report.withdrawn) or None,
        "remarks": [str(remark) for remark in report.remarks],
        "pseudonyms": [
            {
                "column": match.column,
                "of": match.of,
                "recipients": list(match.recipients),
                "rows": match.rows,
                "share": match.rows / match.all_rows,
            }
            for match in report.pseudonyms
        ],
        "releases": [
            {
                "recipients": report.name_of(suspect),
                "is_source": suspect.is_source,
                "share": suspect.share,
                "probability": suspect.posterior,
                "log_likelihood": suspect.log_likelihood,
                "chance": suspect.chance,
                "rows_only_here": suspect.own_rows,
            }
            for suspect in report.traced.suspects
        ],
    }
