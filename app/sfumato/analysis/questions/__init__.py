"""The questions that a person asks of a release: one module each, found by being here.

A module of this package defines ``QUESTION``, an `AuditQuestion`, or several that are alike as
``QUESTIONS``. It imports what it is answered by when it is asked, since the
command line names all questions in its help.
"""

from __future__ import annotations

from functools import cache

from sfumato.analysis.questions.question import AuditQuestion
from sfumato.engine.core.discovery import found_in


@cache
def all_questions() -> tuple[AuditQuestion, ...]:
    """Return every question, in the order in which they are shown."""
    found: list[AuditQuestion] = found_in(__name__, "QUESTION")
    found += [question for alike in found_in(__name__, "QUESTIONS") for question in alike]
    return tuple(sorted(found, key=lambda question: question.order))


def question_called(name: str) -> AuditQuestion:
    """Return a question by its name."""
    return next(question for question in all_questions() if question.name == name)
