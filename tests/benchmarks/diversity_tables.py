"""The tables that the search for diverse tables is measured on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.generalization.coded import CodedTable, QuasiIdentifier

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult"
ADULT_NAMES = (
    *("age", "sex", "race", "marital-status", "education", "native-country"),
    *("workclass", "salary-class"),
)

SCHEMA = {
    "age": 77,
    "education": 14,
    "birthplace": 133,
    "occupation": 509,
    "race": 9,
    "work class": 7,
    "marital status": 6,
}
"""Table 9 of Cheong, Wu and Wong 2012: quasi-identifiers and their numbers of values."""
INCOMES = 50
ROWS = 700_000


def adult(folder: Path = ADULT) -> CodedTable:
    """Return the Adult table with the hierarchies that come with it; occupation is sensitive."""
    frame = pd.read_csv(folder / "adult.csv", sep=";", dtype=str)
    sensitive, values = pd.factorize(frame["occupation"], sort=True)
    quasi = tuple(_from_files(frame[name], folder) for name in ADULT_NAMES)
    return CodedTable(quasi, sensitive, tuple(values))


def _from_files(column: pd.Series, folder: Path) -> QuasiIdentifier:
    file = folder / f"adult_hierarchy_{column.name}.csv"
    levels = pd.read_csv(file, sep=";", header=None, dtype=str, na_filter=False)
    positions = {value: code for code, value in enumerate(levels[0])}
    coded = [pd.factorize(levels[level]) for level in levels.columns]
    return QuasiIdentifier(
        str(column.name),
        column.map(positions).to_numpy(dtype=np.intp),
        tuple(codes for codes, _ in coded),
        tuple(tuple(names) for _, names in coded),
    )


def census(rows: int = ROWS, seed: int = 9) -> CodedTable:
    """Return a synthetic table with Table 9's schema, each attribute with the paper's four levels.

    Values are skewed as in a census: most people were born in a few places and work in common
    occupations, and income follows age, education and occupation.
    """
    random = np.random.default_rng(seed)
    share = {name: 1 / np.arange(1, size + 1) ** 1.1 for name, size in SCHEMA.items()}
    share["age"] = np.exp(-(((np.arange(77) - 25) / 28) ** 2))
    codes = {
        name: random.choice(size, rows, p=share[name] / share[name].sum())
        for name, size in SCHEMA.items()
    }
    quasi = tuple(_four_levels(name, codes[name], size) for name, size in SCHEMA.items())
    expected = (
        25
        + 8 * np.sin(codes["age"] / 25)
        - 6 * (codes["education"] > 3)
        - 5 * (codes["occupation"] > 60)
    )
    income = np.clip(np.rint(random.normal(expected, 12)), 0, INCOMES - 1).astype(np.intp)
    return CodedTable(quasi, income, tuple(map(str, range(INCOMES))))


def _four_levels(name: str, codes: np.ndarray, size: int) -> QuasiIdentifier:
    """Return an attribute with no generalization, then four classes, two and one."""
    ground = np.arange(size)
    levels = (ground, *(ground * groups // size for groups in (4, 2, 1)))
    return QuasiIdentifier(name, codes, levels, tuple(_names(level) for level in levels))


def _names(level: np.ndarray) -> tuple[str, ...]:
    return tuple(str(code) for code in range(int(level.max()) + 1))
