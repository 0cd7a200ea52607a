"""One record's way down its ladder."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.coarsening.views import find_views, with_proposed_hierarchies, with_statement
from sfumato.analysis.disclosure.record_path import record_path
from sfumato.engine.core.errors import PolicyError, TableError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.project.release.views import coarsening_of
from tests.engine.ladders.path import event_path
from tests.in_batches import in_batches
from tests.project.verifying import ILLNESSES, a_document, a_table
from tests.project.whole_table import coarsened, released_columns

KEYS = KeyRing(b"7" * 32)


def path(row, document=None):
    settled = document or a_document()
    entry = settled.policy[0]
    return record_path(
        rows_of(settled, in_batches(a_table()), KEYS), entry, "illness", row, Silent()
    )


@pytest.mark.slow
def test_the_changes_are_those_of_the_record_s_events():
    document, table = a_document(), a_table()
    domain = document.column("illness").domain
    key = KEYS.for_attribute("illness", domain.fingerprint, "uniform")
    ids = record_ids_by_position(table.rows)
    for row in (1, 2, 3, 50, 400):
        code = int(domain.encode(table.column("illness"), "illness")[row - 1])
        steps = event_path(code, domain.size, int(ids[row - 1]), key, 0.001)
        found = path(row)
        assert [s.value for s in found.stretches] == [ILLNESSES[step.code] for step in steps]
        lower = [stretch.lower for stretch in found.stretches[:-1]]
        assert lower == pytest.approx([step.level for step in steps[1:]], rel=1e-4)
        assert found.stretches[0].upper == 1.0
        assert not found.is_numeric


@pytest.mark.slow
def test_what_recipients_see_is_what_they_are_released():
    document = a_document()
    found = {stop.recipient: stop for stop in path(17).stops}
    for recipient in document.recipients:
        frame = released_columns(document, a_table(), recipient, KEYS, Silent())
        assert frame["illness"].iloc[16] == found[recipient.name].value
    trusts = [stop.trust for stop in path(17).stops]
    assert trusts == sorted(trusts, reverse=True)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_the_record_is_shown_as_every_recipient_s_view_shows_it():
    document, _ = with_proposed_hierarchies(a_document(), a_table())
    document = with_statement(document, "Institute B", 2, 0.1)
    document = find_views(
        with_statement(document, "Public C", 30, 0.1), in_batches(a_table()), Silent()
    )
    found = {stop.recipient: stop for stop in path(17, document).stops}
    for recipient in document.recipients:
        frame = released_columns(document, a_table(), recipient, KEYS, Silent())[["age", "zip"]]
        stop = found[recipient.name]
        if recipient.view is None:
            assert stop.alike == (frame == frame.iloc[16]).all(axis=1).sum()
            assert dict(stop.public) == dict(frame.iloc[16])
        else:
            assert stop.alike >= recipient.view.k
            coarsening = coarsening_of(document, recipient)
            shown = pd.DataFrame(coarsened(coarsening, document.columns, a_table()).columns)
            assert stop.alike == (shown == shown.iloc[16]).all(axis=1).sum()
            assert dict(stop.public) == dict(shown.iloc[16])
    assert found["Clinic A"].alike <= found["Institute B"].alike <= found["Public C"].alike


@pytest.mark.parametrize("row", [0, 901, -5])
def test_a_row_that_is_not_there_is_refused(row):
    with pytest.raises(TableError, match="from 1 to 900"):
        path(row)


def test_without_recipients_there_is_no_ladder():
    with pytest.raises(PolicyError, match="recipient"):
        path(1, replace(a_document(), recipients=()))
