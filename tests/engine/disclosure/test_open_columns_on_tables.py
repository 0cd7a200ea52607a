"""What open columns tell of real kinds of tables, beside scikit-learn's forests and lines."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.open_columns import estimate_numbers, estimate_values
from sfumato.engine.disclosure.open_features import UnperturbedColumn
from tests.data import shared_data
from tests.late import LateModule
from tests.samples.tables import companies, households, visits

sklearn = LateModule("sklearn")

SLACK = 0.03
"""Of 3,000 records a share is off by 0.009 (one standard error), and both estimates learn."""


def adult():
    frame = pd.read_csv(shared_data("adult/adult.csv"), sep=";")
    return frame.sample(3_000, random_state=3).reset_index(drop=True)


TABLES = {
    "households": (lambda: households(700), ("region", "sex", "rent"), "illness"),
    "companies": (companies, ("sector", "staff", "revenue"), "insolvency"),
    "visits": (lambda: visits(700), ("sex", "age", "ward"), "diagnosis"),
    "adult": (adult, ("age", "sex", "education", "salary-class"), "workclass"),
}


def opened(frame, names):
    """The columns as the estimate takes them, and as scikit-learn does: one-hot."""
    columns = [
        UnperturbedColumn(name, frame[name].to_numpy(np.float64))
        if pd.api.types.is_numeric_dtype(frame[name])
        else UnperturbedColumn(name, None, pd.factorize(frame[name])[0].astype(np.int64))
        for name in names
    ]
    return columns, pd.get_dummies(frame[list(names)]).to_numpy(np.float64)


@pytest.mark.slow
@pytest.mark.parametrize("name", TABLES)
def test_values_are_guessed_as_often_as_a_forest_guesses_them(name):
    make, public, sensitive = TABLES[name]
    frame = make()
    codes, domain = pd.factorize(frame[sensitive], sort=True)
    columns, features = opened(frame, public)
    everything = np.arange(len(frame))
    found = estimate_values("told", codes, len(domain), columns, everything, Silent())
    forest = sklearn.ensemble.RandomForestClassifier(
        60, min_samples_leaf=10, random_state=0, n_jobs=1
    )
    theirs = float(
        (
            sklearn.model_selection.cross_val_predict(
                forest, features, codes, cv=sklearn.model_selection.KFold(3)
            )
            == codes
        ).mean()
    )
    assert found.guessed == pytest.approx(max(theirs, found.without), abs=SLACK)


@pytest.mark.slow
def test_a_sum_in_the_books_of_companies_is_told_as_by_least_squares():
    frame = companies()
    columns, features = opened(frame, ("revenue", "costs", "staff"))
    everything = np.arange(len(frame))
    for name in ("result", "wages"):
        numbers = frame[name].to_numpy(np.float64)
        found = estimate_numbers(name, numbers, columns, everything, Silent())
        off = np.abs(
            numbers
            - sklearn.model_selection.cross_val_predict(
                sklearn.linear_model.LinearRegression(), features, numbers, cv=3
            )
        )
        theirs = float(np.quantile(off, 0.9))
        assert found.linear == pytest.approx(theirs, rel=0.05, abs=1e-6 * numbers.std())
    assert found.linear < 0.8 * found.without
