"""Hierarchical retention as a mechanism: chapters, levels, what it promises, its checks."""

from dataclasses import replace

import numpy as np
import pytest

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.mechanisms import mechanism_called
from tests.engine.categories import column_of, released, request_for

HIERARCHICAL = mechanism_called("hierarchical")
SETTINGS = {"chapters": ["infection", "infection", "infection", "tumour"], "inside_share": 0.5}
COLUMN = column_of([9_000, 3_000, 6_000, 2_000])
ATTRIBUTES = (COLUMN.attribute,)


def own_matrix(level, settings=SETTINGS):
    """Pr[released | original] by the definition, entry by entry."""
    kept, chapter = level, level ** (1 - settings["inside_share"])
    names = settings["chapters"]
    return np.array(
        [
            [
                kept * (row == column)
                + (chapter - kept) * (names[row] == names[column]) / names.count(names[column])
                + (1 - chapter) / len(names)
                for column in range(len(names))
            ]
            for row in range(len(names))
        ]
    )


@pytest.mark.parametrize("level", [0.0, 0.05, 0.4, 0.9])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_the_matrix_and_what_is_promised_follow_from_the_definition(level, share):
    settings = {**SETTINGS, "inside_share": share}
    entries = own_matrix(level, settings)
    matrix = HIERARCHICAL.matrix(level, ATTRIBUTES, settings)
    assert matrix.dense() == pytest.approx(entries)
    gamma = (entries.max(axis=1) / entries.min(axis=1)).max()
    inside = (entries[:, :3].max(axis=1) / entries[:, :3].min(axis=1)).max()
    assert HIERARCHICAL.odds_factor(level, ATTRIBUTES, settings) == pytest.approx(gamma)
    assert matrix.gamma_inside == pytest.approx(inside)
    facts = {f.symbol: f.value for f in HIERARCHICAL.promise(level, ATTRIBUTES, settings).facts}
    assert facts["γ"] == pytest.approx(gamma)
    assert facts["γ inside"] == pytest.approx(inside)


def test_chapters_are_proposed_by_the_letters_of_values_not_by_rows():
    settings = HIERARCHICAL.default_settings(ATTRIBUTES)
    assert settings["chapters"] == ["S", "H", "H", "c"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"chapters": ["a", "b"]}, "a chapter for each of the 4 values"),
        ({"chapters": None}, "chapters is not a list of texts"),
        ({"chapters": [1, 2, 3, 4]}, "chapters is not a list of texts"),
        ({"inside_share": 1.0}, "inside_share"),
        ({"even_share": 0.1}, "no setting called even_share"),
    ],
)
def test_settings_that_are_not_sound_are_refused(change, words):
    with pytest.raises(PolicyError, match=words):
        HIERARCHICAL.check_settings(ATTRIBUTES, {**SETTINGS, **change})


def test_a_ladder_is_that_of_its_chapters_and_share():
    first = HIERARCHICAL.ladder_identity(ATTRIBUTES, SETTINGS)
    renamed = {**SETTINGS, "chapters": ["x", "x", "x", "y"]}
    assert HIERARCHICAL.ladder_identity(ATTRIBUTES, renamed) == first
    for other in ({"inside_share": 0.4}, {"chapters": ["x", "x", "y", "y"]}):
        assert HIERARCHICAL.ladder_identity(ATTRIBUTES, {**SETTINGS, **other}) != first


def test_at_the_ends_the_release_is_the_original_or_noise():
    asked = request_for(COLUMN, SETTINGS, 1.0)
    original = released(HIERARCHICAL, asked).columns["Disease"]
    assert (ATTRIBUTES[0].domain.encode(original) == COLUMN.values).all()
    noise = released(HIERARCHICAL, replace(asked, level=0.0)).columns["Disease"]
    assert noise.value_counts(normalize=True).to_numpy() == pytest.approx(0.25, abs=0.02)
