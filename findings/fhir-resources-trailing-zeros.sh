#!/usr/bin/env bash
# fhir.resources 8.3.0: a laboratory value of 1.10 is written as 1.1, and a long one is rounded.
#
# In FHIR the digits of a decimal state how precisely it was measured, and are to be kept. Read from
# JSON and written again, zeros at the end are gone, though 3.0 stays 3.0, and a number of 19 digits
# is another one.
#
# Seen: 1.10 as 1.1, 0.30 as 0.3, 3.0 as 3.0, 100000000000000000.5 as 100000000000000000.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with fhir.resources==8.3.0 <<'P'
import re
from fhir.resources.R4B.observation import Observation

TEXT = '{"resourceType": "Observation", "status": "final", "code": {"text": "potassium"},'
TEXT += '"valueQuantity": {"value": %s, "unit": "mmol/L"}}'


def written(value):
    """A value after reading and writing."""
    text = Observation.model_validate_json(TEXT % value).model_dump_json()
    return re.search(r'"value":([^,]*),', text)[1]


seen = {value: written(value) for value in ("1.10", "0.30", "3.0", "100000000000000000.5")}
print(seen)
assert list(seen.values()) == ["1.1", "0.3", "3.0", "100000000000000000"]
P
