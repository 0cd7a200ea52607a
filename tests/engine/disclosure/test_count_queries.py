"""Count queries are answered from released values in the records that match."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from sfumato.engine.core.errors import EstimationError
from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.count_queries import (
    CountAnswer,
    estimated_answer,
    matching_groups,
    query_pool,
    true_answer,
)
from sfumato.engine.disclosure.group_tails import SampleDraw
from sfumato.engine.disclosure.grouped_values import GroupedValues, grouped_values, sampled_values
from sfumato.engine.disclosure.resampled_law import GroupParts, ResampledLaw, Resampling
from sfumato.engine.matrices.retention_matrix import uniform_matrix
from sfumato.engine.table.micro_groups import MicroGroups, micro_groups, value_counts

NAMES = ("sex", "town", "age")


def people(rows: int = 4_000, seed: int = 5) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], rows),
            "town": rng.choice(np.array(["a", "b", "c", None]), rows, p=[0.5, 0.3, 0.1, 0.1]),
            "age": rng.integers(20, 60, rows),
        }
    )
    codes = np.where(frame["sex"] == "f", rng.integers(0, 3, rows), rng.integers(1, 5, rows))
    return frame, codes.astype(np.uint8)


def grouped() -> tuple[MicroGroups, np.ndarray, GroupedValues]:
    frame, codes = people()
    groups = micro_groups(frame, NAMES, Silent())
    return groups, codes, grouped_values(groups, codes, 5)


def perturbed(codes: np.ndarray, retention: float, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kept = rng.random(len(codes)) < retention
    return np.where(kept, codes, rng.integers(0, 5, len(codes))).astype(np.uint8)


def test_the_truth_is_what_pandas_counts() -> None:
    frame, codes = people()
    _, _, table = grouped()
    met = matching_groups(table, {"sex": "f", "town": None})
    expected = ((frame["sex"] == "f") & frame["town"].isna() & (codes == 2)).sum()
    assert true_answer(table, met, 2) == expected


def test_without_perturbation_the_estimate_is_the_truth() -> None:
    groups, codes, table = grouped()
    met = matching_groups(table, {"sex": "m"})
    answer = estimated_answer(
        table.sizes, value_counts(groups, codes, 5), met, 3, uniform_matrix(1.0, 5)
    )
    truth = true_answer(table, met, 3)
    assert answer == CountAnswer(truth, truth, truth, truth, int(table.sizes[met].sum()))


def test_the_interval_holds_the_truth_as_often_as_it_says() -> None:
    groups, codes, table = grouped()
    met = matching_groups(table, {"sex": "f", "town": "a"})
    truth = true_answer(table, met, 1)
    inside = 0
    for seed in range(300):
        released = value_counts(groups, perturbed(codes, 0.4, seed), 5)
        answer = estimated_answer(table.sizes, released, met, 1, uniform_matrix(0.4, 5), 0.9)
        inside += answer.low <= truth <= answer.high
    assert 0.84 < inside / 300 < 0.96


def test_repeated_records_widen_the_interval() -> None:
    groups, codes, table = grouped()
    met = matching_groups(table, {"sex": "f"})
    released = value_counts(groups, perturbed(codes, 0.5, 1), 5)
    matrix = uniform_matrix(0.5, 5)
    plain = estimated_answer(table.sizes, released, met, 1, matrix)
    quarter = np.maximum(table.sizes // 4, 1)
    law = ResampledLaw(
        GroupParts.of(groups, groups, codes, 5),
        Resampling(quarter, SampleDraw.BY_VALUE, 0.5, 0.5, 5),
    )
    halved = estimated_answer(table.sizes, released, met, 1, matrix, law=law)
    assert halved.estimate == plain.estimate
    ratio = (halved.high - halved.low) / (plain.high - plain.low)
    assert 1.9 < ratio < 2.5


def test_an_interval_lies_within_what_is_possible() -> None:
    # Five of five show the value at p = 0.1: the estimate is far above five.
    released = sparse.csr_array(np.array([[5, 0]]))
    answer = estimated_answer(np.array([5]), released, np.array([True]), 0, uniform_matrix(0.1, 2))
    assert answer.estimate > 5.0
    assert 0.0 < answer.low < answer.high == 5.0


def test_unknown_attributes_and_values_are_refused_without_the_value() -> None:
    _, _, table = grouped()
    with pytest.raises(EstimationError, match="height"):
        matching_groups(table, {"height": 1})
    with pytest.raises(EstimationError, match="No record") as refused:
        matching_groups(table, {"town": "Timbuktu"})
    assert "Timbuktu" not in str(refused.value)


def test_a_pool_asks_only_what_enough_records_answer() -> None:
    frame, codes = people()
    _, _, table = grouped()
    pool = query_pool(table, Silent(), count=500, selectivity=0.01)
    assert pool.size == 500
    assert pool.truth.min() >= 40
    for block in pool.blocks:
        assert 1 <= len(block.names) <= 3
        number = int(block.asked[0])
        group = int(np.flatnonzero(block.condition == number)[0])
        known = {
            each.name: each.value(int(each.codes[group]))
            for each in table.attributes
            if each.name in block.names
        }
        rows = np.ones(len(frame), dtype=bool)
        for name, value in known.items():
            column = frame[name]
            rows &= (column.isna() if value is None else column == value).to_numpy()
        assert block.records[number] == rows.sum()
        assert block.truth[0] == (rows & (codes == block.values[0])).sum()


@pytest.mark.slow
def test_a_pool_follows_the_law_of_drawing_and_throwing_away() -> None:
    _, _, table = grouped()
    pool = query_pool(table, Silent(), count=20_000, selectivity=0.02)
    drawn = {block.names: len(block.asked) / pool.size for block in pool.blocks}
    rng = np.random.default_rng(2)
    kept: dict[tuple[str, ...], int] = {}
    dense = table.counts.toarray()
    for _ in range(20_000):
        chosen = tuple(sorted(rng.permutation(3)[: rng.integers(1, 4)]))
        met = np.ones(table.groups, dtype=bool)
        for place in chosen:
            attribute = table.attributes[place]
            size = len(attribute.values) + int((attribute.codes == len(attribute.values)).any())
            met &= attribute.codes == rng.integers(0, size)
        if dense[met, rng.integers(0, 5)].sum() >= 80:
            names = tuple(table.attributes[place].name for place in chosen)
            kept[names] = kept.get(names, 0) + 1
    total = sum(kept.values())
    for names in {*kept, *drawn}:
        assert kept.get(names, 0) / total == pytest.approx(drawn.get(names, 0.0), abs=0.02)


def test_pool_estimates_are_those_of_single_queries() -> None:
    groups, codes, table = grouped()
    pool = query_pool(table, Silent(), count=60, selectivity=0.01, seed=4)
    matrix = uniform_matrix(0.3, 5)
    released = value_counts(groups, perturbed(codes, 0.3, 8), 5)
    estimates = pool.estimates(released, matrix)
    singles = []
    for block in pool.blocks:
        for asked, value in zip(block.asked, block.values, strict=True):
            met = block.condition == asked
            answer = estimated_answer(table.sizes, released, met, int(value), matrix)
            singles.append(answer.estimate)
    assert np.allclose(estimates, singles)
    exact = pool.relative_errors(value_counts(groups, codes, 5), uniform_matrix(1.0, 5))
    assert np.allclose(exact, 0.0)


def test_a_table_without_public_attributes_has_no_pool() -> None:
    frame, codes = people(50)
    table = grouped_values(micro_groups(frame, [], Silent()), codes, 5)
    with pytest.raises(EstimationError, match="no public attributes"):
        query_pool(table, Silent())


def test_a_selectivity_that_nothing_reaches_is_named() -> None:
    _, _, table = grouped()
    with pytest.raises(EstimationError, match="3,900 records"):
        query_pool(table, Silent(), selectivity=0.975)


def test_a_sample_is_a_smaller_table() -> None:
    _, _, table = grouped()
    sample = sampled_values(table, 1_000, seed=1)
    assert sample.records == 1_000
    assert sample.groups < table.groups
    assert (sample.sizes == sample.counts.sum(axis=1)).all()
    everything = sampled_values(table, 4_000, seed=1)
    assert everything.groups == table.groups
    assert sorted(everything.sizes) == sorted(table.sizes)
