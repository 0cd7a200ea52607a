#!/usr/bin/env bash
# hl7apy 1.3.5: line breaks in a report are other text once the message was read and written.
#
# In HL7 v2 \.br\ is a line break and \X41\ a character by its number. Read and written again their
# backslashes are escaped, so the receiver sees them as letters of the text; \T\ and \F\ stay.
#
# Seen: \.br\ as \E\.br\E\ and \X41\ as \E\X41\E\.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with hl7apy==1.3.5 <<'P'
from hl7apy.parser import parse_message

lines = [
    r"MSH|^~\&|LAB|H|EHR|H|20200102030405||ORU^R01^ORU_R01|1|P|2.5",
    r"PID|1||123||Lee^Ann",
    r"OBR|1",
    r"OBX|1|TX|C^comment||first \T\ line\.br\second \X41\||||||F",
]
written = parse_message("\r".join(lines)).to_er7().split("\r")
print(written[3])
assert written[:3] == lines[:3]
assert r"first \T\ line\E\.br\E\second \E\X41\E\|" in written[3]
P
