#!/usr/bin/env bash
# crowds 0.0.1: the second table that is anonymized in a process comes back as the first.
#
# The strategies that were found are kept from one call to the next, each with its table. If one of
# an earlier table loses less, it is taken, and the records of that table are returned; with
# another k they are all suppressed.
#
# Seen: asked to anonymize a ward of six people, it returns the four of the ward before, and for
# k = 6 no record, where a process of its own returns all six.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with crowds==0.0.1 pandas==2.3.3 numpy==2.4.6 <<'P'
import subprocess
import sys

PROGRAM = """
import pandas as pd
from crowds.kanonymity.generalizations import GenRule
from crowds.kanonymity.ola import anonymize

wards = {
    "north": pd.DataFrame({"age": [20, 20, 30, 30], "person": list("abcd")}),
    "south": pd.DataFrame({"age": [31, 32, 33, 34, 61, 63], "person": list("uvwxyz")}),
}
seen = []
for ward, k in ASKED:
    rules = {"age": GenRule([lambda age: age // 10 * 10])}
    seen.append("".join(anonymize(wards[ward], rules, k=k)[0].person))
print(seen)
"""


def people(*asked):
    """Who is in the tables that a process of its own returns."""
    command = [sys.executable, "-W", "ignore", "-c", f"ASKED = {asked!r}\n{PROGRAM}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


print(people(("north", 2), ("south", 2), ("south", 6)), people(("south", 2)), people(("south", 6)))
assert people(("north", 2), ("south", 2), ("south", 6)) == "['abcd', 'abcd', '']"
assert people(("south", 2)) == people(("south", 6)) == "['uvwxyz']"
P
