"""``python -m tests.benchmarks.gaussian_learning``: Fig. 4 of Li et al. 2012 as a table.

What classifiers learn from noisy features: the accuracy of a decision tree and of a support
vector machine with radial basis functions, by 10-fold cross-validation at 20 noise levels, on
copies of the ladder and on copies with noise of their own. Iris and the Wisconsin breast
cancer data of scikit-learn, all features together.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence

import numpy as np

from sfumato.engine.core.columns import Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.ladders.brownian import on_grid
from sfumato.engine.mechanisms.gaussian.release import NoiseRecipe, release_numbers
from sfumato.engine.mechanisms.gaussian.settings import NumberForm
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.table.covariance import estimate_moments, factor_of
from sfumato.engine.table.table import Attribute
from tests.late import LateModule

sklearn = LateModule("sklearn")

LEVELS = tuple(on_grid(step / 20) for step in range(1, 21))
REPEATS = 5
CLASSIFIERS = {
    "decision tree": lambda: sklearn.tree.DecisionTreeClassifier(random_state=0),
    "RBF SVM": lambda: sklearn.pipeline.make_pipeline(
        sklearn.preprocessing.StandardScaler(), sklearn.svm.SVC(kernel="rbf", gamma="scale")
    ),
}
DATA = {
    "Iris": "load_iris",
    "breast cancer": "load_breast_cancer",
}


def ladder_copies(features: np.ndarray, levels: Sequence[float], repeat: int) -> np.ndarray:
    """Copies of one ladder, shape (levels, features, rows)."""
    rows, size = features.shape
    columns = [np.ascontiguousarray(column) for column in features.T]
    moments = estimate_moments(
        [Attribute(str(i), Kind.NUMERIC, numbers=column) for i, column in enumerate(columns)]
    )
    secret = hashlib.sha256(f"learning {repeat}".encode()).digest()
    return release_numbers(
        np.array(columns),
        NoiseRecipe(factor_of(moments.covariance), (NumberForm(),) * size),
        levels,
        np.arange(rows, dtype=np.uint64),
        KeyRing(secret).for_attribute("features", "", "benchmark"),
        Silent(),
    )


def independent_copies(features: np.ndarray, levels: Sequence[float], repeat: int) -> np.ndarray:
    """Copies whose noise is drawn afresh for each, shape (levels, features, rows)."""
    rng = np.random.default_rng([4, repeat])
    covariance = np.cov(features.T, bias=True)
    noise = rng.multivariate_normal(
        np.zeros(len(covariance)), covariance, (len(levels), len(features)), method="eigh"
    )
    noisy = features + np.sqrt(levels)[:, np.newaxis, np.newaxis] * noise
    return noisy.transpose(0, 2, 1)


SCHEMES = {"independent": independent_copies, "ladder": ladder_copies}


def accuracies(
    features: np.ndarray, classes: np.ndarray, levels: Sequence[float], repeats: int, scheme: str
) -> dict[str, np.ndarray]:
    """Accuracy of each classifier, shape (repeats, levels)."""
    folds = sklearn.model_selection.StratifiedKFold(10, shuffle=True, random_state=0)
    found = {name: np.empty((repeats, len(levels))) for name in CLASSIFIERS}
    for repeat in range(repeats):
        copies = SCHEMES[scheme](features, levels, repeat)
        for place, copy in enumerate(copies):
            for name, make in CLASSIFIERS.items():
                scores = sklearn.model_selection.cross_val_score(make(), copy.T, classes, cv=folds)
                found[name][repeat, place] = scores.mean()
    return found


def main() -> int:
    for name, loader in DATA.items():
        features, classes = getattr(sklearn.datasets, loader)(return_X_y=True)
        found = {s: accuracies(features, classes, LEVELS, REPEATS, s) for s in SCHEMES}
        heads = [f"{classifier}, {scheme}" for classifier in CLASSIFIERS for scheme in SCHEMES]
        sys.stdout.write(
            f"\n{name}\n\n| σ² | {' | '.join(heads)} |\n{'|---' * (len(heads) + 1)}|\n"
        )
        for place, level in enumerate(LEVELS):
            cells = [
                f"{found[scheme][classifier][:, place].mean():.3f}"
                for classifier in CLASSIFIERS
                for scheme in SCHEMES
            ]
            sys.stdout.write(f"| {level:.3f} | {' | '.join(cells)} |\n")
        for classifier in CLASSIFIERS:
            means = [found[scheme][classifier].mean() for scheme in SCHEMES]
            sys.stdout.write(f"\n{classifier}: mean {means[0]:.4f} and {means[1]:.4f}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
