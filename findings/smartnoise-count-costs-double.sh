#!/usr/bin/env bash
# smartnoise-sql 1.0.10: a count of people at ε = 1 and δ = 0.00001 is charged ε = 2, δ = 0.000015.
#
# Where a table states which column tells people apart, one count is charged twice the ε that it was
# asked with. Where each row is a person, it is charged once; δ is half as much again in both cases.
#
# Seen: 2 and 0.000015; where each row is a person, 1 and 0.000015.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with smartnoise-sql==1.0.10 setuptools==75.8.0 <<'P'
import pandas
import snsql

costs = {}
for rows_are_people in (True, False):
    person = {"name": "id", "type": "int", "private_id": not rows_are_people}
    table = {"row_privacy": rows_are_people, "rows": 1000, "id": person}
    reader = snsql.from_df(
        pandas.DataFrame({"id": range(1000)}),
        privacy=snsql.Privacy(epsilon=1.0, delta=1e-5),
        metadata={"": {"s": {"people": table}}},
    )
    reader.execute("SELECT COUNT(*) AS people FROM s.people")
    costs[rows_are_people] = tuple(round(float(one), 8) for one in reader.odometer.spent)
print(costs)
assert costs == {True: (1.0, 1.5e-05), False: (2.0, 1.5e-05)}
P
