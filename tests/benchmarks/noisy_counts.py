"""The tables of noisy counts of Wang, Han and Fu (2012, tables 4 and 5), with the exact chances."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from sfumato.engine.core.progress import Silent
from sfumato.engine.disclosure.count_queries import ratio_tails, riskiest_groups, shares_in_table
from sfumato.engine.disclosure.grouped_values import grouped_values
from sfumato.engine.table.micro_groups import micro_groups

ADULT = Path(__file__).resolve().parents[3] / "shared" / "data" / "adult" / "adult.csv"

PUBLISHED_SETTINGS = ((0.1, 0.2), (0.1, 0.3), (0.05, 0.2), (0.05, 0.3))
"""λ and ε of the four pairs of columns in `PUBLISHED_COUNTS`."""

PUBLISHED_COUNTS = (
    (89, 0.87, ((18, 13), (14, 7), (34, 29), (24, 22))),
    (74, 0.77, ((25, 23), (14, 7), (32, 32), (28, 23))),
    (138, 0.76, ((11, 9), (8, 3), (18, 27), (20, 15))),
    (104, 0.76, ((21, 12), (9, 6), (35, 28), (22, 22))),
    (104, 0.75, ((23, 14), (11, 6), (35, 25), (21, 28))),
    (77, 0.74, ((26, 11), (18, 11), (26, 39), (27, 26))),
    (102, 0.72, ((18, 13), (8, 8), (32, 31), (29, 21))),
    (142, 0.48, ((13, 18), (11, 4), (29, 29), (27, 20))),
    (213, 0.47, ((8, 8), (3, 0), (23, 19), (15, 11))),
    (111, 0.47, ((26, 18), (16, 13), (40, 30), (27, 29))),
    (113, 0.45, ((28, 20), (17, 8), (38, 30), (23, 25))),
    (153, 0.45, ((18, 15), (6, 6), (20, 40), (26, 21))),
    (237, 0.45, ((8, 9), (3, 3), (17, 21), (13, 12))),
    (143, 0.44, ((12, 17), (12, 6), (38, 34), (27, 20))),
)
"""Tables 4 and 5 of Wang, Han and Fu: |g|, f in g, and of 100 pairs of noisy answers those that
missed by more than ε upward and downward, for each of `PUBLISHED_SETTINGS`."""


def published_tails() -> pd.DataFrame:
    """Return the paper's groups, with its cases of 100 beside the exact chances in percent."""
    sizes = np.array([size for size, _, _ in PUBLISHED_COUNTS])
    shares = np.array([share for _, share, _ in PUBLISHED_COUNTS])
    columns: dict[str, object] = {"|g|": sizes, "f": shares}
    for place, (loss, epsilon) in enumerate(PUBLISHED_SETTINGS):
        tails = ratio_tails(sizes, np.round(sizes * shares), loss, epsilon)
        cases = [found[place] for _, _, found in PUBLISHED_COUNTS]
        for side, (words, chances) in enumerate((("high", tails.high), ("low", tails.low))):
            named = f"λ={loss:g} ε={epsilon:g} {words}"
            columns[f"{named}, paper"] = [pair[side] for pair in cases]
            columns[f"{named}, exact"] = np.round(100.0 * chances, 1)
    return pd.DataFrame(columns)


def adult_tails(sensitive: str, smallest: int = 70, most: int = 7) -> pd.DataFrame:
    """Return the most skewed groups of Adult with the chances in percent, as the paper does."""
    frame = pd.read_csv(ADULT, sep=";")
    codes, values = pd.factorize(frame[sensitive], sort=True)
    names = [name for name in frame.columns if name not in {sensitive, "age"}]
    groups = micro_groups(frame, names, Silent())
    grouped = grouped_values(groups, codes.astype(np.uint8), len(values))
    chosen = riskiest_groups(grouped.sizes, grouped.largest, smallest, most)
    whole = shares_in_table(grouped, grouped.commonest[chosen])
    columns: dict[str, object] = {
        "|g|": grouped.sizes[chosen],
        "f in g": np.round(grouped.shares[chosen], 2),
        "f in the table": np.round(whole, 3),
    }
    for loss, epsilon in PUBLISHED_SETTINGS:
        tails = ratio_tails(grouped.sizes[chosen], grouped.largest[chosen], loss, epsilon)
        for words, chances in (("high", tails.high), ("low", tails.low)):
            columns[f"λ={loss:g} ε={epsilon:g} {words}"] = np.round(100.0 * chances, 1)
    return pd.DataFrame(columns)
