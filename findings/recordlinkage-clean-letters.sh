#!/usr/bin/env bash
# recordlinkage 0.16: cleaning names for comparison deletes letters that are not ASCII.
#
# By default `clean` removes what is no letter from a to z, digit or blank, letters with accents
# among them, not the accents alone; that takes strip_accents, and even so letters that are no
# letter with an accent (ł, ø) are gone.
#
# Seen: Müller becomes mller, Åse se, Łukasz ukasz.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with recordlinkage==0.16 pandas==2.3.3 <<'P'
import pandas as pd
from recordlinkage.preprocessing import clean

names = pd.Series(["Müller", "Åse", "Łukasz"])
plain, stripped = clean(names).tolist(), clean(names, strip_accents="unicode").tolist()
print(plain, stripped)
assert plain == ["mller", "se", "ukasz"]
assert stripped == ["muller", "ase", "ukasz"]
P
