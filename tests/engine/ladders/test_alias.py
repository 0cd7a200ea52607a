"""The alias tables hold exactly the matrix they were made from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.engine.ladders.alias_sampling import CELL, alias_tables
from tests.thorough import tried


@st.composite
def stochastic_matrices(draw):
    size = draw(st.integers(2, 12))
    seed = draw(st.integers(0, 2**32 - 1))
    generator = np.random.default_rng(seed)
    entries = generator.dirichlet(np.full(size, draw(st.sampled_from([0.05, 0.5, 5]))), size).T
    entries[generator.random((size, size)) < draw(st.sampled_from([0.0, 0.5]))] = 0
    entries[0, entries.sum(axis=0) == 0] = 1
    return entries / entries.sum(axis=0)


@given(entries=stochastic_matrices())
@settings(deadline=None, max_examples=tried(200))
def test_every_column_keeps_its_probabilities_and_its_zeros(entries):
    size = len(entries)
    tables = alias_tables(entries)
    shares = tables.weights() / (size * CELL)
    assert (tables.weights().sum(axis=0) == size * CELL).all()
    assert shares == pytest.approx(entries, abs=1e-12)
    assert (shares[entries == 0] == 0).all()
    assert (tables.thresholds <= CELL).all()


@pytest.mark.parametrize("entries", [np.eye(4), np.full((5, 5), 0.2), np.eye(3)[[1, 2, 0]]])
def test_certain_and_even_columns_are_exact(entries):
    tables = alias_tables(entries)
    assert tables.weights() / (len(entries) * CELL) == pytest.approx(entries, abs=1e-15)


def test_a_thousand_values_keep_their_probabilities():
    entries = np.random.default_rng(7).dirichlet(np.full(1000, 0.1), 1000).T
    shares = alias_tables(entries).weights() / (1000 * CELL)
    assert np.abs(shares - entries).max() < 1e-11
