#!/usr/bin/env bash
# rsdmx 0.6.2 for R: figures in thousands and in units stand in one column, as the units of groups are lost.
#
# Attributes of SDMX may be those of an observation, a series, a group or a dataset; the multiplier of the
# unit is usually one of groups. The table that is made of a file has those of observations and series;
# those of groups and of the dataset are not in it, without a word. What is in thousands for one region
# and in units for another stands in one column.
#
# Seen, of region 01 with UNIT_MULT 3 in its group and 12, and 02 with UNIT_MULT 0 and 12000: 12 and 12000,
# and no column UNIT_MULT; it is there where it is an attribute of the series.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
message='http://www.sdmx.org/resources/sdmxml/schemas/v2_1/message'
specific='http://www.sdmx.org/resources/sdmxml/schemas/v2_1/data/structurespecific'
# with_units FILE, and the attributes of both groups and of both series
with_units() {
  cat >"$1" <<X
<?xml version="1.0" encoding="UTF-8"?>
<m:StructureSpecificData xmlns:m="$message" xmlns:ss="$specific">
  <m:Header>
    <m:ID>people</m:ID><m:Test>false</m:Test><m:Prepared>2021-01-01T00:00:00</m:Prepared>
    <m:Sender id="X"/><m:Structure structureID="S" dimensionAtObservation="TIME_PERIOD"/>
  </m:Header>
  <m:DataSet ss:structureRef="S">
    <Group REGION="01" $2/>
    <Group REGION="02" $3/>
    <Series FREQ="A" REGION="01" $4><Obs TIME_PERIOD="2020" OBS_VALUE="12"/></Series>
    <Series FREQ="A" REGION="02" $5><Obs TIME_PERIOD="2020" OBS_VALUE="12000"/></Series>
  </m:DataSet>
</m:StructureSpecificData>
X
}
with_units groups.xml 'UNIT_MULT="3"' 'UNIT_MULT="0"' '' ''
with_units series.xml '' '' 'UNIT_MULT="3"' 'UNIT_MULT="0"'
r_with r-cran-rsdmx=1:0.6-2+dfsg-1 <<'R'
of <- function(file) as.data.frame(rsdmx::readSDMX(file, isURL = FALSE))
groups <- of("groups.xml")
series <- of("series.xml")
print(groups)
print(series)
stopifnot(as.numeric(groups$OBS_VALUE) == c(12, 12000), !"UNIT_MULT" %in% names(groups))
stopifnot(series$UNIT_MULT == c("3", "0"))
R
