#!/usr/bin/env bash
# anjana 1.2.3: a table whose records were suppressed has a column with their original row numbers.
#
# k_anonymity resets the index after it has left records out and keeps the old one as a column
# named index. Without suppression there is no such column.
#
# Seen: columns age, s at supp_level 0; index, age, s at supp_level 40.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with anjana==1.2.3 <<'P'
import pandas as pd
from anjana.anonymity import k_anonymity

table = pd.DataFrame({"age": ["20", "20", "30", "30", "40"], "s": list("xyxyz")})
levels = {"age": {0: table["age"].to_numpy(), 1: ["*"] * 5}}
found = {
    allowed: list(k_anonymity(table.copy(), [], ["age"], 2, allowed, levels).columns)
    for allowed in (0, 40)
}
print(found)
assert found == {0: ["age", "s"], 40: ["index", "age", "s"]}
P
