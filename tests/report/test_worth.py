"""What a report tells of the worth of releases, and to whom."""

from __future__ import annotations

import pytest

from sfumato.engine.core.progress import Silent
from sfumato.report.blocks import Paragraph, ReportGrid
from sfumato.report.material import Audience, ReportOptions, collect
from sfumato.report.sections import compose
from tests.in_batches import in_batches
from tests.project.making import noon
from tests.project.verifying import a_table, new_project

TITLE = "What the releases are worth"


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    with new_project(tmp_path_factory.mktemp("ward")) as project:
        return collect(project, in_batches(a_table()), noon, Silent())


def test_the_house_reads_what_each_column_is_worth_to_each_recipient(material):
    [section] = [one for one in compose(material, ReportOptions()).sections if one.title == TITLE]
    texts = [block.text for block in section.blocks if isinstance(block, Paragraph)]
    recipients = [one.name for one in material.document.recipients]
    assert [text.split(":")[0] for text in texts if ":" in text] == recipients
    grids = [block for block in section.blocks if isinstance(block, ReportGrid)]
    told = [row[1] for grid in grids if "Worth" in grid.header for row in grid.rows]
    assert len(told) == len(recipients) * len(material.attributes)
    assert all("true record" in worth for worth in told)


def test_outsiders_read_nothing_that_was_computed_from_the_true_table(material):
    outside = compose(material, ReportOptions(Audience.OUTSIDE, 200))
    assert TITLE not in [one.title for one in outside.sections]
