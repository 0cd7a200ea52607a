#!/usr/bin/env bash
# dbffile 1.13.0 (npm) and pyshp 3.1.6: in a field of 6 digits 1234567 is written as 123456.
#
# A number that is wider than its field in a dBase file, as of a shapefile, is cut at the end like a
# text, with no error: what is left is ten times smaller, of 1e20 it is 10 million. pyshp writes a
# missing text as the text "None".
#
# Seen with both: 123456 for 1234567 in N(6), 1234567 for 1234567.89 in N(8,2).
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
npm install --silent --no-fund --no-audit dbffile@1.13.0
cat >write.cjs <<'J'
const { DBFFile } = require("dbffile");
const fields = [
  { name: "PEOPLE", type: "N", size: 6 },
  { name: "INCOME", type: "N", size: 8, decimalPlaces: 2 },
];
(async () => {
  const file = await DBFFile.create("towns.dbf", fields);
  await file.appendRecords([{ PEOPLE: 1234567, INCOME: 1234567.89 }]);
  const [town] = await (await DBFFile.open("towns.dbf")).readRecords();
  console.log("dbffile", town.PEOPLE, town.INCOME);
  if (town.PEOPLE !== 123456 || town.INCOME !== 1234567) process.exit(1);
})();
J
node write.cjs
python_with pyshp==3.1.6 <<'P'
import shapefile

with shapefile.Writer("towns") as writer:
    writer.field("PEOPLE", "N", 6, 0)
    writer.field("INCOME", "N", 8, 2)
    writer.field("MAYOR", "C", 9)
    for values in ((1234567, 1234567.89, "Lee"), (None, 1e20, None)):
        writer.point(1, 1)
        writer.record(*values)
with shapefile.Reader("towns") as reader:
    seen = [list(record) for record in reader.records()]
print("pyshp", seen)
assert seen == [[123456, 1234567.0, "Lee"], [None, 10_000_000.0, "None"]]
P
