"""A small categorical attribute for the tests of mechanisms."""

import numpy as np

from sfumato.engine.core.columns import Domain, Kind
from sfumato.engine.core.progress import Silent
from sfumato.engine.mechanisms.base import Released, ReleaseRequest
from sfumato.engine.randomness.keys import KeyRing
from sfumato.engine.randomness.record_ids import record_ids_by_position
from sfumato.engine.table.table import Attribute, EncodedColumn

KEYS = KeyRing(bytes(range(32)))


def column_of(counts, name="Disease", values=("SARS", "HIV", "H1N1", "cancer", None)):
    """Return an encoded column in which each value occurs as often as `counts` says, mixed."""
    codes = np.repeat(np.arange(len(counts), dtype=np.uint8), counts)
    codes = codes[np.random.default_rng(3).permutation(len(codes))]
    domain = Domain(tuple(values[: len(counts)]))
    attribute = Attribute(name, Kind.CATEGORICAL, domain, np.array(counts, dtype=np.int64))
    return EncodedColumn(attribute, codes)


def request_for(column, settings, level, keys=KEYS):
    ids = record_ids_by_position(len(column.values))
    return ReleaseRequest((column,), settings, level, ids, keys)


def released(mechanism, request):
    return Released(request.level, mechanism.release(request, Silent()))
