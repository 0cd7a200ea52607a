"""How often an innocent recipient is named, where rows of a household show one draw together."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.tracing import FALSE_ALARM, trace_leak
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import Table
from sfumato.project.verification import leak as tracing
from sfumato.project.verification.leak import trace_file
from tests.in_batches import in_batches
from tests.project.test_units import protected
from tests.project.whole_table import released_columns
from tests.samples.make_households import households

COLUMNS = ["region", "sex", "water"]


def large_households(count=60, members=9):
    """Households of the same size each, whose water is one draw for all members."""
    frame = households(count * 2, 5).drop_duplicates("household").head(count)
    frame = frame.loc[frame.index.repeat(members)].reset_index(drop=True)
    rng = np.random.default_rng(3)
    sex = np.where(rng.random(len(frame)) < 0.5, "f", "m")
    return frame.assign(person=[f"p{row:05d}" for row in range(len(frame))], sex=sex)


def keys_of(number):
    return KeyRing(number.to_bytes(32, "big"))


def project_of(document, number):
    """What tracing needs of a project: any key, and nothing released yet."""
    path = Path("survey.sfumato")
    return SimpleNamespace(document=document, keys=keys_of(number), releases=(), path=path)


def made(document, frame, name, keys):
    recipient = document.recipient(name)
    found = released_columns(document, Table(frame), recipient, keys, Silent())
    return found[COLUMNS].reset_index(drop=True)


def watched(monkeypatch):
    """Return the list that what is traced is added to, as it is counted."""
    kept = []

    def trace(counts, context):
        kept.append(counts)
        return trace_leak(counts, context)

    monkeypatch.setattr(tracing, "trace_leak", trace)
    return kept


def alarms(frame, document, trials, monkeypatch, *, by_rows=0):
    """Trace files that were made with another key; return of each whether it names anybody.

    By units, and of the first `by_rows` as if every row had been drawn by itself.
    """
    kept = watched(monkeypatch)
    named, named_by_rows = [], []
    for trial in range(trials):
        project = project_of(document, 1_000 + trial)
        name = ("Institute", "Ministry", "Public")[trial % 3]
        found = made(document, frame, name, keys_of(1 + trial))
        report = trace_file(project, in_batches(Table(frame)), Table(found), Silent())
        named.append(bool(report.traced.sources))
        assert report.traced.rows == len(found)
        if trial < by_rows:
            counted = replace(kept[-1], draws=None)
            named_by_rows.append(bool(trace_leak(counted, Silent()).sources))
    return named, named_by_rows


@pytest.mark.slow
@pytest.mark.turns(3)
def test_innocents_are_named_no_more_often_than_is_stated_though_households_agree(monkeypatch):
    trials, frame = 100, large_households()
    named, by_rows = alarms(frame, protected(frame, 9), trials, monkeypatch, by_rows=18)
    # Three standard errors above what is stated.
    assert sum(named) <= trials * FALSE_ALARM + 3 * np.sqrt(trials * FALSE_ALARM)
    # Counted by rows, one household that agrees by chance speaks nine times.
    assert sum(named[:18]) == 0
    assert sum(by_rows) >= 2


@pytest.mark.slow
def test_where_each_row_is_drawn_by_itself_few_values_name_nobody_either(monkeypatch):
    frame = large_households()
    document = protected(frame, 9).with_unit(None)
    named, _ = alarms(frame, document, 18, monkeypatch)
    assert not any(named)


@pytest.mark.slow
@pytest.mark.turns(1)
def test_a_recipient_s_file_is_still_traced_by_the_draws_of_its_households():
    frame = large_households(200, 4)
    document = protected(frame, 4)
    for number, name in enumerate(("Institute", "Ministry", "Public")):
        project = project_of(document, 77 + number)
        found = made(document, frame, name, project.keys)
        report = trace_file(project, in_batches(Table(frame)), Table(found), Silent())
        assert [report.name_of(source) for source in report.traced.sources] == [name]


@pytest.mark.slow
@pytest.mark.turns(1)
def test_rows_that_can_t_be_of_one_household_count_whole(monkeypatch):
    frame = large_households(200, 4)
    frame["region"] = frame["household"]  # what is released tells whose row it is
    document = protected(frame, 4)
    kept = []
    monkeypatch.setattr(
        tracing,
        "trace_leak",
        lambda counts, context: kept.append(counts) or trace_leak(counts, context),
    )
    project = project_of(document, 5)
    found = made(document, frame, "Ministry", project.keys)
    one_each = found.drop_duplicates("region")
    report = trace_file(project, in_batches(Table(frame)), Table(one_each), Silent())
    assert [report.name_of(source) for source in report.traced.sources] == ["Ministry"]
    assert (kept[-1].draws == 1.0).all()
    assert kept[-1].evidence.sum() == len(one_each)
    trace_file(project, in_batches(Table(frame)), Table(found), Silent())
    assert kept[-1].evidence.sum() == pytest.approx(frame["household"].nunique())
