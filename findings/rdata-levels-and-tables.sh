#!/usr/bin/env bash
# rdata 1.1.0: a data frame with a factor that has NA among its levels can't be read, nor can a
# contingency table of R's.
#
# addNA() makes "missing" a category of its own, as surveys do; the levels then hold a missing one,
# which pandas refuses for categories. table() of two factors keeps its dimensions otherwise than
# the reader expects.
#
# Seen: ValueError for both; all of the data frame is lost, not the column alone.
command -v Rscript >/dev/null || { echo "R is needed" >&2; exit 2; }
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
Rscript -e 'saveRDS(data.frame(f = addNA(factor(c("x", NA, "x"))), n = 1:3), "f.rds")' \
  -e 'saveRDS(table(c("x", "x", "y"), c("u", "v", "v")), "t.rds")'
python_with rdata==1.1.0 pandas==3.1.1 numpy==2.4.6 <<'P'
import rdata

for name in ("f.rds", "t.rds"):
    try:
        found = rdata.read_rds(name)
    except ValueError as error:
        print(name, "ValueError:", error)
    else:
        raise AssertionError(f"{name} is read now: {found}")
P
