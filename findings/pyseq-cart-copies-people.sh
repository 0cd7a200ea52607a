#!/usr/bin/env bash
# pyseq-cart 0.1.0a5: every synthetic record is one of the records that it was made from.
#
# Each column is drawn from a classification tree over those before it. synthpop for R, after which it is made,
# keeps five people in a leaf; here trees grow until one is left. Once the first columns are drawn, all others
# are that person's. Whole numbers are classes of their own, so that incomes are copied to the last digit.
#
# Seen, of 500 people with an age, an income and a town: 500 of 500 synthetic records are copies; with five
# people in a leaf, as a setting of the trees, fewer than half.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyseq-cart==0.1.0a5 pandas==2.3.3 numpy==2.4.6 scikit-learn==1.9.1 <<'P'
import numpy as np
import pandas as pd
from pyseq_cart.pyseq_cart import PySeqCART

drawn = np.random.default_rng(1)
ages, incomes = drawn.integers(0, 90, 500), drawn.integers(1000, 9000, 500)
people = pd.DataFrame({"age": ages, "income": incomes, "town": drawn.choice(list("ABCDEF"), 500)})
real = set(people.itertuples(index=False, name=None))
for settings in (None, {"min_samples_leaf": 5}):
    np.random.seed(1)
    model = PySeqCART(tree_args=settings)
    model.fit(people)
    synthetic = model.generate(500).itertuples(index=False, name=None)
    copies = sum(record in real for record in synthetic)
    print(settings, copies)
    assert copies == 500 if settings is None else copies < 250
P
