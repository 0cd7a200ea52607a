#!/usr/bin/env bash
# pyarrow 26.0.1: a sound CSV is refused where its stream hands out less than was asked for.
#
# A file object may return fewer bytes than wanted, as pipes, sockets and decompressors do. With
# newlines_in_values, open_csv takes each read for a whole block: one that has no line end in it,
# here of two bytes, ends in an error that advises a larger block. A larger one does not help, since
# the stream decides how long a read is.
#
# Seen:
#   whole reads   3 rows
#   short reads   ArrowInvalid: straddling object straddles two block boundaries (try to increase block size?)
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with pyarrow==26.0.1 <<'P'
import io
import pyarrow as pa
from pyarrow import csv


class Short(io.BytesIO):
    """Hands out a few bytes in each second read."""

    turn = 0

    def read(self, size=-1):
        self.turn += 1
        return super().read(2 if self.turn % 2 == 0 else 12)


def rows(stream):
    options = csv.ParseOptions(newlines_in_values=True)
    with csv.open_csv(stream, read_options=csv.ReadOptions(use_threads=False), parse_options=options) as reader:
        return sum(len(batch) for batch in reader)


text = b"name,town\nZoe,Ulm\nBo,Bern\nAl,Bonn\n"
print("whole reads  ", rows(io.BytesIO(text)), "rows")
try:
    said = f"{rows(Short(text))} rows"
except pa.ArrowInvalid as error:
    said = f"ArrowInvalid: {error}"
print("short reads  ", said)
assert rows(io.BytesIO(text)) == 3
assert "straddl" in said, "short reads are taken together now"
P
