"""A level of its own for every recipient."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.disclosure.recipient_traceability import extra_records, recipient_traceability
from sfumato.engine.core.errors import LevelError, PolicyError
from sfumato.engine.core.progress import Silent
from sfumato.engine.matrices.estimate import Target, estimate_frequencies
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.randomness.keys import KeyRing
from sfumato.project.document.edits import with_marks, with_spacing
from sfumato.project.document.entry_plan import plan_entry, plan_release
from sfumato.project.document.model import Document, Recipient, document_from_json, document_to_json
from sfumato.project.errors import NotTraceable
from sfumato.project.release.memory_survey import MemorySurvey
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.rules.rules import apply_rules, rules_of
from sfumato.project.verification.leak import read_leak, trace_file
from tests.in_batches import in_batches
from tests.project.verifying import a_document, a_table, levels, new_project, release
from tests.thorough import tried

KEYS = KeyRing(b"7" * 32)


def ten(level: float = 0.5) -> Document:
    recipients = tuple(Recipient(f"Office {number}", levels(level)) for number in range(10))
    return replace(a_document(), recipients=recipients)


def levels_of(document: Document) -> list[float]:
    attributes = attributes_of(document, a_table())
    return [plan_release(document, attributes, r)[0].level for r in document.recipients]


def test_equal_levels_get_a_hair_of_distance():
    found = levels_of(with_spacing(ten(), 0.01))
    assert found == pytest.approx([0.5 * (1 - 0.01 * mark) for mark in range(10)])
    assert levels_of(with_spacing(ten(), 0.0)) == [0.5] * 10


def test_a_recipient_keeps_the_mark_when_another_leaves():
    marked = with_spacing(ten(), 0.01)
    fewer = with_spacing(replace(marked, recipients=marked.recipients[3:]), 0.01)
    assert levels_of(fewer) == levels_of(marked)[3:]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
@settings(deadline=None, max_examples=tried(50))
def test_marks_become_distinct_and_distinct_ones_stay(marks):
    recipients = tuple(Recipient(f"R{i}", {}, "", mark) for i, mark in enumerate(marks))
    spaced = Document(recipients=recipients, level_spacing=0.01)
    found = [r.mark for r in with_marks(spaced).recipients]
    assert len(set(found)) == len(found)
    first = {mark: place for place, mark in reversed(list(enumerate(marks)))}
    assert all(found[place] == mark for mark, place in first.items())


@pytest.mark.parametrize("spacing", [-0.1, 0.06, float("nan")])
def test_a_spacing_out_of_range_is_refused(spacing):
    with pytest.raises(LevelError, match="out of range"):
        with_spacing(ten(), spacing)


def test_a_spacing_too_wide_for_so_many_is_refused_with_the_widest():
    many = replace(ten(), recipients=tuple(Recipient(f"R{i}", levels(0.5)) for i in range(30)))
    with pytest.raises(LevelError, match=r"at most 0\.017"):
        with_spacing(many, 0.05)


@pytest.mark.parametrize("count", [12, 29, 57])
def test_the_widest_spacing_that_is_told_is_accepted(count):
    many = replace(ten(), recipients=tuple(Recipient(f"R{i}", levels(0.5)) for i in range(count)))
    with pytest.raises(LevelError) as refused:
        with_spacing(many, 0.05)
    told = float(str(refused.value.details["most"]))
    assert f"at most {told:g}: in Audit" in refused.value.remedy
    assert min(levels_of(with_spacing(many, told))) >= 0.25


def test_no_release_loses_more_than_half_of_its_level():
    """However a mark came to be too high; at a share of 1, noise would divide by zero."""
    recipients = (Recipient("First", levels(0.5)), Recipient("Last", levels(0.5), mark=20))
    document = replace(a_document(), recipients=recipients, level_spacing=0.05)
    attributes = attributes_of(document, a_table())
    entry = document.policy[0]
    assert plan_entry(document, entry, attributes, recipients[0])
    with pytest.raises(PolicyError, match="more than half of the level chosen"):
        plan_entry(document, entry, attributes, recipients[1])


def test_spacing_and_marks_survive_a_file_and_the_rules():
    marked = with_spacing(ten(), 0.01)
    assert document_from_json(document_to_json(marked)) == marked
    again = apply_rules(rules_of(marked), MemorySurvey(a_table()), Document(source=marked.source))
    assert again.level_spacing == 0.01
    assert [r.mark for r in again.recipients] == list(range(10))


@pytest.mark.slow
@pytest.mark.turns(1)
def test_equal_levels_are_told_to_be_untraceable():
    price = recipient_traceability(rows_of(ten(), in_batches(a_table()), KEYS), Silent())
    assert "get the same values" in price.sentence
    assert np.isinf(price.figures.most_rows)


def test_the_price_is_computed_for_the_recipients_as_they_are():
    price = recipient_traceability(
        rows_of(with_spacing(ten(), 0.05), in_batches(a_table()), KEYS), Silent()
    )
    assert np.isfinite(price.figures.most_rows)
    assert "99 % certainty" in price.sentence
    assert "45.00 % lower" in price.sentence
    assert price.recipients[0] == "Office 0"


@pytest.mark.parametrize("level", [0.2, 0.5, 0.98])
def test_the_cost_in_records_is_that_of_the_estimates_errors(level):
    spaced = with_spacing(ten(level), 0.05)
    attributes = attributes_of(spaced, a_table())
    shares = attributes["illness"].frequencies
    spread = []
    for retention in (level, level * (1 - 0.05 * 9)):
        matrix = uniform_matrix(retention, len(shares))
        counts = np.round(matrix.apply(shares) * 10**9).astype(np.int64)
        errors = estimate_frequencies(counts, matrix, target=Target.POPULATION).standard_errors
        spread.append(float((errors**2).sum()))
    only = replace(spaced, policy=spaced.policy[:1])
    assert extra_records(only, attributes) == pytest.approx(spread[1] / spread[0] - 1, rel=1e-5)


def test_one_recipient_is_nobody_to_tell_from():
    alone = replace(ten(), recipients=ten().recipients[:1])
    with pytest.raises(NotTraceable):
        recipient_traceability(rows_of(alone, in_batches(a_table()), KEYS), Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_file_at_a_near_level_is_traced_to_its_recipient(tmp_path):
    with new_project(tmp_path, with_spacing(ten(), 0.05)) as project:
        release(project, tmp_path / "out", "Office 6")
        path = release(project, tmp_path / "out", "Office 2")
        leak = read_leak(path, Silent())
        report = trace_file(project, in_batches(a_table()), leak, Silent())
    assert [report.name_of(suspect) for suspect in report.traced.sources] == ["Office 2"]
