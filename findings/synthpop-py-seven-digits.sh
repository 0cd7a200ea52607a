#!/usr/bin/env bash
# synthpop-py 0.1.3: synthetic numbers have seven digits; of 300 case numbers three are left.
#
# Synthetic values are drawn from those of the table, and pass through numbers of 32 bits: what is
# beyond the seventh digit changes, with no warning. Cents of an income are not whole, and case
# numbers of 13 digits are rounded to ones that nobody has.
#
# Seen: 5 % of the synthetic incomes are in the table, and none of the case numbers, of which there
# are 3 different ones instead of 300.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with synthpop-py==0.1.3 scikit-learn==1.9.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import numpy as np
import pandas as pd
from synthpop import Synthesiser

generator = np.random.default_rng(0)
cases = 7_560_000_000_000 + generator.permutation(1_000_000)[:300]
people = pd.DataFrame({"case": cases, "income": generator.normal(50_000, 9_000, 300).round(2)})
synthesiser = Synthesiser(random_seed=1)
synthesiser.fit(people)
made = synthesiser.generate(n=300)
print(made.head(), made["case"].nunique(), made.isin(people.to_dict("list")).mean(), sep="\n")
assert made["case"].nunique() < 20 and not made["case"].isin(people["case"]).any()
assert made["income"].isin(people["income"]).mean() < 0.2
assert (made["income"].astype("float32") == made["income"]).all()
P
