#!/usr/bin/env bash
# gower 0.1.2: people with losses of 300, 100 and 0 are at distance 0 from each other, and so are two unknown towns.
#
# Distances of numbers are divided by the largest number, and a column whose largest number is 0 is left out. A missing
# text is like another missing one, and unlike all others; beside a missing number all distances are missing.
#
# Seen: gains of -300, -100 and 0 are 0 apart, gains of -300, -100 and 1 up to 1; two people of the same age
# are 0 apart where both towns are missing, and 0.5 where one is.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with gower==0.1.2 pandas==2.3.3 numpy==2.0.2 scipy==1.15.3 <<'P'
import gower
import pandas as pd

losses = gower.gower_matrix(pd.DataFrame({"gain": [-300.0, -100.0, 0.0]}))
gains = gower.gower_matrix(pd.DataFrame({"gain": [-300.0, -100.0, 1.0]}))
people = pd.DataFrame({"age": [40.0, 40.0, 40.0, 60.0], "town": [None, None, "Bern", "Bern"]})
towns = gower.gower_matrix(people)
print(losses, gains, towns, sep="\n")
assert losses.max() == 0 and abs(gains.max() - 1) < 1e-6
assert towns[0, 1] == 0 and abs(towns[0, 2] - 0.5) < 1e-6
P
