#!/usr/bin/env bash
# sdmx1 2.28.0: a dataset in SDMX-CSV with one cell that has no figure can't become a table.
#
# SDMX-CSV leaves the field of OBS_VALUE empty where a figure is missing (OBS_STATUS says why). It
# is read as an empty text, and to_pandas then fails for the whole dataset.
#
# Seen: ValueError about an empty text that is no float.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with sdmx1==2.28.0 pandas==3.1.1 numpy==2.4.6 <<'P'
import sdmx
from sdmx.model import v30

agency = v30.Agency(id="X")
structure = v30.DataStructureDefinition(id="D", maintainer=agency, version="1.0")
for name in ("AREA", "TIME_PERIOD"):
    structure.dimensions.getdefault(id=name)
structure.measures.getdefault(id="OBS_VALUE")
structure.attributes.getdefault(id="OBS_STATUS")
flow = v30.Dataflow(id="DF", maintainer=agency, version="1.0", structure=structure)


def read(missing):
    with open("counts.csv", "w", encoding="utf-8") as file:
        file.write("STRUCTURE,STRUCTURE_ID,ACTION,AREA,TIME_PERIOD,OBS_VALUE,OBS_STATUS\n")
        file.write("dataflow,X:DF(1.0),I,N,2020,1,A\n")
        file.write(f"dataflow,X:DF(1.0),I,S,2020,{missing}\n")
    return sdmx.to_pandas(sdmx.read_sdmx("counts.csv", structure=flow).data[0])


print(list(read("2,A")))
try:
    figures = read(",M")
except ValueError as error:
    print("ValueError:", error)
else:
    raise AssertionError(f"it is read now: {list(figures)}")
P
