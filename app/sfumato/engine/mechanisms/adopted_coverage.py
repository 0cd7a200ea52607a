"""Ladders on which an earlier release, made elsewhere, has some of the records only.

A record's releases are a function of its own draws and of what the known rungs show of it, and of
nothing else (`sfumato.engine.ladders.adopted_ladder`,
`sfumato.engine.mechanisms.gaussian.release`). So each record has a ladder of its own, whose known
rungs are the earlier releases that have it. For a record that a release lacks, that release is no
rung: between the neighbours that are left, and at the level of the release itself, the record shows
what the ordinary ladder makes of it.

Equation 2 of Xiao, Tao and Chen (VLDB 2009) then holds record by record, whichever of the earlier
releases have it, as long as whether a release has a record does not depend on what it would have
shown of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.progress import Context, Part
from sfumato.engine.mechanisms.base import Adopted, ReleaseRequest

Flags = npt.NDArray[np.bool_]


def covered_by_all(releases: Sequence[Adopted]) -> Flags | None:
    """Return which records all of several releases have, shape (n,); None where that is all."""
    parts = [release.covered for release in releases if release.covered is not None]
    if not parts:
        return None
    common: Flags = np.logical_and.reduce(parts)
    return common


def release_by_coverage(
    request: ReleaseRequest,
    release: Callable[[ReleaseRequest, Context], npt.NDArray[Any]],
    context: Context,
) -> npt.NDArray[Any]:
    """Return what is released, where earlier releases have some of the records only.

    Parameters
    ----------
    request
        For n records.
    release
        Releases records all of which the adopted releases of its request have. The last axis of
        what it returns goes over the records; what one shows must not depend on the others.
    context
        Progress and cancelling.

    Returns
    -------
    numpy.ndarray
        What `release` returns, shape (…, n).
    """
    if all(one.covered is None for one in request.adopted):
        return release(request, context)
    groups = _alike(request)
    records, done = max(len(request.record_ids), 1), 0
    shown: npt.NDArray[Any] | None = None
    for rows, adopted in groups:
        share = Part(context, done / records, (done + len(rows)) / records)
        here = release(replace(request, adopted=adopted).at(rows), share)
        if shown is None:
            shown = np.empty((*here.shape[:-1], len(request.record_ids)), dtype=here.dtype)
        shown[..., rows] = here
        done += len(rows)
    assert shown is not None, "there is one group at least, be it empty"
    return shown


def _alike(request: ReleaseRequest) -> list[tuple[npt.NDArray[np.intp], tuple[Adopted, ...]]]:
    """Return the records that the same earlier releases have, together with those releases."""
    groups = [(np.arange(len(request.record_ids)), request.adopted[:0])]
    for one in request.adopted:
        whole = replace(one, covered=None)
        parted = []
        for rows, adopted in groups:
            if one.covered is None:
                parted.append((rows, (*adopted, whole)))
                continue
            has = one.covered[rows]
            parted += [(rows[has], (*adopted, whole)), (rows[~has], adopted)]
        groups = [(rows, adopted) for rows, adopted in parted if len(rows)] or parted[:1]
    return groups
