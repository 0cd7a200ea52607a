#!/usr/bin/env bash
# frictionless 5.21.0 and tableschema 1.21.0: integers with separators are read the wrong way round.
#
# A field's groupChar (version 2 of Data Package) is not heeded for integers: 1.234.567 is refused.
# And 1_234, which no specification allows, is read as 1,234, since Python reads it so: a code with
# an underscore loses it.
#
# Seen: an error for 1.234.567 with groupChar, none and 1234 for 1_234, in both libraries.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with frictionless==5.21.0 tableschema==1.21.0 <<'P'
import frictionless
import tableschema

def cast(text, **field):
    """Return what both libraries read; None for an error."""
    described = {"name": "a", "type": "integer", **field}
    first, _ = frictionless.Field.from_descriptor(described).read_cell(text)
    try:
        second = tableschema.Field(described).cast_value(text)
    except tableschema.exceptions.CastError:
        second = None
    return first, second

found = [cast("1.234.567", groupChar="."), cast("1_234")]
print(found)
assert found == [(None, None), (1234, 1234)]
P
