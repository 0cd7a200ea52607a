#!/usr/bin/env bash
# presidio-structured 0.0.10: people of two tables put together share a pseudonym.
#
# Values are replaced by row label. Where tables were put together with pandas, which keeps their
# labels, each label is there twice, and both rows are replaced at once, twice over: who is first in
# one ward gets the pseudonym of who is first in the other, and it is not the one that they have
# elsewhere.
#
# Seen: two pseudonyms for four people, and four others where the rows are numbered anew.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
python_with presidio-structured==0.0.10 presidio-anonymizer==2.2.366 pandas==2.3.3 numpy==2.4.6 <<'P'
import pandas as pd
from presidio_anonymizer.entities import OperatorConfig
from presidio_structured import StructuredAnalysis, StructuredEngine

hashing = {"PERSON": OperatorConfig("hash", {"salt": "0123456789abcdef0123456789abcdef"})}


def pseudonyms(table):
    """What stands for each name."""
    engine, names = StructuredEngine(), StructuredAnalysis(entity_mapping={"name": "PERSON"})
    return [text[:8] for text in engine.anonymize(table.copy(), names, hashing).name]


north, south = (pd.DataFrame({"name": names}) for names in (["Ann", "Bob"], ["Cid", "Dee"]))
together = pd.concat([north, south])
shared, own = pseudonyms(together), pseudonyms(together.reset_index(drop=True))
print(shared, own)
assert shared[:2] == shared[2:]
assert len(set(own)) == 4 and not set(own) & set(shared)
P
