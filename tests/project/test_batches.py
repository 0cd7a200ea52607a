"""Rows that stand alone are released in batches: cut anywhere, in any types, they are the same."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.core.columns import MissingRule
from sfumato.engine.core.errors import DomainError, PolicyError, TableError
from sfumato.engine.generalization.cells import WHOLE
from sfumato.engine.mechanisms import mechanism_called
from sfumato.engine.table.table import Table, encode_attribute
from sfumato.project.document.model import PolicyEntry, ViewRule
from sfumato.project.release.batches import batch_of, with_codes
from sfumato.project.release.plan import Plan
from sfumato.project.release.views import hidden_in, listed_rows
from tests.noise import NOISE
from tests.project import test_attacker
from tests.project.batched import (
    KEYS,
    SECRET,
    as_batch,
    hospital,
    hospital_document,
    planned,
    released_whole,
)
from tests.project.whole_table import coarsened, release_whole, rows_of, suppressed_in
from tests.thorough import tried

ROWS = 300
VIEWS = {"none": None, "coarse": ViewRule(1, 0.0, {"age": 1, "zip": 2, "grade": 1})}


@pytest.fixture(scope="module", params=VIEWS)
def made(request):
    table = hospital(ROWS)
    document = hospital_document(ROWS, VIEWS[request.param])
    _, plan = planned(document, table)
    return plan, as_batch(table), released_whole(document, table)


@pytest.mark.turns(2)
@pytest.mark.slow
@settings(max_examples=tried(20))
@given(st.lists(st.integers(0, ROWS), max_size=4), st.randoms())
def test_any_cutting_in_any_order_gives_the_rows_of_the_whole_release(made, cuts, random):
    plan, batch, whole = made
    assert not plan.others_count
    releaser = plan.bind(KEYS)
    places = sorted({0, ROWS, *cuts})
    pieces = list(pairwise(places))
    random.shuffle(pieces)
    found = {
        start: releaser.release_part(batch.slice(start, end - start))[0] for start, end in pieces
    }
    again = pa.Table.from_batches([found[start] for start in sorted(found)])
    assert again.schema == plan.output_schema()
    assert again.equals(whole)


def released_alike(document, table, cuts):
    """Release a table, cut somewhere, by a plan that was sent; return the same of the whole one."""
    _, plan = planned(document, table)
    sent, batch = Plan.from_json(plan.to_json()).bind(KEYS), as_batch(table)
    pieces = [
        sent.release_part(batch.slice(start, end - start))[0]
        for start, end in pairwise(sorted({0, ROWS, *cuts}))
    ]
    whole = released_whole(document, table)
    assert pa.Table.from_batches(pieces).equals(whole)
    return whole


@pytest.mark.slow
@pytest.mark.parametrize("limits", [{}, {"others": {"rho1": 0.1, "rho2": 0.6}}])
@settings(max_examples=5)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=4))
def test_combinations_are_the_same_however_batches_are_cut(limits, cuts):
    document, table = hospital_document(ROWS), hospital(ROWS)
    names = ("illness", "ward")
    known = [encode_attribute(table, document.column(name)).attribute for name in names]
    chosen = mechanism_called("joint").complete_settings(known, limits, NOISE)
    rest = [entry for entry in document.policy if not set(names) & set(entry.attributes)]
    (one,) = document.recipients
    stated = {**one.statements, " + ".join(names): {"gamma": 5.0}}
    document = replace(
        document,
        policy=(PolicyEntry(names, "joint", chosen), *rest),
        recipients=(replace(one, statements=stated),),
    )
    whole = released_alike(document, table, cuts)
    for name in names:
        assert set(whole[name].drop_null().to_pylist()) == set(table.column(name).dropna())


@pytest.mark.slow
@settings(max_examples=5)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=4))
def test_chapters_are_the_same_however_batches_are_cut(cuts):
    document, table = hospital_document(ROWS), hospital(ROWS)
    chosen = {"chapters": ["chronic", "acute", "acute", "chronic"], "inside_share": 0.4}
    entry = PolicyEntry(("illness",), "hierarchical", chosen)
    document = replace(document, policy=(entry, *document.policy[1:]))
    whole = released_alike(document, table, cuts)
    shown, true = whole["illness"].to_pandas(), table.column("illness")
    assert set(shown) == set(true)


@pytest.mark.slow
@settings(max_examples=5)
@given(cuts=st.lists(st.integers(0, ROWS), max_size=4))
def test_symbols_are_the_same_however_batches_are_cut(cuts):
    document, table = hospital_document(ROWS), hospital(ROWS)
    entry = PolicyEntry(("illness",), "hadamard", {"blocks": 2})
    document = replace(document, policy=(entry, *document.policy[1:]))
    whole = released_alike(document, table, cuts)
    assert set(whole["illness"].to_pandas().astype(int)) == set(range(8))


def test_a_plan_that_was_sent_as_json_releases_the_same_batches(made):
    plan, batch, whole = made
    sent = Plan.from_json(plan.to_json())
    assert sent == plan
    assert pa.Table.from_batches([sent.bind(KEYS).release_part(batch)[0]]).equals(whole)
    assert sent.bind(KEYS).release_part(batch.slice(0, 0))[0].schema == whole.schema
    assert SECRET.hex() not in plan.to_json()


OTHER_TYPES = {
    "large texts": {"person": pa.large_string(), "zip": pa.large_string()},
    "text views": {"person": pa.string_view(), "illness": pa.string_view()},
    "categories": {name: pa.dictionary(pa.int8(), pa.string()) for name in ("grade", "illness")},
    "small numbers": {"age": pa.int8(), "ward": pa.uint8(), "stay": pa.int32()},
    "moments": {"visited": pa.timestamp("ns")},
    "moments of a zone": {"visited": pa.timestamp("us", tz="UTC")},
    "days": {"visited": pa.date32()},
    "decimals": {"ward": pa.float64(), "visits": pa.float64(), "weight": pa.decimal128(9, 2)},
    "numbers as texts": {"age": pa.string(), "cost": pa.string(), "ward": pa.string()},
}


@pytest.mark.few(6)
@pytest.mark.parametrize("sort", OTHER_TYPES)
def test_the_types_that_a_reader_chose_do_not_matter(made, sort):
    plan, batch, whole = made
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    for name, kind in OTHER_TYPES[sort].items():
        plain = columns[name]
        if pa.types.is_dictionary(plain.type):
            plain = plain.dictionary_decode()
        if pa.types.is_dictionary(kind):
            columns[name] = plain.dictionary_encode().cast(kind)
        else:
            columns[name] = plain.cast(kind)
    turned = dict(reversed(columns.items()))
    other = pa.record_batch(list(turned.values()), names=list(turned))
    other = other.append_column("not in the plan", pa.nulls(ROWS))
    assert pa.Table.from_batches([plan.bind(KEYS).release_part(other)[0]]).equals(whole)


def with_column(batch, name, values):
    place = batch.schema.get_field_index(name)
    return batch.set_column(place, name, values)


def changed_at(batch, row, name, value):
    values = batch.column(name)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    values = values.to_pylist()
    values[row] = value
    return with_column(batch, name, pa.array(values))


MISFITS = [
    (lambda batch: batch.drop_columns(["zip"]), TableError, "no column zip"),
    (lambda batch: batch.append_column("zip", batch["zip"]), TableError, "Two columns"),
    (lambda batch: changed_at(batch, 7, "illness", "Secret"), DomainError, "illness.*row 8"),
    (lambda batch: changed_at(batch, 7, "person", None), TableError, "person.*row 8"),
    (lambda batch: changed_at(batch, 7, "grade", "Secret"), DomainError, "grade.*row 8"),
    (lambda batch: changed_at(batch, 7, "severity", "Secret"), TableError, "column severity"),
    (lambda batch: with_column(batch, "age", pa.array(["Secret"] * ROWS)), TableError, "age"),
    (lambda batch: changed_at(batch, 7, "weight", -1.0), TableError, "weight"),
    (
        lambda batch: changed_at(batch, 7, "visited", dt.datetime(2024, 1, 1, 12)),
        TableError,
        "visited",
    ),
    (
        lambda batch: with_column(batch, "zip", pc.cast(batch["age"], pa.int64())),
        TableError,
        "column zip",
    ),
]


@pytest.mark.few(4)
@pytest.mark.parametrize(("spoil", "kind", "words"), MISFITS)
def test_a_batch_that_does_not_fit_is_refused_by_name_and_without_its_values(spoil, kind, words):
    _, plan = planned(hospital_document(view=VIEWS["coarse"]), hospital())
    batch = spoil(as_batch(hospital()))
    with pytest.raises(kind, match=words) as refused:
        plan.bind(KEYS).release_part(batch)[0]
    assert "Secret" not in str(refused.value)
    assert "Secret" not in repr(refused.value.__context__)


def test_a_missing_value_that_is_refused_stops_a_batch():
    document = hospital_document()
    spec = replace(document.column("illness"), missing=MissingRule.REFUSED)
    _, plan = planned(document.with_column(spec), hospital())
    batch = changed_at(as_batch(hospital()), 3, "illness", None)
    with pytest.raises(DomainError, match="missing in 1 row, first in row 4"):
        plan.bind(KEYS).release_part(batch)[0]


@pytest.mark.parametrize(
    ("document", "table", "words"),
    [
        (replace(hospital_document(), record_key=None), hospital(), "position"),
        (hospital_document(view=ViewRule(2, 0.5, {"age": 1})), hospital(), "too few"),
        (test_attacker.document("reconstruction"), test_attacker.crowd(400), "depend|position"),
    ],
)
def test_a_plan_whose_rows_depend_on_others_says_why_it_is_not_carried_out(document, table, words):
    _, plan = planned(document, table)
    assert plan.record_key is None or plan.others_count
    with pytest.raises(PolicyError, match=words):
        plan.bind(KEYS).release_part(as_batch(table))[0]


def test_a_column_that_is_missing_everywhere_in_a_batch_shows_what_it_shows_in_the_whole():
    table = hospital()
    document = hospital_document(view=VIEWS["coarse"])
    _, plan = planned(document, table)
    whole = released_whole(document, table)
    without = pc.indices_nonzero(pc.is_null(as_batch(table)["zip"]))
    found = plan.bind(KEYS).release_part(as_batch(table).take(without))[0]
    assert pa.Table.from_batches([found]).equals(whole.take(without).combine_chunks())


def test_hashes_of_record_keys_tell_repeated_keys_apart_from_others(made):
    plan, batch, _ = made
    hashes = pd.DataFrame(plan.bind(KEYS).record_hashes(batch))
    assert not hashes.duplicated().any()
    twice = pa.concat_batches([batch.slice(0, 5), batch.slice(3, 5)])
    again = pd.DataFrame(plan.bind(KEYS).record_hashes(twice))
    assert again.duplicated().tolist() == [False] * 5 + [True] * 2 + [False] * 3


def test_a_plan_reads_no_more_columns_than_it_needs():
    table = Table(hospital().frame.assign(note="not to be read"))
    document = hospital_document()
    assert "name" in planned(document, hospital())[1].schema
    spec = replace(document.column("name"), pseudonym=None)
    _, plan = planned(document.with_column(spec), hospital())
    assert "name" not in plan.schema
    assert "person" in plan.schema
    assert plan.bind(KEYS).release_part(as_batch(table))[0].num_rows == table.rows


@pytest.mark.few(1)
@pytest.mark.parametrize("levels", [{"age": 1, "zip": 2, "grade": 1}, {"age": 1, "zip": 3}])
def test_rows_that_a_view_suppresses_are_suppressed_in_every_batch(levels):
    table = hospital()
    document = hospital_document(view=ViewRule(5, 0.9, levels))
    trusted = replace(document.recipients[0], name="Clinic Z", view=ViewRule(2, 0.9, levels))
    document = replace(document, recipients=(*document.recipients, trusted))
    material, made = planned(document, table)
    rows = rows_of(material, KEYS)
    seen = coarsened(made.coarsening, made.columns, rows.table)
    assert 0 < seen.view.suppressed_rows < table.rows
    plan, keys = replace(made, suppressed=suppressed_in(seen, rows.table, KEYS)).with_keys(KEYS)
    assert not plan.others_count
    assert made.others_count
    frame = release_whole(made, KEYS, rows)
    whole = pa.Table.from_batches([batch_of(frame, plan.output_schema())])
    sent, batch = Plan.from_json(plan.to_json()), as_batch(table)
    assert sent == plan
    for cuts in ([], [0, 7, 8, 250]):
        pieces = pairwise([0, *cuts, ROWS])
        parts = [sent.bind(keys).release_part(batch.slice(a, b - a))[0] for a, b in pieces]
        assert pa.Table.from_batches(parts).equals(whole)
    hidden = table.frame["zip"][seen.view.suppressed].dropna()
    assert not any(f'"{postcode}"' in plan.to_json() for postcode in hidden)


def test_texts_held_once_are_those_that_rows_have_however_they_came():
    def coming(texts, codes):
        return pa.record_batch({"town": pa.DictionaryArray.from_arrays(codes, texts)})

    batches = [
        pa.record_batch({"town": ["Oslo", "Rome"] * 20}),
        coming(["Oslo", "Rome", "nowhere"], [0, 1, None, 1]),
        coming(["Oslo", "Rome", "Oslo"], [2, 0, 1]),
        coming(["Rome", "Oslo"], [1, 0]),
    ]
    found = list(with_codes(batches))
    assert [each["town"].to_pylist() for each in found] == [b["town"].to_pylist() for b in batches]
    assert all(sorted(each["town"].dictionary.to_pylist()) == ["Oslo", "Rome"] for each in found)


def test_texts_that_hardly_repeat_are_no_dictionary_however_they_came():
    texts = [str(i) for i in range(40)]
    for column in (pa.array(texts), pa.array(texts).dictionary_encode()):
        [found] = with_codes([pa.record_batch({"town": column})])
        assert found["town"].equals(pa.array(texts))


def test_suppressed_rows_are_known_whatever_bytes_their_hashes_end_in():
    frame = pd.DataFrame({"age": range(2000)})
    table = Table(frame, is_part=True)
    listed = sorted(listed_rows(frame.iloc[:1000], np.full(1000, WHOLE), KEYS))
    assert any(each.endswith("00") for each in listed)
    assert hidden_in(table, ["age"], listed, KEYS).tolist() == [int(WHOLE)] * 1000 + [0] * 1000
