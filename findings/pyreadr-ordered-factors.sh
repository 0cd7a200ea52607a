#!/usr/bin/env bash
# pyreadr 0.5.8: an ordered factor of R comes as categories without an order, and goes back so.
#
# The levels keep their sequence, but pandas then refuses to compare them, and an ordered column
# that is written is a plain factor in R. A list of R's is read as nothing at all, without an error.
#
# Seen: ordered=False for an ordered factor; no object in a file that holds a list.
command -v Rscript >/dev/null || { echo "R is needed" >&2; exit 2; }
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
Rscript -e 'saveRDS(data.frame(o = factor(c("low", "high"), levels = c("low", "high"), ordered = TRUE)), "o.rds")' \
  -e 'saveRDS(list(a = 1:2, b = "x"), "list.rds")'
python_with pyreadr==0.5.8 pandas==3.1.1 numpy==2.4.6 <<'P'
import pyreadr

ordered = bool(pyreadr.read_r("o.rds")[None]["o"].cat.ordered)
objects = len(pyreadr.read_r("list.rds"))
print("ordered:", ordered, "| objects in the file of a list:", objects)
assert (ordered, objects) == (False, 0)
P
