#!/usr/bin/env bash
# mlcroissant 1.1.1: in a column of type sc:Text the code 007 is 7.0 once a code is missing.
#
# A CSV file is read without the types that the description states, and what pandas makes of a column
# is turned into them: codes of regions lose their leading zeros, or get decimal places, and the
# texts NA and None are missing. Of type sc:Boolean, "no" is true.
#
# Seen:
#   codes 007, 012 and a missing one    b'7.0', b'12.0', None
#   codes 007, 012 and 100              b'7', b'12', b'100'
#   answers no and yes                  True, True
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
printf '%s\n' 'gaps,whole,smokes' '007,007,no' '012,012,yes' ',100,no' >people.csv
python_with mlcroissant==1.1.1 pandas==3.1.1 numpy==2.4.6 <<'P'
import hashlib
import json
import logging
import mlcroissant

logging.disable()
kinds = {"gaps": "sc:Text", "whole": "sc:Text", "smokes": "sc:Boolean"}
file = {
    "@type": "cr:FileObject",
    "@id": "people.csv",
    "contentUrl": "people.csv",
    "encodingFormat": "text/csv",
    "sha256": hashlib.sha256(open("people.csv", "rb").read()).hexdigest(),
}
fields = [
    {
        "@type": "cr:Field",
        "@id": f"people/{name}",
        "dataType": kind,
        "source": {"fileObject": {"@id": "people.csv"}, "extract": {"column": name}},
    }
    for name, kind in kinds.items()
]
words = "column data dataType extract field fileObject recordSet source"
context = {word: f"cr:{word}" for word in words.split()} | {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "conformsTo": "http://purl.org/dc/terms/conformsTo",
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
}
described = {
    "@context": context,
    "@type": "sc:Dataset",
    "name": "people",
    "conformsTo": "http://mlcommons.org/croissant/1.0",
    "distribution": [file],
    "recordSet": [{"@type": "cr:RecordSet", "@id": "people", "field": fields}],
}
with open("people.json", "w") as out:
    json.dump(described, out)
rows = list(mlcroissant.Dataset("people.json").records("people"))
seen = {name: [row[f"people/{name}"] for row in rows] for name in kinds}
for name, values in seen.items():
    print(kinds[name], values)
assert seen["gaps"] == [b"7.0", b"12.0", None]
assert seen["whole"] == [b"7", b"12", b"100"]
assert seen["smokes"] == [True, True, True]
P
