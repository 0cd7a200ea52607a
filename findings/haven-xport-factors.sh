#!/usr/bin/env bash
# haven 2.5.1: answers of a factor are numbers in a SAS transport file, and nothing says of what.
#
# The format has no labels of values. write_xpt() writes the number of each answer's level, which
# goes by the alphabet unless someone ordered them, with no warning. Texts that are no factor stay
# texts. Infinite numbers are missing. In .sav files labels say what the numbers are.
#
# Seen, of "yes", "no" and "never", and of 1, Inf and 2:
#   .xpt    3, 2, 1 without labels; 1, missing, 2
#   .sav    3, 2, 1 with their labels
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
r_with r-cran-haven=2.5.1-1 <<'R'
people <- data.frame(smokes = factor(c("yes", "no", "never")), text = c("yes", "no", "never"))
people$dose <- c(1, Inf, 2)
haven::write_xpt(people, "x.xpt")
haven::write_sav(people, "x.sav")
R
python_with pyreadstat==1.3.7 pandas==3.1.1 numpy==2.4.6 <<'P'
import pyreadstat

xport, about_xport = pyreadstat.read_xport("x.xpt")
spss, about_spss = pyreadstat.read_sav("x.sav")
print(xport, about_xport.variable_value_labels, about_spss.variable_value_labels)
assert xport["smokes"].tolist() == spss["smokes"].tolist() == [3, 2, 1]
assert about_xport.variable_value_labels == {}
assert about_spss.variable_value_labels["smokes"] == {1: "never", 2: "no", 3: "yes"}
assert xport["text"].tolist() == ["yes", "no", "never"]
assert xport["dose"].isna().tolist() == [False, True, False]
P
