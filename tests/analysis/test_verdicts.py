"""The verdict on a recipient, by what was found, in a word and a sentence."""

from __future__ import annotations

import pytest

from sfumato.analysis.answers import Severity
from sfumato.analysis.findings import APPROVAL, WORTH, About, Finding
from sfumato.analysis.readiness.verdicts import Readiness, Standing, verdict_of


def worth(column, worthless):
    severity = Severity.CAUTION if worthless else Severity.GOOD
    sentence = f"What {column} tells."
    return Finding(
        WORTH, severity, sentence, (), (column,), about=About.POLICY, worthless=worthless
    )


UNAPPROVED = Finding(APPROVAL, Severity.GRAVE, "Nobody has approved it.", asks=False, refuses=True)
IN_ORDER = Finding("Promises", Severity.GOOD, "They have a limit.")
GRAVE = Finding("Unique records", Severity.GRAVE, "One record is unique.")


@pytest.mark.parametrize(
    ("findings", "word"),
    [
        ((worth("pay", True),), "Worthless"),
        ((worth("pay", True), worth("job", True), IN_ORDER), "Worthless"),
        ((worth("pay", True), worth("job", False)), "Partly worthless"),
        ((worth("job", False),), "OK"),
    ],
)
def test_a_release_is_worthless_only_in_part_where_another_column_tells_something(findings, word):
    found = verdict_of(Readiness("Public", findings))
    assert found.word == word
    assert (found.standing is Standing.WORTHLESS) is ("orthless" in word)


@pytest.mark.parametrize("beside", [(IN_ORDER,), (worth("pay", True),), (GRAVE,)])
def test_what_a_second_person_decides_by_does_not_change_until_they_approve(beside):
    without = verdict_of(Readiness("Public", beside))
    waiting = Readiness("Public", (UNAPPROVED, *beside))
    assert verdict_of(waiting) == without
    assert UNAPPROVED in waiting.standing, "it keeps the release back all the same"


def test_what_is_worthless_for_counting_is_not_said_to_tell_nothing_of_people():
    """Of 40 records shares are unsure even where 87 in 100 of the values shown are true."""
    little = worth("ICD", True)
    found = verdict_of(Readiness("Partner", (little,)))
    assert found.standing is Standing.WORTHLESS
    assert "nothing" not in str(found.sentence)
    assert "can hardly be estimated" in str(found.sentence)
