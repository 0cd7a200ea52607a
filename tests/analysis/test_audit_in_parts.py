"""What is asked of all rows is answered of a table in parts as in memory, wherever it is cut."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from sfumato.analysis import all_rows
from sfumato.analysis.all_rows import rows_of
from sfumato.analysis.audit_answers import answers
from sfumato.analysis.audit_inputs import inputs_of
from sfumato.analysis.coalitions.holdings import ReleaseBasis, holdings_of
from sfumato.analysis.coalitions.restored_files import weigh_held
from sfumato.analysis.disclosure import attacker, recipient_traceability, record_path
from sfumato.analysis.disclosure.pooled_rows import pooled_rows, repeated_units
from sfumato.analysis.disclosure.small_groups import (
    answer_curves,
    answer_risk,
    promised_limits,
    subjects_of,
    with_released,
    with_remedies,
)
from sfumato.analysis.previews.count_answers import answer_pool, open_desk
from sfumato.analysis.tables.noisy_counts import NoisyQuestion, answer_noisy
from sfumato.engine.core.columns import ColumnSpec, Role
from sfumato.engine.core.errors import Cancelled, DomainError, TableError
from sfumato.engine.core.progress import Callback, Silent
from sfumato.engine.disclosure import realized_risk
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table import micro_groups
from sfumato.engine.table import repeated_units as units_in_parts
from sfumato.engine.table.table import encode_attribute
from sfumato.formats.tables import delimited, parquet
from sfumato.project.document.edits import with_spacing
from sfumato.project.document.model import PolicyEntry
from sfumato.project.release import batched_table
from tests.in_batches import in_batches
from tests.noise import NOISE
from tests.project import batched, test_long_adopted, test_long_groups, test_long_release
from tests.project.test_long_leak import VIEWS, two_recipients
from tests.project.test_long_release import frame_of, long_of, whole_of
from tests.project.test_long_units import by_house, of_units

ward, small_parts = test_long_release.ward, test_long_release.small_parts
file, opened = test_long_groups.file, test_long_groups.opened


@pytest.fixture(autouse=True)
def every_number(monkeypatch, small_parts):
    monkeypatch.setattr(batched_table, "SAMPLE", 1 << 18)
    monkeypatch.setattr(micro_groups, "_PENDING", 40)
    monkeypatch.setattr(record_path, "POINTS", 12)
    monkeypatch.setattr(record_path, "_HALVINGS", 5)


def by_position(document):
    return replace(two_recipients()(document), record_key=None)


def with_units(document):
    return by_house(2, "illness")(two_recipients(*VIEWS["views"])(document))


CASES = {
    "as they are": (frame_of, two_recipients()),
    "views": (frame_of, two_recipients(*VIEWS["views"])),
    "by position": (frame_of, by_position),
    "units": (lambda: of_units(frame_of()), with_units),
}
SHOWN = (Role.INSENSITIVE, Role.QUASI_IDENTIFIER)
case = pytest.mark.parametrize("case", CASES)
size = pytest.mark.parametrize("size", [19, 110, 1000])
few = pytest.mark.parametrize("size", [70, 1000])


def cut(monkeypatch, rows):
    for each in (delimited, parquet):
        monkeypatch.setattr(each, "BATCH_ROWS", rows)


def both(project, document=None):
    """Yield all rows in memory and in parts."""
    for table in (whole_of(project), long_of(project)):
        folders = (project.path.parent,)
        yield rows_of(document or project.document, in_batches(table), project.keys, folders)


def subjects(rows):
    return subjects_of(rows, rows.attributes(Silent()))


def told(grouped):
    """The groups by their public values, with the counts in each."""
    public = [[each.value(int(code)) for code in each.codes] for each in grouped.attributes] or [
        [()] * grouped.groups
    ]
    return list(zip(*public, grouped.counts.toarray().tolist(), strict=True))


def of_group(grouped, recipient, subject, known):
    limits = promised_limits(subject.entry)
    answer = answer_risk(subject, known, recipient, limits, Silent())
    answer = with_released(subject, with_remedies(subject, answer, Silent()), Silent())
    curves = [(each.setting, each.found) for each in answer_curves(answer, Silent())]
    return (
        told(known.grouped),
        str(known.looked_up),
        answer.risk.total,
        answer.risk.tails.within.tolist(),
        answer.listed,
        [(each.change.attribute, each.change.bins, each.change.level, each.total)
         for each in answer.remedies],
        None if answer.released is None else answer.released.toarray().tolist(),
        curves,
    )  # fmt: skip


def of_groups(rows):
    found = []
    for subject in subjects(rows):
        names = [each.name for each in rows.document.recipients]
        everybody = subject.known_to_each(names, Silent())
        for recipient, known in zip(rows.document.recipients, everybody, strict=True):
            found.append(of_group(known.grouped, recipient, subject, known))
    return found


@pytest.mark.slow
@pytest.mark.turns(4)
@case
def test_small_groups_are_those_of_the_whole_table(ward, monkeypatch, case):
    cut(monkeypatch, 70)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        whole, parts = map(of_groups, both(project))
        assert parts == whole
        assert len(whole) >= 4


def of_queries(rows):
    found = []
    for each in subjects(rows):
        subject = replace(each, knowledge=("grade", "smoker"))
        desk = open_desk(subject, Silent())
        asked = [
            desk.ask(conditions, value)
            for conditions in ({}, {"grade": "low"}, {"grade": "high", "smoker": None})
            for value in range(3)
        ]
        question = NoisyQuestion(0.1, 0.3, 0.3, 5, 4)
        noisy = answer_noisy(subject, question, Silent())
        figures = [each.tolist() for each in (noisy.groups, noisy.table_shares)]
        found.append((asked, answer_pool(desk, Silent()), figures, noisy.tails.within.tolist()))
    return found


@pytest.mark.slow
@pytest.mark.turns(4)
@case
@size
def test_queries_and_noisy_answers_are_those_of_the_whole_table(ward, monkeypatch, case, size):
    cut(monkeypatch, size)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        whole, parts = map(of_queries, both(project))
        assert parts == whole


def of_records(rows):
    found = []
    for entry in rows.document.policy:
        for row in (42, 300):
            path = record_path.record_path(rows, entry, entry.attributes[0], row, Silent())
            stops = [
                (each.recipient, each.trust, str(each.value), each.alike,
                 {name: str(value) for name, value in each.public.items()})
                for each in path.stops
            ]  # fmt: skip
            stretches = [(s.upper, s.lower, str(s.value)) for s in path.stretches]
            found.append((stretches, stops, path.trusts.tolist(), np.nan_to_num(path.numbers)))
    return found


@pytest.mark.slow
@pytest.mark.turns(4)
@case
@few
def test_a_record_s_path_is_that_of_the_whole_table(ward, monkeypatch, case, size):
    cut(monkeypatch, size)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        whole, parts = map(of_records, both(project))
        for own, other in zip(parts, whole, strict=True):
            assert own[:3] == other[:3]
            assert own[3].tolist() == other[3].tolist()
        assert any(stop[3] for path in whole for stop in path[1])


def of_files(rows):
    attributes, found = rows.attributes(Silent()), []
    for entry in rows.document.policy:
        held = holdings_of(rows.document, entry, attributes, (), ReleaseBasis.PLANNED)
        report = weigh_held(rows, held, Silent())
        if report.risk is None:
            found.append(str(report.reason))
            continue
        risk = report.risk.risk
        found.append(
            pytest.approx([report.risk.together, report.risk.alone, report.risk.compared,
                           report.risk.records, risk.average, risk.guessed, *risk.histogram,
                           *np.nan_to_num(risk.by_value)])
        )  # fmt: skip
    return found


@pytest.mark.few(1)
@pytest.mark.turns(4)
@case
@few
@pytest.mark.parametrize("cells", [1 << 23, 0])
def test_files_are_weighed_as_those_of_the_whole_table(ward, monkeypatch, case, size, cells):
    cut(monkeypatch, size)
    monkeypatch.setattr(realized_risk, "MOST_CELLS", cells)
    monkeypatch.setattr(realized_risk, "WORK", 800)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        whole, parts = map(of_files, both(project))
        assert [each if isinstance(each, str) else each.expected for each in parts] == whole
        assert sum(not isinstance(each, str) for each in whole) >= 2


@pytest.mark.slow
@pytest.mark.turns(4)
@case
@few
def test_tracing_costs_what_it_does_in_the_whole_table(ward, monkeypatch, case, size):
    cut(monkeypatch, size)
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        document = with_spacing(project.document, 0.01)
        whole, parts = (
            recipient_traceability.recipient_traceability(rows, Silent())
            for rows in both(project, document)
        )
        assert parts.sentence == whole.sentence
        assert parts.figures.rows_needed.tolist() == whole.figures.rows_needed.tolist()
        assert parts.figures.differing.tolist() == whole.figures.differing.tolist()


@pytest.mark.slow
@pytest.mark.turns(4)
@size
@pytest.mark.parametrize("alike", [False, True])
def test_of_many_rows_some_are_compared_wherever_the_table_is_cut(ward, monkeypatch, size, alike):
    cut(monkeypatch, size)
    monkeypatch.setattr(recipient_traceability, "_CELLS_AT_ONCE", 400)
    monkeypatch.setattr(recipient_traceability, "_FEWEST", 20)
    with ward(frame_of(), two_recipients()) as project:
        document = with_spacing(project.document, 0.01)
        if alike:
            hidden = [
                replace(each, role=Role.IDENTIFYING) if each.role in SHOWN else each
                for each in document.columns
            ]
            document = replace(document, columns=tuple(hidden))
        whole, parts = (
            recipient_traceability.recipient_traceability(rows, Silent())
            for rows in both(project, document)
        )
    assert (parts.compared, parts.sentence) == (whole.compared, whole.sentence)
    assert 20 < whole.compared < 300
    assert parts.figures.rows_needed.tolist() == whole.figures.rows_needed.tolist()


def of_repeated(project, table, asked=()):
    units = repeated_units(in_batches(table), Silent(), asked)
    rows = rows_of(project.document, in_batches(table), project.keys)
    pooled = pooled_rows(
        rows.document, rows.attributes(Silent()), units, (), ReleaseBasis.PLANNED, Silent()
    )
    return units, pooled


def of_houses(document):
    house = ColumnSpec("house", Role.IDENTIFYING, "text")
    return replace(document, columns=(*document.columns, house))


@pytest.mark.slow
@pytest.mark.turns(2)
@size
def test_rows_that_belong_together_are_found_in_parts(ward, monkeypatch, size):
    cut(monkeypatch, size)
    frame = of_units(frame_of())
    with ward(frame, lambda document: of_houses(two_recipients()(document))) as project:
        for asked in ((), ("house",), ("grade", "house")):
            (whole, first), (parts, second) = (
                of_repeated(project, table, asked)
                for table in (whole_of(project), long_of(project))
            )
            assert parts == whole
            assert second == first
        assert {one.column for one in first} == {"house"}
        with pytest.raises(TableError, match="No two rows share a value of person"):
            repeated_units(long_of(project), Silent(), ("person",))
        with pytest.raises(TableError, match="no column street"):
            repeated_units(long_of(project), Silent(), ("street",))


@pytest.mark.slow
def test_of_many_units_some_are_looked_at_with_all_their_rows(ward, monkeypatch):
    frame = of_units(frame_of())
    monkeypatch.setattr(units_in_parts, "_MOST_CELLS", 0)
    monkeypatch.setattr(units_in_parts, "_FEWEST_ROWS", 200)
    found = []
    with ward(frame, lambda document: of_houses(two_recipients()(document))) as project:
        for rows in (19, 110, 1000):
            cut(monkeypatch, rows)
            found.append(of_repeated(project, long_of(project)))
        with pytest.raises(TableError, match="More than 20 rows share a value of grade"):
            repeated_units(long_of(project), Silent(), ("grade",))
    for (units, pooled), (others, same) in pairwise(found):
        assert (units, pooled) == (others, same)
    assert {unit.every for unit in units} == {2}
    for unit in units:
        sizes = frame[unit.column].value_counts()
        looked_at = unit.rows.frame[unit.column].value_counts()
        assert (looked_at == sizes[looked_at.index]).all(), "units are looked at whole"
        assert 70 < len(unit.rows.frame) <= 200
    [house] = [unit for unit in units if unit.column == "house"]
    assert set(house.constant) == {"illness", "cost"}
    assert {one.column for one in pooled} == {"house"}
    assert pooled[0].sampled == len(house.rows.frame)
    assert "estimated from all rows of some units" in pooled[0].sentence


# ----- groups of records, and several attributes together


@pytest.mark.slow
@pytest.mark.turns(2)
@pytest.mark.parametrize("file", ["parquet"], indirect=True)
@few
def test_records_released_by_groups_are_looked_at_in_parts(opened, monkeypatch, size):
    cut(monkeypatch, size)
    project, long, table = opened()
    with project:
        rows = [rows_of(project.document, in_batches(each), project.keys) for each in (table, long)]
        for about in (of_groups, of_desks, of_ways):
            whole, parts = map(about, rows)
            assert parts == whole
        whole, parts = (
            recipient_traceability.recipient_traceability(
                rows_of(with_spacing(project.document, 0.01), in_batches(each), project.keys),
                Silent(),
            )
            for each in (table, long)
        )
        assert parts.figures.rows_needed.tolist() == whole.figures.rows_needed.tolist()
        held = [of_files(each) for each in rows]
        assert "rows change places within their groups" in held[0][0]
        assert held[1][0] == held[0][0]


def of_desks(rows):
    return [
        open_desk(replace(subject, knowledge=("age",)), Silent()).ask({}, 0)
        for subject in subjects(rows)
    ]


def of_ways(rows):
    found = []
    for entry in rows.document.policy:
        for row in (3, 500, 900):
            path = record_path.record_path(rows, entry, entry.attributes[0], row, Silent())
            found.append([(s.upper, s.lower, s.value) for s in path.stretches])
            found.append([(stop.recipient, stop.value) for stop in path.stops])
    return found


def together(document):
    """Illness and grade of pain are protected together."""
    names = ("illness", "grade_of_pain")
    known = [
        encode_attribute(batched.hospital(), document.column(each)).attribute for each in names
    ]
    chosen = mechanism_called("joint").complete_settings(known, {}, NOISE)
    kept = [each for each in document.policy if not {*each.attributes} & {*names}]
    entry = PolicyEntry(names, "joint", chosen)
    return replace(
        document,
        policy=(entry, *kept),
        recipients=tuple(
            replace(each, statements={**each.statements, entry.key: {"gamma": gamma}})
            for each, gamma in zip(document.recipients, (5.0, 9.0), strict=True)
        ),
    )


@pytest.mark.slow
@few
def test_attributes_protected_together_are_weighed_in_parts(ward, monkeypatch, size):
    cut(monkeypatch, size)
    with ward(frame_of(), lambda document: together(two_recipients()(document))) as project:
        whole, parts = map(of_records, both(project))
        assert str(parts) == str(whole)
        whole, parts = map(of_files, both(project))
        assert [each if isinstance(each, str) else each.expected for each in parts] == whole
        rows = next(both(project))
        entry = rows.document.policy[0]
        held = holdings_of(
            rows.document, entry, rows.attributes(Silent()), (), ReleaseBasis.PLANNED
        )
        report = weigh_held(rows, held, Silent())
        assert report.risk is not None


@pytest.mark.slow
@pytest.mark.turns(2)
@few
def test_what_is_fitted_to_earlier_releases_is_looked_at_in_parts(
    ward, tmp_path, monkeypatch, size
):
    cut(monkeypatch, size)
    frame = frame_of()
    earlier = test_long_adopted.with_earlier(frame, tmp_path, "some of the records", "parquet")
    with ward(frame, earlier) as project:
        for about in (of_records, of_desks, of_costs):
            whole, parts = map(about, both(project))
            assert str(parts) == str(whole)
        whole, parts = map(of_files, both(project))
        assert [each if isinstance(each, str) else each.expected for each in parts] == whole
        assert not all(isinstance(each, str) for each in whole)


def of_costs(rows):
    rows.document = with_spacing(rows.document, 0.01)
    return recipient_traceability.recipient_traceability(
        rows, Silent()
    ).figures.rows_needed.tolist()


# ----- what is answered at first sight, and what is refused


@pytest.mark.slow
@case
def test_the_audit_s_questions_are_answered_in_parts(ward, case):
    frame, change = CASES[case]
    with ward(frame(), change) as project:
        found = []
        for table in (whole_of(project), long_of(project)):
            rows = rows_of(project.document, in_batches(table), project.keys)
            asked = inputs_of(rows, in_batches(table), (), rows.attributes(Silent()))
            found.append([each.plain(name) for name, each in answers(asked, Silent()).items()])
        assert found[1] == found[0]
        assert len(found[0]) == 4


def test_a_row_that_does_not_fit_is_named_by_its_place_in_the_table(opened):
    project, long, table = opened()
    with project:
        outside = replace(
            project.document.column("age"), binning=test_long_groups.Binning((0, 40, 70))
        )
        document = project.document.with_column(outside)
        entry = document.policy[1]
        first = int((table.frame["age"] > 70).to_numpy(bool, na_value=False).argmax()) + 1
        for each in (table, long):
            rows = rows_of(document, in_batches(each), project.keys)
            with pytest.raises(DomainError, match=f"row {first}"):
                attacker.attacked(rows, entry, ("sex", "age"), Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_too_many_different_rows_are_refused_by_name(opened, monkeypatch):
    monkeypatch.setattr(attacker, "MOST_CELLS", 20)
    project, long, _ = opened()
    with project:
        rows = rows_of(project.document, in_batches(long), project.keys)
        [ward_subject, illness] = subjects(rows)
        with pytest.raises(TableError, match="What is released of illness has more than 20"):
            open_desk(illness, Silent())
        monkeypatch.setattr(all_rows, "MOST_COMBINATIONS", 30)
        with pytest.raises(TableError, match="sex, age, wage and ward take more than 30 different"):
            ward_subject.known(Silent())


@pytest.mark.slow
@pytest.mark.turns(1)
def test_rows_are_told_as_they_are_read_and_it_can_be_cancelled(ward):
    with ward(frame_of(), two_recipients()) as project:

        def asked(context):
            rows = rows_of(project.document, long_of(project), project.keys)
            return open_desk(subjects_of(rows, rows.attributes(Silent()))[0], context)

        told = []
        asked(Callback(lambda share, text: told.append((share, str(text))), lambda: False))
        texts = [text for _, text in told]
        assert any("Grouping records: 110 of 300 rows" in text for text in texts)
        assert any("Counting released values: 110 of 300 rows" in text for text in texts)
        shares = [share for share, _ in told]
        assert all(one <= other + 1e-9 for one, other in pairwise(shares))
        stop = Callback(lambda *_: None, iter([*[False] * (len(told) - 2), True]).__next__)
        with pytest.raises(Cancelled):
            asked(stop)
