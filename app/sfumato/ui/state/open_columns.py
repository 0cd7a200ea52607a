"""Keeps what open columns tell of the sensitive ones, for the cards and pages that say it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from PySide6.QtCore import QCoreApplication

from sfumato.analysis.open_columns import Asked, OpenAnswer, answer_open_columns
from sfumato.analysis.shown_columns import ShownColumns
from sfumato.engine.core.progress import Context
from sfumato.engine.table.table import Attribute
from sfumato.jobs.runner import JobRunner
from sfumato.project.document.model import Document


class OpenColumnsCache:
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
        self._columns: ShownColumns | None = None
        self._question: tuple[object, ...] = ()
        self._answer: OpenAnswer | None = None

    def get(
        self, document: Document, columns: ShownColumns, attributes: Mapping[str, Attribute]
    ) -> OpenAnswer | None:
        """Return the answer; while it is worked on, the last one if it is about these columns.

        Figures of levels that have changed are left out by `OpenAnswer.beside`.
        """
        asked = Asked.of(document)
        if self._columns is not columns:
            self._columns, self._question, self._answer = columns, (), None
        known = self._answer
        if known is not None and known.findings.asked != asked:
            known = None
        people = tuple((each.name, each.mark, each.statements) for each in document.recipients)
        question = (asked, document.policy, people, document.level_spacing, tuple(attributes))
        if question == self._question:
            return known
        self._question = question

        def work(context: Context) -> OpenAnswer:
            return answer_open_columns(document, columns, attributes, context)

        def keep(answer: OpenAnswer) -> None:
            if self._question == question and self._columns is columns:
                self._answer = answer
                self._announce()

        title = QCoreApplication.translate("Insights", "Weighing the columns released unchanged")
        self._runner.run(title, work, keep, key="open columns")
        return known
