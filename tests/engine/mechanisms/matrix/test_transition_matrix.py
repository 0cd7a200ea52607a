"""A matrix in the making: reading it from text, and naming what is wrong in it."""

import numpy as np
import pytest

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms.matrix import TransitionMatrix, read_matrix

NAMES = ("a", "b", "c")
ENTRIES = np.array([[0.8, 0.1, 0.3], [0.2, 0.7, 0.0], [0.0, 0.2, 0.7]])


@pytest.mark.parametrize(
    "text",
    [
        "0.8\t0.1\t0.3\n0.2\t0.7\t0\n0\t0.2\t0.7\n",
        "0.8,0.1,0.3\n0.2,0.7,0\n0,0.2,0.7",
        "0,8;0,1;0,3\n0,2;0,7;0\n0;0,2;0,7",
        "0.8 0.1 0.3\n\n0.2 0.7 0\n0 0.2 0.7",
        ";a;b;c\na;0.8;0.1;0.3\nb;0.2;0.7;0\nc;0;0.2;0.7",
        ";c;b;a\nb;0;0.7;0.2\na;0.3;0.1;0.8\nc;0.7;0.2;0",
        "a;b;c\n0.8;0.1;0.3\n0.2;0.7;0\n0;0.2;0.7",
        '"","a","b","c"\n"a",0.8,0.1,0.3\n"b",0.2,0.7,0\n"c",0,0.2,0.7',
    ],
)
def test_pasted_matrices_are_read_in_the_domains_order(text):
    matrix, transposed = read_matrix(text, NAMES)
    assert not transposed
    assert matrix.entries == pytest.approx(ENTRIES)
    assert matrix.problems() == ()


def test_a_matrix_whose_rows_are_the_originals_is_transposed():
    text = "\n".join(" ".join(map(str, row)) for row in ENTRIES.T)
    matrix, transposed = read_matrix(text, NAMES)
    assert transposed
    assert matrix.entries == pytest.approx(ENTRIES)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no matrix"),
        ("1 0\n0 1", "does not fit"),
        (";a;b;x\na;1;0;0\nb;0;1;0\nc;0;0;1", "column 3 is not a value"),
        (";a;b;c\na;1;0;0\nb;0;1;0\nb;0;0;1", "row 3 stands there twice"),
    ],
)
def test_text_that_is_no_matrix_of_the_domain_is_refused(text, said):
    with pytest.raises(PolicyError, match=said):
        read_matrix(text, NAMES)


def test_every_wrong_cell_and_column_is_named():
    entries = ENTRIES.copy()
    entries[0, 0], entries[1, 1], entries[2, 2] = np.nan, -0.2, 1.7
    problems = TransitionMatrix(NAMES, entries).problems()
    cells = {(p.released, p.original) for p in problems if p.released is not None}
    assert cells == {(0, 0), (1, 1), (2, 2)}
    assert {p.original for p in problems if p.released is None} == {1, 2}
    assert any("sum to 2" in p.what and "too much" in p.what for p in problems)


def test_normalising_mends_sums_and_keeps_zeros():
    normal = TransitionMatrix(NAMES, ENTRIES * [2.0, 0.5, 1.0]).normalised()
    assert normal.entries == pytest.approx(ENTRIES)
    assert (normal.entries[ENTRIES == 0] == 0).all()


def test_a_column_of_zeros_or_a_negative_cell_is_not_normalised():
    zeros = ENTRIES.copy()
    zeros[:, 1] = 0
    with pytest.raises(PolicyError, match="All chances of b"):
        TransitionMatrix(NAMES, zeros).normalised()
    with pytest.raises(PolicyError, match="negative"):
        TransitionMatrix(NAMES, ENTRIES - 2.0).normalised()
