"""Where the nodes of a lattice are drawn, and what its heights say."""

import itertools

import numpy as np

from sfumato.plots.generalization import LatticeData, build_lattice, lattice_places
from sfumato.plots.style import light_style


def nodes_of(*top):
    return np.array(list(itertools.product(*(range(level + 1) for level in top))), dtype=np.int64)


def test_more_general_nodes_are_higher_and_none_share_a_place():
    nodes = nodes_of(3, 2, 4)
    places = lattice_places(nodes, widest=5)
    heights = nodes.sum(axis=1)
    for low, high in itertools.pairwise(range(heights.max() + 1)):
        assert places[heights == low, 1].min() > places[heights == high, 1].max()
    assert len(np.unique(places, axis=0)) == len(nodes)
    assert np.ptp(places[:, 0]) <= 4


def test_the_headline_says_where_safety_begins():
    data = LatticeData(np.array([1, 2, 1]), np.array([0, 1, 1]), np.array([0, 1, 0]), 2, 1)
    figure = build_lattice(data, light_style())
    assert "begin at a sum of levels of 1; from 2 on all are safe" in figure.headline
    assert list(figure.data["safe"]) == [0, 1, 1]
    nothing = LatticeData(np.array([1, 1]), np.array([0, 0]), np.array([0, 0]), 1)
    assert build_lattice(nothing, light_style()).headline == "No combination of levels is safe"
