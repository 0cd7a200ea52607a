"""What a leaked file tells of where it comes from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from sfumato.engine.core.wording import Sentence, joined, listed
from sfumato.engine.disclosure.mixed_files import (
    MixingRule,
)
from sfumato.engine.disclosure.tracing import (
    FALSE_ALARM,
    Suspect,
    TracedLeak,
)
from sfumato.formats.choices import cautions_first
from sfumato.formats.notes import Note
from sfumato.project.verification.leak_candidates import LeakCandidate
from sfumato.project.verification.recognition import PseudonymMatch
from sfumato.project.withdrawal import still_counted

_NEARLY_NONE: Final = 1e-6
NEARLY_ALL: Final = 0.99
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
