#!/usr/bin/env bash
# pysdmx 1.21.0: codes of regions in SDMX-CSV lose their leading zeros, unless one has a letter.
#
# Where the file is read without its structure, a column of digits loses them although its codes come
# as texts. In a file that has one code with a letter all keep their zeros.
#
# Seen: 1067 and 1069; 01067 and DE beside a code with letters.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pysdmx[data]==1.21.0 <<'P'
from pathlib import Path

from pysdmx.io import read_sdmx

read = []
for second in ("01069", "DE"):
    rows = [f"A:B(1.0),{area},5" for area in ("01067", second)]
    Path("regions.csv").write_text("\n".join(["DATAFLOW,REF_AREA,OBS_VALUE", *rows, ""]))
    read.append(list(read_sdmx("regions.csv", validate=False).data[0].data["REF_AREA"]))
print(read)
assert read == [["1067", "1069"], ["01067", "DE"]]
P
