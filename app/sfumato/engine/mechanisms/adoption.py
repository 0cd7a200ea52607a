"""What a mechanism offers that takes earlier releases, made elsewhere, onto its ladder.

Settings tell of earlier releases made elsewhere as plain JSON. Under ``"adopted"`` stands a list
with one mapping for each earlier release; what the engine needs of it is its trust level, the
digest of its file, how its rows and values are matched to the table, and whether it is a rung:
further levels are fitted between rungs. A release that is no rung (it does not fit the others) is
kept beside the ladder, so that nobody forgets who holds it.

An earlier release may have some of the records only. A record's releases are a function of its own
draws and of what the known rungs show of it, and of nothing else
(`sfumato.engine.mechanisms.uniform.mechanism`,
`sfumato.engine.mechanisms.gaussian.release`). So each
record has a ladder of its own, whose known rungs are the earlier releases that have it. For a
record that a release lacks, that release is no rung: between the neighbours that are left, and at
the level of the release itself, the record shows what the ordinary ladder makes of it.

Equation 2 of Xiao, Tao and Chen (VLDB 2009) then holds record by record, whichever of the earlier
releases have it, as long as whether a release has a record does not depend on what it would have
shown of it.
"""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.errors import PolicyError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.values import Flags, Indices, is_number
from sfumato.engine.mechanisms.base import Adopted, Check, Mechanism, ReleaseRequest, Settings
from sfumato.engine.mechanisms.setting_specs import SettingSource, UncheckedSpec
from sfumato.engine.table.table import EncodedColumn


@dataclass(frozen=True)
class LevelFound:
    """The level that an earlier release seems to have.

    Parameters
    ----------
    level
        The best estimate, in the mechanism's own unit.
    low, high
        A 95 % interval.
    proposal
        The roundest level within the interval.
    usable
        Whether the release is neither the original nor unrelated to the table.
    finding
        What was counted, in plain words.
    """

    level: float
    low: float
    high: float
    proposal: float
    usable: bool
    finding: str


class Adopting(Mechanism):
    """A mechanism that examines earlier releases, and fits further levels between them.

    Each examination is given the policy entry's columns and settings.
    """

    adopts = True

    @abstractmethod
    def check_adopted_level(self, level: float) -> None:
        """Raise `LevelError` where an earlier release can't have had this level."""

    @abstractmethod
    def find_level(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> LevelFound:
        """Estimate the level of a release, whatever level it states."""

    @abstractmethod
    def check_adopted(
        self, columns: Sequence[EncodedColumn], settings: Settings, release: Adopted
    ) -> tuple[Check, ...]:
        """Test whether a release is what this mechanism makes at its level."""

    @abstractmethod
    def check_adopted_pair(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        upper: Adopted,
        lower: Adopted,
    ) -> tuple[Check, ...]:
        """Test whether the less trusted of two releases is a garbling of the other."""

    @abstractmethod
    def describe_damage(
        self,
        columns: Sequence[EncodedColumn],
        settings: Settings,
        releases: Sequence[Adopted],
        context: Context,
    ) -> tuple[str, ...]:
        """Say what the holders of releases that form no ladder already know together."""


ADOPTED: Final = "adopted"
"""The setting's name."""

ADOPTED_SPEC: Final = UncheckedSpec(
    name=ADOPTED,
    title="Adopted releases",
    gloss="the earlier releases that the ladder goes on from, or stands beside",
    source=SettingSource.ELSEWHERE,
)

PART: Final = "part"
"""Tells of an earlier release that it has some of the records only."""

_OF_THE_LADDER: Final = ("level", "digest", "columns", "match", "values", "options")
"""What decides about the values of an adopted release. Where its file stands does not."""

_TEXTS: Final = ("digest", "file")


def adopted_in(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """Return what settings tell of adopted releases, rungs and others."""
    return tuple(settings.get(ADOPTED, ()))


def rungs_in(settings: Settings) -> tuple[Mapping[str, Any], ...]:
    """Return what settings tell of the adopted releases that further levels are fitted between."""
    return tuple(one for one in adopted_in(settings) if one.get("rung", True))


def adopted_part(settings: Settings) -> Settings:
    """Return what settings tell of adopted releases, without the other settings."""
    return {name: value for name, value in settings.items() if name == ADOPTED}


def without_adopted(settings: Settings) -> Settings:
    """Return the settings without what they tell of adopted releases."""
    return {name: value for name, value in settings.items() if name != ADOPTED}


def adopted_identity(settings: Settings) -> list[str]:
    """Return what a ladder's identity must cover of its adopted rungs, as texts.

    Empty where nothing was adopted, in whatever order the releases were adopted the same, and
    the same wherever their files stand.
    """
    return sorted(
        json.dumps({name: rung[name] for name in _OF_THE_LADDER if name in rung}, sort_keys=True)
        for rung in rungs_in(settings)
    )


def check_adopted_settings(settings: Settings) -> None:
    """Refuse settings that do not tell properly of adopted releases.

    Raises
    ------
    PolicyError
        If something is missing, or two different releases are said to have one level.
    """
    given = settings.get(ADOPTED, ())
    if not isinstance(given, list | tuple) or not all(isinstance(one, Mapping) for one in given):
        raise _not_readable()
    for one in given:
        if not is_number(one.get("level")):
            raise _not_readable()
        if not all(isinstance(one.get(name), str) for name in _TEXTS):
            raise _not_readable()
        if not isinstance(one.get("columns"), Mapping):
            raise _not_readable()
    _check_levels(rungs_in(settings))


def check_adopted_rows(settings: Settings, adopted: Iterable[Adopted]) -> None:
    """Refuse to release beside adopted releases whose rows were not handed over, or other ones.

    Raises
    ------
    ValueError
        If a caller left them out: the release would leave the ladder unseen.
    """
    expected = sorted({float(rung["level"]) for rung in rungs_in(settings)})
    if expected != sorted({one.level for one in adopted}):
        raise ValueError("the adopted releases are not those that the settings tell of")


def _check_levels(rungs: Iterable[Mapping[str, Any]]) -> None:
    seen: dict[float, str] = {}
    for rung in rungs:
        level = float(rung["level"])
        if rung.get(PART) is not None:
            continue  # it may have other records than the others; its rows decide
        if seen.setdefault(level, rung["digest"]) != rung["digest"]:
            raise PolicyError(
                "Two different files were adopted as rungs of the level {level:g}.",
                "A ladder has one release at a level: correct one of the levels, or keep one of"
                " the files beside the ladder.",
                level=level,
            )


def on_no_ladder(columns: str) -> PolicyError:
    """Return the error for an entry whose adopted release bars other mechanisms' ladders."""
    return PolicyError(
        "An earlier release was adopted for {columns}, which is on no ladder with others.",
        "Take the adopted release away first.",
        columns=columns,
    )


def _not_readable() -> PolicyError:
    return PolicyError(
        "What the settings tell of adopted releases can't be read.",
        "Remove the setting {name}, and adopt the releases again.",
        name=ADOPTED,
    )


def covered_by_all(releases: Sequence[Adopted]) -> Flags | None:
    """Return which records all of several releases have, shape (n,); None where that is all."""
    parts = [release.covered for release in releases if release.covered is not None]
    if not parts:
        return None
    return np.logical_and.reduce(parts)


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


def _alike(request: ReleaseRequest) -> list[tuple[Indices, tuple[Adopted, ...]]]:
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
