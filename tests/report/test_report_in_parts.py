"""The report of a table that is too long for memory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sfumato.analysis.questions import question_called
from sfumato.engine.core.progress import Silent
from sfumato.project.document.model import Generalization
from sfumato.project.release import batched_table
from sfumato.report.blocks import Paragraph
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from tests.in_batches import in_batches
from tests.project import test_long_release
from tests.project.making import noon
from tests.project.test_long_leak import VIEWS, two_recipients
from tests.project.test_long_publication import generalizing, other_table
from tests.project.test_long_release import bundle, frame_of, long_of, whole_of
from tests.project.test_long_units import by_house, of_units

ward, small_parts = test_long_release.ward, test_long_release.small_parts


def with_units(document):
    return by_house(2, "illness")(two_recipients(*VIEWS["views"])(document))


CASES = {
    "as they are": (frame_of, two_recipients()),
    "views": (frame_of, two_recipients(*VIEWS["views"])),
    "units and views": (lambda: of_units(frame_of()), with_units),
}


def paragraphs(material, options):
    sections = compose(material, options).sections
    return [str(b.text) for s in sections for b in s.blocks if isinstance(b, Paragraph)]


def counted(material):
    """How often each value of an attribute occurs, of today's and of earlier policies."""
    before = [(each.held, each.attributes) for each in material.earlier.values()]
    every = [((), tuple(material.attributes.values())), *before]
    return [
        (held, [(a.name, None if a.domain is None else a.counts.tolist()) for a in attributes])
        for held, attributes in every
    ]


@pytest.mark.slow
@pytest.mark.turns(3)
@pytest.mark.parametrize("case", CASES)
def test_what_is_counted_in_parts_is_what_the_whole_table_tells(ward, tmp_path, monkeypatch, case):
    monkeypatch.setattr(batched_table, "SAMPLE", 90)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        bundle(project, whole_of(project), tmp_path / "out", "parquet")
        # The release sits on a ladder that today's policy has no more.
        illness = project.document.column("illness")
        wider = replace(illness.domain, values=(*illness.domain.values, "measles"))
        project.save_document(project.document.with_column(replace(illness, domain=wider)))
        whole, parts = (
            collect(project, in_batches(t(project)), noon, Silent()) for t in (whole_of, long_of)
        )
    for name in ("document", "rows", "unique", "releases", "entries", "tampering"):
        assert getattr(parts, name) == getattr(whole, name), name
    assert parts.earlier
    assert counted(parts) == counted(whole)
    for key, found in whole.findings.items():
        own = parts.findings[key]
        assert own.held == found.held
        for one, other in zip(own.answers, found.answers, strict=True):
            if "linear" in one.facts:
                continue  # numbers are known from a sample
            assert one.sentences == other.sentences
            assert one.facts == other.facts
            for mine, table in zip(one.tables, other.tables, strict=True):
                # What open columns tell is estimated from a sample.
                assert mine.texts == table.texts or "Open columns" in table.header
    told = [table for found in parts.findings.values() for a in found.answers for table in a.tables]
    assert any("Of groups" in table.header for table in told)
    for options in (ReportOptions(), ReportOptions(Audience.OUTSIDE, 200)):
        told = [
            any("was read in parts" in p for p in paragraphs(m, options)) for m in (whole, parts)
        ]
        assert told == [False, True]


@pytest.mark.slow
def test_what_a_generalized_table_leaves_beside_others_is_reported_in_parts(ward, tmp_path):
    frame = frame_of()
    other = other_table(tmp_path, frame)
    decided = Generalization("illness", ("age", "zip"), others=(other,))
    with ward(frame) as project:
        project.save_document(replace(project.document, generalization=decided))
        whole, parts = (
            collect(project, in_batches(t(project)), noon, Silent()) for t in (whole_of, long_of)
        )
    [told], [in_parts] = (m.sections[question_called("others")] for m in (whole, parts))
    assert told.facts["others"]
    assert told.plain("others") == in_parts.plain("others")


@pytest.mark.slow
def test_a_generalized_table_in_the_place_of_releases_is_reported_in_parts(ward):
    with ward(frame_of(), generalizing()) as project:
        whole, parts = (
            collect(project, in_batches(t(project)), noon, Silent()) for t in (whole_of, long_of)
        )
    assert parts.attributes == whole.attributes == {}
    assert paragraphs(parts, ReportOptions())
