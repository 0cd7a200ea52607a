"""Numbers with noise: near levels, one record's way down, and files that were found somewhere."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.recipient_traceability import recipient_traceability
from sfumato.analysis.record_path import record_path
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.progress import Silent
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.table import encode_column
from sfumato.formats.reading import detect_options
from sfumato.project.adoption.examination import Claim, adopt, examine
from sfumato.project.adoption.rows import RowsToMatch
from sfumato.project.document.edits import with_spacing
from sfumato.project.document.entry_plan import plan_release
from sfumato.project.document.model import Document, Recipient
from sfumato.project.release.release_columns import attributes_of
from sfumato.project.verification.leak import read_leak, trace_file
from tests.project.numbers import KEY, LEVELS, a_document, a_table, new_project, release
from tests.project.whole_table import released_columns

KEYS = KeyRing(b"7" * 32)
TABLE = a_table()


def only_numbers() -> Document:
    document = a_document(TABLE)
    sex = replace(document.column("sex"), role=document.column("hours").role)
    return replace(document.with_column(sex), policy=document.policy[:1])


def five_alike() -> Document:
    stated = {KEY: {"sigma_squared": 1.0}}
    recipients = tuple(Recipient(f"Office {number}", stated) for number in range(5))
    return replace(only_numbers(), recipients=recipients)


def test_near_levels_have_more_noise_each_and_lie_on_one_ladder():
    spaced = with_spacing(five_alike(), 0.01)
    attributes = attributes_of(spaced, TABLE)
    plans = [plan_release(spaced, attributes, r)[0] for r in spaced.recipients]
    assert [plan.level for plan in plans] == pytest.approx(
        [1.0 / (1.0 - 0.01 * mark) for mark in range(5)], rel=1e-5
    )
    assert sorted({plan.level for plan in plans}) == [plan.level for plan in plans]
    assert len({plan.ladder for plan in plans}) == 1


def test_near_levels_make_a_few_leaked_rows_name_their_recipient():
    alike = recipient_traceability(rows_of(five_alike(), TABLE, KEYS), Silent())
    assert "get the same values" in alike.sentence
    price = recipient_traceability(rows_of(with_spacing(five_alike(), 0.01), TABLE, KEYS), Silent())
    assert price.figures.most_rows <= 3
    assert price.lowered["Office 4"] == pytest.approx(0.04)


def test_a_leaked_part_is_traced_to_the_last_digit_of_its_floats(tmp_path):
    with new_project(tmp_path, with_spacing(five_alike(), 0.01)) as project:
        path = release(project, TABLE, tmp_path / "out", "Office 3")
        whole = pd.read_csv(path / "data.csv", dtype=str)
        found = tmp_path / "found.csv"
        draw = np.random.default_rng(3)
        whole.iloc[draw.permutation(len(whole))[:40]].to_csv(found, index=False)
        report = trace_file(project, TABLE, read_leak(found, Silent()), Silent())
        assert [report.name_of(suspect) for suspect in report.traced.sources] == ["Office 3"]
        assert report.traced.altered < 0.05
        foreign = pd.read_csv(found).assign(age=lambda frame: frame["age"] + 0.001)
        foreign.to_csv(found, index=False)
        other = trace_file(project, TABLE, read_leak(found, Silent()), Silent())
        assert other.traced.altered > 0.5


def test_a_record_s_number_drifts_with_every_level_and_stops_where_releases_do():
    document = a_document(TABLE)
    entry = document.policy[0]
    path = record_path(rows_of(document, TABLE, KEYS), entry, "income", 7, Silent())
    true = float(TABLE.column("income").iloc[6])
    assert path.is_numeric
    assert path.stretches == ()
    assert path.numbers[0] == pytest.approx(true, abs=0.01 * TABLE.column("income").std())
    assert len(np.unique(path.numbers)) == len(path.numbers)
    found = {stop.recipient: stop for stop in path.stops}
    for recipient in document.recipients:
        frame = released_columns(document, TABLE, recipient, KEYS, Silent())
        stop = found[recipient.name]
        assert frame["income"].iloc[6] == stop.value
        assert stop.trust == pytest.approx(1.0 / (1.0 + LEVELS[recipient.name]))
        near = int(np.argmin(np.abs(path.trusts - stop.trust)))
        assert path.numbers[near] == pytest.approx(
            stop.value, abs=1.5 * TABLE.column("income").std()
        )


def test_a_missing_number_stays_missing_all_the_way_down():
    document = a_document(TABLE)
    path = record_path(rows_of(document, TABLE, KEYS), document.policy[0], "income", 6, Silent())
    assert path.is_numeric
    assert np.isnan(path.numbers).all()
    assert all(pd.isna(stop.value) for stop in path.stops)


@pytest.mark.slow
def test_an_adopted_copy_that_moved_with_the_project_is_found(tmp_path):
    document = only_numbers()
    columns = tuple(encode_column(TABLE, document.column(name)) for name in ("age", "income"))
    factor = np.linalg.cholesky(document.policy[0].settings["covariance"])
    noise = 0.5**0.5 * factor @ np.random.default_rng(1).normal(size=(2, TABLE.rows))
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    frame = TABLE.frame[["age", "income"]] + noise.T
    frame.to_csv(old / "copy.csv", index=False)
    names = {"age": "age", "income": "income"}
    claim = Claim(old / "copy.csv", detect_options(old / "copy.csv"), names, 0.5, holder="Old")
    found = examine(document, KEY, claim, columns, RowsToMatch.of(TABLE), Silent())
    document = adopt(document, KEY, found)
    old.rename(new)
    entry = document.policy[0]
    with pytest.raises(SfumatoError, match=r"copy\.csv"):
        record_path(rows_of(document, TABLE, KEYS), entry, "age", 3, Silent())
    path = record_path(rows_of(document, TABLE, KEYS, (new,)), entry, "age", 3, Silent())
    assert path.is_numeric
    price = recipient_traceability(
        rows_of(with_spacing(document, 0.01), TABLE, KEYS, (new,)), Silent()
    )
    assert price.figures.most_rows <= 3
