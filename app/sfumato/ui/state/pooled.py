"""Keeps what pooling the rows of a person or household restores, for the cards that say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from PySide6.QtCore import QCoreApplication

from sfumato.analysis.holdings import Basis
from sfumato.analysis.pooled_rows import PooledRows, pooled_rows
from sfumato.engine.core.progress import Context
from sfumato.engine.table.repeated_units import RepeatedUnit
from sfumato.engine.table.table import EncodedColumn
from sfumato.jobs.runner import JobRunner
from sfumato.project.document.model import Document
from sfumato.project.ledger.records import ReleaseRecord


class PooledCache:
    """The last answer, and the question that is being worked on.

    Parameters
    ----------
    runner
        Computes answers.
    announce
        Called once an answer has become known.
    """

    def __init__(self, runner: JobRunner, announce: Callable[[], None]) -> None:
        self._runner = runner
        self._announce = announce
        self._question: tuple[object, ...] = ()
        self._answer: tuple[PooledRows, ...] = ()

    def get(
        self,
        document: Document,
        encoded: Mapping[str, EncodedColumn],
        units: Sequence[RepeatedUnit],
        releases: Sequence[ReleaseRecord],
    ) -> tuple[PooledRows, ...]:
        """Return the answer; nothing while it is worked on. See `pooled_rows`."""
        # Titles, notes and the like change no figure.
        relevant = replace(document, title="", hierarchies={}, rows_as_in_table="")
        places = tuple(id(column) for column in encoded.values())
        question = (relevant, places, tuple(id(unit) for unit in units), tuple(releases))
        if question == self._question:
            return self._answer
        self._question, self._answer = question, ()

        def work(context: Context) -> tuple[PooledRows, ...]:
            return pooled_rows(document, encoded, units, releases, Basis.EITHER, context)

        def keep(answer: tuple[PooledRows, ...]) -> None:
            if self._question == question:
                self._answer = answer
                self._announce()

        title = QCoreApplication.translate("Insights", "Pooling rows that belong together")
        self._runner.run(title, work, keep, key="pooled")
        return ()
