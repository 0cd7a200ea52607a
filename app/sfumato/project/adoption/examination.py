"""Looking into an earlier release and finding out what it is, before it is adopted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.columns import Value
from sfumato.engine.core.errors import SfumatoError
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part, one_by_one
from sfumato.engine.core.wording import Sentence
from sfumato.engine.mechanisms.adoption import LevelFound, covered_by_all
from sfumato.engine.mechanisms.base import Adopted, Check, Settings
from sfumato.engine.table.table import EncodedColumn
from sfumato.formats.bundles.contents import KEYED_ORDER
from sfumato.formats.bundles.packages import row_order_beside
from sfumato.formats.files import digest_of
from sfumato.formats.options import ReadOptions
from sfumato.formats.reading import Note, detect_options, preview, sheets_of
from sfumato.project.adoption.adopt import adopting, entry_called, with_files, with_rungs
from sfumato.project.adoption.rows import (
    FileRows,
    RowsToMatch,
    column_called,
    match_rows,
    read_release,
    read_rows,
    unknown_values,
)
from sfumato.project.document.adopted_files import BY_ROWS, AdoptedFile, RowMatching, adopted_files
from sfumato.project.document.model import Document, PolicyEntry
from sfumato.project.errors import AdoptionError


@dataclass(frozen=True)
class Claim:
    """What a custodian says of an earlier release.

    Parameters
    ----------
    path
        The file.
    options
        How to read it.
    columns
        The file's column for each attribute of the entry.
    level
        Its level in the mechanism's unit; None to have it estimated.
    match
        How its rows are matched.
    values
        Domain values for texts of the file that the domain does not have, by attribute.
    holder
        Who was given it.
    """

    path: Path
    options: ReadOptions
    columns: Mapping[str, str]
    level: float | None = None
    match: RowMatching = field(default_factory=RowMatching)
    values: Mapping[str, tuple[tuple[str, Value], ...]] = field(default_factory=dict)
    holder: str = ""


@dataclass(frozen=True)
class PairFound:
    """How a release stands to one that was adopted before."""

    other: AdoptedFile
    checks: tuple[Check, ...]

    @property
    def holds(self) -> bool:
        """Whether the two form a ladder."""
        return all(check.holds for check in self.checks)


@dataclass(frozen=True)
class Examination:
    """What was found of an earlier release before it is adopted.

    Parameters
    ----------
    file
        The release as it would be adopted, with its level.
    others
        The releases adopted before it, each a rung or not as it would be from then on.
    found
        The level it seems to have.
    checks
        Whether it is what the mechanism makes at its level.
    pairs
        How it stands to each release that was adopted before.
    damage
        What the holders know together, where the releases form no ladder.
    spare
        How many rows of the file belong to no record.
    notes
        What the reader remarked on the file.

    How many records the file has is told by the `part` of `file`.
    """

    file: AdoptedFile
    others: tuple[AdoptedFile, ...]
    found: LevelFound
    checks: tuple[Check, ...]
    pairs: tuple[PairFound, ...] = ()
    damage: tuple[str, ...] = ()
    spare: int = 0
    notes: tuple[Note, ...] = ()

    def with_file(self, file: AdoptedFile) -> Examination:
        """Return it about the same release, told of otherwise."""
        return replace(self, file=file)


def examine(
    document: Document,
    key: str,
    claim: Claim,
    columns: Sequence[EncodedColumn],
    table: RowsToMatch,
    context: Context,
    folders: Sequence[Path] = (),
) -> Examination:
    """Read an earlier release and find out what it is. Nothing is changed.

    Parameters
    ----------
    document
        What is decided so far.
    key
        The policy entry's key.
    claim
        What is said of the release.
    columns
        The entry's attributes, encoded.
    table
        The source table's rows.
    context
        Progress and cancelling.
    folders
        Where files adopted before are looked for that are not in their places.

    Raises
    ------
    AdoptionError
        If the entry's mechanism adopts nothing, or the file does not match the table, is the
        original or noise, or was adopted before.
    LevelError
        If the stated level is out of range.
    FileError
        If the file can't be read.
    """
    entry = entry_called(document, key)
    mechanism = adopting(entry)
    if claim.level is not None:
        mechanism.check_adopted_level(claim.level)
    file = _file_of(claim, document, Part(context, 0.0, 0.1))
    earlier = adopted_files(entry.settings)
    _refuse_repeated(file, earlier)
    _refuse_random_order(file)
    read = read_release(file.path, claim.options, Part(context, 0.1, 0.3))
    attributes = [column.attribute for column in columns]
    rows = match_rows(file, read, attributes, table, Part(context, 0.3, 0.4))
    file = replace(file, part=rows.part)
    found = mechanism.find_level(*_common(columns, entry.settings, rows.release_of(file)))
    if claim.level is None:
        if not found.usable:
            raise _no_release(file, found)
        file = replace(file, level=found.proposal, estimated=True)
    known = _others(earlier, columns, table, Part(context, 0.4, 0.7), folders, document)
    judged = _judged(entry, file, rows, known, found, columns, Part(context, 0.7, 1.0))
    return replace(judged, notes=read.notes)


def adopt(document: Document, key: str, examination: Examination) -> Document:
    """Return the document with an examined release adopted."""
    return with_files(document, key, (*examination.others, examination.file))


def _file_of(claim: Claim, document: Document, context: Context) -> AdoptedFile:
    path = Path(claim.path).absolute()
    match, source = claim.match, document.source
    if match.by == BY_ROWS:
        match = replace(match, source=source.digest if source is not None else "")
    return AdoptedFile(
        file=str(path),
        digest=digest_of(path, context),
        options=claim.options.to_dict(),
        columns=dict(claim.columns),
        level=claim.level if claim.level is not None else 0.0,
        match=match,
        values=dict(claim.values),
        holder=claim.holder.strip(),
    )


def _refuse_repeated(file: AdoptedFile, earlier: Iterable[AdoptedFile]) -> None:
    for other in earlier:
        if other.digest == file.digest and other.columns == file.columns:
            raise AdoptionError(
                "{file} was adopted already, as the release to {holder}.",
                "Name all who hold it there, or choose another file.",
                file=file.path.name,
                holder=other.called,
            )


def _refuse_random_order(file: AdoptedFile) -> None:
    """Refuse to match a bundle of another project row by row, where its order is its own."""
    if file.match.by == BY_ROWS and row_order_beside(file.path) == KEYED_ORDER:
        raise AdoptionError(
            "{file} is a release that Sfumato made, and its rows stand in a random order of their"
            " own, so they can't be matched by their order.",
            "Match by a key column. Where the release has none, let the project that made it"
            " release once more with the rows as in the table, for you alone.",
            file=file.path.name,
        )


def _no_release(file: AdoptedFile, found: LevelFound) -> AdoptionError:
    return AdoptionError(
        "{file} is no perturbed release of this column. {finding}",
        "Check the column, and whether its rows are in the table's order; match by a key column"
        " where they are not.",
        file=file.path.name,
        finding=found.finding,
    )


def _others(
    earlier: Sequence[AdoptedFile],
    columns: Sequence[EncodedColumn],
    table: RowsToMatch,
    context: Context,
    folders: Sequence[Path],
    document: Document,
) -> list[tuple[AdoptedFile, Adopted]]:
    source = document.source.digest if document.source is not None else ""
    attributes, found = [c.attribute for c in columns], []
    for other, part in one_by_one(context, earlier):
        rows = read_rows(other, attributes, table, part, folders, source)
        found.append((other, rows.release_of(other)))
    return found


def _judged(
    entry: PolicyEntry,
    file: AdoptedFile,
    rows: FileRows,
    known: Sequence[tuple[AdoptedFile, Adopted]],
    found: LevelFound,
    columns: Sequence[EncodedColumn],
    context: Context,
) -> Examination:
    mechanism, settings = adopting(entry), entry.settings
    release = rows.release_of(file)
    context.report(0.0, "Examining the release")
    checks = mechanism.check_adopted(*_common(columns, settings, release))
    if not found.usable and not all(check.holds for check in checks):
        raise _no_release(file, found)
    pairs = []
    for place, (other, other_release) in enumerate(known):
        context.report(0.5 * place / len(known), "Examining it beside the others")
        beside = _check_beside(entry, columns, (file, release), (other, other_release))
        pairs.append(PairFound(other, beside))
    file = replace(
        file,
        sound=all(check.holds for check in checks),
        apart=tuple(pair.other.digest for pair in pairs if not pair.holds),
    )
    damage: tuple[str, ...] = ()
    if not all(pair.holds for pair in pairs):
        releases = [release, *(other for _, other in known)]
        damage = _damage(entry, columns, releases, Part(context, 0.5, 1.0))
    everything = with_rungs([file, *(other for other, _ in known)], mechanism)
    file = next(one for one in everything if one.digest == file.digest)
    others = tuple(one for one in everything if one is not file)
    context.report(1.0, "Examined")
    return Examination(file, others, found, checks, tuple(pairs), damage, rows.spare)


def _common(
    columns: Sequence[EncodedColumn], settings: Settings, *releases: Adopted
) -> tuple[Any, ...]:
    """Return columns, settings and releases for the records that all of the releases have."""
    covered = covered_by_all(releases)
    if covered is None:
        return columns, settings, *releases
    here = [EncodedColumn(column.attribute, column.values[covered]) for column in columns]
    return here, settings, *(replace(one.at(covered), covered=None) for one in releases)


def _check_beside(
    entry: PolicyEntry,
    columns: Sequence[EncodedColumn],
    one: tuple[AdoptedFile, Adopted],
    other: tuple[AdoptedFile, Adopted],
) -> tuple[Check, ...]:
    """Test whether two releases form a ladder, in the records that both of them have."""
    mechanism = adopting(entry)
    upper, lower = sorted((one, other), key=lambda pair: -mechanism.trust(pair[1].level))
    common = covered_by_all((one[1], other[1]))
    if common is not None and not common.any():
        return (Check("Other records", True, "The two have no record in common."),)
    found = _common(columns, entry.settings, upper[1], lower[1])
    if one[1].level == other[1].level:
        return (_same_level(one[0], other[0], *found[2:]),)
    return mechanism.check_adopted_pair(*found)


def _damage(
    entry: PolicyEntry,
    columns: Sequence[EncodedColumn],
    releases: Sequence[Adopted],
    context: Context,
) -> tuple[str, ...]:
    """Say what the holders of all releases know together of the records that all of them have."""
    common = covered_by_all(releases)
    if common is not None and not common.any():
        return ("No record is in all of the files, so nobody was counted who holds them all.",)
    here, settings, *found = _common(columns, entry.settings, *releases)
    return adopting(entry).describe_damage(here, settings, found, context)


def _same_level(
    file: AdoptedFile, other: AdoptedFile, release: Adopted, other_release: Adopted
) -> Check:
    """Return the check for two releases of one level; refuse one that is a copy."""
    differing = sum(
        _differing(values, other_release.values[name]) for name, values in release.values.items()
    )
    title = "One level, one release"
    if differing:
        words = Sentence(
            "Both are said to have the same level, and they differ in {differing:,}"
            " {differing:value|values}.",
            differing=differing,
        )
        return Check(title, False, words)
    if file.part is None and other.part is None:
        raise AdoptionError(
            "{file} shows the same values as the release to {holder}, which was adopted already.",
            "Name all who hold it there.",
            file=file.path.name,
            holder=other.called,
        )
    return Check(title, True, "Both show the same of the records that both have.")


def _differing(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> int:
    """Count the values that differ; what is missing in both does not (it is unlike itself)."""
    differing = one != other
    if one.dtype.kind == "f":
        differing &= ~(np.isnan(one) & np.isnan(other))
    return int(differing.sum())


MOST_UNKNOWN = 40
"""With more values than this that the domain does not have, it is the wrong column."""


@dataclass(frozen=True)
class OpenedFile:
    """A file that was looked into.

    Parameters
    ----------
    path
        The file.
    options
        How it is read.
    sheets
        The tables in it, where it can hold several.
    columns
        The names of its columns; none where it can't be read like this.
    problem
        Why it can't.
    """

    path: Path
    options: ReadOptions
    sheets: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    problem: SfumatoError | None = None


@dataclass(frozen=True)
class ExaminationResult:
    """What came of examining a claim: findings, or why there are none.

    Parameters
    ----------
    examination
        What was found; None where there was a problem.
    problem
        Why the release can't be adopted as it is claimed.
    unknown
        For an attribute, the file's values that its domain does not have; the custodian can
        say what they mean. They are shown to the custodian, and kept nowhere else.
    """

    examination: Examination | None = None
    problem: SfumatoError | None = None
    unknown: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)


def open_file(path: Path, chosen: ReadOptions | None, context: Context) -> OpenedFile:
    """Look into a file, as it is most likely meant or as somebody has chosen."""
    context.report(0.0, "Looking into the file")
    # A release has as many rows as its table, whatever they still hold.
    options = detect_options(path, {"keep_blank_rows": True}) if chosen is None else chosen
    sheets = sheets_of(path)
    try:
        columns = preview(path, options).columns
    except SfumatoError as problem:  # other options may help
        return OpenedFile(path, options, sheets, problem=problem)
    return OpenedFile(path, options, sheets, columns)


def look(
    document: Document,
    key: str,
    claim: Claim,
    columns: Sequence[EncodedColumn],
    table: RowsToMatch,
    folders: Sequence[Path],
    context: Context,
) -> ExaminationResult:
    """Examine a claim; where values don't fit the domain, find out which."""
    try:
        found = examine(document, key, claim, columns, table, Part(context, 0.0, 0.9), folders)
    except AdoptionError as problem:
        return ExaminationResult(None, problem, _unknown(claim, columns, Part(context, 0.9, 1.0)))
    except SfumatoError as problem:
        return ExaminationResult(None, problem)
    return ExaminationResult(found)


def _unknown(
    claim: Claim, columns: Sequence[EncodedColumn], context: Context
) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    with suppress(SfumatoError):
        read = read_release(claim.path, claim.options, context)
        for column in columns:
            name, domain = column.attribute.name, column.attribute.domain
            if domain is not None:
                there = column_called(claim.columns[name], read.columns)
                parts = read.parts((there,), context)
                strange = unknown_values(domain, (part.column(there) for part in parts))
                if 0 < len(strange) <= MOST_UNKNOWN:
                    found[name] = strange
    return found
