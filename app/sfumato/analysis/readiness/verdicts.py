"""How a recipient stands: the one verdict that board, card, grid and command line tell.

A recipient is in danger where something keeps the release back: people can be found, or a promise
is empty. A release whose statistics are no use is worthless. What is to be looked at is a caution.
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum, StrEnum
from typing import Final

from sfumato.analysis.answers import Severity
from sfumato.analysis.coarsening.undone_views import UNDONE_VIEW
from sfumato.analysis.findings import APPROVAL, TOTAL_EPSILON, WORTH, About, Finding
from sfumato.analysis.readiness.readiness_checks import CLASS_SIZES
from sfumato.engine.core.frozen import dataclass
from sfumato.engine.core.wording import Sentence, formatted, listed


@dataclass(frozen=True)
class Readiness:
    """What was found for one recipient, the worst first."""

    recipient: str
    findings: tuple[Finding, ...]

    @property
    def worst(self) -> Severity:
        """How grave the gravest finding without a reason is."""
        return min(
            (
                Severity.CAUTION if one.reason and one.severity is Severity.GRAVE else one.severity
                for one in self.findings
            ),
            default=Severity.GOOD,
        )

    @property
    def worthless(self) -> tuple[Finding, ...]:
        """The findings that say that statistics of the release are of no use."""
        return tuple(one for one in self.findings if one.worthless)

    @property
    def open(self) -> tuple[Finding, ...]:
        """The findings that keep the release from being made until a reason is given."""
        return tuple(one for one in self.findings if one.is_open)

    @property
    def standing(self) -> tuple[Finding, ...]:
        """All findings that keep the release from being made.

        What contradicts earlier releases does, too; a reason for it is given with the release.
        """
        return tuple(
            one
            for one in self.findings
            if one.refuses or (one.severity is Severity.GRAVE and not one.reason)
        )


class ReleaseRisk(StrEnum):
    """What a finding is about: the columns of the grid of recipients by risks."""

    FOUND = "found"
    """Whether people can be found by what leaves unperturbed."""
    PROMISES = "promises"
    """Whether what is promised of sensitive columns holds, beside all that leaves."""
    WORTH = "worth"
    """Whether the release is of use."""
    TABLE = "table"
    """How the table is read, and what was released before."""


_FINDING_PEOPLE: Final = frozenset(
    (
        *CLASS_SIZES,
        "Linked rows",
        "Rare labels",
        "Extreme numbers",
        "View",
        "Codes among numbers",
        UNDONE_VIEW,
    )
)
"""The checks of whether people can be found."""
_OF_TABLE: Final = frozenset(("Positions", "Editions", "Released before", "Order of rows"))


def risk_of(finding: Finding) -> ReleaseRisk:
    """Return which risk a finding is about."""
    if finding.check == WORTH:
        return ReleaseRisk.WORTH
    if finding.check in _FINDING_PEOPLE:
        return ReleaseRisk.FOUND
    if finding.check in _OF_TABLE or finding.about in (About.READING, About.RELEASE):
        return ReleaseRisk.TABLE
    return ReleaseRisk.PROMISES


def grade_of(found: Readiness, risk: ReleaseRisk) -> tuple[Severity, tuple[Finding, ...]]:
    """Return how a recipient stands in a risk, and the findings that say so.

    What is worthless counts as grave here: it is told in the place of a danger. A finding with a
    reason is a caution.
    """
    own = [one for one in found.findings if risk_of(one) is risk]
    grave = [one for one in own if one in found.standing or one.worthless]
    if grave:
        return Severity.GRAVE, tuple(grave)
    cautions = [one for one in own if one.severity is not Severity.GOOD]
    return (Severity.CAUTION, tuple(cautions)) if cautions else (Severity.GOOD, tuple(own))


class Standing(IntEnum):
    """How a recipient stands; sorted, the worst first."""

    DANGER = 0
    """Something keeps the release back."""
    WORTHLESS = 1
    """Its statistics would be of no use."""
    CAUTION = 2
    """Something is to be looked at."""
    GOOD = 3
    """Checked, and nothing was found."""


@dataclass(frozen=True)
class RecipientVerdict:
    """How one recipient stands, and what says so.

    Parameters
    ----------
    recipient
        Who.
    standing
        How.
    findings
        What says so, the worst first; each only once.
    useful
        Whether some of what is randomised or coarsened tells something.
    """

    recipient: str
    standing: Standing
    findings: tuple[Finding, ...] = field(repr=False)
    useful: bool = True

    @property
    def word(self) -> str:
        """How the recipient stands in a word, wherever it is shown."""
        if self.standing is Standing.WORTHLESS:
            return Sentence("Partly worthless") if self.useful else Sentence("Worthless")
        graver = {Standing.DANGER: Severity.GRAVE, Standing.CAUTION: Severity.CAUTION}
        return graver.get(self.standing, Severity.GOOD).word

    @property
    def exposure(self) -> float:
        """The largest share of people of whom something is learned, or of guesses that are right.

        Of what says how the recipient stands; see `Finding.exposure`.
        """
        return max((one.exposure for one in self.findings), default=0.0)

    @property
    def rank(self) -> tuple[int, float, int]:
        """Sorts the worst first: by standing, then by exposure, then by how much was found."""
        return self.standing, -self.exposure, -len(self.findings)

    @property
    def sentence(self) -> str:
        """How the recipient stands, in one sentence without any value of the table."""
        count, worst = len(self.findings), next(iter(self.findings), None)
        if worst is None or self.standing is Standing.GOOD:
            return Sentence("Nothing that was checked speaks against this release.")
        if self.standing is Standing.WORTHLESS:
            names = tuple(dict.fromkeys(one.columns[0] for one in self.findings if one.columns))
            # Of people it may tell much: of few records, shares are unsure however many are true.
            return Sentence(
                "Statistics of {columns} can hardly be estimated from this release.",
                columns=listed(names),
            )
        if self.standing is Standing.CAUTION:
            return Sentence(
                "It can be released; {count} {count:thing is|things are} to be looked at.",
                count=count,
            )
        return _endangered(worst)


def _endangered(worst: Finding) -> str:
    """Say what the worst danger is about, with its exposure where it has one."""
    risk, exposed = risk_of(worst), _in_hundred(worst.exposure)
    if worst.refuses or risk in (ReleaseRisk.TABLE, ReleaseRisk.WORTH):
        return Sentence("No release can be made until this is resolved.")
    if worst.check == TOTAL_EPSILON:
        return Sentence("The ε in all is above what the project allows.")
    if risk is ReleaseRisk.FOUND:
        if not worst.exposure:
            return Sentence("People can be found.")
        return Sentence("People can be found: {exposed} in 100.", exposed=exposed)
    if not worst.exposure:
        return Sentence("A promise is empty.")
    return Sentence("A promise is empty: {exposed} in 100 guesses are right.", exposed=exposed)


def _in_hundred(share: float) -> Sentence:
    """Return a share in 100; small ones by their first digit."""
    hundred = 100.0 * share
    return formatted(hundred, ".0f" if hundred >= 1.0 else ".1g")


def verdict_of(found: Readiness) -> RecipientVerdict:
    """Return how a recipient stands by what the check found.

    That a second person has not approved a release yet says nothing of the release: what they
    decide by is the verdict.
    """
    findings = [one for one in found.findings if one.check != APPROVAL]
    cautions = tuple(one for one in findings if one.severity is not Severity.GOOD)
    useful = any(one.check == WORTH and not one.worthless for one in findings)
    for standing, own in (
        (Standing.DANGER, tuple(one for one in found.standing if one.check != APPROVAL)),
        (Standing.WORTHLESS, found.worthless),
        (Standing.CAUTION, cautions),
        (Standing.GOOD, tuple(findings)),
    ):
        if own:
            once = {str(one.sentence): one for one in reversed(own)}
            told = tuple(reversed(once.values()))
            return RecipientVerdict(found.recipient, standing, told, useful)
    return RecipientVerdict(found.recipient, Standing.GOOD, ())
