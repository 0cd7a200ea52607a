#!/usr/bin/env bash
# mpitb 0.2: somebody of whom an indicator is missing is not poor, and is counted.
#
# The multidimensional poverty index adds up what a person is deprived of. Where one indicator is
# missing the sum is missing, too, and not above the limit: such people count among those who are not
# poor, and lower the headcount ratio H. Weights that were given to svyset() are used only where est()
# is told svy=True.
#
# Seen, of two poor people, one who is not, and one with a gap (weight 7, the others 1):
#   H of all four 0.5, with svy=True 0.2; of the three without a gap 0.67 either way
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with mpitb==0.2 pandas==2.3.3 numpy==2.4.6 scipy==1.17.1 <<'P'
import pandas as pd
from mpitb import MPIToolbox

people = pd.DataFrame(
    {"school": [1, 0, 1, None], "water": [1, 0, 1, 1], "weight": [1.0, 1.0, 1.0, 7.0]}
)


def headcount(rows, svy):
    index = MPIToolbox()
    index.set("mpi", dimensions=[(["school"], "education"), (["water"], "living")])
    index.svyset(weight="weight")
    estimates = index.est(rows.copy(), "mpi", klist=[50], svy=svy)
    return next(float(each["b"]) for each in estimates if each["measure"] == "H")


seen = [headcount(rows, svy) for rows in (people, people.dropna()) for svy in (False, True)]
print(seen)
assert [round(share, 3) for share in seen] == [0.5, 0.2, 0.667, 0.667]
P
