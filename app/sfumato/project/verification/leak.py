"""Tracing a leak: which releases a file comes from that was found somewhere.

The file may be a whole release or some of its rows, in another order, with columns missing or
added, altered here and there, or put together from several recipients' files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import field, replace
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.progress import Context, Part
from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.mixed_files import (
    MixingRule,
)
from sfumato.engine.disclosure.tracing import (
    FALSE_ALARM,
    LeakCounts,
    Suspect,
    TracedLeak,
    trace_leak,
)
from sfumato.engine.table.table import Table
from sfumato.formats.bundles import DATAPACKAGE_NAME
from sfumato.formats.bundles.packages import bundle_at, lone_file
from sfumato.formats.bundles.reading import read_bundle
from sfumato.formats.choices import cautions_first
from sfumato.formats.files import is_folder
from sfumato.formats.formulas import undone_if_escaped
from sfumato.formats.notes import Note
from sfumato.formats.options import BadValues
from sfumato.formats.reading import detect_options, read_file
from sfumato.project.errors import NotTraceable
from sfumato.project.project_file import ProjectFile
from sfumato.project.release.batched_table import BatchedTable
from sfumato.project.verification.leak_candidates import (
    LeakCandidate,
    candidates_of,
    released_names,
)
from sfumato.project.verification.leak_columns import match_columns
from sfumato.project.verification.leak_comparison import LeakComparison, LeakRows
from sfumato.project.verification.recognition import PseudonymMatch, pseudonym_matches
from sfumato.project.withdrawal import still_counted

NEARLY_ALL: Final = 0.99


def read_leak(
    path: Path, context: Context, tell: Callable[[Note], object] = lambda _: None
) -> Table:
    """Read a file that was found: a bundle, or a table in any readable format, zipped or not.

    Parameters
    ----------
    path, context
        The file, and progress.
    tell
        Called with each remark on what was read of a table: what is left out is not traced.

    Raises
    ------
    FileError
        If it can't be read.
    """
    bundle = path.parent if path.name == DATAPACKAGE_NAME else path
    if is_folder(bundle) or bundle_at(path) == path:
        return read_bundle(bundle, context, accept_altered=True).table
    with lone_file(path, context) as file:
        # A coarsened column may hold years and "*": what does not fit its type makes it text.
        options = replace(detect_options(file), bad_values=BadValues.TEXT, keep_blank_rows=True)
        found = read_file(file, options, context)
    for note in found.notes:
        # What could mean a missing value matters where figures are made.
        if not any(way.options.column_missing for way in note.ways):
            tell(note)
    return undone_if_escaped(found.table)


def trace_file(
    project: ProjectFile, table: BatchedTable, leak: Table, context: Context
) -> LeakReport:
    """Say which of a project's releases a leaked table comes from.

    Parameters
    ----------
    project
        The project; read-only is enough.
    table
        The source table, as the project's source was read.
    leak
        The table that was found.
    context
        Progress and cancelling.

    Raises
    ------
    NotTraceable
        If there is no release to compare with, or the file has no column that differs
        between releases.
    SfumatoError
        If a row does not fit a policy in force, too many are like leaked ones, or groups of
        records can't be drawn in parts.
    """
    sources = LeakRows(project, table, Part(context, 0.0, 0.3))
    return _traced(project, sources, leak, Part(context, 0.3, 1.0))


def _traced(project: ProjectFile, sources: LeakRows, leak: Table, context: Context) -> LeakReport:
    """Compare the file with all rows; see `trace_file`."""
    policies = sources.policies
    candidates = candidates_of(project.releases, policies)
    if not candidates:
        raise NotTraceable(
            "There is no release of this table that the file could come from.",
            "Make a release first, or open the project that the file may have been made with.",
        )
    first = Part(context, 0.0, 0.1)
    pseudonyms = pseudonym_matches(
        leak, sources.parts, project.releases, policies, project.keys, first
    )
    perturbed = {name for candidate in candidates for p in candidate.plans for name in p.attributes}
    if not perturbed and not pseudonyms:
        raise NotTraceable(
            "No release of this project has a perturbed column or a pseudonym, so all of them look"
            " the same.",
            "Only releases with such columns can be traced.",
        )
    known = {match.column for match in pseudonyms}
    matched = _matched(leak, known, perturbed, candidates, sources, Part(context, 0.1, 0.2))
    names = leak.columns
    leak = replace(leak, frame=leak.frame.rename(columns=matched))
    telling = [name for name in leak.columns if name in perturbed]
    if not telling and not pseudonyms:
        raise NotTraceable(
            "The file has none of the perturbed columns ({columns}), neither by its name nor,"
            " clearly, by its contents, so every release of this project looks the same in it.",
            "If columns were renamed, give them the names that they were released under.",
            columns=", ".join(sorted(perturbed)),
        )
    traced = TracedLeak((), mixed=False, altered=0.0, rows=leak.rows)
    compared: tuple[str, ...] = ()
    if telling:
        source = sources.like(leak, telling, candidates, Part(context, 0.2, 0.6))
        comparison = LeakComparison(leak, source, telling)
        counts, compared = comparison.counts(Part(context, 0.6, 0.8))
        traced = _weighed(comparison, counts, Part(context, 0.8, 1.0))
    told = {*compared, *known}
    is_told = {name: matched.get(name, name) in told for name in names}
    return LeakReport(
        candidates,
        traced,
        tuple(name for name in names if is_told[name]),
        tuple(name for name in names if not is_told[name]),
        pseudonyms,
        {name: of for name, of in matched.items() if is_told[name]},
    )


def _weighed(comparison: LeakComparison, counts: LeakCounts, context: Context) -> TracedLeak:
    """Say whom the counted rows name, beside releases of the same law that nobody was given."""
    drawn: dict[int, list[npt.NDArray[np.int64]]] = {}
    while True:
        beside = counts.beside({place: those for place, those in drawn.items() if those})
        traced = trace_leak(beside, context)
        if len(traced.sources) != 1 and traced.of_table < NEARLY_ALL:
            traced = comparison.mixed(traced, beside, context)
        named = {place for source in traced.sources for place in source.candidates}
        if named <= drawn.keys():
            return traced
        for place in sorted(named - drawn.keys()):
            drawn[place] = comparison.drawn_otherwise(place, context)


def _matched(
    leak: Table,
    known: Collection[str],
    perturbed: Collection[str],
    candidates: tuple[LeakCandidate, ...],
    sources: LeakRows,
    context: Context,
) -> dict[str, str]:
    """Return which released columns those are that the file has under other names."""
    released = released_names(candidates)
    missing = [name for name in released if name not in leak.columns]
    other = [name for name in leak.columns if name not in {*released, *known}]
    if not other or not missing:
        return {}
    part = replace(leak, frame=leak.frame[other])
    return match_columns(part, perturbed, missing, sources.shown(missing, candidates, context))


_NEARLY_NONE: Final = 1e-6
_HOW: Final = {
    MixingRule.AVERAGE: "by averaging their values",
    MixingRule.LOWER: "by taking the lower value each time",
    MixingRule.HIGHER: "by taking the higher value each time",
    MixingRule.VOTE: "by taking the value that most of them have",
    MixingRule.ANY: "by taking each value from one of them",
}


@dataclass(frozen=True)
class LeakReport:
    """What a leaked file tells of where it comes from.

    Parameters
    ----------
    candidates
        The releases it was compared with; `Suspect.candidates` are places among them.
    traced
        What speaks for each of them.
    compared
        The columns that were compared.
    ignored
        The file's columns that were recognized as none of a release's.
    pseudonyms
        This project's pseudonyms that stand in the file.
    matched
        The released columns that columns of the file are by their contents, by their names in it.
    remarks
        The cautions of whoever read the file: what is said of it may be of a part alone.
    """

    candidates: tuple[LeakCandidate, ...]
    traced: TracedLeak
    compared: tuple[str, ...]
    ignored: tuple[str, ...]
    pseudonyms: tuple[PseudonymMatch, ...] = ()
    matched: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()

    @property
    def is_traced(self) -> bool:
        """Whether the file names anyone."""
        return bool(self.traced.sources or self.pseudonyms)

    def name_of(self, suspect: Suspect) -> str:
        """Return the recipients of a suspect."""
        names = [r for place in suspect.candidates for r in self.candidates[place].recipients]
        return ", ".join(dict.fromkeys(names))

    @property
    def withdrawn(self) -> str:
        """Which of the releases it comes from were withdrawn; empty for none."""
        places = {place for source in self.traced.sources for place in source.candidates}
        return still_counted(
            record for place in sorted(places) for record in self.candidates[place].records
        )

    def beside(self, notes: Iterable[Note]) -> LeakReport:
        """Return the report with the cautions among the remarks on how the file was read."""
        return replace(self, remarks=tuple(n.sentence for n in cautions_first(notes) if n.caution))

    @property
    def matches(self) -> str:
        """Which columns were renamed, as far as their contents show it; empty for none."""
        if not self.matched:
            return ""
        return Sentence(
            "Matched by their contents, as the file has other names for them: {pairs}. The match"
            " depends on the table and not on what was drawn, so it names an innocent recipient no"
            " more often than equal names do: in at most 1 of {files:,} {files:file|files} of other"
            " origin.",
            pairs=listed(
                [
                    Sentence("{name} is {released}", name=name, released=released)
                    for name, released in self.matched.items()
                ]
            ),
            files=round(1 / FALSE_ALARM),
        )

    @property
    def verdict(self) -> str:
        """Where the file comes from: what its pseudonyms say, and what its values do."""
        pseudonyms = [match.sentence for match in self.pseudonyms]
        return joined(*pseudonyms, self._verdict_on_values)

    @property
    def _verdict_on_values(self) -> str:
        sources, rows = self.traced.sources, self.traced.rows
        if not sources and self.traced.of_table > 0.0:
            return self._verdict_on_the_table
        if not sources and not self.traced.suspects:
            return Sentence("The file has no perturbed column, so nothing else was compared.")
        if not sources:
            return Sentence(
                "The values of the file's {rows:,} {rows:row don't|rows don't} tell which release"
                " they come from: what speaks for any of them could be chance.",
                rows=rows,
            )
        if len(sources) == 1:
            doubt = 1.0 - sources[0].posterior
            return Sentence(
                "The {rows:,} {rows:row comes|rows come} from the release to {name}. The"
                " probability that it is another one of this project is {doubt:.1g}."
                if doubt > _NEARLY_NONE
                else "The {rows:,} {rows:row comes|rows come} from the release to {name}. The"
                " probability that it is another one of this project is less than {doubt:.6f}.",
                rows=rows,
                name=self.name_of(sources[0]),
                doubt=max(doubt, _NEARLY_NONE),
            )
        if self.traced.rule is not None:
            return Sentence(
                "The {rows:,} {rows:row was|rows were} mixed from the releases to {names} {how}.",
                rows=rows,
                names=listed([self.name_of(source) for source in sources]),
                how=Sentence(_HOW[MixingRule(self.traced.rule)]),
            )
        parts = [
            Sentence("{name} ({share:.0%})", name=self.name_of(source), share=source.share)
            for source in sources
        ]
        return Sentence(
            "The {rows:,} rows are a mixture of {count:,} releases: {parts}.",
            rows=rows,
            count=len(sources),
            parts=listed(parts),
        )

    @property
    def _verdict_on_the_table(self) -> str:
        """What is said of rows that are explained by the source table without any release."""
        rows, share = self.traced.rows, self.traced.of_table
        if share >= NEARLY_ALL:
            return Sentence(
                "The {rows:,} {rows:row is|rows are} the source table's own, as no recipient was"
                " given them.",
                rows=rows,
            )
        return Sentence(
            "The {rows:,} {rows:row comes|rows come} from no release of this project. {share:.0%}"
            " are rows of the source table itself: a perturbation of it that this project did not"
            " make looks like that.",
            rows=rows,
            share=share,
        )
