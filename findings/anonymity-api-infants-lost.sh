#!/usr/bin/env bash
# anonymity-api 1.0.4: where ages are to be released in groups of ten, infants are not in the table.
#
# With the workload "group(age, 10)" the table is cut into groups before it is anonymized, the first of
# which is above 0 and up to 10. Who has the value 0 is in none of them and is lost, without a word, though
# there are enough such people for a group of their own. So are all with a value below 0, such as a loss.
#
# Seen, of four people of 0, four of 5 and four of 15, with k = 2: eight people, none of them of 0.
# Without the workload all twelve are there.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anonymity-api==1.0.4 pandas==3.1.1 numpy==2.4.6 <<'P'
import pandas as pd
from anonymity_api import anonymity

people = pd.DataFrame({"age": [0] * 4 + [5] * 4 + [15] * 4, "person": range(12)})
grouped = anonymity.workload_aware_k_anonymity(people.copy(), ["age"], 2, ["group(age, 10)"])
plain = anonymity.k_anonymity(people.copy(), ["age"], 2)
print(grouped["person"].tolist(), plain["person"].tolist())
assert sorted(grouped["person"]) == list(range(4, 12))
assert sorted(plain["person"]) == list(range(12))
P
