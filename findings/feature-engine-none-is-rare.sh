#!/usr/bin/env bash
# feature-engine 1.9.4: a missing town becomes a rare town, or stays missing, by how it is missing.
#
# RareLabelEncoder puts seldom values together as "Rare". With missing_values="ignore" NaN stays as it is; None,
# which is missing to pandas just as well and to the encoder's own check, is a rare town like others.
#
# Seen, of 3 people without a town: 3 more in "Rare" where they have None, none where they have NaN; with
# missing_values="raise" both are an error.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with feature-engine==1.9.4 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
from feature_engine.encoding import RareLabelEncoder


def rare(missing):
    """How many of 15 people are in rare towns, and how many have none."""
    people = pd.DataFrame({"town": ["A"] * 8 + ["B"] * 3 + ["C"] + [missing] * 3})
    coded = RareLabelEncoder(tol=0.2, n_categories=1, missing_values="ignore").fit_transform(people)["town"]
    try:
        RareLabelEncoder(tol=0.2, n_categories=1).fit(people)
    except ValueError:
        return int((coded == "Rare").sum()), int(coded.isna().sum())


print(rare(None), rare(float("nan")))
assert rare(None) == (4, 0)
assert rare(float("nan")) == (1, 3)
P
