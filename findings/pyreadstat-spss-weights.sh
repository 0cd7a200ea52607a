#!/usr/bin/env bash
# pyreadstat 1.3.7: that an SPSS file is weighted is told nowhere.
#
# SPSS and PSPP save by which variable cases are weighted, and weight them again when the file is
# opened. pyreadstat reads the variable like any other; its metadata has no word of weights, so a
# weighted file and one that isn't can't be told apart. pyspssio 0.6.0, with IBM's library, tells it.
#
# Seen: a mean of 1.25 in PSPP, 2.0 of the frame; the metadata differ in their times alone.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
debian_unpacked pspp=1.6.2-2
for weighted in yes no; do
  {
    printf '%s\n' 'DATA LIST LIST /x w.' 'BEGIN DATA' '1 10' '2 1' '3 1' 'END DATA.'
    [ "$weighted" = no ] || echo 'WEIGHT BY w.'
    echo "SAVE OUTFILE='$weighted.sav'."
  } >make.sps
  pspp make.sps >/dev/null
done
printf '%s\n' "GET FILE='yes.sav'." 'DESCRIPTIVES x.' >mean.sps
pspp mean.sps | tee seen.txt
grep -q '^|x  *|12.00|1.25|' seen.txt
unset LD_LIBRARY_PATH
python_with pyreadstat==1.3.7 pyspssio==0.6.0 pandas==3.1.1 numpy==2.4.6 <<'P'
import pyreadstat
import pyspssio

frames, told = zip(*(pyreadstat.read_sav(f"{name}.sav") for name in ("yes", "no")), strict=True)
plain = [
    {key: value for key, value in vars(meta).items() if not key.endswith("_time")} for meta in told
]
print("mean", frames[0].x.mean(), "told the same:", plain[0] == plain[1])
assert frames[0].x.mean() == 2
assert plain[0] == plain[1] and frames[0].equals(frames[1])
weights = [pyspssio.read_metadata(f"{name}.sav")["case_weight_var"] for name in ("yes", "no")]
print("pyspssio", weights)
assert weights == ["w", ""]
P
