#!/usr/bin/env bash
# frictionless 5.21.0: a value that is no category of its column, or a key that is there twice, is valid.
#
# Version 2 of Data Package lets a field list its categories and a schema its uniqueKeys. Both are
# accepted in a descriptor; neither is looked at when a file is validated.
#
# Seen: valid, without an error, for both; a constraint enum and a primaryKey are checked.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with frictionless==5.21.0 <<'P'
import json
from pathlib import Path
from frictionless import validate

def is_valid(field, **schema):
    """Whether a column of the values x, z, z is valid by a schema."""
    Path("d.csv").write_text("a,b\nx,1\nz,2\nz,3\n")
    fields = [{"name": "a", "type": "string", **field}, {"name": "b", "type": "integer"}]
    resource = {"name": "d", "path": "d.csv", "schema": {"fields": fields, **schema}}
    package = {"$schema": "https://datapackage.org/profiles/2.0/datapackage.json", "name": "p", "resources": [resource]}
    Path("p.json").write_text(json.dumps(package))
    return validate("p.json").valid

found = {
    "categories": is_valid({"categories": ["x", "y"]}),
    "enum": is_valid({"constraints": {"enum": ["x", "y"]}}),
    "uniqueKeys": is_valid({}, uniqueKeys=[["a"]]),
    "primaryKey": is_valid({}, primaryKey=["a"]),
}
print(found)
assert found == {"categories": True, "enum": False, "uniqueKeys": True, "primaryKey": False}
P
